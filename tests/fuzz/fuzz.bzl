# SPDX-License-Identifier: Apache-2.0
"""Fuzz targets: a libFuzzer program and a test that replays the corpus."""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")

def fuzz_target(name, srcs, deps):
    """NAME_fuzz for run.sh, NAME_replay_test for ordinary builds.

    Args:
      name: of the target and of its folder below corpus.
      srcs: defines LLVMFuzzerTestOneInput.
      deps: of srcs.
    """
    seeds = native.glob(["corpus/" + name + "/*"])
    cc_library(
        name = name + "_target",
        testonly = True,
        srcs = srcs + ["Fuzz.h"],
        deps = deps + ["//dialects/support:error"],
        alwayslink = True,
    )

    # Needs --config=fuzz, hence only by hand.
    cc_binary(
        name = name + "_fuzz",
        testonly = True,
        linkopts = ["-fsanitize=fuzzer"],
        tags = ["manual"],
        deps = [":" + name + "_target"],
    )
    cc_test(
        name = name + "_replay_test",
        srcs = [
            "Fuzz.h",
            "Replay.cpp",
        ],
        args = ["$(location %s)" % seed for seed in seeds],
        data = seeds,
        deps = [
            ":" + name + "_target",
            "//dialects/support:error",
        ],
    )
