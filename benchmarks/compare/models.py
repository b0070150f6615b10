# SPDX-License-Identifier: Apache-2.0
"""Whole models as cases: what a framework would submit in one graph.

Weights are random, of a size that keeps values in range through all layers.
Convolutions have channels first, as ONNX and PyTorch write them, and
BatchNorm folded into weights and bias, as exporters do. Quantised models have
a Quantize and a Dequantize on every operand of a product: u8 activations, s8
weights with a scale for each channel.
"""

import numpy as np

from cases import Case, Op, in_bf16, padding


class Model:
    """Collects operations; each method returns the name of its result."""

    def __init__(self, quantised=False):
        self.ops, self.shapes, self.constants = [], {}, set()
        self.scale, self.fixed, self.flops = {}, {}, 0
        self.quantised, self.types, self.narrowed = quantised, {}, set()

    def tensor(self, shape, prefix="t"):
        name = f"{prefix}{len(self.shapes)}"
        self.shapes[name] = tuple(shape)
        return name

    def constant(self, shape, scale):
        name = self.tensor(shape, "w")
        self.constants.add(name)
        self.scale[name] = scale
        return name

    def op(self, kind, inputs, dims, **attrs):
        result = self.tensor(dims)
        self.ops.append(Op(kind, inputs, [result], attrs))
        return result

    def same(self, kind, *inputs, **attrs):
        """An operation whose result has the shape of its first operand."""
        return self.op(kind, list(inputs), self.shapes[inputs[0]], **attrs)

    def narrow(self, x):
        """x as bytes and back again, if the model is quantised."""
        if not self.quantised or x in self.narrowed:
            return x
        # What is beyond these steps saturates, with all peers alike.
        kind = next((op.kind for op in self.ops if x in op.outputs), None)
        step = {"scales": [24 / 255], "zps": [0]} \
            if kind in ("ReLU", "Clamp") else {"scales": [48 / 255],
                                               "zps": [128]}
        q = self.same("Quantize", x, **step)
        self.types[q] = "u8"
        back = self.same("Dequantize", q, **step)
        self.narrowed.add(back)
        return back

    def weights(self, shape, scale, channel):
        """Constant weights; `channel` is the dimension of their outputs."""
        w = self.constant(shape, scale)
        if not self.quantised:
            return w
        self.types[w] = "s8"
        # Bytes are spread evenly.
        n = shape[channel]
        return self.same("Dequantize", w, qtype="per_channel", axis=channel,
                         scales=[scale / 74] * n, zps=[0] * n)

    def linear(self, x, n):
        *rows, k = self.shapes[x]
        self.flops += 2.0 * np.prod(rows) * k * n
        x, w = self.narrow(x), self.weights((k, n), k ** -0.5, 1)
        return self.op("MatMul", [x, w, self.constant((n,), 0.1)], (*rows, n))

    def layer_norm(self, x):
        d = self.shapes[x][-1:]
        return self.same("LayerNorm", x, self.constant(d, 1.0),
                         self.constant(d, 0.1), keep_stats=False)

    def reshape(self, x, shape):
        return self.op("StaticReshape", [x], shape, shape=list(shape),
                       special_zero=False)

    def transpose(self, x, order):
        return self.op("StaticTranspose", [x],
                       [self.shapes[x][i] for i in order], order=order)

    def convolution(self, x, o, kernel, stride=1, groups=1):
        n, c, size, _ = self.shapes[x]
        pad = kernel // 2
        out = (size + 2 * pad - kernel) // stride + 1
        fan = c // groups * kernel * kernel
        self.flops += 2.0 * n * out * out * o * fan
        x = self.narrow(x)
        w = self.weights((o, c // groups, kernel, kernel), fan ** -0.5, 0)
        return self.op("Convolution", [x, w, self.constant((o,), 0.1)],
                       (n, o, out, out), strides=[stride] * 2,
                       pads_begin=[pad] * 2, pads_end=[pad] * 2,
                       dilations=[1, 1], groups=groups, data_format="NCX",
                       weights_format="OIX")

    def case(self, suite, name):
        return Case(suite, name, self.ops, self.shapes, self.constants,
                    self.flops, scale=self.scale, types=self.types,
                    fixed=self.fixed)


def in_int8(build, *arguments):
    """The model with and without bytes, to be timed in turns."""
    case = build(*arguments, quantised=True)
    case.suite += " int8"
    case.wide = build(*arguments)
    return case


def chain(rows, sizes, quantised=False):
    """Products with a ReLU each."""
    m = Model(quantised)
    x = m.tensor((rows, sizes[0]), "x")
    for n in sizes[1:]:
        x = m.same("ReLU", m.linear(x, n))
    m.narrow(x)
    return m.case("chain", f"{rows}: " + "-".join(map(str, sizes)))


def bert(batch, sequence, layers=12, size=768, heads=12):
    """The encoder of BERT-base on embedded tokens, with an additive mask."""
    m = Model()
    x = m.tensor((batch, sequence, size), "x")
    mask = m.tensor((batch, 1, 1, sequence), "mask")
    m.fixed[mask] = padding(sequence)
    head = size // heads
    root = m.constant((1,), 1)
    m.fixed[root] = head ** 0.5

    def split(y):
        y = m.reshape(y, (batch, sequence, heads, head))
        return m.transpose(y, [0, 2, 1, 3])

    for _ in range(layers):
        q, k, v = (split(m.linear(x, size)) for _ in range(3))
        scores = (batch, heads, sequence, sequence)
        m.flops += 4.0 * np.prod(scores) * head
        s = m.op("MatMul", [q, k], scores, transpose_b=True)
        s = m.same("Add", m.same("Divide", s, root), mask)
        s = m.same("SoftMax", s, axis=-1)
        y = m.op("MatMul", [s, v], m.shapes[q])
        y = m.reshape(m.transpose(y, [0, 2, 1, 3]), (batch, sequence, size))
        x = m.layer_norm(m.same("Add", m.linear(y, size), x))
        y = m.linear(m.same("GELU", m.linear(x, 4 * size)), size)
        x = m.layer_norm(m.same("Add", y, x))
    return m.case("bert", f"{layers} layers {batch}x{sequence}x{size}")


def resnet50(batch, quantised=False):
    m = Model(quantised)
    x = m.tensor((batch, 3, 224, 224), "x")
    x = m.narrow(m.same("ReLU", m.convolution(x, 64, 7, 2)))
    x = m.op("MaxPool", [x], (batch, 64, 56, 56), strides=[2, 2],
             pads_begin=[1, 1], pads_end=[1, 1], kernel=[3, 3],
             dilations=[1, 1], data_format="NCX")
    for width, blocks, first in ((64, 3, 1), (128, 4, 2), (256, 6, 2),
                                 (512, 3, 2)):
        for i in range(blocks):
            stride = first if i == 0 else 1
            y = m.same("ReLU", m.convolution(x, width, 1))
            y = m.same("ReLU", m.convolution(y, width, 3, stride))
            y = m.convolution(y, 4 * width, 1)
            if i == 0:
                x = m.convolution(x, 4 * width, 1, stride)
            y, x = m.narrow(y), m.narrow(x)
            x = m.narrow(m.same("ReLU", m.same("Add", y, x)))
    return classified(m, x, batch, 2048).case("resnet50", f"batch {batch}")


def classified(m, x, batch, channels):
    """The mean over all pixels, and scores of 1000 classes."""
    x = m.op("ReduceMean", [x], (batch, channels, 1, 1), axes=[2, 3],
             keep_dims=True)
    m.linear(m.reshape(x, (batch, channels)), 1000)
    return m


def mobilenet_v2(batch, quantised=False):
    """Inverted residuals, as in MobileNetV2 with width 1."""
    m = Model(quantised)
    relu6 = lambda y: m.same("Clamp", y, min=0.0, max=6.0)
    x = m.tensor((batch, 3, 224, 224), "x")
    x = relu6(m.convolution(x, 32, 3, 2))
    for expand, channels, blocks, first in (
            (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
            (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(blocks):
            stride = first if i == 0 else 1
            inner = m.shapes[x][1] * expand
            y = relu6(m.convolution(x, inner, 1)) if expand > 1 else x
            y = relu6(m.convolution(y, inner, 3, stride, inner))
            y = m.narrow(m.convolution(y, channels, 1))
            x = m.narrow(m.same("Add", y, x)) if m.shapes[x] == m.shapes[y] else y
    x = relu6(m.convolution(x, 1280, 1))
    return classified(m, x, batch, 1280).case("mobilenet", f"batch {batch}")


def all_models():
    return ([bert(1, s) for s in (128, 384)]
            + [in_bf16(bert(1, s)) for s in (128, 384)]
            + [resnet50(n) for n in (1, 16)]
            + [mobilenet_v2(n) for n in (1, 16)]
            + [in_int8(chain, rows, sizes)
               for sizes in ((768, 3072, 768), (13, 512, 256, 128))
               for rows in (32, 128)]
            + [in_int8(model, n) for model in (resnet50, mobilenet_v2)
               for n in (1, 16)])
