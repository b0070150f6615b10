//===- DividedRows.cpp - the sections of a split reduction ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Writes what SplitReductions.cpp has decided. Each level of reductions has two
// programs. One computes the reductions from those of the parts, and the values
// that each row has once. The other one, over (part, rest of the space),
// computes all else that needs these reductions.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/loops/SectionEmitter.h"

using namespace mlir;

namespace tenon::passes {

namespace {
class DividedRows {
public:
  DividedRows(const LoopProgram &program, const LoopSchedule &schedule)
      : program(program), schedule(schedule), division(*schedule.getDivision()),
        nodes(program.getNodes()), sizes(program.getSizes()),
        classes(program.getClasses()) {}
  void emit();

private:
  using Node = LoopProgram::Node;
  using Kind = LoopProgram::Kind;
  using NodeInfo = LoopProgram::NodeInfo;
  using Copies = llvm::DenseMap<Node, Node>; // node here to node there
  /// A tensor as the other program sees it.
  using View = llvm::function_ref<Strided(const Strided &)>;

  Node copyTo(LoopProgram &to, Node node, Copies &copies, View view) const;
  void emitParts(int level, int64_t first, int64_t count, int64_t length);
  void emitCombination(int level);
  int levelOf(Node node) const { return schedule.planOf(node).level; }

  const LoopProgram &program;
  const LoopSchedule &schedule;
  LoopSchedule::Division division;
  ArrayRef<NodeInfo> nodes; // of the program, as these are
  ArrayRef<Index> sizes;
  ArrayRef<int> classes;
  int64_t parts = 0;                     // the last may be shorter
  llvm::DenseMap<Node, Strided> results; // of reductions, over the space
  llvm::DenseMap<Node, Strided> partial; // and a part dimension before it
};
} // namespace

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

void DividedRows::emit() {
  int64_t length = *sizes[division.dim].constant();
  int64_t full = length / division.length, rest = length % division.length;
  parts = full + (rest > 0);
  IndexMath &m = program.getIndexMath();
  for (auto [i, n] : llvm::enumerate(nodes)) {
    if (n.kind != Kind::reduce)
      continue;
    results[i] = newBuffer(m, n.type, sizes, classes, division.dim, 1);
    partial[i] = newBuffer(m, n.type, sizes, classes, division.dim, parts);
  }
  for (int level = 0, last = schedule.lastLevel(); level <= last; ++level) {
    if (level > 0)
      emitCombination(level);
    emitParts(level, 0, full, division.length);
    if (rest)
      emitParts(level, full, 1, rest);
  }
}

/// The node of another program that computes what `node` does here.
LoopProgram::Node DividedRows::copyTo(LoopProgram &to, Node node,
                                      Copies &copies, View view) const {
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
    copy = to.index(memory.strides, n.type, memory.offset);
    break;
  }
  case Kind::reduce:
    copy = to.input(view(results.at(node)));
    break;
  case Kind::compute: {
    SmallVector<Node> operands;
    for (Node o : n.operands)
      operands.push_back(copyTo(to, o, copies, view));
    copy = to.compute(operands, n.type, n.body);
    break;
  }
  }
  return copies[node] = copy;
}

/// What needs the reductions of `level` and no later ones, for parts
/// `first .. first + count - 1` of `length` elements.
void DividedRows::emitParts(int level, int64_t first, int64_t count,
                            int64_t length) {
  auto [dim, step] = division;
  SmallVector<Index> space(sizes);
  space[dim] = length;
  space.insert(space.begin() + dim, count);
  SmallVector<bool> reduced;
  for (int c : classes)
    reduced.push_back(c == 1);
  reduced.insert(reduced.begin() + dim, false);
  LoopProgram part(program.getIndexMath(), program.getLabel(),
                   program.getL2Bytes(), space, reduced);
  Copies copies;
  auto view = [&, dim = dim, step = step](const Strided &s) {
    return partsOf(s, dim, first, count, length, step);
  };
  const std::optional<LoopSchedule::Kept> &kept = schedule.getKept();
  if (kept && level >= kept->level)
    copies[kept->node] = part.input(view(kept->place));
  else if (kept && level + 1 == kept->level)
    part.output(copyTo(part, kept->node, copies, view), view(kept->place));
  bool any = false;
  for (Node i = 0, e = nodes.size(); i < e; ++i) {
    const NodeInfo &n = nodes[i];
    if (n.kind == Kind::reduce && levelOf(i) == level + 1) {
      Node x = copyTo(part, n.operands[0], copies, view);
      part.output(part.reduce(n.reduction, x),
                  partsOf(partial[i], dim, first, count, length,
                          /*step=*/0));
      any = true;
    }
    for (const Strided &out : n.outputs)
      if (levelOf(i) == level && program.variesAlong(out)) {
        part.output(copyTo(part, i, copies, view), view(out));
        any = true;
      }
  }
  if (any)
    part.emit(/*mayDivide=*/false);
}

/// The reductions of `level`, from those of the parts, and what is computed
/// from them once per row.
void DividedRows::emitCombination(int level) {
  int64_t dim = division.dim;
  SmallVector<Index> space(sizes);
  SmallVector<bool> reduced;
  for (auto [d, c] : llvm::enumerate(classes)) {
    reduced.push_back(static_cast<int64_t>(d) == dim);
    if (c == 1)
      space[d] = reduced.back() ? parts : 1;
  }
  LoopProgram whole(program.getIndexMath(), program.getLabel(),
                    program.getL2Bytes(), space, reduced);
  Copies copies;
  auto view = [&](const Strided &s) {
    Strided r = s;
    r.dense = false;
    r.sizes = space;
    return r;
  };
  for (Node i = 0, e = nodes.size(); i < e; ++i)
    if (nodes[i].kind == Kind::reduce && levelOf(i) == level) {
      Node ofParts = whole.input(view(partial[i]));
      copies[i] = whole.reduce(nodes[i].reduction, ofParts);
      whole.output(copies[i], view(results[i]));
    }
  for (Node i = 0, e = nodes.size(); i < e; ++i)
    for (const Strided &out : nodes[i].outputs) {
      int first = std::max(levelOf(i), 1);
      if (first == level && !program.variesAlong(out))
        whole.output(copyTo(whole, i, copies, view), view(out));
    }
  whole.emit(/*mayDivide=*/false);
}

void emitDivided(const LoopProgram &program, const LoopSchedule &schedule) {
  DividedRows(program, schedule).emit();
}

} // namespace tenon::passes
