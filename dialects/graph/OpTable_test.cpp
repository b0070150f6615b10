//===- OpTable_test.cpp - the operation table is sound --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/OpTable.h"
#include "dialects/graph/RecurrentCell.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

using namespace tenon::graph;

TEST(OpTable, HasEveryOperationOnceInOrder) {
  EXPECT_GE(allOps().size(), 88u);
  EXPECT_TRUE(std::ranges::is_sorted(allOps(), std::less<>(), &OpInfo::kind));
  for (const OpInfo &op : allOps())
    EXPECT_EQ(lookupOp(op.kind), &op);
  EXPECT_EQ(lookupOp("matmul"), nullptr);
  EXPECT_EQ(lookupOp(""), nullptr);
  EXPECT_EQ(lookupOp("Zzz"), nullptr);
}

/// The numbers 0 to 87 are taken; operations that came later have any others.
TEST(OpTable, EnumIsUnique) {
  std::set<int> values;
  std::set<std::string_view> names;
  for (const OpInfo &op : allOps()) {
    values.insert(op.cEnumValue);
    names.insert(op.cEnum);
    EXPECT_TRUE(op.cEnum.starts_with("tenon_op_")) << op.kind;
  }
  EXPECT_EQ(names.size(), allOps().size());
  ASSERT_EQ(values.size(), allOps().size());
  EXPECT_EQ(*values.begin(), 0);
  EXPECT_EQ(std::distance(values.begin(), values.upper_bound(87)), 88);
  EXPECT_EQ(lookupOp("MatMul")->cEnumValue, 39);
  EXPECT_EQ(lookupOp("BatchNormTrainingBackward")->cEnum,
            "tenon_op_batch_norm_backward");
}

/// The attribute that says which dims those are; empty: none does.
static std::string_view attrOf(ReducedDims dims) {
  switch (dims) {
  case ReducedDims::axis:
    return "axis";
  case ReducedDims::axes:
    return "axes";
  case ReducedDims::fromBeginNormAxis:
    return "begin_norm_axis";
  case ReducedDims::allButChannels:
    return "data_format";
  case ReducedDims::channelGroups:
    return "groups";
  case ReducedDims::none:
  case ReducedDims::slope:
    return "";
  }
  return "";
}

TEST(OpTable, FactsAgree) {
  for (const OpInfo &op : allOps()) {
    EXPECT_NE(op.opClass, OpClass::unknown) << op.kind;
    // What copies values can not be made of functions.
    EXPECT_FALSE(op.rounding == Rounding::copies && op.transcendental)
        << op.kind;
    EXPECT_FALSE(op.cheap && op.transcendental) << op.kind;
    EXPECT_TRUE(
        op.opClass != OpClass::view ||
        std::ranges::all_of(op.operands.subspan(1), &ValueInfo::isShape))
        << op.kind;
    // What sums along dims says along which.
    EXPECT_EQ(op.reducedDims != ReducedDims::none,
              op.opClass == OpClass::reduction ||
                  op.opClass == OpClass::normalization)
        << op.kind;
    std::string_view attr = attrOf(op.reducedDims);
    EXPECT_TRUE(attr.empty() || op.attr(attr)) << op.kind;
    // A gradient of one element at a time is of such an operation.
    if (op.opClass == OpClass::elementwise)
      EXPECT_EQ(forwardOf(op).opClass, OpClass::elementwise) << op.kind;
  }
  EXPECT_EQ(&factsOf("Exp"), lookupOp("Exp"));
  EXPECT_EQ(factsOf("Zzz").opClass, OpClass::unknown);
  EXPECT_TRUE(factsOf("").operands.empty());
}

TEST(OpTable, TextIsThere) {
  for (const OpInfo &op : allOps()) {
    EXPECT_FALSE(op.summary.empty()) << op.kind;
    EXPECT_FALSE(op.category.empty()) << op.kind;
    EXPECT_FALSE(op.shapeRule.empty()) << op.kind;
    for (const AttrInfo &attr : op.attrs)
      EXPECT_FALSE(attr.doc.empty()) << op.kind << '.' << attr.name;
  }
}

/// Optional values are the last ones, and the counts are those that leaving
/// out optional values can give.
static void checkValues(const OpInfo &op, std::span<const ValueInfo> values,
                        std::span<const int> counts) {
  size_t required = 0;
  bool variadic = false;
  for (const ValueInfo &value : values) {
    EXPECT_FALSE(value.optional && value.variadic) << op.kind;
    variadic |= value.variadic;
    if (value.optional)
      continue;
    EXPECT_EQ(required, &value - values.data()) << op.kind
                                                << ": optional "
                                                   "values must come last";
    ++required;
  }
  if (variadic)
    return;
  ASSERT_FALSE(counts.empty()) << op.kind;
  EXPECT_TRUE(std::ranges::is_sorted(counts)) << op.kind;
  // Where all can be left out, one is given at least.
  size_t least = std::max(required, std::min<size_t>(values.size(), 1));
  EXPECT_EQ(static_cast<size_t>(counts.front()), least) << op.kind;
  EXPECT_EQ(static_cast<size_t>(counts.back()), values.size()) << op.kind;
}

TEST(OpTable, CountsFitValues) {
  for (const OpInfo &op : allOps()) {
    checkValues(op, op.operands, op.operandCounts);
    checkValues(op, op.results, op.resultCounts);
  }
  EXPECT_TRUE(lookupOp("Concat")->operandCounts.empty());
  EXPECT_TRUE(lookupOp("Wildcard")->operandCounts.empty());
  EXPECT_EQ(lookupOp("End")->resultCounts.front(), 0);
}

TEST(OpTable, TypeVariablesAreUsedAndKnown) {
  for (const OpInfo &op : allOps()) {
    std::set<std::string_view> used;
    for (auto values : {op.operands, op.results})
      for (const ValueInfo &value : values)
        if (!value.typeVar.empty()) {
          used.insert(value.typeVar);
          EXPECT_NE(op.typeVar(value.typeVar), nullptr) << op.kind;
        }
    for (const TypeVarInfo &var : op.typeVars) {
      EXPECT_TRUE(used.count(var.name)) << op.kind << ' ' << var.name;
      EXPECT_FALSE(var.allowed.empty());
    }
    EXPECT_EQ(used.size(), op.typeVars.size());
  }
}

template <typename T> static bool parses(std::string_view text) {
  T value;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

TEST(OpTable, DefaultsParse) {
  int defaults = 0;
  for (const OpInfo &op : allOps())
    for (const AttrInfo &attr : op.attrs) {
      EXPECT_FALSE(attr.required && attr.defaultText) << op.kind;
      EXPECT_TRUE(attr.allowed.empty() || attr.type == AttrType::string);
      if (!attr.defaultText)
        continue;
      ++defaults;
      std::string_view text = *attr.defaultText;
      if (attr.type == AttrType::f32)
        EXPECT_TRUE(parses<float>(text)) << op.kind << ' ' << text;
      if (attr.type == AttrType::s64)
        EXPECT_TRUE(parses<int64_t>(text)) << op.kind << ' ' << text;
      if (attr.type == AttrType::boolean)
        EXPECT_TRUE(text == "true" || text == "false") << op.kind;
      if (!attr.allowed.empty())
        EXPECT_NE(std::ranges::find(attr.allowed, text), attr.allowed.end())
            << op.kind << ' ' << text;
    }
  EXPECT_GT(defaults, 90);
}

TEST(OpTable, DefaultValuesHaveTheRightType) {
  EXPECT_EQ(lookupOp("SoftMax")->attr("axis")->defaultValue(),
            AttrValue(int64_t(1)));
  EXPECT_EQ(lookupOp("LogSoftmax")->attr("axis")->defaultValue(),
            AttrValue(int64_t(-1)));
  EXPECT_EQ(lookupOp("LayerNorm")->attr("epsilon")->defaultValue(),
            AttrValue(1e-5f));
  EXPECT_EQ(lookupOp("ReLUBackward")->attr("use_dst")->defaultValue(),
            AttrValue(true));
  EXPECT_EQ(lookupOp("Add")->attr("auto_broadcast")->defaultValue(),
            AttrValue(std::string("numpy")));
  EXPECT_EQ(lookupOp("Add")->attr("axis"), nullptr);
  EXPECT_EQ(name(AttrType::s64s), "s64[]");
}

TEST(OpTable, BackwardsPointToForwards) {
  int backwards = 0;
  for (const OpInfo &op : allOps()) {
    EXPECT_EQ(op.category == "backward", !op.backwardOf.empty()) << op.kind;
    if (op.backwardOf.empty())
      continue;
    ++backwards;
    const OpInfo *forward = lookupOp(op.backwardOf);
    ASSERT_NE(forward, nullptr) << op.kind;
    EXPECT_TRUE(forward->backwardOf.empty());
  }
  EXPECT_EQ(backwards, 32);
}

TEST(RecurrentCell, KnowsTheDimsOfAllOperands) {
  using enum CellSize;
  int recurrent = 0;
  for (const OpInfo &op : allOps()) {
    if (op.opClass != OpClass::recurrent)
      continue;
    ++recurrent;
    for (std::span<const ValueInfo> values : {op.operands, op.results})
      for (const ValueInfo &value : values)
        EXPECT_FALSE(cellDims(value.name, false).empty())
            << op.kind << ", " << value.name;
  }
  EXPECT_EQ(recurrent, 8);
  EXPECT_TRUE(cellDims("src", false).empty());
  EXPECT_EQ(cellDims("diff_dst_layer", true),
            (std::vector<CellSize>{batch, steps, results}));
  EXPECT_EQ(cellDims("diff_bias_before", true),
            (std::vector<CellSize>{layers, directions, biasRows, hidden}));
}

TEST(RecurrentCell, Info) {
  auto infoOf = [](const char *kind, bool linear) {
    Op op;
    op.kind = kind;
    if (linear)
      op.attrs["linear_before_reset"] = true;
    CellInfo info = cellInfo(op);
    return std::array<int64_t, 4>{info.gates, info.biasRows, info.valuesOfUnit,
                                  info.statesAreHidden};
  };
  using Numbers = std::array<int64_t, 4>;
  EXPECT_EQ(infoOf("RNNBackward", false), (Numbers{1, 1, 1, 0}));
  EXPECT_EQ(infoOf("LSTM", false), (Numbers{4, 4, 5, 0}));
  EXPECT_EQ(infoOf("GRU", false), (Numbers{3, 3, 3, 1}));
  EXPECT_EQ(infoOf("AUGRUBackward", true), (Numbers{3, 4, 4, 1}));
  EXPECT_EQ(cellDirections("right2left"), 1);
  EXPECT_EQ(cellDirections("bidirectional_sum"), 2);
}

TEST(OpTable, CompiledTypesExist) {
  int compiling = 0;
  for (const OpInfo &op : allOps()) {
    compiling += !op.compiles.empty();
    for (std::string_view dtype : op.compiles)
      EXPECT_TRUE(parseDType(dtype)) << op.kind;
    EXPECT_TRUE(op.vectorException.empty() || !op.compiles.empty()) << op.kind;
  }
  EXPECT_GT(compiling, 40);
}

/// The kinds for which `holds`, joined.
static std::string kindsWith(bool (*holds)(const OpInfo &)) {
  std::string kinds;
  for (const OpInfo &op : allOps())
    if (holds(op))
      kinds += (kinds.empty() ? "" : " ") + std::string(op.kind);
  return kinds;
}

TEST(OpTable, QuestionsHaveTheExpectedAnswers) {
  EXPECT_EQ(kindsWith(isView), "Reshape StaticReshape StaticTranspose");
  EXPECT_EQ(kindsWith(isMovement),
            "Concat Expand Pad Reorder Reshape Slice StaticReshape "
            "StaticTranspose TypeCast");
  EXPECT_EQ(kindsWith(isCast), "TypeCast");
  EXPECT_EQ(kindsWith(isConvolution),
            "ConvTranspose ConvTransposeBackwardData "
            "ConvTransposeBackwardWeights Convolution ConvolutionBackwardData "
            "ConvolutionBackwardWeights");
  EXPECT_EQ(kindsWith(isContraction), kindsWith(isConvolution) + " MatMul");
  EXPECT_EQ(kindsWith(isWeightsGradient),
            "ConvTransposeBackwardWeights ConvolutionBackwardWeights");
  EXPECT_EQ(kindsWith(isPooling),
            "AvgPool AvgPoolBackward MaxPool MaxPoolBackward");
  EXPECT_EQ(kindsWith([](const OpInfo &op) {
              return std::ranges::any_of(op.operands, &ValueInfo::isShape);
            }),
            "AvgPoolBackward ConvTransposeBackwardWeights "
            "ConvolutionBackwardData ConvolutionBackwardWeights Expand "
            "Interpolate InterpolateBackward RandomUniform Reshape Slice TopK");
}
