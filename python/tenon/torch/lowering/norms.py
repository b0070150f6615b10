# SPDX-License-Identifier: Apache-2.0
"""Normalizations, pooling and resampling."""
from __future__ import annotations

import math

import torch

import tenon.torch.joint  # declares the operator of max pooling
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
    results = b.ops("LayerNormBackward", wide, wide_grad, mean, variance, scale,
                    shift, dtypes=[_WIDE] * (3 if affine else 1),
                    begin_norm_axis=axis, use_affine=affine, epsilon=epsilon)
    if not affine and mask[2]:
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
    nothing = b.full((0,), 0, _WIDE) if len(b.result) > 1 else None
    return y, nothing, nothing


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


def reduced_by_batch(b, x, training):
    """The dims that statistics of a batch reduce, and of how many elements."""
    if not training:
        raise Unsupported("batch norm by running statistics in training")
    dims = [0, *range(2, x.rank)]
    sizes = b.static("the size of a batch", [x.shape[d] for d in dims])
    return dims, math.prod(sizes)


@lowers(aten._native_batch_norm_legit_functional.default)
def batch_norm_training(b, x, gamma, beta, running_mean, running_variance,
                        training, momentum, epsilon):
    check_floats(x)
    dims, count = reduced_by_batch(b, x, training)
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

    def running(old, new, factor):
        if old is None:
            return None
        new = b.op("Multiply", new, b.scalar(momentum * factor, _WIDE))
        kept = b.op("Multiply", b.cast(old, _WIDE),
                    b.scalar(1 - momentum, _WIDE))
        return b.cast(b.op("Add", kept, new), old.dtype)

    unbiased = count / (count - 1) if count > 1 else 1
    return (b.cast(y, x.dtype), b.cast(mean, b.result[1].dtype),
            b.cast(inverted, b.result[2].dtype), running(running_mean, mean, 1),
            running(running_variance, variance, unbiased))


@lowers(aten.native_batch_norm_backward.default)
def batch_norm_backward(b, grad, x, gamma, running_mean, running_variance, mean,
                        inverted, training, epsilon, mask):
    check_floats(grad, x)
    dims, count = reduced_by_batch(b, x, training)
    x_, g = b.cast(x, _WIDE), b.cast(grad, _WIDE)
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
        part = b.scalar(1 / count, _WIDE)
        inner = b.op("Subtract", g, of_channels(b, scaled(b, sum_grad, part),
                                                x.rank))
        inner = b.op("Subtract", inner, b.op(
            "Multiply", normal, of_channels(b, scaled(b, sum_normal, part),
                                            x.rank)))
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


# -- pooling -----------------------------------------------------------------


def spread(values, rank, default=None):
    values = list(values) or list(default)
    return values * rank if len(values) == 1 else values


def pool_window(b, kernel, stride, padding, rank, ceil):
    kernel = spread(kernel, rank)
    pads = spread(padding, rank)
    return dict(kernel=kernel, strides=spread(stride, rank, kernel),
                pads_begin=pads, pads_end=pads, data_format="NCX",
                rounding_type="ceil" if ceil else "floor")


@lowers(aten.avg_pool2d.default, aten.avg_pool3d.default)
def avg_pool(b, x, kernel, stride=(), padding=(0,), ceil_mode=False,
             count_include_pad=True, divisor_override=None):
    rank = window_rank(b)
    if divisor_override or x.rank != rank + 2 or x.dtype not in FLOATS:
        raise Unsupported("an average with a divisor, or without a batch")
    return b.op("AvgPool", x, exclude_pad=not count_include_pad,
                divisor="clipped" if ceil_mode else "window",
                shape=b.result.shape,
                **pool_window(b, kernel, stride, padding, rank, ceil_mode))


def window_rank(b):
    return 3 if "3d" in str(b.operator) else 2


@lowers(aten.avg_pool2d_backward.default, aten.avg_pool3d_backward.default)
def avg_pool_backward(b, grad, x, kernel, stride, padding, ceil_mode,
                      count_include_pad, divisor_override):
    rank = window_rank(b)
    if divisor_override or x.rank != rank + 2:
        raise Unsupported("an average with a divisor, or without a batch")
    return b.op("AvgPoolBackward", grad, exclude_pad=not count_include_pad,
                divisor="clipped" if ceil_mode else "window",
                src_shape=b.static("the size of an image", x.shape),
                shape=b.result.shape,
                **pool_window(b, kernel, stride, padding, rank, ceil_mode))


@lowers(aten._adaptive_avg_pool2d.default)
def adaptive_avg_pool2d(b, x, output):
    if x.rank != 4:
        raise Unsupported("pooling without a batch")
    size = b.static("the size of an image", x.shape[2:])
    output = b.static("the size of the result", output)
    if output == [1, 1]:
        return b.reduce("ReduceMean", x, [2, 3], True)
    if any(s % o for s, o in zip(size, output)):
        return unequal_means(b, x, size, output)
    kernel = [s // o for s, o in zip(size, output)]
    return b.op("AvgPool", x, exclude_pad=False, shape=b.result.shape,
                **pool_window(b, kernel, kernel, [0], 2, False))


def unequal_means(b, x, size, output):
    """Means over windows of unequal sizes: a product with weights for each
    dim."""
    y = b.cast(x, _WIDE)
    for dim in (1, 0):
        if size[dim] == output[dim]:
            continue
        weights = torch.zeros(output[dim], size[dim])
        for i in range(output[dim]):
            first = i * size[dim] // output[dim]
            last = -(-(i + 1) * size[dim] // output[dim])
            weights[i, first:last] = 1 / (last - first)
        made = b.constant(f"weights {dim}", weights)
        y = b.op("MatMul", y, made, transpose_b=True) if dim == 1 else \
            b.op("MatMul", made, y)
    return b.cast(y, x.dtype)


@lowers(aten.max_pool2d_with_indices.default,
        aten.max_pool3d_with_indices.default)
def max_pool(b, x, kernel, stride=(), padding=(0,), dilation=(1,),
             ceil_mode=False):
    rank = window_rank(b)
    if 1 in b.wanted:
        raise Unsupported("the positions of the maxima are wanted")
    if x.rank != rank + 2 or x.dtype not in FLOATS:
        raise Unsupported("pooling without a batch, or of integers")
    y = b.op("MaxPool", x, dilations=spread(dilation, rank), propagate_nan=True,
             shape=b.result[0].shape,
             **pool_window(b, kernel, stride, padding, rank, ceil_mode))
    return y, None


@lowers(torch.ops.tenon.max_pool2d_backward.default)
def max_pool_backward(b, grad, x, kernel, stride, padding, dilation, ceil_mode):
    if x.rank != 4 or x.dtype not in FLOATS:
        raise Unsupported("pooling without a batch, or of integers")
    window = pool_window(b, kernel, stride, padding, 2, ceil_mode)
    del window["rounding_type"]  # the gradient has its size
    return b.op("MaxPoolBackward", x, grad, dilations=spread(dilation, 2),
                propagate_nan=True, shape=x.shape, **window)


# -- resampling --------------------------------------------------------------


@lowers(aten.upsample_nearest2d.default)
def upsample_nearest2d(b, x, output, scales_h=None, scales_w=None):
    return b.op("Interpolate", x, mode="nearest", data_format="NCX",
                sizes=b.static("the size of the result", output),
                coordinate_transformation_mode="asymmetric",
                nearest_mode="floor", shape=b.result.shape)


@lowers(aten.upsample_bilinear2d.default)
def upsample_bilinear2d(b, x, output, align_corners, scales_h=None,
                        scales_w=None):
    return b.op("Interpolate", x, mode="bilinear", data_format="NCX",
                sizes=b.static("the size of the result", output),
                coordinate_transformation_mode="align_corners"
                if align_corners else "half_pixel", shape=b.result.shape)
