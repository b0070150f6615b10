# SPDX-License-Identifier: Apache-2.0
"""Functions of elements that are compositions of others, in f32."""
from __future__ import annotations

import math

import torch

from tenon.torch.lowering.core import Unsupported, lowers
from tenon.torch.lowering.elementwise import isinf, negated
from tenon.torch.lowering.products import check_floats

aten = torch.ops.aten
_WIDE = torch.float32


class Terms:
    """Arithmetic in f32 with values and numbers."""

    def __init__(self, b):
        self.b = b

    def op(self, kind, *values):
        return self.b.op(kind, *[self.b.value(v, _WIDE) for v in values])

    def add(self, x, y):
        return self.op("Add", x, y)

    def sub(self, x, y):
        return self.op("Subtract", x, y)

    def mul(self, x, y):
        return self.op("Multiply", x, y)

    def div(self, x, y):
        return self.op("Divide", x, y)

    def above(self, x, y):
        return self.b.op("Greater", self.b.value(x, _WIDE),
                         self.b.value(y, _WIDE), dtype=torch.bool)

    def select(self, condition, x, y):
        return self.b.op("Select", condition, self.b.value(x, _WIDE),
                         self.b.value(y, _WIDE), dtype=_WIDE)

    def polynomial(self, x, factors):
        """The factor of the highest power first."""
        y = factors[0]
        for factor in factors[1:]:
            y = self.add(self.mul(x, y), factor)
        return y

    def negative(self, x):
        """Whether it is below 0, or -0; NaN has no sign."""
        below = self.above(0, x)
        inverse = self.op("Reciprocal", x)
        return self.b.op("Or", below, self.above(0, inverse))

    def signed(self, size, x):
        """`size` with the sign of x."""
        return self.select(self.negative(x), negated(self.b, size), size)


def special(*operators):
    """Registers a function of terms and operands in f32."""

    def register(function):
        def lowering(b, *operands):
            if b.result.dtype.is_complex or b.result.dtype == torch.float64:
                raise Unsupported(f"a function of {b.result.dtype}")
            made = function(Terms(b), *[b.value(x, _WIDE) for x in operands])
            return b.cast(made, b.result.dtype)

        lowers(*operators)(lowering)
        return function

    return register


def log_of_double(t, x):
    return t.add(t.op("Log", x), math.log(2))


def logarithm(base):
    def function(t, x):
        y = t.mul(t.op("Log", x), 1 / math.log(base))
        near = t.op("Round", y)
        # Powers of the base have whole ones.
        exact = t.b.op("Equal", t.op("Pow", base, near), x, dtype=torch.bool)
        return t.select(exact, near, y)

    return function


special(aten.log2.default)(logarithm(2))
special(aten.log10.default)(logarithm(10))


#: Beyond it x^2 + 1 is x^2.
_LARGE = 1e8


@special(aten.asinh.default)
def asinh(t, x):
    size = t.op("Abs", x)
    square = t.mul(size, size)
    root = t.op("Sqrt", t.add(square, 1))
    near = t.op("Log1p", t.add(size, t.div(square, t.add(root, 1))))
    y = t.select(t.above(size, _LARGE), log_of_double(t, size), near)
    return t.signed(y, x)


@special(aten.acosh.default)
def acosh(t, x):
    rest = t.sub(x, 1)
    root = t.mul(t.op("Sqrt", rest), t.op("Sqrt", t.add(rest, 2)))
    near = t.op("Log1p", t.add(rest, root))
    return t.select(t.above(x, _LARGE), log_of_double(t, x), near)


@special(aten.atanh.default)
def atanh(t, x):
    size = t.op("Abs", x)
    y = t.op("Log1p", t.div(t.mul(size, 2), t.sub(1, size)))
    return t.signed(t.mul(y, 0.5), x)


@special(aten.hypot.default)
def hypot(t, x, y):
    """Squares of the ratio, which do not overflow."""
    x, y = t.op("Abs", x), t.op("Abs", y)
    large, small = t.op("Maximum", x, y), t.op("Minimum", x, y)
    ratio = t.div(small, large)
    root = t.mul(large, t.op("Sqrt", t.add(t.mul(ratio, ratio), 1)))
    # Where both are 0, or both infinite, the ratio is no number.
    root = t.select(t.above(large, 0), root, large)
    infinite = t.b.op("Or", isinf(t.b, x), isinf(t.b, y))
    return t.select(infinite, math.inf, root)


@special(aten.copysign.Tensor, aten.copysign.Scalar)
def copysign(t, x, y):
    # The condition does not broadcast the values.
    return t.signed(t.b.expand(t.op("Abs", x), t.b.result.shape), y)


@lowers(aten.signbit.default)
def signbit(b, x):
    if not x.dtype.is_floating_point:
        return b.op("Greater", b.scalar(0, x.dtype), x, dtype=torch.bool)
    check_floats(x)
    return Terms(b).negative(b.cast(x, _WIDE))


#: Of the polynomial of 1 / (1 + x / 2) in the exponent of erfc: Press et al.,
#: Numerical Recipes, 6.2.
_ERFC = (0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807,
         -0.18628806, 0.09678418, 0.37409196, 1.00002368, -1.26551223)


@special(aten.erfc.default)
def erfc(t, x):
    """Near 0 from erf; elsewhere its own series, which keeps the digits of small
    results."""
    size = t.op("Abs", x)
    ratio = t.op("Reciprocal", t.add(t.mul(size, 0.5), 1))
    # The square of what has few bits is exact, and so is the rest.
    coarse = t.div(t.op("Round", t.mul(size, 256)), 256)
    rest = t.mul(t.sub(size, coarse), t.add(size, coarse))
    far = t.mul(t.mul(ratio, t.op("Exp", t.sub(
        t.polynomial(ratio, _ERFC), rest))),
        t.op("Exp", t.mul(t.mul(coarse, coarse), -1)))
    far = t.select(t.above(size, 20), 0, far)
    far = t.select(t.above(0, x), t.sub(2, far), far)
    return t.select(t.above(0.5, size), t.sub(1, t.op("Erf", x)), far)


@special(aten.digamma.default)
def digamma(t, x):
    """psi(x) = psi(x + 1) - 1 / x, up to where its series is exact; below 0 by
    reflection, psi(1 - x) - pi / tan(pi x)."""
    low = t.above(0, x)
    z, y = t.select(low, t.sub(1, x), x), 0
    for i in range(6):
        y = t.sub(y, t.div(1, t.add(z, i)))
    z = t.add(z, 6)
    inverse = t.op("Reciprocal", t.mul(z, z))
    series = t.polynomial(inverse, [1 / 240, -1 / 252, 1 / 120, -1 / 12, 0])
    y = t.add(y, t.add(t.sub(t.op("Log", z), t.div(0.5, z)), series))
    angle = t.mul(t.sub(x, t.op("Round", x)), math.pi)
    mirrored = t.sub(y, t.div(t.mul(t.op("Cos", angle), math.pi),
                              t.op("Sin", angle)))
    whole = t.b.op("Equal", angle, t.b.scalar(0, _WIDE), dtype=torch.bool)
    y = t.select(low, t.select(whole, math.nan, mirrored), y)
    zero = t.b.op("Equal", x, t.b.scalar(0, _WIDE), dtype=torch.bool)
    return t.select(zero, t.div(-1, x), y)  # -0 has its own


#: Factors of 1 / (x + 1), 1 / (x + 2) and so on: Lanczos' series of the gamma
#: function with g = 5.
_LANCZOS = (76.18009172947146, -86.50532032941677, 24.01409824083091,
            -1.231739572450155, 0.1208650973866179e-2, -0.5395239384953e-5)


@special(aten.lgamma.default)
def lgamma(t, x):
    """Below 1/2 by reflection: gamma(x) gamma(1 - x) = pi / sin(pi x)."""
    low = t.above(0.5, x)
    z = t.select(low, t.mul(x, -1), t.sub(x, 1))
    series = 1.000000000190015
    for i, factor in enumerate(_LANCZOS):
        series = t.add(series, t.div(factor, t.add(z, i + 1)))
    base = t.add(z, 5.5)
    y = t.sub(t.mul(t.add(z, 0.5), t.sub(t.op("Log", base), 1)), 5)
    y = t.add(y, t.op("Log", t.mul(series, math.sqrt(2 * math.pi))))
    rest = t.sub(x, t.op("Round", x))
    sine = t.op("Abs", t.op("Sin", t.mul(rest, math.pi)))
    mirrored = t.select(t.above(sine, 0), t.sub(
        t.op("Log", t.div(math.pi, sine)), y), math.inf)
    y = t.select(low, mirrored, y)
    return t.select(isinf(t.b, x), math.inf, y)


@special(aten.erfinv.default)
def erfinv(t, x):
    """Quotients of polynomials, as in PyTorch, and two steps of Newton's."""
    size = t.op("Abs", x)
    z = t.mul(x, x)
    near = t.div(t.mul(x, t.polynomial(
        z, [-0.140543331, 0.914624893, -1.645349621, 0.886226899])),
        t.polynomial(z, [0.012229801, -0.329097515, 1.442710462, -2.118377725,
                         1]))
    z = t.op("Sqrt", t.mul(t.op("Log", t.mul(t.sub(1, size), 0.5)), -1))
    far = t.div(t.polynomial(z, [1.641345311, 3.429567803, -1.624906493,
                                 -1.970840454]),
                t.polynomial(z, [1.637067800, 3.543889200, 1]))
    y = t.select(t.above(size, 0.7), t.signed(far, x), near)
    for _ in range(2):
        slope = t.mul(t.op("Exp", t.mul(t.mul(y, y), -1)),
                      2 / math.sqrt(math.pi))
        y = t.sub(y, t.div(t.sub(t.op("Erf", y), x), slope))
    edge = t.b.op("Equal", size, t.b.scalar(1, _WIDE), dtype=torch.bool)
    return t.select(edge, t.mul(x, math.inf), y)
