// SPDX-License-Identifier: Apache-2.0
// Training of a stack of LSTM layers on sequences of two lengths, in two
// stages, so that nothing is computed for steps that short sequences lack:
//
//             T1 steps        T0 - T1 steps
//          +--------------+------------------+
//          |              |  N0 sequences    |
//          |    left      |  right           |
//          |              +------------------+
//          |              |  N1 sequences end here
//          +--------------+
//
// The right stage continues N0 sequences from the states in which the left one
// leaves them. It reads these from the left stage's results, as a view that
// begins at another address and has strides; backward, it writes gradients of
// states into a view of what the left stage reads. Its steps of the sequences
// are views, too. Nothing is copied. Both stages add to the same gradients of
// weights. The loss is the program's: squared distance to what other weights
// compute, of which it gives the gradient.
//
//   rnn_training_f32_cpp [CHANNELS]      1024 by default
#include "examples/check.h"

#include <random>

namespace {

using namespace tenon;
using Dims = std::vector<int64_t>;
using Floats = std::vector<float>;

constexpr int64_t kLayers = 2, kGates = 4;
/// Values of a unit that the workspace has: gates, cell state, and h.
constexpr int64_t kSaved = kGates + 2;
constexpr int kSteps = 8;

/// What both stages share. Tensors of layers are [T0, N, channels], states
/// [layers, 1, N, channels], where the long sequences are the last N0 of N.
struct Sizes {
  int64_t channels, t0, t1, n0, n1;
  int64_t batch() const { return n0 + n1; }
};

/// The buffers of the program.
struct Data {
  Floats src, dst, target, diffDst;
  Floats iter, iterC, diffIter, diffIterC;
  Floats weightsLayer, weightsIter, bias;
  Floats diffWeightsLayer, diffWeightsIter, diffBias;

  explicit Data(const Sizes &s)
      : src(s.t0 * s.batch() * s.channels), dst(src.size()), target(src.size()),
        diffDst(src.size()), iter(kLayers * s.batch() * s.channels),
        iterC(iter.size()), diffIter(iter.size()), diffIterC(iter.size()),
        weightsLayer(kLayers * s.channels * kGates * s.channels),
        weightsIter(weightsLayer.size()), bias(kLayers * kGates * s.channels),
        diffWeightsLayer(weightsLayer.size()),
        diffWeightsIter(weightsIter.size()), diffBias(bias.size()) {
    fill(src.data(), src.size(), 1);
  }
  /// Such that sums are about as large as what is summed.
  void drawWeights(int64_t channels, uint32_t seed) {
    for (Floats *weights : {&weightsLayer, &weightsIter, &bias}) {
      fill(weights->data(), weights->size(), seed++);
      for (float &value : *weights)
        value *= 1.5f / std::sqrt(float(channels));
    }
  }
};

/// A rectangle of steps and sequences.
struct Part {
  int64_t firstStep, steps, firstSequence, sequences;
};

/// Forward and backward of one stage.
class Stage {
public:
  /// `isLeft`: begins with states of 0 and gives states, rather than reading
  /// them.
  Stage(const Engine &engine, const Sizes &sizes, const Part &part, bool isLeft,
        Data &data)
      : sizes(sizes), part(part), isLeft(isLeft), data(data),
        workspace(kLayers * part.steps * part.sequences * kSaved *
                  sizes.channels),
        forward(makeForward(engine)), backward(makeBackward(engine)) {}

  Call &forwardCall() { return forward; }
  Call &backwardCall() { return backward; }

private:
  /// The part's steps of a tensor of all.
  Bound layer(Net &net, Floats &whole) const {
    const int64_t c = sizes.channels, row = sizes.batch() * c;
    return {net.view({part.steps, part.sequences, c}, {row, c, 1}),
            &whole[part.firstStep * row + part.firstSequence * c]};
  }
  /// The part's sequences of states of all.
  Bound states(Net &net, Floats &whole) const {
    const int64_t c = sizes.channels, row = sizes.batch() * c;
    return {net.view({kLayers, 1, part.sequences, c}, {row, row, c, 1}),
            &whole[part.firstSequence * c]};
  }
  Bound weights(Net &net, Floats &values) const {
    return {net.edge({kLayers, 1, sizes.channels, kGates, sizes.channels}),
            values.data()};
  }
  Bound bias(Net &net, Floats &values) const {
    return {net.edge({kLayers, 1, kGates, sizes.channels}), values.data()};
  }
  Bound saved(Net &net) {
    return {net.edge({kLayers, 1, part.steps, part.sequences,
                      kSaved * sizes.channels}),
            workspace.data()};
  }

  Call makeForward(const Engine &engine) {
    Net net;
    std::vector<Bound> in = {
        layer(net, data.src), weights(net, data.weightsLayer),
        weights(net, data.weightsIter), bias(net, data.bias)};
    std::vector<Bound> out = {layer(net, data.dst)};
    // src_iter and src_iter_c of the right stage are dst_iter and dst_iter_c
    // of the left one.
    std::vector<Bound> &ofStates = isLeft ? out : in;
    ofStates.push_back(states(net, data.iter));
    ofStates.push_back(states(net, data.iterC));
    Op op = net.op(tenon_op_lstm, isLeft ? "left" : "right");
    for (const Bound &input : in)
      op.input(input.about);
    for (const Bound &output : out)
      op.output(output.about);
    if (!isLeft)
      op.output(nullptr).output(nullptr); // dst_iter, dst_iter_c
    out.push_back(saved(net));
    net.add(op.output(out.back().about));
    return Call(net, engine, in, out);
  }

  Call makeBackward(const Engine &engine) {
    Net net;
    std::vector<Bound> in = {
        layer(net, data.src), weights(net, data.weightsLayer),
        weights(net, data.weightsIter), saved(net), layer(net, data.diffDst)};
    Op op = net.op(tenon_op_lstm_backward,
                   isLeft ? "left_backward" : "right_backward");
    for (const Bound &input : in)
      op.input(input.about);
    auto input = [&](const Bound &bound) {
      in.push_back(bound);
      op.input(bound.about);
    };
    std::vector<Bound> out;
    if (!isLeft) {
      input(states(net, data.iter));
      input(states(net, data.iterC));
    } else {
      op.input(nullptr).input(nullptr); // src_iter, src_iter_c
    }
    // weights_peephole, weights_projection, sequence_lengths
    op.input(nullptr).input(nullptr).input(nullptr);
    if (isLeft) {
      input(states(net, data.diffIter));
      input(states(net, data.diffIterC));
    } else {
      op.input(nullptr).input(nullptr); // diff_dst_iter, diff_dst_iter_c
    }
    const size_t before = in.size();
    input(weights(net, data.diffWeightsLayer));
    input(weights(net, data.diffWeightsIter));
    input(bias(net, data.diffBias));
    out.push_back(weights(net, data.diffWeightsLayer));
    out.push_back(weights(net, data.diffWeightsIter));
    out.push_back(bias(net, data.diffBias));
    if (!isLeft) {
      out.push_back(states(net, data.diffIter));
      out.push_back(states(net, data.diffIterC));
    }
    op.attr("diff_weights", "accumulate").output(nullptr); // diff_src_layer
    for (const Bound &output : out)
      op.output(output.about);
    net.add(op);
    Call call(net, engine, in, out);
    for (size_t i = 0; i < 3; ++i)
      EXPECT(call.isInPlace(in[before + i].about, out[i].about));
    return call;
  }

  Sizes sizes;
  Part part;
  bool isLeft;
  Data &data;
  Floats workspace;
  Call forward, backward;
};

class Training {
public:
  Training(const Sizes &sizes, Data &data)
      : data(data), stream(engine, 0),
        left(engine, sizes, {0, sizes.t1, 0, sizes.batch()}, true, data),
        right(engine, sizes,
              {sizes.t1, sizes.t0 - sizes.t1, sizes.n1, sizes.n0}, false,
              data) {}

  /// The loss, in double.
  double forward() {
    left.forwardCall().run(stream);
    right.forwardCall().run(stream);
    double sum = 0;
    for (size_t i = 0; i < data.dst.size(); ++i)
      sum += (double(data.dst[i]) - data.target[i]) *
             (double(data.dst[i]) - data.target[i]);
    return sum;
  }

  /// After forward().
  void backward() {
    for (size_t i = 0; i < data.dst.size(); ++i)
      data.diffDst[i] = 2 * (data.dst[i] - data.target[i]);
    for (Floats *sums : {&data.diffWeightsLayer, &data.diffWeightsIter,
                         &data.diffBias, &data.diffIter, &data.diffIterC})
      std::fill(sums->begin(), sums->end(), 0.0f);
    right.backwardCall().run(stream);
    left.backwardCall().run(stream);
  }

  /// A few gradients of `weights` against differences of the loss.
  void checkGradients(const char *name, Floats &weights,
                      const Floats &gradients) {
    const float h = 2e-3f;
    double scale = 0, worst = 0;
    for (float gradient : gradients)
      scale += double(gradient) * gradient;
    scale = std::sqrt(scale / double(gradients.size()));
    EXPECT(scale > 0);
    for (size_t i = weights.size() / 8; i < weights.size();
         i += weights.size() / 4 + 3) {
      const float kept = weights[i], up = kept + h, down = kept - h;
      weights[i] = up;
      double difference = forward();
      weights[i] = down;
      difference -= forward();
      weights[i] = kept;
      const double slope = difference / (double(up) - down);
      worst = std::max(worst, std::fabs(slope - gradients[i]) /
                                  (scale + std::fabs(slope)));
    }
    printf("gradients of %s: worst error %.2g\n", name, worst);
    EXPECT(worst < 0.01);
  }

private:
  Data &data;
  Engine engine;
  Stream stream;
  Stage left, right;
};

void train(int64_t channels) {
  std::mt19937 random(1);
  auto in = [&](int64_t low, int64_t high) {
    return low + int64_t(random() % uint32_t(high - low + 1));
  };
  Sizes sizes = {channels, 0, in(4, 12), in(2, 8), in(2, 8)};
  sizes.t0 = sizes.t1 + in(3, 10);
  printf("%d channels: %d sequences of %d steps, %d of %d\n", int(channels),
         int(sizes.n0), int(sizes.t0), int(sizes.n1), int(sizes.t1));
  Data data(sizes);
  Training training(sizes, data);
  // What short sequences lack is not written, and does not count.
  data.drawWeights(channels, 2);
  training.forward();
  data.target = data.dst;
  data.drawWeights(channels, 7);

  double first = training.forward(), before = first;
  training.backward();
  training.checkGradients("weights_layer", data.weightsLayer,
                          data.diffWeightsLayer);
  training.checkGradients("weights_iter", data.weightsIter,
                          data.diffWeightsIter);
  training.checkGradients("bias", data.bias, data.diffBias);

  // Gradients are sums over all that is written.
  const float rate = 0.5f / float(sizes.t0 * sizes.n0 + sizes.t1 * sizes.n1);
  for (int step = 0; step <= kSteps; ++step) {
    const double loss = training.forward();
    printf("step %d: loss %.4f\n", step, loss);
    EXPECT(step == 0 || loss < before);
    before = loss;
    training.backward();
    for (auto [weights, gradients] :
         {std::pair(&data.weightsLayer, &data.diffWeightsLayer),
          std::pair(&data.weightsIter, &data.diffWeightsIter),
          std::pair(&data.bias, &data.diffBias)})
      for (size_t i = 0; i < weights->size(); ++i)
        (*weights)[i] -= rate * (*gradients)[i];
  }
  EXPECT(before < 0.9 * first);
}

int64_t channelsOf(const char *text) {
  char *end;
  const long channels = strtol(text, &end, 10);
  EXPECT(*end == '\0' && channels > 0 && channels <= 4096);
  return channels;
}

int64_t wanted = 1024;

} // namespace

int main(int argc, char **argv) {
  if (argc > 1)
    wanted = channelsOf(argv[1]);
  return run_example([] { train(wanted); });
}
