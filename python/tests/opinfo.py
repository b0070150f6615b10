#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own list of operators (OpInfo) through the backend.

  opinfo.py [--dtype=float32] [--samples=3] [--match=TEXT] [--every=N] [--grad]

Each operator is computed eagerly, eagerly in double and compiled; an error of at
most three times eager's (ten times for up to ten elements), and a little, is
right. Prints what is wrong and the operators that stay in PyTorch; exits with 1
if anything was wrong.
"""
import argparse
import collections
import logging
import sys
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

import tenon.torch as tenon_torch

SKIPPED = ("jiterator", "empty", "new_empty", "randn", "rand", "normal", "uniform",
           "dropout", "bernoulli", "multinomial", "exponential", "cauchy",
           "geometric", "log_normal", "random", "rrelu", "from_file",
           "tensor_split")


# Name positions of elements, of which narrow types have equal ones.
TIES = ("sort", "argsort", "topk", "msort", "kthvalue", "median", "mode")


def tensors(tree):
    return [t for t in pytree.tree_leaves(tree) if isinstance(t, torch.Tensor)]


def doubled(tree):
    return pytree.tree_map(
        lambda t: t.double() if isinstance(t, torch.Tensor)
        and t.is_floating_point() else t, tree)


def wrong(given, eager, exact):
    """What is wrong with a result, or None."""
    if (given.dtype, given.shape) != (eager.dtype, eager.shape):
        return f"{given.dtype} {tuple(given.shape)}"
    if not given.is_floating_point():
        return None if torch.equal(given, eager) else "other values"
    scale = 1e-3 if given.dtype == torch.float32 else 3e-2
    exact = exact.double()
    infinite = ~torch.isfinite(exact) | ~torch.isfinite(eager.double())
    a, b = given.double(), eager.double()
    same = (a == b) | (a.isnan() & b.isnan())
    if bool((infinite & ~same).any()):
        return "other infinities or NaN"
    a, b, exact = (t.masked_fill(infinite, 0) for t in (a, b, exact))
    error, allowed = (a - exact).abs(), (b - exact).abs()
    if not error.numel():
        return None
    # Roundings of few elements may cancel by chance: PyTorch's own comparison
    # has an option that allows ten times there.
    times = 10 if error.numel() <= 10 else 3
    limit = times * allowed.max() + 1e-2 * scale * (1 + exact.abs())
    if bool((error > limit).any()):
        return f"an error of {error.max():.3g}, eager's is {allowed.max():.3g}"
    return None


def call(function, grad, args, kwargs, parameters=()):
    """The results, and gradients of operands and parameters."""
    found = function(*args, **kwargs)
    wanted = [t for t in [*tensors((args, kwargs)), *parameters]
              if t.requires_grad]
    results = [t for t in tensors(found) if t.requires_grad]
    if not grad or not results or not wanted:
        return tensors(found)
    total = sum(t.double().square().mean() if not t.is_complex()
                else t.abs().square().mean().double() for t in results)
    return tensors(found) + [g for g in torch.autograd.grad(
        total, wanted, allow_unused=True) if g is not None]


def check(op, sample, grad):
    """Raises AssertionError."""
    args = (sample.input, *sample.args)

    def forward(*a, **k):
        return op.op(*a, **k)

    eager = call(forward, grad, args, sample.kwargs)
    torch._dynamo.reset()
    compiled = torch.compile(forward, backend=tenon_torch.tenon)
    given = call(compiled, grad, args, sample.kwargs)
    try:
        exact = call(forward, grad, doubled(args), doubled(sample.kwargs))
    except Exception:
        exact = eager
    assert len(given) == len(eager), f"{len(given)} results"
    for g, e, x in zip(given, eager, exact):
        if g.is_complex():
            continue
        if not g.is_floating_point() and op.name in TIES and \
                args[0].dtype != torch.float32:
            continue  # any of the equal ones may be named
        problem = wrong(g.detach(), e.detach(), x.detach())
        assert problem is None, problem
        # Gradients have the strides that AOTAutograd gives them.
        assert grad or g.stride() == e.stride() or g.numel() < 2 or \
            g.stride() in traced_strides(op, args, sample), "other strides"


def traced_strides(op, args, sample):
    """Strides as the traced operators give them, where eager's differ."""
    torch._dynamo.reset()
    traced = torch.compile(lambda *a, **k: op.op(*a, **k), backend="aot_eager")
    return [t.stride() for t in tensors(traced(*args, **sample.kwargs))]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--match", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--grad", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    dtype = getattr(torch, args.dtype)
    failures, left, done = [], collections.Counter(), 0
    for op in op_db[args.first::args.every]:
        if args.match not in op.name or "sparse" in op.name or dtype not in op.dtypes or \
                any(s in op.name for s in SKIPPED) or \
                (args.grad and not op.supports_autograd):
            continue
        tenon_torch.reset_stats()
        try:
            samples = list(op.sample_inputs("cpu", dtype,
                                            requires_grad=args.grad))
        except Exception:
            continue
        for sample in samples[::max(1, len(samples) // args.samples)][
                :args.samples]:
            torch.manual_seed(0)
            done += 1
            try:
                check(op, sample, args.grad)
            except Exception as e:
                failures.append(op.name)
                print(f"{op.name}: {type(e).__name__}: {str(e)[:300]}",
                      flush=True)
        for (name, reason) in tenon_torch.stats()["leftovers"]:
            left[name, reason] += 1
    print(f"{done} runs, {len(failures)} wrong: {sorted(set(failures))}")
    for (name, reason), number in left.most_common():
        print(f"  {number} {name}: {reason[:100]}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
