# SPDX-License-Identifier: Apache-2.0
"""graph_test(): a test of graphs that are written as text and compiled."""

def graph_test(name, deps = [], long = False, **kwargs):
    """A test `name`, foo_bar_test, of FooBar_test.cpp.

    Args:
      name: of the target.
      deps: beside the text of graphs and the harness that executes them.
      long: may take the time of a long test, on a busy machine.
      **kwargs: of cc_test.
    """
    words = name.split("_")[:-1]
    native.cc_test(
        name = name,
        timeout = "long" if long else "moderate",
        srcs = ["".join([word.capitalize() for word in words]) + "_test.cpp"],
        deps = deps + [
            ":graph_text",
            "//tests/e2e:harness",
            "@googletest//:gtest_main",
        ],
        **kwargs
    )
