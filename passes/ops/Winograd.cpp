//===- Winograd.cpp - which convolutions use Winograd ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   Convolution(%x, %w)        %u = tile.winograd_weights %w outputs 2
//                       ->     %p = tile.pack %u panel 24 groups 1
//                              tile.winograd %x, %p outputs 2
//
// F(2x2, 3x3) computes 4 elements of dst with 16 multiplications per pair of
// channels instead of 36 (Winograd; Lavin, Gray: Fast algorithms for
// convolutional neural networks, 2016). What it saves must pay for the
// transforms of src and dst, which grow with C + K while products grow with
// C K, and for weights that are 16/9 as large.
//
// Its errors are those of the definition (docs/cost-model.md): all constants
// are 0, 1 and 1/2. With fast math F(4x4, 3x3) may be taken, too: 36
// multiplications instead of 144, with larger errors.
//
//===----------------------------------------------------------------------===//
#include "passes/ops/Winograd.h"

#include "passes/ops/Costs.h"
#include "passes/ops/WinogradTile.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>

#define DEBUG_TYPE "tenon-winograd"

using namespace mlir;

namespace tenon::passes {

using namespace winograd;

namespace {

// Measured: benchmarks/winograd, docs/cost-model.md.
struct TileCost {
  int64_t outputs; // per dim
  /// Of a channel of a tile of src, read and written as points, or of dst.
  double perChannel;
  /// Of a product where weights do not stay in L2.
  double perProduct;
};
/// All but the first with fast math only.
constexpr TileCost kTiles[] = {{2, 128, 1}, {4, 450, 1.3}};
/// Of reading a weight that the definition does not have.
constexpr double kPerWeight = 10;
/// A vector of weights from L2 takes as long as multiplying so many rows.
constexpr int64_t kMinRows = 3;
/// If the number of images is unknown, one image must have eight blocks of 24
/// tiles: one block for each work item.
constexpr int64_t kMinUnknownTiles = 192;
/// What counts for a height or width that is not known.
constexpr int64_t kUnknownSize = 28;
/// The gain from which the estimate is believed, and pays for larger errors.
constexpr double kMargin = 1.1;

/// What one dim costs when computed directly.
struct DirectDim {
  int64_t taps = 0;   // of all positions of dst that meet src
  int64_t inside = 0; // positions all of whose taps do

  DirectDim(int64_t in, int64_t out, int64_t pad) {
    auto positions = [&](int64_t from, int64_t past) {
      return std::max<int64_t>(0, std::min(out, past) -
                                      std::max<int64_t>(0, from));
    };
    for (int64_t tap = 0; tap < kTaps; ++tap)
      taps += positions(pad - tap, in + pad - tap);
    inside = positions(pad, in + pad - kTaps + 1);
  }

  /// Taps times rows of products for a row of `out` columns: columns inside are
  /// one product, each of those at the ends is one; or all are one, where rows
  /// of src are padded first.
  int64_t workOfRow(int64_t out, bool mayPad) const {
    int64_t work = (taps - kTaps * inside) * kMinRows;
    if (inside)
      work += kTaps * std::max(inside, kMinRows);
    return mayPad ? std::min(work, kTaps * std::max(out, kMinRows)) : work;
  }
};

int64_t tilesPerImage(RankedTensorType dst, int64_t outputs) {
  int64_t tiles = 1;
  for (int64_t d : {1, 2})
    tiles *= ceilDiv(dst.getDimSize(d), outputs);
  return tiles;
}

bool areAll(DenseI64ArrayAttr values, int64_t expected) {
  return llvm::all_of(values.asArrayRef(),
                      [&](int64_t v) { return v == expected; });
}

/// Of making and packing a point of weights that change with every execution.
constexpr double kPerTransformed = 75;

/// Why a Winograd convolution is not possible; empty: it is.
std::string whyNotPossible(RankedTensorType src, RankedTensorType dst,
                           const WindowAttrs &w) {
  if (w.groups.getInt() != 1)
    return llvm::formatv("it has {0} groups", w.groups.getInt());
  if (!areAll(w.strides, 1))
    return llvm::formatv("its strides are {0}x{1}", w.strides[0], w.strides[1]);
  if (!areAll(w.dilations, 1))
    return llvm::formatv("its dilations are {0}x{1}", w.dilations[0],
                         w.dilations[1]);
  if (src.isDynamicDim(3) || dst.isDynamicDim(3))
    return "its channels are not known";
  if (w.autoPad)
    return "its padding follows from sizes that are not known";
  return "";
}

bool hasUnknownImages(RankedTensorType type) {
  return type.isDynamicDim(1) || type.isDynamicDim(2);
}

/// `src` and `dst` with heights and widths, those that are not known as well.
std::pair<RankedTensorType, RankedTensorType>
withAssumedSizes(RankedTensorType src, RankedTensorType dst,
                 const WindowAttrs &w) {
  SmallVector<int64_t> in(src.getShape()), out(dst.getShape());
  for (int64_t d : {1, 2}) {
    if (!src.isDynamicDim(d))
      continue;
    in[d] = kUnknownSize;
    int64_t pads = w.padsBegin[d - 1] + w.padsEnd[d - 1];
    out[d] = std::max<int64_t>(kUnknownSize + pads - (kTaps - 1), 1);
  }
  return {src.clone(in), dst.clone(out)};
}

/// What is said for or against tiles of `outputs`; `pays`: they cost so much
/// less than the definition that the estimate is believed.
std::string judge(RankedTensorType src, RankedTensorType dst,
                  const WinogradCost &cost, int64_t outputs, bool &pays) {
  int64_t tiles = tilesPerImage(dst, outputs);
  pays = false;
  if (src.isDynamicDim(0) && tiles < kMinUnknownTiles)
    return llvm::formatv("its batch is unknown, and {0} tiles of one image "
                         "would be work for few threads",
                         tiles);
  pays = cost.winograd() * kMargin <= cost.direct;
  return llvm::formatv("it would cost {0:f2} of {1:f2} million multiply-adds: "
                       "products {2:f2}, transforms {3:f2}, larger weights "
                       "{4:f2}",
                       cost.winograd() / 1e6, cost.direct / 1e6,
                       cost.products / 1e6, cost.transforms / 1e6,
                       cost.weights / 1e6);
}

WinogradChoice chooseByCost(RankedTensorType src, RankedTensorType dst,
                            const WindowAttrs &w, bool fastMath,
                            bool constant) {
  WinogradChoice choice;
  double least = std::numeric_limits<double>::infinity();
  for (const TileCost &tile : ArrayRef(kTiles).take_front(fastMath ? 2 : 1)) {
    int64_t outputs = tile.outputs;
    WinogradCost cost = winogradCost(src, dst, w, outputs);
    if (!constant)
      cost.weights += kPerTransformed *
                      static_cast<double>(Tile{outputs}.points()) *
                      static_cast<double>(src.getDimSize(3)) *
                      static_cast<double>(dst.getDimSize(3));
    bool pays;
    std::string text = judge(src, dst, cost, outputs, pays);
    LDBG() << winogradName(outputs) << (pays ? " pays: " : " does not pay: ")
           << text;
    if (pays && cost.winograd() * kMargin <= least) {
      least = cost.winograd();
      choice.outputs = outputs;
    }
    if (!choice.reason.empty())
      choice.reason += "; " + winogradName(outputs) + ": ";
    choice.reason += text;
  }
  if (choice.outputs && !fastMath)
    choice.reason.clear();
  return choice;
}

} // namespace

std::string winogradName(int64_t outputs) {
  return llvm::formatv("F({0}x{0}, 3x3)", outputs);
}

WinogradCost winogradCost(RankedTensorType src, RankedTensorType dst,
                          const WindowAttrs &w, int64_t outputs) {
  int64_t images = src.isDynamicDim(0) ? 1 : src.getDimSize(0);
  int64_t tiles = images * tilesPerImage(dst, outputs);
  int64_t points = Tile{outputs}.points();
  DirectDim rows(src.getDimSize(1), dst.getDimSize(1), w.padsBegin[0]);
  DirectDim columns(src.getDimSize(2), dst.getDimSize(2), w.padsBegin[1]);
  // An unknown batch has no buffer of known size for the copy.
  int64_t row = columns.workOfRow(dst.getDimSize(2), !src.isDynamicDim(0));
  auto c = static_cast<double>(src.getDimSize(3));
  auto k = static_cast<double>(dst.getDimSize(3));
  WinogradCost cost;
  cost.direct = static_cast<double>(images) * static_cast<double>(rows.taps) *
                static_cast<double>(row) * c * k;
  const TileCost *per = llvm::find_if(
      kTiles, [&](const TileCost &t) { return t.outputs == outputs; });
  assert(per != std::end(kTiles) && "tiles of a size that has no costs");
  double weights = static_cast<double>(points) * c * k;
  cost.products = weights * static_cast<double>(std::max(tiles, kMinRows));
  if (weights >= kMaxCachedWeights)
    cost.products *= per->perProduct;
  cost.transforms = per->perChannel * static_cast<double>(tiles) * (c + k);
  cost.weights =
      kPerWeight * static_cast<double>(points - kTaps * kTaps) * c * k;
  return cost;
}

FailureOr<WinogradOptions> winogradOptions(ModuleOp module, StringRef mode,
                                           bool fastMath) {
  auto parsed = parseMode(mode);
  if (!parsed)
    return module.emitError("winograd must be ") << kModes << ", is " << mode;
  return WinogradOptions{*parsed, fastMath};
}

bool isWinogradKernel(RankedTensorType weights) {
  return weights.getRank() == 4 && weights.getElementType().isF32() &&
         weights.getDimSize(0) == kTaps && weights.getDimSize(1) == kTaps;
}

WinogradChoice chooseWinograd(Value src, Value weights, RankedTensorType dst,
                              const WindowAttrs &w,
                              const WinogradOptions &options) {
  if (options.mode == Mode::never)
    return {0, "winograd=never"};
  auto type = rankedType(src);
  if (std::string reason = whyNotPossible(type, dst, w); !reason.empty())
    return {0, reason};
  bool isUnknown = hasUnknownImages(type);
  std::tie(type, dst) = withAssumedSizes(type, dst, w);
  // What is computed once need not be fast: sums of the weights of integer
  // convolutions stay exact.
  // Large tiles have many ways to end in the middle, each code of its own.
  bool fastMath = options.fastMath && !isKnownOnce(src) && !isUnknown;
  if (options.mode == Mode::always)
    return {kTiles[fastMath ? 1 : 0].outputs, ""};
  return chooseByCost(type, dst, w, fastMath, isKnownOnce(weights));
}

Value buildWinograd(const Packing &packing, OpBuilder &b, Location loc,
                    RankedTensorType dst, Value src, Value weights,
                    const WindowAttrs &w, int64_t outputs) {
  // Rows of the products are tiles, of all images together.
  int64_t panel = packing.panelFor(ShapedType::kDynamic, dst.getShape().back());
  Value points = tile::WinogradWeightsOp::create(b, loc, weights, outputs);
  Value packed = tile::PackOp::create(b, loc, points, panel, 1);
  return tile::WinogradOp::create(b, loc, dst, src, packed,
                                  b.getI64IntegerAttr(outputs), w.padsBegin,
                                  w.padsEnd);
}

} // namespace tenon::passes
