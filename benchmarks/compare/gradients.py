# SPDX-License-Identifier: Apache-2.0
"""Gradients of convolutions, pools and resampling, NCX as frameworks train, and
what PyTorch has for them. Other peers compute no single gradient."""

from cases import Case, Op


def windows(kernel, stride, pad):
    two = lambda v: [v, v]
    return {"strides": two(stride), "pads_begin": two(pad),
            "pads_end": two(pad), "data_format": "NCX"}, two(kernel)


def convolutions(n, c, size, o, kernel, stride=1, groups=1):
    """By data and by weights."""
    pad = kernel // 2
    out = (size + 2 * pad - kernel) // stride + 1
    attrs, _ = windows(kernel, stride, pad)
    attrs |= {"dilations": [1, 1], "groups": groups, "weights_format": "OIX"}
    x, w = (n, c, size, size), (o, c // groups, kernel, kernel)
    shapes = {"x": x, "w": w, "d": (n, o, out, out)}
    name = (f"{n}x{c}x{size}x{size} -> {o}, {kernel}x{kernel}/{stride}"
            + (f", groups {groups}" if groups > 1 else ""))
    work = 2.0 * n * o * out * out * c // groups * kernel * kernel
    rest = size - ((out - 1) * stride - 2 * pad + kernel)
    by_data = Op("ConvolutionBackwardData", ["d", "w"], ["y"],
                 attrs | {"output_padding": [rest, rest],
                          "dst_shape": list(x)})
    by_weights = Op("ConvolutionBackwardWeights", ["x", "d"], ["y"],
                    attrs | {"weights_shape": list(w)})
    return [Case("gradients", f"{what} {name}", [op],
                 {i: shapes[i] for i in op.inputs} | {"y": result}, set(), work)
            for what, op, result in (("data", by_data, x),
                                     ("weights", by_weights, w))]


def pool(kind, shape, kernel, stride, pad=0):
    n, c, size, _ = shape
    out = (size + 2 * pad - kernel) // stride + 1
    attrs, attrs_kernel = windows(kernel, stride, pad)
    attrs["kernel"] = attrs_kernel
    dims = {"d": (n, c, out, out), "y": shape}
    if kind == "AvgPoolBackward":
        attrs |= {"exclude_pad": False, "src_shape": list(shape)}
        inputs = ["d"]
    else:
        attrs["dilations"] = [1, 1]
        inputs, dims["x"] = ["x", "d"], shape
    name = f"{kind} {'x'.join(map(str, shape))}, {kernel}x{kernel}/{stride}"
    return Case("gradients", name, [Op(kind, inputs, ["y"], attrs)], dims,
                set())


def nearest(shape, times):
    big = (*shape[:2], *(times * s for s in shape[2:]))
    return Case("gradients",
                f"nearest by {times} {'x'.join(map(str, shape))}",
                [Op("InterpolateBackward", ["x", "d"], ["y"],
                    {"mode": "nearest", "data_format": "NCX",
                     "coordinate_transformation_mode": "half_pixel",
                     "scales": [float(times)] * 2})],
                {"x": shape, "d": big, "y": shape}, set())


def attention(heads, rows, size):
    """From the result and its statistics, as fused attention keeps them."""
    data, scores = (1, heads, rows, size), (1, heads, rows, rows)
    row = (1, heads, rows, 1)
    ops = [Op("MatMul", ["q", "k"], ["s"], {"transpose_b": True}),
           Op("Multiply", ["s", "f"], ["t"]),
           Op("Subtract", ["t", "l"], ["e"]),
           Op("Exp", ["e"], ["p"]),
           Op("MatMul", ["p", "g"], ["dv"], {"transpose_a": True}),
           Op("MatMul", ["g", "v"], ["u"], {"transpose_b": True}),
           Op("Multiply", ["o", "g"], ["n"]),
           Op("ReduceSum", ["n"], ["m"], {"axes": [-1], "keep_dims": True}),
           Op("Subtract", ["u", "m"], ["w"]),
           Op("Multiply", ["p", "w"], ["ds"]),
           Op("Multiply", ["ds", "f"], ["dt"]),
           Op("MatMul", ["dt", "k"], ["dq"]),
           Op("MatMul", ["dt", "q"], ["dk"], {"transpose_a": True})]
    shapes = dict.fromkeys("qkvgon", data) | dict.fromkeys(
        ("dq", "dk", "dv"), data) | dict.fromkeys(
        ("s", "t", "e", "p", "u", "w", "ds", "dt"), scores)
    return Case("attention gradients", f"1x{heads}x{rows}x{size}", ops,
                shapes | {"l": row, "m": row, "f": (1,)}, set(),
                10.0 * heads * rows * rows * size, fixed={"f": size ** -0.5})


def cases():
    result = [attention(12, 384, 64), attention(12, 1536, 64)]
    for shape in [(8, 64, 56, 64, 3), (8, 256, 14, 256, 3), (8, 512, 7, 512, 3),
                  (8, 64, 56, 256, 1), (8, 128, 28, 512, 1),
                  (8, 512, 28, 128, 1), (8, 128, 56, 128, 3, 2),
                  (8, 96, 56, 96, 3, 1, 96), (1, 64, 56, 64, 3)]:
        result += convolutions(*shape)
    result += convolutions(8, 3, 224, 64, 7, 2)[1:]  # nobody asks for the image's
    result += [pool("MaxPoolBackward", (8, 64, 112, 112), 3, 2, 1),
               pool("MaxPoolBackward", (8, 64, 56, 56), 2, 2),
               pool("AvgPoolBackward", (8, 64, 56, 56), 2, 2),
               pool("AvgPoolBackward", (8, 512, 7, 7), 7, 1),
               nearest((1, 64, 64, 64), 2)]
    return result


def torch_function(torch, case, op):
    """What PyTorch's autograd would call; None for other operations. The
    positions of maxima, which its forward pass keeps, are computed before."""
    aten, a = torch.ops.aten, op.attrs
    result = case.shapes[op.outputs[0]]
    if op.kind.startswith("ConvolutionBackward"):
        by_data = op.kind.endswith("Data")
        other = torch.zeros(result)
        mask = [by_data, not by_data, False]

        def call(first, second):
            x, w, d = (other, second, first) if by_data else (
                first, other, second)
            return aten.convolution_backward(
                d, x, w, None, a["strides"], a["pads_begin"], a["dilations"],
                False, [0, 0], a["groups"], mask)[mask.index(True)]

        return call
    if op.kind == "AvgPoolBackward":
        other = torch.zeros(result)
        return lambda d: aten.avg_pool2d_backward(
            d, other, a["kernel"], a["strides"], a["pads_begin"], False, True,
            None)
    if op.kind == "MaxPoolBackward":
        window = (a["kernel"], a["strides"], a["pads_begin"], a["dilations"])
        kept = {}

        def call(x, d):
            if id(x) not in kept:
                kept[id(x)] = torch.nn.functional.max_pool2d(
                    x, *window, return_indices=True)[1]
            return aten.max_pool2d_with_indices_backward(
                d, x, *window, False, kept[id(x)])

        return call
    if op.kind == "InterpolateBackward":
        return lambda x, d: aten.upsample_nearest2d_backward(
            d, list(d.shape[2:]), list(x.shape))
    return None
