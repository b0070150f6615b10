//===- LoopNodes.cpp - the nodes of a loop program ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a program is made of, before anything is decided about loops.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/loops/LoopProgram.h"

using namespace mlir;

namespace tenon::tiling {

LoopProgram::LoopProgram(IndexMath &m, StringRef label, int64_t l2Bytes,
                         ArrayRef<Index> sizes, ArrayRef<bool> reduced)
    : m(m), label(label), l2Bytes(l2Bytes), sizes(sizes.begin(), sizes.end()) {
  for (bool r : reduced)
    classes.push_back(r);
}

/// Whether `s` has more than one element per row.
bool LoopProgram::variesAlong(const Strided &s) const {
  for (auto [stride, cls] : llvm::zip(s.strides, classes))
    if (cls == 1 && !stride.isConstant(0))
      return true;
  return false;
}

LoopProgram::Node LoopProgram::input(Strided s) {
  NodeInfo n;
  n.kind = Kind::input;
  n.type = s.elementType();
  n.full = variesAlong(s);
  n.memory = std::move(s);
  nodes.push_back(std::move(n));
  return nodes.size() - 1;
}

LoopProgram::Node LoopProgram::index(ArrayRef<Index> strides, Type type) {
  NodeInfo n;
  n.kind = Kind::index;
  n.indexed = true;
  n.type = type;
  n.memory.sizes = sizes;
  n.memory.strides.assign(strides.begin(), strides.end());
  n.full = variesAlong(n.memory);
  nodes.push_back(std::move(n));
  return nodes.size() - 1;
}

LoopProgram::Node LoopProgram::compute(ArrayRef<Node> operands, Type type,
                                       Body body) {
  NodeInfo n;
  n.kind = Kind::compute;
  n.type = type;
  n.operands.assign(operands.begin(), operands.end());
  n.body = std::move(body);
  for (Node o : operands) {
    n.level = std::max(n.level, nodes[o].level);
    n.full |= nodes[o].full;
    n.indexed |= nodes[o].indexed;
  }
  nodes.push_back(std::move(n));
  return nodes.size() - 1;
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
  n.level = nodes[operand].level + 1;
  n.stored = true;
  nodes.push_back(std::move(n));
  return nodes.size() - 1;
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
  nodes[node].stored = true;
}

} // namespace tenon::tiling
