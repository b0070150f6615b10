//===- Seal.h - what a compiled file says about itself ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A compiled file has two sections beside its code: .tenon.seal with the
// version of the format, what it was compiled for and the hash of the whole
// file, and .tenon.graph with the graph, for the tools.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/support/Error.h"
#include "runtime/tenon_rt.h"

#include <string>
#include <string_view>
#include <vector>

namespace llvm {
class Module;
} // namespace llvm

namespace tenon::codegen {

/// Changes with the sections, not with TENON_MODEL_VERSION.
inline constexpr uint32_t kSealVersion = 1;

struct Seal {
  std::string compiler; // its version
  std::string triple;
  std::string prefix; // of all symbols
  std::vector<std::string> targets;
  tenon_constant_key hash = {};
};

/// What is in a file.
struct SealedFile {
  Seal seal;
  std::string graph; // JSON
};

/// Adds both sections; the hash is not in there yet.
void emitSeal(llvm::Module &module, const Seal &seal, const std::string &graph);

/// Puts the hash of a complete file, an ELF object, library or archive, into
/// its seal.  Errors: Internal when there is no seal.
Expected<bool> applySeal(std::string &file);

/// Checks the seal of a file; any bytes are fine.  Errors: NotAnArtefact,
/// ForeignArtefact (another version of the format), DamagedArtefact.
Expected<SealedFile> openSealed(std::string_view file);

/// Whether `file` is ELF or an archive: what openSealed is for.
bool looksSealed(std::string_view file);

} // namespace tenon::codegen
