//===- OpForms.cpp - random valid forms of any operation ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See OpForms.h.  Numbers of operands, types and attributes follow the table
// here; shapes are in OpShapes.cpp.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/forms/OpForms.h"

#include "dialects/graph/forms/Draft.h"
#include "dialects/graph/infer/Infer.h"

#include <algorithm>

namespace tenon::forms {

using namespace graph;

namespace {

/// Numbers that make sense for any attribute of a name; the first entry that
/// fits counts. Where they do not, the operation table has others (samples).
struct FloatChoice {
  std::string_view attr;
  std::vector<float> values;
};

const std::vector<FloatChoice> &floatChoices() {
  static const std::vector<FloatChoice> choices = {
      {"epsilon", {1e-5f, 1e-3f, 0.5f}},
      {"min", {-1, -2.5f, 0}},
      {"max", {1, 6, 0.5f}},
      {"momentum", {0, 0.1f, 0.9f, 1}},
      {"alpha", {0.25f, 0, 1, 1.5f, -0.5f}},
      {"", {1, 0.5f, 0.75f, 2}},
  };
  return choices;
}

float guessFloat(Draft &draft, std::string_view name) {
  const AttrInfo *attr = forwardOf(draft.info).attr(name);
  if (attr && !attr->samples.empty())
    return draft.random.pick(attr->samples);
  for (const FloatChoice &choice : floatChoices())
    if (choice.attr.empty() || choice.attr == name)
      return draft.random.pick(choice.values);
  return 1;
}

/// What shapes do not decide; rules overwrite the rest.
void guessAttrs(Draft &draft) {
  for (const AttrInfo &attr : draft.info.attrs) {
    if (!attr.required && draft.random.chance(40))
      continue;
    switch (attr.type) {
    case AttrType::f32:
      draft.set(attr.name, guessFloat(draft, attr.name));
      break;
    case AttrType::s64:
      draft.set(attr.name, draft.random.in(1, 3));
      break;
    case AttrType::boolean:
      draft.set(attr.name, draft.random.chance(50));
      break;
    case AttrType::string:
      if (!attr.allowed.empty())
        draft.set(attr.name, std::string(draft.random.pick(attr.allowed)));
      break;
    case AttrType::s64s:
    case AttrType::f32s:
      break; // Lists go with shapes.
    }
  }
}

/// Operands in front of the first that gives shapes or axes at run time: what
/// they hold would have to fit the attributes.
size_t plainOperands(const OpInfo &info) {
  size_t count = 0;
  while (count < info.operands.size() &&
         !info.operands[count].name.ends_with("_tensor"))
    ++count;
  return count;
}

/// Results in front of the first of which no type compiles, if it has to.
size_t listedResults(const Draft &draft) {
  const OpInfo &info = draft.info;
  auto compiles = [&](const ValueInfo &value) {
    const TypeVarInfo *var = info.typeVar(value.typeVar);
    return !var ||
           std::any_of(
               var->allowed.begin(), var->allowed.end(), [&](DType type) {
                 return std::find(info.compiles.begin(), info.compiles.end(),
                                  name(type)) != info.compiles.end();
               });
  };
  size_t count = 0;
  while (count < info.results.size() &&
         (!draft.options.onlyCompiling || info.compiles.empty() ||
          info.typeRule == "cast" || compiles(info.results[count])))
    ++count;
  return count;
}

size_t guessCount(Draft &draft, std::span<const int> counts, size_t listed,
                  bool variadic) {
  std::vector<size_t> fitting;
  for (int count : counts)
    if (variadic ? count <= 4 : size_t(count) <= listed)
      fitting.push_back(count);
  if (fitting.empty())
    return counts.empty() && variadic ? draft.random.in(0, 3) : listed;
  return draft.whole ? *std::max_element(fitting.begin(), fitting.end())
                     : draft.random.pick(fitting);
}

void guessCounts(Draft &draft) {
  const OpInfo &info = draft.info;
  auto isVariadic = [](std::span<const ValueInfo> values) {
    return std::any_of(values.begin(), values.end(),
                       [](const ValueInfo &v) { return v.variadic; });
  };
  draft.operands = guessCount(draft, info.operandCounts, plainOperands(info),
                              isVariadic(info.operands));
  draft.results = guessCount(draft, info.resultCounts, listedResults(draft),
                             isVariadic(info.results));
}

/// One type per variable: that of `first` wherever it is allowed, else f32,
/// now and then another, for all variables or for one.
class TypeGuess {
public:
  explicit TypeGuess(Draft &draft) : draft(draft) {
    main = draft.first ? draft.first->dtype : DType::f32;
    if (!draft.first && !draft.info.operands.empty() && draft.random.chance(20))
      main =
          draft.random.pick(typesOf(draft.info, draft.info.operands[0].typeVar,
                                    draft.options.onlyCompiling));
  }

  DType of(const ValueInfo &value, bool isFirst) {
    if (value.typeVar.empty() || isAny(value))
      return main;
    if (auto known = bound.find(value.typeVar); known != bound.end())
      return known->second;
    std::vector<DType> types =
        typesOf(draft.info, value.typeVar, draft.options.onlyCompiling);
    bool fits = std::find(types.begin(), types.end(), main) != types.end();
    bool differs = draft.info.typeRule == "cast" && !isFirst;
    bool stays = isFirst || draft.random.chance(90);
    DType type = fits && !differs && stays ? main : draft.random.pick(types);
    if (isFirst && draft.first && type != main)
      draft.failed = true;
    return bound[value.typeVar] = type;
  }

private:
  static bool isAny(const ValueInfo &value) { return value.typeVar == "any"; }

  Draft &draft;
  DType main;
  std::map<std::string_view, DType> bound;
};

OpForm assemble(Draft &draft) {
  OpForm form;
  form.op.kind = draft.info.kind;
  form.op.attrs = draft.attrs;
  TypeGuess types(draft);
  auto add = [&](std::vector<LogicalTensor> &to,
                 std::span<const ValueInfo> values, size_t count,
                 bool isResult) {
    for (size_t i = 0; i < count && !values.empty(); ++i) {
      const ValueInfo &value = values[std::min(i, values.size() - 1)];
      LogicalTensor tensor;
      tensor.dtype = types.of(value, !isResult && i == 0);
      std::string role(value.name);
      if (value.variadic)
        role += std::to_string(i);
      auto shape = draft.shapes.find(role);
      if (shape != draft.shapes.end())
        tensor.shape = shape->second;
      else if (!isResult && !draft.info.operands.empty())
        tensor.shape = draft.shapes[std::string(draft.info.operands[0].name)];
      to.push_back(std::move(tensor));
    }
  };
  add(form.inputs, draft.info.operands, draft.operands, false);
  add(form.outputs, draft.info.results, draft.results, true);
  return form;
}

bool isSmall(const std::vector<LogicalTensor> &tensors, int64_t maxElements) {
  return std::all_of(tensors.begin(), tensors.end(), [&](const auto &tensor) {
    return tensor.hasStaticShape() && tensor.shape->size() <= 6 &&
           tensor.numElements() <= maxElements;
  });
}

std::optional<OpForm> tryForm(Draft &draft) {
  guessCounts(draft);
  guessAttrs(draft);
  guessShapes(draft);
  if (draft.failed)
    return std::nullopt;
  OpForm form = assemble(draft);
  if (draft.failed)
    return std::nullopt;
  // Inference may change attributes; the form keeps them as they are.
  Op inferred = form.op;
  std::vector<LogicalTensor> outputs = form.outputs;
  if (!inferOp(inferred, form.inputs, outputs).empty() ||
      !isSmall(form.inputs, draft.options.maxElements) ||
      !isSmall(outputs, draft.options.maxElements))
    return std::nullopt;
  form.outputs = std::move(outputs);
  return form;
}

} // namespace

int64_t boundaryDim(Random &random) {
  static constexpr int64_t dims[] = {1,  1,  1,  2,  2,  3,  3,  4,  5,
                                     5,  7,  7,  8,  8,  9,  9,  13, 15,
                                     16, 16, 17, 17, 23, 31, 32, 33, 64};
  return random.pick(dims);
}

std::vector<DType> typesOf(const OpInfo &info, std::string_view typeVar,
                           bool onlyCompiling) {
  const TypeVarInfo *var = info.typeVar(typeVar);
  if (!var)
    return {DType::f32};
  std::vector<DType> all(var->allowed.begin(), var->allowed.end()), compiling;
  // A cast has one type of the list and one that it converts to.
  if (!onlyCompiling || info.typeRule == "cast")
    return all;
  for (DType type : all)
    for (std::string_view word : info.compiles)
      if (word == name(type))
        compiling.push_back(type);
  return compiling.empty() ? all : compiling;
}

bool guessForward(Draft &draft, Roles &roles, AttrMap &attrs) {
  const OpInfo *forward = lookupOp(draft.info.backwardOf);
  if (!forward)
    return false;
  FormOptions options = draft.options;
  options.onlyCompiling = false;
  LogicalTensor first;
  if (draft.first) {
    first.shape = draft.first->shape;
    first.dtype = DType::f32;
  }
  Draft whole{*forward, draft.random, options, draft.first ? &first : nullptr,
              true};
  std::optional<OpForm> form = tryForm(whole);
  if (!form)
    return false;
  for (size_t i = 0; i < form->inputs.size(); ++i)
    roles[std::string(forward->operands[i].name)] = *form->inputs[i].shape;
  for (size_t i = 0; i < form->outputs.size(); ++i)
    roles[std::string(forward->results[i].name)] = *form->outputs[i].shape;
  attrs = form->op.attrs;
  return true;
}

std::optional<OpForm> makeForm(const OpInfo &info, Random &random,
                               const FormOptions &options,
                               const LogicalTensor *first) {
  // A fixed operand leaves less to guess.
  int tries = first ? 6 : 60;
  for (int i = 0; i < tries; ++i) {
    Draft draft{info, random, options, first};
    if (std::optional<OpForm> form = tryForm(draft))
      return form;
  }
  return std::nullopt;
}

} // namespace tenon::forms
