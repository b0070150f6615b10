// SPDX-License-Identifier: Apache-2.0
// A dense layer, relu(x . w + b), through the C++ interface: objects free
// themselves, and what fails throws.
#include "examples/check.h"

#include <algorithm>
#include <tenon.hpp>

namespace {

constexpr int64_t M = 4, K = 8, N = 16;

void run() {
  using namespace tenon;
  LogicalTensor x(0, TENON_F32, {M, K});
  LogicalTensor w(1, TENON_F32, {K, N}, TENON_LAYOUT_STRIDED,
                  TENON_PROPERTY_CONSTANT);
  LogicalTensor b(2, TENON_F32, {N}, TENON_LAYOUT_STRIDED,
                  TENON_PROPERTY_CONSTANT);
  LogicalTensor y(3, TENON_F32, {M, N}), sum(4, TENON_F32, {M, N});

  Op matmul(0, tenon_op_matmul, "fc"), relu(1, tenon_op_relu, "activation");
  matmul.input(x).input(w).input(b).output(sum);
  relu.input(sum).output(y);
  Graph graph;
  graph.add(matmul).add(relu).finalize();

  Engine engine;
  Stream stream(engine);
  std::vector<Partition> partitions = graph.partitions();
  EXPECT(partitions.size() == 1 && partitions[0].isSupported());
  CompiledPartition compiled = partitions[0].compile(engine, {x, w, b}, {y});

  std::vector<float> xs(M * K), ws(K * N), bs(N), ys(M * N);
  fill(xs.data(), xs.size(), 1);
  fill(ws.data(), ws.size(), 2);
  fill(bs.data(), bs.size(), 3);
  Tensor tx(x, engine, xs.data()), tw(w, engine, ws.data()),
      tb(b, engine, bs.data()), ty(y, engine, ys.data());
  compiled.execute(stream, {&tx, &tw, &tb}, {&ty});

  for (int64_t i = 0; i < M; ++i)
    for (int64_t j = 0; j < N; ++j) {
      double expected = bs[j];
      for (int64_t k = 0; k < K; ++k)
        expected += double(xs[i * K + k]) * ws[k * N + j];
      EXPECT(is_near(ys[i * N + j], std::max(0.0, expected)));
    }
  printf("relu(x . w + b)[0][0..3] = %g %g %g %g\n", ys[0], ys[1], ys[2],
         ys[3]);

  // What goes wrong arrives with a number and the operation it is about.
  try {
    Op transposed(2, tenon_op_matmul, "wrong");
    transposed.input(w).input(x).output(sum);
    Graph().add(transposed).finalize();
    EXPECT(!"a product of sizes that do not fit is refused");
  } catch (const Exception &e) {
    EXPECT(e.opName() == "wrong");
    printf("refused as it should be: %s\n", e.what());
  }
}

} // namespace

int main() { return run_example(run); }
