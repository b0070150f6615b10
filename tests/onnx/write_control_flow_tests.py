# SPDX-License-Identifier: Apache-2.0
"""Writes cases of If, Loop and Scan that depend on data, with what ONNX Runtime
computes as the outputs.

    python3 tests/onnx/write_control_flow_tests.py tests/onnx/control_flow

Needs the packages onnx, onnxruntime and numpy; those in the repository are of
onnxruntime 1.32.0.
"""

import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from case_files import write_case

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
rng = np.random.default_rng(11)


def port(name, dtype=F, shape=None):
    return helper.make_tensor_value_info(name, dtype, shape)


def weight(name, value, dtype=np.float32):
    return onnx.numpy_helper.from_array(np.array(value, dtype), name)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, **attributes)


def graph(nodes, inputs, outputs, weights=()):
    return helper.make_graph(nodes, "g", inputs, outputs, list(weights))


def write(folder, name, nodes, given, outputs, weights=(), opset=17):
    """`given`: arrays by name, which become inputs of these shapes."""
    inputs = [
        port(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
        for n, v in given.items()
    ]
    model = helper.make_model(
        graph(nodes, inputs, outputs, weights),
        opset_imports=[helper.make_opsetid("", opset)],
        ir_version=8,
    )
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    results = session.run(None, given)
    write_case(pathlib.Path(folder) / name, model, given.values(), results)


def floats(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def ifs(folder):
    x = floats(3, 4)
    branch = {
        "then_branch": graph([node("Mul", ["x", "two"], ["r"])], [], [port("r")]),
        "else_branch": graph(
            [
                node("Neg", ["x"], ["n"]),
                node("Exp", ["n"], ["e"]),
                node("Add", ["e", "two"], ["r"]),
            ],
            [],
            [port("r")],
        ),
    }
    for name, c in (("if_then", True), ("if_else", False)):
        write(
            folder,
            name,
            [node("If", ["c"], ["y"], **branch)],
            {"c": np.array(c), "x": x},
            [port("y")],
            [weight("two", 2)],
        )
    # The sum of the elements decides, in a branch of a branch.
    inner = node("If", ["d"], ["r"], **branch)
    write(
        folder,
        "if_in_if",
        [
            node("ReduceSum", ["x"], ["s"], keepdims=0),
            node("Greater", ["s", "two"], ["c"]),
            node("Less", ["s", "two"], ["d"]),
            node(
                "If",
                ["c"],
                ["y"],
                then_branch=graph([node("Abs", ["x"], ["a"])], [], [port("a")]),
                else_branch=graph([inner], [], [port("r")]),
            ),
        ],
        {"x": x},
        [port("y")],
        [weight("two", 2)],
    )


def loops(folder):
    # Newton's iteration, until it is near enough.
    body = graph(
        [
            node("Div", ["x", "r"], ["q"]),
            node("Add", ["q", "r"], ["s"]),
            node("Mul", ["s", "half"], ["next"]),
            node("Sub", ["next", "r"], ["d"]),
            node("Abs", ["d"], ["a"]),
            node("ReduceMax", ["a"], ["most"], keepdims=0),
            node("Greater", ["most", "near"], ["go"]),
        ],
        [port("i", I, []), port("c", B, []), port("r")],
        [port("go", B, []), port("next"), port("most", F, [])],
    )
    weights = [weight("half", 0.5), weight("near", 1e-3)]
    for name, m, shape in (("loop_root", 20, [5]), ("loop_root_cut", 3, [2, 3])):
        write(
            folder,
            name,
            [node("Loop", ["m", "", "x"], ["y", "steps"], body=body)],
            {"x": np.abs(floats(*shape)) + 0.5},
            [port("y"), port("steps")],
            weights + [weight("m", m, np.int64)],
        )
    # The data says that there is no step, and of how many shapes.
    for name, c in (("loop_begins", True), ("loop_never", False)):
        write(
            folder,
            name,
            [node("Loop", ["m", "c0", "x"], ["y", "steps"], body=body)],
            {"c0": np.array(c), "x": np.abs(floats(4)) + 0.5},
            [port("y"), port("steps")],
            weights + [weight("m", 6, np.int64)],
        )
    # The trip count is data; the condition counts.
    count = graph(
        [
            node("Less", ["i", "five"], ["go"]),
            node("Cast", ["i"], ["f"], to=F),
            node("Mul", ["r", "x"], ["p"]),
            node("Add", ["p", "f"], ["next"]),
        ],
        [port("i", I, []), port("c", B, []), port("r")],
        [port("go", B, []), port("next", F, [3]), port("next", F, [3])],
    )
    for m in (0, 2, 9):
        write(
            folder,
            f"loop_count_{m}",
            [node("Loop", ["m", "", "x"], ["y", "all"], body=count)],
            {"m": np.array(m, np.int64), "x": floats(3)},
            [port("y"), port("all")],
            [weight("five", 5, np.int64)],
        )
    # Elements are read until there is no other: steps behind that, which the
    # trip count allows, would read beyond the end.
    read = graph(
        [
            node("Gather", ["x", "k"], ["part"]),
            node("Add", ["r", "part"], ["next"]),
            node("Add", ["k", "one"], ["l"]),
            node("Less", ["l", "n"], ["go"]),
        ],
        [port("i", I, []), port("c", B, []), port("k", I, []), port("r")],
        [port("go", B, []), port("l", I, []), port("next"), port("part")],
    )
    for n in (3, 5):
        write(
            folder,
            f"loop_reads_{n}",
            [node("Loop", ["m", "", "zero", "start"], ["k", "y", "all"], body=read)],
            {"n": np.array(n, np.int64), "x": floats(5)},
            [port("k", I, []), port("y"), port("all")],
            [
                weight("m", 8, np.int64),
                weight("zero", 0, np.int64),
                weight("one", 1, np.int64),
                weight("start", 0),
            ],
        )
    # A longer tensor in each step.
    grow = graph(
        [
            node("Concat", ["r", "x"], ["next"], axis=0),
            node("ReduceMean", ["next"], ["mean"], axes=[0], keepdims=0),
            node("Identity", ["c"], ["go"]),
        ],
        [port("i", I, []), port("c", B, []), port("r")],
        [port("go", B, []), port("next"), port("mean")],
    )
    write(
        folder,
        "loop_grows",
        [node("Loop", ["m", "", "z"], ["y", "means"], body=grow)],
        {"x": floats(2, 3), "z": floats(1, 3)},
        [port("y"), port("means")],
        [weight("m", 4, np.int64)],
    )


def scans(folder):
    # A recurrent cell: h = tanh(x W + h U), backwards along axis 1.
    body = graph(
        [
            node("MatMul", ["x", "w"], ["a"]),
            node("MatMul", ["h", "u"], ["b"]),
            node("Add", ["a", "b"], ["c"]),
            node("Tanh", ["c"], ["next"]),
            # An output that is the state, too, has other elements there.
            node("Identity", ["next"], ["step"]),
            node("ReduceSum", ["next", "last"], ["sum"], keepdims=0),
        ],
        [port("h"), port("x")],
        [port("next"), port("step"), port("sum")],
    )
    write(
        folder,
        "scan_cell",
        [
            node(
                "Scan",
                ["h0", "xs"],
                ["h", "hs", "sums"],
                body=body,
                num_scan_inputs=1,
                scan_input_axes=[1],
                scan_input_directions=[1],
                scan_output_axes=[1, -1],
                scan_output_directions=[1, 0],
            )
        ],
        {"h0": floats(2, 3), "xs": floats(2, 5, 4)},
        [port("h"), port("hs"), port("sums")],
        [
            weight("w", floats(4, 3)),
            weight("u", floats(3, 3)),
            weight("last", [-1], np.int64),
        ],
    )
    running = graph(
        [node("Add", ["s", "x"], ["next"]), node("Mul", ["next", "x"], ["out"])],
        [port("s", F, [2]), port("x", F, [2])],
        [port("next", F, [2]), port("out", F, [2])],
    )
    for name, directions in (("scan8_lengths", [0]), ("scan8", [1])):
        lengths = {"lengths": np.array([3, 1], np.int64)}
        given = lengths if name == "scan8_lengths" else {}
        write(
            folder,
            name,
            [
                node(
                    "Scan",
                    ["lengths" if given else "", "s0", "xs"],
                    ["s", "out"],
                    body=running,
                    num_scan_inputs=1,
                    directions=directions,
                )
            ],
            given | {"s0": floats(2, 2), "xs": floats(2, 4, 2)},
            [port("s", F, [2, 2]), port("out", F, [2, 4, 2])],
            opset=8,
        )


if __name__ == "__main__":
    ifs(sys.argv[1])
    loops(sys.argv[1])
    scans(sys.argv[1])
