//===- Reproducer.h - what an internal error leaves behind -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Private to the driver.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/driver/Target.h"
#include "dialects/graph/infer/Prepare.h"

#include <string_view>
#include <vector>

namespace tenon {

/// When `errors` holds an internal one, writes the IR after phase `reached`
/// (empty: the first) to a new file in the folder that the options name, and
/// puts the command that repeats the failure into the error's hint.
void keepReproducer(const graph::PreparedGraph &graph, const Options &options,
                    const Target &target, std::string_view reached,
                    std::vector<Error> &errors);

} // namespace tenon
