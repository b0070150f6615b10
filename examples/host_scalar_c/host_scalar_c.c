/* y = x * s + t with s and t on the host: single values, copied into their
 * SPDX-License-Identifier: Apache-2.0
 * tensors when these are made and read at each execution, such as a learning
 * rate or a temperature. */
#include "examples/check.h"

enum { COUNT = 100 };

static tenon_logical_tensor host_scalar(uint64_t id) {
  tenon_logical_tensor made;
  TRY(tenon_logical_tensor_init(&made, id, TENON_F32, 0, NULL,
                                TENON_LAYOUT_STRIDED,
                                TENON_PROPERTY_HOST_SCALAR));
  return made;
}

int main(void) {
  const int64_t dims[] = {COUNT};
  tenon_logical_tensor inputs[3], product = edge(3, 1, dims),
                                  y = edge(4, 1, dims);
  const tenon_logical_tensor *multiply_in[] = {&inputs[0], &inputs[1]},
                             *add_in[] = {&product, &inputs[2]};
  static float x_data[COUNT], y_data[COUNT];
  const float scales[] = {1, 0.5f, -3}, shifts[] = {0, 2, 0.25f};
  tenon_graph *graph;
  tenon_partition *partition;
  tenon_compiled_partition *compiled;
  tenon_engine *engine;
  tenon_stream *stream;
  int run, i;

  inputs[0] = edge(0, 1, dims);
  inputs[1] = host_scalar(1);
  inputs[2] = host_scalar(2);
  TRY(tenon_graph_create(&graph));
  add_op(graph,
         new_op(0, tenon_op_multiply, "scale", 2, multiply_in, &product));
  add_op(graph, new_op(1, tenon_op_add, "shift", 2, add_in, &y));
  partition = only_partition(graph);
  TRY(tenon_engine_create(NULL, &engine));
  TRY(tenon_stream_create(engine, NULL, &stream));
  TRY(tenon_partition_compile(partition, engine, 3, inputs, 1, &y, &compiled));

  fill(x_data, COUNT, 1);
  for (run = 0; run < 3; ++run) {
    tenon_tensor *tensors[3];
    tensors[0] = new_tensor(&inputs[0], engine, x_data);
    TRY(tenon_tensor_create_scalar(&inputs[1], &scales[run], &tensors[1]));
    TRY(tenon_tensor_create_scalar(&inputs[2], &shifts[run], &tensors[2]));
    execute(compiled, stream, 3, tensors, new_tensor(&y, engine, y_data));
    for (i = 0; i < COUNT; ++i)
      EXPECT(is_near(y_data[i], (double)x_data[i] * scales[run] + shifts[run]));
  }
  tenon_compiled_partition_destroy(compiled);
  tenon_partition_destroy(partition);
  tenon_stream_destroy(stream);
  tenon_engine_destroy(engine);
  printf("one compilation, three pairs of scalars\n");
  return 0;
}
