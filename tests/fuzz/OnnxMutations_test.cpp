// SPDX-License-Identifier: Apache-2.0
//
//   onnx_mutations_test COUNT FILE-OR-FOLDER...
//
// Changes each model COUNT times, those in folders, too, and imports it. None
// may crash, or take more time or memory than is allowed here. The input that
// ended the process is last.onnx in the folder of undeclared outputs.
#include "tests/fuzz/Fuzz.h"
#include "tests/fuzz/OnnxMutate.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/resource.h>
#include <sys/time.h>
#include <vector>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TENON_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define TENON_SANITIZED 1
#endif

namespace {

namespace fs = std::filesystem;

constexpr size_t kLargestModel = 1 << 16; // bytes
constexpr time_t kSeconds = 30;           // of the processor, for one input

void limitMemory() {
#ifndef TENON_SANITIZED // those reserve addresses without end
  constexpr rlim_t memory = rlim_t{3} << 30;
  rlimit limit{memory, memory};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

/// The process ends by SIGPROF unless this is called again in time.
void limitTime() {
  itimerval timer{{0, 0}, {kSeconds, 0}};
  setitimer(ITIMER_PROF, &timer, nullptr);
}

std::string contentOf(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void keep(const std::string &bytes) {
  const char *folder = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  std::ofstream(fs::path(folder ? folder : ".") / "last.onnx", std::ios::binary)
      << bytes;
}

/// In an order that is the same everywhere.
std::vector<fs::path> modelsIn(int count, char **arguments) {
  std::vector<fs::path> models;
  for (int i = 0; i < count; ++i) {
    std::error_code error;
    if (fs::is_directory(arguments[i], error)) {
      for (auto &entry : fs::recursive_directory_iterator(arguments[i], error))
        if (entry.path().extension() == ".onnx")
          models.push_back(entry.path());
    } else if (fs::exists(arguments[i], error)) {
      models.emplace_back(arguments[i]);
    }
  }
  std::ranges::sort(models);
  return models;
}

} // namespace

int main(int argc, char **argv) {
  int count = argc > 2 ? std::atoi(argv[1]) : 0, inputs = 0;
  limitMemory();
  for (const fs::path &path : modelsIn(argc - 2, argv + 2)) {
    std::string bytes = contentOf(path);
    if (bytes.size() > kLargestModel)
      continue;
    for (int seed = 0; seed < count; ++seed, ++inputs) {
      tenon::fuzz::Random random(seed * 1000003 + bytes.size());
      std::string changed = tenon::fuzz::mutateModel(bytes, random);
      if (seed % 3 == 2) // changes of changes
        changed = tenon::fuzz::mutateModel(changed, random);
      keep(changed);
      limitTime();
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(changed.data()),
                             changed.size());
    }
  }
  std::printf("%d inputs\n", inputs);
  // Models that were not found would pass for ever.
  return inputs > 0 ? 0 : 1;
}
