//===- Passes.td - code generation passes ------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Alphabetical order.
//
//===----------------------------------------------------------------------===//
#ifndef TENON_CODEGEN_PASSES_TD
#define TENON_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandMath : Pass<"tenon-expand-math"> {
  let summary = "Replace transcendental functions by arithmetic";
  let description = [{
    Rewrites `math.exp`, `exp2`, `expm1`, `log`, `log1p`, `tanh`, `powf` and
    `rsqrt` on f32 and vectors of f32 to polynomials over `arith` and
    `math.fma`, and `arith.extf`/`arith.truncf` between bf16 and f32 to integer
    arithmetic.  Scalars and vectors give the same bits; exp and log1p
    differ with AVX2, which looks their coefficients up in registers.  Error
    bounds are stated beside each function and tested in ExpandMath_test.

    Fast-math flags of an operation promise something about it:

    * `math.exp fastmath<afn>`: results below 2^-126 may be 0; `ninf`: the operand
      is at most 88; `contract`: the operand is a product that was not rounded;
    * `math.log1p fastmath<ninf>`: the operand is from 0 to 1, or NaN;
    * `arith.truncf fastmath<afn>`: the operand is 0 or a normal number.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect",
                           "::tenon::tile::TileDialect"];
  let statistics = [
    Statistic<"numExpanded", "num-expanded", "operations replaced">
  ];
}

def MoveAsIntegers : Pass<"tenon-move-as-integers"> {
  let summary = "Loads, stores and shuffles of 16-bit floats move integers";
  let description = [{
    Some targets have no registers for bf16 or f16. There LLVM takes vectors of
    them apart and passes each element through f32, by calls of a compiler's
    runtime library, which nothing links. So loads, stores and shuffles of these
    types become those of 16-bit integers.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def VectorizeGeneric : Pass<"tenon-vectorize-generic", "::mlir::ModuleOp"> {
  let summary = "Turn linalg operations on memrefs into loops over vectors";
  let description = [{
    Rewrites every linalg operation with buffer semantics, whose indexing maps
    are linear, to `scf.for` loops over 1-D vectors of native width.  Trip
    counts, strides and offsets may be dynamic.  Nothing outside the operands is
    read or written.  Operations with a body that has no vector form become
    scalar loops; operations with non-linear maps are left alone.  Transposing
    copies share one function per element type.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect",
                           "::tenon::tile::TileDialect"];
  let options = [
    Option<"remarks", "remarks", "bool", /*default=*/"false",
           "Emit a remark for every operation that gets no vector code">
  ];
  let statistics = [
    Statistic<"numVectorized", "num-vectorized", "operations vectorised">,
    Statistic<"numTransposed", "num-transposed",
              "operations done by register transposes">,
    Statistic<"numNontemporal", "num-nontemporal",
              "operations with non-temporal stores">,
    Statistic<"numScalar", "num-scalar", "operations lowered to scalar loops">,
    Statistic<"numDeclined", "num-declined", "operations left alone">
  ];
}

#endif
