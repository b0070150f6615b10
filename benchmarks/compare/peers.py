# SPDX-License-Identifier: Apache-2.0
"""The peers: each turns a case into a function that runs it once.

prepare(case, values, threads) returns a function without arguments, whose
result is a list of arrays in the order of case.outputs(). It raises Missing
when the peer has no such operation. Constants are given while preparing, so
that a peer may pack them.
"""

import importlib
import os
import re

import numpy as np

import gradients
import indexing
import recurrent
import weight_only


class Missing(Exception):
    pass


def index_along(arange, x, axis):
    """The index of each element of `x` along `axis`, to broadcast."""
    dims = [1] * x.ndim
    dims[axis] = x.shape[axis]
    return arange(x.shape[axis]).reshape(dims)


class Torch:
    """PyTorch, eager; its matrix products and convolutions are oneDNN's."""
    name = "torch"

    def __init__(self, threads):
        self.torch = importlib.import_module("torch")
        self.torch.set_num_threads(threads)
        self.version = self.torch.__version__

    def translate(self, case, values):
        torch, functional = self.torch, self.torch.nn.functional
        if case.narrow() - {"bf16"}:
            raise Missing("bytes")
        if len(case.ops) == 2 and case.ops[0].kind in recurrent.KINDS:
            return recurrent.torch_training(torch, case, values)
        dtype = torch.bfloat16 if case.narrow() else torch.float32
        # Indices and masks stay what they are.
        tensor = lambda n: torch.from_numpy(values[n]).to(
            dtype if values[n].dtype == np.float32 else None)
        constants = {n: tensor(n) for n in case.constants}
        steps = []
        for op in case.ops:
            a, kind = op.attrs, op.kind
            if kind == "MatMul":
                transpose = a.get("transpose_b", False)
                if op.inputs[1] in constants and not transpose:
                    # As torch keeps weights: [N, K].
                    weights = constants[op.inputs[1]].t().contiguous()
                    bias = constants.get(op.inputs[2]) if len(
                        op.inputs) > 2 else None
                    f = (lambda x, *_, w=weights, b=bias:
                         functional.linear(x, w, b))
                else:
                    f = (lambda x, w: torch.matmul(x, w.mT)) if transpose \
                        else torch.matmul
                if a.get("transpose_a"):
                    f = lambda x, *r, f=f: f(x.mT, *r)
            elif kind == "Convolution":
                # Channels last is torch's fast form; results keep the form
                # of the weights.
                w = constants[op.inputs[1]]
                if a["data_format"] == "NXC":
                    w = w.contiguous(memory_format=torch.channels_last)
                b = constants[op.inputs[2]]
                f = (lambda x, *_, w=w, b=b, a=a: functional.conv2d(
                    x, w, b, a["strides"], a["pads_begin"], a["dilations"],
                    a["groups"]))
                if a["data_format"] == "NXC":
                    f = (lambda x, *_, f=f:
                         f(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1))
            elif kind == "MaxPool":
                f = lambda x, a=a: functional.max_pool2d(
                    x, a["kernel"], a["strides"], a["pads_begin"])
            elif kind == "Clamp":
                f = lambda x, a=a: torch.clamp(x, a["min"], a["max"])
            elif kind == "StaticReshape":
                f = lambda x, a=a: x.reshape(a["shape"])
            elif kind in recurrent.KINDS:
                f = recurrent.torch_function(torch, op, values, dtype)
            elif kind == "SoftMax":
                f = lambda x, a=a: torch.softmax(x, a["axis"])
            elif kind == "LayerNorm":
                f = (lambda x, g, b: functional.layer_norm(
                    x, x.shape[-1:], g, b))
            elif kind in ("ReduceSum", "ReduceMean"):
                reduce = torch.sum if kind == "ReduceSum" else torch.mean
                f = lambda x, a=a, r=reduce: r(x, a["axes"], keepdim=True)
            elif kind == "StaticTranspose":
                f = lambda x, a=a: x.permute(a["order"]).contiguous()
            elif kind == "Concat":
                f = lambda *x, a=a: torch.cat(x, a["axis"])
            elif kind == "GenIndex":
                f = lambda x, a=a: index_along(torch.arange, x, a["axis"])
            else:
                table = {"GreaterEqual": torch.ge, "Select": torch.where,
                         "Add": torch.add, "Multiply": torch.mul,
                         "Subtract": torch.sub,
                         "Divide": torch.div, "ReLU": torch.relu,
                         "GELU": functional.gelu, "Tanh": torch.tanh,
                         "Exp": torch.exp}
                f = (table.get(kind)
                     or gradients.torch_function(torch, case, op)
                     or indexing.torch_function(torch, op))
                if not f:
                    raise Missing(kind)
                if kind == "Divide" and op.inputs[1] in case.fixed:
                    # A number, as programs have it: Inductor recognises
                    # attention by it, and fails on a tensor there.
                    f = lambda x, *_, d=float(values[op.inputs[1]].item()): x / d
            steps.append((f, op.inputs, op.outputs))
        inputs = [n for n in case.inputs() if n not in case.constants]
        outputs = case.outputs()

        def function(*arguments):
            env = dict(constants)
            env.update(zip(inputs, arguments))
            for f, names, results in steps:
                made = f(*[env[n] for n in names])
                env.update(zip(results, made) if len(results) > 1
                           else [(results[0], made)])
            return [env[n] for n in outputs]

        return function, [tensor(n) for n in inputs]

    def prepare(self, case, values, threads):
        function, arguments = self.translate(case, values)
        return self.runner(function, arguments)

    def runner(self, function, arguments):
        def call():
            if getattr(function, "trains", False):
                return function(*arguments)
            with self.torch.inference_mode():
                return function(*arguments)

        def run():
            run.last = call()
        run()
        turned = getattr(function, "results", lambda last: last)
        run.results = lambda: [t.float().numpy() for t in turned(run.last)]
        return run


class Inductor(Torch):
    """PyTorch's compiler, with weights frozen."""
    name = "inductor"

    def prepare(self, case, values, threads):
        function, arguments = self.translate(case, values)
        importlib.import_module("torch._inductor.config").freezing = True
        # All cases are one function to it, and after a few variants it would
        # stop compiling.
        importlib.import_module("torch._dynamo").reset()
        return self.runner(self.torch.compile(function, dynamic=False),
                           arguments)


class OneDnn(Torch):
    """oneDNN as PyTorch calls it for compiled models: weights are packed while
    preparing, and an activation behind a product is in it."""
    name = "onednn"

    def __init__(self, threads):
        super().__init__(threads)
        self.version = re.search(r"MKL-DNN v([\d.]+)",
                                 self.torch.__config__.show())[1]

    def prepare(self, case, values, threads):
        steps, rest = [], list(case.ops)
        while rest:
            steps.append(self.product(case, values, rest))
        inputs = [n for n in case.inputs() if n not in case.constants]
        if len(inputs) != 1 or len(case.outputs()) != 1:
            raise Missing("more than a chain")

        def function(x):
            for step in steps:
                x = step(x)
            return [x]
        return self.runner(function, [self.tensor(case, values, inputs[0])])

    def tensor(self, case, values, name):
        torch = self.torch
        form = {"u8": torch.uint8, "s8": torch.int8,
                "bf16": torch.bfloat16}.get(case.dtype(name), torch.float32)
        return torch.from_numpy(values[name]).to(form)

    def product(self, case, values, ops):
        """Takes a product from the front of `ops`, with what it may hold."""
        kinds = [op.kind for op in ops[:4]]
        if kinds == ["Dequantize", "Dequantize", "MatMul", "Quantize"]:
            return self.of_bytes(case, values, [ops.pop(0) for _ in kinds])
        op = ops.pop(0)
        if op.kind not in ("MatMul", "Convolution") or \
                op.inputs[1] not in case.constants or case.narrow() - {"bf16"}:
            raise Missing(op.kind)
        after = {"ReLU": ("relu", ""), "GELU": ("gelu", "none")}.get(
            ops[0].kind if ops else None)
        if after:
            ops.pop(0)
        after = after or ("none", "")
        tensors = [self.tensor(case, values, n) for n in op.inputs[1:]]
        bias = tensors[1] if len(tensors) > 1 else None
        mkldnn, a = self.torch.ops.mkldnn, op.attrs
        if op.kind == "MatMul":
            if a.get("transpose_a"):
                raise Missing("transposed data")
            if len(case.shapes[op.inputs[0]]) != 2 or tensors[0].ndim != 2:
                raise Missing("batches")
            packed = mkldnn._reorder_linear_weight(
                tensors[0].t().contiguous(),
                case.shapes[op.inputs[0]][0])
            return lambda x: mkldnn._linear_pointwise(
                x, packed, bias, after[0], [], after[1])
        into, back = ([0, 1, 2, 3],) * 2 if a["data_format"] == "NCX" else (
            [0, 3, 1, 2], [0, 2, 3, 1])
        shape = [case.shapes[op.inputs[0]][i] for i in into]
        window = (a["pads_begin"], a["strides"], a["dilations"], a["groups"])
        packed = mkldnn._reorder_convolution_weight(
            tensors[0], *window, shape)
        return lambda x: mkldnn._convolution_pointwise(
            x.permute(into), packed, bias, *window, after[0], [],
            after[1]).permute(back)

    def of_bytes(self, case, values, ops):
        torch = self.torch
        src, weights, _, dst = ops
        onednn = torch.ops.onednn
        w = self.tensor(case, values, weights.inputs[0])
        packed = onednn.qlinear_prepack(w.t().contiguous(),
                                        case.shapes[src.inputs[0]])
        each = lambda v, form: torch.full((w.shape[1],), v, dtype=form)
        scales = each(weights.attrs["scales"][0], torch.float32)
        zps = each(weights.attrs["zps"][0], torch.int64)
        x_scale, x_zp = src.attrs["scales"][0], src.attrs["zps"][0]
        scale, zp = dst.attrs["scales"][0], dst.attrs["zps"][0]
        return lambda x: onednn.qlinear_pointwise(
            x, x_scale, x_zp, packed, scales, zps, None, scale, zp,
            torch.uint8, "none", [], "")


class TorchAttention(Torch):
    """PyTorch's fused attention, where the case is attention."""
    name = "torch sdpa"

    def prepare(self, case, values, threads):
        if case.suite == "attention gradients":
            return self.gradients(values)
        if case.suite != "attention" or case.narrow():
            raise Missing("not attention")
        sdpa = self.torch.nn.functional.scaled_dot_product_attention
        q, k, v = (self.torch.from_numpy(values[n]) for n in "qkv")
        mask = self.torch.from_numpy(values["m"]) if "m" in values else None
        # Groups of heads are one dimension of heads here.
        heads = lambda x: x.flatten(1, -3)
        options = dict(attn_mask=mask, scale=1 / float(values["d"][0]),
                       is_causal="n" in values, enable_gqa=q.ndim > 4)

        def run():
            with self.torch.inference_mode():
                return [sdpa(heads(q), heads(k), heads(v), **options)
                        .view(q.shape).numpy()]
        return run

    def gradients(self, values):
        backward = (self.torch.ops.aten
                    ._scaled_dot_product_flash_attention_for_cpu_backward)
        q, k, v, g, o, l = (self.torch.from_numpy(values[n]) for n in "qkvgol")
        scale = float(values["f"][0])

        def run():
            with self.torch.inference_mode():
                dq, dk, dv = backward(g, q, k, v, o, l.squeeze(-1), 0.0, False,
                                      scale=scale)
            return [dv.numpy(), dq.numpy(), dk.numpy()]
        return run


def onnx_model(case, values):
    """The case as an ONNX model, which two peers read; bf16 is f32 there."""
    onnx = importlib.import_module("onnx")
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    nodes, extra = [], []

    def constant(name, array):
        extra.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(kind, inputs, outputs, **attrs):
        nodes.append(helper.make_node(kind, inputs, outputs, **attrs))

    for i, op in enumerate(case.ops):
        a, out = op.attrs, op.outputs[0]
        if op.kind == "MatMul":
            sides = op.inputs[:2]
            for side, attr in enumerate(("transpose_a", "transpose_b")):
                if a.get(attr):
                    rank = len(case.shapes[sides[side]])
                    order = list(range(rank - 2)) + [rank - 1, rank - 2]
                    turned = f"{sides[side]}.t"
                    node("Transpose", [sides[side]], [turned], perm=order)
                    sides[side] = turned
            product = f"{out}.p" if len(op.inputs) > 2 else out
            node("MatMul", sides, [product])
            if len(op.inputs) > 2:
                node("Add", [product, op.inputs[2]], [out])
        elif op.kind == "Convolution":
            attrs = dict(strides=a["strides"],
                         pads=a["pads_begin"] + a["pads_end"],
                         dilations=a["dilations"], group=a["groups"])
            if a["data_format"] == "NCX":
                node("Conv", op.inputs, [out], **attrs)
                continue
            # ONNX has channels first only; peers keep their own order inside,
            # and the transposes at both ends are theirs to remove.
            node("Transpose", [op.inputs[0]], [f"{out}.i"], perm=[0, 3, 1, 2])
            node("Conv", [f"{out}.i"] + op.inputs[1:], [f"{out}.o"], **attrs)
            node("Transpose", [f"{out}.o"], [out], perm=[0, 2, 3, 1])
        elif op.kind == "MaxPool":
            node("MaxPool", op.inputs, [out], kernel_shape=a["kernel"],
                 strides=a["strides"], pads=a["pads_begin"] + a["pads_end"])
        elif op.kind == "Clamp":
            node("Clip", op.inputs + [
                constant(f"{bound}{i}", np.float32(a[bound]))
                for bound in ("min", "max")], [out])
        elif op.kind == "StaticReshape":
            shape = constant(f"shape{i}", np.array(a["shape"], np.int64))
            node("Reshape", [op.inputs[0], shape], [out])
        elif op.kind in recurrent.KINDS:
            if len(case.ops) > 1 or case.narrow():
                raise Missing("ONNX has one layer in f32")
            recurrent.onnx_nodes(op, case, values, node, constant)
        elif op.kind in ("Quantize", "Dequantize"):
            narrow = op.inputs[0] if op.kind == "Dequantize" else out
            form = np.int8 if case.dtype(narrow) == "s8" else np.uint8
            each = {"axis": a["axis"]} if "axis" in a else {}
            one = lambda v: v if each else v[0]
            scale = constant(f"scale{i}", np.float32(one(a["scales"])))
            zp = constant(f"zp{i}", np.array(one(a["zps"]), form))
            node(op.kind + "Linear", [op.inputs[0], scale, zp], [out], **each)
        elif op.kind == "SoftMax":
            node("Softmax", op.inputs, [out], axis=a["axis"])
        elif op.kind == "LayerNorm":
            node("LayerNormalization", op.inputs, [out], axis=-1,
                 epsilon=1e-5)
        elif op.kind in ("ReduceSum", "ReduceMean"):
            axes = constant(f"axes{i}", np.array(a["axes"], np.int64))
            node(op.kind, [op.inputs[0], axes], [out], keepdims=1)
        elif op.kind == "StaticTranspose":
            node("Transpose", op.inputs, [out], perm=a["order"])
        elif op.kind == "Concat":
            node("Concat", op.inputs, [out], axis=a["axis"])
        elif op.kind == "GenIndex":
            constant(out, index_along(np.arange, np.empty(case.shapes[out]),
                                      a["axis"]))
        else:
            table = {"Add": "Add", "Multiply": "Mul", "Divide": "Div",
                     "ReLU": "Relu", "GELU": "Gelu", "Tanh": "Tanh",
                     "Exp": "Exp", "GreaterEqual": "GreaterOrEqual",
                     "Select": "Where"}
            if indexing.onnx_nodes(op, case, node, constant):
                continue
            if op.kind not in table:
                raise Missing(op.kind)
            node(table[op.kind], op.inputs, [out])
    forms = {"f32": onnx.TensorProto.FLOAT, "u8": onnx.TensorProto.UINT8,
             "s8": onnx.TensorProto.INT8, "s64": onnx.TensorProto.INT64,
             "boolean": onnx.TensorProto.BOOL}
    forms["bf16"] = forms["f32"]
    info = lambda n: helper.make_tensor_value_info(
        n, forms[case.dtype(n)], case.shapes[n])
    for n in case.constants & {i for node in nodes for i in node.input}:
        constant(n, values[n])
    graph = helper.make_graph(
        nodes, "case", [info(n) for n in case.inputs()
                        if n not in case.constants],
        [info(n) for n in case.outputs()], extra)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    return model.SerializeToString()


class OnnxRuntime:
    name = "onnxruntime"

    def __init__(self, threads):
        self.ort = importlib.import_module("onnxruntime")
        importlib.import_module("onnx")
        self.version = self.ort.__version__

    def prepare(self, case, values, threads):
        if "bf16" in case.narrow():
            raise Missing("bf16 has few kernels there")
        options = self.ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        model = (weight_only.onnx_model(case, values)
                 or onnx_model(case, values))
        session = self.ort.InferenceSession(
            model, options,
            providers=["CPUExecutionProvider"])
        # Bound once: no copies in the measured time.
        binding = session.io_binding()
        for n in case.inputs():
            if n not in case.constants:
                binding.bind_cpu_input(n, values[n])
        for n in case.outputs():
            binding.bind_output(n)

        def run():
            session.run_with_iobinding(binding)
            return binding
        results = lambda: binding.copy_outputs_to_cpu()
        run.results = results
        return run


class OpenVino:
    name = "openvino"

    def __init__(self, threads):
        self.openvino = importlib.import_module("openvino")
        importlib.import_module("onnx")
        self.version = self.openvino.__version__.split("-")[0]

    def prepare(self, case, values, threads):
        core = self.openvino.Core()
        model = (weight_only.openvino_model(case, values)
                 or core.read_model(onnx_model(case, values)))
        compiled = core.compile_model(
            model, "CPU", {"INFERENCE_NUM_THREADS": threads,
                           "NUM_STREAMS": 1,
                           # 8 bits of f32 where weights are quantised would
                           # be another result.
                           "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0,
                           "INFERENCE_PRECISION_HINT":
                               "bf16" if "bf16" in case.narrow() else "f32"})
        request = compiled.create_infer_request()
        for n in case.inputs():
            if n not in case.constants:
                request.set_tensor(n, self.openvino.Tensor(
                    values[n], shared_memory=True))

        def run():
            request.infer()
        run.results = lambda: [request.get_output_tensor(i).data
                               for i in range(len(case.outputs()))]
        return run


class Jax:
    """XLA through JAX."""
    name = "jax"

    def __init__(self, threads):
        # The only way to tell XLA, and only before it starts.
        os.environ.setdefault("XLA_FLAGS",
                              "--xla_cpu_multi_thread_eigen=false")
        self.jax = importlib.import_module("jax")
        self.version = self.jax.__version__

    def prepare(self, case, values, threads):
        if threads != 1:
            raise Missing("threads are set for the whole process")
        jnp = importlib.import_module("jax.numpy")
        nn, lax = self.jax.nn, self.jax.lax
        inputs = [n for n in case.inputs() if n not in case.constants]
        if case.narrow() - {"bf16"}:
            raise Missing("bytes")
        dtype = jnp.bfloat16 if case.narrow() else jnp.float32
        constants = {n: jnp.asarray(values[n], dtype) for n in case.constants}

        def apply(op, x):
            a = op.attrs
            if op.kind == "MatMul":
                left, right = (
                    v.swapaxes(-1, -2) if a.get(attr) else v
                    for v, attr in zip(x, ("transpose_a", "transpose_b")))
                return left @ right + (x[2] if len(x) > 2 else 0)
            if op.kind == "Convolution":
                pads = list(zip(a["pads_begin"], a["pads_end"]))
                first = a["data_format"] == "NCX"
                form = "NCHW" if first else "NHWC"
                bias = x[2][:, None, None] if first else x[2]
                return lax.conv_general_dilated(
                    x[0], x[1], a["strides"], pads,
                    dimension_numbers=(form, "OIHW", form),
                    feature_group_count=a["groups"]) + bias
            if op.kind == "MaxPool":
                two = lambda v: (1, 1, *v)
                pads = [(0, 0)] * 2 + list(zip(a["pads_begin"], a["pads_end"]))
                return lax.reduce_window(x[0], -jnp.inf, lax.max,
                                         two(a["kernel"]), two(a["strides"]),
                                         pads)
            if op.kind == "Clamp":
                return jnp.clip(x[0], a["min"], a["max"])
            if op.kind == "StaticReshape":
                return x[0].reshape(a["shape"])
            if op.kind == "SoftMax":
                return nn.softmax(x[0], a["axis"])
            if op.kind == "LayerNorm":
                mean = x[0].mean(-1, keepdims=True)
                return ((x[0] - mean) * lax.rsqrt(
                    x[0].var(-1, keepdims=True) + 1e-5) * x[1] + x[2])
            if op.kind in ("ReduceSum", "ReduceMean"):
                reduce = jnp.sum if op.kind == "ReduceSum" else jnp.mean
                return reduce(x[0], tuple(a["axes"]), keepdims=True)
            if op.kind == "StaticTranspose":
                return x[0].transpose(a["order"])
            if op.kind == "Concat":
                return jnp.concatenate(x, a["axis"])
            if op.kind == "GenIndex":
                return index_along(jnp.arange, x[0], a["axis"])
            table = {"Add": jnp.add, "Multiply": jnp.multiply,
                     "Divide": jnp.divide, "ReLU": nn.relu, "Tanh": jnp.tanh,
                     "GELU": lambda v: nn.gelu(v, approximate=False),
                     "Exp": jnp.exp, "GreaterEqual": jnp.greater_equal,
                     "Select": jnp.where}
            if op.kind not in table:
                raise Missing(op.kind)
            return table[op.kind](*x)

        def function(*arguments):
            env = dict(constants)
            env.update(zip(inputs, arguments))
            for op in case.ops:
                env[op.outputs[0]] = apply(op, [env[n] for n in op.inputs])
            return [env[n] for n in case.outputs()]

        compiled = self.jax.jit(function)
        arguments = [jnp.asarray(values[n], dtype) for n in inputs]

        def run():
            run.last = compiled(*arguments)
            for r in run.last:
                r.block_until_ready()
        run.results = lambda: [np.asarray(r, np.float32) for r in run.last]
        return run


ALL = [Torch, OneDnn, TorchAttention, Inductor, OnnxRuntime, OpenVino, Jax]
