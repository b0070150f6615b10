# SPDX-License-Identifier: Apache-2.0
"""Losses that PyTorch 2.13 takes apart wrongly, whatever the backend says."""
from __future__ import annotations

import torch
from torch import fx
from torch.nn import _reduction as reductions
from torch.nn import functional

from tenon.torch.rewrites import wide


def multilabel_margin_loss(x, target, reduction=1, *, dtype):
    """Labels end before the first negative one. Those behind it count for
    PyTorch as class 0."""
    scores, labels = torch.atleast_2d(wide(x)), torch.atleast_2d(target)
    size = scores.shape[1]
    place = torch.arange(size)
    end = torch.where(labels < 0, place, size).amin(1, keepdim=True)
    given = place < end
    labels = torch.where(given, labels, 0)
    islabel = ((labels[..., None] == place) & given[..., None]).any(1)
    margin = 1 - scores.gather(1, labels)[..., None] + scores[:, None]
    counts = given[..., None] & ~islabel[:, None]
    loss = torch.where(counts, margin.relu(), 0).sum((1, 2)) / size
    if reduction == reductions.get_enum("mean"):
        loss = loss.mean()
    elif reduction == reductions.get_enum("sum"):
        loss = loss.sum()
    elif x.dim() < 2:
        loss = loss[0]
    return loss.to(dtype)


def _by_name(x, target, size_average=None, reduce=None, reduction="mean", *,
             dtype):
    """Called as torch.nn.functional is."""
    if size_average is None and reduce is None:
        number = reductions.get_enum(reduction)
    else:
        number = reductions.legacy_get_enum(size_average, reduce)
    return multilabel_margin_loss(x, target, number, dtype=dtype)


#: Instead of functions of PyTorch.
_RIGHT = {
    functional.multilabel_margin_loss: _by_name,
    torch._C._nn.multilabel_margin_loss: multilabel_margin_loss,
    torch.ops.aten.multilabel_margin_loss.default: multilabel_margin_loss,
}


def rewrite(gm: fx.GraphModule) -> None:
    """Calls of such losses become calls of what is right."""
    found = [n for n in gm.graph.nodes if n.target in _RIGHT]
    for node in found:
        value = node.meta.get("example_value", node.meta.get("val"))
        node.target = _RIGHT[node.target]
        node.kwargs = {**node.kwargs, "dtype": value.dtype}
    if found:
        gm.recompile()
