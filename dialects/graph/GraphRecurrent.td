//===- GraphRecurrent.td - recurrent cells over time steps ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Four cells, each with its gradient. They share operands, attributes and one
// description of shapes; a cell is the formula of a step.
//
//===----------------------------------------------------------------------===//
#ifndef TENON_GRAPH_RECURRENT_TD
#define TENON_GRAPH_RECURRENT_TD

include "dialects/graph/GraphBase.td"

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def Graph_Direction
    : Arg<DefaultValuedStrAttr<
              Graph_OneOf<["left2right", "right2left", "bidirectional_concat",
                           "bidirectional_sum"]>, "left2right">,
          "left2right begins with step 0, right2left with the last one. Both "
          "bidirectional ones have D = 2 stacks of layers, whose top results "
          "are concatenated along channels (left2right first) or added">;
def Graph_Stacking
    : Arg<DefaultValuedStrAttr<Graph_OneOf<["independent", "concatenated"]>,
                               "independent">,
          "what a layer reads of the layer below when there are two "
          "directions: independent, its own direction; concatenated, both side "
          "by side, left2right first, as PyTorch and ONNX do">;
def Graph_BatchFirst
    : Arg<DefaultValuedAttr<BoolAttr, "false">,
          "src_layer, dst_layer and attention, and their gradients, are N, T, "
          "channels (true) or T, N, channels (false)">;
def Graph_Activation
    : Arg<DefaultValuedStrAttr<Graph_OneOf<["tanh", "relu", "logistic"]>,
                               "tanh">,
          "the function of the cell">;
def Graph_ActivationAlpha
    : Arg<DefaultValuedAttr<F32Attr, "0">,
          "relu: slope for numbers below 0">;
def Graph_LinearBeforeReset
    : Arg<DefaultValuedAttr<BoolAttr, "false">,
          "the reset gate scales the product of the state (true) or the state "
          "(false)">;
def Graph_DataScale
    : Arg<DefaultValuedAttr<F32Attr, "1">,
          "u8: code = saturate(round(x * data_scale + data_shift)) of src_layer, "
          "states and dst_layer">;
def Graph_DataShift
    : Arg<DefaultValuedAttr<F32Attr, "0">, "see data_scale">;
def Graph_WeightsScales
    : Arg<OptionalAttr<DenseF32ArrayAttr>,
          "s8: code = round(w * scale) of weights_layer and weights_iter; one "
          "scale, or G * DHC of them, gate by gate; absent: 1">;
def Graph_ProjectionScales
    : Arg<OptionalAttr<DenseF32ArrayAttr>,
          "the same of weights_projection: one scale, or DIC of them">;
def Graph_DiffWeights
    : Arg<DefaultValuedStrAttr<Graph_OneOf<["overwrite", "accumulate"]>,
                               "overwrite">,
          "accumulate: gradients of weights, bias, peephole and projection are "
          "added to the operands that end in _before, which must then be given "
          "for each of these results, and may be the same memory">;

//===----------------------------------------------------------------------===//
// What all cells share
//===----------------------------------------------------------------------===//

class Graph_CellOp<string kind, int number, string cSuffix>
    : Graph_Op<kind, "recurrent", number, cSuffix,
               [Pure, AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let typeRule = "recurrent";
  let shapeRule = "recurrent";
  let compiles = ["f32", "s32"]; // lengths are s32
  let opClass = "recurrent";
  let transcendental = 1;
  list<Graph_Var> floatVars = [
      Graph_Var<"T", Floats>, Graph_Var<"W", Floats>, Graph_Var<"B", Floats>,
      Graph_Var<"I", Floats>, Graph_Var<"D", Floats>, Graph_Var<"E", Floats>,
      Graph_Var<"S", ["s32"]>, Graph_Var<"F", ["f32"]>];
  list<Graph_Var> floatAndInt8Vars = [
      Graph_Var<"T", ["f32", "bf16", "f16", "u8"]>,
      Graph_Var<"W", ["f32", "bf16", "f16", "s8"]>, Graph_Var<"B", Floats>,
      Graph_Var<"I", ["f32", "bf16", "f16", "u8"]>,
      Graph_Var<"D", ["f32", "bf16", "f16", "u8"]>,
      Graph_Var<"E", ["f32", "bf16", "f16", "u8"]>,
      Graph_Var<"S", ["s32"]>, Graph_Var<"F", ["f32"]>];
  list<string> sizeConstraints = [
      "D is 2 for bidirectional directions, else 1",
      "with L > 1 layers SLC equals DIC, times D if stacking is concatenated",
      "SIC equals DIC unless T is 1 and there are no sequence_lengths",
      "bias and states are f32 or of the type of src_layer"];
}

class Graph_CellBackwardOp<string forward, int number, string cSuffix>
    : Graph_CellOp<forward # "Backward", number, cSuffix> {
  let category = "backward";
  let backwardOf = forward;
  let shapeRule = "recurrent_backward";
  let typeVars = [Graph_Var<"T", Floats>, Graph_Var<"W", Floats>,
                  Graph_Var<"I", Floats>, Graph_Var<"S", ["s32"]>,
                  Graph_Var<"F", ["f32"]>];
  let constraints = sizeConstraints;
}

//===----------------------------------------------------------------------===//
// RNN
//===----------------------------------------------------------------------===//

def Graph_RNNOp : Graph_CellOp<"RNN", 130, "rnn"> {
  let summary = "h = activation(W x + U h' + b) over T steps";
  let description = [{
    In each layer, x is h of the layer below at this step (src_layer for the
    first one), and h' is h of the step before (src_iter, or zeros, at the first
    step). W is weights_layer and U weights_iter. dst_layer is h of the last
    layer at each step, dst_iter h of each layer after its last step.

    Sizes of all recurrent operations: T steps, a batch of N, L layers, D
    directions, G gates, Gb rows of bias, and SLC, SIC, DHC, DIC channels of
    src_layer, src_iter, a gate, and h. DIC is DHC but for LSTM with projection.
    DLC is DIC, twice that for bidirectional_concat.

    | tensor | shape |
    |---|---|
    | src_layer, dst_layer | T, N, SLC; T, N, DLC (batch_first: N, T, ...) |
    | weights_layer, weights_iter | L, D, SLC, G, DHC; L, D, SIC, G, DHC |
    | bias | L, D, Gb, DHC; zeros if absent |
    | src_iter, dst_iter | L, D, N, SIC; L, D, N, DIC |
    | sequence_lengths | N |
    | workspace | L, D, T, N, S * DHC + DIC |

    Here G, Gb and S are 1. The derivative of relu at 0 is alpha.

    With sequence_lengths only the first steps of each entry of the batch count:
    dst_layer is 0 at later ones (in int8 the code of 0), right2left begins with the last that counts,
    and dst_iter is the state after all that count. A length is from 0 to T.

    A training forward gives workspace, which the matching backward operation
    needs: S values per unit (the derivative of the activation), then h.
    Steps are stored in order of t. With no steps (T = 0) dst_iter is src_iter.
  }];
  let arguments = (ins Graph_Value<"T">:$src_layer,
      Graph_Value<"W">:$weights_layer, Graph_Value<"W">:$weights_iter,
      Optional<Graph_Value<"B">>:$bias, Optional<Graph_Value<"I">>:$src_iter,
      Optional<Graph_Value<"S", "length">>:$sequence_lengths,
      Graph_Activation:$activation, Graph_ActivationAlpha:$alpha,
      Graph_Direction:$direction, Graph_Stacking:$stacking,
      Graph_BatchFirst:$batch_first);
  let results = (outs Graph_Value<"D">:$dst_layer,
      Optional<Graph_Value<"E">>:$dst_iter,
      Optional<Graph_Value<"F">>:$workspace);
  let operandCounts = [3, 4, 5, 6];
  let resultCounts = [1, 2, 3];
  let typeVars = floatVars;
  let constraints = sizeConstraints;
}

def Graph_RNNBackwardOp
    : Graph_CellBackwardOp<"RNN", 131, "rnn_backward"> {
  let summary = "gradients of RNN";
  let description = [{
    With d the derivative of the activation from workspace, from the last step
    of the forward operation to its first one:

        dh = diff_dst_layer + what comes from the step after (diff_dst_iter)
        dG = dh * d;  dx = dG W^T;  dh' = dG U^T
        dW += x^T dG;  dU += h'^T dG;  db += dG, summed over the batch

    Each gradient has the shape of what it is the gradient of. Results that are
    left out are not computed. Gradients are f32.
  }];
  let arguments = (ins Graph_Value<"T">:$src_layer,
      Graph_Value<"W">:$weights_layer, Graph_Value<"W">:$weights_iter,
      Graph_Value<"F">:$workspace, Graph_Value<"F">:$diff_dst_layer,
      Optional<Graph_Value<"I">>:$src_iter,
      Optional<Graph_Value<"S", "length">>:$sequence_lengths,
      Optional<Graph_Value<"F">>:$diff_dst_iter,
      Optional<Graph_Value<"F">>:$diff_weights_layer_before,
      Optional<Graph_Value<"F">>:$diff_weights_iter_before,
      Optional<Graph_Value<"F">>:$diff_bias_before,
      Graph_Activation:$activation, Graph_ActivationAlpha:$alpha,
      Graph_Direction:$direction, Graph_Stacking:$stacking,
      Graph_BatchFirst:$batch_first, Graph_DiffWeights:$diff_weights);
  let results = (outs Optional<Graph_Value<"F">>:$diff_src_layer,
      Optional<Graph_Value<"F">>:$diff_weights_layer,
      Optional<Graph_Value<"F">>:$diff_weights_iter,
      Optional<Graph_Value<"F">>:$diff_bias,
      Optional<Graph_Value<"F">>:$diff_src_iter);
  let operandCounts = [5, 6, 7, 8, 9, 10, 11];
  let resultCounts = [1, 2, 3, 4, 5];
}

//===----------------------------------------------------------------------===//
// LSTM
//===----------------------------------------------------------------------===//

def Graph_LSTMOp : Graph_CellOp<"LSTM", 110, "lstm"> {
  let summary = "long short-term memory over T steps";
  let description = [{
    Sizes, layers and directions are those of RNN. With c' the cell state of the
    step before (src_iter_c, or zeros, at the first step):

        i  = sigmoid(W_i x + U_i h' + P_i * c' + b_i)
        f  = sigmoid(W_f x + U_f h' + P_f * c' + b_f)
        c~ = tanh(W_c x + U_c h' + b_c)
        c  = f * c' + i * c~
        o  = sigmoid(W_o x + U_o h' + P_o * c + b_o)
        h  = o * tanh(c), or (o * tanh(c)) R with projection

    The G = 4 gates are in the order i, f, c~, o. P is weights_peephole, L, D, 3,
    DHC in the order i, f, o. R is weights_projection, L, D, DHC, DIC. src_iter_c
    and dst_iter_c are L, D, N, DHC. The workspace has S = 5 values per unit: i,
    f, c~, o, c.

    In int8, src_layer, h and dst_layer are u8 codes and weights s8 codes. Sums
    are exact integers; bias, gates and cell state are f32; h is rounded to a
    code at each step, and before a projection too. An f32 dst_layer or dst_iter
    has the numbers that the codes stand for; an f32 src_iter is rounded to
    codes first; an absent one is the code of 0. bidirectional_sum adds codes:
    a u8 dst_layer is saturate(a + b), of shift 2 * data_shift, an f32 one what
    this stands for. There is no peephole and no workspace in int8.
  }];
  let arguments = (ins Graph_Value<"T">:$src_layer,
      Graph_Value<"W">:$weights_layer, Graph_Value<"W">:$weights_iter,
      Optional<Graph_Value<"B">>:$bias, Optional<Graph_Value<"I">>:$src_iter,
      Optional<Graph_Value<"C">>:$src_iter_c,
      Optional<Graph_Value<"P">>:$weights_peephole,
      Optional<Graph_Value<"W">>:$weights_projection,
      Optional<Graph_Value<"S", "length">>:$sequence_lengths,
      Graph_Direction:$direction, Graph_Stacking:$stacking,
      Graph_BatchFirst:$batch_first, Graph_DataScale:$data_scale,
      Graph_DataShift:$data_shift, Graph_WeightsScales:$weights_scales,
      Graph_ProjectionScales:$projection_scales);
  let results = (outs Graph_Value<"D">:$dst_layer,
      Optional<Graph_Value<"E">>:$dst_iter,
      Optional<Graph_Value<"C">>:$dst_iter_c,
      Optional<Graph_Value<"F">>:$workspace);
  let operandCounts = [3, 4, 5, 6, 7, 8, 9];
  let resultCounts = [1, 2, 3, 4];
  let typeVars = !listconcat(floatAndInt8Vars, [Graph_Var<"C", Floats>,
                                                Graph_Var<"P", Floats>]);
  let compiles = ["f32", "s32", "u8", "s8"];
  let constraints = sizeConstraints;
}

def Graph_LSTMBackwardOp
    : Graph_CellBackwardOp<"LSTM", 132, "lstm_backward"> {
  let summary = "gradients of LSTM";
  let description = [{
    From the last step of the forward operation to its first one, with gates and
    c from workspace, dh and dc from the step after:

        dh   = (diff_dst_layer + dh) R^T with projection, else without R
        dG_o = tanh(c) * dh * o (1 - o)
        dc   = dc + (1 - tanh(c)^2) * o * dh + P_o * dG_o
        dG_f = c' * dc * f (1 - f);  dG_i = c~ * dc * i (1 - i)
        dG_c = i * dc * (1 - c~^2)
        dc'  = f * dc + P_f * dG_f + P_i * dG_i;  dh' = dG U^T;  dx = dG W^T
        dP_i += dG_i * c';  dP_f += dG_f * c';  dP_o += dG_o * c
        dR  += (o * tanh(c))^T (diff_dst_layer + dh)

    What is said of RNNBackward holds here too.
  }];
  let arguments = (ins Graph_Value<"T">:$src_layer,
      Graph_Value<"W">:$weights_layer, Graph_Value<"W">:$weights_iter,
      Graph_Value<"F">:$workspace, Graph_Value<"F">:$diff_dst_layer,
      Optional<Graph_Value<"I">>:$src_iter,
      Optional<Graph_Value<"C">>:$src_iter_c,
      Optional<Graph_Value<"P">>:$weights_peephole,
      Optional<Graph_Value<"W">>:$weights_projection,
      Optional<Graph_Value<"S", "length">>:$sequence_lengths,
      Optional<Graph_Value<"F">>:$diff_dst_iter,
      Optional<Graph_Value<"F">>:$diff_dst_iter_c,
      Optional<Graph_Value<"F">>:$diff_weights_layer_before,
      Optional<Graph_Value<"F">>:$diff_weights_iter_before,
      Optional<Graph_Value<"F">>:$diff_bias_before,
      Optional<Graph_Value<"F">>:$diff_weights_peephole_before,
      Optional<Graph_Value<"F">>:$diff_weights_projection_before,
      Graph_Direction:$direction, Graph_Stacking:$stacking,
      Graph_BatchFirst:$batch_first, Graph_DiffWeights:$diff_weights);
  let results = (outs Optional<Graph_Value<"F">>:$diff_src_layer,
      Optional<Graph_Value<"F">>:$diff_weights_layer,
      Optional<Graph_Value<"F">>:$diff_weights_iter,
      Optional<Graph_Value<"F">>:$diff_bias,
      Optional<Graph_Value<"F">>:$diff_src_iter,
      Optional<Graph_Value<"F">>:$diff_src_iter_c,
      Optional<Graph_Value<"F">>:$diff_weights_peephole,
      Optional<Graph_Value<"F">>:$diff_weights_projection);
  let operandCounts = [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17];
  let resultCounts = [1, 2, 3, 4, 5, 6, 7, 8];
  let typeVars = [Graph_Var<"T", Floats>, Graph_Var<"W", Floats>,
                  Graph_Var<"I", Floats>, Graph_Var<"C", Floats>,
                  Graph_Var<"P", Floats>, Graph_Var<"S", ["s32"]>,
                  Graph_Var<"F", ["f32"]>];
}

//===----------------------------------------------------------------------===//
// GRU and AUGRU
//===----------------------------------------------------------------------===//

def Graph_GRUOp : Graph_CellOp<"GRU", 133, "gru"> {
  let summary = "gated recurrent unit over T steps";
  let description = [{
    Sizes, layers and directions are those of RNN; int8 is that of LSTM, without
    linear_before_reset, and r * h' is rounded to a code too.

        u = sigmoid(W_u x + U_u h' + b_u);  r = sigmoid(W_r x + U_r h' + b_r)
        o = tanh(W_o x + U_o (r * h') + b_o)
        h = u * h' + (1 - u) * o

    With linear_before_reset o = tanh(W_o x + b_o + r * (U_o h' + b_u')). The G = 3
    gates are in the order u, r, o. Gb is 3, or 4 with linear_before_reset: u, r,
    o, u'. u weights the old state; PyTorch stores gates in the order r, u, o.
    SIC equals DHC. The workspace has S = 3 values per unit: u, r, o; with
    linear_before_reset a 4th, U_o h' + b_u'.
  }];
  let arguments = (ins Graph_Value<"T">:$src_layer,
      Graph_Value<"W">:$weights_layer, Graph_Value<"W">:$weights_iter,
      Optional<Graph_Value<"B">>:$bias, Optional<Graph_Value<"I">>:$src_iter,
      Optional<Graph_Value<"S", "length">>:$sequence_lengths,
      Graph_LinearBeforeReset:$linear_before_reset,
      Graph_Direction:$direction, Graph_Stacking:$stacking,
      Graph_BatchFirst:$batch_first, Graph_DataScale:$data_scale,
      Graph_DataShift:$data_shift, Graph_WeightsScales:$weights_scales);
  let results = (outs Graph_Value<"D">:$dst_layer,
      Optional<Graph_Value<"E">>:$dst_iter,
      Optional<Graph_Value<"F">>:$workspace);
  let operandCounts = [3, 4, 5, 6];
  let resultCounts = [1, 2, 3];
  let typeVars = floatAndInt8Vars;
  let compiles = ["f32", "s32", "u8", "s8"];
  let constraints = !listconcat(sizeConstraints, ["SIC equals DHC"]);
}

def Graph_GRUBackwardOp
    : Graph_CellBackwardOp<"GRU", 134, "gru_backward"> {
  let summary = "gradients of GRU";
  let description = [{
    From the last step of the forward operation to its first one, with u, r and o
    from workspace and dh from the step after added to diff_dst_layer:

        dG_u = (h' - o) * dh * u (1 - u);  dG_o = (1 - u) * dh * (1 - o^2)
        e = dG_o U_o^T;  dG_r = h' * e * r (1 - r)
        dh' = u * dh + r * e + dG_u U_u^T + dG_r U_r^T;  dx = dG W^T
        dU_o += (r * h')^T dG_o;  others with h'

    With linear_before_reset, z = U_o h' + b_u' from workspace:

        dG_r = z * dG_o * r (1 - r);  dU_o += h'^T (r * dG_o)
        dh' = u * dh + dG_u U_u^T + dG_r U_r^T + (r * dG_o) U_o^T
        db_u' += r * dG_o

    What is said of RNNBackward holds here too.
  }];
  let arguments = (ins Graph_Value<"T">:$src_layer,
      Graph_Value<"W">:$weights_layer, Graph_Value<"W">:$weights_iter,
      Graph_Value<"F">:$workspace, Graph_Value<"F">:$diff_dst_layer,
      Optional<Graph_Value<"I">>:$src_iter,
      Optional<Graph_Value<"S", "length">>:$sequence_lengths,
      Optional<Graph_Value<"F">>:$diff_dst_iter,
      Optional<Graph_Value<"F">>:$diff_weights_layer_before,
      Optional<Graph_Value<"F">>:$diff_weights_iter_before,
      Optional<Graph_Value<"F">>:$diff_bias_before,
      Graph_LinearBeforeReset:$linear_before_reset,
      Graph_Direction:$direction, Graph_Stacking:$stacking,
      Graph_BatchFirst:$batch_first, Graph_DiffWeights:$diff_weights);
  let results = (outs Optional<Graph_Value<"F">>:$diff_src_layer,
      Optional<Graph_Value<"F">>:$diff_weights_layer,
      Optional<Graph_Value<"F">>:$diff_weights_iter,
      Optional<Graph_Value<"F">>:$diff_bias,
      Optional<Graph_Value<"F">>:$diff_src_iter);
  let operandCounts = [5, 6, 7, 8, 9, 10, 11];
  let resultCounts = [1, 2, 3, 4, 5];
  let constraints = !listconcat(sizeConstraints, ["SIC equals DHC"]);
}

def Graph_AUGRUOp : Graph_CellOp<"AUGRU", 135, "augru"> {
  let summary = "gated recurrent unit with attention over T steps";
  let description = [{
    GRU whose update gate u is (1 - a) * u where it weights h' and o; a is
    attention, T, N, 1, the same for all layers, directions and channels. The
    workspace holds u before this factor. There is no int8.
  }];
  let arguments = (ins Graph_Value<"T">:$src_layer,
      Graph_Value<"W">:$weights_layer, Graph_Value<"W">:$weights_iter,
      Graph_Value<"T">:$attention,
      Optional<Graph_Value<"B">>:$bias, Optional<Graph_Value<"I">>:$src_iter,
      Optional<Graph_Value<"S", "length">>:$sequence_lengths,
      Graph_LinearBeforeReset:$linear_before_reset,
      Graph_Direction:$direction, Graph_Stacking:$stacking,
      Graph_BatchFirst:$batch_first);
  let results = (outs Graph_Value<"D">:$dst_layer,
      Optional<Graph_Value<"E">>:$dst_iter,
      Optional<Graph_Value<"F">>:$workspace);
  let operandCounts = [4, 5, 6, 7];
  let resultCounts = [1, 2, 3];
  let typeVars = floatVars;
  let constraints = !listconcat(sizeConstraints, ["SIC equals DHC"]);
}

def Graph_AUGRUBackwardOp
    : Graph_CellBackwardOp<"AUGRU", 136, "augru_backward"> {
  let summary = "gradients of AUGRU";
  let description = [{
    Those of GRU with v = (1 - a) u in the place of u where it weights h' and o:

        dv = (h' - o) * dh;  dG_u = (1 - a) * dv * u (1 - u)
        dG_o = (1 - v) * dh * (1 - o^2);  dh' has v * dh in the place of u * dh
        da = -u * dv, summed over channels, layers and directions
  }];
  let arguments = (ins Graph_Value<"T">:$src_layer,
      Graph_Value<"W">:$weights_layer, Graph_Value<"W">:$weights_iter,
      Graph_Value<"T">:$attention,
      Graph_Value<"F">:$workspace, Graph_Value<"F">:$diff_dst_layer,
      Optional<Graph_Value<"I">>:$src_iter,
      Optional<Graph_Value<"S", "length">>:$sequence_lengths,
      Optional<Graph_Value<"F">>:$diff_dst_iter,
      Optional<Graph_Value<"F">>:$diff_weights_layer_before,
      Optional<Graph_Value<"F">>:$diff_weights_iter_before,
      Optional<Graph_Value<"F">>:$diff_bias_before,
      Graph_LinearBeforeReset:$linear_before_reset,
      Graph_Direction:$direction, Graph_Stacking:$stacking,
      Graph_BatchFirst:$batch_first, Graph_DiffWeights:$diff_weights);
  let results = (outs Optional<Graph_Value<"F">>:$diff_src_layer,
      Optional<Graph_Value<"F">>:$diff_weights_layer,
      Optional<Graph_Value<"F">>:$diff_weights_iter,
      Optional<Graph_Value<"F">>:$diff_bias,
      Optional<Graph_Value<"F">>:$diff_src_iter,
      Optional<Graph_Value<"F">>:$diff_attention);
  let operandCounts = [6, 7, 8, 9, 10, 11, 12];
  let resultCounts = [1, 2, 3, 4, 5, 6];
  let constraints = !listconcat(sizeConstraints, ["SIC equals DHC"]);
}

#endif // TENON_GRAPH_RECURRENT_TD
