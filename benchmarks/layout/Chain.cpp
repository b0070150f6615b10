// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/layout/Chain.h"

#include "tenon.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace tenon::benchmarks {

namespace {

using Values = std::vector<float>;
using Dims = std::vector<int64_t>;

Values fill(const LogicalTensor &about, float scale) {
  Values values(about.byteSize() / sizeof(float));
  uint32_t state = 1 + static_cast<uint32_t>(about.id);
  for (float &v : values) {
    state = state * 1664525 + 1013904223;
    v = scale * (static_cast<float>(state >> 16) / 32768 - 1);
  }
  return values;
}

/// What the compiler was given by a call that compiles, as JSON.
template <typename Compile> std::string graphOf(Compile compile) {
  namespace fs = std::filesystem;
  std::string folder =
      (fs::temp_directory_path() / "tenon_layout_XXXXXX").string();
  if (!mkdtemp(folder.data()))
    throw std::runtime_error("no folder can be made: " + folder);
  check(tenon_set_dump_mode(TENON_DUMP_SUBGRAPH, folder.c_str()));
  compile();
  check(tenon_set_dump_mode(TENON_DUMP_NONE, nullptr));
  std::ostringstream text;
  for (const auto &entry : fs::directory_iterator(folder))
    text << std::ifstream(entry.path()).rdbuf();
  fs::remove_all(folder);
  return text.str();
}

} // namespace

struct Chain::Impl {
  Impl(const ChainShape &shape, Edges edges)
      : shape(shape), edges(edges), stream(engine) {
    build();
    for (const Partition &partition : graph.partitions())
      partition.isSupported() ? addCompiled(partition) : addOwn(partition);
    for (auto &[id, about] : abouts) {
      auto found = constants.find(id);
      void *data = found != constants.end() ? found->second.data()
                   : id == kInput           ? input.data()
                   : id == kOutput          ? output.data()
                                            : TENON_MEMORY_ALLOCATE;
      tensors[id] = Tensor(about, engine, data);
    }
  }

  LogicalTensor newTensor(const Dims &dims, bool constant = false) {
    return {nextId++, TENON_F32, dims, TENON_LAYOUT_STRIDED,
            constant ? TENON_PROPERTY_CONSTANT : TENON_PROPERTY_VARIABLE};
  }

  LogicalTensor newConstant(const Dims &dims, float scale) {
    LogicalTensor t = newTensor(dims, /*constant=*/true);
    constants[t.id] = fill(t, scale);
    return t;
  }

  void addConvolution(const LogicalTensor &src, const LogicalTensor &dst) {
    int64_t c = shape.channels;
    LogicalTensor product = newTensor(image()), sum = newTensor(image());
    auto scale = static_cast<float>(1 / std::sqrt(3.0 * double(c)));
    std::string n = std::to_string(++lastConvolution);
    graph.add(std::move(Op(nextOp++, tenon_op_convolution, "conv" + n)
                            .input(src)
                            .input(newConstant({c, c, 3, 3}, scale))
                            .output(product)
                            .attr("strides", Dims{1, 1})
                            .attr("pads_begin", Dims{1, 1})
                            .attr("pads_end", Dims{1, 1})
                            .attr("dilations", Dims{1, 1})
                            .attr("data_format", "NCX")
                            .attr("weights_format", "OIX")));
    graph.add(std::move(Op(nextOp++, tenon_op_bias_add, "bias" + n)
                            .input(product)
                            .input(newConstant({c}, 1))
                            .output(sum)
                            .attr("data_format", "NCX")));
    graph.add(std::move(
        Op(nextOp++, tenon_op_relu, "relu" + n).input(sum).output(dst)));
  }

  void build() {
    LogicalTensor x(kInput, TENON_F32, image()), y(kOutput, TENON_F32, image());
    input = fill(x, 1);
    output.resize(input.size());
    LogicalTensor last = x;
    for (int side : {0, 1}) {
      for (int64_t i = 1; i <= shape.convolutions; ++i) {
        bool isEnd = side == 1 && i == shape.convolutions;
        LogicalTensor dst = isEnd ? y : newTensor(image());
        addConvolution(last, dst);
        last = dst;
      }
      if (side == 1)
        break;
      LogicalTensor negated = newTensor(image());
      graph.add(std::move(Op(nextOp++, tenon_op_wildcard, "negate")
                              .input(last)
                              .output(negated)));
      last = negated;
    }
    graph.finalize();
  }

  Dims image() const { return {1, shape.channels, shape.size, shape.size}; }

  void addCompiled(const Partition &partition) {
    std::vector<LogicalTensor> in = partition.inputs(),
                               out = partition.outputs();
    for (LogicalTensor &t : in)
      t = abouts.try_emplace(t.id, t).first->second;
    for (LogicalTensor &t : out)
      if (edges == Edges::any && t.id != kOutput)
        t = t.with(TENON_LAYOUT_ANY);
    Step &step = steps.emplace_back();
    graphs.push_back(
        graphOf([&] { step.code = partition.compile(engine, in, out); }));
    for (const LogicalTensor &t : in)
      step.in.push_back(t.id);
    step.out = out.at(0).id;
    abouts[step.out] = step.code.query(step.out);
  }

  /// The program's operation: it goes over bytes, in any order.
  void addOwn(const Partition &partition) {
    Step &step = steps.emplace_back();
    step.in = {partition.inputs().at(0).id};
    step.out = partition.outputs().at(0).id;
    LogicalTensor about = abouts.at(step.in[0]);
    about.id = step.out;
    abouts[step.out] = about;
  }

  void run() {
    for (Step &step : steps) {
      Tensor &out = tensors.at(step.out);
      std::vector<const Tensor *> in;
      for (uint64_t id : step.in)
        in.push_back(&tensors.at(id));
      if (step.code) {
        step.code.execute(stream, in, {&out});
        continue;
      }
      auto *from = static_cast<const float *>(in[0]->data());
      auto *to = static_cast<float *>(out.data());
      for (size_t i = 0, n = input.size(); i < n; ++i)
        to[i] = -from[i];
    }
  }

  struct Step {
    CompiledPartition code; // none: the program's operation
    std::vector<uint64_t> in;
    uint64_t out = 0;
  };

  ChainShape shape;
  Edges edges;
  uint64_t nextId = 2, nextOp = 0;
  int lastConvolution = 0;
  Engine engine;
  Stream stream;
  Graph graph;
  Values input, output;
  std::map<uint64_t, Values> constants;
  std::map<uint64_t, LogicalTensor> abouts;
  std::map<uint64_t, Tensor> tensors;
  std::vector<Step> steps;
  std::vector<std::string> graphs;
};

Chain::Chain(const ChainShape &shape, Edges edges)
    : impl(std::make_unique<Impl>(shape, edges)) {}
Chain::~Chain() = default;
Chain::Chain(Chain &&) noexcept = default;

void Chain::run() { impl->run(); }
const std::vector<float> &Chain::result() const { return impl->output; }
const std::vector<std::string> &Chain::graphs() const { return impl->graphs; }

} // namespace tenon::benchmarks
