//===- TileTensorOps.td - contractions before buffers ------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What the layout phase makes of MatMul, the convolutions and their gradients:
// weights in panels, a product that reads them.  Operands are tensors; the tile
// phase turns these into loops around tile.brgemm.
//
//===----------------------------------------------------------------------===//
#ifndef TENON_DIALECTS_TILE_TILETENSOROPS_TD
#define TENON_DIALECTS_TILE_TILETENSOROPS_TD

include "dialects/tile/TileBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_PackOp : Tile_Op<"pack", [Pure]> {
  let summary = "weights in panels of `panel` columns";
  let description = [{
    Without `groups`: `[B.., K, N]` to `[B.., P, K, panel]`, with
    P = ceil(N / panel). With `groups = G`: convolution weights
    `[taps.., I, O]` (I per group, O over all groups) to
    `[G, P, taps.., I, panel]` with P = ceil(O / G / panel). Columns beyond the
    last are zero.

    With `interleave = v` > 1 neighbouring v of K (or I) lie together, as
    instructions read them that add v products at once: `[.., ceil(K / v),
    panel, v]` instead of `[.., K, panel]`. Elements beyond K are zero.

    With `flipped`, which needs groups, taps are in the opposite order, as
    `tile.flip` says.
  }];
  let arguments = (ins AnyRankedTensor:$weights, I64Attr:$panel,
                       OptionalAttr<I64Attr>:$groups,
                       DefaultValuedAttr<I64Attr, "1">:$interleave,
                       UnitAttr:$flipped);
  let results = (outs AnyRankedTensor:$packed);
  let assemblyFormat = [{
    $weights `panel` $panel (`groups` $groups^)?
    (`interleave` $interleave^)? (`flipped` $flipped^)? attr-dict
    `:` type($weights) `->` type($packed)
  }];
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$weights, "int64_t":$panel,
                                 "std::optional<int64_t>":$groups,
                                 CArg<"int64_t", "1">:$interleave)>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    static ::mlir::RankedTensorType packedType(
        ::mlir::RankedTensorType weights, int64_t panel,
        std::optional<int64_t> groups, int64_t interleave);
  }];
}

def Tile_FlipOp : Tile_Op<"flip", [
    Pure, AllTypesMatch<["weights", "flipped"]>]> {
  let summary = "convolution weights with their taps in the opposite order";
  let description = [{
    `weights` `[taps.., I, O]`: tap (i, j, ..) of n x m x .. becomes tap
    (n - 1 - i, m - 1 - j, ..). A transposed convolution with stride 1 is a
    convolution with these.
  }];
  let arguments = (ins AnyRankedTensor:$weights);
  let results = (outs AnyRankedTensor:$flipped);
  let assemblyFormat = "$weights attr-dict `:` type($weights)";
  let hasVerifier = 1;
}

def Tile_SliceOp : Tile_Op<"slice", [Pure]> {
  let summary = "a box of a tensor";
  let description = [{
    The elements of `src` from index `offsets` on, each `steps`-th one, as many as
    `dst` has; without `steps` all of them. A step may be negative. `dst` may lack
    the first dims of `src`, of which it has one element then.

    Of a dim of `src` whose size is not known, it is the elements from `offsets` up
    to, and without, `ends`, both as Slice has them: they may be negative or out of
    range. Without `ends` it is taken whole: the offset is 0, the step 1. Where
    `dst` has a known size there, the code fails if there are not that many.

    `sizes` has a text for each dim of `src`. Where it is an expression
    (tile.reshape), `dst` has as many elements of this dim, from the offset on; or,
    if that is INT64_MIN, the last ones before the end. The code fails if `src` does
    not have them.

    With steps above 0 it is a view of the memory of `src`: it has no code and no
    group. Otherwise it is a copy.

    ```mlir
    %w = tile.slice %all at [1, 0, 0] : tensor<2x8x4xf32> -> tensor<8x4xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$src, DenseI64ArrayAttr:$offsets,
                       OptionalAttr<DenseI64ArrayAttr>:$steps,
                       OptionalAttr<DenseI64ArrayAttr>:$ends,
                       OptionalAttr<StrArrayAttr>:$sizes);
  let results = (outs AnyRankedTensor:$dst);
  let assemblyFormat = [{
    $src `at` $offsets (`by` $steps^)? (`to` $ends^)? (`sizes` $sizes^)? attr-dict
    `:` type($src) `->` type($dst)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$dst, "::mlir::Value":$src,
                                 "::llvm::ArrayRef<int64_t>":$offsets,
                                 "::mlir::DenseI64ArrayAttr":$steps), [{
    build($_builder, $_state, dst, src, $_builder.getDenseI64ArrayAttr(offsets),
          steps, ::mlir::DenseI64ArrayAttr(), ::mlir::ArrayAttr());
  }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The step along dim `i` of src.
    int64_t getStep(int64_t i) { return getSteps() ? (*getSteps())[i] : 1; }
    /// The expression of the number of elements along dim `i` of src, or "".
    ::llvm::StringRef getSize(int64_t i);
    /// Whether no step is negative.
    bool isView();
  }];
}

def Tile_ExpandOp : Tile_Op<"expand", [Pure]> {
  let summary = "a tensor that is repeated along dims of size 1";
  let description = [{
    Dims of `src` and `dst` are paired from the right, as numpy does; along a dim
    of size 1, or that `src` does not have, its elements are repeated. A dim of
    `dst` that is not known is one of `src`, or what `sizes` says (tile.reshape).
    It is a view of the memory of `src`: it has no code and no group.

    ```mlir
    %b = tile.expand %a : tensor<3x1xf32> -> tensor<2x3x5xf32>
    %c = tile.expand %a sizes ["batch", "", ""] : tensor<3x1xf32> -> tensor<?x3x5xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$src, OptionalAttr<StrArrayAttr>:$sizes);
  let results = (outs AnyRankedTensor:$dst);
  let assemblyFormat = [{
    $src (`sizes` $sizes^)? attr-dict `:` type($src) `->` type($dst)
  }];
  let hasVerifier = 1;
}

def Tile_ReshapeOp : Tile_Op<"reshape", [Pure]> {
  let summary = "a tensor in a shape whose sizes are computed from named ones";
  let description = [{
    As StaticReshape, for shapes of which several sizes are not known. `sizes` has
    an expression (dialects/graph/SizeExpr.h) for each dim that is not known;
    names are those of the sizes of arguments of the entry (`graph.sizes`). The
    number of elements stays the same. It is a view.

    ```mlir
    %b = tile.reshape %a sizes ["batch", "seq", ""] : tensor<?x64xf32> -> tensor<?x?x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$src, StrArrayAttr:$sizes);
  let results = (outs AnyRankedTensor:$dst);
  let assemblyFormat = [{
    $src `sizes` $sizes attr-dict `:` type($src) `->` type($dst)
  }];
  let hasVerifier = 1;
}

def Tile_PackQuantizedOp : Tile_Op<"pack_quantized", [Pure, AttrSizedOperandSegments]> {
  let summary = "quantised weights in panels of `panel` columns";
  let description = [{
    `weights` `[K, N]`, bytes that hold quantized weights of 4 or 8 bits, to
    `[P, rows, panel]` of bytes as `quantized` describes them, P = ceil(N / panel).
    `scales` `[K / group, N]` f32 if quantized weights have them, `zero_points` likewise, or
    `[1, N]`, of the type of the weights. What is beyond N is zero.

    ```mlir
    %p = tile.pack_quantized %w scales %s panel 16
      quantized weights <bits = 4, is_signed = true, group = 32, zero_points = false>
      : tensor<64x24xsi8>, tensor<2x24xf32> -> tensor<2x40x16xui8>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$weights,
                       Optional<AnyRankedTensor>:$scales,
                       Optional<AnyRankedTensor>:$zero_points, I64Attr:$panel,
                       Tile_QuantizedWeightsAttr:$quantized);
  let results = (outs AnyRankedTensor:$packed);
  let assemblyFormat = [{
    $weights (`scales` $scales^)? (`zero_points` $zero_points^)?
    `panel` $panel `quantized` $quantized attr-dict
    `:` type(operands) `->` type($packed)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$weights,
                                 "::mlir::Value":$scales,
                                 "::mlir::Value":$zeroPoints, "int64_t":$panel,
                                 "QuantizedWeightsAttr":$quantized)>];
  let hasVerifier = 1;
}

def Tile_ToInt8SlicesOp : Tile_Op<"to_int8_slices", [Pure]> {
  let summary = "floats as signed bytes that share an exponent";
  let description = [{
    `src` `[.., K]` to `[.., bytes]`. For each group of K, as `quantized` has them:

    * 4 bytes: in f32 a power of two, `s`;
    * 4 bytes for each slice: in i32 its sum over the group times -1 or, without
      zero points, times `quantized.bias()`, negative;
    * for each of `slices` the group's bytes, signed, the most significant first.

    With three, x is about `s * (d0 * 2^16 + d1 * 2^8 + d2)`; the difference is
    at most 2^-23 times the greatest of the group's magnitudes, or 2^-123; with
    two, `s * (d0 * 2^8 + d1)`, 2^-15 and 2^-115. With
    an infinite element in the group `s` is infinite, with NaN it is NaN.

    ```mlir
    %d = tile.to_int8_slices %x quantized <bits = 4, is_signed = true, group = 32,
      zero_points = false, int8 slices = 3> : tensor<6x64xf32> -> tensor<6x224xui8>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$src, Tile_QuantizedWeightsAttr:$quantized);
  let results = (outs AnyRankedTensor:$slices);
  let assemblyFormat = [{
    $src `quantized` $quantized attr-dict `:` type($src) `->` type($slices)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$src, "QuantizedWeightsAttr":$quantized)>];
  let hasVerifier = 1;
}

def Tile_MatMulOp : Tile_Op<"matmul", [Pure]> {
  let summary = "dst[.., m, n] = sum over k of src[.., m, k] * weights[.., k, n]";
  let description = [{
    `src` `[B.., M, K]`, `weights` `[B'.., P, K, panel]` as tile.pack makes it,
    or interleaved; `dst` `[B''.., M, N]`; leading dims broadcast as in numpy.
    `in_place`: `weights` are `[B'.., K, N]`, not packed, floats of 32 bits, K
    known. `quantized`: they are what tile.pack_quantized makes, src is of
    floats or, with int8 slices, what tile.to_int8_slices makes.

    Floats are summed in f32, whatever the type of `dst`. Integers (u8 or s8
    times s8) are summed in 32 bits, and `dst` is the sum as f32 or si32.
  }];
  let arguments = (ins AnyRankedTensor:$src, AnyRankedTensor:$weights,
                       DefaultValuedAttr<I64Attr, "1">:$interleave,
                       UnitAttr:$in_place,
                       OptionalAttr<Tile_QuantizedWeightsAttr>:$quantized);
  let results = (outs AnyRankedTensor:$dst);
  let assemblyFormat = [{
    $src `,` $weights (`interleave` $interleave^)? (`in_place` $in_place^)?
    (`quantized` $quantized^)? attr-dict
    `:` type($src) `,` type($weights) `->` type($dst)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$dst, "::mlir::Value":$src,
                                 "::mlir::Value":$weights, "int64_t":$interleave,
                                 CArg<"bool", "false">:$inPlace), [{
    build($_builder, $_state, dst, src, weights,
          $_builder.getI64IntegerAttr(interleave),
          inPlace ? $_builder.getUnitAttr() : ::mlir::UnitAttr(), QuantizedWeightsAttr());
  }]>];
  let extraClassDeclaration = [{
    /// K of a product of quantized weights.
    int64_t quantizedK();
  }];
  let hasVerifier = 1;
}

/// Operations whose window slides over channels-last tensors: position o of the
/// small tensor meets, through tap k, position o * stride + k * dilation - pad
/// of the big one.
class Tile_WindowOp<string mnemonic> : Tile_Op<mnemonic, [Pure]> {
  let hasVerifier = 1;
}

def Tile_ConvOp : Tile_WindowOp<"conv"> {
  let summary = "convolution over channels-last tensors, padding never computed";
  let description = [{
    `src` `[N, spatial.., C]`, `dst` `[N, spatial.., O]`. `weights` are
    `[G, P, taps.., I, panel]` as tile.pack makes them or, when `depthwise`,
    `[taps.., I, C]` as they were: channels are lanes, of src as many as of dst,
    and each meets the I of its group, of which there are C / I. Taps that fall
    into the padding are left out by loop bounds. Types and `interleave` as in
    tile.matmul.

    `joined` taps of the last dimension, all there are, are part of I where
    channels are few and lie beside those of the next position in memory:
    weights are `[G, P, taps.., 1, joined * C, panel]`.

    With `auto_pad`, `SAME_UPPER` or `SAME_LOWER`, the padding of each dimension
    follows from its size when the code runs, and `pads_begin` and `pads_end`
    are zeros.
  }];
  let arguments = (ins AnyRankedTensor:$src, AnyRankedTensor:$weights,
                       DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$pads_begin,
                       DenseI64ArrayAttr:$pads_end,
                       DenseI64ArrayAttr:$dilations, I64Attr:$groups,
                       UnitAttr:$depthwise,
                       DefaultValuedAttr<I64Attr, "1">:$interleave,
                       DefaultValuedAttr<I64Attr, "1">:$joined,
                       OptionalAttr<StrAttr>:$auto_pad);
  let results = (outs AnyRankedTensor:$dst);
  let assemblyFormat = [{
    $src `,` $weights attr-dict
    `:` type($src) `,` type($weights) `->` type($dst)
  }];
  let extraClassDeclaration = [{
    /// Taps of spatial dimension `i`; may be dynamic.
    int64_t getTaps(int64_t i);
    /// Whether it is `depthwise` and each channel meets several of src.
    bool hasGroupsAsLanes();
  }];
}

def Tile_ConvTransposeOp : Tile_WindowOp<"conv_transpose"> {
  let summary = "the gradient of tile.conv with respect to its src";
  let description = [{
    `src` `[N, spatial.., C]` is the small tensor, `dst` `[N, spatial.., O]` the
    big one. `weights` are `[G, P, taps.., I, panel]` as tile.pack makes them,
    with I channels of src and O / G channels of dst per group, or, when
    `depthwise`, `[taps.., 1, C]`. What lies after the last position of src
    (output_padding) is in the sizes of dst. A position of dst that no tap
    reaches is 0. Sizes of dst that are not known follow from those of src and
    `pads_end`, the padding at the end less output_padding.

    ```mlir
    %0 = tile.conv_transpose %x, %p {dilations = array<i64: 1>, groups = 1 : i64,
      pads_begin = array<i64: 1>, strides = array<i64: 2>}
      : tensor<1x6x16xf32>, tensor<1x1x3x16x8xf32> -> tensor<1x12x5xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$src, AnyRankedTensor:$weights,
                       DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$pads_begin,
                       DenseI64ArrayAttr:$dilations, I64Attr:$groups,
                       UnitAttr:$depthwise,
                       OptionalAttr<DenseI64ArrayAttr>:$pads_end);
  let results = (outs AnyRankedTensor:$dst);
  let assemblyFormat = [{
    $src `,` $weights attr-dict
    `:` type($src) `,` type($weights) `->` type($dst)
  }];
}

def Tile_ConvWeightsOp : Tile_WindowOp<"conv_weights"> {
  let summary = "the gradient of tile.conv with respect to its weights";
  let description = [{
    `src` `[N, spatial.., C]`, `dst` `[taps.., C / G, O]`. `diff` is the
    gradient of the convolution's dst: `[N, spatial.., O]` or, when `packed`,
    `[G, P, N, spatial.., panel]` as tile.pack makes it of that. `depthwise`:
    C, O and G are equal, diff is not packed. With `parts` dst has one dim
    more, the first: gradients of as many equal parts of the images, whose sum
    is that of all.
  }];
  let arguments = (ins AnyRankedTensor:$src, AnyRankedTensor:$diff,
                       DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$pads_begin,
                       DenseI64ArrayAttr:$dilations, I64Attr:$groups,
                       UnitAttr:$depthwise, UnitAttr:$packed,
                       OptionalAttr<I64Attr>:$parts);
  let results = (outs AnyRankedTensor:$dst);
  let assemblyFormat = [{
    $src `,` $diff attr-dict
    `:` type($src) `,` type($diff) `->` type($dst)
  }];
}

def Tile_WinogradOp : Tile_Op<"winograd", [Pure]> {
  let summary = "tile.conv of 3x3 taps by Winograd";
  let description = [{
    `src` `[N, H, W, C]`, `dst` `[N, H', W', O]`, all f32, with stride and
    dilation 1 and one group: H' = H + pads - 2. `src` may be bytes, u8 or s8,
    whose values are widened as they are read. `weights` are
    `[1, P, E, E, C, panel]`, E = `outputs` + 2: what tile.pack makes of
    tile.winograd_weights.

    A tile is `outputs` x `outputs` neighbours of dst, computed from E x E of
    src. With 2 of them, F(2x2, 3x3), it takes 16 multiplications per pair of
    channels where the definition takes 36; with 4, F(4x4, 3x3), 36 where that
    takes 144, but with larger errors:

    ```
    dst tile = A^T [sum over c of weights[.., c, ..] * (B^T src tile B)] A
    ```

    ```mlir
    %0 = tile.winograd %x, %p outputs 2 {pads_begin = array<i64: 1, 1>,
      pads_end = array<i64: 1, 1>}
      : tensor<?x14x14x64xf32>, tensor<1x3x4x4x64x24xf32> -> tensor<?x14x14x72xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$src, AnyRankedTensor:$weights,
                       I64Attr:$outputs, DenseI64ArrayAttr:$pads_begin,
                       DenseI64ArrayAttr:$pads_end);
  let results = (outs AnyRankedTensor:$dst);
  let assemblyFormat = [{
    $src `,` $weights `outputs` $outputs attr-dict
    `:` type($src) `,` type($weights) `->` type($dst)
  }];
  let hasVerifier = 1;
}

def Tile_WinogradWeightsOp : Tile_Op<"winograd_weights", [Pure]> {
  let summary = "weights of 3x3 taps as tile.winograd multiplies them, G w G^T";
  let description = [{
    `[3, 3, I, O]` to `[E, E, I, O]`, E = `outputs` + 2, computed in f64 and
    rounded once. For 2 outputs G has the rows (1, 0, 0), (1/2, 1/2, 1/2),
    (1/2, -1/2, 1/2), (0, 0, 1).
  }];
  let arguments = (ins AnyRankedTensor:$weights, I64Attr:$outputs);
  let results = (outs AnyRankedTensor:$transformed);
  let assemblyFormat = [{
    $weights `outputs` $outputs attr-dict
    `:` type($weights) `->` type($transformed)
  }];
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$weights,
                                 "int64_t":$outputs)>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    static ::mlir::RankedTensorType transformedType(
        ::mlir::RankedTensorType weights, int64_t outputs);
  }];
}

def Tile_AttentionOp : Tile_Op<"attention", [Pure, IsolatedFromAbove]> {
  let summary = "softmax(score(q . k)) . v, the scores never in memory";
  let description = [{
    ```
    s[.., m, n]   = score(sum over d of q[.., m, d] * k[.., d, n], m, n, epilogue operands)
    p[.., m, n]   = weights(softmax(s)[.., m, n], element, epilogue operands)
    dst[.., m, e] = sum over n of p[.., m, n] * v[.., n, e]
    ```

    The softmax runs along n. With `from_left` the second product sums along m,
    where each term has another divisor:

    ```
    dst[.., e, n] = sum over m of v[.., e, m] * p[.., m, n]
    ```

    `k` is `[B.., D, N]` or, when `packed`,
    `[B.., P, D, panel]` as tile.pack makes it; leading dimensions broadcast as
    in numpy. Epilogue operands are broadcast to `[B.., M, N]`. q, k, v and dst are f32,
    bf16 or f16; scores, their sums and `stats` are f32. With `interleave` > 1 both k
    and v are packed and interleaved, and `keys` is N if that is known. It is not
    where `?` stands for it in k and v; `from_left` and `normalized` need it.

    `score` is one block of elementwise operations without effects on
    `(product, m, n, side0, side1, ...)`, ended by `tile.yield`: scale, mask,
    soft-capping. Since m and n are arguments, a causal mask needs no tensor.

    `weights`, which may be absent, is a block of the same kind on `(weight,
    element, side0, side1, ...)`: dropout. `element` is the number of the weight
    in a dense `[B.., M, N]`, an i64. The sums of the softmax are those of the
    weights before. It must be linear in the weight: what divides a row may be
    applied after it. With `normalized` it need not be, and rows are divided
    first: weights that are rounded to bytes. Not with `from_left`.

    With `inf_as_zero` a row of -inf gives zeros, not NaN. `stats` is
    `[B.., M, 1]`: max + log(sum(exp(s - max))) of each row.

    ```mlir
    %o = tile.attention %q, %k, %v epilogue_operands(%scale) score {
    ^bb0(%x: f32, %m: index, %n: index, %s: f32):
      %0 = arith.divf %x, %s : f32
      tile.yield %0 : f32
    } : tensor<2x33x64xf32>, tensor<2x64x97xf32>, tensor<2x97x64xf32>
        epilogue_operands(tensor<f32>) -> tensor<2x33x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$q, AnyRankedTensor:$k,
                       AnyRankedTensor:$v, Variadic<AnyRankedTensor>:$epilogueOperands,
                       UnitAttr:$packed, UnitAttr:$inf_as_zero,
                       UnitAttr:$from_left, UnitAttr:$normalized,
                       DefaultValuedAttr<I64Attr, "1">:$interleave,
                       OptionalAttr<I64Attr>:$keys);
  let results = (outs AnyRankedTensor:$dst, Optional<AnyRankedTensor>:$stats);
  let regions = (region SizedRegion<1>:$score, MaxSizedRegion<1>:$weights);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`epilogue_operands` `(` $epilogueOperands^ `)`)? (`packed` $packed^)?
    (`inf_as_zero` $inf_as_zero^)? (`from_left` $from_left^)?
    (`normalized` $normalized^)? `score` $score
    (`weights` $weights^)? attr-dict
    `:` type($q) `,` type($k) `,` type($v) (`epilogue_operands` `(` type($epilogueOperands)^ `)`)?
    `->` type($dst) (`stats` type($stats)^)?
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The number of keys N, or ShapedType::kDynamic.
    int64_t getNumKeys();
    /// The shape of the scores, [B.., M, N].
    ::llvm::SmallVector<int64_t> getScoreShape();
    bool hasWeights() { return !getWeights().empty(); }
  }];
}

def Tile_AttentionBackwardOp : Tile_Op<"attention_backward", [
    Pure, IsolatedFromAbove, AllTypesMatch<["q", "dq"]>,
    AllTypesMatch<["k", "dk"]>, AllTypesMatch<["v", "dv"]>]> {
  let summary = "gradients of attention, the scores never in memory";
  let description = [{
    ```
    s[.., m, n]  = sum over d of q[.., m, d] * k[.., n, d]
    u[.., m, n]  = sum over e of diff[.., m, e] * v[.., n, e]
    w, t         = gradient(s, u, m, n, element, epilogue operands)
    dq[.., m, d] = sum over n of t[.., m, n] * k[.., n, d]
    dk[.., n, d] = sum over m of t[.., m, n] * q[.., m, d]
    dv[.., n, e] = sum over m of w[.., m, n] * diff[.., m, e]
    ```

    `diff` is the gradient of the result of the attention, u that of its weights, w
    the weights that met the values, and t the gradient of the first product. q is
    `[B.., M, D]`, k `[B.., N, D]`, v `[B.., N, E]` and diff `[B.., M, E]`. Leading
    dims of k and v may be 1 where those of q are not (heads that share keys and
    values): dk and dv are then sums over them. Epilogue operands, among them the
    statistics of the softmax and the sums of diff times dst, are broadcast to
    `[B.., M, N]`. All tensors but these have one type, f32, bf16 or f16; sums, w and
    t are f32.

    `gradient` is one block of elementwise operations without effects on
    `(s, u, m, n, element, side0, side1, ...)`, ended by `tile.yield` of w and t.
    `element` is the number of the weight in a dense `[B.., M, N]`, an i64.

    ```mlir
    %dq, %dk, %dv = tile.attention_backward %q, %k, %v, %diff
        epilogue_operands(%stats, %sums) gradient {
    ^bb0(%s: f32, %u: f32, %m: index, %n: index, %i: i64, %a: f32, %b: f32):
      %0 = arith.subf %s, %a : f32
      %1 = math.exp %0 : f32
      %2 = arith.subf %u, %b : f32
      %3 = arith.mulf %1, %2 : f32
      tile.yield %1, %3 : f32, f32
    } : tensor<2x33x64xf32>, tensor<2x97x64xf32>, tensor<2x97x64xf32>,
        tensor<2x33x64xf32>
        epilogue_operands(tensor<2x33x1xf32>, tensor<2x33x1xf32>)
    ```
  }];
  let arguments = (ins AnyRankedTensor:$q, AnyRankedTensor:$k,
                       AnyRankedTensor:$v, AnyRankedTensor:$diff,
                       Variadic<AnyRankedTensor>:$epilogueOperands);
  let results = (outs AnyRankedTensor:$dq, AnyRankedTensor:$dk,
                      AnyRankedTensor:$dv);
  let regions = (region SizedRegion<1>:$gradient);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $diff
    (`epilogue_operands` `(` $epilogueOperands^ `)`)? `gradient` $gradient attr-dict
    `:` type($q) `,` type($k) `,` type($v) `,` type($diff)
    (`epilogue_operands` `(` type($epilogueOperands)^ `)`)?
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The shape of the scores, [B.., M, N].
    ::llvm::SmallVector<int64_t> getScoreShape();
  }];
}

#endif // TENON_DIALECTS_TILE_TILETENSOROPS_TD
