//===- Npy.h - tensors in .npy files ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Versions 1 to 3 are read, version 1 is written; C order, little endian.
// Types without a name in the format are written as the next wider one that
// holds all their values: bf16 and the 8-bit floats as '<f4', s4 and u4 as
// one byte each.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/reference/Tensor.h"

#include <string>
#include <string_view>

namespace tenon::cli {

/// Reads the content of a file; `name` is for messages.  The dtype is that of
/// the file ('<f8' reads as f32, unrounded); `type`, unless null, receives the
/// name that the format has for it.  Errors: BadTensorData.  Any bytes are
/// fine; memory is bounded by the size of `bytes`.
Expected<reference::Tensor> parseNpy(std::string_view bytes,
                                     const std::string &name,
                                     std::string *type = nullptr);

/// The type of elements that files for tensors of `dtype` have: "<f4".
std::string npyTypeFor(graph::DType dtype);

/// The bytes of a file with `tensor`.
std::string formatNpy(const reference::Tensor &tensor);

/// Errors: CannotRead, TooLarge, BadTensorData.
Expected<reference::Tensor> readNpy(const std::string &path,
                                    std::string *type = nullptr);
/// Errors: CannotWrite.
Expected<bool> writeNpy(const std::string &path,
                        const reference::Tensor &tensor);

} // namespace tenon::cli
