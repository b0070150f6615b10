//===- Aot.h - files compiled ahead of time --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A graph becomes an object, a library or an archive with C functions
// (docs/aot.md), and such a file becomes a Compiled.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/aot/Link.h"
#include "codegen/aot/Seal.h"
#include "compiler/driver/Session.h"

#include <functional>

namespace tenon {

struct AotRequest {
  Options options; // targetCpu counts when `targets` is empty
  /// CPUs, in any order, all different.
  std::vector<std::string> targets;
  /// Of LLVM; empty: this machine's.
  std::string triple;
  /// Begins all symbols; a C identifier.
  std::string prefix;
  /// A readable name of a tensor.
  std::function<std::string(const graph::Graph &, uint64_t)> nameOf;
  /// Values of constant inputs, by id, in the dtype and strides of the graph.
  std::map<uint64_t, std::string> constants;
  /// Otherwise they go to AotFiles::weights.
  bool embedWeights = true;
  /// When constants are packed for the code: `compile` writes them packed, for
  /// each target; `load` as they were given; `automatic` writes them packed
  /// from 1 MiB on, where there is one target and this machine executes it.
  enum class Packing { automatic, compile, load } packing = Packing::automatic;
  /// Objects come from the compiler; the rest is the caller's.
  codegen::LinkJob link;
};

/// The bytes of what was asked for.
struct AotFiles {
  std::string code, header, weights;
  std::vector<std::string> targets; // most demanding first
  /// Likely sizes with code of their own.
  std::vector<std::string> versions;
  /// Why others have none, and why constants are packed only when it is loaded.
  std::vector<std::string> remarks;
};

/// Equal requests for equal graphs give equal bytes.  Errors: those of
/// Compiled::compile and codegen::linkObjects; BadOption, UnsupportedTarget,
/// UnknownShape.
Expected<AotFiles> compileAhead(const graph::PreparedGraph &graph,
                                AotRequest request);

/// A compiled file that was found to be as it was written.
struct AotFile {
  std::string path;
  codegen::Seal seal;
  graph::Graph graph;
};

/// Whether the file at `path` is one for readAotFile rather than a graph.
bool isAotFile(const std::string &path);
/// Errors: CannotRead, NotAnArtefact, ForeignArtefact, DamagedArtefact.
Expected<AotFile> readAotFile(const std::string &path);

struct AotLoadOptions {
  std::string weightsFile;
  std::string withoutFeatures; // of the CPU, separated by commas
};

/// Loads it into this process; objects and archives are linked for that.
/// Errors: UnsupportedTarget when no code suits this CPU, CannotRead and
/// DamagedArtefact about the file of weights, those of codegen::linkObjects.
Expected<std::unique_ptr<Compiled>> loadAotFile(const AotFile &file,
                                                const AotLoadOptions &options);

} // namespace tenon
