// SPDX-License-Identifier: Apache-2.0
// Translates three sentences in f32, one word after the other: encoder,
// attention and decoder of examples/translation.h. Scores of all words in all
// steps are compared with plain loops in double.
#include "examples/translation.h"

namespace {

using namespace translation;
using Doubles = std::vector<double>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// One sentence, one direction.
struct State {
  Doubles h = Doubles(kHidden), c = Doubles(kHidden);

  void step(const Cell &cell, int64_t direction, const Doubles &x) {
    constexpr int64_t columns = Cell::kColumns;
    Doubles sums(columns);
    for (int64_t j = 0; j < columns; ++j) {
      sums[j] = cell.bias[direction * columns + j];
      for (int64_t k = 0; k < cell.inputs; ++k)
        sums[j] +=
            x[k] * cell.layer[(direction * cell.inputs + k) * columns + j];
      for (int64_t k = 0; k < kHidden; ++k)
        sums[j] += h[k] * cell.iter[(direction * kHidden + k) * columns + j];
    }
    for (int64_t j = 0; j < kHidden; ++j) {
      const double *gate = &sums[j];
      c[j] = sigmoid(gate[kHidden]) * c[j] +
             sigmoid(gate[0]) * std::tanh(gate[2 * kHidden]);
      h[j] = sigmoid(gate[3 * kHidden]) * std::tanh(c[j]);
    }
  }
};

/// The model for one sentence, from its definition.
class Plain {
public:
  Plain(const Model &model, const Sentence &sentence) : model(model) {
    const auto length = static_cast<int64_t>(sentence.size());
    std::vector<Doubles> both(length, Doubles(2 * kHidden));
    for (int64_t direction : {0, 1}) {
      State one;
      for (int64_t i = 0; i < length; ++i) {
        const int64_t t = direction ? length - 1 - i : i;
        one.step(model.first, direction, embedding(sentence[t]));
        std::copy(one.h.begin(), one.h.end(),
                  both[t].begin() + direction * kHidden);
      }
    }
    State second;
    for (const Doubles &x : both) {
      second.step(model.second, 0, x);
      state.step(model.third, 0, second.h);
      encoded.push_back(state.h);
    }
  }

  Doubles step(int32_t previous) {
    Doubles weights, x = embedding(previous), context(kHidden);
    double sum = 0;
    for (const Doubles &row : encoded) {
      double product = 0;
      for (int64_t k = 0; k < kHidden; ++k)
        product += state.h[k] * row[k];
      weights.push_back(std::exp(product));
      sum += weights.back();
    }
    for (size_t t = 0; t < encoded.size(); ++t)
      for (int64_t k = 0; k < kHidden; ++k)
        context[k] += weights[t] / sum * encoded[t][k];
    x.insert(x.end(), context.begin(), context.end());
    state.step(model.decoder, 0, x);
    Doubles scores(kWords);
    for (int64_t w = 0; w < kWords; ++w) {
      scores[w] = model.outputBias[w];
      for (int64_t k = 0; k < kHidden; ++k)
        scores[w] += state.h[k] * model.output[k * kWords + w];
    }
    return scores;
  }

private:
  Doubles embedding(int32_t word) const {
    const float *values = model.embeddingOf(word);
    return Doubles(values, values + kEmbedding);
  }

  const Model &model;
  State state;
  std::vector<Doubles> encoded;
};

void run() {
  Model model;
  const std::vector<Sentence> given = sentences();
  const size_t batch = given.size();
  Translator translator(model, int64_t(batch), kMostWords, /*isInt8=*/false);
  translator.encode(given);
  std::vector<Plain> plain;
  for (const Sentence &sentence : given)
    plain.emplace_back(model, sentence);

  std::vector<Sentence> translations(batch);
  Sentence previous(batch, kBegin);
  double worst = 0;
  for (int64_t step = 0; step < kTranslated; ++step) {
    const Floats &scores = translator.step(previous);
    for (size_t n = 0; n < batch; ++n) {
      const Doubles expected = plain[n].step(previous[n]);
      for (int64_t w = 0; w < kWords; ++w) {
        const double got = scores[n * kWords + w];
        worst = std::max(worst, std::fabs(got - expected[w]));
        EXPECT(is_near(got, expected[w]));
      }
    }
    previous = Translator::best(scores);
    for (size_t n = 0; n < batch; ++n)
      translations[n].push_back(previous[n]);
  }
  print("f32", translations);
  printf("largest error of %d scores: %.2g\n",
         int(kTranslated * int64_t(batch) * kWords), worst);
}

} // namespace

int main() { return run_example(run); }
