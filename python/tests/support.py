# SPDX-License-Identifier: Apache-2.0
"""What the tests of the backend share."""
import unittest

import torch

import tenon.torch as tenon_torch

_declared = []


def import_torchvision():
    """torchvision, also beside a build of PyTorch for which its operators in C++
    cannot be loaded: the two that its import asks for are declared then."""
    try:
        import torchvision
    except RuntimeError:
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, "
                           "float iou_threshold) -> Tensor")
        _declared.append(library)
        import torchvision
    return torchvision


def compiled(function, **options):
    """Through the entry point, as a user writes it."""
    return torch.compile(function, backend="tenon", **options)


def leaves(value):
    return [t for t in torch.utils._pytree.tree_leaves(value)
            if isinstance(t, torch.Tensor)]


class BackendTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        torch._dynamo.reset()
        tenon_torch.reset_stats()

    def assert_same(self, given, eager, exact=None):
        """Dtype, shape, strides, and an error of at most three times eager's
        against the exact result, PyTorch's own rule."""
        given, eager = leaves(given), leaves(eager)
        self.assertEqual(len(given), len(eager))
        exact = leaves(exact) if exact is not None else eager
        for g, e, x in zip(given, eager, exact):
            self.assertEqual((g.dtype, g.shape), (e.dtype, e.shape))
            if g.numel() > 1:
                self.assertEqual(g.stride(), e.stride())
            if not g.is_floating_point():
                self.assertTrue(torch.equal(g, e))
                continue
            g, e, x = (t.detach().double() for t in (g, e, x))
            tiny = 1e-6 if given[0].dtype == torch.float32 else 1e-2
            limit = 3 * (e - x).abs().nan_to_num(0, 0).max().item() \
                if e.numel() else 0
            torch.testing.assert_close(g, x, rtol=10 * tiny, equal_nan=True,
                                       atol=limit + 10 * tiny)

    def check(self, function, *args, leftovers=0, **options):
        """Compiled as eager, in one region without leftovers."""
        eager = function(*args)
        self.assert_same(compiled(function, **options)(*args), eager)
        stats = tenon_torch.stats()
        self.assertEqual(len(stats["leftovers"]), leftovers,
                         stats["leftovers"])
        return stats
