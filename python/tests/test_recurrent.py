# SPDX-License-Identifier: Apache-2.0
"""nn.LSTM, nn.GRU and nn.RNN: one operator for each layer, in both directions."""
import unittest
from unittest import mock

import torch
from torch import nn

import tenon.torch as tenon_torch
from tenon.torch import lowering
from support import BackendTest, compiled, leaves

MODULES = [
    nn.LSTM(4, 8), nn.LSTM(4, 8, 2, batch_first=True, bidirectional=True),
    nn.LSTM(4, 8, 2, proj_size=3, bidirectional=True), nn.LSTM(4, 8, bias=False),
    nn.GRU(4, 8, 2, bidirectional=True), nn.GRU(4, 8, bias=False),
    nn.RNN(4, 8, 2), nn.RNN(4, 8, nonlinearity="relu", bidirectional=True),
]
OPERATORS = (torch.ops.tenon.recurrent.default,
             torch.ops.tenon.recurrent_backward.default)


def gradients(module, call, x):
    """Results, and gradients of the input and of all parameters."""
    module.zero_grad()
    x = x.clone().requires_grad_()
    results = leaves(call(x))
    sum((i + 1) * r.square().sum() for i, r in enumerate(results)).backward()
    return [*results, x.grad, *(p.grad.clone() for p in module.parameters())]


class RecurrentTest(BackendTest):
    def assert_gradients(self, module, x):
        """Those of the compiled module are eager's."""
        wanted = gradients(module, module, x)
        for a, b in zip(gradients(module, compiled(module), x), wanted):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)

    def test_inference(self):
        x = torch.randn(5, 3, 4)
        for m in MODULES:
            with self.subTest(str(m)), torch.no_grad():
                self.setUp()
                self.assert_same(compiled(m)(x), m(x))
                self.assertEqual(tenon_torch.stats()["leftovers"], {})

    def test_gradients(self):
        x = torch.randn(5, 3, 4)
        for m in MODULES:
            with self.subTest(str(m)):
                self.setUp()
                self.assert_gradients(m, x)
                stats = tenon_torch.stats()
                self.assertEqual(stats["leftovers"], {})
                self.assertEqual(stats["regions"], 2)

    def test_states_and_input_without_a_batch(self):
        m = nn.LSTM(4, 8)
        states = torch.randn(1, 3, 8), torch.randn(1, 3, 8)
        x = torch.randn(5, 3, 4)
        self.check(m, x, states)
        self.check(m, x[:, 0])

    def test_any_batch_and_length(self):
        m = nn.GRU(4, 8, batch_first=True)
        call = compiled(m, dynamic=True)
        with torch.no_grad():
            for batch, steps in [(2, 5), (3, 9), (7, 4)]:
                x = torch.randn(batch, steps, 4)
                self.assert_same(call(x), m(x))

    def test_autocast(self):
        for m in (nn.LSTM(16, 16), nn.GRU(16, 16), nn.RNN(16, 16)):
            for dtype in (torch.float32, torch.bfloat16):
                x = torch.randn(5, 2, 16, dtype=dtype)
                with self.subTest(str(m), dtype=dtype), torch.no_grad(), \
                        torch.autocast("cpu", dtype=torch.bfloat16):
                    given, eager = compiled(m)(x)[0], m(x)[0]
                    self.assertEqual(given.dtype, eager.dtype)
                    torch.testing.assert_close(given, eager, rtol=2e-2,
                                               atol=2e-2)

    def test_dropout_between_layers(self):
        m = nn.LSTM(4, 8, 2, dropout=0.999).train()
        x = torch.randn(5, 3, 4)
        call = compiled(m)
        torch.manual_seed(1)
        a = call(x)[0]
        b = call(x)[0]
        torch.manual_seed(1)
        self.assertTrue(torch.equal(a, call(x)[0]))
        self.assertFalse(torch.equal(a, m.eval()(x)[0]))
        self.assertEqual(a.shape, b.shape)

    def test_the_slow_way_is_right(self):
        x = torch.randn(5, 3, 4)
        kept = {k: v for k, v in lowering.LOWERINGS.items()
                if k not in OPERATORS}
        for m in MODULES:
            with self.subTest(str(m)), \
                    mock.patch.dict(lowering.LOWERINGS, kept, clear=True):
                self.setUp()
                self.assert_gradients(m, x)
                self.assertEqual(len(tenon_torch.stats()["leftovers"]), 2)

    def test_only_one_of_both_stays_in_pytorch(self):
        """The workspace of the slow way is that of Tenon."""
        x = torch.randn(5, 3, 4)
        for operator in OPERATORS:
            kept = {k: v for k, v in lowering.LOWERINGS.items()
                    if k is not operator}
            for m in MODULES:
                with self.subTest(str(m)), \
                        mock.patch.dict(lowering.LOWERINGS, kept, clear=True):
                    self.setUp()
                    self.assert_gradients(m, x)


if __name__ == "__main__":
    unittest.main()
