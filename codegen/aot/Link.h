//===- Link.h - objects to one file ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/support/Error.h"

#include <string>
#include <string_view>
#include <vector>

namespace tenon::codegen {

struct LinkJob {
  enum Output { object, library, archive } output = library;
  std::string triple;
  /// The bytes of objects, or of an archive that is taken as a whole.
  std::vector<std::string_view> objects;
  /// Further files for a library: a runtime to go with it.
  std::vector<std::string> files;
  /// The name by which programs that were linked with a library look for it.
  std::string soname;
  /// A program; empty: ld.lld, then ld, from PATH.
  std::string linker;
};

/// The bytes of the result, which depend on the job and the linker only.
/// Archives and objects from one object need no linker.  Errors: CannotRead
/// without a linker, BadOption with what it says, CannotWrite without temporary
/// files.
Expected<std::string> linkObjects(const LinkJob &job);

} // namespace tenon::codegen
