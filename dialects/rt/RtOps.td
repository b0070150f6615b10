//===- RtOps.td - what generated code asks of the runtime -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Rationale.md.
//
//===----------------------------------------------------------------------===//
#ifndef TENON_RT_OPS
#define TENON_RT_OPS

include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ViewLikeInterface.td"

def Rt_Dialect : Dialect {
  let name = "rt";
  let cppNamespace = "::tenon::rt";
  let summary = "Sections of parallel work and the memory of a partition";
}

class Rt_Op<string mnemonic, list<Trait> traits = []>
    : Op<Rt_Dialect, mnemonic, traits>;

def Rt_ParallelOp : Rt_Op<"parallel", [
    SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects]> {
  let summary = "A section, written in place";
  let description = [{
    Runs its region for the items `0 .. items - 1`, cut into contiguous ranges
    `begin .. end - 1`. How many ranges there are, and on which threads, is
    the runtime's business; an item's result may not depend on it. `scratch`
    is the number of bytes that each range gets for itself, 64-byte aligned.

    ```mlir
    rt.parallel "fc1" items(%n) scratch(%bytes) {
    ^bb0(%begin: index, %end: index, %mem: memref<?xi8>):
      scf.for %i = %begin to %end step %c1 { ... }
    }
    ```
  }];
  let arguments = (ins StrAttr:$label, Index:$items, Index:$scratch);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $label `items` `(` $items `)` `scratch` `(` $scratch `)` $body attr-dict
  }];
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::StringRef":$label,
                                 "::mlir::Value":$items,
                                 "::mlir::Value":$scratch)>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Value getBegin() { return getBody().getArgument(0); }
    ::mlir::Value getEnd() { return getBody().getArgument(1); }
    ::mlir::Value getScratchMemory() { return getBody().getArgument(2); }
  }];
}

def Rt_YieldOp : Rt_Op<"yield", [Terminator, Pure, HasParent<"ParallelOp">]> {
  let summary = "End of a section's body";
  let assemblyFormat = "attr-dict";
}

def Rt_SectionOp : Rt_Op<"section", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A section, outlined to a function";
  let description = [{
    Runs `callee(args..., begin, end, scratch)` over ranges of `0 .. items - 1`.
    The callee is shared by all places that do the same work.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, StrAttr:$label, Index:$items,
                       Index:$scratch, Variadic<AnyType>:$args);
  let assemblyFormat = [{
    $callee $label `items` `(` $items `)` `scratch` `(` $scratch `)`
    `args` `(` ($args^ `:` type($args))? `)` attr-dict
  }];
}

def Rt_RequireOp : Rt_Op<"require"> {
  let summary = "The execution fails unless a condition holds";
  let description = [{
    Outside of sections. Where `holds` is false the executor gets the status
    TENON_RT_BAD_VALUE, and sections that follow do nothing: an operand has an
    element that is outside of its range.

    ```mlir
    rt.require %holds
    ```
  }];
  let arguments = (ins I1:$holds);
  let assemblyFormat = "$holds attr-dict";
}

def Rt_PartOp : Rt_Op<"part", [
    Pure, DeclareOpInterfaceMethods<ViewLikeOpInterface>]> {
  let summary = "The memory of a buffer from one of its elements on";
  let description = [{
    A buffer of known sizes whose first element is element `first` of `source`,
    counted in memory, or as many more as `more` says. Like every buffer of an
    entry it has offset 0.

    ```mlir
    %1 = rt.part %0[64] : memref<4x192xf32>
                       to memref<4x64xf32, strided<[192, 1]>>
    %2 = rt.part %a[0 + %n] : memref<?x4xf32> to memref<1xf32>
    ```
  }];
  let arguments = (ins AnyMemRef:$source, I64Attr:$first,
                       Optional<Index>:$more);
  let results = (outs AnyStaticShapeMemRef:$part);
  let assemblyFormat = [{
    $source `[` $first (`+` $more^)? `]` attr-dict `:` type($source) `to` type($part)
  }];
  let hasVerifier = 1;
}

#endif
