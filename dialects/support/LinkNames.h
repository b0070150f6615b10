//===- LinkNames.h - names by which phases know functions ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// One phase gives a function its name and another, or a report, finds it by the
// name: each stands here once. No MLIR, no LLVM.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace tenon {

/// The entry that every execution calls.
inline constexpr char kMainName[] = "main";
/// The entry that is called once, when the constants are known.
inline constexpr char kFoldName[] = "fold";
/// From the bufferize phase on, `ENTRY_arena` computes the bytes of the arena
/// of an entry.
inline constexpr char kArenaSuffix[] = "_arena";
/// From the tile phase on: the function of a group for the layouts that it met
/// first; for others a number follows.
inline constexpr char kLoweredSuffix[] = ".l";
/// Groups of the tile phase that copy, with a number. Symbols of the user's
/// operations have no dot.
inline constexpr char kCopyPrefix[] = "g.copy";
/// Kernels in registers, and those of the matrix unit.
inline constexpr char kKernelPrefix[] = "tenon_brgemm_";
inline constexpr char kMatrixKernelPrefix[] = "tenon_matrix_";

} // namespace tenon
