#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A model compiled once for any sizes, beside versions for exactly those.

    bazel build //compiler/api:libtenon.so //examples/transformers
    bazel-bin/examples/transformers/transformers /tmp 12
    python3 benchmarks/scaling/unknown_sizes.py /tmp/bert.json \\
        batch=1,tokens=128 batch=8,tokens=61
    python3 benchmarks/scaling/unknown_sizes.py /tmp/gpt2.json \\
        batch=1,tokens=1,total=300,capacity=1024

Sizes of the graph's inputs are expressions of names (docs/unknown-sizes.md);
each argument gives the names numbers. Both codes are executed in turns, the
numbers are medians; their results have to be equal up to rounding. Caches are
written in place: an output whose sizes name `capacity` has the memory of the
input that it is written from. Positions, of sizes [tokens, 1], go on where
`total` - `tokens` tokens were before.
"""

import argparse
import copy
import ctypes as c
import json
import math
import os
import statistics
import sys
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "compare"))
import tenon_api  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(HERE))
UNKNOWN = -2**63


def tensors_of(graph):
    """Descriptions by id; a later one may lack what an earlier one says."""
    result = {}
    for op in graph["graph"]:
        for t in filter(None, op["inputs"] + op["outputs"]):
            result.setdefault(t["id"], t)
    return result


def size_of(entry, names):
    if isinstance(entry, str):
        return eval(entry, {"__builtins__": {}}, dict(names))
    return UNKNOWN if entry == UNKNOWN else entry


def with_numbers(graph, names):
    """The graph of these sizes: results get theirs by inference."""
    exact = copy.deepcopy(graph)
    for op in exact["graph"]:
        for t in filter(None, op["inputs"] + op["outputs"]):
            if any(isinstance(d, str) for d in t["shape"]):
                t["shape"] = [size_of(d, names) for d in t["shape"]]
                t.pop("stride", None)
    return exact


class Model:
    """A graph compiled by the C interface, for known sizes or any."""

    def __init__(self, library, graph):
        self.library, self.graph = library, graph
        self.tensors = tensors_of(graph)
        text = json.dumps(graph).encode()
        handle = library.make("tenon_graph_from_json", text,
                              c.c_size_t(len(text)), b"benchmark")
        one, partitions = c.c_size_t(1), (c.c_void_p * 1)()
        library.call("tenon_graph_get_partitions", handle, 1, c.byref(one),
                     partitions)
        begin = time.perf_counter()
        self.compiled = library.make(
            "tenon_partition_compile", c.c_void_p(partitions[0]),
            library.engine, *self.ports("input_ports", self.as_declared),
            *self.ports("output_ports", self.as_declared))
        self.compile_seconds = time.perf_counter() - begin

    def ports(self, which, describe):
        ids = self.graph[which]
        return c.c_size_t(len(ids)), (tenon_api.LogicalTensor * len(ids))(
            *[describe(i) for i in ids])

    def logical(self, i, shape):
        t, lt = self.tensors[i], tenon_api.LogicalTensor()
        dims = (c.c_int64 * max(len(shape), 1))(*shape)
        self.library.call(
            "tenon_logical_tensor_init", c.byref(lt), c.c_uint64(i),
            tenon_api.DTYPES[t["dtype"]][0], c.c_int32(len(shape)), dims, 2,
            2 if t["property_type"] == "constant" else 1)
        return lt

    def as_declared(self, i):
        return self.logical(i, [UNKNOWN if isinstance(d, str) else d
                                for d in self.tensors[i]["shape"]])

    def bind(self, arrays):
        """Lets run() use `arrays`, which has one for each port."""
        def tensors(ids):
            return (c.c_void_p * len(ids))(
                *[self.library.tensor(self.logical(i, arrays[i].shape),
                                      arrays[i]) for i in ids])
        self.arrays = arrays  # whose memory the tensors have
        ins, outs = self.graph["input_ports"], self.graph["output_ports"]
        self.arguments = (self.compiled, self.library.stream,
                          c.c_size_t(len(ins)), tensors(ins),
                          c.c_size_t(len(outs)), tensors(outs))

    def run(self):
        self.library.call("tenon_compiled_partition_execute", *self.arguments)


def make_inputs(graph, names, rng):
    tensors, arrays = tensors_of(graph), {}
    for i in graph["input_ports"]:
        t = tensors[i]
        shape = tuple(size_of(d, names) for d in t["shape"])
        array = tenon_api.aligned(shape, tenon_api.DTYPES[t["dtype"]][1])
        past = names.get("total", 0) - names.get("tokens", 0)
        if t["shape"] == ["tokens", 1]:
            array[:, 0] = past + np.arange(shape[0])
        elif t["dtype"] == "s32":
            array[:] = past
        elif t["dtype"] == "s64":
            array[:] = rng.integers(0, 2, shape)
        elif t["property_type"] == "constant" and len(shape) == 2:
            array[:] = rng.standard_normal(shape, np.float32) / math.sqrt(
                shape[0])
        else:
            array[:] = rng.standard_normal(shape, np.float32)
        arrays[i] = array
    return arrays


def add_outputs(graph, names, arrays, shapes):
    """Memory of results; caches have that of the input of their writer."""
    written_from = {}
    for op in graph["graph"]:
        if op["kind"] == "ScatterND":
            written_from[op["outputs"][0]["id"]] = op["inputs"][0]["id"]
    tensors = tensors_of(graph)
    for i in graph["output_ports"]:
        arrays[i] = (arrays[written_from[i]] if i in written_from else
                     tenon_api.aligned(shapes[i], tenon_api.DTYPES[
                         tensors[i]["dtype"]][1]))


def shapes_of_outputs(model, names):
    """As the compiled code says for these sizes of inputs."""
    known = lambda i: model.logical(
        i, [size_of(d, names) for d in model.tensors[i]["shape"]])
    ins, outs = model.graph["input_ports"], model.graph["output_ports"]
    inputs = (tenon_api.LogicalTensor * len(ins))(*map(known, ins))
    outputs = (tenon_api.LogicalTensor * len(outs))()
    model.library.call("tenon_compiled_partition_infer", model.compiled,
                       c.c_size_t(len(ins)), inputs, c.c_size_t(len(outs)),
                       outputs)
    return {o.id: tuple(o.dims[:o.rank]) for o in outputs}


def measure(models, seconds):
    """Medians of turns."""
    times = [[] for _ in models]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 5:
        for model, list_of in zip(models, times):
            begin = time.perf_counter()
            model.run()
            list_of.append(time.perf_counter() - begin)
    return [statistics.median(t) for t in times]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("sizes", nargs="+")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--library", default=os.path.join(
        ROOT, "bazel-bin/compiler/api/libtenon.so"))
    options = parser.parse_args()
    library = tenon_api.Library(options.library, options.threads)
    with open(options.model) as f:
        graph = json.load(f)
    general = Model(library, graph)
    print(f"compiled for any sizes in {general.compile_seconds:.2f} s")
    print(f"{'sizes':44} {'any':>10} {'exact':>10} {'ratio':>6} {'compile':>8}"
          f" {'difference':>11}")
    ratios = []
    for text in options.sizes:
        names = {k: int(v) for k, v in
                 (part.split("=") for part in text.split(","))}
        exact = Model(library, with_numbers(graph, names))
        arrays = make_inputs(graph, names, np.random.default_rng(1))
        shapes = shapes_of_outputs(general, names)
        results = []
        for model in (general, exact):
            own = dict(arrays)
            add_outputs(graph, names, own, shapes)
            model.bind(own)
            model.run()
            results.append(own[graph["output_ports"][0]].copy())
        scale = max(float(np.abs(results[1]).max()), 1e-30)
        difference = float(np.abs(results[0] - results[1]).max()) / scale
        if not difference < 1e-3:
            sys.exit(f"{text}: results differ by {difference:.2g}")
        any_time, exact_time = measure((general, exact), options.seconds)
        ratios.append(any_time / exact_time)
        print(f"{text:44} {any_time * 1e3:8.3f}ms {exact_time * 1e3:8.3f}ms"
              f" {ratios[-1]:6.3f} {exact.compile_seconds:7.2f}s"
              f" {difference:11.1e}", flush=True)
    print(f"geomean {statistics.geometric_mean(ratios):.3f}, "
          f"worst {max(ratios):.3f}")


if __name__ == "__main__":
    main()
