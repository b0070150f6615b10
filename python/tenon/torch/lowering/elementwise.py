# SPDX-License-Identifier: Apache-2.0
"""Operators that compute each element by itself."""
from __future__ import annotations

import math

import torch
import torch._inductor.inductor_prims  # declares prims.fma

from tenon.torch.lowering.core import (FLOATS, Builder, Unsupported, Value,
                                       lowers, wide_for)

aten = torch.ops.aten


def unary(kind, **attributes):
    """A lowering to one operation of the result's type."""

    def lowering(b: Builder, x: Value):
        return b.op(kind, b.value(x, b.result.dtype), shape=b.result.shape,
                    **attributes)

    return lowering


for _operator, _kind in [
        (aten.sigmoid.default, "Sigmoid"),
        (aten.tanh.default, "Tanh"), (aten.exp.default, "Exp"),
        (aten.log.default, "Log"), (aten.log1p.default, "Log1p"),
        (aten.expm1.default, "Expm1"), (aten.sqrt.default, "Sqrt"),
        (aten.erf.default, "Erf"), (aten.sin.default, "Sin"),
        (aten.cos.default, "Cos"), (aten.reciprocal.default, "Reciprocal"),
        (aten.hardswish.default, "HardSwish"), (aten.mish.default, "Mish"),
        (aten.abs.default, "Abs")]:
    lowers(_operator)(unary(_kind))


@lowers(aten.relu.default)
def relu(b, x):
    if x.dtype not in FLOATS:
        return b.op("Maximum", x, b.scalar(0, x.dtype))
    return b.op("ReLU", x, shape=b.result.shape)


@lowers(aten.exp2.default)
def exp2(b, x):
    """2^x is exact for integers, which e^(x ln 2) is not."""
    x = b.value(x, b.result.dtype)
    return b.op("Pow", b.scalar(2, x.dtype), x)


@lowers(aten.tan.default)
def tan(b, x):
    x = b.value(x, b.result.dtype)
    return b.op("Divide", b.op("Sin", x), b.op("Cos", x))


@lowers(aten.atan.default)
def atan(b, x):
    x = b.value(x, b.result.dtype)
    return b.op("Atan2", x, b.scalar(1, x.dtype))


@lowers(aten.asin.default)
def asin(b, x):
    x = b.value(x, b.result.dtype)
    return b.op("Atan2", x, other_leg(b, x))


@lowers(aten.acos.default)
def acos(b, x):
    x = b.value(x, b.result.dtype)
    return b.op("Atan2", other_leg(b, x), x)


def other_leg(b, x):
    """sqrt((1 - x) (1 + x)), NaN beyond 1."""
    one = b.scalar(1, x.dtype)
    return b.op("Sqrt", b.op("Multiply", b.op("Subtract", one, x),
                             b.op("Add", one, x)))


@lowers(aten.sinh.default)
def sinh(b, x):
    """(e^x - 1) (1 + 1 / e^x) / 2, which does not cancel near 0."""
    x = b.value(x, b.result.dtype)
    part = b.op("Expm1", b.op("Abs", x))
    one = b.scalar(1, x.dtype)
    rest = b.op("Add", part, b.op("Divide", part, b.op("Add", part, one)))
    # Where e^x is infinite the quotient of infinities is no number.
    rest = b.op("Select", isinf(b, part), part, rest, dtype=x.dtype)
    half = b.op("Multiply", rest, b.scalar(0.5, x.dtype))
    below = b.op("Greater", b.scalar(0, x.dtype), x, dtype=torch.bool)
    return b.op("Select", below, negated(b, half), half, dtype=x.dtype)


@lowers(aten.cosh.default)
def cosh(b, x):
    x = b.value(x, b.result.dtype)
    e = b.op("Exp", b.op("Abs", x))
    return b.op("Multiply", b.op("Add", e, b.op("Reciprocal", e)),
                b.scalar(0.5, x.dtype))


@lowers(aten.round.decimals)
def round_decimals(b, x, *, decimals):
    if not x.dtype.is_floating_point:
        raise Unsupported("integers are rounded to decimals")
    factor = b.scalar(10.0 ** abs(decimals), x.dtype)
    there, back = ("Multiply", "Divide") if decimals >= 0 else \
        ("Divide", "Multiply")
    return b.op(back, b.op("Round", b.op(there, x, factor)), factor)


def nan_as_other(kind):
    """The other operand where one is NaN."""

    def lowering(b, x, y):
        p, q = operands(b, x, y)
        if not p.dtype.is_floating_point:
            return b.op(kind, p, q)
        nan_p, nan_q = isnan(b, p), isnan(b, q)
        best = b.op(kind, p, q, shape=b.result.shape)
        best = b.op("Select", nan_q, b.expand(p, b.result.shape), best,
                    dtype=p.dtype)
        return b.op("Select", nan_p, b.expand(q, b.result.shape), best,
                    dtype=p.dtype)

    return lowering


lowers(aten.fmax.default)(nan_as_other("Maximum"))
lowers(aten.fmin.default)(nan_as_other("Minimum"))


@lowers(aten.copy.default)
def copy(b, x, source, non_blocking=False):
    return b.expand(b.value(source, x.dtype), b.result.shape)


@lowers(aten.floor.default)
def floor(b, x):
    return x if not x.dtype.is_floating_point else b.op("Floor", x)


@lowers(aten.round.default)
def round_(b, x):
    return x if not x.dtype.is_floating_point else b.op("Round", x)


def negated(b, x):
    return b.op("Multiply", x, b.scalar(-1, x.dtype))


def ceiling(b, x):
    return negated(b, b.op("Floor", negated(b, x)))


@lowers(aten.ceil.default)
def ceil(b, x):
    return x if not x.dtype.is_floating_point else ceiling(b, x)


@lowers(aten.trunc.default)
def trunc(b, x):
    if not x.dtype.is_floating_point:
        return x
    below = b.op("Greater", b.scalar(0, x.dtype), x, dtype=torch.bool)
    return b.op("Select", below, ceiling(b, x), b.op("Floor", x), dtype=x.dtype)


@lowers(aten.neg.default)
def neg(b, x):
    return negated(b, x)


@lowers(aten.rsqrt.default)
def rsqrt(b, x):
    return b.op("Reciprocal", b.op("Sqrt", b.value(x, b.result.dtype)))


@lowers(aten.square.default)
def square(b, x):
    return b.op("Multiply", x, x)


@lowers(aten.silu.default)
def silu(b, x):
    return b.op("Multiply", x, b.op("Sigmoid", x))


@lowers(aten.gelu.default)
def gelu(b, x, *, approximate="none"):
    return b.op("GELU", x, mode="gelu_erf" if approximate == "none"
                else "gelu_tanh")


@lowers(aten.hardsigmoid.default)
def hardsigmoid(b, x):
    return b.op("HardSigmoid", x, alpha=1 / 6, beta=0.5)


@lowers(aten.leaky_relu.default)
def leaky_relu(b, x, negative_slope=0.01):
    if not 0 <= negative_slope:
        raise Unsupported("the slope is negative")
    return b.op("LeakyReLU", x, alpha=float(negative_slope))


@lowers(aten.elu.default)
def elu(b, x, alpha=1, scale=1, input_scale=1):
    if input_scale != 1 or alpha < 0:
        raise Unsupported("its scale of the input is not 1, or alpha negative")
    y = b.op("Elu", x, alpha=float(alpha))
    return b.times(y, scale)


@lowers(aten.softplus.default)
def softplus(b, x, beta=1, threshold=20):
    if beta <= 0:
        raise Unsupported(f"its beta is {beta}")
    y = b.op("SoftPlus", x, beta=float(beta))
    if threshold >= 20:  # x itself differs by less than 2e-9 there
        return y
    above = b.op("Greater", b.op("Multiply", x, b.scalar(beta, x.dtype)),
                 b.scalar(threshold, x.dtype), dtype=torch.bool)
    return b.op("Select", above, x, y, dtype=x.dtype)


@lowers(aten.sign.default)
def sign(b, x):
    """0 for NaN, as eager's."""
    zero = b.scalar(0, x.dtype)
    above, below = (b.cast(b.op("Greater", *pair, dtype=torch.bool), x.dtype)
                    for pair in ((x, zero), (zero, x)))
    return b.op("Subtract", above, below)


@lowers(aten.isnan.default)
def isnan(b, x):
    return b.op("Not", b.op("Equal", x, x, dtype=torch.bool))


@lowers(aten.isinf.default)
def isinf(b, x):
    return b.op("Equal", b.op("Abs", x), b.scalar(math.inf, x.dtype),
                dtype=torch.bool)


@lowers(aten.logical_not.default)
def logical_not(b, x):
    return b.op("Not", truth(b, x))


@lowers(aten.bitwise_not.default)
def bitwise_not(b, x):
    return b.op("Not", x)


def truth(b, x):
    """x != 0."""
    if x.dtype == torch.bool:
        return x
    return b.op("Not", b.op("Equal", x, b.scalar(0, x.dtype),
                            dtype=torch.bool))


# -- two operands ------------------------------------------------------------


def operands(b, x, y, dtype=None):
    dtype = dtype or b.result.dtype
    return b.value(x, dtype), b.value(y, dtype)


def arithmetic(kind):
    def lowering(b, x, y):
        wide = wide_for(b.result.dtype, x, y)
        y = b.op(kind, *operands(b, x, y, wide), shape=b.result.shape)
        return b.cast(y, b.result.dtype)

    return lowering


for _operators, _kind in [
        ((aten.mul.Tensor, aten.mul.Scalar), "Multiply"),
        ((aten.div.Tensor, aten.div.Scalar, aten.true_divide.Tensor),
         "Divide"),
        ((aten.maximum.default,), "Maximum"),
        ((aten.minimum.default,), "Minimum"),
        ((aten.atan2.default,), "Atan2")]:
    lowers(*_operators)(arithmetic(_kind))


@lowers(aten.add.Tensor, aten.add.Scalar)
def add(b, x, y, alpha=1):
    return add_scaled(b, "Add", x, y, alpha)


@lowers(aten.sub.Tensor, aten.sub.Scalar)
def sub(b, x, y, alpha=1):
    return add_scaled(b, "Subtract", x, y, alpha)


@lowers(aten.rsub.Scalar, aten.rsub.Tensor)
def rsub(b, x, y, alpha=1):
    return add_scaled(b, "Subtract", y, x, alpha)


def add_scaled(b, kind, x, y, alpha):
    p, q = operands(b, x, y)
    if p.dtype == torch.bool:
        if kind != "Add" or alpha != 1:
            raise Unsupported("booleans are subtracted")
        return b.op("Or", p, q)
    if alpha != 1:
        q = b.op("Multiply", q, b.value(alpha, q.dtype))
    return b.op(kind, p, q, shape=b.result.shape)


@lowers(aten.div.Tensor_mode, aten.div.Scalar_mode)
def div_mode(b, x, y, *, rounding_mode):
    dtype = b.result.dtype
    floats = dtype in FLOATS
    p, q = operands(b, x, y, torch.float32 if floats else dtype)
    plain = quotient = b.op("Divide", p, q)
    if rounding_mode == "floor":
        # One less where something is left that has the other sign.
        left = b.op("Remainder", p, q, mode="trunc")
        less = b.op("Not", b.op("Equal", left, b.op(
            "Remainder", p, q, mode="floor"), dtype=torch.bool))
        if floats:
            quotient = b.op("Round", b.op("Divide", b.op("Subtract", p, left),
                                          q))
        quotient = b.op("Subtract", quotient, b.cast(less, p.dtype))
        if floats:
            quotient = b.op("Select", truth(b, q), quotient, plain,
                            dtype=p.dtype, shape=b.result.shape)
    elif floats and rounding_mode == "trunc":
        quotient = trunc(b, plain)
    return b.cast(quotient, dtype)


@lowers(aten.remainder.Tensor, aten.remainder.Scalar,
        aten.remainder.Scalar_Tensor)
def remainder(b, x, y):
    return b.op("Remainder", *operands(b, x, y), mode="floor")


@lowers(aten.fmod.Tensor, aten.fmod.Scalar)
def fmod(b, x, y):
    return b.op("Remainder", *operands(b, x, y), mode="trunc")


@lowers(aten.pow.Tensor_Scalar)
def pow_scalar(b, x, exponent):
    dtype = b.result.dtype
    x = b.value(x, dtype)
    if exponent == 2:
        return b.op("Multiply", x, x)
    if dtype not in FLOATS:
        return integer_power(b, x, exponent)
    if exponent == 0.5:
        return b.op("Sqrt", x)
    return b.op("Pow", x, beta=float(exponent))


def integer_power(b, x, exponent):
    """By its bits: the powers of 1, 2, 4 and so on."""
    if not isinstance(exponent, int) or exponent < 0 or x.dtype == torch.bool:
        raise Unsupported(f"{x.dtype} to the power of {exponent}")
    if exponent == 0:
        return b.full(x.shape, 1, x.dtype)
    y = None
    while True:
        if exponent % 2:
            y = x if y is None else b.op("Multiply", y, x)
        exponent //= 2
        if not exponent:
            return y
        x = b.op("Multiply", x, x)


@lowers(aten.pow.Tensor_Tensor, aten.pow.Scalar)
def pow_tensor(b, x, y):
    if b.result.dtype not in FLOATS:
        raise Unsupported("the power of integers is not known")
    return b.op("Pow", *operands(b, x, y))


def compared(kind, swap=False, negate=False):
    def lowering(b, x, y):
        dtype = torch.result_type(*[_sample(v) for v in (x, y)])
        p, q = operands(b, x, y, dtype)
        if swap:
            p, q = q, p
        y = b.op(kind, p, q, dtype=torch.bool)
        return b.op("Not", y) if negate else y

    return lowering


def _sample(value):
    """Something of its type, for the rules of promotion."""
    if isinstance(value, Value):
        return torch.empty((1,) * len(value.shape), dtype=value.dtype)
    return 1 if isinstance(value, torch.SymInt) else value


for _name, _rule in [("eq", compared("Equal")),
                     ("ne", compared("Equal", negate=True)),
                     ("gt", compared("Greater")),
                     ("lt", compared("Greater", swap=True)),
                     ("ge", compared("GreaterEqual")),
                     ("le", compared("GreaterEqual", swap=True))]:
    _packet = getattr(aten, _name)
    lowers(_packet.Tensor, _packet.Scalar)(_rule)


def logical(kind):
    def lowering(b, x, y):
        return b.op(kind, truth(b, x), truth(b, y))

    return lowering


lowers(aten.logical_and.default)(logical("And"))
lowers(aten.logical_or.default)(logical("Or"))


@lowers(aten.logical_xor.default)
def logical_xor(b, x, y):
    return b.op("Not", b.op("Equal", truth(b, x), truth(b, y)))


def bitwise(kind):
    def lowering(b, x, y):
        return b.op(kind, *operands(b, x, y))

    return lowering


lowers(aten.bitwise_and.Tensor, aten.bitwise_and.Scalar)(bitwise("And"))
lowers(aten.bitwise_or.Tensor, aten.bitwise_or.Scalar)(bitwise("Or"))


@lowers(aten.bitwise_xor.Tensor, aten.bitwise_xor.Scalar)
def bitwise_xor(b, x, y):
    p, q = operands(b, x, y)
    if p.dtype == torch.bool:
        return b.op("Not", b.op("Equal", p, q))
    both = b.op("And", p, q)
    return b.op("Subtract", b.op("Or", p, q), both)


# -- three operands ----------------------------------------------------------


@lowers(aten.where.self, aten.where.ScalarSelf, aten.where.ScalarOther,
        aten.where.Scalar)
def where(b, condition, x, y):
    p, q = operands(b, x, y)
    # The condition does not broadcast the values.
    wanted = tuple(b.result.shape)
    if tuple(p.shape) != wanted and tuple(q.shape) != wanted:
        p = b.expand(p, wanted)
    return b.op("Select", truth(b, condition), p, q, dtype=p.dtype,
                shape=wanted)


@lowers(aten.clamp.default)
def clamp(b, x, min=None, max=None):
    dtype = b.result.dtype
    x = b.value(x, dtype)
    if dtype in FLOATS and isinstance(min, (int, float)) and \
            isinstance(max, (int, float)) and min <= max:
        return b.op("Clamp", x, min=float(min), max=float(max))
    if min is not None:
        x = b.op("Maximum", x, b.value(min, dtype))
    return x if max is None else b.op("Minimum", x, b.value(max, dtype))


@lowers(aten.clamp.Tensor)
def clamp_tensor(b, x, min=None, max=None):
    return clamp(b, x, min, max)


@lowers(aten.clamp_min.default)
def clamp_min(b, x, bound):
    return clamp(b, x, bound, None)


@lowers(aten.clamp_max.default)
def clamp_max(b, x, bound):
    return clamp(b, x, None, bound)


@lowers(aten.hardtanh.default)
def hardtanh(b, x, min_val=-1, max_val=1):
    return clamp(b, x, min_val, max_val)


@lowers(aten.addcmul.default)
def addcmul(b, x, y, z, value=1):
    return accumulated(b, x, b.op("Multiply", *operands(b, y, z)), value)


@lowers(aten.addcdiv.default)
def addcdiv(b, x, y, z, value=1):
    return accumulated(b, x, b.op("Divide", *operands(b, y, z)), value)


def accumulated(b, x, term, factor):
    if factor != 1:
        term = b.op("Multiply", term, b.value(factor, term.dtype))
    return b.op("Add", b.value(x, term.dtype), term)


@lowers(torch.ops.prims.fma.default)
def fma(b, x, y, z):
    """x y + z, in f32 at least: narrow types are rounded once, at the end. The
    product in f32 may be rounded, as that of the operator itself on the CPU
    is."""
    dtype = b.result.dtype
    wide = torch.float32 if dtype in FLOATS else dtype
    product = b.op("Multiply", *operands(b, x, y, wide))
    return b.cast(b.op("Add", product, b.value(z, wide)), dtype)


@lowers(aten.lerp.Scalar, aten.lerp.Tensor)
def lerp(b, x, y, weight):
    p, q = operands(b, x, y)
    return b.op("Add", p, b.op("Multiply", b.value(weight, p.dtype),
                               b.op("Subtract", q, p)))


# -- gradients ---------------------------------------------------------------


@lowers(aten.threshold_backward.default)
def threshold_backward(b, grad, x, threshold):
    above = b.op("GreaterEqual", b.value(threshold, x.dtype), x,
                 dtype=torch.bool)
    # Where x is NaN the gradient passes.
    return b.op("Select", above, b.scalar(0, grad.dtype), grad,
                dtype=grad.dtype)


@lowers(aten.gelu_backward.default)
def gelu_backward(b, grad, x, *, approximate="none"):
    return b.op("GELUBackward", x, grad,
                mode="gelu_erf" if approximate == "none" else "gelu_tanh")


@lowers(aten.sigmoid_backward.default)
def sigmoid_backward(b, grad, y):
    return b.op("SigmoidBackward", y, grad, use_dst=True)


@lowers(aten.tanh_backward.default)
def tanh_backward(b, grad, y):
    return b.op("TanhBackward", y, grad, use_dst=True)


@lowers(aten.hardswish_backward.default)
def hardswish_backward(b, grad, x):
    return b.op("HardSwishBackward", x, grad)


@lowers(aten.silu_backward.default)
def silu_backward(b, grad, x):
    s = b.op("Sigmoid", x)
    rest = b.op("Multiply", x, b.op("Subtract", b.scalar(1, x.dtype), s))
    return b.op("Multiply", grad, b.op("Multiply", s, b.op(
        "Add", rest, b.scalar(1, x.dtype))))
