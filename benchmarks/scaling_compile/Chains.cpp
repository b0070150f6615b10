// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/scaling_compile/Chains.h"

#include <chrono>
#include <sys/resource.h>

namespace tenon::benchmarks {

using namespace graph;

namespace {

uint64_t addTensor(Graph &g, Dims shape, PropertyType property) {
  uint64_t id = g.tensors.size();
  LogicalTensor &t = g.tensors[id];
  t.id = id;
  t.dtype = DType::f32;
  t.shape = std::move(shape);
  t.property = property;
  if (property != PropertyType::undef)
    g.inputPorts.push_back(id);
  return id;
}

uint64_t addOp(Graph &g, std::string kind, std::vector<uint64_t> inputs,
               Dims shape) {
  Op op;
  op.id = g.ops.size();
  op.name = kind + "_" + std::to_string(op.id);
  op.kind = std::move(kind);
  op.inputs = std::move(inputs);
  op.outputs = {addTensor(g, std::move(shape), PropertyType::undef)};
  g.ops.push_back(std::move(op));
  return g.ops.back().outputs[0];
}

} // namespace

Graph elementwiseChain(int64_t ops) {
  static const char *const kinds[] = {"ReLU", "Abs",  "Square",   "Sigmoid",
                                      "Tanh", "Sqrt", "HardSwish"};
  Graph g;
  Dims shape = {64, 256};
  uint64_t last = addTensor(g, shape, PropertyType::variable);
  uint64_t random = 1;
  for (int64_t i = 0; i < ops; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    size_t pick = random >> 61;
    if (pick == 7)
      last = addOp(g, "Add",
                   {last, addTensor(g, {256}, PropertyType::constant)}, shape);
    else
      last = addOp(g, kinds[pick], {last}, shape);
  }
  g.outputPorts = {last};
  return g;
}

Graph matmulChain(int64_t ops) {
  Graph g;
  Dims shape = {64, 64};
  uint64_t last = addTensor(g, shape, PropertyType::variable);
  for (int64_t i = 0; i < ops; ++i)
    if (i % 2 == 0)
      last =
          addOp(g, "MatMul",
                {last, addTensor(g, {64, 64}, PropertyType::constant)}, shape);
    else
      last = addOp(g, "ReLU", {last}, shape);
  g.outputPorts = {last};
  return g;
}

Graph gruChain(int64_t steps) {
  constexpr int64_t kBatch = 2, kUnits = 16;
  Graph g;
  Dims state = {kBatch, kUnits};
  uint64_t h = addTensor(g, state, PropertyType::variable);
  struct Gate {
    uint64_t weights, recurrent, bias;
  };
  auto addGate = [&] {
    return Gate{addTensor(g, {kUnits, kUnits}, PropertyType::constant),
                addTensor(g, {kUnits, kUnits}, PropertyType::constant),
                addTensor(g, {kUnits}, PropertyType::constant)};
  };
  const Gate update = addGate(), reset = addGate(), candidate = addGate();
  for (int64_t i = 0; i < steps; ++i) {
    uint64_t x = addTensor(g, state, PropertyType::variable);
    auto op = [&](const char *kind, uint64_t a, uint64_t b) {
      return addOp(g, kind, {a, b}, state);
    };
    auto gate = [&](const Gate &w) {
      uint64_t sum =
          op("Add", op("MatMul", x, w.weights), op("MatMul", h, w.recurrent));
      return addOp(g, "Sigmoid", {op("Add", sum, w.bias)}, state);
    };
    uint64_t z = gate(update), r = gate(reset);
    uint64_t past = op("Multiply", r, op("MatMul", h, candidate.recurrent));
    uint64_t seen =
        op("Add", op("MatMul", x, candidate.weights), candidate.bias);
    uint64_t n = addOp(g, "Tanh", {op("Add", seen, past)}, state);
    h = op("Add", n, op("Multiply", z, op("Subtract", h, n)));
  }
  g.outputPorts = {h};
  return g;
}

Graph distinctChain(int64_t groups) {
  Graph g;
  // Widths without period, and an attribute that no two steps share.
  auto widthAt = [](int64_t i) { return 8 + i * i % 61; };
  uint64_t last = addTensor(g, {4, widthAt(0)}, PropertyType::variable);
  for (int64_t i = 0; i < groups; ++i) {
    int64_t in = widthAt(i), out = widthAt(i + 1);
    uint64_t w = addTensor(g, {in, out}, PropertyType::constant);
    last = addOp(g, "MatMul", {last, w}, {4, out});
    last = addOp(g, "LeakyReLU", {last}, {4, out});
    g.ops.back().attrs["alpha"] = float(i + 1) / float(groups + 1);
  }
  g.outputPorts = {last};
  return g;
}

/// Bytes.
static int64_t peakMemory() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return int64_t(usage.ru_maxrss) * 1024;
}

Expected<ChainResult> compileChain(const Graph &graph) {
  ChainResult result;
  int64_t before = peakMemory();
  auto start = std::chrono::steady_clock::now();
  auto model = Compiled::compile(graph, Options(), &result.report);
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  if (!model)
    return model.errors();
  result.seconds = time.count();
  result.peakGrowth = peakMemory() - before;
  return result;
}

} // namespace tenon::benchmarks
