/* Convolution, bias, ReLU, twice, as two compiled partitions. The edge between
 * SPDX-License-Identifier: Apache-2.0
 * them has the layout that the compiler chose: the first partition leaves it
 * open, is asked, and the second one is compiled for the answer. Nobody turns
 * it back into rows of pixels. */
#include "examples/check.h"

enum { C0 = 3, C1 = 16, C2 = 8, SIZE = 14, PIXELS = SIZE * SIZE };

/* Ids: x, weights, bias, y of the first block; the second's x is the first's y.
 */
static tenon_partition *block(const tenon_logical_tensor *x,
                              const tenon_logical_tensor *weights,
                              const tenon_logical_tensor *bias,
                              const tenon_logical_tensor *y) {
  const int64_t ones[] = {1, 1};
  tenon_logical_tensor conv = *y, sum = *y;
  const tenon_logical_tensor *conv_in[] = {x, weights},
                             *bias_in[] = {&conv, bias}, *relu_in[] = {&sum};
  tenon_graph *graph;
  tenon_op *op;
  conv.id = 100;
  sum.id = 101;

  TRY(tenon_graph_create(&graph));
  op = new_op(0, tenon_op_convolution, "conv", 2, conv_in, &conv);
  TRY(tenon_op_set_s64s(op, "strides", ones, 2));
  TRY(tenon_op_set_s64s(op, "dilations", ones, 2));
  TRY(tenon_op_set_s64s(op, "pads_begin", ones, 2));
  TRY(tenon_op_set_s64s(op, "pads_end", ones, 2));
  TRY(tenon_op_set_string(op, "data_format", "NCX"));
  TRY(tenon_op_set_string(op, "weights_format", "OIX"));
  add_op(graph, op);
  op = new_op(1, tenon_op_bias_add, "bias", 2, bias_in, &sum);
  TRY(tenon_op_set_string(op, "data_format", "NCX"));
  add_op(graph, op);
  add_op(graph, new_op(2, tenon_op_relu, "relu", 1, relu_in, y));
  return only_partition(graph);
}

static void plain_block(const float *x, const float *w, const float *bias,
                        int ic, int oc, float *y) {
  int o, i, r, c, dr, dc;
  for (o = 0; o < oc; ++o)
    for (r = 0; r < SIZE; ++r)
      for (c = 0; c < SIZE; ++c) {
        double sum = bias[o];
        for (i = 0; i < ic; ++i)
          for (dr = 0; dr < 3; ++dr)
            for (dc = 0; dc < 3; ++dc) {
              int row = r + dr - 1, column = c + dc - 1;
              if (row >= 0 && row < SIZE && column >= 0 && column < SIZE)
                sum += x[(i * SIZE + row) * SIZE + column] *
                       w[((o * ic + i) * 3 + dr) * 3 + dc];
            }
        y[(o * SIZE + r) * SIZE + c] = (float)(sum > 0 ? sum : 0);
      }
}

static float x_data[C0 * PIXELS], w1_data[C1 * C0 * 9], b1_data[C1],
    w2_data[C2 * C1 * 9], b2_data[C2], y_data[C2 * PIXELS];

static void check_result(void) {
  static float middle[C1 * PIXELS], expected[C2 * PIXELS];
  int i;
  plain_block(x_data, w1_data, b1_data, C0, C1, middle);
  plain_block(middle, w2_data, b2_data, C1, C2, expected);
  for (i = 0; i < C2 * PIXELS; ++i)
    EXPECT(is_near(y_data[i], expected[i]));
}

int main(void) {
  const int64_t x_dims[] = {1, C0, SIZE, SIZE}, w1_dims[] = {C1, C0, 3, 3},
                b1_dims[] = {C1}, m_dims[] = {1, C1, SIZE, SIZE},
                w2_dims[] = {C2, C1, 3, 3}, b2_dims[] = {C2},
                y_dims[] = {1, C2, SIZE, SIZE};
  tenon_logical_tensor first[] = {edge(0, 4, x_dims), edge(1, 4, w1_dims),
                                  edge(2, 1, b1_dims)},
                       middle = edge(3, 4, m_dims);
  tenon_logical_tensor second[] = {middle, edge(4, 4, w2_dims),
                                   edge(5, 1, b2_dims)},
                       y = edge(6, 4, y_dims);
  tenon_partition *one, *two;
  tenon_compiled_partition *compiled_one, *compiled_two;
  tenon_engine *engine;
  tenon_stream *stream;
  tenon_tensor *in_one[3], *in_two[3];
  size_t i;
  for (i = 1; i < 3; ++i)
    first[i].property = second[i].property = TENON_PROPERTY_CONSTANT;
  one = block(&first[0], &first[1], &first[2], &middle);
  two = block(&second[0], &second[1], &second[2], &y);

  TRY(tenon_engine_create(NULL, &engine));
  TRY(tenon_stream_create(engine, NULL, &stream));
  middle.layout = TENON_LAYOUT_ANY;
  TRY(tenon_partition_compile(one, engine, 3, first, 1, &middle,
                              &compiled_one));
  TRY(tenon_compiled_partition_query(compiled_one, middle.id, &middle));
  EXPECT(middle.layout == TENON_LAYOUT_OPAQUE);
  second[0] = middle;
  TRY(tenon_partition_compile(two, engine, 3, second, 1, &y, &compiled_two));

  fill(x_data, sizeof x_data / sizeof(float), 1);
  fill(w1_data, sizeof w1_data / sizeof(float), 2);
  fill(b1_data, C1, 3);
  fill(w2_data, sizeof w2_data / sizeof(float), 4);
  fill(b2_data, C2, 5);
  in_one[0] = new_tensor(&first[0], engine, x_data);
  in_one[1] = new_tensor(&first[1], engine, w1_data);
  in_one[2] = new_tensor(&first[2], engine, b1_data);
  /* Only the library knows how its elements lie: it brings the memory. */
  in_two[0] = new_tensor(&middle, engine, TENON_MEMORY_ALLOCATE);
  in_two[1] = new_tensor(&second[1], engine, w2_data);
  in_two[2] = new_tensor(&second[2], engine, b2_data);
  TRY(tenon_compiled_partition_execute(compiled_one, stream, 3,
                                       (const tenon_tensor *const *)in_one, 1,
                                       &in_two[0]));
  execute(compiled_two, stream, 3, in_two, new_tensor(&y, engine, y_data));
  check_result();

  for (i = 0; i < 3; ++i)
    tenon_tensor_destroy(in_one[i]);
  tenon_compiled_partition_destroy(compiled_one);
  tenon_compiled_partition_destroy(compiled_two);
  tenon_partition_destroy(one);
  tenon_partition_destroy(two);
  tenon_stream_destroy(stream);
  tenon_engine_destroy(engine);
  printf("two blocks of convolutions, layout %d between them\n",
         (int)middle.layout_id);
  return 0;
}
