//===- Passes.td - passes of the microkernels --------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_CODEGEN_MICROKERNEL_PASSES_TD
#define TENON_CODEGEN_MICROKERNEL_PASSES_TD

include "mlir/Pass/PassBase.td"

def ChooseRegisterTiles
    : Pass<"tenon-choose-register-tiles", "::mlir::ModuleOp"> {
  let summary = "Write the register tile into each tile.brgemm";
  let description = [{
    The choice is made once, for the target of the module: `matrix_unit` if the
    target has one and the product fills its tiles, else `register_tile`. An
    attribute that is there already stays. The lowering reads the attribute and
    refuses what the target cannot do.
  }];
  let dependentDialects = ["::tenon::tile::TileDialect"];
  let statistics = [
    Statistic<"numChosen", "num-chosen", "number of tile.brgemm">,
    Statistic<"numMatrixUnit", "num-matrix-unit",
              "number of those for the matrix unit">];
}

def LowerBrgemm : Pass<"tenon-lower-brgemm", "::mlir::ModuleOp"> {
  let summary = "Expand tile.brgemm to calls of shared microkernels";
  let description = [{
    Each `tile.brgemm` becomes loops over blocks of rows and strips of columns
    that call private kernel functions. A kernel keeps its block of C in vector
    registers through the whole sum and the epilogue. Kernels differ in what
    changes their code (block size, masks, epilogue, ..), never in a shape, so
    uses of like structure share them. Blocks differ by at most one row in
    height; where a size is dynamic a dispatch function picks the kernel.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
    "::tenon::tile::TileDialect"];
  let options = [
    Option<"unrollK", "unroll-k", "int64_t", "0",
           "Steps of k per iteration of a kernel's inner loop; 0 chooses.">];
  let statistics = [
    Statistic<"numLowered", "num-lowered", "number of tile.brgemm lowered">,
    Statistic<"numKernels", "num-kernels", "number of kernels generated">,
    Statistic<"numDispatchers", "num-dispatchers",
              "number of dispatch functions generated">];
}

#endif // TENON_CODEGEN_MICROKERNEL_PASSES_TD
