/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a compiled model, which `tenon compile --name=m` wrote, on raw files:
 *
 *   program [--weights=FILE] IN.bin DIMS... -- OUT.bin DIMS...
 *
 * for each input that is no constant and for each output, in the order of the
 * model; DIMS are numbers with x between them, "-" for rank 0. */
#include "m.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TENSORS = 4096, MOST_DIMS = 16 };

static void *tensors[MOST_TENSORS];
static const int64_t *dims[MOST_TENSORS];

static void die(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

/* Sizes of elements, by tenon_dtype; 0: types without whole bytes. */
static size_t bytesOf(int32_t dtype) {
  static const size_t bytes[] = {0, 2, 2, 4, 4, 1, 1, 1, 1, 1, 0, 0, 8, 8, 1};
  return bytes[dtype];
}

/* Allocates a tensor with the sizes in `text`; its bytes. */
static size_t allocate(int64_t i, const char *text) {
  const tenon_tensor_info *about = &m_info.tensors[i];
  int64_t *sizes = calloc(MOST_DIMS, sizeof *sizes);
  size_t bytes = bytesOf(about->dtype);
  for (int32_t k = 0; k < about->rank; ++k) {
    char *end;
    sizes[k] = strtoll(text, &end, 10);
    if (end == text || (*end != 'x') != (k + 1 == about->rank))
      die(about->name, "another rank");
    bytes *= (size_t)sizes[k];
    text = end + 1;
  }
  dims[i] = sizes;
  tensors[i] = aligned_alloc(64, (bytes + 127) / 64 * 64);
  return bytes;
}

int main(int argc, char **argv) {
  tenon_model_options options;
  tenon_model_options_init(&options);
  int next = 1;
  if (next < argc && strncmp(argv[next], "--weights=", 10) == 0)
    options.weights_file = argv[next++] + 10;
  int64_t inputs = m_info.num_inputs, all = inputs + m_info.num_outputs;
  if (all > MOST_TENSORS)
    die("model", "too many tensors");
  int firstOutput = next;
  while (firstOutput < argc && strcmp(argv[firstOutput], "--") != 0)
    ++firstOutput;
  for (int64_t i = 0; i < inputs; ++i) {
    if (m_info.tensors[i].constant)
      continue;
    if (next + 1 >= firstOutput)
      die(m_info.tensors[i].name, "is an input that is not given");
    size_t bytes = allocate(i, argv[next + 1]);
    FILE *file = fopen(argv[next], "rb");
    if (!file || fread(tensors[i], 1, bytes, file) != bytes)
      die(argv[next], "cannot be read");
    fclose(file);
    next += 2;
  }
  if (next != firstOutput)
    die(argv[next], "is one input too many");
  next = firstOutput + 1;
  if (argc - next != 2 * m_info.num_outputs)
    die("model", "has another number of outputs");
  size_t bytes[MOST_TENSORS];
  for (int64_t i = inputs; i < all; ++i)
    bytes[i] = allocate(i, argv[next + 1 + 2 * (i - inputs)]);

  m_model *model = NULL;
  tenon_rt_status status = m_create(&options, NULL, &model);
  if (status == TENON_RT_OK)
    status = tenon_aot_run(model, NULL, tensors, dims, NULL);
  if (status != TENON_RT_OK)
    die("run", tenon_rt_status_string(status));
  for (int64_t i = inputs; i < all; ++i) {
    const char *name = argv[next + 2 * (i - inputs)];
    FILE *file = fopen(name, "wb");
    if (!file || fwrite(tensors[i], 1, bytes[i], file) != bytes[i] ||
        fclose(file) != 0)
      die(name, "cannot be written");
  }
  m_destroy(model);
  return 0;
}
