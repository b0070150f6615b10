# SPDX-License-Identifier: Apache-2.0
"""Rewrites of forward and backward together, before they are cut apart."""
from __future__ import annotations

import operator
from typing import Any, Sequence

import torch
from torch import fx
from torch._functorch.partitioners import min_cut_rematerialization_partition

aten = torch.ops.aten

_library = torch.library.Library("tenon", "DEF")
_library.define("max_pool2d_backward(Tensor grad, Tensor x, int[2] kernel, "
                "int[2] stride, int[2] padding, int[2] dilation, "
                "bool ceil_mode) -> Tensor")


def _max_pool2d_backward(grad, x, *window):
    _, indices = aten.max_pool2d_with_indices(x, *window)
    return aten.max_pool2d_with_indices_backward(grad, x, *window, indices)


_library.impl("max_pool2d_backward", _max_pool2d_backward, "CPU")
_library.impl("max_pool2d_backward",
              lambda grad, x, *_: torch.empty_like(x), "Meta")


def partition(joint: fx.GraphModule, inputs: Sequence[Any], **options):
    """The partitioner of AOTAutograd: min-cut, after the rewrites."""
    without_indices(joint.graph)
    joint.recompile()
    return min_cut_rematerialization_partition(joint, inputs, **options)


def without_indices(graph: fx.Graph) -> None:
    """The gradient of max pooling from the source, not from the positions of
    the maxima, which Tenon does not compute."""
    for node in graph.find_nodes(
            op="call_function",
            target=aten.max_pool2d_with_indices_backward.default):
        indices = node.args[-1]
        if not (isinstance(indices, fx.Node)
                and indices.target is operator.getitem):
            continue
        with graph.inserting_before(node):
            made = graph.call_function(torch.ops.tenon.max_pool2d_backward
                                       .default, node.args[:-1])
        made.meta.update(node.meta)
        node.replace_all_uses_with(made)
        graph.erase_node(node)
        if not indices.users:
            graph.erase_node(indices)
