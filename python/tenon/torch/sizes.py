# SPDX-License-Identifier: Apache-2.0
"""Symbolic sizes of PyTorch as expressions of Tenon, and as Python."""
from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import sympy
import torch
from torch.utils._sympy import functions


class Unwritable(Exception):
    """An expression that Tenon's sizes cannot say."""


def expression(value: Any) -> sympy.Expr | int | float:
    """Of a SymInt, a SymFloat or a number."""
    kind = float if isinstance(value, (torch.SymFloat, float)) else int
    if isinstance(value, (torch.SymInt, torch.SymFloat)):
        value = value.node.expr
        if not value.is_number:
            return value
    return kind(value)


#: Functions of sizes that Python alone has.
_PYTHON = {
    functions.Max: "max({all})", functions.Min: "min({all})",
    functions.ToFloat: "float({0})",
    functions.IntTrueDiv: "({0}) / ({1})",
    functions.FloatTrueDiv: "({0}) / ({1})",
    functions.FloatPow: "({0}) ** ({1})",
    functions.OpaqueUnaryFn_sqrt: "({0}) ** 0.5",
}


def write(value: sympy.Expr | int, python: bool = False) -> str:
    """With + - * // % and parentheses, which Python reads, too; for Python alone
    also with max, min and functions of floats."""
    if isinstance(value, (sympy.Symbol, sympy.Integer, int)):
        return str(value)
    if python and isinstance(value, (sympy.Float, float)):
        return repr(float(value))
    parts = [write(a, python) for a in value.args]
    if python and type(value) in _PYTHON:
        return _PYTHON[type(value)].format(*parts, all=", ".join(parts))
    parts = [f"({p})" if a.args or a.is_negative else p
             for p, a in zip(parts, value.args)]
    if isinstance(value, sympy.Add):
        return " + ".join(parts)
    if isinstance(value, sympy.Mul):
        return " * ".join(parts)
    if isinstance(value, (functions.FloorDiv, functions.CleanDiv)):
        return f"{parts[0]} // {parts[1]}"
    if isinstance(value, (functions.Mod, functions.PythonMod)):
        return f"{parts[0]} % {parts[1]}"
    if isinstance(value, sympy.Pow) and value.exp.is_Integer and value.exp > 0:
        return " * ".join(parts[:1] * int(value.exp))
    raise Unwritable(f"the size {value} is no sum, product or quotient")


class Sizes:
    """What sizes are: symbolic, or numbers for given values of the symbols."""

    def __init__(self, known: Mapping[str, int] | None = None):
        self.known = dict(known or {})

    def value(self, given: Any) -> sympy.Expr | int | float:
        """A number, or an expression of symbols that are not known."""
        found = expression(given)
        if isinstance(found, (int, float)) or not self.known:
            return found
        found = found.subs({s: self.known[s.name] for s in found.free_symbols
                            if s.name in self.known})
        if not found.is_number:
            return found
        return float(found) if isinstance(given, torch.SymFloat) else int(found)

    def text(self, given: Any) -> int | str:
        """The same as Tenon's sizes say it. Raises Unwritable."""
        found = self.value(given)
        return found if isinstance(found, int) else write(found)


def names_of(number: Any) -> set[str]:
    """Names of its symbols."""
    e = expression(number)
    return set() if isinstance(e, int) else {s.name for s in e.free_symbols}


def symbols_of(tensors: Sequence[Any], strides: bool = True) -> set[str]:
    """Names of the symbols in sizes, and in strides."""
    return {name for tensor in tensors
            for size in (*tensor.shape, *(tensor.stride() if strides else ()))
            for name in names_of(size)}


def is_static(tensor: torch.Tensor) -> bool:
    return all(isinstance(expression(s), int)
               for s in (*tensor.shape, *tensor.stride()))


def overlaps(tensor: torch.Tensor) -> bool:
    """Whether elements share a place, as far as sizes are known."""
    sizes = [expression(s) for s in tensor.shape]
    strides = [expression(s) for s in tensor.stride()]
    if not all(isinstance(v, int) for v in sizes + strides):
        return False
    step = 1
    for stride, size in sorted(zip(strides, sizes)):
        if size > 1 and stride < step:
            return 0 not in sizes
        if size > 1:
            step = stride * (size - 1) + 1
    return False


def places(inputs: Sequence[Any]) -> dict[str, str]:
    """Where the values of symbols are found in inputs `a`, as Python, by name:
    a dim or stride that is the symbol alone, or an input that is a number.
    `inputs` are those the graph was traced with."""
    found: dict[str, str] = {}
    for i, given in enumerate(inputs):
        if isinstance(given, torch.Tensor):
            values = [(s, f"a[{i}].shape[{d}]")
                      for d, s in enumerate(given.shape)]
            values += [(s, f"a[{i}].stride({d})")
                       for d, s in enumerate(given.stride())]
        else:
            values = [(given, f"a[{i}]")]
        for value, place in values:
            e = expression(value)
            if isinstance(e, sympy.Symbol):
                found.setdefault(e.name, place)
    return found


def reader(inputs: Sequence[Any], wanted: set[str]) -> Callable:
    """A function from inputs to the values of symbols by name. Raises Unwritable
    for one that no input has."""
    found = places(inputs)
    missing = wanted - found.keys()
    if missing:
        raise Unwritable(f"no input has the size {sorted(missing)[0]} alone")
    lines = [f"    {name} = {place}" for name, place in found.items()
             if name in wanted]
    names = ", ".join(f"{n!r}: {n}" for n in found if n in wanted)
    return _function(lines + [f"    return {{{names}}}"], "a")


def shapes(tensors: Sequence[Any]) -> Callable:
    """A function from values of symbols to (sizes, strides) of each tensor."""
    def numbers(values):
        texts = [write(v, python=True) for v in map(expression, values)]
        return "(" + "".join(t + ", " for t in texts) + ")"

    rows = [f"({numbers(t.shape)}, {numbers(t.stride())})" for t in tensors]
    names = sorted(symbols_of(tensors))
    lines = [f"    {name} = s[{name!r}]" for name in names]
    return _function(lines + ["    return [" + ", ".join(rows) + "]"], "s")


def _function(lines: Sequence[str], argument: str) -> Callable:
    scope: dict[str, Any] = {}
    exec(f"def f({argument}):\n" + "\n".join(lines), scope)
    return scope["f"]
