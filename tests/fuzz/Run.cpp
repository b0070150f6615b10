//===- Run.cpp - fuzz target: compiling and executing strange graphs ------===//
// SPDX-License-Identifier: Apache-2.0
//
// A graph that is written as JSON is taken as it is.  Other bytes choose a
// random graph (tests/differential) and then what to change in it: attributes,
// sizes, types, edges, strides, ports.  Whatever inference accepts, and is
// small, must compile or be refused with a code, and must execute without
// touching foreign memory.  Results are not looked at.
//
//===----------------------------------------------------------------------===//
#include "compiler/check/Fill.h"
#include "compiler/import/json/Json.h"
#include "dialects/graph/infer/Infer.h"
#include "tests/differential/Generate.h"
#include "tests/e2e/Harness.h"
#include "tests/fuzz/Fuzz.h"

#include <algorithm>
#include <limits>

using namespace tenon;
using graph::AttrValue;
using graph::Dims;
using graph::Graph;

namespace {

constexpr int64_t kMaxElements = 4096;
constexpr size_t kMaxMutations = 6;

/// The bytes of an input, one after the other; zeros behind the end.
class Bytes {
public:
  Bytes(const uint8_t *data, size_t size) : data(data), size(size) {}
  bool empty() const { return at >= size; }
  size_t next() { return empty() ? 0 : data[at++]; }
  size_t below(size_t count) { return count ? next() % count : 0; }
  template <typename T, size_t N> T pick(const T (&list)[N]) {
    return list[next() % N];
  }

private:
  const uint8_t *data;
  size_t size, at = 0;
};

class Mutator {
public:
  Mutator(Graph &graph, Bytes &bytes) : graph(graph), bytes(bytes) {}

  void mutate() {
    if (graph.ops.empty() || graph.inputPorts.empty())
      return;
    switch (bytes.below(9)) {
    case 0:
      return changeAttr();
    case 1:
      return changeSize();
    case 2:
      return changeRank();
    case 3:
      return rewire();
    case 4:
      return changeStrides();
    case 5:
      someTensor().dtype =
          static_cast<graph::DType>(bytes.below(size_t(graph::kLastDType) + 1));
      return;
    case 6:
      someTensor().property = static_cast<graph::PropertyType>(bytes.below(4));
      return;
    case 7:
      graph.outputPorts.push_back(someTensor().id);
      return;
    case 8:
      graph.ops.erase(graph.ops.begin() +
                      static_cast<ptrdiff_t>(bytes.below(graph.ops.size())));
    }
  }

private:
  static constexpr int64_t kSizes[] = {0,
                                       1,
                                       2,
                                       3,
                                       4,
                                       5,
                                       7,
                                       8,
                                       9,
                                       16,
                                       17,
                                       33,
                                       64,
                                       -1,
                                       -2,
                                       99,
                                       int64_t(1) << 31,
                                       INT64_MAX,
                                       INT64_MIN,
                                       graph::kUnknownDim};

  graph::Op &someOp() { return graph.ops[bytes.below(graph.ops.size())]; }
  graph::LogicalTensor &someTensor() {
    graph::Op &op = someOp();
    size_t i = bytes.below(op.inputs.size() + op.outputs.size());
    if (op.inputs.empty() && op.outputs.empty())
      return graph.tensor(graph.inputPorts[0]);
    return graph.tensor(
        i < op.inputs.size() ? op.inputs[i] : op.outputs[i - op.inputs.size()]);
  }

  void changeAttr() {
    graph::Op &op = someOp();
    const graph::OpInfo *info = graph::lookupOp(op.kind);
    if (!info || info->attrs.empty())
      return;
    const graph::AttrInfo &attr = info->attrs[bytes.below(info->attrs.size())];
    std::string name(attr.name);
    constexpr float inf = std::numeric_limits<float>::infinity();
    static constexpr float floats[] = {0,      -0.0f, 1,   -1,
                                       1e-30f, 1e30f, inf, -inf};
    switch (attr.type) {
    case graph::AttrType::boolean:
      op.attrs[name] = bytes.below(2) == 1;
      break;
    case graph::AttrType::f32:
      op.attrs[name] = bytes.pick(floats);
      break;
    case graph::AttrType::s64:
      op.attrs[name] = bytes.pick(kSizes);
      break;
    case graph::AttrType::string:
      if (!attr.allowed.empty())
        op.attrs[name] =
            std::string(attr.allowed[bytes.below(attr.allowed.size())]);
      break;
    case graph::AttrType::f32s:
      op.attrs[name] = std::vector<float>(bytes.below(5), bytes.pick(floats));
      break;
    case graph::AttrType::s64s:
      changeList(op.attrs[name]);
      break;
    }
  }

  void changeList(AttrValue &value) {
    if (!std::holds_alternative<Dims>(value))
      value = Dims();
    Dims &list = std::get<Dims>(value);
    if (list.empty() || bytes.below(4) == 0)
      list.push_back(bytes.pick(kSizes));
    else
      list[bytes.below(list.size())] = bytes.pick(kSizes);
  }

  void changeSize() {
    auto &shape = someTensor().shape;
    if (shape && !shape->empty())
      (*shape)[bytes.below(shape->size())] = bytes.pick(kSizes);
  }

  void changeRank() {
    auto &shape = someTensor().shape;
    if (!shape)
      return;
    if (shape->empty() || bytes.below(2))
      shape->insert(shape->begin(), bytes.pick(kSizes));
    else
      shape->erase(shape->begin());
  }

  void rewire() {
    graph::Op &op = someOp();
    uint64_t id = someTensor().id;
    if (bytes.below(4) == 0)
      op.inputs.push_back(id);
    else if (!op.inputs.empty())
      op.inputs[bytes.below(op.inputs.size())] = id;
  }

  void changeStrides() {
    graph::LogicalTensor &tensor = someTensor();
    tensor.strides.clear();
    for (size_t i = 0; tensor.shape && i < tensor.shape->size(); ++i)
      tensor.strides.push_back(bytes.pick(kSizes));
  }

  Graph &graph;
  Bytes &bytes;
};

/// Results take the shapes that inference gives them.
void forgetResults(Graph &graph) {
  for (graph::Op &op : graph.ops)
    for (uint64_t id : op.outputs) {
      graph.tensor(id).shape.reset();
      graph.tensor(id).strides.clear();
    }
}

bool isSmall(const Graph &graph) {
  return std::all_of(
      graph.tensors.begin(), graph.tensors.end(), [](const auto &entry) {
        const graph::LogicalTensor &tensor = entry.second;
        if (!tensor.shape || tensor.shape->size() > 8)
          return false;
        int64_t extent = 1, count = 1;
        for (size_t i = 0; i < tensor.shape->size(); ++i) {
          int64_t size = std::max<int64_t>((*tensor.shape)[i], 1);
          int64_t stride = tensor.strides.empty()
                               ? 0
                               : std::max<int64_t>(tensor.strides[i], 0);
          if (size > kMaxElements || stride > kMaxElements)
            return false;
          count *= size;
          extent += (size - 1) * stride;
          if (count > kMaxElements || extent > 16 * kMaxElements)
            return false;
        }
        return true;
      });
}

bool hasStaticShapes(const Graph &graph) {
  return std::all_of(
      graph.tensors.begin(), graph.tensors.end(),
      [](const auto &entry) { return entry.second.hasStaticShape(); });
}

void compileAndExecute(const Graph &given, const test::RunConfig &config) {
  test::Oracle oracle;
  oracle.graph = given;
  std::vector<Error> errors = graph::inferGraph(oracle.graph);
  if (errors.empty())
    errors = graph::completePorts(oracle.graph);
  fuzz::requireBlameless(errors);
  if (!errors.empty() || !isSmall(oracle.graph))
    return;
  auto model = Compiled::compile(given, config.options);
  if (!model) {
    fuzz::requireBlameless(model.errors());
    return;
  }
  if (!hasStaticShapes(oracle.graph))
    return;
  auto inputs = check::fillInputs(oracle.graph, 1);
  if (!inputs)
    return;
  oracle.inputs = std::move(*inputs);
  auto results = test::execute(**model, oracle, config);
  if (results)
    return;
  fuzz::requireBlameless(results.errors());
  for (const Error &error : results.errors())
    fuzz::require(error.code != ErrorCode::Mismatch, "foreign memory",
                  error.str() + "\n" + json::writeJson(given));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static constexpr const char *schedules[] = {"avx2", "generic", "avx512"};
  test::RunConfig config;
  config.options.schedule = schedules[0];
  if (size && data[0] == '{') {
    std::string_view text(reinterpret_cast<const char *>(data), size);
    if (auto graph = json::readJson(text, "input"))
      compileAndExecute(*graph, config);
    return 0;
  }
  Bytes bytes(data, size);
  test::GenerateOptions options;
  options.maxOps = 5;
  options.maxElements = 256;
  size_t seed = bytes.next();
  seed = seed << 8 | bytes.next();
  Graph graph = test::generateGraph(seed, options);
  config.options.schedule = bytes.pick(schedules);
  config.options.fuse = bytes.below(4) != 3;
  bool forget = bytes.below(4) != 3;
  for (size_t i = 0; i < kMaxMutations && !bytes.empty(); ++i)
    Mutator(graph, bytes).mutate();
  if (forget)
    forgetResults(graph);
  compileAndExecute(graph, config);
  return 0;
}
