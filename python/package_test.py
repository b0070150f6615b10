# SPDX-License-Identifier: Apache-2.0
"""The package without any other: tensors are arrays of Python's own library."""
import array
import os
import pathlib
import pickle
import subprocess
import threading
import unittest
import xml.dom.minidom

import tenon
from tenon import _abi


def floats(*values):
    return memoryview(array.array("f", values))


def zeros(count):
    return memoryview(array.array("f", [0] * count))


def dense(batch=2):
    """ReLU(x . w) for x of batch rows of 3; w has two columns."""
    graph = tenon.Graph()
    x = graph.input("x", (batch, 3))
    w = graph.constant("w", floats(1, 2, 3, -4, 5, 6).cast("B").cast("f", (3, 2)))
    graph.output(graph.ReLU(graph.MatMul(x, w, name="fc")))
    return graph


X = floats(1, 0, 2, 0, 1, 0).cast("B").cast("f", (2, 3))
Y = [11, 14, 3, 0]


def run(model, x=X, count=4):
    y = zeros(count)
    model(x, out=[y.cast("B").cast("f", (count // 2, 2))])
    return list(y)

MAIN = r"""
#include "fc.h"
#include <stdio.h>
int main(void) {
  float x[6] = {1, 0, 2, 0, 1, 0}, y[4];
  fc_model *model;
  if (fc_create(NULL, NULL, &model) || fc_run(model, NULL, x, y, NULL))
    return 1;
  fc_destroy(model);
  for (int i = 0; i < 4; ++i)
    printf("%g\n", y[i]);
}
"""


class PackageTest(unittest.TestCase):
    def test_computes(self):
        self.assertEqual(run(dense().compile()), Y)

    def test_sizes_by_name(self):
        model = dense("batch").compile()
        self.assertEqual(model.inputs[0].shape, (None, 3))
        self.assertEqual(run(model), Y)
        one = floats(1, 0, 2).cast("B").cast("f", (1, 3))
        self.assertEqual(run(model, one, 2), Y[:2])
        self.assertEqual(model.shapes(one), [(1, 2)])

    def test_errors_have_code_operation_and_hint(self):
        graph = tenon.Graph()
        a, b = graph.input("a", (2, 3)), graph.input("b", (4, 5))
        with self.assertRaises(tenon.TenonError) as caught:
            graph.output(graph.MatMul(a, b, name="product"))
            graph.compile()
        e = caught.exception
        self.assertEqual((e.code, e.name), (_abi.TENON_E_ShapeMismatch,
                                            "ShapeMismatch"))
        self.assertEqual((e.op_kind, e.op_name), ("MatMul", "product"))
        again = pickle.loads(pickle.dumps(e))
        self.assertEqual((again.code, str(again)), (e.code, str(e)))

    def test_refuses_what_does_not_fit(self):
        model = dense().compile()
        for x, name in [(floats(1, 2, 3), "ShapeMismatch"),
                        (memoryview(array.array("d", [0] * 6)).cast("B")
                         .cast("d", (2, 3)), "BadDType"),
                        ([1, 2, 3], "BadTensorData")]:
            with self.assertRaises(tenon.TenonError) as caught:
                run(model, x)
            self.assertEqual(caught.exception.name, name)
        with self.assertRaises(tenon.TenonError) as caught:
            model(y=X, out=[zeros(4)])
        self.assertEqual(caught.exception.name, "PortMismatch")

    def test_constants_change(self):
        weights = array.array("f", [1, 2, 3, -4, 5, 6])
        graph = tenon.Graph()
        x = graph.input("x", (2, 3))
        w = graph.constant("w", memoryview(weights).cast("B").cast("f", (3, 2)))
        graph.output(graph.MatMul(x, w))
        model = graph.compile()
        before = run(model)
        weights[0] += 1
        self.assertEqual(run(model), before)
        model.constants[0].changed()
        self.assertEqual(run(model)[0], before[0] + 1)

    def test_results_of_several_operations(self):
        graph = tenon.Graph()
        x = graph.input("x", (2, 3))
        values, where = graph.TopK(x, k=1, results=2)
        graph.output(values, where)
        model = graph.compile()
        best = zeros(2).cast("B").cast("f", (2, 1))
        index = memoryview(array.array("q", [0, 0])).cast("B").cast("q", (2, 1))
        model(X, out=[best, index])
        self.assertEqual((best.tolist(), index.tolist()), ([[2], [1]], [[2], [1]]))

    def test_tensors_are_in_the_order_of_their_declaration(self):
        graph = tenon.Graph()
        a, b, c = (graph.input(name, (2,)) for name in "abc")
        inner = graph.Subtract(c, b)
        graph.output(graph.Subtract(inner, a), inner)
        model = graph.compile()
        path = pathlib.Path(os.environ["TEST_TMPDIR"], "order.so")
        model.export(path)
        for made in (model, tenon.load(path)):
            self.assertEqual([p.name for p in made.inputs], ["a", "b", "c"])
            outer, inner = zeros(2), zeros(2)
            made(floats(1, 2), floats(10, 20), floats(300, 400),
                 out=[outer, inner])
            self.assertEqual(list(outer) + list(inner), [289, 378, 290, 380])
        with self.assertRaises(tenon.TenonError):
            graph.output(b, b)

    def test_loads_models(self):
        model = tenon.load("examples/onnx_c/digits.onnx")
        self.assertEqual([p.name for p in model.inputs], ["image"])
        image = zeros(64).cast("B").cast("f", (1, 1, 8, 8))
        scores = zeros(10)
        model(image=image, out=[scores.cast("B").cast("f", (1, 10))])
        self.assertAlmostEqual(sum(scores), 1, places=5)
        with self.assertRaises(tenon.TenonError) as caught:
            tenon.load("/no/such.onnx")
        self.assertEqual(caught.exception.name, "CannotRead")

    def test_loads_graphs_with_shapes_and_constants(self):
        path = pathlib.Path(os.environ["TEST_TMPDIR"]) / "dense.json"
        graph = dense("batch")
        path.write_text(graph.to_json())
        constants = {"w": next(iter(graph.values.values()))}
        model = tenon.load(path, constants=constants)
        self.assertEqual(model.outputs[0].shape, (None, 2))
        self.assertEqual(run(model), Y)
        model = tenon.load(path, shapes={"x": (2, 3)}, constants=constants)
        self.assertEqual(model.outputs[0].shape, (2, 2))
        self.assertEqual(run(model), Y)
        for wrong in ({"shapes": {"y": (2, 3)}}, {"constants": {"y": X}}):
            with self.assertRaises(tenon.TenonError) as caught:
                tenon.load(path, **wrong)
            self.assertEqual(caught.exception.name, "PortMismatch")

    def test_prepared_calls_see_new_values(self):
        x, y = array.array("f", X.cast("B").cast("f")), zeros(4)
        again = dense().compile().prepare(
            memoryview(x).cast("B").cast("f", (2, 3)),
            out=[y.cast("B").cast("f", (2, 2))])
        again()
        self.assertEqual(list(y), Y)
        x[0] = 3
        again()
        self.assertEqual(list(y), [13, 18, 3, 0])

    def test_views_name_types_that_memory_has_not(self):
        graph = tenon.Graph()
        x = graph.input("x", (2, 3), "bf16")
        w = graph.constant("w", tenon.View(bytes([0x21, 0xC3, 0x65]), "s4",
                                           (3, 2)))
        graph.output(graph.MatMul(graph.TypeCast(x, dtype="f32"),
                                  graph.Dequantize(w, scales=[1])))
        bits = array.array("H", [f >> 16 for f in X.cast("B").cast("I")])
        y = zeros(4)
        graph.compile()(tenon.View(bits, "bf16", (2, 3)),
                        out=[y.cast("B").cast("f", (2, 2))])
        self.assertEqual(list(y), [11, 14, 3, -4])
        for wrong, name in [((bits, "bf16", (2, 4)), "ShapeMismatch"),
                            ((bits, "bf17"), "BadDType"),
                            (([1], "s8"), "BadTensorData"),
                            ((X.cast("B")[::2], "s8"), "BadTensorData")]:
            with self.assertRaises(tenon.TenonError) as caught:
                tenon.View(*wrong)
            self.assertEqual(caught.exception.name, name)

    def test_threads_share_a_model(self):
        model = dense().compile(tenon.Engine(threads=2))
        wrong = []

        def work():
            for _ in range(100):
                if run(model) != Y:
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_options_are_those_of_the_compiler(self):
        dense().compile(tenon.Engine(target_cpu="x86-64-v3"))
        with self.assertRaises(tenon.TenonError) as caught:
            tenon.Engine(no_such_option=1)
        self.assertEqual(caught.exception.name, "BadOption")

    def test_bytes_and_text(self):
        graph = dense()
        self.assertIn('"MatMul"', graph.to_json())
        self.assertGreater(len(graph.compile().serialize()), 1000)
        self.assertIn("x: 2x3xf32", repr(graph.compile()))

    def test_tells_what_became_of_a_graph(self):
        model = dense().compile()
        about = model.explain()
        self.assertEqual([o["name"] for o in about.operations],
                         ["fc", "ReLU_1"])
        self.assertEqual([e["verdict"] for e in about.edges],
                         ["input", "input", "fused", "output"])
        self.assertEqual(len(about.groups), 1)
        self.assertGreaterEqual(about.flops, 2 * 2 * 3 * 2)
        self.assertIn("fused", str(about))
        self.assertTrue(model.report("dot").startswith("digraph"))
        self.assertIn(".text", model.report("assembly"))
        with self.assertRaises(tenon.TenonError) as caught:
            model.report("weather")
        self.assertEqual(caught.exception.name, "BadOption")

    def test_notebooks_draw_graphs(self):
        for drawn in (dense(), dense().compile(), dense().compile().explain()):
            picture = xml.dom.minidom.parseString(drawn._repr_html_())
            lines = [t.firstChild.data
                     for t in picture.getElementsByTagName("text")]
            self.assertEqual([line.split()[0] for line in lines],
                             ["MatMul", "ReLU"])
            self.assertEqual(len(picture.getElementsByTagName("path")), 1)

    def test_measures(self):
        about = dense().compile().bench(
            X, out=[zeros(4).cast("B").cast("f", (2, 2))], seconds=0.05)
        self.assertGreater(len(about.times), 10)
        self.assertLessEqual(about.fastest, about.median)
        self.assertEqual(len(about.groups), 1)
        self.assertIn("GFLOP/s", repr(about))

    def test_exports_code_and_loads_it(self):
        folder = pathlib.Path(os.environ["TEST_TMPDIR"])
        model = dense("batch").compile()
        for extension, apart in [(".so", None), (".a", folder / "dense.bin")]:
            path = folder / ("dense" + extension)
            model.export(path, header=folder / "dense.h", weights=apart,
                         targets=["x86-64-v3", "x86-64-v2"])
            loaded = tenon.load(path, weights=apart)
            self.assertEqual([p.name for p in loaded.inputs], ["x"])
            self.assertEqual(run(loaded), Y)
        for wrong, name in [("dense.txt", "BadOption"),
                            ("none/dense.so", "CannotWrite")]:
            with self.assertRaises(tenon.TenonError) as caught:
                model.export(folder / wrong)
            self.assertEqual(caught.exception.name, name)
        with self.assertRaises(tenon.TenonError) as caught:
            tenon.load(folder / "dense.a")
        self.assertEqual(caught.exception.name, "CannotRead")

    def test_programs_link_exported_code(self):
        folder = pathlib.Path(os.environ["TEST_TMPDIR"])
        dense().compile().export(folder / "fc.o", header=folder / "fc.h")
        (folder / "main.c").write_text(MAIN)
        program = folder / "main"
        subprocess.run(["cc", folder / "main.c", folder / "fc.o",
                        tenon.RUNTIME, "-I", tenon.INCLUDE, "-I", folder, "-o",
                        program, f"-Wl,-rpath,{tenon.RUNTIME.parent}", "-lm"],
                       check=True)
        out = subprocess.run([program], check=True, stdout=subprocess.PIPE)
        self.assertEqual(list(map(float, out.stdout.split())), Y)


if __name__ == "__main__":
    unittest.main()
