/* mlp_main X OUT: runs the MLP alone, with a team, and in a pool. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "mlp.h"
#include "program.h"

#include <string.h>

enum { ROWS = 64, IN = 13, OUT = 128 };

/* The smallest pool there is: one item after the other. */
static void inOrder(void *pool, int64_t n, void (*body)(void *, int64_t),
                    void *arg) {
  ++*(int *)pool;
  for (int64_t i = 0; i < n; ++i)
    body(arg, i);
}

static void compare(const float *a, const float *b, const char *what) {
  if (memcmp(a, b, ROWS * OUT * sizeof *a) != 0) {
    fprintf(stderr, "%s: another result\n", what);
    exit(1);
  }
}

static void runWith(const mlp_model *model, const tenon_exec_options *options,
                    const float *x, const float *expected, const char *what) {
  static float y[ROWS * OUT];
  tenon_exec *exec = NULL;
  memset(y, 0, sizeof y);
  check(tenon_exec_create(options, &exec), what);
  check(mlp_run(model, exec, x, y, NULL), what);
  compare(y, expected, what);
  tenon_exec_destroy(exec);
}

int main(int argc, char **argv) {
  static float y[ROWS * OUT], again[ROWS * OUT];
  if (argc != 3)
    return 1;
  float *x = readFloats(argv[1], ROWS * IN);
  const tenon_model_info *info = mlp_get_info();
  if (info != &mlp_info || info->num_inputs != 7 || info->num_outputs != 1 ||
      info->tensors[7].dims[1] != OUT)
    return 1;
  tenon_model_options options = optionsFromEnvironment();
  mlp_model *model = NULL;
  check(mlp_create(&options, NULL, &model), "create");
  printf("%s\n", tenon_model_get_code(tenon_aot_get_model(model))->target);
  check(mlp_run(model, NULL, x, y, NULL), "run");

  int64_t bytes = mlp_scratch_bytes(model);
  char *memory = aligned_alloc(64, (size_t)bytes + 64);
  check(mlp_run(model, NULL, x, again, memory), "run with scratch");
  compare(again, y, "run with scratch");
  free(memory);

  int calls = 0;
  tenon_exec_options exec;
  tenon_exec_options_init(&exec);
  exec.threading = TENON_THREADS_TEAM;
  exec.threads = 2;
  runWith(model, &exec, x, y, "run with a team");
  tenon_exec_options_init(&exec);
  exec.threading = TENON_THREADS_POOL;
  exec.parallel_for = inOrder;
  exec.pool = &calls;
  exec.concurrency = 3;
  runWith(model, &exec, x, y, "run in a pool");
  if (calls == 0)
    return 1;
  /* Misuse has a status. */
  if (mlp_run(model, NULL, NULL, y, NULL) != TENON_RT_INVALID_ARGUMENT ||
      mlp_create(&options, NULL, NULL) != TENON_RT_INVALID_ARGUMENT)
    return 1;
  writeFloats(argv[2], y, ROWS * OUT);
  mlp_destroy(model);
  free(x);
  return 0;
}
