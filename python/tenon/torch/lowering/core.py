# SPDX-License-Identifier: Apache-2.0
"""How operators of ATen become operations of Tenon: the table of functions, and
what they build with."""
from __future__ import annotations

import math
from typing import Any, Callable, Sequence

import torch

from tenon.graph import Edge, Graph
from tenon.torch.sizes import Sizes, write
from tenon.types import UNKNOWN_DIM

#: Element types of Tenon by those of PyTorch.
DTYPES = {
    torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16",
    torch.float64: "f64", torch.int64: "s64", torch.int32: "s32",
    torch.int8: "s8", torch.uint8: "u8", torch.bool: "boolean",
}
#: Where a slice ends that goes to the end.
END = 2**63 - 1
FLOATS = (torch.float32, torch.bfloat16, torch.float16)

Number = bool | int | float


class Unsupported(Exception):
    """Why Tenon does not take a node."""


#: Functions by operator; each gets a Builder and the arguments of the node, with
#: values in place of nodes, and returns what the node yields.
LOWERINGS: dict[Any, Callable] = {}


def lowers(*operators):
    """Registers a function for operators of ATen."""

    def register(function):
        for operator in operators:
            assert operator not in LOWERINGS, operator
            LOWERINGS[operator] = function
        return function

    return register


class Value:
    """An edge with what PyTorch knows of it. `shape` is None for what is only
    used within one lowering."""

    __slots__ = ("edge", "dtype", "shape")

    def __init__(self, edge: Edge, dtype: torch.dtype,
                 shape: Sequence[Any] | None = None):
        self.edge = edge
        self.dtype = dtype
        self.shape = shape

    @property
    def rank(self) -> int:
        return len(self.shape)


class Builder:
    """Adds what one FX graph computes to a graph of Tenon. `sizes` says what
    symbols of sizes are."""

    def __init__(self, sizes: Sizes, check: bool = False):
        self.graph = Graph(check=check)
        self.sizes = sizes
        # Of the node that is lowered:
        self.operator: Any = None
        self.result: Any = None  # meta["val"]
        self.source: Any = None  # that of the first operand
        self.name = ""
        self.wanted: set[int] = set()  # which of several results are read
        self._seed: Edge | None = None
        self._size_edges: dict[str, Edge] = {}
        self.size_symbols: set[str] = set()  # of these
        self._offsets = 0
        self._scalars: dict[tuple, Edge] = {}

    # -- values --------------------------------------------------------------

    def shape(self, shape: Sequence[Any]) -> list[int | str]:
        """Sizes as Tenon writes them."""
        return [self.sizes.text(s) for s in shape]

    def numbers(self, shape: Sequence[Any]) -> list[int]:
        """The same with UNKNOWN_DIM for those that are not known."""
        return [s if isinstance(s, int) else UNKNOWN_DIM
                for s in self.shape(shape)]

    def static(self, what: str, sizes: Sequence[Any]) -> list[int]:
        """Sizes that have to be known."""
        found = self.shape(sizes)
        if any(isinstance(s, str) for s in found):
            raise Unsupported(f"{what} is not known")
        return found

    def op(self, kind: str, *inputs: Value | None, dtype: torch.dtype | None = None,
           shape: Sequence[Any] | None = None, **attributes: Any) -> Value:
        """Adds an operation with one result: of the type of the first input, and
        of a shape that is inferred, unless they are given. An attribute `shape`
        is written `shape_`."""
        return self.ops(kind, *inputs, dtypes=[dtype or inputs[0].dtype],
                        shapes=[shape], **attributes)[0]

    def ops(self, kind: str, *inputs: Value | None,
            dtypes: Sequence[torch.dtype | None],
            shapes: Sequence[Sequence[Any] | None] | None = None,
            **attributes: Any) -> list[Value]:
        """Adds an operation with several results; a type None leaves one out."""
        shapes = shapes or [None] * len(dtypes)
        given = [None if v is None else v.edge for v in inputs]
        while given and given[-1] is None:
            given.pop()
        edges = self.graph.add(
            kind, given,
            {name.rstrip("_"): _attribute(value)
             for name, value in attributes.items()},
            [d and (type_of(d), None if s is None else self.shape(s))
             for d, s in zip(dtypes, shapes)], name=self.name)
        return [e and Value(e, d, s)
                for e, d, s in zip(edges, dtypes, shapes)]

    def scalar(self, value: Number, dtype: torch.dtype) -> Value:
        """A constant of rank 0; one edge for all that are equal."""
        key = (dtype, type(value), value, math.copysign(1, value))
        edge = self._scalars.get(key)
        if edge is None:
            edge = self.graph.constant(f"scalar {value}",
                                       torch.tensor(value, dtype=dtype))
            # NaN differs from itself, and is made anew each time.
            self._scalars[key] = edge
        return Value(edge, dtype, ())

    def constant(self, name: str, tensor: torch.Tensor) -> Value:
        """A tensor with a value."""
        return Value(self.graph.constant(name, tensor), tensor.dtype,
                     tensor.shape)

    def value(self, given: Any, dtype: torch.dtype) -> Value:
        """A value or a number as operand of the type."""
        if isinstance(given, Value):
            return self.cast(given, dtype)
        if isinstance(given, (bool, int, float)):
            return self.scalar(given, dtype)
        if isinstance(given, (torch.SymInt, torch.SymFloat)):
            number = self.sizes.value(given)
            if isinstance(number, (int, float)):
                return self.scalar(number, dtype)
            self.size_symbols.update(s.name for s in number.free_symbols)
            return self.cast(self._size(
                write(number, python=True),
                torch.float32 if isinstance(given, torch.SymFloat)
                else torch.int64), dtype)
        raise Unsupported(f"an operand is {type(given).__name__}")

    @property
    def seed(self) -> Value:
        """A random number that each execution gives, as s64 of rank 0."""
        if self._seed is None:
            self._seed = self.graph.input("seed", (), "s64")
        return Value(self._seed, torch.int64, ())

    @property
    def seed_id(self) -> int | None:
        """The id of the seed, if something asked for it."""
        return self._seed and self._seed.id

    def offset(self) -> Value:
        """A number for each use of the seed, so that they do not repeat each
        other."""
        self._offsets += 1
        return self.scalar(self._offsets, torch.int64)

    def _size(self, expression: str, dtype: torch.dtype) -> Value:
        """A number of sizes that are not known, of rank 0, which each execution
        gives."""
        if expression not in self._size_edges:
            self._size_edges[expression] = self.graph.input(
                f"size {expression}", (), type_of(dtype))
        return Value(self._size_edges[expression], dtype, ())

    @property
    def size_ids(self) -> dict[int, str]:
        """Sizes that are used as numbers, as Python, by id of the edge."""
        return {e.id: text for text, e in self._size_edges.items()}

    # -- short forms ---------------------------------------------------------

    def cast(self, value: Value, dtype: torch.dtype) -> Value:
        if value.dtype == dtype:
            return value
        return self.op("TypeCast", value, dtype=dtype, shape=value.shape)

    def reshape(self, value: Value, shape: Sequence[Any]) -> Value:
        return self.op("StaticReshape", value, shape=shape,
                       shape_=self.numbers(shape), special_zero=False)

    def transpose(self, value: Value, order: Sequence[int]) -> Value:
        order = list(order)
        if order == sorted(order):
            return value
        shape = value.shape and [value.shape[i] for i in order]
        return self.op("StaticTranspose", value, shape=shape, order=order)

    def expand(self, value: Value, shape: Sequence[Any]) -> Value:
        return self.op("Expand", value, shape=shape, shape_=self.numbers(shape))

    def reduce(self, kind: str, value: Value, dims: Sequence[int],
               keep: bool, dtype: torch.dtype | None = None) -> Value:
        return self.op(kind, value, dtype=dtype, axes=list(dims), keep_dims=keep)

    def full(self, shape: Sequence[Any], value: Number,
             dtype: torch.dtype) -> Value:
        return self.expand(self.scalar(value, dtype), shape)

    def times(self, value: Value, factor: Number) -> Value:
        """The product with a number, rounded once."""
        if factor == 1:
            return value
        wide = wide_for(value.dtype, factor)
        return self.cast(self.op(
            "Multiply", self.cast(value, wide), self.scalar(factor, wide),
            shape=value.shape), value.dtype)

    def count(self, value: Value, axis: int) -> Value:
        """The position along an axis of each element of `value`, as s64."""
        return self.op("GenIndex", value, dtype=torch.int64, shape=value.shape,
                       axis=axis)


def type_of(dtype: torch.dtype) -> str:
    if dtype not in DTYPES:
        raise Unsupported(f"the element type {dtype} is not known")
    return DTYPES[dtype]


def wide_for(dtype: torch.dtype, *operands: Any) -> torch.dtype:
    """The type to multiply in: f32 if one of the operands is a number that a
    narrow type would round. Eager does not round it."""
    exact = all(
        torch.tensor(v, dtype=dtype).item() == v for v in operands
        if isinstance(v, (int, float)) and math.isfinite(v)) \
        if dtype in (torch.bfloat16, torch.float16) else True
    return dtype if exact else torch.float32


def _attribute(value):
    """An attribute with its type."""
    if isinstance(value, bool):
        return "boolean", value
    if isinstance(value, int):
        return "s64", value
    if isinstance(value, float):
        return "f32", value
    if isinstance(value, str):
        return "string", value
    if value is None:
        return "s64", None
    if value and isinstance(value[0], float):
        return "f32s", value
    return "s64s", value


def positive(dim: int, rank: int) -> int:
    """A dim that may count from the end."""
    return dim + rank if dim < 0 else dim


def all_dims(dims: Sequence[int] | int | None, rank: int) -> list[int]:
    """Dims of a reduction; none given: all. A scalar has none, though PyTorch
    names them."""
    if not rank:
        return []
    if dims is None or (not isinstance(dims, int) and not dims):
        return list(range(rank))
    given = [dims] if isinstance(dims, int) else dims
    return sorted(positive(d, rank) for d in given)
