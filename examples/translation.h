// SPDX-License-Identifier: Apache-2.0
// A small translation model, as rnn_inference_f32_cpp and
// rnn_inference_int8_cpp run it, with random weights:
//
//   encoder    an LSTM layer in both directions, two layers in one direction;
//              sentences of several lengths in one batch
//   attention  weights = softmax(state * encoded^T), context = weights *
//   encoded decoder    an LSTM step over [previous word, context], and scores
//   of words
//
// The encoder is one partition. A step of the decoder, with its attention, is
// another, which is executed for one word after the other, as the next word
// depends on the scores of this one.
//
// In int8 the cells read and write u8 codes, x * 127 + 128 of numbers from -1
// to 1, and their weights are s8 with a scale for each gate and channel. Cell
// states, attention and scores are f32.
#ifndef TENON_EXAMPLES_TRANSLATION_H
#define TENON_EXAMPLES_TRANSLATION_H

#include "examples/check.h"

#include <algorithm>
#include <limits>

namespace translation {

using tenon::LogicalTensor;
using Floats = std::vector<float>;
using Dims = std::vector<int64_t>;
using Sentence = std::vector<int32_t>;

constexpr int64_t kWords = 100; // of the vocabulary
constexpr int64_t kEmbedding = 32, kHidden = 48, kGates = 4;
constexpr float kDataScale = 127, kDataShift = 128;

/// The weights of a layer.
struct Cell {
  int64_t directions, inputs;
  /// [1, directions, inputs or kHidden, kGates, kHidden].
  Floats layer, iter;
  /// [1, directions, kGates, kHidden].
  Floats bias;
  /// Codes of the weights: round(weight * scale) of its gate and channel.
  std::vector<int8_t> layerCodes, iterCodes;
  Floats scales;

  Cell(int64_t directions, int64_t inputs, uint32_t seed)
      : directions(directions), inputs(inputs),
        layer(directions * inputs * kColumns),
        iter(directions * kHidden * kColumns), bias(directions * kColumns) {
    fill(layer.data(), layer.size(), seed);
    fill(iter.data(), iter.size(), seed + 1);
    fill(bias.data(), bias.size(), seed + 2);
    for (Floats *weights : {&layer, &iter})
      for (float &weight : *weights)
        weight *= 3.0f / std::sqrt(float(inputs + kHidden));
    quantize();
  }

  static constexpr int64_t kColumns = kGates * kHidden;

private:
  /// Both matrices and both directions share the scales.
  void quantize() {
    Floats largest(kColumns, 1e-6f);
    for (const Floats *weights : {&layer, &iter})
      for (size_t i = 0; i < weights->size(); ++i)
        largest[i % kColumns] =
            std::max(largest[i % kColumns], std::fabs((*weights)[i]));
    for (float value : largest)
      scales.push_back(127 / value);
    auto codesOf = [&](const Floats &weights) {
      std::vector<int8_t> codes;
      for (size_t i = 0; i < weights.size(); ++i)
        codes.push_back(int8_t(std::lrint(weights[i] * scales[i % kColumns])));
      return codes;
    };
    layerCodes = codesOf(layer);
    iterCodes = codesOf(iter);
  }
};

struct Model {
  Cell first = Cell(2, kEmbedding, 10), second = Cell(1, 2 * kHidden, 20),
       third = Cell(1, kHidden, 30),
       decoder = Cell(1, kEmbedding + kHidden, 40);
  Floats embeddings = Floats(kWords * kEmbedding); // of each word
  Floats output = Floats(kHidden * kWords), outputBias = Floats(kWords);

  Model() {
    fill(embeddings.data(), embeddings.size(), 50);
    fill(output.data(), output.size(), 51);
    fill(outputBias.data(), outputBias.size(), 52);
    for (float &value : outputBias)
      value /= 10;
  }
  const float *embeddingOf(int32_t word) const {
    return &embeddings[word * kEmbedding];
  }
};

/// The model, compiled for `batch` sentences of at most `steps` words.
class Translator {
public:
  Translator(Model &model, int64_t batch, int64_t steps, bool isInt8)
      : model(model), batch(batch), steps(steps), isInt8(isInt8),
        stream(engine, 0), source(steps * batch * kEmbedding), lengths(batch),
        encoded(steps * batch * kHidden), mask(batch * steps),
        word(batch * kEmbedding), state(batch * kHidden), newState(state),
        cellState(state), newCellState(state), scores(batch * kWords),
        encoder(makeEncoder()), decoder(makeDecoder()) {}

  /// Afterwards the decoder begins.
  void encode(const std::vector<Sentence> &sentences) {
    const float hidden = -std::numeric_limits<float>::infinity();
    for (int64_t n = 0; n < batch; ++n) {
      const Sentence &sentence = sentences[n];
      lengths[n] = int32_t(sentence.size());
      for (int64_t t = 0; t < steps; ++t) {
        const bool isThere = t < lengths[n];
        mask[n * steps + t] = isThere ? 0 : hidden;
        std::copy_n(model.embeddingOf(isThere ? sentence[t] : 0), kEmbedding,
                    &source[(t * batch + n) * kEmbedding]);
      }
    }
    encoder.run(stream);
    state = newState;
    cellState = newCellState;
  }

  /// Scores of the next word of each sentence, after `previous`: [batch,
  /// kWords].
  const Floats &step(const Sentence &previous) {
    for (int64_t n = 0; n < batch; ++n)
      std::copy_n(model.embeddingOf(previous[n]), kEmbedding,
                  &word[n * kEmbedding]);
    decoder.run(stream);
    state = newState;
    cellState = newCellState;
    return scores;
  }

  /// The word of the best score of each sentence.
  static Sentence best(const Floats &scores) {
    Sentence words;
    for (auto row = scores.begin(); row != scores.end(); row += kWords)
      words.push_back(int32_t(std::max_element(row, row + kWords) - row));
    return words;
  }

private:
  tenon_dtype codes() const { return isInt8 ? TENON_U8 : TENON_F32; }

  static LogicalTensor constant(LogicalTensor edge) {
    edge.property = TENON_PROPERTY_CONSTANT;
    return edge;
  }

  /// `numbers` as the cells read them.
  LogicalTensor toCodes(Net &net, const char *name,
                        const LogicalTensor &numbers) const {
    if (!isInt8)
      return numbers;
    LogicalTensor made = net.edge(numbers.shape(), TENON_U8);
    net.add(net.op(tenon_op_quantize, name)
                .attr("scales", Floats{1 / kDataScale})
                .attr("zps", Dims{int64_t(kDataShift)})
                .input(numbers)
                .output(made));
    return made;
  }

  /// An LSTM with its weights, which join `in`; operands from src_iter on are
  /// the caller's.
  tenon::Op lstm(Net &net, const char *name, Cell &cell,
                 const LogicalTensor &src, std::vector<Bound> &in) const {
    const tenon_dtype dtype = isInt8 ? TENON_S8 : TENON_F32;
    auto weights = [&](int64_t inputs, Floats &values,
                       std::vector<int8_t> &valueCodes) {
      const Dims dims = {1, cell.directions, inputs, kGates, kHidden};
      void *memory = isInt8 ? static_cast<void *>(valueCodes.data())
                            : static_cast<void *>(values.data());
      in.push_back({constant(net.edge(dims, dtype)), memory});
      return in.back().about;
    };
    tenon::Op op = net.op(tenon_op_lstm, name);
    op.input(src)
        .input(weights(cell.inputs, cell.layer, cell.layerCodes))
        .input(weights(kHidden, cell.iter, cell.iterCodes));
    in.push_back({constant(net.edge({1, cell.directions, kGates, kHidden})),
                  cell.bias.data()});
    op.input(in.back().about);
    if (isInt8)
      op.attr("data_scale", kDataScale)
          .attr("data_shift", kDataShift)
          .attr("weights_scales", cell.scales);
    return op;
  }

  Call makeEncoder() {
    Net net;
    const Dims states = {1, 1, batch, kHidden};
    std::vector<Bound> in = {
        {net.edge({steps, batch, kEmbedding}), source.data()},
        {net.edge({batch}, TENON_S32), lengths.data()}};
    std::vector<Bound> out = {
        {net.edge({steps, batch, kHidden}), encoded.data()},
        {net.edge(states), newState.data()},
        {net.edge(states), newCellState.data()}};
    const LogicalTensor length = in[1].about;
    // No states, peephole or projection.
    auto readLengths = [&](tenon::Op &op) -> tenon::Op & {
      for (int i = 0; i < 4; ++i)
        op.input(nullptr);
      return op.input(length);
    };
    const LogicalTensor both = net.edge({steps, batch, 2 * kHidden}, codes());
    tenon::Op first = lstm(net, "first", model.first,
                           toCodes(net, "source.codes", in[0].about), in);
    first.attr("direction", "bidirectional_concat");
    net.add(readLengths(first).output(both));
    const LogicalTensor middle = net.edge({steps, batch, kHidden}, codes());
    tenon::Op second = lstm(net, "second", model.second, both, in);
    net.add(readLengths(second).output(middle));
    tenon::Op third = lstm(net, "third", model.third, middle, in);
    readLengths(third);
    for (const Bound &result : out)
      third.output(result.about);
    net.add(third);
    return Call(net, engine, in, out);
  }

  Call makeDecoder() {
    Net net;
    const Dims states = {1, 1, batch, kHidden};
    // The encoder's result as rows of each sentence: a view.
    std::vector<Bound> in = {
        {net.edge({1, batch, kEmbedding}), word.data()},
        {net.edge(states), state.data()},
        {net.edge(states), cellState.data()},
        {net.view({batch, steps, kHidden}, {kHidden, batch * kHidden, 1}),
         encoded.data()},
        {net.edge({batch, 1, steps}), mask.data()},
        {constant(net.edge({kHidden, kWords})), model.output.data()},
        {constant(net.edge({kWords})), model.outputBias.data()}};
    const std::vector<Bound> out = {{net.edge({batch, kWords}), scores.data()},
                                    {net.edge(states), newState.data()},
                                    {net.edge(states), newCellState.data()}};
    const LogicalTensor h = in[1].about, c = in[2].about;
    const LogicalTensor context = attention(net, h, in[3].about, in[4].about);
    const LogicalTensor joined = net.edge({1, batch, kEmbedding + kHidden});
    net.add(net.op(tenon_op_concat, "word_and_context")
                .attr("axis", 2)
                .input(in[0].about)
                .input(context)
                .output(joined));
    const LogicalTensor weights = in[5].about, bias = in[6].about;
    const LogicalTensor result = net.edge({1, batch, kHidden});
    tenon::Op op = lstm(net, "decoder", model.decoder,
                        toCodes(net, "joined.codes", joined), in);
    net.add(op.input(h)
                .input(c)
                .output(result)
                .output(out[1].about)
                .output(out[2].about));
    net.add(net.op(tenon_op_matmul, "scores")
                .input(reshape(net, "rows", result, {batch, kHidden}))
                .input(weights)
                .input(bias)
                .output(out[0].about));
    return Call(net, engine, in, out);
  }

  static LogicalTensor reshape(Net &net, const char *name,
                               const LogicalTensor &from, const Dims &dims) {
    const LogicalTensor made = net.edge(dims);
    net.add(net.op(tenon_op_static_reshape, name)
                .attr("shape", dims)
                .attr("special_zero", false)
                .input(from)
                .output(made));
    return made;
  }

  /// What a sentence says about the next word: [1, batch, kHidden].
  LogicalTensor attention(Net &net, const LogicalTensor &h,
                          const LogicalTensor &rows,
                          const LogicalTensor &hidden) const {
    const Dims perWord = {batch, 1, steps};
    const LogicalTensor query = reshape(net, "query", h, {batch, 1, kHidden}),
                        products = net.edge(perWord),
                        weights = net.edge(perWord);
    net.add(net.op(tenon_op_matmul, "attention")
                .attr("transpose_b", true)
                .input(query)
                .input(rows)
                .output(products));
    const LogicalTensor masked =
        net.apply(tenon_op_add, "mask", {products, hidden}, perWord);
    net.add(net.op(tenon_op_softmax, "weights")
                .attr("axis", -1)
                .input(masked)
                .output(weights));
    const LogicalTensor sum = net.apply(tenon_op_matmul, "context",
                                        {weights, rows}, {batch, 1, kHidden});
    return reshape(net, "context_row", sum, {1, batch, kHidden});
  }

  Model &model;
  int64_t batch, steps;
  bool isInt8;
  tenon::Engine engine;
  tenon::Stream stream;
  Floats source;
  std::vector<int32_t> lengths;
  Floats encoded, mask, word, state, newState, cellState, newCellState, scores;
  Call encoder, decoder;
};

/// What both programs translate.
inline std::vector<Sentence> sentences() {
  return {{17, 4, 62, 9, 33, 81, 5}, {48, 90, 2}, {71, 23, 14, 66, 50}};
}
constexpr int64_t kMostWords = 7, kTranslated = 8;
/// The word that begins every translation.
constexpr int32_t kBegin = 0;

inline void print(const char *what, const std::vector<Sentence> &translations) {
  for (size_t n = 0; n < translations.size(); ++n) {
    printf("%s, sentence %d:", what, int(n));
    for (int32_t word : translations[n])
      printf(" %d", int(word));
    printf("\n");
  }
}

} // namespace translation

#endif
