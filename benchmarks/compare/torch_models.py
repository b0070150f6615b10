#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tenon and other ways to execute models of PyTorch (torch_cases.py), in turns.

    bazel run //python:wheel -- dist
    python3 -m venv env
    env/bin/pip install torch==2.13.0 transformers timm onnxscript onnxruntime \\
        openvino dist/tenon-*.whl
    env/bin/python benchmarks/compare/torch_models.py --threads=1,2 \\
        --kinds=inference,autocast,training,first --models=bert,resnet50

Kinds: inference in f32; autocast, the same to bf16; training, a step with AdamW in
f32, of which the optimiser's step is compiled, too; first, seconds until the first
result is there. Peers: eager; inductor with freezing; tuned, inductor with freezing
and max-autotune; openvino, its backend of torch.compile; onnxruntime with what
torch.onnx exports. Inductor needs a C++ compiler on the machine.

A figure is the median over rounds of the time of one call. In each round every peer
runs for the same time, and its first call is not counted: another's threads may still
spin. Each model is a process of its own, with a limit of time; a peer that fails is
said, and its column is empty. "first" makes each figure in a process of its own that
has imported everything: with an empty cache on disk, then with the one the former
process left; "capture" is what PyTorch needs to find the graphs of ATen, and a part of
all others. The ratio is the best peer's time by Tenon's: above 1, Tenon is faster.
"""

import argparse
import csv
import importlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import torch

import torch_cases

PEERS = ["eager", "inductor", "tuned", "openvino", "onnxruntime"]


def first_tensor(result):
    """The tensor that a training makes smaller, and that is compared."""
    if isinstance(result, torch.Tensor):
        return result
    values = list(result.values()) if hasattr(result, "values") else result
    return first_tensor(values[0])


def compiled(what, peer):
    """A module or a function as `peer` executes it."""
    torch._dynamo.reset()
    if peer == "eager":
        return what
    if peer == "capture":
        return torch.compile(what, backend="aot_eager")
    if peer in ("inductor", "tuned"):
        config = importlib.import_module("torch._inductor.config")
        config.freezing = not torch.is_grad_enabled()
        return torch.compile(what, options={"max_autotune": True}
                             if peer == "tuned" else None)
    if peer == "openvino":
        importlib.import_module("openvino.torch")
    return torch.compile(what, backend=peer)


def onnx_session(model, inputs, threads):
    """A call of ONNX Runtime on what torch.onnx exports. Inputs and results are
    bound once: nothing is copied."""
    ort = importlib.import_module("onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        torch.onnx.export(model, (), path, kwargs=inputs, dynamo=True,
                          verbose=False)
        session = ort.InferenceSession(path, options,
                                       providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for port, value in zip(session.get_inputs(), inputs.values()):
        binding.bind_cpu_input(port.name, value.numpy())
    for port in session.get_outputs():
        binding.bind_output(port.name)

    def call():
        session.run_with_iobinding(binding)
        return binding.get_outputs()
    return call, lambda: torch.from_numpy(call()[0].numpy())


def inference(name, peer, threads, dtype=None):
    """A call, and a function that gives its first result."""
    model, inputs = torch_cases.INFERENCE[name]()
    model.eval()
    torch.set_grad_enabled(False)
    if peer == "onnxruntime":
        if dtype:
            raise NotImplementedError("autocast")
        return onnx_session(model, inputs, threads)
    run = compiled(model, peer)

    def call():
        return run(**inputs)

    def narrow():
        with torch.autocast("cpu", dtype):
            return run(**inputs)
    chosen = narrow if dtype else call
    return chosen, lambda: first_tensor(chosen()).float()


def autocast(name, peer, threads):
    return inference(name, peer, threads, torch.bfloat16)


def training(name, peer, threads):
    if peer in ("openvino", "onnxruntime"):
        raise NotImplementedError("training")
    model, inputs = torch_cases.TRAINING[name]()
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, foreach=True)
    run = compiled(model, peer)
    step = optimizer.step if peer == "eager" else torch.compile(
        optimizer.step, backend="tenon" if peer == "tenon" else "inductor")

    def call():
        loss = first_tensor(run(**inputs)).square().mean()
        loss.backward()
        step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()
    return call, call


KINDS = {"inference": inference, "autocast": autocast, "training": training}
#: How far a peer's first result may be from eager's, of its largest value.
#: Dropout makes each training another one.
ALLOWED = {"inference": 1e-3, "autocast": 0.1, "training": math.inf}


def prepared(kind, name, peer, threads):
    torch.manual_seed(0)
    return KINDS[kind](name, peer, threads)


def reason(error):
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:150]}"


def in_turns(calls, rounds, slice_seconds):
    """Medians by peer."""
    times = {peer: [] for peer in calls}
    for _ in range(rounds):
        for peer, call in calls.items():
            call()
            end = time.perf_counter() + slice_seconds
            while True:
                start = time.perf_counter()
                call()
                stop = time.perf_counter()
                times[peer].append(stop - start)
                if stop > end:
                    break
    return {peer: statistics.median(t) for peer, t in times.items()}


def child_times(kind, name, peers, threads, args):
    """Seconds of one call, by peer."""
    calls, expected, failed = {}, None, {}
    for peer in peers:
        try:
            call, result = prepared(kind, name, peer, threads)
            value = result().detach().clone()
            call()
        except Exception as error:  # a failure is a row, not the end
            failed[peer] = reason(error)
            continue
        if expected is None:
            expected = value
        off = ((value - expected).abs().max() / expected.abs().max()).item()
        if not off <= ALLOWED[kind]:
            failed[peer] = f"differs from {peers[0]} by {off:.1e}"
            continue
        calls[peer] = call
    return in_turns(calls, args.rounds, args.slice), failed


def child_first(name, peer, threads):
    """Seconds until the first result is there."""
    for module in ("transformers", "timm", "tenon.torch"):
        importlib.import_module(module)
    torch.set_grad_enabled(False)
    # What is loaded, looked for and built once on a machine is no model's.
    compiled(torch.nn.ReLU(), peer)(torch.ones(2))
    call, _ = prepared("inference", name, peer, threads)
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def spawn(child, timeout, **environment):
    """The JSON that this program prints as a child."""
    try:
        done = subprocess.run(
            [sys.executable, __file__, "--child", json.dumps(child)],
            capture_output=True, text=True, timeout=timeout,
            env=dict(os.environ, **environment))
    except subprocess.TimeoutExpired:
        return None, f"more than {timeout} seconds"
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return None, f"ends with {done.returncode}: {last[:150]}"
    return json.loads(done.stdout.splitlines()[-1]), None


def times_row(kind, name, threads, args):
    # The first is what the others' results are compared with.
    peers = [p for p in ["eager", "tenon", *PEERS[1:]]
             if p == "tenon" or p in args.peers]
    with tempfile.TemporaryDirectory() as folder:
        found, problem = spawn(
            dict(kind=kind, name=name, peers=peers, threads=threads,
                 rounds=args.rounds, slice=args.slice), args.limit,
            TENON_CACHE_DIR="", TORCHINDUCTOR_CACHE_DIR=folder)
    if problem:
        print(f"# {kind} {name}: {problem}", flush=True)
        return None
    seconds, failed = found
    for peer, why in failed.items():
        print(f"# {kind} {name}: {peer}: {why}", flush=True)
    return {peer: s * 1e3 for peer, s in seconds.items()}


def first_row(name, threads, args):
    """Tenon and Inductor, with an empty cache and the cache of the run before."""
    row = {}
    for peer in ("capture", "tenon", "inductor"):
        with tempfile.TemporaryDirectory() as folder:
            for label in (peer, peer + "_cached"):
                if label == "capture_cached":
                    continue
                row[label], problem = spawn(
                    dict(kind="first", name=name, peers=[peer],
                         threads=threads), args.limit,
                    TENON_CACHE_DIR=folder, TORCHINDUCTOR_CACHE_DIR=folder)
                if problem:
                    print(f"# first {name}: {label}: {problem}", flush=True)
                    row.pop(label)
    return row


def child(text):
    warnings.simplefilter("ignore")
    given = argparse.Namespace(**json.loads(text))
    torch.set_num_threads(given.threads)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:given.threads])
    if given.kind == "first":
        found = child_first(given.name, given.peers[0], given.threads)
    else:
        found = child_times(given.kind, given.name, given.peers, given.threads,
                            given)
    print("\n" + json.dumps(found))


def parsed():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    names = lambda text: text.split(",")
    parser.add_argument("--kinds", type=names,
                        default=["inference", "autocast", "training", "first"])
    parser.add_argument("--models", type=names, default=[])
    parser.add_argument("--peers", type=names, default=PEERS)
    parser.add_argument("--threads", type=names, default=["1"])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--slice", type=float, default=0.4,
                        help="seconds of one peer in one round")
    parser.add_argument("--limit", type=int, default=900,
                        help="seconds for one model")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


def print_row(writer, kind, name, threads, row):
    """A line of the table; returns the ratio, or None if there is none."""
    best = min((s for p, s in row.items()
                if not p.startswith(("tenon", "capture"))
                and not p.endswith("cached")), default=math.nan)
    ratio = best / row.get("tenon", math.nan)
    figures = " ".join(f"{p}={s:.4g}" for p, s in row.items())
    writer.writerow([kind, threads, name, f"{ratio:.2f}", figures])
    sys.stdout.flush()
    return None if math.isnan(ratio) else ratio


def main():
    args = parsed()
    if args.child:
        return child(args.child)
    writer = csv.writer(sys.stdout)
    writer.writerow(["kind", "threads", "model", "ratio",
                     "milliseconds of a call, or seconds to the first result"])
    for kind in args.kinds:
        known = torch_cases.TRAINING if kind == "training" \
            else torch_cases.INFERENCE
        for threads in map(int, args.threads):
            ratios = []
            for name in args.models or known:
                if name not in known:
                    continue
                row = first_row(name, threads, args) if kind == "first" \
                    else times_row(kind, name, threads, args)
                if row:
                    ratios.append(print_row(writer, kind, name, threads, row))
            ratios = [r for r in ratios if r]
            if ratios:
                print(f"# {kind}, {threads} threads: geometric mean "
                      f"{statistics.geometric_mean(ratios):.2f}, least "
                      f"{min(ratios):.2f}", flush=True)
    return None


if __name__ == "__main__":
    sys.exit(main())
