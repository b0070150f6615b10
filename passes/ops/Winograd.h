//===- Winograd.h - which convolutions use Winograd ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/ops/Packing.h"
#include "passes/ops/WinogradName.h"
#include "passes/support/Mode.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace tenon::passes {

/// Work of a convolution, in multiply-adds at the rate of a large product.
struct WinogradCost {
  double direct = 0;
  double products = 0;   // of the points of all tiles
  double transforms = 0; // of src and dst
  double weights = 0;    // reading a matrix for each point instead of 9

  double winograd() const { return products + transforms + weights; }
};
/// Of tiles of `outputs` x `outputs` (2 or 4) elements of dst. Shapes of
/// channels-last src and dst and of weights [3, 3, I, O]; an unknown batch
/// counts as one image.
WinogradCost winogradCost(mlir::RankedTensorType src,
                          mlir::RankedTensorType dst, const WindowAttrs &window,
                          int64_t outputs);

/// Whether weights have 3x3 taps of f32: others are not asked about.
bool isWinogradKernel(mlir::RankedTensorType weights);

struct WinogradOptions {
  Mode mode = Mode::byCost;
  /// Tiles whose errors are larger than those of the definition, too.
  bool fastMath = false;
};

/// Options of a pass over `module`; fails, with an error, where `mode` is none.
mlir::FailureOr<WinogradOptions>
winogradOptions(mlir::ModuleOp module, llvm::StringRef mode, bool fastMath);

struct WinogradChoice {
  /// Of a tile, per dim; 0: the convolution is computed as it is written.
  int64_t outputs = 0;
  /// Why; empty where there was nothing to choose from.
  std::string reason;
};
/// How the convolution of `src` and `weights` (isWinogradKernel) is computed.
/// `always` takes the largest tiles there are.
WinogradChoice chooseWinograd(mlir::Value src, mlir::Value weights,
                              mlir::RankedTensorType dst,
                              const WindowAttrs &window,
                              const WinogradOptions &options);

/// tile.winograd of `src` and the transformed, packed `weights`.
mlir::Value buildWinograd(const Packing &packing, mlir::OpBuilder &b,
                          mlir::Location loc, mlir::RankedTensorType dst,
                          mlir::Value src, mlir::Value weights,
                          const WindowAttrs &window, int64_t outputs);

} // namespace tenon::passes
