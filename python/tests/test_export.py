# SPDX-License-Identifier: Apache-2.0
"""Models of torch.export as compiled code."""
import ctypes
import pathlib
import subprocess
import tempfile
import unittest

import torch

import tenon
import tenon.torch as tenon_torch
from support import BackendTest


class Counts(torch.nn.Module):
    """Writes to a buffer and to an argument."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 4)
        self.norm = torch.nn.BatchNorm1d(4)
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x, cache, scale=2.0):
        self.calls.add_(1)
        y = self.norm(self.linear(x)) * scale
        cache.add_(y)
        return y, [cache.sum(), y.t()]


class Words(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(50, 8)
        self.recurrent = torch.nn.LSTM(8, 6, 2, batch_first=True,
                                       bidirectional=True)
        self.attention = torch.nn.MultiheadAttention(12, 3, batch_first=True)

    def forward(self, words):
        y, _ = self.recurrent(self.embedding(words))
        return self.attention(y, y, y, need_weights=False)[0].mean(1)


class ExportTest(BackendTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_sizes_that_vary(self):
        model = Words().eval()
        words = torch.randint(50, (3, 5))
        batch = torch.export.Dim("batch", max=64)
        made = tenon_torch.export(
            model, (words,), self.folder / "words.so",
            dynamic_shapes={"words": {0: batch}})
        loaded = tenon.load(self.folder / "words.so")
        with torch.no_grad():
            for shape in ((3, 5), (1, 5), (64, 5)):
                words = torch.randint(50, shape)
                for code in (made, loaded):
                    self.assert_same(code(words), model(words))
        self.assertEqual([(p.name, p.shape) for p in loaded.inputs],
                         [("words", (None, 5))])
        with self.assertRaises(tenon.TenonError):
            made(torch.randint(50, (65, 5)))

    def test_what_is_written_is_an_output(self):
        model = Counts().eval()
        x, cache = torch.randn(2, 8), torch.randn(2, 4)
        calls = model.calls.clone()
        made = tenon_torch.export(model, (x, cache.clone()))
        self.assertEqual([p.name for p in made.inputs], ["calls", "x", "cache"])
        results = dict(zip((p.name for p in made.outputs),
                           made(calls, x, cache)))
        written = cache.clone()
        y, (total, transposed) = model(x, written)
        self.assert_same(
            [results[n] for n in ("calls_next", "cache_next", "output0",
                                  "output1", "output2")],
            [calls + 1, written, y, total, transposed.contiguous()])

    def test_programs_of_c(self):
        model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
        x = torch.randn(4, 3)
        tenon_torch.export(model.eval(), (x,), self.folder / "small.so",
                           header=self.folder / "small.h")
        (self.folder / "main.c").write_text("""
            #include "small.h"
            int run(const float *x, float *y) {
              small_model *model;
              if (small_create(NULL, NULL, &model)) return 1;
              int status = small_run(model, NULL, x, y, NULL);
              small_destroy(model);
              return status;
            }""")
        subprocess.run(["cc", "-shared", "-fPIC", "main.c", "small.so",
                        tenon.RUNTIME, "-I", tenon.INCLUDE, "-o", "main.so",
                        f"-Wl,-rpath,{self.folder}:{tenon.RUNTIME.parent}"],
                       check=True, cwd=self.folder)
        y = torch.empty(4, 2)
        status = ctypes.CDLL(str(self.folder / "main.so")).run(
            *(ctypes.c_void_p(t.data_ptr()) for t in (x, y)))
        self.assertEqual(status, 0)
        self.assert_same(y, model(x).detach())

    def test_programs_are_not_changed(self):
        model, words = Words().eval(), torch.randint(50, (3, 5))
        program = torch.export.export(model, (words,))
        before = str(program.graph)
        made = tenon_torch.export(program)
        self.assertEqual(str(program.graph), before)
        self.assertIn("LSTM", made.report("graph"))
        self.assert_same(made(words), program.module()(words).detach())

    def test_what_does_not_compile_is_named(self):
        class Inverse(torch.nn.Module):
            def forward(self, x):
                return torch.linalg.inv(x).relu(), torch.fft.fft(x)

        with self.assertRaises(tenon.TenonError) as caught:
            tenon_torch.export(Inverse(), (torch.eye(3),))
        self.assertEqual(caught.exception.name, "UnsupportedOp")
        self.assertIn("aten.linalg_inv_ex.default", caught.exception.message)
        self.assertIn("aten._fft_r2c.default", caught.exception.message)
        with self.assertRaises(TypeError):
            tenon_torch.export(Inverse(), (torch.eye(3),), header="x.h")


if __name__ == "__main__":
    unittest.main()
