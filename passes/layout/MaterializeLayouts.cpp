//===- MaterializeLayouts.cpp - no encodings below this point -------------===//
//
// Encodings are dropped silently by rewrites, linalg, tensor slices and
// bufferisation. So they become attributes of the entry's arguments and
// results before the first rewrite; the layout phase runs the pass again, to
// fail if one is left.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "passes/Passes.h"
#include "passes/support/Entry.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_MATERIALIZELAYOUTS
#include "passes/Passes.h.inc"

namespace {

RankedTensorType plain(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getEncoding()
             ? RankedTensorType::get(tensor.getShape(), tensor.getElementType())
             : RankedTensorType();
}

DenseI64ArrayAttr stridesOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto layout = tensor
                    ? dyn_cast_or_null<graph::LayoutAttr>(tensor.getEncoding())
                    : graph::LayoutAttr();
  if (!layout ||
      layout.getStrides().size() != static_cast<size_t>(tensor.getRank()) ||
      tensor.getRank() == 0)
    return {};
  for (int64_t s : layout.getStrides())
    if (s < 0)
      return {};
  return DenseI64ArrayAttr::get(type.getContext(), layout.getStrides());
}

struct MaterializeLayoutsPass
    : impl::MaterializeLayoutsBase<MaterializeLayoutsPass> {
  void runOnOperation() override {
    for (auto f : getOperation().getOps<func::FuncOp>())
      materialize(f);
    getOperation().walk([&](Operation *op) {
      for (Type t : op->getResultTypes())
        if (plain(t)) {
          op->emitError("result keeps an encoding: ") << t;
          signalPassFailure();
        }
    });
  }

  void materialize(func::FuncOp f) {
    for (BlockArgument arg : f.getArguments()) {
      if (DenseI64ArrayAttr s = stridesOf(arg.getType()))
        f.setArgAttr(arg.getArgNumber(), kStridesAttr, s);
      if (auto t = plain(arg.getType()))
        arg.setType(t);
    }
    SmallVector<Type> results;
    for (auto [i, type] : llvm::enumerate(f.getResultTypes())) {
      if (DenseI64ArrayAttr s = stridesOf(type))
        f.setResultAttr(i, kStridesAttr, s);
      auto t = plain(type);
      results.push_back(t ? t : type);
    }
    f.walk([&](Operation *op) {
      for (Value v : op->getResults())
        if (auto t = plain(v.getType()))
          v.setType(t);
    });
    f.setFunctionType(FunctionType::get(
        &getContext(), f.getBody().getArgumentTypes(), results));
  }
};

} // namespace
} // namespace tenon
