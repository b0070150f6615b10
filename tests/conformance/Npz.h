//===- Npz.h - reading .npz archives ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Enough of zip and npy to read what numpy.savez and savez_compressed write:
// stored or deflated members below 4 GiB, little-endian, C order.  Own code
// because Debian 12 packages no C++ library for the format (no libcnpy).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/reference/Tensor.h"

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace tenon::conformance {

/// One array: `descr` is numpy's type string ("<f4", "|u1", ...), `bytes` the
/// elements in row-major order.
struct NpyArray {
  std::string descr;
  graph::Dims shape;
  std::vector<std::byte> bytes;
};

/// Whole file; error CannotRead.
Expected<std::string> readFile(const std::string &path);

/// Parses one .npy; error Syntax or TooLarge.
Expected<NpyArray> parseNpy(std::span<const std::byte> file);

/// Members of an archive by name without ".npy"; errors Syntax, TooLarge.
Expected<std::map<std::string, NpyArray>>
parseNpz(std::span<const std::byte> file);

/// The array as a tensor of `dtype`.  bf16 and f16 come as raw <u2, f8 as raw
/// |u1, all others as numbers, one per element.  Error BadTensorData.
Expected<reference::Tensor> toTensor(const NpyArray &array, graph::DType dtype);

} // namespace tenon::conformance
