//===- Packing.h - products that read their weights in panels --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// How wide panels are, how many neighbours of K lie together in them, and the
// tile operations that read them. For the layout phase and, earlier, for
// products of integers.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/microkernel/TargetIsa.h"

#include "mlir/IR/Builders.h"

namespace tenon::passes {

/// Attributes that all convolutions have.
struct WindowAttrs {
  mlir::DenseI64ArrayAttr strides, padsBegin, padsEnd, dilations;
  mlir::IntegerAttr groups;
  /// SAME_UPPER or SAME_LOWER: how pads follow from sizes that are not known.
  /// Null: they are what padsBegin and padsEnd say.
  mlir::StringAttr autoPad;

  /// Those of `op` with `spatial` dimensions.
  static WindowAttrs of(mlir::Operation *op, mlir::OpBuilder &b,
                        int64_t spatial);
};

/// Products that read a narrow element, from which widening it in memory pays
/// where no instruction multiplies it as it is: kernels would widen it for each
/// block of rows or columns that meets it.
inline constexpr int64_t kUsesToWiden = 64;

/// With fewer rows weights are read from memory for each product, and narrow
/// ones are fewer bytes.
inline constexpr int64_t kMinRowsToWiden = 32;

/// Whether kernels of the MatMul or Convolution `op` would widen elements that
/// often, and its weights are constant.
bool widensOften(mlir::Operation *op, int64_t minRows = kMinRowsToWiden);

struct Packing {
  tile::TargetAttr target;

  microkernel::VectorIsa isa() const { return microkernel::isaOf(target); }

  /// Columns of a panel for N columns in all, M rows (or dynamic) and this
  /// interleave of K. `whole`: products have all columns of the last panel.
  int64_t panelFor(int64_t m, int64_t n, int64_t interleave = 1,
                   bool whole = false) const;

  /// Neighbours of K that lie together in weights of `element`, K of them, at
  /// least `groups` of such groups.
  int64_t interleaveFor(mlir::Type element, int64_t k,
                        int64_t groups = 3) const;

  /// tile.matmul of `src` and `weights` [.., K, N], packed or as they lie
  /// (readsInPlace).
  tile::MatMulOp buildMatMul(mlir::OpBuilder &b, mlir::Location loc,
                             mlir::RankedTensorType dst, mlir::Value src,
                             mlir::Value weights) const;

  /// tile.conv of `src` and the packed `weights` [taps.., I, O].
  tile::ConvOp buildConv(mlir::OpBuilder &b, mlir::Location loc,
                         mlir::RankedTensorType dst, mlir::Value src,
                         mlir::Value weights, const WindowAttrs &window) const;
  /// The same without last spatial dims of size 1, as exporters write those of
  /// sequences: rows of a product are the positions of the last one.
  mlir::Value buildConvOfRows(mlir::OpBuilder &b, mlir::Location loc,
                              mlir::RankedTensorType dst, mlir::Value src,
                              mlir::Value weights, WindowAttrs window) const;
};

/// How many elements neighbours along dim `dim` of `v` are apart in memory,
/// where that is known.
std::optional<int64_t> strideAlong(mlir::Value v, int64_t dim);

/// Whether packing `weights` [.., K, N] would take longer than their product
/// with `src`: they change with every execution and meet few rows of it.
bool readsInPlace(mlir::RankedTensorType dst, mlir::Value src,
                  mlir::Value weights);

/// Whether weights [taps.., I, O] have so few channels I that one product
/// takes all taps of a row: of one tap it would be too small.
bool joinsTaps(mlir::RankedTensorType weights, const WindowAttrs &window);

/// Whether weights [taps.., I, O] are those of a depthwise convolution.
bool isDepthwise(mlir::RankedTensorType weights, int64_t groups);

/// Whether they are those of groups, of as many channels of dst as of src, so
/// narrow that several make one vector of `lanes`.
bool hasNarrowGroups(mlir::RankedTensorType weights, int64_t groups,
                     int64_t lanes);

/// Whether a convolution is depthwise, or its groups are narrow for vectors of
/// `lanes`: in f32 its channels are lanes.
bool hasChannelsAsLanes(mlir::Operation *convolution, int64_t lanes);

} // namespace tenon::passes
