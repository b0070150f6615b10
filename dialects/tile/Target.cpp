//===- Target.cpp - what code is generated for ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/tile/Target.h"

#include "mlir/AsmParser/AsmParser.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tenon::tile;

LogicalResult
TargetAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   int64_t vectorBits, int64_t numVectorRegisters,
                   int64_t bf16DotWidth, bool, int64_t int8DotWidth, bool, bool,
                   bool, bool, int64_t l2Bytes, int64_t fewRows,
                   int64_t fewRowsAhead, int64_t leastRows) {
  if (vectorBits < 32 || vectorBits > 512 || !llvm::isPowerOf2_64(vectorBits))
    return emitError() << "vector_bits is " << vectorBits
                       << ", must be a power of two from 32 to 512";
  auto atLeast = [&](StringRef name, int64_t value,
                     int64_t least) -> LogicalResult {
    if (value < least)
      return emitError() << name << " is " << value << ", the least value is "
                         << least;
    return success();
  };
  return success(
      succeeded(atLeast("num_vector_registers", numVectorRegisters, 4)) &&
      succeeded(atLeast("bf16_dot_width", bf16DotWidth, 1)) &&
      succeeded(atLeast("int8_dot_width", int8DotWidth, 1)) &&
      succeeded(atLeast("l2_bytes", l2Bytes, 1)) &&
      succeeded(atLeast("few_rows", fewRows, 0)) &&
      succeeded(atLeast("few_rows_ahead", fewRowsAhead, 0)) &&
      succeeded(atLeast("least_rows", leastRows, 0)));
}

TargetAttr tenon::tile::targetOf(Operation *op) {
  for (Operation *at = op; at; at = at->getParentOp())
    if (auto target = at->getAttrOfType<TargetAttr>(kTargetAttr))
      return target;
  return parseTarget("", op->getContext());
}

TargetAttr tenon::tile::parseTarget(StringRef fields, MLIRContext *context) {
  return dyn_cast_or_null<TargetAttr>(
      parseAttribute(("#tile.target<" + fields + ">").str(), context));
}
