//===- PackWeights.cpp - contractions read weights in panels --------------===//
//
//   MatMul(%x, %w)            %p = tile.pack %w panel 16
//                       ->    tile.matmul %x, %p
//
// The keys of tile.attention are packed likewise.
//
// Convolutions of 3x3 taps: Winograd.cpp.
//
// A panel holds, for each k, NR neighbouring columns: the microkernel streams
// it with unit stride.  NR is the register tile's width, or less when there
// are fewer columns.
//
// A product with so few panels and blocks of rows that cores would have nothing
// to do is cut along K:
//
//   MatMul(%x [16, 4096], %w [4096, 64])
//       ->  ReduceSum(tile.matmul(%x as [8, 16, 512], pack(%w as [8, 512,
//       64])))
//
//   ConvTranspose(%x, %w)           %t = StaticTranspose %w (channels swapped)
//                       ->          %p = tile.pack %t panel 16 groups 1
//                                   tile.conv_transpose %x, %p
//   ConvolutionBackwardWeights      %p = tile.pack %d panel 16 groups 1
//     (%x, %d)          ->          tile.conv_weights %x, %p {packed}
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "passes/Passes.h"
#include "passes/layout/ChannelsApart.h"
#include "passes/ops/OpKinds.h"
#include "passes/ops/PlaneShape.h"
#include "passes/ops/WindowGeometry.h"
#include "passes/ops/Winograd.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Orders.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tenon-pack-weights"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_PACKWEIGHTS
#include "passes/Passes.h.inc"

namespace {

struct PackWeightsPass : impl::PackWeightsBase<PackWeightsPass> {
  using PackWeightsBase::PackWeightsBase;

  Packing packing;
  WinogradOptions filtering;

  /// Parts of K for a product of [rows, K] and [K, N]; 1: it stays whole.
  int64_t partsOfK(int64_t rows, int64_t k, int64_t n) const {
    // At least so many items, of at least so long sums, of work that takes
    // several times as long as the additional section; docs/cost-model.md.
    constexpr int64_t kItems = 8, kShortest = 256, kWork = 1 << 21;
    constexpr int64_t kRowsOfItem = 48, kRowsOfGemv = 8;
    int64_t panel = packing.panelFor(rows, n);
    int64_t items =
        (rows + kRowsOfItem - 1) / kRowsOfItem * ((n + panel - 1) / panel);
    if (items * 2 > kItems || std::max(rows, kRowsOfGemv) * k * n < kWork)
      return 1;
    int64_t parts = 1;
    while (items * parts < kItems && k % (2 * parts) == 0 &&
           k / (2 * parts) >= kShortest)
      parts *= 2;
    return parts;
  }

  /// The sum of `parts` along their first dim.
  static Value sumOfParts(OpBuilder &b, Value parts) {
    auto type = rankedType(parts);
    return buildGraphOp(b, parts.getLoc(), "ReduceSum", parts,
                        RankedTensorType::get(type.getShape().drop_front(),
                                              type.getElementType()),
                        {b.getNamedAttr("axes", b.getDenseI64ArrayAttr({0})),
                         b.getNamedAttr("keep_dims", b.getBoolAttr(false))});
  }

  /// Cuts a product of floats along K if that pays.
  bool splitMatMul(Operation *op, OpBuilder &b) {
    auto dst = rankedType(op->getResult(0));
    Value src = op->getOperand(0), weights = op->getOperand(1);
    auto type = rankedType(src), w = rankedType(weights);
    auto isTransposed = [](Value v) {
      Operation *def = v.getDefiningOp();
      return def && isKind(def, "StaticTranspose"); // would be copied
    };
    if (!dst.hasStaticShape() || !w.hasStaticShape() || w.getRank() != 2 ||
        type.getRank() < 2 || !type.hasStaticShape() || isTransposed(src) ||
        isTransposed(weights) || dst.getNumElements() == 0)
      return false;
    int64_t k = w.getDimSize(0), n = w.getDimSize(1);
    int64_t rows = dst.getNumElements() / n;
    int64_t parts = k ? partsOfK(rows, k, n) : 1;
    if (parts == 1)
      return false;
    Location loc = op->getLoc();
    int64_t part = k / parts;
    src = buildReshape(b, loc, src, {rows, parts, part});
    src = buildTranspose(b, loc, src, {1, 0, 2});
    weights = buildReshape(b, loc, weights, {parts, part, n});
    auto sums = RankedTensorType::get({parts, rows, n}, b.getF32Type());
    Value products = packing.buildMatMul(b, loc, sums, src, weights);
    Value sum = sumOfParts(b, products);
    sum = buildReshape(b, loc, sum, dst.getShape());
    op->emitRemark("K is cut into " + std::to_string(parts) + " parts of " +
                   std::to_string(part));
    replace(op, buildEdge(b, loc, sum, dst.getElementType()));
    return true;
  }

  /// One column: src is what is read, and its rows are dots.
  ///
  ///   MatMul(%x [M, K], %w [K, 1])  ->  %wt [1, K] times %xt [K, M] in place
  bool swapMatMul(Operation *op, OpBuilder &b) {
    auto dst = rankedType(op->getResult(0));
    Value src = op->getOperand(0), weights = op->getOperand(1);
    int64_t rank = dst.getRank();
    if (rank < 2 || !dst.hasStaticShape() || op->hasAttr(kOrderAttr) ||
        dst.getDimSize(rank - 1) != 1 || dst.getDimSize(rank - 2) == 1)
      return false;
    Location loc = op->getLoc();
    SmallVector<int64_t> shape(dst.getShape());
    std::swap(shape[rank - 1], shape[rank - 2]);
    auto type = RankedTensorType::get(shape, dst.getElementType());
    Value x = swapLastTwo(b, src), w = swapLastTwo(b, weights);
    if (!readsInPlace(type, w, x)) {
      x.getDefiningOp()->erase();
      w.getDefiningOp()->erase();
      return false;
    }
    Value product = packing.buildMatMul(b, loc, type, w, x);
    replace(op, buildReshape(b, loc, product, dst.getShape()));
    return true;
  }

  void packMatMul(Operation *op, OpBuilder &b) {
    if (swapMatMul(op, b) || splitMatMul(op, b))
      return;
    replace(op,
            packing.buildMatMul(b, op->getLoc(), rankedType(op->getResult(0)),
                                op->getOperand(0), op->getOperand(1)));
  }

  /// What a depthwise operation or a transform of minimal filtering reads: its
  /// lanes are channels, so tensors with channels elsewhere are copied, which
  /// costs less than gathering each element for every tap. The same for others
  /// that would wait for the cache.
  static Value channelsTogether(OpBuilder &b, Value data) {
    Operation *def = data.getDefiningOp();
    if (!def || !isKind(def, "StaticTranspose"))
      return data;
    // Transposed twice, it may lie channels last in memory.
    Operation *before = def->getOperand(0).getDefiningOp();
    if (before && isKind(before, "StaticTranspose"))
      return data;
    auto strides = callerStrides(behindTransposes(data));
    if (!strides.empty() && strides.back() == 1)
      return data;
    Value copy =
        buildGraphOp(b, data.getLoc(), "Reorder", data, rankedType(data));
    // There is one now: others need not read across rows.
    data.replaceUsesWithIf(copy, [&](OpOperand &use) {
      Operation *reader = use.getOwner();
      return reader != copy.getDefiningOp() && !fusion::isView(reader) &&
             !isa<func::ReturnOp>(reader) &&
             copy.getDefiningOp()->isBeforeInBlock(reader);
    });
    return copy;
  }

  /// Outputs per dim of a tile of minimal filtering, by which the convolution
  /// is computed, or 0; says why.
  int64_t winogradOutputs(Operation *op, const WindowAttrs &w) const {
    Value weights = op->getOperand(1);
    if (!isWinogradKernel(rankedType(weights)))
      return 0;
    WinogradChoice choice = chooseWinograd(
        op->getOperand(0), weights, rankedType(op->getResult(0)), w, filtering);
    std::string first = winogradName(2) + ": " + choice.reason;
    if (!choice.outputs)
      op->emitRemark("computed directly, not by Winograd's " + first);
    else if (!choice.reason.empty())
      op->emitRemark("computed by Winograd's " + winogradName(choice.outputs) +
                     "; " + first);
    return choice.outputs;
  }

  /// Whether a convolution in groups is computed like a depthwise one.
  bool lanesAreGroups(Value src, RankedTensorType weights,
                      const WindowAttrs &w) const {
    return rankedType(src).getElementType().isF32() &&
           weights.getElementType().isF32() &&
           hasNarrowGroups(weights, w.groups.getInt(), packing.isa.lanes(32));
  }

  /// By minimal filtering with tiles of `outputs`.
  void filter(Operation *op, OpBuilder &b, Value weights, const WindowAttrs &w,
              int64_t outputs) {
    ++filtered;
    replace(op, buildWinograd(packing, b, op->getLoc(),
                              rankedType(op->getResult(0)),
                              channelsTogether(b, op->getOperand(0)), weights,
                              w, outputs));
  }

  /// Depthwise, or in groups that are computed like that.
  void packLanes(Operation *op, OpBuilder &b, Value weights,
                 const WindowAttrs &w) {
    if (!isDepthwise(rankedType(weights), w.groups.getInt()))
      op->emitRemark(
          "narrow groups: channels are lanes, as in a depthwise one");
    Value product = tile::ConvOp::create(
        b, op->getLoc(), op->getResult(0).getType(),
        channelsTogether(b, op->getOperand(0)), channelsTogether(b, weights),
        w.strides, w.padsBegin, w.padsEnd, w.dilations, w.groups,
        b.getUnitAttr());
    replace(op, product);
  }

  /// By products of each tap.
  void multiply(Operation *op, OpBuilder &b, Value weights,
                const WindowAttrs &w) {
    Value src = op->getOperand(0);
    auto dst = rankedType(op->getResult(0));
    if (waitsForChannels(src, rankedType(weights), dst, w, packing))
      src = channelsTogether(b, src);
    replace(op, packing.buildConv(b, op->getLoc(), dst, src, weights, w));
  }

  void packConvolution(Operation *op, OpBuilder &b) {
    Value src = op->getOperand(0), weights = op->getOperand(1);
    auto type = rankedType(weights);
    auto w = WindowAttrs::of(op, b, type.getRank() - 2);
    if (!isDepthwise(type, w.groups.getInt()) &&
        !lanesAreGroups(src, type, w)) {
      if (int64_t outputs = winogradOutputs(op, w))
        return filter(op, b, weights, w, outputs);
      if (multiplyPlanes(b, op, weights, w, packing))
        return;
      return multiply(op, b, weights, w);
    }
    packLanes(op, b, weights, w);
  }

  /// Weights (taps.., I, O) of `op` in panels. Rows of a product are those of
  /// the last spatial dimension.
  Value packGrouped(Operation *op, OpBuilder &b, Value weights,
                    int64_t groups) {
    auto dst = rankedType(op->getResult(0));
    int64_t n = rankedType(weights).getShape().back();
    int64_t panel = packing.panelFor(dst.getDimSize(dst.getRank() - 2),
                                     ShapedType::isDynamic(n) ? n : n / groups);
    return tile::PackOp::create(b, op->getLoc(), weights, panel, groups);
  }

  /// (taps.., channels of dst per group, channels of src) to
  /// (taps.., channels of src per group, channels of dst).
  static Value transposeWeights(OpBuilder &b, Location loc, Value weights,
                                int64_t groups) {
    auto type = rankedType(weights);
    int64_t rank = type.getRank(), part = type.getDimSize(rank - 2);
    int64_t perGroup = type.getDimSize(rank - 1) / groups;
    SmallVector<int64_t> order, shape(type.getShape().drop_back(2));
    for (int64_t i = 0; i < rank - 2; ++i)
      order.push_back(i);
    if (groups == 1) {
      order.append({rank - 1, rank - 2});
      return buildTranspose(b, loc, weights, order);
    }
    SmallVector<int64_t> split = shape;
    split.append({part, groups, perGroup});
    order.append({rank, rank - 1, rank - 2});
    shape.append({perGroup, groups * part});
    weights = buildReshape(b, loc, weights, split);
    return buildReshape(b, loc, buildTranspose(b, loc, weights, order), shape);
  }

  /// With stride 1 a transposed convolution is one with its taps flipped, for
  /// which there are minimal filtering, channels as lanes, and products of
  /// several rows. True, and done, if its padding is none of dst.
  ///
  ///   ConvTranspose(%x, %w)  ->  Convolution(%x, tile.flip %t)
  bool flipConvTranspose(Operation *op, OpBuilder &b) {
    Location loc = op->getLoc();
    Value src = op->getOperand(0), weights = op->getOperand(1);
    auto type = rankedType(weights), srcType = rankedType(src),
         dstType = rankedType(op->getResult(0));
    int64_t spatial = type.getRank() - 2;
    auto w = WindowAttrs::of(op, b, spatial);
    SmallVector<int64_t> begin, end;
    for (int64_t i = 0; i < spatial; ++i) {
      int64_t in = srcType.getDimSize(i + 1), out = dstType.getDimSize(i + 1);
      if (ShapedType::isDynamic(in) || ShapedType::isDynamic(out) ||
          type.isDynamicDim(i) || w.strides[i] != 1)
        return false;
      int64_t reach = (type.getDimSize(i) - 1) * w.dilations[i];
      begin.push_back(reach - w.padsBegin[i]);
      end.push_back(out - in + reach - begin.back());
    }
    auto negative = [](int64_t pad) { return pad < 0; };
    if (llvm::any_of(begin, negative) || llvm::any_of(end, negative) ||
        !type.hasStaticShape())
      return false;
    w.padsBegin = b.getDenseI64ArrayAttr(begin);
    w.padsEnd = b.getDenseI64ArrayAttr(end);
    int64_t groups = w.groups.getInt(), outputs = 0;
    SmallVector<int64_t> shape(type.getShape());
    shape[spatial] = type.getDimSize(spatial + 1) / groups;
    shape[spatial + 1] = type.getDimSize(spatial) * groups;
    auto turnedType = RankedTensorType::get(shape, type.getElementType());
    bool lanes =
        isDepthwise(turnedType, groups) || lanesAreGroups(src, turnedType, w);
    if (!lanes)
      outputs = winogradOutputs(op, w);
    if (!lanes && !outputs &&
        llvm::product_of(shape) == shape.back() * shape[spatial])
      return false; // one tap
    Value turned = transposeWeights(b, loc, weights, groups);
    turned = tile::FlipOp::create(b, loc, turnedType, turned);
    if (lanes)
      packLanes(op, b, turned, w);
    else if (outputs)
      filter(op, b, turned, w, outputs);
    else
      multiply(op, b, turned, w);
    return true;
  }

  void packConvTranspose(Operation *op, OpBuilder &b) {
    if (flipConvTranspose(op, b))
      return;
    Location loc = op->getLoc();
    Value src = op->getOperand(0), weights = op->getOperand(1);
    auto type = rankedType(weights);
    int64_t rank = type.getRank();
    auto w = WindowAttrs::of(op, b, rank - 2);
    int64_t groups = w.groups.getInt();
    bool depthwise = isDepthwise(type, groups);
    Type dst = op->getResult(0).getType();
    // One tap at every position: both directions are the same.
    bool pointwise =
        isPointwise(type.getShape().drop_back(2), w.strides, w.padsBegin,
                    w.padsBegin, /*groups=*/1) &&
        rankedType(src).getShape().slice(1, rank - 2) ==
            rankedType(op->getResult(0)).getShape().slice(1, rank - 2);
    if (pointwise && groups == 1 &&
        multiplyPlanes(b, op, transposeWeights(b, loc, weights, groups), w,
                       packing))
      return;
    weights = depthwise ? channelsTogether(b, weights)
                        : packGrouped(op, b,
                                      transposeWeights(b, loc, weights, groups),
                                      groups);
    UnitAttr flag = depthwise ? b.getUnitAttr() : UnitAttr();
    Value product;
    if (pointwise)
      product = tile::ConvOp::create(b, loc, dst, src, weights, w.strides,
                                     w.padsBegin, w.padsBegin, w.dilations,
                                     w.groups, flag);
    else
      product = tile::ConvTransposeOp::create(
          b, loc, dst, channelsTogether(b, src), weights, w.strides,
          w.padsBegin, w.dilations, w.groups, flag);
    replace(op, product);
  }

  /// Whether the gradient of dst is worth a copy in panels: each element of it
  /// meets `uses` elements of src, and a transposed one is copied anyway.
  static bool packsDiff(Value diff, int64_t uses) {
    constexpr int64_t kUsesThatPay = 192;
    Operation *def = diff.getDefiningOp();
    return uses >= kUsesThatPay || (def && isKind(def, "StaticTranspose"));
  }

  /// Whether `v` has its channels apart in memory, and rows together.
  static bool hasRows(Value v) {
    Transposed seen = behindTransposes(v);
    int64_t rank = rankedType(v).getRank();
    auto strides = callerStrides(seen);
    return seen.order == orderInto(Channels::last, rank) &&
           (strides.empty() || strides[rank - 2] == 1);
  }

  /// Whether the gradient by weights of a depthwise convolution takes one
  /// channel at a time, as src and diff have them apart.
  static bool readsPlanes(Operation *op) {
    Value src = op->getOperand(0), diff = op->getOperand(1);
    auto weights = rankedType(op->getResult(0));
    auto s = rankedType(src), d = rankedType(diff);
    if (!s.hasStaticShape() || !d.hasStaticShape() || !weights.hasStaticShape())
      return false;
    tiling::PlaneShape planes(tiling::windowDims(
        op, s, d, /*ncx=*/false, weights.getShape().drop_back(2)));
    return hasRows(src) && hasRows(diff) && planes.fit();
  }

  /// The gradient of a product of each position with one matrix: both operands
  /// are what the other is, and with channels apart one is packed, the other
  /// read where it is. True, and done, where diff is the larger one.
  bool swapConvWeights(Operation *op, OpBuilder &b, const WindowAttrs &w) {
    Value src = op->getOperand(0), diff = op->getOperand(1);
    auto type = rankedType(op->getResult(0));
    ArrayRef<int64_t> shape = type.getShape();
    int64_t rank = type.getRank();
    if (!isPointwise(shape.drop_back(2), w.strides, w.padsBegin, w.padsEnd,
                     w.groups.getInt()) ||
        op->hasAttr(kOrderAttr) || !hasRows(src) || !hasRows(diff) ||
        rankedType(src).getShape().drop_back() !=
            rankedType(diff).getShape().drop_back() ||
        shape[rank - 1] <= shape[rank - 2])
      return false;
    SmallVector<int64_t> swapped(shape);
    std::swap(swapped[rank - 1], swapped[rank - 2]);
    Value product = buildGraphOp(
        b, op->getLoc(), "ConvolutionBackwardWeights", {diff, src},
        RankedTensorType::get(swapped, type.getElementType()), op->getAttrs());
    product.getDefiningOp()->removeAttr("weights_shape");
    op->getResult(0).replaceAllUsesWith(swapLastTwo(b, product));
    op->erase();
    b.setInsertionPoint(product.getDefiningOp());
    packConvWeights(product.getDefiningOp(), b);
    return true;
  }

  /// Parts of the images whose gradients of few rows are summed on their own;
  /// 1: too few images.
  static int64_t partsOfImages(int64_t images) {
    constexpr int64_t kMost = 8, kLeast = 4;
    if (!ShapedType::isDynamic(images))
      for (int64_t parts = kMost; parts >= kLeast; --parts)
        if (images % parts == 0)
          return parts;
    return 1;
  }

  void packConvWeights(Operation *op, OpBuilder &b) {
    Value src = op->getOperand(0), diff = op->getOperand(1);
    auto type = rankedType(op->getResult(0));
    int64_t rank = type.getRank();
    auto w = WindowAttrs::of(op, b, rank - 2);
    if (swapConvWeights(op, b, w))
      return;
    int64_t groups = w.groups.getInt();
    bool depthwise = isDepthwise(type, groups);
    int64_t uses = 1; // of an element of diff
    for (int64_t d : type.getShape().drop_back())
      uses *= d;
    bool packs = !depthwise && packsDiff(diff, uses);
    bool joins = !depthwise && joinsTaps(type, w);
    if (depthwise) {
      if (!readsPlanes(op)) {
        src = channelsTogether(b, src);
        diff = channelsTogether(b, diff);
      }
    } else if (joins) {
      src = channelsTogether(b, src);
    }
    if (packs) {
      int64_t rows = type.getDimSize(rank - 3) * type.getDimSize(rank - 2);
      int64_t panel =
          packing.panelFor(rows, type.getDimSize(rank - 1) / groups);
      diff = tile::PackOp::create(b, op->getLoc(), diff, panel, groups);
    }
    auto flag = [&](bool set) { return set ? b.getUnitAttr() : UnitAttr(); };
    int64_t parts = joins ? partsOfImages(rankedType(src).getDimSize(0)) : 1;
    RankedTensorType result = type;
    if (parts > 1) {
      SmallVector<int64_t> shape{parts};
      llvm::append_range(shape, type.getShape());
      result = RankedTensorType::get(shape, type.getElementType());
    }
    Value product = tile::ConvWeightsOp::create(
        b, op->getLoc(), result, src, diff, w.strides, w.padsBegin, w.dilations,
        w.groups, flag(depthwise), flag(packs),
        parts > 1 ? b.getI64IntegerAttr(parts) : IntegerAttr());
    if (parts > 1)
      product = sumOfParts(b, product);
    replace(op, product);
  }

  /// Whether so few queries read each key that packing would cost more than it
  /// saves. Heads that share their keys count as rows of one.
  static bool readsKeysInPlace(tile::AttentionOp op) {
    constexpr int64_t kFewRows = 8;
    auto rows = rowsOfMatrix(rankedType(op.getDst()), rankedType(op.getK()));
    return !op.getFromLeft() && rows && *rows <= kFewRows;
  }

  /// Whether the products of `op` are of narrow floats that the target widens,
  /// and meet each of them often.
  bool isSlow(tile::AttentionOp op) const {
    constexpr int64_t kManyQueries = 2 * kUsesToWiden; // four more sections
    auto dst = rankedType(op.getDst());
    Type element = dst.getElementType();
    int64_t rows = dst.getDimSize(dst.getRank() - 2);
    return !op.getFromLeft() && !op.hasWeights() &&
           isNarrowFloat(op.getDst()) &&
           (bf16Group == 1 || bf16GroupIsSlow || element.isF16()) &&
           (ShapedType::isDynamic(rows) || rows >= kManyQueries) &&
           op.getNumKeys() >= kManyQueries;
  }

  /// Keys change with every execution, but are read once per block of queries;
  /// so do values where their type has products of groups.
  void packKeys(tile::AttentionOp op, OpBuilder &b) {
    auto dst = rankedType(op.getDst());
    Type element = dst.getElementType();
    if (element.isF32() && !op.getNormalized() && readsKeysInPlace(op))
      return;
    if (isSlow(op)) {
      constexpr unsigned kProductsOf = 3; // q, k, v
      computeInF32(op, op->getOpOperands().take_front(kProductsOf));
      element = b.getF32Type();
    }
    int64_t keys = op.getNumKeys();
    int64_t v = std::min(
        packing.interleaveFor(element, rankedType(op.getQ()).getShape().back()),
        packing.interleaveFor(element, keys));
    auto pack = [&](OpOperand &operand, int64_t columns, bool whole) {
      int64_t panel = packing.panelFor(ShapedType::kDynamic, columns, v, whole);
      operand.assign(tile::PackOp::create(b, op.getLoc(), operand.get(), panel,
                                          std::nullopt, v));
      ++packed;
    };
    // Scores of whole panels are computed.
    pack(op.getKMutable(), keys, /*whole=*/true);
    op.setPacked(true);
    if (v == 1)
      return;
    pack(op.getVMutable(), dst.getShape().back(), /*whole=*/false);
    op.setInterleave(v);
    op.setKeys(keys);
  }

  void replace(Operation *op, Value product) {
    assert(product.getType() == op->getResult(0).getType());
    LDBG() << nameOf(op->getLoc()) << ", " << op->getName() << ", becomes "
           << product.getDefiningOp()->getName();
    if (Attribute order = op->getAttr(kOrderAttr))
      product.getDefiningOp()->setAttr(kOrderAttr, order);
    op->getResult(0).replaceAllUsesWith(product);
    op->erase();
    ++packed;
  }

  void runOnOperation() override {
    packing = {
        {vectorBits, numVectorRegisters}, bf16Group, int8Group, matrixUnit};
    auto options = winogradOptions(getOperation(), winograd, fastMath);
    if (failed(options))
      return signalPassFailure();
    filtering = *options;
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) { ops.push_back(op); });
    OpBuilder b(&getContext());
    for (Operation *op : ops) {
      b.setInsertionPoint(op);
      if (auto attention = dyn_cast<tile::AttentionOp>(op))
        packKeys(attention, b);
      else if (auto filtered = dyn_cast<tile::WinogradOp>(op)) // of bytes
        filtered.getSrcMutable().assign(channelsTogether(b, filtered.getSrc()));
      else if (isKind(op, "MatMul"))
        packMatMul(op, b);
      else if (isKind(op, "Convolution"))
        packConvolution(op, b);
      else if (isKind(op, "ConvTranspose"))
        packConvTranspose(op, b);
      else if (isKind(op, "ConvolutionBackwardWeights"))
        packConvWeights(op, b);
    }
  }
};

} // namespace
} // namespace tenon
