# SPDX-License-Identifier: Apache-2.0
"""What users of other backends have reported, a test for each kind that no other
file has."""
import gc
import os
import resource
import unittest

import torch
import torch.nn.functional as F
from torch import nn

import tenon.torch as tenon_torch
from tenon.errors import TenonError
from tenon.library import lib
from support import BackendTest, compiled


def compiles():
    return lib.tenon_get_compile_stats().compiled


def resident():
    """Bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


class TrapsTest(BackendTest):
    def test_graphs_that_differ_in_a_number_only(self):
        """A cache whose key has no constants gives one the code of the other."""
        x = torch.randn(5)
        for number in (2.0, 3.0, 2, -0.0, 0.0, float("nan")):
            self.check(lambda x, n=number: torch.maximum(x * n, x + n), x)
            torch._dynamo.reset()
            tenon_torch.reset_stats()

    def test_labels_of_a_margin_loss_that_end(self):
        """PyTorch 2.13 takes those behind -1 for class 0."""
        x = torch.randn(3, 5, requires_grad=True)
        labels = torch.tensor([[1, 2, -1, 0, 0], [4, 0, 1, 2, 3],
                               [-1, 1, 1, 1, 1]])
        for reduction in ("mean", "sum", "none"):
            for scores, target in ((x, labels), (x[0], labels[0])):
                self.setUp()

                def loss(scores, target=target, reduction=reduction):
                    return F.multilabel_margin_loss(scores, target,
                                                    reduction=reduction)

                def gradient(call, scores=scores):
                    return torch.autograd.grad(call(scores).sum(), x)

                self.check(loss, scores.detach())
                self.assert_same(gradient(compiled(loss)), gradient(loss))

    def test_reset_keeps_compiled_code(self):
        call, x = compiled(lambda x: (x * 3).exp() - 5), torch.randn(7)
        call(x)
        before = compiles()
        torch._dynamo.reset()
        call(x)
        self.assertEqual(compiles(), before)

    def test_growing_sequences_are_compiled_twice_at_most(self):
        model = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
        call = compiled(model)
        with torch.no_grad():
            for length in range(2, 40):
                x = torch.randn(1, length, 16)
                self.assert_same(call(x), model(x))
        self.assertLessEqual(tenon_torch.stats()["graphs"], 2)
        self.assertEqual(tenon_torch.stats()["versions"], 0)

    def test_equal_options_share_graphs(self):
        """A backend made anew by each call would compile for each."""
        def double(x):
            return x * 2
        for _ in range(5):
            call = compiled(double, options={"constants": "compare"})
            self.assert_same(call(torch.ones(3)), torch.full((3,), 2.0))
        self.assertEqual(tenon_torch.stats()["graphs"], 1)

    def test_graphs_that_break(self):
        """Gradients pass through both parts."""
        def broken(x, w):
            y = (x @ w).relu()
            torch._dynamo.graph_break()
            return (y * y.sum()).softmax(1), y

        x, w = torch.randn(3, 4), torch.randn(4, 5, requires_grad=True)
        grads = []
        for call in (broken, compiled(broken)):
            results = call(x, w)
            grads.append((results, torch.autograd.grad(
                results[0][:, 0].sum() + results[1].sum(), w)))
        self.assert_same(grads[1], grads[0])

    def test_narrow_sums_are_of_floats(self):
        many = torch.ones(10000, dtype=torch.bfloat16)
        self.assertEqual(compiled(torch.sum)(many).item(), 9984)
        product = compiled(torch.matmul)(many[None], many[:, None])
        self.assertEqual(product.item(), 9984)

    def test_memory_stays(self):
        """Over many calls, and over many shapes."""
        model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(),
                              nn.Linear(256, 64)).eval()
        for dynamic in (True, None):
            torch._dynamo.reset()
            call = compiled(model, dynamic=dynamic)
            with torch.no_grad():
                for rows in range(2, 203):
                    call(torch.randn(rows, 64))
                gc.collect()
                before = resident()
                x = torch.randn(4, 64)
                for _ in range(10000):
                    call(x)
                for rows in range(202, 2, -1):
                    call(torch.randn(rows, 64))
            gc.collect()
            self.assertLess(resident() - before, 4 << 20)

    def test_indices_out_of_range_raise(self):
        table = torch.randn(10, 4)
        for call in (compiled(lambda t, i: t[i] * 2),
                     compiled(lambda t, i: F.embedding(i, t) * 2)):
            good = torch.tensor([0, 3, 9, 9])
            self.assertTrue(torch.equal(call(table, good), table[good] * 2))
            for wrong in (10, -11, 2**40, -2**62):
                with self.assertRaises(TenonError):
                    call(table, torch.tensor([0, wrong, 1, 2]))

    def test_sources_of_other_sizes_raise(self):
        table, at = torch.randn(10, 4), torch.tensor([0, 3])
        for shape, dim in (((2,), 0), ((2, 1), 0), ((2, 5), -2), ((4, 2), 1)):
            for function in (table.index_add, table.index_copy):
                with self.subTest(shape=shape, function=function):
                    torch._dynamo.reset()
                    with self.assertRaises(Exception):
                        function(dim, at, torch.ones(shape))
                    with self.assertRaises(Exception):
                        compiled(lambda i: function(dim, i, torch.ones(shape)))(
                            at)

    def test_negative_indices_raise_where_eager_refuses_them(self):
        table, rows = torch.randn(10, 4), torch.randn(3, 4)
        image = torch.randn(2, 3, 1)
        row = torch.arange(3)[:, None]
        for function in (
                lambda i: F.embedding(i, table),
                lambda i: F.embedding_bag(i[None], table),
                lambda i: table.index_select(0, i),
                lambda i: table.index_select(0, i.int()),
                lambda i: rows.gather(1, i[:, None]),
                lambda i: rows.scatter(1, i[:, None], 2.0),
                lambda i: table.index_add(0, i, rows, alpha=2),
                lambda i: table.index_copy(0, i, rows),
                lambda i: table.index_reduce(0, i, rows, "amax"),
                lambda i: F.nll_loss(rows, i),
                lambda i: F.cross_entropy(rows, i, torch.arange(4.0)),
                lambda i: F.multi_margin_loss(rows, i),
                lambda i: F.max_unpool1d(image, i[:, None].expand(2, 3, 1), 4)):
            self.setUp()
            self.check(function, torch.tensor([0, 3, 1]))
            call = compiled(function)
            for wrong in (-1, -3, -2**31):
                with self.assertRaises(TenonError):
                    call(torch.tensor([0, wrong, 1]))
        for function in (lambda i: table[row, i], lambda i: table.take(i),
                         lambda i: table.index_fill(0, i, 1.0),
                         lambda i: table.take_along_dim(i[:, None], 0),
                         lambda i: table.index_put((i,), rows)):
            self.setUp()
            self.check(function, torch.tensor([0, -1, 1]))

    def test_targets_that_are_ignored(self):
        scores = torch.randn(5, 7, requires_grad=True)
        target = torch.tensor([3, -100, 0, 6, -100])
        for ignored in (-100, 3, -1):
            def loss(scores, ignored=ignored):
                return F.cross_entropy(
                    scores, target.where(target != -100, ignored),
                    ignore_index=ignored, label_smoothing=0.1)

            found = [(y, *torch.autograd.grad(y, scores))
                     for y in (compiled(loss)(scores), loss(scores))]
            self.assert_same(*found)

    def test_added_twice_at_one_place(self):
        x, index = torch.zeros(5, 3), torch.tensor([1, -1 + 5, 1, 0, 1])
        source = torch.randn(5, 3)
        self.check(lambda x, i, s: x.index_add(0, i, s, alpha=-2), x, index,
                   source)
        self.setUp()
        self.check(lambda x, i, s: x.index_put((i,), s, accumulate=True), x,
                   torch.tensor([1, -1, 1, -5, 1]), source)

    def test_overlapping_inputs_and_results(self):
        base = torch.randn(12)
        windows = base.as_strided((5, 4), (2, 1))
        self.check(lambda x: x * 2 + x.sum(0), windows)
        self.setUp()
        call = compiled(lambda x: (x * 1).as_strided((5, 4), (2, 1)) + 1)
        self.assert_same(call(base), base.as_strided((5, 4), (2, 1)) + 1)

    def test_dropout_of_nothing_and_of_all(self):
        x = torch.randn(50)
        for p in (0.0, 1.0):
            self.setUp()
            self.check(lambda x, p=p: F.dropout(x, p, True) + 1, x)

    def test_gradients_that_nobody_wants(self):
        x, w = torch.randn(3, 4), torch.randn(4, 2, requires_grad=True)
        unused = torch.randn(2, requires_grad=True)
        call = compiled(lambda x, w, u: ((x @ w).relu(), u * 2))
        call(x, w, unused)[0].sum().backward()
        want = torch.autograd.grad((x @ w).relu().sum(), w)[0]
        self.assert_same(w.grad, want)
        self.assertFalse(unused.grad.any())  # as AOTAutograd has it

    def test_tangents_with_other_strides(self):
        layer = nn.Conv2d(3, 4, 3, padding=1)
        x = torch.randn(2, 3, 8, 8).contiguous(
            memory_format=torch.channels_last)
        tangent = torch.randn(2, 4, 8, 8)
        results = []
        for call in (layer, compiled(layer)):
            for grad in (tangent, tangent.contiguous(
                    memory_format=torch.channels_last)):
                layer.zero_grad()
                call(x).backward(grad)
                results.append(layer.weight.grad.clone())
        for other in results[1:]:
            torch.testing.assert_close(other, results[0], rtol=1e-4, atol=1e-4)

    def test_forked_processes_compute(self):
        """As workers of a DataLoader do, after the parent has."""
        model = nn.Linear(8, 8).eval()
        call, x = compiled(model), torch.randn(4, 8)
        with torch.no_grad():
            want = call(x)
            child = os.fork()
            if not child:
                torch.set_num_threads(1)
                good = torch.equal(call(x), want) and torch.allclose(
                    compiled(lambda x: x * 5 - 1)(x), x * 5 - 1)
                os._exit(0 if good else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_workers_of_a_data_loader(self):
        call = compiled(lambda x: x.float() * 2 + 1)

        class Data(torch.utils.data.Dataset):
            def __len__(self):
                return 8

            def __getitem__(self, i):
                return call(torch.full((3,), i))

        call(torch.zeros(3, dtype=torch.int64))
        loader = torch.utils.data.DataLoader(Data(), 4, num_workers=2)
        rows = torch.cat(list(loader))
        self.assertTrue(torch.equal(rows[:, 0], torch.arange(8.0) * 2 + 1))


if __name__ == "__main__":
    unittest.main()
