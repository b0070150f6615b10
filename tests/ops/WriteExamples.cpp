//===- WriteExamples.cpp - a test of every operation's example ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Prints one program with the examples that `tenon ops KIND --example` prints,
// a case each. Its build fails if one is no valid program, and the case if it
// does not return 0.
//
//===----------------------------------------------------------------------===//
#include "tools/tenon/OpExample.h"

#include <cstdio>

using namespace tenon;

int main() {
  int missing = 0;
  std::printf("#include <gtest/gtest.h>\n");
  for (const graph::OpInfo &info : graph::allOps()) {
    if (info.compiles.empty() || info.opClass == graph::OpClass::structural)
      continue;
    std::string kind(info.kind);
    auto text = cli::exampleOf(info);
    if (!text) {
      std::fprintf(stderr, "%s\n", str(text.errors()).c_str());
      ++missing;
      continue;
    }
    std::printf("#define main example%s\n%s#undef main\n"
                "TEST(OpExamples, %s) { EXPECT_EQ(example%s(), 0); }\n",
                kind.c_str(), text->c_str(), kind.c_str(), kind.c_str());
  }
  return missing != 0;
}
