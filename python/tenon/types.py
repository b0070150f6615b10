# SPDX-License-Identifier: Apache-2.0
"""Element types, and logical tensors from Python's values."""
from __future__ import annotations

import ctypes as c
from typing import Sequence

from tenon import _abi
from tenon.errors import error
from tenon.library import check, lib

UNKNOWN_DIM = _abi.TENON_UNKNOWN_DIM

#: Numbers of element types by name: "f32", "bf16", "s64", "boolean", ...
DTYPES = {name.removeprefix("TENON_").lower(): getattr(_abi, name)
          for name in _abi.ENUMERATIONS["tenon_dtype"]
          if name != "TENON_UNDEF"}
DTYPE_NAMES = {value: name for name, value in DTYPES.items()}


def dtype_number(name: str) -> int:
    """Errors: BadDType."""
    try:
        return DTYPES[name]
    except KeyError:
        raise error("BadDType", f"{name!r} is no element type",
                    "one of " + ", ".join(DTYPES)) from None


def logical_tensor(number: int, dtype: str, shape: Sequence[int] | None,
                   strides: Sequence[int] | None = None,
                   property: int = _abi.TENON_PROPERTY_VARIABLE,
                   layout: int = _abi.TENON_LAYOUT_STRIDED):
    """A tenon_logical_tensor with the id `number`. `shape` None: the rank is
    not known; UNKNOWN_DIM in it: a size is not. Without `strides` (in elements)
    it is dense and row-major. Errors: BadDType, BadRank, BadDim, BadStride."""
    made = _abi.tenon_logical_tensor()
    kind = dtype_number(dtype)
    if shape is None:
        check(lib.tenon_logical_tensor_init(
            c.byref(made), number, kind, _abi.TENON_UNKNOWN_RANK, None,
            _abi.TENON_LAYOUT_UNDEF, property))
        return made
    sizes = (c.c_int64 * len(shape))(*shape)
    if strides is None:
        check(lib.tenon_logical_tensor_init(c.byref(made), number, kind,
                                            len(shape), sizes, layout,
                                            property))
    else:
        check(lib.tenon_logical_tensor_init_strided(
            c.byref(made), number, kind, len(shape), sizes,
            (c.c_int64 * len(shape))(*strides), property))
    return made


def shape_of(tensor) -> tuple[int | None, ...] | None:
    """The sizes of a tenon_logical_tensor; None where they are not known."""
    if tensor.rank < 0:
        return None
    return tuple(None if d == UNKNOWN_DIM else d
                 for d in tensor.dims[:tensor.rank])


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Of a row-major tensor."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))
