// SPDX-License-Identifier: Apache-2.0
// Translates three sentences with cells in int8, one word after the other:
// encoder, attention and decoder of examples/translation.h. The model in f32
// gets the same words, and no score may differ by more than kTolerance of the
// largest score of its step.
#include "examples/translation.h"

namespace {

using namespace translation;

/// Codes of h are 1/127 apart, and those of weights 1/127 of the largest. Four
/// layers in a row add what they lose.
constexpr double kTolerance = 0.05;

void run() {
  Model model;
  const std::vector<Sentence> given = sentences();
  const size_t batch = given.size();
  Translator f32(model, int64_t(batch), kMostWords, /*isInt8=*/false);
  Translator int8(model, int64_t(batch), kMostWords, /*isInt8=*/true);
  f32.encode(given);
  int8.encode(given);

  std::vector<Sentence> translations(batch);
  Sentence previous(batch, kBegin);
  double worst = 0;
  int equal = 0;
  for (int64_t step = 0; step < kTranslated; ++step) {
    const Floats &expected = f32.step(previous), &scores = int8.step(previous);
    float largest = 0;
    for (float score : expected)
      largest = std::max(largest, std::fabs(score));
    for (size_t i = 0; i < scores.size(); ++i) {
      const double error = std::fabs(double(scores[i]) - expected[i]) / largest;
      worst = std::max(worst, error);
      EXPECT(error <= kTolerance);
    }
    const Sentence wanted = Translator::best(expected);
    previous = Translator::best(scores);
    for (size_t n = 0; n < batch; ++n) {
      translations[n].push_back(previous[n]);
      equal += previous[n] == wanted[n];
    }
  }
  print("int8", translations);
  printf("largest error: %.2g of the largest score; %d of %d words are those "
         "of f32\n",
         worst, equal, int(kTranslated * int64_t(batch)));
}

} // namespace

int main() { return run_example(run); }
