# SPDX-License-Identifier: Apache-2.0
"""Where built files go when they are installed."""

def _installed_files_impl(ctx):
    lines = []
    files = []
    for target, to in ctx.attr.files.items():
        built = target.files.to_list()
        if len(built) != 1:
            fail("%s is %d files" % (target.label, len(built)))
        lines.append("%s %s\n" % (to, built[0].short_path))
        files += built
    manifest = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(manifest, "".join(lines))
    return [DefaultInfo(
        files = depset([manifest]),
        runfiles = ctx.runfiles(files = files + [manifest]),
    )]

_installed_files = rule(
    implementation = _installed_files_impl,
    attrs = {"files": attr.label_keyed_string_dict(allow_files = True)},
    doc = "Writes the list `DESTINATION FILE` of the targets, and brings them.",
)

def installed_files(name, files):
    """`files`: destination below the prefix -> target of one file."""
    _installed_files(
        name = name,
        files = {target: to for to, target in files.items()},
    )
