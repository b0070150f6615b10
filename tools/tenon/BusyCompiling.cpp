//===- BusyCompiling.cpp - signs of life of the compiler ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Phases.h"
#include "tools/tenon/Progress.h"

#include <filesystem>

namespace tenon::cli {

BusyCompiling::BusyCompiling(const std::string &what)
    : busy("compiling " + std::filesystem::path(what).filename().string()) {
  setPhaseListener([this](std::string_view phase) {
    busy.now("phase " + std::string(phase));
  });
}

BusyCompiling::~BusyCompiling() { setPhaseListener({}); }

} // namespace tenon::cli
