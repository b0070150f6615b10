#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes digits.onnx: a small network for pictures of 8x8, any number of them.

    python3 write_digits.py digits.onnx

Needs the packages onnx and numpy. The weights are numbers of no meaning, the same
in each run.
"""
import sys

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save_model


def numbers(name, *shape):
    """Weights in [-s, s], s = sqrt(3 / inputs): the scale of what passes stays."""
    count = int(np.prod(shape))
    inputs = max(1, count // shape[0])
    phase = 1.0 + len(name) + 7 * shape[0]
    waves = np.sin(phase + 12.9898 * np.arange(count) ** 1.1)
    return numpy_helper.from_array(
        (waves * (3 / inputs) ** 0.5).astype(np.float32).reshape(shape), name)


def model():
    nodes = [
        helper.make_node("Conv", ["image", "conv1.weight", "conv1.bias"],
                         ["conv1"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["conv1"], ["relu1"]),
        helper.make_node("MaxPool", ["relu1"], ["pool1"],
                         kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["pool1", "conv2.weight", "conv2.bias"],
                         ["conv2"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["conv2"], ["relu2"]),
        # Exporters compute sizes like this one; it is folded.
        helper.make_node("Shape", ["relu2"], ["sizes"]),
        helper.make_node("Slice", ["sizes", "zero", "one"], ["batch"]),
        helper.make_node("Concat", ["batch", "rest"], ["flat.shape"], axis=0),
        helper.make_node("Reshape", ["relu2", "flat.shape"], ["flat"]),
        helper.make_node("Gemm", ["flat", "fc.weight", "fc.bias"], ["logits"],
                         transB=1),
        helper.make_node("Softmax", ["logits"], ["scores"], axis=1),
    ]
    weights = [
        numbers("conv1.weight", 8, 1, 3, 3),
        numbers("conv1.bias", 8),
        numbers("conv2.weight", 16, 8, 3, 3),
        numbers("conv2.bias", 16),
        numbers("fc.weight", 10, 256),
        numbers("fc.bias", 10),
    ] + [
        numpy_helper.from_array(np.array([value], np.int64), name)
        for name, value in (("zero", 0), ("one", 1), ("rest", -1))
    ]
    image = helper.make_tensor_value_info(
        "image", TensorProto.FLOAT, ["batch", 1, 8, 8])
    scores = helper.make_tensor_value_info(
        "scores", TensorProto.FLOAT, ["batch", 10])
    graph = helper.make_graph(nodes, "digits", [image], [scores], weights)
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


if __name__ == "__main__":
    made = model()
    checker.check_model(made, full_check=True)
    save_model(made, sys.argv[1])
