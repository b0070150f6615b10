//===- CompileReport.h - what a compilation did ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenon {

/// Seconds of one phase of one compilation.
struct PhaseTime {
  std::string name;
  double seconds = 0;
};

/// Bytes that have to be moved: every tensor a group reads counts once, and so
/// does every tensor it writes.
struct Traffic {
  double read = 0, written = 0;
};

/// A call of a group function, or of one that copies what no view can express.
struct GroupStats {
  /// The names of its operations, joined with "+", perhaps cut.
  std::string label;
  /// As in GroupKind, or "copy".
  std::string kind;
  /// Its operations: indices into the ops of the compiled graph. A rewritten
  /// operation may be in several groups; all operations of one name count when
  /// names are not unique.
  std::vector<size_t> ops;
  /// Of a Concat: operations, in order, whose results are written where
  /// it joins them; those of a Concat that is joined as a whole are, too.
  std::vector<size_t> inPlace;
  /// The tensors it reads and writes: "64x13xf32, 13x512xf32 -> 64x512xf32".
  std::string types;
  /// False: sizes are not known, and the following numbers leave that out.
  bool sized = true;
  /// Two for each multiply-add of a contraction, one for each element of the
  /// largest tensor of everything else, none for what only moves data.
  double flops = 0;
  /// Of tensors of the caller's and of folded constants that no group before
  /// has read, and of results.
  Traffic memory;
  /// Of everything else: what another group has read or written before.
  Traffic reused;
};

/// What became of the order of elements of a tensor between who writes and who
/// reads it: a copy in another order, or why there is none.
struct ReorderInfo {
  enum class When {
    run,  // copied in every execution
    bind, // copied once, when constants are bound
    never // not copied: whoever reads or writes it takes it as it lies
  };
  When when = When::never;
  /// "packed in panels", "copied", "kept as it is computed", ...
  std::string what;
  /// Before and after, or as it lies and as it is read: "64x8xf32 -> 8x64xf32".
  std::string types;
  /// Operations whose code copies; none for what is not copied.
  std::vector<size_t> ops;
  /// The edge: who writes the tensor, empty where that is not known or it is
  /// the input `input`; who reads it, empty for the output `output`.
  std::vector<size_t> from, to;
  std::optional<uint64_t> input, output;
  bool sized = true; // false: `bytes` are not known
  /// What the copy moves, or would move if there was one.
  Traffic bytes;
};

/// A buffer in the arena of the main function.
struct ArenaBuffer {
  std::string name; // of the group that writes it, or the operation
  std::string type; // "64x512xf32"
  int64_t offset = 0, bytes = 0;
  /// The first and the last step that use it.
  size_t first = 0, last = 0;
};

/// Code for likely sizes beside the code for all.
struct VersionInfo {
  std::string name; // "batch=1, tokens=128"
  double seconds = 0;
  int64_t groups = 0;
  int64_t codeBytes = 0;
};

/// Begins remarks about versions.
inline constexpr const char *kVersionRemark = "sizes: ";

/// What a compilation did; every number is counted, none estimated.
struct CompileReport {
  std::string targetCpu; // LLVM's name
  std::string schedule;  // "avx512", "avx2" or "generic"
  std::vector<PhaseTime> phases;
  double totalSeconds = 0;
  int64_t ops = 0;            // of the graph
  int64_t groups = 0;         // calls of group functions in main and fold
  int64_t groupFunctions = 0; // distinct ones
  int64_t sections = 0;       // distinct section functions
  int64_t kernels = 0;        // distinct microkernels
  int64_t arenaBytes = 0;     // of main; 0 when it depends on shapes
  int64_t unsharedBytes = 0;  // sum of its buffers, without sharing
  int64_t codeBytes = 0;      // of the object
  /// Why operations were not fused, one per line: `op: reason`.
  std::vector<std::string> remarks;
  /// All other members but totalSeconds are about the code for all sizes.
  std::vector<VersionInfo> versions;
  /// What is called for every execution, and what once for its constants; in
  /// order, copies last.
  std::vector<GroupStats> mainGroups, foldGroups;
  /// In order of main, then of fold; copies last.
  std::vector<ReorderInfo> reorders;
  /// The calls of main in order, and the buffers of known size they share.
  std::vector<std::string> arenaSteps;
  std::vector<ArenaBuffer> arena;
};

} // namespace tenon
