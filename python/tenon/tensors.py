# SPDX-License-Identifier: Apache-2.0
"""Reading tensors of other libraries, without copies."""
from __future__ import annotations

import ctypes as c
import math
from typing import Any, NamedTuple, Sequence

from tenon import _abi
from tenon.errors import error
from tenon.library import lib, python_lib
from tenon.results import ML_DTYPES
from tenon.types import DTYPE_NAMES, dtype_number

_CPU = 1

# Codes of DLPack for the letters of NumPy's type strings.
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
# Types that NumPy knows by their size only, by the names that ml_dtypes gives
# them: code and bits.
_NAMED = {"bfloat16": (4, 16), "float8_e4m3fn": (10, 8), "float8_e5m2": (12, 8),
          "float8_e8m0fnu": (14, 8)}


class Description(NamedTuple):
    """Where the elements of a tensor are; strides in elements or None (dense).
    `keep` must live as long as the memory is used."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    address: int
    keep: Any


class View:
    """The memory of an object as a dense tensor of another element type, for
    types that the object has no name for:

        tenon.View(bits, "bf16")             # an array of 16-bit integers
        tenon.View(pairs, "s4", (64, 32))    # bytes, two elements in each, the
                                             # first in the low half

    Without a shape it has that of the object.
    Errors: BadDType, BadTensorData, ShapeMismatch.
    """

    __slots__ = ("memory", "dtype", "shape", "_code", "_bits", "_address")

    def __init__(self, memory: Any, dtype: str,
                 shape: Sequence[int] | None = None):
        buffer = _buffer_of(memory)
        if not buffer.c_contiguous:
            raise error("BadTensorData", "the memory is not dense")
        self.memory = memory
        self.dtype = dtype
        self.shape = tuple(buffer.shape if shape is None else shape)
        self._code, self._bits = _code_of(dtype)
        self._address = _address_of(buffer)
        if (math.prod(self.shape) * self._bits + 7) // 8 != buffer.nbytes:
            raise error("ShapeMismatch", f"{buffer.nbytes} bytes are not "
                        f"{self.shape} elements of {dtype}")

    def fill(self, tensor):
        """Describes it; what is returned must live as long as `tensor`."""
        return _set(tensor, self._address, self._code, self._bits, self.shape,
                    None, self)


class _ExchangeApi(c.Structure):
    """What a framework gives for fast access, from version 1.2 of DLPack on."""

    _fields_ = [("major", c.c_uint32), ("minor", c.c_uint32),
                ("previous", c.c_void_p), ("allocate", c.c_void_p),
                ("managed_from_object", c.c_void_p),
                ("object_from_managed", c.c_void_p),
                ("tensor_from_object", c.c_void_p),
                ("current_stream", c.c_void_p)]


_pointer_of = c.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = c.c_void_p
_pointer_of.argtypes = [c.py_object, c.c_char_p]
#: PyList_GetItem as an address, for tenon_dltensors_read.
LIST_ITEM = c.cast(c.pythonapi.PyList_GetItem, c.c_void_p)

_readers: dict[type, int | None] = {}


def reader(kind: type) -> int | None:
    """The address of the function that describes objects of a type, or None."""
    try:
        return _readers[kind]
    except KeyError:
        pass
    capsule = getattr(kind, "__dlpack_c_exchange_api__", None)
    found = None
    if capsule is not None:
        api = _ExchangeApi.from_address(
            _pointer_of(capsule, b"dlpack_exchange_api"))
        if api.major == 1:
            found = api.tensor_from_object
    _readers[kind] = found
    return found


def fill(tensors, values: Sequence[Any]) -> list:
    """Describes values in an array of tenon_dltensor. What is returned must live
    as long as the array is used. Errors: BadTensorData, BadDType."""
    keep = []
    for tensor, value in zip(tensors, values):
        keep.append(_fill(tensor, value))
    return keep


def describe(value: Any) -> Description:
    """Errors: BadTensorData (no tensor, or not in the memory of the CPU),
    BadDType."""
    tensor = _abi.tenon_dltensor()
    keep = _fill(tensor, value)
    if tensor.device_type != _CPU:
        raise error("BadTensorData", "the tensor is in the memory of device type "
                    f"{tensor.device_type}, only that of the CPU can be used")
    kind = lib.tenon_dltensor_get_dtype(c.byref(tensor))
    if kind not in DTYPE_NAMES:
        raise error("BadDType", f"elements of {type(value).__name__} with code "
                    f"{tensor.dtype_code} and {tensor.dtype_bits} bits are not "
                    "known")
    rank = tensor.ndim

    def numbers(address):
        return tuple((c.c_int64 * rank).from_address(address)) if rank else ()

    return Description(DTYPE_NAMES[kind], numbers(tensor.shape),
                       numbers(tensor.strides) if tensor.strides else None,
                       (tensor.data or 0) + tensor.byte_offset, (value, keep))


def _fill(tensor, value):
    read = reader(type(value))
    if read:
        held = [value]
        status = python_lib.tenon_dltensors_read(LIST_ITEM, read, id(held), 1,
                                                 c.byref(tensor))
        if status:
            raise error("BadTensorData",
                        f"{type(value).__name__} cannot be read by DLPack")
        return value
    if isinstance(value, View):
        return value.fill(tensor)
    if hasattr(value, "__array_interface__"):
        return _fill_from_array(tensor, value)
    if hasattr(value, "__dlpack__"):
        return _fill_from_capsule(tensor, value)
    return _fill_from_buffer(tensor, value)


def _fill_from_array(tensor, value):
    about = value.__array_interface__
    kind, size = about["typestr"][1], int(about["typestr"][2:])
    if about["typestr"][0] == ">":
        raise error("BadDType", "the bytes of the elements are in the order of "
                    "another machine", "value.astype(value.dtype.newbyteorder())")
    code, bits = _CODES.get(kind), 8 * size
    if code is None:
        name = getattr(getattr(value, "dtype", None), "name", "?")
        if name not in _NAMED:
            raise error("BadDType", f"elements of {name} are not known")
        code, bits = _NAMED[name]
    strides = about.get("strides")
    return _set(tensor, about["data"][0], code, bits, about["shape"],
                strides and _elements(strides, size), value)


def _fill_from_capsule(tensor, value):
    capsule = value.__dlpack__()
    source = _abi.tenon_dltensor.from_address(_pointer_of(capsule, b"dltensor"))
    c.memmove(c.byref(tensor), c.byref(source), c.sizeof(tensor))
    return capsule, value


def _buffer_of(value):
    try:
        return memoryview(value)
    except TypeError:
        raise error("BadTensorData", f"{type(value).__name__} has neither DLPack "
                    "nor the buffer protocol") from None


def _address_of(view):
    buffer = _Buffer()
    c.pythonapi.PyObject_GetBuffer(c.py_object(view), c.byref(buffer), 0x18)
    address = buffer.buf
    c.pythonapi.PyBuffer_Release(c.byref(buffer))
    return address


def _code_of(dtype):
    """Code and bits of DLPack. Errors: BadDType."""
    dtype_number(dtype)
    if dtype in ML_DTYPES:
        return _NAMED[ML_DTYPES[dtype]]
    if dtype == "boolean":
        return _CODES["b"], 8
    return _CODES["i" if dtype[0] == "s" else dtype[0]], int(dtype[1:])


def _fill_from_buffer(tensor, value):
    view = _buffer_of(value)
    kinds = {"f": 2, "d": 2, "e": 2, "?": 6, "b": 0, "i": 0, "l": 0, "q": 0,
             "B": 1}
    if view.format not in kinds:
        raise error("BadDType", f"elements of format {view.format!r} are not "
                    "known")
    return _set(tensor, _address_of(view), kinds[view.format], 8 * view.itemsize,
                view.shape, _elements(view.strides, view.itemsize), view)


class _Buffer(c.Structure):
    """Py_buffer."""

    _fields_ = [("buf", c.c_void_p), ("obj", c.c_void_p),
                ("len", c.c_ssize_t), ("itemsize", c.c_ssize_t),
                ("readonly", c.c_int), ("ndim", c.c_int),
                ("format", c.c_char_p), ("shape", c.c_void_p),
                ("strides", c.c_void_p), ("suboffsets", c.c_void_p),
                ("internal", c.c_void_p)]


def _elements(strides, size):
    if any(s % size for s in strides):
        raise error("BadStride", f"strides of {tuple(strides)} bytes are no "
                    f"multiples of elements of {size}")
    return tuple(s // size for s in strides)


def _set(tensor, address, code, bits, shape, strides, keep):
    rank = len(shape)
    sizes = (c.c_int64 * rank)(*shape)
    steps = strides and (c.c_int64 * rank)(*strides)
    tensor.data = address
    tensor.device_type = _CPU
    tensor.device_id = 0
    tensor.ndim = rank
    tensor.dtype_code, tensor.dtype_bits, tensor.dtype_lanes = code, bits, 1
    tensor.shape = c.addressof(sizes)
    tensor.strides = c.addressof(steps) if steps else None
    tensor.byte_offset = 0
    return keep, sizes, steps
