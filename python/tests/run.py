#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs all tests of this folder; see ../run_tests.sh.

  run.py [--all] [--real=FOLDER] [--results=FILE]
"""
import argparse
from concurrent import futures
import json
import logging
import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).parent


class Results(unittest.TextTestResult):
    """Keeps the names of what passed."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.passed = []

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed.append(test.id())


def run_command(name, *arguments):
    """A program as one test: (name, whether it passed). It has one thread, for
    other tests run beside it."""
    done = subprocess.run([sys.executable, str(HERE / name), *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, env=dict(os.environ, OMP_NUM_THREADS="1"))
    print(f"{name} {' '.join(arguments)}:\n{done.stdout}", flush=True)
    return " ".join([name, *arguments]), done.returncode == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--real")
    parser.add_argument("--results")
    args = parser.parse_args()
    sys.path.insert(0, str(HERE))
    logging.getLogger("torch").setLevel(logging.ERROR)
    if args.all:
        lists = [(program, f"--dtype={d}", *g)
                 for program in ("opinfo.py", "moduleinfo.py")
                 for d in ("float32", "bfloat16") for g in ((), ("--grad",))]
        lists.append(("models.py",))
    else:
        lists = [("opinfo.py", "--every=9", "--samples=1"),
                 ("opinfo.py", "--every=23", "--samples=1", "--grad"),
                 ("moduleinfo.py", "--every=5", "--samples=1"),
                 ("moduleinfo.py", "--every=7", "--samples=1", "--grad"),
                 ("models.py", "--models=bert,mistral",
                  "--tasks=sizes,dynamic_cache,sgd")]
    if args.real:
        lists.append(("models.py", f"--real={args.real}"))
    with futures.ThreadPoolExecutor(1) as beside:
        commands = [beside.submit(run_command, *c) for c in lists]
        suite = unittest.defaultTestLoader.discover(str(HERE))
        run = unittest.TextTestRunner(resultclass=Results).run(suite)
        passed = list(run.passed)
        failed = [test.id() for test, _ in run.failures + run.errors]
        skipped = [test.id() for test, _ in run.skipped]
    for command in commands:
        name, good = command.result()
        (passed if good else failed).append(name)
    if args.results:
        with open(args.results, "w", encoding="utf-8") as file:
            json.dump({"passed": passed, "failed": failed, "skipped": skipped},
                      file)
    for name in failed:
        print("FAILED", name)
    print(f"python: {len(passed)} passed, {len(failed)} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
