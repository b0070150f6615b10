// SPDX-License-Identifier: Apache-2.0
// Patterns that another library fuses by table: number of groups and bytes
// between them are those of docs/fusion-patterns.md.
#include "tests/ops/FusionPatterns.h"

#include "compiler/driver/Session.h"
#include "tests/ops/GraphText.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

using namespace tenon;
using namespace tenon::test;

namespace {

/// Where the numbers are; relative to the runfiles.
constexpr const char *kDocument = "docs/fusion-patterns.md";

/// Panels are as wide as vectors are: the document means this target.
Options documentedTarget() {
  Options options;
  options.targetCpu = "x86-64-v3";
  return options;
}

/// The cells of a row of a Markdown table; empty for any other line.
std::vector<std::string> cellsOf(const std::string &line) {
  std::vector<std::string> cells;
  if (!line.starts_with("| "))
    return cells;
  for (size_t at = 2; at < line.size();) {
    size_t end = line.find('|', at);
    if (end == line.npos)
      return {};
    // Empty cells are one space.
    cells.push_back(line.substr(at, end > at ? end - at - 1 : 0));
    at = std::min(end + 2, line.size());
  }
  return cells;
}

/// What the document says.
struct Document {
  /// By pass and shape: groups, bytes, reasons, as written.
  std::map<std::string, std::vector<std::string>> rows;
  /// Of each section, in order.
  std::map<std::string, std::vector<std::string>> keysOfFamily;
  /// By reason: how many rows have it.
  std::map<std::string, std::string> reasons;

  static const Document &get() {
    static const Document document;
    return document;
  }

private:
  Document() {
    std::ifstream file(kDocument);
    std::string family;
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("## "))
        family = line.substr(3);
      std::vector<std::string> cells = cellsOf(line);
      if (cells.size() == 5 && cells[0] != "pass") {
        std::string key = cells[0] + " | " + cells[1];
        EXPECT_TRUE(rows.insert({key, {cells.begin() + 2, cells.end()}}).second)
            << "twice: " << key;
        keysOfFamily[family].push_back(key);
      } else if (cells.size() == 3 && cells[0] != "reason") {
        reasons[cells[0]] = cells[1];
      }
    }
  }
};

std::string keyOf(const FusionPattern &pattern) {
  return pattern.pass + " | " + pattern.shape;
}

class Patterns : public testing::TestWithParam<FusionPattern> {};

TEST_P(Patterns, HaveTheDocumentedGroups) {
  const FusionPattern &pattern = GetParam();
  auto row = Document::get().rows.find(keyOf(pattern));
  auto graph = parseGraph(pattern.graph);
  ASSERT_TRUE(graph) << str(graph.errors());
  CompileReport report;
  auto model = Compiled::compile(*graph, documentedTarget(), &report);
  ASSERT_TRUE(model) << str(model.errors());
  std::string groups = std::to_string(report.mainGroups.size());
  std::string bytes = std::to_string(report.unsharedBytes);
  std::string expected =
      "| " + keyOf(pattern) + " | " + groups + " | " + bytes + " | REASONS |";
  std::string list, kinds;
  for (const GroupStats &group : report.mainGroups) {
    kinds += group.kind + " ";
    list += "\n  " + group.label + " (" + group.kind + ")";
  }
  ASSERT_NE(row, Document::get().rows.end()) << kDocument << " lacks\n"
                                             << expected << list;
  EXPECT_EQ(row->second[0], groups) << expected << list;
  EXPECT_EQ(row->second[1], bytes) << expected << list;
  // Reasons that are kinds of groups.
  auto both = [&](const char *reason, const char *kind) {
    EXPECT_EQ(row->second[2].find(reason) != std::string::npos,
              kinds.find(kind) != std::string::npos)
        << reason << list;
  };
  both("packing", "pack ");
  both("copy", "copy ");
}

std::string nameOf(const testing::TestParamInfo<FusionPattern> &info) {
  return std::to_string(info.index) + "_" + info.param.pass;
}

INSTANTIATE_TEST_SUITE_P(All, Patterns, testing::ValuesIn(fusionPatterns()),
                         nameOf);

/// The document has the rows of the table and no others, where they belong.
TEST(FusionDocument, HasTheRowsOfTheTable) {
  std::map<std::string, std::vector<std::string>> expected;
  for (const FusionPattern &pattern : fusionPatterns())
    expected[pattern.family].push_back(keyOf(pattern));
  EXPECT_EQ(Document::get().keysOfFamily, expected);
}

/// What is not one group says why, in the words of the document, and nothing
/// else does.
TEST(FusionDocument, EveryExceptionHasAReason) {
  const Document &document = Document::get();
  std::map<std::string, int> used;
  for (auto &[key, cells] : document.rows) {
    bool one = cells[0] == "1" && cells[1] == "0";
    EXPECT_EQ(cells[2].empty(), one) << key;
    ++used["all rows"];
    used["one group"] += one;
    std::string reasons = cells[2];
    while (!reasons.empty()) {
      size_t comma = std::min(reasons.find(", "), reasons.size());
      ++used[reasons.substr(0, comma)];
      reasons.erase(0, comma + 2);
    }
  }
  std::map<std::string, std::string> counts;
  for (auto [reason, count] : used)
    counts[reason] = std::to_string(count);
  EXPECT_EQ(document.reasons, counts);
}

} // namespace
