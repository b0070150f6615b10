// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/core/WorkItems.h"

#include "dialects/rt/RtDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/DebugLog.h"

#include <numeric>
#include <tuple>

#define DEBUG_TYPE "tenon-tile-groups"

using namespace mlir;

namespace tenon::tiling {

namespace {
constexpr int64_t kMaxRowBlock = 384;
} // namespace

void emitItems(IndexMath &m, StringRef label, Ofr items,
               llvm::function_ref<void(IndexMath &, Value)> body) {
  emitItems(m, label, items, m.attr(0),
            [&](IndexMath &im, Value item, Value) { body(im, item); });
}

void emitItems(IndexMath &m, StringRef label, Ofr items, Ofr scratchBytes,
               llvm::function_ref<void(IndexMath &, Value, Value)> body) {
  OpBuilder &b = m.builder();
  auto section = rt::ParallelOp::create(b, m.location(), label, m.value(items),
                                        m.value(scratchBytes));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&section.getBody().front());
  IndexMath inner(b, m.location());
  Value scratch = section.getScratchMemory();
  emitLoop(inner, Ofr(section.getBegin()), Ofr(section.getEnd()),
           [&](IndexMath &im, Ofr i) { body(im, cast<Value>(i), scratch); });
}

Value firstOfRange(Value item) {
  auto section = cast<BlockArgument>(item).getOwner()->getParentOp();
  return section->getParentOfType<rt::ParallelOp>().getBegin();
}

void emitIfFirst(IndexMath &m, Value item, Ofr number,
                 llvm::function_ref<void(IndexMath &)> body) {
  OpBuilder &b = m.builder();
  Location loc = m.location();
  auto equal = [&](Value x, Value y) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, y);
  };
  Value wanted =
      arith::OrIOp::create(b, loc, equal(item, firstOfRange(item)),
                           equal(m.value(number), m.value(m.attr(0))));
  scf::IfOp::create(b, loc, wanted, [&](OpBuilder &nb, Location l) {
    IndexMath inner(nb, l);
    body(inner);
    scf::YieldOp::create(nb, l);
  });
}

Value scratchView(IndexMath &m, Value scratch, Type element, Ofr byteOffset,
                  Ofr count) {
  auto known = IndexMath::constant(count);
  auto type = MemRefType::get({known.value_or(ShapedType::kDynamic)}, element);
  SmallVector<Value> dynamic;
  if (!known)
    dynamic.push_back(cast<Value>(count));
  return memref::ViewOp::create(m.builder(), m.location(), type, scratch,
                                m.value(byteOffset), dynamic);
}

int64_t rowBlock(std::optional<int64_t> rows, std::optional<int64_t> k,
                 int64_t l2Bytes, int64_t elementBytes, int64_t multiple) {
  assert(multiple > 0 && multiple <= kMaxRowBlock && elementBytes > 0);
  int64_t columns = k.value_or(1024);
  int64_t row = std::max<int64_t>(1, elementBytes * columns);
  int64_t block = std::clamp(l2Bytes / 2 / row, multiple, kMaxRowBlock) /
                  multiple * multiple;
  if (rows)
    block = std::min(block, std::max<int64_t>(1, *rows));
  LDBG() << "blocks of " << block << " rows of " << row << " bytes, of "
         << rows.value_or(-1) << ", L2 " << l2Bytes;
  return block;
}

int64_t evenRows(int64_t rows, int64_t block) {
  int64_t most = block + block / 8; // if that makes one block less
  int64_t blocks = (rows + most - 1) / most;
  return (rows + blocks - 1) / blocks;
}

int64_t shareRows(int64_t rows, int64_t block, int64_t others, int64_t least) {
  int64_t wanted = (kMinItems + others - 1) / std::max<int64_t>(others, 1);
  int64_t blocks = std::min(wanted, rows / std::max<int64_t>(least, 1));
  return blocks * block <= rows ? block : (rows + blocks - 1) / blocks;
}

int64_t evenItems(int64_t rows, int64_t block, int64_t others) {
  // Of more items one is a thirtieth or less; lower blocks pass all weights for
  // few rows.
  constexpr int64_t kMostItems = 32, kLeastRows = 32;
  int64_t blocks = (rows + block - 1) / block, items = blocks * others;
  if (items > kMostItems || items % 2 == 0 || (blocks + 1) * kLeastRows > rows)
    return block;
  return (rows + blocks) / (blocks + 1);
}

SmallVector<Ofr> delinearize(IndexMath &m, Value index, ArrayRef<Ofr> counts) {
  SmallVector<Ofr> parts(counts.size());
  Ofr rest = index;
  for (int64_t i = static_cast<int64_t>(counts.size()) - 1; i >= 0; --i) {
    if (IndexMath::isConstant(counts[i], 1)) {
      parts[i] = m.attr(0);
    } else if (i == 0) {
      parts[i] = rest;
    } else {
      parts[i] = m.rem(rest, counts[i]);
      rest = m.floorDiv(rest, counts[i]);
    }
  }
  return parts;
}

void emitLoop(IndexMath &m, Ofr from, Ofr to,
              llvm::function_ref<void(IndexMath &, Ofr)> body) {
  auto f = IndexMath::constant(from), t = IndexMath::constant(to);
  if (f && t && *f >= *t)
    return;
  OpBuilder &b = m.builder();
  auto loop = scf::ForOp::create(b, m.location(), m.value(from), m.value(to),
                                 m.value(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  IndexMath inner(b, m.location());
  body(inner, Ofr(loop.getInductionVar()));
}

void emitIfBelow(IndexMath &m, Ofr number, int64_t bound,
                 llvm::function_ref<void(IndexMath &)> below,
                 llvm::function_ref<void(IndexMath &)> otherwise) {
  OpBuilder &b = m.builder();
  Value isBelow =
      arith::CmpIOp::create(b, m.location(), arith::CmpIPredicate::slt,
                            m.value(number), m.value(m.attr(bound)));
  auto branch = scf::IfOp::create(b, m.location(), isBelow, true);
  for (bool first : {true, false}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(
        &(first ? branch.getThenRegion() : branch.getElseRegion()).front());
    IndexMath inner(b, m.location());
    (first ? below : otherwise)(inner);
  }
}

void withBlockSize(IndexMath &m, Ofr number, int64_t total, int64_t block,
                   llvm::function_ref<void(IndexMath &, int64_t)> body) {
  int64_t full = total / block, tail = total % block;
  if (tail == 0 || full == 0) {
    body(m, tail == 0 ? block : tail);
    return;
  }
  emitIfBelow(
      m, number, full, [&](IndexMath &fm) { body(fm, block); },
      [&](IndexMath &tm) { body(tm, tail); });
}

} // namespace tenon::tiling
