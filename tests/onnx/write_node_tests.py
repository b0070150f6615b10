# SPDX-License-Identifier: Apache-2.0
"""Writes the node tests that the Python package onnx builds in memory.

    python3 tests/onnx/write_node_tests.py FOLDER
    TENON_ONNX_NODE_TESTS=FOLDER bazel test //tests/onnx:onnx_cases_test \\
        --test_env=TENON_ONNX_NODE_TESTS

Needs the packages onnx, of the version whose cases are wanted, and numpy.
"""

import pathlib
import sys
import warnings

from onnx.backend.test.case import node

from case_files import write_case


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    warnings.simplefilter("ignore")
    count = 0
    for case in node.collect_testcases(None):
        inputs, outputs = case.data_sets[0]
        try:
            write_case(folder / case.name, case.model, inputs, outputs)
            count += 1
        except Exception as error:
            print(f"{case.name}: {error}", file=sys.stderr)
    print(f"{count} cases in {folder}")


if __name__ == "__main__":
    main()
