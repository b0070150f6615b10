# SPDX-License-Identifier: Apache-2.0
"""Matrix products, convolutions and attention."""
from __future__ import annotations

import math

import torch

from tenon.torch.lowering.core import FLOATS, Unsupported, lowers

aten = torch.ops.aten


def check_floats(*values):
    for value in values:
        if value is not None and value.dtype not in FLOATS:
            raise Unsupported(f"a product of {value.dtype}")


@lowers(aten.mm.default, aten.bmm.default, aten.mv.default, aten.dot.default)
def matmul(b, x, y):
    check_floats(x, y)
    return b.op("MatMul", x, y, shape=b.result.shape)


@lowers(aten.addmm.default, aten.baddbmm.default, aten.addmv.default)
def addmm(b, bias, x, y, *, beta=1, alpha=1):
    check_floats(bias, x, y)
    if beta == 1 and alpha == 1 and bias.rank == 1 and y.rank == 2 and \
            bias.shape[0] == y.shape[1]:
        return b.op("MatMul", x, y, bias, shape=b.result.shape)
    dtype = x.dtype if alpha == beta == 1 else torch.float32
    product = b.times(b.op("MatMul", x, y, dtype=dtype), alpha)
    if beta != 0:
        bias = b.times(b.cast(bias, dtype), beta)
        product = b.op("Add", product, bias, shape=b.result.shape)
    return b.cast(product, x.dtype)


def window(b, rank, strides, pads, dilations, groups):
    """Attributes of a convolution; one entry stands for all dims."""

    def spread(values):
        values = b.static("a window", values)
        return values * rank if len(values) == 1 else values

    pads = spread(pads)
    if any(p < 0 for p in pads):
        raise Unsupported("the padding is negative")
    return dict(strides=spread(strides), pads_begin=pads, pads_end=pads,
                dilations=spread(dilations), groups=groups, data_format="NCX")


@lowers(aten.convolution.default)
def convolution(b, x, weights, bias, stride, padding, dilation, transposed,
                output_padding, groups):
    check_floats(x, weights, bias)
    rank = weights.rank - 2
    if x.rank != rank + 2:
        raise Unsupported("the input has no batch")
    attributes = window(b, rank, stride, padding, dilation, groups)
    if not transposed:
        return b.op("Convolution", x, weights, bias, weights_format="OIX",
                    shape=b.result.shape, **attributes)
    output_padding = b.static("the padding of the output", output_padding)
    return b.op("ConvTranspose", x, weights, bias, weights_format="IOX",
                output_padding=output_padding * (
                    rank if len(output_padding) == 1 else 1),
                shape=b.result.shape, **attributes)


@lowers(aten.convolution_backward.default)
def convolution_backward(b, grad, x, weights, bias_sizes, stride, padding,
                         dilation, transposed, output_padding, groups, mask):
    check_floats(grad, x, weights)
    rank = weights.rank - 2
    attributes = window(b, rank, stride, padding, dilation, groups)
    kind = "ConvTranspose" if transposed else "Convolution"
    attributes["weights_format"] = "IOX" if transposed else "OIX"
    results = [None, None, None]
    if mask[0]:
        more = {} if transposed else {
            "dst_shape": b.static("the size of an image", x.shape)}
        results[0] = b.op(kind + "BackwardData", grad, weights, shape=x.shape,
                          dtype=x.dtype, **attributes, **more)
    if mask[1]:
        results[1] = b.op(
            kind + "BackwardWeights", x, grad, shape=weights.shape,
            weights_shape=b.static("the size of weights", weights.shape),
            dtype=weights.dtype, **attributes)
    if mask[2]:
        results[2] = b.reduce("ReduceSum", grad, [0, *range(2, grad.rank)], False)
    return results


# -- attention ---------------------------------------------------------------


def transposed_keys(b, k):
    order = list(range(k.rank))
    order[-1], order[-2] = order[-2], order[-1]
    return b.transpose(k, order)


def scale_of(b, q, scale):
    """What scores are multiplied by, in f32."""
    if scale is not None:
        return b.scalar(scale, torch.float32)
    size = b.sizes.value(q.shape[-1])
    if isinstance(size, int):
        return b.scalar(1 / math.sqrt(size), torch.float32)
    size = b.value(q.shape[-1], torch.float32)
    return b.op("Reciprocal", b.op("Sqrt", size))


def causal(b, scores, q, k, first):
    """-inf where a key comes after its query."""
    shape = [q.shape[-2], k.shape[-2]]
    zero = b.full(shape, 0, torch.int64)
    allowed = b.op("GreaterEqual", b.count(zero, 0), b.count(zero, 1),
                   dtype=torch.bool)
    return b.op("Select", allowed, scores, b.scalar(-math.inf, scores.dtype),
                dtype=scores.dtype)


def masked(b, scores, mask):
    if mask is None:
        return scores
    if mask.dtype == torch.bool:
        return b.op("Select", mask, scores, b.scalar(-math.inf, scores.dtype),
                    dtype=scores.dtype)
    return b.op("Add", scores, b.value(mask, scores.dtype))


def for_each_head(b, q, kv):
    """Keys or values repeated for the heads of queries that share them."""
    if b.sizes.text(q.shape[1]) == b.sizes.text(kv.shape[1]):
        return kv
    heads, shared = b.static("the number of heads", [q.shape[1], kv.shape[1]])
    batch, _, length, size = kv.shape
    wide = [batch, shared, heads // shared, length, size]
    split = b.reshape(kv, [batch, shared, 1, length, size])
    return b.reshape(b.expand(split, wide), [batch, heads, length, size])


def shared_heads(b, kv, grad):
    """Gradients summed over the heads of queries that share keys or values."""
    if b.shape(kv.shape) == b.shape(grad.shape):
        return grad
    batch, shared, length, size = kv.shape
    split = b.reshape(grad, [batch, shared, grad.shape[1] // shared, length,
                             size])
    y = b.reduce("ReduceSum", split, [2], False)
    y.shape = kv.shape
    return y


@lowers(aten._scaled_dot_product_flash_attention_for_cpu.default)
def flash_attention(b, q, k, v, dropout_p=0.0, is_causal=False, *,
                    attn_mask=None, scale=None):
    check_floats(q, k, v)
    if dropout_p:
        raise Unsupported("attention with dropout")
    wide = torch.float32
    k, v = for_each_head(b, q, k), for_each_head(b, q, v)
    scores = b.op("MatMul", q, transposed_keys(b, k), dtype=wide)
    scores = b.op("Multiply", scores, scale_of(b, q, scale))
    if is_causal:
        scores = causal(b, scores, q, k, 0)
    scores = masked(b, scores, attn_mask)
    weights, stats = b.ops("SoftMax", scores, dtypes=[q.dtype, wide],
                           axis=q.rank - 1, mode="inf_as_zero")
    out = b.op("MatMul", weights, v, shape=b.result[0].shape)
    return out, b.reshape(stats, b.result[1].shape)


@lowers(aten._scaled_dot_product_flash_attention_for_cpu_backward.default)
def flash_attention_backward(b, grad, q, k, v, out, stats, dropout_p=0.0,
                             is_causal=False, *, attn_mask=None, scale=None):
    if dropout_p:
        raise Unsupported("attention with dropout")
    wide, keys = torch.float32, k
    k, v = for_each_head(b, q, k), for_each_head(b, q, v)
    factor = scale_of(b, q, scale)
    scores = b.op("Multiply", b.op("MatMul", q, transposed_keys(b, k),
                                   dtype=wide), factor)
    if is_causal:
        scores = causal(b, scores, q, k, 0)
    scores = masked(b, scores, attn_mask)
    weights = b.op("SoftMax", scores, axis=q.rank - 1, mode="inf_as_zero")
    narrow = b.cast(weights, q.dtype)
    last = list(range(q.rank - 2)) + [q.rank - 1, q.rank - 2]
    grad_v = b.op("MatMul", b.op("StaticTranspose", narrow, order=last), grad,
                  dtype=wide, shape=v.shape)
    grad_weights = b.op("MatMul", grad, transposed_keys(b, v), dtype=wide)
    grad_scores = b.op("SoftMaxBackward", grad_weights, weights, axis=q.rank - 1)
    grad_scores = b.cast(b.op("Multiply", grad_scores, factor), q.dtype)
    grad_q = b.op("MatMul", grad_scores, k, shape=q.shape)
    grad_k = b.op("MatMul", b.op("StaticTranspose", grad_scores, order=last), q,
                  dtype=wide, shape=k.shape)
    return grad_q, *(b.cast(shared_heads(b, keys, g), q.dtype)
                     for g in (grad_k, grad_v))
