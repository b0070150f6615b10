# SPDX-License-Identifier: Apache-2.0
"""Normalizations."""
from __future__ import annotations

import math

import torch

from tenon.torch.lowering.core import FLOATS, Unsupported, lowers
from tenon.torch.lowering.products import check_floats

aten = torch.ops.aten
_WIDE = torch.float32


def inverse(b, variance, epsilon):
    """1 / sqrt(variance + epsilon), which PyTorch saves."""
    return b.op("Reciprocal", b.op("Sqrt", b.op(
        "Add", variance, b.scalar(epsilon, variance.dtype))))


def variance_of(b, inverted, epsilon):
    """The variance again; epsilon is added again where it is used."""
    square = b.op("Multiply", inverted, inverted)
    return b.op("Subtract", b.op("Reciprocal", square),
                b.scalar(epsilon, inverted.dtype))


@lowers(aten.native_layer_norm.default)
def layer_norm(b, x, normalized, gamma, beta, epsilon):
    check_floats(x, gamma, beta)
    axis = x.rank - len(normalized)
    wide = b.cast(x, _WIDE) if gamma is not None and \
        gamma.dtype == _WIDE else x
    gamma, beta = both(b, gamma, beta, normalized)
    return normalized_with(b, "LayerNorm", x, wide, gamma, beta, epsilon,
                           begin_norm_axis=axis)


def normalized_with(b, kind, x, wide, gamma, beta, epsilon, **attributes):
    """The result, and the mean and the inverse deviation if they are read."""
    keep = bool(b.wanted & {1, 2})
    found = b.ops(kind, wide, gamma, beta,
                  dtypes=[wide.dtype, _WIDE, _WIDE][:3 if keep else 1],
                  use_affine=gamma is not None, epsilon=float(epsilon),
                  keep_stats=keep, **attributes)
    y = b.cast(found[0], x.dtype)
    if not keep:
        return y, None, None
    mean, inverted = found[1], inverse(b, found[2], epsilon)
    return (y, *(b.cast(b.reshape(v, r.shape), r.dtype)
                 for v, r in zip([mean, inverted], b.result[1:])))


def both(b, gamma, beta, shape):
    """Tenon has both or neither."""
    if gamma is None and beta is None:
        return None, None
    if gamma is None:
        gamma = b.full(shape, 1, beta.dtype)
    if beta is None:
        beta = b.full(shape, 0, gamma.dtype)
    return b.cast(gamma, _WIDE), b.cast(beta, _WIDE)


@lowers(aten.native_layer_norm_backward.default)
def layer_norm_backward(b, grad, x, normalized, mean, inverted, gamma, beta,
                        mask):
    check_floats(grad, x)
    axis = x.rank - len(normalized)
    stats = list(x.shape[:axis])
    epsilon = 1e-5
    variance = b.reshape(variance_of(b, b.cast(inverted, _WIDE), epsilon), stats)
    mean = b.reshape(b.cast(mean, _WIDE), stats)
    wide, wide_grad = b.cast(x, _WIDE), b.cast(grad, _WIDE)
    scale = None if gamma is None else b.cast(gamma, _WIDE)
    shift = scale if beta is None or gamma is None else b.cast(beta, _WIDE)
    affine = scale is not None
    if affine and not b.wanted & {1, 2}:  # they are not trained
        wide_grad = b.op("Multiply", wide_grad, scale, shape=grad.shape)
        affine, scale, shift = False, None, None
    results = b.ops("LayerNormBackward", wide, wide_grad, mean, variance, scale,
                    shift, dtypes=[_WIDE] * (3 if affine else 1),
                    begin_norm_axis=axis, use_affine=affine, epsilon=epsilon)
    if not affine and 2 in b.wanted:
        raise Unsupported("a shift without a scale")
    found = [b.cast(r, like) for r, like in
             zip(results, [x.dtype, gamma and gamma.dtype,
                           (beta or gamma) and (beta or gamma).dtype])]
    found += [None] * (3 - len(found))
    return [f if m else None for f, m in zip(found, mask)]


@lowers(aten.native_group_norm.default)
def group_norm(b, x, gamma, beta, batch, channels, area, groups, epsilon):
    check_floats(x, gamma, beta)
    gamma, beta = both(b, gamma, beta, [x.shape[1]])
    wide = b.cast(x, _WIDE)
    return normalized_with(b, "GroupNorm", x, wide, gamma, beta, epsilon,
                           groups=groups, data_format="NCX")


def of_channels(b, value, rank):
    return b.reshape(value, [1, value.shape[0]] + [1] * (rank - 2))


@lowers(aten._native_batch_norm_legit_no_training.default)
def batch_norm_inference(b, x, gamma, beta, mean, variance, momentum, epsilon):
    y = batch_norm_apply(b, x, gamma, beta, mean, variance, epsilon)
    return y, *(b.full(r.shape, 0, r.dtype) for r in b.result[1:])


def batch_norm_apply(b, x, gamma, beta, mean, variance, epsilon):
    check_floats(x)
    count = [x.shape[1]]
    gamma = b.full(count, 1, _WIDE) if gamma is None else b.cast(gamma, _WIDE)
    beta = b.full(count, 0, _WIDE) if beta is None else b.cast(beta, _WIDE)
    if x.rank < 3:
        scale = b.op("Multiply", gamma, inverse(b, b.cast(variance, _WIDE),
                                                epsilon))
        shift = b.op("Subtract", beta, b.op("Multiply", b.cast(mean, _WIDE),
                                            scale))
        y = b.op("Add", b.op("Multiply", b.cast(x, _WIDE), scale), shift)
        return b.cast(y, x.dtype)
    return b.op("BatchNormInference", x, gamma, beta, b.cast(mean, _WIDE),
                b.cast(variance, _WIDE), epsilon=float(epsilon),
                data_format="NCX", shape=x.shape)


def reduced_by_batch(b, x):
    """The dims that statistics of a batch reduce, and of how many elements."""
    dims = [0, *range(2, x.rank)]
    return dims, b.value(math.prod(x.shape[d] for d in dims), _WIDE)


@lowers(aten._native_batch_norm_legit_functional.default)
def batch_norm_training(b, x, gamma, beta, running_mean, running_variance,
                        training, momentum, epsilon):
    check_floats(x)
    if not training:
        y = batch_norm_apply(b, x, gamma, beta, running_mean, running_variance,
                             epsilon)
        if math.prod(b.result[1].shape):
            raise Unsupported("statistics that are not computed are kept")
        return (y, *(b.full((0,), 0, r.dtype) for r in b.result[1:3]),
                running_mean, running_variance)
    dims, count = reduced_by_batch(b, x)
    wide = b.cast(x, _WIDE)
    mean = b.reduce("ReduceMean", wide, dims, False)
    mean.shape = [x.shape[1]]
    spread = b.op("SquaredDifference", wide, of_channels(b, mean, x.rank))
    variance = b.reduce("ReduceMean", spread, dims, False)
    variance.shape = [x.shape[1]]
    inverted = inverse(b, variance, epsilon)
    inverted.shape = [x.shape[1]]
    y = b.op("Multiply", b.op("Subtract", wide, of_channels(b, mean, x.rank)),
             of_channels(b, inverted, x.rank))
    if gamma is not None:
        y = b.op("Multiply", y, of_channels(b, b.cast(gamma, _WIDE), x.rank))
    if beta is not None:
        y = b.op("Add", y, of_channels(b, b.cast(beta, _WIDE), x.rank))

    def running(i, old, new):
        if old is None:
            return None
        new = b.op("Multiply", new, b.scalar(momentum, _WIDE))
        kept = b.op("Multiply", b.cast(old, _WIDE),
                    b.scalar(1 - momentum, _WIDE))
        return b.cast(b.op("Add", kept, new), b.result[i].dtype)

    one = b.scalar(1, _WIDE)
    others = b.op("Maximum", b.op("Subtract", count, one), one)
    unbiased = b.op("Multiply", variance, b.op("Divide", count, others))
    return (b.cast(y, x.dtype), b.cast(mean, b.result[1].dtype),
            b.cast(inverted, b.result[2].dtype), running(3, running_mean, mean),
            running(4, running_variance, unbiased))


@lowers(aten._native_batch_norm_legit.no_stats)
def batch_norm_no_stats(b, x, gamma, beta, training, momentum, epsilon):
    if not training:
        raise Unsupported("no statistics to normalise by")
    return batch_norm_training(b, x, gamma, beta, None, None, True, momentum,
                               epsilon)[:3]


@lowers(aten.native_batch_norm_backward.default)
def batch_norm_backward(b, grad, x, gamma, running_mean, running_variance, mean,
                        inverted, training, epsilon, mask):
    check_floats(grad, x)
    dims, count = reduced_by_batch(b, x)
    x_, g = b.cast(x, _WIDE), b.cast(grad, _WIDE)
    if not training:
        mean = running_mean
        inverted = inverse(b, b.cast(running_variance, _WIDE), epsilon)
        inverted.shape = [x.shape[1]]
    mean, inverted = b.cast(mean, _WIDE), b.cast(inverted, _WIDE)
    normal = b.op("Multiply", b.op("Subtract", x_, of_channels(b, mean, x.rank)),
                  of_channels(b, inverted, x.rank))
    sum_grad = b.reduce("ReduceSum", g, dims, False)
    sum_grad.shape = [x.shape[1]]
    sum_normal = b.reduce("ReduceSum", b.op("Multiply", g, normal), dims, False)
    sum_normal.shape = [x.shape[1]]
    narrow = x.dtype if gamma is None else gamma.dtype
    results = [None, b.cast(sum_normal, narrow) if mask[1] else None,
               b.cast(sum_grad, narrow) if mask[2] else None]
    if mask[0]:
        inner = g
        if training:  # the statistics depend on x, too
            part = b.op("Reciprocal", count)
            inner = b.op("Subtract", g, of_channels(
                b, scaled(b, sum_grad, part), x.rank))
            inner = b.op("Subtract", inner, b.op(
                "Multiply", normal, of_channels(
                    b, scaled(b, sum_normal, part), x.rank)))
        factor = inverted if gamma is None else b.op(
            "Multiply", inverted, b.cast(gamma, _WIDE))
        factor.shape = [x.shape[1]]
        results[0] = b.cast(b.op("Multiply", inner, of_channels(
            b, factor, x.rank)), x.dtype)
    return results


def scaled(b, value, factor):
    made = b.op("Multiply", value, factor)
    made.shape = value.shape
    return made
