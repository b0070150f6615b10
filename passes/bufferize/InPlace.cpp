//===- InPlace.cpp - inputs that may share memory with outputs ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/bufferize/InPlace.h"

#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "passes/ops/OpKinds.h"
#include "passes/support/Entry.h"

#include "mlir/IR/BuiltinOps.h"

#include <algorithm>

using namespace mlir;

namespace tenon::passes {

namespace {

/// Whether the group is a scatter into `operand`, of which it changes a part.
bool isScatterInto(func::FuncOp group, unsigned operand) {
  BlockArgument arg = group.getArgument(operand);
  return arg.hasOneUse() && arg.getUses().begin()->getOperandNumber() == 0 &&
         isa<graph::ScatterElementsOp, graph::ScatterNDOp>(
             *arg.getUsers().begin());
}

/// Whether the group reads `operand` only where it writes its results. Results
/// of one shape are written by one loop, which reads all operands of an element
/// first; those of other shapes have loops of their own.
bool isElementByElement(func::FuncOp group, unsigned operand) {
  if (isScatterInto(group, operand))
    return true;
  if (groupKindOf(group) != tile::GroupKind::elementwise)
    return false;
  auto shapeOf = [](Value v) {
    return cast<ShapedType>(v.getType()).getShape();
  };
  BlockArgument arg = group.getArgument(operand);
  if (group.getNumResults() != 1 &&
      !llvm::all_of(group.getResultTypes(), [&](Type type) {
        return cast<ShapedType>(type).getShape() == shapeOf(arg);
      }))
    return false;
  return llvm::all_of(arg.getUsers(), [&](Operation *user) {
    return !isAlias(user) && user->getNumResults() == 1 &&
           shapeOf(user->getResult(0)) == shapeOf(arg);
  });
}

/// Where calls read `value`, or a view of it; nothing if something else does.
std::optional<SmallVector<OpOperand *>> readsOf(Value value) {
  SmallVector<OpOperand *> reads;
  SmallVector<Value> list = {value};
  while (!list.empty())
    for (OpOperand &use : list.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (isa<func::CallOp>(user))
        reads.push_back(&use);
      else if (isAlias(user))
        list.append(user->result_begin(), user->result_end());
      else
        return std::nullopt;
    }
  return reads;
}

/// An input whose memory a result may get, and where it is read last.
struct Candidate {
  int64_t last; // position of a call; -1: nobody reads it
  BlockArgument input;

  bool operator<(const Candidate &other) const { return last < other.last; }
};

/// Whether the group that `writer` calls reads `input` only where it writes.
bool isReadWhereWritten(BlockArgument input, func::CallOp writer,
                        func::FuncOp group) {
  auto reads = readsOf(input);
  return reads && llvm::all_of(*reads, [&](OpOperand *read) {
           // A view is read at other places.
           return read->getOwner() != writer ||
                  (read->get() == input &&
                   isElementByElement(group, read->getOperandNumber()));
         });
}

/// Inputs that may get results, by type and strides, those read first at first.
class Candidates {
public:
  explicit Candidates(func::FuncOp main) {
    int64_t position = 0;
    for (Operation &op : main.getBody().front())
      positions[&op] = position++;
    for (BlockArgument input : main.getArguments()) {
      unsigned i = input.getArgNumber();
      auto reads = readsOf(input);
      if (!reads || isFoldedArg(main, i) || isConstantArg(main, i))
        continue;
      int64_t last = -1;
      for (OpOperand *read : *reads)
        last = std::max(last, positions.lookup(read->getOwner()));
      alike[{input.getType(), main.getArgAttr(i, kStridesAttr)}].push_back(
          {last, input});
    }
    for (auto &[key, list] : alike)
      std::stable_sort(list.begin(), list.end());
  }

  /// Those of `type` and `strides` that may share memory with what `writer`
  /// writes: of many the ones that are read last, in order.
  std::vector<unsigned> of(Type type, Attribute strides, func::CallOp writer,
                           func::FuncOp group) const {
    std::vector<unsigned> inputs;
    auto list = alike.find({type, strides});
    if (list == alike.end())
      return inputs;
    int64_t now = positions.lookup(writer);
    auto end = std::upper_bound(list->second.begin(), list->second.end(),
                                Candidate{now, {}});
    for (auto it = std::make_reverse_iterator(end);
         it != list->second.rend() && inputs.size() < kMostInPlace; ++it)
      if (it->last < now || isReadWhereWritten(it->input, writer, group))
        inputs.push_back(it->input.getArgNumber());
    std::sort(inputs.begin(), inputs.end());
    return inputs;
  }

private:
  llvm::DenseMap<Operation *, int64_t> positions;
  llvm::DenseMap<std::pair<Type, Attribute>, std::vector<Candidate>> alike;
};

} // namespace

std::vector<std::pair<unsigned, unsigned>> inPlacePairs(func::FuncOp main) {
  std::vector<std::pair<unsigned, unsigned>> pairs;
  SymbolTable symbols(main->getParentOfType<ModuleOp>());
  Operation *ret = main.getBody().front().getTerminator();
  Candidates candidates(main);
  for (OpOperand &result : ret->getOpOperands()) {
    auto writer = result.get().getDefiningOp<func::CallOp>();
    // A value that is returned twice is copied.
    // What a Concat has in place is written before its call.
    if (!writer || writer->hasAttr(kInPlaceAttr) ||
        llvm::count(result.get().getUsers(), ret) > 1)
      continue;
    auto group = symbols.lookup<func::FuncOp>(writer.getCallee());
    unsigned r = result.getOperandNumber();
    for (unsigned i :
         candidates.of(result.get().getType(),
                       main.getResultAttr(r, kStridesAttr), writer, group))
      pairs.push_back({i, r});
  }
  return pairs;
}

} // namespace tenon::passes
