//===- PlainOp.cpp - between MLIR entities and plain data -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/PlainOp.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tenon::graph {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type elementTypeOf(DType dtype, MLIRContext *context) {
  auto integer = [&](unsigned width, auto signedness) -> Type {
    return IntegerType::get(context, width, signedness);
  };
  switch (dtype) {
  case DType::undef:
    return UndefType::get(context);
  case DType::f16:
    return Float16Type::get(context);
  case DType::bf16:
    return BFloat16Type::get(context);
  case DType::f32:
    return Float32Type::get(context);
  case DType::s32:
    return integer(32, IntegerType::Signed);
  case DType::s8:
    return integer(8, IntegerType::Signed);
  case DType::u8:
    return integer(8, IntegerType::Unsigned);
  case DType::boolean:
    return integer(1, IntegerType::Signless);
  case DType::f8_e5m2:
    return Float8E5M2Type::get(context);
  case DType::f8_e4m3:
    return Float8E4M3FNType::get(context);
  case DType::s4:
    return integer(4, IntegerType::Signed);
  case DType::u4:
    return integer(4, IntegerType::Unsigned);
  case DType::s64:
    return integer(64, IntegerType::Signed);
  case DType::f64:
    return Float64Type::get(context);
  case DType::f8_e8m0:
    return Float8E8M0FNUType::get(context);
  }
  return UndefType::get(context);
}

static std::optional<DType> dtypeOfInteger(IntegerType type) {
  unsigned width = type.getWidth();
  if (type.isSignless())
    return width == 1 ? std::optional(DType::boolean) : std::nullopt;
  if (type.isUnsigned())
    return width == 8   ? std::optional(DType::u8)
           : width == 4 ? std::optional(DType::u4)
                        : std::nullopt;
  switch (width) {
  case 4:
    return DType::s4;
  case 8:
    return DType::s8;
  case 32:
    return DType::s32;
  case 64:
    return DType::s64;
  default:
    return std::nullopt;
  }
}

std::optional<DType> dtypeOf(Type elementType) {
  using Result = std::optional<DType>;
  return llvm::TypeSwitch<Type, Result>(elementType)
      .Case([](Float32Type) { return DType::f32; })
      .Case([](BFloat16Type) { return DType::bf16; })
      .Case([](Float16Type) { return DType::f16; })
      .Case([](Float64Type) { return DType::f64; })
      .Case([](Float8E8M0FNUType) { return DType::f8_e8m0; })
      .Case([](Float8E5M2Type) { return DType::f8_e5m2; })
      .Case([](Float8E4M3FNType) { return DType::f8_e4m3; })
      .Case([](UndefType) { return DType::undef; })
      .Case([](IntegerType type) { return dtypeOfInteger(type); })
      .Default([](Type) { return Result(); });
}

bool isGraphTensor(Type type) {
  auto tensor = llvm::dyn_cast<TensorType>(type);
  return tensor && (dtypeOf(tensor.getElementType()) || isWord(tensor));
}

bool isWord(Type type) {
  return getElementTypeOrSelf(type).isSignedInteger(16);
}

static LayoutKind kindOf(LayoutType layout) {
  switch (layout) {
  case LayoutType::strided:
    return LayoutKind::strided;
  case LayoutType::any:
    return LayoutKind::any;
  case LayoutType::opaque:
    return LayoutKind::opaque;
  case LayoutType::undef:
    return LayoutKind::undef;
  }
  return LayoutKind::undef;
}

static LayoutType layoutOf(LayoutKind kind) {
  switch (kind) {
  case LayoutKind::strided:
    return LayoutType::strided;
  case LayoutKind::any:
    return LayoutType::any;
  case LayoutKind::opaque:
    return LayoutType::opaque;
  case LayoutKind::undef:
    return LayoutType::undef;
  }
  return LayoutType::undef;
}

LayoutAttr layoutAttrOf(const LogicalTensor &tensor, MLIRContext *context) {
  ArrayRef<int64_t> strides = tensor.strides;
  // Files write one unknown stride, whatever the rank, for "not known".
  if (llvm::all_of(strides, [](int64_t s) { return s == kUnknownDim; }) ||
      (tensor.shape && strides.size() != tensor.shape->size()))
    strides = {};
  if (tensor.layout == LayoutType::strided && tensor.hasStaticShape() &&
      strides == ArrayRef<int64_t>(denseStrides(*tensor.shape)))
    strides = {};
  if (tensor.layout == LayoutType::strided && strides.empty())
    return {};
  return LayoutAttr::get(context, kindOf(tensor.layout), strides);
}

TensorType typeOf(const LogicalTensor &tensor, MLIRContext *context) {
  static_assert(kUnknownDim == ShapedType::kDynamic);
  Type element = elementTypeOf(tensor.dtype, context);
  if (!tensor.shape)
    return UnrankedTensorType::get(element);
  return RankedTensorType::get(*tensor.shape, element,
                               layoutAttrOf(tensor, context));
}

static void setLayout(LogicalTensor &tensor, LayoutAttr layout) {
  if (!layout)
    return;
  tensor.layout = layoutOf(layout.getKind());
  tensor.strides.assign(layout.getStrides().begin(), layout.getStrides().end());
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// What belongs to `value` and hangs at its function or operation: the
/// attribute `argument`, or element `index` of the array `results`.
static Attribute sideAttr(Value value, StringRef argument, StringRef results) {
  if (auto arg = llvm::dyn_cast<BlockArgument>(value)) {
    auto function = llvm::dyn_cast_or_null<FunctionOpInterface>(
        arg.getOwner()->getParentOp());
    if (!function || !arg.getOwner()->isEntryBlock())
      return {};
    return function.getArgAttr(arg.getArgNumber(), argument);
  }
  auto result = llvm::cast<OpResult>(value);
  auto array = result.getOwner()->getAttrOfType<ArrayAttr>(results);
  return array && result.getResultNumber() < array.size()
             ? array[result.getResultNumber()]
             : Attribute();
}

ArrayAttr sizesAttrOf(const LogicalTensor &tensor, MLIRContext *context) {
  SmallVector<Attribute> texts;
  for (const std::string &size : tensor.sizes)
    texts.push_back(StringAttr::get(context, size));
  return ArrayAttr::get(context, texts);
}

ArrayAttr sizesOf(Value value) {
  auto sizes = llvm::dyn_cast_or_null<ArrayAttr>(
      sideAttr(value, kSizesAttr, kResultSizesAttr));
  bool isList =
      sizes && !sizes.empty() && llvm::all_of(sizes, llvm::IsaPred<StringAttr>);
  return isList ? sizes : ArrayAttr();
}

DictionaryAttr sizeFactsAttrOf(const NamedSizeFacts &all,
                               MLIRContext *context) {
  Builder b(context);
  NamedAttrList names;
  for (const auto &[name, facts] : all) {
    NamedAttrList of;
    of.append("min", b.getI64IntegerAttr(facts.min));
    if (facts.max != SizeFacts::kNoMax)
      of.append("max", b.getI64IntegerAttr(facts.max));
    of.append("multiple_of", b.getI64IntegerAttr(facts.multipleOf));
    if (!facts.likely.empty())
      of.append("likely", b.getDenseI64ArrayAttr(facts.likely));
    names.append(name, of.getDictionary(context));
  }
  return names.getDictionary(context);
}

/// Whether all of `attributes` is something that is declared of a size.
static bool readFacts(DictionaryAttr attributes, SizeFacts &facts) {
  for (NamedAttribute entry : attributes) {
    StringRef key = entry.getName();
    if (key == "likely") {
      auto list = dyn_cast<DenseI64ArrayAttr>(entry.getValue());
      if (!list)
        return false;
      facts.likely.assign(list.asArrayRef().begin(), list.asArrayRef().end());
      continue;
    }
    int64_t *to = key == "min"           ? &facts.min
                  : key == "max"         ? &facts.max
                  : key == "multiple_of" ? &facts.multipleOf
                                         : nullptr;
    auto number = dyn_cast<IntegerAttr>(entry.getValue());
    if (!to || !number || number.getValue().getSignificantBits() > 64)
      return false;
    *to = number.getValue().getSExtValue();
  }
  return true;
}

Expected<NamedSizeFacts> sizeFactsOf(Operation *function) {
  NamedSizeFacts all;
  Attribute attribute = function->getAttr(kSizeFactsAttr);
  auto names = dyn_cast_or_null<DictionaryAttr>(attribute);
  bool isGood = !attribute || names;
  ArrayRef<NamedAttribute> entries;
  if (names)
    entries = names.getValue();
  for (NamedAttribute entry : entries) {
    auto facts = dyn_cast<DictionaryAttr>(entry.getValue());
    isGood = isGood && facts && readFacts(facts, all[entry.getName().str()]);
  }
  if (isGood)
    return all;
  Error error;
  error.code = ErrorCode::WrongType;
  error.message = (kSizeFactsAttr + " is not what is declared of sizes").str();
  error.hint =
      "as in {tokens = {min = 8, max = 4096, multiple_of = 8, likely = "
      "array<i64: 8, 128>}}";
  return error;
}

LogicalTensor describe(Value value) {
  LogicalTensor tensor;
  auto type = llvm::cast<TensorType>(value.getType());
  tensor.dtype = dtypeOf(type.getElementType()).value_or(DType::undef);
  if (auto ranked = llvm::dyn_cast<RankedTensorType>(type)) {
    tensor.shape = Dims(ranked.getShape().begin(), ranked.getShape().end());
    setLayout(tensor, llvm::dyn_cast_or_null<LayoutAttr>(ranked.getEncoding()));
  } else {
    setLayout(tensor, llvm::dyn_cast_or_null<LayoutAttr>(
                          sideAttr(value, kLayoutAttr, kResultLayoutsAttr)));
  }
  if (auto property = llvm::dyn_cast_or_null<StringAttr>(
          sideAttr(value, kPropertyAttr, kResultPropertiesAttr)))
    tensor.property =
        parsePropertyType(property.getValue()).value_or(PropertyType::undef);
  if (ArrayAttr sizes = sizesOf(value))
    for (auto size : sizes.getAsRange<StringAttr>())
      tensor.sizes.push_back(size.str());
  return tensor;
}

std::optional<uint64_t> idOf(Value value) {
  if (llvm::isa<BlockArgument>(value)) {
    auto id = llvm::dyn_cast_or_null<IntegerAttr>(
        sideAttr(value, kIdAttr, kResultIdsAttr));
    return id && id.getValue().getActiveBits() <= 64
               ? std::optional(id.getValue().getZExtValue())
               : std::nullopt;
  }
  auto result = llvm::cast<OpResult>(value);
  auto ids =
      result.getOwner()->getAttrOfType<DenseI64ArrayAttr>(kResultIdsAttr);
  if (!ids || result.getResultNumber() >= static_cast<size_t>(ids.size()))
    return std::nullopt;
  return static_cast<uint64_t>(ids[result.getResultNumber()]);
}

//===----------------------------------------------------------------------===//
// Attributes and locations
//===----------------------------------------------------------------------===//

Attribute attributeOf(const AttrValue &value, MLIRContext *context) {
  Builder builder(context);
  struct Visitor {
    Builder &b;
    Attribute operator()(bool v) { return b.getBoolAttr(v); }
    Attribute operator()(int64_t v) {
      return IntegerAttr::get(b.getIntegerType(64, /*isSigned=*/true), v);
    }
    Attribute operator()(float v) { return b.getF32FloatAttr(v); }
    Attribute operator()(const std::string &v) { return b.getStringAttr(v); }
    Attribute operator()(const Dims &v) { return b.getDenseI64ArrayAttr(v); }
    Attribute operator()(const std::vector<float> &v) {
      return b.getDenseF32ArrayAttr(v);
    }
  };
  return std::visit(Visitor{builder}, value);
}

static std::optional<AttrValue> valueOfNumber(Attribute attribute) {
  if (auto real = llvm::dyn_cast<FloatAttr>(attribute)) {
    if (!real.getType().isF32())
      return std::nullopt;
    return AttrValue(real.getValue().convertToFloat());
  }
  auto integer = llvm::cast<IntegerAttr>(attribute);
  if (!integer.getType().isInteger() || integer.getType().isUnsignedInteger() ||
      integer.getValue().getSignificantBits() > 64)
    return std::nullopt;
  return AttrValue(integer.getValue().getSExtValue());
}

std::optional<AttrValue> valueOf(Attribute attribute) {
  using Result = std::optional<AttrValue>;
  return llvm::TypeSwitch<Attribute, Result>(attribute)
      .Case([](BoolAttr a) { return AttrValue(a.getValue()); })
      .Case([](StringAttr a) { return AttrValue(a.getValue().str()); })
      .Case([](DenseI64ArrayAttr a) {
        return AttrValue(Dims(a.asArrayRef().begin(), a.asArrayRef().end()));
      })
      .Case([](DenseF32ArrayAttr a) {
        return AttrValue(
            std::vector<float>(a.asArrayRef().begin(), a.asArrayRef().end()));
      })
      .Case<FloatAttr, IntegerAttr>(
          [](Attribute a) { return valueOfNumber(a); })
      .Default([](Attribute) { return Result(); });
}

StringRef nameOf(Location location) {
  if (auto named = llvm::dyn_cast<NameLoc>(location))
    return named.getName().getValue();
  if (auto call = llvm::dyn_cast<CallSiteLoc>(location))
    return nameOf(call.getCallee());
  if (auto fused = llvm::dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (StringRef name = nameOf(part); !name.empty())
        return name;
  return {};
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static bool isSegmentSizes(StringRef name) {
  return name == kOperandSegments || name == kResultSegments;
}

PlainOp plainOf(Operation *op) {
  PlainOp plain;
  plain.op.kind = op->getName().stripDialect().str();
  plain.op.name = nameOf(op->getLoc()).str();
  if (auto id = op->getAttrOfType<IntegerAttr>(kIdAttr))
    plain.op.id = id.getValue().getLimitedValue();
  for (NamedAttribute attr : op->getAttrs()) {
    StringRef name = attr.getName().getValue();
    if (!name.contains('.') && !isSegmentSizes(name))
      plain.op.attrs[name.str()] =
          valueOf(attr.getValue()).value_or(std::string());
  }
  plain.op.absentInputs = absentOf(op->getAttr(kOperandSegments));
  plain.op.absentOutputs = absentOf(op->getAttr(kResultSegments));
  for (Value operand : op->getOperands()) {
    plain.op.inputs.push_back(plain.op.inputs.size());
    plain.inputs.push_back(describe(operand));
  }
  for (Value result : op->getResults()) {
    plain.op.outputs.push_back(op->getNumOperands() + plain.outputs.size());
    plain.outputs.push_back(describe(result));
  }
  return plain;
}

static void addSegments(OperationState &state, StringRef name, size_t declared,
                        size_t given, uint64_t absent) {
  if (state.attributes.get(name))
    return;
  SmallVector<int32_t> sizes(declared, 0);
  size_t slots = slotCount(absent, given);
  for (size_t i = 0; i < std::min(declared, slots); ++i)
    sizes[i] = i < kMaxAbsent && (absent >> i & 1) ? 0 : 1;
  state.addAttribute(name, DenseI32ArrayAttr::get(state.getContext(), sizes));
}

void addSegmentSizes(OperationState &state, const OpInfo &info,
                     uint64_t absentOperands, uint64_t absentResults) {
  if (state.name.hasTrait<OpTrait::AttrSizedOperandSegments>())
    addSegments(state, kOperandSegments, info.operands.size(),
                state.operands.size(), absentOperands);
  if (state.name.hasTrait<OpTrait::AttrSizedResultSegments>())
    addSegments(state, kResultSegments, info.results.size(), state.types.size(),
                absentResults);
}

uint64_t absentOf(Attribute segmentSizes) {
  uint64_t absent = 0;
  if (auto sizes = llvm::dyn_cast_or_null<DenseI32ArrayAttr>(segmentSizes))
    for (auto [i, size] : llvm::enumerate(sizes.asArrayRef()))
      if (size == 0 && i < kMaxAbsent)
        absent |= uint64_t{1} << i;
  return absent;
}

} // namespace tenon::graph
