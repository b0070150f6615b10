// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/core/WorkItems.h"

#include "dialects/rt/RtDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/DebugLog.h"

#include <numeric>
#include <tuple>

#define DEBUG_TYPE "tenon-tile-groups"

using namespace mlir;

namespace tenon::passes {

namespace {
constexpr int64_t kMaxRowBlock = 384;
} // namespace

void emitItems(IndexMath &m, StringRef label, Index items,
               llvm::function_ref<void(Index)> body) {
  emitItems(m, label, items, 0, [&](Index item, Value) { body(item); });
}

void emitItems(IndexMath &m, StringRef label, Index items, Index scratchBytes,
               llvm::function_ref<void(Index, Value)> body) {
  OpBuilder &b = m.builder();
  auto section = rt::ParallelOp::create(b, m.location(), label, m.value(items),
                                        m.value(scratchBytes));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&section.getBody().front());
  emitLoop(m, m(section.getBegin()), m(section.getEnd()),
           [&](Index item) { body(item, section.getScratchMemory()); });
}

Value firstOfRange(Index item) {
  auto section = cast<BlockArgument>(item.dynamic()).getOwner()->getParentOp();
  return section->getParentOfType<rt::ParallelOp>().getBegin();
}

void emitIfFirst(IndexMath &m, Index item, Index number,
                 llvm::function_ref<void()> body) {
  OpBuilder &b = m.builder();
  Location loc = m.location();
  auto equal = [&](Value x, Value y) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, y);
  };
  Value wanted =
      arith::OrIOp::create(b, loc, equal(m.value(item), firstOfRange(item)),
                           equal(m.value(number), m.value(0)));
  scf::IfOp::create(b, loc, wanted, [&](OpBuilder &nb, Location l) {
    body();
    scf::YieldOp::create(nb, l);
  });
}

Value allocateBetween(IndexMath &m, Type element, Index count) {
  auto known = count.constant();
  SmallVector<Value> dynamic;
  if (!known)
    dynamic.push_back(m.value(count));
  return memref::AllocOp::create(
      m.builder(), m.location(),
      MemRefType::get({known.value_or(ShapedType::kDynamic)}, element),
      dynamic);
}

Value scratchView(IndexMath &m, Value scratch, Type element, Index byteOffset,
                  Index count) {
  auto known = count.constant();
  auto type = MemRefType::get({known.value_or(ShapedType::kDynamic)}, element);
  SmallVector<Value> dynamic;
  if (!known)
    dynamic.push_back(count.dynamic());
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
  int64_t blocks = ceilDiv(rows, most);
  return ceilDiv(rows, blocks);
}

int64_t shareRows(int64_t rows, int64_t block, int64_t others, int64_t least) {
  int64_t wanted = (kMinItems + others - 1) / std::max<int64_t>(others, 1);
  int64_t blocks = std::min(wanted, rows / std::max<int64_t>(least, 1));
  return blocks * block <= rows ? block : ceilDiv(rows, blocks);
}

int64_t evenItems(int64_t rows, int64_t block, int64_t others) {
  // Of more items one is a thirtieth or less; lower blocks pass all weights for
  // few rows.
  constexpr int64_t kMostItems = 32, kLeastRows = 32;
  int64_t blocks = ceilDiv(rows, block), items = blocks * others;
  if (items > kMostItems || items % 2 == 0 || (blocks + 1) * kLeastRows > rows)
    return block;
  return (rows + blocks) / (blocks + 1);
}

Grid::Grid(std::initializer_list<std::pair<StringRef, Index>> dims) {
  for (auto [name, count] : dims)
    add(name, count);
}

void Grid::add(StringRef name, Index count) {
  assert((names.empty() || names.back() == name ||
          !llvm::is_contained(names, name)) &&
         "dimensions of one name follow each other");
  names.push_back(name);
  counts.push_back(count);
}

void Grid::add(StringRef name, ArrayRef<Index> list) {
  for (Index count : list)
    add(name, count);
}

Grid::Item::Item(const Grid &grid, Index number)
    : number(number), grid(grid), positions(grid.counts.size()) {
  Index rest = number;
  for (int64_t i = static_cast<int64_t>(positions.size()) - 1; i >= 0; --i) {
    if (grid.counts[i].isConstant(1)) {
      positions[i] = 0;
    } else if (i == 0) {
      positions[i] = rest;
    } else {
      positions[i] = rest % grid.counts[i];
      rest = rest / grid.counts[i];
    }
  }
}

Index Grid::Item::operator[](StringRef name) const {
  ArrayRef<Index> found = all(name);
  assert(found.size() == 1 && "not the name of one dimension");
  return found.front();
}

ArrayRef<Index> Grid::Item::all(StringRef name) const {
  auto first = llvm::find(grid.names, name);
  auto past = std::find_if(first, grid.names.end(),
                           [&](StringRef other) { return other != name; });
  return ArrayRef(positions).slice(first - grid.names.begin(), past - first);
}

void emitItems(IndexMath &m, StringRef label, const Grid &grid,
               llvm::function_ref<void(const Grid::Item &)> body) {
  emitItems(m, label, grid.size(),
            [&](Index item) { body(Grid::Item(grid, item)); });
}

void emitItems(IndexMath &m, StringRef label, const Grid &grid,
               Index scratchBytes,
               llvm::function_ref<void(const Grid::Item &, Value)> body) {
  emitItems(m, label, grid.size(), scratchBytes,
            [&](Index item, Value scratch) {
              body(Grid::Item(grid, item), scratch);
            });
}

void emitLoop(IndexMath &m, Index from, Index to,
              llvm::function_ref<void(Index)> body) {
  auto f = from.constant(), t = to.constant();
  if (f && t && *f >= *t)
    return;
  OpBuilder &b = m.builder();
  auto loop = scf::ForOp::create(b, m.location(), m.value(from), m.value(to),
                                 m.value(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(m(loop.getInductionVar()));
}

void emitLoop(IndexMath &m, int64_t count,
              llvm::function_ref<void(Index)> body) {
  if (count == 1)
    return body(0);
  emitLoop(m, 0, count, body);
}

void emitIfBelow(IndexMath &m, Index number, Index bound,
                 llvm::function_ref<void()> below,
                 llvm::function_ref<void()> otherwise) {
  OpBuilder &b = m.builder();
  Value isBelow =
      arith::CmpIOp::create(b, m.location(), arith::CmpIPredicate::slt,
                            m.value(number), m.value(bound));
  auto branch = scf::IfOp::create(b, m.location(), isBelow, true);
  for (bool first : {true, false}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(
        &(first ? branch.getThenRegion() : branch.getElseRegion()).front());
    (first ? below : otherwise)();
  }
}

void withBlockSize(IndexMath &m, Index number, int64_t total, int64_t block,
                   llvm::function_ref<void(int64_t)> body) {
  int64_t full = total / block, tail = total % block;
  if (tail == 0 || full == 0) {
    body(tail == 0 ? block : tail);
    return;
  }
  emitIfBelow(m, number, full, [&] { body(block); }, [&] { body(tail); });
}

void withBlockSize(IndexMath &m, Index number, Index total, Index block,
                   llvm::function_ref<void(Index)> body) {
  auto all = total.constant(), most = block.constant();
  if (all && most)
    return withBlockSize(m, number, *all, *most,
                         [&](int64_t size) { body(size); });
  if (!most)
    return body(min(block, total - number * block));
  Index full = total / block, rest = total % block;
  // What is declared of the total may leave one of both.
  if (rest.isConstant(0) || full.isConstant(0))
    return body(rest.isConstant(0) ? block : rest);
  emitIfBelow(m, number, full, [&] { body(block); }, [&] { body(rest); });
}

} // namespace tenon::passes
