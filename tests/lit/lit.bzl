# SPDX-License-Identifier: Apache-2.0
"""lit_tests(): one Bazel test for all .mlir files of a package."""

_TOOLS = [
    "//tools/tenon-opt",
    "@llvm//:bin/FileCheck",
    "@llvm//:bin/not",
]

def lit_tests(name = "lit", srcs = None, tools = [], **kwargs):
    """A test `name` that runs lit over `srcs` (default: **/*.mlir)."""
    srcs = srcs or native.glob(["**/*.mlir"])
    tools = _TOOLS + tools
    native.sh_test(
        name = name,
        srcs = ["//tests/lit:run_lit.sh"],
        args = [
            "$(rootpath @llvm//:bin/lit)",
            "$(rootpath //tests/lit:lit.cfg.py)",
        ] + ["$(rootpath %s)" % tool for tool in tools] + ["--"] +
               ["$(rootpath %s)" % src for src in srcs],
        data = srcs + tools + [
            "//tests/lit:lit.cfg.py",
            "@llvm//:bin/lit",
        ],
        size = kwargs.pop("size", "small"),
        **kwargs
    )
