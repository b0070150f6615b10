//===- Reproducer.h - what an internal error leaves behind -----*- C++ -*-===//
//
// Private to the driver.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/driver/Options.h"
#include "dialects/graph/Graph.h"

#include <string_view>
#include <vector>

namespace tenon {

/// When `errors` holds an internal one, writes the IR behind phase `reached`
/// (empty: the first) to a new file in the folder that the options name, and
/// puts the command that repeats the failure into the error's hint.
void keepReproducer(const graph::Graph &graph, const Options &options,
                    std::string_view reached, std::vector<Error> &errors);

} // namespace tenon
