//===- Judge.cpp - compiled against evaluated -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Judge.h.
//
//===----------------------------------------------------------------------===//
#include "tests/differential/Judge.h"

#include "compiler/check/Compare.h"
#include "dialects/graph/infer/Infer.h"
#include "dialects/graph/reference/Evaluator.h"
#include "tools/tenon/Children.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace tenon::test {

using reference::Tensor;

namespace {

/// Fillings of the inputs; a failure shows in two of them.
constexpr uint64_t kFills = 3;

/// Whether a value on the way is so large that what is computed from it may
/// overflow in f32: the maximum of a window of nothing but padding, for one.
Expected<bool> mayOverflow(const Oracle &oracle) {
  constexpr double kSafeToSquare = 0x1p+60;
  reference::EvalOptions options;
  options.roundOutputs = false;
  for (const graph::Op &op : oracle.graph.ops)
    options.keep.insert(options.keep.end(), op.outputs.begin(),
                        op.outputs.end());
  auto values = reference::evaluate(oracle.graph, oracle.inputs, options);
  if (!values)
    return values.errors();
  for (const auto &[id, tensor] : *values)
    for (double value : tensor.data)
      if (std::isfinite(value) && std::fabs(value) > kSafeToSquare)
        return true;
  return false;
}

/// The first output that differs, as text; empty when all agree.
std::string firstDifference(const Oracle &o, const Tensors &results,
                            Verdict &verdict) {
  auto overflows = mayOverflow(o);
  if (!overflows)
    return str(overflows.errors());
  check::Conditioning conditioning(o.graph, o.inputs, /*arithmetic=*/{}, 1);
  for (uint64_t id : o.graph.outputPorts) {
    check::Tolerance tolerance = check::toleranceFor(o.graph, id, &o.inputs);
    ++verdict.outputs;
    if (!tolerance.exact && *overflows) {
      ++verdict.loose;
      continue;
    }
    auto before = o.before.find(id);
    check::CompareResult result = check::compare(
        results.at(id), o.expected.at(id), &o.plain.at(id), tolerance,
        before == o.before.end() ? nullptr : &before->second,
        [&](int evaluations) { return conditioning.of(id, evaluations); });
    if (!result.passed())
      return "tensor " + std::to_string(id) + ": " + result.str();
    verdict.loose += result.illConditioned > 0;
  }
  return "";
}

Verdict failure(std::string kind, std::string message) {
  Verdict verdict;
  verdict.state = Verdict::failed;
  verdict.kind = std::move(kind);
  verdict.message = std::move(message);
  return verdict;
}

Verdict failure(const char *stage, const std::vector<Error> &errors) {
  Verdict verdict =
      failure(std::string(stage) + " E" +
                  std::to_string(static_cast<int>(errors.front().code)),
              str(errors));
  bool isUnsupported =
      std::all_of(errors.begin(), errors.end(), [](const Error &error) {
        return categoryOf(error.code) == ErrorCategory::unsupported;
      });
  if (isUnsupported)
    verdict.state = Verdict::unsupported;
  return verdict;
}

/// `graph` with the first dim of dense inputs unknown where it is that of the
/// first of them; absent when inference can not do without it.
std::optional<graph::Graph> withUnknownBatch(graph::Graph graph) {
  std::optional<int64_t> batch;
  for (uint64_t id : graph.inputPorts) {
    graph::LogicalTensor &tensor = graph.tensor(id);
    if (tensor.shape->empty() || !tensor.strides.empty() ||
        tensor.property == graph::PropertyType::constant)
      continue;
    int64_t &size = tensor.shape->front();
    // A dim of 1 would stretch to others.
    if (size > 1 && batch.value_or(size) == size) {
      batch = size;
      size = graph::kUnknownDim;
    }
  }
  for (const graph::Op &op : graph.ops)
    for (uint64_t id : op.outputs) {
      if (!graph.tensor(id).strides.empty())
        return std::nullopt;
      graph.tensor(id).shape.reset();
    }
  graph::Graph inferred = graph;
  if (!batch || !graph::inferGraph(inferred).empty())
    return std::nullopt;
  return graph;
}

Expected<std::unique_ptr<Compiled>> compileFor(const graph::Graph &graph,
                                               const JudgeConfig &config) {
  if (config.dynamic)
    if (auto unknown = withUnknownBatch(graph)) {
      auto model = Compiled::compile(*unknown, config.options);
      // Some forms need to know their sizes.
      if (model ||
          categoryOf(model.errors().front().code) != ErrorCategory::unsupported)
        return model;
    }
  return Compiled::compile(graph, config.options);
}

} // namespace

Verdict judgeGraph(const graph::Graph &graph, const JudgeConfig &config) {
  auto model = compileFor(graph, config);
  if (!model)
    return failure("compile", model.errors());
  Verdict verdict;
  std::string difference;
  int failures = 0;
  for (uint64_t fill = 1; fill <= kFills; ++fill) {
    auto oracle = Oracle::make(graph, fill);
    if (!oracle && oracle.errors().front().code == ErrorCode::AttrValue) {
      // What was drawn is no value there: a scale of 0 that was computed.
      verdict.state = Verdict::unstable;
      verdict.message = str(oracle.errors());
      return verdict;
    }
    if (!oracle)
      return failure("reference", oracle.errors());
    auto results = execute(**model, *oracle, config);
    if (!results)
      return failure("execute", results.errors());
    std::string found = firstDifference(*oracle, *results, verdict);
    if (found.empty() && !failures)
      return verdict;
    if (!found.empty() && ++failures == 1)
      difference = found;
    if (failures == 2)
      return failure("mismatch", difference);
  }
  verdict.state = Verdict::unstable;
  verdict.message = difference;
  return verdict;
}

Verdict judgeApart(const graph::Graph &graph, const JudgeConfig &config) {
  cli::ChildOptions options;
  options.timeout = 60;
  Verdict verdict;
  cli::runInChildren(
      1, options,
      [&](size_t, const cli::Note &) {
        return judgeGraph(graph, config).str();
      },
      [&](size_t, const cli::ChildResult &result) {
        using State = cli::ChildResult::State;
        if (result.state == State::crashed)
          verdict = failure("crash", result.reason);
        else if (result.state == State::timedOut)
          verdict = failure("timeout", "no result after 60 s");
        else
          verdict = Verdict::parse(result.output);
      });
  return verdict;
}

JudgeConfig configFor(uint64_t seed) {
  static constexpr const char *schedules[] = {"avx2", "avx512", "generic"};
  JudgeConfig config;
  config.options.schedule = schedules[seed % 3];
  config.threads = static_cast<int>(1 + seed / 3 % 3);
  config.pool = seed / 9 % 4 == 3;
  config.options.fuse = seed / 36 % 8 != 7;
  config.dynamic = seed % 5 == 4;
  return config;
}

std::string describe(const JudgeConfig &config) {
  return config.options.schedule + ", " + std::to_string(config.threads) +
         " threads" + (config.pool ? ", caller's pool" : "") +
         (config.options.fuse ? "" : ", not fused") +
         (config.dynamic ? ", unknown batch" : "");
}

std::string Verdict::str() const {
  std::string flat = message;
  std::replace(flat.begin(), flat.end(), '\n', ';');
  return std::to_string(state) + "\n" + std::to_string(outputs) + "\n" +
         std::to_string(loose) + "\n" + kind + "\n" + flat + "\n";
}

Verdict Verdict::parse(const std::string &text) {
  Verdict verdict;
  std::istringstream stream(text);
  int state = 0;
  stream >> state >> verdict.outputs >> verdict.loose;
  verdict.state = static_cast<State>(state);
  stream.ignore();
  std::getline(stream, verdict.kind);
  std::getline(stream, verdict.message);
  return verdict;
}

} // namespace tenon::test
