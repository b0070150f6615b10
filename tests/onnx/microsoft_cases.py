# SPDX-License-Identifier: Apache-2.0
"""Cases of one node with operators of com.microsoft, and random operands.

Needs the packages onnx, onnxruntime and numpy.
"""

import pathlib
import sys

import numpy as np
import onnxruntime
from onnx import helper, numpy_helper

from case_files import write_case

DOMAIN = "com.microsoft"
rng = np.random.default_rng(7)


def floats(*shape, scale=1.0):
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def u8(*shape, low=0, high=256):
    return rng.integers(low, high, shape).astype(np.uint8)


def s8(*shape, low=-128, high=128):
    return rng.integers(low, high, shape).astype(np.int8)


def f32(value):
    return np.array(value, np.float32)


class Cases:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.failed = 0

    def add(self, name, op, inputs, outputs=1, weights=(), domain=DOMAIN, **attrs):
        """`inputs`: (name, array or None) of operands; those in `weights` are
        initializers. `outputs`: a number, or names, "" for one left out."""
        names = (
            [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
        )
        node = helper.make_node(
            op,
            [n if v is not None else "" for n, v in inputs],
            names,
            domain=domain,
            **attrs,
        )
        given = {n: v for n, v in inputs if v is not None and n not in weights}
        graph = helper.make_graph(
            [node],
            name,
            [
                helper.make_tensor_value_info(
                    n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape
                )
                for n, v in given.items()
            ],
            [],
            [numpy_helper.from_array(v, n) for n, v in inputs if n in weights],
        )
        model = helper.make_model(
            graph,
            ir_version=8,
            opset_imports=[
                helper.make_opsetid("", 17),
                helper.make_opsetid(DOMAIN, 1),
            ],
        )
        kept = [n for n in names if n]
        for n in kept:
            model.graph.output.add().name = n
        try:
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level = (
                onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            )
            options.log_severity_level = 3
            session = onnxruntime.InferenceSession(
                model.SerializeToString(),
                options,
                providers=["CPUExecutionProvider"],
            )
            results = session.run(kept, given)
        except Exception as error:
            print(f"{name}: {str(error)[:300]}", file=sys.stderr)
            self.failed += 1
            return
        del model.graph.output[:]
        for n, v in zip(kept, results):
            model.graph.output.append(
                helper.make_tensor_value_info(
                    n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape
                )
            )
        write_case(self.folder / name, model, list(given.values()), results)
