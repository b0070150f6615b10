//===- TileRecurrentOps.td - recurrent cells before buffers ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_DIALECTS_TILE_TILERECURRENTOPS_TD
#define TENON_DIALECTS_TILE_TILERECURRENTOPS_TD

include "dialects/tile/TileBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_PackGatesOp : Tile_Op<"pack_gates", [Pure]> {
  let summary = "weights of one layer of recurrent cells in panels";
  let description = [{
    `weights` `[L, D, K, G, H]`, of which layer `layer` of direction 0 becomes
    `[P, K, panel]`, read by tile.matmul and tile.rnn. Columns are ordered by
    (block of `unit` hidden units, gate, unit), so that all gates of one block
    are neighbours: ceil(H / unit) * G * unit columns in all, P of them panels.
    Units beyond H are zero. `panel` divides G * `unit`, `unit` divides `panel`.
  }];
  let arguments = (ins AnyRankedTensor:$weights, I64Attr:$layer, I64Attr:$unit,
                       I64Attr:$panel);
  let results = (outs AnyRankedTensor:$packed);
  let assemblyFormat = [{
    $weights `layer` $layer `unit` $unit `panel` $panel attr-dict
    `:` type($weights) `->` type($packed)
  }];
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$weights, "int64_t":$layer,
                                 "int64_t":$unit, "int64_t":$panel)>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    static ::mlir::RankedTensorType packedType(
        ::mlir::RankedTensorType weights, int64_t unit, int64_t panel);
  }];
}

def Tile_RnnOp : Tile_Op<"rnn", [Pure, AttrSizedOperandSegments]> {
  let summary = "the time steps of one layer of LSTM cells";
  let description = [{
    `gates` `[T, N, B * 4 * unit]` hold, per step, what the gates get from the
    layer below, bias included, in the order of tile.pack_gates; `recurrent`
    `[P, K, panel]` are the weights of the state, packed by it. For step t, with
    h' and c' those of the step before, at step 0 layer `layer` of `src_iter`
    `[L, D, N, K]` and `src_iter_c` `[L, D, N, H]`, or zeros:

    ```
    i, f, g, o = sigmoid, sigmoid, tanh, sigmoid of gates[t] + h' x recurrent
    c = f * c' + i * g;  h = dst[t] = o * tanh(c)
    ```

    `dst` is `[T, N, H]`; `h` and `c`, `[1, 1, N, H]`, are the last ones.
  }];
  let arguments = (ins AnyRankedTensor:$gates, AnyRankedTensor:$recurrent,
                       Optional<AnyRankedTensor>:$src_iter,
                       Optional<AnyRankedTensor>:$src_iter_c,
                       I64Attr:$layer, I64Attr:$unit);
  let results = (outs AnyRankedTensor:$dst, AnyRankedTensor:$h,
                      AnyRankedTensor:$c);
  let assemblyFormat = [{
    $gates `,` $recurrent (`h` `(` $src_iter^ `:` type($src_iter) `)`)?
    (`c` `(` $src_iter_c^ `:` type($src_iter_c) `)`)?
    `layer` $layer `unit` $unit attr-dict
    `:` type($gates) `,` type($recurrent)
    `->` type($dst) `,` type($h) `,` type($c)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Gates of an LSTM cell.
    static constexpr int64_t kGates = 4;
  }];
}

#endif // TENON_DIALECTS_TILE_TILERECURRENTOPS_TD
