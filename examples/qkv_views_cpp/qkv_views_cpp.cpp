// SPDX-License-Identifier: Apache-2.0
// Attention on one buffer as the projection before it has written it: for each
// token q, k and v of all heads in a row. Q, K and V are strided views of it,
// and the result is written as [tokens, heads, d]: nothing is copied.
#include "examples/check.h"

#include <algorithm>
#include <tenon.hpp>

namespace {

constexpr int64_t kHeads = 4, kTokens = 48, kWidth = 64;
constexpr int64_t kRow = 3 * kHeads * kWidth; // of the buffer, for one token

/// Element (head, token, i) of the part (0: Q, 1: K, 2: V) in the buffer.
int64_t at(int64_t part, int64_t head, int64_t token, int64_t i) {
  return token * kRow + (part * kHeads + head) * kWidth + i;
}

/// Row `token` of the result of a head.
std::vector<double> attend(const std::vector<float> &buffer, int64_t head,
                           int64_t token) {
  std::vector<double> weights(kTokens), result(kWidth);
  double sum = 0;
  for (int64_t t = 0; t < kTokens; ++t) {
    double score = 0;
    for (int64_t i = 0; i < kWidth; ++i)
      score +=
          double(buffer[at(0, head, token, i)]) * buffer[at(1, head, t, i)];
    sum += weights[t] = std::exp(score / std::sqrt(double(kWidth)));
  }
  for (int64_t t = 0; t < kTokens; ++t)
    for (int64_t i = 0; i < kWidth; ++i)
      result[i] += weights[t] / sum * buffer[at(2, head, t, i)];
  return result;
}

void run() {
  using namespace tenon;
  const std::vector<int64_t> dims = {kHeads, kTokens, kWidth};
  const std::vector<int64_t> inBuffer = {kWidth, kRow, 1};
  auto q = LogicalTensor::strided(0, TENON_F32, dims, inBuffer);
  auto k = LogicalTensor::strided(1, TENON_F32, dims, inBuffer);
  auto v = LogicalTensor::strided(2, TENON_F32, dims, inBuffer);
  auto y =
      LogicalTensor::strided(3, TENON_F32, dims, {kWidth, kHeads * kWidth, 1});
  LogicalTensor root(4, TENON_F32, {}, TENON_LAYOUT_STRIDED,
                     TENON_PROPERTY_HOST_SCALAR);
  const std::vector<int64_t> square = {kHeads, kTokens, kTokens};
  LogicalTensor scores(5, TENON_F32, square), scaled(6, TENON_F32, square),
      weights(7, TENON_F32, square);
  Op product(0, tenon_op_matmul, "scores"), scale(1, tenon_op_divide, "scale"),
      softmax(2, tenon_op_softmax, "softmax"), sum(3, tenon_op_matmul, "sum");
  product.attr("transpose_b", true).input(q).input(k).output(scores);
  scale.input(scores).input(root).output(scaled);
  softmax.attr("axis", -1).input(scaled).output(weights);
  sum.input(weights).input(v).output(y);
  Graph graph;
  graph.add(product).add(scale).add(softmax).add(sum).finalize();
  auto partitions = graph.partitions();
  EXPECT(partitions.size() == 1 && partitions[0].isSupported());

  Engine engine;
  Stream stream(engine);
  auto compiled = partitions[0].compile(engine, {q, k, v, root}, {y});
  std::vector<float> buffer(kTokens * kRow), result(kTokens * kHeads * kWidth);
  Tensor tq(q, engine, &buffer[at(0, 0, 0, 0)]);
  Tensor tk(k, engine, &buffer[at(1, 0, 0, 0)]);
  Tensor tv(v, engine, &buffer[at(2, 0, 0, 0)]);
  Tensor ty(y, engine, result.data());
  Tensor by = Tensor::scalar(root, std::sqrt(float(kWidth)));
  for (uint32_t seed = 1; seed <= 2; ++seed) {
    fill(buffer.data(), buffer.size(), seed);
    compiled.execute(stream, {&tq, &tk, &tv, &by}, {&ty});
    for (int64_t head = 0; head < kHeads; ++head)
      for (int64_t t = 0; t < kTokens; ++t) {
        std::vector<double> expected = attend(buffer, head, t);
        for (int64_t i = 0; i < kWidth; ++i)
          EXPECT(
              is_near(result[(t * kHeads + head) * kWidth + i], expected[i]));
      }
  }
  // Copies of them would be intermediates: views need no more memory than
  // tensors that are dense to begin with.
  auto dense = [&](uint64_t id) { return LogicalTensor(id, TENON_F32, dims); };
  auto plain = partitions[0].compile(
      engine, {dense(0), dense(1), dense(2), root}, {dense(3)});
  printf("attention: %zu bytes of scratch for views, %zu for dense tensors\n",
         compiled.scratchSize(), plain.scratchSize());
  EXPECT(compiled.scratchSize() == plain.scratchSize());
}

} // namespace

int main() { return run_example(run); }
