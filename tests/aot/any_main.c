/* any_main X OUT: the MLP with any batch, and constants that it provides. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "any.h"
#include "program.h"

enum { ROWS = 64, IN = 13, OUT = 128 };

static float *ones(size_t count) {
  float *values = malloc(count * sizeof *values);
  for (size_t i = 0; i < count; ++i)
    values[i] = 1;
  return values;
}

int main(int argc, char **argv) {
  static float y[ROWS * OUT];
  if (argc != 3)
    return 1;
  float *x = readFloats(argv[1], ROWS * IN);
  float *w1 = ones(13 * 512), *w2 = ones(512 * 256), *w3 = ones(256 * 128);
  float *bias = ones(512);
  tenon_model_options options = optionsFromEnvironment();
  any_model *model = NULL;
  if (any_create(&options, NULL, w1, NULL, w2, bias, w3, bias, &model) !=
          TENON_RT_INVALID_ARGUMENT ||
      model)
    return 1;
  check(any_create(&options, NULL, w1, bias, w2, bias, w3, bias, &model),
        "create");
  /* In two parts of different size. */
  const int64_t parts[] = {5, ROWS - 5};
  int64_t done = 0;
  for (int i = 0; i < 2; ++i) {
    const int64_t in[2] = {parts[i], IN}, out[2] = {parts[i], OUT};
    int64_t bytes = any_scratch_bytes(model, in, out);
    if (bytes < 0)
      return 1;
    void *scratch = aligned_alloc(64, (size_t)bytes + 64);
    check(any_run(model, NULL, x + done * IN, in, y + done * OUT, out, scratch),
          "run");
    free(scratch);
    done += parts[i];
  }
  /* Sizes that are not the model's, and none. */
  const int64_t wide[2] = {1, IN + 1}, out[2] = {1, OUT};
  if (any_scratch_bytes(model, wide, out) != -1 ||
      any_run(model, NULL, x, wide, y, out, NULL) !=
          TENON_RT_INVALID_ARGUMENT ||
      any_run(model, NULL, x, NULL, y, out, NULL) != TENON_RT_INVALID_ARGUMENT)
    return 1;
  writeFloats(argv[2], y, ROWS * OUT);
  any_destroy(model);
  free(x);
  free(w1);
  free(w2);
  free(w3);
  free(bias);
  return 0;
}
