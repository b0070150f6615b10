#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tenon, ONNX Runtime and OpenVINO on the same files of ONNX, in turns.

    bazel run //python:wheel -- dist
    python3 -m venv env
    env/bin/pip install onnx onnxruntime openvino dist/tenon-*.whl
    env/bin/python benchmarks/compare/onnx_models.py --threads 1,2 \\
        model.onnx@image=1x3x224x224 other.onnx@ids=1x16,mask=1x16

Behind "@" stand the sizes of inputs whose dims the file does not give; every other
unknown dim is 1. Inputs are random numbers from a seed; integers are 1 to 9. "static"
gives all engines the sizes before they compile, "symbolic" compiles for any. Results
are compared with Tenon's before anything is timed. A figure is the median over rounds
of the time of one execution; in each round every engine runs once for the same time.
The ratio is the best peer's time by Tenon's: above 1, Tenon is faster. Times to load,
compile and fold, and peaks of memory beyond what the process had, are of a process of
each engine's own.
"""

import argparse
import concurrent.futures
import csv
import importlib
import math
import multiprocessing
import os
import resource
import statistics
import time

import numpy as np

import tenon

import compare
from cases import STORED, aligned, aligned_copy


def random_input(rng, shape, kind):
    if np.issubdtype(kind, np.floating):
        return rng.standard_normal(shape).astype(kind)
    return rng.integers(1, 10, shape).astype(kind)


class Given:
    """A model with the sizes and values of its inputs."""

    def __init__(self, text):
        self.path, _, sizes = text.partition("@")
        self.sizes = {}
        for part in filter(None, sizes.split(",")):
            name, _, dims = part.rpartition("=")
            self.sizes[name] = [int(d) for d in dims.split("x")]
        self.name = os.path.basename(self.path).removesuffix(".onnx")

    def values(self):
        """By name, in the order of the file; weights that are listed as inputs
        are none."""
        onnx = importlib.import_module("onnx")
        graph = onnx.load(self.path, load_external_data=False).graph
        weights = {w.name for w in graph.initializer}
        rng, values = np.random.default_rng(1), {}
        for port in graph.input:
            if port.name in weights:
                continue
            kind = port.type.tensor_type
            shape = self.sizes.get(port.name) or [
                d.dim_value or 1 for d in kind.shape.dim]
            array = random_input(rng, shape, onnx.helper.tensor_dtype_to_np_dtype(
                kind.elem_type))
            values[port.name] = aligned_copy(array)
        return values


class Tenon:
    name = "tenon"

    def __init__(self, given, values, threads, static):
        shapes = {name: value.shape for name, value in values.items()}
        model = tenon.load(given.path, tenon.Engine(threads),
                           shapes=shapes if static else {})
        inputs = [values[p.name] for p in model.inputs]
        self.arrays = [aligned(shape, STORED[p.dtype]) for p, shape in
                       zip(model.outputs, model.shapes(*inputs))]
        self.run = model.prepare(*inputs, out=self.arrays)

    def results(self):
        return self.arrays


class OnnxRuntime:
    name = "onnxruntime"

    def __init__(self, given, values, threads, static):
        ort = importlib.import_module("onnxruntime")
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = ort.InferenceSession(given.path, options,
                                            providers=["CPUExecutionProvider"])
        # Bound once: no copies of inputs in the measured time.
        self.binding = self.session.io_binding()
        for name, value in values.items():
            self.binding.bind_cpu_input(name, value)
        for output in self.session.get_outputs():
            self.binding.bind_output(output.name)

    def run(self):
        self.session.run_with_iobinding(self.binding)
        return self.binding

    def results(self):
        return self.binding.copy_outputs_to_cpu()


class OpenVino:
    name = "openvino"

    def __init__(self, given, values, threads, static):
        ov = importlib.import_module("openvino")
        core = ov.Core()
        model = core.read_model(given.path)
        if static:
            model.reshape({port: list(values[port.any_name].shape)
                           for port in model.inputs})
        compiled = core.compile_model(model, "CPU", {
            "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1,
            "INFERENCE_PRECISION_HINT": "f32",
            "PERFORMANCE_HINT": "LATENCY"})
        self.request = compiled.create_infer_request()
        for port in compiled.inputs:
            self.request.set_tensor(
                port, ov.Tensor(values[port.any_name], shared_memory=True))

    def run(self):
        self.request.infer()

    def results(self):
        return [np.array(self.request.get_output_tensor(i).data)
                for i in range(len(self.request.model_outputs))]


ENGINES = [Tenon, OnnxRuntime, OpenVino]


def load_cost(engine, given, threads, static):
    """Seconds until the first result is there, and bytes that took at the peak.
    In a process of its own."""
    importlib.import_module("onnx")
    for module in ("onnxruntime", "openvino"):
        if module == engine.name:
            importlib.import_module(module)
    values = given.values()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    engine(given, values, threads, static).run()
    return (time.perf_counter() - start,
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)


def in_process(function, *arguments):
    with concurrent.futures.ProcessPoolExecutor(
            1, multiprocessing.get_context("spawn")) as process:
        return process.submit(function, *arguments).result()


def time_model(given, threads, static, args):
    """A row: the times of all engines on one model."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    values, runners, expected = given.values(), {}, None
    for engine in ENGINES:
        if args.peers and engine.name not in args.peers.split(",") + ["tenon"]:
            continue
        try:
            made = engine(given, values, threads, static)
            result = made.run()
            if hasattr(made, "results"):
                result = made.results()
        except Exception as error:  # a failure is a row, not the end
            print(f"  {engine.name} fails on {given.name}: "
                  f"{str(error).splitlines()[0][:150]}")
            if engine is Tenon:
                return None
            continue
        if expected is None:
            expected = [np.array(r) for r in result]
        else:
            if [r.shape for r in result] != [e.shape for e in expected]:
                print(f"  {engine.name} has other shapes on {given.name}")
                continue
            worst = compare.disagreement(result, expected)
            if not worst < args.allowed:
                print(f"  {engine.name} differs by {worst:.1e} on {given.name}")
                continue
        runners[engine.name] = made.run
    times = compare.measure(runners, args.rounds, args.slice)
    best = min(((t, n) for n, t in times.items() if n != "tenon"),
               default=(math.nan, "none"))
    return {"model": given.name,
            "sizes": " ".join("x".join(map(str, v.shape))
                              for v in values.values()),
            "form": "static" if static else "symbolic", "threads": threads,
            "ratio": best[0] / times["tenon"], "best": best[1],
            **{n: t * 1e3 for n, t in times.items()}}


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("models", nargs="+")
    p.add_argument("--peers", help="names, separated by commas")
    p.add_argument("--threads", default="1", help="such as 1,2")
    p.add_argument("--forms", default="static,symbolic")
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--slice", type=float, default=0.1,
                   help="seconds of one engine in one round")
    p.add_argument("--allowed", type=float, default=1e-3,
                   help="difference by the largest number of the result")
    p.add_argument("--costs", action="store_true",
                   help="times to load, and memory")
    p.add_argument("--csv", help="file for the table")
    args = p.parse_args()
    rows = []
    for given in map(Given, args.models):
        for form in args.forms.split(","):
            static = form == "static"
            for threads in map(int, args.threads.split(",")):
                row = in_process(time_model, given, threads, static, args)
                if row is None:
                    continue
                rows.append(row)
                print(f"{row['model'][:34]:34} {row['sizes'][:24]:24} "
                      f"{form:8} {threads} {row['tenon']:8.2f} ms "
                      f"{row['ratio']:5.2f}x  ["
                      + "  ".join(f"{e.name} {row[e.name]:.2f}"
                                  for e in ENGINES[1:] if e.name in row) + "]",
                      flush=True)
            if args.costs:
                for engine in ENGINES:
                    try:
                        seconds, kib = in_process(load_cost, engine, given, 1,
                                                  static)
                    except Exception as error:
                        print(f"  {engine.name} fails: {error}")
                        continue
                    print(f"  {engine.name:12} first result after "
                          f"{seconds * 1e3:8.1f} ms, {kib / 1024:8.1f} MiB",
                          flush=True)
    for key in sorted({(r["form"], r["threads"]) for r in rows}):
        ratios = [r["ratio"] for r in rows if (r["form"], r["threads"]) == key
                  and not math.isnan(r["ratio"])]
        if ratios:
            print(f"{key[0]:8} {key[1]} {len(ratios)} models, geomean "
                  f"{math.exp(statistics.fmean(map(math.log, ratios))):.2f}x, "
                  f"worst {min(ratios):.2f}x")
    if args.csv:
        compare.write_csv(args.csv, rows)


if __name__ == "__main__":
    main()
