# SPDX-License-Identifier: Apache-2.0
"""Operators that look up and write elements by their positions."""
from __future__ import annotations

import math
from numbers import Integral

import torch

from tenon.torch.lowering.core import END, Unsupported, lowers, positive

aten = torch.ops.aten
#: Of which the positions are held in memory.
_MOST_ROWS = 1 << 22


def from_front(b, index):
    """Positions of an operator that refuses negative ones: operations of Tenon
    count them from the end, and raise for what is behind it."""
    refused = b.op("Greater", b.scalar(0, index.dtype), index, dtype=torch.bool,
                   shape=index.shape)
    return b.op("Select", refused,
                b.scalar(torch.iinfo(index.dtype).max, index.dtype), index,
                dtype=index.dtype, shape=index.shape)


def one_from_front(b, index, dim):
    """The same for one position in each row, such as a target of a loss. Many
    positions stay as they are: the Select is a pass of its own over them, half
    as long as the lookup."""
    if b.sizes.value(index.shape[dim]) != 1:
        return index
    return from_front(b, index)


@lowers(aten.embedding.default)
def embedding(b, weights, indices, *_):
    return b.op("Gather", weights, from_front(b, indices), axis=0,
                shape=b.result.shape)


@lowers(aten.index_select.default)
def index_select(b, x, dim, index):
    return b.op("Gather", x, from_front(b, index), axis=positive(dim, x.rank),
                shape=b.result.shape)


@lowers(aten.gather.default)
def gather(b, x, dim, index, *, sparse_grad=False):
    if not x.rank or not index.rank:
        raise Unsupported("a scalar is indexed")
    dim = positive(dim, x.rank)
    return b.op("GatherElements", x, one_from_front(b, index, dim), axis=dim,
                shape=b.result.shape)


@lowers(aten.index.Tensor)
def index(b, x, indices):
    used = [i for i, t in enumerate(indices) if t is not None]
    tensors = [indices[i] for i in used]
    if any(t.dtype in (torch.bool, torch.uint8) for t in tensors):
        raise Unsupported("a mask selects elements")
    if len(used) == 1:
        return b.op("Gather", x, tensors[0], axis=used[0], shape=b.result.shape)
    if used != list(range(used[0], used[0] + len(used))):
        raise Unsupported("dims that are indexed have others between them")
    first, last = used[0], used[-1] + 1
    order = used + list(range(first)) + list(range(last, x.rank))
    grid, shape = joined(b, tensors)
    y = b.op("GatherND", b.transpose(x, order), grid)
    if first:  # the indexed dims stay where they were
        y.shape = None
        rank = len(shape) + x.rank - len(used)
        back = list(range(len(shape), len(shape) + first)) + \
            list(range(len(shape))) + list(range(len(shape) + first, rank))
        y = b.op("StaticTranspose", y, order=back)
    return y


@lowers(aten.as_strided.default)
def as_strided(b, x, size, stride, storage_offset=None):
    """Elements by where they are in memory."""
    source = b.source
    shape, strides, wanted = (b.shape(v) for v in (
        source.shape, source.stride(), stride))
    if b.shape(size) == shape and storage_offset in (
            None, source.storage_offset()) and all(
            n == 1 or s == w for n, s, w in zip(shape, strides, wanted)):
        return x  # what decompositions end with to have eager's strides
    size, stride, shape, strides, (first,) = (
        b.static("a size or stride", v) for v in (
            size, stride, shape, strides, [storage_offset or 0]))
    count = math.prod(shape)
    if not count or \
            source.untyped_storage().nbytes() != count * source.itemsize:
        raise Unsupported("memory beside an operand is read")
    order = sorted(range(x.rank), key=lambda i: (-strides[i], shape[i]))
    # As many of the last dims as are whole rows of the memory are one.
    row, kept = 1, len(size)
    while kept and stride[kept - 1] == row and not any(
            s % (row * size[kept - 1])
            for s in (count, first, *stride[:kept - 1])):
        row, kept = row * size[kept - 1], kept - 1
    if math.prod(size[:kept]) > _MOST_ROWS:
        raise Unsupported("very many rows of memory are read")
    at = torch.full(size[:kept], first // row)
    for i in range(kept):
        at += torch.arange(size[i]).reshape([-1] + [1] * (kept - 1 - i)) * (
            stride[i] // row)
    rows = b.reshape(b.transpose(x, order), [count // row, row])
    y = b.op("Gather", rows, b.constant("rows", at.reshape(-1)), axis=0,
             shape=[at.numel(), row])
    return b.reshape(y, size)


def joined(b, tensors):
    """Positions of several dims as one tensor, the last dim of which goes
    through them."""
    shape = torch.broadcast_shapes(*[tuple(t.shape) for t in tensors])
    parts = [b.reshape(b.expand(b.cast(t, torch.int64), shape), [*shape, 1])
             for t in tensors]
    grid = parts[0] if len(parts) == 1 else b.op("Concat", *parts,
                                                 axis=len(shape))
    return grid, shape


@lowers(aten.index_put.default, aten._unsafe_index_put.default)
def index_put(b, x, indices, values, accumulate=False):
    used = [i for i, t in enumerate(indices) if t is not None]
    tensors = [indices[i] for i in used]
    if used == [0] and tensors[0].dtype == torch.bool:
        return masked_put(b, x, tensors[0], values, accumulate)
    if any(t.dtype in (torch.bool, torch.uint8) for t in tensors):
        raise Unsupported("a mask selects elements")
    if used != list(range(used[0], used[0] + len(used))):
        raise Unsupported("dims that are indexed have others between them")
    first, last = used[0], used[-1] + 1
    grid, shape = joined(b, tensors)
    # The indexed dims go to the front, and back at the end.
    order = used + list(range(first)) + list(range(last, x.rank))
    wanted = [*x.shape[:first], *shape, *x.shape[last:]]
    values = b.expand(b.cast(values, x.dtype), wanted)
    moved = list(range(first, first + len(shape)))
    rest = [i for i in range(len(wanted)) if i not in moved]
    y = b.op("ScatterND", b.transpose(x, order), grid,
             b.transpose(values, moved + rest),
             reduction="add" if accumulate else "none")
    back = [order.index(i) for i in range(x.rank)]
    return b.op("StaticTranspose", y, order=back, shape=x.shape) if first else y


def masked_put(b, x, mask, values, accumulate):
    """The same values for all that the mask, of the first dims, selects."""
    rest = x.rank - mask.rank
    if values.rank > rest and math.prod(values.shape[:values.rank - rest]) != 1:
        raise Unsupported("a mask selects elements")
    values = b.reshape(b.cast(values, x.dtype),
                       values.shape[max(values.rank - rest, 0):])
    if accumulate:
        values = b.op("Add", x, values, shape=x.shape)
    mask = b.reshape(mask, [*mask.shape, *[1] * rest])
    return b.op("Select", mask, b.expand(values, x.shape), x, dtype=x.dtype,
                shape=x.shape)


def scattered(reduction):
    def lowering(b, x, dim, index, source):
        if not x.rank or not index.rank:
            raise Unsupported("a scalar is indexed")
        if tuple(getattr(source, "shape", index.shape)) != tuple(index.shape):
            source = cut(b, source, index.shape)
        if not hasattr(source, "edge"):
            source = b.full(index.shape, source, x.dtype)
        dim = positive(dim, x.rank)
        return b.op("ScatterElements", x, one_from_front(b, index, dim),
                    b.cast(source, x.dtype), axis=dim, reduction=reduction,
                    shape=x.shape)

    return lowering


def cut(b, value, shape):
    shape = b.static("the size of the indices", shape)
    return b.op("Slice", value, begins=[0] * len(shape), ends=shape,
                axes=list(range(len(shape))), shape=shape)


lowers(aten.scatter.src, aten.scatter.value)(scattered("none"))
lowers(aten.scatter_add.default)(scattered("add"))


@lowers(aten.scatter.reduce, aten.scatter.value_reduce)
def scatter_with(b, x, dim, index, source, *, reduce):
    kind = {"add": "add", "multiply": "mul"}[reduce]
    return scattered(kind)(b, x, dim, index, source)


#: Reductions of ScatterElements, and what does not change a result.
_REDUCTIONS = {"sum": ("add", 0), "mean": ("add", 0), "prod": ("mul", 1),
               "amax": ("max", -math.inf), "amin": ("min", math.inf)}


@lowers(aten.scatter_reduce.two)
def scatter_reduce(b, x, dim, index, source, reduce, *, include_self=True):
    kind, neutral = _REDUCTIONS[reduce]
    if not x.dtype.is_floating_point and (
            reduce == "mean" or abs(neutral) == math.inf and not include_self):
        raise Unsupported(f"{reduce} of integers")
    old = x
    if not include_self:
        old = scattered("none")(b, x, dim, index, neutral)
    y = scattered(kind)(b, old, dim, index, source)
    if reduce == "mean":
        # Of what each element is the sum; those that nothing comes to are 1.
        first = b.full(x.shape, 1 if include_self else 0, torch.float32)
        count = scattered("add")(b, first, dim, index, 1)
        count = b.op("Maximum", count, b.scalar(1, torch.float32))
        y = b.cast(b.op("Divide", b.cast(y, torch.float32), count), x.dtype)
    return y


@lowers(aten.slice_scatter.default)
def slice_scatter(b, x, source, dim=0, start=None, end=None, step=1):
    dim = positive(dim, x.rank)
    size, count, start = (b.sizes.value(v) for v in (
        x.shape[dim], source.shape[dim], start or 0))
    if count == size and step == 1:
        return b.cast(source, x.dtype)
    if not isinstance(start, int):
        raise Unsupported("where the slice begins is not known")
    if isinstance(size, int):
        start = min(max(start + size if start < 0 else start, 0), size)
    elif start < 0 and not isinstance(count, int):
        raise Unsupported("where the slice begins is not known")
    rest = -start - count if start < 0 else size - count - start
    after = start + count if isinstance(count, int) else -rest
    if step != 1:
        count, = b.static("a size", [count])
        at = b.constant("positions", start + step * torch.arange(count))
        return index_put(b, x, [None] * dim + [at], source)
    parts = [] if start == 0 else [slice_of(b, x, dim, 0, start)]
    parts.append(b.cast(source, x.dtype))
    if rest != 0:
        if not isinstance(after, Integral):
            raise Unsupported("where the slice ends is not known")
        parts.append(slice_of(b, x, dim, int(after), END))
    return b.op("Concat", *parts, axis=dim, shape=x.shape)


def slice_of(b, x, dim, begin, end):
    return b.op("Slice", x, begins=[begin], ends=[end], axes=[dim])


@lowers(aten.select_scatter.default)
def select_scatter(b, x, source, dim, index):
    shape = list(x.shape)
    dim = positive(dim, x.rank)
    shape[dim] = 1
    return slice_scatter(b, x, b.reshape(source, shape), dim, index)


@lowers(aten.embedding_dense_backward.default)
def embedding_backward(b, grad, indices, count, padding_index, by_frequency):
    if by_frequency:
        raise Unsupported("gradients are scaled by frequency")
    zeros = b.full(b.result.shape, 0, grad.dtype)
    where = b.reshape(indices, [*indices.shape, 1])
    if padding_index >= 0:
        keep = b.op("Not", b.op("Equal", where,
                                b.scalar(padding_index, indices.dtype),
                                dtype=torch.bool))
        grad = b.op("Select", keep, grad, b.scalar(0, grad.dtype),
                    dtype=grad.dtype)
    return b.op("ScatterND", zeros, where, grad, reduction="add",
                shape=b.result.shape)


@lowers(aten.tril.default)
def tril(b, x, diagonal=0):
    return triangle(b, x, diagonal, lower=True)


@lowers(aten.triu.default)
def triu(b, x, diagonal=0):
    return triangle(b, x, diagonal, lower=False)


@lowers(aten.tril_indices.default, aten.triu_indices.default)
def triangle_indices(b, rows, columns, offset=0, **_):
    made = b.operator(*b.static("the size of a triangle", [rows, columns]),
                      offset, dtype=b.result.dtype)
    return b.constant("positions", made)


def triangle(b, x, diagonal, lower):
    rows, columns = b.count(x, x.rank - 2), b.count(x, x.rank - 1)
    edge = b.op("Add", rows, b.scalar(diagonal, torch.int64))
    kept = b.op("GreaterEqual", edge, columns, dtype=torch.bool) if lower else \
        b.op("GreaterEqual", columns, edge, dtype=torch.bool)
    return b.op("Select", kept, x, b.scalar(0, x.dtype), dtype=x.dtype,
                shape=x.shape)
