//===- OpExampleData.cpp - a small form of an operation -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See OpExampleData.h.  Forms are drawn as random graphs draw them; the one
// that costs a reader least is taken.
//
//===----------------------------------------------------------------------===//
#include "tools/tenon/OpExampleData.h"

#include "compiler/check/Fill.h"
#include "dialects/graph/forms/OpForms.h"
#include "dialects/graph/reference/Evaluator.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace tenon::cli {

using namespace graph;
using forms::OpForm;
using reference::Tensor;
using Tensors = std::map<uint64_t, Tensor>;

namespace {

/// Forms that are drawn, and those of least cost that are tried.
constexpr uint64_t kDrawn = 1500;
constexpr size_t kTried = 20;
/// More elements than a few lines show.
constexpr int64_t kMaxElements = 72;

bool hasCppType(DType type) {
  switch (type) {
  case DType::f32:
  case DType::s32:
  case DType::s64:
  case DType::s8:
  case DType::u8:
  case DType::boolean:
    return true;
  default:
    return false;
  }
}

int64_t costOfTensor(const LogicalTensor &tensor, bool isRecurrent) {
  // Layers and directions, dims of states and weights, are often 1.
  bool count = !isRecurrent || tensor.shape->size() <= 3;
  Dims dims = count ? *tensor.shape : Dims();
  std::set<int64_t> sizes(dims.begin(), dims.end());
  auto ones = std::ranges::count(dims, 1);
  auto repeated = static_cast<int64_t>(dims.size() - sizes.size());
  return (tensor.dtype == DType::f32 ? 0 : 4) + (isRecurrent ? 8 : 3) * ones +
         repeated + tensor.numElements() / (isRecurrent ? 4 : 8);
}

/// How little a reader learns from the form, in points that count what is in
/// the way.
int64_t costOf(const OpInfo &info, const OpForm &form) {
  int64_t cost = 0;
  bool isRecurrent = info.opClass == OpClass::recurrent;
  for (const auto *tensors : {&form.inputs, &form.outputs})
    for (const LogicalTensor &tensor : *tensors)
      cost += costOfTensor(tensor, isRecurrent);
  // A bias, a scale and a shift are usual; what follows them is not.
  auto required = std::ranges::count_if(
      info.operands, [](const ValueInfo &value) { return !value.optional; });
  auto optional = static_cast<int64_t>(form.inputs.size()) - required;
  cost += optional > 2 ? 6 * (optional - 2) : -6 * optional;
  // Gradients by src and weights are wanted, other results of training are not.
  auto results = static_cast<int64_t>(form.outputs.size());
  cost += isBackward(info) ? -12 * std::min<int64_t>(results, 3) : 6 * results;
  for (const AttrInfo &attr : info.attrs) {
    const AttrValue *value = form.op.attr(attr.name);
    const auto *list = value ? std::get_if<Dims>(value) : nullptr;
    // Axes of nothing teach nothing.
    cost += list && list->empty() ? 20 : 0;
    cost += value && !attr.required ? 4 : 0;
  }
  // Images have two dims beside batch and channels, others are matrices.
  size_t usual = info.attr("strides") || info.attr("data_format") ? 4 : 2;
  auto oddity = [&](const LogicalTensor &tensor) {
    size_t rank = tensor.shape->size();
    return static_cast<int64_t>(std::max(rank, usual) - std::min(rank, usual));
  };
  if (!isRecurrent) {
    cost += form.inputs.empty() ? 0 : 15 * oddity(form.inputs[0]);
    cost += form.outputs.empty() ? 0 : 5 * oddity(form.outputs[0]);
  }
  return cost;
}

bool fits(const std::vector<LogicalTensor> &tensors) {
  return std::ranges::all_of(tensors, [](const LogicalTensor &tensor) {
    return hasCppType(tensor.dtype) && tensor.numElements() > 0 &&
           tensor.numElements() <= kMaxElements;
  });
}

void dropDefaults(const OpInfo &info, Op &op) {
  for (const AttrInfo &attr : info.attrs)
    if (const AttrValue *given = op.attr(attr.name);
        given && !attr.required && attr.defaultText &&
        *given == attr.defaultValue())
      op.attrs.erase(std::string(attr.name));
}

/// Those of least cost, best first.
std::vector<OpForm> bestForms(const OpInfo &info) {
  forms::FormOptions options;
  options.palette = {2, 3, 4};
  options.maxElements = kMaxElements;
  std::multimap<int64_t, OpForm> found;
  for (uint64_t seed = 0; seed < kDrawn; ++seed) {
    forms::Random random(seed);
    std::optional<OpForm> form = forms::makeForm(info, random, options);
    if (!form || !fits(form->inputs) || !fits(form->outputs))
      continue;
    dropDefaults(info, form->op);
    found.emplace(costOf(info, *form), std::move(*form));
    if (found.size() > kTried)
      found.erase(std::prev(found.end()));
  }
  std::vector<OpForm> best;
  for (auto &[cost, form] : found)
    best.push_back(std::move(form));
  return best;
}

/// Ids in order: operands, then results.
Graph graphOf(OpForm form) {
  Graph graph;
  auto add = [&](std::vector<LogicalTensor> &from, std::vector<uint64_t> &ids,
                 std::vector<uint64_t> &ports) {
    for (LogicalTensor &tensor : from) {
      tensor.id = graph.tensors.size();
      ids.push_back(tensor.id);
      ports.push_back(tensor.id);
      graph.tensors[tensor.id] = std::move(tensor);
    }
  };
  add(form.inputs, form.op.inputs, graph.inputPorts);
  add(form.outputs, form.op.outputs, graph.outputPorts);
  graph.ops.push_back(std::move(form.op));
  return graph;
}

/// Of a gradient, operands that are results of the forward operation (dst, a
/// workspace) get what that computes from the others.
void computeForward(const OpInfo &info, const Graph &graph, Tensors &inputs) {
  if (!isBackward(info))
    return;
  const Op &op = graph.ops.front();
  const OpInfo &forward = forwardOf(info);
  auto operandNamed = [&](std::string_view name) -> std::optional<uint64_t> {
    for (size_t slot = 0; slot < info.operands.size(); ++slot)
      if (info.operands[slot].name == name)
        return op.inputAt(slot);
    return std::nullopt;
  };
  Graph made;
  Op again;
  again.kind = forward.kind;
  for (const auto &[name, value] : op.attrs)
    if (forward.attr(name))
      again.attrs[name] = value;
  // gamma and beta come both or not at all, and statistics need neither.
  bool isAffine =
      std::ranges::all_of(forward.operands, [&](const ValueInfo &value) {
        return operandNamed(value.name).has_value();
      });
  if (!isAffine && forward.attr("use_affine"))
    again.attrs["use_affine"] = false;
  for (const ValueInfo &value : forward.operands) {
    bool isLeftOut = value.optional && !isAffine && forward.attr("use_affine");
    std::optional<uint64_t> id =
        isLeftOut ? std::nullopt : operandNamed(value.name);
    if (id) {
      again.inputs.push_back(*id);
      made.tensors[*id] = graph.tensor(*id);
      made.inputPorts.push_back(*id);
    } else if (!value.optional || !again.leaveOutInput()) {
      return; // It has another shape or none, as src where dst is given.
    }
  }
  uint64_t next = graph.tensors.size();
  std::map<uint64_t, uint64_t> wanted; // Results by what they are given to.
  for (const ValueInfo &value : forward.results) {
    std::optional<uint64_t> id = operandNamed(value.name);
    LogicalTensor result;
    if (id)
      result = graph.tensor(*id);
    result.id = next++;
    result.dtype = id ? result.dtype : graph.tensor(op.inputs[0]).dtype;
    if (id)
      wanted[*id] = result.id;
    else if (value.optional) {
      again.leaveOutOutput();
      continue;
    }
    again.outputs.push_back(result.id);
    made.outputPorts.push_back(result.id);
    made.tensors[result.id] = std::move(result);
  }
  made.ops.push_back(std::move(again));
  if (wanted.empty())
    return;
  Tensors given;
  for (uint64_t id : made.inputPorts)
    given[id] = inputs.at(id);
  auto results = reference::evaluate(made, std::move(given));
  if (results)
    for (auto [operand, result] : wanted)
      inputs[operand] = results->at(result);
}

std::string nameOf(std::span<const ValueInfo> values, size_t slot) {
  const ValueInfo &value = values[std::min(slot, values.size() - 1)];
  return std::string(value.name) + (value.variadic ? std::to_string(slot) : "");
}

/// Finite, and not all the same unless there is one element.
bool tells(const Tensor &result) {
  bool differ = result.numElements() == 1;
  for (int64_t i = 0; i < result.numElements(); ++i) {
    if (!std::isfinite(result.at(i)))
      return false;
    differ |= result.at(i) != result.at(0);
  }
  return differ;
}

/// Fractions with two digits after the point.
void shorten(Tensors &inputs) {
  for (auto &[id, tensor] : inputs) {
    if (tensor.dtype == DType::f32)
      for (double &value : tensor.data)
        value = std::round(value * 100) / 100;
    reference::roundToDType(tensor);
  }
}

std::optional<ExampleData> withNumbers(const OpInfo &info, OpForm form,
                                       uint64_t seed) {
  Graph graph = graphOf(std::move(form));
  const Op &op = graph.ops.front();
  auto inputs = check::fillInputs(graph, seed);
  if (!inputs)
    return std::nullopt;
  shorten(*inputs);
  computeForward(info, graph, *inputs);
  auto results = reference::evaluate(graph, *inputs);
  if (!results)
    return std::nullopt;
  ExampleData data;
  data.op = op;
  for (size_t i = 0; i < op.inputs.size(); ++i)
    data.operands.push_back({nameOf(info.operands, op.inputSlot(i)),
                             graph.tensor(op.inputs[i]),
                             inputs->at(op.inputs[i])});
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    std::string name = nameOf(info.results, op.outputSlot(i));
    bool isTaken = std::ranges::any_of(data.operands, [&](const auto &operand) {
      return operand.name == name;
    });
    data.results.push_back({isTaken ? "new_" + name : name,
                            graph.tensor(op.outputs[i]),
                            results->at(op.outputs[i])});
    if (!tells(data.results.back().values))
      return std::nullopt;
  }
  return data;
}

} // namespace

std::optional<ExampleData> exampleData(const OpInfo &info) {
  for (const OpForm &form : bestForms(info))
    for (uint64_t seed : {1, 100, 200}) // Neighbours share numbers.
      if (std::optional<ExampleData> data = withNumbers(info, form, seed))
        return data;
  return std::nullopt;
}

} // namespace tenon::cli
