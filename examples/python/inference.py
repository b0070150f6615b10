#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A model of PyTorch, compiled: results as without, and how much faster."""
import time

import torch
from torch import nn

import tenon.torch


def milliseconds(function, *args):
    """The fastest of a few executions."""
    best = float("inf")
    for _ in range(10):
        begin = time.perf_counter()
        function(*args)
        best = min(best, time.perf_counter() - begin)
    return best * 1e3


torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
    nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64),
    nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).eval()
compiled = torch.compile(model, backend="tenon")

with torch.inference_mode():
    for batch in (1, 8, 3):  # any size: compiled twice, not three times
        x = torch.randn(batch, 3, 64, 64)
        torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-5)
    print(f"eager {milliseconds(model, x):.2f} ms, "
          f"compiled {milliseconds(compiled, x):.2f} ms")

stats = tenon.torch.stats()
assert not stats["leftovers"], stats["leftovers"]
print(f"{stats['graphs']} graphs, {stats['nodes']} nodes, nothing left over")
