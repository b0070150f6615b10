# SPDX-License-Identifier: Apache-2.0
"""Operators that are whole layers: what nn.TransformerEncoderLayer and
nn.MultiheadAttention call in inference."""
from __future__ import annotations

import math

import torch

from tenon.torch.lowering.core import Value, lowers
from tenon.torch.lowering.elementwise import truth
from tenon.torch.lowering.products import check_floats, transposed_keys

aten = torch.ops.aten


def linear(b, x, weights, bias):
    """x W^T + bias over the last dim."""
    return b.op("MatMul", x, weights, bias, transpose_b=True)


def norm(b, x, gamma, beta, epsilon):
    return b.op("LayerNorm", x, gamma, beta, use_affine=True, keep_stats=False,
                begin_norm_axis=-1, epsilon=float(epsilon))


def heads(b, x, shape, count):
    """Of batch x length x channels: batch x head x length x size."""
    batch, length, channels = shape
    split = b.reshape(x, [batch, length, count, channels // count])
    return b.transpose(split, [0, 2, 1, 3])


def mask_of(b, mask, kind, shape):
    """What is not 0 hides: kind 0 for pairs, 1 for keys, 2 for both."""
    mask = Value(truth(b, mask).edge, torch.bool, mask.shape)
    batch, length, _ = shape
    if kind == 0:
        return b.reshape(mask, [1, 1, length, length])
    if kind == 1:
        return b.reshape(mask, [batch, 1, 1, length])
    return mask


def attend(b, x: Value, count, qkv_weights, qkv_bias, weights, bias, mask,
           mask_kind):
    """Self attention with a projection."""
    shape = x.shape
    channels = shape[2]
    joint = linear(b, x, qkv_weights, qkv_bias)
    q, k, v = (heads(b, b.op("Slice", joint, begins=[i * channels],
                             ends=[(i + 1) * channels], axes=[2], shape=shape),
                     shape, count) for i in range(3))
    scores = b.times(b.op("MatMul", q, transposed_keys(b, k)),
                     1 / math.sqrt(channels // count))
    if mask is not None:
        scores = b.op("Select", mask_of(b, mask, mask_kind, shape),
                      b.scalar(-math.inf, x.dtype), scores, dtype=x.dtype)
    y = b.op("MatMul", b.op("SoftMax", scores, axis=3), v, shape=q.shape)
    return linear(b, b.reshape(b.transpose(y, [0, 2, 1, 3]), shape), weights,
                  bias)


@lowers(aten._transformer_encoder_layer_fwd.default)
def encoder_layer(b, x, channels, count, qkv_weights, qkv_bias, weights, bias,
                  use_gelu, norm_first, epsilon, gamma_1, beta_1, gamma_2,
                  beta_2, weights_1, bias_1, weights_2, bias_2, mask=None,
                  mask_kind=None):
    check_floats(x, qkv_weights)
    shape = x.shape

    def add(p, q):
        return b.op("Add", p, q, shape=shape)

    def attention(y):
        return attend(b, y, count, qkv_weights, qkv_bias, weights, bias, mask,
                      mask_kind)

    def feed_forward(y):
        y = linear(b, y, weights_1, bias_1)
        y = b.op("GELU", y) if use_gelu else b.op("ReLU", y)
        return linear(b, y, weights_2, bias_2)

    if norm_first:
        y = norm(b, x, gamma_1, beta_1, epsilon)
        y.shape = shape
        x = add(x, attention(y))
        return add(x, feed_forward(norm(b, x, gamma_2, beta_2, epsilon)))
    x = norm(b, add(x, attention(x)), gamma_1, beta_1, epsilon)
    return norm(b, add(x, feed_forward(x)), gamma_2, beta_2, epsilon)
