// SPDX-License-Identifier: Apache-2.0
#include "passes/support/Mode.h"

#include "llvm/ADT/StringSwitch.h"

namespace tenon::passes {

std::optional<Mode> parseMode(llvm::StringRef text) {
  return llvm::StringSwitch<std::optional<Mode>>(text)
      .Case("auto", Mode::byCost)
      .Case("always", Mode::always)
      .Case("never", Mode::never)
      .Default(std::nullopt);
}

} // namespace tenon::passes
