# SPDX-License-Identifier: Apache-2.0
"""Inference: constants, shapes, strides, aliases, mutated inputs, threads."""
import gc
import threading
import unittest
from unittest import mock

import numpy as np
import torch
from torch import nn

import tenon.torch as tenon_torch
from tenon.errors import TenonError
from tenon.library import lib
from tenon.torch import region
from support import BackendTest, compiled


class InferenceTest(BackendTest):
    def setUp(self):
        super().setUp()
        self.enterContext(torch.no_grad())

    def test_shapes_and_graphs_share_packed_weights(self):
        model = torch.nn.Sequential(torch.nn.Linear(300, 200),
                                    torch.nn.Linear(200, 300)).eval()
        call = compiled(model, dynamic=False)

        def used():
            return lib.tenon_get_constant_cache_stats().bytes_in_use

        gc.collect()
        before = used()
        with torch.no_grad():
            call(torch.randn(40, 300))
            once = used()
            self.assertGreaterEqual(once - before, 2 * 200 * 300 * 4)
            call(torch.randn(80, 300))
            compiled(lambda x: model(x) + 1)(torch.randn(40, 300))
            self.assertEqual(used(), once)
            for _ in range(3):  # the old ones go
                model[0].weight.mul_(2)
                for rows in (40, 80):
                    x = torch.randn(rows, 300)
                    self.assert_same(call(x), model(x))
        del call
        torch._dynamo.reset()
        gc.collect()
        self.assertLess(lib.tenon_get_constant_cache_stats().bytes, once)

    def test_networks(self):
        cnn = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
            nn.MaxPool2d(2), nn.ConvTranspose2d(8, 8, 2, stride=2, groups=2),
            nn.GroupNorm(2, 8), nn.AvgPool2d(3, 2, 1), nn.Flatten(),
            nn.Linear(8 * 64, 10), nn.LogSoftmax(-1))
        for m, x in [(nn.Sequential(nn.Linear(13, 64), nn.GELU(),
                                    nn.LayerNorm(64), nn.Linear(64, 4)),
                      torch.randn(5, 13)),
                     (cnn, torch.randn(2, 3, 16, 16))]:
            self.setUp()
            stats = self.check(m.eval(), x)
            self.assertEqual(stats["regions"], 1)

    def test_encoder_layers(self):
        x = torch.randn(2, 5, 32)
        hidden = torch.zeros(2, 5, dtype=torch.bool)
        hidden[1, 3:] = True
        for first in (False, True):
            torch._dynamo.reset()
            m = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True,
                                           norm_first=first).eval()
            self.check(m, x)
            given = compiled(m)(x, src_key_padding_mask=hidden)
            eager = m(x, src_key_padding_mask=hidden)
            self.assert_same(given[~hidden], eager[~hidden])
            self.assertEqual(tenon_torch.stats()["leftovers"], {})

    def test_nothing_to_compile_is_left_alone(self):
        stats = self.check(lambda x: (x.view(2, -1), x.t(), x[1:]),
                           torch.randn(4, 6))
        self.assertEqual(stats["regions"], 0)

    def test_what_is_not_known_stays_in_pytorch_and_is_said_once(self):
        def f(x):
            return torch.linalg.inv(x.relu() + torch.eye(3)).exp()

        with self.assertLogs("tenon", "WARNING") as log:
            stats = self.check(f, torch.rand(3, 3), leftovers=1)
        self.assertEqual(len(log.output), 1)
        self.assertIn("aten.linalg_inv_ex", log.output[0])
        self.assertEqual(stats["regions"], 2)
        torch._dynamo.reset()
        with self.assertRaises(Exception) as caught:
            compiled(f, options={"fullgraph": "tenon"})(torch.rand(3, 3))
        self.assertIn("linalg_inv_ex", str(caught.exception))

    def test_what_does_not_compile_stays_in_pytorch(self):
        real, calls = region.compile_graph, []

        def refuse(graph, engine):
            calls.append(graph)
            if len(calls) == 1:
                raise TenonError(3001, "too hard", op_name=name)
            return real(graph, engine)

        # Of one operation, and then of none in particular.
        for name, regions in [("exp", 1), ("", 0)]:
            calls.clear()
            self.setUp()
            with mock.patch.object(region, "compile_graph", refuse):
                stats = self.check(lambda x: x.exp().relu().cos(),
                                   torch.randn(3, 4), leftovers=1 if regions
                                   else 3)
            self.assertEqual(stats["regions"], regions)

    def test_sizes_that_do_not_compile_stay_in_pytorch(self):
        def refuse(graph, engine):
            raise TenonError(3001, "too hard")

        def f(x):
            return x.exp().relu().cos(), x.shape[0] + x.t()

        for options in ({}, {"fullgraph": "tenon"}):
            self.setUp()
            call = compiled(f, dynamic=True, options=options)
            with mock.patch.object(region, "compile_graph", refuse):
                if options:
                    with self.assertRaises(RuntimeError):
                        call(torch.randn(3, 4))
                    continue
                with self.assertLogs("tenon", "WARNING") as log:
                    for rows in (3, 5, 5):
                        x = torch.randn(rows, 4)
                        self.assert_same(call(x), f(x))
            self.assertEqual(tenon_torch.stats()["fallbacks"], 3)
            self.assertEqual(tenon_torch.stats()["versions"], 2)
            told = [t for t in log.output if "stays in PyTorch" in t]
            self.assertEqual(len(told), 1)

    def test_calls_that_do_not_fit_the_code_stay_in_pytorch(self):
        def refuse(self, tensors, engine):
            raise TenonError(1210, "other strides")

        def f(x):
            y = x.expand(2, 3, 4) * 1
            x.mul_(2).sin_()
            return y, x.t() + 1

        for dynamic in (False, True):
            self.setUp()
            x = torch.randn(3, 4)
            given = x.clone()
            call = compiled(f, dynamic=dynamic)
            self.assert_same(call(given.clone()), f(x.clone()))
            with mock.patch.object(region.Model, "execute", refuse):
                for _ in range(2):
                    self.assert_same(call(given), f(x))
                    self.assert_same(given, x)
            self.assertEqual(tenon_torch.stats()["fallbacks"], 2)

    def test_unknown_options_raise(self):
        with self.assertRaises(Exception) as caught:
            compiled(torch.relu, options={"speed": 11})(torch.ones(2))
        self.assertIn("speed", str(caught.exception))

    # -- constants -----------------------------------------------------------

    def test_changed_parameters_are_noticed(self):
        m = nn.Linear(4, 4)
        c = compiled(m)
        x = torch.randn(2, 4)
        self.assert_same(c(x), m(x))
        m.weight.add_(1)
        self.assert_same(c(x), m(x))
        m.weight.data = torch.randn(4, 4)
        self.assert_same(c(x), m(x))
        m.load_state_dict(nn.Linear(4, 4).state_dict())
        self.assert_same(c(x), m(x))
        self.assertEqual(tenon_torch.stats()["graphs"], 1)
        self.assertEqual(tenon_torch.stats()["repacked"], 3)

    def test_writes_that_are_not_counted(self):
        x = torch.randn(2, 4)
        for options, refresh in [({}, tenon_torch.refresh),
                                 ({"constants": "compare"}, lambda: None)]:
            torch._dynamo.reset()
            m = nn.Linear(4, 4)
            c = compiled(m, options=options)
            self.assert_same(c(x), m(x))
            m.weight.data.mul_(2)
            m.bias.numpy()[:] = 7
            refresh()
            self.assert_same(c(x), m(x))
        table = torch.randn(6, 8)
        holder = nn.Module()
        holder.register_buffer("part", table[:4, ::2])
        c = compiled(lambda x: x @ holder.part, options={"constants": "compare"})
        self.assert_same(c(x), x @ holder.part)
        table.numpy()[3, 6] += 1
        self.assert_same(c(x), x @ holder.part)
        # Elements that compare as equal, and are not.
        zeros = torch.zeros(4, 8)
        holder.register_buffer("signs", zeros[:, ::2])

        def signs(x):
            return x * holder.signs.reciprocal().clamp(-1, 1)

        c = compiled(signs, options={"constants": "compare"})
        ones = torch.ones(4, 4)
        self.assert_same(c(ones), signs(ones))
        zeros.numpy()[1, 2] = -0.0
        self.assert_same(c(ones), signs(ones))

    def test_parameters_of_inference_mode(self):
        x = torch.randn(2, 4)
        with torch.inference_mode():
            m = nn.Linear(4, 4)
            c = compiled(m)
            self.assert_same(c(x), m(x))
            m.weight.mul_(2)
            self.assert_same(c(x), m(x))

    def test_writes_beside_parameters_of_inference_mode(self):
        x = torch.randn(2, 4)
        with torch.inference_mode():
            offset = torch.randn(4)
        m = nn.Linear(4, 4)
        m.register_buffer("offset", offset)
        c = compiled(lambda x: m(x) + m.offset)
        self.assert_same(c(x), m(x) + m.offset)
        m.weight.mul_(2)
        self.assert_same(c(x), m(x) + m.offset)

    def test_batch_norm_after_training_uses_new_statistics(self):
        m = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)).eval()
        c = compiled(m)
        x = torch.randn(2, 3, 4, 4)
        c(x)
        m.train()
        m(torch.randn(8, 3, 4, 4) * 3)
        m.eval()
        self.assert_same(c(x), m(x))

    # -- shapes and strides --------------------------------------------------

    def test_any_batch_is_compiled_once(self):
        m = nn.Sequential(nn.Linear(16, 8), nn.Softmax(-1))
        c = compiled(m, dynamic=True)
        for n in (3, 5, 9, 100):
            x = torch.randn(n, 16)
            self.assert_same(c(x), m(x))
        self.assertEqual(tenon_torch.stats()["graphs"], 1)
        self.assertEqual(tenon_torch.stats()["versions"], 0)

    def test_attention_of_any_length(self):
        def f(q, k, v):
            return nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=True)

        c = compiled(f, dynamic=True)
        for n in (5, 7, 33):
            q, k, v = torch.randn(3, 2, 4, n, 8)
            self.assert_same(c(q, k, v), f(q, k, v))

    def test_sizes_as_numbers(self):
        # Nothing that Tenon gets has the size; eager's strides may need a max.
        c = compiled(lambda x, n: x * n + max(0, n - 7))
        x = torch.randn(3, 4)
        for n in (9, 10, 3, 12):
            self.assert_same(c(x, n), x * n + max(0, n - 7))

        def f(x):
            rows, columns = x.shape
            return (x * (2 / rows) + rows / (columns - 1)).clamp(
                max=rows / columns)

        c = compiled(f, dynamic=True)
        for rows in (3, 5, 8):
            x = torch.randn(rows, 4).bfloat16()
            self.assert_same(c(x), f(x))
        self.assertEqual(tenon_torch.stats()["leftovers"], {})

    def test_parts_of_any_size(self):
        table = torch.arange(100).view(1, 100)

        def f(x):
            return x + table[:, :x.shape[1]]

        c = compiled(f, dynamic=True)
        for n in (5, 9, 70):
            x = torch.randn(2, n)
            self.assert_same(c(x), f(x))
        stats = tenon_torch.stats()
        self.assertEqual((stats["leftovers"], stats["versions"]), ({}, 0))

    def test_writes_to_parts_of_any_size(self):
        def f(x, y):
            x = x + 1
            x[:, :3] = y[:, 2:5]
            x[:, -2:] *= 3
            x[:1] += 2
            x[1:] = y[1:]
            x[1:, 4:] -= 5
            x[:, :-1] += 1
            x[:, 1:-2] = y[:, 3:]
            x[:, 1:-3] *= y[:, 2:-2]
            x[:, -4:-1] += y[:, :3]
            x[:, -1] = y[:, 0]
            x[..., 1] *= y[..., -2]
            x[:, :] *= y
            return x

        c = compiled(f, dynamic=True)
        for n in (5, 9, 70):
            x, y = torch.randn(2, 3, n, n).unbind()
            self.assert_same(c(x, y), f(x, y))
        stats = tenon_torch.stats()
        self.assertEqual((stats["leftovers"], stats["versions"]), ({}, 0))

    def test_checks_of_values(self):
        def f(x):
            return torch.nn.functional.one_hot(x, 4) + x[:, None]

        c = compiled(f, options={"fullgraph": "tenon"})
        x = torch.tensor([1, 3, 2])
        self.assert_same(c(x), f(x))
        self.assertEqual(tenon_torch.stats()["leftovers"], {})
        with self.assertRaisesRegex(RuntimeError, "must be non-negative"):
            c(-x)

    def test_numbers_that_no_result_has(self):
        def f(x, n):
            return x.repeat(1, n, 2)

        c = compiled(f, dynamic=True)
        for x in (torch.randn(3, 0), torch.randn(3, 4)):
            for n in (2, 5):
                self.assert_same(c(x, n), f(x, n))
        self.assertEqual(tenon_torch.stats()["fallbacks"], 0)

    def test_sizes_that_follow_from_numbers_alone(self):
        def f(x):  # the words of each expert, and the way back
            words = x.double().flatten(0, 1).cos().float()  # by PyTorch
            order = words.topk(2, -1)[1].flatten().sort()[1]
            back = torch.empty_like(order)
            back[order] = torch.arange(order.shape[0])
            return words[order // 2], back

        c = compiled(f, dynamic=True)
        for batch, length in [(2, 5), (3, 7)]:
            x = torch.randn(batch, length, 16)
            self.assert_same(c(x), f(x))

    def test_averages_of_pictures_by_channels_are_one_region(self):
        x = torch.randn(2, 8, 4, 4).to(memory_format=torch.channels_last)
        pool = nn.AdaptiveAvgPool2d(1)
        self.assertEqual(self.check(
            lambda x: pool(x.exp()).flatten(1).exp(), x)["regions"], 1)

    def test_strides_are_those_of_eager(self):
        def f(x):
            return x.relu() + 1, x.t().contiguous().t() * 2, x.sum(0)

        for x in (torch.randn(6, 4).t(), torch.randn(4, 12)[:, ::2],
                  torch.randn(4, 1).expand(4, 6), torch.randn(0, 6)):
            torch._dynamo.reset()
            self.assert_same(compiled(f)(x), f(x))
        conv = nn.Conv2d(3, 8, 3).to(memory_format=torch.channels_last)
        x = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
        self.assert_same(compiled(conv)(x), conv(x))

    def test_expanded_results_repeat_their_elements(self):
        def f(x):
            return (x * 2).unsqueeze(0).expand(3, 4, 5)

        y = compiled(f)(torch.ones(4, 5))
        self.assertEqual(y.stride(), (0, 5, 1))
        self.assertTrue(torch.equal(y, torch.full((3, 4, 5), 2.)))

    def test_a_result_twice_and_an_input_as_result(self):
        def f(x):
            y = x.exp()
            return y, y, x, y.view(-1)

        x = torch.randn(3, 4)
        a, b, c, d = compiled(f)(x)
        self.assertIs(c, x)
        self.assertEqual(d.data_ptr(), a.data_ptr())
        self.assert_same([a, b, d], f(x)[:2] + f(x)[3:])

    # -- types ---------------------------------------------------------------

    def test_types_are_promoted_as_eager_does(self):
        i, x = torch.arange(-5, 5), torch.randn(10)
        self.check(lambda i, x: (i + x, i * 2.5, i / 2, i // 3, i % 3, i > x,
                                 i & 3, ~i, i == 2, x ** 2, 2 ** x.abs(),
                                 torch.where(i > 0, i, x)), i, x)

    def test_double_stays_in_pytorch(self):
        self.check(lambda x: x * 2, torch.ones(3, dtype=torch.float64),
                   leftovers=1)

    def test_autocast(self):
        m = nn.Sequential(nn.Linear(32, 32), nn.LayerNorm(32), nn.ReLU())
        x = torch.randn(4, 32)
        c = compiled(m)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            given, eager = c(x), m(x)
        self.assertEqual(given.dtype, eager.dtype)
        torch.testing.assert_close(given, eager, rtol=2e-2, atol=2e-2)

    # -- state ---------------------------------------------------------------

    def test_caches_are_written_in_place(self):
        class Cache(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("kept", torch.zeros(2, 10, 4))

            def forward(self, x, at):
                self.kept.index_copy_(1, at, x)
                return self.kept.sum(1)

        eager, other = Cache(), Cache()
        c = compiled(other)
        address = other.kept.data_ptr()
        for i in range(3):
            x, at = torch.randn(2, 1, 4), torch.tensor([i])
            self.assert_same(c(x, at), eager(x, at))
            self.assertTrue(torch.equal(eager.kept, other.kept))
        self.assertEqual(other.kept.data_ptr(), address)

    def test_random_numbers_follow_the_seed(self):
        c = compiled(lambda x: nn.functional.dropout(x, 0.3, True))
        x = torch.ones(1000, 100)
        torch.manual_seed(3)
        first = c(x)
        second = c(x)
        torch.manual_seed(3)
        self.assertTrue(torch.equal(first, c(x)))
        self.assertFalse(torch.equal(first, second))
        self.assertAlmostEqual((first == 0).float().mean().item(), 0.3, delta=.01)
        self.assertAlmostEqual(first.max().item(), 1 / 0.7, delta=1e-5)

    def test_uniform_numbers_are_below_one(self):
        for dtype in (torch.bfloat16, torch.float16, torch.float32):
            given = compiled(lambda: torch.rand(500, 200, dtype=dtype) + 0)()
            self.assertLess(given.max().item(), 1)
            self.assertAlmostEqual(given.double().mean().item(), 0.5, delta=.01)

    # -- the process ---------------------------------------------------------

    def test_many_threads_call_one_model(self):
        m = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).eval()
        c = compiled(m)
        x = torch.randn(8, 16)
        wanted = c(x)
        wrong = []

        def work():
            with torch.no_grad():
                for _ in range(50):
                    if not torch.equal(c(x), wanted):
                        wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_denormals_and_rounding_stay(self):
        tiny = torch.tensor([1e-40])
        compiled(nn.Linear(8, 8).eval())(torch.randn(4, 8))
        self.assertNotEqual((tiny * 1.0).item(), 0)
        self.assertNotEqual(float(np.float32(1e-40) * np.float32(1)), 0)

    def test_the_number_of_threads_is_pytorchs(self):
        m = nn.Linear(256, 256).eval()
        x = torch.randn(256, 256)
        self.addCleanup(torch.set_num_threads, torch.get_num_threads())
        c = compiled(m)
        for threads in (1, 2, 1):
            torch.set_num_threads(threads)
            with mock.patch.object(region, "engine_for",
                                   wraps=region.engine_for) as asked:
                self.assert_same(c(x), m(x))
            asked.assert_called_with(threads)
        stream = region.engine_for(2)._stream
        self.assertEqual(lib.tenon_exec_concurrency(
            lib.tenon_stream_get_exec(stream)), 2)


if __name__ == "__main__":
    unittest.main()
