#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts test cases from Bazel's build event files.

count_results.py EVENTS...   (as --build_event_json_file writes them, or files
                              *.results.json of python/run_tests.sh)

A GoogleTest program counts one per test, a lit target one per .mlir file, any
other test one. A target that did not build, timed out or died counts as one
failure beside the cases it finished. Prints what failed, a table, and the last
line `N passed, N failed`. Exit code 1 when anything failed or nothing ran.
"""
import json
import re
import sys
import urllib.parse

GTEST_PASSED = re.compile(r"^\[       OK \] (\S+)", re.M)
# The list of failures at the end of a log has no times.
GTEST_FAILED = re.compile(r"^\[  FAILED  \] (\S+?),?(?: where .*)? \(\d+ ms\)$",
                          re.M)
GTEST_SKIPPED = re.compile(r"^\[  SKIPPED \] (\S+) \(\d+ ms\)$", re.M)
GTEST = re.compile(r"^\[==========\] Running ", re.M)
LIT = re.compile(r"^(PASS|XFAIL|FAIL|XPASS|TIMEOUT|UNRESOLVED|UNSUPPORTED): "
                 r".* :: (\S+) \(\d+ of \d+\)", re.M)


class Target:
    def __init__(self):
        self.is_test = False
        self.built = None
        self.logs = []  # (status, path) per shard or run

    def add_log(self, attempt, result):
        path = None
        for output in result.get("testActionOutput", []):
            if output.get("name") == "test.log" and "uri" in output:
                path = urllib.parse.unquote(
                    urllib.parse.urlparse(output["uri"]).path)
        # A repeated attempt (flaky tests) replaces the one before.
        if attempt > 1 and self.logs:
            self.logs.pop()
        self.logs.append((result.get("status", "NO_STATUS"), path))


class Counts:
    def __init__(self):
        self.passed = self.failed = self.skipped = self.targets = 0
        self.problems = []  # "label: what failed"


def read_events(path, targets):
    """Adds what one file of build events says to `targets`, by label.

    Returns how Bazel ended: "SUCCESS", "TESTS_FAILED", "BUILD_FAILURE", ...
    """
    ended = "did not finish"
    with open(path, encoding="utf-8") as file:
        for line in file:
            event = json.loads(line)
            ident = event.get("id", {})
            if "targetConfigured" in ident:
                label = ident["targetConfigured"]["label"]
                target = targets.setdefault(label, Target())
                target.is_test = "testSize" in event.get("configured", {})
            elif "targetCompleted" in ident:
                label = ident["targetCompleted"]["label"]
                target = targets.setdefault(label, Target())
                target.built = event.get("completed", {}).get("success", False)
            elif "testResult" in ident:
                key = ident["testResult"]
                targets.setdefault(key["label"], Target()).add_log(
                    key.get("attempt", 1), event.get("testResult", {}))
            elif "buildFinished" in ident:
                code = event.get("finished", {}).get("exitCode", {})
                ended = code.get("name", ended)
    return ended


def count_log(label, status, path, counts):
    text = ""
    if path:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
    passed = failed = []
    if GTEST.search(text):
        passed, failed = GTEST_PASSED.findall(text), GTEST_FAILED.findall(text)
        counts.skipped += len(GTEST_SKIPPED.findall(text))
    elif LIT.search(text):
        found = LIT.findall(text)
        passed = [f for s, f in found if s in ("PASS", "XFAIL")]
        counts.skipped += sum(s == "UNSUPPORTED" for s, f in found)
        failed = [f for s, f in found
                  if s not in ("PASS", "XFAIL", "UNSUPPORTED")]
    elif status == "PASSED":
        passed = [label]
    counts.passed += len(passed)
    counts.failed += len(failed)
    counts.problems += [f"{label}: {name}" for name in failed]
    if status != "PASSED" and not failed:
        counts.failed += 1
        counts.problems.append(f"{label}: {status}")


def count_results(path, counts):
    """What another program counted: lists of names."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        found = json.loads(text)
    except ValueError:
        counts.failed += 1
        counts.problems.append(f"{path}: did not finish")
        return
    counts.targets += 1
    counts.passed += len(found["passed"])
    counts.failed += len(found["failed"])
    counts.skipped += len(found["skipped"])
    counts.problems += [f"python: {name}" for name in found["failed"]]


def count(paths):
    counts = Counts()
    for path in paths:
        if path.endswith(".results.json"):
            count_results(path, counts)
            continue
        targets = {}
        ended = read_events(path, targets)
        problems = len(counts.problems)
        for label, target in sorted(targets.items()):
            if target.logs:
                counts.targets += 1
                for status, log in target.logs:
                    count_log(label, status, log, counts)
            elif target.built is False or (target.is_test
                                           and target.built is None):
                counts.failed += 1
                counts.problems.append(f"{label}: did not build")
        # Not even loaded, for example: nothing above has seen it.
        if ended != "SUCCESS" and len(counts.problems) == problems:
            counts.failed += 1
            counts.problems.append(f"{path}: bazel: {ended}")
    return counts


def main():
    counts = count(sys.argv[1:])
    for problem in counts.problems:
        print("FAILED", problem)
    skipped = f", {counts.skipped} cases skipped" if counts.skipped else ""
    print(f"{counts.targets} test targets{skipped}")
    print(f"{counts.passed} passed, {counts.failed} failed")
    sys.exit(counts.failed > 0 or counts.passed == 0)


if __name__ == "__main__":
    main()
