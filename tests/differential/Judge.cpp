//===- Judge.cpp - compiled against evaluated -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Judge.h.
//
//===----------------------------------------------------------------------===//
#include "tests/differential/Judge.h"

#include "compiler/check/Compare.h"
#include "dialects/graph/reference/Evaluator.h"
#include "tests/differential/Unknown.h"
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
  // A product may be 0 in the end.
  for (const graph::Op &op : oracle.graph.ops) {
    if (op.kind != "ReduceProd")
      continue;
    auto computed = values->find(op.inputs[0]);
    const Tensor &src = computed != values->end()
                            ? computed->second
                            : oracle.inputs.at(op.inputs[0]);
    double size = 1;
    for (double value : src.data)
      size *= std::max(std::fabs(value), 1.0);
    if (size > kSafeToSquare)
      return true;
  }
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
  if (isUnsupported) {
    verdict.state = Verdict::unsupported;
    verdict.refusal = documentedReason(errors).value_or("");
  }
  return verdict;
}

/// Executes `model` as `graph`, of which all sizes are known, and compares.
Verdict judgeModel(Compiled &model, const graph::Graph &graph,
                   const JudgeConfig &config) {
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
    auto results = execute(model, *oracle, config);
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

Verdict judgeKnown(const graph::Graph &graph, const JudgeConfig &config) {
  auto model = Compiled::compile(graph, config.options);
  return model ? judgeModel(**model, graph, config)
               : failure("compile", model.errors());
}

/// Compiles once, and judges each set of sizes.
Verdict judgeUnknown(const UnknownSizes &sizes, const JudgeConfig &config) {
  auto model = Compiled::compile(sizes.general, config.options);
  if (!model)
    return failure("unknown sizes, compile", model.errors());
  Verdict all;
  all.unknown = true;
  for (const graph::Graph &known : sizes.known) {
    Verdict verdict = judgeModel(**model, known, config);
    all.outputs += verdict.outputs;
    all.loose += verdict.loose;
    if (verdict.state == Verdict::passed)
      continue;
    verdict.kind = "unknown sizes, " + verdict.kind;
    verdict.message += "; with --in-shapes=" + shapesText(known);
    return verdict;
  }
  return all;
}

} // namespace

Verdict judgeGraph(const graph::Graph &graph, const JudgeConfig &config) {
  if (!config.unknown)
    return judgeKnown(graph, config);
  auto sizes = withUnknownSizes(graph, *config.unknown);
  if (!sizes)
    return judgeKnown(graph, config);
  Verdict unknown = judgeUnknown(*sizes, config);
  if (unknown.state != Verdict::unsupported)
    return unknown;
  // Some forms need to know their sizes.
  Verdict known = judgeKnown(graph, config);
  if (known.state == Verdict::unsupported)
    return known;
  if (unknown.refusal.empty())
    return failure("refusal", unknown.message);
  known.refusal = unknown.refusal;
  return known;
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
  if (seed % 5 > 2)
    config.unknown = seed;
  return config;
}

std::string describe(const JudgeConfig &config) {
  return config.options.schedule + ", " + std::to_string(config.threads) +
         " threads" + (config.pool ? ", caller's pool" : "") +
         (config.options.fuse ? "" : ", not fused") +
         (config.unknown ? ", unknown sizes" : "");
}

std::string Verdict::str() const {
  std::string flat = message;
  std::replace(flat.begin(), flat.end(), '\n', ';');
  return std::to_string(state) + "\n" + std::to_string(outputs) + "\n" +
         std::to_string(loose) + "\n" + std::to_string(unknown) + "\n" +
         refusal + "\n" + kind + "\n" + flat + "\n";
}

Verdict Verdict::parse(const std::string &text) {
  Verdict verdict;
  std::istringstream stream(text);
  int state = 0;
  stream >> state >> verdict.outputs >> verdict.loose >> verdict.unknown;
  verdict.state = static_cast<State>(state);
  stream.ignore();
  std::getline(stream, verdict.refusal);
  std::getline(stream, verdict.kind);
  std::getline(stream, verdict.message);
  return verdict;
}

} // namespace tenon::test
