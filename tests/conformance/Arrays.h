//===- Arrays.h - stored arrays as tensors ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/tenon/Npy.h"

namespace tenon::conformance {

/// The array as a tensor of `dtype`.  bf16 and f16 come as raw <u2, f8 as raw
/// |u1, all others as numbers, one per element.  Error BadTensorData.
Expected<reference::Tensor> toTensor(const cli::NpyArray &array,
                                     graph::DType dtype);

} // namespace tenon::conformance
