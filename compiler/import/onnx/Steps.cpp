// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/Steps.h"

#include <algorithm>

namespace tenon::onnx {

/// Whether both are known to be the same sizes.
static bool areSame(const Sizes &a, const Sizes &b) {
  return std::ranges::equal(a, b, [](const Size &x, const Size &y) {
    return x.isKnown() ? x.number == y.number
                       : !y.isKnown() && !x.expression.empty() &&
                             x.expression == y.expression;
  });
}

static void requireSameType(NodeContext &n, Value a, Value b,
                            const std::string &what) {
  if (!n.failed() && n.type(a) != n.type(b))
    n.fail(ErrorCode::BadDType, what + " is of type " +
                                    std::string(name(n.type(a))) + " and of " +
                                    std::string(name(n.type(b))));
}

/// The sizes; of unknown rank, an error.
static Sizes sizesOf(NodeContext &n, Value value) {
  n.shape(value);
  return n.sizesOf(value).value_or(Sizes{});
}

/// A constant where the elements are known: nobody reads what gave them then.
static Value folded(NodeContext &n, Value value) {
  const reference::Tensor *elements = n.elements(value);
  return elements ? n.constant(*elements) : value;
}

std::optional<bool> truthOf(NodeContext &n, Value condition) {
  const reference::Tensor *elements = n.elements(condition);
  if (!elements || elements->numElements() != 1)
    return std::nullopt;
  return elements->at(0) != 0;
}

Value scalarOf(NodeContext &n, Value value, DType dtype,
               const std::string &what) {
  Dims dims = n.shape(value);
  if (n.failed())
    return kNone;
  if (value != kNone && n.type(value) == dtype &&
      reference::elementCount(dims) == 1)
    return n.reshape(value, {});
  n.fail(ErrorCode::BadDType,
         what + " is not one element of type " + std::string(name(dtype)));
  return kNone;
}

Value whole(NodeContext &n, const Named &named, const std::string &what) {
  if (named.count != kNone)
    n.refuse(what + " has as many entries as the data says");
  return named.value;
}

static bool isSameConstant(NodeContext &n, Value a, Value b) {
  const reference::Tensor *x = n.elements(a), *y = n.elements(b);
  return x && y && x->dtype == y->dtype && x->shape == y->shape &&
         x->data == y->data && x->integers == y->integers;
}

Value choose(NodeContext &n, Value condition, Value a, Value b,
             const std::string &what) {
  requireSameType(n, a, b, what);
  if (a == b || isSameConstant(n, a, b))
    return a;
  Sizes sizes = sizesOf(n, a), others = sizesOf(n, b);
  if (!n.failed() && !areSame(sizes, others))
    n.refuse(what + " has shape " + textOf(sizes) + " or " + textOf(others) +
                 ", as a condition says that is not known when the model is "
                 "read",
             kKnownSizes);
  return n.failed() ? kNone : n.select(condition, a, b);
}

Value stack(NodeContext &n, Values parts, int64_t axis,
            const std::string &what) {
  Sizes sizes = sizesOf(n, parts[0]);
  axis = n.axisOf(axis, static_cast<int>(sizes.size()) + 1);
  for (Value part : parts) {
    Sizes others = sizesOf(n, part);
    requireSameType(n, part, parts[0], what);
    if (!n.failed() && !areSame(sizes, others))
      n.refuse(what + " has shape " + textOf(sizes) + " in one step and " +
                   textOf(others) + " in another",
               kKnownSizes);
  }
  for (Value &part : parts)
    part = n.unsqueeze(part, {axis});
  Value all =
      parts.size() == 1 ? parts[0] : n.op("Concat", parts, {{"axis", axis}});
  return n.failed() ? kNone : folded(n, all);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Steps::Steps(NodeContext &n, const GraphProto &body, size_t numConditions,
             Values values)
    : n(n), body(body), numConditions(numConditions),
      carried(std::move(values)), lasting(carried) {
  size_t before = numConditions + carried.size();
  size_t count = body.outputs.size();
  if (count < before || count - numConditions < n.numOutputs())
    n.fail(ErrorCode::OperandCount,
           "the body has " + std::to_string(count) +
               " outputs, which is not enough for " +
               std::to_string(carried.size()) + " carried values and " +
               std::to_string(n.numOutputs()) + " results");
  else if (std::ranges::count(carried, kNone))
    n.fail(ErrorCode::OperandCount, "a carried value is left out");
  else
    entries.resize(count - before);
}

std::vector<Named> Steps::convertBody(const Values &before,
                                      const Values &behind) {
  Values arguments = before;
  arguments.insert(arguments.end(), carried.begin(), carried.end());
  arguments.insert(arguments.end(), behind.begin(), behind.end());
  return n.convertGraph(body, arguments, active);
}

Value Steps::add(const Values &before, const Values &behind) {
  std::vector<Named> results = convertBody(before, behind);
  hasCounted = false;
  for (size_t i = 0; i < carried.size() && !n.failed(); ++i) {
    std::string what = "carried value " + std::to_string(i);
    Value next = whole(n, results[numConditions + i], what);
    requireSameType(n, next, carried[i], what);
    if (next != carried[i]) {
      next = folded(n, next);
      hasCounted |= n.elements(next) != nullptr;
    }
    lasting[i] =
        active == kNone ? next : choose(n, active, next, lasting[i], what);
    carried[i] = next;
  }
  for (size_t j = 0; j < entries.size() && !n.failed(); ++j) {
    if (!n.wants(carried.size() + j))
      continue;
    Value entry = whole(n, results[numConditions + carried.size() + j],
                        "scan output " + std::to_string(j));
    if (active != kNone)
      entry = n.select(active, entry, n.like(entry, 0));
    entries[j].push_back(entry);
  }
  actives.push_back(active);
  return numConditions && !n.failed()
             ? whole(n, results[0], "the condition of the body")
             : kNone;
}

void Steps::measure(const Values &before, const Values &behind) {
  bool wantsAny = false;
  for (size_t j = 0; j < entries.size(); ++j)
    wantsAny |= n.wants(carried.size() + j);
  if (!wantsAny)
    return;
  std::vector<Named> results = convertBody(before, behind);
  for (size_t j = 0; j < entries.size() && !n.failed(); ++j)
    samples.push_back(whole(n, results[numConditions + carried.size() + j],
                            "scan output " + std::to_string(j)));
}

void Steps::restrictTo(Value condition) {
  active = active == kNone ? condition : n.op("And", {active, condition});
}

Value Steps::stacked(size_t j, int64_t axis, bool reversed) {
  Values parts = entries[j];
  if (parts.empty())
    return noEntries(j, axis);
  if (reversed)
    std::ranges::reverse(parts);
  return stack(n, std::move(parts), axis, "scan output " + std::to_string(j));
}

Value Steps::noEntries(size_t j, int64_t axis) {
  if (j >= samples.size())
    return kNone;
  auto rank = static_cast<int>(sizesOf(n, samples[j]).size());
  axis = n.axisOf(axis, rank + 1);
  Value one = n.unsqueeze(samples[j], {axis});
  if (n.failed())
    return kNone;
  Dims dims = n.shape(one);
  if (std::ranges::count(dims, graph::kUnknownDim))
    return n.slice(one, axis, 0, 0);
  dims[axis] = 0;
  return n.constant(reference::zeros(n.type(one), dims));
}

Value Steps::count() {
  if (std::ranges::all_of(actives, [](Value v) { return v == kNone; }))
    return kNone;
  Values parts;
  for (Value each : actives)
    parts.push_back(n.reshape(each == kNone ? n.scalar(1, DType::s64)
                                            : n.cast(each, DType::s64),
                              {1}));
  Value all = parts.size() == 1 ? parts[0]
                                : n.op("Concat", parts, {{"axis", int64_t{0}}});
  return n.reduce("ReduceSum", all, {0}, false);
}

} // namespace tenon::onnx
