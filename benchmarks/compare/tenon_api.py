# SPDX-License-Identifier: Apache-2.0
"""Compiling and executing a graph through Tenon's C interface, by ctypes."""

import ctypes as c
import json
import os

import numpy as np

MAX_RANK = 12
DTYPES = {"bf16": (2, np.uint16), "f32": (3, np.float32),
          "s32": (4, np.int32), "s8": (5, np.int8), "u8": (6, np.uint8),
          "boolean": (7, np.bool_), "s64": (12, np.int64),
          "s4": (10, np.uint8), "u4": (11, np.uint8)}


class LogicalTensor(c.Structure):
    _fields_ = [("id", c.c_uint64), ("dtype", c.c_int32), ("rank", c.c_int32),
                ("dims", c.c_int64 * MAX_RANK), ("layout", c.c_int32),
                ("property", c.c_int32), ("strides", c.c_int64 * MAX_RANK),
                ("layout_id", c.c_uint64)]


class LastError(c.Structure):
    _fields_ = [("status", c.c_int32), ("message", c.c_char_p),
                ("op_kind", c.c_char_p), ("op_name", c.c_char_p),
                ("op_id", c.c_uint64), ("hint", c.c_char_p),
                ("text", c.c_char_p)]


class Version(c.Structure):
    _fields_ = [("major", c.c_int32), ("minor", c.c_int32),
                ("patch", c.c_int32), ("text", c.c_char_p)]


class ExecOptions(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("threading", c.c_int),
                ("threads", c.c_int32), ("concurrency", c.c_int32),
                ("parallel_for", c.c_void_p), ("pool", c.c_void_p),
                ("spin_ns", c.c_int64), ("allocate", c.c_void_p),
                ("release", c.c_void_p), ("context", c.c_void_p),
                ("huge_pages", c.c_int32), ("profile", c.c_int32)]


class TenonError(RuntimeError):
    pass


def aligned(shape, dtype):
    """An array that starts at a cache line, as every peer's own do; NumPy's
    start 16 bytes behind one, and then each wide vector crosses two lines."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = np.empty(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start:start + size].view(dtype).reshape(shape)


class Library:
    """The shared library; one engine and one stream."""

    def __init__(self, path, threads):
        self.lib = c.CDLL(os.path.abspath(path))
        self.lib.tenon_last_error.restype = c.POINTER(LastError)
        self.lib.tenon_get_version.restype = Version
        self.engine = self.make("tenon_engine_create", None)
        options = ExecOptions()
        self.lib.tenon_exec_options_init(c.byref(options))
        if threads > 1:
            options.threading, options.threads = 1, threads
        self.stream = self.make("tenon_stream_create", self.engine,
                                c.byref(options))

    def version(self):
        v = self.lib.tenon_get_version()
        return f"{v.major}.{v.minor}.{v.patch}"

    def call(self, name, *arguments):
        if getattr(self.lib, name)(*arguments) != 0:
            raise TenonError(self.lib.tenon_last_error().contents.text.decode())

    def make(self, name, *arguments):
        handle = c.c_void_p()
        self.call(name, *arguments, c.byref(handle))
        return handle

    def tensor(self, logical, array):
        return self.make("tenon_tensor_create", c.byref(logical), self.engine,
                         array.ctypes.data_as(c.c_void_p))


def logical_tensors(graph):
    """Every tensor of a graph (the JSON form) by id."""
    result = {}
    for op in graph["graph"]:
        for t in filter(None, op["inputs"] + op["outputs"]):
            lt = LogicalTensor(id=t["id"], dtype=DTYPES[t["dtype"]][0],
                               rank=len(t["shape"]), layout=2,
                               property=2 if t["property_type"] == "constant"
                               else 1)
            for i, (d, s) in enumerate(zip(t["shape"], t["stride"])):
                lt.dims[i], lt.strides[i] = d, s
            result[t["id"]] = (lt, t)
    return result


class Model:
    """A compiled graph with its tensors bound; run() executes once."""

    def __init__(self, library, graph, arrays):
        self.library = library
        text = json.dumps(graph).encode()
        handle = library.make("tenon_graph_from_json", text,
                              c.c_size_t(len(text)), b"benchmark")
        count = c.c_size_t()
        library.call("tenon_graph_get_partitions", handle, 1, c.byref(count),
                     None)
        if count.value != 1:
            raise TenonError(f"{count.value} partitions instead of one")
        partitions = (c.c_void_p * 1)()
        library.call("tenon_graph_get_partitions", handle, 1, c.byref(count),
                     partitions)
        tensors = logical_tensors(graph)
        inputs, outputs = graph["input_ports"], graph["output_ports"]
        as_list = lambda ids: (LogicalTensor * len(ids))(
            *[tensors[i][0] for i in ids])
        self.compiled = library.make(
            "tenon_partition_compile", c.c_void_p(partitions[0]),
            library.engine, c.c_size_t(len(inputs)), as_list(inputs),
            c.c_size_t(len(outputs)), as_list(outputs))
        self.arrays = dict(arrays)
        for i in outputs:
            _, t = tensors[i]
            self.arrays[i] = aligned(t["shape"], DTYPES[t["dtype"]][1])
        bind = lambda ids: (c.c_void_p * len(ids))(
            *[library.tensor(tensors[i][0], self.arrays[i]) for i in ids])
        self.inputs, self.outputs = bind(inputs), bind(outputs)
        self.results = [self.arrays[i] for i in outputs]
        self.arguments = (self.compiled, library.stream,
                          c.c_size_t(len(inputs)), self.inputs,
                          c.c_size_t(len(outputs)), self.outputs)
        self.execute = library.lib.tenon_compiled_partition_execute

    def run(self):
        if self.execute(*self.arguments) != 0:
            self.library.call("tenon_compiled_partition_execute",
                              *self.arguments)
        return self.results


UNKNOWN_DIM = -2**63


class FileModel:
    """A model of ONNX from a file, compiled for the sizes of `values`, arrays
    by the name of an input, or for any sizes; run() executes once."""

    def __init__(self, library, path, values, static):
        self.library = library
        graph = library.make("tenon_graph_from_file", path.encode())
        count = c.c_size_t()
        partitions = (c.c_void_p * 1)()
        library.call("tenon_graph_get_partitions", graph, 1, c.byref(count),
                     None)
        if count.value != 1:
            raise TenonError(f"{count.value} partitions instead of one")
        library.call("tenon_graph_get_partitions", graph, 1, c.byref(count),
                     partitions)
        partition = c.c_void_p(partitions[0])
        inputs = self.ports("tenon_partition_get_inputs", partition)
        outputs = self.ports("tenon_partition_get_outputs", partition)
        name = library.lib.tenon_graph_get_tensor_name
        name.restype = c.c_char_p
        arrays = [values[name(graph, c.c_uint64(t.id)).decode()]
                  for t in inputs]
        known = self.sized(inputs, [a.shape for a in arrays])
        self.compiled = library.make(
            "tenon_partition_compile", partition, library.engine,
            c.c_size_t(len(inputs)), known if static else inputs,
            c.c_size_t(len(outputs)), outputs)
        library.call("tenon_compiled_partition_infer", self.compiled,
                     c.c_size_t(len(inputs)), known, c.c_size_t(len(outputs)),
                     outputs)
        kinds = dict(DTYPES.values())
        self.results = [aligned(list(t.dims[:t.rank]), kinds[t.dtype])
                        for t in outputs]
        self.keep = arrays
        bind = lambda tensors, arrays: (c.c_void_p * len(arrays))(
            *[library.tensor(t, a) for t, a in zip(tensors, arrays)])
        self.arguments = (self.compiled, library.stream,
                          c.c_size_t(len(inputs)), bind(known, arrays),
                          c.c_size_t(len(outputs)),
                          bind(outputs, self.results))
        self.execute = library.lib.tenon_compiled_partition_execute

    def ports(self, query, partition):
        count, found = c.c_size_t(), c.POINTER(LogicalTensor)()
        self.library.call(query, partition, c.byref(count), c.byref(found))
        return (LogicalTensor * count.value).from_buffer_copy(
            c.string_at(found, c.sizeof(LogicalTensor) * count.value))

    @staticmethod
    def sized(tensors, shapes):
        """Copies with known sizes, dense."""
        result = (type(tensors)).from_buffer_copy(tensors)
        for t, shape in zip(result, shapes):
            step = 1
            for i in reversed(range(len(shape))):
                t.dims[i], t.strides[i] = shape[i], step
                step *= shape[i]
        return result

    run = Model.run
