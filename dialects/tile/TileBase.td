//===- TileBase.td - the tile dialect ----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_DIALECTS_TILE_TILEBASE_TD
#define TENON_DIALECTS_TILE_TILEBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tenon::tile";
  let summary = "what happens inside one cache tile";
  let description = [{
    Operations on buffers that one thread works through without leaving its
    caches. Shapes may be dynamic; the schedule around them (which panel, which
    rows, which thread) is explicit loops. `Rationale.md` argues the choices.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, traits>;

def Tile_GroupKind : I32EnumAttr<"GroupKind", "how a group is lowered", [
    I32EnumAttrCase<"elementwise", 0>,
    I32EnumAttrCase<"reduction", 1>,
    I32EnumAttrCase<"contraction", 2>,
    // Several groups with a product or a window each, a band of rows at a time.
    I32EnumAttrCase<"chain", 3>,
    I32EnumAttrCase<"attention", 4>,
    I32EnumAttrCase<"window", 5>,
    I32EnumAttrCase<"concat", 6>,
    I32EnumAttrCase<"pack", 7>,
    I32EnumAttrCase<"recurrence", 8>,
    I32EnumAttrCase<"movement", 9>]> {
  let cppNamespace = "::tenon::tile";
  let genSpecializedAttr = 0;
}

def Tile_GroupKindAttr : EnumAttr<Tile_Dialect, Tile_GroupKind, "group"> {
  let summary = "the kind of a group";
  let description = [{
    `tile.group` on the function of a group: what decides how the tile phase
    lowers it. One of elementwise, rows, contraction, chain (several groups with
    a product or a window each, a band of rows at a time), attention, window,
    concat, pack, recurrence and movement (padding, gathers and scatters, and
    searches along a dim).
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Tile_ArgRole : I32EnumAttr<"ArgRole", "what an argument of an entry is", [
    I32EnumAttrCase<"input", 0>,
    I32EnumAttrCase<"output", 1>,
    I32EnumAttrCase<"folded", 2>,
    I32EnumAttrCase<"arena", 3>]> {
  let cppNamespace = "::tenon::tile";
  let genSpecializedAttr = 0;
}

def Tile_ArgRoleAttr : EnumAttr<Tile_Dialect, Tile_ArgRole, "role"> {
  let summary = "the role of an argument of an entry";
  let description = [{
    `tile.role` on arguments of entries from the tile phase on: a tensor of the
    caller (input, output), a result of @fold (folded), or the memory of
    temporaries (arena).
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Tile_QuantizedWeightsAttr : AttrDef<Tile_Dialect, "QuantizedWeights"> {
  let mnemonic = "quantized";
  let summary = "quantized weights, which products dequantise in registers";
  let description = [{
    Rows of bytes that stand for K rows of f32. K is cut in groups of `group`, or
    is one group if that is 0. A group is, in this order:

    * 4 rows, if `group` is not 0: for each column a scale in f32;
    * 1 row, if `zero_points`: for each column one, a byte signed like quantized;
    * group * bits / 8 rows of quantized weights. With 8 bits a row is one of K. With 4 it
      is two of them: that of the even k is in the low half of each byte.

    A weight is `(level - zero point) * scale`. Without scales they are after
    the sum.

    With `slices` they meet a src that tile.to_int8_slices has made, in products of
    bytes. Quantized weights, and zero points, are without sign then: those of signed ones
    are `2^(bits - 1)` more. Four rows of quantized weights are one of four times as many
    bytes: for each column four neighbours of K, of 4 bits in the low halves,
    and the next four in the high ones.
  }];
  let parameters = (ins "unsigned":$bits, "bool":$is_signed, "int64_t":$group,
                        "bool":$zero_points,
                        DefaultValuedParameter<"int64_t", "0">:$slices);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool hasScales() const { return getGroup() != 0; }
    /// Rows of K in a row of quantized weights.
    int64_t perRow() const { return 8 / getBits(); }
    /// Elements of K in a group, of `k` in all.
    int64_t groupOf(int64_t k) const { return hasScales() ? getGroup() : k; }
    /// Rows of bytes before the quantized weights of a group.
    int64_t rowsOfHead() const {
      return (hasScales() ? sizeof(float) : 0) + getZeroPoints();
    }
    /// Rows of bytes of a group, of `k` elements of K in all.
    int64_t rowsOfGroup(int64_t k) const {
      return rowsOfHead() + groupOf(k) / perRow();
    }
    /// Rows of bytes for `k` elements of K.
    int64_t rows(int64_t k) const {
      return k == 0 ? 0 : k / groupOf(k) * rowsOfGroup(k);
    }
    /// Neighbours of K that lie together.
    int64_t together() const { return getSlices() ? 4 : 1; }
    /// Whether groups, and rows of quantized weights, divide K.
    bool divides(int64_t k) const {
      return k > 0 && k % groupOf(k) == 0 &&
             groupOf(k) % (perRow() * together()) == 0;
    }
    /// What is added to signed quantized weights that are stored without sign.
    int64_t bias() const {
      return getSlices() && getIsSigned() ? int64_t(1) << (getBits() - 1) : 0;
    }
    /// Words of 4 bytes before the int8 slices of a group: a scale, and a sum each.
    int64_t wordsOfSliceHead() const { return 1 + getSlices(); }
    /// Words of `k` elements of src as int8 slices.
    int64_t wordsOfSlices(int64_t k) const {
      return k / getGroup() *
             (wordsOfSliceHead() + getSlices() * getGroup() / together());
    }
    /// K of a row of src, which has `elements`, or words; 0: of none.
    int64_t kOf(int64_t elements) const {
      if (!getSlices())
        return elements;
      int64_t words = wordsOfSlices(getGroup());
      return elements % words ? 0 : elements / words * getGroup();
    }
  }];
}

def Tile_TargetAttr : AttrDef<Tile_Dialect, "Target"> {
  let mnemonic = "target";
  let summary = "what code is generated for, as passes see it";
  let description = [{
    `tile.target` on the module: passes ask it (tile::targetOf) and never the
    machine they run on. A parameter that is not written has its default, and a
    module without the attribute is for a target with all the defaults: vectors
    of 256 bits and no instruction for products of narrow types.

    * `vector_bits`: width of a vector register: 512, 256, 128 for any machine
      (no fused multiply-add is assumed then), or 32 for scalar code.
    * `num_vector_registers`: how many there are, at least 4.
    * `bf16_dot_width`, `int8_dot_width`: products of bf16, and of bytes, that one
      instruction adds up in vectors of this width; 1: there is none.
    * `bf16_dot_is_slow`: f32 is faster where each element is used often.
    * `matrix_unit`: products of interleaved bf16 and bytes are made in tiles
      (AMX).
    * `avx2`, `avx512` (F and VL), `avx512_bf16`: instructions that code of
      transcendental functions and roundings may use.
    * `l2_bytes`: size of the second cache of a core.
    * `few_rows`, `few_rows_ahead`: products of up to so many rows prefetch this
      number of bytes of b ahead; with more rows, but of one block, 64 steps of
      k.
    * `least_rows`: products of f32 of fewer rows prefetch nothing ahead.
  }];
  let parameters = (ins
    DefaultValuedParameter<"int64_t", "256">:$vector_bits,
    DefaultValuedParameter<"int64_t", "16">:$num_vector_registers,
    DefaultValuedParameter<"int64_t", "1">:$bf16_dot_width,
    DefaultValuedParameter<"bool", "false">:$bf16_dot_is_slow,
    DefaultValuedParameter<"int64_t", "1">:$int8_dot_width,
    DefaultValuedParameter<"bool", "false">:$matrix_unit,
    DefaultValuedParameter<"bool", "false">:$avx2,
    DefaultValuedParameter<"bool", "false">:$avx512,
    DefaultValuedParameter<"bool", "false">:$avx512_bf16,
    DefaultValuedParameter<"int64_t", "524288">:$l2_bytes,
    DefaultValuedParameter<"int64_t", "5">:$few_rows,
    DefaultValuedParameter<"int64_t", "1024">:$few_rows_ahead,
    DefaultValuedParameter<"int64_t", "1">:$least_rows);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether products that read `interleave` neighbours of K together are
    /// made in tiles of the matrix unit, if their shapes fit it.
    bool multipliesInTiles(int64_t interleave) const {
      return getMatrixUnit() && interleave > 1;
    }
  }];
}

#endif // TENON_DIALECTS_TILE_TILEBASE_TD
