//===- CheckSupported.cpp - what does not compile is said at once ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// An operation compiles when the operation table lists the element types of all
// its operands and results, and its form is one the passes after know. Each
// other operation gets an error with code, kind, name and reason; nothing is
// compiled then.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Diagnose.h"
#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "dialects/graph/PlainOp.h"
#include "dialects/support/Error.h"
#include "passes/Passes.h"
#include "passes/graph/Decompose.h"
#include "passes/ops/Interpolation.h"
#include "passes/ops/OpKinds.h"
#include "passes/support/Diagnose.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Permutations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tenon::passes {
#define GEN_PASS_DEF_CHECKSUPPORTED
#include "passes/Passes.h.inc"

namespace {

std::string typeName(Type type) {
  std::string s;
  llvm::raw_string_ostream os(s);
  os << type;
  return s;
}

/// Whether the table lists `element` among the types that compile.
bool compiles(const graph::OpInfo &info, Type element) {
  std::optional<graph::DType> dtype = graph::dtypeOf(element);
  return dtype && llvm::is_contained(info.compiles, graph::name(*dtype));
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

/// Whether sizes of what slides over spatial dims may be found when the code
/// runs; how those of the result follow from src is in the operation then.
bool findsSizes(Operation *op) {
  if (isa<graph::InterpolateOp>(op)) // and no filter is stretched
    return !boolAttr(op, "antialias") &&
           (!fractionsOf(op).empty() || op->hasAttr("sizes"));
  if (findsMaxima(op)) // positions count sizes of src
    return false;
  return isa<graph::AvgPoolOp, graph::MaxPoolOp, graph::ConvolutionOp,
             graph::ConvTransposeOp, graph::LRNOp, graph::LRNBackwardOp>(op);
}

/// The first operand or result of a window whose sizes are not known but should
/// be: those of weights, channels, and of some operations all but the batch.
std::optional<Error> checkWindow(Operation *op) {
  bool toWeights = graph::isWeightsGradient(op);
  auto unknown = [&](int64_t dim, const Twine &what) {
    return makeError(
        op, ErrorCode::UnsupportedForm,
        ("dimension " + Twine(dim) + " of " + what + " is not known").str());
  };
  auto checkData = [&](Value v) -> std::optional<Error> {
    auto type = rankedType(v);
    for (int64_t i = 1; i < type.getRank(); ++i)
      if (type.isDynamicDim(i) &&
          (!findsSizes(op) || i == channelDim(op, type.getRank())))
        return findsSizes(op)
                   ? unknown(i, "src or dst, that of channels,")
                   : makeError(op, ErrorCode::UnsupportedForm,
                               "only the batch may be dynamic, dimension " +
                                   std::to_string(i) + " is not known");
    return std::nullopt;
  };
  auto checkWeights = [&](Value v, StringRef what) -> std::optional<Error> {
    for (auto [i, d] : llvm::enumerate(rankedType(v).getShape()))
      if (ShapedType::isDynamic(d))
        return unknown(i, what);
    return std::nullopt;
  };
  if (auto e = checkData(op->getOperand(0)))
    return e;
  if (auto e = toWeights ? checkWeights(op->getResult(0), "the gradient")
                         : checkData(op->getResult(0)))
    return e;
  if (isa<graph::MaxPoolBackwardOp>(op))
    if (auto e = checkData(op->getOperand(1)))
      return e;
  if (graph::isConvolution(op))
    if (auto e = toWeights ? checkData(op->getOperand(1))
                           : checkWeights(op->getOperand(1), "weights"))
      return e;
  std::string mode = stringAttr(op, "auto_pad");
  if (mode != "None" && !mode.empty() &&
      (!findsSizes(op) || isa<graph::ConvTransposeOp>(op)))
    return makeError(op, ErrorCode::UnsupportedForm,
                     "auto_pad needs known spatial dimensions");
  return std::nullopt;
}

/// Windows whose lowering knows some of their forms.
std::optional<Error> checkWindowForm(Operation *op) {
  if (isa<graph::InterpolateOp, graph::InterpolateBackwardOp>(op) &&
      blendsTooMany(op))
    return makeError(op, ErrorCode::UnsupportedForm,
                     "more than " + std::to_string(kMaxBlended) +
                         " elements of src in one of dst do not compile yet");
  return std::nullopt;
}

/// Add and others bind their three types independently.
bool mixesIntegers(Operation *op) {
  auto isInteger = [](Value v) {
    return isa<IntegerType>(rankedType(v).getElementType());
  };
  bool first = isInteger(op->getOperand(0));
  return first != isInteger(op->getOperand(1)) ||
         first != isInteger(op->getResult(0));
}

/// Zero points of unknown number: one for all channels, or one per channel?
bool hasUnknownZeroPoints(Operation *op) {
  return op->getNumOperands() > 2 && stringAttr(op, "qtype") == "per_channel" &&
         !rankedType(op->getOperand(2)).hasStaticShape();
}

/// Groups of several elements are cut out of dimensions by reshapes, of known
/// sizes.
bool hasUnknownGroups(Operation *op) {
  if (stringAttr(op, "qtype") != "per_group")
    return false;
  auto src = rankedType(op->getOperand(0)),
       scales = rankedType(op->getOperand(1));
  for (auto [d, group] : llvm::enumerate(intsAttr(op, "group_shape")))
    if (group != 1 && (src.isDynamicDim(d) || scales.isDynamicDim(d)))
      return true;
  return false;
}

bool isRowMajor(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides) {
  std::optional<Order> order = orderInMemory(shape, strides);
  return order && (order->empty() || keepsMemory(shape, *order));
}

/// Whether `v` is the caller's memory and no result, of elements side by side,
/// which fill whole bytes, or of one.
bool isPackedInput(Value v) {
  auto type = rankedType(v);
  bool isResult = llvm::any_of(
      v.getUsers(), [](Operation *user) { return isa<func::ReturnOp>(user); });
  if (!isa<BlockArgument>(v) || isResult || !type.hasStaticShape())
    return false;
  auto layout = dyn_cast_or_null<graph::LayoutAttr>(type.getEncoding());
  return !layout || (layout.getStrides().size() == type.getShape().size() &&
                     orderInMemory(type.getShape(), layout.getStrides()));
}

/// Whether `v`, of elements that share bytes, has them in an order that fills
/// these, where the caller sees it.
bool isPackable(Value v) {
  if (isPackedInput(v))
    return true;
  Operation *def = v.getDefiningOp();
  if (!def || !graph::isQuantization(def))
    return false;
  auto type = rankedType(v);
  bool isResult = llvm::any_of(
      v.getUsers(), [](Operation *user) { return isa<func::ReturnOp>(user); });
  auto layout = dyn_cast_or_null<graph::LayoutAttr>(type.getEncoding());
  return !isResult || (type.hasStaticShape() &&
                       (!layout || layout.getStrides().empty() ||
                        isRowMajor(type.getShape(), layout.getStrides())));
}

/// Weights are packed by their sizes, and the loop over steps is one loop.
std::optional<Error> checkRecurrent(Operation *op) {
  // Each layer is compiled for itself. With no channels a shape of few
  // elements may have any other sizes.
  constexpr int64_t maxLayers = 256, maxChannels = int64_t(1) << 24;
  for (unsigned i : {1, 2}) {
    auto type = rankedType(op->getOperand(i));
    if (!type.hasStaticShape())
      return makeError(op, ErrorCode::UnsupportedForm,
                       "the shapes of weights must be known");
    if (type.getDimSize(0) > maxLayers)
      return makeError(op, ErrorCode::UnsupportedForm,
                       std::to_string(type.getDimSize(0)) +
                           " layers do not compile, at most " +
                           std::to_string(maxLayers) + " do");
    for (int64_t d : type.getShape())
      if (d > maxChannels)
        return makeError(op, ErrorCode::UnsupportedForm,
                         std::to_string(d) + " channels do not compile");
  }
  int64_t steps =
      rankedType(op->getOperand(0)).getDimSize(boolAttr(op, "batch_first"));
  int64_t states = rankedType(op->getOperand(2)).getDimSize(2);
  int64_t hidden = rankedType(op->getOperand(2)).getDimSize(4);
  Value projection;
  if (auto lstm = dyn_cast<graph::LSTMOp>(op))
    projection = lstm.getWeightsProjection();
  if (auto gradient = dyn_cast<graph::LSTMBackwardOp>(op))
    projection = gradient.getWeightsProjection();
  if (projection) // sets the width of h
    hidden = rankedType(projection).getDimSize(3);
  if (ShapedType::isDynamic(steps) && states != hidden)
    return makeError(op, ErrorCode::UnsupportedForm,
                     "states of " + std::to_string(states) + " channels and " +
                         std::to_string(hidden) +
                         " hidden units need one step, the number of steps is "
                         "not known");
  return std::nullopt;
}

/// The gradients of gamma and beta are summed over a view of src with channels
/// as groups, of which one size may follow from the others.
std::optional<Error> checkGroupNormBackward(Operation *op) {
  ArrayRef<int64_t> src = rankedType(op->getOperand(0)).getShape();
  int64_t unknown = llvm::count_if(src, ShapedType::isDynamic);
  if (op->getNumResults() == 1 || unknown < 2)
    return std::nullopt;
  return makeError(op, ErrorCode::UnsupportedForm,
                   "diff_gamma needs all sizes of src but one, " +
                       std::to_string(unknown) + " are not known");
}

/// Panels of constant weights are cut once, before any size is known.
std::optional<Error> checkMatMul(graph::MatMulOp op) {
  auto weights = rankedType(op.getWeights());
  int64_t rank = weights.getRank();
  if (rank < 2 || !isKnownOnce(op.getWeights()) ||
      !weights.isDynamicDim(boolAttr(op, "transpose_b") ? rank - 2 : rank - 1))
    return std::nullopt;
  return makeError(op, ErrorCode::UnsupportedForm,
                   "the columns of constant weights are not known");
}

/// Parts of tensors are found when they are compiled.
std::optional<Error> checkMovement(Operation *op) {
  auto unknownDims = [](Value v) {
    return llvm::count_if(rankedType(v).getShape(), ShapedType::isDynamic);
  };
  if (isa<graph::SliceOp>(op) && !sliceBoxOf(op))
    return makeError(op, ErrorCode::UnsupportedForm,
                     "begins and ends are not known, or go backwards along a "
                     "dimension whose size is not known or has a name");
  if (isa<graph::ReshapeOp, graph::StaticReshapeOp, graph::ExpandOp>(op) &&
      !canComputeSizes(op)) {
    Error e = makeError(op, ErrorCode::UnsupportedForm,
                        std::to_string(unknownDims(op->getResult(0))) +
                            " sizes of the result are not known");
    e.hint = "give them names: expressions of named sizes of inputs";
    return e;
  }
  if (isa<graph::GatherNDOp, graph::ScatterNDOp>(op) &&
      rankedType(op->getOperand(1))
          .isDynamicDim(rankedType(op->getOperand(1)).getRank() - 1))
    return makeError(op, ErrorCode::UnsupportedForm,
                     "the number of indices of a position is not known");
  bool needsSizes = isa<graph::RandomUniformOp>(op);
  if (isa<graph::TopKOp>(op)) {
    auto dst = rankedType(op->getResult(0));
    if (dst.isDynamicDim(normalizedAxis(intAttr(op, "axis"), dst.getRank())))
      return makeError(op, ErrorCode::UnsupportedForm, "k is not known");
  }
  bool isKnown = llvm::all_of(op->getResults(),
                              [&](Value v) { return unknownDims(v) == 0; });
  for (Value v : op->getOperands())
    isKnown &= unknownDims(v) == 0;
  if (needsSizes && !isKnown)
    return makeError(op, ErrorCode::UnsupportedForm,
                     "it compiles for known shapes only");
  return std::nullopt;
}

std::optional<Error> checkForm(Operation *op, const graph::OpInfo &info) {
  if (info.typeRule == "mixed" && mixesIntegers(op))
    return makeError(op, ErrorCode::UnsupportedDType,
                     "f32 and s32 in one operation do not compile yet");
  if (graph::isQuantization(op) && op->getNumOperands() > 1) {
    if (hasUnknownZeroPoints(op))
      return makeError(op, ErrorCode::UnsupportedForm,
                       "the number of zero points is not known");
    if (hasUnknownScaleGroups(op))
      return makeError(op, ErrorCode::UnsupportedForm,
                       "the number of scales of weights in groups is not "
                       "known");
    if (hasUnknownGroups(op))
      return makeError(op, ErrorCode::UnsupportedForm,
                       "per_group needs known dimensions");
  }
  if (graph::isQuantization(op))
    for (ValueRange values :
         {ValueRange(op->getOperands()), ValueRange(op->getResults())})
      for (Value v : values)
        if (rankedType(v).getElementType().isInteger(4) && !isPackable(v))
          return makeError(
              op, ErrorCode::UnsupportedForm,
              "elements of 4 bits need to be an input of the graph and no "
              "result, or quantized by it, and where a caller has them of "
              "known shape and dense, not " +
                  typeName(v.getType()));
  if (graph::forwardOf(info).opClass == graph::OpClass::recurrent)
    return checkRecurrent(op);
  // What slides over spatial dims.
  if (graph::isWindow(op) || graph::isConvolution(op))
    if (auto e = checkWindow(op))
      return e;
  if (auto e = checkMovement(op))
    return e;
  if (auto product = dyn_cast<graph::MatMulOp>(op))
    if (auto e = checkMatMul(product))
      return e;
  if (isa<graph::GroupNormBackwardOp>(op))
    if (auto e = checkGroupNormBackward(op))
      return e;
  if (info.reducedDims == graph::ReducedDims::axes && op->getNumOperands() > 1)
    return makeError(op, ErrorCode::UnsupportedForm,
                     "axes given by a tensor do not compile");
  return std::nullopt;
}

/// Whether operand `i` only gives the shape of a result.
bool readsShape(const graph::OpInfo &info, size_t i) {
  return i < info.operands.size() && info.operands[i].isShape;
}

std::optional<Error> check(Operation *op) {
  if (auto e = checkShapes(op))
    return e;
  const graph::OpInfo &info = graph::infoOf(op);
  if (info.compiles.empty())
    return makeError(op, ErrorCode::UnsupportedOp,
                     "the operation does not compile yet");
  if (auto e = checkWindowForm(op))
    return e;
  SmallVector<Value> values(op->getResults());
  for (auto [i, v] : llvm::enumerate(op->getOperands()))
    if (!readsShape(info, i)) // inference has read it
      values.push_back(v);
  for (Value v : values) {
    Type element = rankedType(v).getElementType();
    if (!compiles(info, element))
      return makeError(op, ErrorCode::UnsupportedDType,
                       "element type " + typeName(element) +
                           " does not compile yet");
  }
  if (auto e = checkForm(op, info))
    return e;
  return std::nullopt;
}

struct CheckSupportedPass : impl::CheckSupportedBase<CheckSupportedPass> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (auto literal = dyn_cast<arith::ConstantOp>(op)) {
        auto dense = dyn_cast<DenseElementsAttr>(literal.getValue());
        if (!dense) {
          emitError(op, ErrorCode::UnsupportedForm,
                    "only dense literals compile");
          signalPassFailure();
        }
        return;
      }
      if (kindOf(op).empty())
        return;
      if (std::optional<Error> e = check(op)) {
        graph::report(op, *e);
        signalPassFailure();
      }
    });
  }
};

} // namespace
} // namespace tenon::passes
