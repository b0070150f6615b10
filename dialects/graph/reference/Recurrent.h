//===- Recurrent.h - recurrent operations under evaluation -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What the walk over layers, directions and steps, and the cells, share.
// Internal to the evaluator.
//
// The walk handles one entry of the batch at a time. What a step leaves is one
// row as the workspace has it, S values per unit and then h, whether there is a
// workspace or not.
//
// Plain evaluation rounds h at each step, and what products on the way back
// read, to the type of src_layer: these are the edges inside of the operation.
//
// In int8 everything is a number on the way, of which a code stands for a
// multiple of 1 / data_scale: operands are dequantized first, h is rounded to
// the number of a code, and results are quantized last.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/OpTable.h"
#include "dialects/graph/RecurrentCell.h"
#include "dialects/graph/reference/OpContext.h"

#include <map>
#include <type_traits>

namespace tenon::reference {

/// u8 codes: code = saturate(round(number * scale + shift)).
struct Codes {
  bool used = false; // else numbers stay as they are
  double scale = 1, shift = 0;

  double codeOf(double number) const;
  double numberOf(double code) const { return (code - shift) / scale; }
  /// The number of the nearest code.
  double rounded(double number) const;
};

/// The weights of one layer in one direction; null if absent.
struct CellWeights {
  const double *layer;      // [inputs, gates, hidden]
  const double *iter;       // [states, gates, hidden]
  const double *bias;       // [biasRows, hidden]
  const double *peephole;   // [3, hidden]
  const double *projection; // [hidden, outputs]
};

/// Rows of one entry of the batch, one per layer, direction and step.
template <typename T> struct StepRows {
  T *data; // row (0, 0, 0)
  int64_t directions, steps, distance;

  T *row(int64_t layer, int64_t direction, int64_t t) const {
    return data + ((layer * directions + direction) * steps + t) * distance;
  }
  operator StepRows<const T>() const
    requires(!std::is_const_v<T>)
  {
    return {data, directions, steps, distance};
  }
};

/// h, [states] or [outputs], and the cell state, [hidden], between two steps.
struct States {
  std::vector<double> hidden, cell;
};

/// One recurrent operation: sizes, attributes and operands.
class Recurrence {
public:
  enum class Cell { rnn, lstm, gru }; // AUGRU is gru with attention

  /// The context must outlive the object.
  explicit Recurrence(OpContext &c);
  /// Checks operands and attributes and reads them; false after an error.
  bool read();

  OpContext &c;
  Cell cell = Cell::rnn;
  graph::CellInfo info;
  // Sizes, by the names of graph::CellSize.
  int64_t steps = 0, batch = 0, layers = 0, directions = 1, inputs = 0,
          states = 0, hidden = 0, outputs = 0;
  // Attributes.
  std::string activation;
  double alpha = 0;
  bool linearBeforeReset = false, batchFirst = false;
  bool concatenatesResults = false, addsResults = false;
  bool concatenatesLayers = false, rightToLeft = false;
  Codes codes;

  /// A number as an element of the type of src_layer: in int8 that of the
  /// nearest code, else rounded in plain evaluation only.
  double stored(double number) const;

  /// The numbers of an operand; null if it is left out, or has none.
  const double *operand(std::string_view name) const;
  /// A result to fill; null if it is left out. After setShapes.
  Tensor *result(std::string_view name) const;
  /// Gives all results their shapes; false after an error.
  bool setShapes();

  /// Doubles of one row that a step leaves.
  int64_t savedWidth() const { return info.valuesOfUnit * hidden + outputs; }
  /// h in such a row, and the cell state of LSTM.
  template <typename T> T *hiddenOf(T *saved) const {
    return saved + info.valuesOfUnit * hidden;
  }
  template <typename T> T *cellOf(T *saved) const { return saved + 4 * hidden; }

  CellWeights weights(int64_t layer, int64_t direction) const;
  /// Where step t of entry n is in a tensor of data, in rows.
  int64_t dataRow(int64_t t, int64_t n) const {
    return batchFirst ? n * steps + t : t * batch + n;
  }
  int64_t stateRow(int64_t layer, int64_t direction, int64_t n) const {
    return (layer * directions + direction) * batch + n;
  }
  /// Whether step t of entry n counts.
  bool counts(int64_t t, int64_t n) const { return t < lengths[n]; }
  /// The steps of entry n that count, in the order of the direction.
  std::vector<int64_t> order(int64_t n, int64_t direction) const;
  /// Rows of `width` in a tensor [layers, directions, steps, batch, width].
  template <typename T>
  StepRows<T> rowsOf(T *data, int64_t width, int64_t n) const {
    return {data + n * width, directions, steps, batch * width};
  }

  /// The channels that a layer reads, inputs of them: of src_layer, or of h of
  /// the layer below, if need be gathered in `scratch`.
  const double *inputOf(int64_t layer, int64_t direction, int64_t t, int64_t n,
                        const StepRows<const double> &saved,
                        std::vector<double> &scratch) const;
  /// The states before step `order[s]` of entry n; after all, if there is no
  /// such step. `saved` has the rows of the steps before it.
  States statesBefore(int64_t layer, int64_t direction, int64_t n,
                      std::span<const int64_t> order, size_t s,
                      const StepRows<const double> &saved) const;
  double attention(int64_t t, int64_t n) const;

private:
  bool readSizes();
  bool checkSizes();
  bool readLengths();
  bool readCodes();
  bool dequantize();
  bool checkGradients();
  std::optional<size_t> slotOf(std::string_view name, bool isResult) const;
  bool isGiven(std::string_view name) const {
    return slotOf(name, /*isResult=*/false).has_value();
  }
  Dims shapeOf(std::string_view name) const;

  const graph::OpInfo &table;
  std::vector<int64_t> lengths; // of each entry of the batch
  std::map<std::string, std::vector<double>, std::less<>> numbers; // of codes
};

/// sums[gates, hidden] += values * weights[count, gates, hidden], of the gates
/// from `begin` to `end`.
void addProduct(const Recurrence &r, const double *weights,
                const double *values, int64_t count, int64_t begin, int64_t end,
                double *sums);

/// What a step reads: x and the states before it.
struct StepOperands {
  const double *x, *hidden, *cell; // cell: LSTM
  double attention;                // 0 but for AUGRU
};

/// One step; fills a row of savedWidth() doubles.
void stepForward(const Recurrence &r, const CellWeights &weights,
                 const StepOperands &in, double *saved);

/// Gradients on the way back through one step.
struct StepGradients {
  const double *hidden; // [outputs], of h
  double *cell;         // [hidden], of the cell state: after, then before
  double *gates;        // [biasRows, hidden], of what bias is added to
  double *hiddenBefore; // [states], zeros; of h of the step before
  double attention;     // of the attention
};

/// The gradients of one step, of which `saved` is the row; `in` without x.
void stepBackward(const Recurrence &r, const CellWeights &weights,
                  const StepOperands &in, const double *saved,
                  StepGradients &gradients);

/// Doubles of what one step leaves on the way back: the gradients of gates,
/// [biasRows, hidden], then that of h, [outputs].
inline int64_t gradientWidth(const Recurrence &r) {
  return r.info.biasRows * r.hidden + r.outputs;
}

/// The gradients of weights and bias, which are sums over all steps. `left` is
/// [layers, directions, steps, batch, gradientWidth], what the steps left.
void sumWeightGradients(const Recurrence &r, const std::vector<double> &left);

bool evalRecurrentBackward(OpContext &c);

} // namespace tenon::reference
