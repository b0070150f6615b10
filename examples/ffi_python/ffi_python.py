#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls the C interface as a foreign language does: y = relu(x . w) with
nothing but the shared library and what tenon.h says of its structures.

  ffi_python.py LIBTENON.SO
"""
import ctypes as c
import sys

MAX_RANK = 12
F32, STRIDED, VARIABLE = 3, 2, 1


class LogicalTensor(c.Structure):
    """tenon_logical_tensor"""

    _fields_ = [
        ("id", c.c_uint64),
        ("dtype", c.c_int32),
        ("rank", c.c_int32),
        ("dims", c.c_int64 * MAX_RANK),
        ("layout", c.c_int32),
        ("property", c.c_int32),
        ("strides", c.c_int64 * MAX_RANK),
        ("layout_id", c.c_uint64),
    ]


class LastError(c.Structure):
    """tenon_error"""

    _fields_ = [
        ("status", c.c_int32),
        ("message", c.c_char_p),
        ("op_kind", c.c_char_p),
        ("op_name", c.c_char_p),
        ("op_id", c.c_uint64),
        ("hint", c.c_char_p),
        ("text", c.c_char_p),
    ]


class Tenon:
    """The library; calls that fail raise."""

    def __init__(self, path):
        self.library = c.CDLL(path)
        self.library.tenon_last_error.restype = c.POINTER(LastError)

    def call(self, name, *arguments):
        status = getattr(self.library, "tenon_" + name)(*arguments)
        if status:
            error = self.library.tenon_last_error().contents
            assert error.status == status
            raise RuntimeError(error.text.decode())

    def make(self, name, *arguments):
        """What a call yields through its last argument."""
        made = c.c_void_p()
        self.call(name, *arguments, c.byref(made))
        assert made.value
        return made

    def destroy(self, kind, *handles):
        for handle in handles:
            function = getattr(self.library, f"tenon_{kind}_destroy")
            function.restype = None
            function(handle)

    def edge(self, number, *dims):
        made = LogicalTensor()
        self.call("logical_tensor_init", c.byref(made), c.c_uint64(number), F32,
                  len(dims), (c.c_int64 * MAX_RANK)(*dims), STRIDED, VARIABLE)
        assert (made.id, made.rank) == (number, len(dims))
        return made

    def op(self, number, kind, inputs, output):
        made = self.make("op_create_named", c.c_uint64(number), kind,
                         b"op%d" % number)
        for tensor in inputs:
            self.call("op_add_input", made, c.byref(tensor))
        self.call("op_add_output", made, c.byref(output))
        return made


def compile_layer(tenon, engine, x, w, y, shape):
    total = tenon.edge(3, *shape)
    graph = tenon.make("graph_create")
    for number, kind, inputs, output in [(0, b"MatMul", [x, w], total),
                                         (1, b"ReLU", [total], y)]:
        op = tenon.op(number, kind, inputs, output)
        tenon.call("graph_add_op", graph, op)
        tenon.destroy("op", op)
    tenon.call("graph_finalize", graph)
    partition = c.c_void_p()
    count = c.c_size_t(1)
    tenon.call("graph_get_partitions", graph, 1, c.byref(count),
               c.byref(partition))
    assert count.value == 1
    compiled = tenon.make("partition_compile", partition, engine, c.c_size_t(2),
                          (LogicalTensor * 2)(x, w), c.c_size_t(1), c.byref(y))
    tenon.destroy("partition", partition)
    tenon.destroy("graph", graph)
    return compiled


def main():
    m, k, n = 3, 5, 4
    tenon = Tenon(sys.argv[1])
    engine = tenon.make("engine_create", None)
    stream = tenon.make("stream_create", engine, None)
    x, w, y = tenon.edge(0, m, k), tenon.edge(1, k, n), tenon.edge(2, m, n)
    compiled = compile_layer(tenon, engine, x, w, y, (m, n))

    data_x = (c.c_float * (m * k))(*[i % 7 - 3 for i in range(m * k)])
    data_w = (c.c_float * (k * n))(*[i % 5 - 2 for i in range(k * n)])
    data_y = (c.c_float * (m * n))()
    tensors = [
        tenon.make("tensor_create", c.byref(about), engine, data)
        for about, data in [(x, data_x), (w, data_w), (y, data_y)]
    ]
    tenon.call("compiled_partition_execute", compiled, stream, c.c_size_t(2),
               (c.c_void_p * 2)(*tensors[:2]), c.c_size_t(1),
               (c.c_void_p * 1)(tensors[2]))
    expected = [
        max(0, sum(data_x[i * k + p] * data_w[p * n + j] for p in range(k)))
        for i in range(m) for j in range(n)
    ]
    assert any(expected)
    # Small integers: sums are exact.
    assert list(data_y) == expected, (list(data_y), expected)

    # An error crosses as a number with its text.
    try:
        tenon.call("logical_tensor_init", c.byref(x), c.c_uint64(0), F32, 99,
                   (c.c_int64 * MAX_RANK)(), STRIDED, VARIABLE)
    except RuntimeError as error:
        print("refused as it should be:", error)
    else:
        sys.exit("a rank of 99 was accepted")
    tenon.destroy("tensor", *tensors)
    tenon.destroy("compiled_partition", compiled)
    tenon.destroy("stream", stream)
    tenon.destroy("engine", engine)
    print("y =", list(data_y))


main()
