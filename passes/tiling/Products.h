//===- Products.h - matrices times packed matrices -------------*- C++ -*-===//
#pragma once

#include "passes/tiling/Epilogue.h"

namespace tenon::tiling {

/// dst[.., m, n] = A[.., m, :] . W[.., panel(n), :, column(n)], all operands
/// over the leading dims of dst.
struct Product {
  Strided a;                        // [lead.., M, K]
  Strided w;                        // [lead.., P, K, panel], dense from P on
  Strided dst;                      // [lead.., M, N]
  llvm::SmallVector<Strided> sides; // like dst
  Ofr k;
  int64_t n;
  int64_t panel;
  int64_t interleave = 1; // of k in W
  bool unsignedA = false; // of bytes
};

/// Sections that compute `product` with what follows it.
void emitProduct(GroupContext &ctx, const Epilogue &epilogue, Product product);

/// K in parts that are summed one after the other, each so short that a panel
/// of weights, the next one and a block of rows are in L2 together; one, if
/// that is so for all of it. Floats of 4 bytes; absent: rows are not known.
llvm::SmallVector<int64_t> partsOfSum(int64_t k, std::optional<int64_t> rows,
                                      int64_t panel, int64_t l2Bytes);

} // namespace tenon::tiling
