#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A graph that is built, executed, explained, measured and written, with
Python's own library alone: y = relu(x . w) for any number of rows."""
import array
import pathlib
import sys
import tempfile

import tenon

K, N = 5, 4


def matrix(numbers, rows):
    """A tensor; with NumPy or PyTorch it would be theirs."""
    memory = memoryview(array.array("f", numbers)).cast("B")
    return memory.cast("f", (rows, len(memory) // 4 // rows))


def run(model, x):
    y = matrix([0] * (len(x.tolist()) * N), len(x.tolist()))
    model(x, out=[y])
    return y.tolist()


def main():
    w = matrix([i % 5 - 2 for i in range(K * N)], K)
    graph = tenon.Graph()
    rows = graph.input("x", ("rows", K))
    product = graph.MatMul(rows, graph.constant("w", w), name="layer")
    graph.output(graph.ReLU(product))
    model = graph.compile()
    print(model)

    x = matrix([i % 7 - 3 for i in range(3 * K)], 3)
    expected = [[max(0, sum(a * b for a, b in zip(row, column)))
                 for column in zip(*w.tolist())] for row in x.tolist()]
    # Small integers: sums are exact.
    assert run(model, x) == expected
    print("y =", expected)

    about = model.explain()
    assert len(about.groups) == 1  # the product and what follows it
    print(about.operations[1]["text"])
    print(model.bench(x, out=[matrix([0] * (3 * N), 3)], seconds=0.1))

    # For C programs, which need the header and tenon.RUNTIME; and back.
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "layer.a"
        model.export(path, header=path.with_suffix(".h"))
        assert run(tenon.load(path), x) == expected

    # An error has a code, the operation and a hint.
    try:
        graph = tenon.Graph(check=True)
        graph.MatMul(graph.input("a", (2, 3)), graph.input("b", (4, 5)))
    except tenon.TenonError as error:
        print("refused as it should be:", error)
    else:
        sys.exit("a product of 2x3 and 4x5 was accepted")


main()
