//===- Conversions.h - what operators of ONNX become -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// One row per operator and version that changed its meaning. Tables are grouped
// as operations are in dialects/graph/*.td, a file for each.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/onnx/NodeContext.h"

#include <span>

namespace tenon::onnx {

/// The operator set of ONNX itself; "ai.onnx" is another name of it.
inline constexpr std::string_view kOnnxDomain = "";
/// Operators that optimised and quantised models have beside those of ONNX.
inline constexpr std::string_view kMicrosoftDomain = "com.microsoft";

/// The name of `domain` that rows have.
std::string_view canonicalDomain(std::string_view domain);

struct OpConversion {
  std::string_view opType;
  /// The first version of the operator set with this meaning.
  int64_t since;
  void (*convert)(NodeContext &node);
  /// The operation, where `convert` serves several operators.
  std::string_view kind = {};
  std::string_view domain = kOnnxDomain;
};

/// A row of com.microsoft, whose set has had one version only.
constexpr OpConversion microsoft(std::string_view opType,
                                 void (*convert)(NodeContext &node),
                                 std::string_view kind = {}) {
  return {opType, 1, convert, kind, kMicrosoftDomain};
}

/// The row for `opType` of `domain` in version `opset`; null: there is none.
const OpConversion *findConversion(std::string_view domain,
                                   std::string_view opType, int64_t opset);

/// The tables of all operators.
std::vector<std::span<const OpConversion>> conversionTables();

/// Adds pads_begin, pads_end and auto_pad of a window over `spatial` dims.
void addPads(NodeContext &node, size_t spatial, graph::AttrMap &attrs);

/// The same numbers in another type. Of 4 bits they are made from f32, rounded
/// to even; what is beyond the range of 8-bit floats stays beyond it.
Value converted(NodeContext &n, Value x, DType type);
/// Numbers of f32 in a narrower type, the nearest bound where they are beyond
/// it.
Value saturated(NodeContext &n, Value x, DType type);

/// Numbers of channels as normalisations take them: those of f16 in f32.
Value normNumbers(NodeContext &n, Value numbers);

/// Attributes of pooling.
graph::AttrMap averagePoolAttrs(NodeContext &n);
graph::AttrMap maxPoolAttrs(NodeContext &n);

/// AveragePool whose windows have gaps.
void dilatedAveragePool(NodeContext &n);

/// Gemm: alpha * A B + beta * C.
Value gemmOf(NodeContext &n);

/// Attributes of a convolution with these weights, in this format.
graph::AttrMap convAttrs(NodeContext &node, Value weights, std::string format);

std::span<const OpConversion> elementwiseConversions();
std::span<const OpConversion> activationConversions();
std::span<const OpConversion> reduceConversions();
std::span<const OpConversion> normConversions();
std::span<const OpConversion> movementConversions();
std::span<const OpConversion> partConversions();
std::span<const OpConversion> padConversions();
std::span<const OpConversion> shapeConversions();
std::span<const OpConversion> indexingConversions();
std::span<const OpConversion> searchConversions();
std::span<const OpConversion> windowConversions();
std::span<const OpConversion> randomConversions();
std::span<const OpConversion> contractionConversions();
std::span<const OpConversion> einsumConversions();
std::span<const OpConversion> quantConversions();
std::span<const OpConversion> recurrentConversions();
std::span<const OpConversion> lossConversions();
std::span<const OpConversion> spectrumConversions();
std::span<const OpConversion> gridSampleConversions();
std::span<const OpConversion> attentionConversions();
std::span<const OpConversion> stateConversions();
std::span<const OpConversion> classicConversions();
std::span<const OpConversion> uniqueConversions();
std::span<const OpConversion> resizeConversions();
std::span<const OpConversion> patchConversions();
std::span<const OpConversion> microsoftConversions();
std::span<const OpConversion> microsoftAttentionConversions();
std::span<const OpConversion> microsoftQuantConversions();
std::span<const OpConversion> controlFlowConversions();
std::span<const OpConversion> scanConversions();

} // namespace tenon::onnx
