# SPDX-License-Identifier: Apache-2.0
"""Tenon, a graph compiler for deep learning on CPUs.

A graph of one's own:

    import numpy as np
    import tenon

    graph = tenon.Graph()
    x = graph.input("x", (64, 13))
    w = graph.constant("w", np.ones((13, 4), np.float32))
    graph.output(graph.ReLU(graph.MatMul(x, w)))
    model = graph.compile()
    y = model(np.ones((64, 13), np.float32))

model.explain() tells what became of it, model.bench(x) how long it takes, and
model.export("model.so", header="model.h") writes it for C programs.

A model from a file: tenon.load("model.onnx"). PyTorch: torch.compile(model,
backend="tenon"); nothing has to be imported for that.

Tensors are whatever has DLPack or the buffer protocol, such as arrays of NumPy
and tensors of PyTorch; they are not copied. Failing calls raise TenonError.
"""
from tenon.aot import INCLUDE, RUNTIME
from tenon.errors import TenonError
from tenon.graph import Edge, Graph
from tenon.library import version
from tenon.model import Engine, Model, Port, default_engine, load
from tenon.reports import Benchmark, Explanation
from tenon.tensors import View

__all__ = [
    "INCLUDE", "RUNTIME", "Benchmark", "Edge", "Engine", "Explanation", "Graph",
    "Model", "Port", "TenonError", "View", "default_engine", "load", "version",
]
__version__ = version()
