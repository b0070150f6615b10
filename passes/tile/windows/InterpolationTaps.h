//===- InterpolationTaps.h - what resampling reads -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A coordinate of dst reads some elements of src along each spatial dim. What
// it reads along all of them are corners: one element of each dim.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/ops/Interpolation.h"
#include "passes/support/IndexMath.h"

namespace tenon::passes {

/// A spatial dim. Its sizes may be dynamic in `facts`; filters that are
/// stretched by them are of known sizes.
struct SizedDim {
  SampledDim facts;
  Index in, out;
};

/// What one coordinate of dst reads along one dim: elements, in order, and
/// their weights. One element without a weight is taken as it is.
struct InterpolationTap {
  llvm::SmallVector<Index, 4> index;
  llvm::SmallVector<mlir::Value, 4> weight; // f32
};

/// The tap of position `at`, an index, along `dim`. The code computes in f64.
InterpolationTap tapOf(IndexMath &m, const Sampling &sampling,
                       const SizedDim &dim, Index at);

/// The number of corners of `taps`, of which the first dim's change fastest.
int64_t cornersOf(llvm::ArrayRef<InterpolationTap> taps);
/// Which element of tap `dim` corner number `corner` has.
int64_t elementAt(llvm::ArrayRef<InterpolationTap> taps, int64_t dim,
                  int64_t corner);

/// Product of the weights of a corner; null if it has none.
mlir::Value cornerWeight(mlir::OpBuilder &b, mlir::Location loc,
                         llvm::ArrayRef<InterpolationTap> taps, int64_t corner);
/// weight * x; 0 for a weight of 0: such a neighbour is not read, be it
/// infinite.
mlir::Value weighted(mlir::OpBuilder &b, mlir::Location loc, mlir::Value weight,
                     mlir::Value x);
/// Sum over corners of weight * part.
mlir::Value blend(mlir::OpBuilder &b, mlir::Location loc,
                  llvm::ArrayRef<InterpolationTap> taps,
                  mlir::ValueRange parts);

} // namespace tenon::passes
