//===- Winograd.h - which convolutions use minimal filtering ---*- C++ -*-===//
#pragma once

#include "passes/layout/Packing.h"

#include <optional>
#include <string>

namespace tenon {

enum class WinogradMode {
  byCost,
  always, // where it is possible
  never
};
/// Of "auto", "always" or "never".
std::optional<WinogradMode> parseWinogradMode(llvm::StringRef text);

/// Work of a convolution, in multiply-adds at the rate of a large product.
struct WinogradCost {
  double direct = 0;
  double products = 0;   // of the 16 points of all tiles
  double transforms = 0; // of src and dst
  double weights = 0;    // reading 16 instead of 9 matrices

  double winograd() const { return products + transforms + weights; }
};
/// Shapes of channels-last src and dst and of weights [3, 3, I, O]; an unknown
/// batch counts as one image.
WinogradCost winogradCost(mlir::RankedTensorType src,
                          mlir::RankedTensorType dst,
                          const WindowAttrs &window);

/// Whether weights have 3x3 taps of f32: others are not asked about.
bool isWinogradKernel(mlir::RankedTensorType weights);

/// Why the convolution of `src` and `weights` (isWinogradKernel) is computed as
/// it is written; empty: it is not.
std::string whyNotWinograd(mlir::RankedTensorType src, mlir::Value weights,
                           mlir::RankedTensorType dst,
                           const WindowAttrs &window, WinogradMode mode);

/// tile.winograd of `src` and the transformed, packed `weights`.
mlir::Value buildWinograd(const Packing &packing, mlir::OpBuilder &b,
                          mlir::Location loc, mlir::RankedTensorType dst,
                          mlir::Value src, mlir::Value weights,
                          const WindowAttrs &window);

} // namespace tenon
