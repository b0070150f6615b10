// SPDX-License-Identifier: Apache-2.0
#include "passes/support/GraphAttrs.h"

#include "dialects/graph/OpTable.h"
#include "passes/support/Entry.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

using namespace mlir;

namespace tenon::passes {

StringRef kindOf(Operation *op) {
  StringRef name = op->getName().getStringRef();
  return name.consume_front("graph.") ? name : StringRef();
}

/// The table's default for an absent attribute, or null.
static std::optional<graph::AttrValue> tableDefault(Operation *op,
                                                    StringRef name) {
  const graph::OpInfo *info =
      graph::lookupOp(std::string_view(kindOf(op).data(), kindOf(op).size()));
  const graph::AttrInfo *attr =
      info ? info->attr(std::string_view(name.data(), name.size())) : nullptr;
  if (!attr || !attr->defaultText)
    return std::nullopt;
  return attr->defaultValue();
}

double floatAttr(Operation *op, StringRef name, double fallback) {
  if (auto a = op->getAttrOfType<FloatAttr>(name))
    return a.getValueAsDouble();
  if (auto d = tableDefault(op, name))
    if (auto *f = std::get_if<float>(&*d))
      return *f;
  return fallback;
}

int64_t intAttr(Operation *op, StringRef name, int64_t fallback) {
  if (auto a = op->getAttrOfType<IntegerAttr>(name))
    return a.getValue().getSExtValue();
  if (auto d = tableDefault(op, name))
    if (auto *i = std::get_if<int64_t>(&*d))
      return *i;
  return fallback;
}

bool boolAttr(Operation *op, StringRef name, bool fallback) {
  if (auto a = op->getAttrOfType<BoolAttr>(name))
    return a.getValue();
  if (auto d = tableDefault(op, name))
    if (auto *v = std::get_if<bool>(&*d))
      return *v;
  return fallback;
}

std::string stringAttr(Operation *op, StringRef name) {
  if (auto a = op->getAttrOfType<StringAttr>(name))
    return a.getValue().str();
  if (auto d = tableDefault(op, name))
    if (auto *s = std::get_if<std::string>(&*d))
      return *s;
  return "";
}

SmallVector<int64_t> intsAttr(Operation *op, StringRef name) {
  if (auto a = op->getAttrOfType<DenseI64ArrayAttr>(name))
    return SmallVector<int64_t>(a.asArrayRef());
  return {};
}

Type storageType(Type elementType) {
  bool isFloat = isa<FloatType>(elementType);
  unsigned width =
      elementType.isIntOrFloat() ? elementType.getIntOrFloatBitWidth() : 0;
  if (width == 0 || (isFloat && width > 8))
    return elementType;
  return IntegerType::get(elementType.getContext(), width == 1 ? 8 : width);
}

RankedTensorType rankedType(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

int64_t bytesAtLeast(RankedTensorType type) {
  int64_t bits = storageType(type.getElementType()).getIntOrFloatBitWidth();
  for (int64_t d : type.getShape())
    bits *= ShapedType::isDynamic(d) ? 1 : d;
  return (bits + 7) / 8;
}

std::string nameOf(Location loc) {
  if (auto named = dyn_cast<NameLoc>(loc))
    return named.getName().str();
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location l : fused.getLocations())
      if (std::string n = nameOf(l); !n.empty())
        return n;
  return "";
}

DenseElementsAttr splatLiteral(Value v) {
  auto literal = v.getDefiningOp<arith::ConstantOp>();
  auto values = literal ? dyn_cast<DenseElementsAttr>(literal.getValue())
                        : DenseElementsAttr();
  return values && values.isSplat() ? values : DenseElementsAttr();
}

TypedAttr splatElement(Value v) {
  DenseElementsAttr literal = splatLiteral(v);
  if (!literal)
    return TypedAttr();
  auto integer = dyn_cast<IntegerType>(literal.getElementType());
  if (!integer)
    return literal.getSplatValue<TypedAttr>();
  Type stored = storageType(integer); // booleans are bytes
  unsigned width = stored.getIntOrFloatBitWidth();
  auto value = literal.getSplatValue<APInt>();
  return IntegerAttr::get(stored,
                          integer.getWidth() == 1 ? value.zext(width) : value);
}

/// Whether a result has sizes that none of the operands has, as the part of a
/// table that has an entry for each token: executions differ in them.
static bool makesUnknownSizes(Operation *op) {
  auto isUnknown = [](Value v) {
    auto type = dyn_cast<ShapedType>(v.getType());
    return type && !type.hasStaticShape();
  };
  return llvm::any_of(op->getResults(), isUnknown) &&
         llvm::none_of(op->getOperands(), isUnknown);
}

bool isKnownOnce(Value v) {
  llvm::SmallPtrSet<Operation *, 8> seen;
  SmallVector<Value> stack{v};
  while (!stack.empty()) {
    Value x = stack.pop_back_val();
    if (Operation *def = x.getDefiningOp()) {
      if (makesUnknownSizes(def))
        return false;
      if (seen.insert(def).second)
        llvm::append_range(stack, def->getOperands());
      continue;
    }
    auto arg = cast<BlockArgument>(x);
    auto entry = dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp());
    if (!entry || !(isConstantArg(entry, arg.getArgNumber()) ||
                    isFoldedArg(entry, arg.getArgNumber())))
      return false;
  }
  return true;
}

std::optional<int64_t> rowsOfMatrix(RankedTensorType dst,
                                    RankedTensorType shared) {
  auto sizeAt = [&](int64_t i) { return dst.getDimSize(dst.getRank() - i); };
  int64_t rows = sizeAt(2);
  if (ShapedType::isDynamic(rows))
    return std::nullopt;
  for (int64_t i = 3; i <= dst.getRank(); ++i) {
    if (i <= shared.getRank() && shared.getDimSize(shared.getRank() - i) != 1)
      continue;
    if (ShapedType::isDynamic(sizeAt(i)))
      return std::nullopt;
    rows *= sizeAt(i);
  }
  return rows;
}

bool isPointwise(ArrayRef<int64_t> taps, ArrayRef<int64_t> strides,
                 ArrayRef<int64_t> padsBegin, ArrayRef<int64_t> padsEnd,
                 int64_t groups) {
  auto all = [](ArrayRef<int64_t> values, int64_t expected) {
    return llvm::all_of(values, [=](int64_t v) { return v == expected; });
  };
  return all(taps, 1) && all(strides, 1) && all(padsBegin, 0) &&
         all(padsEnd, 0) && groups == 1;
}

} // namespace tenon::passes
