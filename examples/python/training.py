#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training with forward, backward and the step of the optimizer compiled: the
losses are those of PyTorch alone."""
import torch
from torch import nn

import tenon.torch


def train(compiles, x, y, steps=50):
    """The losses of all steps."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64),
                          nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    call, step = model, optimizer.step
    if compiles:
        call = torch.compile(call, backend="tenon")
        step = torch.compile(step, backend="tenon")
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(call(x), y)
        loss.backward()
        step()
        losses.append(loss.item())
    return losses


torch.manual_seed(1)
x = torch.rand(256, 2) * 4 - 2
y = torch.sin(x[:, :1]) * x[:, 1:]
losses, eager = train(True, x, y), train(False, x, y)
print(f"loss {losses[0]:.4f}, after {len(losses)} steps {losses[-1]:.4f}")
assert losses[-1] < losses[0] / 10
torch.testing.assert_close(losses, eager, rtol=1e-2, atol=1e-4)
assert not tenon.torch.stats()["leftovers"]
