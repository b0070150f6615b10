//===- GraphDialect_test.cpp - the operations as MLIR ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every operation is written down from its row of the table, parsed, verified,
// printed and parsed again.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Diagnose.h"
#include "dialects/graph/PlainOp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon::graph;

namespace {
class GraphDialectTest : public testing::Test {
protected:
  GraphDialectTest() { context.loadDialect<GraphDialect, func::FuncDialect>(); }

  /// The module, or null; messages go to `messages`.
  OwningOpRef<ModuleOp> parse(const std::string &text) {
    messages.clear();
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      messages += diagnostic.str() + "\n";
    });
    return parseSourceString<ModuleOp>(text, &context);
  }
  /// `body` inside a function with arguments %a: 2x3xf32, %u: *xf32.
  OwningOpRef<ModuleOp> parseBody(const std::string &body) {
    return parse("func.func @main(%a: tensor<2x3xf32>, %u: tensor<*xf32>) {\n" +
                 body + "\n return\n}\n");
  }
  std::string print(ModuleOp module, bool generic = false) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    OpPrintingFlags flags;
    flags.printGenericOpForm(generic);
    module.print(stream, flags);
    return text;
  }
  void expectError(const std::string &body, const std::string &part) {
    EXPECT_FALSE(parseBody(body)) << body;
    EXPECT_NE(messages.find(part), std::string::npos)
        << body << "\nsaid: " << messages;
  }

  MLIRContext context;
  std::string messages;
};

std::string elementText(DType dtype, MLIRContext &context) {
  std::string text;
  llvm::raw_string_ostream(text) << elementTypeOf(dtype, &context);
  return text;
}

/// The element types of `values`; TypeCast and its like need different ones.
std::string typesText(const OpInfo &op, std::span<const ValueInfo> values,
                      size_t count, MLIRContext &context) {
  std::string text = "(";
  for (size_t i = 0; i < count; ++i) {
    const ValueInfo &value = values[std::min(i, values.size() - 1)];
    const TypeVarInfo *var = op.typeVar(value.typeVar);
    DType dtype = var ? var->allowed[0] : DType::f32;
    if (op.kind == "TypeCast" && value.name == "dst")
      dtype = DType::bf16;
    text +=
        (i ? ", tensor<*x" : "tensor<*x") + elementText(dtype, context) + ">";
  }
  return text + ")";
}

/// A value that fits a graph of unknown shapes.
std::string attrText(const AttrInfo &attr) {
  switch (attr.type) {
  case AttrType::f32:
    return "1.5";
  case AttrType::f32s:
    return "[2.0]";
  case AttrType::s64:
    return "1";
  case AttrType::s64s:
    return "[0, 1]";
  case AttrType::boolean:
    return "true";
  case AttrType::string:
    return "\"" + std::string(attr.allowed[0]) + "\"";
  }
  return "";
}

bool isPositiveList(std::string_view name) {
  return name == "strides" || name == "kernel" || name == "dilations" ||
         name == "sizes";
}

/// Whether one of the operands behind the first `operands` is left out, instead
/// of which the attribute is needed. Shapes the type of the result can say.
bool standsForOperand(const OpInfo &op, const AttrInfo &attr, size_t operands) {
  std::string name = std::string(attr.name) + "_tensor";
  if (op.shapeRule == "pow" && attr.name == "beta")
    name = "exponent";
  auto operand = std::ranges::find(op.operands, name, &ValueInfo::name);
  return operand != op.operands.end() && !attr.name.ends_with("_shape") &&
         static_cast<size_t>(operand - op.operands.begin()) >= operands;
}

/// One operation with `operands` operands and `results` results.
std::string opText(const OpInfo &op, size_t operands, size_t results,
                   MLIRContext &context) {
  std::string attrs;
  for (const AttrInfo &attr : op.attrs) {
    bool needed = attr.required || standsForOperand(op, attr, operands);
    std::string value = isPositiveList(attr.name) ? "[1, 2]" : attrText(attr);
    if (attr.name == "keep_stats" && results == 1)
      needed = true, value = "false";
    if (attr.name == "use_affine" &&
        (results == 1 || operands < op.operands.size()))
      needed = true, value = "false";
    if (attr.name == "diff_weights" && operands == op.operands.size())
      needed = true, value = "\"accumulate\"";
    if (needed)
      attrs +=
          (attrs.empty() ? "" : ", ") + std::string(attr.name) + " = " + value;
  }
  std::string in = typesText(op, op.operands, operands, context);
  std::string text = "func.func @main(";
  std::string list;
  for (size_t i = 0; i < operands; ++i) {
    std::string one = typesText(
        op, op.operands.subspan(std::min(i, op.operands.size() - 1), 1), 1,
        context);
    text += (i ? ", %" : "%") + std::string("a") + std::to_string(i) + ": " +
            one.substr(1, one.size() - 2);
    list += (i ? ", %a" : "%a") + std::to_string(i);
  }
  text += ") {\n  ";
  if (results)
    text += "%r:" + std::to_string(results) + " = ";
  text += "graph." + std::string(op.kind) + " " + list;
  if (!attrs.empty())
    text += " {" + attrs + "}";
  text += " : " + in + " -> " + typesText(op, op.results, results, context);
  return text + "\n  return\n}\n";
}
} // namespace

TEST_F(GraphDialectTest, EveryOperationRoundTrips) {
  int forms = 0;
  for (const OpInfo &op : allOps()) {
    std::vector<std::pair<size_t, size_t>> counts;
    if (op.operands[0].variadic)
      counts = {{2, op.resultCounts.empty() ? 3 : 1}};
    else
      for (bool all : {false, true})
        counts.emplace_back(
            all ? op.operandCounts.back() : op.operandCounts.front(),
            all ? op.resultCounts.back() : op.resultCounts.front());
    for (auto [operands, results] : counts) {
      std::string text = opText(op, operands, results, context);
      OwningOpRef<ModuleOp> module = parse(text);
      ASSERT_TRUE(module) << text << messages;
      for (bool generic : {false, true}) {
        std::string once = print(*module, generic);
        OwningOpRef<ModuleOp> again = parse(once);
        ASSERT_TRUE(again) << once << messages;
        EXPECT_EQ(print(*again, generic), once);
        EXPECT_EQ(print(*again), print(*module));
      }
      ++forms;
    }
  }
  // Concat and Wildcard, which take any number of operands, have one form.
  EXPECT_EQ(forms, 2 * static_cast<int>(allOps().size()) - 2);
}

TEST_F(GraphDialectTest, EveryOperationKnowsItsRow) {
  for (const OpInfo &op : allOps()) {
    std::optional<RegisteredOperationName> name =
        RegisteredOperationName::lookup("graph." + std::string(op.kind),
                                        &context);
    ASSERT_TRUE(name) << op.kind;
    EXPECT_TRUE(name->hasInterface<GraphOpInterface>()) << op.kind;
    EXPECT_EQ(name->hasTrait<OpTrait::AttrSizedOperandSegments>(),
              std::ranges::count(op.operands, true, &ValueInfo::optional) > 1)
        << op.kind;
    EXPECT_EQ(name->hasTrait<OpTrait::AttrSizedResultSegments>(),
              std::ranges::count(op.results, true, &ValueInfo::optional) > 1)
        << op.kind;
  }
}

TEST_F(GraphDialectTest, TextIsShort) {
  OwningOpRef<ModuleOp> module = parseBody(
      "%0 = graph.SoftMax %a {axis = -1} : (tensor<2x3xf32>) -> "
      "tensor<2x3xf32>\n"
      "%1 = graph.Elu %0 {alpha = 0.5} : (tensor<2x3xf32>) -> tensor<2x3xf32>\n"
      "%2 = graph.StaticTranspose %1 {order = [1, 0]} : (tensor<2x3xf32>) -> "
      "tensor<3x2xf32>");
  ASSERT_TRUE(module) << messages;
  std::string text = print(*module);
  EXPECT_NE(text.find("graph.SoftMax %arg0 {axis = -1} :"), std::string::npos)
      << text;
  EXPECT_NE(text.find("graph.Elu %dst {alpha = 5.000000e-01} :"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("{order = [1, 0]} :"), std::string::npos) << text;
}

TEST_F(GraphDialectTest, SpecialFloatsRoundTrip) {
  OwningOpRef<ModuleOp> module = parseBody(
      "%0 = graph.Clamp %a {min = 0xFF800000 : f32, max = 0.1 : f32} : "
      "(tensor<2x3xf32>) -> tensor<2x3xf32>");
  ASSERT_TRUE(module) << messages;
  OwningOpRef<ModuleOp> again = parse(print(*module));
  ASSERT_TRUE(again) << messages;
  again->walk([](ClampOp op) {
    EXPECT_TRUE(op.getMin().isNegInfinity());
    EXPECT_EQ(op.getMax().convertToFloat(), 0.1f);
  });
}

TEST_F(GraphDialectTest, DefaultsAreThere) {
  OwningOpRef<ModuleOp> module =
      parseBody("%0 = graph.SoftMax %a : (tensor<2x3xf32>) -> tensor<2x3xf32>");
  ASSERT_TRUE(module) << messages;
  module->walk([](SoftMaxOp op) {
    EXPECT_EQ(op.getAxis(), 1);
    EXPECT_EQ(op.getMode(), "none");
    EXPECT_FALSE(op.getStats());
    EXPECT_EQ(op.getInfo().kind, "SoftMax");
  });
}

TEST_F(GraphDialectTest, SegmentsCanBeSpelledOut) {
  // beta without gamma: not what a graph can say, but MLIR keeps it apart.
  std::string body =
      "%0 = graph.LayerNormBackward %u, %u, %u, %u, %u {use_affine = false, "
      "operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1>} : (tensor<*xf32>, "
      "tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> "
      "tensor<*xf32>";
  OwningOpRef<ModuleOp> module = parseBody(body);
  ASSERT_TRUE(module) << messages;
  OwningOpRef<ModuleOp> again = parse(print(*module));
  ASSERT_TRUE(again) << messages;
  again->walk([](LayerNormBackwardOp op) {
    EXPECT_FALSE(op.getGamma());
    EXPECT_TRUE(op.getBeta());
  });
}

TEST_F(GraphDialectTest, LayoutsRoundTrip) {
  for (const char *layout :
       {"any", "opaque", "undef", "strided, [1, 2]", "any, [3, 1]",
        "strided, [-9223372036854775808, 1]"}) {
    std::string type =
        std::string("tensor<2x3xf32, #graph.layout<") + layout + ">>";
    OwningOpRef<ModuleOp> module =
        parse("func.func private @f(" + type + ")\n");
    ASSERT_TRUE(module) << messages;
    EXPECT_NE(print(*module).find(type), std::string::npos) << print(*module);
  }
}

TEST_F(GraphDialectTest, DTypesRoundTrip) {
  for (int i = 0; i <= static_cast<int>(kLastDType); ++i) {
    auto dtype = static_cast<DType>(i);
    Type type = elementTypeOf(dtype, &context);
    EXPECT_EQ(dtypeOf(type), dtype);
    EXPECT_TRUE(isGraphTensor(RankedTensorType::get({1}, type)));
  }
  for (unsigned width : {2u, 8u, 16u, 32u})
    EXPECT_FALSE(dtypeOf(IntegerType::get(&context, width)));
  EXPECT_FALSE(dtypeOf(Float80Type::get(&context)));
  EXPECT_FALSE(dtypeOf(IndexType::get(&context)));
}

TEST_F(GraphDialectTest, ErrorsAreThoseOfThePlainChecker) {
  std::string f = " : (tensor<2x3xf32>) -> tensor<2x3xf32>";
  expectError("%0 = graph.ReLU %a {slope = 1.0}" + f, "E1205");
  expectError("%0 = graph.Clamp %a {min = 2.0, max = 1.0}" + f, "E1208");
  expectError("%0 = graph.GELU %a {mode = \"tanh\"}" + f, "E1208");
  expectError("%0 = graph.SoftMax %a {axis = 2}" + f, "SoftMax");
  expectError("%0 = graph.ReLU %a : (tensor<2x3xf32>) -> tensor<3x2xf32>",
              "E1203");
  expectError("%0 = graph.ReLU %a : (tensor<2x3xf32>) -> tensor<2x3xbf16>",
              "E1204");
  expectError("%0 = graph.LayerNorm %a : (tensor<2x3xf32>) -> tensor<2x3xf32>",
              "LayerNorm");
}

TEST_F(GraphDialectTest, ErrorsOfTheForm) {
  std::string f = " : (tensor<2x3xf32>) -> tensor<2x3xf32>";
  expectError("%0 = graph.Elu %a" + f, "requires attribute 'alpha'");
  expectError("%0 = graph.Elu %a {alpha = \"x\"}" + f, "alpha");
  expectError("%0 = graph.SoftMax %a {axis = 1.0}" + f, "axis");
  expectError("%0 = graph.StaticTranspose %a {order = [0, \"x\"]}" + f,
              "order");
  expectError("%0 = graph.StaticTranspose %a {order = [0, 1.5]}" + f, "order");
  expectError("%0 = graph.ReLU %a, %a : (tensor<2x3xf32>, tensor<2x3xf32>) -> "
              "tensor<2x3xf32>",
              "ReLU");
  expectError("%0 = graph.ReLU %a : (tensor<2x3xf32>) -> f32", "ReLU");
  expectError("%0 = graph.ReLU %a : (tensor<2x3xf32>) -> tensor<2x3xi32>",
              "tensor of a graph element type");
  expectError("graph.LayerNormBackward %a, %a, %a, %a, %a, %a, %a : "
              "(tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, "
              "tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, "
              "tensor<2x3xf32>) -> ()",
              "LayerNormBackward");
  EXPECT_FALSE(parse("func.func private @f(tensor<2x3xf32, "
                     "#graph.layout<strided, [1]>>)"));
  EXPECT_NE(messages.find("1 strides for a tensor of rank 2"),
            std::string::npos)
      << messages;
}

/// The error travels beside the text, of which nothing is read.
TEST_F(GraphDialectTest, HandlersReceiveErrors) {
  OwningOpRef<ModuleOp> module = parse("");
  std::optional<tenon::Error> received;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    received = errorIn(diagnostic);
  });
  tenon::Error error;
  error.code = tenon::ErrorCode::ShapeMismatch;
  error.message = "2 is not 3; hint: none";
  error.opKind = "MatMul";
  error.opName = "the \"first\": (id 8)";
  error.opId = ~uint64_t(0);
  error.hint = "transpose it";
  report(*module, error);
  ASSERT_TRUE(received);
  EXPECT_EQ(received->code, error.code);
  EXPECT_EQ(received->str(), error.str());
  EXPECT_EQ(received->message, error.message);
  EXPECT_EQ(received->opName, error.opName);
  EXPECT_EQ(received->opId, error.opId);
  error.opId.reset();
  report(*module, error);
  ASSERT_TRUE(received);
  EXPECT_FALSE(received->opId);
  module->emitError("E1203 MatMul: as if it had a code");
  EXPECT_FALSE(received);
}
