//===- ModelText.h - what a model of ONNX has, as text ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/import/ModelSummary.h"
#include "dialects/graph/Graph.h"

#include <nlohmann/json.hpp>

namespace tenon::cli {

/// Prints ports, parameters and operators.
void printSummary(const ModelSummary &summary);

/// The same, for `--report`.
nlohmann::ordered_json summaryJson(const ModelSummary &summary);

/// One line for all operations of `graph` that do not compile for the same
/// reason, as far as kinds and element types tell.
std::vector<std::string> uncompiledLines(const graph::Graph &graph);

} // namespace tenon::cli
