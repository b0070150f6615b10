#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time and compile time against batch, sequence, layers and operations.

    bazel run //python:wheel -- dist
    python3 -m venv env && env/bin/pip install numpy dist/tenon-*.whl
    env/bin/python benchmarks/scaling/scaling.py [--sweep layers] [--plot layers.svg]
    env/bin/python benchmarks/scaling/scaling.py --sweep gru --write DIR

Each point is a graph of its own, compiled once (a second time it would come
from the cache) and executed for a slice of time, median over rounds.
Behind each sweep stands by how much time and compile time grow per step of its
last doublings, as an exponent: 1 is linear, 2 quadratic. One attention grows
with the square of its sequence, everything else should stay near or below 1.
With --write the graphs become files for `tenon` instead.
"""

import argparse
import csv
import math
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "compare"))
import cases  # noqa: E402
import models  # noqa: E402
import tenon  # noqa: E402


def layers(count):
    return cases.mlp(64, (256,) * (count + 1), "ReLU")


def elementwise(count):
    """A chain; every kind keeps values in range."""
    kinds = ("Tanh", "Abs", "ReLU", "Sigmoid", "Square", "HardSwish")
    names = [f"x{i}" for i in range(count + 1)]
    ops = [cases.Op(kinds[i % len(kinds)], [names[i]], [names[i + 1]])
           for i in range(count)]
    return cases.Case("ops", str(count), ops,
                      {name: (64, 256) for name in names}, set())


def gru(steps):
    """Unrolled; each step has an input of its own and the same weights."""
    units, ops = 16, []
    shapes = {"h": (2, units)}
    constants = set()
    for gate in ("update", "reset", "candidate"):
        for name, shape in (("weights", (units, units)),
                            ("recurrent", (units, units)), ("bias", (units,))):
            shapes[f"{gate}.{name}"] = shape
            constants.add(f"{gate}.{name}")
    state = "h"
    for step in range(steps):
        def op(kind, *inputs):
            name = f"{step}.{len(ops)}"
            shapes[name] = shapes["h"]
            ops.append(cases.Op(kind, list(inputs), [name]))
            return name

        def product(of, gate, what):
            return op("MatMul", of, f"{gate}.{what}")

        def seen(gate):
            return op("Add", product(x, gate, "weights"), f"{gate}.bias")

        x = f"x{step}"
        shapes[x] = shapes["h"]
        z, r = [op("Sigmoid", op("Add", seen(gate),
                                 product(state, gate, "recurrent")))
                for gate in ("update", "reset")]
        past = op("Multiply", r, product(state, "candidate", "recurrent"))
        n = op("Tanh", op("Add", seen("candidate"), past))
        state = op("Add", n, op("Multiply", z, op("Subtract", state, n)))
    return cases.Case("gru", str(steps), ops, shapes, constants,
                      scale={name: 0.2 for name in constants})


def distinct(count):
    """Groups of which no two have the same shapes and attributes."""
    widths = [8 + i * i % 61 for i in range(count + 1)]
    shapes = {"x0": (4, widths[0])}
    ops = []
    for i in range(count):
        shapes[f"w{i}"] = (widths[i], widths[i + 1])
        shapes[f"y{i}"] = shapes[f"x{i + 1}"] = (4, widths[i + 1])
        ops.append(cases.Op("MatMul", [f"x{i}", f"w{i}"], [f"y{i}"]))
        ops.append(cases.Op("LeakyReLU", [f"y{i}"], [f"x{i + 1}"],
                            {"alpha": (i + 1) / (count + 1)}))
    weights = {f"w{i}" for i in range(count)}
    return cases.Case("distinct", str(count), ops, shapes, weights,
                      scale={name: 0.1 for name in weights})


SWEEPS = {
    "batch": (lambda n: cases.mlp(n, (768, 3072, 768), "GELU"),
              [2 ** i for i in range(10)]),
    "sequence": (lambda n: cases.attention(1, 12, n, n, 64),
                 [64, 128, 256, 512, 1024, 2048, 4096]),
    "layers": (layers, [1, 2, 5, 10, 20, 50, 100]),
    "bert layers": (lambda n: models.bert(1, 64, layers=n), [1, 2, 4, 8, 12]),
    "ops": (elementwise, [10, 30, 100, 300, 1000, 3000, 10000]),
    "gru": (gru, [30, 100, 300, 1000, 3000]),
    "distinct": (distinct, [30, 100, 300, 1000, 3000]),
}


def write(folder, sweep, points):
    """The graphs as files."""
    os.makedirs(folder, exist_ok=True)
    for n in points:
        path = os.path.join(folder, f"{sweep.replace(' ', '_')}_{n}.json")
        with open(path, "w") as file:
            file.write(SWEEPS[sweep][0](n).graph().to_json())


def measure(engine, case, rounds, seconds):
    """Seconds of one compilation and of one execution."""
    values = case.aligned_values()
    graph = case.graph(values)
    begin = time.perf_counter()
    model = graph.compile(engine)
    compiled = time.perf_counter() - begin
    run, _ = case.prepare(model, values)
    run()
    times = []
    for _ in range(rounds):
        count, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < seconds:
            run()
            count += 1
        times.append((time.perf_counter() - begin) / count)
    return compiled, statistics.median(times)


def exponent(points, values):
    """d log(value) / d log(point) over the upper half of the points."""
    half = len(points) // 2
    return (math.log(values[-1] / values[half])
            / math.log(points[-1] / points[half]))


def plot(path, table):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(1, len(table), figsize=(4 * len(table), 4))
    for axis, (name, rows) in zip(axes if len(table) > 1 else [axes],
                                  table.items()):
        for column, label in ((1, "compile"), (2, "execution")):
            axis.loglog([r[0] for r in rows], [r[column] for r in rows],
                        marker="o", label=label)
        axis.set(xlabel=name, ylabel="seconds")
        axis.legend()
    figure.tight_layout()
    figure.savefig(path)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--sweep", help="names, separated by commas: "
                   + ", ".join(SWEEPS))
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--slice", type=float, default=0.05)
    p.add_argument("--limit", type=int, help="leave out larger points")
    p.add_argument("--points", type=lambda text: [int(n) for n in
                                                  text.split(",")],
                   help="sizes, separated by commas, in place of the usual")
    p.add_argument("--write", help="folder for the graphs; measures nothing")
    p.add_argument("--csv", help="file for the table")
    p.add_argument("--plot", help="file for a picture (needs matplotlib)")
    args = p.parse_args()
    names = args.sweep.split(",") if args.sweep else list(SWEEPS)
    if unknown := [name for name in names if name not in SWEEPS]:
        p.error(f"no such sweep: {', '.join(unknown)}; there are "
                + ", ".join(SWEEPS))
    engine = tenon.Engine(args.threads)
    table = {}
    for name in names:
        make, points = SWEEPS[name]
        points = [n for n in args.points or points
                  if not args.limit or n <= args.limit]
        if args.write:
            write(args.write, name, points)
            continue
        rows = table[name] = []
        for n in points:
            compiled, executed = measure(engine, make(n), args.rounds,
                                         args.slice)
            rows.append((n, compiled, executed))
            print(f"{name:12} {n:6}   compile {compiled * 1e3:9.1f} ms   "
                  f"execution {executed * 1e6:11.1f} us", flush=True)
        if len(points) > 2:
            growth = [exponent(points, [r[i] for r in rows]) for i in (1, 2)]
            print(f"{name:12} grows by: compile {growth[0]:.2f}, execution "
                  f"{growth[1]:.2f}\n", flush=True)
    if args.csv:
        with open(args.csv, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["sweep", "point", "compile_s", "execution_s"])
            writer.writerows([name, *row] for name, rows in table.items()
                             for row in rows)
    if args.plot:
        plot(args.plot, table)


if __name__ == "__main__":
    main()
