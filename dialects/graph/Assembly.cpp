//===- Assembly.cpp - the textual form of operations ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/PlainOp.h"

#include "mlir/IR/Builders.h"

#include <algorithm>

using namespace mlir;

namespace tenon::graph {

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

/// `attribute` as an f32, an si64, or null.
static Attribute normaliseNumber(Attribute attribute, bool isFloat) {
  MLIRContext *context = attribute.getContext();
  if (auto real = llvm::dyn_cast<FloatAttr>(attribute); real && isFloat)
    return FloatAttr::get(Float32Type::get(context), real.getValueAsDouble());
  auto integer = llvm::dyn_cast<IntegerAttr>(attribute);
  if (integer && !isFloat && integer.getType().isSignlessInteger(64))
    return IntegerAttr::get(IntegerType::get(context, 64, IntegerType::Signed),
                            integer.getValue());
  return {};
}

/// `[1, 2]` as a dense array, or null when an element does not fit.
static Attribute normaliseList(ArrayAttr list, bool isFloat) {
  Builder builder(list.getContext());
  SmallVector<int64_t> integers;
  SmallVector<float> floats;
  for (Attribute element : list) {
    Attribute number = normaliseNumber(element, isFloat);
    if (!number)
      return {};
    if (isFloat)
      floats.push_back(
          llvm::cast<FloatAttr>(number).getValue().convertToFloat());
    else
      integers.push_back(llvm::cast<IntegerAttr>(number).getSInt());
  }
  return isFloat ? Attribute(builder.getDenseF32ArrayAttr(floats))
                 : Attribute(builder.getDenseI64ArrayAttr(integers));
}

/// Gives untyped literals the type that the table asks for, so that people
/// can write `axis = 1` and `strides = [2, 2]`.
static void normaliseAttrs(NamedAttrList &attributes, const OpInfo &info) {
  for (const AttrInfo &attr : info.attrs) {
    Attribute given = attributes.get(attr.name);
    if (!given)
      continue;
    bool isFloat = attr.type == AttrType::f32 || attr.type == AttrType::f32s;
    Attribute normal;
    if (attr.type == AttrType::f32 || attr.type == AttrType::s64)
      normal = normaliseNumber(given, isFloat);
    else if (auto list = llvm::dyn_cast<ArrayAttr>(given);
             list &&
             (attr.type == AttrType::f32s || attr.type == AttrType::s64s))
      normal = normaliseList(list, isFloat);
    if (normal)
      attributes.set(attr.name, normal);
  }
}

/// Types of given values; those that are left out are `none` in the text, and
/// bits of `absent`.
static SmallVector<Type> givenTypes(ArrayRef<Type> types, uint64_t &absent) {
  SmallVector<Type> given;
  for (auto [i, type] : llvm::enumerate(types))
    if (!llvm::isa<NoneType>(type) || i >= kMaxAbsent)
      given.push_back(type);
    else
      absent |= uint64_t{1} << i;
  return given;
}

ParseResult parseGraphOp(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  FunctionType type;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(operands) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(type))
    return failure();
  uint64_t absentOperands = 0, absentResults = 0;
  if (parser.resolveOperands(operands,
                             givenTypes(type.getInputs(), absentOperands), loc,
                             result.operands))
    return failure();
  result.addTypes(givenTypes(type.getResults(), absentResults));
  const OpInfo *info = lookupOp(result.name.stripDialect());
  normaliseAttrs(result.attributes, *info);
  addSegmentSizes(result, *info, absentOperands, absentResults);
  return result.name.verifyInherentAttrs(result.attributes, [&] {
    return parser.emitError(loc) << result.name << " ";
  });
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

/// `types`, with `none` for values that are left out before given ones.
static SmallVector<Type> withAbsent(TypeRange types, uint64_t absent,
                                    MLIRContext *context) {
  SmallVector<Type> all;
  for (Type type : types) {
    while (all.size() < kMaxAbsent && (absent >> all.size() & 1))
      all.push_back(NoneType::get(context));
    all.push_back(type);
  }
  return all;
}

static bool isDefault(const OpInfo &info, NamedAttribute attr) {
  const AttrInfo *row = info.attr(attr.getName().getValue());
  return row && row->defaultText &&
         attr.getValue() ==
             attributeOf(row->defaultValue(), attr.getName().getContext());
}

static void printAttr(NamedAttribute attr, const OpInfo &info,
                      OpAsmPrinter &printer) {
  printer.printKeywordOrString(attr.getName());
  printer << " = ";
  Attribute value = attr.getValue();
  bool ours = info.attr(attr.getName().getValue());
  auto real = llvm::dyn_cast<FloatAttr>(value);
  if (auto list = llvm::dyn_cast<DenseI64ArrayAttr>(value); list && ours) {
    printer << '[';
    llvm::interleaveComma(list.asArrayRef(), printer);
    printer << ']';
  } else if (ours && (!real || real.getValue().isFinite())) {
    printer.printAttributeWithoutType(value);
  } else {
    // Infinities and NaN are printed as bits, which need the type.
    printer.printAttribute(value);
  }
}

void printGraphOp(Operation *op, OpAsmPrinter &printer) {
  const OpInfo &info = infoOf(op);
  if (op->getNumOperands() != 0)
    printer << ' ' << op->getOperands();
  SmallVector<NamedAttribute> attrs;
  for (NamedAttribute attr : op->getAttrs()) {
    StringRef name = attr.getName().getValue();
    if (name != kOperandSegments && name != kResultSegments &&
        !isDefault(info, attr))
      attrs.push_back(attr);
  }
  if (!attrs.empty()) {
    printer << " {";
    llvm::interleaveComma(attrs, printer, [&](NamedAttribute attr) {
      printAttr(attr, info, printer);
    });
    printer << '}';
  }
  printer << " : ";
  MLIRContext *context = op->getContext();
  printer.printFunctionalType(
      withAbsent(op->getOperandTypes(), absentOf(op->getAttr(kOperandSegments)),
                 context),
      withAbsent(op->getResultTypes(), absentOf(op->getAttr(kResultSegments)),
                 context));
}

} // namespace tenon::graph
