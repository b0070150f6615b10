# SPDX-License-Identifier: Apache-2.0
"""The work that is compared: small graphs in Tenon's vocabulary.

A case is a list of operations on named tensors; peers translate it. Shapes of
codegen studies and models; chosen before anything was measured.
"""

from dataclasses import dataclass, field

import numpy as np

import tenon

# Types of arrays by that of their elements.
STORED = {"bf16": np.uint16, "f32": np.float32, "s32": np.int32,
          "s64": np.int64, "s8": np.int8, "u8": np.uint8, "boolean": np.bool_}


def aligned(shape, dtype):
    """An array that starts at a cache line, as every peer's own do; NumPy's
    start 16 bytes behind one, and then each wide vector crosses two lines."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = np.empty(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start:start + size].view(dtype).reshape(shape)


def aligned_copy(array):
    copy = aligned(array.shape, array.dtype)
    copy[...] = array
    return copy


def to_bf16(v):
    """The upper halves of f32, rounded to nearest even."""
    bits = v.view(np.uint32)
    return ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(v):
    return (v.astype(np.uint32) << 16).view(np.float32)


@dataclass
class Op:
    kind: str
    inputs: list
    outputs: list
    attrs: dict = field(default_factory=dict)


@dataclass
class Case:
    suite: str
    name: str
    ops: list
    shapes: dict  # of every tensor
    constants: set
    flops: float = 0  # of one execution
    bytes: float = 0  # that have to move at least
    scale: dict = field(default_factory=dict)  # of random values, by tensor
    types: dict = field(default_factory=dict)  # by tensor; others are f32
    fixed: dict = field(default_factory=dict)  # values that are not random
    wide: "Case" = None  # the same work in f32
    limits: dict = field(default_factory=dict)  # of indices, from 0 on

    def dtype(self, name):
        return self.types.get(name, "f32")

    def narrow(self):
        """The set of types that data has beside f32."""
        return set(self.types.values()) - {"f32", "s32", "s64", "boolean"}

    def inputs(self):
        made = {o for op in self.ops for o in op.outputs}
        seen = []
        for op in self.ops:
            seen += [i for i in op.inputs if i not in made and i not in seen]
        return seen

    def outputs(self):
        read = {i for op in self.ops for i in op.inputs}
        return [o for op in self.ops for o in op.outputs
                if o and o not in read]

    def values(self, seed=0):
        """Inputs: bytes, or f32, also where the tensor is bf16."""
        random = np.random.default_rng(seed)

        def value(name):
            shape, dtype = self.shapes[name], self.dtype(name)
            if name in self.limits:
                return random.integers(0, self.limits[name], shape)
            if dtype == "boolean":
                return random.integers(0, 2, shape).astype(np.bool_)
            if dtype in ("u8", "s8", "u4", "s4"):
                low, high, form = {"u8": (0, 256, np.uint8),
                                   "s8": (-128, 128, np.int8),
                                   "u4": (0, 16, np.uint8),
                                   "s4": (-8, 8, np.int8)}[dtype]
                return random.integers(low, high, shape).astype(form)
            if name in self.fixed:
                v = np.full(shape, self.fixed[name], np.float32)
            else:
                v = (random.standard_normal(shape)
                     * self.scale.get(name, 1)).astype(np.float32)
            return from_bf16(to_bf16(v)) if dtype == "bf16" else v
        return {name: value(name) for name in self.inputs()}

    def aligned_values(self):
        return {n: aligned_copy(v) for n, v in self.values().items()}

    def stored(self, name, value):
        """A value as Tenon reads it."""
        if self.dtype(name) in ("u4", "s4"):  # the first in the low half
            pairs = value.reshape(-1, 2).view(np.uint8) & 15
            return pairs[:, 0] | pairs[:, 1] << 4
        return to_bf16(value) if self.dtype(name) == "bf16" else value

    def graph(self, values=None):
        """Tenon's; with values those of constants are in it."""
        graph, edges = tenon.Graph(), {None: None}  # None: left out
        for name in self.inputs():
            if values and name in self.constants:
                edges[name] = graph.constant(name, self.tensor(
                    name, self.stored(name, values[name])))
            else:
                edges[name] = graph.input(name, self.shapes[name],
                                          self.dtype(name),
                                          constant=name in self.constants)
        for i, op in enumerate(self.ops):
            results = graph.add(
                op.kind, [edges[n] for n in op.inputs],
                {k: (attribute_type(v), v) for k, v in op.attrs.items()},
                [n and (self.dtype(n), self.shapes[n]) for n in op.outputs],
                name=f"{op.kind.lower()}{i}")
            edges.update(zip(op.outputs, results))
        graph.output(*[edges[n] for n in self.outputs()])
        return graph

    def tensor(self, name, array):
        """What is stored in an array, for Tenon."""
        return tenon.View(array, self.dtype(name), self.shapes[name])

    def prepare(self, model, values):
        """A function that executes once, and the arrays of its results."""
        results = [aligned(self.shapes[n], STORED[self.dtype(n)])
                   for n in self.outputs()]
        return model.prepare(
            *[self.tensor(p.name, self.stored(p.name, values[p.name]))
              for p in model.inputs],
            out=[self.tensor(n, r)
                 for n, r in zip(self.outputs(), results)]), results


def attribute_type(value):
    one = value[0] if isinstance(value, (list, tuple)) else value
    kind = {bool: "boolean", str: "string", float: "f32", int: "s64"}[type(one)]
    return kind if one is value else kind + "s"


def matmul(m, k, n, suite="matmul"):
    return Case(suite, f"{m}x{k}x{n}", [Op("MatMul", ["x", "w"], ["y"])],
                {"x": (m, k), "w": (k, n), "y": (m, n)}, {"w"},
                2.0 * m * k * n, 4.0 * (m * k + k * n + m * n))


def transposed_matmul(m, k, n, constant):
    """A is stored [K, M], as in a gradient of weights."""
    case = matmul(m, k, n, "matmul transposed")
    case.ops[0].attrs["transpose_a"] = True
    case.shapes["x"] = (k, m)
    case.name += " A^T" + " constant B" * constant
    case.constants = {"w"} if constant else set()
    return case


def mlp(m, sizes, activation, times=1):
    """`times` after one another, each with weights of its own."""
    ops, shapes, constants, flops = [], {"x0": (m, sizes[0])}, set(), 0
    for i, (k, n) in enumerate(list(zip(sizes, sizes[1:])) * times):
        shapes |= {f"w{i}": (k, n), f"b{i}": (n,), f"t{i}": (m, n),
                   f"x{i + 1}": (m, n)}
        constants |= {f"w{i}", f"b{i}"}
        ops += [Op("MatMul", [f"x{i}", f"w{i}", f"b{i}"], [f"t{i}"]),
                Op(activation, [f"t{i}"], [f"x{i + 1}"])]
        flops += 2.0 * m * k * n
    scale = {c: 0.05 for c in constants}
    name = f"{m}: " + "-".join(map(str, sizes))
    return Case("mlp", name + (f" x {times}" if times > 1 else ""), ops,
                shapes, constants, flops, scale=scale)


def convolution(n, c, size, o, kernel, stride=1, groups=1):
    pad = kernel // 2
    out = (size + 2 * pad - kernel) // stride + 1
    two = lambda v: [v, v]
    name = (f"{n}x{size}x{size}x{c} -> {o}, {kernel}x{kernel}/{stride}"
            + (f", groups {groups}" if groups > 1 else ""))
    return Case(
        "convolution", name,
        [Op("Convolution", ["x", "w", "b"], ["t"],
            {"strides": two(stride), "pads_begin": two(pad),
             "pads_end": two(pad), "dilations": two(1), "groups": groups,
             "data_format": "NXC", "weights_format": "OIX"}),
         Op("ReLU", ["t"], ["y"])],
        {"x": (n, size, size, c), "w": (o, c // groups, kernel, kernel),
         "b": (o,), "t": (n, out, out, o), "y": (n, out, out, o)}, {"w", "b"},
        2.0 * n * out * out * o * c // groups * kernel * kernel)


def channels_first(case):
    """The same with NCX tensors, as frameworks have them by default."""
    case.suite = "conv NCX"
    for op in case.ops:
        if op.kind == "Convolution":
            op.attrs["data_format"] = "NCX"
    turned = {"x", "t", "y"}
    case.shapes = {n: (s[0], s[3], s[1], s[2]) if n in turned else s
                   for n, s in case.shapes.items()}
    return case


def fire(size, c=64, squeezed=16, each=64):
    """SqueezeNet's: two convolutions of a third, joined along channels."""
    image = lambda channels: (1, channels, size, size)
    shapes, ops, work = {"x": image(c)}, [], 0

    def convolved(src, dst, channels, out, kernel):
        nonlocal work
        pads = [kernel // 2] * 2
        shapes.update({f"{dst}.w": (out, channels, kernel, kernel),
                       f"{dst}.b": (out,), f"{dst}.t": image(out),
                       dst: image(out)})
        ops.extend([
            Op("Convolution", [src, f"{dst}.w", f"{dst}.b"], [f"{dst}.t"],
               {"strides": [1, 1], "pads_begin": pads, "pads_end": pads,
                "dilations": [1, 1], "groups": 1, "data_format": "NCX",
                "weights_format": "OIX"}),
            Op("ReLU", [f"{dst}.t"], [dst])])
        work += 2.0 * size * size * channels * out * kernel * kernel

    convolved("x", "s", c, squeezed, 1)
    convolved("s", "e", squeezed, each, 1)
    convolved("s", "f", squeezed, each, 3)
    shapes["j"] = image(2 * each)
    ops.append(Op("Concat", ["e", "f"], ["j"], {"axis": 1}))
    convolved("j", "y", 2 * each, squeezed, 1)
    return Case("joined", f"fire {size}x{size}x{c}", ops, shapes,
                {n for n in shapes if n[-2:] in (".w", ".b")}, work)


def joined_rows(rows, columns):
    parts, names = (rows, columns), ["a", "b"]
    ops = [Op(kind, [x], [t])
           for kind, x, t in zip(("ReLU", "Exp"), names, "st")]
    ops += [Op("Concat", ["s", "t"], ["j"], {"axis": 1}),
            Op("Tanh", ["j"], ["y"])]
    whole = (rows, 2 * columns)
    return Case("joined", f"two of {rows}x{columns}", ops,
                {n: parts for n in "abst"} | {"j": whole, "y": whole}, set(),
                bytes=16.0 * rows * columns)


def grouped_convolutions():
    """Those of ResNeXt-50, with groups of 4 to 32 channels, and depthwise ones
    whose channels are a power of two."""
    shapes = [(4 * 2 ** i * 32, 56 >> i, 1, 32) for i in range(4)]
    shapes += [(256, 56, 2, 32), (32, 112, 1, 16), (512, 14, 1, 512),
               (128, 56, 1, 128)]
    cases = [convolution(n, c, size, c, 3, stride, groups)
             for c, size, stride, groups in shapes for n in (1, 16)]
    for case in cases:
        case.suite = "grouped conv"
    return cases


def resnet_convolutions():
    """Each shape of ResNet-50, with one image and with 16."""
    shapes = [(3, 224, 64, 7, 2), (64, 56, 64, 1), (64, 56, 64, 3),
              (64, 56, 256, 1), (256, 56, 64, 1)]
    for c, size in ((128, 28), (256, 14), (512, 7)):
        shapes += [(2 * c, 2 * size, c, 1), (c, 2 * size, c, 3, 2),
                   (c, size, 4 * c, 1), (2 * c, 2 * size, 4 * c, 1, 2),
                   (4 * c, size, c, 1), (c, size, c, 3)]
    cases = [convolution(n, *s) for n in (1, 16) for s in shapes]
    for case in cases:
        case.suite = "resnet conv"
    return cases


def in_bf16(case):
    """The same with every tensor in bf16."""
    case.suite += " bf16"
    case.types = {name: "bf16" for name in case.shapes}
    case.bytes /= 2
    return case


def int8_matmul(m, k, n):
    """u8 times s8, requantised."""
    def quantise(kind, src, dst, scale, zp):
        return Op(kind, [src], [dst], {"scales": [scale], "zps": [zp]})
    return Case("matmul int8", f"{m}x{k}x{n}",
                [quantise("Dequantize", "x", "a", 1 / 128, 128),
                 quantise("Dequantize", "w", "b", 1 / 128, 0),
                 Op("MatMul", ["a", "b"], ["t"]),
                 quantise("Quantize", "t", "y", k ** 0.5 / 96, 128)],
                {"x": (m, k), "w": (k, n), "a": (m, k), "b": (k, n),
                 "t": (m, n), "y": (m, n)}, {"w"}, 2.0 * m * k * n,
                1.0 * (m * k + k * n + m * n),
                types={"x": "u8", "w": "s8", "y": "u8"})


def weight_only(m, k, n, dtype, group):
    """Weights of `dtype`, a scale for each `group` of K."""
    return Case("weights", f"{m}x{k}x{n} {dtype} by {group}",
                [Op("DynamicDequantize", ["w", "s"], ["b"],
                    {"qtype": "per_group", "group_shape": [group, 1]}),
                 Op("MatMul", ["a", "b"], ["y"])],
                {"w": (k, n), "s": (k // group, n), "b": (k, n), "a": (m, k),
                 "y": (m, n)}, {"w", "s"}, 2.0 * m * k * n,
                4.0 * (m * k + m * n + k * n / group)
                + k * n * int(dtype[1:]) / 8, types={"w": dtype})


def unary(kind, shape, **attrs):
    count = float(np.prod(shape))
    return Case("elementwise" if kind in ("GELU", "Tanh", "Exp", "ReLU")
                else "rows", f"{kind} " + "x".join(map(str, shape)),
                [Op(kind, ["x"], ["y"], attrs)], {"x": shape, "y": shape},
                set(), bytes=8 * count)


def layer_norm(rows, columns):
    return Case("rows", f"LayerNorm {rows}x{columns}",
                [Op("LayerNorm", ["x", "g", "b"], ["y"],
                    {"keep_stats": False})],
                {"x": (rows, columns), "g": (columns,), "b": (columns,),
                 "y": (rows, columns)}, {"g", "b"}, bytes=8.0 * rows * columns)


def reduction(kind, shape, axes):
    out = tuple(1 if i in axes else d for i, d in enumerate(shape))
    return Case("rows", f"{kind} " + "x".join(map(str, shape)) + f" {axes}",
                [Op(kind, ["x"], ["y"], {"axes": axes, "keep_dims": True})],
                {"x": shape, "y": out}, set(), bytes=4.0 * np.prod(shape))


def chain(shape):
    return Case("elementwise", "gelu(x * s + b) + r "
                + "x".join(map(str, shape)),
                [Op("Multiply", ["x", "s"], ["a"]), Op("Add", ["a", "b"], ["c"]),
                 Op("GELU", ["c"], ["d"]), Op("Add", ["d", "r"], ["y"])],
                {"x": shape, "s": shape[-1:], "b": shape[-1:], "r": shape,
                 "a": shape, "c": shape, "d": shape, "y": shape}, {"s", "b"},
                bytes=12.0 * np.prod(shape))


def transpose(shape, order):
    out = tuple(shape[i] for i in order)
    return Case("elementwise", "transpose " + "x".join(map(str, shape)),
                [Op("StaticTranspose", ["x"], ["y"], {"order": order})],
                {"x": shape, "y": out}, set(), bytes=8.0 * np.prod(shape))


def attention(batch, heads, queries, keys, size, mask=True, groups=0,
              causal=False):
    """`groups` of heads share keys and values; 0: each has its own."""
    heads_of = (groups, heads // groups) if groups else (heads,)
    scores, data = (batch, *heads_of, queries, keys), (batch, *heads_of,
                                                       queries, size)
    shared = (batch, groups, 1, keys, size) if groups else (batch, heads, keys,
                                                           size)
    ops = [Op("MatMul", ["q", "k"], ["s"], {"transpose_b": True}),
           Op("Divide", ["s", "d"], ["t"])]
    shapes = {"q": data, "k": shared, "v": shared, "d": (1,), "s": scores,
              "t": scores, "p": scores, "y": data}
    last, types, fixed = "t", {}, {"d": size ** 0.5}
    constants = set()
    if mask:
        shapes |= {"m": (batch, 1, 1, keys), "u": scores}
        ops.append(Op("Add", ["t", "m"], ["u"]))
        last, fixed["m"] = "u", padding(keys)
    if causal:
        shapes |= {"i": scores, "j": scores, "g": scores, "n": (),
                   "c": scores}
        types = {"i": "s32", "j": "s32", "g": "boolean"}
        constants, fixed["n"] = {"n"}, -np.inf
        ops += [Op("GenIndex", [last], ["i"], {"axis": -2}),
                Op("GenIndex", [last], ["j"], {"axis": -1}),
                Op("GreaterEqual", ["i", "j"], ["g"]),
                Op("Select", ["g", last, "n"], ["c"])]
        last = "c"
    ops += [Op("SoftMax", [last], ["p"], {"axis": -1}),
            Op("MatMul", ["p", "v"], ["y"])]
    name = (f"{batch}x{heads}" + (f"/{groups}" if groups else "")
            + f"x{queries}x{keys}x{size}" + " mask" * mask + " causal" * causal)
    return Case("attention", name, ops, shapes, constants,
                4.0 * batch * heads * queries * keys * size
                * (0.5 if causal else 1), types=types, fixed=fixed)


def int8_attention(heads, n, size, dtype):
    """Queries of u8, keys and values of `dtype`, and weights that become u8."""
    wide = attention(1, heads, n, n, size, mask=False)
    shapes = wide.shapes | {"p8": wide.shapes["p"], "w": wide.shapes["p"]}
    types = {"p8": "u8"}

    def step(kind, src, dst, scale, zp):
        return Op(kind, [src], [dst], {"scales": [scale], "zps": [zp]})

    ops = []
    for name, kind in (("q", "u8"), ("k", dtype), ("v", dtype)):
        shapes[name + "8"], types[name + "8"] = wide.shapes[name], kind
        ops.append(step("Dequantize", name + "8", name, 0.02,
                        128 if kind == "u8" else 0))
    ops += wide.ops[:-1] + [step("Quantize", "p", "p8", 1 / 255, 0),
                            step("Dequantize", "p8", "w", 1 / 255, 0),
                            Op("MatMul", ["w", "v"], ["y"])]
    return Case("attention int8", f"1x{heads}x{n}x{n}x{size} {dtype}", ops,
                shapes, set(), wide.flops, types=types, fixed=wide.fixed,
                wide=wide)


def padding(keys):
    """An additive mask: the last quarter of the keys is none."""
    return np.where(np.arange(keys) < keys - keys // 4, 0, -10000)


def all_cases():
    cases = [matmul(*s) for s in [
        (128, 768, 768), (128, 768, 3072), (128, 3072, 768), (512, 1024, 1024),
        (1024, 1024, 1024), (384, 768, 768), (127, 1008, 1000),
        (256, 512, 2048), (512, 4096, 4096), (64, 1024, 1024)]]
    # Of GPT-2, ViT, T5, LLaMA, recommendation and speech.
    cases += [matmul(*s, "matmul more") for s in [
        (64, 768, 2304), (1024, 768, 2304), (197, 768, 768), (197, 3072, 768),
        (197, 768, 1000), (128, 512, 2048), (128, 2048, 512), (77, 1024, 4096),
        (256, 4096, 1024), (64, 2048, 5632), (100, 300, 600), (2048, 64, 64),
        (4096, 128, 128), (512, 80, 1536), (1024, 479, 1024), (1024, 1024, 256),
        (384, 384, 384), (2000, 320, 1280), (65, 257, 513), (333, 777, 129)]]
    cases += [matmul(m, 4096, 4096, "small M") for m in (1, 4, 8, 16, 32)]
    cases += [transposed_matmul(*s) for s in [
        (128, 768, 768, True), (384, 768, 3072, True),
        (512, 1024, 1024, True), (768, 512, 3072, False),
        (1024, 1024, 1024, False), (768, 128, 768, False)]]
    products = [(128, 768, 768), (512, 1024, 1024), (1024, 1024, 1024),
                (127, 1008, 1000), (512, 4096, 4096), (16, 4096, 4096),
                (1, 4096, 4096)]
    cases += [in_bf16(matmul(*s)) for s in products]
    cases += [int8_matmul(*s) for s in products]
    cases += [weight_only(m, 4096, 4096, dtype, group)
              for dtype, group in (("s4", 32), ("s4", 128), ("s8", 128))
              for m in (1, 4, 16, 128)]
    cases += [in_bf16(convolution(*s)) for s in [
        (1, 64, 56, 64, 3), (1, 256, 14, 256, 3), (1, 256, 56, 64, 1)]]
    cases += [in_bf16(mlp(m, (768, 3072, 768), "GELU")) for m in (32, 128)]
    cases += [mlp(m, (768, 3072, 768), "GELU") for m in (16, 32, 128)]
    cases += [mlp(m, (768, 3072, 768), "GELU", 12) for m in (16, 32, 128)]
    cases += [mlp(m, (13, 512, 256, 128), "ReLU") for m in (32, 128, 512)]
    cases += [convolution(*s) for s in [
        (1, 64, 56, 64, 3), (1, 128, 28, 128, 3), (1, 256, 14, 256, 3),
        (1, 512, 7, 512, 3), (1, 64, 56, 256, 1), (1, 256, 56, 64, 1),
        (1, 256, 14, 1024, 1), (1, 1024, 14, 256, 1), (1, 128, 56, 128, 3, 2),
        (1, 3, 224, 64, 7, 2), (16, 64, 56, 64, 3), (16, 256, 14, 256, 3),
        (16, 256, 56, 64, 1)]]
    cases += [convolution(1, c, s, c, 3, 1, c)
              for c, s in ((96, 56), (384, 14))]
    cases += resnet_convolutions() + grouped_convolutions()
    cases += [channels_first(convolution(1, *s)) for s in [
        (3, 224, 64, 7, 2), (64, 56, 64, 1), (64, 56, 256, 1),
        (256, 56, 64, 1), (256, 56, 128, 1), (128, 56, 128, 3, 2),
        (128, 28, 512, 1), (512, 28, 128, 1), (512, 28, 1024, 1, 2),
        (128, 28, 128, 3), (256, 28, 256, 3, 2), (1024, 14, 256, 1),
        (512, 14, 512, 3, 2), (2048, 7, 512, 1), (512, 7, 2048, 1),
        (96, 56, 96, 3, 1, 96)]]
    cases += [fire(56), fire(28), joined_rows(4096, 256),
              joined_rows(65536, 16)]
    cases += [attention(1, 12, 384, 384, 64), attention(1, 12, 1536, 1536, 64),
              attention(1, 12, 128, 128, 64), attention(1, 32, 1, 4096, 128),
              attention(1, 12, 384, 384, 64, False, causal=True),
              attention(1, 12, 1536, 1536, 64, False, causal=True),
              attention(1, 32, 384, 384, 128, groups=8),
              attention(1, 32, 1, 4096, 128, groups=8)]
    cases += [in_bf16(attention(1, 12, n, n, 64)) for n in (128, 384, 1536)]
    cases += [int8_attention(12, n, 64, dtype) for n in (128, 384)
              for dtype in ("s8", "u8")]
    cases += [unary("SoftMax", (12, 384, 384), axis=-1),
              unary("SoftMax", (512, 32000), axis=-1),
              layer_norm(384, 768), layer_norm(4096, 1024),
              reduction("ReduceSum", (4096, 1024), [1]),
              reduction("ReduceMean", (4096, 1024), [0])]
    cases += [unary(kind, (384, 3072)) for kind in ("GELU", "Tanh", "Exp",
                                                    "ReLU")]
    cases += [unary("ReLU", (8192, 8192)), chain((384, 3072)),
              transpose((1, 384, 12, 64), [0, 2, 1, 3]),
              transpose((2048, 2048), [1, 0])]
    return cases
