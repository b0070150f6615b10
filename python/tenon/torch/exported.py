# SPDX-License-Identifier: Apache-2.0
"""Models of torch.export, compiled ahead of time."""
from __future__ import annotations

import copy
import operator
import os
from typing import Any, Mapping, Sequence

import torch
from torch import fx
from torch.export.graph_signature import InputKind, OutputKind

from tenon.errors import error
from tenon.model import Engine, Model, compile_graph
from tenon.torch import losses, recurrent, split
from tenon.torch.decompositions import decompositions
from tenon.torch.sizes import Sizes, symbols_of

_STATE = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
_WRITTEN = (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION)


def export(model: torch.nn.Module | torch.export.ExportedProgram,
           args: Sequence[Any] = (), path: str | os.PathLike | None = None, *,
           kwargs: Mapping[str, Any] | None = None,
           dynamic_shapes: Any = None, engine: Engine | None = None,
           **options: Any) -> Model:
    """A whole model as one compiled graph, captured by torch.export, and, with
    `path`, as code that C programs link.

    model: a module in the mode (eval or train) in which it is wanted, which is
        called with `args` and `kwargs`, or what torch.export.export made.
    dynamic_shapes: which sizes vary, as torch.export.export has it.
    engine: what is compiled for; one thread of this machine by default.
    options: those of tenon.Model.export, such as header="model.h".

    Inputs are the tensors among the arguments, in order, by their names, but
    for those that nothing reads.
    Outputs are "output", or "output0" and so on. Parameters and buffers are
    constants; they are not copied. A buffer or an argument that the model writes
    to is an input and, with "_next" behind its name, an output. Results are
    dense and row-major.

    Errors: UnsupportedOp (all operators that have no lowering, with the
    reasons), those of compiling and of Model.export; those of torch.export.
    """
    if options and path is None:
        raise TypeError(f"{', '.join(options)} without a path")
    program = model
    if not isinstance(model, torch.export.ExportedProgram):
        with torch.no_grad():
            program = torch.export.export(model, tuple(args),
                                          dict(kwargs or {}),
                                          dynamic_shapes=dynamic_shapes)
    made = _Program(_decomposed(program)).compile(engine)
    if path is not None:
        made.export(path, **options)
    return made


def _decomposed(program):
    """In operators that have lowerings. Calls of recurrent layers and losses,
    which PyTorch would take apart, are rewritten on a copy."""
    given = program.graph_module.graph
    program.graph_module.graph = copy.deepcopy(given)
    try:
        recurrent.rewrite(program.graph_module)
        losses.rewrite(program.graph_module)
        with torch.no_grad():
            return program.run_decompositions(decompositions())
    finally:
        program.graph_module.graph = given


class _Program:
    """Lowers an exported program."""

    def __init__(self, program: torch.export.ExportedProgram):
        self.program = program
        self.graph = program.graph
        self.signature = program.graph_signature
        nodes = {n.name: n for n in self.graph.nodes}
        written = set(self.signature.buffers_to_mutate.values())
        tensors = {**program.state_dict, **program.constants}
        self.constants, self.names = {}, {}
        for spec in self.signature.input_specs:
            if spec.kind not in _STATE:
                continue
            node = nodes[spec.arg.name]
            self.names[node] = _plain(spec.target)
            if spec.target not in written:
                self.constants[node] = tensors[spec.target]

    def compile(self, engine: Engine | None) -> Model:
        self._check()
        lowering = split.Lowering(Sizes(), frozenset(self.constants))
        # Inputs in the order of the arguments.
        for node in self.graph.find_nodes(op="placeholder"):
            if isinstance(node.meta.get("val"), torch.Tensor):
                lowering.value(node).edge.name = self.names.get(node, node.name)
        for node in self.graph.nodes:
            if node.op == "call_function" and not _is_silent(node):
                lowering.lower(node)
        builder = lowering.builder
        if builder.size_ids:
            raise error("UnsupportedOp", "a size that is not known is used as a "
                        "number: " + ", ".join(builder.size_ids.values()),
                        "make it known, by dynamic_shapes")
        self._declare_sizes(lowering)
        self._add_outputs(lowering)
        values = dict(builder.graph.values)
        values.update({lowering.inputs[n].edge.id: t.detach()
                       for n, t in self.constants.items()})
        return compile_graph(builder.graph, engine).bind(values)

    def _check(self):
        """Raises UnsupportedOp for all nodes that do not lower."""
        left = split.classify(self.graph, Sizes(), {})
        found = [f"{n.target} ({n.name}): {reason or 'no lowering'}"
                 for n, reason in left.items()
                 if not _is_silent(n) and
                 (reason or n.target is not operator.getitem)]
        if found:
            raise error("UnsupportedOp", "; ".join(dict.fromkeys(found)),
                        "torch.compile leaves such operators to PyTorch")

    def _declare_sizes(self, lowering):
        used = symbols_of([n.meta["val"] for n in lowering.inputs],
                          strides=False)
        for symbol, bounds in self.program.range_constraints.items():
            if str(symbol) in used:
                most = {"max": int(bounds.upper)} \
                    if bounds.upper.is_Integer else {}
                lowering.builder.graph.declare_size(
                    str(symbol), min=max(int(bounds.lower), 0), **most)

    def _add_outputs(self, lowering):
        builder = lowering.builder
        results = next(iter(self.graph.find_nodes(op="output"))).args[0]
        pairs = [(node, spec) for node, spec in
                 zip(results, self.signature.output_specs)
                 if isinstance(node, fx.Node)]
        several = sum(s.kind == OutputKind.USER_OUTPUT for _, s in pairs) > 1
        taken = {edge.id for edge in builder.graph.inputs}
        number = 0
        for node, spec in pairs:
            value = lowering.value(node)
            if value.edge.id in taken:  # an input, or a result twice
                value = builder.op("Reorder", value, shape=value.shape)
            taken.add(value.edge.id)
            if spec.kind in _WRITTEN:
                value.edge.name = _plain(spec.target) + "_next"
            else:
                value.edge.name = f"output{number}" if several else "output"
                number += 1
            builder.graph.output(value.edge)


def _plain(target):
    """The name of a parameter, a buffer or an argument, as C has names."""
    return target.replace(".", "_")


def _is_silent(node):
    """Whether a node computes a size or checks one: no work of a graph."""
    return split.is_size(node) or str(node.target) == "with_effects" or (
        node.meta.get("val") is None and not node.users)
