//===- InPlace.cpp - inputs that may share memory with outputs ------------===//
#include "passes/buffer/InPlace.h"

#include "passes/fusion/Group.h"
#include "passes/support/Entry.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tenon {

namespace {

/// Whether the group reads `operand` only where it writes its result.
bool isElementByElement(func::FuncOp group, unsigned operand) {
  auto kind = group->getAttrOfType<StringAttr>(kGroupAttr);
  if (!kind || kind.getValue() != fusion::name(fusion::GroupKind::elementwise))
    return false;
  // Several results may be written by several loops.
  if (group.getNumResults() != 1)
    return false;
  auto shapeOf = [](Value v) {
    return cast<ShapedType>(v.getType()).getShape();
  };
  BlockArgument arg = group.getArgument(operand);
  return llvm::all_of(arg.getUsers(), [&](Operation *user) {
    return !fusion::isView(user) && user->getNumResults() == 1 &&
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
      else if (fusion::isView(user))
        list.append(user->result_begin(), user->result_end());
      else
        return std::nullopt;
    }
  return reads;
}

bool mayShare(BlockArgument input, func::CallOp writer, func::FuncOp group) {
  auto reads = readsOf(input);
  return reads && llvm::all_of(*reads, [&](OpOperand *read) {
           if (read->getOwner() != writer)
             return read->getOwner()->isBeforeInBlock(writer);
           // A view is read at other places.
           return read->get() == input &&
                  isElementByElement(group, read->getOperandNumber());
         });
}

} // namespace

std::vector<std::pair<unsigned, unsigned>> inPlacePairs(func::FuncOp main) {
  std::vector<std::pair<unsigned, unsigned>> pairs;
  auto module = main->getParentOfType<ModuleOp>();
  Operation *ret = main.getBody().front().getTerminator();
  for (OpOperand &result : ret->getOpOperands()) {
    auto writer = result.get().getDefiningOp<func::CallOp>();
    // A value that is returned twice is copied.
    // What a Concat has in place is written before its call.
    if (!writer || writer->hasAttr(kInPlaceAttr) ||
        llvm::count(ret->getOperands(), result.get()) > 1)
      continue;
    auto group = module.lookupSymbol<func::FuncOp>(writer.getCallee());
    unsigned r = result.getOperandNumber();
    for (BlockArgument input : main.getArguments()) {
      unsigned i = input.getArgNumber();
      if (isFoldedArg(main, i) || isConstantArg(main, i) ||
          input.getType() != result.get().getType() ||
          main.getArgAttr(i, kStridesAttr) !=
              main.getResultAttr(r, kStridesAttr))
        continue;
      if (mayShare(input, writer, group))
        pairs.push_back({i, r});
    }
  }
  return pairs;
}

} // namespace tenon
