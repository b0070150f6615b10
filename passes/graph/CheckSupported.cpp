//===- CheckSupported.cpp - what does not compile is said at once ---------===//
//
// An operation compiles when the operation table lists one of its element
// types, and its form is one the passes behind know. Each other operation gets
// an error with code, kind, name and reason; nothing is compiled then.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/PlainOp.h"
#include "dialects/support/Error.h"
#include "passes/Passes.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_CHECKSUPPORTED
#include "passes/Passes.h.inc"

namespace {

std::string typeName(Type element) {
  std::string s;
  llvm::raw_string_ostream os(s);
  os << element;
  return s;
}

/// Element types that loops and products compute with. Others may only be
/// moved or converted.
bool isComputeType(Operation *op, Type element) {
  if (element.isF32())
    return true;
  // Index arithmetic of masks, and conditions.
  if (element.isSignedInteger(32))
    return isKind(op, "Add") || isKind(op, "Subtract") ||
           isKind(op, "GreaterEqual");
  if (element.isInteger(1))
    return isKind(op, "Select") || isKind(op, "GreaterEqual");
  return isKind(op, "TypeCast") && isa<FloatType>(element);
}

Error makeError(Operation *op, ErrorCode code, const std::string &message) {
  Error e;
  e.code = code;
  e.opKind = kindOf(op).str();
  e.opName = nameOf(op->getLoc());
  e.message = message;
  return e;
}

std::optional<Error> checkShapes(Operation *op) {
  for (Value v : op->getOperands())
    if (!isa<RankedTensorType>(v.getType()))
      return makeError(op, ErrorCode::UnknownShape,
                       "an operand has no known rank");
  for (Value v : op->getResults())
    if (!isa<RankedTensorType>(v.getType()))
      return makeError(op, ErrorCode::UnknownShape,
                       "the result has no known rank");
  return std::nullopt;
}

bool hasUnknownColumns(Operation *matmul) {
  ArrayRef<int64_t> shape = rankedType(matmul->getOperand(1)).getShape();
  if (shape.size() < 2)
    return false;
  bool transposed = boolAttr(matmul, "transpose_b");
  return ShapedType::isDynamic(shape[shape.size() - (transposed ? 2 : 1)]);
}

std::optional<Error> check(Operation *op) {
  if (auto e = checkShapes(op))
    return e;
  const graph::OpInfo &info = graph::infoOf(op);
  if (info.compiles.empty())
    return makeError(op, ErrorCode::UnsupportedOp,
                     "the operation does not compile yet");
  if ((kindOf(op).starts_with("Interpolate") &&
       op->getNumOperands() > (isKind(op, "Interpolate") ? 1 : 2)) ||
      (isKind(op, "AvgPoolBackward") && op->getNumOperands() > 1))
    return makeError(op, ErrorCode::UnsupportedForm,
                     "a shape given by a tensor does not compile");
  for (ValueRange values :
       {ValueRange(op->getOperands()), ValueRange(op->getResults())})
    for (Value v : values) {
      Type element = rankedType(v).getElementType();
      if (!isComputeType(op, element))
        return makeError(op, ErrorCode::UnsupportedDType,
                         "element type " + typeName(element) +
                             " does not compile yet");
    }
  if (isKind(op, "Add") || isKind(op, "Subtract") ||
      isKind(op, "GreaterEqual")) {
    auto isInteger = [](Value v) {
      return isa<IntegerType>(rankedType(v).getElementType());
    };
    bool mixed = isInteger(op->getOperand(0)) != isInteger(op->getOperand(1));
    bool result = !isKind(op, "GreaterEqual") &&
                  isInteger(op->getOperand(0)) != isInteger(op->getResult(0));
    if (mixed || result)
      return makeError(op, ErrorCode::UnsupportedDType,
                       "f32 and s32 in one operation do not compile yet");
  }
  bool window =
      info.category == "window_spatial" || isKind(op, "Convolution") ||
      isKind(op, "MaxPoolBackward") || isKind(op, "AvgPoolBackward") ||
      isKind(op, "InterpolateBackward") || kindOf(op).starts_with("LRN");
  if (window) {
    for (Value v : {Value(op->getOperand(0)), Value(op->getResult(0))})
      for (auto [i, d] : llvm::enumerate(rankedType(v).getShape()))
        if (i > 0 && ShapedType::isDynamic(d))
          return makeError(op, ErrorCode::UnsupportedForm,
                           "only the batch may be dynamic, dimension " +
                               std::to_string(i) + " is not known");
    if (stringAttr(op, "auto_pad") != "None" &&
        !stringAttr(op, "auto_pad").empty())
      return makeError(op, ErrorCode::UnsupportedForm,
                       "auto_pad needs known spatial dimensions");
  }
  if (isKind(op, "MatMul") && hasUnknownColumns(op))
    return makeError(op, ErrorCode::UnsupportedForm,
                     "the number of columns of weights is not known");
  if (kindOf(op).starts_with("Reduce") && op->getNumOperands() > 1)
    return makeError(op, ErrorCode::UnsupportedForm,
                     "axes given by a tensor do not compile");
  return std::nullopt;
}

struct CheckSupportedPass : impl::CheckSupportedBase<CheckSupportedPass> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (auto literal = dyn_cast<arith::ConstantOp>(op)) {
        auto dense = dyn_cast<DenseElementsAttr>(literal.getValue());
        if (!dense || !dense.isSplat()) {
          op->emitError("E2003: literals of several values do not compile");
          signalPassFailure();
        }
        return;
      }
      if (kindOf(op).empty())
        return;
      if (std::optional<Error> e = check(op)) {
        op->emitError(e->str());
        signalPassFailure();
      }
    });
  }
};

} // namespace
} // namespace tenon
