//===- Npz.h - several arrays in one file -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What numpy.savez and savez_compressed write: zip archives whose members are
// .npy files, stored or deflated, below 4 GiB. Own code because Debian 12
// packages no C++ library for the format.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/support/Error.h"

#include <string>
#include <string_view>
#include <vector>

namespace tenon::cli {

/// A member of an archive: the bytes of a .npy file, and its name without
/// ".npy".
struct NpzMember {
  std::string name;
  std::string bytes;
};

/// The members in the order of the archive; `name` is for messages. Any bytes
/// are fine: memory is bounded by 1040 times their number, and by 8 GiB.
/// Errors: BadTensorData, also for bits that flipped; TooLarge.
Expected<std::vector<NpzMember>> parseNpz(std::string_view bytes,
                                          const std::string &name);

/// The bytes of an archive, stored as numpy.savez does. Errors: TooLarge for
/// more than 4 GiB.
Expected<std::string> formatNpz(const std::vector<NpzMember> &members);

/// Errors: CannotRead and those of parseNpz.
Expected<std::vector<NpzMember>> readNpz(const std::string &path);

} // namespace tenon::cli
