//===- Recurrent.cpp - operands of recurrent operations -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Recurrent.h.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/Recurrent.h"

namespace tenon::reference {

using graph::CellSize;

double Codes::codeOf(double number) const {
  return roundTo(DType::u8, number * scale + shift);
}

double Codes::rounded(double number) const {
  return used ? numberOf(codeOf(number)) : number;
}

Recurrence::Recurrence(OpContext &c)
    : c(c), info(graph::cellInfo(c.op)), table(graph::factsOf(c.op.kind)) {
  std::string_view kind = graph::forwardOf(table).kind;
  cell = kind == "RNN" ? Cell::rnn : kind == "LSTM" ? Cell::lstm : Cell::gru;
  std::string direction = c.text("direction", "left2right");
  directions = graph::cellDirections(direction);
  rightToLeft = direction == "right2left";
  concatenatesResults = direction == "bidirectional_concat";
  addsResults = direction == "bidirectional_sum";
  concatenatesLayers =
      directions == 2 && c.text("stacking", "independent") == "concatenated";
  batchFirst = c.flag("batch_first", false);
  linearBeforeReset = c.flag("linear_before_reset", false);
  activation = c.text("activation", "tanh");
  alpha = c.f32("alpha", 0);
}

bool Recurrence::read() {
  return readSizes() && checkSizes() && readLengths() && readCodes() &&
         checkGradients();
}

double Recurrence::stored(double number) const {
  if (codes.used || !c.roundsEdges)
    return codes.rounded(number);
  return roundTo(c.in(0).dtype, number);
}

std::optional<size_t> Recurrence::slotOf(std::string_view name,
                                         bool isResult) const {
  std::span<const graph::ValueInfo> values =
      isResult ? table.results : table.operands;
  auto found = std::ranges::find(values, name, &graph::ValueInfo::name);
  if (found == values.end())
    return std::nullopt;
  auto slot = static_cast<size_t>(found - values.begin());
  if (!(isResult ? c.hasOut(slot) : c.hasIn(slot)))
    return std::nullopt;
  return slot;
}

const double *Recurrence::operand(std::string_view name) const {
  // An empty tensor is given all the same: not null.
  static constexpr double nothing = 0;
  auto dataOf = [](const std::vector<double> &data) {
    return data.empty() ? &nothing : data.data();
  };
  if (auto found = numbers.find(name); found != numbers.end())
    return dataOf(found->second);
  std::optional<size_t> slot = slotOf(name, /*isResult=*/false);
  return slot ? dataOf(c.in(*slot).data) : nullptr;
}

Tensor *Recurrence::result(std::string_view name) const {
  std::optional<size_t> slot = slotOf(name, /*isResult=*/true);
  return slot ? &c.outputs[*slot] : nullptr;
}

Dims Recurrence::shapeOf(std::string_view name) const {
  auto sizeOf = [&](CellSize size) {
    switch (size) {
    case CellSize::steps:
      return steps;
    case CellSize::batch:
      return batch;
    case CellSize::layers:
      return layers;
    case CellSize::directions:
      return directions;
    case CellSize::inputs:
      return inputs;
    case CellSize::states:
      return states;
    case CellSize::hidden:
      return hidden;
    case CellSize::outputs:
      return outputs;
    case CellSize::results:
      return outputs * (concatenatesResults ? 2 : 1);
    case CellSize::gates:
      return info.gates;
    case CellSize::biasRows:
      return info.biasRows;
    case CellSize::saved:
      return savedWidth();
    case CellSize::three:
      return int64_t{3};
    case CellSize::one:
      return int64_t{1};
    }
    return int64_t{0};
  };
  Dims shape;
  for (CellSize size : graph::cellDims(name, batchFirst))
    shape.push_back(sizeOf(size));
  return shape;
}

bool Recurrence::readSizes() {
  if (!c.requireRank(0, 3) || !c.requireRank(1, 5) || !c.requireRank(2, 5))
    return false;
  const Dims &src = c.in(0).shape;
  const Dims &w = c.in(1).shape, &u = c.in(2).shape;
  steps = src[batchFirst ? 1 : 0];
  batch = src[batchFirst ? 0 : 1];
  layers = w[0];
  inputs = w[2];
  states = u[2];
  outputs = hidden = w[4];
  if (auto slot = slotOf("weights_projection", /*isResult=*/false)) {
    if (!c.requireRank(*slot, 4))
      return false;
    outputs = c.in(*slot).shape[3];
  }
  for (size_t i = 0; i < c.inputs.size(); ++i)
    if (c.hasIn(i) && !c.requireShape(i, shapeOf(table.operands[i].name)))
      return false;
  return true;
}

bool Recurrence::checkSizes() {
  int64_t read = outputs * (concatenatesLayers ? 2 : 1);
  bool carries = steps != 1 || isGiven("sequence_lengths");
  std::string problem;
  if (layers < 1)
    problem = "there is no layer";
  else if (layers > 1 && inputs != read)
    problem = "several layers need SLC = " + std::to_string(read);
  else if (carries && states != outputs)
    problem = "any number of steps but one, and sequence_lengths, need SIC = "
              "DIC";
  else if (info.statesAreHidden && states != hidden)
    problem = "the update gate needs SIC = DHC";
  return problem.empty() || c.fail(ErrorCode::ShapeMismatch, problem);
}

bool Recurrence::readLengths() {
  lengths.assign(batch, steps);
  const double *given = operand("sequence_lengths");
  if (!given)
    return true;
  for (int64_t n = 0; n < batch; ++n) {
    lengths[n] = static_cast<int64_t>(given[n]);
    if (lengths[n] < 0 || lengths[n] > steps)
      return c.fail(ErrorCode::BadTensorData,
                    "sequence_lengths[" + std::to_string(n) + "] is " +
                        std::to_string(lengths[n]) +
                        ", a length is from 0 to T = " + std::to_string(steps));
  }
  return true;
}

/// What stands in the place of codes.
bool Recurrence::readCodes() {
  codes.used = c.in(0).dtype == DType::u8;
  if (!codes.used)
    return true;
  codes.scale = c.f32("data_scale", 1);
  codes.shift = c.f32("data_shift", 0);
  if (codes.scale == 0)
    return c.fail(ErrorCode::AttrValue, "data_scale is 0");
  if (isGiven("weights_peephole") || result("workspace") || linearBeforeReset)
    return c.fail(ErrorCode::BadDType,
                  "there is no peephole, no workspace and no "
                  "linear_before_reset with u8");
  return dequantize();
}

bool Recurrence::dequantize() {
  for (const char *name : {"src_layer", "src_iter"})
    if (auto slot = slotOf(name, /*isResult=*/false)) {
      const Tensor &tensor = c.in(*slot);
      std::vector<double> values = tensor.data;
      for (double &value : values)
        value = tensor.dtype == DType::u8 ? codes.numberOf(value)
                                          : codes.rounded(value);
      numbers.emplace(name, std::move(values));
    }
  struct Weights {
    const char *name, *scales;
    int64_t columns; // the innermost dims
  };
  int64_t gateColumns = info.gates * hidden;
  for (const Weights &w :
       {Weights{"weights_layer", "weights_scales", gateColumns},
        {"weights_iter", "weights_scales", gateColumns},
        {"weights_projection", "projection_scales", outputs}}) {
    auto scales = c.op.attrOr<std::vector<float>>(w.scales, {1});
    auto count = static_cast<int64_t>(scales.size());
    bool isZero = std::ranges::find(scales, 0.0f) != scales.end();
    if (isZero || (count != 1 && count != w.columns))
      return c.fail(ErrorCode::AttrValue,
                    std::string(w.scales) +
                        (isZero ? " has 0"
                                : " has " + std::to_string(count) +
                                      " numbers, needed are 1 or " +
                                      std::to_string(w.columns)));
    auto slot = slotOf(w.name, /*isResult=*/false);
    if (!slot)
      continue;
    std::vector<double> values = c.in(*slot).data;
    for (size_t i = 0; i < values.size(); ++i)
      values[i] /= scales[i % scales.size()];
    numbers.emplace(w.name, std::move(values));
  }
  return true;
}

/// Whether the operands that gradients need are there, and no others.
bool Recurrence::checkGradients() {
  bool accumulates = c.text("diff_weights", "overwrite") == "accumulate";
  constexpr std::string_view suffix = "_before";
  for (const graph::ValueInfo &value : table.operands) {
    if (!value.name.ends_with(suffix))
      continue;
    std::string gradient(value.name);
    gradient.resize(gradient.size() - suffix.size());
    bool isAdded = accumulates && result(gradient);
    if (isAdded != isGiven(value.name))
      return c.fail(ErrorCode::OperandCount,
                    std::string(value.name) +
                        (isAdded ? " is left out, but " : " is given, but ") +
                        gradient + " is " + (isAdded ? "" : "not ") +
                        "accumulated");
  }
  for (const char *name : {"weights_peephole", "weights_projection"})
    if (result("diff_" + std::string(name)) && !isGiven(name))
      return c.fail(ErrorCode::OperandCount, "diff_" + std::string(name) +
                                                 " is a result, but " + name +
                                                 " is left out");
  return true;
}

bool Recurrence::setShapes() {
  for (size_t i = 0; i < c.outputs.size(); ++i)
    if (!c.setShape(i, shapeOf(table.results[i].name)))
      return false;
  return true;
}

CellWeights Recurrence::weights(int64_t layer, int64_t direction) const {
  int64_t at = layer * directions + direction;
  auto part = [&](const char *name, int64_t size) -> const double * {
    const double *data = operand(name);
    return data ? data + at * size : nullptr;
  };
  return {part("weights_layer", inputs * info.gates * hidden),
          part("weights_iter", states * info.gates * hidden),
          part("bias", info.biasRows * hidden),
          part("weights_peephole", 3 * hidden),
          part("weights_projection", hidden * outputs)};
}

std::vector<int64_t> Recurrence::order(int64_t n, int64_t direction) const {
  std::vector<int64_t> steps(lengths[n]);
  for (int64_t t = 0; t < lengths[n]; ++t)
    steps[t] = t;
  if (rightToLeft || direction == 1)
    std::ranges::reverse(steps);
  return steps;
}

const double *Recurrence::inputOf(int64_t layer, int64_t direction, int64_t t,
                                  int64_t n,
                                  const StepRows<const double> &saved,
                                  std::vector<double> &scratch) const {
  if (layer == 0)
    return operand("src_layer") + dataRow(t, n) * inputs;
  if (!concatenatesLayers)
    return hiddenOf(saved.row(layer - 1, direction, t));
  scratch.clear();
  for (int64_t d = 0; d < directions; ++d) {
    const double *h = hiddenOf(saved.row(layer - 1, d, t));
    scratch.insert(scratch.end(), h, h + outputs);
  }
  return scratch.data();
}

States Recurrence::statesBefore(int64_t layer, int64_t direction, int64_t n,
                                std::span<const int64_t> order, size_t s,
                                const StepRows<const double> &saved) const {
  if (s > 0) {
    const double *row = saved.row(layer, direction, order[s - 1]);
    const double *h = hiddenOf(row);
    States states{{h, h + outputs}, {}};
    if (cell == Cell::lstm)
      states.cell.assign(cellOf(row), cellOf(row) + hidden);
    return states;
  }
  int64_t row = stateRow(layer, direction, n);
  auto given = [&](const char *name, int64_t width, double otherwise) {
    const double *data = operand(name);
    return data ? std::vector<double>(data + row * width,
                                      data + (row + 1) * width)
                : std::vector<double>(width, otherwise);
  };
  return {given("src_iter", states, codes.rounded(0)),
          given("src_iter_c", hidden, 0)};
}

double Recurrence::attention(int64_t t, int64_t n) const {
  const double *given = operand("attention");
  return given ? given[dataRow(t, n)] : 0;
}

} // namespace tenon::reference
