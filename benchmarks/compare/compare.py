#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tenon and its peers on the same work, in turns, in one run.

    bazel run //python:wheel -- dist
    python3 -m venv env && env/bin/pip install numpy dist/tenon-*.whl
    env/bin/python benchmarks/compare/compare.py [--suite matmul,rows] [--threads 1]

Peers come from PyPI: torch==2.13.0 onnx onnxruntime openvino jax, and onednn
with intel-opencl-rt for recurrent layers; those that are absent are named. Each
result is compared with Tenon's before anything is timed. A figure is the median
over rounds of the time of one execution; in each round every peer runs once for
the same time. The ratio is the best peer's time by Tenon's: above 1, Tenon is
faster. Quantised models are timed beside the same in f32 ("tenon f32"), which
is no peer. Each number of threads is a process on as many CPUs, for not every
peer keeps to the number it is told.
"""

import argparse
import concurrent.futures
import csv
import math
import multiprocessing
import os
import platform
import statistics
import sys
import time

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases  # noqa: E402
import gradients  # noqa: E402
import indexing  # noqa: E402
import models  # noqa: E402
import onednn_recurrent  # noqa: E402
import peers  # noqa: E402
import recurrent  # noqa: E402
import tenon  # noqa: E402


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--suite", help="suites, separated by commas; all if absent")
    p.add_argument("--filter", help="only cases whose name holds this text")
    p.add_argument("--peers", help="names, separated by commas")
    p.add_argument("--threads", default="1", help="such as 1,2")
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--slice", type=float, default=0.05,
                   help="seconds of one peer in one round")
    p.add_argument("--csv", help="file for the table")
    p.add_argument("--plot", help="file for a picture (needs matplotlib)")
    return p.parse_args()


def start_peers(names, threads):
    started = []
    for peer in [onednn_recurrent.Recurrent] + peers.ALL:
        if names and peer.name not in names:
            continue
        try:
            started.append(peer(threads))
        except ImportError as error:
            print(f"absent: {peer.name} ({error})")
    return started


CALM_SECONDS = 0.1
WIDE = "tenon f32"  # no peer


def time_of(run, seconds):
    """Seconds of one execution, over about that time."""
    count, start = 0, time.perf_counter()
    while True:
        run()
        count += 1
        now = time.perf_counter()
        if now - start >= seconds:
            return (now - start) / count


def disagreement(results, expected):
    """The largest difference relative to the largest value."""
    worst = 0
    for r, e in zip(results, expected):
        scale = max(1e-30, float(np.abs(e).max()))
        r = np.asarray(r, np.float32)
        worst = max(worst, float(np.abs(r - e).max()) / scale)
    return worst


def prepare(case, engine, started, threads):
    """Runners by name; those whose results differ are told and left out."""
    values = case.aligned_values()
    run, results = case.prepare(case.graph(values).compile(engine), values)
    run()
    expected = [cases.from_bf16(r) if case.dtype(n) == "bf16"
                else r.astype(np.float32)
                for n, r in zip(case.outputs(), results)]
    # One step of a quantised result, a few of bf16's roundings, which add up
    # from product to product.
    products = sum(op.kind in ("MatMul", "Convolution") for op in case.ops)
    exact = case.suite == "weights" or not case.narrow()
    allowed = 1e-3 if exact else 2e-2 * max(1, products / 8) ** 0.5
    runners = {"tenon": run}
    for peer in started:
        try:
            run = peer.prepare(case, values, threads)
            result = run()
        except peers.Missing:
            continue
        except Exception as error:  # a peer's failure is a row, not the end
            print(f"  {peer.name} fails: {str(error).splitlines()[0][:90]}")
            continue
        if hasattr(run, "results"):
            result = run.results()
        difference = disagreement(result, expected)
        if not difference < allowed:
            print(f"  {peer.name} differs by {difference:.1e}: not timed")
            continue
        runners[peer.name] = run
    if case.wide:
        values = case.wide.aligned_values()
        runners[WIDE] = case.wide.prepare(
            case.wide.graph(values).compile(engine), values)[0]
    return runners


def measure(runners, rounds, seconds):
    for run in runners.values():
        time_of(run, seconds / 2)  # warm
    times = {name: [] for name in runners}
    for i in range(rounds):
        order = list(runners)
        for name in order if i % 2 else reversed(order):
            # Threads of the one before spin for a while (tens of
            # milliseconds, those of ONNX Runtime).
            time.sleep(CALM_SECONDS)
            runners[name]()
            times[name].append(time_of(runners[name], seconds))
    return {name: statistics.median(t) for name, t in times.items()}


def rate(case, seconds):
    if case.flops:
        return f"{case.flops / seconds * 1e-9:.0f} GFLOP/s"
    return f"{case.bytes / seconds * 1e-9:.0f} GB/s"


def report(case, threads, times, rows):
    best = min(((t, n) for n, t in times.items()
                if n not in ("tenon", WIDE)), default=(math.nan, "none"))
    ratio = best[0] / times["tenon"]
    rows.append({"suite": case.suite, "case": case.name, "threads": threads,
                 "ratio": ratio, "best": best[1],
                 **{n: t * 1e6 for n, t in times.items()}})
    others = "  ".join(f"{n} {t * 1e6:.0f}" for n, t in times.items()
                       if n != "tenon")
    print(f"{case.suite:12} {case.name:34} {threads} "
          f"{times['tenon'] * 1e6:9.1f} us {rate(case, times['tenon']):>13} "
          f"{ratio:6.2f}x  [{others}]", flush=True)


def summary(rows):
    print("\nsuite        threads  cases  geomean  worst")
    for key in sorted({(r["suite"], r["threads"]) for r in rows}):
        ratios = [r["ratio"] for r in rows
                  if (r["suite"], r["threads"]) == key
                  and not math.isnan(r["ratio"])]
        if ratios:
            mean = math.exp(statistics.fmean(map(math.log, ratios)))
            print(f"{key[0]:12} {key[1]:7} {len(ratios):6} {mean:7.2f}x "
                  f"{min(ratios):5.2f}x")


def write_csv(path, rows):
    columns = []
    for row in rows:
        columns += [c for c in row if c not in columns]
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


def plot(path, rows):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(8, 0.24 * len(rows) + 1))
    names = [f"{r['suite']}: {r['case']} ({r['threads']})" for r in rows]
    axes.barh(names, [r["ratio"] for r in rows],
              color=["#2a7" if r["ratio"] >= 1 else "#c54" for r in rows])
    axes.axvline(1, color="black")
    axes.set_xlabel("time of the best peer / time of Tenon")
    axes.invert_yaxis()
    figure.tight_layout()
    figure.savefig(path)


def run_suites(args, threads):
    """The rows of one number of threads."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    engine = tenon.Engine(threads)
    started = start_peers(args.peers and args.peers.split(","), threads)
    print(f"tenon {tenon.version()}, "
          + ", ".join(f"{p.name} {p.version}" for p in started)
          + f"; {platform.machine()}, {threads} threads")
    rows = []
    for case in (cases.all_cases() + gradients.cases()
                 + models.all_models() + recurrent.cases()
                 + indexing.cases()):
        if args.suite and case.suite not in args.suite.split(","):
            continue
        if args.filter and args.filter not in case.name:
            continue
        try:
            runners = prepare(case, engine, started, threads)
        except tenon.TenonError as error:
            print(f"{case.suite:12} {case.name:34} tenon fails: {error}")
            continue
        times = measure(runners, args.rounds, args.slice)
        report(case, threads, times, rows)
    return rows


def main():
    args = parse()
    rows = []
    for threads in map(int, args.threads.split(",")):
        with concurrent.futures.ProcessPoolExecutor(
                1, multiprocessing.get_context("spawn")) as process:
            rows += process.submit(run_suites, args, threads).result()
    summary(rows)
    if args.csv:
        write_csv(args.csv, rows)
    if args.plot:
        plot(args.plot, rows)


if __name__ == "__main__":
    main()
