#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A model compiled once for any sizes, beside versions for exactly those.

    bazel run //python:wheel -- dist
    python3 -m venv env && env/bin/pip install numpy dist/tenon-*.whl
    bazel build //examples/transformers
    bazel-bin/examples/transformers/transformers /tmp 12
    env/bin/python benchmarks/scaling/unknown_sizes.py /tmp/bert.json \\
        batch=1,tokens=128 batch=8,tokens=61
    env/bin/python benchmarks/scaling/unknown_sizes.py /tmp/gpt2.json \\
        batch=1,tokens=1,total=300,capacity=1024

Sizes of the graph's inputs are expressions of names (docs/unknown-sizes.md);
each argument gives the names numbers. Both codes are executed in turns, the
numbers are medians; their results have to be equal up to rounding. Caches are
written in place: an output whose sizes name `capacity` has the memory of the
input that it is written from. Positions, of sizes [tokens, 1], go on where
`total` - `tokens` tokens were before.
"""

import argparse
import json
import math
import os
import statistics
import sys
import time

import numpy as np
import tenon

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "compare"))
from cases import STORED, aligned  # noqa: E402


def tensors_of(graph):
    """Descriptions by id; a later one may lack what an earlier one says."""
    result = {}
    for op in graph["graph"]:
        for t in filter(None, op["inputs"] + op["outputs"]):
            result.setdefault(t["id"], t)
    return result


def shape_of(tensor, names):
    return tuple(eval(d, {"__builtins__": {}}, dict(names))
                 if isinstance(d, str) else d for d in tensor["shape"])


def timed_load(path, engine, constants, shapes):
    """A model, and the seconds that reading and compiling took. Tensors of the
    file have no names."""
    begin = time.perf_counter()
    model = tenon.load(
        path, engine,
        constants={f"tensor {i}": v for i, v in constants.items()},
        shapes={f"tensor {i}": s for i, s in shapes.items()})
    return model, time.perf_counter() - begin


def prepare(model, graph, arrays):
    """A function that executes once, and the first result. Caches have the
    memory of the input that their writer reads."""
    inputs = [arrays[p.id] for p in model.inputs]
    written_from = {op["outputs"][0]["id"]: op["inputs"][0]["id"]
                    for op in graph["graph"] if op["kind"] == "ScatterND"}
    shapes = model.shapes(*inputs)
    results = [arrays[written_from[p.id]] if p.id in written_from else
               aligned(shape, STORED[p.dtype])
               for p, shape in zip(model.outputs, shapes)]
    run = model.prepare(*inputs, out=results)
    run()
    first = [p.id for p in model.outputs].index(graph["output_ports"][0])
    return run, results[first].copy()


def make_inputs(graph, names, rng, kind):
    """Those of a kind, "constant" or "variable", by id."""
    tensors, arrays = tensors_of(graph), {}
    for i in graph["input_ports"]:
        t = tensors[i]
        if t["property_type"] != kind:
            continue
        shape = shape_of(t, names)
        array = aligned(shape, STORED[t["dtype"]])
        past = names.get("total", 0) - names.get("tokens", 0)
        if t["shape"] == ["tokens", 1]:
            array[:, 0] = past + np.arange(shape[0])
        elif t["dtype"] == "s32":
            array[:] = past
        elif t["dtype"] == "s64":
            array[:] = rng.integers(0, 2, shape)
        elif kind == "constant" and len(shape) == 2:
            array[:] = rng.standard_normal(shape, np.float32) / math.sqrt(
                shape[0])
        else:
            array[:] = rng.standard_normal(shape, np.float32)
        arrays[i] = array
    return arrays


def measure(runners, seconds):
    """Medians of turns."""
    times = [[] for _ in runners]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 5:
        for run, list_of in zip(runners, times):
            begin = time.perf_counter()
            run()
            list_of.append(time.perf_counter() - begin)
    return [statistics.median(t) for t in times]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("sizes", nargs="+")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    engine = tenon.Engine(options.threads)
    with open(options.model) as f:
        graph = json.load(f)
    rng = np.random.default_rng(1)
    constants = make_inputs(graph, {}, rng, "constant")
    general, seconds = timed_load(options.model, engine, constants, {})
    print(f"compiled for any sizes in {seconds:.2f} s")
    print(f"{'sizes':44} {'any':>10} {'exact':>10} {'ratio':>6} {'compile':>8}"
          f" {'difference':>11}")
    ratios = []
    for text in options.sizes:
        names = {k: int(v) for k, v in
                 (part.split("=") for part in text.split(","))}
        arrays = make_inputs(graph, names, rng, "variable")
        exact, seconds = timed_load(options.model, engine, constants,
                                    {i: a.shape for i, a in arrays.items()})
        runners, results = zip(*[prepare(m, graph, arrays)
                                 for m in (general, exact)])
        scale = max(float(np.abs(results[1]).max()), 1e-30)
        difference = float(np.abs(results[0] - results[1]).max()) / scale
        if not difference < 1e-3:
            sys.exit(f"{text}: results differ by {difference:.2g}")
        any_time, exact_time = measure(runners, options.seconds)
        ratios.append(any_time / exact_time)
        print(f"{text:44} {any_time * 1e3:8.3f}ms {exact_time * 1e3:8.3f}ms"
              f" {ratios[-1]:6.3f} {seconds:7.2f}s"
              f" {difference:11.1e}", flush=True)
    print(f"geomean {statistics.geometric_mean(ratios):.3f}, "
          f"worst {max(ratios):.3f}")


if __name__ == "__main__":
    main()
