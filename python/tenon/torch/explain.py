# SPDX-License-Identifier: Apache-2.0
"""What became of a model."""
from __future__ import annotations

from typing import Any, Callable, Mapping

import torch
from torch.utils._pytree import tree_leaves

from tenon.reports import Explanation
from tenon.torch import backend
from tenon.torch.names import name_of


class GraphReport:
    """One graph that PyTorch captured.

    kind: "inference", "forward" or "backward".
    leftovers: (operator, name, reason) of each node that stays in PyTorch.
    regions: what Tenon made of the others.
    """

    def __init__(self, kind, left, regions):
        self.kind = kind
        self.leftovers = [(str(node.target), name_of(node), reason)
                          for node, reason in left.items() if reason]
        self.regions = [Explanation(code) for region in regions
                        for code in region.codes()]

    def __str__(self):
        lines = [f"{self.kind}: {len(self.regions)} regions, "
                 f"{len(self.leftovers)} nodes stay in PyTorch"]
        lines += [f"  {operator} {name}: {reason}"
                  for operator, name, reason in self.leftovers]
        for i, region in enumerate(self.regions):
            lines += [f"region {i}:", str(region)]
        return "\n".join(lines)


class Report:
    """Of all graphs of a model, in `graphs`. Printed, it has what `tenon explain`
    prints for each region; a notebook draws it."""

    def __init__(self, graphs: list[GraphReport]):
        self.graphs = graphs

    def __str__(self):
        return "\n".join(map(str, self.graphs))

    def __repr__(self):
        return "\n".join(str(g).split("\n", 1)[0] for g in self.graphs)

    def _repr_html_(self) -> str:
        return "".join(region._repr_html_() for graph in self.graphs
                       for region in graph.regions)


def differentiate(results: Any, sources: Any) -> None:
    """Has the graphs of gradients compiled."""
    def tensors(value):
        return [t for t in tree_leaves(value)
                if isinstance(t, torch.Tensor) and t.requires_grad]

    results, sources = tensors(results), tensors(sources)
    if results and sources:
        torch.autograd.grad(results, sources, allow_unused=True,
                            grad_outputs=[torch.ones_like(r) for r in results])


def explain(model: Callable, *args: Any,
            options: Mapping[str, Any] | None = None, **kwargs: Any) -> Report:
    """Compiles a module or a function for these arguments, calls it once, and
    tells what became of it. Where results have gradients these are computed once,
    too, but not added to any: under torch.no_grad() there are none. `options`: those of the backend. Errors: those of
    compiling and of the call."""
    made: list[tuple] = []

    def compiler(gm, inputs):
        return backend.tenon(gm, inputs, options=options,
                             watch=lambda *found: made.append(found))

    results = torch.compile(model, backend=compiler)(*args, **kwargs)
    differentiate(results, [args, kwargs, list(model.parameters())
                            if isinstance(model, torch.nn.Module) else []])
    return Report([GraphReport(*found) for found in made])
