//===- ScratchPlan.h - what the scratch memory of items holds --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/tile/core/WorkItems.h"

namespace tenon::passes {

/// Buffers of an item, one after the other, each on cache lines of its own.
/// `Scratch` has a Value for each that may be needed.
template <typename Scratch> class ScratchPlan {
public:
  /// Adds `elements` of `type`, which `place` is to be.
  void add(mlir::Value Scratch::*place, Index elements, mlir::Type type) {
    buffers.push_back({place, elements, type});
  }
  Index bytes() const {
    Index bytes = 0;
    for (const Buffer &buffer : buffers)
      bytes += buffer.bytes();
    return bytes;
  }
  /// The buffers in the memory of an item; others are null.
  Scratch at(IndexMath &m, mlir::Value memory) const {
    Scratch scratch;
    Index at = 0;
    for (const Buffer &buffer : buffers) {
      scratch.*buffer.place =
          scratchView(m, memory, buffer.type, at, buffer.elements);
      at += buffer.bytes();
    }
    return scratch;
  }

private:
  struct Buffer {
    mlir::Value Scratch::*place;
    Index elements;
    mlir::Type type;

    Index bytes() const {
      int64_t size = type.getIntOrFloatBitWidth() / 8;
      return ceilDiv(elements * size, kLineBytes) * kLineBytes;
    }
  };
  llvm::SmallVector<Buffer> buffers;
};

} // namespace tenon::passes
