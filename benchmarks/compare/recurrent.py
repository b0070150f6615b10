# SPDX-License-Identifier: Apache-2.0
"""Layers of recurrent networks: inference in f32, bf16 and int8, training steps,
and what peers have for them.

Shapes are those of GNMT, DeepSpeech2 and RNN-T, chosen before they were timed;
some have fewer steps or a smaller batch, to keep a run short.
"""

import numpy as np

from cases import Case, Op

GATES = {"RNN": 1, "LSTM": 4, "GRU": 3}
KINDS = tuple(GATES) + tuple(f"{kind}Backward" for kind in GATES)
CODES = {"data_scale": 64.0, "data_shift": 128.0}


def layer(kind, steps, batch, inputs, size, directions=1, int8=False,
          training=False, bf16=False):
    """One layer. In f32 GRU has the reset gate behind the product, as PyTorch
    has; in int8 before it, as oneDNN has."""
    gates, behind = GATES[kind], kind == "GRU" and not int8
    shapes = {"x": (steps, batch, inputs),
              "w": (1, directions, inputs, gates, size),
              "u": (1, directions, size, gates, size),
              "b": (1, directions, gates + behind, size),
              "y": (steps, batch, size * directions)}
    attrs = {"linear_before_reset": True} if behind else {}
    if directions == 2:
        attrs["direction"] = "bidirectional_concat"
    case = Case(
        kind.lower(), f"{batch}x{steps}x{inputs}->{size}"
        + (", both directions" if directions == 2 else ""),
        [Op(kind, ["x", "w", "u", "b"], ["y"], attrs)], shapes,
        {"w", "u", "b"},
        2.0 * steps * batch * (inputs + size) * gates * size * directions,
        scale={"w": inputs ** -0.5, "u": size ** -0.5, "b": 0.1})
    if bf16:
        case.suite += " bf16"
        case.types = {n: "bf16" for n in "xwuy"}
    if int8:
        in_codes(case)
        case.wide = layer(kind, steps, batch, inputs, size, directions)
    if training:
        train(case)
    return case


def in_codes(case):
    """u8 data and states, s8 weights with a scale for each channel."""
    case.suite += " int8"
    case.types = {"x": "u8", "w": "s8", "u": "s8", "y": "u8"}
    _, _, inputs, gates, size = case.shapes["w"]
    # Codes are spread evenly; both products have the same scale.
    case.ops[0].attrs |= CODES | {
        "weights_scales": [74.0 * max(inputs, size) ** 0.5] * (gates * size)}


def train(case):
    """Adds the gradients of data, weights and bias."""
    forward, shapes = case.ops[0], case.shapes
    case.suite += " training"
    case.constants = set()
    case.flops *= 3
    steps, batch, _ = shapes["x"]
    _, directions, _, _, size = shapes["w"]
    stored = {"RNN": 1, "LSTM": 5, "GRU": 4}[forward.kind] + 1
    shapes["workspace"] = (1, directions, steps, batch, stored * size)
    absent = 2 if forward.kind == "LSTM" else 1
    forward.outputs += [None] * absent + ["workspace"]
    shapes["dy"] = shapes["y"]
    shapes |= {f"d{n}": shapes[n] for n in "xwub"}
    case.ops.append(Op(forward.kind + "Backward",
                       ["x", "w", "u", "workspace", "dy"],
                       ["dx", "dw", "du", "db"], dict(forward.attrs)))


def cases():
    inference = [
        ("LSTM", 50, 16, 1024, 1024),
        ("LSTM", 30, 64, 512, 512), ("LSTM", 30, 1, 512, 512),
        ("LSTM", 50, 64, 256, 256, 2), ("LSTM", 1, 640, 1024, 512),
        ("LSTM", 1, 10, 1024, 512), ("LSTM", 64, 128, 240, 1024),
        ("LSTM", 1, 896, 320, 320), ("LSTM", 50, 64, 500, 500),
        ("RNN", 50, 64, 1760, 1760), ("RNN", 50, 1, 1760, 1760),
        ("GRU", 50, 64, 1760, 1760), ("GRU", 50, 1, 1760, 1760)]
    int8 = [
        ("LSTM", 30, 64, 512, 512), ("LSTM", 30, 1, 512, 512),
        ("LSTM", 50, 64, 256, 256, 2), ("LSTM", 1, 640, 1024, 512),
        ("LSTM", 1, 10, 1024, 512), ("LSTM", 50, 64, 500, 500),
        ("GRU", 47, 100, 128, 128)]
    training = [
        ("LSTM", 20, 128, 512, 512), ("LSTM", 20, 128, 256, 256, 2),
        ("LSTM", 1, 128, 1024, 512), ("LSTM", 50, 64, 500, 500),
        ("LSTM", 100, 128, 128, 128), ("RNN", 20, 32, 1760, 1760),
        ("GRU", 20, 32, 1760, 1760)]
    bf16 = [
        ("LSTM", 30, 64, 512, 512), ("LSTM", 30, 1, 512, 512),
        ("LSTM", 50, 64, 256, 256, 2), ("LSTM", 50, 64, 500, 500),
        ("GRU", 20, 64, 1760, 1760)]
    return ([layer(*s) for s in inference]
            + [layer(*s, bf16=True) for s in bf16]
            + [layer(*s, int8=True) for s in int8]
            + [layer(*s, training=True) for s in training])


def torch_module(torch, op, values):
    """The layer of PyTorch, and what turns its gradients into ours."""
    w, u, b = (values[n] for n in op.inputs[1:4])
    directions, size = w.shape[1], w.shape[-1]
    module = getattr(torch.nn, op.kind)(w.shape[2], size,
                                        bidirectional=directions == 2)
    # PyTorch has the reset gate before the update gate, and the bias of the
    # product with the state as a row of its own.
    order = [1, 0, 2] if op.kind == "GRU" else list(range(w.shape[3]))
    parts = [[getattr(module, f"{name}_l0{suffix}") for name in (
        "weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        for suffix in ("", "_reverse")[:directions]]
    with torch.no_grad():
        for d, (w_ih, w_hh, b_ih, b_hh) in enumerate(parts):
            turn = lambda v: torch.from_numpy(
                v[0, d][:, order].reshape(v.shape[2], -1)).t()
            w_ih.copy_(turn(w))
            w_hh.copy_(turn(u))
            b_ih.copy_(torch.from_numpy(b[0, d][order].reshape(-1)))
            b_hh.zero_()
            if op.kind == "GRU":
                b_hh[2 * size:] = torch.from_numpy(b[0, d, 3])

    def gradients(found):
        """Of all parts in their order, as dw, du, db."""
        w, u, b = [], [], []
        for d in range(directions):
            w_ih, w_hh, b_ih, b_hh = (
                g.reshape(len(order), size, -1)[order] for g in
                found[4 * d:4 * d + 4])
            turn = lambda g: g.permute(2, 0, 1)
            w.append(turn(w_ih))
            u.append(turn(w_hh))
            rows = [b_ih] + ([b_hh[2:]] if op.kind == "GRU" else [])
            b.append(torch.cat(rows)[..., 0])
        return [torch.stack(g)[None] for g in (w, u, b)]

    return module, gradients


def torch_function(torch, op, values, dtype):
    module = torch_module(torch, op, values)[0].to(dtype)
    return lambda x, *_: module(x)[0]


def torch_training(torch, case, values):
    module, turned = torch_module(torch, case.ops[0], values)
    x = torch.from_numpy(values["x"]).requires_grad_()
    dy = torch.from_numpy(values["dy"])
    wanted = [x, *module.parameters()]

    def function(x, dy):
        y = module(x)[0]
        return [y.detach(), *torch.autograd.grad(y, wanted, dy)]

    function.trains = True
    function.results = lambda last: [last[0], last[1], *turned(last[2:])]
    return function, [x, dy]


def onnx_nodes(op, case, values, node, constant):
    """The layer in ONNX, whose gates of LSTM are i, o, f, c~."""
    w, u, b = (values[n] for n in op.inputs[1:])
    _, directions, _, gates, size = w.shape
    order = [0, 3, 1, 2] if op.kind == "LSTM" else list(range(gates))
    out = op.outputs[0]
    turn = lambda v: np.ascontiguousarray(np.stack(
        [v[0, d][:, order].reshape(v.shape[2], -1).T
         for d in range(directions)]))
    biases = np.zeros((directions, 2, gates, size), np.float32)
    biases[:, 0] = b[0][:, order]
    if b.shape[2] > gates:
        biases[:, 1, -1] = b[0][:, -1]
    attrs = {"linear_before_reset": 1} if op.kind == "GRU" else {}
    node(op.kind, [op.inputs[0], constant(f"{out}.W", turn(w)),
                   constant(f"{out}.R", turn(u)),
                   constant(f"{out}.B", biases.reshape(directions, -1))],
         [f"{out}.d"], hidden_size=size,
         direction="bidirectional" if directions == 2 else "forward", **attrs)
    # T, D, N, H to T, N, D * H.
    node("Transpose", [f"{out}.d"], [f"{out}.t"], perm=[0, 2, 1, 3])
    shape = constant(f"{out}.shape", np.array(case.shapes[out], np.int64))
    node("Reshape", [f"{out}.t", shape], [out])
