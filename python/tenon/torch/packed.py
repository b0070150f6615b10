# SPDX-License-Identifier: Apache-2.0
"""Packed sequences of torch.nn.utils.rnn within a graph.

Dynamo leaves pack_padded_sequence and pad_packed_sequence out of graphs, and
cannot follow a recurrent module that gets a PackedSequence. While it captures a
graph for Tenon, functions of this module stand in for them. A PackedSequence
then has the same members as in eager, which operators below compute from the
padded batch. The modules compute on the padded batch, in its own order; what
packs a batch only for the next to unpack it is taken out of the graph by
`rewrite`.
"""
from __future__ import annotations

import functools
import operator
import types

import torch
from torch import Tensor, fx, nn
from torch._dynamo import variables
from torch._dynamo.guards import GuardBuilder
from torch._dynamo.trace_rules import lookup
from torch._dynamo.variables.builder import VariableBuilder, wrap_fx_proxy
from torch._library.fake_impl import allocate_size
from torch.nn.utils import rnn
from torch.nn.utils.rnn import PackedSequence

from tenon.torch import recurrent
from tenon.torch.stats import leftover

_OUTSIDE = "the graph has not packed it"


# -- the operators -----------------------------------------------------------


@torch.library.custom_op("tenon::packing", mutates_args=())
def packing(lengths: Tensor, steps: int, sort: bool) -> tuple[
        Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """What there is to know of a batch of sequences: batch_sizes,
    sorted_indices and unsorted_indices of its PackedSequence (the latter empty
    without sort), the rows of a flat padded batch (steps first) that are its
    data, the lengths as s32, and which elements of steps x batch count."""
    lengths = lengths.long()
    order = torch.arange(len(lengths))
    ordered = lengths
    if sort:
        ordered, order = torch.sort(lengths, descending=True)
    # PyTorch checks the lengths.
    _, sizes = torch._pack_padded_sequence(
        torch.zeros(steps, len(lengths), 1), ordered, False)
    if len(sizes) > steps:
        raise RuntimeError(f"a sequence of {len(sizes)} steps is longer than "
                           f"the padded batch, which has {steps}")
    time = torch.arange(steps).unsqueeze(1)
    step, entry = (time < ordered).nonzero(as_tuple=True)
    indices = (order, order.argsort()) if sort else (
        lengths.new_empty(0), lengths.new_empty(0))
    return (sizes, *indices, step * len(lengths) + order[entry],
            lengths.int(), time < lengths)


@packing.register_fake
def _(lengths, steps, sort):
    batch = lengths.shape[0]
    environment = torch.library.get_ctx()._shape_env
    # Without the option of Dynamo for results whose sizes follow from values.
    longest, rows = (allocate_size(environment) for _ in range(2))
    indices = [lengths.new_empty(batch if sort else 0, dtype=torch.int64)
               for _ in range(2)]
    return (lengths.new_empty(longest, dtype=torch.int64), *indices,
            lengths.new_empty(rows, dtype=torch.int64),
            lengths.new_empty(batch, dtype=torch.int32),
            lengths.new_empty((steps, batch), dtype=torch.bool))


_library = torch.library.Library("tenon", "FRAGMENT")
_library.define("pack(Tensor x, Tensor rows) -> Tensor")
_library.define("pad(Tensor data, Tensor rows, Tensor mask, float value) "
                "-> Tensor")


@functools.partial(_library.impl, "pack",
                   dispatch_key="CompositeImplicitAutograd")
def _pack(x, rows):
    """The data of a PackedSequence, of a padded batch with steps first."""
    return x.flatten(0, 1).index_select(0, rows)


@functools.partial(_library.impl, "pad",
                   dispatch_key="CompositeImplicitAutograd")
def _pad(data, rows, mask, value):
    """The reverse, with the value where no step counts."""
    shape = data.shape[1:]
    flat = data.new_full((mask.shape[0] * mask.shape[1], *shape), value)
    return flat.index_copy(0, rows, data).unflatten(0, mask.shape)


pack, pad = torch.ops.tenon.pack.default, torch.ops.tenon.pad.default


# -- what Dynamo captures ----------------------------------------------------


def origin(sequence):
    """rows, lengths and mask of what `packing` said of a PackedSequence. Dynamo
    knows the answer, see Origin: None for one from elsewhere, and False if the
    graph is not for Tenon."""
    raise NotImplementedError


def pack_padded_sequence(input, lengths, batch_first=False,
                         enforce_sorted=True):
    if not isinstance(lengths, Tensor):
        lengths = torch.as_tensor(lengths, dtype=torch.int64, device="cpu")
    x = input.transpose(0, 1) if batch_first else input
    if lengths.dim() != 1 or x.dim() < 2 or lengths.size(0) != x.size(1) or \
            not x.numel():
        torch._dynamo.graph_break(msg="lengths do not fit the batch")
    sizes, order, back, rows, _, _ = torch.ops.tenon.packing.default(
        lengths, x.size(0), not enforce_sorted)
    return PackedSequence(pack(x, rows), sizes,
                          None if enforce_sorted else order,
                          None if enforce_sorted else back)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0,
                        total_length=None):
    found = origin(sequence)
    if found is None:
        torch._dynamo.graph_break(msg=_OUTSIDE)
    rows, lengths, mask = found
    y = pad(sequence.data, rows, mask, padding_value)
    if total_length is None:
        y = y.narrow(0, 0, sequence.batch_sizes.size(0))
    elif total_length < y.size(0):
        torch._dynamo.graph_break(msg="total_length may be too short")
    elif total_length > y.size(0):
        more = total_length - y.size(0)
        y = torch.cat([y, y.new_full((more, *y.shape[1:]), padding_value)])
    if batch_first:
        y = y.transpose(0, 1)
    if sequence.sorted_indices is not None:  # as index_select of eager has it
        y = y.contiguous()
    return y, lengths.long()


def _call(function, *args, **kwargs):
    return function(*args, **kwargs)


def forward(self, input, hx=None):
    """That of nn.LSTM and its like."""
    found = False
    if isinstance(input, PackedSequence):
        found = origin(input)
    if found is False:
        return _USUAL[self.mode](self, input, hx)
    if found is None:
        torch._dynamo.graph_break(msg=_OUTSIDE)
    if torch.is_autocast_enabled("cpu"):
        torch._dynamo.graph_break(msg="types of results are PyTorch's")
    rows, lengths, mask = found
    self._update_flat_weights()
    self.check_input(input.data, input.batch_sizes)
    x = pad(input.data, rows, mask, 0.0)
    is_lstm = self.mode == "LSTM"
    if hx is None:

        def zeros(channels):
            count = self.num_layers * (2 if self.bidirectional else 1)
            return torch.zeros(count, mask.size(1), channels, dtype=x.dtype,
                               device=x.device)

        hx = zeros(self.proj_size or self.hidden_size)
        if is_lstm:
            hx = hx, zeros(self.hidden_size)
    # The states are in the order of the batch, as x is.
    self.check_forward_args(x.transpose(0, 1) if self.batch_first else x, hx,
                            None)
    y, *states = recurrent.Layers(
        _call, self.mode.lower(), x, hx, self._flat_weights, self.bias,
        self.num_layers, self.dropout, self.training, self.bidirectional,
        False, lengths).build()
    result = PackedSequence(pack(y, rows), *input[1:])
    return result, tuple(states) if is_lstm else states[0]


def _copy(function):
    """Without the mark by which Dynamo finds `forward`."""
    return types.FunctionType(function.__code__, function.__globals__,
                              function.__name__, function.__defaults__)


_USUAL = {"LSTM": _copy(nn.LSTM.forward), "GRU": _copy(nn.GRU.forward),
          "RNN_TANH": _copy(nn.RNN.forward), "RNN_RELU": _copy(nn.RNN.forward)}


# -- how Dynamo gets to it ---------------------------------------------------


class Origin(variables.UserFunctionVariable):
    """`origin` for Dynamo, which sees the graph."""

    def call_function(self, tx, args, kwargs):
        if not _is_tenon(tx):
            return variables.ConstantVariable.create(False)
        sequence = args[0]
        _, sizes, order, back = (
            sequence.call_method(tx, "__getitem__",
                                 [variables.ConstantVariable.create(i)], {})
            for i in range(4))
        made = self.maker(sizes, 0)
        if made is None or not all(
                self.maker(value, index) is made if made.args[2] else
                value.is_constant_none()
                for index, value in ((1, order), (2, back))):
            leftover("PackedSequence", _OUTSIDE)
            return variables.ConstantVariable.create(None)
        items = []
        for index in (3, 4, 5):
            proxy = tx.output.create_proxy(
                "call_function", operator.getitem,
                (fx.Proxy(made, sizes.as_proxy().tracer), index), {})
            items.append(wrap_fx_proxy(tx, proxy))
        return variables.TupleVariable(items)

    @staticmethod
    def maker(value, index):
        """The node of `packing` whose result the value is."""
        if not isinstance(value, variables.TensorVariable):
            return None
        node = value.as_proxy().node
        if node.target is not operator.getitem or node.args[1] != index or \
                node.args[0].target is not torch.ops.tenon.packing.default:
            return None
        return node.args[0]


def _is_tenon(tx):
    """Whether the graph that Dynamo captures is for Tenon."""
    from tenon.torch.backend import tenon
    function = tx.output.compiler_fn
    while function is not None and function is not tenon:
        function = getattr(function, "_torchdynamo_orig_backend", None) or \
            getattr(function, "compiler_fn", None)
    return function is tenon


def _replace(function, other):
    """Lets Dynamo capture `other` in place of a function, for Tenon only."""

    def build(builder, value):
        kind = lookup(value)
        if not _is_tenon(builder.tx):
            return kind.create_with_source(value, source=builder.source)
        builder.install_guards(GuardBuilder.CLOSURE_MATCH)
        return variables.UserFunctionVariable(other, source=builder.source)

    VariableBuilder._id_dispatch()[id(function)] = build


def enable() -> None:
    """Tells Dynamo of the functions above."""
    _replace(rnn.pack_padded_sequence, pack_padded_sequence)
    _replace(rnn.pad_packed_sequence, pad_packed_sequence)
    VariableBuilder._id_dispatch()[id(origin)] = \
        lambda builder, value: Origin(value, source=builder.source)
    for module_type in (nn.LSTM, nn.GRU, nn.RNN):
        # By which Dynamo finds what to capture in place of a wrapper; neither
        # eager nor TorchScript look at it.
        module_type.forward._torchdynamo_inline = forward


# -- the rewrite -------------------------------------------------------------


def rewrite(gm: fx.GraphModule) -> None:
    """A batch that is packed and unpacked again is the padded batch, but for
    what no step counts in. Recurrent operators with the same lengths do not
    read that, and yield zeros there."""
    found = gm.graph.find_nodes(op="call_function", target=pad)
    for node in found:
        data, rows, mask, value = node.args
        if data.target is not pack or not _same(data.args[1], rows):
            continue
        x = data.args[0]
        for user in list(node.users):
            if _counts(user, rows) and user.args[0] is node:
                user.replace_input_with(node, x)
        if not node.users:
            continue
        if value != 0 or x.target is not operator.getitem or x.args[1] != 0 \
                or not _counts(x.args[0], rows):
            x = _filled(gm.graph, node, x, mask, value)
        node.replace_all_uses_with(x)
    if found:
        gm.graph.eliminate_dead_code()
        gm.recompile()


def _filled(graph, node, x, mask, value):
    """x with the value where no step counts, before the node."""
    rank = node.meta["example_value"].dim()
    with graph.inserting_before(node):
        wide = graph.call_function(operator.getitem, (
            mask, (..., *[None] * (rank - 2))))
        others = graph.call_function(torch.logical_not, (wide,))
        return graph.call_function(torch.masked_fill, (x, others, value))


def _same(a, b):
    """Whether both are the same result of one operator."""
    return a is b or a.target is operator.getitem and a.args == b.args


def _counts(node, rows):
    """Whether a node is a recurrent operator with the lengths of which the rows
    are."""
    return node.target is recurrent.OPERATOR and node.args[8] is not None and \
        node.args[8].args[0] is rows.args[0]
