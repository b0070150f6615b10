// SPDX-License-Identifier: Apache-2.0
// Every operation at 10^6 elements reaches half of the bandwidth or of the
// arithmetic that the same process measures on this machine.  Needs a quiet
// machine; run it alone:
//
//   bazel test --test_output=all //tests/vectorcode:speed_test
//
// Operations the table excuses (vectorException) are measured and not judged.
#include "compiler/check/Fill.h"
#include "compiler/driver/Session.h"
#include "dialects/graph/OpTable.h"
#include "dialects/graph/infer/Infer.h"
#include "tests/ops/GraphText.h"
#include "tests/vectorcode/Million.h"
#include "tools/devinfo/DevInfo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

using namespace tenon;
using namespace tenon::test;

namespace {

constexpr double kShare = 0.5; // of the bound
constexpr int kRounds = 4;     // of which one must reach it

double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// A compiled graph and memory for its ports.
class Model {
public:
  static Expected<std::unique_ptr<Model>> make(const graph::Graph &g) {
    auto compiled = Compiled::compile(g, Options());
    if (!compiled)
      return compiled.errors();
    auto exec = Executor::create({});
    if (!exec)
      return exec.errors();
    auto model = std::make_unique<Model>();
    model->compiled = std::move(*compiled);
    model->exec = std::move(*exec);
    auto values =
        check::fillInputs(model->compiled->graph(), 1, check::FillMode::real);
    if (!values)
      return values.errors();
    for (auto &[id, tensor] : *values) {
      void *data = model->allocate(id);
      const graph::LogicalTensor &t = model->compiled->graph().tensor(id);
      if (auto errors = reference::toMemory(tensor, t.effectiveStrides(),
                                            model->memory[id]);
          !errors.empty())
        return errors;
      model->in[id] = {data, *t.shape};
    }
    for (uint64_t id : model->compiled->graph().outputPorts)
      model->out[id] = {model->allocate(id),
                        *model->compiled->graph().tensor(id).shape};
    HostTensors constants;
    for (auto &[id, tensor] : model->in)
      if (model->compiled->graph().tensor(id).property ==
          graph::PropertyType::constant)
        constants[id] = tensor;
    if (auto ok = model->compiled->bindConstants(*model->exec, constants); !ok)
      return ok.errors();
    return model;
  }

  /// Seconds of the fastest of many runs; negative when a run fails.
  double bestSeconds() {
    double best = 1e9;
    double end = now() + 0.12;
    for (int i = 0; i < 8 || now() < end; ++i) {
      double start = now();
      if (!compiled->execute(*exec, in, out))
        return -1;
      best = std::min(best, now() - start);
    }
    return best;
  }

private:
  void *allocate(uint64_t id) {
    const graph::LogicalTensor &t = compiled->graph().tensor(id);
    memory[id].resize(
        reference::spannedBytes(t.dtype, *t.shape, t.effectiveStrides()));
    return memory[id].data();
  }

  std::unique_ptr<Compiled> compiled;
  std::unique_ptr<Executor> exec;
  std::map<uint64_t, std::vector<std::byte>> memory;
  HostTensors in, out;
};

/// Bytes per second of `body`, which goes over `bytes` bytes; the best of many.
template <typename Body> double rateOf(double bytes, Body body) {
  double best = 1e9;
  double end = now() + 0.03;
  for (int i = 0; i < 8 || now() < end; ++i) {
    double start = now();
    body();
    best = std::min(best, now() - start);
  }
  return bytes / best;
}

/// Bytes per second over memory of the size an operation touches.
struct Rates {
  double read = 0, write = 0, copy = 0;
};

__attribute__((target("avx2"), noinline)) uint64_t readAll(const uint64_t *from,
                                                           size_t words) {
  uint64_t bits = 0;
  for (size_t i = 0; i < words; ++i)
    bits |= from[i];
  return bits;
}

__attribute__((target("avx2"), noinline)) void
writeAll(uint64_t *to, size_t words, uint64_t value) {
  for (size_t i = 0; i < words; ++i)
    to[i] = value;
}

__attribute__((target("avx2"), noinline)) void
copyAll(uint64_t *__restrict to, const uint64_t *__restrict from,
        size_t words) {
  // A bit is cleared, or this would become a call of memcpy.
  for (size_t i = 0; i < words; ++i)
    to[i] = from[i] & ~(uint64_t(1) << 63);
}

/// Raises `rates` to what is measured on as many bytes as `work` names, so the
/// same caches hold them: on a busy machine the best ever seen is the truth.
/// `memory` is that of earlier calls: fresh pages are slow for a while.
void measure(const Work &work, std::vector<uint64_t> &memory, Rates &rates) {
  size_t words = size_t(work.readBytes + work.writtenBytes) / 8;
  if (memory.size() < words)
    memory.resize(words, 1);
  uint64_t *at = memory.data();
  double bytes = double(words) * 8;
  volatile uint64_t sink = 0;
  auto raise = [&](double &rate, auto body) {
    rate = std::max(rate, rateOf(bytes, body));
  };
  raise(rates.read, [&] { sink = readAll(at, words); });
  raise(rates.write, [&] { writeAll(at, words, sink + 1); });
  raise(rates.copy, [&] { copyAll(at, at + words / 2, words / 2); });
}

struct Bound {
  double seconds = 0;
  bool byArithmetic = false;
};

/// No less time is possible: as much as can be is copied, the rest only read or
/// only written, and arithmetic overlaps with that.
Bound boundOf(const Work &work, const Rates &rates, double peakGflops) {
  double copied = std::min(work.readBytes, work.writtenBytes);
  double seconds = 2 * copied / rates.copy +
                   (work.readBytes - copied) / rates.read +
                   (work.writtenBytes - copied) / rates.write;
  double arithmetic = work.flops / peakGflops * 1e-9;
  return {std::max(seconds, arithmetic), arithmetic > seconds};
}

TEST(Speed, HalfOfTheBound) {
  struct Case {
    std::string text;
    graph::Graph graph;
    std::unique_ptr<Model> model;
    double seconds = 1e9;
    double share = 0;
  };
  std::vector<uint64_t> memory;
  std::map<double, Rates> rates; // by bytes
  double peak = 0;
  std::vector<Case> open;
  for (const std::string &text : millionCases()) {
    auto g = parseGraph(text);
    ASSERT_TRUE(g) << str(g.errors());
    auto model = Model::make(*g);
    ASSERT_TRUE(model) << text << ": " << str(model.errors());
    open.push_back({text, std::move(*g), std::move(*model)});
  }
  std::printf("%-20s %10s %10s %10s %7s\n", "operation", "us", "GB/s",
              "GFLOP/s", "bound");
  // The machine may be busy: what misses gets more chances.
  for (int round = 0; round < kRounds && !open.empty(); ++round) {
    devinfo::DevInfo info = devinfo::measureMachine(/*quick=*/true);
    if (info.fmaGflopsYmm == 0)
      GTEST_SKIP() << "no AVX2 and FMA: there is no bound to measure";
    peak = std::max({peak, info.fmaGflopsYmm, info.fmaGflopsZmm});
    std::vector<Case> missed;
    for (Case &c : open) {
      Work work = workOf(c.graph);
      double seconds = c.model->bestSeconds();
      ASSERT_GT(seconds, 0) << c.text;
      seconds = c.seconds = std::min(c.seconds, seconds);
      Rates &known = rates[work.readBytes + work.writtenBytes];
      measure(work, memory, known);
      Bound bound = boundOf(work, known, peak);
      c.share = bound.seconds / seconds;
      const graph::OpInfo *op = graph::lookupOp(c.graph.ops[0].kind);
      bool excused = !op->vectorException.empty();
      std::printf("%-20s %10.1f %10.2f %10.2f %6.0f%% of %s%s\n",
                  c.graph.ops[0].kind.c_str(), seconds * 1e6,
                  (work.readBytes + work.writtenBytes) / seconds * 1e-9,
                  work.flops / seconds * 1e-9, bound.seconds / seconds * 100,
                  bound.byArithmetic ? "FMA" : "bandwidth",
                  excused ? " (excused)" : "");
      if (c.share < kShare && !excused)
        missed.push_back(std::move(c));
    }
    open = std::move(missed);
  }
  for (const Case &c : open)
    ADD_FAILURE() << c.text << ": best " << int(c.share * 100)
                  << " % of the bound";
}

} // namespace
