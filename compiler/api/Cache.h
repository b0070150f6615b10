//===- Cache.h - compiled code for equal requests --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/driver/Artefact.h"
#include "compiler/driver/Options.h"

#include <memory>

namespace tenon::api {

/// Compiled code and what it was linked from. Immutable.
struct Code {
  std::unique_ptr<Compiled> compiled;
  Artefact artefact;
};
using CodePtr = std::shared_ptr<const Code>;

/// Links an artefact.
Expected<CodePtr> loadCode(Artefact artefact);

/// From memory, from the folder, or compiled. Equal requests at the same time
/// are compiled once.
Expected<CodePtr> compileCached(const graph::PreparedGraph &graph,
                                const Options &options);

} // namespace tenon::api
