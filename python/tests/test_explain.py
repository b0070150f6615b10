# SPDX-License-Identifier: Apache-2.0
"""What one can see of compiled models."""
import json
import os
import tempfile
import unittest

import torch

import tenon.torch as tenon_torch
from support import BackendTest, compiled


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU())
            for _ in range(2))
        self.head = torch.nn.LSTM(8, 3)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)[0]


class ExplainTest(BackendTest):
    def test_operations_have_the_names_of_modules(self):
        with torch.no_grad():
            report = tenon_torch.explain(Net(), torch.randn(4, 2, 8))
        self.assertEqual([g.kind for g in report.graphs], ["inference"])
        names = {o["name"].split("/")[0]
                 for o in report.graphs[0].regions[0].operations}
        self.assertLessEqual({"layers.0.0", "layers.0.1", "layers.1.0", "head"},
                             names)
        self.assertIn("LSTM", str(report))
        self.assertIn("<svg", report._repr_html_())

    def test_gradients_and_leftovers(self):
        def function(x):
            return torch.linalg.inv(x.relu()).sin()

        report = tenon_torch.explain(
            function, torch.eye(3).add(0.1).requires_grad_())
        self.assertEqual([g.kind for g in report.graphs],
                         ["forward", "backward"])
        self.assertEqual(report.graphs[0].leftovers, [(
            "aten.linalg_inv_ex.default", "linalg_inv_ex", "no lowering")])
        self.assertIn("1 nodes stay in PyTorch", repr(report))

    def test_profiles_show_groups_by_module(self):
        net = Net()
        call, x = compiled(net), torch.randn(4, 2, 8)
        call(x)
        with torch.profiler.profile() as profile:
            call(x).sum().backward()
        found = " ".join(e.key for e in profile.key_averages()
                         if e.key.startswith("tenon: "))
        for name in ("layers.0.0/", "layers.1.0/", "head/"):
            self.assertIn(name, found)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            profile.export_chrome_trace(path)
            with open(path, encoding="utf-8") as file:
                events = json.load(file)["traceEvents"]
        self.assertTrue([e for e in events
                         if e.get("name", "").startswith("tenon: layers.0.0/")])
        call(x)  # nobody is told any more
        self.assertFalse(tenon_torch.profile._watched)


if __name__ == "__main__":
    unittest.main()
