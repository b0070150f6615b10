//===- LoopItems.cpp - what an item of a loop program is ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Decides along which dimensions a space is cut into items, and how large these
// are.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/loops/LoopSchedule.h"

using namespace mlir;

namespace tenon::passes {

using Kind = LoopProgram::Kind;
using NodeInfo = LoopProgram::NodeInfo;

namespace {
/// Elements of one item of an elementwise section: 64 KiB of f32, small enough
/// for L2 with a few operands, large enough to hide a launch.
constexpr int64_t kItemElements = 16384;
/// Elements of a row block when the reduced dimension is not innermost: 16 KiB
/// of f32, so that block and temporaries stay in L1.
constexpr int64_t kRowBlockElements = 4096;
/// The same if all of the space takes 1 MiB or more and kEnoughItems items are
/// left: parts of rows that come from beyond L2 should be long, and a block may
/// stay in L2.
constexpr int64_t kFarBlockElements = 16384;
constexpr int64_t kFarElements = 1 << 18;
constexpr int64_t kEnoughItems = 32;
constexpr int64_t kMinChunk = 16;
/// Half a kilobyte of each row, if nothing has to stay in a cache. The next row
/// is on another page, so an item should read that much for each TLB entry.
constexpr int64_t kStreamChunk = 128;
/// Columns whose sums, 8 KiB of f32, stay in L1 while steps of rows pass.
constexpr int64_t kSteppedChunk = 2048;
/// If the inputs have at most kHeldBytes, so that one cache holds them, columns
/// are cut instead of the sums, which makes one section instead of two. Each of
/// kHeldItems items must have kHeldColumns columns.
constexpr int64_t kHeldBytes = 1 << 20, kHeldItems = 8, kHeldColumns = 64;
constexpr int64_t kMaxChunk = 256;
/// Elements of a cache line: what is read across rows is read in such columns.
constexpr int64_t kLineElements = 16;
/// The fewest taps of a kernel that chooseTaps takes whole: nearly those of
/// 3x3, to which code for tiles of 8x8 elements fits.
constexpr int64_t kFewTaps = 8, kTapColumns = 64;
/// Columns of a block whose input is contiguous along its other dimension. Such
/// blocks are faster than rows of whole lines from kManyAcross elements on, and
/// than single rows from kFewAcross on.
constexpr int64_t kBlockColumns = 256, kManyAcross = 1 << 22,
                  kFewAcross = 1 << 14;
} // namespace

bool LoopSchedule::isInside(int64_t dim) const {
  return chunks.contains(dim) || !llvm::is_contained(itemDims, dim);
}

std::optional<Index> LoopSchedule::chunkOf(int64_t dim) const {
  auto chunk = chunks.find(dim);
  return chunk == chunks.end() ? std::nullopt : std::optional(chunk->second);
}

void LoopSchedule::chooseItems() {
  itemDims.clear();
  chunks.clear();
  stepDim = -1;
  held = false;
  if (program.hasReduced()) {
    chooseRows();
  } else {
    chooseRuns();
    chooseBlock();
  }
  for (auto &[d, count] : chunks)
    if (auto c = sizes[d].constant())
      count = std::max<int64_t>(1, std::min(*c, *count.constant()));
  items = 1;
  for (int64_t d : itemDims) {
    auto chunk = chunkOf(d);
    items = items * (chunk ? ceilDiv(sizes[d], *chunk) : sizes[d]);
  }
}

/// Where nothing is reduced: the innermost dimensions that fit an item stay
/// whole, and the one before them is cut.
void LoopSchedule::chooseRuns() {
  int64_t rank = sizes.size();
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
  if (rank == 0)
    return;
  int64_t rows = std::max<int64_t>(1, kItemElements / inner);
  if (j < rank - 1 && program.readsAcross(j))
    rows = llvm::alignTo(rows, kLineElements);
  chunks[j] = rows;
}

/// Where dimensions are reduced: an item is one row; or some columns, if rows
/// do not lie along the last dimension.
void LoopSchedule::chooseRows() {
  int64_t rank = sizes.size();
  for (int64_t d = 0; d < rank; ++d)
    if (classes[d] == 0)
      itemDims.push_back(d);
  if (classes.back() == 1)
    return;
  int64_t reducedSize = 1;
  for (int64_t d = 0; d < rank; ++d)
    if (classes[d] == 1)
      reducedSize *= sizes[d].constant().value_or(64);
  int64_t least = readsOnce() ? kStreamChunk : kMinChunk;
  auto columns = [&](int64_t block) {
    int64_t c = block / std::max<int64_t>(1, reducedSize);
    return std::clamp(c / kMinChunk * kMinChunk, least, kMaxChunk);
  };
  int64_t elements = 1;
  for (Index size : sizes)
    elements *= size.constant().value_or(0);
  int64_t far = columns(kFarBlockElements);
  bool isFar =
      elements >= kFarElements && elements / reducedSize / far >= kEnoughItems;
  int64_t chunk = isFar ? far : columns(kRowBlockElements);
  if (canStep()) {
    stepDim = llvm::find(classes, 1) - classes.begin();
    auto part = heldChunk(elements);
    held = part.has_value();
    chunk = part.value_or(kSteppedChunk);
  }
  chunks[rank - 1] = chunk;
}

/// Whether a reduction over an outer dimension can add up one row after the
/// other: each row is read from start to end, and the sums stay in L1.
bool LoopSchedule::canStep() const {
  if (llvm::count(classes, 1) != 1 || classes.back() != 0 || !readsOnce())
    return false;
  int64_t reduced = llvm::find(classes, 1) - classes.begin();
  return sizes[reduced].constant() && !program.readsAcross(reduced);
}

/// Columns of an item that adds up rows (canStep), if one cache holds all
/// inputs: equal parts of whole lines.
std::optional<int64_t> LoopSchedule::heldChunk(int64_t elements) const {
  auto columns = sizes.back().constant();
  int64_t bytes = 0;
  for (const NodeInfo &n : nodes)
    if (n.kind == Kind::input)
      bytes += program.bytesOf(n.memory);
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

/// Chooses items with all taps of convolution weights, if these are few and
/// contiguous in the input, so that each line of it is used at once. Each item
/// has kTapColumns columns, and as much of the dimension before them as fits.
bool LoopSchedule::chooseTaps(int64_t taps) {
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

/// Chooses blocks of two dimensions as items, if an input is contiguous along
/// another dimension than the last. Blocks have whole lines of input and
/// output, and few enough of each that their pages stay in the TLB. Rows of
/// whole lines are as good unless there are many of them.
void LoopSchedule::chooseBlock() {
  int64_t rank = sizes.size(), across = 0, elements = 1;
  for (Index size : sizes)
    elements *= size.constant().value_or(0);
  while (across < rank - 1 && !program.readsAcross(across))
    ++across;
  int64_t run = program.lastRun();
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

} // namespace tenon::passes
