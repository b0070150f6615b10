//===- TileOps.td - operations of the tile dialect ---------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_DIALECTS_TILE_TILEOPS_TD
#define TENON_DIALECTS_TILE_TILEOPS_TD

include "dialects/tile/TileBase.td"
include "dialects/tile/TileRecurrentOps.td"
include "dialects/tile/TileTensorOps.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_BrgemmOp : Tile_Op<"brgemm", [
    AttrSizedOperandSegments,
    IsolatedFromAbove,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "batch-reduce matrix product with an epilogue";
  let description = [{
    ```
    C[m,n] = epilogue((accumulate ? C[m,n] : 0)
                      + sum over b1..bj, k of A[b1..bj,m,k] * B[b1..bj,k,n])
    ```

    * `a`: `[b1..bj, M, K]`, j >= 0, any strides; views may overlap (a
      convolution's taps) and the stride of k may be dynamic.
    * `b`: `[b1..bj, K, NB]`, unit stride along its last dimension. When `packed`
      (the default), NB is static and a whole row of NB elements may be read,
      also beyond the columns of C: a panel padded to a multiple of the vector
      width. Otherwise no column beyond those of C is read. Interleaved, with one
      more dimension: `[b1..bj, ceil(K / v), NB, v]`, packed, v = 2 or 4
      neighbours of K together, dense in its last two dimensions, zero beyond K.
    * Types: `a` and `b` are f32, bf16 or f16, summed in f32, or i8, summed in
      i32. Bytes of b are signed, those of a too unless `unsigned_a`.
    * `quantized`: b is i8, `[rows, NB]`, packed and one piece: quantised weights as
      the attribute describes them, j = 0, a is of floats and K known.
    * `c`: `[M, n]`, unit stride along n, n <= NB. Not a byte beyond its columns
      is written or read. It must not overlap A or B.
    * `epilogue_operands`: tensors of the epilogue, one map each in `epilogue_maps`:
      `(d0, d1) -> ()`, `(d1)` along a row, `(d0)` one per row, or `(d0, d1)`.
      Rank = results of the map. Those with d1 have unit stride along it. A
      `(d0, d1)` side may be C itself.
    * `epilogue`: empty, or one block of elementwise operations without effects
      on scalars `(acc, side0, side1, ...)`, ended by `tile.yield` of a value as C
      has them; acc is a sum. Empty: C holds sums; accumulate: it does, too. It is
      isolated, so that equal epilogues share one kernel: constants live inside,
      run-time scalars are epilogueOperands with the map `()`.

    Sums of floats are cut along b1, .., bj, k into blocks of at most 256
    products. A block is one chain of additions from zero, the sums of up to 32
    blocks are another, and so on, a tree; what is in C is added last.
    The cut depends on the sizes alone, not on the schedule. A matrix unit sums K
    in one chain. Where K or a batch count is 0 the sum is 0. `max_terms` bounds
    the number of products of an element where sizes are dynamic: with few, no
    memory for sums of blocks is needed.
    `prefetch_next` says that what follows B in memory is the panel needed next:
    it is brought to the cache meanwhile; with `next_panel`, what so many elements
    behind the beginning of B follows. A hint, ignored where B is not one piece;
    nothing breaks if nothing follows. It pays where few rows use a panel. Of B that
    is not packed each row brings the one as many rows after it as B has.
    `prefetch_rows` says that A comes from beyond the L2 cache: while a tile is made
    the rows after its own are prefetched. Another hint, ignored where the next
    panel is prefetched or rows do not follow each other in memory.
    `prefetch` is memory, one piece, that lies in no near cache and is read next:
    each iteration over k brings a line of it, or as many as its size wants where
    K is known. A hint for what is not the next panel, as rows that taps read;
    ignored where something else is prefetched, M is not known or a matrix unit
    multiplies.
    `prefetch_out` says that C and the epilogue operands with its shape lie in no near cache:
    their lines are prefetched while the sums are made. A hint, too.
    `nontemporal_out` says that no cache will hold C when it is read: whole vectors go
    past the caches where a tile begins with a line and its rows are whole lines.
    `register_tile [MR, NV]` (rows x vectors) is the block of C that a kernel
    keeps in registers, `matrix_unit` says that products are made in tiles of
    the target's matrix unit: tenon-choose-register-tiles writes one of them.

    ```mlir
    tile.brgemm ins(%a, %b : memref<?x768xf32>, memref<768x24xf32>)
        epilogue_operands(%bias : memref<24xf32>) maps [affine_map<(d0, d1) -> (d1)>]
        outs(%c : memref<?x24xf32, strided<[768, 1]>>) epilogue {
    ^bb0(%acc: f32, %x: f32):
      %0 = arith.addf %acc, %x : f32
      tile.yield %0 : f32
    }
    ```
  }];

  let arguments = (ins
    AnyStridedMemRef:$a,
    AnyStridedMemRef:$b,
    Variadic<AnyStridedMemRef>:$epilogueOperands,
    AnyStridedMemRef:$c,
    Optional<AnyStridedMemRef>:$prefetch,
    DefaultValuedAttr<AffineMapArrayAttr, "{}">:$epilogue_maps,
    UnitAttr:$accumulate,
    DefaultValuedAttr<BoolAttr, "true">:$packed,
    UnitAttr:$prefetch_next,
    OptionalAttr<I64Attr>:$next_panel,
    UnitAttr:$prefetch_rows,
    UnitAttr:$prefetch_out,
    UnitAttr:$nontemporal_out,
    UnitAttr:$unsigned_a,
    OptionalAttr<I64Attr>:$max_terms,
    OptionalAttr<Tile_QuantizedWeightsAttr>:$quantized,
    UnitAttr:$matrix_unit,
    OptionalAttr<DenseI64ArrayAttr>:$register_tile);
  let regions = (region AnyRegion:$epilogue);

  let builders = [
    // No epilogue operands, no epilogue.
    OpBuilder<(ins "::mlir::Value":$a, "::mlir::Value":$b, "::mlir::Value":$c,
                   CArg<"bool", "false">:$accumulate,
                   CArg<"bool", "true">:$packed)>,
    // `body` builds the epilogue from (acc, side0, ...) and returns the value
    // to store; the terminator is added here.
    OpBuilder<(ins "::mlir::Value":$a, "::mlir::Value":$b, "::mlir::Value":$c,
                   "::mlir::ValueRange":$epilogueOperands,
                   "::llvm::ArrayRef<::mlir::AffineMap>":$epilogueMaps,
                   "bool":$accumulate, "bool":$packed,
                   "::llvm::function_ref<::mlir::Value(::mlir::OpBuilder &, "
                   "::mlir::Location, ::mlir::ValueRange)>":$body)>];

  let assemblyFormat = [{
    `ins` `(` $a `,` $b `:` type($a) `,` type($b) `)`
    (`epilogue_operands` `(` $epilogueOperands^ `:` type($epilogueOperands) `)` `maps` $epilogue_maps)?
    `outs` `(` $c `:` type($c) `)`
    (`accumulate` $accumulate^)?
    (`prefetch_next` $prefetch_next^)?
    (`next_panel` $next_panel^)?
    (`prefetch_rows` $prefetch_rows^)?
    (`prefetch` `(` $prefetch^ `:` type($prefetch) `)`)?
    (`prefetch_out` $prefetch_out^)?
    (`nontemporal_out` $nontemporal_out^)?
    (`unsigned_a` $unsigned_a^)?
    (`max_terms` $max_terms^)?
    (`quantized` $quantized^)?
    (`matrix_unit` $matrix_unit^)?
    (`register_tile` $register_tile^)?
    attr-dict-with-keyword
    (`epilogue` $epilogue^)?
  }];

  let extraClassDeclaration = [{
    /// Number of batch dimensions j.
    int64_t getNumBatchDims();
    /// Neighbours of K that lie together in b: v, or 1.
    int64_t getInterleave();
    /// The type products are summed in, that of the epilogue's first argument.
    ::mlir::Type getAccumulatorType();
    ::mlir::MemRefType getAType();
    ::mlir::MemRefType getBType();
    ::mlir::MemRefType getCType();
    bool hasEpilogue() { return !getEpilogue().empty(); }
    ::mlir::AffineMap getEpilogueMap(unsigned i);
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Tile_YieldOp : Tile_Op<"yield", [
    Pure, Terminator,
    ParentOneOf<["BrgemmOp", "AttentionOp", "AttentionBackwardOp"]>]> {
  let summary = "the value to store, the score, the weight, or the gradients";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
  let extraClassDeclaration = [{
    /// The only value.
    ::mlir::Value getValue() {
      assert(getValues().size() == 1 && "of a region with one result");
      return getValues().front();
    }
  }];
}

#endif // TENON_DIALECTS_TILE_TILEOPS_TD
