//===- Execution.cpp - compiled code on real memory -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Execution.h.
//
//===----------------------------------------------------------------------===//
#include "tools/tenon/Execution.h"

#include "compiler/check/Fill.h"
#include "compiler/report/Stats.h"
#include "runtime/tenon_model.h"
#include "tools/tenon/Cli.h"

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

Expected<TensorMap> makeInputs(const Graph &graph, uint64_t seed,
                               const std::vector<TensorSpec> &specs,
                               const Constants &given) {
  std::set<uint64_t> ids;
  for (const auto &[id, bytes] : given.all())
    ids.insert(id);
  auto values = check::fillInputs(graph, seed, check::FillMode::semantic, ids);
  if (!values)
    return values;
  std::vector<Error> errors;
  for (const TensorSpec &spec : specs) {
    auto id = resolveTensor(graph, spec.name);
    if (!id) {
      errors.push_back(id.errors().front());
      continue;
    }
    if (!values->count(*id)) {
      errors.push_back(badOption(
          "--input: " + describeTensor(graph, *id) +
          (given.find(*id) ? " is a constant of the model, which has its values"
                           : " is no input of the graph")));
      continue;
    }
    if (spec.source == TensorSpec::Source::fill)
      continue;
    auto made = makeTensor(spec, graph.tensor(*id));
    if (made)
      (*values)[*id] = std::move(*made);
    else
      errors.push_back(made.errors().front());
  }
  if (!errors.empty())
    return errors;
  return values;
}

std::vector<Error> addValues(const Graph &graph, const Constants &given,
                             TensorMap &values) {
  for (uint64_t id : graph.inputPorts) {
    const auto *bytes = given.find(id);
    if (!bytes || values.contains(id))
      continue;
    const LogicalTensor &tensor = graph.tensor(id);
    auto value = reference::fromMemory(
        tensor.dtype, *tensor.shape, stridesFor(tensor, *tensor.shape), *bytes);
    if (!value)
      return value.errors();
    values.emplace(id, std::move(*value));
  }
  return {};
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

Expected<TensorBuffer> bufferOf(const LogicalTensor &tensor,
                                const Tensor &value) {
  auto buffer = TensorBuffer::allocate(tensor.dtype, value.shape,
                                       stridesFor(tensor, value.shape));
  if (!buffer)
    return buffer.errors();
  if (auto errors = buffer->write(value); !errors.empty())
    return errors;
  return buffer;
}

Expected<Buffers> Buffers::create(const Compiled &compiled, const Graph &graph,
                                  const TensorMap &values,
                                  const Constants &given) {
  Buffers buffers;
  std::map<uint64_t, graph::Dims> inputShapes;
  for (uint64_t id : graph.inputPorts) {
    auto found = values.find(id);
    if (const auto *bytes = given.find(id); bytes && found == values.end()) {
      // Nobody writes to inputs.
      HostTensor view = {const_cast<std::byte *>(bytes->data()),
                         *graph.tensor(id).shape};
      inputShapes[id] = view.shape;
      buffers.inputViews[id] = buffers.constantViews[id] = view;
      continue;
    }
    if (found == values.end())
      return makeError(ErrorCode::UnknownTensor,
                       "there is no data for input " + std::to_string(id));
    const LogicalTensor &tensor = graph.tensor(id);
    const Tensor &value = found->second;
    auto buffer = bufferOf(tensor, value);
    if (!buffer)
      return buffer.errors();
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

check::Arithmetic arithmeticOf(const Options &options,
                               const Compiled &compiled) {
  const tenon_model_code &code = *tenon_model_get_code(compiled.model());
  return {.fastMath = options.fastMath,
          .flushDenormals = code.flush_denormals != 0};
}

Expected<Oracle> Oracle::create(const Graph &graph, TensorMap inputs,
                                const check::Arithmetic &arithmetic,
                                int threads) {
  auto reference =
      check::Reference::create(graph, std::move(inputs), arithmetic, threads);
  if (!reference)
    return reference.errors();
  Oracle oracle(std::move(*reference));
  for (uint64_t id : graph.outputPorts)
    oracle.names[id] = describeTensor(graph, id);
  return oracle;
}

Expected<std::vector<check::Judgement>>
Oracle::judge(const TensorMap &got) const {
  return reference.judge(got);
}

std::vector<Error> Oracle::check(const TensorMap &got) const {
  auto judgements = judge(got);
  if (!judgements)
    return judgements.errors();
  std::vector<Error> errors;
  for (const check::Judgement &judgement : *judgements)
    if (!judgement.result.passed())
      errors.push_back(
          makeError(ErrorCode::Mismatch, "output " + names.at(judgement.id) +
                                             ": " + judgement.result.str()));
  return errors;
}

double oracleBytes(const Graph &graph) {
  return 3.0 * sizeof(double) * report::statsOf(graph).elements;
}

} // namespace tenon::cli
