# SPDX-License-Identifier: Apache-2.0
"""A shared library under the name that programs load it by."""

def shared_library(name, exports, deps, linkopts = [], soname = None):
    """Declares lib`name`.so and, unless `soname` says it, lib`name`.so.0.

    Args:
      name: of the library, without lib
      exports: the version script: what it exports
      deps: what it is made of
      linkopts: further options
      soname: by which programs load it
    """
    library = "lib%s.so" % name
    native.cc_binary(
        name = library,
        additional_linker_inputs = [exports],
        linkopts = [
            "-Wl,--version-script=$(location %s)" % exports,
            "-Wl,-soname,%s" % (soname or library + ".0"),
        ] + linkopts,
        linkshared = True,
        deps = deps,
    )
    if not soname:
        native.genrule(
            name = "soname",
            srcs = [":" + library],
            outs = [library + ".0"],
            cmd = "cp $< $@",
        )
