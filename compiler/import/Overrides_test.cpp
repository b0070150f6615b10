//===- Overrides_test.cpp - rewriting overrides ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/Overrides.h"

#include "compiler/import/json/Json.h"

#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::graph;

namespace {

/// `{"id": ID, "dtype": DTYPE, "shape": [SHAPE], EXTRA}`
std::string tensor(int id, const std::string &shape,
                   const std::string &dtype = "f32",
                   const std::string &extra = "") {
  return "{\"id\": " + std::to_string(id) + ", \"dtype\": \"" + dtype +
         "\", \"shape\": [" + shape + "]" +
         (extra.empty() ? "" : ", " + extra) + "}";
}

std::string op(int id, const std::string &kind, const std::string &attrs,
               const std::string &inputs, const std::string &outputs) {
  return "{\"id\": " + std::to_string(id) + ", \"kind\": \"" + kind +
         "\", \"attrs\": {" + attrs + "}, \"inputs\": [" + inputs +
         "], \"outputs\": [" + outputs + "]}";
}

Graph read(const std::string &ops) {
  Expected<Graph> g = json::readJson("{\"graph\": [" + ops + "]}", "t");
  if (!g) {
    ADD_FAILURE() << str(g.errors());
    return Graph();
  }
  return std::move(*g);
}

Overrides parse(const std::string &line) {
  Expected<RunLine> run = parseRunLine(line + " --case=x.json");
  if (!run) {
    ADD_FAILURE() << str(run.errors());
    return Overrides();
  }
  return run->overrides;
}

/// Applies overrides that must apply.
void apply(Graph &g, const std::string &line) {
  auto prepared = applyOverrides(g, parse(line));
  ASSERT_TRUE(prepared) << line << "\n" << str(prepared.errors());
  g = **prepared;
}

/// Applies overrides that must not.
std::vector<Error> refuse(const Graph &g, const std::string &line) {
  auto prepared = applyOverrides(g, parse(line));
  EXPECT_FALSE(prepared) << line << " was applied";
  return prepared ? std::vector<Error>(1) : prepared.errors();
}

/// t0 [2,3] -Abs 0-> t1 -Add 1(t2 [2,3])-> t3
Graph absAdd() {
  return read(op(0, "Abs", "", tensor(0, "2,3"), tensor(1, "2,3")) + "," +
              op(1, "Add", "", tensor(1, "2,3") + "," + tensor(2, "2,3"),
                 tensor(3, "2,3")));
}

const char *const kNcx = R"("data_format": {"type": "string", "value": "NCX"})";
const char *const kConvAttrs =
    R"("strides": {"type": "s64[]", "value": [1, 1]},
       "pads_begin": {"type": "s64[]", "value": [0, 0]},
       "pads_end": {"type": "s64[]", "value": [0, 0]},
       "dilations": {"type": "s64[]", "value": [1, 1]},
       "weights_format": {"type": "string", "value": "OIX"}, )";

/// t0 [1,3,8,8] -Convolution 0 (t1 [4,3,3,3])-> t2 [1,4,6,6]
Graph conv() {
  return read(op(0, "Convolution", std::string(kConvAttrs) + kNcx,
                 tensor(0, "1,3,8,8") + "," + tensor(1, "4,3,3,3"),
                 tensor(2, "1,4,6,6")));
}

//===----------------------------------------------------------------------===//
// Grammar
//===----------------------------------------------------------------------===//

TEST(OverridesText, everyOverride) {
  Expected<RunLine> run = parseRunLine(
      "--mb=4 --in-shapes=0:2x3*ba+1:-+2:*12x4x1+3:0 "
      "--op-attrs=7:axes:0x1*keep_dims:true+8:mode:gelu_erf "
      "--op-kind=1:ReLU+2:undef --dt=1:f16+2:s8 --attr-fpmath=bf16:true "
      "--tensor-property=5:constant --likely=n:1*128+m:7 "
      "--expected-n-partitions=0 --case=a/b.json");
  ASSERT_TRUE(bool(run)) << str(run.errors());
  const Overrides &o = run->overrides;
  EXPECT_EQ(run->caseFile, "a/b.json");
  EXPECT_EQ(o.mb, 4);
  ASSERT_EQ(o.tensors.size(), 4u);
  EXPECT_EQ(o.tensors[0].shape, (Dims{2, 3}));
  EXPECT_EQ(o.tensors[0].order, (Dims{1, 0}));
  EXPECT_EQ(o.tensors[1].shape, Dims{});
  EXPECT_FALSE(o.tensors[2].shape.has_value());
  EXPECT_EQ(o.tensors[2].strides, (Dims{12, 4, 1}));
  EXPECT_EQ(o.tensors[3].shape, Dims{0});
  ASSERT_EQ(o.attrs.size(), 3u);
  EXPECT_EQ(o.attrs[1].opId, 7u);
  EXPECT_EQ(o.attrs[1].value, "true");
  EXPECT_EQ(o.attrs[2].value, "gelu_erf");
  EXPECT_EQ(o.kinds[1].second, "undef");
  EXPECT_EQ(o.dtypes[1].second, DType::s8);
  EXPECT_EQ(o.fpmathMode, "bf16");
  EXPECT_EQ(o.fpmathApplyToInt, true);
  EXPECT_EQ(o.properties[0].second, PropertyType::constant);
  EXPECT_EQ(o.likely, (std::vector<std::pair<std::string, int64_t>>{
                          {"n", 1}, {"n", 128}, {"m", 7}}));
  EXPECT_TRUE(parseRunLine("--case=x")->overrides.empty());
}

TEST(OverridesText, mistakes) {
  for (const char *override : {"--mb=two",
                               "--mb=-1",
                               "--likely=n",
                               "--likely=:1",
                               "--likely=n:",
                               "--likely=n:1*x",
                               "--likely=n:1+",
                               "--mb=1,2",
                               "--in-shapes=2x3",
                               "--in-shapes=a:2",
                               "--in-shapes=0:",
                               "--in-shapes=0:2x",
                               "--in-shapes=0:2xx3",
                               "--in-shapes=0:-2",
                               "--in-shapes=0:2x3*abc",
                               "--in-shapes=0:2x3*aa",
                               "--in-shapes=0:2x3*aB16b",
                               "--in-shapes=0:2x3*1x-1",
                               "--in-shapes=0:4294967296x4294967296",
                               "--in-shapes=0:99999999999999999999",
                               "--in-shapes=0:1x1x1x1x1x1x1x1x1x1x1x1x1",
                               "--in-shapes=0:2,0:3",
                               "--op-attrs=0:axis",
                               "--op-attrs=0::1",
                               "--op-kind=0:",
                               "--op-kind=ReLU",
                               "--dt=s8",
                               "--dt=f33",
                               "--dt=0:f33",
                               "--dt=0:undef",
                               "--attr-fpmath=fast",
                               "--attr-fpmath=bf16:maybe",
                               "--tensor-property=0:frozen",
                               "--in-shapes=0:1+",
                               "--fast=1",
                               "noise",
                               "--mb",
                               "--in-shapes=-1:2"}) {
    Expected<RunLine> run = parseRunLine(std::string(override) + " --case=x");
    ASSERT_FALSE(bool(run)) << override;
    ErrorCode code = run.errors()[0].code;
    EXPECT_TRUE(code == ErrorCode::BadOverride || code == ErrorCode::BadOption)
        << override;
  }
  EXPECT_FALSE(bool(parseRunLine("--mb=1"))) << "needs a case";
  // All problems of a line at once.
  Expected<RunLine> run = parseRunLine("--mb=x --dt=y --what=z");
  ASSERT_FALSE(bool(run));
  EXPECT_EQ(run.errors().size(), 4u) << str(run.errors());
}

//===----------------------------------------------------------------------===//
// Shapes and strides
//===----------------------------------------------------------------------===//

TEST(Overrides, shapesPropagate) {
  Graph g = absAdd();
  apply(g, "--in-shapes=0:5x1+2:1x7");
  EXPECT_EQ(g.tensor(1).shape, (Dims{5, 1}));
  EXPECT_EQ(g.tensor(3).shape, (Dims{5, 7}));
  apply(g, "--in-shapes=0:-+2:-");
  EXPECT_EQ(g.tensor(3).shape, Dims{});
}

TEST(Overrides, idsOfOtherGraphsAreLeftOut) {
  Graph g = absAdd();
  apply(g, "--in-shapes=0:5x1+2:1x7+77:3x3");
  EXPECT_EQ(g.tensor(0).shape, (Dims{5, 1}));
  EXPECT_EQ(g.tensors.count(77), 0u);
}

TEST(Overrides, wrongShapesAreRefused) {
  Graph g = absAdd();
  EXPECT_EQ(refuse(g, "--in-shapes=0:5x4")[0].code, ErrorCode::ShapeMismatch);
  EXPECT_EQ(refuse(g, "--in-shapes=1:5x4")[0].code, ErrorCode::BadOverride);
  EXPECT_EQ(refuse(g, "--in-shapes=9:5x4")[0].code, ErrorCode::UnknownTensor);
  EXPECT_EQ(refuse(g, "--in-shapes=0:*abc")[0].code, ErrorCode::BadStride);
  refuse(g, "--in-shapes=3:5x4"); // contradicts the inferred shape
}

TEST(Overrides, layoutsAndOutputPorts) {
  Graph g = absAdd();
  apply(g, "--in-shapes=2:*4x1+3:2x3*ba");
  EXPECT_EQ(g.tensor(2).strides, (Dims{4, 1}));
  EXPECT_EQ(g.tensor(3).strides, (Dims{1, 2}));
  EXPECT_TRUE(g.tensor(1).strides.empty());
  apply(g, "--in-shapes=3:2x3");
  EXPECT_TRUE(g.tensor(3).strides.empty());
}

TEST(Overrides, resultsKeepTheirOrderWhileInputsDo) {
  std::string nhwc = R"("stride": [192, 1, 24, 3])";
  Graph g = read(op(0, "Abs", "", tensor(0, "1,3,8,8", "f32", nhwc),
                    tensor(1, "1,3,8,8", "f32", nhwc)));
  Graph h = g;
  apply(h, "--mb=2");
  EXPECT_EQ(h.tensor(0).strides, (Dims{192, 1, 24, 3}));
  EXPECT_EQ(h.tensor(1).strides, (Dims{192, 1, 24, 3}));
  h = g;
  apply(h, "--in-shapes=0:2x3x4x4*acdb");
  EXPECT_EQ(h.tensor(1).strides, (Dims{48, 1, 12, 3}));
  // Row-major by default: a changed order, which the result follows.
  h = g;
  apply(h, "--in-shapes=0:2x3x4x4");
  EXPECT_TRUE(h.tensor(1).strides.empty());
}

TEST(Overrides, resultsFollowANewOrder) {
  std::string order = R"("order": {"type": "s64[]", "value": [1, 0]})";
  Graph g =
      read(op(0, "Abs", "", tensor(0, "4,5"), tensor(1, "4,5")) + "," +
           op(1, "StaticTranspose", order, tensor(1, "4,5"), tensor(2, "5,4")));
  apply(g, "--in-shapes=0:*ba");
  EXPECT_EQ(g.tensor(1).strides, (Dims{1, 4}));
  EXPECT_TRUE(g.tensor(2).strides.empty()) << "transposes are row-major";
}

TEST(Overrides, resultsWithGapsCannotChangeShape) {
  std::string gaps = R"("stride": [8, 1])";
  Graph g =
      read(op(0, "Abs", "", tensor(0, "4,5"), tensor(1, "4,5", "f32", gaps)));
  EXPECT_EQ(refuse(g, "--in-shapes=0:6x5")[0].code, ErrorCode::BadOverride);
  apply(g, "--in-shapes=0:4x5"); // nothing new
  EXPECT_EQ(g.tensor(1).strides, (Dims{8, 1}));
}

//===----------------------------------------------------------------------===//
// Batch
//===----------------------------------------------------------------------===//

TEST(Overrides, batchLeavesWeightsAlone) {
  Graph g = conv();
  apply(g, "--mb=5");
  EXPECT_EQ(g.tensor(0).shape, (Dims{5, 3, 8, 8}));
  EXPECT_EQ(g.tensor(1).shape, (Dims{4, 3, 3, 3}));
  EXPECT_EQ(g.tensor(2).shape, (Dims{5, 4, 6, 6}));
  apply(g, "--mb=0");
  EXPECT_EQ(g.tensor(0).shape, (Dims{5, 3, 8, 8})) << "0 keeps";
  apply(g, "--mb=2 --in-shapes=0:9x3x10x10");
  EXPECT_EQ(g.tensor(2).shape, (Dims{2, 4, 8, 8})) << "mb wins over dim 0";
}

TEST(Overrides, batchLeavesWeightsBehindOtherOpsAlone) {
  Graph g =
      read(op(1, "Abs", "", tensor(7, "4,3,3,3"), tensor(1, "4,3,3,3")) + "," +
           op(0, "Convolution", std::string(kConvAttrs) + kNcx,
              tensor(0, "1,3,8,8") + "," + tensor(1, "4,3,3,3"),
              tensor(2, "1,4,6,6")));
  apply(g, "--mb=2");
  EXPECT_EQ(g.tensor(7).shape, (Dims{4, 3, 3, 3}));
}

TEST(Overrides, batchOfAttention) {
  // Keys are batched as queries are; one scale and one mask for all are not.
  Graph g =
      read(op(0, "MatMul", R"("transpose_b": {"type": "bool", "value": 1})",
              tensor(0, "3,2,8,4") + "," + tensor(1, "3,2,8,4"),
              tensor(2, "3,2,8,8")) +
           "," +
           op(1, "Multiply", "", tensor(2, "3,2,8,8") + "," + tensor(3, "1"),
              tensor(4, "3,2,8,8")) +
           "," +
           op(2, "Add", "", tensor(4, "3,2,8,8") + "," + tensor(5, "1,1,8,8"),
              tensor(6, "3,2,8,8")) +
           "," +
           op(3, "StaticReshape",
              R"("shape": {"type": "s64[]", "value": [6, 64]},
            "special_zero": {"type": "bool", "value": 0})",
              tensor(6, "3,2,8,8"), tensor(8, "6,64")));
  apply(g, "--mb=7");
  EXPECT_EQ(g.tensor(1).shape, (Dims{7, 2, 8, 4}));
  EXPECT_EQ(g.tensor(3).shape, Dims{1});
  EXPECT_EQ(g.tensor(5).shape, (Dims{1, 1, 8, 8}));
  EXPECT_EQ(g.tensor(8).shape, (Dims{14, 64})) << "reshapes follow the batch";
}

TEST(Overrides, batchOfRowStatistics) {
  Graph g = read(op(0, "LayerNormBackward",
                    R"("use_affine": {"type": "bool", "value": 0})",
                    tensor(0, "8,6,4") + "," + tensor(1, "8,6,4") + "," +
                        tensor(2, "8,6") + "," + tensor(3, "8,6"),
                    tensor(4, "8,6,4")));
  apply(g, "--mb=3");
  EXPECT_EQ(g.tensor(2).shape, (Dims{3, 6}));
  EXPECT_EQ(g.tensor(4).shape, (Dims{3, 6, 4}));
}

TEST(Overrides, batchLeavesScalesOfGroups) {
  // Weights [4, 3, 1] of two groups with three channels each: six scales.
  Graph g = read(op(0, "Dequantize",
                    R"("qtype": {"type": "string", "value": "per_channel"},
            "axis": {"type": "s64", "value": 1},
            "scales": {"type": "f32[]", "value": [1, 2, 3, 4, 5, 6]},
            "zps": {"type": "s64[]", "value": [6, 5, 4, 3, 2, 1]})",
                    tensor(0, "4,3,1", "s8"), tensor(1, "4,3,1")) +
                 "," +
                 op(1, "ConvTranspose",
                    R"("groups": {"type": "s64", "value": 2},
            "strides": {"type": "s64[]", "value": [1]},
            "dilations": {"type": "s64[]", "value": [1]},
            "pads_begin": {"type": "s64[]", "value": [0]},
            "pads_end": {"type": "s64[]", "value": [0]},
            "data_format": {"type": "string", "value": "NCX"},
            "weights_format": {"type": "string", "value": "IOX"})",
                    tensor(2, "1,4,5") + "," + tensor(1, "4,3,1"),
                    tensor(3, "1,6,5")));
  apply(g, "--mb=7");
  EXPECT_EQ(g.tensor(3).shape, (Dims{7, 6, 5}));
  EXPECT_EQ(g.tensor(1).shape, (Dims{4, 3, 1}));
  EXPECT_EQ(std::get<std::vector<float>>(g.ops[0].attrs.at("scales")),
            (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(std::get<Dims>(g.ops[0].attrs.at("zps")), (Dims{6, 5, 4, 3, 2, 1}));
}

TEST(Overrides, columnsAreNoBatch) {
  Graph vector =
      read(op(0, "MatMul", "", tensor(0, "4") + "," + tensor(1, "4,5"),
              tensor(2, "5")));
  EXPECT_EQ(refuse(vector, "--mb=3")[0].code, ErrorCode::BadOverride);
  Graph transposed =
      read(op(0, "MatMul", R"("transpose_a": {"type": "bool", "value": 1})",
              tensor(0, "4,2") + "," + tensor(1, "4,5"), tensor(2, "2,5")));
  EXPECT_EQ(refuse(transposed, "--mb=3")[0].code, ErrorCode::BadOverride);
}

TEST(Overrides, batchBehindDimsCountedFromTheBack) {
  auto transposed = [](const char *order, const char *to) {
    return read(op(0, "StaticTranspose",
                   R"("order": {"type": "s64[]", "value": [)" +
                       std::string(order) + "]}",
                   tensor(0, "1,3,8"), tensor(1, to)));
  };
  Graph stays = transposed("-3,-1,-2", "1,8,3");
  apply(stays, "--mb=2");
  EXPECT_EQ(stays.tensor(1).shape, (Dims{2, 8, 3}));
  Graph reversed = transposed("", "8,3,1");
  EXPECT_EQ(refuse(reversed, "--mb=2")[0].code, ErrorCode::BadOverride);
  Graph joined =
      read(op(0, "Concat", R"("axis": {"type": "s64", "value": -2})",
              tensor(0, "1,4") + "," + tensor(1, "1,4"), tensor(2, "2,4")));
  EXPECT_EQ(refuse(joined, "--mb=2")[0].code, ErrorCode::BadOverride);
}

TEST(Overrides, batchInAttributesIsRefused) {
  Graph g = read(op(0, "ConvolutionBackwardWeights",
                    std::string(kConvAttrs) + kNcx +
                        R"(, "weights_shape": {"type": "s64[]",
                                               "value": [4, 3, 3, 3]})",
                    tensor(0, "1,3,8,8") + "," + tensor(1, "1,4,6,6"),
                    tensor(2, "4,3,3,3")));
  EXPECT_EQ(refuse(g, "--mb=2")[0].code, ErrorCode::BadOverride);
  apply(g, "--in-shapes=0:2x3x8x8+1:2x4x6x6");
}

TEST(Overrides, noBatch) {
  Graph g = read(op(0, "Abs", "", tensor(0, ""), tensor(1, "")));
  EXPECT_EQ(refuse(g, "--mb=2")[0].code, ErrorCode::BadOverride);
}

//===----------------------------------------------------------------------===//
// Attributes and kinds
//===----------------------------------------------------------------------===//

TEST(Overrides, attributesAreTypedByTheTable) {
  Graph g = conv();
  apply(g, "--op-attrs=0:auto_pad:SAME_UPPER*groups:1*strides:2x2");
  EXPECT_EQ(g.tensor(2).shape, (Dims{1, 4, 4, 4}));
  EXPECT_EQ(g.ops[0].attrOr<int64_t>("groups", 0), 1);
  EXPECT_EQ(g.ops[0].attrOr<std::string>("auto_pad", ""), "None")
      << "resolved into pads";
  EXPECT_EQ(refuse(g, "--op-attrs=0:groups:one")[0].code, ErrorCode::AttrValue);
  EXPECT_EQ(refuse(g, "--op-attrs=0:colour:1")[0].code, ErrorCode::UnknownAttr);
  EXPECT_EQ(refuse(g, "--op-attrs=0:epsilon:1")[0].code,
            ErrorCode::UnknownAttr);
  EXPECT_EQ(refuse(g, "--op-attrs=4:groups:1")[0].code, ErrorCode::BadOverride);
}

TEST(Overrides, quantisationListsFollowTheChannels) {
  Graph g = read(op(0, "Dequantize",
                    R"("qtype": {"type": "string", "value": "per_channel"},
                       "axis": {"type": "s64", "value": 1},
                       "scales": {"type": "f32[]", "value": [0.5, 2]},
                       "zps": {"type": "s64[]", "value": [3, 4]})",
                    tensor(0, "1,2", "s8"), tensor(1, "1,2")));
  apply(g, "--in-shapes=0:1x5");
  EXPECT_EQ(g.ops[0].attrOr<std::vector<float>>("scales", {}),
            (std::vector<float>{0.5f, 2, 0.5f, 2, 0.5f}));
  EXPECT_EQ(g.ops[0].attrOr<Dims>("zps", {}), (Dims{3, 4, 0, 0, 0}));
  apply(g, "--in-shapes=0:1x1");
  EXPECT_EQ(g.ops[0].attrOr<Dims>("zps", {}), Dims{3});
  // Lists of 2^40 entries are not even attempted.
  refuse(g, "--in-shapes=0:1x1099511627776");
}

TEST(Overrides, kindsOfOneFamily) {
  Graph g = absAdd();
  apply(g, "--op-kind=0:Tanh+1:Maximum");
  EXPECT_EQ(g.ops[0].kind, "Tanh");
  EXPECT_EQ(g.ops[1].kind, "Maximum");
  EXPECT_EQ(refuse(g, "--op-kind=0:Add")[0].code, ErrorCode::BadOverride);
  EXPECT_EQ(refuse(g, "--op-kind=1:MatMul")[0].code, ErrorCode::BadOverride);
  EXPECT_EQ(refuse(g, "--op-kind=0:Nothing")[0].code, ErrorCode::UnknownOp);
  EXPECT_EQ(refuse(g, "--op-kind=0:Elu")[0].code, ErrorCode::MissingAttr);
  apply(g, "--op-kind=0:Elu --op-attrs=0:alpha:0.5");
  EXPECT_EQ(g.ops[0].attrOr<float>("alpha", 0), 0.5f);
  apply(g, "--op-kind=0:ReLU");
  EXPECT_TRUE(g.ops[0].attrs.empty()) << "alpha means nothing to ReLU";
}

TEST(Overrides, removedOperations) {
  Graph g = absAdd();
  apply(g, "--op-kind=0:undef");
  ASSERT_EQ(g.ops.size(), 1u);
  EXPECT_EQ(g.ops[0].inputs, (std::vector<uint64_t>{0, 2}));
  EXPECT_EQ(g.tensors.count(1), 0u);
  EXPECT_EQ(refuse(g, "--op-kind=1:undef")[0].code, ErrorCode::BadOverride)
      << "no operand has a producer";
  g = absAdd();
  apply(g, "--op-kind=1:undef");
  ASSERT_EQ(g.ops.size(), 1u);
  EXPECT_EQ(g.outputPorts, std::vector<uint64_t>{1});
  EXPECT_EQ(g.inputPorts, std::vector<uint64_t>{0});
  EXPECT_EQ(refuse(g, "--op-kind=0:undef")[0].code, ErrorCode::BadOverride)
      << "an input would be an output";
  Graph c = conv();
  EXPECT_EQ(refuse(c, "--op-kind=0:undef")[0].code, ErrorCode::BadOverride);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

TEST(Overrides, uniformTypeSparesNormParametersAndIntegers) {
  Graph g =
      read(op(0, "LayerNorm", "",
              tensor(0, "2,4") + "," + tensor(1, "4") + "," + tensor(2, "4"),
              tensor(3, "2,4") + "," + tensor(4, "2") + "," + tensor(5, "2")) +
           "," +
           op(1, "Select", "",
              tensor(6, "2,4", "boolean") + "," + tensor(3, "2,4") + "," +
                  tensor(7, "1,1"),
              tensor(8, "2,4")));
  apply(g, "--dt=bf16");
  for (int id : {0, 3, 7, 8})
    EXPECT_EQ(g.tensor(id).dtype, DType::bf16) << id;
  for (int id : {1, 2, 4, 5})
    EXPECT_EQ(g.tensor(id).dtype, DType::f32) << id;
  EXPECT_EQ(g.tensor(6).dtype, DType::boolean);
}

TEST(Overrides, uniformTypeNeedsAPureGraph) {
  Graph g = read(op(0, "TypeCast", "", tensor(0, "2"), tensor(1, "2", "bf16")));
  EXPECT_EQ(refuse(g, "--dt=f16")[0].code, ErrorCode::BadOverride);
  apply(g, "--dt=1:f16");
  EXPECT_EQ(g.tensor(1).dtype, DType::f16);
  EXPECT_EQ(refuse(g, "--dt=5:f16")[0].code, ErrorCode::UnknownTensor);
  Graph h = absAdd();
  EXPECT_EQ(refuse(h, "--dt=0:boolean")[0].code, ErrorCode::BadDType);
}

TEST(Overrides, propertiesAndMathMode) {
  Graph g = absAdd();
  apply(g, "--tensor-property=2:constant --attr-fpmath=tf32:true");
  EXPECT_EQ(g.tensor(2).property, PropertyType::constant);
  EXPECT_EQ(g.fpmathMode, "tf32");
  EXPECT_TRUE(g.fpmathApplyToInt);
  EXPECT_EQ(refuse(g, "--tensor-property=77:constant")[0].code,
            ErrorCode::UnknownTensor);
}

TEST(Overrides, likelySizesAreAdded) {
  Graph g = read(op(0, "Abs", "", tensor(0, "\"n\",3"), tensor(1, "\"n\",3")));
  g.sizeFacts["n"] = {1, 64, 1, {8}};
  apply(g, "--likely=n:8*4");
  EXPECT_EQ(g.sizeFacts["n"].likely, (std::vector<int64_t>{8, 4}));
  EXPECT_EQ(refuse(g, "--likely=n:65")[0].code, ErrorCode::BadSize);
  EXPECT_EQ(refuse(g, "--likely=m:4")[0].code, ErrorCode::BadSize);
  EXPECT_EQ(refuse(g, "--in-shapes=0:65x3")[0].code, ErrorCode::BadSize);
}

TEST(Overrides, nothingOnlyInfers) {
  Graph g = read(op(0, "Abs", "", tensor(0, "2,3"),
                    "{\"id\": 1, \"dtype\": "
                    "\"f32\"}"));
  apply(g, "");
  EXPECT_EQ(g.tensor(1).shape, (Dims{2, 3}));
}

} // namespace
