//===- LoopItems.cpp - what an item of a loop program is ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Decides which values are stored, how large items are, and where scratch is.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/loops/LoopProgram.h"

#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace tenon::tiling {

namespace {
/// Elements of one item of an elementwise section: 64 KiB of f32, small enough
/// for L2 with a few operands, large enough to hide a launch.
constexpr int64_t kItemElements = 16384;
/// Elements of a row block when the reduced dimension is not innermost: 16 KiB
/// of f32, so that block and temporaries stay in L1.
constexpr int64_t kRowBlockElements = 4096;
/// The same where all of the space takes 1 MiB or more: parts of rows that
/// come from beyond L2 should be long, and a block may wait in L2. If there are
/// so many items all the same.
constexpr int64_t kFarBlockElements = 16384;
constexpr int64_t kFarElements = 1 << 18;
constexpr int64_t kEnoughItems = 32;
constexpr int64_t kMinChunk = 16;
/// Half a kilobyte of each row, where nothing has to stay in a cache: what is
/// read before the next row, a page on, is worth its way through the TLB.
constexpr int64_t kStreamChunk = 128;
/// Columns whose sums, 8 KiB of f32, stay in L1 while steps of rows pass.
constexpr int64_t kSteppedChunk = 2048;
/// Where a cache holds all that is read, columns are cut instead of the sums
/// (one section, not two), if so many are left for so many items.
constexpr int64_t kHeldBytes = 1 << 20, kHeldItems = 8, kHeldColumns = 64;
constexpr int64_t kMaxChunk = 256;
/// Elements of a cache line: what is read across rows is read in such columns.
constexpr int64_t kLineElements = 16;
/// Taps of 3x3 kernels, to which code for tiles of 8x8 elements fits.
constexpr int64_t kFewTaps = 8, kTapColumns = 64;
/// Columns of a block that is read across; elements in all, from which rows of
/// whole lines are slower, and single rows.
constexpr int64_t kBlockColumns = 256, kManyAcross = 1 << 22,
                  kFewAcross = 1 << 14;
constexpr int64_t kAlign = 64;
} // namespace

/// Reductions for some rows only become those of a later level than their
/// conditions. Where an item has several rows, they are for all of them, beside
/// others, and what is chosen is a value like any other.
void LoopProgram::putBehindConditions() {
  bool single = !classes.empty() && classes.back() == 1;
  for (NodeInfo &n : nodes) {
    if (!single)
      n.condition = -1;
    int level = n.condition < 0 ? 0 : nodes[n.condition].level;
    for (Node o : n.operands)
      level = std::max(level, nodes[o].level);
    n.level = level + (n.kind == Kind::reduce);
    if (n.condition >= 0)
      n.stored = nodes[n.condition].stored = true;
  }
}

/// A computation is stored, and not repeated, when it is used after a later
/// reduction, or when many elements share it; and an index before a reduction,
/// since a linalg.generic takes the sizes of its loops from memory. What few
/// rows need is repeated for them.
void LoopProgram::decideStores() {
  for (NodeInfo &n : nodes)
    for (Node o : n.operands) {
      NodeInfo &operand = nodes[o];
      bool repeats = n.condition >= 0 && !operand.indexed;
      if (operand.kind != Kind::compute || isConstant(operand) || repeats)
        continue;
      int useLevel = n.kind == Kind::reduce ? n.level - 1 : n.level;
      if (useLevel > operand.level || (n.full && !operand.full) ||
          (n.kind == Kind::reduce && operand.full &&
           (operand.stored || operand.indexed)))
        operand.stored = true;
    }
}

/// Whether an input is contiguous along `dim`, not along the last dimension.
bool LoopProgram::readsAcross(int64_t dim) const {
  return llvm::any_of(nodes, [&](const NodeInfo &n) {
    return n.kind == Kind::input && n.memory.strides[dim].isConstant(1) &&
           !n.memory.strides[sizes.size() - 1].isConstant(1) &&
           !n.memory.strides[sizes.size() - 1].isConstant(0);
  });
}

/// Whether no element is needed again after the first reduction.
bool LoopProgram::readsOnce() const {
  return llvm::none_of(nodes, [](const NodeInfo &n) {
    return n.full && (n.level > 0 || n.stored || !n.outputs.empty());
  });
}

/// Whether rows above each other are summed as they pass: each is read from its
/// start to its end, as memory likes it, and sums wait in L1.
bool LoopProgram::canStep() const {
  if (llvm::count(classes, 1) != 1 || classes.back() != 0 || !readsOnce())
    return false;
  int64_t reduced = llvm::find(classes, 1) - classes.begin();
  return sizes[reduced].constant() && !readsAcross(reduced);
}

/// Columns of an item that steps, where one cache holds all that is read: equal
/// parts of whole lines.
std::optional<int64_t> LoopProgram::heldChunk(int64_t elements) const {
  auto columns = sizes.back().constant();
  int64_t bytes = 0;
  for (const NodeInfo &n : nodes)
    if (n.kind == Kind::input)
      bytes += bytesOf(n.memory);
  if (itemDims.size() != 1 || !columns || elements < kMinDivided ||
      bytes > kHeldBytes)
    return std::nullopt;
  int64_t most = std::min(*columns / kHeldItems, kSteppedChunk);
  for (int64_t chunk = most / kHeldColumns * kHeldColumns; chunk > 0;
       chunk -= kHeldColumns)
    if (*columns % chunk == 0)
      return chunk;
  return std::nullopt;
}

void LoopProgram::chooseChunks() {
  int64_t rank = sizes.size();
  itemDims.clear();
  chunks.clear();
  stepDim = -1;
  held = false;
  int64_t chunkDim = -1;
  Index chunk;
  bool anyReduced = llvm::is_contained(classes, 1);
  if (!anyReduced) {
    // The innermost dimensions that fit an item stay whole.
    int64_t inner = 1;
    int64_t j = rank - 1;
    for (; j > 0; --j) {
      auto c = sizes[j].constant();
      if (!c || inner * std::max<int64_t>(*c, 1) > kItemElements)
        break;
      inner *= std::max<int64_t>(*c, 1);
    }
    for (int64_t d = 0; d <= j; ++d)
      itemDims.push_back(d);
    if (rank > 0) {
      chunkDim = j;
      int64_t rows = std::max<int64_t>(1, kItemElements / inner);
      if (j < rank - 1 && readsAcross(j))
        rows = llvm::alignTo(rows, kLineElements);
      chunk = rows;
    }
  } else {
    for (int64_t d = 0; d < rank; ++d)
      if (classes[d] == 0)
        itemDims.push_back(d);
    if (classes.back() == 0) {
      int64_t reducedSize = 1;
      for (int64_t d = 0; d < rank; ++d)
        if (classes[d] == 1)
          reducedSize *= sizes[d].constant().value_or(64);
      chunkDim = rank - 1;
      int64_t least = readsOnce() ? kStreamChunk : kMinChunk;
      auto columns = [&](int64_t block) {
        int64_t c = block / std::max<int64_t>(1, reducedSize);
        return std::clamp(c / kMinChunk * kMinChunk, least, kMaxChunk);
      };
      int64_t elements = 1;
      for (Index size : sizes)
        elements *= size.constant().value_or(0);
      int64_t far = columns(kFarBlockElements);
      bool isFar = elements >= kFarElements &&
                   elements / reducedSize / far >= kEnoughItems;
      chunk = isFar ? far : columns(kRowBlockElements);
      if (canStep()) {
        stepDim = llvm::find(classes, 1) - classes.begin();
        auto part = heldChunk(elements);
        held = part.has_value();
        chunk = part.value_or(kSteppedChunk);
      }
    }
  }
  if (chunkDim >= 0)
    chunks[chunkDim] = chunk;
  if (!anyReduced)
    chooseBlock();
  for (auto &[d, count] : chunks)
    if (auto c = sizes[d].constant())
      count = std::max<int64_t>(1, std::min(*c, *count.constant()));
  items = 1;
  for (int64_t d : itemDims)
    items = items * (chunks.contains(d) ? ceilDiv(sizes[d], chunks.lookup(d))
                                        : sizes[d]);
}

/// The first of the last dims that all tensors have as one run of elements.
int64_t LoopProgram::lastRun() const {
  int64_t first = sizes.size() - 1;
  auto goesOn = [&](const Strided &s) {
    auto outer = s.strides[first - 1].constant();
    auto inner = s.strides[first].constant();
    auto size = sizes[first].constant();
    return outer && inner && size && *outer == *inner * *size;
  };
  auto allGoOn = [&](const NodeInfo &n) {
    return (n.kind != Kind::input || goesOn(n.memory)) &&
           n.kind != Kind::index && llvm::all_of(n.outputs, goesOn);
  };
  while (first > 0 && llvm::all_of(nodes, allGoOn))
    --first;
  return first;
}

/// Items of whole kernels, where their taps are few and neighbours in what is
/// read: each line of it is used at once. Each item has so many columns, and as
/// much of the dimension before them as fits.
bool LoopProgram::chooseTaps(int64_t taps) {
  int64_t last = static_cast<int64_t>(sizes.size()) - 1;
  auto columns = sizes[last].constant();
  auto count = sizes[taps].constant();
  int64_t between = taps == last - 1 ? last - 2 : last - 1;
  if (taps == last || between < 0 || *count < kFewTaps ||
      *count >= kLineElements || *columns < kLineElements)
    return false;
  itemDims.clear();
  for (int64_t d = 0; d <= last; ++d)
    if (d != taps)
      itemDims.push_back(d);
  int64_t wanted = std::min(*columns, kTapColumns);
  chunks.clear();
  chunks[last] = wanted;
  chunks[between] = std::max<int64_t>(kItemElements / (*count * wanted), 1);
  return true;
}

/// Items that are blocks of two dimensions, where an input is contiguous along
/// another than the last: whole lines of both sides, and few enough of each
/// that their pages stay in the TLB. Rows of whole lines do as well, unless
/// there are many of them.
void LoopProgram::chooseBlock() {
  int64_t rank = sizes.size(), across = 0, elements = 1;
  for (Index size : sizes)
    elements *= size.constant().value_or(0);
  while (across < rank - 1 && !readsAcross(across))
    ++across;
  int64_t run = lastRun();
  // Where a size is unknown there are no elements.
  if (elements >= kFewAcross && chooseTaps(across))
    return;
  if (run <= across ||
      elements < (isInside(across) ? kManyAcross : kFewAcross) ||
      *sizes[across].constant() < kLineElements)
    return;
  int64_t inner = 1;
  for (int64_t d = run + 1; d < rank; ++d)
    inner *= *sizes[d].constant();
  int64_t length = *sizes[run].constant();
  int64_t wanted = std::clamp<int64_t>(kBlockColumns / inner, 1, length);
  // Equal blocks of whole lines need no code for shorter ones.
  for (int64_t c = wanted; c > wanted / 2; --c)
    if (length % c == 0 && c * inner % kLineElements == 0) {
      wanted = c;
      break;
    }
  int64_t rows = kItemElements / (inner * wanted) / kLineElements;
  // Neighbours read on along rows whose pages they share.
  itemDims.clear();
  for (int64_t d = 0; d <= run; ++d)
    if (d != across)
      itemDims.push_back(d);
  itemDims.push_back(across);
  chunks.clear();
  chunks[run] = wanted;
  chunks[across] = std::max<int64_t>(rows, 1) * kLineElements;
}

/// An output that can also serve as the place to read a stored node from.
Strided LoopProgram::outputAsBuffer(const NodeInfo &n) const {
  for (const Strided &s : n.outputs)
    if (s.elementType() == n.type && variesAlong(s) == n.full)
      return s;
  return {};
}

/// The dimensions as they lie in the first input that varies along rows: what
/// is computed from it is written and read in the same vectors.
SmallVector<int64_t> LoopProgram::orderOfInput() const {
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, sizes.size()));
  auto input = llvm::find_if(
      nodes, [](const NodeInfo &n) { return n.kind == Kind::input && n.full; });
  if (input == nodes.end() || !llvm::all_of(input->memory.strides, [](Index s) {
        return s.constant().has_value();
      }))
    return order;
  auto stride = [&](int64_t d) { return *input->memory.strides[d].constant(); };
  // Along those with stride 0 it does not vary: they stay outside.
  auto lies = [&](int64_t d) {
    return std::pair(stride(d) != 0, std::pair(-stride(d), d));
  };
  llvm::sort(order, [&](int64_t a, int64_t b) { return lies(a) < lies(b); });
  return order;
}

void LoopProgram::planScratch() {
  scratchOrder = orderOfInput();
  scratchBytes = 0;
  for (NodeInfo &n : nodes) {
    if (!n.stored || n.kind == Kind::input || outputAsBuffer(n).base)
      continue;
    Index elements = 1;
    for (int64_t d = 0, e = sizes.size(); d < e; ++d) {
      if (chunks.contains(d))
        elements *= chunks.lookup(d);
      else if (!llvm::is_contained(itemDims, d) && (n.full || classes[d] == 0))
        elements *= sizes[d];
    }
    int64_t width = std::max<int64_t>(1, n.type.getIntOrFloatBitWidth() / 8);
    n.scratchOffset = scratchBytes;
    Index lines = ceilDiv(elements * width, kAlign);
    scratchBytes += lines * kAlign;
  }
}

} // namespace tenon::tiling
