#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes compile_commands.json for clangd and clang-tidy from Bazel's actions.

    bazel build //... && python3 tools/compdb.py [TARGETS]

TARGETS is a pattern of Bazel, //... if absent. Build before: generated headers
are read from bazel-out. Paths are relative to Bazel's execution root, whose
links lead back to this tree, so that an editor opens the files here.
"""

import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = (".c", ".cc", ".cpp")


def query(targets):
    """Bazel's C and C++ compilations, as its protocol writes them."""
    output = subprocess.run(
        ["bazel", "aquery", f'mnemonic("CppCompile", {targets})',
         "--output=jsonproto", "--include_artifacts=false"],
        cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return json.loads(output.stdout).get("actions", [])


def execution_root():
    info = subprocess.run(["bazel", "info", "execution_root"], cwd=ROOT,
                          stdout=subprocess.PIPE, text=True, check=True)
    return info.stdout.strip()


def entries(actions, directory):
    """One entry for each source of this tree; of several compilations of a
    file, as for sanitizers, the first."""
    seen = {}
    for action in actions:
        arguments = action["arguments"]
        sources = [a for a in arguments if a.endswith(SOURCES)]
        if not sources or sources[-1] in seen:
            continue
        source = sources[-1]
        if os.path.exists(os.path.join(ROOT, source)):
            seen[source] = {"directory": directory, "arguments": arguments,
                            "file": os.path.join(ROOT, source)}
    return [seen[source] for source in sorted(seen)]


def main():
    targets = sys.argv[1] if len(sys.argv) > 1 else "//..."
    commands = entries(query(targets), execution_root())
    path = os.path.join(ROOT, "compile_commands.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(commands, file, indent=1)
        file.write("\n")
    print(f"{path}: {len(commands)} files")


if __name__ == "__main__":
    main()
