//===- UniqueNames.h - names that nobody else has --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "llvm/ADT/StringMap.h"

#include <string>

namespace tenon::passes {

/// Names of one module. Each takes constant time, also if all want the same.
class UniqueNames {
public:
  void add(llvm::StringRef name) { next.try_emplace(name, 1); }

  /// `base`, or `base_1`, `base_2` ..., the first that is not taken; takes it.
  std::string unused(llvm::StringRef base) {
    auto [entry, isNew] = next.try_emplace(base, 1);
    if (isNew)
      return base.str();
    // Insertion below moves entries, not what they are of.
    int &number = entry->second;
    for (;;) {
      std::string name = (base + "_" + llvm::Twine(number++)).str();
      if (next.try_emplace(name, 1).second)
        return name;
    }
  }

private:
  /// The number to try next for each name that is taken.
  llvm::StringMap<int> next;
};

} // namespace tenon::passes
