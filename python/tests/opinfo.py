#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own list of operators (OpInfo) through the backend.

  opinfo.py [--dtype=float32] [--samples=3] [--match=TEXT] [--every=N]
            [--grad | --inplace | --errors] [--strided] [--dynamic]

Each operator is computed eagerly, eagerly in double and compiled; an error of
at most three times eager's (ten times for up to ten elements), and a little, is
right. Of random numbers only types, shapes and strides are compared. Prints
what is wrong and the operators that stay in PyTorch; exits with 1 if anything
was wrong.

--grad: gradients, too. --inplace: variants that write to their operand.
--errors: what eager refuses has to be refused. --strided: operands that are not
dense. --dynamic: sizes that are not known.
"""
import argparse
import collections
import copy
import logging
import sys
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

import tenon.torch as tenon_torch

# What no graph has: code of CUDA, files.
SKIPPED = ("jiterator", "from_file")

# Memory without content, and random numbers, which are others than eager's.
ANY_VALUES = (
    "empty", "empty_like", "empty_strided", "empty_permuted", "new_empty",
    "new_empty_strided", "randn", "randn_like", "rand_like", "randint",
    "randint_like", "normal", "uniform", "bernoulli", "multinomial",
    "exponential", "cauchy", "geometric", "log_normal", "random",
    "nn.functional.dropout", "nn.functional.dropout2d",
    "nn.functional.dropout3d", "nn.functional.alpha_dropout",
    "nn.functional.feature_alpha_dropout", "nn.functional.rrelu",
    "nn.functional.fractional_max_pool2d",
    "nn.functional.fractional_max_pool3d")

# Name positions of elements, of which narrow types have equal ones.
TIES = ("sort", "argsort", "topk", "msort", "kthvalue", "median", "mode")


def tensors(tree):
    return [t for t in pytree.tree_leaves(tree) if isinstance(t, torch.Tensor)]


def doubled(tree):
    return pytree.tree_map(
        lambda t: t.detach().double().requires_grad_(t.requires_grad)
        if isinstance(t, torch.Tensor) and t.is_floating_point() else t, tree)


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
    if not bool((error <= limit).all()):  # or NaN
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


def run(function, grad, operands):
    """What `call` gives, and how many of it are no gradients; the operands,
    which the function may write to, are copies."""
    args, kwargs = copy.deepcopy(operands)
    forward = []

    def counted(*args, **kwargs):
        found = function(*args, **kwargs)
        forward[:] = tensors(found)
        return found

    torch.manual_seed(0)
    found = call(counted, grad, args, kwargs)
    written = [t for t in tensors((args, kwargs)) if not t.requires_grad]
    return found + written, len(forward)


def compile_with(backend, function, dynamic=None):
    torch._dynamo.reset()
    return torch.compile(lambda *a, **k: function(*a, **k), backend=backend,
                         dynamic=dynamic)


def check(op, function, operands, grad, dynamic=None):
    """Raises AssertionError."""
    eager, forward = run(function, grad, operands)
    given, _ = run(compile_with(tenon_torch.tenon, function, dynamic), grad,
                   operands)
    try:
        exact, _ = run(function, grad, doubled(operands))
    except Exception:
        exact = eager
    assert len(given) == len(eager), f"{len(given)} results"
    named = op.name in TIES and \
        tensors(operands)[0].dtype in (torch.bfloat16, torch.float16)
    for g, e, x in zip(given, eager, exact):
        g, e, x = g.detach(), e.detach(), x.detach()
        # Any of the equal elements may be named.
        if op.name in ANY_VALUES or g.is_complex() or \
                (named and not g.is_floating_point()):
            same = (g.dtype, g.shape) == (e.dtype, e.shape)
            problem = None if same else f"{g.dtype} {tuple(g.shape)}"
        else:
            problem = wrong(g, e, x)
        assert problem is None, problem
    # Gradients have the strides that AOTAutograd gives them.
    alike = [g.stride() == e.stride() or g.numel() < 2
             for g, e in zip(given[:forward], eager)]
    if not all(alike):
        traced, _ = run(compile_with("aot_eager", function, dynamic), grad,
                        operands)
        for i, (g, t) in enumerate(zip(given[:forward], traced)):
            assert alike[i] or g.stride() == t.stride(), \
                f"strides {g.stride()} of result {i}, eager's are " \
                f"{eager[i].stride()}"


def works(function, grad, operands):
    try:
        run(function, grad, operands)
        return True
    except Exception:
        return False


def check_error(function, operands):
    """What eager refuses is refused, unless no backend does."""
    if not works(function, False, operands):
        assert not works(compile_with(tenon_torch.tenon, function), False,
                         operands) or \
            works(compile_with("aot_eager", function), False, operands), \
            "no error"


def cases(op, args, dtype):
    """Functions and operands, those that the operator is for."""
    function = op.inplace_variant if args.inplace else op.op
    if function is None:
        return
    try:
        if args.errors:
            samples = [e.sample_input for e in op.error_inputs("cpu")]
        else:
            samples = list(op.sample_inputs("cpu", dtype,
                                            requires_grad=args.grad))
    except Exception:
        return
    step = max(1, len(samples) // args.samples)
    for sample in samples[::step][:args.samples]:
        if args.inplace and sample.broadcasts_input:
            continue
        if args.strided:
            sample = sample.noncontiguous()
        yield function, ((sample.input, *sample.args), sample.kwargs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--match", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    for flag in ("grad", "inplace", "errors", "strided", "dynamic"):
        parser.add_argument(f"--{flag}", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    dtype = getattr(torch, args.dtype)
    failures, left, done = [], collections.Counter(), 0
    for op in op_db[args.first::args.every]:
        if args.match not in op.name or "sparse" in op.name or \
                dtype not in op.dtypes or \
                any(s in op.name for s in SKIPPED) or \
                (args.grad and not op.supports_autograd):
            continue
        tenon_torch.reset_stats()
        for function, operands in cases(op, args, dtype):
            try:
                if args.errors:
                    check_error(function, operands)
                elif works(function, args.grad, operands):
                    check(op, function, operands, args.grad,
                          args.dynamic or None)
                else:
                    continue
            except Exception as e:
                failures.append(op.name)
                print(f"{op.name}: {type(e).__name__}: {str(e)[:300]}",
                      flush=True)
            done += 1
        for (name, reason) in tenon_torch.stats()["leftovers"]:
            left[name, reason] += 1
    print(f"{done} runs, {len(failures)} wrong: {sorted(set(failures))}")
    for (name, reason), number in left.most_common():
        print(f"  {number} {name}: {reason[:100]}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
