/* A graph with an operation that only the framework knows. It stands in the
 * SPDX-License-Identifier: Apache-2.0
 * graph as a Wildcard and splits it: the program executes the two compiled
 * partitions and runs what is between them itself, all in the order in which
 * the partitions are given. */
#include "examples/check.h"

enum { ROWS = 8, COLUMNS = 16, COUNT = ROWS * COLUMNS, TENSORS = 5 };
enum { RUNNING_SUM_OP = 1 };

/* Memory of each edge, by id: x, a = x + x, relu(a), its running sum, result.
 */
static float memory[TENSORS][COUNT];

/* The framework's operation: sums along each row. */
static void running_sum(const float *from, float *to) {
  int r, c;
  for (r = 0; r < ROWS; ++r) {
    float sum = 0;
    for (c = 0; c < COLUMNS; ++c) {
      sum += from[r * COLUMNS + c];
      to[r * COLUMNS + c] = sum;
    }
  }
}

static tenon_graph *make_graph(void) {
  const int64_t dims[] = {ROWS, COLUMNS};
  tenon_logical_tensor t[TENSORS];
  const tenon_logical_tensor *double_in[] = {&t[0], &t[0]},
                             *relu_in[] = {&t[1]}, *sum_in[] = {&t[2]},
                             *last_in[] = {&t[3], &t[2]};
  tenon_graph *graph;
  uint64_t id;
  for (id = 0; id < TENSORS; ++id)
    t[id] = edge(id, 2, dims);
  TRY(tenon_graph_create(&graph));
  add_op(graph, new_op(10, tenon_op_add, "double", 2, double_in, &t[1]));
  add_op(graph, new_op(11, tenon_op_relu, "relu", 1, relu_in, &t[2]));
  add_op(graph, new_op(RUNNING_SUM_OP, tenon_op_wildcard, "running_sum", 1,
                       sum_in, &t[3]));
  add_op(graph, new_op(12, tenon_op_subtract, "last", 2, last_in, &t[4]));
  TRY(tenon_graph_finalize(graph));
  return graph;
}

static void run_compiled(const tenon_partition *partition, tenon_engine *engine,
                         tenon_stream *stream) {
  const tenon_logical_tensor *inputs, *outputs;
  size_t num_inputs, num_outputs, i;
  tenon_tensor *in[2];
  tenon_compiled_partition *compiled;
  TRY(tenon_partition_get_inputs(partition, &num_inputs, &inputs));
  TRY(tenon_partition_get_outputs(partition, &num_outputs, &outputs));
  EXPECT(num_inputs <= 2 && num_outputs == 1);
  TRY(tenon_partition_compile(partition, engine, num_inputs, inputs,
                              num_outputs, outputs, &compiled));
  for (i = 0; i < num_inputs; ++i)
    in[i] = new_tensor(&inputs[i], engine, memory[inputs[i].id]);
  execute(compiled, stream, num_inputs, in,
          new_tensor(&outputs[0], engine, memory[outputs[0].id]));
  tenon_compiled_partition_destroy(compiled);
}

/* One that does not compile: the program finds by the id of its operation what
 * there is to do. */
static void run_own(const tenon_partition *partition) {
  const uint64_t *ops;
  const tenon_logical_tensor *in, *out;
  size_t count;
  printf("the program runs: %s\n", tenon_partition_get_reason(partition));
  TRY(tenon_partition_get_ops(partition, &count, &ops));
  EXPECT(count == 1 && ops[0] == RUNNING_SUM_OP);
  TRY(tenon_partition_get_inputs(partition, &count, &in));
  TRY(tenon_partition_get_outputs(partition, &count, &out));
  running_sum(memory[in->id], memory[out->id]);
}

static void check_result(void) {
  int r, c;
  for (r = 0; r < ROWS; ++r) {
    double sum = 0;
    for (c = 0; c < COLUMNS; ++c) {
      double x = memory[0][r * COLUMNS + c], y = x > 0 ? 2 * x : 0;
      sum += y;
      EXPECT(is_near(memory[4][r * COLUMNS + c], sum - y));
    }
  }
}

int main(void) {
  tenon_graph *graph = make_graph();
  tenon_partition *partitions[3];
  tenon_engine *engine;
  tenon_stream *stream;
  size_t count = 0, i;
  TRY(tenon_graph_get_partitions(graph, TENON_POLICY_FUSION, &count, NULL));
  EXPECT(count == 3);
  TRY(tenon_graph_get_partitions(graph, TENON_POLICY_FUSION, &count,
                                 partitions));
  TRY(tenon_engine_create(NULL, &engine));
  TRY(tenon_stream_create(engine, NULL, &stream));

  fill(memory[0], COUNT, 1);
  for (i = 0; i < count; ++i) {
    if (tenon_partition_is_supported(partitions[i]))
      run_compiled(partitions[i], engine, stream);
    else
      run_own(partitions[i]);
    tenon_partition_destroy(partitions[i]);
  }
  check_result();
  EXPECT(tenon_get_compile_stats().compiled == 2);
  tenon_stream_destroy(stream);
  tenon_engine_destroy(engine);
  tenon_graph_destroy(graph);
  printf("two compiled partitions around one of the program's own\n");
  return 0;
}
