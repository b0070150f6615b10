# SPDX-License-Identifier: Apache-2.0
"""Pooling, and the gradient of padding."""
from __future__ import annotations

import math

import torch

import tenon.torch.joint  # declares the operators of max pooling
from tenon.torch.lowering.core import FLOATS, Unsupported, lowers
from tenon.torch.lowering.products import check_floats

aten = torch.ops.aten
_WIDE = torch.float32


def spread(values, rank, default=None):
    values = list(values) or list(default)
    return values * rank if len(values) == 1 else values


def pool_window(b, kernel, stride, padding, rank, ceil):
    kernel = spread(kernel, rank)
    pads = spread(padding, rank)
    return dict(kernel=kernel, strides=spread(stride, rank, kernel),
                pads_begin=pads, pads_end=pads, data_format="NCX",
                rounding_type="ceil" if ceil else "floor")


def window_rank(b):
    return 3 if "3d" in str(b.operator) else 2


def batched(b, x, rank):
    """With a dim for the batch, which may be missing."""
    if x.rank == rank + 2:
        return x
    return b.reshape(x, [1, *x.shape])


def batched_shape(shape, rank):
    return [1] * (rank + 2 - len(shape)) + list(shape)


# -- averages ----------------------------------------------------------------


def average_window(b, kernel, stride, padding, ceil_mode, count_include_pad,
                   divisor):
    """Attributes, and what the average is multiplied by."""
    rank = window_rank(b)
    window = pool_window(b, kernel, stride, padding, rank, ceil_mode)
    # With a divisor all windows are divided by the same number.
    window["exclude_pad"] = not count_include_pad and not divisor
    window["divisor"] = "clipped" if ceil_mode and not divisor else "window"
    factor = math.prod(window["kernel"]) / divisor if divisor else 1
    return window, factor


@lowers(aten.avg_pool2d.default, aten.avg_pool3d.default)
def avg_pool(b, x, kernel, stride=(), padding=(0,), ceil_mode=False,
             count_include_pad=True, divisor_override=None):
    check_floats(x)
    rank = window_rank(b)
    window, factor = average_window(b, kernel, stride, padding, ceil_mode,
                                    count_include_pad, divisor_override)
    source = batched(b, x if factor == 1 else b.cast(x, _WIDE), rank)
    y = b.op("AvgPool", source, **window,
             shape=batched_shape(b.result.shape, rank))
    return b.cast(b.reshape(b.times(y, factor), b.result.shape), x.dtype)


@lowers(aten.avg_pool2d_backward.default, aten.avg_pool3d_backward.default)
def avg_pool_backward(b, grad, x, kernel, stride, padding, ceil_mode,
                      count_include_pad, divisor_override):
    check_floats(grad)
    rank = window_rank(b)
    window, factor = average_window(b, kernel, stride, padding, ceil_mode,
                                    count_include_pad, divisor_override)
    shape = batched_shape(x.shape, rank)
    wide = batched(b, grad if factor == 1 else b.cast(grad, _WIDE), rank)
    y = b.op("AvgPoolBackward", b.times(wide, factor), **window, shape=shape,
             src_shape=b.static("the size of an image", shape))
    return b.cast(b.reshape(y, b.result.shape), grad.dtype)


def parts_of(size, count):
    """The ranges of positions that adaptive pooling joins."""
    return [(i * size // count, -(-(i + 1) * size // count))
            for i in range(count)]


def equal_parts(sizes, counts):
    return all(s % c == 0 for s, c in zip(sizes, counts))


def windows_of(ranges):
    """Positions of ranges as rows, each as long as the longest, and which of
    them count."""
    longest = max(1, *[last - first for first, last in ranges])
    step = torch.arange(longest)
    first = torch.tensor([r[0] for r in ranges])[:, None]
    length = torch.tensor([r[1] - r[0] for r in ranges])[:, None]
    inside = torch.minimum(step, (length - 1).clamp(min=0))
    return first + inside, step < length


def summed(b, x, axis, ranges):
    """Sums over ranges of positions along an axis. `x` has all its sizes."""
    at, counts = windows_of(ranges)
    shape = list(x.shape)
    rest = [1] * (len(shape) - axis - 1)
    shape[axis] = len(ranges)
    at = at.clamp(max=x.shape[axis] - 1)  # of empty ranges at the end
    y = b.op("Gather", x, b.constant("positions", at), axis=axis)
    if not bool(counts.all()):
        kept = b.constant("which count", counts.reshape(*counts.shape, *rest))
        y = b.op("Select", kept, y, b.scalar(0, x.dtype), dtype=x.dtype)
    return b.op("ReduceSum", y, axes=[axis + 1], keep_dims=False, shape=shape)


def divided(b, x, axis, ranges):
    """Each element divided by the length of its range."""
    parts = torch.tensor([1 / (last - first) for first, last in ranges])
    rest = [1] * (len(x.shape) - axis - 1)
    return b.op("Multiply", x, b.constant("parts", parts.reshape(-1, *rest)),
                shape=x.shape)


@lowers(aten._adaptive_avg_pool2d.default, aten._adaptive_avg_pool3d.default)
def adaptive_avg_pool(b, x, output):
    check_floats(x)
    rank = window_rank(b)
    output = b.static("the size of the result", output)
    first = x.rank - rank
    if output == [1] * rank:
        return b.reduce("ReduceMean", x, list(range(first, x.rank)), True)
    sizes = b.static("the size of an image", x.shape[first:])
    if equal_parts(sizes, output):
        kernel = [s // o for s, o in zip(sizes, output)]
        y = b.op("AvgPool", batched(b, x, rank), exclude_pad=False,
                 shape=batched_shape(b.result.shape, rank),
                 **pool_window(b, kernel, kernel, [0], rank, False))
        return b.reshape(y, b.result.shape)
    y = b.cast(x, _WIDE)
    for i in range(rank):
        ranges = parts_of(sizes[i], output[i])
        y = divided(b, summed(b, y, first + i, ranges), first + i, ranges)
    return b.cast(y, x.dtype)


@lowers(aten._adaptive_avg_pool2d_backward.default,
        aten._adaptive_avg_pool3d_backward.default)
def adaptive_avg_pool_backward(b, grad, x):
    check_floats(grad)
    rank = window_rank(b)
    first = x.rank - rank
    sizes = b.static("the size of an image", x.shape[first:])
    output = b.static("the size of the result", grad.shape[first:])
    if output == [1] * rank:
        return b.expand(b.times(grad, 1 / math.prod(sizes)), x.shape)
    if equal_parts(sizes, output):
        kernel = [s // o for s, o in zip(sizes, output)]
        shape = b.static("the size of an image", batched_shape(x.shape, rank))
        y = b.op("AvgPoolBackward", batched(b, grad, rank), exclude_pad=False,
                 src_shape=shape, shape=shape,
                 **pool_window(b, kernel, kernel, [0], rank, False))
        return b.reshape(y, x.shape)
    y = b.cast(grad, _WIDE)
    for i in range(rank):
        ranges = parts_of(sizes[i], output[i])
        y = summed(b, divided(b, y, first + i, ranges), first + i,
                   inverse_ranges([range(*r) for r in ranges], sizes[i]))
    return b.cast(y, grad.dtype)


def inverse_ranges(reads, size):
    """By position of the source, the range of those that read it; `reads` says
    which positions of the source each one reads, in ascending order."""
    found = []
    for i in range(size):
        readers = [o for o, positions in enumerate(reads) if i in positions]
        found.append((readers[0], readers[-1] + 1) if readers else (0, 0))
    return found


# -- maxima ------------------------------------------------------------------


def max_window(b, shape, result, kernel, stride, padding, dilation, ceil):
    """The window, with what is missing at the end as padding: PyTorch leaves out
    windows that begin in the padding of the end, Tenon does not."""
    rank = window_rank(b)
    window = pool_window(b, kernel, stride, padding, rank, ceil)
    window["dilations"] = spread(dilation, rank)
    window["propagate_nan"] = True
    if ceil:
        sizes = b.static("the size of an image", [*shape, *result])
        sizes, results = sizes[:len(shape)][-rank:], sizes[-rank:]
        window["rounding_type"] = "floor"
        window["pads_end"] = [
            (r - 1) * s + (k - 1) * d + 1 - n - p for n, r, k, s, p, d in zip(
                sizes, results, window["kernel"], window["strides"],
                window["pads_begin"], window["dilations"])]
    return window


@lowers(aten.max_pool2d_with_indices.default,
        aten.max_pool3d_with_indices.default)
def max_pool(b, x, kernel, stride=(), padding=(0,), dilation=(1,),
             ceil_mode=False):
    check_floats(x)
    rank = window_rank(b)
    shape = batched_shape(b.result[0].shape, rank)
    types = [x.dtype, torch.int64][:2 if 1 in b.wanted else 1]
    made = b.ops("MaxPool", batched(b, x, rank), dtypes=types,
                 shapes=[shape] * len(types),
                 **max_window(b, x.shape, shape, kernel, stride, padding,
                              dilation, ceil_mode))
    found = [b.reshape(y, b.result[0].shape) for y in made]
    return found[0], found[1] if len(found) > 1 else None


@lowers(torch.ops.tenon.max_pool2d_backward.default,
        torch.ops.tenon.max_pool3d_backward.default)
def max_pool_backward(b, grad, x, kernel, stride, padding, dilation, ceil_mode):
    check_floats(x)
    rank = window_rank(b)
    window = max_window(b, x.shape, grad.shape, kernel, stride, padding,
                        dilation, ceil_mode)
    del window["rounding_type"]  # the gradient has its size
    y = b.op("MaxPoolBackward", batched(b, x, rank), batched(b, grad, rank),
             shape=batched_shape(x.shape, rank), **window)
    return b.reshape(y, x.shape)


@lowers(aten.max_pool2d_with_indices_backward.default,
        aten.max_pool3d_with_indices_backward.default,
        aten.adaptive_max_pool2d_backward.default,
        aten.adaptive_max_pool3d_backward.default)
def backward_by_indices(b, grad, x, *others):
    """Each gradient to the position of its maximum."""
    check_floats(grad)
    rank = window_rank(b)
    first = x.rank - rank
    images = math.prod(x.shape[:first])
    area = math.prod(x.shape[first:])
    found = math.prod(grad.shape[first:])
    zeros = b.full([images, area], 0, grad.dtype)
    y = b.op("ScatterElements", zeros, b.reshape(others[-1], [images, found]),
             b.reshape(grad, [images, found]), axis=1, reduction="add",
             shape=[images, area])
    return b.reshape(y, x.shape)


@lowers(aten.adaptive_max_pool2d.default, aten.adaptive_max_pool3d.default)
def adaptive_max_pool(b, x, output):
    if x.dtype not in FLOATS:
        raise Unsupported(f"pooling of {x.dtype}")
    rank = window_rank(b)
    first = x.rank - rank
    sizes = b.static("the size of an image", x.shape[first:])
    output = b.static("the size of the result", output)
    if 0 in output:
        raise Unsupported("an empty result")
    if equal_parts(sizes, output):
        return max_pool(b, x, [s // o for s, o in zip(sizes, output)])
    # Windows of unequal sizes: each as long as the longest, with its last
    # element again, which is never the first maximum.
    y, positions = x, torch.zeros((), dtype=torch.int64)
    for i in range(rank):
        at, _ = windows_of(parts_of(sizes[i], output[i]))
        y = b.op("Gather", y, b.constant("positions", at), axis=first + 2 * i)
        positions = positions[..., None, None] * sizes[i] + at
    order = [2 * i for i in range(rank)] + [2 * i + 1 for i in range(rank)]
    y = b.transpose(y, list(range(first)) + [first + i for i in order])
    positions = positions.permute(order).reshape(*output, -1)
    y = b.reshape(y, [*x.shape[:first], *positions.shape])
    top = b.op("ReduceMax", y, axes=[x.rank], keep_dims=False)
    if 1 not in b.wanted:
        return top, None
    at = b.op("ArgMax", y, dtype=torch.int64, axis=x.rank, keep_dims=False)
    starts = torch.arange(math.prod(output)).reshape(output) * \
        positions.shape[-1]
    at = b.op("Add", at, b.constant("windows", starts))
    return top, b.op("Gather", b.constant("where", positions.reshape(-1)), at,
                     axis=0)


# -- the gradient of padding -------------------------------------------------


@lowers(aten.replication_pad1d_backward.default,
        aten.replication_pad2d_backward.default,
        aten.replication_pad3d_backward.default)
def replication_pad_backward(b, grad, x, pads):
    """What was copied from an edge goes back to it."""
    pads = b.static("the padding", pads)
    if any(p < 0 for p in pads):
        raise Unsupported("the padding is negative")
    y, shape = grad, list(grad.shape)
    for i in range(len(pads) // 2):
        axis = x.rank - 1 - i
        size, = b.static("a padded size", [x.shape[axis]])
        before, after = pads[2 * i:2 * i + 2]
        if not before and not after:
            continue
        shape[axis] = size
        ends = [(0, before + 1), (before + 1, before + size - 1),
                (before + size - 1, before + size + after)]
        if size == 1:
            ends = [(0, 1 + before + after)]
        parts = [b.op("Slice", y, begins=[begin], ends=[end], axes=[axis])
                 for begin, end in ends if begin < end]
        edges = {0, len(parts) - 1}
        parts = [b.reduce("ReduceSum", p, [axis], True) if j in edges else p
                 for j, p in enumerate(parts)]
        y = parts[0] if len(parts) == 1 else b.op("Concat", *parts, axis=axis,
                                                  shape=shape)
    return y
