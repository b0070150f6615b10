//===- Interpolation.h - how tensors are resampled -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The attributes of Interpolate and its gradient, and how many elements of src
// they ask for; what these mean is in docs/ops.md.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/BuiltinTypeInterfaces.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>

namespace tenon::passes {

/// What all spatial dims have in common.
struct Sampling {
  enum class Mode { nearest, linear, cubic };
  Mode mode;
  std::string coordinates, nearestMode; // as the attributes say
  double cubicCoeff;
  bool excludesOutside, antialias;

  bool isNearest() const { return mode == Mode::nearest; }
  /// Elements on each side of a coordinate that an unscaled filter reaches.
  int64_t radius() const { return mode == Mode::cubic ? 2 : 1; }
};
Sampling samplingOf(mlir::Operation *op);

/// A scale that is a fraction of small integers: the size of dst is exactly
/// in * times / over, rounded down, of any size of src.
struct Fraction {
  int64_t times, over;
};
std::optional<Fraction> fractionOf(float scale);

/// A spatial dim of `in` positions of src and `out` of dst.
struct SampledDim {
  int64_t in, out;
  std::optional<float> scale; // of coordinates, instead of out / in
  /// Whether position i of dst is position i of src, whatever the attributes.
  bool isCopied = false;

  bool isKnown() const {
    return !mlir::ShapedType::isDynamic(in) &&
           !mlir::ShapedType::isDynamic(out);
  }
  /// The most positions of src from one of dst to the next.
  double step() const;
  /// Which part of the distance of two elements of src the filter takes as its
  /// unit; 1 where it is not widened.
  double unit(const Sampling &sampling) const;
  /// Elements of src that one of dst is made of.
  int64_t taps(const Sampling &sampling) const;
  /// How often nearest interpolation repeats each position of src; 0: not all
  /// equally often. `size` says how sizes that are not known follow.
  int64_t repeats(const Sampling &sampling,
                  std::optional<Fraction> size = std::nullopt) const;
};
/// How sizes of dst follow from those of src, one fraction for each spatial dim
/// of an Interpolate; empty where scales are not given or no fractions.
llvm::SmallVector<Fraction> fractionsOf(mlir::Operation *op);

/// The spatial dims of `op`; sizes may be dynamic.
llvm::SmallVector<SampledDim> sampledDims(mlir::Operation *op);

/// Elements of src that one of dst may be made of if filters have more than two
/// along a dim: all are written out.
inline constexpr int64_t kMaxBlended = 64;
bool blendsTooMany(mlir::Operation *op);

} // namespace tenon::passes
