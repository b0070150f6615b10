//===- Artefact.h - a compiled graph as a value ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What compilation yields and a cache keeps: code with its description, and
// the graph it was compiled from.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/driver/Session.h"

#include <string>
#include <string_view>

namespace tenon {

struct Artefact {
  /// As compiled: sorted, ports complete, shapes inferred.
  graph::Graph graph;
  /// What it was compiled for.
  codegen::TargetSpec target;
  /// An object file, or an archive of several, that defines
  /// codegen::kModelInfoSymbol.
  std::string object;
  /// The same for each version, in order; `object` finds that of version i
  /// under codegen::versionSymbol(i).
  std::vector<std::string> versions;
  /// Inputs that may share memory with outputs, whatever version is executed,
  /// by id.
  std::vector<std::pair<uint64_t, uint64_t>> inPlace;
  /// The caller's, one line; kept with it.
  std::string notes;
  /// Whether jitdump files are wanted for it.
  bool perf = false;
};

/// Compiles for `target`, which `options` was resolved to, executable here or
/// not. Errors as Compiled::compile.
Expected<Artefact> compileArtefact(const graph::PreparedGraph &graph,
                                   const Options &options, const Target &target,
                                   CompileReport *report = nullptr);

/// The bytes of an artefact: format version, compiler version, target, graph,
/// object; each part with its hash. Equal artefacts give equal bytes.
std::string serialise(const Artefact &artefact);

/// Errors: NotAnArtefact, ForeignArtefact (version of format or compiler),
/// DamagedArtefact, and UnsupportedTarget where it cannot be executed here.
Expected<Artefact> deserialise(std::string_view bytes);

} // namespace tenon
