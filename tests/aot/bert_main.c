/* bert_main X MASK OUT: one BERT layer, and the times until its result. */
/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 199309L
#include "bert.h"
#include "program.h"

#include <time.h>

enum { ROWS = 128, WIDTH = 768 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
  static float y[ROWS * WIDTH];
  if (argc != 4)
    return 1;
  float *x = readFloats(argv[1], ROWS * WIDTH);
  float *mask = readFloats(argv[2], ROWS);
  tenon_model_options options = optionsFromEnvironment();
  bert_model *model = NULL;
  double start = now();
  check(bert_create(&options, NULL, &model), "create");
  double created = now();
  check(bert_run(model, NULL, x, mask, y, NULL), "run");
  double first = now();
  check(bert_run(model, NULL, x, mask, y, NULL), "run");
  double second = now();
  printf("create %.2f ms, first result %.2f ms, next %.2f ms\n",
         created - start, first - created, second - first);
  writeFloats(argv[3], y, ROWS * WIDTH);
  bert_destroy(model);
  free(x);
  free(mask);
  return 0;
}
