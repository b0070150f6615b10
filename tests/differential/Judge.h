//===- Judge.h - compiled against evaluated ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Random graphs are ill-conditioned now and then: logarithms of differences,
// comparisons of sums. Results are judged as by `tenon check`, which measures
// that (compiler/check/Conditioning.h). Where squares and sums of what is on
// the way may overflow in f32, nothing can be said about a result.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/e2e/Harness.h"

namespace tenon::test {

struct Verdict {
  enum State {
    passed,
    unsupported, // a form or type that does not compile yet, said with a code
    failed,
    unstable // wrong for some data only: most likely at a discontinuity
  } state = passed;
  /// What kind of failure: "mismatch", or a code; the reducer keeps it.
  std::string kind;
  std::string message;
  int outputs = 0; // judged
  int loose = 0;   // of these, with ill-conditioned elements, or not judged
  /// Whether it was compiled with sizes that are not known.
  bool unknown = false;
  /// Why it was not, although it should have been: a row of
  /// docs/unknown-sizes.md.
  std::string refusal;

  /// One line per member, and back.
  std::string str() const;
  static Verdict parse(const std::string &text);
};

/// How a graph is judged.
struct JudgeConfig : RunConfig {
  /// Compiled with sizes that are not known, if so, when that is possible, and
  /// executed with two sets of sizes. The number says which ones (Unknown.h).
  std::optional<uint64_t> unknown;
};

/// How the graph of `seed` is compiled and executed: schedules, threads, pools,
/// fusion and unknown sizes take turns.
JudgeConfig configFor(uint64_t seed);
/// "avx2, 2 threads, not fused".
std::string describe(const JudgeConfig &config);

/// Compiles `graph`, executes it with several inputs and compares. What does
/// not compile while sizes are unknown, but does when they are known, fails
/// unless the reason is a documented one.
Verdict judgeGraph(const graph::Graph &graph, const JudgeConfig &config);
/// The same in a process of its own: a crash or hang is a failure, too.
Verdict judgeApart(const graph::Graph &graph, const JudgeConfig &config);

} // namespace tenon::test
