/* One operation, compiled without a graph: softmax along rows. A framework
 * SPDX-License-Identifier: Apache-2.0
 * that executes eagerly does this for each operation; equal requests come from
 * the cache. */
#include "examples/check.h"

enum { ROWS = 6, COLUMNS = 40 };

static void check_rows(const float *x, const float *y) {
  int i, j;
  for (i = 0; i < ROWS; ++i, x += COLUMNS, y += COLUMNS) {
    double sum = 0;
    for (j = 0; j < COLUMNS; ++j)
      sum += exp(x[j]);
    for (j = 0; j < COLUMNS; ++j)
      EXPECT(is_near(y[j], exp(x[j]) / sum));
  }
}

/* What an eager framework calls for each softmax. */
static void softmax(tenon_engine *engine, tenon_stream *stream, float *x_data,
                    float *y_data) {
  const int64_t dims[] = {ROWS, COLUMNS};
  tenon_logical_tensor x = edge(0, 2, dims), y = edge(1, 2, dims);
  const tenon_logical_tensor *inputs[] = {&x};
  tenon_op *op = new_op(0, tenon_op_softmax, "probabilities", 1, inputs, &y);
  tenon_partition *partition;
  tenon_compiled_partition *compiled;
  tenon_tensor *in[1];

  TRY(tenon_op_set_s64(op, "axis", 1));
  TRY(tenon_partition_create(op, &partition));
  TRY(tenon_partition_compile(partition, engine, 1, &x, 1, &y, &compiled));
  in[0] = new_tensor(&x, engine, x_data);
  execute(compiled, stream, 1, in, new_tensor(&y, engine, y_data));
  tenon_compiled_partition_destroy(compiled);
  tenon_partition_destroy(partition);
  tenon_op_destroy(op);
}

int main(void) {
  static float x[ROWS * COLUMNS], y[ROWS * COLUMNS];
  tenon_engine *engine;
  tenon_stream *stream;
  tenon_compile_stats stats;
  uint32_t i;

  TRY(tenon_engine_create(NULL, &engine));
  TRY(tenon_stream_create(engine, NULL, &stream));
  for (i = 0; i < 3; ++i) {
    fill(x, ROWS * COLUMNS, i);
    softmax(engine, stream, x, y);
    check_rows(x, y);
  }
  stats = tenon_get_compile_stats();
  EXPECT(stats.compiled == 1 && stats.from_memory == 2);
  tenon_stream_destroy(stream);
  tenon_engine_destroy(engine);
  printf("compiled %d time, found again %d times\n", (int)stats.compiled,
         (int)stats.from_memory);
  return 0;
}
