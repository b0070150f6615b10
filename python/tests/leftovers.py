#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/pytorch-leftovers.md: what of PyTorch's own list of operators
stays in PyTorch, and why.

  leftovers.py [--every=N] >docs/pytorch-leftovers.md
"""
import argparse
import collections
import logging
import sys
import textwrap
import warnings
from unittest import mock

import torch
from functorch.compile import make_boxed_func
from torch.testing._internal.common_methods_invocations import op_db

import tenon.torch as tenon_torch
from opinfo import SKIPPED, cases, compile_with, run
from tenon.torch import backend, split
from tenon.torch.rewrites import REWRITES
from tenon.torch.sizes import Sizes

INTRODUCTION = """\
# What stays in PyTorch

Operators of ATen that [the backend](pytorch.md) leaves to PyTorch: all that the samples
of PyTorch's own list of operators (OpInfo) lead to in f32, forward and backward. Made by

    python/tests/leftovers.py >docs/pytorch-leftovers.md

Whole types stay beside them: f64, complex numbers, integers without a sign but u8, s16,
quantized and sparse tensors, tensors that are not in the memory of the CPU. Backends do
not see what PyTorch takes apart before; those operators are not listed.
"""

#: Titles and texts of groups, in order.
GROUPS = {
    "values": ("Sizes and numbers that follow from values",
               "Code of Tenon has sizes that follow from sizes. By default "
               "PyTorch cuts its graph there."),
    "random": ("Random numbers",
               "Distributions without an operation of Tenon. Their numbers are "
               "eager's."),
    "complex": ("Complex numbers",
                "Fourier transforms and what else has a complex operand or "
                "result whatever its types."),
    "algebra": ("Linear algebra",
                "Decompositions and solvers, which are LAPACK's."),
    "memory": ("Memory", "What names memory, not values."),
    "none": ("Not yet", "They have no lowering."),
}

ALGEBRA = ("linalg_", "_linalg_", "cholesky", "geqrf", "ormqr", "lu_",
           "triangular")
COMPLEX = ("_fft", "complex", "_conj", "polar", "view_as_", "angle")
MEMORY = ("as_strided",)
#: Types that stay whatever the operator: their reasons say nothing of it.
TYPES = ("f64", "64 bits", "float64", "complex", "int16")


def group_of(operator, reason):
    """The key of a group, or None: some cases only, or "": a type."""
    namespace, name, overload = operator.split(".")
    found = getattr(getattr(torch.ops, namespace), name)
    overload = getattr(found, overload)
    tags = overload.tags
    if torch.Tag.dynamic_output_shape in tags or \
            torch.Tag.data_dependent_output in tags or \
            "follows from values" in reason or "data-dependent" in reason:
        return "values"
    if any(t in reason for t in TYPES):
        return ""
    if torch.Tag.nondeterministic_seeded in tags:
        return "random"
    if name.startswith(COMPLEX):
        return "complex"
    if name.startswith(ALGEBRA):
        return "algebra"
    if name.startswith(MEMORY):
        return "memory"
    return "none" if reason == "no lowering" and \
        overload not in REWRITES else None


def only_classify(gm, kind, settings, watch=None):
    """In place of compile_graph_module: PyTorch executes all."""
    backend.report(split.classify(gm.graph, Sizes(), {}), settings)
    return make_boxed_func(gm.forward)


def collect(every, grad):
    """Reasons by operator."""
    args = argparse.Namespace(grad=grad, inplace=False, errors=False,
                              strided=False, samples=2)
    found = collections.defaultdict(set)
    for op in op_db[::every]:
        if "sparse" in op.name or torch.float32 not in op.dtypes or \
                any(s in op.name for s in SKIPPED) or \
                (grad and not op.supports_autograd):
            continue
        tenon_torch.reset_stats()
        for function, operands in cases(op, args, torch.float32):
            try:
                run(compile_with(tenon_torch.tenon, function), grad, operands)
            except Exception as e:
                print(f"{op.name}: {str(e)[:200]}", file=sys.stderr)
        for operator, reason in tenon_torch.stats()["leftovers"]:
            found[operator].add(reason)
    return found


def document(found):
    groups = collections.defaultdict(set)
    for operator, reasons in found.items():
        for reason in reasons:
            key = group_of(operator, reason)
            groups[key].add((operator, reason) if key is None
                            else operator.split(".")[1])
    print(INTRODUCTION, end="")
    for key, (title, text) in GROUPS.items():
        if key in groups:
            names = ", ".join(f"`{name}`" for name in sorted(groups[key]))
            print(f"\n## {title}\n")
            print(textwrap.fill(text, 88) + "\n")
            print(textwrap.fill(names, 88, break_long_words=False,
                                break_on_hyphens=False))
    print("\n## Some cases only\n\nThe operator is compiled otherwise.\n")
    print("| operator | what stays |\n|---|---|")
    for operator, reason in sorted(groups[None]):
        if reason == "no lowering":
            reason = "what its decomposition does not cover"
        print(f"| `{operator.split('.', 1)[1]}` | {reason.splitlines()[0]} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=1)
    every = parser.parse_args().every
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch._dynamo.config.capture_scalar_outputs = True
    torch._dynamo.config.capture_dynamic_output_shape_ops = True
    with mock.patch.object(backend, "compile_graph_module", only_classify):
        found = collect(every, grad=False)
        for operator, reasons in collect(every, grad=True).items():
            found[operator] |= reasons
    document(found)


if __name__ == "__main__":
    main()
