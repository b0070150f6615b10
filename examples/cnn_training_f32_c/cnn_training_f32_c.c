/*===-- cnn_training_f32_c.c - training a convolution in plain C ---*- C
 * SPDX-License-Identifier: Apache-2.0
-*-===*\
|*                                                                          *|
|* The first block of AlexNet, batch 8, learns what another set of random   *|
|* weights makes of random pictures:                                        *|
|*                                                                          *|
|*   y = MaxPool(LRN(ReLU(Convolution(x, w) + b)))                          *|
|*   loss = sum of (y - target)^2                                           *|
|*   w -= rate * d loss / d w, and b likewise                               *|
|*                                                                          *|
|* Three partitions do it: forward alone, forward and backward together,    *|
|* and the update.  First, some of the gradients are compared with          *|
|* differences of the loss; then the loss has to fall.                      *|
|*                                                                          *|
\*===----------------------------------------------------------------------===*/
#include "examples/check.h"

enum {
  BATCH = 8,
  IMAGE = 227,
  CHANNELS = 3,
  KERNEL = 11,
  STRIDE = 4,
  FILTERS = 96,
  CONVOLVED = (IMAGE - KERNEL) / STRIDE + 1,
  POOLED = (CONVOLVED - 3) / 2 + 1,
  STEPS = 20
};

/* Edges by id. */
enum {
  X,
  W,
  B,
  TARGET,
  Y,
  LOSS,
  DIFF_W,
  DIFF_B,
  RATE,
  NEW_W,
  NEW_B,
  CONV,
  RELU,
  NORM,
  ERROR,
  SQUARES,
  DIFF_Y,
  DIFF_NORM,
  DIFF_RELU,
  DIFF_CONV,
  SCALED_W,
  SCALED_B,
  EDGES
};
static tenon_logical_tensor edges[EDGES];
static tenon_tensor *tensors[EDGES];

static void make_edges(void) {
  const int64_t image[] = {BATCH, IMAGE, IMAGE, CHANNELS},
                weights[] = {KERNEL, KERNEL, CHANNELS, FILTERS},
                bias[] = {FILTERS},
                convolved[] = {BATCH, CONVOLVED, CONVOLVED, FILTERS},
                pooled[] = {BATCH, POOLED, POOLED, FILTERS};
  static const int of_weights[] = {W, DIFF_W, NEW_W, SCALED_W},
                   of_bias[] = {B, DIFF_B, NEW_B, SCALED_B};
  uint64_t id;
  int i;
  for (id = 0; id < EDGES; ++id)
    edges[id] = edge(id, 4, id >= CONV ? convolved : pooled);
  edges[X] = edge(X, 4, image);
  for (i = 0; i < 4; ++i) {
    edges[of_weights[i]] = edge((uint64_t)of_weights[i], 4, weights);
    edges[of_bias[i]] = edge((uint64_t)of_bias[i], 1, bias);
  }
  edges[ERROR] = edge(ERROR, 4, pooled);
  edges[SQUARES] = edge(SQUARES, 4, pooled);
  edges[DIFF_Y] = edge(DIFF_Y, 4, pooled);
  edges[LOSS] = edge(LOSS, 0, NULL);
  edges[RATE] = edge(RATE, 0, NULL);
  edges[RATE].property = TENON_PROPERTY_HOST_SCALAR;
}

/*===-- The graphs -------------------------------------------------------===*/

/* An operation with one or two inputs; `b` is EDGES when there is one. */
static tenon_op *operation(tenon_op_kind kind, const char *name, int a, int b,
                           int result) {
  static uint64_t next_id = 0;
  const tenon_logical_tensor *inputs[] = {&edges[a], &edges[b % EDGES]};
  return new_op(next_id++, kind, name, b == EDGES ? 1 : 2, inputs,
                &edges[result]);
}

/* Strides and pads of a window that stays inside the image. */
static tenon_op *window(tenon_op *op, int64_t stride) {
  const int64_t strides[] = {stride, stride}, none[] = {0, 0};
  TRY(tenon_op_set_s64s(op, "strides", strides, 2));
  TRY(tenon_op_set_s64s(op, "pads_begin", none, 2));
  TRY(tenon_op_set_s64s(op, "pads_end", none, 2));
  TRY(tenon_op_set_string(op, "data_format", "NXC"));
  return op;
}

static tenon_op *convolution(tenon_op *op) {
  const int64_t ones[] = {1, 1};
  TRY(tenon_op_set_s64s(op, "dilations", ones, 2));
  TRY(tenon_op_set_string(op, "weights_format", "XIO"));
  return window(op, STRIDE);
}

static tenon_op *pooling(tenon_op *op) {
  const int64_t kernel[] = {3, 3};
  TRY(tenon_op_set_s64s(op, "kernel", kernel, 2));
  return window(op, 2);
}

static tenon_op *normalization(tenon_op *op) {
  TRY(tenon_op_set_string(op, "algorithm", "across_channels"));
  TRY(tenon_op_set_s64(op, "size", 5));
  TRY(tenon_op_set_f32(op, "alpha", 1e-2f));
  TRY(tenon_op_set_f32(op, "beta", 0.75f));
  TRY(tenon_op_set_f32(op, "k", 1));
  TRY(tenon_op_set_string(op, "data_format", "NXC"));
  return op;
}

static tenon_graph *forward_graph(void) {
  const tenon_logical_tensor *in[] = {&edges[X], &edges[W], &edges[B]};
  tenon_graph *g;
  TRY(tenon_graph_create(&g));
  add_op(g, convolution(new_op(1000, tenon_op_convolution, "conv", 3, in,
                               &edges[CONV])));
  add_op(g, operation(tenon_op_relu, "relu", CONV, EDGES, RELU));
  add_op(g, normalization(operation(tenon_op_lrn, "norm", RELU, EDGES, NORM)));
  add_op(g, pooling(operation(tenon_op_max_pool, "pool", NORM, EDGES, Y)));
  return g;
}

static tenon_graph *training_graph(void) {
  const int64_t all[] = {0, 1, 2, 3};
  tenon_graph *g = forward_graph();
  tenon_op *op;
  add_op(g, operation(tenon_op_subtract, "error", Y, TARGET, ERROR));
  add_op(g, operation(tenon_op_multiply, "squares", ERROR, ERROR, SQUARES));
  op = operation(tenon_op_reduce_sum, "loss", SQUARES, EDGES, LOSS);
  TRY(tenon_op_set_s64s(op, "axes", all, 4));
  TRY(tenon_op_set_bool(op, "keep_dims", 0));
  add_op(g, op);

  add_op(g, operation(tenon_op_add, "diff_y", ERROR, ERROR, DIFF_Y));
  add_op(g, pooling(operation(tenon_op_max_pool_backward, "pool_backward", NORM,
                              DIFF_Y, DIFF_NORM)));
  add_op(g, normalization(operation(tenon_op_lrn_backward, "norm_backward",
                                    RELU, DIFF_NORM, DIFF_RELU)));
  op = operation(tenon_op_relu_backward, "relu_backward", RELU, DIFF_RELU,
                 DIFF_CONV);
  TRY(tenon_op_set_bool(op, "use_dst", 1));
  add_op(g, op);
  op = convolution(operation(tenon_op_convolution_backward_weights,
                             "conv_backward", X, DIFF_CONV, DIFF_W));
  TRY(tenon_op_set_s64s(op, "weights_shape", edges[W].dims, 4));
  add_op(g, op);
  op = operation(tenon_op_bias_add_backward, "bias_backward", DIFF_CONV, EDGES,
                 DIFF_B);
  TRY(tenon_op_set_string(op, "data_format", "NXC"));
  add_op(g, op);
  return g;
}

static tenon_graph *update_graph(int value, int gradient, int scaled,
                                 int result) {
  tenon_graph *g;
  TRY(tenon_graph_create(&g));
  add_op(g, operation(tenon_op_multiply, "scale", gradient, RATE, scaled));
  add_op(g, operation(tenon_op_subtract, "update", value, scaled, result));
  return g;
}

/*===-- Compiled graphs --------------------------------------------------===*/

static tenon_engine *engine;
static tenon_stream *stream;

/* A compiled partition and the ids of what it reads and writes. */
typedef struct {
  tenon_compiled_partition *compiled;
  size_t num_inputs, num_outputs;
  uint64_t inputs[8], outputs[8];
} program;

static program compile(tenon_graph *graph) {
  const tenon_logical_tensor *in, *out;
  program p;
  tenon_partition *partition = only_partition(graph);
  size_t i;
  TRY(tenon_partition_get_inputs(partition, &p.num_inputs, &in));
  TRY(tenon_partition_get_outputs(partition, &p.num_outputs, &out));
  EXPECT(p.num_inputs <= 8 && p.num_outputs <= 8);
  for (i = 0; i < p.num_inputs; ++i)
    p.inputs[i] = in[i].id;
  for (i = 0; i < p.num_outputs; ++i)
    p.outputs[i] = out[i].id;
  TRY(tenon_partition_compile(partition, engine, p.num_inputs, in,
                              p.num_outputs, out, &p.compiled));
  tenon_partition_destroy(partition);
  return p;
}

/* Whether a result may have the memory of an input. */
static int writes_in_place(const program *p, uint64_t input, uint64_t output) {
  const tenon_inplace_pair *pairs;
  size_t i, num_pairs;
  TRY(tenon_compiled_partition_get_inplace_pairs(p->compiled, &num_pairs,
                                                 &pairs));
  for (i = 0; i < num_pairs; ++i)
    if (pairs[i].input_id == input && pairs[i].output_id == output)
      return 1;
  return 0;
}

static void run(const program *p) {
  const tenon_tensor *in[8];
  tenon_tensor *out[8];
  size_t i;
  for (i = 0; i < p->num_inputs; ++i)
    in[i] = tensors[p->inputs[i]];
  for (i = 0; i < p->num_outputs; ++i)
    out[i] = tensors[p->outputs[i]];
  TRY(tenon_compiled_partition_execute(p->compiled, stream, p->num_inputs, in,
                                       p->num_outputs, out));
}

/*===-- Data -------------------------------------------------------------===*/

static float *data(int id) {
  void *address;
  TRY(tenon_tensor_get_data(tensors[id], &address));
  return address;
}

static size_t count(int id) {
  size_t bytes;
  TRY(tenon_logical_tensor_byte_size(&edges[id], &bytes));
  return bytes / sizeof(float);
}

static void make_tensors(float rate) {
  int id;
  for (id = X; id <= DIFF_B; ++id)
    tensors[id] = new_tensor(&edges[id], engine, TENON_MEMORY_ALLOCATE);
  TRY(tenon_tensor_create_scalar(&edges[RATE], &rate, &tensors[RATE]));
  /* The update writes where it reads: other handles, the same memory. */
  tensors[NEW_W] = new_tensor(&edges[NEW_W], engine, data(W));
  tensors[NEW_B] = new_tensor(&edges[NEW_B], engine, data(B));
}

/* Such that sums over a window are about as large as pixels. */
static void draw_weights(uint32_t seed) {
  size_t i;
  fill(data(W), count(W), seed);
  for (i = 0; i < count(W); ++i)
    data(W)[i] /= sqrtf(KERNEL * KERNEL * CHANNELS);
  fill(data(B), count(B), seed + 1);
  for (i = 0; i < count(B); ++i)
    data(B)[i] /= 10;
}

/*===-- Gradients --------------------------------------------------------===*/

/* The loss, summed in double: differences are smaller than digits of a float.
 */
static double exact_loss(const program *forward) {
  const float *y = data(Y), *target = data(TARGET);
  double sum = 0;
  size_t i, n = count(Y);
  run(forward);
  for (i = 0; i < n; ++i)
    sum += ((double)y[i] - target[i]) * ((double)y[i] - target[i]);
  return sum;
}

/* Compares every `step`th gradient with the difference of losses. Where ReLU
 * or pooling bends between the two, the difference is off: hence the per cent.
 */
static void check_gradients(const program *forward, int value, int gradient,
                            size_t step) {
  const float h = 2e-4f;
  float *v = data(value);
  const float *g = data(gradient);
  double squares = 0, worst = 0, scale;
  size_t i, n = count(value), checked = 0;
  for (i = 0; i < n; ++i)
    squares += (double)g[i] * g[i];
  scale = sqrt(squares / (double)n);
  EXPECT(scale > 0);
  for (i = step / 2; i < n; i += step, ++checked) {
    const float kept = v[i], up = kept + h, down = kept - h;
    double difference, error;
    v[i] = up;
    difference = exact_loss(forward);
    v[i] = down;
    difference -= exact_loss(forward);
    v[i] = kept;
    error = fabs(difference / ((double)up - down) - g[i]) /
            (scale + fabs((double)g[i]));
    worst = error > worst ? error : worst;
  }
  EXPECT(checked > 0);
  printf("%s: %d gradients checked, worst error %.2g\n",
         value == W ? "weights" : "bias", (int)checked, worst);
  EXPECT(worst < 0.01);
}

/*===-- Training ---------------------------------------------------------===*/

static void train(const program *training, const program *update_weights,
                  const program *update_bias) {
  float first = 0, before = 0;
  int step;
  for (step = 0; step <= STEPS; ++step) {
    float loss;
    run(training);
    loss = *data(LOSS);
    printf("step %2d: loss %.1f\n", step, loss);
    EXPECT(step == 0 || loss < before);
    first = step == 0 ? loss : first;
    before = loss;
    run(update_weights);
    run(update_bias);
  }
  EXPECT(before < first / 2);
}

int main(void) {
  tenon_exec_options options;
  program forward, training, update_weights, update_bias;
  int id;
  make_edges();
  TRY(tenon_engine_create(NULL, &engine));
  tenon_exec_options_init(&options);
  options.threading = TENON_THREADS_TEAM; /* one thread per CPU */
  TRY(tenon_stream_create(engine, &options, &stream));
  forward = compile(forward_graph());
  training = compile(training_graph());
  update_weights = compile(update_graph(W, DIFF_W, SCALED_W, NEW_W));
  update_bias = compile(update_graph(B, DIFF_B, SCALED_B, NEW_B));

  EXPECT(writes_in_place(&update_weights, W, NEW_W));
  EXPECT(writes_in_place(&update_bias, B, NEW_B));

  make_tensors(0.5f / (BATCH * POOLED * POOLED));
  fill(data(X), count(X), 1);
  draw_weights(2);
  run(&forward);
  for (size_t i = 0; i < count(Y); ++i)
    data(TARGET)[i] = data(Y)[i];
  draw_weights(4);

  run(&training);
  check_gradients(&forward, W, DIFF_W, count(W) / 10);
  check_gradients(&forward, B, DIFF_B, FILTERS / 3);
  train(&training, &update_weights, &update_bias);

  for (id = 0; id < EDGES; ++id)
    tenon_tensor_destroy(tensors[id]);
  tenon_compiled_partition_destroy(forward.compiled);
  tenon_compiled_partition_destroy(training.compiled);
  tenon_compiled_partition_destroy(update_weights.compiled);
  tenon_compiled_partition_destroy(update_bias.compiled);
  tenon_stream_destroy(stream);
  tenon_engine_destroy(engine);
  return 0;
}
