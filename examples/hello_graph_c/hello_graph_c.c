/* A dense layer, relu(x . w + b): the whole way from operations to numbers.
 * SPDX-License-Identifier: Apache-2.0
 * docs/c-api.md walks through it. */
#include "examples/check.h"

#include <string.h>

enum { M = 4, K = 8, N = 16 };

static tenon_graph *make_graph(const tenon_logical_tensor *x,
                               const tenon_logical_tensor *w,
                               const tenon_logical_tensor *b,
                               const tenon_logical_tensor *y) {
  const int64_t dims[] = {M, N};
  tenon_logical_tensor sum = edge(4, 2, dims);
  tenon_op *matmul, *relu;
  tenon_graph *graph;

  TRY(tenon_op_create(0, tenon_op_matmul, "fc", &matmul));
  TRY(tenon_op_add_input(matmul, x));
  TRY(tenon_op_add_input(matmul, w));
  TRY(tenon_op_add_input(matmul, b));
  TRY(tenon_op_add_output(matmul, &sum));
  TRY(tenon_op_create(1, tenon_op_relu, "activation", &relu));
  TRY(tenon_op_add_input(relu, &sum));
  TRY(tenon_op_add_output(relu, y));

  TRY(tenon_graph_create(&graph));
  TRY(tenon_graph_add_op(graph, matmul));
  TRY(tenon_graph_add_op(graph, relu));
  TRY(tenon_graph_finalize(graph));
  tenon_op_destroy(matmul);
  tenon_op_destroy(relu);
  return graph;
}

static void check_result(const float *x, const float *w, const float *b,
                         const float *y) {
  int i, j, k;
  for (i = 0; i < M; ++i)
    for (j = 0; j < N; ++j) {
      double sum = b[j];
      for (k = 0; k < K; ++k)
        sum += x[i * K + k] * w[k * N + j];
      EXPECT(is_near(y[i * N + j], sum > 0 ? sum : 0));
    }
}

int main(void) {
  const int64_t x_dims[] = {M, K}, w_dims[] = {K, N}, b_dims[] = {N},
                y_dims[] = {M, N};
  tenon_logical_tensor in[3], y = edge(3, 2, y_dims);
  in[0] = edge(0, 2, x_dims);
  in[1] = edge(1, 2, w_dims);
  in[2] = edge(2, 1, b_dims);
  in[1].property = in[2].property = TENON_PROPERTY_CONSTANT;

  tenon_graph *graph = make_graph(&in[0], &in[1], &in[2], &y);
  tenon_partition *partition = NULL;
  size_t count = 1;
  TRY(tenon_graph_get_partitions(graph, TENON_POLICY_FUSION, &count,
                                 &partition));
  EXPECT(count == 1 && tenon_partition_is_supported(partition));

  tenon_engine *engine;
  tenon_compiled_partition *compiled;
  TRY(tenon_engine_create(NULL, &engine));
  TRY(tenon_partition_compile(partition, engine, 3, in, 1, &y, &compiled));

  static float data[M * K + K * N + N + M * N];
  float *x_data = data, *w_data = x_data + M * K, *b_data = w_data + K * N,
        *y_data = b_data + N;
  fill(data, M * K + K * N + N, 1);
  tenon_tensor *inputs[3], *output;
  TRY(tenon_tensor_create(&in[0], engine, x_data, &inputs[0]));
  TRY(tenon_tensor_create(&in[1], engine, w_data, &inputs[1]));
  TRY(tenon_tensor_create(&in[2], engine, b_data, &inputs[2]));
  TRY(tenon_tensor_create(&y, engine, y_data, &output));

  tenon_stream *stream;
  TRY(tenon_stream_create(engine, NULL, &stream));
  TRY(tenon_compiled_partition_execute(
      compiled, stream, 3, (const tenon_tensor *const *)inputs, 1, &output));
  check_result(x_data, w_data, b_data, y_data);

  const char *text;
  TRY(tenon_compiled_partition_get_report(
      compiled, engine, TENON_REPORT_EXPLANATION, &text, NULL));
  EXPECT(strstr(text, "fused") != NULL);

  for (int i = 0; i < 3; ++i)
    tenon_tensor_destroy(inputs[i]);
  tenon_tensor_destroy(output);
  tenon_stream_destroy(stream);
  tenon_compiled_partition_destroy(compiled);
  tenon_partition_destroy(partition);
  tenon_graph_destroy(graph);
  tenon_engine_destroy(engine);
  printf("relu(x . w + b)[0][0..3] = %g %g %g %g\n", y_data[0], y_data[1],
         y_data[2], y_data[3]);
  return 0;
}
