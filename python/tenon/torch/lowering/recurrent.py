# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers; see tenon.torch.recurrent."""
from __future__ import annotations

import torch

import tenon.torch.recurrent  # declares the operators
from tenon.torch.lowering.core import lowers
from tenon.torch.lowering.products import check_floats

_WIDE = torch.float32


def attributes(weights, kind):
    found = dict(direction="bidirectional_concat" if weights.shape[1] == 2
                 else "left2right")
    if kind == "lstm":
        return "LSTM", found
    if kind == "gru":
        return "GRU", dict(found, linear_before_reset=True)
    return "RNN", dict(found, activation=kind.removeprefix("rnn_"))


@lowers(torch.ops.tenon.recurrent.default)
def recurrent(b, x, weights_layer, weights_iter, bias, state, cell, projection,
              kind, lengths):
    check_floats(x, weights_layer)
    operation, found = attributes(weights_iter, kind)
    inputs = [x, weights_layer, weights_iter, bias, state]
    dtypes = [x.dtype, x.dtype]
    if kind == "lstm":
        inputs += [cell, None, projection]
        dtypes.append(x.dtype)
    inputs.append(lengths)
    if 3 in b.wanted:
        dtypes.append(_WIDE)
    made = b.ops(operation, *inputs, dtypes=dtypes, **found)
    workspace = made[-1] if 3 in b.wanted else None
    last = made[2] if kind == "lstm" else b.full([0], 0, x.dtype)
    return made[0], made[1], last, workspace


@lowers(torch.ops.tenon.recurrent_backward.default)
def recurrent_backward(b, grad, grad_state, grad_cell, workspace, x,
                       weights_layer, weights_iter, bias, state, cell,
                       projection, kind, lengths):
    check_floats(grad, x)
    operation, found = attributes(weights_iter, kind)

    def wide(value):
        return None if value is None else b.cast(value, _WIDE)

    inputs = [x, weights_layer, weights_iter, workspace, wide(grad), state]
    if kind == "lstm":
        inputs += [cell, None, projection, lengths, wide(grad_state),
                   wide(grad_cell)]
        dtypes = [_WIDE] * 6 + ([] if projection is None else [None, _WIDE])
    else:
        inputs += [lengths, wide(grad_state)]
        dtypes = [_WIDE] * 5
    made = b.ops(operation + "Backward", *inputs, dtypes=dtypes, **found)
    x_, layer, iter_, rows, state_ = made[:5]
    results = [x_, layer, iter_, state_]
    results += [] if bias is None else [rows]
    if kind == "lstm":
        results.append(made[5])
        results += [] if projection is None else [made[7]]
    return [b.cast(r, like.dtype) for r, like in zip(results, b.result)]
