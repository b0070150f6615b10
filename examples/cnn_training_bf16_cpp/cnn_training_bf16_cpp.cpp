// SPDX-License-Identifier: Apache-2.0
// The first block of AlexNet, trained in bf16. The program has f32 buffers
// alone: what the graph reads is cast to bf16 in the graph, and results of
// layers, their gradients and the products of both convolutions are bf16.
//
//   y = MaxPool(LRN(ReLU(Convolution(x, w) + b)))
//   loss = sum of (y - target)^2
//   w -= rate * d loss / d w, and b likewise
//
// It is compiled twice: for the instructions of this machine, and for a CPU
// that has none for bf16. Both are trained side by side. Gradients in bf16 are
// compared with those of the same graph in f32, and these with differences of
// the loss.
#include "examples/check.h"

#include <optional>

namespace {

using namespace tenon;

constexpr int64_t kBatch = 4, kImage = 227, kChannels = 3, kFilters = 96;
constexpr int64_t kKernel = 11, kStride = 4;
constexpr int64_t kConvolved = (kImage - kKernel) / kStride + 1;
constexpr int64_t kPooled = (kConvolved - 3) / 2 + 1;
constexpr int64_t kResults = kBatch * kPooled * kPooled * kFilters;
constexpr int kSteps = 10;
constexpr float kRate = 0.5f / (kBatch * kPooled * kPooled);

using Dims = std::vector<int64_t>;
const Dims kImages = {kBatch, kImage, kImage, kChannels};
const Dims kWeights = {kKernel, kKernel, kChannels, kFilters};
const Dims kLayer = {kBatch, kConvolved, kConvolved, kFilters};
const Dims kResult = {kBatch, kPooled, kPooled, kFilters};

/// Buffers of the program, all f32.
struct Data {
  std::vector<float> x, w, b, target, y, diffW, diffB;
  float loss = 0;

  Data()
      : x(kBatch * kImage * kImage * kChannels),
        w(kKernel * kKernel * kChannels * kFilters), b(kFilters),
        target(kResults), y(kResults), diffW(w.size()), diffB(b.size()) {
    fill(x.data(), x.size(), 1);
  }
  /// Such that sums over a window are about as large as pixels.
  void drawWeights(uint32_t seed) {
    fill(w.data(), w.size(), seed);
    fill(b.data(), b.size(), seed + 1);
    for (float &value : w)
      value /= std::sqrt(float(kKernel * kKernel * kChannels));
    for (float &value : b)
      value /= 10;
  }
};

/// The forward and the backward graph, compiled; layers are of type `dtype`.
class Block {
public:
  Block(const char *cpu, tenon_dtype dtype, Data &data)
      : dtype(dtype), stream(engine, 0) {
    engine.setOption("target-cpu", cpu);
    LogicalTensor x = net.edge(kImages), w = net.edge(kWeights),
                  b = net.edge({kFilters}), target = net.edge(kResult);
    LogicalTensor xs = to(dtype, "x.cast", x), relu = edge(kLayer),
                  norm = edge(kLayer), pool = edge(kResult);
    forward(xs, to(dtype, "w.cast", w), to(dtype, "b.cast", b), relu, norm,
            pool);
    LogicalTensor y = to(TENON_F32, "y.cast", pool);

    LogicalTensor error =
        net.apply(tenon_op_subtract, "error", {y, target}, kResult);
    LogicalTensor squares =
        net.apply(tenon_op_multiply, "squares", {error, error}, kResult);
    LogicalTensor loss = net.edge({});
    net.add(net.op(tenon_op_reduce_sum, "loss")
                .attr("axes", Dims{0, 1, 2, 3})
                .attr("keep_dims", false)
                .input(squares)
                .output(loss));
    LogicalTensor diffY =
        net.apply(tenon_op_add, "diff_y", {error, error}, kResult);
    LogicalTensor diffW = edge(kWeights), diffB = edge({kFilters});
    backward(xs, relu, norm, to(dtype, "diff_y.cast", diffY), diffW, diffB);
    diffW = to(TENON_F32, "diff_w.cast", diffW);
    diffB = to(TENON_F32, "diff_b.cast", diffB);

    call.emplace(net, engine,
                 std::vector<Bound>{{x, data.x.data()},
                                    {w, data.w.data()},
                                    {b, data.b.data()},
                                    {target, data.target.data()}},
                 std::vector<Bound>{{y, data.y.data()},
                                    {loss, &data.loss},
                                    {diffW, data.diffW.data()},
                                    {diffB, data.diffB.data()}});
  }

  void run() { call->run(stream); }

private:
  LogicalTensor edge(const Dims &dims) { return net.edge(dims, dtype); }

  LogicalTensor to(tenon_dtype type, const char *name, LogicalTensor from) {
    return from.dtype == type ? from
                              : net.apply(tenon_op_type_cast, name, {from},
                                          from.shape(), type);
  }
  static Op &window(Op &op, int64_t stride) {
    return op.attr("strides", Dims{stride, stride})
        .attr("pads_begin", Dims{0, 0})
        .attr("pads_end", Dims{0, 0})
        .attr("data_format", "NXC");
  }
  static Op &convolution(Op &op) {
    return window(op, kStride)
        .attr("dilations", Dims{1, 1})
        .attr("weights_format", "XIO");
  }
  static Op &pooling(Op &op) {
    return window(op, 2).attr("kernel", Dims{3, 3});
  }
  static Op &normalization(Op &op) {
    return op.attr("algorithm", "across_channels")
        .attr("size", 5)
        .attr("alpha", 1e-2f)
        .attr("beta", 0.75f)
        .attr("k", 1.0f)
        .attr("data_format", "NXC");
  }

  void forward(const LogicalTensor &x, const LogicalTensor &w,
               const LogicalTensor &b, const LogicalTensor &relu,
               const LogicalTensor &norm, const LogicalTensor &pool) {
    LogicalTensor sums = edge(kLayer);
    Op conv = net.op(tenon_op_convolution, "conv");
    net.add(convolution(conv).input(x).input(w).input(b).output(sums));
    net.add(net.op(tenon_op_relu, "relu").input(sums).output(relu));
    Op lrn = net.op(tenon_op_lrn, "norm");
    net.add(normalization(lrn).input(relu).output(norm));
    Op max = net.op(tenon_op_max_pool, "pool");
    net.add(pooling(max).input(norm).output(pool));
  }

  void backward(const LogicalTensor &x, const LogicalTensor &relu,
                const LogicalTensor &norm, const LogicalTensor &diffPool,
                const LogicalTensor &diffW, const LogicalTensor &diffB) {
    LogicalTensor diffNorm = edge(kLayer), diffRelu = edge(kLayer),
                  diffSums = edge(kLayer);
    Op max = net.op(tenon_op_max_pool_backward, "pool_backward");
    net.add(pooling(max).input(norm).input(diffPool).output(diffNorm));
    Op lrn = net.op(tenon_op_lrn_backward, "norm_backward");
    net.add(normalization(lrn).input(relu).input(diffNorm).output(diffRelu));
    net.add(net.op(tenon_op_relu_backward, "relu_backward")
                .attr("use_dst", true)
                .input(relu)
                .input(diffRelu)
                .output(diffSums));
    Op conv = net.op(tenon_op_convolution_backward_weights, "conv_backward");
    net.add(convolution(conv)
                .attr("weights_shape", kWeights)
                .input(x)
                .input(diffSums)
                .output(diffW));
    net.add(net.op(tenon_op_bias_add_backward, "bias_backward")
                .attr("data_format", "NXC")
                .input(diffSums)
                .output(diffB));
  }

  tenon_dtype dtype;
  Engine engine;
  Stream stream;
  Net net;
  std::optional<Call> call;
};

double dot(const std::vector<float> &a, const std::vector<float> &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += double(a[i]) * b[i];
  return sum;
}

/// |a - b| / |b|.
double distance(const std::vector<float> &a, const std::vector<float> &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += (double(a[i]) - b[i]) * (double(a[i]) - b[i]);
  return std::sqrt(sum / dot(b, b));
}

/// In double: the difference of two losses is smaller than digits of a float.
double exactLoss(const Data &data) {
  double sum = 0;
  for (size_t i = 0; i < data.y.size(); ++i)
    sum += (double(data.y[i]) - data.target[i]) *
           (double(data.y[i]) - data.target[i]);
  return sum;
}

/// The f32 gradient of the weights against the difference of losses along it.
void checkByDifference(Block &block, Data &data) {
  block.run();
  const std::vector<float> kept = data.w, gradient = data.diffW;
  const double h = 1e-3 / std::sqrt(dot(gradient, gradient));
  double difference = 0;
  for (double step : {h, -h}) {
    for (size_t i = 0; i < kept.size(); ++i)
      data.w[i] = float(kept[i] + step * gradient[i]);
    block.run();
    difference += step > 0 ? exactLoss(data) : -exactLoss(data);
  }
  data.w = kept;
  const double slope = difference / (2 * h), exact = dot(gradient, gradient);
  printf("f32: slope along the gradient %.6g, by differences %.6g\n", exact,
         slope);
  EXPECT(std::fabs(slope - exact) < 0.01 * exact);
}

void run() {
  Data exact;
  Block f32("host", TENON_F32, exact);
  // What other weights make of the pictures.
  exact.drawWeights(2);
  f32.run();
  exact.target = exact.y;
  exact.drawWeights(4);
  checkByDifference(f32, exact);
  f32.run();

  struct Trained {
    const char *cpu, *about;
    Data data = {};
  };
  std::vector<Trained> all;
  all.push_back({"host", "the instructions of this machine"});
  all.push_back({"x86-64-v3", "no instructions for bf16"});
  for (Trained &trained : all) {
    Data &data = trained.data;
    data.w = exact.w;
    data.b = exact.b;
    data.target = exact.target;
    Block block(trained.cpu, TENON_BF16, data);
    block.run();
    const double w = distance(data.diffW, exact.diffW),
                 b = distance(data.diffB, exact.diffB);
    printf("%s, %s: gradients differ from f32 by %.2g (weights), %.2g "
           "(bias)\n",
           trained.cpu, trained.about, w, b);
    EXPECT(w < 0.1 && b < 0.02);
    const float first = data.loss;
    float before = 2 * first;
    for (int step = 0; step <= kSteps; ++step) {
      block.run();
      printf("  step %2d: loss %.1f\n", step, data.loss);
      EXPECT(data.loss < before);
      before = data.loss;
      for (size_t i = 0; i < data.w.size(); ++i)
        data.w[i] -= kRate * data.diffW[i];
      for (size_t i = 0; i < data.b.size(); ++i)
        data.b[i] -= kRate * data.diffB[i];
    }
    EXPECT(before < first / 2);
  }
  // Sums are f32 in both, in another order: the nets learn the same, but for
  // the maximum of a window that rounding moves from one pixel to the next.
  const double apart = distance(all[0].data.w, all[1].data.w);
  printf("weights after training differ by %.2g\n", apart);
  EXPECT(apart < 0.1);
}

} // namespace

int main() { return run_example(run); }
