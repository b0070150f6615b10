//===- KernelSpec.cpp - names and signatures of kernels -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/microkernel/Kernel.h"
#include "dialects/support/LinkNames.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tenon::microkernel;
using tenon::tile::EpilogueBroadcast;

std::string KernelSpec::name() const {
  std::string result;
  llvm::raw_string_ostream os(result);
  os << kKernelPrefix << element;
  // Signed, unsigned.
  if (element.isInteger())
    os << "su"[static_cast<int>(sign)];
  if (stored != sum)
    os << "_" << stored;
  if (quantized)
    os << "_q" << quantized->bits << "us"[quantized->isSigned]
       << (quantized->hasScales ? "c" : "")
       << (quantized->hasZeroPoints ? "z" : "")
       << (quantized->slices ? "d" + std::to_string(quantized->slices) : "");
  if (interleave > 1)
    os << "_v" << interleave << (partialGroup ? "p" : "");
  os << "_" << tile.rows << "x" << tile.vectors << "x" << lanes << "_b"
     << numBatchDims;
  if (rowOfB)
    os << "_w" << rowOfB / interleave;
  if (!unitStrideK)
    os << "_sk";
  if (unroll > 1)
    os << "_u" << unroll << (wholeIterations ? "" : "r");
  if (accumulate)
    os << "_acc";
  if (totals)
    os << "_t" << totals;
  if (fromPartial)
    os << "_part";
  if (finishes)
    os << "_end";
  if (maskedC)
    os << (maskedB ? "_maskb" : "_mask");
  if (prefetch)
    os << "_pf" << prefetch;
  if (prefetchB)
    os << "_fb";
  if (prefetchOut)
    os << "_fo";
  if (nontemporalOut)
    os << "_so";
  if (epilogueId)
    os << "_e" << epilogueId;
  // Scalar, per row (m), per column (n), per element of C.
  for (EpilogueBroadcast operand : epilogueOperands)
    os << "smnc"[static_cast<int>(operand)];
  return result;
}

KernelSpec KernelSpec::ofSums() const {
  KernelSpec result = *this;
  result.stored = sum;
  result.accumulate = false;
  result.maskedC = maskedB;
  result.prefetchOut = result.nontemporalOut = false;
  result.epilogueOperands.clear();
  result.epilogue = nullptr;
  result.epilogueId = 0;
  return result;
}

KernelSpec KernelSpec::ofFinish() const {
  KernelSpec result = *this;
  result.finishes = true;
  result.tile.rows = 1;
  // What only matters to sums; their signs are right.
  result.quantized.reset();
  result.sign = ByteSign::Unsigned;
  result.partialGroup = result.fromPartial = result.maskedB = false;
  result.numBatchDims = result.totals = 0;
  result.rowOfB = result.prefetch = 0;
  result.unitStrideK = true;
  result.prefetchB = result.prefetchOut = false;
  result.unroll = 1;
  result.wholeIterations = false;
  return result;
}

namespace {
/// Calls `visit(value, isPointer)` for each operand in the order of the
/// signature: the one place that knows it.
template <typename Operands, typename Visitor>
void visitOperands(const KernelSpec &spec, Operands &operands, Visitor visit) {
  if (!spec.finishes) {
    visit(operands.a, true);
    visit(operands.b, true);
  }
  visit(operands.c, true);
  if (!spec.finishes)
    visit(operands.k, false);
  if (spec.quantized) {
    visit(operands.groups, false);
    visit(operands.scales, true);
  }
  if (!spec.finishes) {
    visit(operands.aRow, false);
    visit(operands.bRow, false);
  }
  visit(operands.cRow, false);
  for (auto &operand : operands.epilogueOperands)
    visit(operand, true);
  for (unsigned i = 0, e = spec.epilogueOperands.size(); i < e; ++i)
    if (spec.hasRowStride(i))
      visit(operands.epilogueRow[i], false);
  if (!spec.unitStrideK)
    visit(operands.aK, false);
  for (unsigned i = 0; i < spec.numBatchDims; ++i) {
    visit(operands.batch[i], false);
    visit(operands.aBatch[i], false);
    visit(operands.bBatch[i], false);
  }
  if (spec.prefetch) {
    visit(operands.ahead, true);
    visit(operands.aheadStep, false);
  }
  if (spec.totals)
    visit(operands.totals, true);
  if (spec.fromPartial || spec.finishes)
    visit(operands.partial, true);
  if (spec.finishes)
    visit(operands.rows, false);
  if (spec.maskedC)
    visit(operands.tail, false);
}

KernelOperands makeEmptyOperands(const KernelSpec &spec) {
  KernelOperands operands;
  operands.epilogueOperands.resize(spec.epilogueOperands.size());
  operands.epilogueRow.resize(spec.epilogueOperands.size());
  operands.batch.resize(spec.numBatchDims);
  operands.aBatch.resize(spec.numBatchDims);
  operands.bBatch.resize(spec.numBatchDims);
  return operands;
}
} // namespace

SmallVector<Value> KernelOperands::flatten(const KernelSpec &spec) const {
  SmallVector<Value> values;
  visitOperands(spec, *this,
                [&](Value value, bool) { values.push_back(value); });
  return values;
}

KernelOperands KernelOperands::unflatten(const KernelSpec &spec,
                                         ValueRange values) {
  KernelOperands operands = makeEmptyOperands(spec);
  unsigned next = 0;
  visitOperands(spec, operands,
                [&](Value &value, bool) { value = values[next++]; });
  return operands;
}

FunctionType tenon::microkernel::getKernelType(const KernelSpec &spec) {
  MLIRContext *context = spec.element.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context);
  Type integer = IntegerType::get(context, 64);
  SmallVector<Type> types;
  KernelOperands operands = makeEmptyOperands(spec);
  visitOperands(spec, operands, [&](Value &, bool isPointer) {
    types.push_back(isPointer ? pointer : integer);
  });
  return FunctionType::get(context, types, {});
}
