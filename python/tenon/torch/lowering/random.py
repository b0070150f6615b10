# SPDX-License-Identifier: Apache-2.0
"""Random numbers: reproducible by torch.manual_seed, other ones than eager's."""
from __future__ import annotations

import math

import torch

from tenon.torch.lowering.core import FLOATS, Unsupported, lowers

aten = torch.ops.aten


@lowers(aten.native_dropout.default)
def native_dropout(b, x, p, train):
    if train is False or p == 0:
        return x, b.full(x.shape, True, torch.bool)
    if x.dtype not in FLOATS:
        raise Unsupported(f"dropout of {x.dtype}")
    y, mask = b.ops("Dropout", x, b.seed, b.offset(),
                    b.scalar(p, torch.float32), dtypes=[x.dtype, torch.uint8])
    return y, b.cast(mask, torch.bool)


def uniform(b, shape):
    return b.op("RandomUniform", b.seed, b.offset(), dtype=torch.float32,
                shape=shape, shape_=b.static("the size of the result", shape))


def check_type(dtype):
    if dtype not in FLOATS:
        raise Unsupported(f"random numbers of {dtype}")


@lowers(aten.rand.default, aten.rand_like.default)
def rand(b, *_, **__):
    dtype = b.result.dtype
    check_type(dtype)
    found = uniform(b, b.result.shape)
    if dtype != torch.float32:
        # Multiples of a number, as eager's: rounding would give ones, too.
        steps = b.scalar(2 / torch.finfo(dtype).eps, torch.float32)
        found = b.op("Divide", b.op("Floor", b.op("Multiply", found, steps)),
                     steps)
    return b.cast(found, dtype)


@lowers(aten.randn.default, aten.randn_like.default)
def randn(b, *_, **__):
    """Box and Muller: sqrt(-2 ln u) cos(2 pi v)."""
    check_type(b.result.dtype)
    wide, shape = torch.float32, b.result.shape
    # 1 - u is above 0.
    u = b.op("Subtract", b.scalar(1, wide), uniform(b, shape))
    radius = b.op("Sqrt", b.op("Multiply", b.scalar(-2, wide), b.op("Log", u)))
    angle = b.op("Multiply", b.scalar(2 * math.pi, wide), uniform(b, shape))
    return b.cast(b.op("Multiply", radius, b.op("Cos", angle)), b.result.dtype)


@lowers(aten.bernoulli.p)
def bernoulli_p(b, x, p=0.5):
    below = b.op("Greater", b.scalar(p, torch.float32), uniform(b, x.shape),
                 dtype=torch.bool)
    return b.cast(below, b.result.dtype)


@lowers(aten.bernoulli.default)
def bernoulli(b, x):
    below = b.op("Greater", b.cast(x, torch.float32), uniform(b, x.shape),
                 dtype=torch.bool)
    return b.cast(below, b.result.dtype)
