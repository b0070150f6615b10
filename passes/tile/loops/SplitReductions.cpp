//===- SplitReductions.cpp - rows that are too long for one item ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A sum of 10^6 elements would be one item: one thread, and one long chain of
// roundings. A reduced dimension is cut then into parts of its own:
//
//   s = sum(x)                     for each part p: part[p] = sum(x[p])
//   y = x / s                ->    s = sum(part)
//                                  for each part p: y[p] = x[p] / s
//
// If x is not read but computed, the first loop leaves it in y.
//
// Every line is a program over fewer dimensions, which emits its own section
// (DividedRows.cpp). This file decides whether rows are cut, into which parts,
// and what is left in y. The parts follow from the sizes, so results do not
// depend on threads.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/loops/LoopSchedule.h"

using namespace mlir;

namespace tenon::passes {

using Kind = LoopProgram::Kind;
using NodeInfo = LoopProgram::NodeInfo;

namespace {
constexpr int64_t kPartElements = 1 << 15;
/// Items that keep threads busy.
constexpr int64_t kEnoughItems = 32;
/// Additions in one accumulator: more lose digits.
constexpr int64_t kMaxAdditions = 1 << 12;
/// Accumulators of a row whose elements are neighbours, at least.
constexpr int64_t kRowAccumulators = 32;
constexpr int64_t kMaxParts = 1024;
/// Elements of an item that one pass leaves in the cache for the next.
constexpr int64_t kCachedElements = 1 << 18;
} // namespace

/// Which nodes are computed of what varies along the rows, but for `except` and
/// reductions. Operands stand before what reads them.
SmallVector<bool> LoopSchedule::readersOfRows(Node except) const {
  SmallVector<bool> reads;
  for (auto [i, n] : llvm::enumerate(nodes)) {
    bool computed = n.kind == Kind::compute && static_cast<Node>(i) != except;
    reads.push_back((n.kind == Kind::input && n.full) ||
                    (computed && llvm::any_of(n.operands, [&](Node operand) {
                       return reads[operand];
                     })));
  }
  return reads;
}

/// Bytes of `s` along the rows, as far as sizes are known.
int64_t LoopSchedule::rowBytes(const Strided &s) const {
  int64_t bytes = s.elementType().getIntOrFloatBitWidth() / 8;
  for (auto [size, cls] : llvm::zip(sizes, classes))
    if (cls == 1)
      bytes *= size.constant().value_or(1);
  return bytes;
}

/// Which nodes are computed of `x` without a reduction between.
SmallVector<bool> LoopSchedule::computedOf(Node x) const {
  SmallVector<bool> of;
  for (auto [i, n] : llvm::enumerate(nodes))
    of.push_back(
        static_cast<Node>(i) == x ||
        (n.kind == Kind::compute &&
         llvm::any_of(n.operands, [&](Node operand) { return of[operand]; })));
  return of;
}

/// The summed value, if the result is computed from it and from the sum: the
/// exp(x - m) of a softmax is kept where the result will be and not computed
/// again. Nothing else may read rows from then on, since the result may lie in
/// their memory. Nor may anything but the result be computed from x, since it
/// could be read after the result.
std::optional<LoopSchedule::Kept>
LoopSchedule::chooseKept(int64_t minRowBytes) const {
  auto holds = [&](const Strided &out, Node x) {
    if (out.elementType() != nodes[x].type ||
        program.bytesOf(out) >= kNontemporalBytes ||
        rowBytes(out) < minRowBytes)
      return false;
    for (auto [d, stride] : llvm::enumerate(out.strides)) {
      if (stride.isConstant(0) && !sizes[d].isConstant(1))
        return false;
      // It is written and read in the vectors of what is read.
      for (const NodeInfo &n : nodes)
        if (n.kind == Kind::input && n.full &&
            n.memory.strides[d].isConstant(1) && !stride.isConstant(1))
          return false;
    }
    return true;
  };
  for (auto [n, plan] : llvm::zip(nodes, plans)) {
    if (n.kind != Kind::reduce || nodes[n.operands[0]].kind != Kind::compute ||
        !nodes[n.operands[0]].full)
      continue;
    Node x = n.operands[0];
    SmallVector<bool> reads = readersOfRows(x), made = computedOf(x);
    const Strided *place = nullptr;
    size_t results = 0; // made of x
    bool isLast = true; // reader of rows
    for (auto [i, later] : llvm::enumerate(nodes)) {
      int level = plans[i].level;
      if (later.kind == Kind::reduce) {
        isLast &= level < plan.level || !reads[later.operands[0]];
        isLast &= level <= plan.level || !made[later.operands[0]];
      }
      if (made[i])
        results += later.outputs.size();
      if (!later.outputs.empty())
        isLast &= level + 1 < plan.level || !reads[i];
      for (const Strided &out : later.outputs)
        if (made[i] && level >= plan.level && later.full && holds(out, x))
          place = &out;
    }
    if (isLast && place && results == 1)
      return Kept{x, plan.level, *place};
  }
  return std::nullopt;
}

std::optional<LoopSchedule::Division> LoopSchedule::chooseDivision() {
  int64_t total = 1, row = 1, dim = -1, longest = 1;
  for (int64_t d = 0, e = sizes.size(); d < e; ++d) {
    auto size = sizes[d].constant();
    if (!size || *size == 0 || total > (int64_t(1) << 40) / *size)
      return std::nullopt;
    total *= *size;
    if (classes[d] == 0)
      continue;
    row *= *size;
    if (*size > longest) {
      longest = *size;
      dim = d;
    }
  }
  int levels = lastLevel();
  if (levels == 0 || dim < 0 || total < kMinDivided)
    return std::nullopt;
  chooseItems();
  int64_t count = *items.constant();
  int64_t chain = classes.back() == 1 ? row / kRowAccumulators : row;
  int64_t item = total / count;
  // For each reduction parts read all rows again, which no cache holds, and
  // compute again what stands between.
  bool rereads = levels > 1 && total > kCachedElements;
  bool enough = held || count >= (rereads ? kMinItems : kEnoughItems);
  if (enough && chain <= kMaxAdditions && item <= kCachedElements)
    return std::nullopt;
  int64_t parallel = std::min(kEnoughItems * 2, total / kPartElements) / count;
  int64_t wanted = std::max({int64_t(2), chain * 4 / kMaxAdditions, parallel,
                             item * 4 / kCachedElements});
  wanted = std::min({wanted, kMaxParts, longest});
  // Outer parts lie together in memory.
  for (int64_t d = 0; d < dim; ++d)
    if (int64_t size = *sizes[d].constant();
        classes[d] != 0 && size >= wanted) {
      longest = size;
      dim = d;
    }
  int64_t perPart = row / longest;
  // Equal parts need no section for a shorter last one.
  for (int64_t parts = wanted; parts <= std::min(2 * wanted, longest); ++parts)
    if (longest % parts == 0)
      return Division{dim, longest / parts};
  int64_t part = ceilDiv(longest, wanted);
  if (perPart == 1 && part > 64)
    part = (part + 15) / 16 * 16; // whole vectors
  return Division{dim, part};
}

} // namespace tenon::passes
