/*===-- lstm_backward_c.c - every optional operand, given or NULL -*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0                                      *|
|*                                                                          *|
|* An LSTM and its gradients through the C interface alone, as another      *|
|* language would call it.  What an operation may do without is given as    *|
|* NULL in its place.  There are six such choices, which make 64            *|
|* combinations:                                                            *|
|*                                                                          *|
|*   bias; initial state; initial cell state; peephole; projection; whether *|
|*   the loss reads the final states                                        *|
|*                                                                          *|
|* The loss is a sum of all results with fixed factors, which thus are the  *|
|* gradients that the backward operation starts from.  Each gradient that   *|
|* it gives is compared with the difference of two losses.                  *|
|*                                                                          *|
\*===----------------------------------------------------------------------===*/
#include "examples/check.h"

enum { T = 3, N = 2, INPUTS = 4, HIDDEN = 5, PROJECTED = 3, SAVED = 5 };

/* Edges: what the loss depends on, its gradients in the same order, ... */
enum {
  SRC,
  WEIGHTS,
  WEIGHTS_ITER,
  BIAS,
  SRC_ITER,
  SRC_ITER_C,
  PEEPHOLE,
  PROJECTION,
  VALUES,
  DIFF = VALUES, /* DIFF + SRC, ... */
  /* ... results of the forward operation, and their gradients. */
  DST = 2 * VALUES,
  DST_ITER,
  DST_ITER_C,
  DIFF_DST,
  DIFF_DST_ITER,
  DIFF_DST_ITER_C,
  WORKSPACE,
  EDGES
};

static const char *const names[VALUES] = {
    "src_layer", "weights_layer", "weights_iter",     "bias",
    "src_iter",  "src_iter_c",    "weights_peephole", "weights_projection"};

/* The choices, a bit each, and the edges that they are about. */
enum { CHOICES = 6, FINAL_STATES = 5 };
static const int chosen[CHOICES - 1] = {BIAS, SRC_ITER, SRC_ITER_C, PEEPHOLE,
                                        PROJECTION};

static tenon_engine *engine;
static tenon_stream *stream;

static tenon_logical_tensor edges[EDGES];
static tenon_tensor *tensors[EDGES]; /* NULL: left out */
static float *data[EDGES];
static size_t counts[EDGES];

static void give(int id, int32_t rank, const int64_t *dims) {
  size_t bytes;
  edges[id] = edge((uint64_t)id, rank, dims);
  TRY(tenon_logical_tensor_byte_size(&edges[id], &bytes));
  counts[id] = bytes / sizeof(float);
  data[id] = malloc(bytes);
  EXPECT(data[id] != NULL);
  tensors[id] = new_tensor(&edges[id], engine, data[id]);
}

/* A value of the loss, and its gradient. */
static void give_value(int id, int32_t rank, const int64_t *dims) {
  size_t i;
  give(id, rank, dims);
  give(DIFF + id, rank, dims);
  fill(data[id], counts[id], (uint32_t)id + 1);
  for (i = 0; i < counts[id]; ++i)
    data[id][i] *= 0.7f;
}

/* A result, and factors of the loss. */
static void give_result(int id, int32_t rank, const int64_t *dims) {
  const int diff = id - DST + DIFF_DST;
  give(id, rank, dims);
  give(diff, rank, dims);
  fill(data[diff], counts[diff], (uint32_t)diff + 1);
}

static void make_tensors(unsigned choices) {
  const int64_t outputs = choices >> 4 & 1 ? PROJECTED : HIDDEN;
  const int64_t src[] = {T, N, INPUTS}, dst[] = {T, N, outputs},
                weights[] = {1, 1, INPUTS, 4, HIDDEN},
                weights_iter[] = {1, 1, outputs, 4, HIDDEN},
                bias[] = {1, 1, 4, HIDDEN}, iter[] = {1, 1, N, outputs},
                iter_c[] = {1, 1, N, HIDDEN}, peephole[] = {1, 1, 3, HIDDEN},
                projection[] = {1, 1, HIDDEN, PROJECTED},
                workspace[] = {1, 1, T, N, SAVED * HIDDEN + outputs};
  const int64_t *const dims[] = {bias, iter, iter_c, peephole, projection};
  int i;
  give_value(SRC, 3, src);
  give_value(WEIGHTS, 5, weights);
  give_value(WEIGHTS_ITER, 5, weights_iter);
  for (i = 0; i < CHOICES - 1; ++i)
    if (choices >> i & 1)
      give_value(chosen[i], 4, dims[i]);
  give_result(DST, 3, dst);
  if (choices >> FINAL_STATES & 1) {
    give_result(DST_ITER, 4, iter);
    give_result(DST_ITER_C, 4, iter_c);
  }
  give(WORKSPACE, 5, workspace);
}

static void drop_tensors(void) {
  int id;
  for (id = 0; id < EDGES; ++id) {
    tenon_tensor_destroy(tensors[id]);
    free(data[id]);
    tensors[id] = NULL;
    data[id] = NULL;
    counts[id] = 0;
  }
}

/*===-- An operation -----------------------------------------------------===*/

enum { MOST = 12, NOTHING = -1 };

/* An operation, compiled, and the tensors that it has. */
typedef struct {
  tenon_compiled_partition *compiled;
  size_t num_inputs, num_outputs;
  const tenon_tensor *inputs[MOST];
  tenon_tensor *outputs[MOST];
} call;

static const tenon_logical_tensor *or_null(int id) {
  return id != NOTHING && tensors[id] ? &edges[id] : NULL;
}

/* With operands and results in the order of the table of operations. */
static call compile(tenon_op_kind kind, const char *name, int num_inputs,
                    const int *inputs, int num_outputs, const int *outputs) {
  tenon_logical_tensor in[MOST], out[MOST];
  tenon_op *op;
  tenon_partition *partition;
  call made = {0};
  int i;
  TRY(tenon_op_create(0, kind, name, &op));
  for (i = 0; i < num_inputs; ++i) {
    const tenon_logical_tensor *given = or_null(inputs[i]);
    TRY(tenon_op_add_input(op, given));
    if (given) {
      in[made.num_inputs] = *given;
      made.inputs[made.num_inputs++] = tensors[inputs[i]];
    }
  }
  for (i = 0; i < num_outputs; ++i) {
    const tenon_logical_tensor *given = or_null(outputs[i]);
    TRY(tenon_op_add_output(op, given));
    if (given) {
      out[made.num_outputs] = *given;
      made.outputs[made.num_outputs++] = tensors[outputs[i]];
    }
  }
  TRY(tenon_partition_create(op, &partition));
  EXPECT(tenon_partition_is_supported(partition));
  TRY(tenon_partition_compile(partition, engine, made.num_inputs, in,
                              made.num_outputs, out, &made.compiled));
  tenon_partition_destroy(partition);
  tenon_op_destroy(op);
  return made;
}

static void run(const call *c) {
  TRY(tenon_compiled_partition_execute(c->compiled, stream, c->num_inputs,
                                       c->inputs, c->num_outputs, c->outputs));
}

static call compile_forward(void) {
  static const int inputs[] = {SRC,      WEIGHTS,    WEIGHTS_ITER, BIAS,
                               SRC_ITER, SRC_ITER_C, PEEPHOLE,     PROJECTION},
                   outputs[] = {DST, DST_ITER, DST_ITER_C, WORKSPACE};
  return compile(tenon_op_lstm, "lstm", 8, inputs, 4, outputs);
}

static call compile_backward(void) {
  static const int inputs[] = {SRC,           WEIGHTS,        WEIGHTS_ITER,
                               WORKSPACE,     DIFF_DST,       SRC_ITER,
                               SRC_ITER_C,    PEEPHOLE,       PROJECTION,
                               NOTHING, /* sequence_lengths */
                               DIFF_DST_ITER, DIFF_DST_ITER_C},
                   outputs[] = {DIFF + SRC,          DIFF + WEIGHTS,
                                DIFF + WEIGHTS_ITER, DIFF + BIAS,
                                DIFF + SRC_ITER,     DIFF + SRC_ITER_C,
                                DIFF + PEEPHOLE,     DIFF + PROJECTION};
  return compile(tenon_op_lstm_backward, "lstm_backward", 12, inputs, 8,
                 outputs);
}

/*===-- The check --------------------------------------------------------===*/

static double loss(const call *forward) {
  double sum = 0;
  int id;
  size_t i;
  run(forward);
  for (id = DST; id <= DST_ITER_C; ++id)
    for (i = 0; i < counts[id]; ++i)
      sum += (double)data[id][i] * data[id - DST + DIFF_DST][i];
  return sum;
}

/* The largest error of the gradient of `id`, relative to 1 or more. */
static double error_of(const call *forward, int id) {
  const float h = 1e-2f;
  double worst = 0;
  size_t i;
  for (i = 0; i < counts[id]; ++i) {
    float *value = &data[id][i];
    const float kept = *value, up = kept + h, down = kept - h;
    double slope, error;
    *value = up;
    slope = loss(forward);
    *value = down;
    slope = (slope - loss(forward)) / ((double)up - down);
    *value = kept;
    error = fabs(slope - data[DIFF + id][i]) / (1 + fabs(slope));
    worst = error > worst ? error : worst;
  }
  return worst;
}

int main(void) {
  double worst[VALUES] = {0};
  unsigned choices;
  int id, checked = 0;
  TRY(tenon_engine_create(NULL, &engine));
  TRY(tenon_stream_create(engine, NULL, &stream));
  for (choices = 0; choices < 1u << CHOICES; ++choices) {
    call forward, backward;
    make_tensors(choices);
    forward = compile_forward();
    backward = compile_backward();
    run(&forward);
    run(&backward);
    for (id = 0; id < VALUES; ++id) {
      const double error = error_of(&forward, id);
      if (!tensors[id])
        continue;
      if (error >= 1e-3)
        fprintf(stderr, "combination %u, %s: error %g\n", choices, names[id],
                error);
      EXPECT(error < 1e-3);
      worst[id] = error > worst[id] ? error : worst[id];
      ++checked;
    }
    tenon_compiled_partition_destroy(forward.compiled);
    tenon_compiled_partition_destroy(backward.compiled);
    drop_tensors();
  }
  for (id = 0; id < VALUES; ++id)
    printf("%-18s worst error %.2g\n", names[id], worst[id]);
  printf("%u combinations, %d gradients checked\n", 1u << CHOICES, checked);
  tenon_stream_destroy(stream);
  tenon_engine_destroy(engine);
  return 0;
}
