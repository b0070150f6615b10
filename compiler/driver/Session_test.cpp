// SPDX-License-Identifier: Apache-2.0
// The driver: phases resume by name, targets resolve or say why not, misuse of
// compiled code is a coded error.
#include "compiler/driver/Session.h"

#include "compiler/driver/Phases.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

using namespace tenon;
using graph::LogicalTensor;

namespace {

LogicalTensor tensor(uint64_t id, graph::Dims shape,
                     graph::PropertyType p = graph::PropertyType::undef) {
  LogicalTensor t;
  t.id = id;
  t.dtype = graph::DType::f32;
  t.shape = std::move(shape);
  t.property = p;
  return t;
}

/// relu(x . w + b), w and b constant; `m` rows, which may be unknown.
graph::Graph denseLayer(int64_t m, int64_t k = 8, int64_t n = 5) {
  graph::Graph g;
  auto constant = graph::PropertyType::constant;
  for (LogicalTensor t :
       {tensor(0, {m, k}), tensor(1, {k, n}, constant),
        tensor(2, {n}, constant), tensor(3, {m, n}), tensor(4, {m, n})})
    g.tensors[t.id] = t;
  g.ops.push_back({10, "fc1", "MatMul", {}, {0, 1, 2}, {3}});
  g.ops.push_back({11, "relu1", "ReLU", {}, {3}, {4}});
  g.inputPorts = {0, 1, 2};
  g.outputPorts = {4};
  return g;
}

ErrorCode firstCode(const std::vector<Error> &errors) {
  return errors.front().code;
}

TEST(Phases, EachResumesWhereItStopped) {
  graph::Graph g = denseLayer(graph::kUnknownDim);
  Options options;
  auto whole = lowerToPhase(*graph::prepareGraph(g), options, "llvm", false);
  ASSERT_TRUE(whole) << str(whole.errors());
  for (const Phase &phase : allPhases()) {
    auto text = lowerToPhase(*graph::prepareGraph(g), options, phase.name,
                             /*locations=*/true);
    ASSERT_TRUE(text) << phase.name << ": " << str(text.errors());
    if (phase.name == "llvm")
      continue;
    auto resumed = lowerText(*text, options, phase.name, "llvm");
    ASSERT_TRUE(resumed) << phase.name << ": " << str(resumed.errors());
    EXPECT_EQ(*resumed, *whole) << "resumed after " << phase.name;
  }
}

TEST(Phases, IrIsForOneTarget) {
  auto g = graph::prepareGraph(denseLayer(4));
  Options made, asked;
  made.targetCpu = "x86-64-v3";
  asked.targetCpu = "x86-64-v4";
  auto text = lowerToPhase(*g, made, "graph");
  ASSERT_TRUE(text) << str(text.errors());
  auto resumed = lowerText(*text, asked, "graph", "tile");
  ASSERT_FALSE(resumed);
  EXPECT_EQ(firstCode(resumed.errors()), ErrorCode::BadOption);
  EXPECT_NE(resumed.errors()[0].message.find(
                "#tile.target<int8_dot_width = 2, avx2 = true>"),
            std::string::npos)
      << str(resumed.errors());
  EXPECT_TRUE(lowerText(*text, made, "graph", "tile"));
  // No pass has read the target of an imported graph.
  text = lowerToPhase(*g, made, "import");
  ASSERT_TRUE(text) << str(text.errors());
  EXPECT_TRUE(lowerText(*text, asked, "import", "tile"));
}

TEST(Phases, UnknownNameListsThem) {
  auto text =
      lowerToPhase(*graph::prepareGraph(denseLayer(4)), Options(), "nosuch");
  ASSERT_FALSE(text);
  EXPECT_EQ(firstCode(text.errors()), ErrorCode::BadOption);
  EXPECT_NE(text.errors()[0].hint.find("bufferize"), std::string::npos);
}

TEST(Phases, DumpWritesOneFileEach) {
  std::string dir = testing::TempDir() + "/phases";
  auto ok = dumpPhases(*graph::prepareGraph(denseLayer(4)), Options(), dir);
  ASSERT_TRUE(ok) << str(ok.errors());
  size_t files = 0;
  for ([[maybe_unused]] auto &f : std::filesystem::directory_iterator(dir))
    ++files;
  EXPECT_EQ(files, allPhases().size());
}

TEST(Phases, SymbolsNameOriginalOperations) {
  auto assembly = assemblyOf(*graph::prepareGraph(denseLayer(4)), Options());
  ASSERT_TRUE(assembly) << str(assembly.errors());
  EXPECT_NE(assembly->find("fc1"), std::string::npos);
  EXPECT_NE(assembly->find("relu1"), std::string::npos);
}

TEST(Phases, TextThatDoesNotParseIsASyntaxError) {
  for (const char *text : {"module {", "func.func @main() { foo }", "\x01\xff",
                           "module { %0 = graph.NoSuch }"}) {
    auto r = lowerText(text, Options(), "import", "llvm");
    ASSERT_FALSE(r) << text;
    EXPECT_EQ(firstCode(r.errors()), ErrorCode::Syntax) << text;
  }
}

TEST(TargetTest, LevelsOfX86) {
  Options o;
  o.targetCpu = "x86-64-v3";
  auto t = Target::resolve(o);
  ASSERT_TRUE(t);
  EXPECT_EQ(t->vectorBits, 256);
  EXPECT_EQ(t->schedule, "avx2");
  o.targetCpu = "x86-64-v4";
  t = Target::resolve(o);
  ASSERT_TRUE(t);
  EXPECT_EQ(t->vectorBits, 512);
  EXPECT_EQ(t->numVectorRegisters, 32);
  o.targetCpu = "x86-64-v2";
  t = Target::resolve(o);
  ASSERT_TRUE(t);
  EXPECT_EQ(t->schedule, "generic");
  o.targetCpu = "no-such-cpu";
  t = Target::resolve(o);
  ASSERT_FALSE(t);
  EXPECT_EQ(firstCode(t.errors()), ErrorCode::UnsupportedTarget);
  o.targetCpu = "host";
  o.schedule = "wide";
  t = Target::resolve(o);
  ASSERT_FALSE(t);
  EXPECT_EQ(firstCode(t.errors()), ErrorCode::BadOption);
}

/// What no feature tells: caches, and an instruction that is there and slow.
TEST(TargetTest, CoresByName) {
  Options o;
  o.targetCpu = "emeraldrapids";
  auto t = Target::resolve(o);
  ASSERT_TRUE(t);
  EXPECT_EQ(t->l2Bytes, 2 << 20);
  EXPECT_TRUE(t->matrixUnit);
  EXPECT_FALSE(t->bf16DotIsSlow); // tiles are fast
  EXPECT_EQ(t->fewRows, 4);
  EXPECT_EQ(t->fewRowsAhead, 4096);
  o.schedule = "avx2";
  t = Target::resolve(o);
  ASSERT_TRUE(t);
  EXPECT_EQ(t->l2Bytes, 2 << 20);
  EXPECT_FALSE(t->bf16DotIsSlow); // it is not used
  o = Options();
  o.targetCpu = "znver4";
  t = Target::resolve(o);
  ASSERT_TRUE(t);
  EXPECT_EQ(t->l2Bytes, 1 << 20);
  EXPECT_EQ(t->bf16DotWidth, 2);
  EXPECT_FALSE(t->bf16DotIsSlow);
  EXPECT_EQ(t->fewRows, 5);
  EXPECT_EQ(t->fewRowsAhead, 1024);
  EXPECT_EQ(t->leastRows, 1);
  o.targetCpu = "znver3";
  t = Target::resolve(o);
  ASSERT_TRUE(t);
  EXPECT_EQ(t->l2Bytes, 512 << 10);
  EXPECT_EQ(t->leastRows, 2);
}

/// Buffers for denseLayer.
struct Buffers {
  std::vector<float> x, w, b, y;
  HostTensors in, constants, out;
  explicit Buffers(int64_t m) : x(m * 8), w(40), b(5), y(m * 5) {
    std::iota(x.begin(), x.end(), -4.0f);
    std::iota(w.begin(), w.end(), -20.0f);
    in = {
        {0, {x.data(), {m, 8}}}, {1, {w.data(), {8, 5}}}, {2, {b.data(), {5}}}};
    constants = {{1, in[1]}, {2, in[2]}};
    out = {{4, {y.data(), {m, 5}}}};
  }
  float expected(int64_t i, int64_t j) const {
    float s = b[j];
    for (int64_t k = 0; k < 8; ++k)
      s += x[i * 8 + k] * w[k * 5 + j];
    return std::max(s, 0.0f);
  }
};

/// Every level that this machine executes gives the same values; a level that
/// it lacks is refused before any code runs.
TEST(TargetTest, OlderLevelsExecuteHere) {
  for (const char *cpu : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    Options o;
    o.targetCpu = cpu;
    auto target = Target::resolve(o);
    ASSERT_TRUE(target);
    auto model = Compiled::compile(denseLayer(3), o);
    EXPECT_EQ(static_cast<bool>(model), target->executable) << cpu;
    if (!model) {
      EXPECT_EQ(firstCode(model.errors()), ErrorCode::UnsupportedTarget);
      continue;
    }
    Buffers buffers(3);
    auto exec = Executor::create({});
    ASSERT_TRUE((*model)->bindConstants(**exec, buffers.constants));
    ASSERT_TRUE((*model)->execute(**exec, buffers.in, buffers.out));
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < 5; ++j)
        EXPECT_EQ(buffers.y[i * 5 + j], buffers.expected(i, j)) << cpu;
  }
}

class Misuse : public testing::Test {
protected:
  void SetUp() override {
    auto m = Compiled::compile(denseLayer(graph::kUnknownDim), Options());
    ASSERT_TRUE(m) << str(m.errors());
    model = std::move(*m);
    auto e = Executor::create({});
    ASSERT_TRUE(e);
    exec = std::move(*e);
  }
  ErrorCode executeCode(const HostTensors &in, const HostTensors &out) {
    auto r = model->execute(*exec, in, out);
    return r ? ErrorCode(0) : firstCode(r.errors());
  }
  std::unique_ptr<Compiled> model;
  std::unique_ptr<Executor> exec;
};

TEST_F(Misuse, ExecuteBeforeConstants) {
  Buffers b(2);
  EXPECT_EQ(executeCode(b.in, b.out), ErrorCode::BadTensorData);
}

TEST_F(Misuse, WrongBuffers) {
  Buffers b(2);
  ASSERT_TRUE(model->bindConstants(*exec, b.constants));
  EXPECT_EQ(executeCode(b.in, b.out), ErrorCode(0));
  HostTensors in = b.in, out = b.out;
  in[0].shape = {2, 9};
  EXPECT_EQ(executeCode(in, out), ErrorCode::ShapeMismatch);
  in[0].shape = {16};
  EXPECT_EQ(executeCode(in, out), ErrorCode::ShapeMismatch);
  in = b.in;
  in[0].data = nullptr;
  EXPECT_EQ(executeCode(in, out), ErrorCode::BadTensorData);
  in = b.in;
  in.erase(0);
  EXPECT_EQ(executeCode(in, out), ErrorCode::UnknownShape);
  out[4].shape = {3, 5};
  EXPECT_EQ(executeCode(b.in, out), ErrorCode::ShapeMismatch);
  out = b.out;
  out.erase(4);
  EXPECT_EQ(executeCode(b.in, out), ErrorCode::UnknownTensor);
}

/// What was inferred for the sizes of one execution is not taken for another,
/// nor are sizes that were refused.
TEST_F(Misuse, SizesThatChangeAndReturn) {
  Buffers two(2), three(3);
  ASSERT_TRUE(model->bindConstants(*exec, two.constants));
  for (int turn = 0; turn < 2; ++turn)
    for (Buffers *b : {&two, &three, &three}) {
      EXPECT_EQ(executeCode(b->in, b->out), ErrorCode(0));
      HostTensors in = b->in;
      in[0].shape = {4, 9};
      for (int again = 0; again < 2; ++again)
        EXPECT_EQ(executeCode(in, b->out), ErrorCode::ShapeMismatch);
    }
  EXPECT_EQ(executeCode(two.in, three.out), ErrorCode::ShapeMismatch);
  auto shapes = model->outputShapes({{0, {7, 8}}});
  ASSERT_TRUE(shapes);
  EXPECT_EQ(shapes->at(4), (graph::Dims{7, 5}));
}

TEST_F(Misuse, MissingConstant) {
  Buffers b(2);
  b.constants.erase(1);
  auto r = model->bindConstants(*exec, b.constants);
  ASSERT_FALSE(r);
  EXPECT_EQ(firstCode(r.errors()), ErrorCode::UnknownTensor);
  EXPECT_EQ(executeCode(b.in, b.out), ErrorCode::BadTensorData);
}

TEST(CompileErrors, NameTheOperation) {
  graph::Graph g = denseLayer(4);
  g.ops[1].kind = "NoSuch";
  auto m = Compiled::compile(g, Options());
  ASSERT_FALSE(m);
  EXPECT_EQ(firstCode(m.errors()), ErrorCode::UnknownOp);
  EXPECT_NE(str(m.errors()).find("relu1"), std::string::npos);
  g = denseLayer(4, 8, 5);
  g.tensors[1].shape = graph::Dims{7, 5};
  m = Compiled::compile(g, Options());
  ASSERT_FALSE(m);
  EXPECT_EQ(firstCode(m.errors()), ErrorCode::ShapeMismatch);
  g = denseLayer(4);
  g.tensors[1].dtype = graph::DType::f16;
  m = Compiled::compile(g, Options());
  ASSERT_FALSE(m);
  EXPECT_EQ(firstCode(m.errors()), ErrorCode::BadDType);
}

TEST(CompileErrors, AFaultOfOursLeavesAReproducer) {
  Options options;
  options.reproducer = testing::TempDir() + "/reproducer";
  std::filesystem::remove_all(options.reproducer);
  auto failIn = [](std::string_view name) {
    setPassManagerSetup([name](mlir::PassManager &, const Phase &phase) {
      return phase.name != name;
    });
  };
  failIn("tile");
  auto compiled = Compiled::compile(denseLayer(4), options);
  setPassManagerSetup({});
  ASSERT_FALSE(compiled);
  EXPECT_EQ(firstCode(compiled.errors()), ErrorCode::Internal);
  const std::string &hint = compiled.errors().front().hint;
  EXPECT_NE(hint.find("--compile-from=fuse --compile-to=tile"),
            std::string::npos)
      << hint;
  std::vector<std::filesystem::path> files(
      std::filesystem::directory_iterator(options.reproducer), {});
  ASSERT_EQ(files.size(), 1u);
  EXPECT_NE(hint.find(files[0].string()), std::string::npos) << hint;
  std::ifstream file(files[0]);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  auto resumed = lowerText(text, options, "fuse", "tile");
  EXPECT_TRUE(resumed) << str(resumed.errors());

  // A mistake of the user's leaves nothing.
  std::filesystem::remove_all(options.reproducer);
  graph::Graph wrong = denseLayer(4);
  wrong.ops[1].kind = "Wildcard";
  EXPECT_FALSE(Compiled::compile(wrong, options));
  EXPECT_FALSE(std::filesystem::exists(options.reproducer));
}

TEST(CompileReportTest, CountsWhatWasDone) {
  CompileReport r;
  auto m = Compiled::compile(denseLayer(4), Options(), &r);
  ASSERT_TRUE(m);
  EXPECT_EQ(r.ops, 2);
  ASSERT_EQ(r.mainGroups.size(), 1u); // one group: product, bias, relu
  EXPECT_EQ(r.mainGroups[0].label, "fc1+relu1");
  EXPECT_EQ(r.mainGroups[0].kind, "contraction");
  EXPECT_EQ(r.groups, 2); // and the packing of the weights
  EXPECT_GE(r.kernels, 1);
  EXPECT_GT(r.codeBytes, 0);
  Options unfused;
  unfused.fuse = false;
  m = Compiled::compile(denseLayer(4), unfused, &r);
  ASSERT_TRUE(m);
  EXPECT_EQ(r.mainGroups.size(), 2u); // the bias is part of its product
}

} // namespace
