//===- Attrs.h - what others may ask of the vectoriser ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace tenon::codegen {

/// Of a line of the cache.
inline constexpr int64_t kLineBytes = 64;

/// On a linalg operation without reductions, or one whose vectors lie along
/// one, the number of a parallel loop: several of its iterations pass together
/// over the vectors, so that what operands have for all of them is loaded once,
/// and lanes are folded together.
inline constexpr llvm::StringLiteral kJamAttr = "codegen.jam";

/// On a linalg operation, the numbers of outputs that no cache will hold when
/// they are read again: whole vectors go to memory past the caches, where the
/// output begins with a line.
inline constexpr llvm::StringLiteral kNontemporalAttr = "codegen.nontemporal";
/// On a linalg operation: per input, how many elements after each that is read
/// lies one to bring to a near cache meanwhile; 0: none.
inline constexpr llvm::StringLiteral kPrefetchAttr = "codegen.prefetch";

} // namespace tenon::codegen
