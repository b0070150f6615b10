//===- Products.h - matrices times packed matrices -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/tile/core/Epilogue.h"
#include "passes/tile/products/PackPanels.h"

namespace tenon::passes {

/// dst[.., m, n] = A[.., m, :] . W[.., panel(n), :, column(n)], all operands
/// over the leading dims of dst.
struct MatMulProblem {
  Strided a;                                   // [lead.., M, K]
  Strided w;                                   // [lead.., M], stride 0 along M
  Strided dst;                                 // [lead.., M, N]
  llvm::SmallVector<Strided> epilogueOperands; // like dst
  Index k, n;
  int64_t panel = 0;      // after lead.. W is [P, K, panel], dense
  int64_t interleave = 1; // of k in W
  bool unsignedA = false; // A is u8
  /// W is [P, rows of quantized weights, panel], dense, for a known K.
  std::optional<tile::QuantizedWeightsAttr> quantized;

  /// Strides of W [lead.., K, N] along K and N where it is not packed.
  struct InPlace {
    Index k, n;
  };
  std::optional<InPlace> inPlace;

  /// Set if work items pack the weights themselves, one panel each. `unpacked`
  /// are the tensors that they read, indexed like `w`.
  const PanelPacking *packing = nullptr;
  llvm::SmallVector<Strided> unpacked;

  /// Set if work items compute src themselves, a block of rows each.
  /// `fusedFrom` are the tensors that they read, indexed like `a`.
  const FusedOperand *made = nullptr;
  llvm::SmallVector<Strided> fusedFrom;
  mlir::Type elementOfA() const {
    if (isSliced())
      return mlir::Float32Type::get(a.base.getContext());
    return made ? made->elementType() : a.elementType();
  }
  /// Whether A is the result of tile.to_int8_slices. The memory of `a` has
  /// bytes then, but its sizes and strides, and k, count words of four bytes.
  bool isSliced() const { return quantized && quantized->getSlices(); }
};

/// The dimensions of dst before the columns, merged where the operands allow
/// it. The last one has the rows that share a matrix of weights.
struct RowDims {
  llvm::SmallVector<Index> sizes;
  int64_t rowDim;
  Index rows;
};

/// Merges rows of all operands of `p` with their leading dims: A, dst and
/// epilogue operands are then over the space (and columns), `p.w` over the
/// space.
RowDims mergeRows(MatMulProblem &p);

/// The problem and context that all sections of a product share.
struct ProductSections {
  ProductSections(GroupContext &ctx, const Epilogue &epilogue,
                  MatMulProblem product)
      : ctx(ctx), m(ctx.m), epilogue(epilogue), p(std::move(product)),
        aK(p.a.strides.back()), space(mergeRows(p)) {}

  GroupContext &ctx;
  IndexMath &m;
  const Epilogue &epilogue;
  MatMulProblem p; // over `space`
  Index aK;        // stride of A along K
  RowDims space;
};

/// Sections that compute `product` with what follows it.
void emitProduct(GroupContext &ctx, const Epilogue &epilogue,
                 MatMulProblem product);

/// The same for weights that are not packed (ProductsInPlace.cpp).
void emitProductInPlace(GroupContext &ctx, const Epilogue &epilogue,
                        MatMulProblem p);

/// c[i, j] = sum over k of a * b, f32; `maps` of a, b, c with k the last of
/// three loops.
void emitSums(IndexMath &m, mlir::Value a, mlir::Value b, mlir::Value c,
              llvm::ArrayRef<mlir::AffineMap> maps);

/// c[m, n] = sum over k of a[m, k] * b[k, n], where k lies together in memory.
void emitDots(IndexMath &m, mlir::Value a, mlir::Value b, mlir::Value c);
/// c += the same.
void addDots(IndexMath &m, mlir::Value a, mlir::Value b, mlir::Value c);

/// Parts of K are multiples of it: whole steps of kernels.
inline constexpr int64_t kPartStep = 16;

/// The lengths of the parts of K whose sums are added one after the other: as
/// few as possible, each so short that L2 holds a panel of weights, the next
/// one and a block of rows, but at most kMostAdditions. All but the last are
/// multiples of `step`. Elements are f32; without `rows` their number is not
/// known.
llvm::SmallVector<int64_t> partsOfSum(int64_t k, std::optional<int64_t> rows,
                                      int64_t panel, int64_t l2Bytes,
                                      int64_t step = kPartStep);

} // namespace tenon::passes
