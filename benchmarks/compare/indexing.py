# SPDX-License-Identifier: Apache-2.0
"""Parts of tensors and rows by index, larger than the caches: bound by memory.

A case is rated by the bytes that have to move; `copy` beside them is what the
memory can do.
"""

import numpy as np

from cases import Case, Op

INDEX = "s64"


def case(name, op, shapes, moved, types=None, limits=None):
    """`moved`: elements of 4 bytes that are read and written at least."""
    return Case("indexing", name, [op], shapes, set(), bytes=4.0 * moved,
                types=types or {}, limits=limits or {})


def gather(rows, width, count):
    return case(f"Gather {count} of {rows}x{width}",
                Op("Gather", ["x", "i"], ["y"]),
                {"x": (rows, width), "i": (count,), "y": (count, width)},
                2 * count * width, {"i": INDEX}, {"i": rows})


def scatter_add(rows, width, count):
    return case(f"ScatterND add {count} to {rows}x{width}",
                Op("ScatterND", ["x", "i", "u"], ["y"], {"reduction": "add"}),
                {"x": (rows, width), "i": (count, 1), "u": (count, width),
                 "y": (rows, width)},
                2 * rows * width + 3 * count * width, {"i": INDEX},
                {"i": rows})


def searches():
    def search(name, op, shape, results, **types):
        shapes = {"x": shape, **{r: results for r in op.outputs}}
        return case(name, op, shapes, np.prod(shape), types)

    return [
        search("TopK 50 of 256x32000",
               Op("TopK", ["x"], ["v", "i"], {"k": 50, "axis": 1}),
               (256, 32000), (256, 50), i=INDEX),
        search("TopK 5 of 4096x1000",
               Op("TopK", ["x"], ["v", "i"], {"k": 5, "axis": 1}),
               (4096, 1000), (4096, 5), i=INDEX),
        search("ArgMax 256x32000", Op("ArgMax", ["x"], ["i"], {"axis": 1}),
               (256, 32000), (256, 1), i=INDEX),
        search("ArgMax 64x21x128x128", Op("ArgMax", ["x"], ["i"], {"axis": 1}),
               (64, 21, 128, 128), (64, 1, 128, 128), i=INDEX),
        search("CumSum 2048x2048, rows",
               Op("CumSum", ["x"], ["y"], {"axis": 1}), (2048, 2048),
               (2048, 2048)),
        search("CumSum 2048x2048, columns",
               Op("CumSum", ["x"], ["y"], {"axis": 0}), (2048, 2048),
               (2048, 2048)),
    ]


def cases():
    rows, columns = 8192, 1024
    matrix = (rows, columns)
    all_of = rows * columns
    return [
        case("copy", Op("Reorder", ["x"], ["y"]), {"x": matrix, "y": matrix},
             2 * all_of),
        gather(100000, 256, 50000), gather(400000, 64, 200000),
        case("GatherElements", Op("GatherElements", ["x", "i"], ["y"],
                                  {"axis": 1}),
             {"x": (4096, 1024), "i": (4096, 1024), "y": (4096, 1024)},
             4 * 4096 * 1024, {"i": INDEX}, {"i": 1024}),
        scatter_add(30000, 256, 50000),
        case("Slice", Op("Slice", ["x"], ["y"],
                         {"begins": [64], "ends": [1088], "axes": [1]}),
             {"x": (rows, 1280), "y": matrix}, 2 * all_of),
        case("Pad", Op("Pad", ["x"], ["y"], {"pads_begin": [0, 0, 1, 1],
                                            "pads_end": [0, 0, 1, 1]}),
             {"x": (8, 64, 128, 128), "y": (8, 64, 130, 130)},
             8 * 64 * (128 * 128 + 130 * 130)),
        case("Expand", Op("Expand", ["x"], ["y"], {"shape": list(matrix)}),
             {"x": (rows, 1), "y": matrix}, all_of),
        case("Greater", Op("Greater", ["x", "z"], ["y"]),
             {"x": matrix, "z": matrix, "y": matrix}, 2.25 * all_of,
             {"y": "boolean"}),
        case("Select", Op("Select", ["c", "x", "z"], ["y"]),
             {"c": matrix, "x": matrix, "z": matrix, "y": matrix},
             3.25 * all_of, {"c": "boolean"}),
    ] + searches()


def torch_function(torch, op):
    """What PyTorch has for it; None for other operations."""
    a = op.attrs

    def add_rows(x, i, u):
        return torch.index_add(x, 0, i[:, 0], u)

    def part(x):
        for axis, begin, end in zip(a["axes"], a["begins"], a["ends"]):
            x = x.narrow(axis, begin, end - begin)
        return x.contiguous()

    def pad(x):
        pads = [v for pair in zip(reversed(a["pads_begin"]),
                                  reversed(a["pads_end"])) for v in pair]
        return torch.nn.functional.pad(x, pads)

    return {"Reorder": lambda x: x.clone(),
            "Gather": lambda x, i: torch.index_select(x, 0, i),
            "GatherElements": lambda x, i: torch.gather(x, a["axis"], i),
            "ScatterND": add_rows, "Slice": part, "Pad": pad,
            "Expand": lambda x: x.expand(a["shape"]).contiguous(),
            "Greater": torch.gt,
            "TopK": lambda x: torch.topk(x, a["k"], a["axis"]),
            "ArgMax": lambda x: torch.argmax(x, a["axis"], keepdim=True),
            "CumSum": lambda x: torch.cumsum(x, a["axis"])}.get(op.kind)


def onnx_nodes(op, case, node, constant):
    """The operation in ONNX; False for other operations."""
    a, out = op.attrs, op.outputs[0]
    if op.kind in ("Gather", "GatherElements"):
        node(op.kind, op.inputs, [out], axis=a.get("axis", 0))
    elif op.kind == "ScatterND":
        node(op.kind, op.inputs, [out], reduction=a["reduction"])
    elif op.kind == "Slice":
        lists = [constant(f"{out}.{n}", np.array(a[n], np.int64))
                 for n in ("begins", "ends", "axes")]
        node("Slice", op.inputs + lists, [out])
    elif op.kind == "Pad":
        pads = constant(f"{out}.pads", np.array(
            a["pads_begin"] + a["pads_end"], np.int64))
        node("Pad", op.inputs + [pads], [out])
    elif op.kind == "Expand":
        shape = constant(f"{out}.shape", np.array(a["shape"], np.int64))
        node("Expand", op.inputs + [shape], [out])
    elif op.kind == "Greater":
        node("Greater", op.inputs, [out])
    elif op.kind == "TopK":
        k = constant(f"{out}.k", np.array([a["k"]], np.int64))
        node("TopK", op.inputs + [k], op.outputs, axis=a["axis"])
    elif op.kind == "ArgMax":
        node("ArgMax", op.inputs, [out], axis=a["axis"], keepdims=1)
    elif op.kind == "CumSum":
        axis = constant(f"{out}.axis", np.array(a["axis"], np.int64))
        node("CumSum", op.inputs + [axis], [out])
    else:
        return False
    return True
