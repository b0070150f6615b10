// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/core/Literals.h"

#include "passes/support/GraphAttrs.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tenon::passes {

/// `value` with signless elements, as memory has them.
static DenseElementsAttr asStorage(DenseElementsAttr value) {
  Type from = value.getElementType(), to = storageType(from);
  if (from == to)
    return value;
  unsigned width = to.getIntOrFloatBitWidth();
  return value.mapValues(to, [&](const APInt &v) { return v.zext(width); });
}

Strided literalMemory(IndexMath &m, DenseElementsAttr value) {
  OpBuilder &b = m.builder();
  value = asStorage(value);
  auto module =
      b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  memref::GlobalOp global;
  int64_t known = 0;
  for (auto other : module.getOps<memref::GlobalOp>()) {
    ++known;
    if (other.getInitialValueAttr() == value)
      global = other;
  }
  auto type =
      MemRefType::get(value.getType().getShape(), value.getElementType());
  if (!global) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    // Symbols of the user's operations have no dot.
    global = memref::GlobalOp::create(
        b, m.location(), "literal." + std::to_string(known),
        b.getStringAttr("private"), type, value, /*constant=*/true,
        /*alignment=*/b.getI64IntegerAttr(64));
  }
  return stridedOf(m, memref::GetGlobalOp::create(b, m.location(), type,
                                                  global.getSymName()));
}

} // namespace tenon::passes
