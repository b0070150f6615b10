//===- Chain.h - convolutions of NCX tensors around a Wildcard --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Through the interface that programs use: two compiled partitions, between
// them an operation that the program executes itself.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tenon::benchmarks {

struct ChainShape {
  int64_t channels = 64, size = 56; // of one image, size x size
  int64_t convolutions = 2;         // 3x3, with bias and ReLU, on each side
};

/// Layout of the edges at the Wildcard.
enum class Edges {
  plain, // dense NCX
  any    // the compiler's choice
};

class Chain {
public:
  /// Throws what the interface reports.
  Chain(const ChainShape &shape, Edges edges);
  ~Chain();
  Chain(Chain &&) noexcept;

  /// All of it once, with the calling thread.
  void run();
  /// Of the last run, NCX.
  const std::vector<float> &result() const;
  /// The graphs of the compiled partitions as they were compiled, JSON.
  const std::vector<std::string> &graphs() const;

  // Tensors of the graph.
  static constexpr uint64_t kInput = 0, kOutput = 1;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tenon::benchmarks
