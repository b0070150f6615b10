# SPDX-License-Identifier: Apache-2.0
"""The function that torch.compile finds by the name "tenon"."""
from __future__ import annotations

import operator
from typing import Any, Callable, Mapping, Sequence

import torch
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._guards import TracingContext
from torch._subclasses.fake_tensor import unset_fake_temporarily

from tenon.errors import TenonError
from tenon.torch import (
    cache, joint, losses, packed, recurrent, sharing, split)
from tenon.torch.decompositions import decompositions
from tenon.torch.names import name_of
from tenon.torch.region import Region
from tenon.torch.sizes import Sizes, Unwritable
from tenon.torch.stats import count, leftover

# Dynamo leaves recurrent modules out of graphs unless it is told not to.
torch._dynamo.config.allow_rnn = True
packed.enable()

#: Options of torch.compile(..., options={...}), with their defaults.
DEFAULTS: dict[str, Any] = {
    # "tenon": a node that stays in PyTorch raises. None: it is a warning.
    "fullgraph": None,
    # "compare": before each call constants are compared with copies of them, so
    # that any write is noticed. None: by address and version.
    "constants": None,
}


def tenon(gm: fx.GraphModule, example_inputs: Sequence[Any], *,
          options: Mapping[str, Any] | None = None, mode: str | None = None,
          watch: Callable | None = None) -> Callable:
    """A backend of torch.compile. Raises ValueError for unknown options. `watch`
    is told of each graph: its kind, what stays in PyTorch, and the regions."""
    settings = dict(DEFAULTS)
    for name, value in (options or {}).items():
        if name not in settings:
            raise ValueError(f"tenon has no option {name!r}; it has "
                             + ", ".join(sorted(settings)))
        settings[name] = value

    cache.enable()
    sharing.enable()
    recurrent.rewrite(gm)
    packed.rewrite(gm)
    losses.rewrite(gm)

    def compiler(kind):
        def compile_(graph, inputs):
            with unset_fake_temporarily():  # constants are real
                return compile_graph_module(graph, kind, settings, watch)

        return compile_

    return aot_autograd(
        fw_compiler=compiler("forward"), bw_compiler=compiler("backward"),
        inference_compiler=compiler("inference"),
        decompositions=decompositions(),
        partition_fn=joint.partition,
        keep_inference_input_mutations=True)(gm, example_inputs)


def constant_inputs(gm: fx.GraphModule, kind: str) -> frozenset:
    """Placeholders that are parameters and buffers which the graph does not
    write to: in inference they are the same for all calls."""
    context = TracingContext.try_get()
    if kind != "inference" or context is None or context.fw_metadata is None:
        return frozenset()
    placeholders = gm.graph.find_nodes(op="placeholder")
    written = {n.args[0] for n in gm.graph.nodes
               if n.target in split.MUTATIONS}
    return frozenset(
        placeholders[i] for i in context.fw_metadata.static_input_indices
        if i < len(placeholders) and placeholders[i] not in written
        and isinstance(placeholders[i].meta.get("val"), torch.Tensor))


def compile_graph_module(gm: fx.GraphModule, kind: str,
                         settings: Mapping[str, Any],
                         watch: Callable | None = None) -> Callable:
    """A boxed function that computes what the graph does."""
    count("graphs")
    constants = constant_inputs(gm, kind)
    left, pieces, made = make_regions(
        gm.graph, constants, compares=settings["constants"] == "compare",
        strict=settings["fullgraph"] == "tenon")
    report(left, settings)
    if watch:
        watch(kind, left, made.values())
    count("regions", len(made))
    count("nodes", sum(len(nodes) for nodes in pieces.values()))
    return assemble(gm, pieces, made, left)


def make_regions(graph: fx.Graph, constants: frozenset, **choices: bool):
    """What stays in PyTorch, the nodes of each region, and the regions, which
    get the choices. A region that does not compile is tried again without the
    node that the error names, or, if it names none, left to PyTorch."""
    refused: dict[fx.Node, str] = {}
    while True:
        left = split.classify(graph, Sizes(), refused)
        pieces = split.regions(graph, left)
        made: dict[int, Region] = {}
        for number, nodes in pieces.items():
            try:
                made[number] = make_region(nodes, constants, **choices)
            except TenonError as e:
                guilty = [n for n in nodes if name_of(n) == e.op_name] or nodes
                refused.update(dict.fromkeys(guilty, e.message))
                break
            except Unwritable as e:
                refused.update(dict.fromkeys(nodes, str(e)))
                break
        if len(made) == len(pieces):
            return left, pieces, made


def report(left: Mapping[fx.Node, str], settings: Mapping[str, Any]) -> None:
    for node, reason in left.items():
        if not reason:
            continue
        if settings["fullgraph"] == "tenon":
            raise RuntimeError(f"{node.target} ({node.name}) stays in PyTorch: "
                               f"{reason}")
        leftover(str(node.target), reason)


def make_region(nodes: Sequence[fx.Node], constants: frozenset,
                **choices: bool) -> Region:
    inside = set(nodes)
    outputs = [n for n in nodes if isinstance(n.meta.get("val"), torch.Tensor)
               and any(u not in inside for u in n.users)]
    written = {}
    for node in outputs:
        outside = [u for u in node.users if u not in inside]
        copy = outside[0]
        if len(outside) == 1 and copy.target in split.MUTATIONS and \
                copy.args[1] is node and not copy.users:
            # Nothing else may see the old value, or not any more.
            target = copy.args[0]
            if target.op == "placeholder" and \
                    set(target.users) <= inside | {copy}:
                written[node] = target
    return Region(nodes, outputs, constants, written, **choices)


def assemble(gm: fx.GraphModule, pieces: Mapping[int, Sequence[fx.Node]],
             made: Mapping[int, Region], left: Mapping[fx.Node, str]
             ) -> Callable:
    """The graph with one call for each region."""
    level = split.levels(gm.graph, left)
    graph = fx.Graph()
    copies: dict[fx.Node, fx.Node] = {}
    waiting: dict[int, list[fx.Node]] = {}
    last: list[fx.Node] = []
    done = set().union(*(region.inplace for region in made.values()))
    output = None
    for node in gm.graph.nodes:
        if node.op == "output":
            output = node
        elif node.op != "call_function":
            copies[node] = graph.node_copy(node, copies.__getitem__)
        elif node.target in split.MUTATIONS:
            if node.args[1] not in done:
                last.append(node)
        elif node in left:
            waiting.setdefault(level[node], []).append(node)

    def put(nodes):
        for node in nodes:
            copies[node] = graph.node_copy(node, copies.__getitem__)

    for number in range(max([0, *made, *waiting]) + 1):
        if number in made:
            region = made[number]
            call = graph.call_function(region, tuple(
                copies[n] for n in region.inputs))
            for i, node in enumerate(region.outputs):
                copies[node] = graph.call_function(operator.getitem, (call, i))
        put(waiting.get(number, ()))
    put(last)
    graph.output(fx.map_arg(output.args[0], copies.__getitem__))
    graph.set_codegen(fx.graph._BoxedCodeGen())
    result = fx.GraphModule(gm, graph)
    function = result.forward
    function.__func__._boxed_call = True
    return function
