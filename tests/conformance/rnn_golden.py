#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes graphs of a folder of recurrent problems, and checks compiled ones.

    tests/conformance/rnn_golden.py FOLDER OUT [--tenon=PROGRAM] [--case=TEXT]

FOLDER has cases.json and data/*.npz: problems of recurrent cells with tensors
that another implementation computed. OUT gets a graph for each, and the
manifest.json that `golden OUT` reads, which holds the evaluator against these
tensors. A backward case is a training forward and its gradient in one graph,
with the workspace between them.

With --tenon the graphs are also compiled and executed by that program, and its
results held against the tensors; the exit code is then 1 if one differs.

Needs numpy.
"""
import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy

CELLS = {
    "vanilla_rnn": "RNN", "lstm": "LSTM", "gru": "GRU", "lbr_gru": "GRU",
    "augru": "AUGRU", "lbr_augru": "AUGRU"}
DIRECTIONS = {
    "l2r": "left2right", "r2l": "right2left", "concat": "bidirectional_concat",
    "sum": "bidirectional_sum"}
# Operands and results in the order of the operation table.
FORWARD = {
    "RNN": "src_layer weights_layer weights_iter bias src_iter",
    "LSTM": "src_layer weights_layer weights_iter bias src_iter src_iter_c "
            "weights_peephole weights_projection",
    "GRU": "src_layer weights_layer weights_iter bias src_iter",
    "AUGRU": "src_layer weights_layer weights_iter attention bias src_iter"}
RESULTS = {
    "RNN": "dst_layer dst_iter", "LSTM": "dst_layer dst_iter dst_iter_c",
    "GRU": "dst_layer dst_iter", "AUGRU": "dst_layer dst_iter"}
# `-` are sequence_lengths.
BACKWARD = {
    "RNN": "src_layer weights_layer weights_iter workspace diff_dst_layer "
           "src_iter - diff_dst_iter",
    "LSTM": "src_layer weights_layer weights_iter workspace diff_dst_layer "
            "src_iter src_iter_c weights_peephole weights_projection - "
            "diff_dst_iter diff_dst_iter_c",
    "GRU": "src_layer weights_layer weights_iter workspace diff_dst_layer "
           "src_iter - diff_dst_iter",
    "AUGRU": "src_layer weights_layer weights_iter attention workspace "
             "diff_dst_layer src_iter - diff_dst_iter"}
GRADIENTS = {
    "RNN": "diff_src_layer diff_weights_layer diff_weights_iter diff_bias "
           "diff_src_iter",
    "LSTM": "diff_src_layer diff_weights_layer diff_weights_iter diff_bias "
            "diff_src_iter diff_src_iter_c diff_weights_peephole "
            "diff_weights_projection",
    "GRU": "diff_src_layer diff_weights_layer diff_weights_iter diff_bias "
           "diff_src_iter",
    "AUGRU": "diff_src_layer diff_weights_layer diff_weights_iter diff_bias "
             "diff_src_iter diff_attention"}
ADDED = {
    "RNN": ["weights_layer", "weights_iter", "bias"],
    "LSTM": ["weights_layer", "weights_iter", "bias", "weights_peephole",
             "weights_projection"],
    "GRU": ["weights_layer", "weights_iter", "bias"],
    "AUGRU": ["weights_layer", "weights_iter", "bias"]}


class Case:
    """One problem as a graph; ids of its inputs and outputs by name."""

    def __init__(self, entry, arrays):
        self.entry = entry
        self.name = entry["case"]
        self.kind = CELLS[entry["cell"]]
        self.ids = {}
        self.tensors = []
        self.given = {t["name"]: t for t in entry["inputs"]}
        self.wanted = {t["name"]: t for t in entry["outputs"]}
        self.ops = []
        attrs = self.attributes(arrays)
        trains = entry["prop"] != "forward_inference"
        operands = FORWARD[self.kind].split()
        results = RESULTS[self.kind].split()
        if trains:
            results.append("workspace")
        self.add_op(self.kind, attrs, operands, results)
        if entry["prop"] == "backward":
            self.add_gradient(attrs)

    def attributes(self, arrays):
        """Of the forward operation."""
        entry = self.entry
        attrs = {"direction": ("string", DIRECTIONS[entry["direction"]])}
        if self.kind == "RNN":
            attrs["activation"] = ("string", entry["activation"])
            attrs["alpha"] = ("f32", entry["alpha"])
        if entry["cell"].startswith("lbr"):
            attrs["linear_before_reset"] = ("bool", True)
        codes = entry.get("quantisation")
        if codes:
            attrs["data_scale"] = ("f32", codes["data_scale"])
            attrs["data_shift"] = ("f32", codes["data_shift"])
        for scales in "weights_scales", "projection_scales":
            if scales in self.given:
                attrs[scales] = ("f32[]", arrays[scales].flatten().tolist())
        return attrs

    def add_gradient(self, attrs):
        """With the operands that gradients are added to, if any is given."""
        operands = BACKWARD[self.kind].split()
        overwrites = "diff_weights_overwrite" in self.entry["flags"]
        starts = {f"diff_{name}": f"init_diff_{name}"
                  for name in ADDED[self.kind]}
        accumulates = not overwrites and any(
            start in self.given for start in starts.values())
        if accumulates:
            operands += starts.values()
            attrs = dict(attrs, diff_weights=("string", "accumulate"))
        self.add_op(self.kind + "Backward", attrs, operands,
                    GRADIENTS[self.kind].split())

    def tensor(self, name):
        """The tensor of an operand or result; None if it is left out."""
        info = self.given.get(name) or self.wanted.get(name)
        if name == "workspace":
            info = {"dtype": "f32", "shape": self.workspace_shape()}
        if not info:
            return None
        number = self.ids.setdefault(name, len(self.ids))
        shape = info["shape"]
        strides = [1]
        for size in reversed(shape[1:]):
            strides.insert(0, strides[0] * max(size, 1))
        return {"id": number, "dtype": info["dtype"], "shape": shape,
                "stride": strides, "layout_type": "strided",
                "property_type": "undef"}

    def workspace_shape(self):
        e = self.entry
        values = {"vanilla_rnn": 1, "lstm": 5}.get(e["cell"], 3)
        values += e["cell"].startswith("lbr")
        return [e["L"], e["D"], e["T"], e["N"], values * e["DHC"] + e["DIC"]]

    def add_op(self, kind, attrs, operands, results):
        self.ops.append({
            "id": len(self.ops), "name": kind.lower(), "kind": kind,
            "attrs": {name: {"type": type_, "value": value}
                      for name, (type_, value) in attrs.items()},
            "inputs": trimmed(map(self.tensor, operands)),
            "outputs": trimmed(map(self.tensor, results))})

    def inputs(self):
        """Names of those that the graph reads."""
        return [name for name in self.ids if name in self.given]

    def graph(self):
        ports = [self.ids[name] for name in self.inputs()]
        outputs = [self.ids[name] for name in self.ids if name in self.wanted]
        return {"version": "3.14.0", "engine_kind": "cpu",
                "fpmath_mode": "strict", "input_ports": ports,
                "output_ports": outputs, "graph": self.ops}

    def limit(self, name):
        """Largest error of an output, relative to its largest magnitude."""
        config = self.entry["config"]
        dtype = self.wanted[name]["dtype"]
        if dtype == "u8":
            return 0
        return 2e-2 if config == "bf16" else 2e-6 if "u8" in config else 1e-5

    def manifest(self):
        def ports(names):
            return [{"id": self.ids[name], "file": name,
                     "dtype": (self.given.get(name) or self.wanted[name])
                     ["dtype"]} for name in names]
        outputs = ports(name for name in self.ids if name in self.wanted)
        for output in outputs:
            output["limit"] = self.limit(output["file"])
        return {"case": self.name, "graph": f"graphs/{self.name}.json",
                "data": f"data/{self.name}.npz",
                "inputs": ports(self.inputs()), "outputs": outputs}


def trimmed(tensors):
    """Those left out at the end are not written."""
    tensors = list(tensors)
    while tensors[-1] is None:
        tensors.pop()
    return tensors


def as_numbers(array, dtype):
    """bf16 is raw in the archives."""
    if dtype != "bf16":
        return array
    return (array.astype(numpy.uint32) << 16).view(numpy.float32)


def run_compiled(tenon, out, case):
    """What is wrong with the results of compiled code; empty: nothing."""
    arrays = numpy.load(os.path.join(out, "data", case.name + ".npz"))
    with tempfile.TemporaryDirectory() as scratch:
        command = [tenon, "run", "--no-check", "--repeat=1"]
        for name in case.inputs():
            path = os.path.join(scratch, name + ".npy")
            numpy.save(path, as_numbers(arrays[name],
                                        case.given[name]["dtype"]))
            command.append(f"--input={case.ids[name]}=@{path}")
        wanted = [name for name in case.ids if name in case.wanted]
        for name in wanted:
            command.append(f"--output={case.ids[name]}=@{scratch}/{name}.npy")
        command.append(os.path.join(out, "graphs", case.name + ".json"))
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return (done.stderr or done.stdout).strip()
        problems = []
        for name in wanted:
            got = numpy.load(f"{scratch}/{name}.npy").astype(numpy.float64)
            golden = as_numbers(arrays[name], case.wanted[name]["dtype"])
            golden = golden.astype(numpy.float64)
            error = numpy.abs(got - golden).max(initial=0)
            error /= max(1e-3, numpy.abs(golden).max(initial=0))
            if not error <= case.limit(name):
                problems.append(f"{name} is off by {error:.2g}, allowed is "
                                f"{case.limit(name):.2g}")
        return "; ".join(problems)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("out")
    parser.add_argument("--tenon")
    parser.add_argument("--case", default="")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    for part in "graphs", "data":
        os.makedirs(os.path.join(args.out, part), exist_ok=True)
    with open(os.path.join(args.folder, "cases.json")) as file:
        entries = json.load(file)["cases"]
    cases = []
    for entry in entries:
        data = os.path.join(args.folder, entry["data"])
        case = Case(entry, numpy.load(data))
        cases.append(case)
        shutil.copyfile(data, f"{args.out}/data/{case.name}.npz")
        with open(f"{args.out}/graphs/{case.name}.json", "w") as file:
            json.dump(case.graph(), file, indent=1)
    with open(os.path.join(args.out, "manifest.json"), "w") as file:
        json.dump({"cases": [case.manifest() for case in cases]}, file)
    if not args.tenon:
        return 0
    cases = [case for case in cases if args.case in case.name]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for case, problem in zip(cases, pool.map(
                lambda c: run_compiled(args.tenon, args.out, c), cases)):
            if problem:
                failed += 1
                print(f"FAILED {case.name}: {problem}", flush=True)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
