# SPDX-License-Identifier: Apache-2.0
"""Operators that move elements, or say where they are."""
from __future__ import annotations

import torch

from tenon.torch.lowering.core import (END, FLOATS, Builder, Unsupported,
                                       Value, lowers, positive)

aten = torch.ops.aten
prims = torch.ops.prims


@lowers(aten.view.default, aten.reshape.default, aten._unsafe_view.default,
        aten.unsqueeze.default, aten.squeeze.dim, aten.squeeze.dims,
        aten.squeeze.default, aten._reshape_alias.default,
        aten.flatten.using_ints, aten.view_copy.default)
def view(b: Builder, x: Value, *_):
    return b.reshape(x, b.result.shape)


@lowers(aten.alias.default, aten.detach.default, aten.lift_fresh_copy.default,
        aten.contiguous.default)
def same(b, x, **_):
    return x


@lowers(aten.clone.default)
def clone(b, x, *, memory_format=None):
    return x


@lowers(aten.permute.default, aten.permute_copy.default)
def permute(b, x, dims):
    return b.transpose(x, [positive(d, x.rank) for d in dims])


@lowers(aten.t.default)
def t(b, x):
    return b.transpose(x, list(range(x.rank))[::-1])


@lowers(aten.transpose.int)
def transpose(b, x, first, second):
    order = list(range(x.rank))
    first, second = positive(first, x.rank), positive(second, x.rank)
    order[first], order[second] = order[second], order[first]
    return b.transpose(x, order)


@lowers(aten.expand.default)
def expand(b, x, _, *, implicit=False):
    return b.expand(x, b.result.shape)


@lowers(aten.repeat.default)
def repeat(b, x, repeats):
    shape = [1] * (len(repeats) - x.rank) + list(x.shape)
    paired = [s for pair in zip(repeats, shape) for s in pair]
    ones = [s for size in shape for s in (1, size)]
    return b.reshape(b.expand(b.reshape(x, ones), paired), b.result.shape)


@lowers(aten._to_copy.default)
def to_copy(b, x, *, dtype=None, device=None, **_):
    if device is not None and torch.device(device).type != "cpu":
        raise Unsupported("the result is on another device")
    return b.cast(x, b.result.dtype)


@lowers(prims.convert_element_type.default)
def convert_element_type(b, x, dtype):
    return b.cast(x, dtype)


@lowers(aten.cat.default)
def cat(b, tensors, dim=0):
    kept = [t for t in tensors if t.shape != (0,)] or tensors[:1]
    kept = [b.cast(t, b.result.dtype) for t in kept]
    if len(kept) == 1:
        return kept[0]
    return b.op("Concat", *kept, axis=positive(dim, kept[0].rank),
                shape=b.result.shape)


def sliced(b, x, dim, begin, end, step=1, shape=None):
    return b.op("Slice", x, begins=[begin], ends=[end], axes=[dim],
                steps=[step], shape=shape)


def positions(b, size, start, step, dtype=torch.int64):
    """start, start + step, ...: `size` numbers."""
    wide = torch.float32 if dtype in FLOATS else dtype
    at = b.cast(b.count(b.full([size], 0, torch.int64), 0), wide)
    if step != 1:
        at = b.op("Multiply", at, b.value(step, wide))
    if not isinstance(start, (int, float)) or start != 0:
        at = b.op("Add", at, b.value(start, wide))
    return b.cast(at, dtype)


@lowers(aten.slice.Tensor, aten.slice_copy.Tensor)
def slice_(b, x, dim=0, start=None, end=None, step=1):
    dim = positive(dim, x.rank)
    start = 0 if start is None else start
    end = END if end is None else end
    first, last = b.sizes.value(start), b.sizes.value(end)
    if isinstance(first, int) and last == b.sizes.value(x.shape[dim]):
        last = END
    if isinstance(first, int) and isinstance(last, int):
        return sliced(b, x, dim, first, last, step, b.result.shape)
    size = b.result.shape[dim]
    if isinstance(first, int) and first >= 0 and \
            getattr(b.sizes.value(size), "is_Symbol", False):
        # As a slice there would be code for one size only.
        at = positions(b, size, start, step)
        return b.op("Gather", x, at, axis=dim, shape=b.result.shape)
    start, end = (b.reshape(b.value(v, torch.int64), [1]) for v in (start, end))
    return b.op("Slice", x, start, end, axes=[dim], steps=[step],
                shape=b.result.shape)


@lowers(aten.select.int, aten.select_copy.int)
def select(b, x, dim, index):
    dim = positive(dim, x.rank)
    index = b.sizes.text(index)
    if isinstance(index, str):
        raise Unsupported("the index is a size that is not known")
    end = END if index == -1 else index + 1
    return b.reshape(sliced(b, x, dim, index, end), b.result.shape)


def split_parts(b, x, dim, sizes):
    dim = positive(dim, x.rank)
    parts, begin = [], 0
    for size, result in zip(sizes, b.result):
        parts.append(sliced(b, x, dim, begin, begin + size, 1, result.shape))
        begin += size
    return parts


@lowers(aten.split_with_sizes.default)
def split_with_sizes(b, x, sizes, dim=0):
    return split_parts(b, x, dim, b.static("a part", sizes))


@lowers(aten.split.Tensor)
def split(b, x, size, dim=0):
    dim = positive(dim, x.rank)
    return split_parts(b, x, dim, b.static("a part", [
        r.shape[dim] for r in b.result]))


@lowers(aten.unbind.int, aten.unbind_copy.int)
def unbind(b, x, dim=0):
    dim = positive(dim, x.rank)
    return [b.reshape(sliced(b, x, dim, i, i + 1), r.shape)
            for i, r in enumerate(b.result)]


@lowers(aten.diagonal.default)
def diagonal(b, x, offset=0, dim1=0, dim2=1):
    first, second = positive(dim1, x.rank), positive(dim2, x.rank)
    rest = [i for i in range(x.rank) if i not in (first, second)]
    rows, columns = b.static("a size", [x.shape[first], x.shape[second]])
    count = max(0, min(rows, columns - offset) if offset >= 0
                else min(rows + offset, columns))
    if not count:
        raise Unsupported("an empty diagonal")
    begin = offset if offset >= 0 else -offset * columns
    flat = b.reshape(b.transpose(x, rest + [first, second]),
                     [*(x.shape[i] for i in rest), rows * columns])
    return b.op("Slice", flat, begins=[begin], axes=[len(rest)],
                ends=[begin + (count - 1) * (columns + 1) + 1],
                steps=[columns + 1], shape=b.result.shape)


@lowers(aten.unfold.default)
def unfold(b, x, dim, size, step):
    """Windows along a dim, as the last dim."""
    if not x.rank:
        raise Unsupported("a scalar is unfolded")
    dim = positive(dim, x.rank)
    length, = b.static("the unfolded size", [x.shape[dim]])
    count = (length - size) // step + 1
    at = (torch.arange(count) * step)[:, None] + torch.arange(size)
    y = b.op("Gather", x, b.constant("windows", at), axis=dim)
    order = list(range(x.rank + 1))
    order.append(order.pop(dim + 1))
    return b.op("StaticTranspose", y, order=order)


@lowers(aten.flip.default)
def flip(b, x, dims):
    dims = [positive(d, x.rank) for d in dims]
    if not dims:
        return x
    return b.op("Slice", x, begins=[-1] * len(dims), ends=[-END] * len(dims),
                axes=dims, steps=[-1] * len(dims), shape=x.shape)


@lowers(aten.constant_pad_nd.default)
def constant_pad_nd(b, x, pads, value=0):
    pads = b.static("the padding", pads)
    begins, ends = [0] * x.rank, [0] * x.rank
    for i in range(len(pads) // 2):
        begins[x.rank - 1 - i], ends[x.rank - 1 - i] = pads[2 * i:2 * i + 2]
    # As an attribute it would be an f32.
    return b.op("Pad", x, b.value(value, x.dtype) if value else None,
                pads_begin=begins, pads_end=ends, mode="constant",
                shape=b.result.shape)


def padded(mode):
    def lowering(b, x, pads):
        pads = b.static("the padding", pads)
        begins, ends = [0] * x.rank, [0] * x.rank
        for i in range(len(pads) // 2):
            begins[x.rank - 1 - i], ends[x.rank - 1 - i] = pads[2 * i:2 * i + 2]
        return b.op("Pad", x, pads_begin=begins, pads_end=ends, mode=mode,
                    shape=b.result.shape)

    return lowering


for _dims in ("1d", "2d", "3d"):
    lowers(getattr(aten, f"reflection_pad{_dims}").default)(padded("reflect"))
    lowers(getattr(aten, f"replication_pad{_dims}").default)(padded("edge"))


# -- made from nothing -------------------------------------------------------


@lowers(aten.full.default)
def full(b, size, value, **_):
    return b.full(size, value, b.result.dtype)


@lowers(aten.full_like.default)
def full_like(b, x, value, **_):
    return b.full(b.result.shape, value, b.result.dtype)


@lowers(aten.zeros.default, aten.zeros_like.default, aten.new_zeros.default)
def zeros(b, *_, **__):
    return b.full(b.result.shape, 0, b.result.dtype)


@lowers(aten.ones.default, aten.ones_like.default, aten.new_ones.default)
def ones(b, *_, **__):
    return b.full(b.result.shape, 1, b.result.dtype)


@lowers(aten.new_full.default)
def new_full(b, x, size, value, **_):
    return b.full(b.result.shape, value, b.result.dtype)


@lowers(aten.scalar_tensor.default)
def scalar_tensor(b, value, **_):
    return b.value(value, b.result.dtype)


@lowers(aten.arange.start_step, prims.iota.default)
def arange(b, *args, start=0, step=1, **_):
    if len(args) > 1:  # start, end, step; iota: length
        start, step = args[0], args[2] if len(args) > 2 else 1
    return positions(b, b.result.shape[0], start, step, b.result.dtype)
