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
#: Operators of the gradient from the source, by those of the gradient from the
#: positions of the maxima.
_FROM_SOURCE = {}
_WITH_INDICES = (aten.max_pool2d_with_indices.default,
                 aten.max_pool3d_with_indices.default)


def _declare(dims):
    name = f"max_pool{dims}d_backward"
    forward = getattr(aten, f"max_pool{dims}d_with_indices")
    backward = getattr(aten, f"max_pool{dims}d_with_indices_backward")

    def compute(grad, x, *window):
        return backward(grad, x, *window, forward(x, *window)[1])

    _library.define(f"{name}(Tensor grad, Tensor x, int[] kernel, "
                    "int[] stride, int[] padding, int[] dilation, "
                    "bool ceil_mode) -> Tensor")
    _library.impl(name, compute, "CPU")
    _library.impl(name, lambda grad, x, *_: torch.empty_like(x), "Meta")
    _FROM_SOURCE[backward.default] = getattr(torch.ops.tenon, name).default


_declare(2)
_declare(3)


def partition(joint: fx.GraphModule, inputs: Sequence[Any], **options):
    """The partitioner of AOTAutograd: min-cut, after the rewrites."""
    without_indices(joint.graph)
    joint.recompile()
    return min_cut_rematerialization_partition(joint, inputs, **options)


def without_indices(graph: fx.Graph) -> None:
    """The gradient of max pooling from the source, not from the positions of
    the maxima: these need not be kept, then."""
    for node in list(graph.nodes):
        if node.target not in _FROM_SOURCE:
            continue
        indices = node.args[-1]
        if not (isinstance(indices, fx.Node)
                and indices.target is operator.getitem
                and indices.args[0].target in _WITH_INDICES):
            continue
        with graph.inserting_before(node):
            made = graph.call_function(_FROM_SOURCE[node.target],
                                       node.args[:-1])
        made.meta.update(node.meta)
        node.replace_all_uses_with(made)
        graph.erase_node(node)
        if not indices.users:
            graph.erase_node(indices)
