//===- Replay.cpp - the inputs of a corpus in an ordinary build -----------===//
// SPDX-License-Identifier: Apache-2.0
//
//   replay FILE...      calls the target once for each; none may crash
//
//===----------------------------------------------------------------------===//
#include "tests/fuzz/Fuzz.h"

#include <fstream>
#include <iterator>
#include <vector>

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "%s: cannot be read\n", argv[i]);
      return 1;
    }
    std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    // The last line tells which input crashed.
    std::fprintf(stderr, "%s (%zu bytes)\n", argv[i], bytes.size());
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(bytes.data()),
                           bytes.size());
  }
  std::printf("%d inputs\n", argc - 1);
  // A corpus that was not found would pass for ever.
  return argc > 1 ? 0 : 1;
}
