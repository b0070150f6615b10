/* What the C programs of these tests share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_AOT_PROGRAM_H
#define TESTS_AOT_PROGRAM_H

#include "tenon_model.h"

#include <stdio.h>
#include <stdlib.h>

/* The floats of FILE, exactly `count` of them. */
static float *readFloats(const char *path, size_t count) {
  float *values = malloc(count * sizeof *values + 1);
  FILE *file = fopen(path, "rb");
  if (!values || !file || fread(values, sizeof *values, count, file) != count ||
      fgetc(file) != EOF) {
    fprintf(stderr, "%s: not %zu floats\n", path, count);
    exit(1);
  }
  fclose(file);
  return values;
}

static void writeFloats(const char *path, const float *values, size_t count) {
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(values, sizeof *values, count, file) != count ||
      fclose(file) != 0) {
    fprintf(stderr, "%s: cannot write\n", path);
    exit(1);
  }
}

static void check(tenon_rt_status status, const char *what) {
  if (status == TENON_RT_OK)
    return;
  fprintf(stderr, "%s: %s\n", what, tenon_rt_status_string(status));
  /* Tells the test which one it was. */
  exit(10 + status);
}

/* Options from the environment: FEATURES to do without, WEIGHTS. */
static tenon_model_options optionsFromEnvironment(void) {
  tenon_model_options options;
  tenon_model_options_init(&options);
  options.without_features = getenv("FEATURES");
  options.weights_file = getenv("WEIGHTS");
  return options;
}

#endif
