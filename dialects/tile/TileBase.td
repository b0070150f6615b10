//===- TileBase.td - the tile dialect ----------------------*- tablegen -*-===//
#ifndef TENON_DIALECTS_TILE_TILEBASE_TD
#define TENON_DIALECTS_TILE_TILEBASE_TD

include "mlir/IR/AttrTypeBase.td"
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
}

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, traits>;

def Tile_LevelsAttr : AttrDef<Tile_Dialect, "Levels"> {
  let mnemonic = "levels";
  let summary = "weights as levels, which products dequantise in registers";
  let description = [{
    Rows of bytes that stand for K rows of f32. K is cut in groups of `group`, or
    is one group if that is 0. A group is, in this order:

    * 4 rows, if `group` is not 0: for each column a scale in f32;
    * 1 row, if `zero_points`: for each column one, a byte signed like levels;
    * group * bits / 8 rows of levels. With 8 bits a row is one of K. With 4 it
      is two of them: that of the even k is in the low half of each byte.

    A weight is `(level - zero point) * scale`. Without scales they are behind
    the sum.
  }];
  let parameters = (ins "unsigned":$bits, "bool":$is_signed, "int64_t":$group,
                        "bool":$zero_points);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool hasScales() const { return getGroup() != 0; }
    /// Rows of K in a row of levels.
    int64_t perRow() const { return 8 / getBits(); }
    /// Elements of K in a group, of `k` in all.
    int64_t groupOf(int64_t k) const { return hasScales() ? getGroup() : k; }
    /// Rows of bytes before the levels of a group.
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
    /// Whether groups, and rows of levels, divide K.
    bool divides(int64_t k) const {
      return k > 0 && k % groupOf(k) == 0 && groupOf(k) % perRow() == 0;
    }
  }];
}

#endif // TENON_DIALECTS_TILE_TILEBASE_TD
