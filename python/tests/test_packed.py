# SPDX-License-Identifier: Apache-2.0
"""Packed sequences: pack, a recurrent module, and unpack in one graph."""
import copy
import itertools
import re
import unittest
from unittest import mock

import torch
from torch import nn
from torch._dynamo.utils import counters
from torch.nn.utils.rnn import (PackedSequence, pack_padded_sequence,
                                pack_sequence, pad_packed_sequence)

import tenon.torch as tenon_torch
from tenon.torch import lowering
from support import BackendTest, compiled, leaves

STEPS, BATCH = 6, 4
LENGTHS = [torch.tensor(v) for v in ([2, 6, 3, 3], [1, 1, 5, 2], [6] * 4)]
MODULES = [
    nn.LSTM(4, 8), nn.LSTM(4, 8, 2, batch_first=True, bidirectional=True),
    nn.LSTM(4, 8, 2, proj_size=3, bidirectional=True),
    nn.LSTM(4, 8, bias=False), nn.GRU(4, 8, 2, bidirectional=True),
    nn.GRU(4, 8, bias=False, batch_first=True), nn.RNN(4, 8, 2),
    nn.RNN(4, 8, nonlinearity="relu", bidirectional=True),
]
OPERATORS = (torch.ops.tenon.recurrent.default,
             torch.ops.tenon.recurrent_backward.default)


class Packed(nn.Module):
    """The usual way to use them."""

    def __init__(self, module, sorts=True, total=STEPS, value=0.0):
        super().__init__()
        self.module = module
        self.sorts, self.total, self.value = sorts, total, value

    def forward(self, x, lengths, states=None):
        first = self.module.batch_first
        packed = pack_padded_sequence(x, lengths, first, not self.sorts)
        y, last = self.module(packed, states)
        return pad_packed_sequence(y, first, self.value, self.total), last


def batch(module, dtype=torch.float32, steps=STEPS, size=BATCH):
    shape = (size, steps) if module.batch_first else (steps, size)
    return torch.randn(*shape, 4, dtype=dtype)


def gradients(module, call, x, lengths, *states):
    """Results, and gradients of all inputs and all parameters."""
    module.zero_grad()
    given = [x.clone().requires_grad_(),
             *(s.clone().requires_grad_() for s in states)]
    hx = given[1:] or None
    if hx and len(hx) == 1:
        hx = hx[0]
    results = leaves(call(given[0], lengths, hx))
    sum((i + 1) * r.square().sum() for i, r in enumerate(results)
        if r.is_floating_point()).backward()
    return [*results, *(t.grad for t in given),
            *(p.grad.clone() for p in module.parameters())]


class PackedTest(BackendTest):
    def setUp(self):
        super().setUp()
        counters.clear()

    def assert_whole(self, left=()):
        """One graph for all lengths, compiled once, of which nothing else stays
        in PyTorch."""
        stats = tenon_torch.stats()
        self.assertEqual({name for name, _ in stats["leftovers"]}, set(left))
        self.assertEqual(stats["versions"], 0)
        self.assertEqual(counters["stats"]["unique_graphs"], 1)
        self.assertEqual(dict(counters["graph_break"]), {})

    def assert_gradients(self, module, x, lengths, *states):
        call = compiled(module)
        wide = copy.deepcopy(module).double()
        for some in [lengths] if isinstance(lengths, torch.Tensor) else lengths:
            exact = gradients(wide, wide, x.double(), some,
                              *(s.double() for s in states))
            eager = gradients(module, module, x, some, *states)
            given = gradients(module, call, x, some, *states)
            self.assert_same(given, eager, exact)

    def test_any_lengths(self):
        for m, sorts in [*((m, True) for m in MODULES), (MODULES[1], False),
                         (MODULES[4], False)]:
            with self.subTest(str(m), sorts=sorts), torch.no_grad():
                self.setUp()
                packed = Packed(m, sorts)
                call = compiled(packed, fullgraph=True)
                for lengths in LENGTHS:
                    if not sorts:
                        lengths = lengths.sort(descending=True)[0]
                    x = batch(m)
                    self.assert_same(call(x, lengths), packed(x, lengths))
                self.assert_whole()

    def test_gradients(self):
        for m in MODULES:
            with self.subTest(str(m)):
                self.setUp()
                self.assert_gradients(Packed(m), batch(m), LENGTHS)
                self.assert_whole()

    def test_steps_are_not_unrolled(self):
        m = nn.GRU(4, 8, 2, bidirectional=True)
        counts = set()
        for steps in (STEPS, 4 * STEPS):
            self.setUp()
            self.assert_gradients(Packed(m, total=steps),
                                  batch(m, steps=steps), LENGTHS)
            counts.add(tenon_torch.stats()["nodes"])
        self.assertEqual(len(counts), 1)

    def test_states(self):
        for m, count in ((nn.LSTM(4, 8, 2, bidirectional=True), 2),
                         (nn.GRU(4, 8, 2, bidirectional=True), 1)):
            with self.subTest(str(m)):
                self.setUp()
                states = [torch.randn(4, BATCH, 8) for _ in range(count)]
                self.assert_gradients(Packed(m), batch(m), LENGTHS, *states)
                self.assert_whole()

    def test_only_the_last_state(self):
        m = nn.GRU(4, 8, batch_first=True)

        def f(x, lengths):
            packed = pack_padded_sequence(x, lengths, batch_first=True,
                                          enforce_sorted=False)
            return m(packed)[1][-1]

        x = batch(m)
        call = compiled(f, fullgraph=True)
        with torch.no_grad():
            for lengths in LENGTHS:
                self.assert_same(call(x, lengths), f(x, lengths))
        self.assert_whole()

    def test_length_of_the_longest(self):
        for first in (False, True):
            with self.subTest(first):
                self.setUp()
                m = nn.LSTM(4, 8, batch_first=first)
                self.assert_gradients(Packed(m, total=None), batch(m), LENGTHS)
                self.assert_whole({"aten.slice.Tensor",
                                   "aten.slice_scatter.default"})

    def test_padding(self):
        m = nn.LSTM(4, 8, batch_first=True)
        for total in (STEPS, STEPS + 3, STEPS - 1):
            with self.subTest(total), torch.no_grad():
                self.setUp()
                packed = Packed(m, total=total, value=-7.5)
                x = batch(m)
                self.assert_same(compiled(packed)(x, LENGTHS[1]),
                                 packed(x, LENGTHS[1]))
        with self.assertRaises(ValueError):
            compiled(Packed(m, total=2))(x, LENGTHS[0])

    def test_steps_that_do_not_count_are_not_read(self):
        for m in MODULES:
            with self.subTest(str(m)):
                self.setUp()
                x = batch(m)
                for i, length in enumerate(LENGTHS[0].tolist()):
                    entry = x[i] if m.batch_first else x[:, i]
                    entry[length:] = float("inf" if i % 2 else "nan")
                self.assert_gradients(Packed(m), x, LENGTHS[0])

    def test_data_of_a_packed_sequence(self):
        m = nn.LSTM(4, 8, 2)

        def f(x, lengths, sorts):
            p = pack_padded_sequence(x, lengths, enforce_sorted=not sorts)
            q = PackedSequence(torch.relu(p.data), p.batch_sizes,
                               p.sorted_indices, p.unsorted_indices)
            y, last = m(q)
            return p.data, q, y, last, (p.data.sum(-1) * y.data.sum(-1)), \
                pad_packed_sequence(q)

        call = compiled(f)
        for sorts, lengths in itertools.product((True, False), LENGTHS):
            if not sorts:
                lengths = lengths.sort(descending=True)[0]
            x = batch(m)
            with self.subTest(lengths=lengths, sorts=sorts):
                given, eager = call(x, lengths, sorts), f(x, lengths, sorts)
                self.assertIs(type(given[1]), PackedSequence)
                self.assert_same(given, eager)
        self.assertEqual(dict(counters["graph_break"]), {})

    def test_other_elements(self):
        def f(x, lengths, first):
            p = pack_padded_sequence(x, lengths, first, enforce_sorted=False)
            return p, pad_packed_sequence(p, first, -2)

        for x in (torch.arange(24).reshape(6, 4), torch.randn(6, 4, 2, 3)):
            for first in (True, False):
                given = x.transpose(0, 1) if first else x
                self.assert_same(compiled(f)(given, LENGTHS[0], first),
                                 f(given, LENGTHS[0], first))
        self.assertEqual(dict(counters["graph_break"]), {})

    def test_models(self):
        """What people write around it."""

        class Inherits(nn.LSTM):
            def forward(self, x, hx=None):
                y, last = super().forward(x, hx)
                return y, last

        class Classifier(nn.Module):
            def __init__(self):
                super().__init__()
                self.embedding = nn.Embedding(20, 4)
                self.first = Inherits(4, 8, batch_first=True,
                                      bidirectional=True)
                self.first.register_forward_hook(lambda *_: None)
                self.second = nn.GRU(16, 8)
                self.linear = nn.Linear(8, 3)

            def forward(self, tokens, lengths):
                p = nn.utils.rnn.pack_padded_sequence(
                    self.embedding(tokens), lengths.cpu(), batch_first=True,
                    enforce_sorted=False)
                q, (h, _) = self.first(p)
                q, last = self.second(q)
                y, counts = nn.utils.rnn.pad_packed_sequence(
                    q, batch_first=True, padding_value=-1e9)
                rows = torch.arange(y.size(0))
                mask = torch.arange(y.size(1)) < counts.unsqueeze(1)
                weights = y.sum(-1).masked_fill(~mask, -1e9).softmax(1)
                return (self.linear(y[rows, counts - 1]), y.max(1)[0],
                        self.linear(y), (weights.unsqueeze(2) * y).sum(1),
                        torch.cat([h[-1], h[-2], last[0]], 1))

        m = Classifier()
        call = compiled(m)
        exact = copy.deepcopy(m).double()
        for lengths in LENGTHS:
            tokens = torch.randint(20, (BATCH, STEPS))
            results = []
            for function, module in ((call, m), (m, m), (exact, exact)):
                module.zero_grad()
                made = function(tokens, lengths)
                sum(t.clamp(-9, 9).square().sum() for t in made).backward()
                results.append([*made, *(p.grad.clone() for p in
                                         module.parameters())])
            self.assert_same(*results)
        self.assertEqual(dict(counters["graph_break"]), {})

    def test_packed_after_the_module(self):
        m = nn.GRU(4, 8)

        def f(x, a, b):
            p = pack_padded_sequence(m(x)[0], a, enforce_sorted=False)
            y = m(pack_padded_sequence(x, b, enforce_sorted=False))[0]
            z = pad_packed_sequence(y, total_length=STEPS)[0]
            q = pack_padded_sequence(z + 1, a, enforce_sorted=False)
            p = pad_packed_sequence(p, total_length=STEPS, padding_value=2)
            again = pack_padded_sequence(p[0], b, enforce_sorted=False)
            return p, [pad_packed_sequence(v, total_length=STEPS)
                       for v in (q, again, pack_padded_sequence(
                           z, a, enforce_sorted=False))]

        x = batch(m)
        self.assert_same(compiled(f, fullgraph=True)(x, *LENGTHS[:2]),
                         f(x, *LENGTHS[:2]))

    def test_lengths_as_a_list(self):
        m = nn.GRU(4, 8)
        packed = Packed(m)
        call = compiled(packed)
        with torch.no_grad():
            for lengths in LENGTHS:
                x = batch(m)
                self.assert_same(call(x, lengths.tolist()), packed(x, lengths))
        self.assertEqual(dict(counters["graph_break"]), {})

    def test_any_batch(self):
        m = nn.LSTM(4, 8, 2, batch_first=True)
        packed = Packed(m, total=None)
        call = compiled(packed, dynamic=True)
        with torch.no_grad():
            for size, steps in ((2, 5), (3, 9), (7, 4)):
                x = batch(m, steps=steps, size=size)
                lengths = torch.randint(1, steps + 1, (size,))
                self.assert_same(call(x, lengths), packed(x, lengths))
        self.assert_whole({"aten.slice.Tensor"})

    def test_errors_are_those_of_eager(self):
        m = nn.LSTM(4, 8)
        for lengths, sorts in (([2, 0, 3, 1], True), ([2, 3, 1, 1], False),
                               ([2, 2], False), ([3, 2, -1, 1], True)):
            with self.subTest(lengths=lengths):
                self.setUp()
                packed, x = Packed(m, sorts), batch(m)
                lengths = torch.tensor(lengths)
                with self.assertRaises(RuntimeError) as eager:
                    packed(x, lengths)
                with self.assertRaisesRegex(RuntimeError,
                                            re.escape(str(eager.exception))):
                    compiled(packed)(x, lengths)
        with self.assertRaises(RuntimeError):
            compiled(Packed(m))(batch(m), torch.tensor([7, 1, 1, 1]))

    def test_from_outside(self):
        m = nn.LSTM(4, 8)
        p = pack_padded_sequence(batch(m), LENGTHS[0], enforce_sorted=False)
        with torch.no_grad():
            self.assert_same(compiled(m)(p), m(p))
            self.assertIn("PackedSequence", {
                name for name, _ in tenon_torch.stats()["leftovers"]})
            self.assert_same(
                compiled(lambda p: pad_packed_sequence(m(p)[0]))(p),
                pad_packed_sequence(m(p)[0]))

    def test_pack_sequence(self):
        m = nn.LSTM(4, 8)

        def f(*sequences):
            return m(pack_sequence(sequences, enforce_sorted=False))[1]

        given = [torch.randn(n, 4) for n in (2, 5, 3)]
        with torch.no_grad():
            self.assert_same(compiled(f)(*given), f(*given))

    def test_dropout_between_layers(self):
        m = nn.LSTM(4, 8, 2, dropout=0.999).train()
        packed, x = Packed(m), batch(m)
        call = compiled(packed)
        results = []
        for seed in (1, 1, 2):
            torch.manual_seed(seed)
            results.append(call(x, LENGTHS[0])[0][0])
        self.assertTrue(torch.equal(results[0], results[1]))
        m.eval()
        self.assert_same(call(x, LENGTHS[0]), packed(x, LENGTHS[0]))

    def test_autocast(self):
        m = nn.LSTM(16, 16, batch_first=True)
        packed, x = Packed(m), torch.randn(BATCH, STEPS, 16)
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            given = leaves(compiled(packed)(x, LENGTHS[0]))
            eager = leaves(packed(x, LENGTHS[0]))
        for a, b in zip(given, eager):
            self.assertEqual(a.dtype, b.dtype)
            torch.testing.assert_close(a, b, rtol=2e-2, atol=2e-2)

    def test_the_slow_way_is_right(self):
        for left, modules in ((OPERATORS, MODULES),
                              (OPERATORS[:1], MODULES[2:5:2]),
                              (OPERATORS[1:], MODULES[1:6:4])):
            kept = {k: v for k, v in lowering.LOWERINGS.items()
                    if k not in left}
            for m in modules:
                with self.subTest(str(m), left=left), \
                        mock.patch.dict(lowering.LOWERINGS, kept, clear=True):
                    self.setUp()
                    self.assert_gradients(Packed(m), batch(m), LENGTHS[0])

    def test_nothing_else_changes(self):
        """Other backends, eager and TorchScript."""
        m = nn.LSTM(4, 8)
        packed, x = Packed(m), batch(m)
        wanted = packed(x, LENGTHS[0])
        compiled(packed)(x, LENGTHS[0])
        other = torch.compile(Packed(m), backend="eager")
        for a, b in zip(leaves(other(x, LENGTHS[0])), leaves(wanted)):
            self.assertTrue(torch.equal(a, b))
        self.assertTrue(counters["graph_break"])
        self.assertEqual(tenon_torch.stats()["leftovers"], {})
        script = torch.jit.script(nn.Sequential(m))
        self.assertTrue(torch.equal(script(x)[0], m(x)[0]))


if __name__ == "__main__":
    unittest.main()
