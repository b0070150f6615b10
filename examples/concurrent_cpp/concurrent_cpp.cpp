// SPDX-License-Identifier: Apache-2.0
// A server: threads share one compiled partition and one set of weights, each
// with tensors of its own. Half of them share a stream with a team of threads,
// the others go alone; meanwhile requests of other sizes are compiled.
#include "examples/check.h"

#include <algorithm>
#include <atomic>
#include <tenon.hpp>
#include <thread>

namespace {

using namespace tenon;

constexpr int64_t K = 32, N = 48;
constexpr int kThreads = 6, kRequests = 40;

struct Model {
  LogicalTensor w{
      1, TENON_F32, {K, N}, TENON_LAYOUT_STRIDED, TENON_PROPERTY_CONSTANT};
  std::vector<float> weights = std::vector<float>(K * N);
  Engine engine;
  Tensor tw{w, engine, weights.data()};

  Model() { fill(weights.data(), weights.size(), 1); }

  static LogicalTensor x(int64_t rows) { return {0, TENON_F32, {rows, K}}; }
  static LogicalTensor y(int64_t rows) { return {2, TENON_F32, {rows, N}}; }

  /// relu(x . w) for so many rows; served from the cache if it was asked for.
  CompiledPartition compile(int64_t rows) const {
    LogicalTensor sum(3, TENON_F32, {rows, N});
    Op matmul(0, tenon_op_matmul, "fc"), relu(1, tenon_op_relu, "activation");
    matmul.input(x(rows)).input(w).output(sum);
    relu.input(sum).output(y(rows));
    Graph graph;
    graph.add(matmul).add(relu).finalize();
    return graph.partitions().at(0).compile(engine, {x(rows), w}, {y(rows)});
  }

  /// Executes once with data of `seed`; the number of wrong elements.
  int serve(CompiledPartition &compiled, const Stream &stream, int64_t rows,
            uint32_t seed) const {
    std::vector<float> in(rows * K), out(rows * N);
    fill(in.data(), in.size(), seed);
    Tensor tx(x(rows), engine, in.data()), ty(y(rows), engine, out.data());
    compiled.execute(stream, {&tx, &tw}, {&ty});
    int wrong = 0;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < N; ++j) {
        double expected = 0;
        for (int64_t k = 0; k < K; ++k)
          expected += double(in[i * K + k]) * weights[k * N + j];
        wrong += !is_near(out[i * N + j], std::max(0.0, expected));
      }
    return wrong;
  }
};

void run() {
  const Model model;
  CompiledPartition shared = model.compile(17);
  Stream team(model.engine, 2);
  std::atomic<int> wrong{0};
  std::atomic<bool> failed{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      try {
        Stream alone(model.engine);
        for (int i = 0; i < kRequests; ++i)
          wrong += model.serve(shared, t % 2 ? team : alone, 17,
                               uint32_t(t * kRequests + i));
        // Every second thread asks for the same size: compiled once.
        int64_t rows = 3 + t % 3;
        CompiledPartition own = model.compile(rows);
        wrong += model.serve(own, alone, rows, uint32_t(t));
      } catch (const Exception &e) {
        fprintf(stderr, "%s\n", e.what());
        failed = true;
      }
    });
  for (std::thread &t : threads)
    t.join();
  EXPECT(!failed);
  EXPECT(wrong == 0);
  EXPECT(tenon_get_compile_stats().compiled == 4);
  printf("%d threads, %d requests each, all right\n", kThreads, kRequests);
}

} // namespace

int main() { return run_example(run); }
