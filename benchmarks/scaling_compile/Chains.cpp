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
