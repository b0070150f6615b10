#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two processes that train one model, each on half of each batch:

    torchrun --nproc-per-node=2 ddp.py

Gradients are averaged by PyTorch while the backward runs. The weights are those
that one process gets with whole batches. Any number of processes will do.
"""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def make_model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.LayerNorm(64),
                         nn.Linear(64, 4))


def train(call, model, x, y):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(5):
        optimizer.zero_grad()
        nn.functional.mse_loss(call(x), y).backward()
        optimizer.step()


def main():
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    x, y = torch.randn(8 * size, 16), torch.randn(8 * size, 4)

    model = make_model()
    parallel = DistributedDataParallel(torch.compile(model, backend="tenon"))
    train(parallel, model, x.chunk(size)[rank], y.chunk(size)[rank])

    alone = make_model()
    train(alone, alone, x, y)
    for a, b in zip(model.parameters(), alone.parameters()):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    if rank == 0:
        print(f"{size} processes have the weights of one")
    dist.destroy_process_group()


main()
