//===- FusionPatterns.h - what another library fuses by table --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The fusion patterns that oneDNN's graph backend registers for CPUs, as small
// graphs.  Here nothing matches them: they are tests of general fusion.
// docs/fusion-patterns.md says what this compiler makes of each.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::test {

struct FusionPattern {
  std::string family; // "Convolution", a section of the document
  std::string pass;   // its name there
  std::string shape;  // which of the graphs it stands for this is
  std::string graph;  // GraphText.h
};

using FusionPatterns = std::vector<FusionPattern>;

FusionPatterns convolutionPatterns();
FusionPatterns transposedConvolutionPatterns();
FusionPatterns matmulPatterns();
FusionPatterns poolingPatterns();
FusionPatterns otherPatterns();
FusionPatterns attentionPatterns();
FusionPatterns gatedMlpPatterns();
FusionPatterns residualPatterns();
/// None of that library: rotary embeddings, caches, embeddings.
FusionPatterns modelPatterns();
/// All of the above, in this order.
FusionPatterns fusionPatterns();

/// `n` scales of channels, powers of two.
std::string channelScales(int64_t n);
/// A constant s8 tensor `shape` as f32, with a scale per channel of `axis`.
std::string weights(const std::string &name, const std::string &shape, int axis,
                    int64_t channels);

} // namespace tenon::test
