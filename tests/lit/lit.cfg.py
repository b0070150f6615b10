# SPDX-License-Identifier: Apache-2.0
"""lit configuration for every directory of .mlir tests (see run_lit.sh)."""
import os

import lit.formats

config.name = "tenon"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(os.path.realpath(__file__))
config.test_exec_root = os.environ.get("TEST_TMPDIR", "/tmp")
config.environment["PATH"] = os.pathsep.join(
    [os.environ["TENON_TOOL_PATH"], os.environ["PATH"]])
for name in ("HOME", "ASAN_OPTIONS", "LSAN_OPTIONS", "TEST_TMPDIR"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
