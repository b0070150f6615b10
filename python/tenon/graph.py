# SPDX-License-Identifier: Apache-2.0
"""Graphs that are built in Python."""
from __future__ import annotations

import ctypes as c
from typing import TYPE_CHECKING, Any, Mapping, Sequence

from tenon import _abi
from tenon.drawing import Row, draw
from tenon.errors import error
from tenon.library import Handle, check, lib
from tenon.ops import RESULT_COUNTS, Operations
from tenon.tensors import describe
from tenon.types import UNKNOWN_DIM, logical_tensor

if TYPE_CHECKING:
    from tenon.model import Engine, Model

#: A size: a number, or an expression of names such as "batch" or "2 * tokens".
Size = int | str

_SETTERS = {
    "f32": ("tenon_op_set_f32", float, None),
    "f32s": ("tenon_op_set_f32s", float, c.c_float),
    "s64": ("tenon_op_set_s64", int, None),
    "s64s": ("tenon_op_set_s64s", int, c.c_int64),
    "boolean": ("tenon_op_set_bool", int, None),
    "string": ("tenon_op_set_string", str.encode, None),
}


_FLOATS = ("f32", "bf16", "f16")


class Edge:
    """A value of a graph: the result of an operation, or an input. Immutable."""

    __slots__ = ("graph", "id", "dtype", "name", "logical")

    def __init__(self, graph: "Graph", dtype: str, name: str, logical):
        self.graph = graph
        self.id = logical.id
        self.dtype = dtype
        self.name = name
        self.logical = logical

    def __repr__(self):
        return f"Edge({self.name!r}, {self.dtype})"


class Graph(Operations):
    """A graph under construction. Operations are methods: graph.MatMul(a, b)
    adds one and returns its result. A graph is used by one thread at a time.
    """

    def __init__(self, *, check: bool = False):
        """check: operations are judged as they are added, and none is dropped
        because no output needs it."""
        self._check = check
        self._handle = Handle.make("graph", "tenon_graph_create")
        self._next = 0  # id of the next edge
        # Kind, handle, ids of the operands, results.
        self._operations: list[tuple] = []
        self._named_sizes: list[tuple[int, int, str]] = []
        self.inputs: list[Edge] = []
        self.outputs: list[Edge] = []
        self.values: dict[int, Any] = {}  # of constants, by id
        self.output_strides: dict[int, tuple[int, ...]] = {}

    # -- edges ---------------------------------------------------------------

    def input(self, name: str, shape: Sequence[Size], dtype: str = "f32", *,
              strides: Sequence[int] | None = None,
              constant: bool = False) -> Edge:
        """A tensor that each execution gives. A size that is text is known at
        execution only; equal names are equal sizes. `strides` are in elements,
        and without them the tensor is dense and row-major. A constant gets its
        value by Code.bind, and is the same for all executions."""
        edge = self._edge(name, dtype, shape, strides,
                          _abi.TENON_PROPERTY_CONSTANT if constant
                          else _abi.TENON_PROPERTY_VARIABLE)
        self.inputs.append(edge)
        return edge

    def constant(self, name: str, value: Any) -> Edge:
        """A tensor with a value, anything with DLPack or the buffer protocol.
        It is kept and not copied; what is computed from it alone is computed
        once."""
        about = describe(value)
        edge = self._edge(name, about.dtype, about.shape, about.strides,
                          _abi.TENON_PROPERTY_CONSTANT)
        self.inputs.append(edge)
        self.values[edge.id] = value
        return edge

    def output(self, *edges: Edge,
               strides: Sequence[int] | None = None) -> None:
        """Declares results of the graph, in this order. `strides` are in
        elements, and without them a result is dense and row-major."""
        for edge in edges:
            if edge in self.outputs:
                raise error("PortMismatch", f"{edge.name} is an output already",
                            "add a Reorder")
            self.outputs.append(edge)
            if strides is not None:
                self.output_strides[edge.id] = tuple(strides)

    def declare_size(self, name: str, *, min: int = 0,
                     max: int = _abi.TENON_NO_MAX, multiple_of: int = 1,
                     likely: Sequence[int] = ()) -> None:
        """What is true of a size in every execution; for `likely` values there
        is code of their own. Errors: BadSize, AttrValue, TooLarge."""
        check(lib.tenon_graph_declare_size(
            self._handle, name.encode(), min, max, multiple_of, len(likely),
            (c.c_int64 * len(likely))(*likely)))

    def _edge(self, name, dtype, shape, strides, property) -> Edge:
        sizes = shape and [s if isinstance(s, int) else UNKNOWN_DIM
                           for s in shape]
        layout = _abi.TENON_LAYOUT_STRIDED
        logical = logical_tensor(self._next, dtype,
                                 sizes if shape is not None else None, strides,
                                 property, layout)
        self._next += 1
        edge = Edge(self, dtype, name, logical)
        for dim, size in enumerate(shape or ()):
            if isinstance(size, str):
                self._named_sizes.append((edge.id, dim, size))
        return edge

    # -- operations ----------------------------------------------------------

    def add(self, kind: str, inputs: Sequence[Edge | None],
            attributes: Mapping[str, tuple[str, Any]],
            outputs: Sequence[tuple[str, Sequence[Size] | None] | None], *,
            name: str = "") -> tuple[Edge | None, ...]:
        """Adds an operation of any kind; one that Tenon does not know splits
        the graph. `attributes`: type ("f32", "s64", "boolean", "string", "f32s",
        "s64s") and value by name; None: not set. `outputs`: element type and
        shape of each result; a shape None is inferred, and None instead of both
        leaves the result out."""
        results = tuple(
            output and self._edge(
                f"{name or kind}:{i}" if i else name or kind, output[0],
                output[1], None, _abi.TENON_PROPERTY_VARIABLE)
            for i, output in enumerate(outputs))
        op = Handle.make("op", "tenon_op_create_named", len(self._operations),
                         kind.encode(), name.encode())
        for edge in inputs:
            check(lib.tenon_op_add_input(
                op, None if edge is None else c.byref(edge.logical)))
        for attribute, (type_, value) in attributes.items():
            if value is not None:
                _set(op, attribute, type_, value)
        operation = (kind, op, [e.id for e in inputs if e is not None], results)
        if self._check:
            self._give(op, results)
        self._operations.append(operation)
        return results

    def _add(self, kind, operands, attributes, types, count, dtype, name):
        """What the generated methods call; `types` says where the element type
        of each of the first `count` results comes from."""
        while operands and operands[-1] is None:
            operands.pop()
        given = [dtype] * count if isinstance(dtype, str) else dtype
        outputs = [(given[i] if given else _result_type(kind, types[i], operands),
                    None) for i in range(count)]
        results = self.add(kind, operands, attributes, outputs, name=name or "")
        return results[0] if count == 1 else results

    # -- what becomes of it --------------------------------------------------

    def finalize(self) -> None:
        """Checks the whole graph and infers its shapes; compile does so, too.
        What no output needs is dropped, unless none was declared. Errors: those
        of operations, of the graph, and of sizes."""
        if lib.tenon_graph_is_finalized(self._handle):
            return
        there = self._add_needed()
        for number, dim, size in self._named_sizes:
            if number in there:
                check(lib.tenon_graph_set_size(self._handle, number, dim,
                                               size.encode()))
        for edge in self.outputs:
            check(lib.tenon_graph_add_output(self._handle, edge.id))
        for edge in self.inputs + self.outputs:
            if edge.id in there:
                check(lib.tenon_graph_set_tensor_name(self._handle, edge.id,
                                                      edge.name.encode()))
        check(lib.tenon_graph_finalize(self._handle))

    def _add_needed(self) -> set[int]:
        """Gives the library the operations that outputs need. Returns the ids of
        their edges. A result that nothing needs and that cannot be left out is
        one more output, the last."""
        if self._check:
            return {e for _, _, operands, results in self._operations
                    for e in [*operands, *(r.id for r in results if r)]}
        needed = {edge.id for edge in self.outputs}
        kept, there = [], set()
        for operation in reversed(self._operations):
            kind, op, operands, results = operation
            if needed and not any(r and r.id in needed for r in results):
                continue
            kept.append(operation)
            needed.update(operands if self.outputs else ())
        for kind, op, operands, results in reversed(kept):
            count = len(results)
            if self.outputs:
                read = max((i for i, r in enumerate(results, 1)
                            if r and r.id in needed), default=0)
                count = min((c for c in RESULT_COUNTS.get(kind, ())
                             if read <= c <= count), default=count)
            for edge in results[:count]:
                if edge and self.outputs and edge.id not in needed:
                    self.outputs.append(edge)
            self._give(op, results[:count])
            there.update(operands)
            there.update(r.id for r in results[:count] if r)
        return there

    def _give(self, op: Handle, results: Sequence[Edge]) -> None:
        for edge in results:
            check(lib.tenon_op_add_output(op, edge and c.byref(edge.logical)))
        check(lib.tenon_graph_add_op(self._handle, op))

    def compile(self, engine: "Engine | None" = None) -> "Model":
        """Compiles the whole graph. Errors: UnsupportedOp and the other codes of
        the 2000s where something does not compile."""
        from tenon.model import compile_graph

        return compile_graph(self, engine).bind(self.values)

    @property
    def num_operations(self) -> int:
        """How many were added; ids count from 0 in this order."""
        return len(self._operations)

    def unsupported(self) -> dict[int, str]:
        """Why operations do not compile, by id, as far as kinds and element
        types tell."""
        from tenon.model import partitions_of

        self.finalize()
        found = {}
        for partition in partitions_of(self._handle):
            if lib.tenon_partition_is_supported(partition):
                continue
            count, ids = c.c_size_t(), c.POINTER(c.c_uint64)()
            check(lib.tenon_partition_get_ops(partition, c.byref(count),
                                              c.byref(ids)))
            reason = lib.tenon_partition_get_reason(partition).decode()
            found.update({number: reason for number in ids[:count.value]})
        return found

    def to_json(self) -> str:
        """The graph as a file of the command line has it."""
        self.finalize()
        text, length = c.c_char_p(), c.c_size_t()
        check(lib.tenon_graph_to_json(self._handle, c.byref(text),
                                      c.byref(length)))
        return text.value.decode()

    def _repr_html_(self) -> str:
        """What a notebook shows: the operations, and what reads what."""
        return draw([Row(kind, "" if results[0] is None else results[0].name,
                         results[0].dtype if results[0] else "", operands,
                         [r.id for r in results if r])
                     for kind, _, operands, results in self._operations])

    def __repr__(self):
        return (f"Graph of {self.num_operations} operations, {len(self.inputs)} "
                f"inputs, {len(self.outputs)} outputs")


def _result_type(kind, source, operands):
    """`source`: the position of an operand, a type, or "float": that of the
    first operand where it is one."""
    if isinstance(source, int) and source < len(operands):
        return operands[source].dtype
    if source == "float" and operands and operands[0].dtype in _FLOATS:
        return operands[0].dtype
    if source is None or source == "float":
        raise error("BadDType", f"{kind}: the element type of a result does not "
                    "follow", "give dtype")
    return source


def _set(op, name, type_, value):
    setter, convert, element = _SETTERS[type_]
    function = getattr(lib, setter)
    if element is None:
        check(function(op, name.encode(), convert(value)))
    else:
        check(function(op, name.encode(),
                       (element * len(value))(*map(convert, value)),
                       len(value)))
