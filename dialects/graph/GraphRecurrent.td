//===- GraphRecurrent.td - recurrent cells over time steps ---------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_GRAPH_RECURRENT_TD
#define TENON_GRAPH_RECURRENT_TD

include "dialects/graph/GraphBase.td"

def Graph_LstmDirection
    : Arg<DefaultValuedStrAttr<Graph_OneOf<["left2right"]>, "left2right">,
          "order of the time steps: left2right begins with step 0">;

def Graph_LSTMOp
    : Graph_Op<"LSTM", "recurrent", 110, "lstm",
               [Pure, AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let summary = "dst_layer[t] = h of the last layer after step t";
  let description = [{
    For each layer and each step, with x the h of the layer below at this step
    (src_layer for the first layer), h' and c' the states of the step before
    (src_iter and src_iter_c, or zeros, at step 0):

        i  = sigmoid(W_i x + U_i h' + b_i)
        f  = sigmoid(W_f x + U_f h' + b_f)
        c~ = tanh(W_c x + U_c h' + b_c)
        o  = sigmoid(W_o x + U_o h' + b_o)
        c  = f * c' + i * c~
        h  = o * tanh(c)

    W is weights_layer, U weights_iter; their last dims but one are the gates
    in the order i, f, c~, o. Shapes, with T steps, a batch of N, L layers, D
    directions (1), and SLC, SIC, DHC channels:

    | tensor | shape |
    |---|---|
    | src_layer | T, N, SLC |
    | weights_layer, weights_iter | L, D, SLC, 4, DHC; L, D, SIC, 4, DHC |
    | bias | L, D, 4, DHC |
    | src_iter, src_iter_c | L, D, N, SIC; L, D, N, DHC |
    | dst_layer | T, N, DHC |
    | dst_iter, dst_iter_c | L, D, N, DHC: the states after the last step |

    Optional operands and results are left out from the end. With no steps
    (T = 0) dst_iter and dst_iter_c are the states before step 0.
  }];
  let arguments = (ins Graph_Value<"T">:$src_layer,
      Graph_Value<"T">:$weights_layer, Graph_Value<"T">:$weights_iter,
      Graph_Value<"T">:$bias, Optional<Graph_Value<"T">>:$src_iter,
      Optional<Graph_Value<"T">>:$src_iter_c, Graph_LstmDirection:$direction);
  let results = (outs Graph_Value<"T">:$dst_layer,
      Optional<Graph_Value<"T">>:$dst_iter,
      Optional<Graph_Value<"T">>:$dst_iter_c);
  let operandCounts = [4, 5, 6];
  let resultCounts = [1, 2, 3];
  let typeVars = [Graph_Var<"T", ["f32"]>];
  let constraints = ["D is 1, and the weights have 4 gates",
                     "SLC equals DHC when L is more than 1",
                     "SIC equals DHC unless T is 1"];
  let shapeRule = "lstm";
  let compiles = ["f32"];
  let opClass = "recurrent";
  let transcendental = 1;
}

#endif // TENON_GRAPH_RECURRENT_TD
