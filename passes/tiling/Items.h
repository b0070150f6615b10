//===- Items.h - sections written item by item -----------------*- C++ -*-===//
#pragma once

#include "passes/tiling/Strided.h"

namespace tenon::tiling {

/// A section over `items`; `body` gets the item's index.
void emitItems(IndexMath &m, llvm::StringRef label, Ofr items,
               llvm::function_ref<void(IndexMath &, mlir::Value)> body);

/// The same with `scratchBytes` of memory per thread, which `body` also gets.
void emitItems(
    IndexMath &m, llvm::StringRef label, Ofr items, Ofr scratchBytes,
    llvm::function_ref<void(IndexMath &, mlir::Value, mlir::Value)> body);

/// Splits `index` by `counts`, the last varying fastest.
llvm::SmallVector<Ofr> delinearize(IndexMath &m, mlir::Value index,
                                   llvm::ArrayRef<Ofr> counts);

/// A loop over [from, to).
void emitLoop(IndexMath &m, Ofr from, Ofr to,
              llvm::function_ref<void(IndexMath &, Ofr)> body);

/// A sliding window along one spatial dimension; all sizes static.
struct WindowDim {
  int64_t in, out, kernel, stride, pad, dilation;

  /// Positions of dst [first, past) whose window lies inside src.
  std::pair<int64_t, int64_t> interior() const;
  /// Taps [lo, hi) of the window at position `start` = stride * index that
  /// fall inside src; lo <= hi.
  std::pair<Ofr, Ofr> validTaps(IndexMath &m, Ofr start) const;
};

} // namespace tenon::tiling
