# SPDX-License-Identifier: Apache-2.0
"""Compiled graphs, and what executes them."""
from __future__ import annotations

import ctypes as c
import os
import threading
from typing import (TYPE_CHECKING, Any, Callable, Mapping, NamedTuple,
                    Sequence)

from tenon import _abi
from tenon.aot import export
from tenon.errors import error
from tenon.library import Handle, check, last_error, lib, python_lib
from tenon.reports import Benchmark, Explanation, bench, report
from tenon.results import allocate
from tenon.tensors import LIST_ITEM, Description, describe, fill, reader
from tenon.types import DTYPE_NAMES, logical_tensor, shape_of

if TYPE_CHECKING:
    from tenon.graph import Graph


class Engine:
    """What graphs are compiled for, and the threads that execute them. Any
    number of threads may use one.

    threads: how many execute a graph together; None: one for each CPU.
    openmp: they are those of the OpenMP library that the process has loaded,
        as PyTorch's are, so that no others wait beside them.
    options: of the compiler, by the names of the command line with _ for -:
        target_cpu="x86-64-v3".
    Errors: BadOption.
    """

    def __init__(self, threads: int | None = 1, *, openmp: bool = False,
                 **options: Any):
        self._handle = Handle.make("engine", "tenon_engine_create", None)
        for name, value in options.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            check(lib.tenon_engine_set_option(
                self._handle, name.replace("_", "-").encode(), text.encode()))
        chosen = _abi.tenon_exec_options()
        lib.tenon_exec_options_init(c.byref(chosen))
        count = lib.tenon_rt_allowed_cpus() if threads is None else threads
        if openmp and count != 1:
            check(lib.tenon_exec_options_use_openmp(c.byref(chosen), count))
        elif count != 1:
            chosen.threading, chosen.threads = _abi.TENON_THREADS_TEAM, count
        self.threads = count
        self._stream = Handle.make("stream", "tenon_stream_create",
                                   self._handle, c.byref(chosen))


_default: Engine | None = None
_default_lock = threading.Lock()


def default_engine() -> Engine:
    """One thread, code for this machine."""
    global _default
    with _default_lock:
        if _default is None:
            _default = Engine()
        return _default


class Port(NamedTuple):
    """An input or an output of a model; None in a shape: known at execution."""

    name: str
    dtype: str
    shape: tuple[int | None, ...]
    id: int


class Model:
    """Compiled code with its constants. Immutable; any number of threads may
    call one at once.

        y = model(x)                 # results like the inputs: torch or NumPy
        model(x, out=[y])            # into tensors that there are
    """

    def __init__(self, code: "Code", constants: Sequence["Bound"]):
        self.code = code
        self.inputs = [p for p in code.inputs if p.id not in
                       {bound.number for bound in constants}]
        self.outputs = code.outputs
        self.constants = list(constants)
        addresses = (c.c_void_p * len(constants))(
            *[bound.address for bound in constants])
        self._call = Handle.make("call", "tenon_call_create", code.compiled,
                                 len(constants), addresses)
        self._execute = lib.tenon_call_execute
        self._read = python_lib.tenon_dltensors_read
        self._count = len(self.inputs) + len(self.outputs)
        self._array = _abi.tenon_dltensor * self._count
        self._stream = code.engine._stream.address

    def __call__(self, *args: Any, out: Sequence[Any] | None = None,
                 **kwargs: Any) -> Any:
        """Executes. Inputs by position or name; returns the result, a tuple if
        there are several. Errors: PortMismatch, BadDType, ShapeMismatch,
        BadStride, BadTensorData."""
        given, results = self._tensors(args, kwargs, out)
        self.execute(given + results)
        return results[0] if len(results) == 1 else tuple(results)

    def prepare(self, *args: Any, out: Sequence[Any] | None = None,
                **kwargs: Any) -> Callable[[], Any]:
        """A function that executes on these tensors whenever it is called, and
        returns the results, always the same tensors. Their memory has to stay
        where it is. Errors: those of a call, some when it is called."""
        given, results = self._tensors(args, kwargs, out)
        described, keep = self._describe(given + results)
        execute, call, stream = self._execute, self._call.address, self._stream
        count = len(described)
        result = results[0] if len(results) == 1 else tuple(results)

        def run():
            if execute(call, stream, count, described):
                raise last_error()
            return result

        run.keep = self, given, keep
        return run

    def _tensors(self, args, kwargs, out):
        """Lists of all inputs and of all outputs."""
        given = self._in_order(args, kwargs) if kwargs else list(args)
        if len(given) != len(self.inputs):
            raise error("PortMismatch", f"{len(given)} inputs are given, the "
                        f"model has {len(self.inputs)}: "
                        + ", ".join(p.name for p in self.inputs))
        results = self._allocate(given) if out is None else list(out)
        if len(results) != len(self.outputs):
            raise error("PortMismatch", f"{len(results)} outputs are given, the "
                        f"model has {len(self.outputs)}")
        return given, results

    def execute(self, tensors: list, engine: Engine | None = None) -> None:
        """Executes on a list of all inputs and then all outputs: the fast way.
        Outputs are written. With `engine` its threads execute. Errors: those of
        a call."""
        described, keep = self._describe(tensors)
        stream = engine._stream.address if engine else self._stream
        status = self._execute(self._call.address, stream, len(tensors),
                               described)
        del keep
        if status:
            check(status)

    def _describe(self, tensors):
        """As the library takes them, and what has to be kept for that."""
        described = self._array()
        kinds = set(map(type, tensors))
        read = reader(kinds.pop()) if len(kinds) == 1 else None
        if read is None:
            return described, fill(described, tensors)
        check(self._read(LIST_ITEM, read, id(tensors), len(tensors), described))
        return described, tensors

    def shapes(self, *args: Any) -> list[tuple[int, ...]]:
        """Sizes of the results for these inputs. Errors: ShapeMismatch."""
        if self.code.static:
            return [p.shape for p in self.outputs]
        return self.code.shapes({p.id: describe(a).shape
                                 for p, a in zip(self.inputs, args)})

    def explain(self) -> Explanation:
        """Where each operation went and what became of each tensor. Compiles
        once more. Errors: those of compiling."""
        return Explanation(self.code)

    def report(self, kind: str) -> str:
        """A text: "dot" (the fused graph for graphviz), "memory" (the buffers
        between groups), "graph" (as the command line reads it) or "assembly".
        Errors: BadOption, those of compiling."""
        return report(self.code, kind)

    def bench(self, *args: Any, out: Sequence[Any] | None = None,
              seconds: float = 1.0) -> Benchmark:
        """Executes on these inputs for so long, and measures. Errors: those of
        a call."""
        return bench(self, args, out, seconds)

    def export(self, path: str | os.PathLike, **options: Any) -> None:
        """Writes the model as code that C programs link; see tenon.aot.export."""
        export(self, path, **options)

    def serialize(self) -> bytes:
        """The code as bytes for the same build of Tenon, without constants."""
        size = c.c_size_t()
        check(lib.tenon_compiled_partition_serialise(self.code.compiled,
                                                     c.byref(size), None))
        data = c.create_string_buffer(size.value)
        check(lib.tenon_compiled_partition_serialise(self.code.compiled,
                                                     c.byref(size), data))
        return data.raw

    def _in_order(self, args, kwargs):
        given = list(args) + [None] * (len(self.inputs) - len(args))
        names = [p.name for p in self.inputs]
        for name, value in kwargs.items():
            if name not in names:
                raise error("PortMismatch", f"the model has no input {name!r}",
                            "it has " + ", ".join(names))
            given[names.index(name)] = value
        missing = [n for n, v in zip(names, given) if v is None]
        if missing:
            raise error("PortMismatch", "not given: " + ", ".join(missing))
        return given

    def _allocate(self, given):
        return [allocate(given, p.dtype, shape)
                for p, shape in zip(self.outputs, self.shapes(*given))]

    def __repr__(self):
        def ports(list_):
            return ", ".join(
                f"{p.name}: "
                + "x".join("?" if d is None else str(d) for d in p.shape)
                + ("x" if p.shape else "") + p.dtype for p in list_)

        return f"Model({ports(self.inputs)}) -> {ports(self.outputs)}"

    def _repr_html_(self) -> str:
        """What a notebook shows: the fused graph."""
        return self.explain()._repr_html_()


class Bound:
    """A constant: a tenon_tensor on memory of another library."""

    def __init__(self, engine: Engine, number: int, about: Description):
        logical = logical_tensor(number, about.dtype, about.shape, about.strides,
                                 _abi.TENON_PROPERTY_CONSTANT)
        self._handle = Handle.make("tensor", "tenon_tensor_create",
                                   c.byref(logical), engine._handle,
                                   about.address)
        self.number = number
        self._keep = about.keep

    @property
    def address(self) -> int:
        return self._handle.address.value

    def changed(self, about: Description | None = None) -> None:
        """Tells that its elements are others, or elsewhere: what was computed
        from them is computed again at the next execution."""
        if about is None:
            check(lib.tenon_tensor_touch(self._handle))
        else:
            check(lib.tenon_tensor_set_data(self._handle, about.address))
            self._keep = about.keep


class Code:
    """What a graph was compiled to, before its constants have values."""

    def __init__(self, engine: Engine, compiled: Handle,
                 name_of: Callable[[int], str]):
        self.engine = engine
        self.compiled = compiled
        self.lock = threading.Lock()  # of its reports
        self.inputs, self.outputs = (
            [self._port(logical.id, name_of)
             for logical in _ports(query, compiled)]
            for query in (lib.tenon_compiled_partition_get_inputs,
                          lib.tenon_compiled_partition_get_outputs))
        self.static = all(None not in p.shape for p in self.outputs)

    @classmethod
    def of_partition(cls, engine: Engine, partition: Handle,
                     name_of: Callable[[int], str],
                     order: Mapping[int, int] = {},
                     strides: Mapping[int, Sequence[int]] = {},
                     shapes: Mapping[str, Sequence[int]] = {}) -> "Code":
        """Compiles; places of inputs and outputs, and `strides` of outputs, by
        id, `shapes` of inputs by name."""
        inputs, outputs = (
            _ports(query, partition, order)
            for query in (lib.tenon_partition_get_inputs,
                          lib.tenon_partition_get_outputs))
        names = [name_of(logical.id) for logical in inputs]
        _refuse_unknown(shapes, names)
        for i, name in enumerate(names):
            if name in shapes:
                inputs[i] = logical_tensor(
                    inputs[i].id, DTYPE_NAMES[inputs[i].dtype], shapes[name],
                    property=inputs[i].property)
        for logical in outputs:
            if logical.id in strides:
                logical.layout = _abi.TENON_LAYOUT_STRIDED
                logical.strides[:logical.rank] = strides[logical.id]
        compiled = Handle.make(
            "compiled_partition", "tenon_partition_compile", partition,
            engine._handle, len(inputs), inputs, len(outputs), outputs)
        return cls(engine, compiled, name_of)

    @classmethod
    def of_file(cls, engine: Engine, path: bytes,
                weights: bytes | None) -> "Code":
        """Code that was exported."""
        compiled = Handle.make("compiled_partition",
                               "tenon_compiled_partition_from_file", path,
                               weights, engine._handle)
        return cls(
            engine, compiled,
            lambda number: _name(lib.tenon_compiled_partition_get_tensor_name(
                compiled, number), number))

    def _port(self, number, name_of):
        made = _abi.tenon_logical_tensor()
        check(lib.tenon_compiled_partition_query(self.compiled, number,
                                                 c.byref(made)))
        return Port(name_of(number), DTYPE_NAMES[made.dtype], shape_of(made),
                    number)

    def inplace_pairs(self) -> set[tuple[int, int]]:
        """Ids of inputs and outputs that may be the same memory."""
        count, found = c.c_size_t(), c.c_void_p()
        check(lib.tenon_compiled_partition_get_inplace_pairs(
            self.compiled, c.byref(count), c.byref(found)))
        if not count.value:
            return set()
        pairs = (_abi.tenon_inplace_pair * count.value).from_address(found.value)
        return {(p.input_id, p.output_id) for p in pairs}

    def bind(self, values: Mapping[int, Any]) -> Model:
        """Gives constants their values, by id; those of others are ignored."""
        used = {p.id for p in self.inputs}
        return Model(self, [Bound(self.engine, number, describe(value))
                            for number, value in values.items()
                            if number in used])

    def shapes(self, inputs: Mapping[int, Sequence[int]]):
        """Sizes of the results for those of the inputs, by id."""
        dtypes = {p.id: p.dtype for p in self.inputs}
        given = (_abi.tenon_logical_tensor * len(inputs))(
            *[logical_tensor(number, dtypes[number], shape)
              for number, shape in inputs.items()])
        found = (_abi.tenon_logical_tensor * len(self.outputs))()
        check(lib.tenon_compiled_partition_infer(
            self.compiled, len(given), given, len(found), found))
        by_id = {t.id: shape_of(t) for t in found}
        return [by_id[p.id] for p in self.outputs]


def compile_graph(graph: "Graph", engine: Engine | None = None) -> Code:
    """The code of a graph. Errors: as Graph.compile."""
    graph.finalize()
    ports = graph.inputs + graph.outputs
    names = {e.id: e.name for e in ports}
    return Code.of_partition(
        engine or default_engine(), only_partition(graph._handle),
        names.__getitem__, {e.id: i for i, e in enumerate(ports)},
        graph.output_strides)


def load(path: str | os.PathLike, engine: Engine | None = None, *,
         weights: str | os.PathLike | None = None,
         shapes: Mapping[str, Sequence[int]] = {},
         constants: Mapping[str, Any] = {}) -> Model:
    """A model from a file: one of ONNX (.onnx) or a graph (.json), which is
    compiled, or one that was exported (.so, .a, .o), with its file of `weights`
    if it has one. The file stays mapped while the model exists. Code of an
    exported file is executed: only one that you trust. `shapes` of inputs by
    name: what is compiled serves these only. `constants` by name: those that a
    graph has without values. A tensor without a name is "tensor" and its id.
    Errors: PortMismatch, those of reading and of compiling."""
    engine = engine or default_engine()
    file = os.fsencode(os.fspath(path))
    if file.endswith((b".so", b".a", b".o")):
        if shapes or constants:
            raise error("BadOption", "exported code has shapes and constants")
        apart = weights and os.fsencode(os.fspath(weights))
        return Code.of_file(engine, file, apart).bind({})
    graph = Handle.make("graph", "tenon_graph_from_file", file)
    code = Code.of_partition(
        engine, only_partition(graph),
        lambda number: _name(lib.tenon_graph_get_tensor_name(graph, number),
                             number), shapes=shapes)
    ids = {p.name: p.id for p in code.inputs}
    _refuse_unknown(constants, ids)
    return code.bind({ids[name]: value for name, value in constants.items()})


def _refuse_unknown(names, known):
    unknown = [name for name in names if name not in known]
    if unknown:
        raise error("PortMismatch", "the model has no input "
                    + ", ".join(unknown), "it has " + ", ".join(known))


def _name(given: bytes | None, number: int) -> str:
    return (given or b"").decode() or f"tensor {number}"


def partitions_of(graph: Handle) -> list[Handle]:
    """Of a finalized graph."""
    count = c.c_size_t()
    check(lib.tenon_graph_get_partitions(graph, _abi.TENON_POLICY_FUSION,
                                         c.byref(count), None))
    found = (c.c_void_p * count.value)()
    check(lib.tenon_graph_get_partitions(graph, _abi.TENON_POLICY_FUSION,
                                         c.byref(count), found))
    return [Handle("partition", c.c_void_p(p)) for p in found]


def only_partition(graph: Handle) -> Handle:
    """The whole graph as one. Errors: UnsupportedOp."""
    partitions = partitions_of(graph)
    reasons = [lib.tenon_partition_get_reason(p).decode() for p in partitions
               if not lib.tenon_partition_is_supported(p)]
    if reasons:
        raise error("UnsupportedOp", "; ".join(reasons))
    if len(partitions) != 1:
        raise error("UnsupportedOp",
                    f"the graph falls into {len(partitions)} partitions")
    return partitions[0]


def _ports(query, owner, order: Mapping[int, int] = {}):
    """An array of logical tensors, those that are in `order` so."""
    count, found = c.c_size_t(), c.c_void_p()
    check(query(owner, c.byref(count), c.byref(found)))
    kind = _abi.tenon_logical_tensor * count.value
    ports = kind.from_buffer_copy(
        c.string_at(found, c.sizeof(kind))) if count.value else kind()
    return kind(*sorted(ports, key=lambda t: order.get(t.id, 0)))
