// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/Harness.h"

#include <bit>

#include "compiler/check/Compare.h"
#include "compiler/check/Fill.h"
#include "dialects/graph/infer/Infer.h"
#include "dialects/graph/reference/Evaluator.h"

#include <span>
#include <thread>

namespace tenon::test {

/// An oracle of `graph` with all shapes known, still without tensors.
static Expected<Oracle> inferred(graph::Graph graph) {
  Oracle o;
  o.graph = std::move(graph);
  if (auto errors = graph::inferGraph(o.graph); !errors.empty())
    return errors;
  if (auto errors = graph::completePorts(o.graph); !errors.empty())
    return errors;
  return o;
}

Expected<Oracle> Oracle::unjudged(graph::Graph graph) {
  Oracle o;
  o.graph = std::move(graph);
  auto inputs = check::fillInputs(o.graph, 1, check::FillMode::real);
  if (!inputs)
    return inputs.errors();
  o.inputs = std::move(*inputs);
  return o;
}

Expected<Oracle> Oracle::bounded(graph::Graph graph) {
  auto oracle = unjudged(std::move(graph));
  return oracle ? bounded(std::move(oracle->graph), std::move(oracle->inputs))
                : oracle;
}

Expected<Oracle> Oracle::bounded(graph::Graph graph, Tensors inputs) {
  auto made = inferred(std::move(graph));
  if (!made)
    return made;
  Oracle &o = *made;
  o.inputs = std::move(inputs);
  reference::EvalOptions exact;
  exact.roundOutputs = false;
  auto expected = reference::evaluate(o.graph, o.inputs, exact);
  if (!expected)
    return expected.errors();
  o.expected = o.plain = std::move(*expected);
  return made;
}

std::map<uint64_t, std::vector<uint64_t>> bitsOf(const Tensors &results) {
  std::map<uint64_t, std::vector<uint64_t>> bits;
  for (auto &[id, tensor] : results) {
    for (double element : tensor.data)
      bits[id].push_back(std::bit_cast<uint64_t>(element));
    for (int64_t element : tensor.integers)
      bits[id].push_back(static_cast<uint64_t>(element));
  }
  return bits;
}

Expected<Oracle> Oracle::make(graph::Graph graph, uint64_t seed) {
  auto made = inferred(std::move(graph));
  if (!made)
    return made;
  Oracle &o = *made;
  auto inputs = check::fillInputs(o.graph, seed);
  if (!inputs)
    return inputs.errors();
  o.inputs = std::move(*inputs);
  reference::EvalOptions exact;
  exact.roundOutputs = false;
  exact.threads = 2;
  for (uint64_t id : o.graph.outputPorts)
    if (auto source = check::roundingSource(o.graph, id))
      exact.keep.push_back(*source);
  auto expected = reference::evaluate(o.graph, o.inputs, exact);
  if (!expected)
    return expected.errors();
  reference::EvalOptions plain;
  plain.roundEdges = true;
  plain.threads = 2;
  plain.keep = exact.keep;
  auto rounded = reference::evaluate(o.graph, o.inputs, plain);
  if (!rounded)
    return rounded.errors();
  for (uint64_t id : o.graph.outputPorts)
    if (auto source = check::roundingSource(o.graph, id))
      o.before.emplace(id,
                       check::beforeRounding(o.graph, id, expected->at(*source),
                                             rounded->at(*source)));
  o.expected = std::move(*expected);
  o.plain = std::move(*rounded);
  return made;
}

/// A caller's pool: a thread per index, which no section may notice.
static void spawnAll(void *, int64_t n, void (*body)(void *, int64_t),
                     void *arg) {
  std::vector<std::thread> threads;
  for (int64_t i = 1; i < n; ++i)
    threads.emplace_back(body, arg, i);
  if (n)
    body(arg, 0);
  for (std::thread &t : threads)
    t.join();
}

namespace {

/// Memory of a tensor.  Everything but its elements, in front, between and
/// behind them, is a pattern (NaN as f32): what reads it gets a wrong result,
/// what writes it is found out.
class GuardedMemory {
public:
  explicit GuardedMemory(const graph::LogicalTensor &t)
      : tensor(&t), strides(t.effectiveStrides()),
        bytes(reference::spannedBytes(t.dtype, *t.shape, strides) + 2 * kGuard,
              kPattern) {}

  std::span<std::byte> span() { return spanOf(bytes); }

  /// Whether all bytes that belong to no element still hold the pattern.
  bool guardIsIntact() const {
    std::vector<std::byte> elements(bytes.size(), kPattern);
    // 0 has no byte of the pattern in any dtype.
    if (!reference::toMemory(reference::zeros(tensor->dtype, *tensor->shape),
                             strides, spanOf(elements))
             .empty())
      return false;
    for (size_t i = 0; i < bytes.size(); ++i)
      if (elements[i] == kPattern && bytes[i] != kPattern)
        return false;
    return true;
  }

private:
  static constexpr size_t kGuard = 256;
  static constexpr std::byte kPattern{0xff};

  static std::span<std::byte> spanOf(std::vector<std::byte> &all) {
    return std::span(all).subspan(kGuard, all.size() - 2 * kGuard);
  }

  const graph::LogicalTensor *tensor;
  graph::Dims strides;
  std::vector<std::byte> bytes;
};

} // namespace

Expected<Tensors> execute(Compiled &model, const Oracle &oracle,
                          const RunConfig &setup) {
  Executor::Config config;
  config.threads = setup.threads;
  if (setup.pool) {
    config.parallelFor = spawnAll;
    config.concurrency = setup.threads;
  }
  auto exec = Executor::create(config);
  if (!exec)
    return exec.errors();
  // A tensor may be an input and an output: two places.
  std::map<uint64_t, GuardedMemory> memory, resultMemory;
  HostTensors in, constants, out;
  for (auto &[id, tensor] : oracle.inputs) {
    const graph::LogicalTensor &t = oracle.graph.tensor(id);
    std::span<std::byte> bytes = memory.emplace(id, t).first->second.span();
    if (auto errors = reference::toMemory(tensor, t.effectiveStrides(), bytes);
        !errors.empty())
      return errors;
    in[id] = {bytes.data(), tensor.shape};
    if (t.property == graph::PropertyType::constant)
      constants[id] = in[id];
  }
  for (uint64_t id : oracle.graph.outputPorts) {
    const graph::LogicalTensor &t = oracle.graph.tensor(id);
    out[id] = {resultMemory.emplace(id, t).first->second.span().data(),
               *t.shape};
  }
  // A graph without constants has nothing to bind.
  if (!constants.empty())
    if (auto ok = model.bindConstants(**exec, constants); !ok)
      return ok.errors();
  // Twice: nothing of the first run may leak into the second.
  for (int i = 0; i < 2; ++i)
    if (auto ok = model.execute(**exec, in, out); !ok)
      return ok.errors();
  Tensors results;
  for (auto &[id, bytes] : resultMemory) {
    const graph::LogicalTensor &t = oracle.graph.tensor(id);
    if (!bytes.guardIsIntact())
      return Error{ErrorCode::Mismatch,
                   "wrote beside the elements of tensor " + std::to_string(id),
                   "",
                   "",
                   {},
                   ""};
    auto tensor = reference::fromMemory(t.dtype, *t.shape, t.effectiveStrides(),
                                        bytes.span());
    if (!tensor)
      return tensor.errors();
    results[id] = std::move(*tensor);
  }
  return results;
}

testing::AssertionResult agrees(const Oracle &o, const Tensors &results,
                                bool fastMath, bool conditioned) {
  check::Conditioning conditioning(o.graph, o.inputs, /*arithmetic=*/{}, 1);
  for (uint64_t id : o.graph.outputPorts) {
    check::Tolerance t =
        check::toleranceFor(o.graph, id, &o.inputs, {.fastMath = fastMath});
    auto before = o.before.find(id);
    auto spread = [&](int evaluations) {
      return conditioning.of(id, evaluations);
    };
    check::CompareResult r = check::compare(
        results.at(id), o.expected.at(id), &o.plain.at(id), t,
        before == o.before.end() ? nullptr : &before->second,
        conditioned ? check::SpreadOf(spread) : check::SpreadOf());
    if (!r.passed())
      return testing::AssertionFailure() << "tensor " << id << ": " << r.str();
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult checkGraph(const Oracle &oracle,
                                    const RunConfig &setup) {
  auto model = Compiled::compile(oracle.graph, setup.options);
  if (!model)
    return testing::AssertionFailure() << str(model.errors());
  auto results = execute(**model, oracle, setup);
  if (!results)
    return testing::AssertionFailure() << str(results.errors());
  return agrees(oracle, *results, setup.options.fastMath);
}

std::vector<RunConfig> allConfigs() {
  std::vector<RunConfig> setups;
  for (const char *schedule : {"avx2", "avx512", "generic"})
    for (int threads : {1, 2})
      for (bool pool : {false, true}) {
        RunConfig s;
        s.options.schedule = schedule;
        s.threads = threads;
        s.pool = pool;
        setups.push_back(s);
      }
  return setups;
}

} // namespace tenon::test
