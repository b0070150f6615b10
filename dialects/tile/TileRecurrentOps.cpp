//===- TileRecurrentOps.cpp - recurrences before buffers ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/support/Rounding.h"
#include "dialects/tile/TileDialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tenon::tile;

int64_t RecurrenceOp::operandWithSteps() {
  for (int64_t i = 0, e = getForms().size(); i < e; ++i)
    if (getForm(i).getSteps())
      return i;
  return -1;
}

int64_t RecurrenceOp::operandWithBatch() {
  for (int64_t i = 0, e = getForms().size(); i < e; ++i)
    if (getForm(i).getBatch())
      return i;
  return -1;
}

namespace {

/// Checks what the attributes of a recurrence say against its types.
struct RecurrenceVerifier {
  RecurrenceOp op;

  InFlightDiagnostic error() { return op.emitOpError(); }

  RankedTensorType operandType(int64_t i) {
    return cast<RankedTensorType>(op.getInputs()[i].getType());
  }
  int64_t columnsOfOperand(int64_t i) {
    return operandType(i).getShape().back();
  }
  RankedTensorType resultType(int64_t i) {
    return cast<RankedTensorType>(op.getOutputs()[i].getType());
  }
  bool isOperand(int64_t i) {
    return i >= 0 && i < static_cast<int64_t>(op.getInputs().size());
  }

  /// `width` columns of sequence `result` from `offset` on.
  LogicalResult hasColumns(int64_t result, int64_t offset, int64_t width) {
    if (result < 0 || !op.isSequence(result))
      return error() << "there is no result " << result << " with steps";
    int64_t columns = resultType(result).getShape().back();
    if (offset < 0 || width < 0 || offset + width > columns)
      return error() << width << " columns from " << offset << " on of "
                     << columns << " of result " << result;
    return success();
  }

  LogicalResult forms() {
    if (op.getForms().size() != op.getInputs().size())
      return error() << op.getForms().size() << " forms for "
                     << op.getInputs().size() << " operands";
    for (int64_t i = 0, e = op.getInputs().size(); i < e; ++i) {
      StepOperandAttr form = op.getForm(i);
      auto type = operandType(i);
      bool isWeights = llvm::any_of(op.getStages(), [&](Attribute stage) {
        return cast<StageAttr>(stage).getWeights() == i;
      });
      int64_t rank =
          form.getLead().size() + form.getSteps() + form.getBatch() + 1;
      if (!isWeights && type.getRank() != rank)
        return error() << "operand " << i << " has rank " << type.getRank()
                       << ", its form " << rank;
      for (auto [at, size] : llvm::zip(form.getLead(), type.getShape()))
        if (at < 0 || ShapedType::isDynamic(size) || at >= size)
          return error() << "operand " << i << ": index " << at << " of "
                         << size;
    }
    if (auto lengths = op.getLengths())
      if (!isOperand(*lengths) ||
          !operandType(*lengths).getElementType().isInteger(32))
        return error() << "operand " << *lengths << " has no lengths of s32";
    if (op.operandWithSteps() < 0 || op.operandWithBatch() < 0)
      return error() << "no operand says how many steps there are, or rows";
    return success();
  }

  LogicalResult results() {
    ArrayRef<int64_t> rings = op.getRings(), finals = op.getFinals();
    if (rings.size() + finals.size() != op.getOutputs().size())
      return error() << rings.size() << " sequences and " << finals.size()
                     << " final states for " << op.getOutputs().size()
                     << " results";
    for (auto [i, ring] : llvm::enumerate(rings)) {
      auto type = resultType(i);
      if (ring < 0 || ring > 2 || type.getRank() < 3 ||
          ShapedType::isDynamic(type.getShape().back()) ||
          (ring && type.getDimSize(type.getRank() - 3) != ring))
        return error() << "result " << i << " is " << type << " with a ring of "
                       << ring;
    }
    for (auto [i, state] : llvm::enumerate(finals)) {
      if (state < 0 || state >= static_cast<int64_t>(op.getStates().size()))
        return error() << "there is no state " << state;
      auto type = resultType(rings.size() + i);
      if (type.getRank() != 4 || type.getDimSize(0) != 1 ||
          type.getDimSize(1) != 1 ||
          type.getDimSize(3) != op.getState(state).getWidth())
        return error() << "the final state " << state << " is " << type;
    }
    return success();
  }

  LogicalResult states() {
    for (int64_t i = 0, e = op.getStates().size(); i < e; ++i) {
      StateAttr s = op.getState(i);
      if (failed(hasColumns(s.getResult(), s.getOffset(), s.getWidth())))
        return failure();
      if (s.getInitial() != -1 &&
          (!isOperand(s.getInitial()) ||
           columnsOfOperand(s.getInitial()) < s.getWidth()))
        return error() << "state " << i << " begins as operand "
                       << s.getInitial();
    }
    return success();
  }

  LogicalResult read(ReadAttr r, int64_t width) {
    int64_t i = r.getIndex();
    auto fits = [&](int64_t operand, int64_t offset) -> LogicalResult {
      if (!isOperand(operand))
        return error() << "there is no operand " << operand;
      int64_t columns = columnsOfOperand(operand);
      if (columns != 1 && (offset < 0 || offset + width > columns))
        return error() << width << " columns from " << offset << " on of "
                       << columns << " of operand " << operand;
      return success();
    };
    switch (r.getKind()) {
    case ReadKind::operand:
      return fits(i, r.getOffset());
    case ReadKind::state:
      if (i < 0 || i >= static_cast<int64_t>(op.getStates().size()))
        return error() << "there is no state " << i;
      return hasColumns(op.getState(i).getResult(), r.getOffset(), width);
    case ReadKind::result:
      return hasColumns(i, r.getOffset(), width);
    case ReadKind::following:
      if (r.getOtherwise() != -1 && failed(fits(r.getOtherwise(), 0)))
        return failure();
      return fits(i, r.getOffset());
    case ReadKind::step:
      return success();
    }
    llvm_unreachable("covered switch");
  }

  LogicalResult stage(StageAttr s, Region &body) {
    Block &block = body.front();
    if (s.getWeights() != -1 && !isOperand(s.getWeights()))
      return error() << "there is no operand " << s.getWeights();
    if (block.getNumArguments() !=
        static_cast<size_t>(s.getProducts()) + s.getReads().size())
      return error() << "a stage has " << s.getProducts() << " products and "
                     << s.getReads().size() << " reads, but its block "
                     << block.getNumArguments() << " arguments";
    for (ReadAttr r : s.getReads())
      if (failed(read(r, s.getWidth())))
        return failure();
    if (block.getTerminator()->getNumOperands() != s.getTargets().size() ||
        s.getTargets().size() != s.getColumns().size())
      return error() << "a stage yields "
                     << block.getTerminator()->getNumOperands() << " values to "
                     << s.getTargets().size() << " results";
    for (auto [target, column] : llvm::zip(s.getTargets(), s.getColumns()))
      if (failed(hasColumns(target, column, s.getWidth())))
        return failure();
    return success();
  }

  LogicalResult run() {
    if (op.getStages().size() != op.getBodies().size())
      return error() << op.getStages().size() << " stages and "
                     << op.getBodies().size() << " blocks";
    if (failed(forms()) || failed(results()) || failed(states()))
      return failure();
    for (auto [i, body] : llvm::enumerate(op.getBodies()))
      if (failed(stage(op.getStage(i), body)))
        return failure();
    return success();
  }
};

} // namespace

LogicalResult RecurrenceOp::verify() { return RecurrenceVerifier{*this}.run(); }
