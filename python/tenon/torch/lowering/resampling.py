# SPDX-License-Identifier: Apache-2.0
"""Resampling: to other sizes, and at positions that a grid gives."""
from __future__ import annotations

import itertools
import math

import torch

from tenon.torch.lowering.core import Unsupported, lowers
from tenon.torch.lowering.pooling import inverse_ranges, summed
from tenon.torch.lowering.products import check_floats

aten = torch.ops.aten
_WIDE = torch.float32


def scale_attributes(b, sizes, output, scales, align_corners=False):
    """What the coordinates are scaled by: the ratio of the sizes, unless scales
    say another."""
    if align_corners or all(s is None or s <= 0 or s * i == o
                            for s, i, o in zip(scales, sizes, output)):
        return dict(sizes=output)
    found = []
    for scale, size, wanted in zip(scales, sizes, output):
        number = torch.tensor(wanted / size if scale is None else scale,
                              dtype=torch.float32)
        # Rounded such that the size of the result follows from it.
        if math.floor(size * number.item()) < wanted:
            number = torch.nextafter(number, torch.tensor(math.inf))
        if math.floor(size * number.item()) != wanted:
            raise Unsupported(f"the scale {scale} gives another size")
        found.append(number.item())
    return dict(scales=found, ratio="scales")


# -- the nearest element -----------------------------------------------------


def nearest_positions(size, output, scale, half):
    """The element that PyTorch takes for each position, in its arithmetic."""
    factor = torch.tensor(1 / scale if scale else size / output,
                          dtype=torch.float32)
    at = torch.arange(output, dtype=torch.float32) + half
    return (at * factor).floor().long().clamp(max=size - 1).tolist()


def nearest_plan(b, shape, output, scales, half):
    """Attributes of Interpolate, or None where it would take another element;
    and the positions for each dim."""
    sizes = b.static("the size of an image", shape[2:])
    positions = [nearest_positions(*each, half)
                 for each in zip(sizes, output, scales)]
    plain = [[int((i + half) * 2) * s // (2 * o) for i in range(o)]
             for s, o in zip(sizes, output)]
    if positions != plain:
        return None, positions
    return dict(mode="nearest", nearest_mode="floor", data_format="NCX",
                sizes=output, coordinate_transformation_mode="asymmetric"
                if half == 0 else "tf_half_pixel_for_nn"), positions


def nearest(half):
    def lowering(b, x, output, *scales):
        check_floats(x)
        output = b.static("the size of the result", output)
        scales = scales or [None] * len(output)
        plan, positions = nearest_plan(b, x.shape, output, scales, half)
        if plan:
            return b.op("Interpolate", x, shape=b.result.shape, **plan)
        y = x
        for i, at in enumerate(positions):
            y = b.op("Gather", y, b.constant("positions", torch.tensor(at)),
                     axis=i + 2)
        return y

    return lowering


def nearest_backward(half):
    def lowering(b, grad, output, shape, *scales):
        check_floats(grad)
        output = b.static("the size of the result", output)
        scales = scales or [None] * len(output)
        plan, positions = nearest_plan(b, shape, output, scales, half)
        if plan:
            return b.op("InterpolateBackward", b.full(shape, 0, grad.dtype),
                        grad, shape=shape, **plan)
        y = b.cast(grad, _WIDE)
        for i, at in enumerate(positions):
            y = summed(b, y, i + 2, inverse_ranges([[p] for p in at],
                                                   shape[i + 2]))
        return b.cast(y, grad.dtype)

    return lowering


for _dims in ("1d", "2d", "3d"):
    for _name, _half in [("upsample_nearest", 0),
                         ("_upsample_nearest_exact", 0.5)]:
        lowers(getattr(aten, _name + _dims).default)(nearest(_half))
        lowers(getattr(aten, f"{_name}{_dims}_backward").default)(
            nearest_backward(_half))


# -- blends of elements ------------------------------------------------------


def blend_attributes(b, shape, output, align_corners, scales, more):
    sizes = b.static("the size of an image", shape[2:])
    scales = scales or [None] * len(output)
    return dict(more, data_format="NCX", coordinate_transformation_mode=
                "align_corners" if align_corners else "half_pixel",
                **scale_attributes(b, sizes, output, scales, align_corners))


def blend(**more):
    def lowering(b, x, output, align_corners, *scales):
        check_floats(x)
        output = b.static("the size of the result", output)
        if "antialias" in more and align_corners:
            raise Unsupported("corners that meet, and a wide filter")
        return b.op("Interpolate", x, shape=b.result.shape, **blend_attributes(
            b, x.shape, output, align_corners, scales, more))

    return lowering


def blend_backward(**more):
    def lowering(b, grad, output, shape, align_corners, *scales):
        check_floats(grad)
        output = b.static("the size of the result", output)
        if "antialias" in more and align_corners:
            raise Unsupported("corners that meet, and a wide filter")
        return b.op("InterpolateBackward", b.full(shape, 0, grad.dtype), grad,
                    shape=shape, **blend_attributes(
                        b, shape, output, align_corners, scales, more))

    return lowering


_WIDE_FILTER = dict(antialias=True, exclude_outside=True)
for _name, _more in [
        ("upsample_linear1d", dict(mode="linear")),
        ("upsample_bilinear2d", dict(mode="linear")),
        ("upsample_trilinear3d", dict(mode="linear")),
        ("upsample_bicubic2d", dict(mode="cubic")),
        ("_upsample_bilinear2d_aa", dict(_WIDE_FILTER, mode="linear")),
        ("_upsample_bicubic2d_aa", dict(_WIDE_FILTER, mode="cubic",
                                        cubic_coeff_a=-0.5))]:
    lowers(getattr(aten, _name).default)(blend(**_more))
    lowers(getattr(aten, _name + "_backward").default)(blend_backward(**_more))


# -- positions of a grid -----------------------------------------------------


class Grid:
    """The positions of a grid in an image, one Value for each spatial dim: of
    shape batch x points."""

    def __init__(self, b, grid, shape, padding, align_corners):
        self.b = b
        self.padding = ("zeros", "border", "reflection")[padding]
        self.align = align_corners
        self.sizes = b.static("the size of an image", shape[2:])
        self.points = [grid.shape[0], math.prod(grid.shape[1:-1])]
        wide = b.cast(grid, _WIDE)
        # The last dim of the image comes first in the grid.
        self.at = [self.scaled(self.component(wide, i), size) for i, size in
                   enumerate(reversed(self.sizes))][::-1]

    def op(self, kind, x, y):
        """Of numbers or values."""
        x, y = (self.b.value(v, _WIDE) for v in (x, y))
        return self.b.op(kind, x, y, shape=self.points)

    def compare(self, kind, x, y):
        x, y = (self.b.value(v, _WIDE) for v in (x, y))
        return self.b.op(kind, x, y, dtype=torch.bool, shape=self.points)

    def choose(self, condition, x, y):
        # The condition does not broadcast the values.
        x = self.b.expand(self.b.value(x, _WIDE), self.points)
        y = self.b.value(y, _WIDE)
        return self.b.op("Select", condition, x, y, dtype=_WIDE,
                         shape=self.points)

    def component(self, grid, i):
        part = self.b.op("Slice", grid, begins=[i], ends=[i + 1],
                         axes=[grid.rank - 1])
        return self.b.reshape(part, self.points)

    def scaled(self, x, size):
        """From -1 to 1 becomes positions of elements."""
        x = self.op("Multiply", self.op("Add", x, 1), self.step(size))
        return x if self.align else self.op("Subtract", x, 0.5)

    def step(self, size):
        return ((size - 1) if self.align else size) / 2

    def inside(self, x, size):
        return self.b.op("And", self.compare("GreaterEqual", x, 0),
                         self.compare("GreaterEqual", size - 1, x))

    def reflected(self, x, size):
        """The position in the mirror, and -1 where it goes backwards."""
        low, span = (0, size - 1) if self.align else (-0.5, size)
        if span == 0:
            return self.b.full(self.points, 0, _WIDE), \
                self.b.full(self.points, 0, _WIDE)
        x = self.op("Subtract", x, low)
        below = self.compare("Greater", 0, x)
        x = self.b.op("Abs", x, shape=self.points)
        flips = self.b.op("Floor", self.op("Divide", x, span),
                          shape=self.points)
        rest = self.op("Subtract", x, self.op("Multiply", flips, span))
        odd = self.b.op("Remainder", flips, self.b.scalar(2, _WIDE),
                        mode="floor", shape=self.points)
        odd = self.compare("Equal", odd, 1)
        x = self.choose(odd, self.op("Subtract", span, rest), rest)
        sign = self.op("Multiply", self.choose(odd, -1, 1),
                       self.choose(below, -1, 1))
        return self.op("Add", x, low), sign

    def kept(self, x, size):
        """The position where padding says to read, and its derivative; None:
        1."""
        if self.padding == "zeros":
            return x, None
        sign = None
        if self.padding == "reflection":
            x, sign = self.reflected(x, size)
        above = self.compare("Greater", x, 0)  # not for NaN
        below = self.compare("Greater", size - 1, x)
        slope = self.choose(self.b.op("And", above, below), 1, 0)
        x = self.choose(above, x, 0)
        x = self.b.op("Minimum", x, self.b.scalar(size - 1, _WIDE),
                      shape=self.points)
        return x, slope if sign is None else self.op("Multiply", slope, sign)

    def index(self, position):
        """The numbers of elements within the image, of those that are there,
        and which these are."""
        there, flat = None, None
        for x, size in zip(position, self.sizes):
            inside = self.inside(x, size)
            there = inside if there is None else self.b.op("And", there, inside)
            x = self.b.cast(self.choose(inside, x, 0), torch.int64)
            x.shape = self.points
            flat = x if flat is None else self.b.op("Add", self.b.op(
                "Multiply", flat, self.b.scalar(size, torch.int64)), x)
        flat = self.b.op("Select", there, flat, self.b.scalar(0, torch.int64),
                         dtype=torch.int64, shape=self.points)
        there.shape = self.points
        return flat, there

    def column(self, value):
        return self.b.reshape(value, [*self.points, 1])

    def corners(self):
        """The elements around each position: for each its position, and its
        weight in each dim, with the sign of its derivative."""
        found = []
        for x, size in zip(self.at, self.sizes):
            x, _ = self.kept(x, size)
            low = self.b.op("Floor", x, shape=self.points)
            high = self.op("Add", low, 1)
            found.append([(low, self.op("Subtract", high, x), -1),
                          (high, self.op("Subtract", x, low), 1)])
        return itertools.product(*found)

    def nearest(self):
        return [self.b.op("Round", self.kept(x, size)[0], shape=self.points)
                for x, size in zip(self.at, self.sizes)]


def rows_of(b, x, first=2):
    """Batch x channels x sizes as batch x elements x channels, in f32."""
    area = math.prod(x.shape[first:])
    flat = b.reshape(b.cast(x, _WIDE), [x.shape[0], x.shape[1], area])
    return b.transpose(flat, [0, 2, 1])


def read_rows(b, rows, flat, there, grid):
    y = b.op("Gather", rows, flat, axis=1, batch_dims=1)
    return b.op("Select", grid.column(there), y, b.scalar(0, _WIDE),
                dtype=_WIDE)


def product(grid, values):
    found = values[0]
    for value in values[1:]:
        found = grid.op("Multiply", found, value)
    return found


def taps(grid, mode):
    """(element, which are there, weight or None) for all that a point reads."""
    if mode == 1:
        yield (*grid.index(grid.nearest()), None)
    elif mode == 0:
        for corner in grid.corners():
            yield (*grid.index([c[0] for c in corner]),
                   product(grid, [c[1] for c in corner]))
    else:
        yield from cubic_taps(grid)


def cubic_taps(grid, a=-0.75):
    """The sixteen elements around each position. Padding moves each of them."""
    found = []
    for x, size in zip(grid.at, grid.sizes):
        low = grid.b.op("Floor", x, shape=grid.points)
        t = grid.op("Subtract", x, low)
        found.append([])
        for i in range(-1, 3):
            distance = grid.op("Add", t, 1) if i == -1 else t if i == 0 else \
                grid.op("Subtract", i, t)
            factors = [a + 2, -(a + 3), 0, 1] if i in (0, 1) else \
                [a, -5 * a, 8 * a, -4 * a]
            weight = grid.b.full(grid.points, factors[0], _WIDE)
            for factor in factors[1:]:
                weight = grid.op("Add", grid.op("Multiply", weight, distance),
                                 factor)
            at, _ = grid.kept(grid.op("Add", low, i), size)
            found[-1].append((at, weight))
    for tap in itertools.product(*found):
        yield (*grid.index([t[0] for t in tap]),
               product(grid, [t[1] for t in tap]))


@lowers(aten.grid_sampler_2d.default, aten.grid_sampler_3d.default)
def grid_sampler(b, x, grid, mode, padding, align_corners):
    check_floats(x, grid)
    if x.rank == 5 and mode == 2:
        raise Unsupported("cubic blends in three dims")
    at = Grid(b, grid, x.shape, padding, align_corners)
    rows, total = rows_of(b, x), None
    for flat, there, weight in taps(at, mode):
        y = read_rows(b, rows, flat, there, at)
        if weight is not None:
            y = b.op("Multiply", y, at.column(weight))
        total = y if total is None else b.op("Add", total, y)
    y = b.transpose(total, [0, 2, 1])
    return b.cast(b.reshape(y, b.result.shape), x.dtype)


@lowers(aten.grid_sampler_2d_backward.default,
        aten.grid_sampler_3d_backward.default)
def grid_sampler_backward(b, grad, x, grid, mode, padding, align_corners, mask):
    check_floats(x, grid, grad)
    if mode == 2:
        raise Unsupported("the gradient of cubic blends")
    at = Grid(b, grid, x.shape, padding, align_corners)
    grads = rows_of(b, grad)
    results = [None, None]
    if mask[0]:
        results[0] = image_gradient(b, at, grads, x, mode)
    if mask[1]:
        results[1] = b.full(grid.shape, 0, grid.dtype) if mode == 1 else \
            grid_gradient(b, at, grads, x, grid)
    return results


def image_gradient(b, at, grads, x, mode):
    """Each gradient to the elements that were read, with their weights."""
    indices, updates = [], []
    batch, points = at.points
    rows = b.count(b.full([batch, points], 0, torch.int64), 0)
    for flat, there, weight in taps(at, mode):
        y = grads if weight is None else b.op("Multiply", grads,
                                              at.column(weight))
        updates.append(b.op("Select", at.column(there), y, b.scalar(0, _WIDE),
                            dtype=_WIDE))
        indices.append(b.op("Concat", at.column(rows), at.column(flat),
                            axis=2))
    zeros = b.full([batch, math.prod(at.sizes), x.shape[1]], 0, _WIDE)
    y = b.op("ScatterND", zeros, b.op("Concat", *indices, axis=1)
             if len(indices) > 1 else indices[0],
             b.op("Concat", *updates, axis=1) if len(updates) > 1
             else updates[0], reduction="add")
    y = b.reshape(b.transpose(y, [0, 2, 1]), x.shape)
    return b.cast(y, x.dtype)


def grid_gradient(b, at, grads, x, grid):
    """How the blend changes with the position in each dim."""
    rows, dims = rows_of(b, x), len(at.sizes)
    totals = [None] * dims
    for corner in at.corners():
        flat, there = at.index([c[0] for c in corner])
        y = b.op("Multiply", read_rows(b, rows, flat, there, at), grads)
        y = b.op("ReduceSum", y, axes=[2], keep_dims=False, shape=at.points)
        for d in range(dims):
            factors = [y] + [c[1] for i, c in enumerate(corner) if i != d]
            part = at.op("Multiply", product(at, factors), corner[d][2])
            totals[d] = part if totals[d] is None else at.op("Add", totals[d],
                                                             part)
    found = []
    for total, position, size in zip(totals, at.at, at.sizes):
        _, slope = at.kept(position, size)
        total = at.op("Multiply", total, at.step(size))
        found.append(at.column(total if slope is None
                               else at.op("Multiply", total, slope)))
    y = b.op("Concat", *reversed(found), axis=2)
    return b.cast(b.reshape(y, grid.shape), grid.dtype)
