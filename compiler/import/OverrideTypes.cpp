//===- OverrideTypes.cpp - data types, properties, math mode --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/OverridesImpl.h"

#include "dialects/graph/OpTable.h"

#include <algorithm>
#include <set>

namespace tenon::overrides {

using graph::DType;
using graph::Graph;
using graph::Op;
using graph::OpInfo;
using graph::ValueInfo;

/// Operations whose meaning is a conversion: a graph that has one cannot be of
/// one data type.
static bool isConversion(std::string_view kind) {
  const OpInfo &info = graph::factsOf(kind);
  return graph::isCast(info) || info.opClass == graph::OpClass::quantization;
}

static const ValueInfo *slot(std::span<const ValueInfo> values, size_t index) {
  if (values.empty())
    return nullptr;
  if (index < values.size())
    return &values[index];
  return values.back().variadic ? &values.back() : nullptr;
}

/// Whether this operand or result stays f32: the statistics and affine
/// parameters of norms, and what cannot be `dtype` at all.
static bool isPinned(const OpInfo &info, const ValueInfo &value, DType dtype) {
  if (info.typeRule == "statistics" &&
      value.typeVar != info.operands[0].typeVar)
    return true;
  if (value.typeVar.empty())
    return false;
  const graph::TypeVarInfo *var = info.typeVar(value.typeVar);
  return var &&
         std::count(var->allowed.begin(), var->allowed.end(), dtype) == 0;
}

void applyDType(Graph &graph, DType dtype, Errors &errors) {
  std::set<uint64_t> pinned;
  for (const Op &op : graph.ops) {
    const OpInfo *info = graph::lookupOp(op.kind);
    if (!info)
      continue; // inference reports it
    if (isConversion(op.kind)) {
      errors.push_back(
          badOverride(op,
                      "converts data types: the graph cannot become all " +
                          std::string(name(dtype)),
                      "give the types of single tensors: --dt=ID:DT+ID:DT"));
      continue;
    }
    auto pin = [&](std::span<const ValueInfo> values,
                   const std::vector<uint64_t> &ids, auto slotOf) {
      for (size_t i = 0; i < ids.size(); ++i)
        if (const ValueInfo *v = slot(values, (op.*slotOf)(i));
            v && isPinned(*info, *v, dtype))
          pinned.insert(ids[i]);
    };
    pin(info->operands, op.inputs, &Op::inputSlot);
    pin(info->results, op.outputs, &Op::outputSlot);
  }
  if (!errors.empty())
    return;
  for (auto &[id, t] : graph.tensors)
    if (graph::isFloat(t.dtype) && !pinned.count(id))
      t.dtype = dtype;
}

static Error noSuchTensor(std::string_view override, uint64_t id) {
  Error e = badOverride("--" + std::string(override) +
                        ": the graph has no tensor " + std::to_string(id));
  e.code = ErrorCode::UnknownTensor;
  return e;
}

void applyTypeMaps(Graph &graph, const Overrides &o, Errors &errors) {
  for (auto [id, dtype] : o.dtypes) {
    if (auto it = graph.tensors.find(id); it != graph.tensors.end())
      it->second.dtype = dtype;
    else
      errors.push_back(noSuchTensor("dt", id));
  }
  for (auto [id, property] : o.properties) {
    if (auto it = graph.tensors.find(id); it != graph.tensors.end())
      it->second.property = property;
    else
      errors.push_back(noSuchTensor("tensor-property", id));
  }
  if (o.fpmathMode)
    graph.fpmathMode = *o.fpmathMode;
  if (o.fpmathApplyToInt)
    graph.fpmathApplyToInt = *o.fpmathApplyToInt;
}

} // namespace tenon::overrides
