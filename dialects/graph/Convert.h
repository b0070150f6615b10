//===- Convert.h - plain graphs and MLIR modules --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A graph becomes a module with one function, `main`:
//
//   module attributes {graph.version = "3.14.0", graph.engine_kind = "cpu",
//                      graph.fpmath_mode = "strict"} {
//     func.func @main(%x: tensor<8x16xf32> {graph.id = 0 : ui64})
//         -> (tensor<8x16xf32> {graph.id = 1 : ui64}) {
//       %0 = graph.ReLU %x {graph.id = 3 : ui64,
//                           graph.result_ids = array<i64: 1>}
//           : (tensor<8x16xf32>) -> tensor<8x16xf32> loc("relu")
//       return %0 : tensor<8x16xf32>
//     }
//   }
//
// Arguments are the input ports, results the output ports, in order.  What
// MLIR has no place for is in the attributes of PlainOp.h; the name of an
// operation is its location.  The way there and back changes nothing but:
// attributes that were left out are filled in with their defaults, and strides
// that say "dense row-major" go.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/infer/Prepare.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tenon::graph {

/// `graph` as a module.  Loads the dialects it needs into `context`, which no
/// other thread may change meanwhile.
mlir::OwningOpRef<mlir::ModuleOp> toMLIR(const PreparedGraph &graph,
                                         mlir::MLIRContext &context);

/// The graph of `main`.  Modules written by hand or changed by passes may lack
/// ids and names, or repeat ids: fresh ids are given out, and names like
/// "MatMul_7".  Errors: no such function, several blocks, types or operations
/// that a graph does not have, and all that verifyOp finds.
Expected<Graph> fromMLIR(mlir::ModuleOp module);

} // namespace tenon::graph
