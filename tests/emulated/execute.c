/* execute MODEL.so write OUT [FEATURES]: executes once, writes the outputs.
 * SPDX-License-Identifier: Apache-2.0
 * execute MODEL.so compare OUT [FEATURES]: compares them with that file.
 *
 * Inputs, constants included, depend on nothing but the position, so that two
 * machines see the same. FEATURES are those of the CPU to do without. Prints
 * the target whose code was executed and, for each output, the largest
 * difference: of floating-point numbers by the largest number of the output.
 * Exit code 1 where one is above what the order of additions explains.
 */
#include "tenon_aot.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t count(const tenon_tensor_info *tensor) {
  int64_t size = 1;
  for (int32_t i = 0; i < tensor->rank; ++i)
    size *= tensor->dims[i];
  return size;
}

/* Elements that a tensor's buffer holds, gaps of its strides included. */
static int64_t extent(const tenon_tensor_info *tensor) {
  int64_t last = 0;
  if (count(tensor) == 0)
    return 0;
  if (!tensor->strides)
    return count(tensor);
  for (int32_t i = 0; i < tensor->rank; ++i)
    last += (tensor->dims[i] - 1) * tensor->strides[i];
  return last + 1;
}

static int64_t bytesOf(const tenon_tensor_info *tensor) {
  int64_t size = extent(tensor);
  switch (tensor->dtype) {
  case TENON_F32:
  case TENON_S32:
    return size * 4;
  case TENON_F16:
  case TENON_BF16:
    return size * 2;
  case TENON_S64:
  case TENON_F64:
    return size * 8;
  case TENON_S4:
  case TENON_U4:
    return (size + 1) / 2;
  default:
    return size;
  }
}

static uint32_t next(uint64_t *state) {
  *state = *state * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(*state >> 33);
}

/* f16 of k / 64, for k from -128 to 127: exact. */
static uint16_t halfOf(int k) {
  uint32_t bits;
  float value = (float)k / 64;
  memcpy(&bits, &value, sizeof bits);
  if (k == 0)
    return 0;
  return (uint16_t)((bits >> 16 & 0x8000) |
                    ((bits >> 23 & 255) - 127 + 15) << 10 |
                    (bits >> 13 & 1023));
}

static void fill(const tenon_tensor_info *tensor, void *data, uint64_t seed) {
  uint64_t state = seed * 77 + 1;
  int64_t bytes = bytesOf(tensor), size = extent(tensor);
  for (int64_t i = 0; i < size; ++i) {
    int k = (int)(next(&state) >> 8 & 255) - 128;
    float value = (float)k / 64;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    switch (tensor->dtype) {
    case TENON_F32:
      ((float *)data)[i] = value;
      break;
    case TENON_S32:
      ((int32_t *)data)[i] = k & 3;
      break;
    case TENON_S64:
      ((int64_t *)data)[i] = k & 3;
      break;
    case TENON_F16:
      ((uint16_t *)data)[i] = halfOf(k);
      break;
    case TENON_BF16:
      ((uint16_t *)data)[i] = (uint16_t)(bits >> 16);
      break;
    case TENON_BOOLEAN:
      ((uint8_t *)data)[i] = k & 1;
      break;
    default:
      if (i < bytes)
        ((uint8_t *)data)[i] = (uint8_t)k;
    }
  }
}

static float floatOf(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static double element(const tenon_tensor_info *tensor, const void *data,
                      int64_t i) {
  uint16_t half = 0;
  switch (tensor->dtype) {
  case TENON_F32:
    return ((const float *)data)[i];
  case TENON_S32:
    return ((const int32_t *)data)[i];
  case TENON_S64:
    return (double)((const int64_t *)data)[i];
  case TENON_BF16:
    return floatOf((uint32_t)((const uint16_t *)data)[i] << 16);
  case TENON_F16:
    half = ((const uint16_t *)data)[i];
    if ((half >> 10 & 31) == 31)
      return half & 1023 ? (double)NAN : half >> 15 ? -HUGE_VAL : HUGE_VAL;
    if ((half >> 10 & 31) == 0)
      return ldexp(half & 1023, -24) * (half >> 15 ? -1 : 1);
    return ldexp(1024 + (half & 1023), (half >> 10 & 31) - 25) *
           (half >> 15 ? -1 : 1);
  case TENON_S8:
    return ((const int8_t *)data)[i];
  default:
    return ((const uint8_t *)data)[i];
  }
}

/* Bytes and integers may differ by a step where they are rounded. */
static double limitOf(int32_t dtype) {
  switch (dtype) {
  case TENON_F32:
    return 2e-5;
  case TENON_F16:
    return 2e-3;
  case TENON_BF16:
    return 1.6e-2;
  default:
    return 1;
  }
}

/* Prints the largest difference; whether it is within the limit. */
static int within(const tenon_tensor_info *tensor, const void *got,
                  const void *want) {
  int floating = limitOf(tensor->dtype) != 1;
  double largest = 0, worst = 0;
  int64_t where = -1, size = extent(tensor);
  if (tensor->dtype == TENON_S4 || tensor->dtype == TENON_U4)
    size = (size + 1) / 2;
  for (int64_t i = 0; i < size; ++i)
    if (isfinite(element(tensor, want, i)))
      largest = fmax(largest, fabs(element(tensor, want, i)));
  for (int64_t i = 0; i < size; ++i) {
    double a = element(tensor, got, i), b = element(tensor, want, i);
    if (a == b || (isnan(a) && isnan(b)))
      continue;
    double difference = fabs(a - b) / (floating && largest > 0 ? largest : 1);
    if (!(difference <= worst)) {
      worst = isnan(difference) ? HUGE_VAL : difference;
      where = i;
    }
  }
  printf(" %s %.2g", tensor->name, worst);
  if (worst <= limitOf(tensor->dtype))
    return 1;
  printf(" at %lld: %g, expected %g", (long long)where,
         element(tensor, got, where), element(tensor, want, where));
  return 0;
}

static int fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  return 2;
}

int main(int argc, char **argv) {
  if (argc < 4)
    return fail(argv[0], "MODEL.so write|compare OUT [FEATURES]");
  int compares = strcmp(argv[2], "compare") == 0;
  void *library = dlopen(argv[1], RTLD_NOW);
  if (!library)
    return fail(argv[1], dlerror());
  const tenon_model_info *info = dlsym(library, "m_info");
  if (!info)
    return fail(argv[1], dlerror());
  int64_t all = info->num_inputs + info->num_outputs;
  void **tensors = calloc((size_t)all, sizeof *tensors);
  for (int64_t i = 0; i < all; ++i) {
    size_t bytes = (size_t)bytesOf(&info->tensors[i]);
    tensors[i] = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!tensors[i])
      return fail(argv[1], "out of memory");
    memset(tensors[i], 0, bytes);
    if (i < info->num_inputs)
      fill(&info->tensors[i], tensors[i], (uint64_t)i);
  }
  tenon_model_options options;
  tenon_model_options_init(&options);
  options.without_features = argc > 4 ? argv[4] : NULL;
  tenon_aot *aot = NULL;
  tenon_rt_status status = tenon_aot_create(info, &options, NULL,
                                            (const void *const *)tensors, &aot);
  if (status == TENON_RT_OK)
    status = tenon_aot_run(aot, NULL, tensors, NULL, NULL);
  if (status != TENON_RT_OK)
    return fail(argv[1], tenon_rt_status_string(status));
  printf("%s", tenon_model_get_code(tenon_aot_get_model(aot))->target);
  FILE *file = fopen(argv[3], compares ? "rb" : "wb");
  if (!file)
    return fail(argv[3], "cannot open");
  int same = 1;
  for (int64_t i = info->num_inputs; i < all; ++i) {
    size_t bytes = (size_t)bytesOf(&info->tensors[i]);
    void *want = malloc(bytes + 1);
    if (!want)
      return fail(argv[3], "out of memory");
    if (!compares && fwrite(tensors[i], 1, bytes, file) != bytes)
      return fail(argv[3], "cannot write");
    if (compares && fread(want, 1, bytes, file) != bytes)
      return fail(argv[3], "is too short");
    if (compares)
      same &= within(&info->tensors[i], tensors[i], want);
    free(want);
  }
  printf("\n");
  if (fclose(file) != 0)
    return fail(argv[3], "cannot write");
  return same ? 0 : 1;
}
