#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators whose lowerings have cases that PyTorch's own list does not reach."""
import functools
import math
import unittest
from unittest import mock

import torch
import torch.nn.functional as F

import tenon.torch as tenon_torch
from support import BackendTest, compiled


class OperatorsTest(BackendTest):
    def check_all(self, *functions, inputs):
        for i, function in enumerate(functions):
            with self.subTest(function=i):
                self.setUp()
                self.check(function, *inputs)

    def check_gradient(self, function, *inputs):
        """Forward and backward, judged by what f64 gives."""
        def gradients(call, dtype=None):
            leaves = [x.detach().to(dtype or x.dtype, copy=True)
                      .requires_grad_() for x in inputs]
            y = call(*leaves)
            return torch.autograd.grad(
                (y * torch.arange(y.numel()).reshape(y.shape)).sum(), leaves)

        wanted = gradients(function)
        self.assert_same(gradients(compiled(function)), wanted,
                         gradients(function, torch.float64))

    def test_pooling(self):
        x = torch.randn(2, 3, 7, 10)
        x[0, 0, 2, 3], x[0, 1, 1, 1], x[1, 1, 0, 0] = math.inf, math.nan, \
            -math.inf
        self.check_all(
            lambda x: F.adaptive_avg_pool2d(x, (3, 4)),
            lambda x: F.adaptive_avg_pool2d(x[0], (7, 3)),
            lambda x: F.adaptive_avg_pool3d(x, (2, 3, 4)),
            lambda x: F.adaptive_max_pool2d(x, (3, 4), return_indices=True),
            lambda x: F.adaptive_max_pool3d(x, (2, 3, 4)),
            lambda x: F.max_pool2d(x[0], 3, 2, 1, return_indices=True),
            lambda x: F.max_pool3d(x, 2, 3, 1, ceil_mode=True),
            lambda x: F.max_pool1d(x[0], 3, 2, return_indices=True),
            lambda x: F.avg_pool2d(x, 3, 2, 1, divisor_override=5),
            inputs=(x,))

    def test_gradients_of_pooling(self):
        x = torch.randn(2, 3, 7, 10)
        for function in (
                lambda x: F.adaptive_avg_pool2d(x, (3, 4)),
                lambda x: F.adaptive_avg_pool3d(x, (2, 3, 4)),
                lambda x: F.adaptive_max_pool2d(x, (3, 4)),
                lambda x: F.max_pool2d(x[0], 3, 2, 1),
                lambda x: F.max_pool3d(x, 2, 3, 1, ceil_mode=True),
                lambda x: F.max_unpool2d(*F.max_pool2d(
                    x, 2, return_indices=True), 2, output_size=(7, 10)),
                lambda x: F.pad(x, (2, 3, 0, 1), mode="replicate")):
            self.check_gradient(function, x)

    def test_resampling(self):
        """Scales that are no ratios of the sizes, too."""
        x = torch.randn(2, 3, 5, 7)
        for mode, align in [("nearest", None), ("nearest-exact", None),
                            ("bilinear", False), ("bilinear", True),
                            ("bicubic", False), ("bicubic", True)]:
            for size in (dict(scale_factor=1.3), dict(size=(11, 3))):
                with self.subTest(mode=mode, align=align, size=size):
                    def call(x):
                        return F.interpolate(x, mode=mode, align_corners=align,
                                             **size)

                    self.setUp()
                    self.check(call, x)
                    self.check_gradient(call, torch.randn(2, 3, 5, 7))

    def test_grids(self):
        x = torch.randn(2, 3, 5, 7)
        grid = 3 * torch.randn(2, 4, 6, 2)
        grid[0, 0, 0, 0] = math.nan
        for mode in ("bilinear", "nearest", "bicubic"):
            for padding in ("zeros", "border", "reflection"):
                with self.subTest(mode=mode, padding=padding):
                    def call(x, grid):
                        return F.grid_sample(x, grid, mode, padding,
                                             padding == "border")

                    self.setUp()
                    if mode == "nearest":  # any element may be NaN's
                        grid = grid.nan_to_num()
                    self.check(call, x, grid)
                    if mode != "bicubic":
                        self.check_gradient(call, x, grid.nan_to_num())

    def test_functions_of_elements(self):
        edges = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-4, -1e-20, 1e20, -3e38,
                 math.inf, -math.inf, math.nan]
        x = torch.tensor(edges)
        y = x[:-1, None]  # the sign of NaN is not kept
        self.check_all(
            lambda x, y: x.asinh(), lambda x, y: x.acosh(),
            lambda x, y: x.atanh(), lambda x, y: x.erfinv(),
            lambda x, y: x.lgamma(), lambda x, y: x.signbit(),
            lambda x, y: x.sign(), lambda x, y: x.sgn(),
            lambda x, y: x.hypot(y), lambda x, y: x.copysign(y),
            lambda x, y: x.erfc(), lambda x, y: x[:-5].digamma(),
            lambda x, y: F.softplus(x, threshold=0.5),
            lambda x, y: (x > 0).int().sub(5) ** 13, inputs=(x, y))
        self.check_all(
            lambda x, y: x.sign(), lambda x, y: torch.sgn(x.bfloat16()),
            *[lambda x, y, d=d, mode=mode: torch.div(
                x.to(d), y.to(d), rounding_mode=mode)
              for d in (torch.float32, torch.bfloat16)
              for mode in ("floor", "trunc")],
            lambda x, y: x // 3, inputs=(x, x[:, None]))
        near = torch.linspace(-0.999, 4, 501)
        self.check_all(
            torch.asinh, torch.acosh, torch.atanh, torch.erfinv, torch.lgamma,
            torch.digamma, inputs=(near,))
        # Small results have all their digits, too.
        x = torch.linspace(-2, 9, 501)
        torch.testing.assert_close(compiled(torch.erfc)(x), x.erfc(),
                                   rtol=2e-6, atol=0)

    def test_histograms(self):
        x = torch.tensor([1, 2, math.nan, 3, math.inf, -3e38, 0, -1.5, 1.25])
        self.check_all(
            lambda x: x.histc(4, 0, 3), lambda x: x.histc(7, -2, 2),
            lambda x: x.bfloat16().histc(3, -1.5, 1.25),
            lambda x: torch.histc(x[None, :2], 5, 0, 4), inputs=(x,))

    def test_logarithms_of_powers_are_whole(self):
        powers = 2.0 ** torch.arange(-126, 128)
        self.check(lambda x: x.log2().floor(), powers)
        self.setUp()
        self.check(lambda x: x.log10().floor(), 10.0 ** torch.arange(0, 38))

    def test_quotients_of_integers(self):
        for dtype in (torch.int64, torch.int32, torch.int8, torch.uint8):
            ends = torch.iinfo(dtype)
            x = torch.tensor([ends.min, ends.max, 7, 0, ends.min + 1], dtype=dtype)
            y = torch.tensor([3, ends.max, 2], dtype=dtype)[:, None]
            self.setUp()
            self.check(lambda x, y: (
                x // y, x // (y - 10 * (dtype != torch.uint8)), x % y,
                torch.div(x, y, rounding_mode="trunc")), x, y)

    def test_numbers_are_not_rounded(self):
        """Those beside narrow tensors, and large integers."""
        for dtype in (torch.bfloat16, torch.float16):
            x = torch.randn(1000).to(dtype)
            y = torch.rand(1000).to(dtype) + 1
            for function in (
                    lambda x, y: x * 1.1, lambda x, y: x / 3.3,
                    lambda x, y: F.selu(x), lambda x, y: y.log2(),
                    lambda x, y: y.log10(), lambda x, y: torch.deg2rad(x)):
                self.setUp()
                # The same roundings as eager's.
                self.check(function, x, y)
                eager = function(x, y).double()
                exact = function(x.double(), y.double())
                error = (compiled(function)(x, y).double() - exact).abs()
                self.assertLessEqual(error.max(),
                                     1.01 * (eager - exact).abs().max())
            made = compiled(lambda: torch.arange(1, 900, 3, dtype=dtype) + 0)
            self.assertTrue(torch.equal(
                made(), torch.arange(1, 900, 3).to(dtype)))
        for number in (2**24 + 1, -2**62 + 1):
            self.setUp()
            self.check(lambda x: F.pad(x, (1, 2), value=number) + 1,
                       torch.arange(3))

    def test_products_that_are_added(self):
        fma = torch.ops.prims.fma
        x, y, z = torch.randn(3, 4, 5)
        self.check(fma, x, y, z)
        narrow = [t.bfloat16() for t in (x, y, z)]
        wanted = fma(*[t.double() for t in narrow]).bfloat16()
        self.setUp()
        torch.testing.assert_close(compiled(fma)(*narrow), wanted, rtol=0,
                                   atol=0)

    def test_scans_and_order(self):
        x = torch.randn(3, 7)
        x[0, 2], x[1, 3], x[1, 5], x[2, 0] = math.nan, math.inf, -math.inf, \
            math.nan
        self.check_all(
            *[lambda x, f=f, d=d: f(x, d) for d in (0, -1) for f in (
                torch.cumprod, torch.cummax, torch.cummin, torch.logcumsumexp)],
            *[lambda x, f=f: f(x, 1) for f in (torch.median, torch.nanmedian)],
            torch.median, torch.nanmedian, lambda x: x.kthvalue(5, 1),
            lambda x: x.kthvalue(2, 0, True),
            lambda x: (x.nan_to_num(0, 0, 0) * 9).long().cumprod(1),
            inputs=(x,))
        finite = torch.randn(3, 7)
        for f in (lambda x: x.cumprod(1), lambda x: x.logcumsumexp(0),
                  lambda x: x.cummax(1)[0], lambda x: x.median(1)[0],
                  lambda x: x.kthvalue(3, 0)[0]):
            self.check_gradient(f, finite)

    def test_search(self):
        table = torch.tensor([-1.0, 0.0, 0.0, 0.0, 2.0, 5.0, math.inf])
        x = torch.tensor([[-3, -1, 0, 1e-3, 2], [4, 5, 9, math.inf, math.nan]])
        rows = torch.stack([table, table + 1])
        self.check_all(
            *[lambda t, r, x, right=right: (
                torch.searchsorted(t, x, right=right),
                torch.searchsorted(r, x, right=right, out_int32=True),
                torch.searchsorted(t.flip(0), x, right=right,
                                   sorter=torch.arange(6, -1, -1)),
                torch.bucketize(x, t, right=right)) for right in (False, True)],
            inputs=(table, rows, x))

    @mock.patch.object(torch._dynamo.config, "capture_scalar_outputs", True)
    def test_search_for_one_number(self):
        self.check(lambda x, t: (
            torch.bucketize(x, t) + 1, torch.searchsorted(t, x, right=True)),
            torch.tensor(1.0), torch.arange(3.0))

    def test_reductions_by_index(self):
        x, source = torch.randn(4, 5), torch.randn(6, 5)
        source[1, 1] = math.nan
        rows = torch.tensor([0, 2, 2, 0, 3, 2])
        at = rows[:, None].expand(6, 5)
        self.check_all(
            *[lambda x, s, r, at, kind=kind, own=own: (
                x.scatter_reduce(0, at, s, kind, include_self=own),
                x.index_reduce(0, r, s, kind, include_self=own))
              for kind in ("prod", "mean", "amax", "amin")
              for own in (False, True)],
            lambda x, s, r, at: x.scatter_reduce(0, at, s, "sum"),
            lambda x, s, r, at: x.scatter(0, at, 3, reduce="multiply"),
            inputs=(x, source, rows, at))

    def test_writes_to_parts(self):
        x, y = torch.randn(4, 6), torch.randn(4, 6)
        mask = x > 0
        self.check_all(
            lambda x, y, m: x.masked_scatter(m, y),
            lambda x, y, m: x.index_put((m,), y.sum()),
            lambda x, y, m: x.index_put((m[:, 0],), y[0], accumulate=True),
            lambda x, y, m: x.diagonal_scatter(y[:, 0], 1),
            lambda x, y, m: x.diagonal_scatter(y[:3, 0], -1),
            lambda x, y, m: x.slice_scatter(y[:, :2], 1, 1, 5, 2),
            lambda x, y, m: x.slice_scatter(y[:2], 0, 1, None, 2),
            lambda x, y, m: x.select_scatter(y[0], 0, -2),
            lambda x, y, m: x[:, ::2].select_scatter(y[0, :3], 0, 1),
            lambda x, y, m: x.as_strided_scatter(y[:2, :3], (2, 3), (7, 2), 3),
            inputs=(x, y, mask))
        self.check_gradient(lambda x, y: x.masked_scatter(x > 0, y), x, y)

    def test_distances(self):
        x, y = torch.randn(2, 5, 3), torch.randn(2, 4, 3)
        y[0, 1] = x[0, 2]
        for p in (0, 1, 2, 3.5, math.inf):
            with self.subTest(p=p):
                def call(x, y, p=p):
                    return torch.cdist(x, y, p)

                self.setUp()
                self.check(call, x, y)
                self.check(lambda x, p=p: F.pdist(x[0], p), x)
                if p:
                    self.check_gradient(call, x, y)
                    self.check_gradient(lambda x, p=p: F.pdist(x[0], p), x)
        many = torch.randn(30, 4)
        self.setUp()
        self.check(torch.cdist, many, many + 1)
        self.check_gradient(torch.cdist, many, many[:5] + 1)
        self.check_all(
            *[lambda x, p=p: torch.linalg.vector_norm(x, p, (0, 2))
              for p in (-1, 0, 0.5, 3, math.inf, -math.inf)],
            inputs=(x,))
        self.setUp()
        self.check(lambda x, y: torch.addbmm(x[0, 0, 0], x, y.mT), x, y)

    def test_nothing(self):
        """What has no elements is as in eager."""
        x = torch.randn(3, 0)
        for f in (torch.median, torch.nanmedian, lambda x: x.cumprod(1),
                  lambda x: x.cummax(1), lambda x: x.logcumsumexp(0),
                  lambda x: torch.searchsorted(x, torch.ones(3, 2)),
                  lambda x: torch.searchsorted(torch.arange(4.0), x),
                  lambda x: torch.cdist(x, x, math.inf),
                  lambda x: torch.cdist(x, x), lambda x: F.pdist(x, 3),
                  lambda x: x.masked_scatter(x > 0, x)):
            torch._dynamo.reset()
            self.assert_same(compiled(f)(x), f(x))

    def test_bags_of_embeddings(self):
        table = torch.randn(6, 3)
        indices = torch.tensor([1, 2, 2, 5, 0])
        offsets = torch.tensor([0, 2, 2, 5])
        for mode in ("sum", "mean", "max"):
            for options in (dict(), dict(padding_idx=2),
                            dict(include_last_offset=True)):
                with self.subTest(mode=mode, **options):
                    self.setUp()
                    bag = functools.partial(
                        F.embedding_bag, indices, offsets=offsets, mode=mode,
                        **options)
                    self.check(bag, table)
                    self.check_gradient(bag, table)
                    self.assertEqual(tenon_torch.stats()["leftovers"], {})
        self.setUp()
        self.check(lambda t, i, o: F.embedding_bag(
            i, t, o, mode="sum", per_sample_weights=t[:5, 0]), table, indices,
            offsets)
        self.check_gradient(lambda t: F.embedding_bag(
            indices, t, offsets, mode="sum", padding_idx=2,
            per_sample_weights=t[:5, 0].sin()), table)
        self.assertEqual(tenon_torch.stats()["leftovers"], {})

    def test_windows_of_memory(self):
        x = torch.randn(2, 12, 6)
        self.check_all(
            lambda x: (x * 2).as_strided((2, 2, 8, 6), (72, 24, 6, 1)) + 1,
            lambda x: (x * 2).as_strided((4, 5), (2, 3), 7) + 1,
            lambda x: (x.mT.contiguous() * 2).mT.as_strided((4, 5), (2, 3)) + 1,
            lambda x: (x * 2).as_strided((), (), 3) + 1, inputs=(x,))
        self.check_gradient(
            lambda x: (x * 2).as_strided((2, 2, 8, 6), (72, 24, 6, 1)).exp(), x)
        self.assertEqual(tenon_torch.stats()["leftovers"], {})

    def test_signs_of_integers(self):
        for dtype in (torch.int64, torch.int32, torch.uint8, torch.bfloat16):
            self.setUp()
            self.check(lambda x: x.sign() + 1,
                       torch.tensor([3, 0, 7, 0]).to(dtype))
        self.setUp()
        self.check(lambda x: x.sign(), torch.arange(-3, 4))

    def test_heads_that_share_keys(self):
        q, k, v = torch.randn(2, 8, 5, 4), *torch.randn(2, 2, 2, 7, 4)
        self.check_gradient(
            lambda q, k, v: F.scaled_dot_product_attention(
                q, k, v, enable_gqa=True), q, k, v)

    def test_statistics_of_any_batch(self):
        """Counts of elements are computed where sizes are not known."""
        layer = torch.nn.BatchNorm1d(3)

        def run(x):
            return layer(x), x.var((0, 2)), x.std(0)

        call = compiled(run, dynamic=True)
        for batch in (4, 7, 5):
            x = torch.randn(batch, 3, 6, requires_grad=True)
            state = {k: v.clone() for k, v in layer.state_dict().items()}
            given = call(x)
            mine = {k: v.clone() for k, v in layer.state_dict().items()}
            grad = torch.autograd.grad(sum((t ** 3).sum() for t in given), x)
            layer.load_state_dict(state)
            wanted = run(x)
            self.assert_same(given, wanted)
            self.assert_same(mine, dict(layer.state_dict()))
            self.assert_same(grad, torch.autograd.grad(
                sum((t ** 3).sum() for t in wanted), x))
        self.assertEqual(tenon_torch.stats()["leftovers"], {})


if __name__ == "__main__":
    unittest.main()
