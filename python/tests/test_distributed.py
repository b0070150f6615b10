# SPDX-License-Identifier: Apache-2.0
"""Compiled models in several processes that compute together."""
import os
import tempfile
import unittest

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import _functional_collectives as functional
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import (ColwiseParallel,
                                               RowwiseParallel,
                                               parallelize_module)
from torch.nn.parallel import DistributedDataParallel

import tenon.torch as tenon_torch
from support import BackendTest, compiled


def join(rank, folder, size):
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting",
                            rank=rank, world_size=size)


def work(rank, folder, function):
    torch.set_num_threads(1)
    join(rank, folder, 2)
    try:
        found = function(rank)
        if rank == 0:
            torch.save(found, f"{folder}/found")
    finally:
        dist.destroy_process_group()


def in_two_processes(function):
    """What the first of them returns; both are given their rank."""
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(work, (folder, function), nprocs=2)
        return torch.load(f"{folder}/found")


class Network(nn.Module):
    """Large enough for several buckets of gradients of 1 MB."""

    def __init__(self, unused):
        super().__init__()
        self.layers = nn.ModuleList(
            [nn.Linear(16, 1024), nn.Linear(1024, 300), nn.Linear(300, 1024),
             nn.Linear(1024, 4)])
        self.norm = nn.LayerNorm(300)
        self.unused = nn.Linear(4, 4) if unused else None

    def forward(self, x):
        a, b, c, d = self.layers
        return d(nn.functional.gelu(c(self.norm(b(torch.relu(a(x)))))))


def train(call, model, x, y):
    """Weights and a result after five steps."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for _ in range(5):
        optimizer.zero_grad()
        (call(x) - y).square().mean().backward()
        optimizer.step()
    call.eval()
    with torch.no_grad():
        return [p.detach() for p in model.parameters()] + [call(x)]


def train_in_parallel(rank):
    """Errors against one process with the whole batch, and numbers of
    graphs, by case."""
    x, y = torch.randn(8, 16), torch.randn(8, 4)
    dist.broadcast(x, 0)
    dist.broadcast(y, 0)
    part = slice(4 * rank, 4 * rank + 4)
    cases = [("inner", {}), ("outer", {"bucket_cap_mb": 1}),
             ("inner", {"gradient_as_bucket_view": True, "bucket_cap_mb": 1}),
             ("outer", {"find_unused_parameters": True})]
    found = []
    for kind, options in cases:
        unused = "find_unused_parameters" in options
        torch.manual_seed(0)
        alone, model = Network(unused), Network(unused)
        model.load_state_dict(alone.state_dict())
        *weights, result = train(alone, alone, x, y)
        torch._dynamo.reset()
        tenon_torch.reset_stats()
        if kind == "inner":
            call = DistributedDataParallel(compiled(model), **options)
        else:
            call = compiled(DistributedDataParallel(model, **options))
        given = train(call, model, x[part], y[part])
        error = max((a - b).abs().max().item() for a, b in
                    zip(given, [*weights, result[part]], strict=True))
        stats = tenon_torch.stats()
        found.append(((kind, options), error, stats["graphs"],
                      stats["leftovers"]))
    return found


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.up, self.down = nn.Linear(16, 64), nn.Linear(64, 16)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


def split_weights(rank):
    """Errors of results and gradients against one process, and the numbers of
    the backend."""
    torch.manual_seed(0)
    alone, model = Block(), Block()
    model.load_state_dict(alone.state_dict())
    x = torch.randn(8, 16)
    model = parallelize_module(
        model, init_device_mesh("cpu", (2,)),
        {"up": ColwiseParallel(), "down": RowwiseParallel()})
    call = compiled(model, options={"fullgraph": "tenon"})
    results = [call(x), alone(x)]
    for result in results:
        result.square().mean().backward()
    pairs = [results]
    with torch.no_grad():
        pairs.append([call(x), alone(x)])
    for a, b in zip(model.parameters(), alone.parameters()):
        grad = a.grad
        pairs.append([grad.full_tensor() if isinstance(grad, DTensor) else grad,
                      b.grad])
    return [(a - b).abs().max().item() for a, b in pairs], tenon_torch.stats()


class DistributedTest(BackendTest):
    def test_data_parallel(self):
        """Two processes with halves of a batch have the weights of one."""
        found = in_two_processes(train_in_parallel)
        self.assertEqual(len(found), 4)
        for case, error, graphs, leftovers in found:
            with self.subTest(case):
                self.assertLess(error, 1e-5)
                self.assertEqual(leftovers, {})
                # Forward, backward and inference of each bucket's layers.
                self.assertGreaterEqual(graphs, 6)

    def test_tensor_parallel(self):
        errors, stats = in_two_processes(split_weights)
        self.assertLess(max(errors), 1e-6)
        self.assertEqual(stats["leftovers"], {})
        self.assertEqual(stats["graphs"], 3)

    def test_collectives_keep_their_order(self):
        """Wherever their operands are computed: other processes may have other
        regions, and wait for each other in the order of the program."""
        def late_and_early(x, y):
            late = functional.all_reduce(
                torch.linalg.inv(x.square() + torch.eye(3)).relu(), "sum", "0")
            return late, functional.all_reduce(y, "sum", "0")

        with tempfile.TemporaryDirectory() as folder:
            join(0, folder, 1)
            try:
                call = compiled(late_and_early)
                args = torch.randn(3, 3), torch.randn(2)
                with torch.no_grad():
                    call(*args)
                    with torch.profiler.profile(record_shapes=True) as profile:
                        call(*args)
            finally:
                dist.destroy_process_group()
        self.assertEqual(
            [e.input_shapes[0] for e in profile.events()
             if e.name == "_c10d_functional::all_reduce"], [[3, 3], [2]])
        self.assertEqual([name for name, _ in tenon_torch.stats()["leftovers"]],
                         ["aten.linalg_inv_ex.default"])


if __name__ == "__main__":
    unittest.main()
