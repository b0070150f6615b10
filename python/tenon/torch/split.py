# SPDX-License-Identifier: Apache-2.0
"""Which nodes of an FX graph Tenon takes, and in which pieces.

A node is taken if it lowers: the lowering is tried, and Tenon judges what comes
of it. Pieces ("regions") are as few as possible: a node belongs to the first
region in which all its operands can be.
"""
from __future__ import annotations

import operator
from typing import Any, Mapping, Sequence

import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import (
    free_unbacked_symbols, guard_or_false)

from tenon import _abi
from tenon.errors import TenonError
from tenon.torch.lowering import LOWERINGS, Builder, Unsupported, Value, type_of
from tenon.torch.names import name_of
from tenon.torch.sizes import (
    Sizes, Unwritable, is_static, overlaps, symbols_of)

aten = torch.ops.aten

#: What only renames elements or makes them from nothing: no reason for a region.
TRIVIAL = {
    aten.view.default, aten.reshape.default, aten._unsafe_view.default,
    aten.unsqueeze.default, aten.squeeze.dim, aten.squeeze.dims,
    aten.squeeze.default, aten.permute.default, aten.t.default,
    aten.transpose.int, aten.expand.default, aten.alias.default,
    aten.detach.default, aten.slice.Tensor, aten.select.int,
    aten.full.default, aten.zeros.default, aten.ones.default,
    aten.scalar_tensor.default, aten.clone.default, aten.split.Tensor,
    aten.split_with_sizes.default, aten.unbind.int, operator.getitem,
    aten.full_like.default, aten.arange.start_step,
    torch.ops.prims.iota.default,
}
#: What PyTorch puts around its own checks, checks, and memory without content.
SILENT = {"with_effects", "aten._assert_scalar.default",
          "aten._assert_async.default", "aten._assert_async.msg",
          "tenon.packing.default", "aten.empty.memory_format",
          "aten.empty_permuted.default", "aten.new_empty.default",
          "aten.empty_like.default", "aten.new_empty_strided.default",
          "aten.empty_strided.default"}
#: Operators that other processes take part in: PyTorch's.
COLLECTIVE = {"_c10d_functional", "_dtensor"}
#: What writes to an input of the graph: done by PyTorch, at the end.
MUTATIONS = {aten.copy_.default}


def is_size(node: fx.Node) -> bool:
    """Whether a node computes with sizes, not with tensors."""
    return isinstance(node.meta.get("val"),
                      (int, float, bool, torch.SymInt, torch.SymFloat,
                       torch.SymBool))


def brings_a_size(node: fx.Node) -> bool:
    """Whether a node is told a size that follows from values, such as the
    longest of lengths, and that no tensor which it reads has."""
    told, seen = set(), set()
    for source in node.all_input_nodes:
        value = source.meta.get("val")
        if isinstance(value, torch.SymInt):
            told |= {s.name for s in free_unbacked_symbols(value)}
        elif isinstance(value, torch.Tensor):
            seen |= symbols_of([value], strides=False)
    return not told <= seen


def is_collective(node: fx.Node) -> bool:
    return getattr(node.target, "namespace", None) in COLLECTIVE


class Lowering:
    """Lowers nodes one after the other; what they read and is not there yet is
    an input of the graph."""

    def __init__(self, sizes: Sizes, constants: frozenset = frozenset(),
                 check: bool = False):
        self.builder = Builder(sizes, check)
        self.values: dict[fx.Node, Any] = {}
        self.inputs: dict[fx.Node, Value] = {}
        self._constants = constants

    def value(self, node: fx.Node) -> Any:
        if node not in self.values:
            self.values[node] = self.inputs[node] = self._input(node)
        return self.values[node]

    def _input(self, node: fx.Node) -> Value:
        tensor = node.meta.get("val")
        if not isinstance(tensor, torch.Tensor):
            raise Unsupported(f"{node} is no tensor")
        if tensor.is_sparse or tensor.device.type != "cpu" or \
                tensor.layout != torch.strided:
            raise Unsupported(f"{node} is not in the memory of the CPU")
        shape = self.builder.shape(tensor.shape)
        # With sizes that vary, copies become dense.
        strides = list(tensor.stride()) if is_static(tensor) else None
        edge = self.builder.graph.input(node.name, shape, type_of(tensor.dtype),
                                        strides=strides,
                                        constant=node in self._constants)
        return Value(edge, tensor.dtype, tensor.shape)

    def lower(self, node: fx.Node) -> None:
        """Raises Unsupported, Unwritable or TenonError."""
        if node.target is operator.getitem:
            source = self.value(node.args[0])
            found = source[node.args[1]] if isinstance(source, (list, tuple)) \
                else None
            if found is None:
                raise Unsupported("its source does not compute this result")
            self.values[node] = found
            return
        function = LOWERINGS.get(node.target)
        if function is None:
            raise Unsupported("no lowering")
        b = self.builder
        b.result, b.name, b.operator = node.meta["val"], name_of(node), node.target
        sources = node.all_input_nodes
        b.source = sources[0].meta.get("val") if sources else None
        b.wanted = {u.args[1] for u in node.users
                    if u.target is operator.getitem}

        def given(a):
            if is_size(a):
                return a.meta["val"]
            return self.value(a)

        args, kwargs = fx.map_arg((node.args, node.kwargs), given)
        made = function(b, *args, **kwargs)
        if isinstance(b.result, torch.Tensor):
            made = self._typed(made, b.result)
        elif isinstance(made, (list, tuple)):
            made = list(made)
            for i in b.wanted:
                if made[i] is None:
                    raise Unsupported(f"result {i} is wanted")
                made[i] = self._typed(made[i], b.result[i])
        self.values[node] = made

    @staticmethod
    def _typed(value: Value, tensor: torch.Tensor) -> Value:
        """With the shape and the type that PyTorch says."""
        if value.dtype != tensor.dtype:
            raise Unsupported(f"computed in {value.dtype}, not {tensor.dtype}")
        return Value(value.edge, value.dtype, tensor.shape)


def classify(graph: fx.Graph, sizes: Sizes,
             refused: Mapping[fx.Node, str]) -> dict[fx.Node, str]:
    """The nodes that PyTorch keeps, with the reason ("" for what it should
    keep)."""
    refused = dict(refused)
    while True:
        left, trial, owners = _try_all(graph, sizes, refused)
        try:
            reasons = trial.builder.graph.unsupported()
            break
        except TenonError as e:  # found by inference only
            if not e.op_kind or owners[e.op_id] in refused:
                raise
            refused[owners[e.op_id]] = e.message
    for number, reason in reasons.items():
        left.setdefault(owners[number], reason)
    # Results of what stays are there where it is.
    for node in graph.nodes:
        if node.target is operator.getitem and node.args[0] in left:
            left[node] = ""
    return left


def _try_all(graph, sizes, refused):
    """Lowers every node by itself: what stays, the lowering, and the node of
    each operation by its id."""
    left: dict[fx.Node, str] = {}
    trial = Lowering(sizes, check=True)
    owners: list[fx.Node] = []
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        if is_size(node) or node.target in MUTATIONS or \
                str(node.target) in SILENT or is_collective(node):
            left[node] = ""
            continue
        try:
            if node in refused:
                raise Unsupported(refused[node])
            if brings_a_size(node):
                raise Unsupported("a size follows from values")
            trial.lower(node)
        except (Unsupported, Unwritable, TenonError) as e:
            left[node] = e.message if isinstance(e, TenonError) else str(e)
        except (TypeError, ValueError, IndexError, KeyError, AttributeError,
                NotImplementedError, RuntimeError) as e:
            left[node] = f"arguments that are not known ({e})"
        count = trial.builder.graph.num_operations
        owners += [node] * (count - len(owners))
    return left, trial, owners


def levels(graph: fx.Graph, left: Mapping[fx.Node, str]) -> dict[fx.Node, int]:
    """The number of the region of each node that Tenon takes, from 1 on; of the
    others that of the last one they wait for. Collectives wait for those before
    them: all processes execute them in the same order, though their graphs may
    fall into other regions."""
    level: dict[fx.Node, int] = {}
    collective = 0
    for node in graph.nodes:
        sources = node.all_input_nodes
        if node.op != "call_function" or node in left:
            level[node] = max((level[s] for s in sources), default=0)
            if is_collective(node):
                collective = level[node] = max(level[node], collective)
        else:
            level[node] = max(
                [level[s] if s.op == "call_function" and s not in left
                 else level[s] + 1 for s in sources], default=1)
    return level


def is_view(node: fx.Node) -> bool:
    """Whether the result shares the memory of the first operand."""
    schema = getattr(node.target, "_schema", None)
    if node.op != "call_function" or schema is None or \
            len(schema.returns) != 1 or not node.args or \
            not isinstance(node.args[0], fx.Node):
        return False
    alias = schema.returns[0].alias_info
    return alias is not None and not alias.is_write


def keep_views(graph: fx.Graph, left: dict[fx.Node, str]) -> None:
    """Leaves to PyTorch views that are results: they share memory with their
    sources, as those of eager do. A part of what is no result itself is
    computed alone, unless its elements share places."""
    output = next(iter(reversed(graph.nodes)))
    outside = set(output.all_input_nodes)
    for node in reversed(graph.nodes):
        if node not in outside or node in left or not is_view(node):
            continue
        source = node.args[0]
        if overlaps(node.meta["val"]):
            left[node] = ""
            outside.add(source)
            continue
        whole = guard_or_false(
            node.meta["val"].numel() == source.meta["val"].numel())
        others = any(u is not output and u not in left for u in node.users)
        if source.op == "call_function" and not others and \
                (whole or source in outside):
            left[node] = ""
            outside.add(source)


def regions(graph: fx.Graph, left: dict[fx.Node, str]
            ) -> dict[int, list[fx.Node]]:
    """Nodes by region. Regions without work to do go back to PyTorch; `left`
    then has their nodes, too."""
    keep_views(graph, left)
    while True:
        level = levels(graph, left)
        found: dict[int, list[fx.Node]] = {}
        for node in graph.nodes:
            if node.op == "call_function" and node not in left:
                found.setdefault(level[node], []).append(node)
        idle = [nodes for nodes in found.values()
                if all(n.target in TRIVIAL for n in nodes)]
        if not idle:
            return found
        for nodes in idle:
            for node in nodes:
                left[node] = ""
