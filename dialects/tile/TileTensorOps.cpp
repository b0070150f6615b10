// SPDX-License-Identifier: Apache-2.0
#include "dialects/support/Rounding.h"
#include "dialects/tile/TileDialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tenon::tile;

static int64_t panels(int64_t n, int64_t panel) {
  return ShapedType::isDynamic(n) ? n : tenon::ceilDiv(n, panel);
}

RankedTensorType PackOp::packedType(RankedTensorType weights, int64_t panel,
                                    std::optional<int64_t> groups,
                                    int64_t interleave) {
  ArrayRef<int64_t> shape = weights.getShape();
  int64_t n = shape.back();
  SmallVector<int64_t> packed;
  if (!groups) {
    packed.assign(shape.begin(), shape.end() - 2);
    packed.push_back(panels(n, panel));
    packed.push_back(shape[shape.size() - 2]);
  } else {
    packed.push_back(*groups);
    packed.push_back(panels(ShapedType::isDynamic(n) ? n : n / *groups, panel));
    packed.append(shape.begin(), shape.end() - 1);
  }
  if (interleave > 1)
    packed.back() = panels(packed.back(), interleave);
  packed.push_back(panel);
  if (interleave > 1)
    packed.push_back(interleave);
  return RankedTensorType::get(packed, weights.getElementType());
}

void PackOp::build(OpBuilder &b, OperationState &state, Value weights,
                   int64_t panel, std::optional<int64_t> groups,
                   int64_t interleave) {
  state.addOperands(weights);
  state.addAttribute("panel", b.getI64IntegerAttr(panel));
  if (groups)
    state.addAttribute("groups", b.getI64IntegerAttr(*groups));
  state.addAttribute("interleave", b.getI64IntegerAttr(interleave));
  state.addTypes(packedType(cast<RankedTensorType>(weights.getType()), panel,
                            groups, interleave));
}

LogicalResult PackOp::verify() {
  auto weights = cast<RankedTensorType>(getWeights().getType());
  if (weights.getRank() < 2)
    return emitOpError("weights have rank ")
           << weights.getRank() << ", at least 2 is needed";
  if (getPanel() < 1 || (getGroups() && *getGroups() < 1))
    return emitOpError("panel and groups are at least 1");
  if (getFlipped() && !getGroups())
    return emitOpError("only weights of a convolution have taps to flip");
  if (getInterleave() != 1 && getInterleave() != 2 && getInterleave() != 4)
    return emitOpError("interleave is ")
           << getInterleave() << ", must be 1, 2 or 4";
  if (getGroups() && !weights.isDynamicDim(weights.getRank() - 1) &&
      weights.getShape().back() % *getGroups())
    return emitOpError() << weights.getShape().back()
                         << " columns do not divide into " << *getGroups()
                         << " groups";
  Type expected = packedType(weights, getPanel(), getGroups(), getInterleave());
  if (getPacked().getType() != expected)
    return emitOpError("result is ")
           << getPacked().getType() << ", expected " << expected;
  return success();
}

LogicalResult FlipOp::verify() {
  if (cast<RankedTensorType>(getWeights().getType()).getRank() < 3)
    return emitOpError("weights of a convolution have taps and two dims more, "
                       "got ")
           << getWeights().getType();
  return success();
}

void PackQuantizedOp::build(OpBuilder &b, OperationState &state, Value weights,
                            Value scales, Value zeroPoints, int64_t panel,
                            QuantizedWeightsAttr quantized) {
  auto type = cast<RankedTensorType>(weights.getType());
  auto byte = b.getIntegerType(8, /*isSigned=*/false);
  build(b, state,
        RankedTensorType::get({panels(type.getDimSize(1), panel),
                               quantized.rows(type.getDimSize(0)), panel},
                              byte),
        weights, scales, zeroPoints, b.getI64IntegerAttr(panel), quantized);
}

LogicalResult PackQuantizedOp::verify() {
  auto weights = cast<RankedTensorType>(getWeights().getType());
  QuantizedWeightsAttr quantized = getQuantized();
  if (weights.getRank() != 2 || !weights.hasStaticShape() ||
      !weights.getElementType().isInteger(8) ||
      !quantized.divides(weights.getDimSize(0)))
    return emitOpError("needs bytes [K, N] of static shape, K divided by the "
                       "groups, has ")
           << weights;
  int64_t k = weights.getDimSize(0), n = weights.getDimSize(1);
  auto check = [&](Value v, bool isNeeded, Type element,
                   StringRef what) -> LogicalResult {
    if (!v && !isNeeded)
      return success();
    auto expected =
        RankedTensorType::get({k / quantized.groupOf(k), n}, element);
    if (!v || !isNeeded || v.getType() != expected)
      return emitOpError() << what << " must be "
                           << (isNeeded ? "" : "absent, not ") << expected;
    return success();
  };
  if (failed(check(getScales(), quantized.hasScales(),
                   Float32Type::get(getContext()), "scales")) ||
      failed(check(getZeroPoints(), quantized.getZeroPoints(),
                   weights.getElementType(), "zero points")))
    return failure();
  auto packed = cast<RankedTensorType>(getPacked().getType());
  auto panel = static_cast<int64_t>(getPanel());
  SmallVector<int64_t> shape{panels(n, panel), quantized.rows(k), panel};
  if (packed.getShape() != ArrayRef(shape) ||
      !packed.getElementType().isUnsignedInteger(8))
    return emitOpError("result is ") << packed << ", expected ui8 of " << shape;
  return success();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {

/// Whether two sizes can be the same; unknown ones can.
bool mayEqual(int64_t x, int64_t y) {
  return x == y || ShapedType::isDynamic(x) || ShapedType::isDynamic(y);
}

/// Fails, naming `what`, unless the sizes can be the same.
LogicalResult match(Operation *op, const Twine &what, int64_t actual,
                    int64_t expected) {
  if (mayEqual(actual, expected))
    return success();
  return op->emitOpError() << what << " is " << actual << ", expected "
                           << expected;
}

int64_t timesOrDynamic(int64_t x, int64_t y) {
  return ShapedType::isDynamic(x) || ShapedType::isDynamic(y)
             ? ShapedType::kDynamic
             : x * y;
}

/// Packed weights as if they were not interleaved: [.., K / v, panel].
ArrayRef<int64_t> withoutInterleave(RankedTensorType packed, int64_t v) {
  return packed.getShape().drop_back(v > 1);
}

/// Whether bytes and floats meet as tile.matmul says.
template <typename Op> LogicalResult verifyElements(Op op, Value weightsValue) {
  auto element = [](Value v) {
    return cast<RankedTensorType>(v.getType()).getElementType();
  };
  Type src = element(op.getSrc()), weights = element(weightsValue);
  bool bytes = src.isInteger(8);
  if (bytes ? !weights.isSignedInteger(8) : src != weights)
    return op.emitOpError() << "src has elements of type " << src
                            << ", weights of type " << weights;
  Type dst = element(op.getDst());
  if (bytes && !dst.isF32() && !dst.isSignedInteger(32))
    return op.emitOpError("the sum of int8 products is f32 or si32");
  return success();
}

/// Attributes that all windows have, checked against the rank of the data.
template <typename Op> LogicalResult verifyWindow(Op op, int64_t rank) {
  if (rank < 3)
    return op.emitOpError("data has rank ")
           << rank << ", at least 3 is needed: batch, spatial, channels";
  auto check = [&](StringRef name, ArrayRef<int64_t> values,
                   int64_t lowest) -> LogicalResult {
    if (static_cast<int64_t>(values.size()) != rank - 2)
      return op.emitOpError() << name << " has " << values.size()
                              << " entries, expected " << rank - 2;
    for (int64_t v : values)
      if (v < lowest)
        return op.emitOpError() << name << " has " << v << ", at least "
                                << lowest << " is needed";
    return success();
  };
  if (failed(check("strides", op.getStrides(), 1)) ||
      failed(check("pads_begin", op.getPadsBegin(), 0)) ||
      failed(check("dilations", op.getDilations(), 1)))
    return failure();
  if (op.getGroups() < 1)
    return op.emitOpError("groups is ")
           << op.getGroups() << ", at least 1 is needed";
  return success();
}

/// Ranks and channels of src, weights and dst; shared by tile.conv and
/// tile.conv_transpose.  Each channel counts `joined` times in the weights.
template <typename Op>
LogicalResult verifyConvolution(Op op, int64_t interleave, int64_t joined) {
  auto src = cast<RankedTensorType>(op.getSrc().getType());
  auto weights = cast<RankedTensorType>(op.getWeights().getType());
  auto dst = cast<RankedTensorType>(op.getDst().getType());
  int64_t rank = src.getRank(), groups = op.getGroups();
  if (failed(verifyWindow(op, rank)) ||
      failed(match(op, "the rank of dst", dst.getRank(), rank)) ||
      failed(match(op, "the rank of weights", weights.getRank(),
                   op.getDepthwise() ? rank : rank + 2 + (interleave > 1))) ||
      failed(
          match(op, "the batch of dst", dst.getDimSize(0), src.getDimSize(0))))
    return failure();
  int64_t inputs = src.getDimSize(rank - 1);
  int64_t outputs = dst.getDimSize(rank - 1);
  if (op.getDepthwise()) {
    // One channel of src meets one of dst; in tile.conv those of a group meet.
    int64_t perGroup = weights.getDimSize(rank - 2);
    bool isGrouped = std::is_same_v<Op, ConvOp> && perGroup > 1 &&
                     !ShapedType::isDynamic(inputs);
    if (isGrouped && inputs % perGroup)
      return op.emitOpError() << "depthwise: " << inputs << " channels do not "
                              << "divide into groups of " << perGroup;
    if (failed(match(op, "depthwise: groups", groups,
                     isGrouped ? inputs / perGroup : inputs)) ||
        (!isGrouped &&
         failed(match(op, "depthwise: weights per channel", perGroup, 1))))
      return failure();
    if (failed(match(op, "depthwise: channels of dst", outputs, inputs)))
      return failure();
    return match(op, "depthwise: channels of weights",
                 weights.getDimSize(rank - 1), inputs);
  }
  int64_t panel = weights.getDimSize(rank + 1);
  if (ShapedType::isDynamic(panel) || panel < 1)
    return op.emitOpError("the panel of weights has no known width");
  if (failed(match(op, "groups of weights", weights.getDimSize(0), groups)) ||
      failed(
          match(op, "channels of weights", weights.getDimSize(rank),
                panels(ShapedType::isDynamic(inputs) ? inputs
                                                     : joined * inputs / groups,
                       interleave))))
    return failure();
  if (!ShapedType::isDynamic(inputs) && inputs % groups)
    return op.emitOpError() << inputs << " channels of src do not divide into "
                            << groups << " groups";
  if (ShapedType::isDynamic(outputs))
    return success();
  if (outputs % groups)
    return op.emitOpError() << outputs << " channels of dst do not divide into "
                            << groups << " groups";
  return match(op, "the number of panels", weights.getDimSize(1),
               panels(outputs / groups, panel));
}

} // namespace

void ToInt8SlicesOp::build(OpBuilder &b, OperationState &state, Value src,
                           QuantizedWeightsAttr quantized) {
  auto type = cast<RankedTensorType>(src.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = quantized.wordsOfSlices(shape.back()) * sizeof(float);
  auto byte = b.getIntegerType(8, /*isSigned=*/false);
  build(b, state, RankedTensorType::get(shape, byte), src, quantized);
}

LogicalResult ToInt8SlicesOp::verify() {
  auto src = cast<RankedTensorType>(getSrc().getType());
  auto slices = cast<RankedTensorType>(getSlices().getType());
  QuantizedWeightsAttr quantized = getQuantized();
  int64_t k = src.getRank() ? src.getShape().back() : 0;
  if (!isa<FloatType>(src.getElementType()) || !quantized.getSlices() ||
      ShapedType::isDynamic(k) || !quantized.divides(k))
    return emitOpError(
               "needs int8 slices, floats and a known K of whole groups, "
               "has ")
           << src;
  SmallVector<int64_t> shape(src.getShape());
  shape.back() = quantized.wordsOfSlices(k) * sizeof(float);
  if (slices.getShape() != ArrayRef(shape) ||
      !slices.getElementType().isUnsignedInteger(8))
    return emitOpError("result is ") << slices << ", expected ui8 of " << shape;
  return success();
}

int64_t MatMulOp::quantizedK() {
  int64_t width = cast<RankedTensorType>(getSrc().getType()).getShape().back();
  QuantizedWeightsAttr quantized = *getQuantized();
  if (ShapedType::isDynamic(width) || !quantized.getSlices())
    return width;
  constexpr int64_t word = sizeof(float);
  return width % word ? 0 : quantized.kOf(width / word);
}

LogicalResult MatMulOp::verify() {
  auto src = cast<RankedTensorType>(getSrc().getType());
  auto weights = cast<RankedTensorType>(getWeights().getType());
  auto dst = cast<RankedTensorType>(getDst().getType());
  int64_t rank = dst.getRank(), v = getInterleave();
  int64_t ownRank = getInPlace() ? 2 : 3 + (v > 1);
  std::optional<QuantizedWeightsAttr> quantized = getQuantized();
  if (quantized) {
    int64_t k = quantizedK();
    bool fits = quantized->getSlices()
                    ? src.getElementType().isUnsignedInteger(8)
                    : isa<FloatType>(src.getElementType());
    if (!fits || v > 1 || getInPlace() ||
        !weights.getElementType().isUnsignedInteger(8) ||
        ShapedType::isDynamic(k) || !quantized->divides(k))
      return emitOpError(
                 "quantized weights meet floats and a known K of whole groups, "
                 "have ")
             << src << " and " << weights;
  } else if (failed(verifyElements(*this, getWeights()))) {
    return failure();
  }
  if (src.getRank() < 2 || weights.getRank() < ownRank || rank < 2)
    return emitOpError("src, weights and dst have ranks ")
           << src.getRank() << ", " << weights.getRank() << ", " << rank
           << ", at least 2, " << ownRank << ", 2 are needed";
  if (getInPlace() && (v > 1 || !weights.getElementType().isF32() ||
                       weights.isDynamicDim(weights.getRank() - 2)))
    return emitOpError(
        "in place, weights are f32, not interleaved, of known K");
  ArrayRef<int64_t> a = src.getShape(), w = withoutInterleave(weights, v);
  if (failed(match(*this, "the number of rows of dst", dst.getDimSize(rank - 2),
                   a[a.size() - 2])) ||
      failed(match(*this, "K of weights", w[w.size() - 2],
                   quantized ? quantized->rows(quantizedK())
                             : panels(a.back(), v))))
    return failure();
  int64_t columns = dst.getDimSize(rank - 1), panel = w.back();
  if (getInPlace()) {
    if (failed(match(*this, "the number of columns of dst", columns, panel)))
      return failure();
  } else if (ShapedType::isDynamic(panel) || panel < 1) {
    return emitOpError("the panel of weights has no known width");
  } else if (failed(match(*this, "the number of panels", w[w.size() - 3],
                          panels(columns, panel)))) {
    return failure();
  }
  // Leading dims, aligned at the right: those of dst, or 1.
  for (auto [lead, name] :
       {std::pair(a.drop_back(2), "src"),
        std::pair(w.drop_back(getInPlace() ? 2 : 3), "weights")}) {
    int64_t offset = rank - 2 - static_cast<int64_t>(lead.size());
    if (offset < 0)
      return emitOpError() << name << " has more leading dims than dst";
    for (auto [i, size] : llvm::enumerate(lead))
      if (size != 1 && !mayEqual(size, dst.getDimSize(offset + i)))
        return emitOpError()
               << "leading dim " << i << " of " << name << " is " << size
               << ", that of dst " << dst.getDimSize(offset + i);
  }
  return success();
}

int64_t ConvOp::getTaps(int64_t i) {
  auto weights = cast<RankedTensorType>(getWeights().getType());
  int64_t spatial = getStrides().size();
  int64_t taps = weights.getDimSize(i + (getDepthwise() ? 0 : 2));
  return ShapedType::isDynamic(taps) || i != spatial - 1 ? taps
                                                         : taps * getJoined();
}

bool ConvOp::hasGroupsAsLanes() {
  auto weights = cast<RankedTensorType>(getWeights().getType());
  return getDepthwise() && weights.getDimSize(weights.getRank() - 2) > 1;
}

LogicalResult ConvOp::verify() {
  if (failed(verifyConvolution(*this, getInterleave(), getJoined())) ||
      failed(verifyElements(*this, getWeights())))
    return failure();
  if (getJoined() != 1) {
    int64_t rank = cast<RankedTensorType>(getSrc().getType()).getRank();
    auto weights = cast<RankedTensorType>(getWeights().getType());
    if (getJoined() < 1 || getGroups() != 1 || getDepthwise() ||
        getDilations().back() != 1 || weights.getDimSize(rank - 1) != 1)
      return emitOpError("joins taps that are apart");
  }
  if (getDepthwise() && getInterleave() > 1)
    return emitOpError("depthwise weights are not interleaved");
  auto src = cast<RankedTensorType>(getSrc().getType());
  auto dst = cast<RankedTensorType>(getDst().getType());
  if (static_cast<int64_t>(getPadsEnd().size()) != src.getRank() - 2)
    return emitOpError("pads_end has ")
           << getPadsEnd().size() << " entries, expected " << src.getRank() - 2;
  if (auto mode = getAutoPad();
      mode && *mode != "SAME_UPPER" && *mode != "SAME_LOWER")
    return emitOpError("auto_pad is ") << *mode;
  for (int64_t i = 0; i < src.getRank() - 2; ++i) {
    int64_t in = src.getDimSize(i + 1), k = getTaps(i);
    if (ShapedType::isDynamic(in) || ShapedType::isDynamic(k))
      continue;
    int64_t stride = getStrides()[i];
    int64_t room = getAutoPad() ? in - 1
                                : in + getPadsBegin()[i] + getPadsEnd()[i] - 1 -
                                      (k - 1) * getDilations()[i];
    int64_t out = room < 0 ? 0 : room / stride + 1;
    if (failed(match(*this, "size of spatial dim " + Twine(i) + " of dst",
                     dst.getDimSize(i + 1), out)))
      return failure();
  }
  return success();
}

LogicalResult ConvTransposeOp::verify() {
  if (failed(verifyConvolution(*this, 1, 1)))
    return failure();
  size_t spatial = getStrides().size();
  if (auto ends = getPadsEnd(); ends && ends->size() != spatial)
    return emitOpError("pads_end has ")
           << ends->size() << " entries, expected " << spatial;
  return success();
}

LogicalResult ConvWeightsOp::verify() {
  auto src = cast<RankedTensorType>(getSrc().getType());
  auto diff = cast<RankedTensorType>(getDiff().getType());
  auto dst = cast<RankedTensorType>(getDst().getType());
  int64_t rank = src.getRank(), groups = getGroups();
  if (auto parts = getParts()) {
    int64_t images = src.getDimSize(0), count = *parts;
    if (count < 1 || ShapedType::isDynamic(images) || images % count)
      return emitOpError() << images << " images do not divide into " << count
                           << " parts";
    if (getDepthwise())
      return emitOpError("depthwise gradients have no parts");
    if (failed(match(*this, "the rank of dst", dst.getRank(), rank + 1)) ||
        failed(match(*this, "parts of dst", dst.getDimSize(0), count)))
      return failure();
    dst = RankedTensorType::get(dst.getShape().drop_front(),
                                dst.getElementType());
  }
  if (failed(verifyWindow(*this, rank)) ||
      failed(match(*this, "the rank of dst", dst.getRank(), rank)) ||
      failed(match(*this, "the rank of diff", diff.getRank(),
                   getPacked() ? rank + 2 : rank)) ||
      failed(match(*this, "the batch of diff",
                   diff.getDimSize(getPacked() ? 2 : 0), src.getDimSize(0))) ||
      failed(match(*this, "channels of src", src.getDimSize(rank - 1),
                   timesOrDynamic(dst.getDimSize(rank - 2), groups))))
    return failure();
  int64_t outputs = dst.getDimSize(rank - 1);
  if (!ShapedType::isDynamic(outputs) && outputs % groups)
    return emitOpError() << outputs << " channels of dst do not divide into "
                         << groups << " groups";
  if (getDepthwise()) {
    if (getPacked())
      return emitOpError("depthwise gradients read diff as it is");
    if (failed(match(*this, "depthwise: groups", groups, outputs)) ||
        failed(match(*this, "depthwise: weights per channel",
                     dst.getDimSize(rank - 2), 1)))
      return failure();
  }
  if (!getPacked())
    return match(*this, "channels of diff", diff.getDimSize(rank - 1), outputs);
  int64_t panel = diff.getDimSize(rank + 1);
  if (ShapedType::isDynamic(panel) || panel < 1)
    return emitOpError("the panel of diff has no known width");
  if (failed(match(*this, "groups of diff", diff.getDimSize(0), groups)))
    return failure();
  return ShapedType::isDynamic(outputs)
             ? success()
             : match(*this, "the number of panels", diff.getDimSize(1),
                     panels(outputs / groups, panel));
}

//===----------------------------------------------------------------------===//
// Winograd
//===----------------------------------------------------------------------===//

namespace {
constexpr int64_t kWinogradTaps = 3;

/// Points of a dimension.
int64_t winogradEdge(int64_t outputs) { return outputs + kWinogradTaps - 1; }

template <typename Op> LogicalResult checkOutputs(Op op) {
  int64_t outputs = op.getOutputs();
  if (outputs == 2 || outputs == 4)
    return success();
  return op.emitOpError("a tile has ")
         << outputs << " outputs per dimension, expected 2 or 4";
}
} // namespace

RankedTensorType WinogradWeightsOp::transformedType(RankedTensorType weights,
                                                    int64_t outputs) {
  SmallVector<int64_t> shape(2, winogradEdge(outputs));
  llvm::append_range(shape, weights.getShape().drop_front(2));
  return RankedTensorType::get(shape, weights.getElementType());
}

void WinogradWeightsOp::build(OpBuilder &b, OperationState &state,
                              Value weights, int64_t outputs) {
  state.addOperands(weights);
  state.addAttribute(getOutputsAttrName(state.name),
                     b.getI64IntegerAttr(outputs));
  state.addTypes(
      transformedType(cast<RankedTensorType>(weights.getType()), outputs));
}

LogicalResult WinogradWeightsOp::verify() {
  if (failed(checkOutputs(*this)))
    return failure();
  auto weights = cast<RankedTensorType>(getWeights().getType());
  if (weights.getRank() != 4 || weights.getDimSize(0) != kWinogradTaps ||
      weights.getDimSize(1) != kWinogradTaps ||
      !weights.getElementType().isF32())
    return emitOpError("weights are ")
           << weights << ", expected 3 x 3 taps of f32 and two more dimensions";
  if (Type expected = transformedType(weights, getOutputs());
      getTransformed().getType() != expected)
    return emitOpError("result is ")
           << getTransformed().getType() << ", expected " << expected;
  return success();
}

LogicalResult WinogradOp::verify() {
  if (failed(checkOutputs(*this)))
    return failure();
  auto src = cast<RankedTensorType>(getSrc().getType());
  auto weights = cast<RankedTensorType>(getWeights().getType());
  auto dst = cast<RankedTensorType>(getDst().getType());
  if (src.getRank() != 4 || dst.getRank() != 4 || weights.getRank() != 6)
    return emitOpError("src, weights and dst have ranks ")
           << src.getRank() << ", " << weights.getRank() << ", "
           << dst.getRank() << ", expected 4, 6, 4";
  for (RankedTensorType type : {src, weights, dst})
    if (!type.getElementType().isF32() &&
        !(type == src && type.getElementType().isInteger(8)))
      return emitOpError("computes in f32, not in ") << type.getElementType();
  if (weights.isDynamicDim(5) || weights.getDimSize(5) < 1)
    return emitOpError("the panel of weights has no known width");
  ArrayRef<int64_t> begin = getPadsBegin(), end = getPadsEnd();
  if (begin.size() != 2 || end.size() != 2)
    return emitOpError("pads have ")
           << begin.size() << " and " << end.size() << " entries, expected 2";
  if (llvm::any_of(begin, [](int64_t p) { return p < 0; }) ||
      llvm::any_of(end, [](int64_t p) { return p < 0; }))
    return emitOpError("pads are at least 0");
  int64_t edge = winogradEdge(getOutputs());
  if (failed(match(*this, "groups of weights", weights.getDimSize(0), 1)) ||
      failed(match(*this, "points of weights along rows", weights.getDimSize(2),
                   edge)) ||
      failed(match(*this, "points of weights along columns",
                   weights.getDimSize(3), edge)) ||
      failed(match(*this, "channels of weights", weights.getDimSize(4),
                   src.getDimSize(3))) ||
      failed(match(*this, "the number of panels", weights.getDimSize(1),
                   panels(dst.getDimSize(3), weights.getDimSize(5)))) ||
      failed(match(*this, "the batch of dst", dst.getDimSize(0),
                   src.getDimSize(0))))
    return failure();
  for (int64_t i = 0; i < 2; ++i) {
    int64_t in = src.getDimSize(i + 1);
    int64_t out = ShapedType::isDynamic(in)
                      ? in
                      : std::max<int64_t>(
                            in + begin[i] + end[i] - (kWinogradTaps - 1), 0);
    if (failed(match(*this, "size of spatial dim " + Twine(i) + " of dst",
                     dst.getDimSize(i + 1), out)))
      return failure();
  }
  return success();
}
