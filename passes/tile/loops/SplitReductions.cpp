//===- SplitReductions.cpp - rows that are too long for one item
// SPDX-License-Identifier: Apache-2.0
//---------------===//
//
// A sum of 10^6 elements would be one item: one thread, and one long chain of
// roundings. Here a reduced dimension is cut into parts of its own:
//
//   s = sum(x)                     for each part p: part[p] = sum(x[p])
//   y = x / s                ->    s = sum(part)
//                                  for each part p: y[p] = x[p] / s
//
// If x is not read but computed, the first loop leaves it in y.
//
// Every line is a program over fewer dimensions, which emits its own section.
// The parts follow from the sizes, so results do not depend on threads.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/loops/LoopProgram.h"

using namespace mlir;

namespace tenon::tiling {

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

/// What the parts of a divided program share.
struct LoopProgram::Divided {
  Division by;
  int64_t parts = 0;                     // the last may be shorter
  llvm::DenseMap<Node, Strided> results; // of reductions, over the space
  llvm::DenseMap<Node, Strided> partial; // and a part dimension before it
  std::optional<Kept> kept;
};

/// Which nodes are computed of what varies along the rows, but for `except` and
/// reductions. Operands stand before what reads them.
SmallVector<bool> LoopProgram::readersOfRows(Node except) const {
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
int64_t LoopProgram::rowBytes(const Strided &s) const {
  int64_t bytes = s.elementType().getIntOrFloatBitWidth() / 8;
  for (auto [size, cls] : llvm::zip(sizes, classes))
    if (cls == 1)
      bytes *= size.constant().value_or(1);
  return bytes;
}

/// Which nodes are computed of `x` without a reduction between.
SmallVector<bool> LoopProgram::computedOf(Node x) const {
  SmallVector<bool> of;
  for (auto [i, n] : llvm::enumerate(nodes))
    of.push_back(
        static_cast<Node>(i) == x ||
        (n.kind == Kind::compute &&
         llvm::any_of(n.operands, [&](Node operand) { return of[operand]; })));
  return of;
}

/// What is summed, where the sum is waited for to finish it: exp(x - m) of a
/// softmax is kept where the result will be, not computed again. Nothing else
/// may read rows from then on: the result may lie in their memory. Nor may
/// anything but the result be made of x: it could be read after the result.
std::optional<LoopProgram::Kept>
LoopProgram::chooseKept(int64_t minRowBytes) const {
  auto holds = [&](const Strided &out, Node x) {
    if (out.elementType() != nodes[x].type ||
        bytesOf(out) >= kNontemporalBytes || rowBytes(out) < minRowBytes)
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
  for (const NodeInfo &n : nodes) {
    if (n.kind != Kind::reduce || nodes[n.operands[0]].kind != Kind::compute ||
        !nodes[n.operands[0]].full)
      continue;
    Node x = n.operands[0];
    SmallVector<bool> reads = readersOfRows(x), made = computedOf(x);
    const Strided *place = nullptr;
    size_t results = 0; // made of x
    bool isLast = true; // reader of rows
    for (auto [i, later] : llvm::enumerate(nodes)) {
      if (later.kind == Kind::reduce) {
        isLast &= later.level < n.level || !reads[later.operands[0]];
        isLast &= later.level <= n.level || !made[later.operands[0]];
      }
      if (made[i])
        results += later.outputs.size();
      if (!later.outputs.empty())
        isLast &= later.level + 1 < n.level || !reads[i];
      for (const Strided &out : later.outputs)
        if (made[i] && later.level >= n.level && later.full && holds(out, x))
          place = &out;
    }
    if (isLast && place && results == 1)
      return Kept{x, n.level, *place};
  }
  return std::nullopt;
}

std::optional<LoopProgram::Division> LoopProgram::chooseDivision() {
  if (!divisible)
    return std::nullopt;
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
  int levels = 0;
  for (const NodeInfo &n : nodes)
    if (n.kind == Kind::reduce)
      levels = std::max(levels, n.level);
  if (levels == 0 || dim < 0 || total < kMinDivided)
    return std::nullopt;
  chooseChunks();
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

/// A new buffer over the kept dimensions, and over `parts` before them.
static Strided newBuffer(IndexMath &m, Type type, ArrayRef<Index> sizes,
                         ArrayRef<int> classes, int64_t dim, int64_t parts) {
  Strided s;
  s.sizes.assign(sizes.begin(), sizes.end());
  s.strides.assign(sizes.size(), 0);
  int64_t total = 1;
  for (int64_t d = static_cast<int64_t>(sizes.size()) - 1; d >= 0; --d)
    if (classes[d] == 0) {
      s.strides[d] = total;
      total *= *sizes[d].constant();
    }
  if (parts > 1)
    s.strides[dim] = total; // step from one part to the next
  s.base = memref::AllocOp::create(m.builder(), m.location(),
                                   MemRefType::get({total * parts}, type));
  return s;
}

/// Parts `first .. first + count - 1` of `s`, the part dimension being new.
/// `step` is the distance of two parts, in steps along the dimension; 0: the
/// tensor has one element per part already.
static Strided partsOf(const Strided &s, int64_t dim, int64_t first,
                       int64_t count, int64_t length, int64_t step) {
  Strided r = s;
  r.dense = false;
  Index stride = s.strides[dim];
  r.offset = s.offset.value_or(0) + first * std::max<int64_t>(step, 1) * stride;
  r.sizes[dim] = length;
  r.sizes.insert(r.sizes.begin() + dim, count);
  r.strides[dim] = step ? stride : 0;
  r.strides.insert(r.strides.begin() + dim, step ? stride * step : stride);
  return r;
}

/// The node of another program that computes what `node` does here.
LoopProgram::Node
LoopProgram::copyTo(LoopProgram &to, Node node, Divided &divided,
                    llvm::DenseMap<Node, Node> &copies,
                    llvm::function_ref<Strided(const Strided &)> view) {
  auto it = copies.find(node);
  if (it != copies.end())
    return it->second;
  const NodeInfo &n = nodes[node];
  Node copy = -1;
  switch (n.kind) {
  case Kind::input:
    copy = to.input(view(n.memory));
    break;
  case Kind::index: {
    Strided memory = view(n.memory);
    copy = to.index(memory.strides, n.type);
    to.nodes[copy].memory.offset = memory.offset;
    break;
  }
  case Kind::reduce:
    copy = to.input(view(divided.results[node]));
    break;
  case Kind::compute: {
    SmallVector<Node> operands;
    for (Node o : n.operands)
      operands.push_back(copyTo(to, o, divided, copies, view));
    copy = to.compute(operands, n.type, n.body);
    break;
  }
  }
  return copies[node] = copy;
}

/// What needs the reductions of `level` and no later ones, for parts
/// `first .. first + count - 1` of `length` elements.
void LoopProgram::emitParts(Divided &divided, int level, int64_t first,
                            int64_t count, int64_t length) {
  auto [dim, step] = divided.by;
  SmallVector<Index> space(sizes);
  space[dim] = length;
  space.insert(space.begin() + dim, count);
  SmallVector<bool> reduced;
  for (int c : classes)
    reduced.push_back(c == 1);
  reduced.insert(reduced.begin() + dim, false);
  LoopProgram part(m, label, l2Bytes, space, reduced);
  part.divisible = false;
  llvm::DenseMap<Node, Node> copies;
  auto view = [&, dim = dim, step = step](const Strided &s) {
    return partsOf(s, dim, first, count, length, step);
  };
  const std::optional<Kept> &kept = divided.kept;
  if (kept && level >= kept->level)
    copies[kept->node] = part.input(view(kept->place));
  else if (kept && level + 1 == kept->level)
    part.output(copyTo(part, kept->node, divided, copies, view),
                view(kept->place));
  bool any = false;
  for (Node i = 0, e = nodes.size(); i < e; ++i) {
    const NodeInfo &n = nodes[i];
    if (n.kind == Kind::reduce && n.level == level + 1) {
      Node x = copyTo(part, n.operands[0], divided, copies, view);
      part.output(part.reduce(n.reduction, x),
                  partsOf(divided.partial[i], dim, first, count, length,
                          /*step=*/0));
      any = true;
    }
    for (const Strided &out : n.outputs)
      if (n.level == level && variesAlong(out)) {
        part.output(copyTo(part, i, divided, copies, view), view(out));
        any = true;
      }
  }
  if (any)
    part.emit();
}

/// The reductions of `level`, from those of the parts, and what is computed
/// from them once per row.
void LoopProgram::emitCombination(Divided &divided, int level) {
  int64_t dim = divided.by.dim;
  SmallVector<Index> space(sizes);
  SmallVector<bool> reduced;
  for (auto [d, c] : llvm::enumerate(classes)) {
    reduced.push_back(static_cast<int64_t>(d) == dim);
    if (c == 1)
      space[d] = reduced.back() ? divided.parts : 1;
  }
  LoopProgram whole(m, label, l2Bytes, space, reduced);
  whole.divisible = false;
  llvm::DenseMap<Node, Node> copies;
  auto view = [&](const Strided &s) {
    Strided r = s;
    r.dense = false;
    r.sizes = space;
    return r;
  };
  for (Node i = 0, e = nodes.size(); i < e; ++i)
    if (nodes[i].kind == Kind::reduce && nodes[i].level == level) {
      Node parts = whole.input(view(divided.partial[i]));
      copies[i] = whole.reduce(nodes[i].reduction, parts);
      whole.output(copies[i], view(divided.results[i]));
    }
  for (Node i = 0, e = nodes.size(); i < e; ++i)
    for (const Strided &out : nodes[i].outputs) {
      int first = std::max(nodes[i].level, 1);
      if (first == level && !variesAlong(out))
        whole.output(copyTo(whole, i, divided, copies, view), view(out));
    }
  whole.emit();
}

void LoopProgram::emitDivided(Division by) {
  Divided divided;
  divided.by = by;
  int64_t length = *sizes[by.dim].constant();
  int64_t full = length / by.length, rest = length % by.length;
  divided.parts = full + (rest > 0);
  divided.kept = chooseKept(/*minRowBytes=*/0);
  int last = 0;
  for (Node i = 0, e = nodes.size(); i < e; ++i) {
    last = std::max(last, nodes[i].level);
    if (nodes[i].kind != Kind::reduce)
      continue;
    Type type = nodes[i].type;
    divided.results[i] = newBuffer(m, type, sizes, classes, by.dim, 1);
    divided.partial[i] =
        newBuffer(m, type, sizes, classes, by.dim, divided.parts);
  }
  for (int level = 0; level <= last; ++level) {
    if (level > 0)
      emitCombination(divided, level);
    emitParts(divided, level, 0, full, by.length);
    if (rest)
      emitParts(divided, level, full, 1, rest);
  }
}

} // namespace tenon::tiling
