#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own list of modules (ModuleInfo) through the backend.

  moduleinfo.py [--dtype=float32] [--samples=24] [--match=TEXT] [--every=N]
                [--grad] [--times]

Modules in eval mode, or with --grad in training mode, with gradients of inputs
and parameters. What is right and what is printed are as in opinfo.py.

--samples: of the inputs of each module (one has 857). --times: seconds of each
module.
"""
import argparse
import copy
import logging
import sys
import time
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
        """With what the module keeps, such as running statistics."""
        module = make()
        torch.manual_seed(0)
        return call(function(module), grad, args, kwargs,
                    module.parameters()) + list(module.buffers())

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
        assert grad or g.stride() == e.stride() or g.numel() < 2, \
            f"strides {g.stride()}, eager's are {e.stride()}"


def some(inputs, number):
    """Some of them, the first too."""
    return inputs[::max(1, len(inputs) // number)][:number]


def check_all(info, dtype, args):
    """Checks one module; the number of runs and of those that are wrong."""
    done = bad = 0
    torch.manual_seed(0)
    for given in some(info.module_inputs_func(
            info, device="cpu", dtype=dtype, requires_grad=args.grad,
            training=args.grad), args.samples):
        made = given.constructor_input
        module = info.module_cls(*made.args, **made.kwargs).to(dtype)
        module.train(args.grad)
        module_input = given.forward_input
        try:
            call(copy.deepcopy(module), args.grad, module_input.args,
                 module_input.kwargs)
        except Exception:
            continue  # not for this type
        done += 1
        try:
            check(module, module_input, args.grad)
        except Exception as e:
            bad += 1
            print(f"{info.name} {given.desc}: {type(e).__name__}: "
                  f"{str(e)[:300]}", flush=True)
    return done, bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--samples", type=int, default=24)
    parser.add_argument("--match", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--grad", action="store_true")
    parser.add_argument("--times", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    dtype, failures, done = getattr(torch, args.dtype), [], 0
    tenon_torch.reset_stats()
    for info in module_db[::args.every]:
        if args.match not in info.name or info.is_lazy or \
                info.name in OTHER_SHAPES or \
                ("Dropout" in info.name and args.grad):  # other random numbers
            continue
        began = time.monotonic()
        runs, bad = check_all(info, dtype, args)
        done += runs
        failures += [info.name] * bad
        if args.times:
            print(f"{info.name}: {runs} runs, "
                  f"{time.monotonic() - began:.1f} s", flush=True)
    left = tenon_torch.stats()["leftovers"]
    print(f"{done} runs, {len(failures)} wrong: {sorted(set(failures))}")
    for (name, reason), number in sorted(left.items(), key=lambda i: -i[1]):
        print(f"  {number} {name}: {reason[:100]}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
