//===- ReportSupport.h - what info about a module are made of ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Private to the driver.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"

#include "mlir/IR/BuiltinOps.h"

#include <set>
#include <unordered_map>

namespace tenon {

/// The operations of a graph that locations name.
class OpNames {
public:
  explicit OpNames(const graph::Graph &graph);
  /// In order, each once.
  std::vector<size_t> at(mlir::Location loc) const;

private:
  void add(mlir::Location loc, std::set<size_t> &ops) const;
  void addJoined(llvm::StringRef text, std::set<size_t> &ops) const;

  std::unordered_map<std::string, std::vector<size_t>> byName;
};

/// Sums over types, which notices sizes that are not known.
struct SizeCounter {
  bool sized = true;

  double elements(mlir::Type type);
  double bytes(mlir::Type type);
  double product(llvm::ArrayRef<int64_t> sizes);
};

/// "64x512xf32".
std::string typeText(mlir::Type type);
/// "64x13xf32, 13x512xf32 -> 64x512xf32".
std::string typesText(mlir::TypeRange read, mlir::TypeRange written);

/// The buffer that a chain of views shows.
mlir::Value bufferOf(mlir::Value v);

} // namespace tenon
