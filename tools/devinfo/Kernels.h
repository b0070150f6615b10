//===-- Kernels.h - loops that reach a machine's limits --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_TOOLS_DEVINFO_KERNELS_H
#define TENON_TOOLS_DEVINFO_KERNELS_H

#include <cstdint>

namespace tenon::devinfo {

/// The widest vectors a kernel may use; the CPU must have them.
enum class Width { Plain, Ymm, Zmm };

/// Runs `steps` steps of independent f32 multiply-adds and returns how many
/// floating-point operations that was; 0 for Width::Plain.
double runFma(Width width, int64_t steps);

/// These go once over `bytes` bytes, a multiple of 512, 64-byte aligned.
void readAll(Width width, const char *from, int64_t bytes);
void writeAll(Width width, char *to, int64_t bytes);
void copyAll(Width width, char *to, const char *from, int64_t bytes);

} // namespace tenon::devinfo

#endif // TENON_TOOLS_DEVINFO_KERNELS_H
