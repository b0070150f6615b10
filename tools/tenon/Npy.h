//===- Npy.h - tensors in .npy files ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Versions 1 to 3 are read, in C and Fortran order, little endian; version 1 is
// written, in C order.
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

/// An array as a file holds it.
struct NpyArray {
  std::string type; // as the format calls it: "<f4"
  graph::Dims shape;
  bool isFortran = false; // the first dim is the innermost one
  std::string_view bytes; // all behind the header, unchecked
};

/// Reads the header of a file that `bytes` is. Errors: BadTensorData.
Expected<NpyArray> parseNpyArray(std::string_view bytes,
                                 const std::string &name);

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

/// A file as it is. Errors: CannotRead, TooLarge.
Expected<std::string> readNpyBytes(const std::string &path);
/// Errors: CannotRead, TooLarge, BadTensorData.
Expected<reference::Tensor> readNpy(const std::string &path,
                                    std::string *type = nullptr);
/// Errors: CannotWrite.
Expected<bool> writeNpy(const std::string &path,
                        const reference::Tensor &tensor);

} // namespace tenon::cli
