// SPDX-License-Identifier: Apache-2.0
// Two partitions with the same weights, for batches of 24 and of 48, keep one
// packed copy of them: what is computed from constants is shared by content
// once the cache for it has a capacity.
#include "examples/check.h"

#include <tenon.hpp>

namespace {

using namespace tenon;

constexpr int64_t K = 64, N = 96;

struct Layer {
  LogicalTensor x, w, y;
  CompiledPartition compiled;

  Layer(const Engine &engine, int64_t rows)
      : x(0, TENON_F32, {rows, K}),
        w(1, TENON_F32, {K, N}, TENON_LAYOUT_STRIDED, TENON_PROPERTY_CONSTANT),
        y(2, TENON_F32, {rows, N}) {
    Op matmul(0, tenon_op_matmul, "fc");
    matmul.input(x).input(w).output(y);
    compiled = Partition(matmul).compile(engine, {x, w}, {y});
  }

  void checkOn(const Engine &engine, const Stream &stream,
               std::vector<float> &weights) {
    int64_t rows = x.dims[0];
    std::vector<float> in(rows * K), out(rows * N);
    fill(in.data(), in.size(), 7);
    Tensor tx(x, engine, in.data()), tw(w, engine, weights.data()),
        ty(y, engine, out.data());
    compiled.execute(stream, {&tx, &tw}, {&ty});
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < N; ++j) {
        double expected = 0;
        for (int64_t k = 0; k < K; ++k)
          expected += double(in[i * K + k]) * weights[k * N + j];
        EXPECT(is_near(out[i * N + j], expected));
      }
  }
};

void run() {
  check(tenon_set_constant_cache_capacity(16 << 20));
  Engine engine;
  Stream stream(engine);
  // Panels of weights are as wide as suits the rows: here alike.
  Layer one(engine, 24), many(engine, 48);
  // Two copies in the program, as two models loaded from one file have them.
  std::vector<float> weights(K * N);
  fill(weights.data(), weights.size(), 1);
  std::vector<float> same = weights;

  one.checkOn(engine, stream, weights);
  tenon_constants_stats first = tenon_get_constant_cache_stats();
  EXPECT(first.bytes >= int64_t(sizeof(float)) * K * N);
  many.checkOn(engine, stream, same);
  tenon_constants_stats second = tenon_get_constant_cache_stats();
  EXPECT(second.hits > first.hits);
  EXPECT(second.bytes == first.bytes);

  // Other values are other constants.
  same[5] += 1;
  many.checkOn(engine, stream, same);
  EXPECT(tenon_get_constant_cache_stats().misses > second.misses);
  printf("%lld bytes of packed weights, shared by two partitions\n",
         static_cast<long long>(first.bytes));
}

} // namespace

int main() { return run_example(run); }
