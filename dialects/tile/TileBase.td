//===- TileBase.td - the tile dialect ----------------------*- tablegen -*-===//
#ifndef TENON_DIALECTS_TILE_TILEBASE_TD
#define TENON_DIALECTS_TILE_TILEBASE_TD

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
  let useDefaultAttributePrinterParser = 0;
}

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, traits>;

#endif // TENON_DIALECTS_TILE_TILEBASE_TD
