//===- LowerChain.cpp - products and windows, a band of rows at a time ----===//
// SPDX-License-Identifier: Apache-2.0
//
// Items are (image, band of rows of the last member's result). An item computes
// of each member the rows that the next one needs, into scratch memory that
// stays in L2:
//
//   expand 1x1 -> depthwise 3x3 -> project 1x1, a band of rows [r, r + 14)
//     rows [r - 1, r + 15) of expand   -> scratch
//     rows [r, r + 14) of depthwise    -> scratch
//     rows [r, r + 14) of project      -> dst
//
// A convolution with several taps that is not depthwise can only be the first:
// it may read a copy of src between zeros.
//
// Rows that two bands need are computed by both, so that no item waits for
// another. A member reads the result of the one before it as its src or, as in
// a gated MLP, as an operand of its epilogue.
//
//===----------------------------------------------------------------------===//
#include "passes/fuse/Chain.h"
#include "passes/support/Entry.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tile/convolution/DirectConv.h"
#include "passes/tile/windows/DirectDepthwise.h"
#include "passes/tile/windows/Windows.h"

using namespace mlir;

namespace tenon::passes {

std::optional<BandShape> bandShape(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  ArrayRef<int64_t> s = tensor.getShape();
  if (!tensor.hasStaticShape() || tensor.getNumElements() == 0)
    return std::nullopt;
  switch (s.size()) {
  case 2:
    return BandShape{1, s[0], 1, s[1]};
  case 3:
    return BandShape{s[0], s[1], 1, s[2]};
  case 4:
    return BandShape{s[0], s[1], s[2], s[3]};
  }
  return std::nullopt;
}

std::optional<WindowDim> bandWindow(Operation *first) {
  auto dst = bandShape(first->getResult(0).getType());
  if (!dst || !bandShape(first->getOperand(0).getType()))
    return std::nullopt;
  WindowDim same{dst->rows, dst->rows, 1, 1, 0, 1};
  if (auto product = dyn_cast<tile::MatMulOp>(first)) {
    bool oneMatrix = !product.getInPlace() && !product.getQuantized() &&
                     rankedType(product.getWeights()).getRank() ==
                         (product.getInterleave() > 1 ? 4 : 3);
    bool sameRows = rankedType(product.getSrc()).getShape().drop_back() ==
                    rankedType(product.getDst()).getShape().drop_back();
    return oneMatrix && sameRows && dst->columns == 1 ? std::optional(same)
                                                      : std::nullopt;
  }
  auto conv = dyn_cast<tile::ConvOp>(first);
  if (!conv || rankedType(conv.getSrc()).getRank() != 4)
    return std::nullopt;
  if (isPointwise(conv))
    return same;
  bool isDirect =
      conv.getDepthwise()
          ? DirectDepthwise::fits(conv)
          : conv.getGroups() == 1 &&
                llvm::all_of(windowDims(conv),
                             [](const WindowDim &d) { return d.isKnown(); });
  return isDirect ? std::optional(windowDims(conv)[0]) : std::nullopt;
}

bool readsBands(Operation *first) {
  auto conv = dyn_cast<tile::ConvOp>(first);
  return !conv || isPointwise(conv) || conv.getDepthwise();
}

bool startsMember(Operation *op) {
  return isa<tile::MatMulOp, tile::ConvOp>(op);
}

BandBuffer::BandBuffer(RankedTensorType type, int64_t rows) {
  BandShape shape = *bandShape(type);
  int64_t size = storageType(type.getElementType()).getIntOrFloatBitWidth() / 8;
  pitch = shape.channels * size % kBadStride ? shape.channels
                                             : oddPitch(shape.channels, size);
  bytes = roundUp(rows * shape.columns * pitch * size, kLineBytes);
}

int64_t rowsNeeded(const WindowDim &rows, int64_t count) {
  return std::min(rows.in, (count - 1) * rows.stride +
                               (rows.kernel - 1) * rows.dilation + 1);
}

namespace {

/// `s` over the dimensions of a BandShape.
Strided asBand(Strided s) {
  s.dense = false;
  if (s.rank() == 2) {
    s.sizes.insert(s.sizes.begin(), 1);
    s.strides.insert(s.strides.begin(), 0);
  }
  if (s.rank() == 3) {
    s.sizes.insert(s.sizes.begin() + 2, 1);
    s.strides.insert(s.strides.begin() + 2, 0);
  }
  return s;
}

/// BandRows [from, past) of a band; `count` of them, where that is known.
struct BandRows {
  Index from, past;
  std::optional<int64_t> count;
};

class BandMember {
public:
  BandMember(GroupContext &ctx, ArrayRef<Operation *> ops)
      : rows(*bandWindow(ops.front())), op(ops.front()), epilogue(ctx, op, ops),
        last(ops.back()->getResult(0)),
        shape(*bandShape(op->getResult(0).getType())),
        weights(ctx.memoryOf(op->getOperand(1))) {
    for (auto [i, operand] : llvm::enumerate(epilogue.epilogueOperands))
      if (i != epilogue.linked)
        operand = asBand(operand);
    if (isa<BlockArgument>(op->getOperand(0)))
      src = asBand(ctx.memoryOf(op->getOperand(0)));
    auto conv = dyn_cast<tile::ConvOp>(op);
    if (conv && conv.getDepthwise()) {
      dims = withSizes(conv, windowDims(conv), ctx.sizes[conv.getSrc()],
                       ctx.sizes[conv.getDst()]);
      weights = depthwiseWeights(weights);
    } else if (!readsBands(op)) {
      direct.emplace(ctx, conv, *src);
    }
  }

  RankedTensorType type() const { return rankedType(last); }

  /// These rows of `dst`; `before`: those that the member before made.
  void emit(IndexMath &m, Index image, BandRows band, const Strided &before,
            const Strided &dst, bool isReadSoon) const {
    if (direct)
      return emitDirect(m, image, band, dst, isReadSoon);
    const Strided &from = src ? *src : before;
    if (!dims.empty()) {
      DirectDepthwise window{dims, from, dst, weights, epilogue};
      emitLoop(m, band.from, band.past,
               [&](Index row) { window.emitRow(m, image, row); });
      return;
    }
    SmallVector<Strided> epilogueOperands = epilogue.epilogueOperands;
    if (epilogue.linked)
      epilogueOperands[*epilogue.linked] = before;
    auto [interleave, packed] = packing();
    int64_t panel = panelWidth(packed, interleave);
    int64_t panels = ceilDiv(shape.channels, panel);
    Index k = from.sizes.back();
    emitLoop(m, 0, panels, [&](Index number) {
      Value b =
          panelBox(m, weights.base, number * panelSize(k, panel, interleave),
                   {}, {}, k, panel, interleave);
      withBlockSize(m, number, shape.channels, panel, [&](int64_t n) {
        emitStrip(m, image, band, {from, epilogueOperands, dst}, b,
                  number * panel, n, isReadSoon);
      });
    });
  }

  WindowDim rows;

private:
  void emitDirect(IndexMath &m, Index image, BandRows band, const Strided &dst,
                  bool isReadSoon) const {
    emitLoop(m, 0, direct->panels(), [&](Index panel) {
      direct->overColumns(m, panel, [&](int64_t n) {
        emitLoop(m, band.from, band.past, [&](Index row) {
          direct->emitRow(m,
                          {epilogue, dst, image, row, 0, panel, n, isReadSoon});
        });
      });
    });
  }

  std::pair<int64_t, RankedTensorType> packing() const {
    if (auto product = dyn_cast<tile::MatMulOp>(op))
      return {product.getInterleave(), rankedType(product.getWeights())};
    auto conv = cast<tile::ConvOp>(op);
    return {conv.getInterleave(), rankedType(conv.getWeights())};
  }

  /// Whether the columns of a row and of the next are evenly apart.
  bool rowsFollow(const Strided &s) const {
    auto row = s.strides[1].constant(), column = s.strides[2].constant();
    return row && column && *row == shape.columns * *column;
  }

  /// What a product reads and writes besides weights.
  struct Tensors {
    const Strided &src;
    ArrayRef<Strided> epilogueOperands;
    const Strided &dst;
  };

  /// `n` channels from `channel` on: all rows at once where they follow each
  /// other and their number is known, else the columns of each.
  void emitStrip(IndexMath &m, Index image, BandRows band,
                 const Tensors &tensors, Value b, Index channel, int64_t n,
                 bool isReadSoon) const {
    const Strided &src = tensors.src;
    auto product = [&](Index row, int64_t rowDim, int64_t count) {
      Index at = src.offset.value_or(0) +
                 (image * src.strides[0] + row * src.strides[1]);
      Value a = box(m, src.base, at, {count, src.sizes.back()},
                    {src.strides[rowDim], src.strides.back()});
      auto brgemm =
          epilogue.emitBrgemm(m, a, b, tensors.dst, tensors.epilogueOperands,
                              {image, row, 0, channel}, rowDim, count, n);
      brgemm.setUnsignedA(
          rankedType(op->getOperand(0)).getElementType().isUnsignedInteger(8));
      if (isReadSoon)
        keepNear(brgemm);
    };
    if (shape.columns == 1 && band.count)
      return product(band.from, 1, *band.count);
    auto follow = [&](const Strided &s) { return rowsFollow(s); };
    if (band.count && follow(src) && follow(tensors.dst) &&
        llvm::all_of(tensors.epilogueOperands, follow))
      return product(band.from, 2, *band.count * shape.columns);
    emitLoop(m, band.from, band.past,
             [&](Index row) { product(row, 2, shape.columns); });
  }

  Operation *op;
  Epilogue epilogue;
  Value last;
  BandShape shape;
  std::optional<Strided> src; // where the member before does not make it
  Strided weights;
  SmallVector<SizedWindow> dims;    // of a depthwise convolution
  std::optional<DirectConv> direct; // of one with several taps
};

/// The rows of src that `band` of dst needs.
BandRows needed(const WindowDim &d, BandRows band) {
  if (d.isIdentity())
    return band;
  Index from = band.from * d.stride - d.pad;
  Index past =
      (band.past - 1) * d.stride + ((d.kernel - 1) * d.dilation + 1 - d.pad);
  BandRows rows{max(from, 0), min(past, d.in), std::nullopt};
  auto first = rows.from.constant(), end = rows.past.constant();
  if (first && end)
    rows.count = *end - *first;
  return rows;
}

/// Scratch memory at `byteOffset` as rows from `first` on of a tensor.
Strided bandOf(IndexMath &m, Value scratch, int64_t byteOffset,
               RankedTensorType type, int64_t rows, Index first) {
  BandShape shape = *bandShape(type);
  BandBuffer buffer(type, rows);
  Type element = storageType(type.getElementType());
  Strided s;
  s.base = scratchView(m, scratch, element, byteOffset,
                       buffer.bytes * 8 / element.getIntOrFloatBitWidth());
  int64_t row = shape.columns * buffer.pitch;
  s.sizes = {1, shape.rows, shape.columns, shape.channels};
  s.strides = {0, row, buffer.pitch, 1};
  s.offset = first * -row;
  return s;
}

std::vector<BandMember> membersOf(GroupContext &ctx) {
  SmallVector<SmallVector<Operation *>> parts;
  for (Operation *op : ctx.ops()) {
    if (startsMember(op))
      parts.emplace_back();
    parts.back().push_back(op);
  }
  std::vector<BandMember> members;
  for (ArrayRef<Operation *> part : parts)
    members.emplace_back(ctx, part);
  return members;
}

} // namespace

LogicalResult lowerChain(GroupContext &ctx) {
  IndexMath &m = ctx.m;
  std::vector<BandMember> members = membersOf(ctx);
  int64_t band = ctx.group->getAttrOfType<IntegerAttr>(kBandAttr).getInt();
  size_t n = members.size();
  BandShape shape = *bandShape(members.back().type());
  // BandRows of each result that a band needs at most, and where they are.
  SmallVector<int64_t> rows(n, band), offsets(n, 0);
  int64_t scratchBytes = 0;
  for (size_t i = n - 1; i-- > 0;) {
    rows[i] = rowsNeeded(members[i + 1].rows, rows[i + 1]);
    offsets[i] = scratchBytes;
    scratchBytes += BandBuffer(members[i].type(), rows[i]).bytes;
  }
  Strided dst = asBand(ctx.result());
  Grid grid{{"image", shape.images}, {"band", ceilDiv(shape.rows, band)}};
  auto emitBand = [&](Value scratch, Index image, BandRows last) {
    SmallVector<BandRows> bands(n, last);
    for (size_t i = n - 1; i-- > 0;)
      bands[i] = needed(members[i + 1].rows, bands[i + 1]);
    Strided before;
    for (auto [i, member] : llvm::enumerate(members)) {
      bool isLast = i + 1 == n;
      Strided to = isLast ? dst
                          : bandOf(m, scratch, offsets[i], member.type(),
                                   rows[i], bands[i].from);
      member.emit(m, image, bands[i], before, to, !isLast);
      before = std::move(to);
    }
  };
  auto section = [&](const Grid::Item &at, Value scratch) {
    Index first = at["band"] * band;
    // A last band of another height would be another copy of everything.
    if (shape.columns > 1 && shape.rows % band != 0) {
      Index past = min(first + band, shape.rows);
      return emitBand(scratch, at["image"], {first, past, {}});
    }
    withBlockSize(m, at["band"], shape.rows, band, [&](int64_t count) {
      Index past = first + count;
      emitBand(scratch, at["image"], {first, past, count});
    });
  };
  emitItems(m, ctx.label, grid, scratchBytes, section);
  return success();
}

} // namespace tenon::passes
