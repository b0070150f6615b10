# SPDX-License-Identifier: Apache-2.0
"""Operators of ATen in terms of others, where PyTorch itself has no such
decomposition, or one that computes more."""
from __future__ import annotations

import math
from typing import Any, Callable

import torch
from torch._decomp import decomposition_table

aten = torch.ops.aten

#: Functions by operator, for the table of AOTAutograd. One that returns
#: NotImplemented leaves the operator as it is.
REWRITES: dict[Any, Callable] = {}


def rewrites(*operators):
    def register(function):
        for operator in operators:
            assert operator not in REWRITES, operator
            REWRITES[operator] = function
        return function

    return register


def known(*sizes):
    return all(isinstance(size, int) for size in sizes)


def wide(x):
    """In f32, if it is narrow."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


# -- products ----------------------------------------------------------------


@rewrites(aten._trilinear.default)
def trilinear(x, y, z, expand_x, expand_y, expand_z, summed, unroll_dim=1):
    """The sum of products that nn.Bilinear is, as products of matrices."""
    rank = x.dim() + len(expand_x)

    def letters(without):
        return "".join(chr(ord("a") + i) for i in range(rank)
                       if i not in without)

    return torch.einsum(f"{letters(expand_x)},{letters(expand_y)},"
                        f"{letters(expand_z)}->{letters(summed)}", x, y, z)


@rewrites(aten.addbmm.default)
def addbmm(x, left, right, *, beta=1, alpha=1):
    """The batch joins the dim that is summed."""
    count, rows, inner = left.shape
    return torch.addmm(
        x, left.transpose(0, 1).reshape(rows, count * inner),
        right.reshape(count * inner, right.shape[2]), beta=beta, alpha=alpha)


@rewrites(aten._weight_norm_interface_backward.default)
def weight_norm_backward(grad, direction, scale, norms, dim):
    """Of weights that are a scale times a direction over its norm."""
    grad, vector, norms = wide(grad), wide(direction), wide(norms)
    others = [d for d in range(grad.dim()) if d != dim % grad.dim()]
    slope = (grad * vector).sum(others, keepdim=True) / norms
    found = (grad - vector * (slope / norms)) * (wide(scale) / norms)
    return found.to(direction.dtype), slope.to(scale.dtype)


# -- along a dim -------------------------------------------------------------


def scan(join, parts, dim):
    """Joins each element with all before it: log2(size) times with what a
    distance before it has joined, which doubles."""
    size, distance = parts[0].shape[dim], 1
    while distance < size:
        before = [p.narrow(dim, 0, size - distance) for p in parts]
        here = [p.narrow(dim, distance, size - distance) for p in parts]
        parts = [torch.cat([p.narrow(dim, 0, distance), made], dim)
                 for p, made in zip(parts, join(before, here))]
        distance *= 2
    return parts


def scannable(x, dim):
    return x.dim() and known(x.shape[dim]) and x.dtype in (
        torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.int32)


@rewrites(aten.cumprod.default)
def cumprod(x, dim, *, dtype=None):
    dtype = dtype or (x.dtype if x.is_floating_point() else torch.int64)
    x = x.to(dtype)
    if not scannable(x, dim):
        return NotImplemented
    y, = scan(lambda p, q: [p[0] * q[0]], [wide(x)], dim)
    return y.to(dtype)


@rewrites(aten.logcumsumexp.default)
def logcumsumexp(x, dim):
    if not scannable(x, dim):
        return NotImplemented
    y, = scan(lambda p, q: [torch.logaddexp(p[0], q[0])], [wide(x)], dim)
    return y.to(x.dtype)


def extremes(better):
    def rewrite(x, dim):
        if not scannable(x, dim):
            return NotImplemented

        def join(p, q):
            later = better(q[0], p[0])  # of equal ones the last
            if x.is_floating_point():
                later = later | q[0].isnan()
            return [torch.where(later, b, a) for a, b in zip(p, q)]

        shape = [1] * x.dim()
        shape[dim] = x.shape[dim]
        index = torch.arange(x.shape[dim]).reshape(shape).expand(x.shape)
        return tuple(scan(join, [x, index], dim))

    return rewrite


rewrites(aten.cummax.default)(extremes(torch.ge))
rewrites(aten.cummin.default)(extremes(torch.le))


# -- by order ----------------------------------------------------------------


@rewrites(aten.kthvalue.default)
def kthvalue(x, k, dim=-1, keepdim=False):
    if not x.dim():
        return NotImplemented
    found = [t.narrow(dim, k - 1, 1) if keepdim else t.select(dim, k - 1)
             for t in torch.topk(x, k, dim, largest=False)]
    return tuple(t.contiguous() for t in found)


@rewrites(aten.median.dim)
def median(x, dim, keepdim=False):
    if not x.dim() or not known(x.shape[dim]) or not x.shape[dim]:
        return NotImplemented
    value, index = kthvalue(x, (x.shape[dim] + 1) // 2, dim, keepdim)
    if x.is_floating_point():  # the first NaN, if there is one
        isnan = x.isnan()
        found = isnan.any(dim, keepdim)
        value = torch.where(found, math.nan, value)
        index = torch.where(found, isnan.byte().argmax(dim, keepdim), index)
    return value, index


@rewrites(aten.median.default)
def median_of_all(x):
    found = median(x.reshape(-1), 0)
    return found if found is NotImplemented else found[0]


@rewrites(aten.nanmedian.dim)
def nanmedian(x, dim, keepdim=False):
    """NaN is sorted behind all numbers."""
    if not x.dim() or not known(x.shape[dim]) or not x.shape[dim] or \
            not x.is_floating_point():
        return NotImplemented
    values, indices = torch.sort(x, dim)
    count = x.isnan().logical_not().sum(dim, keepdim=True)
    at = ((count - 1).clamp(min=0)) // 2
    found = values.gather(dim, at), indices.gather(dim, at)
    return found if keepdim else tuple(t.squeeze(dim) for t in found)


@rewrites(aten.nanmedian.default)
def nanmedian_of_all(x):
    found = nanmedian(x.reshape(-1), 0)
    return found if found is NotImplemented else found[0]


@rewrites(aten.searchsorted.Tensor)
def searchsorted(ordered, values, *, out_int32=False, right=False, side=None,
                 sorter=None):
    """Halves the range in which each value is."""
    size = ordered.shape[-1]
    if not known(size):
        return NotImplemented
    right = right or side == "right"
    table = ordered if sorter is None else ordered.gather(-1, sorter)
    flat = values.reshape(-1) if table.dim() == 1 else values
    low = torch.zeros_like(flat, dtype=torch.int64)
    high = torch.full_like(low, size)
    for _ in range(size.bit_length()):
        at = (low + high) // 2
        there = table.gather(-1, at.clamp(max=size - 1))
        # NaN is behind all numbers.
        above = ((there > flat) if right else (there >= flat)) | (low >= high)
        low = torch.where(above, low, at + 1)
        high = torch.where(above, at, high)
    low = low.reshape(values.shape)
    return low.int() if out_int32 else low


@rewrites(aten.bucketize.Tensor)
def bucketize(values, boundaries, *, out_int32=False, right=False):
    return searchsorted(boundaries, values, out_int32=out_int32, right=right)


# -- by position -------------------------------------------------------------


def within(index, size=None):
    """Positions of an operator that refuses negative ones, and those from
    `size` on: they are out of range for index_put, too."""
    refused = index < 0
    if size is not None:
        refused = refused | (index >= size)
    return torch.where(refused, 2**62, index.long())


@rewrites(aten.index_add.default)
def index_add(x, dim, index, source, *, alpha=1):
    others = [[size for d, size in enumerate(t.shape) if d != dim % t.dim()]
              for t in (x, source)]
    torch._check(others[0] == others[1], lambda: (
        f"index_add of {list(source.shape)} to {list(x.shape)}: dims other "
        f"than {dim} have to be equal"))
    return decomposition_table[aten.index_add.default](
        x, dim, within(index), source, alpha=alpha)


@rewrites(aten.index_copy.default)
def index_copy(x, dim, index, source):
    return decomposition_table[aten.index_copy.default](
        x, dim, within(index), source)


@rewrites(aten.index_fill.int_Scalar, aten.index_fill.int_Tensor)
def index_fill(x, dim, index, value):
    """By index_copy, which does not count from the end."""
    size = x.shape[dim] if x.dim() else 1
    return decomposition_table[aten.index_fill.int_Scalar](
        x, dim, torch.where(index < 0, index + size, index), value)


@rewrites(aten.index_reduce.default)
def index_reduce(x, dim, index, source, reduce, *, include_self=True):
    if not x.dim():
        return NotImplemented
    shape = [1] * x.dim()
    shape[dim] = -1
    return torch.scatter_reduce(x, dim, within(index).reshape(shape).expand(
        source.shape), source, reduce, include_self=include_self)


@rewrites(aten.masked_scatter.default)
def masked_scatter(x, mask, source):
    """Each element that is set takes the next one of the source. A source that
    may be too short is an error that only PyTorch finds."""
    if not known(*x.shape, *source.shape) or source.numel() < x.numel() or \
            mask.dim() > x.dim():
        return NotImplemented
    mask = mask.expand(x.shape)
    at = mask.reshape(-1).long().cumsum(0) - 1
    taken = source.reshape(-1).index_select(0, at.clamp(min=0))
    return torch.where(mask, taken.reshape(x.shape), x)


@rewrites(aten.masked_scatter_backward.default)
def masked_scatter_backward(grad, mask, sizes):
    if not known(*grad.shape, *sizes) or math.prod(sizes) < grad.numel():
        return NotImplemented
    mask = mask.expand(grad.shape).reshape(-1)
    at = (mask.long().cumsum(0) - 1).clamp(min=0)
    taken = torch.where(mask, grad.reshape(-1), 0)
    return grad.new_zeros(math.prod(sizes)).index_add(0, at, taken).reshape(
        sizes)


@rewrites(aten.diagonal_scatter.default)
def diagonal_scatter(x, source, offset=0, dim1=0, dim2=1):
    dim1, dim2 = dim1 % x.dim(), dim2 % x.dim()
    if not x.is_contiguous() or not known(*x.shape):
        return NotImplemented
    step = torch.arange(source.shape[-1])
    rows, columns = step - min(offset, 0), step + max(offset, 0)
    order = [dim1, dim2] + [d for d in range(x.dim())
                            if d not in (dim1, dim2)]
    y = torch.index_put(x.permute(order), (rows, columns),
                        source.movedim(-1, 0))
    return y.permute([order.index(d) for d in range(x.dim())]).contiguous()


@rewrites(aten.as_strided_scatter.default)
def as_strided_scatter(x, source, size, stride, storage_offset=None):
    """Of an image of memory that is written to."""
    if not x.is_contiguous() or not known(*x.shape, *size, *stride) or \
            x.storage_offset() or not x.numel():
        return NotImplemented
    at = torch.full(tuple(size), storage_offset or 0)
    for i, (count, step) in enumerate(zip(size, stride)):
        shape = [1] * len(size)
        shape[i] = count
        at = at + torch.arange(count).reshape(shape) * step
    y = torch.index_put(x.reshape(-1), (at.reshape(-1),), source.reshape(-1))
    return y.reshape(x.shape)


@rewrites(aten.histc.default)
def histc(x, bins=100, min=0, max=0):
    """Between bounds; those that follow from values are PyTorch's."""
    if x.dtype not in (torch.float32, torch.bfloat16, torch.float16) or \
            not known(*x.shape) or not -math.inf < min < max < math.inf:
        return NotImplemented
    wide_x = wide(x).reshape(-1)
    inside = (wide_x >= min) & (wide_x <= max)
    at = torch.where(inside, wide_x - min, 0) * bins / (max - min)
    at = at.long().clamp(max=bins - 1)
    return wide_x.new_zeros(bins).index_add(0, at, inside.float()).to(x.dtype)


# -- distances ---------------------------------------------------------------


def distance_gradient(grad, difference, distance, p):
    """Of the norms of differences to the differences; 0 where the norm is 0."""
    grad, distance = grad.unsqueeze(-1), distance.unsqueeze(-1)
    size = difference.abs()
    if p == 0:
        return torch.zeros_like(difference)
    if p == 1:
        return grad * difference.sign()
    if p == math.inf:
        return grad * difference.sign() * (size == distance)
    power = difference if p == 2 else difference.sign() * size ** (p - 1)
    slope = power / (distance if p == 2 else distance ** (p - 1))
    return torch.where(distance == 0, 0, grad * slope)


def few(*sizes):
    """Whether there are differences, and all may be held at once."""
    return known(*sizes) and 0 < math.prod(sizes) <= 1 << 22


def differences(x, y):
    return x.unsqueeze(-2) - y.unsqueeze(-3)


@rewrites(aten._cdist_forward.default)
def cdist(x, y, p, mode):
    rows, columns = x.shape[-2], y.shape[-2]
    if not known(rows, columns):
        return NotImplemented
    # As PyTorch chooses between both.
    if p == 2 and (mode == 1 or not mode and max(rows, columns) > 25):
        return decomposition_table[aten._euclidean_dist.default](x, y)
    if not few(*x.shape, columns):
        return NotImplemented
    return torch.linalg.vector_norm(differences(x, y), p, -1)


@rewrites(aten._cdist_backward.default)
def cdist_backward(grad, x, y, p, distance):
    if not few(*x.shape, y.shape[-2]):
        return NotImplemented
    found = distance_gradient(grad, differences(x, y), distance, p)
    return found.sum(-2).sum_to_size(x.shape)


def pairs(size):
    """Rows of each pair, the second after the first."""
    return torch.triu_indices(size, size, 1)


@rewrites(aten._pdist_forward.default)
def pdist(x, p=2.0):
    if not few(*x.shape, x.shape[0]) or x.shape[0] < 2:
        return NotImplemented
    first, second = pairs(x.shape[0])
    return torch.linalg.vector_norm(x[first] - x[second], p, -1)


@rewrites(aten._pdist_backward.default)
def pdist_backward(grad, x, p, distance):
    if not few(*x.shape, x.shape[0]) or x.shape[0] < 2:
        return NotImplemented
    first, second = pairs(x.shape[0])
    found = distance_gradient(grad, x[first] - x[second], distance, p)
    return torch.zeros_like(x).index_add(0, first, found).index_add(
        0, second, -found)
