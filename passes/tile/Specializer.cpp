// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/Specializer.h"

#include "passes/fuse/Group.h"
#include "passes/ops/ScalarOps.h"
#include "passes/support/Entry.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tile/core/GroupLowering.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tenon::passes {

namespace {
/// Sizes that are different values and yet equal, because an elementwise
/// operation has operands of them: what is not known does not broadcast.
/// Layouts can only be compared if each size is one value.
class EqualSizes {
public:
  void add(Operation *op, const SizeMap &sizes) {
    if (!isScalarOp(op))
      return;
    Value result = op->getResult(0);
    auto type = rankedType(result);
    for (Value v : op->getOperands()) {
      auto own = rankedType(v);
      // Of lower rank it may be of channels, which need not come last.
      if (own.getRank() != type.getRank())
        continue;
      for (int64_t d = 0; d < type.getRank(); ++d)
        if (own.isDynamicDim(d))
          join(sizes[v][d], sizes[result][d]);
    }
  }

  /// The one that stands for all that are equal to `size`.
  Index operator[](Index size) const {
    while (!size.constant()) {
      auto it = others.find(size.dynamic());
      if (it == others.end())
        break;
      size = it->second;
    }
    return size;
  }

private:
  void join(Index x, Index y) {
    x = (*this)[x];
    y = (*this)[y];
    if (x == y || (x.constant() && y.constant()))
      return;
    if (x.constant())
      std::swap(x, y);
    y.learn(x.facts());
    others[x.dynamic()] = y;
  }

  llvm::DenseMap<Value, Index> others;
};
} // namespace

static LogicalResult lowerBody(func::FuncOp group, func::FuncOp lowered,
                               ArrayRef<Specializer::SizesFacts> facts,
                               ArrayRef<int64_t> inPlace) {
  OpBuilder b = OpBuilder::atBlockBegin(lowered.addEntryBlock());
  func::ReturnOp ret = func::ReturnOp::create(b, group.getLoc());
  b.setInsertionPoint(ret);
  IndexMath m(b, group.getLoc());
  SizeMap sizes;
  GroupContext ctx(m, group, lowered.getName().str(), sizes);
  ctx.inPlace = inPlace;
  unsigned n = group.getNumArguments();
  auto bufferOf = [&](unsigned i) {
    Strided s = stridedOf(m, lowered.getArgument(i));
    for (auto [size, known] : llvm::zip(s.sizes, facts[i]))
      size.learn(known);
    return s;
  };
  for (BlockArgument arg : group.getArguments()) {
    Strided s = bufferOf(arg.getArgNumber());
    sizes.set(arg, s.sizes);
    ctx.inputs[arg] = std::move(s);
  }
  ValueRange results = group.getBody().front().getTerminator()->getOperands();
  for (auto [i, v] : llvm::enumerate(results))
    sizes.expect(v, bufferOf(n + i).sizes);
  EqualSizes equal;
  for (Operation &op : group.getBody().front().without_terminator()) {
    if (failed(sizes.infer(&op)))
      return failure();
    equal.add(&op, sizes);
  }
  auto share = [&](Value v) {
    SmallVector<Index> own =
        llvm::map_to_vector(sizes[v], [&](Index size) { return equal[size]; });
    sizes.set(v, own);
  };
  for (Operation &op : group.getBody().front().without_terminator())
    llvm::for_each(op.getResults(), share);
  for (BlockArgument arg : group.getArguments()) {
    share(arg);
    setSizes(ctx.inputs[arg], sizes[arg]);
  }
  for (auto [i, v] : llvm::enumerate(results)) {
    Strided s = bufferOf(n + i);
    setSizes(s, sizes[v]);
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
                              TypeRange outputs, ArrayRef<SizesFacts> facts,
                              ArrayRef<int64_t> inPlace) {
  std::string key;
  llvm::raw_string_ostream os(key);
  os << group.getName();
  SmallVector<Type> types(inputs);
  types.append(outputs.begin(), outputs.end());
  for (Type t : types)
    os << "|" << t;
  for (const SizesFacts &sizes : facts) {
    os << "|";
    for (const IndexFacts &size : sizes)
      if (!size.empty())
        os << size.str();
      else
        os << ",";
  }
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
  if (failed(lowerBody(group, fn, facts, inPlace)))
    return {};
  passTemporaries(fn);
  return lowered = fn;
}

} // namespace tenon::passes
