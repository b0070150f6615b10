# SPDX-License-Identifier: Apache-2.0
"""The shared library, and calls that raise."""
from __future__ import annotations

import ctypes as c
import os
import pathlib

from tenon import _abi
from tenon.errors import TenonError


class _Library:
    """Functions by name; each gets its types when it is first used.

    `owner` is c.CDLL, whose functions let other threads of Python run, or
    c.PyDLL for those that read objects of Python.
    """

    def __init__(self, owner):
        self._owner = owner

    def __getattr__(self, name):
        function = getattr(self._owner, name)
        function.restype, function.argtypes = _abi.FUNCTIONS[name]
        setattr(self, name, function)
        return function


def _path() -> str:
    """$TENON_LIBRARY, or what was installed with the package."""
    return os.environ.get("TENON_LIBRARY") or str(
        pathlib.Path(__file__).with_name("libtenon.so.0"))


# No symbol of the library is seen by others (RTLD_LOCAL), nor of another LLVM in
# the process by it.
lib = _Library(c.CDLL(_path(), mode=c.RTLD_LOCAL))
python_lib = _Library(c.PyDLL(_path(), mode=c.RTLD_LOCAL))


def check(status: int) -> None:
    """Raises TenonError unless `status` is success."""
    if status:
        raise last_error()


def last_error() -> TenonError:
    """The last error of this thread."""
    e = lib.tenon_last_error().contents

    def text(value):
        return value.decode(errors="replace")

    return TenonError(e.status, text(e.message), op_kind=text(e.op_kind),
                      op_name=text(e.op_name), op_id=e.op_id,
                      hint=text(e.hint), text=text(e.text))


class Handle:
    """Owns an object of the library: made by tenon_<kind>_create or another
    function, destroyed with the last reference."""

    __slots__ = ("address", "kind", "_destroy")

    def __init__(self, kind: str, address):
        self.kind = kind
        self.address = address
        # Modules may be gone when the interpreter ends.
        self._destroy = getattr(lib, f"tenon_{kind}_destroy")

    @classmethod
    def make(cls, kind: str, function: str, *arguments) -> "Handle":
        """What a function yields through its last argument."""
        made = c.c_void_p()
        check(getattr(lib, function)(*arguments, c.byref(made)))
        return cls(kind, made)

    @property
    def _as_parameter_(self):
        return self.address

    def __del__(self):
        if getattr(self, "address", None):
            self._destroy(self.address)
            self.address = None


def version() -> str:
    """Such as "0.1.0"."""
    v = lib.tenon_get_version()
    return f"{v.major}.{v.minor}.{v.patch}"
