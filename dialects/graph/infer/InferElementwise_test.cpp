//===- InferElementwise_test.cpp ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/graph/infer/RuleTest.h"

namespace tenon::graph::test {
namespace {

TEST(InferElementwise, Unary) {
  runCases({{
      {"Abs", "", "2x3", "2x3"},
      {"Exp", "", "[]", "[]"},
      {"ReLU", "", "0x3", "0x3"},
      {"GELU", "mode=gelu_tanh", "?x3", "?x3"},
      {"Sigmoid", "", "*", "*"},
      {"Tanh", "", "2x3", "2x3", "?x3"},
      {"Log", "", "?x3", "2x3", "2x3"},
      {"Sqrt", "", "2x3", "E1203 dst is 2x4", "2x4"},
      {"Round", "", "2x3", "E1203 dst is 2x3x1", "2x3x1"},
      {"Elu", "alpha=1", "2x3", "2x3"},
      {"Clamp", "min=-1 max=1", "2x3", "2x3"},
      {"Clamp", "min=-inf max=inf", "2", "2"},
      {"Clamp", "min=2 max=1", "2x3", "E1208 min 2 is above max 1"},
      {"Clamp", "min=nan max=1", "2x3", "E1208 not a number"},
      {"Pow", "beta=2", "4", "4"},
      {"Pow", "", "4", "E1206 neither attribute beta nor the operand exponent"},
      {"Pow", "", "2x3 3", "2x3"},
      {"Pow", "", "2x1 1x3", "2x3"},
      {"Pow", "beta=2", "4 4", "E1208 attribute beta is given and so is"},
      {"Pow", "auto_broadcast=none", "2x3 3", "E1203 auto_broadcast is none"},
      {"Pow", "", "2 bf16:2", "E1204 must have the same type"},
  }});
}

TEST(InferElementwise, UnaryBackward) {
  runCases({{
      {"ReLUBackward", "", "2x3 2x3", "2x3"},
      {"AbsBackward", "", "2x? ?x3", "2x3"},
      {"TanhBackward", "", "* 2x3", "2x3"},
      {"SqrtBackward", "", "2x3 3x2", "E1203 shapes differ"},
      {"MishBackward", "", "2x3 2", "E1203 shapes differ"},
      {"EluBackward", "alpha=-1 use_dst=false", "2 2", "2"},
      {"EluBackward", "alpha=-1", "2 2", "E1208 alpha is -1"},
      {"ClampBackward", "min=2 max=1", "2 2", "E1208 above max"},
      {"SoftPlusBackward", "beta=0", "2 2", "E1208 beta is 0"},
  }});
}

TEST(InferElementwise, Binary) {
  runCases({{
      {"Add", "", "2x3 2x3", "2x3"},
      {"Add", "", "2x1x4 3x1", "2x3x4"},
      {"Multiply", "", "[] 2x3", "2x3"},
      {"Divide", "", "1 0", "0"},
      {"Subtract", "", "0x1 1x5", "0x5"},
      {"Maximum", "", "? 1", "?"},
      {"Maximum", "", "? 4", "4"},
      {"Minimum", "", "?x1 ?x3", "?x3"},
      {"Minimum", "", "* 2", "*"},
      {"GreaterEqual", "", "4x1 4", "4x4"},
      {"SquaredDifference", "auto_broadcast=none", "2x? ?x3", "2x3"},
      {"Add", "", "2x3 2x4", "E1203 do not broadcast: src_0 is 2x3"},
      {"Add", "", "2 0", "E1203 do not broadcast"},
      {"Add", "auto_broadcast=none", "2x3 1x3", "E1203 auto_broadcast is none"},
      {"Add", "auto_broadcast=maybe", "2 2", "E1208 \"maybe\""},
      {"Add", "", "2", "E1201 has 1 operands"},
      {"Add", "", "4294967296x1x1 1x4294967296x4", "E1209 any memory"},
  }});
}

TEST(InferElementwise, Select) {
  runCases({{
      {"Select", "", "2x3 2x3 2x3", "2x3"},
      {"Select", "", "3 2x1 1x3", "2x3"},
      {"Select", "", "[] 2x1 1x3", "2x3"},
      {"Select", "", "? 2x1 1x3", "2x3"},
      {"Select", "", "4x2x3 2x3 2x3", "E1203 can not enlarge"},
      {"Select", "", "2x3 2x1 2x1", "E1203 does not broadcast"},
      {"Select", "", "2 2x3 2x4", "E1203 do not broadcast"},
      {"Select", "auto_broadcast=none", "2x? ?x3 2x3", "2x3"},
      {"Select", "auto_broadcast=none", "1x3 2x3 2x3", "E1203 cond is 1x3"},
  }});
}

TEST(InferElementwise, BiasAddAndPReLU) {
  runCases({{
      {"BiasAdd", "", "2x5x5x3 3", "2x5x5x3"},
      {"BiasAdd", "data_format=NCX", "2x3x5x5 3", "2x3x5x5"},
      {"BiasAdd", "data_format=NCX", "2x3x5x5 5", "E1203 bias is 5"},
      {"BiasAdd", "", "3 3", "E1202 rank 2 or more"},
      {"BiasAdd", "", "2x3 1x3", "E1203 one entry per channel"},
      {"PReLU", "", "2x5x5x3 3", "2x5x5x3"},
      {"PReLU", "data_format=NCX", "2x3x5x5 3", "2x3x5x5"},
      {"PReLU", "", "2x5x5x3 1", "E1203 slope is 1"},
      {"PReLU", "per_channel_broadcast=false", "2x5x5x3 1", "2x5x5x3"},
      {"PReLU", "data_format=NCX", "2x3x5x5 3x1x1", "2x3x5x5"},
      {"PReLU", "", "3 3", "3"},
      {"PReLU", "", "2x3 1x2x3", "E1203 does not broadcast"},
      {"PReLU", "", "* 3", "*"},
      {"PReLUBackward", "", "2x5x5x3 3 2x5x5x3", "2x5x5x3 3"},
      {"PReLUBackward", "data_format=NCX", "2x3x5x4 3 2x3x5x4", "2x3x5x4 3"},
      {"PReLUBackward", "data_format=NCX", "2x3x5x4 1 2x3x5x4", "2x3x5x4 1"},
      {"PReLUBackward", "data_format=NCX", "2x3x5x5 3 2x3x5x5", "2x3x5x5 3"},
      {"PReLUBackward", "", "2x3 3 2x4", "E1203 shapes differ", "* *"},
      {"PReLUBackward", "", "2x3 4 2x3", "E1203 slope is 4", "* *"},
      {"PReLUBackward", "", "2x3 3x3 2x3", "E1203 does not broadcast", "* *"},
  }});
}

TEST(InferElementwise, DropoutAndGenIndex) {
  runCases({{
      {"Dropout", "", "2x3 [] [] []", "2x3"},
      {"Dropout", "", "2x3 1 1 1", "2x3 2x3"},
      {"Dropout", "", "2x3 2 [] []", "E1203 one element"},
      {"GenIndex", "axis=-1", "2x3", "2x3"},
      {"GenIndex", "axis=2", "2x3", "E1208 outside of [-2, 1]"},
      {"GenIndex", "axis=0", "[]", "E1208 of a scalar"},
      {"GenIndex", "axis=7", "*", "*"},
  }});
}

} // namespace
} // namespace tenon::graph::test
