//===- OperandAccess.cpp - linear accesses of a linalg op -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/vector/OperandAccess.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

/// Adds factor * expr to the linear form (coefficients, constant).
bool addLinear(AffineExpr expr, int64_t factor,
               MutableArrayRef<int64_t> coefficients, int64_t &constant) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    coefficients[dim.getPosition()] += factor;
    return true;
  }
  if (auto number = dyn_cast<AffineConstantExpr>(expr)) {
    constant += factor * number.getValue();
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (binary.getKind() == AffineExprKind::Add)
    return addLinear(binary.getLHS(), factor, coefficients, constant) &&
           addLinear(binary.getRHS(), factor, coefficients, constant);
  // Affine expressions keep the constant of a product on the right.
  auto scale = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (binary.getKind() != AffineExprKind::Mul || !scale)
    return false;
  return addLinear(binary.getLHS(), factor * scale.getValue(), coefficients,
                   constant);
}

/// Matches (d floordiv n) * n + phase with phase < n, by which neighbours along
/// a loop dim read the same element.
bool addRuns(AffineExpr expr, OperandAccess &access,
             MutableArrayRef<int64_t> coefficients) {
  int64_t phase = 0;
  auto sum = dyn_cast<AffineBinaryOpExpr>(expr);
  if (sum && sum.getKind() == AffineExprKind::Add) {
    auto number = dyn_cast<AffineConstantExpr>(sum.getRHS());
    if (!number)
      return false;
    phase = number.getValue();
    expr = sum.getLHS();
  }
  auto scaled = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!scaled || scaled.getKind() != AffineExprKind::Mul)
    return false;
  auto divided = dyn_cast<AffineBinaryOpExpr>(scaled.getLHS());
  auto run = dyn_cast<AffineConstantExpr>(scaled.getRHS());
  if (!divided || divided.getKind() != AffineExprKind::FloorDiv || !run ||
      divided.getRHS() != run)
    return false;
  auto dim = dyn_cast<AffineDimExpr>(divided.getLHS());
  if (!dim || phase < 0 || phase >= run.getValue())
    return false;
  unsigned d = dim.getPosition();
  if (access.run[d] > 1)
    return false;
  coefficients[d] = 1;
  access.run[d] = run.getValue();
  access.phase[d] = phase;
  return true;
}

bool analyseMemref(OperandAccess &access, AffineMap map, unsigned rank,
                   std::string &reason) {
  auto type = cast<MemRefType>(access.value.getType());
  access.isMemref = true;
  access.element = type.getElementType();
  if (failed(type.getStridesAndOffset(access.memrefStrides,
                                      access.memrefOffset))) {
    reason = "memref layout is not strided";
    return false;
  }
  access.coefficients.assign(map.getNumResults(),
                             SmallVector<int64_t>(rank, 0));
  access.constants.assign(map.getNumResults(), 0);
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    if (!(!access.isOutput && addRuns(expr, access, access.coefficients[i])) &&
        !addLinear(expr, 1, access.coefficients[i], access.constants[i])) {
      reason = "indexing map is not linear";
      return false;
    }
    for (unsigned d = 0; d < rank; ++d) {
      int64_t coefficient = access.coefficients[i][d];
      int64_t memrefStride = access.memrefStrides[i];
      if (coefficient == 0 || access.stride[d] == kDynamic)
        continue;
      access.stride[d] = memrefStride == kDynamic
                             ? kDynamic
                             : access.stride[d] + coefficient * memrefStride;
    }
  }
  for (unsigned d = 0; d < rank; ++d)
    if (access.run[d] > 1 &&
        llvm::count_if(access.coefficients,
                       [&](const auto &row) { return row[d] != 0; }) > 1) {
      reason = "a loop with runs in two indices";
      return false;
    }
  return true;
}

/// Finds for each loop dim a memref dim that is indexed by exactly that dim.
bool findSizes(LoopAccess &access, std::string &reason) {
  for (unsigned d = 0; d < access.rank(); ++d) {
    bool found = false;
    for (auto [o, operand] : llvm::enumerate(access.operands)) {
      for (unsigned i = 0; i < operand.coefficients.size() && !found; ++i) {
        const auto &row = operand.coefficients[i];
        found = row[d] == 1 && operand.constants[i] == 0 &&
                operand.run[d] == 1 &&
                llvm::count(row, 0) + 1 == int64_t(row.size());
        if (found)
          access.sizeSource[d] = {unsigned(o), i};
      }
    }
    if (!found && access.sizes[d] == kDynamic) {
      reason = "no operand gives the trip count of a dynamic loop";
      return false;
    }
  }
  return true;
}

} // namespace

FailureOr<LoopAccess> analyseAccess(linalg::LinalgOp op, std::string &reason) {
  LoopAccess access;
  access.sizes = llvm::to_vector(op.getStaticLoopRanges());
  unsigned rank = access.sizes.size();
  access.sizeSource.assign(rank, {0, 0});
  for (utils::IteratorType iterator : op.getIteratorTypesArray())
    access.isReduction.push_back(iterator == utils::IteratorType::reduction);

  for (OpOperand &operand : op->getOpOperands()) {
    OperandAccess &entry = access.operands.emplace_back();
    entry.value = operand.get();
    entry.element = operand.get().getType();
    entry.isOutput = op.isDpsInit(&operand);
    entry.isRead =
        !op.getBlock()->getArgument(operand.getOperandNumber()).use_empty();
    // At least one entry, so that plans without loops may ask for dim 0.
    entry.stride.assign(std::max(rank, 1u), 0);
    entry.run.assign(std::max(rank, 1u), 1);
    entry.phase.assign(std::max(rank, 1u), 0);
    if (!isa<MemRefType>(entry.element))
      continue;
    if (!analyseMemref(entry, op.getMatchingIndexingMap(&operand), rank,
                       reason))
      return failure();
  }
  if (!findSizes(access, reason))
    return failure();
  return access;
}

} // namespace tenon::codegen
