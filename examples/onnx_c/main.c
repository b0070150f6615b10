/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of two pictures by digits.onnx, which `tenon compile` made a library
 * of: docs/onnx-to-c.md. An argument names the file of the weights, where they
 * are no part of it. */
#include "digits.h"

#include <math.h>
#include <stdio.h>

enum { PICTURES = 2, SIDE = 8, DIGITS = 10 };

/* What ONNX Runtime 1.32 gives for the same pictures. */
static const float expected[PICTURES][DIGITS] = {
    {0.19912149f, 0.0387268f, 0.01768562f, 0.2757951f, 0.02261193f, 0.04874187f,
     0.37020093f, 0.02021079f, 0.00583138f, 0.00107408f},
    {0.252925f, 0.0401568f, 0.01531653f, 0.29399782f, 0.02439693f, 0.03894815f,
     0.30022335f, 0.02723658f, 0.00604952f, 0.00074929f}};

static int failed(const char *what, tenon_rt_status status) {
  fprintf(stderr, "%s: %s\n", what, tenon_rt_status_string(status));
  return 1;
}

int main(int argc, char **argv) {
  /* A slope, and a diagonal. */
  static float image[PICTURES][1][SIDE][SIDE], scores[PICTURES][DIGITS];
  for (int row = 0; row < SIDE; ++row)
    for (int column = 0; column < SIDE; ++column) {
      image[0][0][row][column] = (float)(row + column) / 14;
      image[1][0][row][column] = row == column;
    }

  tenon_model_options options;
  tenon_model_options_init(&options);
  options.weights_file = argc > 1 ? argv[1] : NULL;
  digits_model *model = NULL;
  tenon_rt_status status = digits_create(&options, NULL, &model);
  if (status != TENON_RT_OK)
    return failed("digits_create", status);

  /* The model leaves the number of pictures open, so sizes are arguments. */
  const int64_t imageDims[4] = {PICTURES, 1, SIDE, SIDE};
  const int64_t scoresDims[2] = {PICTURES, DIGITS};
  status = digits_run(model, NULL, &image[0][0][0][0], imageDims, &scores[0][0],
                      scoresDims, NULL);
  digits_destroy(model);
  if (status != TENON_RT_OK)
    return failed("digits_run", status);

  for (int i = 0; i < PICTURES; ++i) {
    int best = 0;
    for (int digit = 0; digit < DIGITS; ++digit) {
      if (fabsf(scores[i][digit] - expected[i][digit]) > 1e-5f) {
        fprintf(stderr, "picture %d, digit %d: %g, not %g\n", i, digit,
                scores[i][digit], expected[i][digit]);
        return 1;
      }
      best = scores[i][digit] > scores[i][best] ? digit : best;
    }
    printf("picture %d: digit %d, score %.4f\n", i, best, scores[i][best]);
  }
  return 0;
}
