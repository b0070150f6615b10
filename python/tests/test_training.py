# SPDX-License-Identifier: Apache-2.0
"""Training: gradients, loss curves, compiled optimiser steps."""
import unittest

import torch
from torch import nn

import tenon.torch as tenon_torch
from support import BackendTest, compiled


def cnn():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
        nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, stride=2), nn.BatchNorm2d(8),
        nn.Hardswish(), nn.AvgPool2d(3), nn.Flatten(), nn.Linear(8, 10))


def mlp():
    return nn.Sequential(
        nn.Linear(13, 64), nn.GELU(), nn.Linear(64, 64), nn.SiLU(),
        nn.LayerNorm(64), nn.Tanh(), nn.Linear(64, 4), nn.Softmax(-1))


def encoder():
    return nn.TransformerEncoderLayer(32, 4, batch_first=True, dropout=0)


def losses(make, x, optimizer, compile_, steps=5, **options):
    torch.manual_seed(0)
    model = make().train()
    step = optimizer(model.parameters(), lr=1e-2, **options)
    call, advance = model, step.step
    if compile_:
        call, advance = compiled(model), compiled(step.step)
    found = []
    for _ in range(steps):
        step.zero_grad()
        loss = call(x).square().mean()
        loss.backward()
        advance()
        found.append(loss.item())
    return found, {n: t.clone() for n, t in model.state_dict().items()}


class TrainingTest(BackendTest):
    def compare(self, make, x, optimizer, tolerance=1e-4, **options):
        eager, state = losses(make, x, optimizer, False, **options)
        given, other = losses(make, x, optimizer, True, **options)
        for a, b in zip(given, eager):
            self.assertAlmostEqual(a, b, delta=tolerance * abs(b))
        for name in state if optimizer is torch.optim.SGD else ():
            # AdamW makes large steps of gradients that are nothing but noise.
            torch.testing.assert_close(other[name], state[name], rtol=1e-2,
                                       atol=1e-4)
        self.assertEqual(tenon_torch.stats()["leftovers"], {})

    def test_norms_whose_scale_or_shift_is_not_trained(self):
        norms = [nn.LayerNorm(6), nn.LayerNorm([6, 6], bias=False),
                 nn.GroupNorm(2, 4), nn.BatchNorm2d(4), nn.RMSNorm(6),
                 nn.InstanceNorm2d(4, affine=True)]
        x, weights = torch.randn(2, 3, 4, 6, 6).unbind()
        for norm in norms:
            for trained in ("weight", "bias", ""):
                with self.subTest(norm=norm, trained=trained):
                    self.setUp()
                    for name, p in norm.named_parameters():
                        p.data += torch.rand_like(p)
                        p.requires_grad_(name == trained)
                    self.assert_gradients(norm, x, weights)

    def assert_gradients(self, model, x, weights):
        found = []
        for call in (model, compiled(model)):
            given = x.clone().requires_grad_()
            trained = [p for p in model.parameters() if p.requires_grad]
            found.append(torch.autograd.grad((call(given) * weights).sum(),
                                             [given, *trained]))
        self.assert_same(*reversed(found))
        self.assertEqual(tenon_torch.stats()["leftovers"], {})

    def test_networks_with_sgd(self):
        for make, x in [(mlp, torch.randn(5, 13)),
                        (cnn, torch.randn(2, 3, 16, 16)),
                        (encoder, torch.randn(2, 5, 32))]:
            with self.subTest(make.__name__):
                torch._dynamo.reset()
                self.compare(make, x, torch.optim.SGD, momentum=0.9)

    def test_networks_with_adamw(self):
        for make, x in [(mlp, torch.randn(5, 13)),
                        (encoder, torch.randn(2, 5, 32))]:
            with self.subTest(make.__name__):
                for foreach in (True, False):
                    torch._dynamo.reset()
                    self.compare(make, x, torch.optim.AdamW, 1e-2,
                                 foreach=foreach)

    def test_steps_of_optimisers(self):
        """Over lists of tensors and over one after the other."""
        for name in ("Adadelta", "Adagrad", "Adam", "Adamax", "AdamW", "ASGD",
                     "NAdam", "RAdam", "RMSprop", "Rprop", "SGD"):
            for foreach in (False, True):
                with self.subTest(name, foreach=foreach):
                    self.setUp()
                    self.compare(lambda: nn.Linear(5, 3), torch.randn(4, 5),
                                 getattr(torch.optim, name), foreach=foreach,
                                 steps=2)

    def test_weights_of_a_direction_and_a_scale(self):
        x = torch.randn(2, 4, 9)
        for dim in (0, 2, None):
            with self.subTest(dim=dim):
                self.setUp()
                self.compare(lambda: nn.utils.parametrizations.weight_norm(
                    nn.Conv1d(4, 6, 3), dim=dim), x, torch.optim.SGD, steps=2)

    def test_embeddings_and_cross_entropy(self):
        class Words(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = nn.Embedding(20, 8, padding_idx=3)
                self.head = nn.Linear(8, 20)

            def forward(self, ids):
                scores = self.head(self.table(ids))
                return nn.functional.cross_entropy(
                    scores.flatten(0, 1), ids.flatten(), ignore_index=3)

        ids = torch.randint(0, 20, (4, 7))
        eager = Words()
        eager(ids).backward()
        other = Words()
        other.load_state_dict(eager.state_dict())
        compiled(other)(ids).backward()
        for a, b in zip(other.parameters(), eager.parameters()):
            torch.testing.assert_close(a.grad, b.grad)

    def test_gradients_of_inputs_in_any_layout(self):
        def f(x, w):
            return (x.t() @ w).softmax(0).transpose(0, 1)

        x = torch.randn(4, 6, requires_grad=True)
        w = torch.randn(4, 5, requires_grad=True)
        grad = torch.randn(6, 5).t()
        wanted = torch.autograd.grad(f(x, w), (x, w), grad)
        given = torch.autograd.grad(compiled(f)(x, w), (x, w), grad)
        self.assert_same(given, wanted)


if __name__ == "__main__":
    unittest.main()
