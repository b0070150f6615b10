// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/Specializer.h"

#include "passes/fuse/Group.h"
#include "passes/support/Entry.h"
#include "passes/tile/core/GroupLowering.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tenon::passes {

static LogicalResult lowerBody(func::FuncOp group, func::FuncOp lowered,
                               ArrayRef<int64_t> inPlace) {
  OpBuilder b = OpBuilder::atBlockBegin(lowered.addEntryBlock());
  func::ReturnOp ret = func::ReturnOp::create(b, group.getLoc());
  b.setInsertionPoint(ret);
  IndexMath m(b, group.getLoc());
  SizeMap sizes;
  GroupContext ctx(m, group, lowered.getName().str(), sizes);
  ctx.inPlace = inPlace;
  unsigned n = group.getNumArguments();
  for (BlockArgument arg : group.getArguments()) {
    Strided s = stridedOf(m, lowered.getArgument(arg.getArgNumber()));
    sizes.set(arg, s.sizes);
    ctx.inputs[arg] = std::move(s);
  }
  ValueRange results = group.getBody().front().getTerminator()->getOperands();
  for (auto [i, v] : llvm::enumerate(results))
    sizes.expect(v, stridedOf(m, lowered.getArgument(n + i)).sizes);
  for (Operation &op : group.getBody().front().without_terminator())
    if (failed(sizes.infer(&op)))
      return failure();
  for (auto [i, v] : llvm::enumerate(results)) {
    Strided s = stridedOf(m, lowered.getArgument(n + i));
    // One SSA value per size, so that layouts can be compared.
    s.sizes.assign(sizes[v].begin(), sizes[v].end());
    if (s.dense) {
      Index stride = 1;
      for (int64_t d = s.rank() - 1; d >= 0; --d) {
        s.strides[d] = stride;
        stride = s.sizes[d] * stride;
      }
    }
    ctx.outputs[v].push_back(std::move(s));
  }
  using tile::GroupKind;
  switch (*groupKindOf(group)) {
  case GroupKind::contraction:
    return lowerContraction(ctx);
  case GroupKind::chain:
    return lowerChain(ctx);
  case GroupKind::attention:
    return lowerAttention(ctx);
  case GroupKind::window:
    return lowerWindow(ctx);
  case GroupKind::concat:
    return lowerConcat(ctx);
  case GroupKind::pack:
    return lowerPack(ctx);
  case GroupKind::movement:
    return lowerMovement(ctx);
  case GroupKind::recurrence:
    return lowerRecurrence(ctx);
  case GroupKind::elementwise:
  case GroupKind::reduction:
    return lowerLoops(ctx);
  }
  llvm_unreachable("every kind of group has a lowering");
}

/// Makes arguments of the buffers that `fn` allocates: only entries do that.
void Specializer::passTemporaries(func::FuncOp fn) {
  Block &body = fn.getBody().front();
  SmallVector<SmallVector<Value>> &sizes = temporaries[fn];
  for (auto alloc :
       llvm::make_early_inc_range(body.getOps<memref::AllocOp>())) {
    sizes.emplace_back(alloc.getDynamicSizes());
    alloc.replaceAllUsesWith(body.addArgument(alloc.getType(), alloc.getLoc()));
    alloc.erase();
  }
  fn.setFunctionType(FunctionType::get(fn.getContext(), body.getArgumentTypes(),
                                       fn.getResultTypes()));
}

func::FuncOp Specializer::get(func::FuncOp group, TypeRange inputs,
                              TypeRange outputs, ArrayRef<int64_t> inPlace) {
  std::string key;
  llvm::raw_string_ostream os(key);
  os << group.getName();
  SmallVector<Type> types(inputs);
  types.append(outputs.begin(), outputs.end());
  for (Type t : types)
    os << "|" << t;
  for (int64_t i : inPlace)
    os << "|" << i;
  func::FuncOp &lowered = known[key];
  if (lowered)
    return lowered;
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  std::string symbol = group.getName().str();
  int n = names[symbol]++;
  symbol += kLoweredSuffix;
  if (n)
    symbol += std::to_string(n);
  auto fn = func::FuncOp::create(b, group.getLoc(), symbol,
                                 b.getFunctionType(types, {}));
  fn.setPrivate();
  fn->setAttr(kGroupAttr, group->getAttr(kGroupAttr));
  if (failed(lowerBody(group, fn, inPlace)))
    return {};
  passTemporaries(fn);
  return lowered = fn;
}

} // namespace tenon::passes
