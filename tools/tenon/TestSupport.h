//===- TestSupport.h - the command as a user runs it ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <vector>

namespace tenon::test {

inline constexpr const char *kTenon = "tools/tenon/tenon";
inline constexpr const char *kMlp = "examples/mlp/mlp.json";
inline constexpr const char *kDynamic = "examples/mlp/mlp_dynamic.json";

struct Result {
  int code = -1;
  std::string out, err;

  bool has(const std::string &text) const {
    return out.find(text) != std::string::npos ||
           err.find(text) != std::string::npos;
  }
};

inline std::string scratch(const std::string &name) {
  return testing::TempDir() + "/tenon_test_" + name;
}

inline std::string contentOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void writeTo(const std::string &path, const std::string &text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// `arguments` goes through a shell; `prefix` may set variables.
inline Result tenon(const std::string &arguments,
                    const std::string &prefix = "") {
  std::string err = scratch("stderr");
  std::string line =
      prefix + " " + kTenon + " " + arguments + " 2>" + err + " </dev/null";
  Result result;
  // A shell is what users have: tests redirect and set limits.
  FILE *pipe = popen(line.c_str(), "r"); // NOLINT(bugprone-command-processor)
  if (!pipe)
    return result;
  char bytes[4096];
  while (size_t n = fread(bytes, 1, sizeof(bytes), pipe))
    result.out.append(bytes, n);
  int status = pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.err = contentOf(err);
  return result;
}

/// A chain of `kinds` over 64 numbers, op by op.
inline std::string chainOf(const std::vector<std::string> &kinds) {
  auto tensor = [](size_t id) {
    return R"({"id": )" + std::to_string(id) +
           R"(, "dtype": "f32", "shape": [64], "stride": [1],
               "layout_type": "strided"})";
  };
  std::string ops;
  for (size_t i = 0; i < kinds.size(); ++i)
    ops += (i ? ", " : "") + (R"({"id": )" + std::to_string(i)) +
           R"(, "name": "op)" + std::to_string(i) + R"(", "kind": ")" +
           kinds[i] + R"(", "attrs": {}, "inputs": [)" + tensor(i) +
           R"(], "outputs": [)" + tensor(i + 1) + "]}";
  return R"({"version": "3.14.0", "graph": [)" + ops + "]}";
}

/// The path of a new file.
inline std::string inScratch(const std::string &name, const std::string &text) {
  writeTo(scratch(name), text);
  return scratch(name);
}

} // namespace tenon::test

#define EXPECT_RESULT(result, expectedCode, text)                              \
  EXPECT_TRUE((result).code == (expectedCode) && (result).has(text))           \
      << "exit code " << (result).code << "\n"                                 \
      << (result).out << (result).err
