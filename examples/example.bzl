# SPDX-License-Identifier: Apache-2.0
"""A folder of examples/: a program and what tests it."""

def example(name, graphs, deps = ["//examples:graph_builder"]):
    """Declares the example `name`, whose program writes the files `graphs`."""
    native.cc_binary(
        name = name,
        srcs = [name + ".cpp"],
        visibility = ["//visibility:public"],
        deps = deps,
    )
    native.exports_files(graphs)
    native.filegroup(
        name = "graphs",
        srcs = graphs,
        visibility = ["//visibility:public"],
    )
    native.sh_test(
        name = name + "_test",
        size = "small",
        srcs = ["//examples:check_example.sh"],
        args = ["$(location :%s)" % name] +
               ["$(location %s)" % g for g in graphs],
        data = [":" + name] + graphs,
    )

def api_example(name, args = [], deps = ["//examples:check"]):
    """Declares the example `name`, a program of the C or C++ interface.

    It checks itself: to test it is to run it, with `args`.
    """
    in_cpp = name.endswith("_cpp")
    source = name + (".cpp" if in_cpp else ".c")
    native.cc_test(
        name = name,
        size = "small",
        srcs = [source],
        args = args,
        copts = [
            "-std=c++17" if in_cpp else "-std=c11",
            "-pedantic",
            "-Werror",
        ],
        linkopts = [
            "-lm",
            "-pthread",
        ],
        deps = ["//compiler/api:tenon"] + deps,
    )
    native.exports_files([source])
