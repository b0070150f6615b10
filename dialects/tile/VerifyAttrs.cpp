//===- VerifyAttrs.cpp - where attributes of the dialect may stand --------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/tile/AttrNames.h"
#include "dialects/tile/TileDialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::tile;

namespace {

struct Rule {
  llvm::StringLiteral name;
  bool (*isOfType)(Attribute);
  const char *type;
  bool (*mayStandOn)(Operation *); // null: on anything
  const char *place;
};

template <typename T> bool isOne(Attribute attr) { return isa<T>(attr); }
template <typename T> bool isOn(Operation *op) { return isa<T>(op); }

const Rule kOnOperations[] = {
    {kTargetAttr, isOne<TargetAttr>, "#tile.target", isOn<ModuleOp>,
     "a module"},
    {kGroupAttr, isOne<GroupKindAttr>, "#tile.group", isOn<FunctionOpInterface>,
     "a function"},
    {kBandAttr, isOne<IntegerAttr>, "an integer", isOn<FunctionOpInterface>,
     "a function"},
    {kLabelAttr, isOne<StringAttr>, "a string", isOn<CallOpInterface>,
     "a call"},
    {kInPlaceAttr, isOne<DenseI64ArrayAttr>, "an array of i64",
     isOn<CallOpInterface>, "a call"},
    {kImplicitCastAttr, isOne<UnitAttr>, "a unit attribute", nullptr, ""},
    {kPartAttr, isOne<UnitAttr>, "a unit attribute", nullptr, ""},
    {kEmptyLikeSrcAttr, isOne<UnitAttr>, "a unit attribute", nullptr, ""},
    {kWidenedAttr, isOne<TypeAttr>, "a type", nullptr, ""}};

const Rule kOnArguments[] = {
    {kRoleAttr, isOne<ArgRoleAttr>, "#tile.role", nullptr, ""},
    {kFoldedAttr, isOne<UnitAttr>, "a unit attribute", nullptr, ""},
    {kRankAttr, isOne<IntegerAttr>, "an integer", nullptr, ""},
    {kStridesAttr, isOne<DenseI64ArrayAttr>, "an array of i64", nullptr, ""}};

LogicalResult verifyBy(ArrayRef<Rule> rules, Operation *op, NamedAttribute attr,
                       StringRef where) {
  StringRef name = attr.getName();
  const Rule *rule =
      llvm::find_if(rules, [&](const Rule &r) { return r.name == name; });
  if (rule == rules.end())
    return op->emitError() << "there is no attribute '" << name << "' of "
                           << where;
  if (!rule->isOfType(attr.getValue()))
    return op->emitError() << "attribute '" << name << "' must be "
                           << rule->type << ", is " << attr.getValue();
  if (rule->mayStandOn && !rule->mayStandOn(op))
    return op->emitError() << "attribute '" << name << "' belongs on "
                           << rule->place;
  return success();
}

} // namespace

LogicalResult TileDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attr) {
  return verifyBy(kOnOperations, op, attr, "operations");
}

LogicalResult TileDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                    unsigned,
                                                    NamedAttribute attr) {
  return verifyBy(kOnArguments, op, attr, "arguments");
}

LogicalResult TileDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                       unsigned,
                                                       NamedAttribute attr) {
  return verifyBy(kOnArguments, op, attr, "results");
}
