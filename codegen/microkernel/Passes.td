//===- Passes.td - passes of the microkernels --------------*- tablegen -*-===//
#ifndef TENON_CODEGEN_MICROKERNEL_PASSES_TD
#define TENON_CODEGEN_MICROKERNEL_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerBrgemm : Pass<"tenon-lower-brgemm", "::mlir::ModuleOp"> {
  let summary = "expand tile.brgemm to calls of shared microkernels";
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
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
  let options = [
    Option<"vectorBits", "vector-bits", "int64_t", "256",
           "Width of a vector register: 512, 256, 128 for any machine (no fused "
           "multiply-add is assumed then), or 32 for scalar code.">,
    Option<"numVectorRegisters", "num-vector-registers", "int64_t", "16",
           "Vector registers of the machine: 32 with AVX-512, else 16.">,
    Option<"matrixUnit", "matrix-unit", "bool", "false",
           "Products of interleaved bf16 and bytes in AMX tiles.">,
    Option<"unrollK", "unroll-k", "int64_t", "0",
           "Steps of k per iteration of a kernel's inner loop; 0 chooses.">,
    Option<"fewRows", "few-rows", "int64_t", "5",
           "Up to so many rows a product fetches few-rows-ahead; with more, but "
           "of one block, 64 steps of k ahead.">,
    Option<"fewRowsAhead", "few-rows-ahead", "int64_t", "1024",
           "In bytes of b.">,
    Option<"leastRows", "least-rows", "int64_t", "1",
           "Fewer rows of f32 fetch nothing ahead.">];
  let statistics = [
    Statistic<"numLowered", "num-lowered", "number of tile.brgemm lowered">,
    Statistic<"numKernels", "num-kernels", "number of kernels generated">,
    Statistic<"numDispatchers", "num-dispatchers",
              "number of dispatch functions generated">];
}

#endif // TENON_CODEGEN_MICROKERNEL_PASSES_TD
