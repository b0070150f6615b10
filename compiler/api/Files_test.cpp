//===- Files_test.cpp - reports, and code as files ------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "TestSupport.h"

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace tenon;
using namespace tenon::test;

namespace {

std::string contentOf(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

struct FilesTest : ApiTest {
  Dense dense{3, 5, 4};
  CompiledPartition compiled = dense.compile(engine);
  Values ws = ramp(20), bs = ramp(4), xs = ramp(15, 1);
  Tensor w = tensor(dense.w, ws), b = tensor(dense.b, bs);
  std::string folder = testing::TempDir() + "/files";

  FilesTest() { std::filesystem::create_directories(folder); }

  std::string report(tenon_report kind) {
    const char *text = nullptr;
    size_t length = 0;
    EXPECT_EQ(tenon_compiled_partition_get_report(compiled.get(), engine.get(),
                                                  kind, &text, &length),
              TENON_SUCCESS);
    return {text, length};
  }

  tenon_status write(tenon_export_options options, bool constants = true) {
    const tenon_tensor *tensors[] = {w.get(), b.get()};
    return tenon_compiled_partition_export(
        compiled.get(), engine.get(), constants ? 2 : 0, tensors, &options);
  }

  static tenon_export_options to(const std::string &path) {
    tenon_export_options options;
    tenon_export_options_init(&options);
    options.output = path.c_str();
    return options;
  }
};

TEST_F(FilesTest, ReportsSayWhatBecameOfTheGraph) {
  EXPECT_NE(report(TENON_REPORT_EXPLANATION).find("fc -> act: fused"),
            std::string::npos);
  EXPECT_NE(
      report(TENON_REPORT_EXPLANATION_JSON).find("\"verdict\": \"fused\""),
      std::string::npos);
  EXPECT_EQ(report(TENON_REPORT_DOT).rfind("digraph", 0), 0u);
  EXPECT_NE(report(TENON_REPORT_GRAPH).find("\"MatMul\""), std::string::npos);
  EXPECT_NE(report(TENON_REPORT_ASSEMBLY).find(".text"), std::string::npos);
  // Operations have no need of names.
  Graph g;
  g.add(Op(1, tenon_op_relu).input(dense.x).output(f32(9, {3, 5})));
  g.add(Op(2, tenon_op_exp).input(f32(9, {3, 5})).output(f32(10, {3, 5})));
  g.finalize();
  Partition p = std::move(g.partitions().at(0));
  CompiledPartition other = p.compile(engine, p.inputs(), p.outputs());
  const char *words = nullptr;
  ASSERT_EQ(tenon_compiled_partition_get_report(other.get(), engine.get(),
                                                TENON_REPORT_EXPLANATION,
                                                &words, nullptr),
            TENON_SUCCESS);
  EXPECT_NE(std::string(words).find("ReLU_1 -> Exp_2: fused"),
            std::string::npos);
  // Nor of short ones.
  std::string name(70, 'n');
  Graph longer;
  longer.add(
      Op(1, tenon_op_relu, name.c_str()).input(dense.x).output(f32(9, {3, 5})));
  longer.add(
      Op(2, tenon_op_exp, "exp").input(f32(9, {3, 5})).output(f32(10, {3, 5})));
  longer.finalize();
  p = std::move(longer.partitions().at(0));
  other = p.compile(engine, p.inputs(), p.outputs());
  ASSERT_EQ(tenon_compiled_partition_get_report(other.get(), engine.get(),
                                                TENON_REPORT_EXPLANATION,
                                                &words, nullptr),
            TENON_SUCCESS);
  EXPECT_NE(std::string(words).find("in group 0, " + name + "+..."),
            std::string::npos)
      << words;
  // One group: nothing lies between groups.
  EXPECT_EQ(report(TENON_REPORT_MEMORY), "");
  const char *text = nullptr;
  EXPECT_EQ(tenon_compiled_partition_get_report(
                compiled.get(), engine.get(), tenon_report(99), &text, nullptr),
            TENON_E_BadOption);
  EXPECT_EQ(text, nullptr);
}

TEST_F(FilesTest, WhatIsWrittenIsLoadedAndComputesTheSame) {
  for (const char *packing : {"load", "compile"})
    for (const char *extension : {".so", ".a"}) {
      std::string path = folder + "/dense_" + packing + extension;
      tenon_export_options options = to(path);
      options.packing = packing;
      std::string header = folder + "/dense.h";
      options.header = header.c_str();
      options.name = "fc";
      ASSERT_EQ(write(options), TENON_SUCCESS);
      EXPECT_NE(contentOf(header).find("fc_run"), std::string::npos);
      tenon_compiled_partition *made = nullptr;
      ASSERT_EQ(tenon_compiled_partition_from_file(path.c_str(), nullptr,
                                                   engine.get(), &made),
                TENON_SUCCESS);
      CompiledPartition loaded(made);
      const tenon_logical_tensor *ports = nullptr;
      size_t count = 0;
      ASSERT_EQ(tenon_compiled_partition_get_inputs(made, &count, &ports), 0);
      ASSERT_EQ(count, 1u);
      EXPECT_EQ(ports[0].id, dense.x.id);
      ASSERT_EQ(tenon_compiled_partition_get_outputs(made, &count, &ports), 0);
      ASSERT_EQ(count, 1u);
      EXPECT_EQ(ports[0].id, dense.y.id);
      Values ys(12, -7);
      Tensor x = tensor(dense.x, xs), y = tensor(dense.y, ys);
      loaded.execute(stream, {&x}, {&y});
      expectNear(ys, dense.expected(xs, ws, bs));
    }
}

TEST_F(FilesTest, ConstantsMayBeInAFileOfTheirOwnOrTheCallers) {
  std::string path = folder + "/apart.so", weights = folder + "/apart.bin";
  tenon_export_options options = to(path);
  options.weights = weights.c_str();
  ASSERT_EQ(write(options), TENON_SUCCESS);
  tenon_compiled_partition *made = nullptr;
  EXPECT_EQ(tenon_compiled_partition_from_file(path.c_str(), nullptr,
                                               engine.get(), &made),
            TENON_E_CannotRead);
  EXPECT_EQ(made, nullptr);
  ASSERT_EQ(tenon_compiled_partition_from_file(path.c_str(), weights.c_str(),
                                               engine.get(), &made),
            TENON_SUCCESS);
  CompiledPartition loaded(made);

  std::string bare = folder + "/bare.so";
  ASSERT_EQ(write(to(bare), false), TENON_SUCCESS);
  ASSERT_EQ(tenon_compiled_partition_from_file(bare.c_str(), nullptr,
                                               engine.get(), &made),
            TENON_SUCCESS);
  CompiledPartition open(made);
  const tenon_logical_tensor *ports = nullptr;
  size_t count = 0;
  ASSERT_EQ(tenon_compiled_partition_get_inputs(made, &count, &ports), 0);
  EXPECT_EQ(count, 3u);
  Values ys(12, -7);
  Tensor x = tensor(dense.x, xs), y = tensor(dense.y, ys);
  open.execute(stream, {&x, &w, &b}, {&y});
  expectNear(ys, dense.expected(xs, ws, bs));
}

TEST_F(FilesTest, PortsAreInTheOrderOfTheRequest) {
  Graph g = dense.graph();
  Partition p = std::move(g.partitions().at(0));
  CompiledPartition made =
      p.compile(engine, {dense.b, dense.x, dense.w}, {dense.y});
  const tenon_logical_tensor *ports = nullptr;
  size_t count = 0;
  ASSERT_EQ(tenon_compiled_partition_get_inputs(made.get(), &count, &ports), 0);
  ASSERT_EQ(count, 3u);
  EXPECT_EQ(ports[0].id, dense.b.id);
  EXPECT_EQ(ports[1].id, dense.x.id);
  EXPECT_EQ(ports[2].id, dense.w.id);
}

TEST_F(FilesTest, TensorsHaveTheNamesTheyAreGiven) {
  Graph g;
  g.add(Op(1, tenon_op_relu).input(dense.x).output(f32(9, {3, 5})));
  EXPECT_EQ(tenon_graph_set_tensor_name(g.get(), dense.x.id, "pixels"), 0);
  EXPECT_EQ(tenon_graph_set_tensor_name(g.get(), 77, "none"),
            TENON_E_UnknownTensor);
  g.finalize();
  EXPECT_EQ(tenon_graph_set_tensor_name(g.get(), 9, "late"),
            TENON_E_WrongState);
  Partition p = std::move(g.partitions().at(0));
  CompiledPartition made = p.compile(engine, p.inputs(), p.outputs());
  EXPECT_STREQ(tenon_compiled_partition_get_tensor_name(made.get(), dense.x.id),
               "pixels");
  EXPECT_STREQ(tenon_compiled_partition_get_tensor_name(made.get(), 9), "");
  std::string path = folder + "/relu.o";
  tenon_export_options options = to(path);
  std::string header = folder + "/relu.h";
  options.header = header.c_str();
  ASSERT_EQ(tenon_compiled_partition_export(made.get(), engine.get(), 0,
                                            nullptr, &options),
            TENON_SUCCESS);
  EXPECT_NE(contentOf(header).find("pixels"), std::string::npos);
}

TEST_F(FilesTest, WhatCannotBeWrittenOrLoadedIsAnError) {
  EXPECT_EQ(write(to(folder + "/dense.txt")), TENON_E_BadOption);
  EXPECT_EQ(write(to(folder + "/nowhere/dense.so")), TENON_E_CannotWrite);
  std::string path = folder + "/dense.so";
  tenon_export_options options = to(path);
  options.packing = "sometimes";
  EXPECT_EQ(write(options), TENON_E_BadOption);
  options = to(path);
  options.name = "tenon_";
  EXPECT_EQ(write(options), TENON_E_BadOption);
  options = to(path);
  options.targets = "no-cpu";
  EXPECT_EQ(write(options), TENON_E_UnsupportedTarget);
  options = to(path);
  options.linker = "no-linker";
  EXPECT_EQ(write(options), TENON_E_CannotRead);
  options.output = nullptr;
  EXPECT_NE(write(options), TENON_SUCCESS);
  Tensor x = tensor(dense.x, xs);
  const tenon_tensor *tensors[] = {x.get()};
  options = to(path);
  EXPECT_EQ(tenon_compiled_partition_export(compiled.get(), engine.get(), 1,
                                            tensors, &options),
            TENON_E_UnknownTensor);

  tenon_compiled_partition *made = nullptr;
  EXPECT_EQ(tenon_compiled_partition_from_file("/nowhere.so", nullptr,
                                               engine.get(), &made),
            TENON_E_CannotRead);
  std::ofstream(folder + "/text.so") << "no library";
  EXPECT_EQ(tenon_compiled_partition_from_file((folder + "/text.so").c_str(),
                                               nullptr, engine.get(), &made),
            TENON_E_NotAnArtefact);
}

} // namespace
