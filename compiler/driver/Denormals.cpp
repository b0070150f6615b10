//===- Denormals.cpp - whether a model wants them flushed -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Denormals.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tenon {

/// Whether one of the f32 in `bytes` is a denormal number.
static bool hasDenormal(std::span<const std::byte> bytes) {
  constexpr size_t kChunk = 1024;
  uint32_t words[kChunk];
  while (bytes.size() >= sizeof(uint32_t)) {
    size_t count = std::min(bytes.size() / sizeof(uint32_t), kChunk);
    std::memcpy(words, bytes.data(), count * sizeof(uint32_t));
    // Without a branch: vectors of comparisons.
    uint32_t found = 0;
    for (size_t i = 0; i < count; ++i) {
      uint32_t magnitude = words[i] & 0x7fffffffu;
      found |= magnitude != 0 && magnitude < 0x00800000u;
    }
    if (found)
      return true;
    bytes = bytes.subspan(count * sizeof(uint32_t));
  }
  return false;
}

Options decideDenormals(Options options, const graph::Graph &graph,
                        const Constants &constants) {
  if (options.denormals != kAutoDenormals)
    return options;
  bool flush = std::ranges::any_of(graph.inputPorts, [&](uint64_t id) {
    const auto *bytes = constants.find(id);
    return bytes && graph.tensor(id).dtype == graph::DType::f32 &&
           hasDenormal(*bytes);
  });
  options.denormals = flush ? kFlushDenormals : kKeepDenormals;
  return options;
}

} // namespace tenon
