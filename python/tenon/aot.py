# SPDX-License-Identifier: Apache-2.0
"""Compiled models as objects and libraries for C programs."""
from __future__ import annotations

import ctypes as c
import os
import pathlib
from typing import TYPE_CHECKING, Sequence

from tenon import _abi
from tenon.library import check, lib

if TYPE_CHECKING:
    from tenon.model import Model

#: The folder of the C headers that programs include.
INCLUDE = pathlib.Path(__file__).with_name("include")
#: The runtime that programs link with exported code.
RUNTIME = pathlib.Path(__file__).with_name("libtenon_rt.so.0")

Path = str | os.PathLike


def export(model: "Model", path: Path, *, header: Path | None = None,
           weights: Path | None = None, name: str | None = None,
           targets: Sequence[str] = (), triple: str | None = None,
           pack_constants: str = "auto", link: Sequence[Path] = (),
           linker: Path | None = None) -> None:
    """Writes a model as code that C programs link with the runtime and that
    tenon.load reads.

    path: an object (.o), a library (.so, which needs a linker) or an archive
        (.a).
    header: a C header with a function to run the model.
    weights: a file for the values of constants, otherwise part of the code.
    name: begins the names of all functions; that of the file by default.
    targets: CPUs such as "x86-64-v3"; the best that a machine has is used.
        Without it there is code for the engine's, which is this machine.
    triple: another machine, such as "aarch64-linux-gnu".
    pack_constants: "compile", "load" or "auto".
    link: further files of a library, such as tenon.RUNTIME.
    linker: a program like ld; ld.lld or ld by default.
    Errors: BadOption, UnsupportedTarget, CannotRead (no linker), CannotWrite,
    those of compiling.
    """
    options = _abi.tenon_export_options()
    lib.tenon_export_options_init(c.byref(options))
    texts = {"output": path, "header": header, "weights": weights, "name": name,
             "targets": ",".join(targets) or None, "triple": triple,
             "packing": pack_constants, "linker": linker}
    for field, value in texts.items():
        setattr(options, field, value and os.fsencode(os.fspath(value)))
    options.num_links = len(link)
    links = (c.c_char_p * len(link))(*[os.fsencode(os.fspath(f)) for f in link])
    options.links = c.addressof(links)
    constants = (c.c_void_p * len(model.constants))(
        *[bound.address for bound in model.constants])
    code = model.code
    check(lib.tenon_compiled_partition_export(
        code.compiled, code.engine._handle, len(constants), constants,
        c.byref(options)))
