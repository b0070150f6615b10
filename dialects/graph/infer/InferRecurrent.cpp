//===- InferRecurrent.cpp - rules of recurrent cells ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/infer/Rules.h"

namespace tenon::graph::infer {
namespace {

constexpr int64_t kDirections = 1;
constexpr int64_t kLstmGates = 4;

/// The sizes that the operands of a cell share; unknown until one says them.
struct CellSizes {
  int64_t steps = kUnknownDim, batch = kUnknownDim;
  int64_t layers = kUnknownDim;
  int64_t inputs = kUnknownDim; // SLC
  int64_t states = kUnknownDim; // SIC
  int64_t hidden = kUnknownDim; // DHC
};

/// One operand and the size that each of its dims stands for.
struct Form {
  size_t operand;
  std::string_view names; // "T, N, SLC"
  std::vector<int64_t *> dims;
};

/// Merges the dims of one operand into the sizes they stand for.
void merge(RuleContext &ctx, const Form &form) {
  if (!ctx.hasInput(form.operand) || !ctx.in(form.operand))
    return;
  const Dims &dims = *ctx.in(form.operand);
  if (dims.size() != form.dims.size())
    return ctx.error(ErrorCode::BadRank,
                     cat(ctx.inText(form.operand), " of rank ", dims.size(),
                         "; needed is rank ", form.dims.size(), ": ",
                         form.names));
  Dims expected;
  for (int64_t *size : form.dims)
    expected.push_back(*size);
  if (!ctx.requireShape(form.operand, expected,
                        cat("its dims are ", form.names)))
    return;
  for (size_t i = 0; i < dims.size(); ++i)
    if (isKnown(dims[i]))
      *form.dims[i] = dims[i];
}

void lstm(RuleContext &ctx) {
  CellSizes s;
  int64_t directions = kDirections, gates = kLstmGates;
  const Form forms[] = {
      {0, "T, N, SLC", {&s.steps, &s.batch, &s.inputs}},
      {1,
       "L, D = 1, SLC, 4 gates, DHC",
       {&s.layers, &directions, &s.inputs, &gates, &s.hidden}},
      {2,
       "L, D = 1, SIC, 4 gates, DHC",
       {&s.layers, &directions, &s.states, &gates, &s.hidden}},
      {3,
       "L, D = 1, 4 gates, DHC",
       {&s.layers, &directions, &gates, &s.hidden}},
      {4, "L, D = 1, N, SIC", {&s.layers, &directions, &s.batch, &s.states}},
      {5, "L, D = 1, N, DHC", {&s.layers, &directions, &s.batch, &s.hidden}},
  };
  // Twice: what a later operand knows holds for the earlier ones too.
  for (int round = 0; round < 2 && !ctx.failed(); ++round)
    for (const Form &form : forms)
      merge(ctx, form);
  if (ctx.failed())
    return;
  auto differ = [](int64_t a, int64_t b) {
    return isKnown(a) && isKnown(b) && a != b;
  };
  if (isKnown(s.layers) && s.layers < 1)
    ctx.error(ErrorCode::BadDim, cat("weights_layer has ", s.layers, " layers"),
              "an LSTM has at least one layer");
  if (s.layers > 1 && differ(s.inputs, s.hidden))
    ctx.error(ErrorCode::ShapeMismatch,
              cat("SLC ", s.inputs, " and DHC ", s.hidden, " differ with ",
                  s.layers, " layers"),
              "a layer reads the layer below with the same weights tensor; use "
              "one LSTM per layer");
  if (isKnown(s.steps) && s.steps != 1 && differ(s.states, s.hidden))
    ctx.error(ErrorCode::ShapeMismatch,
              cat("SIC ", s.states, " and DHC ", s.hidden, " differ with ",
                  s.steps, " steps"),
              "each step reads the h of the step before");
  if (ctx.failed())
    return;
  ctx.setOut(0, Dims{s.steps, s.batch, s.hidden});
  for (size_t i = 1; i < ctx.outputs.size(); ++i)
    ctx.setOut(i, Dims{s.layers, directions, s.batch, s.hidden});
}

constexpr RuleEntry rules[] = {{"lstm", lstm}};

} // namespace

std::span<const RuleEntry> recurrentRules() { return rules; }

} // namespace tenon::graph::infer
