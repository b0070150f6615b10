#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own list of modules (ModuleInfo) through the backend.

  moduleinfo.py [--dtype=float32] [--match=TEXT] [--every=N] [--grad]

Modules in eval mode, or with --grad in training mode, with gradients of inputs and
parameters. What is right and what is printed are as in opinfo.py.
"""
import argparse
import copy
import logging
import sys
import warnings

import torch
from torch.testing._internal.common_modules import module_db

import tenon.torch as tenon_torch
from opinfo import call, doubled, wrong

#: Where what PyTorch traces has another shape than eager, with any backend.
OTHER_SHAPES = ("nn.MultiLabelMarginLoss",)


def check(module, given_input, grad):
    """Raises AssertionError."""
    args, kwargs = given_input.args, given_input.kwargs

    def results(make, args, kwargs, function=lambda m: m):
        module = make()
        torch.manual_seed(0)
        return call(function(module), grad, args, kwargs, module.parameters())

    def compiled(module):
        torch._dynamo.reset()
        return torch.compile(module, backend="tenon")

    def same():
        return copy.deepcopy(module)

    eager = results(same, args, kwargs)
    given = results(same, args, kwargs, compiled)
    try:
        exact = results(lambda: same().double(), doubled(args), doubled(kwargs))
    except Exception:
        exact = eager
    assert len(given) == len(eager), f"{len(given)} results"
    for g, e, x in zip(given, eager, exact):
        problem = wrong(g.detach(), e.detach(), x.detach())
        assert problem is None, problem


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--match", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--grad", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    dtype, failures, done = getattr(torch, args.dtype), [], 0
    tenon_torch.reset_stats()
    for info in module_db[::args.every]:
        if args.match not in info.name or info.is_lazy or \
                info.name in OTHER_SHAPES:
            continue
        torch.manual_seed(0)
        for given in info.module_inputs_func(
                info, device="cpu", dtype=dtype, requires_grad=args.grad,
                training=args.grad):
            made = given.constructor_input
            module = info.module_cls(*made.args, **made.kwargs).to(dtype)
            module.train(args.grad)
            if "Dropout" in info.name and args.grad:
                continue  # other random numbers
            try:
                module_input = given.forward_input
                call(module, args.grad, module_input.args, module_input.kwargs)
            except Exception:
                continue  # not for this type
            done += 1
            try:
                check(module, module_input, args.grad)
            except Exception as e:
                failures.append(info.name)
                print(f"{info.name} {given.desc}: {type(e).__name__}: "
                      f"{str(e)[:300]}", flush=True)
    left = tenon_torch.stats()["leftovers"]
    print(f"{done} runs, {len(failures)} wrong: {sorted(set(failures))}")
    for (name, reason), number in sorted(left.items(), key=lambda i: -i[1]):
        print(f"  {number} {name}: {reason[:100]}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
