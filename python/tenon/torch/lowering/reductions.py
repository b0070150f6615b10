# SPDX-License-Identifier: Apache-2.0
"""Operators that reduce dims, search in them or go along them."""
from __future__ import annotations

import math

import torch

from tenon.torch.lowering.core import (FLOATS, Unsupported, all_dims, lowers,
                                       positive)
from tenon.torch.lowering.elementwise import truth
from tenon.torch.lowering.products import check_floats

aten = torch.ops.aten


def reduced(kind):
    def lowering(b, x, dims=None, keepdim=False, *, dtype=None):
        x = b.value(x, b.result.dtype)
        dims = all_dims(dims, x.rank)
        return b.reduce(kind, x, dims, keepdim) if dims else x

    return lowering


lowers(aten.sum.dim_IntList)(reduced("ReduceSum"))
lowers(aten.mean.dim)(reduced("ReduceMean"))
lowers(aten.amax.default)(reduced("ReduceMax"))
lowers(aten.amin.default)(reduced("ReduceMin"))


@lowers(aten.sum.default)
def sum_all(b, x, *, dtype=None):
    return reduced("ReduceSum")(b, x)


@lowers(aten.mean.default)
def mean_all(b, x, *, dtype=None):
    return reduced("ReduceMean")(b, x)


@lowers(aten.max.default)
def max_all(b, x):
    return reduced("ReduceMax")(b, x)


@lowers(aten.min.default)
def min_all(b, x):
    return reduced("ReduceMin")(b, x)


@lowers(aten.prod.dim_int)
def prod(b, x, dim, keepdim=False, *, dtype=None):
    return reduced("ReduceProd")(b, x, dim, keepdim)


@lowers(aten.prod.default)
def prod_all(b, x, *, dtype=None):
    return reduced("ReduceProd")(b, x)


@lowers(aten.any.dim, aten.any.dims, aten.any.default)
def any_(b, x, dims=None, keepdim=False):
    return truths(b, "ReduceMax", x, dims, keepdim)


@lowers(aten.all.dim, aten.all.dims, aten.all.default)
def all_(b, x, dims=None, keepdim=False):
    return truths(b, "ReduceMin", x, dims, keepdim)


def truths(b, kind, x, dims, keepdim):
    dims = all_dims(dims, x.rank)
    x = truth(b, x)
    return b.reduce(kind, x, dims, keepdim) if dims else x


@lowers(aten.var.correction)
def var(b, x, dims=None, *, correction=1, keepdim=False):
    return variance(b, x, all_dims(dims, x.rank), correction, keepdim)[0]


@lowers(aten.var_mean.correction)
def var_mean(b, x, dims=None, *, correction=1, keepdim=False):
    return variance(b, x, all_dims(dims, x.rank), correction, keepdim)


def variance(b, x, dims, correction, keepdim):
    correction = 1 if correction is None else correction
    if not dims:
        raise Unsupported("a variance over no dims")
    check_floats(x)
    dtype, x = x.dtype, b.cast(x, torch.float32)
    mean = b.reduce("ReduceMean", x, dims, True)
    square = b.op("SquaredDifference", x, mean)
    if correction == 0:
        spread = b.reduce("ReduceMean", square, dims, keepdim)
    else:
        count = math.prod(x.shape[d] for d in dims)
        rest = b.op("Maximum", b.op(
            "Subtract", b.value(count, torch.float32),
            b.scalar(correction, torch.float32)), b.scalar(0, torch.float32))
        spread = b.op("Divide", b.reduce("ReduceSum", square, dims, keepdim),
                      rest)
    if not keepdim:
        mean = b.reduce("ReduceMean", x, dims, False)
    return b.cast(spread, dtype), b.cast(mean, dtype)


@lowers(aten.linalg_vector_norm.default)
def vector_norm(b, x, order=2, dims=None, keepdim=False, *, dtype=None):
    check_floats(x)
    dims, dtype = all_dims(dims, x.rank), b.result.dtype
    kind = {1: "ReduceL1", 2: "ReduceL2", math.inf: "ReduceMax",
            -math.inf: "ReduceMin"}.get(order, "ReduceSum")
    if kind in ("ReduceL1", "ReduceL2"):
        x = b.value(x, dtype)
        return b.reduce(kind, x, dims, keepdim) if dims else b.op("Abs", x)
    x = b.cast(x, torch.float32)
    x = b.cast(truth(b, x), torch.float32) if order == 0 else b.op("Abs", x)
    power = kind == "ReduceSum" and order != 0
    if power:
        x = b.op("Pow", x, beta=float(order))
    y = b.reduce(kind, x, dims, keepdim) if dims else x
    return b.cast(b.op("Pow", y, beta=1 / order) if power else y, dtype)


def found(kind):
    def lowering(b, x, dim=None, keepdim=False):
        if x.dtype == torch.bool:
            x = b.cast(x, torch.uint8)
        if dim is None:
            flat = b.op(kind, b.reshape(x, [math.prod(x.shape)]), dtype=torch.int64, axis=0,
                        keep_dims=False)
            return b.reshape(flat, b.result.shape)
        if not x.rank:
            return b.full((), 0, torch.int64)
        return b.op(kind, x, dtype=torch.int64, axis=positive(dim, x.rank),
                    keep_dims=keepdim)

    return lowering


lowers(aten.argmax.default)(found("ArgMax"))
lowers(aten.argmin.default)(found("ArgMin"))


def with_index(reduction, search):
    def lowering(b, x, dim, keepdim=False):
        if not x.rank:
            return x, b.full((), 0, torch.int64)
        dim = positive(dim, x.rank)
        return (b.reduce(reduction, x, [dim], keepdim),
                found(search)(b, x, dim, keepdim))

    return lowering


lowers(aten.max.dim)(with_index("ReduceMax", "ArgMax"))
lowers(aten.min.dim)(with_index("ReduceMin", "ArgMin"))


@lowers(aten.topk.default)
def topk(b, x, k, dim=-1, largest=True, sorted=True):
    k, = b.static("k", [k])
    if not x.rank:
        raise Unsupported("a scalar has no k largest elements")
    return b.ops("TopK", x, dtypes=[x.dtype, torch.int64], k=k,
                 axis=positive(dim, x.rank), largest=largest)


@lowers(aten.sort.default, aten.sort.stable)
def sort(b, x, dim=-1, descending=False, *, stable=False):
    if not x.rank or x.dtype == torch.bool:
        raise Unsupported("a scalar or booleans are sorted")
    dim = positive(dim, x.rank)
    size, = b.static("the sorted size", [x.shape[dim]])
    return b.ops("TopK", x, dtypes=[x.dtype, torch.int64], k=size, axis=dim,
                 largest=descending)


@lowers(aten.cumsum.default)
def cumsum(b, x, dim, *, dtype=None):
    x = b.value(x, b.result.dtype)
    return b.op("CumSum", x, axis=positive(dim, x.rank)) if x.rank else x


@lowers(aten._softmax.default)
def softmax(b, x, dim, half_to_float):
    return soft(b, "SoftMax", x, dim, b.result.dtype)


@lowers(aten._log_softmax.default)
def log_softmax(b, x, dim, half_to_float):
    return soft(b, "LogSoftmax", x, dim, b.result.dtype)


def soft(b, kind, x, dim, dtype):
    if not x.rank:
        raise Unsupported("the softmax of a scalar")
    return b.op(kind, b.value(x, dtype), axis=positive(dim, x.rank))


@lowers(aten._safe_softmax.default)
def safe_softmax(b, x, dim, dtype=None):
    return b.op("SoftMax", b.value(x, b.result.dtype), mode="inf_as_zero",
                axis=positive(dim, x.rank))


@lowers(aten._softmax_backward_data.default)
def softmax_backward(b, grad, y, dim, input_dtype):
    return b.cast(b.op("SoftMaxBackward", grad, y, axis=positive(dim, y.rank)),
                  input_dtype)


@lowers(aten._log_softmax_backward_data.default)
def log_softmax_backward(b, grad, y, dim, input_dtype):
    return b.cast(b.op("LogSoftmaxBackward", grad, y,
                       axis=positive(dim, y.rank)), input_dtype)
