# SPDX-License-Identifier: Apache-2.0
"""A piece of an FX graph that Tenon compiles and executes."""
from __future__ import annotations

import collections
import ctypes
import functools
import itertools
import sys
import threading
import weakref
from typing import Any, Mapping, Sequence

import torch
from torch import fx
from torch.autograd.graph import increment_version

from tenon import _abi
from tenon.errors import TenonError
from tenon.model import Bound, Code, Engine, Model, compile_graph
from tenon.tensors import describe
from tenon.torch import profile, sharing
from tenon.torch import sizes as size_tools
from tenon.torch.lowering import Unsupported, Value
from tenon.torch.lowering.core import DTYPES
from tenon.torch.sizes import Sizes, Unwritable
from tenon.torch.split import Lowering
from tenon.torch.stats import count, leftover, log
from tenon.types import dense_strides

SEED = "seed"
#: Versions for single shapes that are kept where no code serves all sizes.
MOST_VERSIONS = 16

_DTYPES = {name: dtype for dtype, name in DTYPES.items()}
_compare = ctypes.CDLL(None).memcmp
_compare.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
_numbers = itertools.count()
_regions: weakref.WeakSet = weakref.WeakSet()
_empty = torch._C._dynamo.guards._empty_strided_cpu


class NoVersion(RuntimeError):
    """Why there is no code for some sizes."""


@functools.cache
def engine_for(threads: int) -> Engine:
    """The engine of a number of threads: those of PyTorch."""
    return Engine(threads, openmp=threads > 1)


def statistics(nodes: Sequence[fx.Node]) -> set[fx.Node]:
    """Running statistics: eager's batch norm changes them without counting a
    version, so that only their content tells."""
    target = torch.ops.aten._native_batch_norm_legit_no_training.default
    return {a for n in nodes if n.target is target for a in n.args[3:5]}


def same(tensor: torch.Tensor, copy: torch.Tensor) -> bool:
    """Whether the elements are equal, bit by bit, those of a dense copy."""
    dense = tensor.contiguous()
    return not _compare(dense.data_ptr(), copy.data_ptr(), copy.nbytes)


def repeats(tensor: torch.Tensor) -> bool:
    """Whether elements share a place, as expand makes them."""
    return any(isinstance(stride, int) and stride == 0 and
               not (isinstance(size, int) and size < 2)
               for stride, size in zip(tensor.stride(), tensor.shape))


def repeated(dense: torch.Tensor, shape: Sequence[int],
             strides: Sequence[int]) -> torch.Tensor:
    """The elements with the strides; where a stride is 0 they are equal."""
    once = tuple(slice(0, 1) if stride == 0 else slice(None)
                 for stride in strides)
    part = dense[once]
    base = torch.empty_strided(part.shape, [s or 1 for s in strides],
                               dtype=dense.dtype)
    return base.copy_(part).expand(shape)


def refresh() -> None:
    """Constants of all compiled models are packed again at the next call: after
    writes that PyTorch does not count, through NumPy or in place through
    `.data`."""
    for region in list(_regions):
        region.forget()


@torch.no_grad()
def execute_nodes(nodes: Sequence[fx.Node], given: Mapping[fx.Node, Any],
                  symbols: Mapping[str, int]) -> dict[fx.Node, Any]:
    """What nodes yield, by PyTorch."""
    found, sizes = dict(given), Sizes(symbols)

    def value(node):
        return found[node] if node in found else sizes.value(node.meta["val"])

    for node in nodes:
        args, kwargs = fx.map_arg((node.args, node.kwargs), value)
        found[node] = node.target(*args, **kwargs)
    return found


class Version:
    """The code for some sizes, with its constants."""

    def __init__(self, code: Code, scalars: dict[int, Any],
                 constant_ids: Sequence[int], given_at: Sequence[Any],
                 dense_inputs: Sequence[int], dense_results: Sequence[int]):
        self.code = code
        # Which given ones and which results the code has dense and row-major,
        # whatever they are for PyTorch.
        self.dense_inputs = dense_inputs
        self.dense_results = dense_results
        # Positions of the inputs of the code, SEED, or code for a size.
        self.given_at = given_at
        self.scalars = scalars
        self.constant_ids = constant_ids
        self.seen: list[tuple[int, int]] | None = None
        self.model: Model | None = None
        self.bound: list[Bound | None] = []
        self.kept: dict[int, torch.Tensor] = {}  # copies of what is watched


class Region:
    """Compiled nodes. Called with the tensors of `inputs`, returns a list of
    those of `outputs`; any number of threads may call one at once.

    written: inputs of the graph that have to become outputs, by output. Where
    the code allows it, the output is written there, and `inplace` has it.
    compares: constants are compared with copies before each call.
    strict: PyTorch does not execute it where there is no code for its inputs.
    """

    def __init__(self, nodes: Sequence[fx.Node], outputs: Sequence[fx.Node],
                 constants: frozenset,
                 written: Mapping[fx.Node, fx.Node] | None = None,
                 compares: bool = False, strict: bool = False):
        self.__name__ = f"tenon_region_{next(_numbers)}"  # in code of FX
        self.nodes = list(nodes)
        self.outputs = list(outputs)
        self._constants = constants
        self._strict = strict
        lowering = self._lower(Sizes())
        self.inputs = list(lowering.inputs)
        tensors = [n.meta["val"] for n in self.inputs]
        results = [n.meta["val"] for n in self.outputs]
        self._constant_at = [i for i, n in enumerate(self.inputs)
                             if n in constants]
        self.symbols = size_tools.symbols_of(tensors, strides=False)
        self.symbols |= size_tools.symbols_of(results)
        for node in nodes:  # sizes within
            value = node.meta["val"]
            for v in value if isinstance(value, (list, tuple)) else [value]:
                if isinstance(v, torch.Tensor):
                    self.symbols |= size_tools.symbols_of([v], strides=False)
            for given in node.all_input_nodes:  # numbers, such as of copies
                number = given.meta.get("val")
                if isinstance(number, torch.SymInt):
                    self.symbols |= size_tools.names_of(number)
        self.symbols |= lowering.builder.size_symbols
        watched = statistics(nodes)
        self._watched = [k for k, i in enumerate(self._constant_at)
                         if compares or self.inputs[i] in watched]
        _regions.add(self)
        self._lock = threading.Lock()
        self._versions: collections.OrderedDict = collections.OrderedDict()
        self._dtypes = [r.dtype for r in results]
        self._repeated = [i for i, r in enumerate(results) if repeats(r)]
        self._general: Version | None = None
        self.inplace: set[fx.Node] = set()
        self._targets: list[tuple[int, int]] = []  # outputs and inputs
        if not self.symbols:
            self._layouts = [
                (tuple(r.shape), tuple(r.stride()) if repeats(r) or
                 not size_tools.overlaps(r) else dense_strides(r.shape))
                for r in results]
            self._general = self._compile(lowering, Sizes())
            self._find_inplace(lowering, written or {})
            return
        missing = self.symbols - size_tools.places(tensors).keys()
        for node in nodes[0].graph.find_nodes(op="placeholder"):
            value = node.meta.get("val")
            if isinstance(value, torch.SymInt) and \
                    str(size_tools.expression(value)) in missing:
                self.inputs.append(node)
                tensors.append(value)
        self._read = size_tools.reader(tensors, self.symbols)
        self._shapes = size_tools.shapes(results)
        try:
            self._general = self._compile(lowering, Sizes())
        except TenonError as e:
            log.warning("a graph is compiled for each shape: %s", e)

    def __del__(self):
        if not sys.is_finalizing():
            self._general = self._versions = None
            sharing.trim()

    # -- compiling -----------------------------------------------------------

    def _find_inplace(self, lowering: Lowering,
                      written: Mapping[fx.Node, fx.Node]) -> None:
        code = self._general.code
        pairs = code.inplace_pairs()
        for i, node in enumerate(self.outputs):
            target = written.get(node)
            if target is None or i in self._general.dense_results:
                continue
            a, b = target.meta["val"], node.meta["val"]
            if (a.dtype, a.shape, a.stride()) != (b.dtype, b.shape, b.stride()):
                continue
            if target not in lowering.inputs:  # which nothing reads
                self.inputs.append(target)
            elif (lowering.inputs[target].edge.id, code.outputs[i].id) not in \
                    pairs:
                continue
            self.inplace.add(node)
            self._targets.append((i, self.inputs.index(target)))

    def _lower(self, sizes: Sizes) -> Lowering:
        lowering = Lowering(sizes, self._constants)
        for node in self.nodes:
            lowering.lower(node)
        return lowering

    def _compile(self, lowering: Lowering, sizes: Sizes) -> Version:
        graph = lowering.builder.graph
        taken = {edge.id for edge in graph.inputs}
        dense_results: list[int] = []
        for node in self.outputs:
            value: Value = lowering.values[node]
            if value.edge.id in taken:  # an input, or a result twice
                value = lowering.builder.op("Reorder", value, shape=value.shape)
            taken.add(value.edge.id)
            result = node.meta["val"]
            known = size_tools.is_static(result) and \
                not size_tools.overlaps(result)
            graph.output(value.edge,
                         strides=list(result.stride()) if known else None)
            if not known:
                dense_results.append(len(graph.outputs) - 1)
        code = compile_graph(graph, engine_for(1))
        place = {lowering.inputs[n].edge.id: i
                 for i, n in enumerate(self.inputs) if n in lowering.inputs}
        constants = [lowering.inputs[self.inputs[i]].edge.id
                     for i in self._constant_at]
        if lowering.builder.seed_id is not None:
            place[lowering.builder.seed_id] = SEED
        for number, text in lowering.builder.size_ids.items():
            place[number] = compile(text, "<size>", "eval")
        given_at = [place[p.id] for p in code.inputs
                    if p.id in place and p.id not in constants]
        dense_at = {i for i, n in enumerate(self.inputs)
                    if n in lowering.inputs and not size_tools.is_static(n.meta["val"])}
        return Version(code, dict(graph.values), constants, given_at,
                       [k for k, i in enumerate(given_at) if i in dense_at],
                       dense_results)

    def codes(self) -> list[Code]:
        """What there is by now."""
        return [v.code for v in self._made()]

    def _made(self) -> list[Version]:
        return [v for v in [self._general, *self._versions.values()]
                if isinstance(v, Version)]

    def forget(self) -> None:
        """Constants are taken as changed at the next call."""
        with self._lock:
            for version in self._made():
                version.seen = None

    def _version_for(self, symbols: dict[str, int]) -> Version:
        """The code for the values of the symbols."""
        if self._general is not None:
            return self._general
        key = tuple(sorted(symbols.items()))
        with self._lock:
            found = self._versions.get(key)
            if found is None:
                count("versions")
                found = self._versions[key] = self._compile_for(symbols)
                if len(self._versions) > MOST_VERSIONS:
                    self._versions.popitem(last=False)
            else:
                self._versions.move_to_end(key)
        if isinstance(found, NoVersion):
            raise NoVersion(*found.args)
        return found

    def _compile_for(self, symbols: dict[str, int]) -> Version | NoVersion:
        known = Sizes(symbols)
        try:
            return self._compile(self._lower(known), known)
        except (TenonError, Unsupported, Unwritable) as e:
            return NoVersion(str(e))

    # -- executing -----------------------------------------------------------

    def __call__(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        try:
            return self._execute(tensors)
        except TenonError as e:
            if e.name == "UnknownShape" and self._general and self.symbols:
                # Sizes of results follow from values.
                log.warning("a graph is compiled for each shape: %s", e)
                self._general = None
                return self(*tensors)
            # What is found before any work. The rest, such as an index that is
            # out of range, is for who calls.
            if e.code >= _abi.TENON_E_Mismatch or self._strict:
                raise
            return self._execute_eagerly(tensors, str(e))
        except NoVersion as e:
            if self._strict:
                raise
            return self._execute_eagerly(tensors, str(e))

    def _execute_eagerly(self, tensors: Sequence[torch.Tensor],
                         reason: str) -> list[torch.Tensor]:
        """By PyTorch."""
        leftover(f"the region of {self.outputs[-1].name}", reason)
        count("fallbacks")
        symbols = self._read(tensors) if self.symbols else {}
        layouts = self._shapes(symbols) if self.symbols else self._layouts
        found = execute_nodes(self.nodes, dict(zip(self.inputs, tensors)),
                              symbols)
        results = [repeated(found[node].to(dtype), *layout)
                   for node, layout, dtype in
                   zip(self.outputs, layouts, self._dtypes)]
        for i, k in self._targets:
            results[i] = tensors[k].copy_(results[i])
        return results

    def _execute(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        if self.symbols:
            symbols = self._read(tensors)
            layouts = self._shapes(symbols)
            version = self._version_for(symbols)
        else:
            symbols = {}
            layouts, version = self._layouts, self._general
        model = self._bound(version, tensors)
        targets = [(i, tensors[k]) for i, k in self._targets]
        written = {i for i, _ in targets}
        results = [None if i in written else _empty(*layout, dtype)
                   for i, (layout, dtype) in enumerate(
                       zip(layouts, self._dtypes))]
        for i, target in targets:
            results[i] = target
        places = results.copy()
        for i in version.dense_results:
            if i in self._repeated or not results[i].is_contiguous():
                places[i] = torch.empty(layouts[i][0], dtype=self._dtypes[i])
        given = [tensors[i] if type(i) is int else self._number(i, symbols)
                 for i in version.given_at]
        for i in version.dense_inputs:
            if not given[i].is_contiguous():
                count("copies")
                given[i] = given[i].contiguous()
        extra = version.code.outputs[len(results):]
        if extra:
            shapes = version.code.shapes({
                p.id: t.shape for p, t in zip(model.inputs, given)})
            places += [torch.empty(shape, dtype=_DTYPES[p.dtype]) for p, shape
                       in zip(extra, shapes[len(results):])]
        engine = engine_for(torch.get_num_threads())
        profile.follow(engine)
        try:
            model.execute(given + places, engine)
        except TenonError as e:
            if e.name != "BadDType":
                raise
            # Some operators of PyTorch yield other types than they promise.
            model.execute([t.to(_DTYPES[p.dtype]) for p, t in
                           zip(model.inputs, given)] + places, engine)
        if targets:  # as eager counts a write
            increment_version([t for _, t in targets])
        for i in version.dense_results:
            if i in self._repeated:
                results[i] = repeated(places[i], *layouts[i])
            elif places[i] is not results[i]:
                results[i].copy_(places[i])
        return results

    @staticmethod
    def _number(what, symbols) -> torch.Tensor:
        """The seed of this execution, or a number of sizes: of s64 or f32."""
        if what == SEED:
            return torch.randint(2**62, ())
        value = eval(what, {}, symbols)
        return torch.tensor(value, dtype=torch.float32 if
                            isinstance(value, float) else torch.int64)

    def _bound(self, version: Version, tensors) -> Model:
        """The model with the constants as they are now."""
        try:
            now = [(tensors[i].data_ptr(), tensors[i]._version)
                   for i in self._constant_at]
        except RuntimeError:  # tensors of inference mode have no version
            now = [(t.data_ptr(), 0 if t.is_inference() else t._version)
                   for t in (tensors[i] for i in self._constant_at)]
            self._watched = [k for k, i in enumerate(self._constant_at)
                             if k in self._watched or tensors[i].is_inference()]
        if version.seen == now and all(
                k in version.kept and
                same(tensors[self._constant_at[k]], version.kept[k])
                for k in self._watched):
            return version.model
        with self._lock:
            constants = [tensors[i].detach() for i in self._constant_at]
            if version.model is None:
                values = dict(version.scalars)
                values.update(zip(version.constant_ids, constants))
                version.model = version.code.bind(values)
                by_id = {b.number: b for b in version.model.constants}
                version.bound = [by_id.get(i) for i in version.constant_ids]
            else:
                count("repacked")
                sharing.trim()
                for k, bound in enumerate(version.bound):
                    if bound is not None and (
                            version.seen is None or k in self._watched or
                            version.seen[k] != now[k]):
                        bound.changed(describe(constants[k]))
            for k in self._watched:
                version.kept[k] = constants[k].clone(
                    memory_format=torch.contiguous_format)
            version.seen = now
            return version.model
