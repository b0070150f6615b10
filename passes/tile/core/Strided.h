//===- Strided.h - a tensor in memory as sizes and strides -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Every buffer of a partition is a memref of offset 0.  Transposes, reshapes
// and broadcasts of it only change sizes and strides; a `Strided` carries them
// until a loop needs a concrete memref.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/support/IndexMath.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace tenon::passes {

struct Strided {
  mlir::Value base; // memref of offset 0
  llvm::SmallVector<Index> sizes;
  llvm::SmallVector<Index> strides; // in elements; 0: broadcast
  bool dense = false;               // known to be row-major without gaps
  std::optional<Index> offset; // of the first element, in elements; none: 0

  int64_t rank() const { return sizes.size(); }
  mlir::Type elementType() const;
};

/// Bytes of all its elements, 0 where they are not known.
int64_t bytesOf(const Strided &s);

/// `memref` as it is.  Strides of a dense memref are products of its sizes.
Strided stridedOf(IndexMath &m, mlir::Value memref);

/// Lets the sizes of `s` be these values, which are equal to those that it has.
void setSizes(Strided &s, llvm::ArrayRef<Index> sizes);

/// Dimension i of the result is dimension order[i] of `s`.
Strided transpose(const Strided &s, llvm::ArrayRef<int64_t> order);

/// `s` right-aligned to `sizes` by the rules of numpy: stride 0 where it has
/// size 1 or no dimension. A dynamic dimension is taken to have the size of
/// `sizes`: it never broadcasts.
Strided broadcastTo(const Strided &s, llvm::ArrayRef<Index> sizes);

/// The view of `s` as a row-major tensor of `sizes`; none if a copy is needed.
std::optional<Strided> reshape(const Strided &s, llvm::ArrayRef<Index> sizes);

/// The place in memory, in elements, of index `at` of the first dims of `s`.
Index offsetOf(const Strided &s, llvm::ArrayRef<Index> at);

/// The position of element `number`, row-major, in loops of these sizes.
llvm::SmallVector<Index> positionOf(Index number, llvm::ArrayRef<Index> sizes);

/// The reverse: the number of the element at position `at`.
Index numberOf(llvm::ArrayRef<Index> at, llvm::ArrayRef<Index> sizes);

/// The matrices `s` [.., rows, columns] over the leading dimensions `lead`. The
/// last two dimensions are its own: never broadcast.
Strided overLead(const Strided &s, llvm::ArrayRef<Index> lead, Index rows,
                 Index columns);

/// The memref of the box at `offset` (in elements) with these sizes, strides.
mlir::Value box(IndexMath &m, mlir::Value base, Index offset,
                llvm::ArrayRef<Index> sizes, llvm::ArrayRef<Index> strides);

/// The elements of `memref` from index `offsets` on.
mlir::Value subBox(IndexMath &m, mlir::Value memref,
                   llvm::ArrayRef<Index> offsets, llvm::ArrayRef<Index> sizes);

/// The part of a packed matrix from `offset` on that belongs to `k` rows:
/// `sizes` and `strides` of dimensions before K, then K itself, `panel`
/// columns, and `v` neighbours of K that lie together.
mlir::Value panelBox(IndexMath &m, mlir::Value base, Index offset,
                     llvm::SmallVector<Index> sizes,
                     llvm::SmallVector<Index> strides, Index k, int64_t panel,
                     int64_t v);
/// Columns of a panel of `packed` weights [.., K, panel], or [.., K, panel, v].
int64_t panelWidth(mlir::RankedTensorType packed, int64_t v);
/// Elements of k rows of such a panel.
Index panelSize(Index k, int64_t panel, int64_t v);

/// The memref type of offset 0 with these sizes and strides; dense ones are
/// plain, so that equal layouts have equal types.
mlir::MemRefType memrefType(mlir::Type elementType, llvm::ArrayRef<Index> sizes,
                            llvm::ArrayRef<Index> strides);

/// The memref of the caller's buffer of an argument or result. Without
/// `strides` it is dense.
mlir::MemRefType bufferType(mlir::RankedTensorType type,
                            mlir::DenseI64ArrayAttr strides);

/// `s`, which has no offset, as a memref.
mlir::Value asMemref(IndexMath &m, const Strided &s);

/// Merges neighbouring dimensions of one iteration space wherever every operand
/// allows it, and drops those of size 1.  All operands have as many dimensions
/// as `sizes`; only dimensions of one class merge.
void coalesce(llvm::SmallVectorImpl<Index> &sizes,
              llvm::SmallVectorImpl<int> &classes,
              llvm::MutableArrayRef<Strided *> operands);

} // namespace tenon::passes
