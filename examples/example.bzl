"""A folder of examples/: the program, its graphs, and a test that they agree."""

def example(name, graphs, deps = ["//examples:graph_builder"]):
    """Declares the example `name`, whose program writes the files `graphs`."""
    native.cc_binary(
        name = name,
        srcs = [name + ".cpp"],
        visibility = ["//visibility:public"],
        deps = deps,
    )
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
