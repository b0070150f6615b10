// SPDX-License-Identifier: Apache-2.0
//
// Recurrent cells. ONNX has one layer of one or two directions; gates stand one
// after the other in the second dim, D, G * H, I, and there are two biases.
#include "compiler/import/onnx/Conversions.h"

#include <algorithm>

namespace tenon::onnx {

namespace {

/// Sizes of a cell: gates, directions, channels of the state.
struct Cell {
  int64_t gates;
  int64_t directions = 1, hidden = 0;
  /// Tenon's gate i is ONNX's gate order[i]; empty: the same order.
  Dims order;
};

/// What is common to the cells, X, W, R, B, sequence_lens, initial_h being
/// operands 0 to 5 of each.
class Recurrence {
public:
  Recurrence(NodeContext &n, Values operands, int64_t gates, Dims order)
      : n(n), operands(std::move(operands)),
        cell{.gates = gates, .order = std::move(order)} {
    this->operands.resize(8, kNone);
    Dims shape = n.knownShape(in(2)); // D, G * H, H
    if (shape.size() == 3) {
      cell.directions = shape[0];
      cell.hidden = shape[2];
    } else {
      n.refuse("recurrent weights have other than 3 dims");
    }
    if (n.has("clip") || n.integer("input_forget", 0))
      n.refuse("a cell that is clipped, or whose gates are coupled");
    batchFirst = n.integer("layout", 0) != 0;
  }

  Value in(size_t i) const { return operands[i]; }

  /// Gates in Tenon's order: dim `axis` of `value` is that of gates.
  Value ordered(Value value, int64_t axis, const Dims &order) {
    return order.empty() ? value
                         : n.op("Gather", {value, n.integersConstant(order)},
                                {{"axis", axis}});
  }

  /// D, G * H, I becomes 1, D, I, G, H.
  Value weights(size_t operand) {
    Dims shape = n.knownShape(in(operand));
    if (shape.size() != 3) {
      n.refuse("weights have other than 3 dims");
      return kNone;
    }
    Value w = n.reshape(in(operand),
                        {cell.directions, cell.gates, cell.hidden, shape[2]});
    w = n.transpose(ordered(w, 1, cell.order), {0, 3, 1, 2});
    return n.unsqueeze(w, {0});
  }

  /// Both biases, D, 2, G, H.
  Value biases() {
    return n.reshape(in(3), {cell.directions, 2, cell.gates, cell.hidden});
  }

  /// Their sum, 1, D, G, H.
  Value bias() {
    if (in(3) == kNone)
      return kNone;
    Value sum = n.reduce("ReduceSum", biases(), {1}, false);
    return n.unsqueeze(ordered(sum, 1, cell.order), {0});
  }

  /// A state D, N, H, or N, D, H with layout 1, becomes 1, D, N, H.
  Value state(size_t operand) {
    if (in(operand) == kNone)
      return kNone;
    Value value = in(operand);
    if (batchFirst)
      value = n.transpose(value, {1, 0, 2});
    return n.unsqueeze(value, {0});
  }

  Value lengths() { return in(4); }

  graph::AttrMap attrs() {
    std::string direction = n.text("direction", "forward");
    return {{"direction", direction == "forward"   ? "left2right"
                          : direction == "reverse" ? "right2left"
                                                   : "bidirectional_concat"},
            {"batch_first", batchFirst}};
  }

  /// All steps, T, N, D * H or N, T, D * H, become T, D, N, H or N, T, D, H.
  void outSteps(Value value) {
    Dims dims = n.shape(value);
    if (dims.size() != 3)
      return;
    value = n.reshape(value, {dims[0], dims[1], cell.directions, cell.hidden});
    n.out(0, batchFirst ? value : n.transpose(value, {0, 2, 1, 3}));
  }

  /// The type of result `i` of the operator, undef if nobody wants it.
  DType wanted(size_t i) { return n.wants(i) ? n.type(n.in(0)) : DType::undef; }

  void outState(size_t result, Value value) {
    if (value == kNone)
      return;
    Dims dims = n.shape(value);
    if (dims.size() != 4)
      return;
    value = n.reshape(value, {dims[1], dims[2], dims[3]});
    n.out(result, batchFirst ? n.transpose(value, {1, 0, 2}) : value);
  }

  /// The activations must be these, which are Tenon's, in each direction.
  void needActivations(std::initializer_list<std::string_view> names) {
    const AttributeProto *given = n.find("activations");
    if (!given)
      return;
    for (size_t i = 0; i < given->strings.size(); ++i) {
      std::string_view wanted = *(names.begin() + i % names.size());
      if (!std::equal(wanted.begin(), wanted.end(), given->strings[i].begin(),
                      given->strings[i].end(),
                      [](char a, char b) { return (a | 32) == (b | 32); }))
        n.refuse("activation " + std::string(given->strings[i]));
    }
  }

  const Cell &sizes() const { return cell; }

private:
  NodeContext &n;
  Values operands;
  Cell cell;
  bool batchFirst = false;
};

} // namespace

static Values operandsOf(NodeContext &n) {
  Values operands;
  for (size_t i = 0; i < n.numInputs(); ++i)
    operands.push_back(n.in(i));
  return operands;
}

static void rnn(NodeContext &n) {
  Recurrence r(n, operandsOf(n), 1, {});
  const AttributeProto *given = n.find("activations");
  bool relu = given && !given->strings.empty() && given->strings[0] == "Relu";
  r.needActivations({relu ? "Relu" : "Tanh"});
  graph::AttrMap attrs = r.attrs();
  attrs.emplace("activation", relu ? "relu" : "tanh");
  DType type = n.type(n.in(0));
  Values results = n.ops(
      "RNN",
      {n.in(0), r.weights(1), r.weights(2), r.bias(), r.state(5), r.lengths()},
      attrs, {type, r.wanted(1)});
  r.outSteps(results[0]);
  r.outState(1, results[1]);
}

/// Gates z, r, h are Tenon's u, r, o. With linear_before_reset the bias of the
/// product of the state is a fourth row.
static void gru(NodeContext &n) {
  Recurrence r(n, operandsOf(n), 3, {});
  r.needActivations({"Sigmoid", "Tanh"});
  bool before = n.integer("linear_before_reset", 0) != 0;
  graph::AttrMap attrs = r.attrs();
  attrs.emplace("linear_before_reset", before);
  Value bias = r.bias();
  if (before && bias != kNone) {
    // Gates 0 and 1 of the sum, then gate 2 of each.
    auto part = [&](Value value, int64_t axis, int64_t begin, int64_t end) {
      return n.slice(value, axis, begin, end);
    };
    Value last = n.unsqueeze(part(r.biases(), 2, 2, 3), {0}); // 1, D, 2, 1, H
    auto directions = r.sizes().directions, hidden = r.sizes().hidden;
    last = n.reshape(last, {1, directions, 2, hidden});
    bias = n.op("Concat", {part(bias, 2, 0, 2), last}, {{"axis", int64_t{2}}});
  }
  DType type = n.type(n.in(0));
  Values results = n.ops(
      "GRU",
      {n.in(0), r.weights(1), r.weights(2), bias, r.state(5), r.lengths()},
      attrs, {type, r.wanted(1)});
  r.outSteps(results[0]);
  r.outState(1, results[1]);
}

/// Gates i, o, f, c; Tenon's are i, f, c, o. Peepholes are i, o, f and i, f, o.
static void lstmOf(NodeContext &n, Values operands) {
  Recurrence r(n, std::move(operands), 4, {0, 2, 3, 1});
  r.needActivations({"Sigmoid", "Tanh", "Tanh"});
  Value peephole = kNone;
  if (r.in(7) != kNone) {
    auto directions = r.sizes().directions, hidden = r.sizes().hidden;
    peephole = n.reshape(r.in(7), {1, directions, 3, hidden});
    peephole = r.ordered(peephole, 2, {0, 2, 1});
  }
  DType type = n.type(n.in(0));
  Values results = n.ops("LSTM",
                         {n.in(0), r.weights(1), r.weights(2), r.bias(),
                          r.state(5), r.state(6), peephole, kNone, r.lengths()},
                         r.attrs(), {type, r.wanted(1), r.wanted(2)});
  r.outSteps(results[0]);
  r.outState(1, results[1]);
  r.outState(2, results[2]);
}

static void lstm(NodeContext &n) { lstmOf(n, operandsOf(n)); }

/// Of com.microsoft: weights of 8 bits, D, I, 4 * H, with a scale and a zero
/// point for each direction, or for each of its columns. States stay f32.
static void dynamicQuantizeLstm(NodeContext &n) {
  Values operands = operandsOf(n);
  operands.resize(12, kNone);
  for (size_t i : {1, 2}) {
    auto numbers = [&](size_t operand) {
      Value value = n.cast(operands[operand], DType::f32);
      return n.unsqueeze(value, n.rank(value) == 1 ? Dims{1, 2} : Dims{1});
    };
    size_t scale = i == 1 ? 8 : 10;
    if (n.in(scale) == kNone)
      return n.refuse("scales that are left out");
    Value weights = n.cast(n.in(i), DType::f32);
    if (n.in(scale + 1) != kNone)
      weights = n.op("Subtract", {weights, numbers(scale + 1)});
    weights = n.op("Multiply", {weights, numbers(scale)});
    operands[i] = n.transpose(weights, {0, 2, 1});
  }
  lstmOf(n, operands);
}

std::span<const OpConversion> recurrentConversions() {
  static constexpr OpConversion table[] = {
      {"GRU", 7, gru},
      {"LSTM", 7, lstm},
      {"RNN", 7, rnn},
      microsoft("DynamicQuantizeLSTM", dynamicQuantizeLstm),
  };
  return table;
}

} // namespace tenon::onnx
