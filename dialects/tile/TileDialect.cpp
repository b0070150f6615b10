//===- TileDialect.cpp - the tile dialect ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/tile/TileDialect.h"
#include "dialects/support/Rounding.h"
#include "dialects/tile/Verify.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tenon::tile;

#include "dialects/tile/TileDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/tile/TileAttrs.cpp.inc"
#include "dialects/tile/TileEnums.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/tile/TileOps.cpp.inc"

void TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/tile/TileAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/tile/TileOps.cpp.inc"
      >();
}

LogicalResult
QuantizedWeightsAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                             unsigned bits, bool, int64_t group, bool,
                             int64_t slices) {
  if (bits != 4 && bits != 8)
    return emitError() << "quantized weights have " << bits
                       << " bits, must be 4 or 8";
  if (group < 0 || (bits == 4 && group % 2))
    return emitError() << "a group of " << group << " quantized weights of "
                       << bits << " bits does not fill bytes";
  constexpr int64_t most = 256; // sums of two int8 slices are 32 bits
  if (slices != 0 && (slices < 2 || slices > 3 || group % (32 / bits) ||
                      group < 1 || group > most))
    return emitError()
           << slices << " int8 slices and groups of " << group
           << " quantized weights; must be 0, or 2 or 3 and a group that "
              "fills four bytes, up to 256";
  return success();
}

std::optional<EpilogueBroadcast>
tenon::tile::getEpilogueBroadcast(AffineMap map) {
  for (EpilogueBroadcast kind :
       {EpilogueBroadcast::Scalar, EpilogueBroadcast::PerRow,
        EpilogueBroadcast::PerColumn, EpilogueBroadcast::PerElement})
    if (map == getEpilogueMapOf(kind, map.getContext()))
      return kind;
  return std::nullopt;
}

AffineMap tenon::tile::getEpilogueMapOf(EpilogueBroadcast kind,
                                        MLIRContext *context) {
  AffineExpr m = getAffineDimExpr(0, context), n = getAffineDimExpr(1, context);
  switch (kind) {
  case EpilogueBroadcast::Scalar:
    return AffineMap::get(2, 0, {}, context);
  case EpilogueBroadcast::PerRow:
    return AffineMap::get(2, 0, {m}, context);
  case EpilogueBroadcast::PerColumn:
    return AffineMap::get(2, 0, {n}, context);
  case EpilogueBroadcast::PerElement:
    return AffineMap::get(2, 0, {m, n}, context);
  }
  llvm_unreachable("covered switch");
}

//===----------------------------------------------------------------------===//
// BrgemmOp: construction and queries
//===----------------------------------------------------------------------===//

/// What products of elements of the memref `a` are summed in.
static Type accumulatorType(Type a) {
  Type element = cast<MemRefType>(a).getElementType();
  return isa<FloatType>(element) ? Type(Float32Type::get(a.getContext()))
                                 : IntegerType::get(a.getContext(), 32);
}

void BrgemmOp::build(OpBuilder &builder, OperationState &state, Value a,
                     Value b, Value c, bool accumulate, bool packed) {
  build(builder, state, a, b, c, ValueRange{}, ArrayRef<AffineMap>{},
        accumulate, packed, nullptr);
}

void BrgemmOp::build(
    OpBuilder &builder, OperationState &state, Value a, Value b, Value c,
    ValueRange epilogueOperands, ArrayRef<AffineMap> epilogueMaps,
    bool accumulate, bool packed,
    llvm::function_ref<Value(OpBuilder &, Location, ValueRange)> body) {
  state.addOperands({a, b});
  state.addOperands(epilogueOperands);
  state.addOperands(c);
  auto &properties = state.getOrAddProperties<Properties>();
  properties.epilogue_maps = builder.getAffineMapArrayAttr(epilogueMaps);
  properties.packed = builder.getBoolAttr(packed);
  properties.operandSegmentSizes = {
      1, 1, static_cast<int32_t>(epilogueOperands.size()), 1, 0};
  if (accumulate)
    properties.accumulate = builder.getUnitAttr();
  Region *region = state.addRegion();
  if (!body)
    return;

  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Type> types{accumulatorType(a.getType())};
  for (Value operand : epilogueOperands)
    types.push_back(cast<MemRefType>(operand.getType()).getElementType());
  SmallVector<Location> locs(types.size(), state.location);
  Block *block = builder.createBlock(region, region->end(), types, locs);
  Value result = body(builder, state.location, block->getArguments());
  YieldOp::create(builder, state.location, result);
}

MemRefType BrgemmOp::getAType() { return cast<MemRefType>(getA().getType()); }
MemRefType BrgemmOp::getBType() { return cast<MemRefType>(getB().getType()); }
MemRefType BrgemmOp::getCType() { return cast<MemRefType>(getC().getType()); }

int64_t BrgemmOp::getNumBatchDims() { return getAType().getRank() - 2; }

int64_t BrgemmOp::getInterleave() {
  MemRefType b = getBType();
  return b.getRank() > getAType().getRank() ? b.getShape().back() : 1;
}

Type BrgemmOp::getAccumulatorType() { return accumulatorType(getAType()); }

AffineMap BrgemmOp::getEpilogueMap(unsigned i) {
  return cast<AffineMapAttr>(getEpilogueMaps()[i]).getValue();
}

void BrgemmOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getAMutable(),
                       SideEffects::DefaultResource::get());
  effects.emplace_back(MemoryEffects::Read::get(), &getBMutable(),
                       SideEffects::DefaultResource::get());
  for (OpOperand &operand : getEpilogueOperandsMutable())
    effects.emplace_back(MemoryEffects::Read::get(), &operand,
                         SideEffects::DefaultResource::get());
  if (getAccumulate())
    effects.emplace_back(MemoryEffects::Read::get(), &getCMutable(),
                         SideEffects::DefaultResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), &getCMutable(),
                       SideEffects::DefaultResource::get());
}

//===----------------------------------------------------------------------===//
// BrgemmOp: verification. Every problem found is reported, not the first only.
//===----------------------------------------------------------------------===//

namespace {
/// Reports problems of one op and remembers that there were some.
struct Problems {
  BrgemmOp op;
  bool any = false;

  InFlightDiagnostic report(const Twine &text = "") {
    any = true;
    return op.emitOpError(text);
  }
  /// Two sizes that must be equal where both are known.
  void checkSame(int64_t x, int64_t y, const Twine &what) {
    if (!ShapedType::isDynamic(x) && !ShapedType::isDynamic(y) && x != y)
      report() << what << " differ: " << x << " and " << y;
  }
  void checkUnitStride(MemRefType type, StringRef what) {
    auto [strides, offset] = type.getStridesAndOffset();
    if (!strides.empty() && strides.back() != 1)
      report() << what << " must have unit stride along n, has type " << type
               << "; hint: pack or transpose it first";
  }
};
} // namespace

/// b is [.., ceil(K / v), NB, v], dense in its last two dimensions.
static void verifyInterleave(Problems &problems, BrgemmOp op) {
  MemRefType a = op.getAType(), b = op.getBType();
  int64_t j = op.getNumBatchDims(), v = b.getShape().back();
  auto [strides, offset] = b.getStridesAndOffset();
  // What instructions add up: pairs of bf16 and int16, pairs or fours of bytes.
  Type element = b.getElementType();
  bool known = element.isBF16() || element.isInteger(16)
                   ? v == 2
                   : element.isInteger(8) && (v == 2 || v == 4);
  if (!known) {
    problems.report() << "interleaves " << v << " elements of type " << element
                      << "; must be 2 of bf16 or i16, 2 or 4 of i8";
    return;
  }
  if (!op.getPacked() || strides[j + 1] != v)
    problems.report("an interleaved b must be packed and dense, has ") << b;
  if (int64_t k = a.getDimSize(j + 1); !ShapedType::isDynamic(k))
    problems.checkSame(tenon::ceilDiv(k, v), b.getDimSize(j),
                       "K / v of a and b");
}

/// Elements: floats of one type, summed in f32, or integers, summed in i32.
static void verifyElements(Problems &problems, BrgemmOp op) {
  Type a = op.getAType().getElementType(), b = op.getBType().getElementType(),
       c = op.getCType().getElementType();
  if (op.getQuantized() ? !b.isInteger(8) || !isa<FloatType>(a) : a != b)
    problems.report() << "a has elements of type " << a << ", b of type " << b;
  bool known = a.isF32() || a.isBF16() || a.isF16() || a.isInteger(8) ||
               a.isInteger(16) || a.isInteger(32);
  if (!known)
    problems.report()
        << "supports f32, bf16, f16, i8, i16 and i32 elements, has " << a;
  if (op.getUnsignedA() && !a.isInteger(8))
    problems.report("only bytes can be unsigned_a");
  Type sum = op.getAccumulatorType();
  if ((op.getAccumulate() || !op.hasEpilogue()) && c != sum)
    problems.report() << "c holds sums of type " << sum << ", has elements of "
                      << "type " << c;
}

/// b is [rows of bytes, NB], one piece.
static void verifyQuantized(Problems &problems, BrgemmOp op) {
  MemRefType b = op.getBType();
  auto [strides, offset] = b.getStridesAndOffset();
  int64_t k = op.getAType().getDimSize(1);
  if (!ShapedType::isDynamic(k))
    k = op.getQuantized()->kOf(k);
  if (op.getNumBatchDims() || !op.getPacked() ||
      strides[0] != b.getDimSize(1) || ShapedType::isDynamic(k) ||
      !op.getQuantized()->divides(k))
    problems.report()
        << "quantized weights need one packed and dense b, no batch, and a "
           "K that is known and divides into their groups; have "
        << op.getAType() << " and " << b;
  else
    problems.checkSame(op.getQuantized()->rows(k), b.getDimSize(0),
                       "rows of quantized weights for K and b");
}

static void verifyShapes(Problems &problems, BrgemmOp op) {
  MemRefType a = op.getAType(), b = op.getBType(), c = op.getCType();
  if (a.getRank() < 2) {
    problems.report() << "a must have rank 2 or more, [batch.., M, K], has "
                      << a;
    return;
  }
  bool interleaved = b.getRank() == a.getRank() + 1;
  if ((b.getRank() != a.getRank() && !interleaved) || c.getRank() != 2) {
    problems.report() << "needs a [batch.., M, K], b [batch.., K, NB], c [M, n]"
                         " with equally many batch dimensions, has ranks "
                      << a.getRank() << ", " << b.getRank() << ", "
                      << c.getRank();
    return;
  }
  int64_t j = op.getNumBatchDims();
  for (int64_t i = 0; i < j; ++i)
    problems.checkSame(a.getDimSize(i), b.getDimSize(i),
                       "batch dimension " + Twine(i) + " of a and b");
  problems.checkSame(a.getDimSize(j), c.getDimSize(0), "rows of a and c");
  if (interleaved)
    verifyInterleave(problems, op);
  else if (op.getQuantized())
    verifyQuantized(problems, op);
  else
    problems.checkSame(a.getDimSize(j + 1), b.getDimSize(j), "K of a and b");

  problems.checkUnitStride(b, "b");
  problems.checkUnitStride(c, "c");
  int64_t nb = b.getDimSize(j + 1), n = c.getDimSize(1);
  if (op.getPacked() && ShapedType::isDynamic(nb))
    problems.report() << "packed b needs a static last dimension, has " << b
                      << "; hint: packed = false reads b in place";
  if (!ShapedType::isDynamic(nb) && !ShapedType::isDynamic(n) && n > nb)
    problems.report() << "c has " << n << " columns, b only " << nb;
}

static void verifyEpilogueOperand(Problems &problems, BrgemmOp op, unsigned i) {
  auto type = cast<MemRefType>(op.getEpilogueOperands()[i].getType());
  std::string what = "epilogue operand " + std::to_string(i);
  std::optional<EpilogueBroadcast> kind =
      getEpilogueBroadcast(op.getEpilogueMap(i));
  if (!kind) {
    problems.report() << what << " has map " << op.getEpilogueMaps()[i]
                      << "; must be (d0, d1) -> (), (d0), (d1) or (d0, d1)";
    return;
  }
  Type element = type.getElementType();
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8 != 0)
    problems.report() << what << " has elements of type " << element
                      << "; must be floats or integers of whole bytes";
  unsigned rank = op.getEpilogueMap(i).getNumResults();
  if (type.getRank() != rank) {
    problems.report() << what << " has rank " << type.getRank()
                      << ", its map has " << rank << " results";
    return;
  }
  if (op.getCType().getRank() != 2)
    return;
  if (*kind == EpilogueBroadcast::PerRow ||
      *kind == EpilogueBroadcast::PerElement)
    problems.checkSame(type.getDimSize(0), op.getCType().getDimSize(0),
                       "rows of " + Twine(what) + " and c");
  if (*kind == EpilogueBroadcast::PerColumn ||
      *kind == EpilogueBroadcast::PerElement) {
    problems.checkUnitStride(type, what);
    int64_t n = op.getCType().getDimSize(1);
    int64_t columns = type.getDimSize(rank - 1);
    if (!ShapedType::isDynamic(n) && !ShapedType::isDynamic(columns) &&
        columns < n)
      problems.report() << what << " has " << columns << " columns, c " << n;
  }
}

LogicalResult BrgemmOp::verify() {
  Problems problems{*this};
  verifyElements(problems, *this);
  verifyShapes(problems, *this);
  if (getEpilogueMaps().size() != getEpilogueOperands().size())
    problems.report() << "has " << getEpilogueOperands().size()
                      << " epilogue operands but " << getEpilogueMaps().size()
                      << " epilogue maps";
  else
    for (unsigned i = 0, e = getEpilogueOperands().size(); i < e; ++i)
      verifyEpilogueOperand(problems, *this, i);
  if (!getEpilogueOperands().empty() && !hasEpilogue())
    problems.report() << "has epilogue operands but no epilogue to use them";
  if (getPrefetch()) {
    auto type = cast<MemRefType>(getPrefetch().getType());
    if (type.getRank() != 1 || !type.hasStaticShape() ||
        !type.areTrailingDimsContiguous(1))
      problems.report() << "prefetch must be one piece of known size, is "
                        << type;
  }
  if (getMatrixUnit() && getRegisterTile())
    problems.report() << "has matrix_unit and register_tile, may have one";
  if (std::optional<ArrayRef<int64_t>> tile = getRegisterTile()) {
    // No machine has so many registers; and kernels are straight code.
    constexpr int64_t limit = 64;
    if (tile->size() != 2 || (*tile)[0] < 1 || (*tile)[1] < 1)
      problems.report() << "register_tile must be [MR, NV], both positive";
    else if ((*tile)[0] > limit || (*tile)[1] > limit ||
             (*tile)[0] * (*tile)[1] > limit)
      problems.report() << "register_tile [" << *tile << "] has more than "
                        << limit << " accumulators";
  }
  return failure(problems.any);
}

void tenon::tile::verifyScalarOp(
    Operation &op, const Twine &region,
    llvm::function_ref<InFlightDiagnostic()> report) {
  Attribute constant;
  bool isConstant = matchPattern(&op, m_Constant(&constant)) &&
                    isa<IntegerAttr, FloatAttr>(constant);
  auto isScalar = [](Type type) { return type.isIntOrIndexOrFloat(); };
  if (!isConstant && !OpTrait::hasElementwiseMappableTraits(&op))
    report() << region << " may hold elementwise operations only, not "
             << op.getName();
  else if (!llvm::all_of(op.getOperandTypes(), isScalar) ||
           !llvm::all_of(op.getResultTypes(), isScalar))
    report() << region << " operation " << op.getName()
             << " must work on scalars";
  else if (!isPure(&op))
    report() << region << " operation " << op.getName()
             << " has effects or may fail";
}

LogicalResult BrgemmOp::verifyRegions() {
  if (!hasEpilogue())
    return success();
  if (!getEpilogue().hasOneBlock())
    return emitOpError("epilogue must have one block");
  Problems problems{*this};
  Block &block = getEpilogue().front();
  SmallVector<Type> expected{getAccumulatorType()};
  for (Value operand : getEpilogueOperands())
    expected.push_back(cast<MemRefType>(operand.getType()).getElementType());
  if (block.getArgumentTypes() != TypeRange(expected))
    problems.report()
        << "epilogue arguments must be (acc, epilogue operands..) of types "
        << expected << ", are " << block.getArgumentTypes();
  for (Operation &op : block.without_terminator())
    verifyScalarOp(op, "epilogue", [&] { return problems.report(); });
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getValues().size() != 1)
    problems.report() << "epilogue must end in tile.yield of one value";
  else if (yield.getValue().getType() != getCType().getElementType())
    problems.report() << "epilogue yields " << yield.getValue().getType()
                      << ", c has elements of type "
                      << getCType().getElementType();
  return failure(problems.any);
}
