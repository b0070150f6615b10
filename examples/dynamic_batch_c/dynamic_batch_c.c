/* A dense layer compiled once for any number of rows; each execution says how
 * SPDX-License-Identifier: Apache-2.0
 * many there are. Sizes of results and of scratch can be asked for. */
#include "examples/check.h"

enum { K = 24, N = 10, MOST = 100 };

static float x_data[MOST * K], w_data[K * N], y_data[MOST * N];

static void check_rows(int64_t rows) {
  int64_t i;
  int j, k;
  for (i = 0; i < rows; ++i)
    for (j = 0; j < N; ++j) {
      double sum = 0;
      for (k = 0; k < K; ++k)
        sum += x_data[i * K + k] * w_data[k * N + j];
      EXPECT(is_near(y_data[i * N + j], tanh(sum)));
    }
}

int main(void) {
  const int64_t any_x[] = {TENON_UNKNOWN_DIM, K}, w_dims[] = {K, N},
                any_y[] = {TENON_UNKNOWN_DIM, N};
  const int64_t batches[] = {1, 7, MOST, 7, 0};
  tenon_logical_tensor inputs[2], product = edge(3, 2, any_y),
                                  y = edge(2, 2, any_y);
  const tenon_logical_tensor *matmul_in[] = {&inputs[0], &inputs[1]},
                             *tanh_in[] = {&product};
  tenon_graph *graph;
  tenon_partition *partition;
  tenon_compiled_partition *compiled;
  tenon_engine *engine;
  tenon_stream *stream;
  size_t run;

  inputs[0] = edge(0, 2, any_x);
  inputs[1] = edge(1, 2, w_dims);
  inputs[1].property = TENON_PROPERTY_CONSTANT;
  TRY(tenon_graph_create(&graph));
  add_op(graph, new_op(0, tenon_op_matmul, "fc", 2, matmul_in, &product));
  add_op(graph, new_op(1, tenon_op_tanh, "activation", 1, tanh_in, &y));
  partition = only_partition(graph);
  TRY(tenon_engine_create(NULL, &engine));
  TRY(tenon_stream_create(engine, NULL, &stream));
  TRY(tenon_partition_compile(partition, engine, 2, inputs, 1, &y, &compiled));
  fill(w_data, K * N, 1);
  tenon_tensor *weights = new_tensor(&inputs[1], engine, w_data);

  for (run = 0; run < sizeof batches / sizeof *batches; ++run) {
    const int64_t rows = batches[run], x_dims[] = {batches[run], K};
    tenon_logical_tensor given[] = {edge(0, 2, x_dims), inputs[1]}, result;
    size_t scratch = 0;
    TRY(tenon_compiled_partition_infer(compiled, 2, given, 1, &result));
    EXPECT(result.dims[0] == rows && result.dims[1] == N);
    TRY(tenon_compiled_partition_get_scratch_size(compiled, 2, given,
                                                  &scratch));
    printf("%d rows: %d bytes of scratch\n", (int)rows, (int)scratch);

    tenon_tensor *x, *out;
    fill(x_data, (size_t)rows * K, (uint32_t)run);
    x = new_tensor(&given[0], engine, x_data);
    out = new_tensor(&result, engine, y_data);
    const tenon_tensor *in[] = {x, weights};
    TRY(tenon_compiled_partition_execute(compiled, stream, 2, in, 1, &out));
    check_rows(rows);
    tenon_tensor_destroy(x);
    tenon_tensor_destroy(out);
  }
  EXPECT(tenon_get_compile_stats().compiled == 1);
  tenon_tensor_destroy(weights);
  tenon_compiled_partition_destroy(compiled);
  tenon_partition_destroy(partition);
  tenon_stream_destroy(stream);
  tenon_engine_destroy(engine);
  return 0;
}
