//===- WinogradTile.h - sizes of the tiles of F(m x m, 3x3) ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tenon::passes::winograd {

inline constexpr int64_t kTaps = 3; // of weights, per dim

/// Sizes of a tile, per dim.
struct Tile {
  int64_t outputs; // of dst that it writes: 2 or 4

  /// Positions of src that it reads, and points that are multiplied.
  int64_t edge() const { return outputs + kTaps - 1; }
  int64_t points() const { return edge() * edge(); }
  /// Points that `count` of the outputs need: the last is for the last output.
  int64_t pointsFor(int64_t count) const {
    return count < outputs ? edge() - 1 : edge();
  }
};

} // namespace tenon::passes::winograd
