//===- LowerScatter.cpp - sections that write by index --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Several updates may meet one element; they are applied in their order,
// whatever the number of threads: an item owns a range of places and applies
// the updates that fall there. Where one loop steps through places whatever the
// indices are, such as the rows of ScatterElements along columns, a range is a
// part of that loop. Otherwise each item looks at all indices, so that there
// are fewer items the shorter the rows of updates are.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/movement/IndexedAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// Ranges of places.
constexpr int64_t kRanges = 16;
/// If each looks at all indices: one for so many elements of a row of updates.
constexpr int64_t kElementsOfRange = 8;
/// Elements of updates below which one thread is as fast.
constexpr int64_t kFewElements = 8 << 10;

/// An element and its update, joined.
Value joined(OpBuilder &b, Location loc, StringRef reduction, Type element,
             Value old, Value update) {
  bool isFloat = isa<FloatType>(element);
  bool isSigned = !element.isUnsignedInteger();
  if (reduction == "add")
    return isFloat ? arith::AddFOp::create(b, loc, old, update).getResult()
                   : arith::AddIOp::create(b, loc, old, update).getResult();
  if (reduction == "mul")
    return isFloat ? arith::MulFOp::create(b, loc, old, update).getResult()
                   : arith::MulIOp::create(b, loc, old, update).getResult();
  if (reduction == "max") {
    if (isFloat)
      return arith::MaximumFOp::create(b, loc, old, update);
    return isSigned ? arith::MaxSIOp::create(b, loc, old, update).getResult()
                    : arith::MaxUIOp::create(b, loc, old, update).getResult();
  }
  if (reduction == "min") {
    if (isFloat)
      return arith::MinimumFOp::create(b, loc, old, update);
    return isSigned ? arith::MinSIOp::create(b, loc, old, update).getResult()
                    : arith::MinUIOp::create(b, loc, old, update).getResult();
  }
  return update;
}

class ScatterEmitter {
public:
  ScatterEmitter(GroupContext &ctx, const IndexedAccess &access,
                 const Strided &updates, StringRef reduction, Type element)
      : ctx(ctx), m(ctx.m), access(access), updates(updates),
        reduction(reduction), element(element),
        lead(access.rank() - access.innerLoops()) {}

  void emit() {
    Index count = product(access.sizes);
    if (count.isConstant(0))
      return;
    bool few = count.constant().value_or(kFewElements) < kFewElements;
    std::optional<int64_t> owned = few ? std::nullopt : loopOfPlaces();
    int64_t ranges = few ? 1 : owned ? kRanges : rangesOfIndices();
    emitItems(m, ctx.label, ranges, [&](Index item) {
      auto part = [&](Index all) -> Bounds {
        return {item * all / ranges, (item + 1) * all / ranges};
      };
      SmallVector<Bounds> loops;
      for (int64_t d = 0; d < lead; ++d)
        loops.push_back(d == owned ? part(access.sizes[d])
                                   : Bounds{0, access.sizes[d]});
      SmallVector<Index> at;
      if (ranges == 1 || owned)
        return overPositions(loops, at, [&] { update(at); });
      auto [from, to] = part(numberOfPlaces());
      overPositions(loops, at, [&] {
        emitIfInside(placeNumber(at), from, to, [&] { update(at); });
      });
    });
  }

private:
  using Bounds = std::pair<Index, Index>;

  /// A loop along which places differ whatever the indices are, and which is
  /// long enough for all ranges.
  std::optional<int64_t> loopOfPlaces() const {
    for (int64_t d = 0; d < lead; ++d)
      if (!access.strides[d].isConstant(0) &&
          access.sizes[d].constant().value_or(kRanges) >= kRanges)
        return d;
    return std::nullopt;
  }

  int64_t rangesOfIndices() const {
    Index row = product(ArrayRef(access.sizes).drop_front(lead));
    int64_t elements = row.constant().value_or(kRanges * kElementsOfRange);
    return std::clamp<int64_t>(elements / kElementsOfRange, 1, kRanges);
  }

  /// Loops within `bounds`, whose positions are in `at` where `body` is called.
  void overPositions(ArrayRef<Bounds> bounds, SmallVector<Index> &at,
                     llvm::function_ref<void()> body) {
    if (at.size() == bounds.size())
      return body();
    auto [from, to] = bounds[at.size()];
    emitLoop(m, from, to, [&](Index position) {
      at.push_back(position);
      overPositions(bounds, at, body);
      at.pop_back();
    });
  }

  /// Places that indices and the other leading loops tell apart.
  Index numberOfPlaces() const {
    Index places = 1;
    for (const IndexTensor &index : access.indices)
      places *= index.limit;
    for (int64_t d = 0; d < lead; ++d)
      if (!access.strides[d].isConstant(0))
        places *= access.sizes[d];
    return places;
  }

  Index placeNumber(ArrayRef<Index> at) {
    Index number = 0;
    for (int64_t i = 0, e = access.indices.size(); i < e; ++i)
      number = number * access.indices[i].limit + access.indexAt(m, i, at);
    for (int64_t d = 0; d < lead; ++d)
      if (!access.strides[d].isConstant(0))
        number = number * access.sizes[d] + at[d];
    return number;
  }

  void emitIfInside(Index number, Index from, Index to,
                    llvm::function_ref<void()> body) {
    OpBuilder &b = m.builder();
    Location loc = m.location();
    using P = arith::CmpIPredicate;
    Value above =
        arith::CmpIOp::create(b, loc, P::sge, m.value(number), m.value(from));
    Value below =
        arith::CmpIOp::create(b, loc, P::slt, m.value(number), m.value(to));
    auto branch =
        scf::IfOp::create(b, loc, arith::AndIOp::create(b, loc, above, below),
                          /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    body();
  }

  /// Applies the updates at position `at` of the leading loops: a row.
  void update(ArrayRef<Index> at) {
    OpBuilder &b = m.builder();
    ArrayRef<Index> rest = ArrayRef(access.sizes).drop_front(lead);
    SmallVector<Index> sizes(rest);
    SmallVector<Index> to(ArrayRef(access.strides).drop_front(lead)),
        from(ArrayRef(updates.strides).drop_front(lead));
    if (sizes.empty()) {
      sizes = {1};
      to = from = {1};
    }
    Index place = access.placeAt(m, at);
    Index source = updates.offset.value_or(0);
    for (auto [position, stride] : llvm::zip(at, updates.strides))
      source += position * stride;
    Value target = box(m, access.tensor.base, place, sizes, to);
    Value values = box(m, updates.base, source, sizes, from);
    int64_t rank = static_cast<int64_t>(sizes.size());
    SmallVector<AffineMap> maps(2, b.getMultiDimIdentityMap(rank));
    SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
    linalg::GenericOp::create(
        b, m.location(), TypeRange{}, values, target, maps, loops,
        [&](OpBuilder &nb, Location loc, ValueRange args) {
          linalg::YieldOp::create(
              nb, loc, joined(nb, loc, reduction, element, args[1], args[0]));
        });
  }

  GroupContext &ctx;
  IndexMath &m;
  const IndexedAccess &access;
  const Strided &updates;
  StringRef reduction;
  Type element;
  int64_t lead; // loops along which indices vary
};

} // namespace

void emitScatter(GroupContext &ctx, const IndexedAccess &access,
                 const Strided &updates, StringRef reduction, Type element) {
  ScatterEmitter(ctx, access, updates, reduction, element).emit();
}

} // namespace tenon::passes
