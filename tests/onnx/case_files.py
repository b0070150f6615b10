# SPDX-License-Identifier: Apache-2.0
"""Writes test cases into folders, as ONNX keeps them."""

import pathlib
import sys

import numpy
import onnx


def message(value, declared):
    """The protobuf message of `value` for the input or output `declared`."""
    if hasattr(value, "SerializeToString"):
        return value
    kind = declared.type.WhichOneof("value")
    if kind == "sequence_type":
        return onnx.numpy_helper.from_list(value, declared.name)
    if kind == "optional_type":
        return onnx.numpy_helper.from_optional(value, declared.name)
    return onnx.numpy_helper.from_array(numpy.asarray(value), declared.name)


def write_case(folder, model, inputs, outputs):
    """Writes model.onnx and test_data_set_0/{input,output}_N.pb. Values are
    arrays, messages, or lists, as many as the model has inputs and outputs."""
    folder = pathlib.Path(folder)
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for kind, ports, values in (
        ("input", model.graph.input, inputs),
        ("output", model.graph.output, outputs),
    ):
        for i, (port, value) in enumerate(zip(ports, values)):
            path = data / f"{kind}_{i}.pb"
            path.write_bytes(message(value, port).SerializeToString())


def write_all(kind, usage, adders):
    """The program: hands the cases of the folder that the command names, an
    object of class `kind`, to each of `adders`, and fails if cases did."""
    if len(sys.argv) != 2:
        sys.exit(usage)
    cases = kind(sys.argv[1])
    for add in adders:
        add(cases)
    sys.exit(1 if cases.failed else 0)
