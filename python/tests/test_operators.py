#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators whose lowerings have cases that PyTorch's own list does not reach."""
import math
import unittest

import torch
import torch.nn.functional as F

from support import BackendTest, compiled


class OperatorsTest(BackendTest):
    def check_all(self, *functions, inputs):
        for i, function in enumerate(functions):
            with self.subTest(function=i):
                self.setUp()
                self.check(function, *inputs)

    def check_gradient(self, function, *inputs):
        """Forward and backward, without leftovers."""
        def gradients(call):
            leaves = [x.detach().clone().requires_grad_() for x in inputs]
            y = call(*leaves)
            return torch.autograd.grad(
                (y * torch.arange(y.numel()).reshape(y.shape)).sum(), leaves)

        wanted = gradients(function)
        self.assert_same(gradients(compiled(function)), wanted)

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


if __name__ == "__main__":
    unittest.main()
