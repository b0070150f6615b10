// SPDX-License-Identifier: Apache-2.0
//
// What tests/onnx does not show: models that are wrong.
#include "compiler/import/onnx/TestModels.h"

#include "compiler/import/onnx/Conversions.h"
#include "compiler/import/onnx/Summary.h"

#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::onnx;
using namespace tenon::onnx::test;

namespace {

Error failureOf(const ModelProto &model) {
  auto imported = importModel(model);
  EXPECT_FALSE(imported);
  return imported ? Error{} : imported.errors().front();
}

TEST(OnnxImporter, MakesAGraphOfWhatIsRead) {
  ModelProto model = modelOf(nodeOf("Add", {"x", "w"}));
  model.graph.inputs = {port("x", DataType::f32, {2, 3}),
                        port("unread", DataType::f32, {5})};
  model.graph.initializers = {ones("w", DataType::f32, {3}),
                              ones("v", DataType::f32, {7})};
  auto imported = importModel(model);
  ASSERT_TRUE(imported) << str(imported.errors());
  EXPECT_EQ(imported->graph.ops.size(), 1u);
  EXPECT_EQ(imported->weights.size(), 1u);
  EXPECT_EQ(imported->inputs.size(), 2u);
  EXPECT_TRUE(imported->inputs[0].id);
  EXPECT_FALSE(imported->inputs[1].id);
}

TEST(OnnxImporter, ErrorsNameTheNode) {
  NodeProto node = nodeOf("Nonsense");
  node.name = "first";
  Error error = failureOf(modelOf(node));
  EXPECT_EQ(error.code, ErrorCode::UnsupportedOp);
  EXPECT_EQ(error.opKind, "Nonsense (ai.onnx 17)");
  EXPECT_EQ(error.opName, "first");

  node.opType = "Relu";
  node.domain = "com.example";
  EXPECT_EQ(failureOf(modelOf(node)).code, ErrorCode::UnsupportedOp);

  node.domain = "";
  node.inputs = {"y"}; // its own result
  EXPECT_EQ(failureOf(modelOf(node)).code, ErrorCode::UnknownTensor);

  node.inputs = {"x"};
  ModelProto model = modelOf(node);
  model.graph.inputs = {port("x", DataType::complex64, {2})};
  EXPECT_EQ(failureOf(model).code, ErrorCode::UnsupportedDType);
  int64_t many = int64_t{1} << 40;
  for (const graph::Dims &dims :
       {graph::Dims{many, many}, graph::Dims{2, -2}}) {
    model.graph.inputs = {port("x", DataType::f32, dims)};
    EXPECT_EQ(failureOf(model).code, ErrorCode::BadDim);
  }
}

// Users learn all that is missing, and nothing that only follows from it.
TEST(OnnxImporter, ErrorsOfAllNodesAreTold) {
  auto node = [](std::string_view opType, std::string_view input,
                 std::string_view output) {
    NodeProto made = nodeOf(opType, {input});
    made.outputs = {output};
    return made;
  };
  ModelProto model = modelOf(nodeOf("Add", {"b", "d"}));
  NodeProto last = model.graph.nodes.front();
  model.graph.nodes = {node("Foo", "x", "a"), node("Relu", "a", "b"),
                       node("Foo", "x", "c"), node("Relu", "x", "d"),
                       node("Bar", "d", "e"), last};
  model.graph.inputs = {port("x", DataType::f32, {3}),
                        port("q", DataType::complex64, {3})};
  model.graph.nodes.push_back(node("Relu", "q", "r"));
  std::vector<ConvertedNode> nodes;
  ImportOptions options;
  options.nodes = &nodes;
  auto imported = importModel(model, options);
  ASSERT_FALSE(imported);
  const std::vector<Error> &errors = imported.errors();
  ASSERT_EQ(errors.size(), 3u) << str(errors);
  EXPECT_EQ(errors[0].code, ErrorCode::UnsupportedDType);
  EXPECT_EQ(errors[1].opKind, "Foo (ai.onnx 17)");
  EXPECT_EQ(errors[1].opName, "a");
  EXPECT_EQ(errors[1].message, "this operator is not converted (and of \"c\")");
  EXPECT_EQ(errors[2].opKind, "Bar (ai.onnx 17)");
  ModelSummary summary = summarize(model, nodes, nullptr);
  using Operator = ModelSummary::Operator;
  EXPECT_EQ(summary.sum(&Operator::nodes), 7);
  EXPECT_EQ(summary.sum(&Operator::failed), 3);
  EXPECT_EQ(summary.sum(&Operator::waiting), 3);
  EXPECT_EQ(summary.operators.front().name, "Relu");
  EXPECT_EQ(summary.inputs[1].type, "complex64[3]");

  // Their number is bounded.
  std::vector<std::string> names;
  for (int i = 0; i < 200; ++i)
    names.push_back("Foo" + std::to_string(i));
  model.graph.nodes.clear();
  for (const std::string &name : names)
    model.graph.nodes.push_back(node(name, "x", name));
  auto many = importModel(model);
  ASSERT_FALSE(many);
  EXPECT_EQ(many.errors().size(), 50u);
  EXPECT_EQ(many.errors().back().message, "and 153 errors more");
}

TEST(OnnxImporter, SummariesTellWhatIsFolded) {
  ModelProto model = modelOf(nodeOf("Reshape", {"x", "s"}));
  NodeProto shape = nodeOf("Shape", {"x"});
  shape.outputs = {"s"};
  model.graph.nodes.insert(model.graph.nodes.begin(), shape);
  model.graph.inputs = {port("x", DataType::f32, {2, 3}),
                        port("unread", DataType::f32, {0})};
  model.graph.inputs[1].shape->front() = {.value = std::nullopt, .name = "n"};
  std::vector<ConvertedNode> nodes;
  ImportOptions options;
  options.nodes = &nodes;
  auto imported = importModel(model, options);
  ASSERT_TRUE(imported) << str(imported.errors());
  ModelSummary summary = summarize(model, nodes, &*imported);
  ASSERT_EQ(summary.operators.size(), 2u);
  for (const ModelSummary::Operator &op : summary.operators) {
    EXPECT_EQ(op.folded, op.name == "Shape") << op.name;
    EXPECT_EQ(op.opset, 17);
  }
  EXPECT_EQ(summary.inputs[1].type, "f32[n]");
  EXPECT_FALSE(summary.inputs[1].isRead);
  EXPECT_TRUE(summary.inputs[1].isOpen);
  EXPECT_EQ(summary.outputs[0].type, "f32[2, 3]");
}

// Inputs and outputs keep the type that the model gives them.
TEST(OnnxImporter, DoublesAreComputedInF32) {
  ModelProto model = modelOf(nodeOf("Add", {"x", "w"}));
  model.graph.inputs = {port("x", DataType::f64, {2})};
  model.graph.outputs.front().type = DataType::f64;
  TensorProto weight;
  weight.name = "w";
  weight.type = DataType::f64;
  weight.dims = {2};
  weight.doubles = {0.1, 3};
  model.graph.initializers = {weight};
  for (bool isBound : {false, true}) {
    ImportOptions options;
    if (isBound)
      options.numbers["x"] = {1, 2};
    auto imported = importModel(model, options);
    ASSERT_TRUE(imported) << str(imported.errors());
    EXPECT_TRUE(imported->hasDoubles);
    const graph::Graph &graph = imported->graph;
    EXPECT_EQ(graph.tensor(*imported->outputs[0].id).dtype, graph::DType::f64);
    for (const graph::Op &op : graph.ops)
      if (op.kind == "Add")
        EXPECT_EQ(graph.tensor(op.outputs[0]).dtype, graph::DType::f32);
  }
}

// Two dims that are called "?" are two sizes.
TEST(OnnxImporter, QuestionMarksAreNoNames) {
  ModelProto model = modelOf(nodeOf("Relu", {"x"}));
  model.graph.inputs = {port("x", DataType::f32, {0, -1, 0})};
  for (size_t i : {0, 2})
    (*model.graph.inputs[0].shape)[i] = {.value = std::nullopt, .name = "?"};
  auto imported = importModel(model);
  ASSERT_TRUE(imported) << str(imported.errors());
  const graph::LogicalTensor &x =
      imported->graph.tensor(imported->graph.inputPorts.at(0));
  EXPECT_EQ(x.sizes, (std::vector<std::string>{"x_0", "x_1", "x_2"}));
  ModelSummary summary = summarize(model, {}, &*imported);
  EXPECT_EQ(summary.inputs[0].type, "f32[x_0, x_1, x_2]");
}

TEST(OnnxImporter, FunctionsAreTheirNodes) {
  FunctionProto function;
  function.name = "Scaled";
  function.domain = "local";
  function.inputs = {"a"};
  function.outputs = {"r"};
  NodeProto inner = nodeOf("LeakyRelu", {"a"});
  inner.outputs = {"r"};
  inner.attributes.emplace_back().name = "alpha";
  inner.attributes.back().reference = "slope";
  function.nodes = {inner};
  AttributeProto slope;
  slope.name = "slope";
  slope.f = 0.5f;
  auto alphaOf = [&](bool given, bool hasDefault) {
    NodeProto node = nodeOf("Scaled", {"x"});
    node.domain = "local";
    if (given)
      node.attributes = {slope};
    ModelProto model = modelOf(node);
    model.graph.inputs = {port("x", DataType::f32, {3})};
    model.functions = {function};
    if (hasDefault) {
      model.functions[0].defaults = {slope};
      model.functions[0].defaults[0].f = 0.25f;
    }
    auto imported = importModel(model);
    EXPECT_TRUE(imported) << str(imported.errors());
    return imported ? imported->graph.ops.at(0).attrOr<float>("alpha", 0) : 0;
  };
  EXPECT_EQ(alphaOf(true, true), 0.5f);
  EXPECT_EQ(alphaOf(false, true), 0.25f);
  EXPECT_EQ(alphaOf(false, false), 0.01f); // the operator's own

  // One that calls itself ends.
  NodeProto again = nodeOf("Scaled", {"a"});
  again.domain = "local";
  again.outputs = {"r"};
  function.nodes = {again};
  NodeProto node = nodeOf("Scaled", {"x"});
  node.domain = "local";
  ModelProto model = modelOf(node);
  model.graph.inputs = {port("x", DataType::f32, {3})};
  model.functions = {function};
  EXPECT_EQ(failureOf(model).code, ErrorCode::TooLarge);
}

/// Sums of any length are exact, in s32.
TEST(OnnxImporter, ConvolutionsOfIntegersStayIntegers) {
  ModelProto model = modelOf(nodeOf("ConvInteger", {"x", "w", "z"}));
  model.graph.inputs = {port("x", DataType::u8, {1, 512, 9, 9}),
                        port("w", DataType::s8, {8, 512, 3, 3}),
                        port("z", DataType::u8, {})};
  auto imported = importModel(model);
  ASSERT_TRUE(imported) << str(imported.errors());
  const graph::Graph &graph = imported->graph;
  for (const graph::Op &op : graph.ops)
    for (uint64_t id : op.inputs)
      EXPECT_FALSE(graph::isFloat(graph.tensor(id).dtype)) << op.kind;
}

/// Images of bytes are resampled in f32 and are bytes again.
TEST(OnnxImporter, ResizesBytes) {
  ModelProto model = modelOf(nodeOf("Resize", {"x", "", "scales"}), 13);
  TensorProto scales;
  scales.name = "scales";
  scales.type = DataType::f32;
  scales.dims = {4};
  scales.floats = {1, 1, 2, 2};
  model.graph.initializers = {scales};
  for (DataType type : {DataType::u8, DataType::s64}) {
    model.graph.inputs = {port("x", type, {1, 3, 4, 4})};
    auto imported = importModel(model);
    // Elements of 64 bits would be rounded.
    ASSERT_EQ(bool(imported), type == DataType::u8);
    if (imported)
      EXPECT_EQ(imported->graph.tensor(*imported->outputs[0].id).dtype,
                graph::DType::u8);
  }
}

/// Exporters name all results. What nobody reads is no output of the graph.
/// Models in f16 have scales, biases and statistics in f16, too.
TEST(OnnxImporter, NormsTakeHalfPrecision) {
  for (auto [opType, inputs] : {std::pair{"BatchNormalization", 5},
                                {"LayerNormalization", 3},
                                {"LayerNormalization", 2},
                                {"InstanceNormalization", 3}}) {
    SCOPED_TRACE(opType);
    static constexpr std::string_view names[] = {"x", "a", "b", "c", "d"};
    ModelProto model =
        modelOf(nodeOf(opType, std::vector(names, names + inputs)));
    bool isLast = std::string_view(opType) == "LayerNormalization";
    model.graph.inputs = {port("x", DataType::f16, {2, 3, 4})};
    for (int i = 1; i < inputs; ++i)
      model.graph.inputs.push_back(
          port(names[i], DataType::f16, {isLast ? 4 : 3}));
    auto imported = importModel(model);
    ASSERT_TRUE(imported) << str(imported.errors());
    const Port &y = imported->outputs.at(0);
    EXPECT_EQ(imported->graph.tensors.at(*y.id).dtype, graph::DType::f16);
  }
}

TEST(OnnxImporter, LeavesOutResultsThatNobodyReads) {
  for (bool readsState : {false, true}) {
    ModelProto model = modelOf(nodeOf("GRU", {"x", "w", "r"}));
    AttributeProto &hidden = model.graph.nodes[0].attributes.emplace_back();
    hidden.name = "hidden_size";
    hidden.i = 4;
    model.graph.nodes[0].outputs = {"y", "state"};
    model.graph.inputs = {port("x", DataType::f32, {5, 2, 3}),
                          port("w", DataType::f32, {1, 12, 3}),
                          port("r", DataType::f32, {1, 12, 4})};
    if (readsState)
      model.graph.outputs.push_back(port("state", DataType::f32, {}));
    auto imported = importModel(model);
    ASSERT_TRUE(imported) << str(imported.errors());
    const graph::Graph &graph = imported->graph;
    EXPECT_EQ(graph.outputPorts.size(), readsState ? 2u : 1u);
    for (const graph::Op &op : graph.ops)
      if (op.kind == "GRU")
        EXPECT_EQ(op.outputs.size(), readsState ? 2u : 1u);
  }
}

TEST(OnnxImporter, BoundInputsAreKnown) {
  ModelProto model = modelOf(nodeOf("Reshape", {"x", "shape"}));
  model.graph.inputs = {port("x", DataType::f32, {6}),
                        port("shape", DataType::s64, {2})};
  ImportOptions options;
  options.numbers["shape"] = {2, 3};
  auto imported = importModel(model, options);
  ASSERT_TRUE(imported) << str(imported.errors());
  EXPECT_EQ(imported->graph.ops.at(0).kind, "StaticReshape");
  EXPECT_EQ(imported->graph.inputPorts.size(), 1u);
  options.numbers["shape"] = {1, 2, 3};
  auto wrong = importModel(model, options);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.errors().front().code, ErrorCode::BadTensorData);
}

TEST(OnnxImporter, OperatorsBelongToDomains) {
  EXPECT_FALSE(findConversion("com.microsoft", "Relu", 17));
  EXPECT_FALSE(findConversion("", "QuickGelu", 17));
  const OpConversion *row = findConversion("com.microsoft", "QuickGelu", 1);
  ASSERT_TRUE(row);
  EXPECT_EQ(row->domain, kMicrosoftDomain);
  EXPECT_EQ(findConversion("ai.onnx", "Relu", 17),
            findConversion("", "Relu", 17));

  // A domain that is used without being declared has its first version.
  NodeProto node = nodeOf("QuickGelu", {"x"});
  node.domain = "com.microsoft";
  ModelProto model = modelOf(node);
  model.graph.inputs = {port("x", DataType::f32, {2})};
  auto imported = importModel(model);
  EXPECT_TRUE(imported) << str(imported.errors());
}

// The batch and the number of steps need not be known.
TEST(OnnxImporter, TransformersTakeUnknownSizes) {
  auto with = [](std::string_view opType, std::vector<graph::Dims> shapes,
                 std::vector<std::pair<std::string_view, int64_t>> numbers) {
    static const std::vector<std::string_view> names{"a", "b", "c", "d",
                                                     "e", "f", "g"};
    NodeProto node = nodeOf(opType);
    node.domain = "com.microsoft";
    node.inputs.assign(names.begin(), names.begin() + shapes.size());
    for (auto [name, number] : numbers) {
      AttributeProto &attribute = node.attributes.emplace_back();
      attribute.name = name;
      attribute.i = number;
    }
    ModelProto model = modelOf(node);
    for (size_t i = 0; i < shapes.size(); ++i) {
      bool isIndex = opType == "GroupQueryAttention" && i > 4;
      DataType type = isIndex ? DataType::s32 : DataType::f32;
      ValueInfoProto &input =
          model.graph.inputs.emplace_back(port(names[i], type, shapes[i]));
      for (DimProto &dim : *input.shape)
        if (dim.value == 0)
          dim.value.reset();
    }
    auto imported = importModel(model);
    EXPECT_TRUE(imported) << opType << ": " << str(imported.errors());
  };
  with("SkipLayerNormalization", {{0, 0, 8}, {0, 0, 8}, {8}, {8}}, {});
  with("MultiHeadAttention", {{0, 0, 8}, {0, 0, 8}, {0, 0, 8}},
       {{"num_heads", 2}});
  with("Attention", {{0, 0, 8}, {8, 24}, {24}, {0, 0}}, {{"num_heads", 2}});
  with("GroupQueryAttention",
       {{0, 0, 32},
        {0, 0, 16},
        {0, 0, 16},
        {0, 1, 0, 16},
        {0, 1, 0, 16},
        {0},
        {}},
       {{"num_heads", 2}, {"kv_num_heads", 1}});
}

// Weights of 4 bits are the bytes of the model, not copies.
TEST(OnnxImporter, ReadsBytesAsCodesOfFourBits) {
  NodeProto node = nodeOf("MatMulNBits", {"a", "b", "s"});
  node.domain = "com.microsoft";
  for (auto [name, number] :
       {std::pair{"K", 32}, {"N", 2}, {"bits", 4}, {"block_size", 16}}) {
    AttributeProto &attribute = node.attributes.emplace_back();
    attribute.name = name;
    attribute.i = number;
  }
  ModelProto model = modelOf(node);
  model.graph.inputs = {port("a", DataType::f32, {3, 32})};
  std::string bytes(2 * 2 * 8, '\x21');
  TensorProto codes = ones("b", DataType::u8, {2, 2, 8});
  codes.raw = bytes;
  codes.isRaw = true;
  model.graph.initializers = {codes, ones("s", DataType::f32, {2, 2})};
  auto imported = importModel(model);
  ASSERT_TRUE(imported) << str(imported.errors());
  size_t views = 0;
  for (auto &[id, tensor] : imported->weights)
    if (tensor->type == DataType::u4) {
      ++views;
      EXPECT_EQ(tensor->raw.data(), bytes.data());
      EXPECT_EQ(tensor->dims, (graph::Dims{2, 32}));
      EXPECT_EQ(imported->graph.tensors.at(id).dtype, graph::DType::u4);
    }
  EXPECT_EQ(views, 1u);

  // Other sizes than those of the bytes.
  model.graph.initializers[0].dims = {2, 2, 9};
  EXPECT_EQ(failureOf(model).code, ErrorCode::UnsupportedForm);
}

/// Attributes that some operators have, with numbers that are right for few.
std::vector<AttributeProto> strangeAttributes(size_t which) {
  std::vector<AttributeProto> attributes;
  if (which == 0)
    return attributes;
  auto add = [&](std::string_view name) -> AttributeProto & {
    attributes.emplace_back().name = name;
    return attributes.back();
  };
  int64_t number = which == 1 ? -7 : 3;
  for (const char *name : {"axis", "batch_dims", "group", "to", "num_groups",
                           "k", "p", "size", "output_height", "num_heads",
                           "q_num_heads", "kv_num_heads", "do_rotary", "K", "N",
                           "bits", "block_size", "blocksize", "max_skip_count"})
    add(name).i = number;
  for (const char *name :
       {"axes", "kernel_shape", "pads", "strides", "perm", "dilations", "split",
        "starts", "ends", "output_shape", "output_padding", "qkv_hidden_sizes",
        "pool_int64s", "ngram_counts", "ngram_indexes"})
    add(name).ints = {number, 0, which == 1 ? 1 : 2};
  add("equation").s = which == 1 ? "i->" : "ii,...k";
  add("scales").floats = {0, -1, 1e30f};
  return attributes;
}

// Any operands give a graph or an error; nothing is read that is not there.
TEST(OnnxImporter, EveryConversionTakesAnyOperands) {
  const std::vector<std::string_view> names{"a", "b", "c", "d",
                                            "e", "f", "g", "h"};
  const std::vector<graph::Dims> shapes{
      {}, {0}, {3}, {2, 3}, {1, 2, 3}, {2, 4, 3, 3}, {1, 2, 1, 3, 2}};
  size_t converted = 0, refused = 0;
  for (std::span<const OpConversion> table : conversionTables())
    for (const OpConversion &row : table)
      for (DataType type : {DataType::f32, DataType::s64, DataType::boolean})
        for (const graph::Dims &shape : shapes)
          for (size_t count : {0, 1, 2, 3, 8})
            for (size_t variant = 0; variant < 6; ++variant) {
              NodeProto node = nodeOf(row.opType);
              node.domain = row.domain;
              node.inputs.assign(names.begin(), names.begin() + count);
              node.attributes = strangeAttributes(variant / 2);
              ModelProto model = modelOf(node, row.since);
              for (size_t i = 0; i < count; ++i)
                if (variant % 2 && i > 0)
                  model.graph.initializers.push_back(
                      ones(names[i], type, shape));
                else
                  model.graph.inputs.push_back(port(names[i], type, shape));
              auto imported = importModel(model);
              ++(imported ? converted : refused);
              if (!imported)
                EXPECT_FALSE(imported.errors().empty());
            }
  EXPECT_GT(converted, 1000u);
  EXPECT_GT(refused, 1000u);
}

} // namespace
