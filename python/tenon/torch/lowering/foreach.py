# SPDX-License-Identifier: Apache-2.0
"""Operators on lists of tensors, as optimisers use them: one lowering for each
tensor."""
from __future__ import annotations

import torch

from tenon.torch.lowering.core import LOWERINGS, Value, lowers

aten = torch.ops.aten

#: Operators on one tensor by the names of those on lists.
_SINGLE = {
    "abs": aten.abs.default, "add": aten.add.Tensor,
    "addcdiv": aten.addcdiv.default, "addcmul": aten.addcmul.default,
    "ceil": aten.ceil.default, "clamp_max": aten.clamp_max.default,
    "clamp_min": aten.clamp_min.default, "copy": aten.copy.default,
    "cos": aten.cos.default,
    "div": aten.div.Tensor, "erf": aten.erf.default, "exp": aten.exp.default,
    "expm1": aten.expm1.default, "floor": aten.floor.default,
    "lerp": aten.lerp.Scalar, "log": aten.log.default,
    "log1p": aten.log1p.default, "maximum": aten.maximum.default,
    "minimum": aten.minimum.default, "mul": aten.mul.Tensor,
    "neg": aten.neg.default, "reciprocal": aten.reciprocal.default,
    "round": aten.round.default, "rsqrt": aten.rsqrt.default,
    "sigmoid": aten.sigmoid.default, "sign": aten.sign.default,
    "sin": aten.sin.default, "sqrt": aten.sqrt.default,
    "sub": aten.sub.Tensor, "tanh": aten.tanh.default,
    "trunc": aten.trunc.default,
}


def each(single):
    def lowering(b, *args, **kwargs):
        results = b.result
        count = len(results)

        def at(value, i):
            # Lists have an entry for each tensor; anything else is for all.
            return value[i] if isinstance(value, (list, tuple)) else value

        function, made = LOWERINGS[single], []
        for i in range(count):
            b.result = results[i]
            value = function(b, *[at(a, i) for a in args],
                             **{k: at(v, i) for k, v in kwargs.items()})
            made.append(Value(value.edge, value.dtype, results[i].shape))
        b.result = results
        return made

    return lowering


for _name, _operator in _SINGLE.items():
    _packet = getattr(aten, f"_foreach_{_name}")
    for _overload in _packet.overloads():
        if not _overload.endswith("out"):
            lowers(getattr(_packet, _overload))(each(_operator))


@lowers(aten._foreach_pow.Scalar, aten._foreach_pow.ScalarList)
def foreach_pow(b, tensors, exponents):
    return each(aten.pow.Tensor_Scalar)(b, tensors, exponents)


@lowers(aten._foreach_pow.ScalarAndTensor)
def foreach_pow_of_scalar(b, base, tensors):
    return each(aten.pow.Scalar)(b, base, tensors)


@lowers(aten._foreach_zero.default)
def foreach_zero(b, tensors):
    return each(aten.zeros_like.default)(b, tensors)
