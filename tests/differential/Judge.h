//===- Judge.h - compiled against evaluated ---------------------*- C++ -*-===//
//
// The tolerance of compiler/check takes well-conditioned graphs for granted.
// Random ones are not: logarithms of differences, comparisons of sums. How much
// the results of a graph depend on small errors is measured: the evaluator runs
// again on inputs that are off by 2^-22, and results that it changes are
// allowed that much more. Where it even makes a NaN, an infinity or another
// integer, nothing can be said about the result.
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
  int loose = 0;   // of these, with a tolerance above 1e-2, or not judged

  /// One line per member, and back.
  std::string str() const;
  static Verdict parse(const std::string &text);
};

/// How a graph is judged.
struct JudgeConfig : RunConfig {
  /// Compiled with unknown batch sizes, when that is possible.
  bool dynamic = false;
};

/// How the graph of `seed` is compiled and executed: schedules, threads, pools,
/// fusion and unknown sizes take turns.
JudgeConfig configFor(uint64_t seed);
/// "avx2, 2 threads, not fused".
std::string describe(const JudgeConfig &config);

/// Compiles `graph`, executes it with several inputs and compares.
Verdict judgeGraph(const graph::Graph &graph, const JudgeConfig &config);
/// The same in a process of its own: a crash or hang is a failure, too.
Verdict judgeApart(const graph::Graph &graph, const JudgeConfig &config);

} // namespace tenon::test
