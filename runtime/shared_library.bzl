# SPDX-License-Identifier: Apache-2.0
"""A shared library under the name that programs load it by."""

def shared_library(name, exports, deps, linkopts = []):
    """Declares lib`name`.so and, as :soname, lib`name`.so.0.

    Args:
      name: of the library, without lib
      exports: the version script: what it exports
      deps: what it is made of
      linkopts: further options
    """
    library = "lib%s.so" % name
    native.cc_binary(
        name = library,
        additional_linker_inputs = [exports],
        linkopts = [
            "-Wl,--version-script=$(location %s)" % exports,
            "-Wl,-soname,%s.0" % library,
        ] + linkopts,
        linkshared = True,
        deps = deps,
    )
    native.genrule(
        name = "soname",
        srcs = [":" + library],
        outs = [library + ".0"],
        cmd = "cp $< $@",
    )
