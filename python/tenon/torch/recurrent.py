# SPDX-License-Identifier: Apache-2.0
"""nn.LSTM, nn.GRU and nn.RNN as one operator for each layer, forward and
backward: not unrolled into their steps.

The calls of torch.lstm and its like are rewritten in the graph that Dynamo
captures, before gradients are taken. Weights are brought into Tenon's layout by
operators of PyTorch, so that their gradients follow by themselves, and in
inference this happens once. Shapes are those of docs/ops.md (RNN): T steps, a
batch of N, D directions, G gates of H units, states of P channels.
"""
from __future__ import annotations

import operator
from typing import Optional

import torch
from torch import Tensor, fx

#: Values per unit in the workspace: gates and what the gradient needs beside.
SAVED = {"lstm": 5, "gru": 4, "rnn_tanh": 1, "rnn_relu": 1}
_GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
#: Calls in the graphs of Dynamo, and of torch.export.
_CALLS = {torch.lstm: "lstm", torch.gru: "gru", torch.rnn_tanh: "rnn_tanh",
          torch.rnn_relu: "rnn_relu"}
_CALLS.update({getattr(torch.ops.aten, kind).input: kind
               for kind in list(_CALLS.values())})


# -- the operators -----------------------------------------------------------


def sizes_of(x, weights_iter, projection):
    steps, batch = x.shape[:2]
    directions, _, _, units = weights_iter.shape[1:]
    channels = units if projection is None else projection.shape[3]
    return steps, batch, directions, units, channels


@torch.library.custom_op("tenon::recurrent", mutates_args=())
def recurrent(x: Tensor, weights_layer: Tensor, weights_iter: Tensor,
              bias: Optional[Tensor], state: Tensor, cell: Optional[Tensor],
              projection: Optional[Tensor], kind: str,
              lengths: Optional[Tensor]
              ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """One layer: h of all steps, the last h, the last cell state (empty but for
    LSTM) and the workspace of the gradient. This is the slow way, for what
    Tenon does not take: step by step. With lengths (s32) only the first steps
    of each entry of the batch count, and h is 0 at others."""
    results, states, cells, saved = [], [], [], []
    counts = None
    if lengths is not None:
        counts = torch.arange(len(x)).unsqueeze(1) < lengths
        x = torch.where(counts.unsqueeze(2), x, 0)
    for d in range(weights_iter.shape[1]):
        results_d, h, c, saved_d = _direction(
            x.flip(0) if d else x, weights_layer[0, d],
            weights_iter[0, d], None if bias is None else bias[0, d],
            state[0, d], None if cell is None else cell[0, d],
            None if projection is None else projection[0, d], kind,
            counts if counts is None or not d else counts.flip(0))
        results.append(results_d.flip(0) if d else results_d)
        saved.append(saved_d.flip(0) if d else saved_d)
        states.append(h)
        cells.append(c)
    last = torch.stack(cells).unsqueeze(0) if kind == "lstm" else x.new_empty(0)
    return (torch.cat(results, -1), torch.stack(states).unsqueeze(0), last,
            torch.stack(saved).unsqueeze(0))


def _direction(x, weights_layer, weights_iter, bias, h, c, projection, kind,
               counts):
    """One direction, from the first step of x to the last. counts: which entries
    of the batch have each step, if not all do."""
    w, u = (t.flatten(1) for t in (weights_layer, weights_iter))
    gates = _GATES[kind]
    rows = None if bias is None else bias.flatten()
    results, saved = [], []
    for t, step in enumerate(x):
        before = h, c
        inner, outer = step @ w, h @ u
        units = inner.shape[1] // gates
        if kind == "gru":
            more = torch.zeros_like(outer[:, 2 * units:])
            if rows is not None:
                inner = inner + rows[:3 * units]
                more = rows[3 * units:]
            outer_o = outer[:, 2 * units:] + more
            z, r = (inner[:, :2 * units] + outer[:, :2 * units]
                    ).sigmoid().chunk(2, 1)
            o = torch.tanh(inner[:, 2 * units:] + r * outer_o)
            h = z * h + (1 - z) * o
            saved.append(torch.cat([z, r, o, outer_o, h], 1))
        else:
            sums = inner + outer if rows is None else inner + outer + rows
            if kind == "lstm":
                i, f, g, o = sums.chunk(4, 1)
                i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
                c = f * c + i * g
                h = o * c.tanh()
                h = h if projection is None else h @ projection
                saved.append(torch.cat([i, f, g, o, c, h], 1))
            else:
                tanh = kind == "rnn_tanh"
                h = sums.tanh() if tanh else sums.relu()
                slope = 1 - h * h if tanh else (h > 0).to(h.dtype)
                saved.append(torch.cat([slope, h], 1))
        results.append(h)
        if counts is not None:
            has = counts[t].unsqueeze(1)
            results[-1] = torch.where(has, h, 0)
            h = torch.where(has, h, before[0])
            c = c if c is None else torch.where(has, c, before[1])
    width = (SAVED[kind] * u.shape[1] // gates) + h.shape[1]
    if not results:
        empty = x.new_empty(0, h.shape[0], h.shape[1])
        return empty, h, c, x.new_empty(0, h.shape[0], width).float()
    return torch.stack(results), h, c, torch.stack(saved).float()


@recurrent.register_fake
def _(x, weights_layer, weights_iter, bias, state, cell, projection, kind,
      lengths):
    steps, batch, directions, units, channels = sizes_of(
        x, weights_iter, projection)
    y = x.new_empty(steps, batch, directions * channels)
    last = x.new_empty((1, directions, batch, units) if kind == "lstm" else 0)
    return (y, x.new_empty(1, directions, batch, channels), last,
            x.new_empty((1, directions, steps, batch,
                         SAVED[kind] * units + channels), dtype=torch.float32))


@torch.library.custom_op("tenon::recurrent_backward", mutates_args=())
def recurrent_backward(
        grad: Tensor, grad_state: Tensor, grad_cell: Optional[Tensor],
        workspace: Tensor, x: Tensor, weights_layer: Tensor,
        weights_iter: Tensor, bias: Optional[Tensor], state: Tensor,
        cell: Optional[Tensor], projection: Optional[Tensor],
        kind: str, lengths: Optional[Tensor]) -> list[Tensor]:
    """Gradients of x, both weights and the state, and then of those of bias,
    cell and projection that there are. The slow way."""
    tensors = [x, weights_layer, weights_iter, bias, state, cell, projection]
    order = [i for i in (0, 1, 2, 4, 3, 5, 6) if tensors[i] is not None]

    def forward(*given):
        full = dict(zip(order, given))
        y, h, c, _ = recurrent._init_fn(*(full.get(i) for i in range(7)), kind,
                                        lengths)
        return (y, h) if grad_cell is None else (y, h, c)

    _, pull = torch.func.vjp(forward, *(tensors[i] for i in order))
    grads = (grad, grad_state) + (() if grad_cell is None else (grad_cell,))
    return [g.contiguous() for g in pull(grads)]


@recurrent_backward.register_fake
def _(grad, grad_state, grad_cell, workspace, x, weights_layer, weights_iter,
      bias, state, cell, projection, kind, lengths):
    return [t.new_empty(t.shape) for t in
            (x, weights_layer, weights_iter, state, bias, cell, projection)
            if t is not None]


def _setup(ctx, inputs, output):
    *tensors, ctx.kind, lengths = inputs
    ctx.save_for_backward(output[3], lengths, *tensors)
    ctx.mark_non_differentiable(output[3])


def _backward(ctx, grad, grad_state, grad_cell, _):
    workspace, lengths, *tensors = ctx.saved_tensors
    found = iter(recurrent_backward(
        grad, grad_state, grad_cell if ctx.kind == "lstm" else None, workspace,
        *tensors, ctx.kind, lengths))
    x, weights_layer, weights_iter, state = (next(found) for _ in range(4))
    bias, cell, projection = (
        None if tensors[i] is None else next(found) for i in (3, 5, 6))
    return (x, weights_layer, weights_iter, bias, state, cell, projection, None,
            None)


recurrent.register_autograd(_backward, setup_context=_setup)
OPERATOR = torch.ops.tenon.recurrent.default


# -- the rewrite -------------------------------------------------------------


def rewrite(gm: fx.GraphModule) -> None:
    """Calls of torch.lstm and its like become one operator for each layer. One
    that is not of the usual form stays as it is."""
    found = [n for n in gm.graph.nodes
             if n.op == "call_function" and n.target in _CALLS]
    if any("enter_autocast" in str(n.target) for n in gm.graph.nodes):
        return
    for node in found:
        values = [_example(a) for a in (node.args[0], node.args[1])]
        if len(node.args) != 9 or node.kwargs or values[0] is None or \
                values[0].dim() != 3 or not _typed(node.target, values):
            continue
        with gm.graph.inserting_before(node):
            results = Layers(_writer(gm.graph, node), _CALLS[node.target],
                             *node.args).build()
        for user in list(node.users):
            user.replace_all_uses_with(results[user.args[1]])
            gm.graph.erase_node(user)
        gm.graph.erase_node(node)
    if found:
        gm.recompile()


def _writer(graph, node):
    """Adds calls that belong to the module of the node."""
    stack = node.meta.get("nn_module_stack")

    def call(function, *args, **kwargs):
        made = graph.call_function(function, args, kwargs)
        made.meta["nn_module_stack"] = stack
        return made

    return call


def _typed(function, values):
    """Whether the types of results are known: autocast leaves the states of
    torch.gru as they are."""
    return _CALLS[function] != "gru" or \
        not torch.is_autocast_enabled("cpu") or \
        all(v is not None and v.dtype == torch.float32 for v in values)


def _example(value):
    if not isinstance(value, fx.Node):
        return None
    return value.meta.get("example_value", value.meta.get("val"))


class Layers:
    """Writes the layers of one call of torch.lstm and its like, with its
    arguments; `call` gets a function of PyTorch and what it is called with.
    lengths: how many steps of each entry of the batch count, if not all do."""

    def __init__(self, call, kind, x, states, weights, has_biases, layers,
                 dropout, training, bidirectional, batch_first, lengths=None):
        self.call = call
        self.kind = kind
        self.x, self.weights = x, weights
        self.has_biases, self.layers = has_biases, layers
        self.dropout, self.training = dropout, training
        self.batch_first, self.lengths = batch_first, lengths
        self.state, self.cell = states if kind == "lstm" else (states, None)
        self.directions = 2 if bidirectional else 1
        self.each = len(weights) // (layers * self.directions)
        self.projects = self.each == 3 + 2 * has_biases
        self.dtype = None
        if kind != "gru" and torch.is_autocast_enabled("cpu"):
            self.dtype = torch.get_autocast_dtype("cpu")

    def narrow(self, value):
        return value if self.dtype is None else self.call(
            torch.Tensor.to, value, self.dtype)

    def build(self) -> list[fx.Node]:
        """h of all steps, and the last states of all layers."""
        y = self.narrow(self.x)
        if self.batch_first:
            y = self.call(torch.transpose, y, 0, 1)
        states, cells = [], []
        for layer in range(self.layers):
            if layer and self.dropout and self.training:
                y = self.call(torch.nn.functional.dropout, y, self.dropout, True)
            made = self.call(OPERATOR, y, *self.parameters(layer), self.kind,
                             self.lengths)
            y = self.call(operator.getitem, made, 0)
            states.append(self.call(operator.getitem, made, 1))
            cells.append(self.call(operator.getitem, made, 2))
        if self.batch_first:
            y = self.call(torch.transpose, y, 0, 1)
        results = [y, self.joined(states)]
        return results + [self.joined(cells)] if self.cell is not None else results

    def joined(self, states):
        """L * D x N x channels from 1 x D x N x channels of each layer."""
        return self.call(torch.flatten, self.call(torch.cat, states, 0), 0, 1)

    def parameters(self, layer):
        """weights_layer, weights_iter, bias, state, cell, projection."""
        first = layer * self.directions
        sets = [self.weights[(first + d) * self.each:(first + d + 1) * self.each]
                for d in range(self.directions)]
        bias = None
        if self.has_biases:
            bias = self.stacked([self.bias(s[2], s[3]) for s in sets])
        elif self.kind == "gru":  # which has rows for both products
            one = self.by_gate(sets[0][1])
            units = self.call(operator.getitem, one, (slice(None), slice(None), 0))
            rows = self.call(torch.cat, [units, self.call(
                operator.getitem, units, slice(0, 1))])
            bias = self.stacked([self.call(torch.zeros_like, rows)] * len(sets))
        projection = self.stacked([self.call(torch.t, s[-1]) for s in sets]) \
            if self.projects else None

        def part(states):
            if states is None:
                return None
            return self.narrow(self.call(torch.unsqueeze, self.call(
                operator.getitem, states, slice(first, first + self.directions)),
                0))

        return (self.stacked([self.matrix(s[0]) for s in sets]),
                self.stacked([self.matrix(s[1]) for s in sets]), bias,
                part(self.state), part(self.cell), projection)

    def stacked(self, parts):
        """1 x D x ..."""
        return self.narrow(self.call(
            torch.unsqueeze, self.call(torch.stack, parts), 0))

    def by_gate(self, value):
        """G x H ..., the gates in Tenon's order: that of PyTorch, but for GRU."""
        split = self.call(torch.unflatten, value, 0, (_GATES[self.kind], -1))
        if self.kind != "gru":
            return split
        r, z, n = (self.call(operator.getitem, split, slice(i, i + 1))
                   for i in range(3))
        return self.call(torch.cat, [z, r, n])

    def matrix(self, value):
        """channels x G x H of G * H x channels."""
        return self.call(torch.permute, self.by_gate(value), (2, 0, 1))

    def bias(self, inner, outer):
        """Gb x H: sums, but for the last gate of GRU, where both are apart."""
        if self.kind != "gru":
            return self.by_gate(self.call(torch.add, inner, outer))
        a, b = self.by_gate(inner), self.by_gate(outer)
        both = self.call(torch.add, *(
            self.call(operator.getitem, v, slice(0, 2)) for v in (a, b)))
        rest = [self.call(operator.getitem, v, slice(2, 3)) for v in (a, b)]
        return self.call(torch.cat, [both, *rest])
