# SPDX-License-Identifier: Apache-2.0
"""Products with weights of 4 and 8 bits, as the peers that have them say them.

ONNX's own operations would make f32 of the weights before the first run. Of
other cases the models are None."""

import numpy as np


def parts(case, values):
    """Levels [N, K], scales [N, groups], bits and K of a group, or None."""
    op = case.ops[0]
    if len(case.ops) != 2 or op.kind != "DynamicDequantize":
        return None
    levels, scales = (values[name] for name in op.inputs)
    bits = int(case.dtype(op.inputs[0])[1:])
    turn = np.ascontiguousarray
    return turn(levels.T), turn(scales.T), bits, op.attrs["group_shape"][0]


def onnx_model(case, values):
    """MatMulNBits of ONNX Runtime, computing in f32."""
    import onnx
    from onnx import helper, numpy_helper
    found = parts(case, values)
    if not found:
        return None
    levels, scales, bits, group = found
    n, k = levels.shape
    # Without zero points levels are around the middle.
    stored = (levels.astype(np.int16) + (1 << bits - 1)).astype(np.uint8)
    if bits == 4:
        stored = stored[:, 0::2] | stored[:, 1::2] << 4
    data = {"w": stored.reshape(n, k // group, -1), "s": scales.reshape(-1)}
    x, y = case.ops[1].inputs[0], case.ops[1].outputs[0]
    f32 = onnx.TensorProto.FLOAT
    node = helper.make_node(
        "MatMulNBits", [x, "w", "s"], [y], domain="com.microsoft", K=k, N=n,
        bits=bits, block_size=group, accuracy_level=1)
    graph = helper.make_graph(
        [node], "case",
        [helper.make_tensor_value_info(x, f32, case.shapes[x])],
        [helper.make_tensor_value_info(y, f32, case.shapes[y])],
        [numpy_helper.from_array(v, name) for name, v in data.items()])
    model = helper.make_model(
        graph, ir_version=9,
        opset_imports=[helper.make_opsetid("", 20),
                       helper.make_opsetid("com.microsoft", 1)])
    return model.SerializeToString()


def openvino_model(case, values):
    """The pattern that OpenVINO keeps in as many bits."""
    import openvino as ov
    from openvino import opset13 as op
    found = parts(case, values)
    if not found:
        return None
    levels, scales, bits, group = found
    n, k = levels.shape
    name = case.ops[1].inputs[0]
    x = op.parameter(case.shapes[name], ov.Type.f32)
    x.output(0).tensor.set_names({name})
    stored = op.constant(levels.reshape(n, k // group, group),
                         dtype=ov.Type.i4 if bits == 4 else ov.Type.i8)
    w = op.multiply(op.convert(stored, ov.Type.f32),
                    op.constant(scales.reshape(n, k // group, 1)))
    w = op.reshape(w, np.array([n, k]), special_zero=False)
    return ov.Model([op.matmul(x, w, False, True)], [x])
