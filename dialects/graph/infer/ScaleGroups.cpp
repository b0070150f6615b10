//===- ScaleGroups.cpp - scales of weights in groups ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See ScaleGroups.h.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/infer/ScaleGroups.h"
#include "dialects/graph/OpTable.h"
#include "dialects/graph/infer/Shapes.h"

#include <algorithm>
#include <set>

namespace tenon::graph::infer {
namespace {

bool isQuantisation(const Op &op) {
  return factsOf(op.kind).opClass == OpClass::quantization;
}

/// Whether every element of the result is one of operand 0.
bool isPassedThrough(const Op &op) {
  return op.kind == "TypeCast" || isQuantisation(op);
}

bool readsWeights(const Op &op) {
  const OpInfo &info = factsOf(op.kind);
  return info.opClass == OpClass::contraction && info.attr("weights_format") &&
         info.operands[1].name == "weights";
}

/// Whether the weights of a convolution begin with their channels.
bool hasSpatialLast(const Op &op) {
  std::string format = op.attrOr<std::string>("weights_format", "");
  return format == "OIX" || format == "IOX";
}

/// The dim that a quantisation per channel goes along; -1: none.
int64_t axisOf(const Op &op, size_t rank) {
  if (op.attrOr<std::string>("qtype", "per_tensor") != "per_channel")
    return -1;
  int64_t axis = op.attrOr<int64_t>("axis", 1);
  axis += axis < 0 ? static_cast<int64_t>(rank) : 0;
  return axis < static_cast<int64_t>(rank) ? axis : -1;
}

} // namespace

const std::vector<ScaleGroups::Reader> &ScaleGroups::readersOf(uint64_t id) {
  if (readers.empty())
    for (const Op &op : graph.ops)
      for (size_t i = 0; i < op.inputs.size(); ++i)
        readers[op.inputs[i]].push_back({&op, i});
  return readers[id];
}

/// As `of`, for one that reads the tensor; 0: its operands are not weights of
/// that form.
int64_t ScaleGroups::groupsAt(const Reader &reader, int64_t axis, size_t rank) {
  const Op &op = *reader.op;
  if (!readsWeights(op) || reader.operand != 1)
    return 0;
  int64_t perGroup = hasSpatialLast(op) ? 1 : static_cast<int64_t>(rank) - 2;
  return axis == perGroup ? op.attrOr<int64_t>("groups", 1) : 0;
}

int64_t ScaleGroups::of(const Op &op) {
  auto src = graph.tensors.find(op.inputs.empty() ? 0 : op.inputs[0]);
  if (src == graph.tensors.end() || !src->second.shape || op.outputs.empty())
    return 1;
  size_t rank = src->second.shape->size();
  int64_t axis = axisOf(op, rank), groups = 0;
  bool spatialLast = false; // of those found
  if (axis < 0)
    return 1;
  std::vector<uint64_t> open = {op.outputs[0]};
  std::set<uint64_t> ports(graph.outputPorts.begin(), graph.outputPorts.end());
  while (!open.empty()) {
    uint64_t id = open.back();
    open.pop_back();
    const std::vector<Reader> &list = readersOf(id);
    if (list.empty() || ports.count(id))
      return 1;
    for (const Reader &reader : list) {
      if (isPassedThrough(*reader.op) && reader.operand == 0 &&
          !reader.op->outputs.empty()) {
        open.push_back(reader.op->outputs[0]);
        continue;
      }
      int64_t here = groupsAt(reader, axis, rank);
      bool last = hasSpatialLast(*reader.op);
      if (here < 1 || (groups && (groups != here || spatialLast != last)))
        return 1;
      groups = here;
      spatialLast = last;
    }
  }
  return std::max<int64_t>(groups, 1);
}

std::vector<Error> ScaleGroups::check() {
  std::vector<Error> errors;
  for (const Op &op : graph.ops) {
    if (!isQuantisation(op) || op.inputs.empty())
      continue;
    auto src = graph.tensors.find(op.inputs[0]);
    if (src == graph.tensors.end() || !src->second.shape)
      continue;
    const Dims &shape = *src->second.shape;
    int64_t axis = axisOf(op, shape.size());
    if (axis < 0 || !isKnown(shape[axis]))
      continue;
    auto count = static_cast<int64_t>(
        op.attrOr<std::vector<float>>("scales", {}).size());
    if (op.inputs.size() > 1) {
      auto scales = graph.tensors.find(op.inputs[1]);
      if (scales == graph.tensors.end() || !scales->second.hasStaticShape())
        continue;
      count = product(*scales->second.shape).value_or(-1);
    }
    if (count == shape[axis])
      continue;
    int64_t groups = of(op);
    if (groups > 1 && count == shape[axis] * groups)
      continue;
    errors.push_back(errorAbout(
        op, ErrorCode::AttrValue,
        cat("there are ", count, " scales, needed is ", shape[axis],
            " for qtype per_channel and src of ", src->second.shape,
            groups > 1
                ? cat(", or ", groups, " times as many for as many groups")
                : std::string()),
        "more scales than channels are for weights of convolutions with one "
        "number of groups, which alone read the result; give other readers an "
        "operation of their own"));
  }
  return errors;
}

} // namespace tenon::graph::infer
