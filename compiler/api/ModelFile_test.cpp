// SPDX-License-Identifier: Apache-2.0
// Models of ONNX through the C interface: weights come with the file.
#include "compiler/api/TestSupport.h"
#include "compiler/import/onnx/TestFiles.h"

using namespace tenon;
using namespace tenon::test;

namespace {

struct ModelFile : ApiTest {
  std::string path = testing::TempDir() + "/api_model.onnx";

  ModelFile() { onnx::test::writeFile(path, onnx::test::addWeightModel()); }
};

TEST_F(ModelFile, RunsWithItsOwnWeights) {
  CompiledPartition compiled = [&] {
    Graph g = Graph::fromFile(path);
    Partition p = std::move(g.partitions().at(0));
    // Weights are no inputs that the caller has to know of.
    EXPECT_EQ(p.inputs().size(), 1u);
    EXPECT_EQ(p.inputs().at(0).id, g.find("x"));
    EXPECT_STREQ(tenon_graph_get_tensor_name(g.get(), g.find("y")), "y");
    EXPECT_STREQ(tenon_graph_get_tensor_name(g.get(), 12345), "");
    EXPECT_THROW(g.find("z"), Exception);
    return p.compile(engine, p.inputs(), p.outputs());
  }();
  // The graph is gone; the file is still mapped.
  uint64_t x = 0, y = 0;
  {
    Graph g = Graph::fromFile(path);
    x = g.find("x");
    y = g.find("y");
  }
  for (int64_t rows : {2, 5}) {
    auto count = static_cast<size_t>(rows) * 3;
    Values in = ramp(count), out(count, -7);
    Tensor tx = tensor(f32(x, {rows, 3}), in),
           ty = tensor(f32(y, {rows, 3}), out);
    compiled.execute(stream, {&tx}, {&ty});
    for (size_t i = 0; i < count; ++i)
      EXPECT_EQ(out[i], in[i] + static_cast<float>(i % 3 + 1)) << i;
    // Too few, and one too many.
    EXPECT_THROW(compiled.execute(stream, {}, {&ty}), Exception);
    Tensor other = tensor(f32(999, {rows, 3}), in);
    EXPECT_THROW(compiled.execute(stream, {&tx, &other}, {&ty}), Exception);
  }
}

TEST_F(ModelFile, FilesThatAreNoneAreErrors) {
  tenon_graph *graph = nullptr;
  EXPECT_EQ(tenon_graph_from_file("/nowhere/model.onnx", &graph),
            TENON_E_CannotRead);
  EXPECT_EQ(graph, nullptr);
  onnx::test::writeFile(path, "no model");
  EXPECT_EQ(tenon_graph_from_file(path.c_str(), &graph), TENON_E_Syntax);
  EXPECT_NE(tenon_graph_from_file(nullptr, &graph), TENON_SUCCESS);
}

} // namespace
