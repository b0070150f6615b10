//===- KernelCache.h - the kernels of a module -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Hands out kernels and dispatch functions, each built once per module.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/microkernel/MatrixKernel.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace tenon::microkernel {

/// Sizes a call site may ask a kernel for: rows or vectors from low to high, in
/// steps.
struct SizeRange {
  int64_t low = 1, high = 1, step = 1;
  int64_t count() const { return (high - low) / step + 1; }
  int64_t size(int64_t number) const { return low + number * step; }
  std::string str() const;
};

class KernelCache {
public:
  explicit KernelCache(mlir::ModuleOp module) : module(module), table(module) {}

  /// Sets `spec.epilogue` and its id to those of an equal earlier region, or of
  /// `region`, which must outlive this object. Empty regions are no epilogue.
  void setEpilogue(KernelSpec &spec, mlir::Region &region);

  mlir::func::FuncOp getKernel(KernelSpec spec);
  mlir::func::FuncOp getKernel(const MatrixKernelSpec &spec);

  /// A function (rows, vectors : index, operands of a kernel..) that calls the
  /// kernel of that size. Sizes out of range do nothing, those between steps
  /// are not to be asked for. `spec.tile` is unused. `apart`: kernels leave
  /// sums, which one function for any number of rows finishes; for the fewest
  /// kernels where sums are long.
  mlir::func::FuncOp getDispatcher(const KernelSpec &spec, SizeRange rows,
                                   SizeRange vectors, bool apart);

  int64_t getNumKernels() const { return kernels.size(); }
  int64_t getNumDispatchers() const { return dispatchers.size(); }

private:
  template <typename Spec, typename Build>
  mlir::func::FuncOp getOrBuild(const Spec &spec, Build build);

  mlir::ModuleOp module;
  mlir::SymbolTable table;
  llvm::StringMap<mlir::func::FuncOp> kernels, dispatchers;
  struct Epilogue {
    mlir::Region *region;
    int64_t id;
  };
  std::unordered_map<size_t, std::vector<Epilogue>> epilogues; // by hash
  int64_t numEpilogues = 0;
};

} // namespace tenon::microkernel
