//===- LoopProgram.cpp - elementwise and row-wise groups as loops ---------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/loops/LoopProgram.h"

#include "passes/tile/loops/SectionEmitter.h"

using namespace mlir;

namespace tenon::passes {

LoopProgram::LoopProgram(IndexMath &m, StringRef label, int64_t l2Bytes,
                         ArrayRef<Index> sizes, ArrayRef<bool> reduced)
    : m(m), label(label), l2Bytes(l2Bytes), sizes(sizes.begin(), sizes.end()) {
  for (bool r : reduced)
    classes.push_back(r);
}

bool LoopProgram::variesAlong(const Strided &s) const {
  for (auto [stride, cls] : llvm::zip(s.strides, classes))
    if (cls == 1 && !stride.isConstant(0))
      return true;
  return false;
}

LoopProgram::Node LoopProgram::add(NodeInfo n) {
  nodes.push_back(std::move(n));
  return nodes.size() - 1;
}

LoopProgram::Node LoopProgram::input(Strided s) {
  NodeInfo n;
  n.kind = Kind::input;
  n.type = s.elementType();
  n.full = variesAlong(s);
  n.memory = std::move(s);
  return add(std::move(n));
}

LoopProgram::Node LoopProgram::index(ArrayRef<Index> strides, Type type,
                                     std::optional<Index> first) {
  NodeInfo n;
  n.kind = Kind::index;
  n.indexed = true;
  n.type = type;
  n.memory.sizes = sizes;
  n.memory.strides.assign(strides.begin(), strides.end());
  n.memory.offset = first;
  n.full = variesAlong(n.memory);
  return add(std::move(n));
}

LoopProgram::Node LoopProgram::compute(ArrayRef<Node> operands, Type type,
                                       Body body) {
  NodeInfo n;
  n.kind = Kind::compute;
  n.type = type;
  n.operands.assign(operands.begin(), operands.end());
  n.body = std::move(body);
  for (Node o : operands) {
    n.full |= nodes[o].full;
    n.indexed |= nodes[o].indexed;
  }
  return add(std::move(n));
}

LoopProgram::Node LoopProgram::reduce(Reduction kind, Node operand) {
  if (nodes[operand].indexed && !nodes[operand].full) {
    // No memory would show the reduced loops: repeat the value along them.
    operand = compute({operand}, nodes[operand].type,
                      [](OpBuilder &, Location, ValueRange v) { return v[0]; });
    nodes[operand].full = true;
  }
  NodeInfo n;
  n.kind = Kind::reduce;
  n.type = nodes[operand].type;
  n.operands = {operand};
  n.reduction = kind;
  return add(std::move(n));
}

LoopProgram::Node LoopProgram::reduceIf(Node condition, Reduction kind,
                                        Node operand) {
  Node n = reduce(kind, operand);
  nodes[n].condition = condition;
  return n;
}

LoopProgram::Node LoopProgram::chooseIf(Node condition, Node rare, Node other) {
  Node n = compute(
      {condition, rare, other}, nodes[rare].type,
      [](OpBuilder &b, Location loc, ValueRange v) -> Value {
        Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
        Value holds = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE,
                                            v[0], zero);
        return arith::SelectOp::create(b, loc, holds, v[1], v[2]);
      });
  nodes[n].condition = condition;
  return n;
}

void LoopProgram::output(Node node, Strided dst) {
  nodes[node].outputs.push_back(std::move(dst));
}

/// Merges dimensions over all tensors at once.
void LoopProgram::mergeDims() {
  SmallVector<Strided *> operands;
  for (NodeInfo &n : nodes) {
    if (n.kind == Kind::input || n.kind == Kind::index)
      operands.push_back(&n.memory);
    for (Strided &s : n.outputs)
      operands.push_back(&s);
  }
  coalesce(sizes, classes, operands);
}

void LoopProgram::emit(bool mayDivide) {
  mergeDims();
  for (auto [size, cls] : llvm::zip(sizes, classes))
    if (cls == 0 && size.isConstant(0))
      return; // nothing to compute
  LoopSchedule schedule(*this, mayDivide);
  if (schedule.getDivision())
    emitDivided(*this, schedule);
  else
    SectionEmitter(*this, schedule).emit();
}

int64_t LoopProgram::bytesOf(const Strided &tensor) const {
  int64_t bytes = tensor.elementType().getIntOrFloatBitWidth() / 8;
  for (auto [size, stride] : llvm::zip(sizes, tensor.strides))
    if (!stride.isConstant(0))
      bytes *= size.constant().value_or(0);
  return bytes;
}

bool LoopProgram::readsAcross(int64_t dim) const {
  return llvm::any_of(nodes, [&](const NodeInfo &n) {
    return n.kind == Kind::input && n.memory.strides[dim].isConstant(1) &&
           !n.memory.strides[sizes.size() - 1].isConstant(1) &&
           !n.memory.strides[sizes.size() - 1].isConstant(0);
  });
}

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

} // namespace tenon::passes
