# SPDX-License-Identifier: Apache-2.0
"""Linking LLVM's static libraries where everything else links the shared ones."""

def _with_static_llvm_impl(ctx):
    """The dependency, with the static libraries in place of the shared ones.

    Which of them a program links is no part of how files are compiled, so that
    nothing is compiled twice, as it would be in another configuration.
    """
    static = ctx.attr._static[CcInfo].linking_context.linker_inputs
    shared = ctx.attr._shared.label
    kept = [
        given
        for given in ctx.attr.dep[CcInfo].linking_context.linker_inputs.to_list()
        if given.owner != shared
    ]
    return [CcInfo(
        compilation_context = ctx.attr.dep[CcInfo].compilation_context,
        linking_context = cc_common.create_linking_context(
            linker_inputs = depset(kept, transitive = [static], order = "topological"),
        ),
    )]

with_static_llvm = rule(
    implementation = _with_static_llvm_impl,
    attrs = {
        "dep": attr.label(providers = [CcInfo], mandatory = True),
        "_static": attr.label(default = "@llvm//:mlir_static"),
        "_shared": attr.label(default = "@llvm//:mlir_shared"),
    },
    provides = [CcInfo],
)
