// SPDX-License-Identifier: Apache-2.0
#include "dialects/rt/RtDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tenon::rt;

#include "dialects/rt/RtDialect.cpp.inc"

void RtDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/rt/RtOps.cpp.inc"
      >();
}

static MemRefType scratchType(MLIRContext *ctx) {
  return MemRefType::get({ShapedType::kDynamic}, IntegerType::get(ctx, 8));
}

void ParallelOp::build(OpBuilder &b, OperationState &state, StringRef label,
                       Value items, Value scratch) {
  state.addAttribute("label", b.getStringAttr(label));
  state.addOperands({items, scratch});
  Region *region = state.addRegion();
  OpBuilder::InsertionGuard guard(b);
  Type index = b.getIndexType();
  Location loc = state.location;
  b.createBlock(region, {}, {index, index, scratchType(b.getContext())},
                {loc, loc, loc});
  YieldOp::create(b, loc);
}

LogicalResult ParallelOp::verify() {
  Block &block = getBody().front();
  Type index = IndexType::get(getContext());
  if (block.getNumArguments() != 3 || block.getArgument(0).getType() != index ||
      block.getArgument(1).getType() != index ||
      block.getArgument(2).getType() != scratchType(getContext()))
    return emitOpError("body takes (index, index, memref<?xi8>)");
  return success();
}

/// Elements of memory from the first to the last of a buffer of known sizes.
static int64_t elementsSpanned(MemRefType type) {
  int64_t span = 1;
  for (auto [size, stride] :
       llvm::zip(type.getShape(), type.getStridesAndOffset().first)) {
    if (size == 0)
      return 0;
    span += (size - 1) * stride;
  }
  return span;
}

Value PartOp::getViewSource() { return getSource(); }

LogicalResult PartOp::verify() {
  auto source = cast<MemRefType>(getSource().getType()),
       part = cast<MemRefType>(getPart().getType());
  if (source.getElementType() != part.getElementType())
    return emitOpError("part of ") << source << " has type " << part;
  if (part.getStridesAndOffset().second != 0)
    return emitOpError("buffers have offset 0, not ") << part;
  auto from = static_cast<int64_t>(getFirst());
  if (getMore())
    return success();
  // Of nothing any part is nothing.
  int64_t spanned = elementsSpanned(part);
  if (from < 0 || (source.hasStaticShape() && spanned &&
                   from + spanned > elementsSpanned(source)))
    return emitOpError("elements from ")
           << from << " on do not fit into " << source;
  return success();
}

LogicalResult SectionOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto callee = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(
      *this, getCalleeAttr());
  if (!callee)
    return emitOpError("no function named ") << getCalleeAttr();
  // The lowered form of a section takes runtime pointers instead.
  if (callee->hasAttr("rt.lowered"))
    return success();
  ArrayRef<Type> types = callee.getArgumentTypes();
  if (types.size() != getArgs().size() + 3)
    return emitOpError("passes ")
           << getArgs().size() << " arguments, " << getCalleeAttr() << " takes "
           << static_cast<int>(types.size()) - 3;
  for (auto [i, arg] : llvm::enumerate(getArgs()))
    if (arg.getType() != types[i])
      return emitOpError("argument ")
             << i << " is " << arg.getType() << ", expected " << types[i];
  return success();
}

#define GET_OP_CLASSES
#include "dialects/rt/RtOps.cpp.inc"
