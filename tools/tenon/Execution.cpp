//===- Execution.cpp - compiled code on real memory -----------------------===//
//
// See Execution.h.
//
//===----------------------------------------------------------------------===//
#include "tools/tenon/Execution.h"

#include "compiler/report/Stats.h"
#include "dialects/graph/reference/Evaluator.h"

#include <algorithm>

namespace tenon::cli {

using graph::Graph;
using graph::LogicalTensor;
using reference::Tensor;

static Error makeError(ErrorCode code, std::string message) {
  Error error;
  error.code = code;
  error.message = std::move(message);
  return error;
}

Expected<Execution> Execution::create(int threads, bool callerPool,
                                      bool profile) {
  Execution execution;
  Executor::Config config;
  config.threads = threads;
  config.profile = profile;
  if (callerPool) {
    execution.pool = std::make_unique<Pool>(threads);
    config.parallelFor = Pool::parallelFor;
    config.pool = execution.pool.get();
    config.concurrency = threads;
  }
  auto executor = Executor::create(config);
  if (!executor)
    return executor.errors();
  execution.executor = std::move(*executor);
  return execution;
}

graph::Dims stridesFor(const LogicalTensor &tensor, const graph::Dims &shape) {
  bool isStated = tensor.strides.size() == shape.size() &&
                  std::none_of(tensor.strides.begin(), tensor.strides.end(),
                               [](int64_t s) { return s < 0; });
  return isStated ? tensor.strides : graph::denseStrides(shape);
}

Expected<Buffers> Buffers::create(const Compiled &compiled, const Graph &graph,
                                  const TensorMap &values) {
  Buffers buffers;
  std::map<uint64_t, graph::Dims> inputShapes;
  for (uint64_t id : graph.inputPorts) {
    auto found = values.find(id);
    if (found == values.end())
      return makeError(ErrorCode::UnknownTensor,
                       "there is no data for input " + std::to_string(id));
    const LogicalTensor &tensor = graph.tensor(id);
    const Tensor &value = found->second;
    auto buffer = TensorBuffer::allocate(tensor.dtype, value.shape,
                                         stridesFor(tensor, value.shape));
    if (!buffer)
      return buffer.errors();
    if (auto errors = buffer->write(value); !errors.empty())
      return errors;
    buffers.inputHashes[id] = buffer->hash();
    inputShapes[id] = value.shape;
    HostTensor view = {buffer->data(), value.shape};
    buffers.inputViews[id] = view;
    if (tensor.property == graph::PropertyType::constant)
      buffers.constantViews[id] = view;
    buffers.inputBuffers.emplace(id, std::move(*buffer));
  }
  bool known = std::all_of(
      graph.outputPorts.begin(), graph.outputPorts.end(),
      [&](uint64_t id) { return graph.tensor(id).hasStaticShape(); });
  std::map<uint64_t, graph::Dims> outputShapes;
  if (!known) {
    auto shapes = compiled.outputShapes(inputShapes);
    if (!shapes)
      return shapes.errors();
    outputShapes = std::move(*shapes);
  }
  for (uint64_t id : graph.outputPorts) {
    const LogicalTensor &tensor = graph.tensor(id);
    graph::Dims shape =
        tensor.hasStaticShape() ? *tensor.shape : outputShapes[id];
    auto buffer =
        TensorBuffer::allocate(tensor.dtype, shape, stridesFor(tensor, shape));
    if (!buffer)
      return buffer.errors();
    buffers.outputViews[id] = {buffer->data(), shape};
    buffers.outputBuffers.emplace(id, std::move(*buffer));
  }
  return buffers;
}

void Buffers::clearOutputs() {
  for (auto &[id, buffer] : outputBuffers)
    buffer.clear();
}

Expected<TensorMap> Buffers::results() const {
  std::vector<Error> errors;
  for (const auto &[id, buffer] : inputBuffers) {
    std::string damage = buffer.damage();
    if (damage.empty() && buffer.hash() != inputHashes.at(id))
      damage = "the input was written";
    if (!damage.empty())
      errors.push_back(makeError(
          ErrorCode::Internal, "input " + std::to_string(id) + ": " + damage));
  }
  TensorMap results;
  for (const auto &[id, buffer] : outputBuffers) {
    if (std::string damage = buffer.damage(); !damage.empty())
      errors.push_back(makeError(
          ErrorCode::Internal, "output " + std::to_string(id) + ": " + damage));
    auto value = buffer.read();
    if (!value)
      return value.errors();
    results.emplace(id, std::move(*value));
  }
  if (!errors.empty())
    return errors;
  return results;
}

size_t Buffers::bytes() const {
  size_t sum = 0;
  for (const auto *all : {&inputBuffers, &outputBuffers})
    for (const auto &[id, buffer] : *all)
      sum += buffer.bytes();
  return sum;
}

Expected<bool> bindConstants(Compiled &compiled, Executor &executor,
                             const Buffers &buffers) {
  if (buffers.constants().empty())
    return true;
  return compiled.bindConstants(executor, buffers.constants());
}

Expected<TensorMap> executeOnce(Compiled &compiled, Executor &executor,
                                Buffers &buffers) {
  buffers.clearOutputs();
  auto done = compiled.execute(executor, buffers.inputs(), buffers.outputs());
  if (!done)
    return done.errors();
  return buffers.results();
}

//===----------------------------------------------------------------------===//
// Reference results
//===----------------------------------------------------------------------===//

Expected<Oracle> Oracle::create(const Graph &graph, TensorMap inputs,
                                const Options &compiled, int threads) {
  reference::EvalOptions options;
  options.threads = threads;
  options.roundOutputs = false;
  for (uint64_t id : graph.outputPorts)
    if (auto source = check::roundingSource(graph, id))
      options.keep.push_back(*source);
  auto exact = reference::evaluate(graph, inputs, options);
  if (!exact)
    return exact.errors();
  Oracle oracle;
  for (uint64_t id : graph.outputPorts) {
    Output output;
    output.tolerance =
        check::toleranceFor(graph, id, &inputs, compiled.fastMath);
    output.name = describeTensor(graph, id);
    oracle.outputs.emplace(id, std::move(output));
  }
  options.roundEdges = true;
  auto plain = reference::evaluate(graph, std::move(inputs), options);
  if (!plain)
    return plain.errors();
  for (auto &[id, output] : oracle.outputs)
    if (auto source = check::roundingSource(graph, id))
      output.before = check::beforeRounding(graph, id, exact->at(*source),
                                            plain->at(*source));
  for (auto &[id, output] : oracle.outputs) {
    output.exact = std::move(exact->at(id));
    output.plain = std::move(plain->at(id));
  }
  return oracle;
}

Expected<std::vector<check::Judgement>>
Oracle::judge(const TensorMap &got) const {
  std::vector<check::Judgement> judgements;
  for (const auto &[id, output] : outputs) {
    auto found = got.find(id);
    if (found == got.end())
      return makeError(ErrorCode::UnknownTensor,
                       "there is no result for tensor " + output.name);
    check::Judgement judgement{id, output.tolerance, {}};
    judgement.result = check::compare(
        found->second, output.exact, &output.plain, output.tolerance,
        output.before ? &*output.before : nullptr);
    judgements.push_back(std::move(judgement));
  }
  return judgements;
}

std::vector<Error> Oracle::check(const TensorMap &got) const {
  auto judgements = judge(got);
  if (!judgements)
    return judgements.errors();
  std::vector<Error> errors;
  for (const check::Judgement &judgement : *judgements)
    if (!judgement.result.passed())
      errors.push_back(makeError(ErrorCode::Mismatch,
                                 "output " + outputs.at(judgement.id).name +
                                     ": " + judgement.result.str()));
  return errors;
}

double oracleBytes(const Graph &graph) {
  return 3.0 * sizeof(double) * report::statsOf(graph).elements;
}

} // namespace tenon::cli
