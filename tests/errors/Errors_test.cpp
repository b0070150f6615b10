// SPDX-License-Identifier: Apache-2.0
// Every mistake in every operation gives an error with a code, which names the
// operation and what is wrong, through all that takes graphs: the plain API,
// JSON, and MLIR text.
#include "compiler/driver/Session.h"
#include "compiler/import/json/Json.h"
#include "dialects/graph/PlainOp.h"
#include "dialects/graph/infer/Infer.h"
#include "tests/errors/Mistakes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cstdio>

using namespace tenon;
using namespace tenon::test;
using namespace tenon::forms;
using graph::Graph;
using graph::OpInfo;

namespace {

constexpr uint64_t kId = 41;
constexpr const char *kName = "culprit";

/// Forms to make mistakes in; several, for operands and results that may be
/// absent.
std::vector<OpForm> formsOf(const OpInfo &info) {
  FormOptions options;
  options.palette = {2, 3, 4};
  options.onlyCompiling = false;
  std::vector<OpForm> forms;
  for (uint64_t seed = 0; seed < 40 && forms.size() < 3; ++seed) {
    Random random(seed);
    std::optional<OpForm> form = makeForm(info, random, options);
    if (!form)
      continue;
    bool isNew = true;
    for (const OpForm &known : forms)
      isNew &= known.inputs.size() != form->inputs.size() ||
               known.outputs.size() != form->outputs.size();
    if (!isNew && !forms.empty() && seed < 38)
      continue;
    form->op.id = kId;
    form->op.name = kName;
    forms.push_back(std::move(*form));
  }
  return forms;
}

/// Ids as a graph needs them.
Graph graphOf(const OpForm &form) {
  Graph g;
  g.ops.push_back(form.op);
  graph::Op &op = g.ops.back();
  op.inputs.clear();
  op.outputs.clear();
  auto add = [&](graph::LogicalTensor tensor) {
    tensor.id = g.tensors.size();
    g.tensors[tensor.id] = tensor;
    return tensor.id;
  };
  for (const graph::LogicalTensor &tensor : form.inputs) {
    op.inputs.push_back(add(tensor));
    g.inputPorts.push_back(op.inputs.back());
  }
  for (const graph::LogicalTensor &tensor : form.outputs) {
    op.outputs.push_back(add(tensor));
    g.outputPorts.push_back(op.outputs.back());
  }
  return g;
}

std::string describe(const OpInfo &info, const Mistake &mistake) {
  return std::string(info.kind) + ", " + mistake.what;
}

/// Whether one of `errors` is what the mistake asks for, and none is bad.
void expectFits(const std::vector<Error> &errors, const OpInfo &info,
                const Mistake &mistake) {
  bool found = mistake.codes.empty();
  for (const Error &error : errors) {
    EXPECT_EQ(categoryOf(error.code), ErrorCategory::user) << error.str();
    EXPECT_EQ(error.opKind, info.kind) << error.str();
    EXPECT_EQ(error.opName, kName) << error.str();
    EXPECT_TRUE(error.opId == kId) << error.str();
    EXPECT_FALSE(error.message.empty()) << error.str();
    bool says = mistake.codes.count(error.code);
    for (const std::string &word : mistake.says)
      says &= error.str().find(word) != std::string::npos;
    found |= says;
  }
  std::string wanted;
  for (ErrorCode code : mistake.codes)
    wanted += " E" + std::to_string(static_cast<int>(code));
  for (const std::string &word : mistake.says)
    wanted += " \"" + word + "\"";
  EXPECT_TRUE(found) << "wanted" << wanted << ", got: " << str(errors);
}

template <typename Fn> int forEachMistake(const OpInfo &info, Fn fn) {
  int count = 0;
  std::vector<OpForm> forms = formsOf(info);
  EXPECT_FALSE(forms.empty()) << info.kind;
  for (const OpForm &form : forms)
    for (const Mistake &mistake : mistakesIn(info, form)) {
      SCOPED_TRACE(describe(info, mistake));
      fn(mistake);
      ++count;
    }
  return count;
}

TEST(Errors, PlainOperations) {
  int count = 0, accepted = 0;
  for (const OpInfo &info : graph::allOps())
    count += forEachMistake(info, [&](const Mistake &mistake) {
      OpForm form = mistake.form;
      std::vector<Error> errors =
          graph::verifyOp(form.op, form.inputs, form.outputs);
      expectFits(errors, info, mistake);
      // Inference finds the same, and changes nothing when it does.
      graph::AttrMap attrs = form.op.attrs;
      std::vector<Error> inferred =
          graph::inferOp(form.op, form.inputs, form.outputs);
      if (!errors.empty()) {
        EXPECT_FALSE(inferred.empty()) << str(errors);
        // NaN differs from itself.
        EXPECT_EQ(form.op.attrs.size(), attrs.size());
      } else if (inferred.empty()) {
        ++accepted;
        EXPECT_EQ(str(graph::verifyOp(form.op, form.inputs, form.outputs)), "");
      }
    });
  std::printf("%d mistakes in %zu operations, %d of them acceptable\n", count,
              graph::allOps().size(), accepted);
  EXPECT_GT(count, 100 * 80);
  EXPECT_LT(accepted, count / 4);
}

/// The reader finds some mistakes itself and names the tensor then; what it
/// reads is refused by the checker.
TEST(Errors, Json) {
  int count = 0;
  for (const OpInfo &info : graph::allOps())
    count += forEachMistake(info, [&](const Mistake &mistake) {
      Graph g = graphOf(mistake.form);
      auto read = json::readJson(json::writeJson(g), "mistake.json");
      if (read) {
        expectFits(graph::verifyGraph(*read), info, mistake);
        return;
      }
      for (const Error &error : read.errors()) {
        EXPECT_EQ(categoryOf(error.code), ErrorCategory::user) << error.str();
        EXPECT_NE(error.str().find("mistake.json"), std::string::npos)
            << error.str();
        if (error.opId)
          EXPECT_EQ(*error.opId, kId) << error.str();
      }
    });
  std::printf("%d mistakes as JSON\n", count);
}

//===----------------------------------------------------------------------===//
// MLIR text
//===----------------------------------------------------------------------===//

class MlirErrors : public testing::Test {
protected:
  MlirErrors() {
    context.loadDialect<graph::GraphDialect, mlir::func::FuncDialect>();
    context.disableMultithreading();
  }

  template <typename T> static std::string print(T entity) {
    std::string text;
    llvm::raw_string_ostream(text) << entity;
    return text;
  }

  /// The operation on arguments of its own; empty when a type of MLIR can not
  /// have the mistake.
  std::string textOf(const OpForm &form) {
    std::string arguments, operands, types, results;
    for (size_t i = 0; i < form.inputs.size(); ++i) {
      std::string name = "%a" + std::to_string(i), comma = i ? ", " : "";
      std::string type = typeText(form.inputs[i]);
      if (type.empty())
        return "";
      operands += comma + name;
      arguments += comma + name + ": " + type;
      types += comma + type;
    }
    for (size_t i = 0; i < form.outputs.size(); ++i) {
      std::string type = typeText(form.outputs[i]);
      if (type.empty())
        return "";
      results += (i ? ", " : "") + type;
    }
    std::string attrs;
    for (const auto &[name, value] : form.op.attrs)
      attrs += (attrs.empty() ? "" : ", ") + name + " = " +
               print(graph::attributeOf(value, &context));
    std::string number = std::to_string(kId);
    attrs += (attrs.empty() ? "" : ", ") + ("graph.id = " + number) + " : ui64";
    size_t count = form.outputs.size();
    return "func.func @main(" + arguments + ") {\n  " +
           (count ? "%r:" + std::to_string(count) + " = " : "") + "graph." +
           form.op.kind + " " + operands + " {" + attrs + "} : (" + types +
           ") -> (" + results + ") loc(\"" + kName + "\")\n  return\n}\n";
  }

  std::string typeText(const graph::LogicalTensor &tensor) {
    for (int64_t dim : *tensor.shape)
      if (dim < 0)
        return "";
    // MLIR refuses such a type on its own.
    if (tensor.shape->size() != tensor.strides.size() &&
        !tensor.strides.empty())
      return "";
    return print(mlir::Type(graph::typeOf(tensor, &context)));
  }

  mlir::MLIRContext context;
};

TEST_F(MlirErrors, EveryMistakeIsTold) {
  int count = 0, skipped = 0;
  for (const OpInfo &info : graph::allOps())
    count += forEachMistake(info, [&](const Mistake &mistake) {
      std::string text = textOf(mistake.form);
      if (text.empty()) {
        ++skipped;
        return;
      }
      std::string messages;
      mlir::ScopedDiagnosticHandler handler(
          &context, [&](mlir::Diagnostic &diagnostic) {
            messages += diagnostic.str() + "\n";
          });
      auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
      if (mistake.codes.empty() && module)
        return;
      EXPECT_FALSE(module) << text;
      // Some mistakes never reach our checker: MLIR's own speaks of them.
      EXPECT_NE(messages.find(std::string(info.kind)), std::string::npos)
          << messages << text;
    });
  std::printf("%d mistakes as MLIR text, %d of them impossible there\n", count,
              skipped);
  EXPECT_LT(skipped, count / 5);
}

/// Through the public function, once per operation: errors have codes.
TEST_F(MlirErrors, CodesThroughTheDriver) {
  for (const OpInfo &info : graph::allOps()) {
    std::vector<OpForm> forms = formsOf(info);
    ASSERT_FALSE(forms.empty());
    OpForm form = forms[0];
    form.op.attrs["frobnicate"] = int64_t(1);
    std::string text = textOf(form);
    auto lowered = lowerText(text, Options(), "import", "graph");
    ASSERT_FALSE(lowered) << text;
    EXPECT_EQ(lowered.errors()[0].code, ErrorCode::UnknownAttr)
        << str(lowered.errors());
    EXPECT_EQ(lowered.errors()[0].opKind, info.kind);
    EXPECT_EQ(lowered.errors()[0].opName, kName);
  }
}

} // namespace
