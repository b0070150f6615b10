// SPDX-License-Identifier: Apache-2.0
// Graphs nobody should write: each is an error with a code that fits and the
// operation's name, never a crash, a hang, or our own fault.
#include "compiler/driver/Session.h"
#include "tests/ops/GraphText.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <limits>

using namespace tenon;
using namespace tenon::test;
using graph::Graph;

namespace {

/// Errors of compiling `g`; empty when it compiles.
std::vector<Error> compileErrors(const Graph &g) {
  auto model = Compiled::compile(g, Options());
  return model ? std::vector<Error>() : model.errors();
}

/// Fails unless compiling `g` is an error `code`.
testing::AssertionResult failsWith(const Graph &g, ErrorCode code,
                                   std::string_view opKind = "") {
  std::vector<Error> errors = compileErrors(g);
  for (const Error &e : errors)
    if (e.code == code && e.str().find(opKind) != std::string::npos)
      return testing::AssertionSuccess();
  if (errors.empty())
    return testing::AssertionFailure() << "compiles";
  return testing::AssertionFailure() << str(errors);
}

/// Fails if compiling `g` blames Tenon; errors and success are both fine.
testing::AssertionResult copesWith(const Graph &g) {
  std::vector<Error> errors = compileErrors(g);
  for (const Error &e : errors)
    if (categoryOf(e.code) == ErrorCategory::internal)
      return testing::AssertionFailure() << str(errors);
  return testing::AssertionSuccess();
}

Graph graphOf(std::string_view text) {
  auto g = parseGraphOnly(text);
  EXPECT_TRUE(g) << str(g.errors());
  return g ? std::move(*g) : Graph();
}

struct Bad {
  const char *text;
  ErrorCode code;
};

TEST(Hostile, CodeAndOperation) {
  static const Bad cases[] = {
      {"Frobnicate 5x7", ErrorCode::UnknownOp},
      // Nothing says what it gives.
      {"Wildcard 5x7", ErrorCode::UnknownShape},
      // Types.
      {"MatMul 5x7/f16 7x11", ErrorCode::BadDType},
      {"ReLU 5x7/u8", ErrorCode::BadDType},
      {"y/f8_e4m3 = Quantize 5x7 scales=0.5 zps=1", ErrorCode::AttrValue},
      {"MatMul 5x7/f8_e4m3 7x11/f8_e4m3", ErrorCode::BadDType},
      {"ReLU 5x8/u4", ErrorCode::BadDType},
      {"ReLU 5x8/f64", ErrorCode::BadDType},
      {"MatMul 5x7/s8 7x11/s8", ErrorCode::BadDType},
      {"y/s32 = MatMul 5x7/s8 7x11", ErrorCode::BadDType},
      {"y/s32 = MatMul 5x7/s8 7x11/s8 11", ErrorCode::BadDType},
      {"y/s32 = Convolution 1x9x8x32/s32 3x3x1x32/s8 strides=1,1 "
       "pads_begin=1,1 pads_end=1,1 dilations=1,1 groups=32",
       ErrorCode::UnsupportedForm},
      {"y/f8_e4m3 = DynamicQuantize 5x7 1 1/s8", ErrorCode::BadDType},
      {"y/f32 = DynamicDequantize 5x7/s8 1/bf16", ErrorCode::BadDType},
      {"y/s8 = DynamicQuantize 5x7 5x2 qtype=per_group group_shape=1,4",
       ErrorCode::ShapeMismatch},
      {"y/f32 = DynamicDequantize 4x6/s4<8,1> 1", ErrorCode::UnsupportedForm},
      {"y/f32 = DynamicDequantize ?x6/s4 1", ErrorCode::UnsupportedForm},
      {"y/f32 = DynamicDequantize x:4x6/s4 1; out y x",
       ErrorCode::UnsupportedForm},
      // Small in memory, not once it is computed.
      {"a = Add 2147483648x1<0,0> 1x2147483648<0,0>; SoftMax a axis=1",
       ErrorCode::BadDim},
      {"y/s32 = TypeCast 5x7/s32", ErrorCode::BadDType},
      {"y/u8 = GenIndex 5x7 axis=0", ErrorCode::BadDType},
      {"y/s64 = Add 5x7/s64 5x7/s32", ErrorCode::BadDType},
      {"y/boolean = Subtract 5x7/boolean 5x7/boolean", ErrorCode::BadDType},
      {"y/s64 = Exp 5x7/s64", ErrorCode::BadDType},
      {"y/s32 = ReduceMean 5x7/s32 axes=1", ErrorCode::BadDType},
      {"And 5x7 5x7", ErrorCode::BadDType},
      {"Add 5x7 5x7/s32", ErrorCode::UnsupportedDType},
      {"Select 5x7 5x7 5x7", ErrorCode::BadDType},
      // Operands, shapes, attributes.
      {"Add 5x7", ErrorCode::OperandCount},
      {"ReLU 5x7 5x7", ErrorCode::OperandCount},
      {"a,b = ReLU 5x7", ErrorCode::OperandCount},
      {"MatMul 5x7 8x11", ErrorCode::ShapeMismatch},
      {"Add 5x7 5x8", ErrorCode::ShapeMismatch},
      {"Concat 5x7 5x8 axis=0", ErrorCode::ShapeMismatch},
      {"Clamp 5x7 min=1", ErrorCode::MissingAttr},
      {"Clamp 5x7 min=2 max=1", ErrorCode::AttrValue},
      {"ReLU 5x7 colour=blue", ErrorCode::UnknownAttr},
      {"GELU 5x7 mode=guess", ErrorCode::AttrValue},
      {"ReduceSum 5x7 axes=2", ErrorCode::AttrValue},
      {"ReduceSum 5x7 axes=0,0", ErrorCode::AttrValue},
      {"StaticTranspose 5x7 order=0,0", ErrorCode::AttrValue},
      {"StaticReshape 5x7 shape=-1,-1 special_zero=false",
       ErrorCode::AttrValue},
      {"SoftPlus 5x7 beta=0", ErrorCode::AttrValue},
      {"y/s32 = GenIndex 5x7 axis=2", ErrorCode::AttrValue},
      {"y/s32 = GenIndex () axis=0", ErrorCode::AttrValue},
      {"y/s8 = Quantize 5x7 scales=0", ErrorCode::AttrValue},
      {"y/s8 = Quantize 5x7 qtype=per_channel axis=7 scales=1",
       ErrorCode::AttrValue},
      {"y/s8 = Quantize 5x7 qtype=per_channel scales=1,2",
       ErrorCode::AttrValue},
      {"y/s8 = DynamicQuantize 5x7 2", ErrorCode::ShapeMismatch},
      {"y/f32 = DynamicDequantize 5x7/u8 5x2 qtype=per_group group_shape=1,4",
       ErrorCode::ShapeMismatch},
      {"y/f32 = DynamicDequantize 5x7/u8 5x2 qtype=per_group",
       ErrorCode::MissingAttr},
      {"y/s8 = DynamicQuantize 5x? ? ?/s8 qtype=per_channel",
       ErrorCode::UnsupportedForm},
      {"Dropout 5x7 2/s64 1/s64 1", ErrorCode::ShapeMismatch},
      // Per channel, not along the last dim.
      {"d,s = PReLUBackward 2x3x4 4 2x3x4 data_format=NCX",
       ErrorCode::ShapeMismatch},
  };
  for (const Bad &bad : cases) {
    Graph g = graphOf(bad.text);
    EXPECT_TRUE(failsWith(g, bad.code, g.ops[0].kind)) << bad.text;
  }
}

TEST(Hostile, WindowsThatDoNotFit) {
  std::string conv = "Convolution 1x5x5x3 3x3x3x4c ";
  std::string pool = "MaxPool 1x5x5x3 ";
  for (const std::string &text :
       {conv + "strides=0,1 pads_begin=0,0 pads_end=0,0 dilations=1,1",
        conv + "strides=1,1 pads_begin=-1,0 pads_end=0,0 dilations=1,1",
        conv + "strides=1,1 pads_begin=0,0 pads_end=0,0 dilations=0,1",
        conv + "strides=1,1 pads_begin=0,0 pads_end=0,0 dilations=3,3",
        conv + "strides=1 pads_begin=0,0 pads_end=0,0 dilations=1,1",
        conv + "strides=1,1 pads_begin=0,0 pads_end=0,0 dilations=1,1 "
               "groups=0",
        conv + "strides=1,1 pads_begin=0,0 pads_end=0,0 dilations=1,1 "
               "groups=2",
        conv + "strides=1,1 pads_begin=0,0 pads_end=0,0 "
               "dilations=9223372036854775807,1",
        conv + "strides=1,1 pads_begin=9223372036854775807,0 "
               "pads_end=9223372036854775807,0 dilations=1,1",
        pool + "strides=1,1 pads_begin=0,0 pads_end=0,0 kernel=0,1",
        pool + "strides=0,1 pads_begin=0,0 pads_end=0,0 kernel=2,2",
        pool + "strides=1,1 pads_begin=0,0 pads_end=0,0 kernel=9,9",
        pool + "strides= pads_begin=0,0 pads_end=0,0 kernel=2,2",
        pool + "strides=1,1 pads_begin=0,0 pads_end=0,0 kernel=",
        pool + "strides=1,1 pads_begin=0,0 pads_end=0,0 kernel=2,2 dilations=",
        conv + "strides= pads_begin=0,0 pads_end=0,0 dilations=1,1",
        conv + "strides=1,1 pads_begin=0,0 pads_end=0,0 dilations="}) {
    std::vector<Error> errors = compileErrors(graphOf(text));
    ASSERT_FALSE(errors.empty()) << text;
    EXPECT_EQ(categoryOf(errors[0].code), ErrorCategory::user)
        << text << ": " << str(errors);
    EXPECT_FALSE(errors[0].opKind.empty()) << str(errors);
  }
}

TEST(Hostile, UnknownShapes) {
  for (const char *text :
       {"Convolution 1x?x5x3 3x3x3x4c strides=1,1 pads_begin=0,0 "
        "pads_end=0,0 dilations=1,1",
        "MaxPool 1x?x5x3 strides=1,1 pads_begin=0,0 pads_end=0,0 kernel=2,2",
        "MaxPool 1x?x5x3 strides=2,2 pads_begin=0,0 pads_end=0,0 kernel=2,2 "
        "auto_pad=SAME_UPPER",
        "StaticReshape ?x7 shape=7,-1 special_zero=false",
        "StaticReshape ?x? shape=0,0,1 special_zero=true",
        "StaticTranspose ?x?x3 order=2,1,0",
        "Concat ?x3 ?x3 axis=1",
        "Concat ?x3 ?x3 axis=0",
        "Add ?x3 ?x3",
        "Add ?x1 1x?",
        "MatMul 5x? ?x11",
        "MatMul ?x7 7x?",
        "MatMul ?x?x7 ?x7x11",
        "SoftMax 5x? axis=1",
        "SoftMax ?x? axis=0",
        "LayerNorm 5x? "
        "keep_stats=false use_affine=false",
        "ReduceSum ?x? axes=0",
        "Reorder ?x?",
        "Select ?/boolean ?x? ()",
        "BiasAdd ?x? 7",
        "BatchNormInference ?x?x3 3c 3c 3c 3c epsilon=1",
        "Tanh ?x?x?x?x?"})
    EXPECT_TRUE(copesWith(graphOf(text))) << text;
  for (const char *text :
       {"ReLU 5x7", "Add 5x7 7", "MatMul 5x7 7x11", "SoftMax 5x7 axis=1",
        "ReduceSum 5x7 axes=0", "StaticTranspose 5x7 order=1,0"}) {
    Graph g = graphOf(text);
    g.tensor(g.inputPorts[0]).shape.reset();
    std::vector<Error> errors = compileErrors(g);
    ASSERT_FALSE(errors.empty()) << text;
    EXPECT_NE(categoryOf(errors[0].code), ErrorCategory::internal)
        << text << ": " << str(errors);
  }
}

TEST(Hostile, StructureOfTheGraph) {
  EXPECT_TRUE(copesWith(Graph())); // nothing at all

  Graph cycle = graphOf("a = ReLU 5x7; b = Abs a");
  cycle.ops[0].inputs[0] = cycle.ops[1].outputs[0];
  EXPECT_TRUE(failsWith(cycle, ErrorCode::Cycle));

  Graph self = graphOf("ReLU 5x7");
  self.ops[0].inputs[0] = self.ops[0].outputs[0];
  EXPECT_TRUE(failsWith(self, ErrorCode::Cycle));

  Graph producers = graphOf("a = ReLU x:5x7; b = Abs x");
  producers.ops[1].outputs[0] = producers.ops[0].outputs[0];
  EXPECT_TRUE(failsWith(producers, ErrorCode::TwoProducers));

  Graph ids = graphOf("a = ReLU x:5x7; b = Abs x");
  ids.ops[1].id = ids.ops[0].id;
  EXPECT_TRUE(failsWith(ids, ErrorCode::DuplicateOpId));

  Graph port = graphOf("ReLU 5x7");
  port.outputPorts.push_back(99);
  EXPECT_TRUE(failsWith(port, ErrorCode::BadPort));

  Graph tensor = graphOf("ReLU 5x7");
  tensor.ops[0].inputs[0] = 99;
  EXPECT_TRUE(copesWith(tensor));
  EXPECT_FALSE(compileErrors(tensor).empty());

  Graph type = graphOf("ReLU 5x7");
  type.tensor(type.inputPorts[0]).dtype = graph::DType::undef;
  EXPECT_TRUE(copesWith(type));
  EXPECT_FALSE(compileErrors(type).empty());

  Graph wildcard = graphOf("Wildcard 5x7");
  wildcard.tensor(wildcard.ops[0].outputs[0]).shape = {5, 7};
  EXPECT_TRUE(failsWith(wildcard, ErrorCode::UnsupportedOp, "Wildcard"));

  Graph attr = graphOf("SoftMax 5x7 axis=1");
  attr.ops[0].attrs["axis"] = std::string("1");
  EXPECT_TRUE(failsWith(attr, ErrorCode::AttrType, "SoftMax"));
}

TEST(Hostile, NamesAndNumbers) {
  Graph names = graphOf("a = ReLU 5x7; b = MatMul a 7x11c; SoftMax b axis=1");
  std::string bytes;
  for (int c = 1; c < 256; ++c)
    bytes += char(c);
  names.ops[0].name = bytes;
  names.ops[1].name = "%s%n\"); \\0a @main { } //";
  names.ops[2].name = std::string(100000, 'x');
  EXPECT_EQ(str(compileErrors(names)), "");
  names.ops[0].name = std::string("\0\0", 2);
  names.ops[1].name = names.ops[2].name = "";
  EXPECT_EQ(str(compileErrors(names)), "");

  float inf = std::numeric_limits<float>::infinity();
  for (float value :
       {inf, -inf, std::numeric_limits<float>::quiet_NaN(), 1e-45f, -0.0f}) {
    Graph g = graphOf("Elu 5x7 alpha=1");
    g.ops[0].attrs["alpha"] = value;
    EXPECT_TRUE(copesWith(g)) << value;
    g = graphOf("Clamp 5x7 min=0 max=1");
    g.ops[0].attrs["max"] = value;
    EXPECT_TRUE(copesWith(g)) << value;
    g = graphOf("Pow 5x7 beta=1");
    g.ops[0].attrs["beta"] = value;
    EXPECT_TRUE(copesWith(g)) << value;
  }
  // Ids that are no others', in a graph of many.
  std::string chain = "a0 = ReLU x:5x7";
  for (int i = 1; i < 60; ++i)
    chain += "; a" + std::to_string(i) + " = ReLU a" + std::to_string(i - 1);
  for (uint64_t id : {UINT64_MAX, UINT64_MAX - 1}) {
    Graph last = graphOf(chain + "; y = Add a59 x");
    uint64_t x = last.ops[0].inputs[0];
    last.tensors.emplace(id, last.tensor(x)).first->second.id = id;
    last.tensors.erase(x);
    for (graph::Op &op : last.ops)
      std::replace(op.inputs.begin(), op.inputs.end(), x, id);
    std::replace(last.inputPorts.begin(), last.inputPorts.end(), x, id);
    EXPECT_EQ(str(compileErrors(last)), "");
  }
  Graph big = graphOf("MatMul 5x7 7x11");
  big.tensors.emplace(UINT64_MAX, big.tensor(2)).first->second.id = UINT64_MAX;
  big.ops[0].outputs[0] = UINT64_MAX;
  big.ops[0].id = UINT64_MAX;
  big.tensors.erase(2);
  EXPECT_TRUE(copesWith(big));
}

TEST(Hostile, SizesBeyondMemory) {
  for (const char *text :
       {"ReLU 1099511627776", "ReLU 4294967296x4294967296x4294967296",
        "Add 9223372036854775807x1 1x2", "Add 2147483648x1 1x2147483648",
        "MatMul 2147483648x1 1x2147483648", "MatMul 3037000500x7 7x3037000500",
        "Concat 9223372036854775807x1 9223372036854775807x1 axis=0",
        "ReduceSum 9223372036854775807 axes=0",
        "StaticReshape 5x7 shape=9223372036854775807,2 special_zero=false",
        "ReLU 9223372036854775807x0", "MatMul 5x7 7x1000000000000c"})
    EXPECT_TRUE(copesWith(graphOf(text))) << text;

  Graph negative = graphOf("ReLU 5x7");
  (*negative.tensor(0).shape)[0] = -5;
  EXPECT_TRUE(copesWith(negative));
  EXPECT_FALSE(compileErrors(negative).empty());
  Graph deep = graphOf("ReLU 1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1");
  EXPECT_TRUE(copesWith(deep));
  EXPECT_FALSE(compileErrors(deep).empty());
}

TEST(Hostile, Strides) {
  // Too few, too many, negative, overflowing, several elements in one place.
  for (const char *text :
       {"ReLU 5x7<1>", "ReLU 5x7<7,1,1>", "ReLU 5x7<-7,1>",
        "ReLU 5x7<9223372036854775807,9223372036854775807>"}) {
    Graph g = graphOf(text);
    EXPECT_TRUE(copesWith(g)) << text;
    EXPECT_FALSE(compileErrors(g).empty()) << text;
  }
  for (const char *text :
       {"ReLU 5x7<0,0>", "ReLU 5x7<0,1>", "ReLU 5x7<1,1>", "y<0,1> = ReLU 5x7",
        "y<1,1> = ReLU 5x7", "y<-7,1> = ReLU 5x7"})
    EXPECT_TRUE(copesWith(graphOf(text))) << text;
}

/// Errors of loading `text` from a file named *.`extension`, else of compiling.
std::vector<Error> loadErrors(const std::string &text,
                              const std::string &extension) {
  std::string path = testing::TempDir() + "/hostile." + extension;
  std::ofstream(path, std::ios::binary) << text;
  auto model = readModel(path);
  std::remove(path.c_str());
  return model ? compileErrors(model->graph) : model.errors();
}

TEST(Hostile, Files) {
  std::string nested(200000, '[');
  for (const std::string &text :
       {std::string(), std::string("{"), std::string("null"), std::string("[]"),
        std::string("{\"graph\": 3}"),
        std::string("{\"graph\": [{\"kind\": 7}]}"),
        std::string("{\"graph\": [{\"id\": 0, \"name\": \"x\"}]}"),
        std::string("{\"graph\": [{\"id\": -1, \"name\": \"x\", \"kind\": "
                    "\"ReLU\", \"inputs\": 7}]}"),
        std::string("\xff\xfe\x00\x01", 4), nested, "{\"graph\": " + nested}) {
    std::vector<Error> errors = loadErrors(text, "json");
    ASSERT_FALSE(errors.empty()) << text.substr(0, 60);
    EXPECT_EQ(categoryOf(errors[0].code), ErrorCategory::user)
        << text.substr(0, 60) << ": " << str(errors);
  }
  EXPECT_FALSE(readModel("/nowhere/at/all.json"));
  EXPECT_FALSE(readModel("/nowhere/at/all.mlir"));
  EXPECT_FALSE(loadErrors("{}", "onnx").empty());
}

TEST(Hostile, IrText) {
  std::string loop = "func.func @main(%a: tensor<5xf32>) -> tensor<5xf32> {\n";
  std::string relu = "  %0 = graph.ReLU %a : (tensor<5xf32>) -> "
                     "tensor<5xf32>\n";
  std::string end = "  return %0 : tensor<5xf32>\n}\n";
  for (const std::string &text :
       {std::string("module {"), std::string("garbage"),
        std::string("func.func private @main()"),
        std::string("\"nobody.knows\"() : () -> ()"),
        std::string("llvm.func @main() { llvm.return }"),
        std::string("func.func @main(%a: memref<5xf32>) { return }"),
        loop + "  cf.br ^bb1\n^bb1:\n" + relu + end,
        loop + "  %0 = arith.addf %a, %a : tensor<5xf32>\n" + end,
        loop +
            "  %0 = func.call @main(%a) : (tensor<5xf32>) -> "
            "tensor<5xf32>\n" +
            end,
        loop + "  %0 = graph.ReLU %a : (tensor<5xf32>) -> tensor<6xf32>\n" +
            end,
        loop +
            "  %0 = graph.Nothing %a : (tensor<5xf32>) -> "
            "tensor<5xf32>\n" +
            end,
        loop +
            "  %0 = graph.ReLU %a, %a : (tensor<5xf32>, tensor<5xf32>) "
            "-> tensor<5xf32>\n" +
            end,
        std::string("func.func @other(%a: tensor<5x!graph.undef>) { return }"),
        "module { module { " + loop + relu + end + "}}",
        std::string(100000, '('), std::string("\0\0\0", 3)}) {
    std::vector<Error> errors = loadErrors(text, "mlir");
    for (const Error &e : errors)
      EXPECT_NE(categoryOf(e.code), ErrorCategory::internal)
          << text.substr(0, 200) << "\n"
          << str(errors);
    EXPECT_FALSE(errors.empty()) << text.substr(0, 200);
  }
  // The test can succeed: this is how it is written.
  EXPECT_EQ(str(loadErrors(loop + relu + end, "mlir")), "");
}

} // namespace
