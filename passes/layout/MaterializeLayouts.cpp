//===- MaterializeLayouts.cpp - no encodings below this point -------------===//
// SPDX-License-Identifier: Apache-2.0
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

namespace tenon::passes {
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

/// Adds the strides of `types` to the attributes of each; whether any has some.
/// All at once: each change of one makes another list of all.
bool addStrides(TypeRange types, SmallVectorImpl<DictionaryAttr> &attrs) {
  bool any = false;
  attrs.resize(types.size());
  for (auto [type, dict] : llvm::zip_equal(types, attrs))
    if (DenseI64ArrayAttr s = stridesOf(type)) {
      NamedAttrList list(dict);
      list.set(kStridesAttr, s);
      dict = list.getDictionary(type.getContext());
      any = true;
    }
  return any;
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
    SmallVector<DictionaryAttr> args, results;
    f.getAllArgAttrs(args);
    f.getAllResultAttrs(results);
    if (addStrides(f.getArgumentTypes(), args))
      f.setAllArgAttrs(args);
    if (addStrides(f.getResultTypes(), results))
      f.setAllResultAttrs(results);
    for (BlockArgument arg : f.getArguments())
      if (auto t = plain(arg.getType()))
        arg.setType(t);
    SmallVector<Type> types;
    for (Type type : f.getResultTypes()) {
      auto t = plain(type);
      types.push_back(t ? t : type);
    }
    f.walk([&](Operation *op) {
      for (Value v : op->getResults())
        if (auto t = plain(v.getType()))
          v.setType(t);
    });
    f.setFunctionType(FunctionType::get(&getContext(),
                                        f.getBody().getArgumentTypes(), types));
  }
};

} // namespace
} // namespace tenon::passes
