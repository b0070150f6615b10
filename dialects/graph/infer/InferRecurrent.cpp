//===- InferRecurrent.cpp - rules of recurrent cells ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One description for all cells: each operand and each result has the dims that
// its name stands for (RecurrentCell.h); what is known of one is known of all.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/RecurrentCell.h"
#include "dialects/graph/infer/Rules.h"

#include <algorithm>

namespace tenon::graph::infer {
namespace {

/// `factor` * `a` + `b`; unknown, too, if no dim is so large.
int64_t sumOf(int64_t factor, int64_t a, int64_t b) {
  if (!isKnown(a) || !isKnown(b))
    return kUnknownDim;
  __int128 sum = static_cast<__int128>(factor) * a + b;
  return fitsDim(sum) ? static_cast<int64_t>(sum) : kUnknownDim;
}

/// The sizes of one recurrent operation, as far as they are known.
class Cell {
public:
  explicit Cell(RuleContext &ctx)
      : ctx(ctx), info(cellInfo(ctx.op)),
        batchFirst(ctx.boolAttr("batch_first")),
        concatenatesResults(ctx.stringAttr("direction") ==
                            "bidirectional_concat"),
        concatenatesLayers(ctx.stringAttr("stacking") == "concatenated"),
        isProjected(hasOperand("weights_projection")) {
    sizes.fill(kUnknownDim);
    at(CellSize::directions) = cellDirections(ctx.stringAttr("direction"));
    at(CellSize::gates) = info.gates;
    at(CellSize::biasRows) = info.biasRows;
    at(CellSize::three) = 3;
    at(CellSize::one) = 1;
  }

  /// Reads all operands; reports what clashes.
  void merge() {
    // Again as long as something is learned: what a later operand knows holds
    // for the earlier ones too.
    for (CellSizes before{}; before != sizes && !ctx.failed();) {
      before = sizes;
      for (size_t i = 0; i < ctx.inputs.size() && !ctx.failed(); ++i)
        if (ctx.hasInput(i))
          mergeOperand(i);
      if (!ctx.failed())
        relate();
    }
  }

  /// States the shapes of all results.
  void setResults() {
    for (size_t i = 0; i < ctx.outputs.size(); ++i)
      if (ctx.hasOutput(i))
        ctx.setOut(i, dimsOf(ctx.info.results[i].name));
  }

  bool hasOperand(std::string_view name) const {
    return has(ctx.info.operands, name, &RuleContext::hasInput);
  }
  bool hasResult(std::string_view name) const {
    return has(ctx.info.results, name, &RuleContext::hasOutput);
  }
  /// G * DHC, or DIC.
  int64_t weightsColumns() const {
    return isKnown(at(CellSize::hidden)) ? info.gates * at(CellSize::hidden)
                                         : kUnknownDim;
  }
  int64_t projectionColumns() const { return at(CellSize::outputs); }

private:
  int64_t &at(CellSize size) { return sizes[static_cast<size_t>(size)]; }
  int64_t at(CellSize size) const { return sizes[static_cast<size_t>(size)]; }

  bool has(std::span<const ValueInfo> values, std::string_view name,
           bool (RuleContext::*isGiven)(size_t) const) const {
    auto found = std::ranges::find(values, name, &ValueInfo::name);
    return found != values.end() && (ctx.*isGiven)(found - values.begin());
  }

  Dims dimsOf(std::string_view name) const {
    Dims dims;
    for (CellSize size : cellDims(name, batchFirst))
      dims.push_back(at(size));
    return dims;
  }

  /// "T, N, SLC", with the numbers that the operation fixes: "L, D = 1, ...".
  std::string textOf(std::string_view name) const {
    std::string text;
    for (CellSize size : cellDims(name, batchFirst)) {
      text += cat(text.empty() ? "" : ", ", graph::name(size));
      if (size == CellSize::directions || size == CellSize::gates ||
          size == CellSize::biasRows)
        text += cat(" = ", at(size));
      else if (size == CellSize::saved)
        text += cat(" = ", info.valuesOfUnit, " * ", at(CellSize::hidden),
                    " + ", at(CellSize::outputs));
    }
    return text;
  }

  void mergeOperand(size_t i);
  void relate();
  bool unify(CellSize a, CellSize b, int64_t factor, const std::string &when,
             std::string_view why);

  RuleContext &ctx;
  const CellInfo info;
  const bool batchFirst, concatenatesResults, concatenatesLayers, isProjected;
  CellSizes sizes;
};

void Cell::mergeOperand(size_t i) {
  if (!ctx.in(i))
    return;
  std::string_view name = ctx.info.operands[i].name;
  std::vector<CellSize> form = cellDims(name, batchFirst);
  const Dims &dims = *ctx.in(i);
  if (dims.size() != form.size())
    return ctx.error(ErrorCode::BadRank,
                     cat(ctx.inText(i), " of rank ", dims.size(),
                         "; needed is rank ", form.size(), ": ", textOf(name)));
  if (!ctx.requireShape(i, dimsOf(name), cat("its dims are ", textOf(name))))
    return;
  for (size_t d = 0; d < dims.size(); ++d)
    if (isKnown(dims[d]))
      at(form[d]) = dims[d];
}

/// Makes `a` and `factor` times `b` one number; reports when they differ.
bool Cell::unify(CellSize a, CellSize b, int64_t factor,
                 const std::string &when, std::string_view why) {
  int64_t &left = at(a), &right = at(b);
  if (isKnown(left) && !isKnown(right) && left % factor == 0)
    right = left / factor;
  int64_t needed = sumOf(factor, right, 0);
  if (!isKnown(left))
    left = needed;
  if (left == needed || !isKnown(needed))
    return true;
  ctx.error(ErrorCode::ShapeMismatch,
            cat(graph::name(a), " is ", left, "; needed is ",
                factor == 1 ? "" : cat(factor, " * "), graph::name(b), " = ",
                needed, when),
            std::string(why));
  return false;
}

/// What sizes say of each other.
void Cell::relate() {
  using enum CellSize;
  int64_t numLayers = at(layers), numSteps = at(steps);
  if (isKnown(numLayers) && numLayers < 1)
    return ctx.error(ErrorCode::BadDim,
                     cat("weights_layer has ", numLayers, " layers"),
                     "at least one layer is needed");
  if (!isProjected && !unify(outputs, hidden, 1, " without projection", ""))
    return;
  if (info.statesAreHidden &&
      !unify(states, hidden, 1, "", "the update gate adds h to the state"))
    return;
  if (!unify(results, outputs, concatenatesResults ? 2 : 1, "",
             "DLC are the channels of dst_layer"))
    return;
  int64_t read = concatenatesLayers ? at(directions) : 1;
  if (isKnown(numLayers) && numLayers > 1 &&
      !unify(inputs, outputs, read, cat(" with ", numLayers, " layers"),
             "a layer reads the layer below with the same weights tensor; use "
             "one operation per layer"))
    return;
  if (isKnown(numSteps) && numSteps != 1 &&
      !unify(states, outputs, 1, cat(" with ", numSteps, " steps"),
             "each step reads the h of the step before"))
    return;
  // A sequence of length 0 ends with the state it began with.
  if (hasOperand("sequence_lengths") &&
      !unify(states, outputs, 1, " with sequence_lengths",
             "src_iter is dst_iter where a length is 0"))
    return;
  int64_t needed = sumOf(info.valuesOfUnit, at(hidden), at(outputs));
  if (!isKnown(at(saved)))
    at(saved) = needed;
  if (isKnown(needed) && at(saved) != needed)
    ctx.error(ErrorCode::ShapeMismatch,
              cat("workspace has ", at(saved), " channels; needed are ",
                  "S * DHC + DIC = ", info.valuesOfUnit, " * ", at(hidden),
                  " + ", at(outputs), " = ", needed),
              "it must be the workspace of the forward operation with the same "
              "sizes and attributes");
}

/// Scales of columns: one, or `columns` of them.
void checkScales(RuleContext &ctx, std::string_view attr, int64_t columns,
                 std::string_view meaning) {
  size_t count = ctx.floatsAttr(attr).size();
  if (!ctx.op.attr(attr) || count == 1 || (count > 0 && !isKnown(columns)) ||
      static_cast<int64_t>(count) == columns)
    return;
  ctx.error(ErrorCode::AttrValue,
            cat("attribute ", attr, " has ", count,
                " numbers, needed are 1 or ", meaning, " = ", columns));
}

/// What int8 does not have.
void checkInt8(RuleContext &ctx, const Cell &cell) {
  auto refuse = [&](bool given, std::string_view what, std::string hint) {
    if (given)
      ctx.error(ErrorCode::BadDType,
                cat("src_layer is u8, with which there is no ", what),
                std::move(hint));
  };
  refuse(cell.hasOperand("weights_peephole"), "weights_peephole",
         "leave it out, or dequantize src_layer");
  refuse(cell.hasResult("workspace"), "workspace",
         "leave it out: gradients are those of floating types");
  refuse(ctx.boolAttr("linear_before_reset"), "linear_before_reset",
         "dequantize src_layer");
}

void recurrent(RuleContext &ctx) {
  Cell cell(ctx);
  if (ctx.inputs[0].dtype == DType::u8)
    checkInt8(ctx, cell);
  if (!ctx.failed())
    cell.merge();
  if (ctx.failed())
    return;
  if (ctx.info.attr("weights_scales"))
    checkScales(ctx, "weights_scales", cell.weightsColumns(), "G * DHC");
  if (ctx.info.attr("projection_scales"))
    checkScales(ctx, "projection_scales", cell.projectionColumns(), "DIC");
  cell.setResults();
}

/// Every gradient that is accumulated is added to an operand, and every such
/// operand belongs to a gradient.
void checkAccumulation(RuleContext &ctx, const Cell &cell) {
  constexpr std::string_view suffix = "_before";
  bool accumulates = ctx.stringAttr("diff_weights") == "accumulate";
  for (const ValueInfo &operand : ctx.info.operands) {
    if (!operand.name.ends_with(suffix))
      continue;
    std::string_view result =
        operand.name.substr(0, operand.name.size() - suffix.size());
    bool given = cell.hasOperand(operand.name);
    bool wanted = accumulates && cell.hasResult(result);
    if (given == wanted)
      continue;
    if (wanted)
      ctx.error(
          ErrorCode::OperandCount,
          cat(operand.name, " is left out, but ", result, " is accumulated"),
          cat("give what the gradient is added to, or say "
              "diff_weights=overwrite"));
    else
      ctx.error(ErrorCode::OperandCount,
                cat(operand.name, " is given, but ", result,
                    accumulates ? " is not" : " is not accumulated"),
                accumulates ? cat("leave both out, or none")
                            : "leave it out, or say diff_weights=accumulate");
  }
}

void recurrentBackward(RuleContext &ctx) {
  Cell cell(ctx);
  for (std::string_view weights : {"weights_peephole", "weights_projection"}) {
    std::string gradient = cat("diff_", weights);
    if (cell.hasResult(gradient) && !cell.hasOperand(weights))
      ctx.error(ErrorCode::OperandCount,
                cat(gradient, " is a result, but ", weights, " is left out"),
                cat("give ", weights, " as the forward operation has it"));
  }
  checkAccumulation(ctx, cell);
  if (!ctx.failed())
    cell.merge();
  if (!ctx.failed())
    cell.setResults();
}

constexpr RuleEntry rules[] = {{"recurrent", recurrent},
                               {"recurrent_backward", recurrentBackward}};

} // namespace

std::span<const RuleEntry> recurrentRules() { return rules; }

} // namespace tenon::graph::infer
