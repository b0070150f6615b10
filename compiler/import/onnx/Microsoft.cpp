// SPDX-License-Identifier: Apache-2.0
//
// Operators of com.microsoft: those of ONNX joined with what stands before or
// after them.
#include "compiler/import/onnx/Conversions.h"

namespace tenon::onnx {

/// x * sigmoid(alpha * x).
static void quickGelu(NodeContext &n) {
  Value x = n.in(0), alpha = n.like(x, n.number("alpha", 1.702f));
  Value gate = n.op("Sigmoid", {n.op("Multiply", {x, alpha})});
  n.out(0, n.op("Multiply", {x, gate}));
}

std::span<const OpConversion> microsoftConversions() {
  static constexpr OpConversion table[] = {
      microsoft("QuickGelu", quickGelu),
  };
  return table;
}

} // namespace tenon::onnx
