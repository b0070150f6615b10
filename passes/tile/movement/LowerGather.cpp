//===- LowerGather.cpp - sections that read by index ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Where indices do not vary along the last loops, an item copies rows: one
// index is read for each, and the row is a loop of vectors. While a row is
// copied, one of the next rows is prefetched. Otherwise the last loop reads
// indices as vectors and loads elements by them.
//
//===----------------------------------------------------------------------===//
#include "codegen/vector/Attrs.h"
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/movement/IndexedAccess.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <limits>

using namespace mlir;

namespace tenon::passes {

namespace {

/// Bytes of an item: larger than what it costs to start one, small beside L2.
constexpr int64_t kItemBytes = 32 << 10;
/// Elements from which on a row is copied as one.
constexpr int64_t kMinRow = 4;
/// Bytes of the tensor from which on rows are prefetched, the lines of a row
/// that are, and how far ahead.
constexpr int64_t kPrefetchedBytes = 1 << 20, kPrefetchedLines = 16,
                  kBytesAhead = 2 << 10, kMostRowsAhead = 16, kLineBytes = 64;
/// Bytes of a row below which neither that pays, nor stores past the caches,
/// which want whole lines.
constexpr int64_t kShortRow = 128;
/// Elements of a row whose size is not known.
constexpr int64_t kUnknownRow = 256;

class GatherEmitter {
public:
  GatherEmitter(GroupContext &ctx, const IndexedAccess &access,
                const Strided &dst)
      : ctx(ctx), m(ctx.m), access(access), dst(dst),
        inner(access.innerLoops()) {
    // A row of unknown size is a long one.
    copiesRows = elementsOfRow().value_or(kMinRow) >= kMinRow;
    if (!copiesRows)
      inner = std::min<int64_t>(access.rank(), 1);
    lead = access.rank() - inner;
  }

  void emit() {
    ArrayRef<Index> sizes = access.sizes;
    Index rows = product(sizes.take_front(lead));
    int64_t bytes = dst.elementType().getIntOrFloatBitWidth() / 8;
    int64_t row = elementsOfRow().value_or(kUnknownRow) * bytes;
    if (rows.isConstant(0) || row == 0)
      return;
    int64_t perItem = std::max<int64_t>(kItemBytes / row, 1);
    emitItems(m, ctx.label, ceilDiv(rows, perItem), [&](Index item) {
      Index from = item * perItem, to = min(from + perItem, rows);
      emitLoop(m, from, to, [&](Index number) {
        SmallVector<Index> at = positionOf(number, sizes.take_front(lead));
        Value target =
            box(m, dst.base, placeIn(dst, at), innerSizes(), rest(dst.strides));
        if (!copiesRows)
          return loadElements(at, target);
        if (row >= kShortRow && bytesOf(access.tensor) >= kPrefetchedBytes) {
          int64_t ahead =
              std::clamp<int64_t>(kBytesAhead / row, 2, kMostRowsAhead);
          prefetchRow(min(number + ahead, rows - 1), row);
        }
        copyRow(at, target, /*whole=*/row >= kShortRow);
      });
    });
  }

private:
  std::optional<int64_t> elementsOfRow() const {
    return product(ArrayRef(access.sizes).take_back(inner)).constant();
  }

  static Index placeIn(const Strided &s, ArrayRef<Index> at) {
    Index place = s.offset.value_or(0);
    for (auto [position, stride] : llvm::zip(at, s.strides))
      place += position * stride;
    return place;
  }

  /// Of a scalar there is one element.
  SmallVector<Index> innerSizes() const {
    return inner ? SmallVector<Index>(ArrayRef(access.sizes).take_back(inner))
                 : SmallVector<Index>{1};
  }
  SmallVector<Index> rest(ArrayRef<Index> strides) const {
    return inner ? SmallVector<Index>(strides.take_back(inner))
                 : SmallVector<Index>{1};
  }

  void markNontemporal(linalg::GenericOp generic) const {
    if (bytesOf(dst) >= kNontemporalBytes)
      generic->setAttr(codegen::kNontemporalAttr,
                       m.builder().getDenseI64ArrayAttr({0}));
  }

  /// `whole`: it is many lines.
  void copyRow(ArrayRef<Index> at, Value target, bool whole) {
    OpBuilder &b = m.builder();
    Value source = box(m, access.tensor.base, access.placeAt(m, at),
                       innerSizes(), rest(access.strides));
    int64_t rank = cast<MemRefType>(target.getType()).getRank();
    SmallVector<AffineMap> maps(2, b.getMultiDimIdentityMap(rank));
    SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
    auto copy = linalg::GenericOp::create(
        b, m.location(), TypeRange{}, source, target, maps, loops,
        [](OpBuilder &nb, Location loc, ValueRange args) {
          linalg::YieldOp::create(nb, loc, args[0]);
        });
    if (whole)
      markNontemporal(copy);
  }

  /// The first lines of the row that position `number` reads.
  void prefetchRow(Index number, int64_t bytes) {
    if (!access.strides.back().isConstant(1))
      return;
    OpBuilder &b = m.builder();
    SmallVector<Index> at =
        positionOf(number, ArrayRef(access.sizes).take_front(lead));
    Index place = access.placeAt(m, at);
    int64_t perLine =
        kLineBytes * 8 / dst.elementType().getIntOrFloatBitWidth();
    int64_t lines = std::min(ceilDiv(bytes, kLineBytes), kPrefetchedLines);
    for (int64_t i = 0; i < lines; ++i) {
      Value line = box(m, access.tensor.base, place + i * perLine, {1}, {1});
      memref::PrefetchOp::create(b, m.location(), line, m.value(0),
                                 /*isWrite=*/false, /*localityHint=*/3,
                                 /*isDataCache=*/true);
    }
  }

  /// Elements of one loop, along which indices vary.
  void loadElements(ArrayRef<Index> at, Value target) {
    OpBuilder &b = m.builder();
    SmallVector<Value> raw;
    for (const IndexTensor &index : access.indices)
      raw.push_back(box(m, index.memory.base, placeIn(index.memory, at),
                        innerSizes(), rest(index.memory.strides)));
    // All that the loops and the indices add is in the index of the load.
    Index first = placeIn(
        {access.tensor.base, {}, access.strides, false, access.tensor.offset},
        at);
    Value flat = box(m, access.tensor.base, first,
                     {std::numeric_limits<int32_t>::max()}, {1});
    SmallVector<AffineMap> maps(raw.size() + 1, b.getMultiDimIdentityMap(1));
    auto generic = linalg::GenericOp::create(
        b, m.location(), TypeRange{}, raw, target, maps,
        utils::IteratorType::parallel,
        [&](OpBuilder &nb, Location loc, ValueRange args) {
          IndexMath inside(nb, loc);
          auto outside = [&](Index x) {
            return x.constant() ? x : inside(m.value(x));
          };
          Index place = inside(Value(linalg::IndexOp::create(nb, loc, 0))) *
                        outside(inner ? access.strides.back() : Index(0));
          for (auto [i, index] : llvm::enumerate(access.indices))
            place += index.wrapped(inside, args[i], outside(index.limit)) *
                     outside(index.stride);
          Value v = memref::LoadOp::create(nb, loc, flat, inside.value(place));
          linalg::YieldOp::create(nb, loc, v);
        });
    markNontemporal(generic);
  }

  GroupContext &ctx;
  IndexMath &m;
  const IndexedAccess &access;
  const Strided &dst;
  int64_t inner, lead; // loops of a row, and loops around it
  bool copiesRows;
};

} // namespace

void emitGather(GroupContext &ctx, const IndexedAccess &access,
                const Strided &dst) {
  GatherEmitter(ctx, access, dst).emit();
}

} // namespace tenon::passes
