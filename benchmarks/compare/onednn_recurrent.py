# SPDX-License-Identifier: Apache-2.0
"""oneDNN's own recurrent primitives, called through its C interface.

`pip install onednn intel-opencl-rt` brings a library whose CPU engine is an
OpenCL device. Weights are in the form that the primitive asks for or, where
that is faster, as they are: the library's own choice is the slower one for a
batch of one. Reorders of weights and of their gradients are not timed.
"""

import ctypes as c
import glob
import os
import sys

import numpy as np

from cases import from_bf16
from peers import Missing

# Values of dnnl_types.h.
CPU, IN_ORDER, ALLOCATE, ANY = 1, 1, c.c_void_p(-1), 1
DTYPES = {"f32": 3, "bf16": 2, "u8": 6, "s8": 5}
TRAINING, INFERENCE, BACKWARD = 64, 96, 128
DIRECTIONS = {"left2right": 1, "right2left": 2, "bidirectional_concat": 3,
              "bidirectional_sum": 4}
TANH, OVERWRITE, EXEC_ARG_MD, WORKSPACE = 0x21, 1, 255, 64
SRC, STATE, CELL_STATE, WEIGHTS, STATE_WEIGHTS, BIAS, DST = (
    1, 2, 3, 33, 34, 41, 17)
DIFF = 128  # added to an argument, its gradient


def load(path):
    """The library, after those that it needs from its own folder."""
    while True:
        try:
            return c.CDLL(path, mode=c.RTLD_GLOBAL)
        except OSError as error:
            needed = os.path.join(os.path.dirname(path),
                                  str(error).split(":")[0])
            if needed == path or not os.path.exists(needed):
                raise ImportError(str(error)) from error
            load(needed)


class Recurrent:
    """The library; names[0] of an operation is its forward primitive."""
    name = "onednn primitive"

    def __init__(self, threads):
        folder = os.path.join(sys.prefix, "lib")
        found = glob.glob(os.path.join(folder, "libdnnl.so.*"))
        driver = os.path.join(folder, "libintelocl.so")
        if not found or not os.path.exists(driver):
            raise ImportError("pip install onednn intel-opencl-rt")
        os.environ.setdefault("OCL_ICD_FILENAMES", driver)
        load(driver)
        self.dnnl = load(min(found, key=len))
        self.dnnl.dnnl_primitive_desc_query_md.restype = c.c_void_p
        self.dnnl.dnnl_memory_desc_get_size.restype = c.c_size_t

        class Version(c.Structure):
            _fields_ = [(n, c.c_int) for n in ("major", "minor", "patch")]
        self.dnnl.dnnl_version.restype = c.POINTER(Version)
        v = self.dnnl.dnnl_version().contents
        self.version = f"{v.major}.{v.minor}.{v.patch}"
        self.engine = self.make("dnnl_engine_create", CPU, c.c_size_t(0))
        self.stream = self.make("dnnl_stream_create", self.engine, IN_ORDER)

    def call(self, name, *arguments):
        status = getattr(self.dnnl, name)(*arguments)
        if status:
            raise RuntimeError(f"{name}: status {status}")

    def make(self, name, *arguments):
        handle = c.c_void_p()
        self.call(name, c.byref(handle), *arguments)
        return handle

    def describe(self, shape, dtype, plain=True):
        dims = (c.c_int64 * len(shape))(*shape)
        if not plain:
            return self.make("dnnl_memory_desc_create_with_tag", len(shape),
                             dims, DTYPES[dtype], ANY)
        strides = [int(np.prod(shape[i + 1:])) for i in range(len(shape))]
        return self.make("dnnl_memory_desc_create_with_strides", len(shape),
                         dims, DTYPES[dtype],
                         (c.c_int64 * len(shape))(*strides))

    def memory(self, md):
        return self.make("dnnl_memory_create", md, self.engine, ALLOCATE)

    def filled(self, md, value):
        memory, data = self.memory(md), c.c_void_p()
        self.call("dnnl_memory_map_data", memory, c.byref(data))
        c.memmove(data, value.ctypes.data, value.nbytes)
        self.call("dnnl_memory_unmap_data", memory, data)
        return memory

    def read(self, memory, shape, dtype):
        result, data = np.empty(shape, dtype), c.c_void_p()
        self.call("dnnl_memory_map_data", memory, c.byref(data))
        c.memmove(result.ctypes.data, data, result.nbytes)
        self.call("dnnl_memory_unmap_data", memory, data)
        return result

    def reordered(self, memory, old, new):
        pd = self.make("dnnl_reorder_primitive_desc_create", old, self.engine,
                       new, self.engine, None)
        result = self.memory(new)
        self.execute(self.make("dnnl_primitive_create", pd),
                     {SRC: memory, DST: result})
        return result

    class Argument(c.Structure):
        _fields_ = [("arg", c.c_int), ("memory", c.c_void_p)]

    def execute(self, primitive, memories):
        arguments = (self.Argument * len(memories))(
            *[self.Argument(k, m.value) for k, m in memories.items()])
        self.call("dnnl_primitive_execute", primitive, self.stream,
                  len(memories), arguments)
        self.call("dnnl_stream_wait", self.stream)

    def prepare(self, case, values, threads):
        kinds = [op.kind for op in case.ops]
        if kinds[0] not in ("RNN", "LSTM", "GRU") or \
                kinds[1:] not in ([], [kinds[0] + "Backward"]):
            raise Missing("not one layer of a recurrent network")
        layer = Layer(self, case, values)
        return layer.faster()


class Layer:
    """One layer, and its gradients if the case trains."""

    def __init__(self, library, case, values):
        self.library, self.case, self.values = library, case, values
        self.op = case.ops[0]
        self.training = len(case.ops) > 1

    def faster(self):
        """A function for the faster form of the weights."""
        from compare import time_of
        runs = []
        for plain in (False, True):
            try:
                run = self.runner(plain)
                run()
                runs.append((min(time_of(run, 0.02) for _ in range(3)), run))
            except RuntimeError:
                pass  # int8 has its own form only
        if not runs:
            raise Missing("no primitive")
        return min(runs, key=lambda r: r[0])[1]

    def states(self):
        """Training starts at zeros that are given: without them the library's
        gradient of weights_iter is off by one step."""
        if not self.training:
            return []
        return [STATE, CELL_STATE] if self.op.kind == "LSTM" else [STATE]

    def descriptions(self, plain):
        """Of src, states, both weights, bias and dst, by argument."""
        op, shapes = self.op, self.case.shapes
        dtype = self.case.dtype
        md = lambda name, plain=True: self.library.describe(
            shapes[name], dtype(name), plain)
        _, batch, _ = shapes[op.inputs[0]]
        _, directions, size, _, _ = shapes[op.inputs[2]]
        state = (1, directions, batch, size)
        return {**{k: self.library.describe(state, "f32")
                   for k in self.states()},
                SRC: md(op.inputs[0]), WEIGHTS: md(op.inputs[1], plain),
                STATE_WEIGHTS: md(op.inputs[2], plain),
                BIAS: md(op.inputs[3]), DST: md(op.outputs[0])}

    def primitive(self, propagation, mds, hint=None):
        """The library's description of the work."""
        op, lstm = self.op, self.op.kind == "LSTM"
        states = [mds.get(k) for k in (STATE, CELL_STATE)[:2 if lstm else 1]]
        before = [mds[SRC]] + states
        after = [None] * (2 if lstm else 1)
        weights = [mds[WEIGHTS], mds[STATE_WEIGHTS]] + [None] * 2 * lstm
        arguments = before + weights + [mds[BIAS], mds[DST]] + after
        if hint:
            gradients = [mds[k + DIFF] for k in (
                SRC, WEIGHTS, STATE_WEIGHTS, BIAS, DST)]
            arguments += ([gradients[0]] + states
                          + gradients[1:3] + [None] * 2 * lstm
                          + gradients[3:] + after)
        linear = op.attrs.get("linear_before_reset")
        cell = {"RNN": "vanilla_rnn", "LSTM": "lstm",
                "GRU": "lbr_gru" if linear else "gru"}[op.kind]
        way = "backward" if hint else "forward"
        rnn = op.kind == "RNN"
        return self.library.make(
            f"dnnl_{cell}_{way}_primitive_desc_create", self.library.engine,
            propagation, *([TANH] if rnn else []),
            DIRECTIONS[op.attrs.get("direction", "left2right")], *arguments,
            OVERWRITE if hint else 0,
            *([c.c_float(0), c.c_float(0)] if rnn else []),
            *([hint] if hint else []), self.quantisation())

    def quantisation(self):
        a = self.op.attrs
        if "data_scale" not in a:
            return None
        library = self.library
        attr = library.make("dnnl_primitive_attr_create")
        library.call("dnnl_primitive_attr_set_rnn_data_qparams", attr,
                     c.c_float(a["data_scale"]), c.c_float(a["data_shift"]))
        scales = a["weights_scales"]
        library.call("dnnl_primitive_attr_set_rnn_weights_qparams", attr,
                     c.c_int64(len(scales)), 24 if len(scales) > 1 else 0,
                     (c.c_float * len(scales))(*scales))
        return attr

    def asked(self, pd, argument):
        return c.c_void_p(self.library.dnnl.dnnl_primitive_desc_query_md(
            pd, EXEC_ARG_MD, argument))

    def placed(self, pd, name, argument, given):
        """The value in the form that the primitive asks for."""
        library = self.library
        shape, dtype = self.case.shapes[name], self.case.dtype(name)
        memory = library.filled(library.describe(shape, dtype),
                                self.case.stored(name, self.values[name]))
        asked = self.asked(pd, argument)
        if library.dnnl.dnnl_memory_desc_equal(given[argument], asked):
            return memory
        return library.reordered(memory, library.describe(shape, dtype), asked)

    def runner(self, plain):
        library, op = self.library, self.op
        mds = self.descriptions(plain)
        forward = self.primitive(TRAINING if self.training else INFERENCE, mds)
        names = dict(zip((SRC, WEIGHTS, STATE_WEIGHTS, BIAS), op.inputs))
        given = {k: self.placed(forward, n, k, mds) for k, n in names.items()}
        given[DST] = library.memory(mds[DST])
        for k in self.states():
            size = library.dnnl.dnnl_memory_desc_get_size(mds[k])
            given[k] = library.filled(mds[k], np.zeros(size, np.uint8))
        if self.training:
            given[WORKSPACE] = library.memory(self.asked(forward, WORKSPACE))
        made = library.make("dnnl_primitive_create", forward)
        if not self.training:
            run = lambda: library.execute(made, given)
            run.results = lambda: [self.result(op.outputs[0], given[DST])]
            return run
        return self.trainer(plain, mds, forward, made, given)

    def trainer(self, plain, mds, forward, made, given):
        library, gradient = self.library, self.case.ops[1]
        both = dict(mds)
        for k, md in self.descriptions(plain).items():
            both[k + DIFF] = md
        pd = self.primitive(BACKWARD, both, forward)
        backward = library.make("dnnl_primitive_create", pd)
        names = dict(zip((SRC, WEIGHTS, STATE_WEIGHTS, BIAS), self.op.inputs))
        memories = dict(given)
        for k in (WEIGHTS, STATE_WEIGHTS):
            memories[k] = self.placed(pd, names[k], k, both)
        memories[DST + DIFF] = self.placed(
            pd, gradient.inputs[4], DST + DIFF, both)
        made_here = dict(zip((SRC + DIFF, WEIGHTS + DIFF, STATE_WEIGHTS + DIFF,
                              BIAS + DIFF), gradient.outputs))
        for k in [*made_here, *(s + DIFF for s in self.states())]:
            memories[k] = library.memory(self.asked(pd, k))

        def run():
            library.execute(made, given)
            library.execute(backward, memories)

        def results():
            found = [self.result(self.op.outputs[0], given[DST])]
            for k, name in made_here.items():
                plain_md = library.describe(self.case.shapes[name], "f32")
                found.append(self.result(name, library.reordered(
                    memories[k], self.asked(pd, k), plain_md)))
            return found
        run.results = results
        return run

    def result(self, name, memory):
        dtype = self.case.dtype(name)
        form = {"u8": np.uint8, "bf16": np.uint16}.get(dtype, np.float32)
        value = self.library.read(memory, self.case.shapes[name], form)
        return from_bf16(value) if dtype == "bf16" else value
