//===- Load.h - models of ONNX from files ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/import/Model.h"
#include "compiler/import/ModelSummary.h"
#include "compiler/import/onnx/Importer.h"

#include <string>

namespace tenon::onnx {

/// Reads the model at `path`, which stays mapped, as do files with elements of
/// its weights: those are searched in the folder of the model. Weights of types
/// that Tenon has are views of these files where they lie at a multiple of the
/// size of an element, others are copied.
///
/// Errors: CannotRead, BadTensorData for elements beyond the end of a file or
/// in one outside of the folder, and those of parseModel and importModel; they
/// name the file. `summary`, unless null, is filled as soon as the file is a
/// model, also where that is not converted.
Expected<Model> loadModel(const std::string &path,
                          const ImportOptions &options = {},
                          ModelSummary *summary = nullptr);

} // namespace tenon::onnx
