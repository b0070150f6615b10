//===- UnknownSizes.h - one compilation, several shapes ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/e2e/Harness.h"
#include "tests/ops/GraphText.h"

#include <gtest/gtest.h>

namespace tenon::test {

/// The kinds of the groups that `text` becomes, in order; empty if it does not
/// compile.
inline std::string groupKinds(const std::string &text,
                              const Options &options = {}) {
  CompileReport report;
  auto graph = parseGraph(text);
  EXPECT_TRUE(graph) << text << ": " << str(graph.errors());
  if (!graph)
    return "";
  auto model = Compiled::compile(*graph, options, &report);
  EXPECT_TRUE(model) << text << ": " << str(model.errors());
  std::string all;
  for (const GroupStats &group : report.mainGroups)
    all += (all.empty() ? "" : " ") + group.kind;
  return all;
}

/// `dynamic` compiled once, executed with the shapes of `text`.
inline void checkShapes(const std::string &dynamic,
                        const std::vector<std::string> &texts) {
  auto graph = parseGraph(dynamic);
  ASSERT_TRUE(graph) << str(graph.errors());
  for (const char *schedule : {"avx2", "avx512"}) {
    RunConfig c;
    c.options.schedule = schedule;
    auto model = Compiled::compile(*graph, c.options);
    ASSERT_TRUE(model) << dynamic << ": " << str(model.errors());
    for (const std::string &text : texts) {
      auto concrete = parseGraph(text);
      ASSERT_TRUE(concrete) << str(concrete.errors());
      auto oracle = Oracle::make(*concrete);
      ASSERT_TRUE(oracle) << str(oracle.errors());
      for (int threads : {1, 3}) {
        c.threads = threads;
        auto results = execute(**model, *oracle, c);
        ASSERT_TRUE(results) << text << ": " << str(results.errors());
        EXPECT_TRUE(agrees(*oracle, *results)) << text << ", " << threads;
      }
    }
  }
}

} // namespace tenon::test
