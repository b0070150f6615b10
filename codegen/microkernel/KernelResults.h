//===- KernelResults.h - rows of C in a kernel ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/microkernel/KernelProducts.h"

#include "mlir/IR/IRMapping.h"

namespace tenon::microkernel {

/// C and the epilogue operands: prefetched and read before the sums, computed
/// from them and stored after them.
class KernelResults : protected KernelProducts {
protected:
  KernelResults(mlir::OpBuilder &builder, mlir::Location loc,
                const KernelSpec &spec, mlir::ValueRange arguments);

  /// The end of a kernel meets all its lines of C at once, each in a row of its
  /// own: nothing in the machine expects them.
  void prefetchOutput();
  /// Accumulators in the order row-major (row, vector).
  llvm::SmallVector<Value> initialise();
  void clearTotal(unsigned level);
  /// Adds the accumulators, sums of a block of K that `blocks` are before, to
  /// the totals.
  void addToTotals(llvm::ArrayRef<Value> accs, Value blocks);
  /// Adds the totals of `blocks` blocks to the accumulators.
  void addTotals(llvm::MutableArrayRef<Value> accs, Value blocks);
  /// Epilogue and store. By columns, so that a per-column side is loaded once.
  void finish(llvm::ArrayRef<Value> accs);
  Type epilogueElement(unsigned i);

private:
  int64_t rowOfPartial() const {
    return spec.finishes ? spec.rowOfSums() : kPartialRow;
  }
  /// Total `level` of accumulator `i`.
  Value totalAt(unsigned level, Value i);
  /// A loop over the vectors of total `level`: they are used too rarely for
  /// straight code.
  void forTotal(unsigned level, llvm::function_ref<void(Value)> body);
  Value loadTotal(Value at);
  void storeTotal(Value sum, Value at);
  /// After so many additions to total `level`: if it is full, it is added to
  /// the next one and begins at zero.
  void makeRoomInTotal(unsigned level, Value additions);
  /// Adds total `level` to another.
  void addTotalTo(unsigned level, unsigned other);
  void buildMask();
  /// Whether each row of C begins with a line.
  Value startsWithLines();
  void prefetchRowOfC(int64_t r);
  /// C that could have gone past the caches, but does not begin with a line.
  void prefetchTornLines();
  /// Lines are filled one after the other, by rows: past the caches, or not
  /// where they are not whole.
  void storeLines(llvm::ArrayRef<Value> values);
  /// C + `sum`, vector `v` of row `r`.
  Value addToC(Value sum, int64_t r, int64_t v);
  /// Epilogue operands that do not depend on n, broadcast: [side * rows + row].
  llvm::SmallVector<Value> loadRowOperands();
  llvm::SmallVector<Value> loadColumnOperands(int64_t v);
  Value applyEpilogue(Value acc, int64_t r, int64_t v,
                      llvm::ArrayRef<Value> perRow,
                      llvm::ArrayRef<Value> perColumn);
  /// Clones an elementwise scalar operation onto vectors.
  void vectorise(mlir::Operation &op, mlir::IRMapping &mapping);
  /// Whether what the epilogue computes `x` by takes sums of bf16 to numbers
  /// that are as rarely denormal as they are: the instruction makes them 0.
  bool isLikeSums(Value x, int depth = 8);
  void store(Value value, int64_t r, int64_t v, bool nontemporal = false);

  llvm::SmallVector<Value> cRowOffset; // elements
  Value wholeLines;                    // of C, only with nontemporalOut
};

} // namespace tenon::microkernel
