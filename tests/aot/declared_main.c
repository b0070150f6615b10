/* declared_main X OUT: the MLP with 1 to 64 rows, of which some numbers have
 * code of their own, and constants that it provides. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "any.h"
#include "program.h"

#include <math.h>
#include <string.h>

enum { MOST = 64, IN = 13, OUT = 128 };

static float ones[512 * 256];

/* The rows of all codes are the same, and other sizes are refused. */
int main(int argc, char **argv) {
  static float y[(MOST + 1) * OUT], all[MOST * OUT];
  if (argc != 3)
    return 1;
  float *x = readFloats(argv[1], MOST * IN);
  tenon_model_options options = optionsFromEnvironment();
  any_model *model = NULL;
  for (int i = 0; i < 512 * 256; ++i)
    ones[i] = 1;
  check(any_create(&options, NULL, ones, ones, ones, ones, ones, ones, &model),
        "create");
  for (int64_t rows = MOST + 1; rows >= 0; --rows) {
    const int64_t in[2] = {rows, IN}, out[2] = {rows, OUT};
    int64_t bytes = any_scratch_bytes(model, in, out);
    memset(y, 255, sizeof y);
    tenon_rt_status status = any_run(model, NULL, x, in, y, out, NULL);
    if (rows == 0 || rows > MOST) {
      if (bytes != -1 || status != TENON_RT_INVALID_ARGUMENT)
        return 2;
      continue;
    }
    check(status, "run");
    if (bytes < 0)
      return 3;
    if (rows == MOST)
      memcpy(all, y, sizeof all);
    for (int64_t i = 0; i < rows * OUT; ++i)
      if (!(fabsf(y[i] - all[i]) <= 1e-4f * (1 + fabsf(all[i]))))
        return 4;
    /* NaN: nothing behind the rows was written. */
    if (y[rows * OUT] == y[rows * OUT])
      return 5;
  }
  writeFloats(argv[2], all, MOST * OUT);
  any_destroy(model);
  free(x);
  return 0;
}
