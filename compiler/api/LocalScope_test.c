/* The library as foreign languages load it: opened by name with symbols of its
 * SPDX-License-Identifier: Apache-2.0
 * own (RTLD_LOCAL), in a program that is linked with nothing but libc.  Code
 * for CPUs without an instruction calls functions instead, which the library
 * has to find itself.  And: whatever is asked for, nothing is printed, and the
 * process goes on.
 *
 *   LocalScope_test LIBTENON.SO.0 */
#include "tenon.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *library;
static FILE *real_stderr;

#define EXPECT(condition)                                                      \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(real_stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__,          \
              #condition);                                                     \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

static void *find(const char *name) {
  void *address = dlsym(library, name);
  EXPECT(address != NULL);
  return address;
}

/** A function of the library. */
#define F(name) ((__typeof__(&(name)))find(#name))

static const char *last_text(void) { return F(tenon_last_error)()->text; }

#define TRY(call)                                                              \
  do {                                                                         \
    if ((call) != TENON_SUCCESS) {                                             \
      fprintf(real_stderr, "%s:%d: %s\n", __FILE__, __LINE__, last_text());    \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

/** The only partition of the graph: `kind` of tensors of 16 elements. */
static tenon_partition *partition_of(const char *kind, const char *dtype,
                                     const char *to, int inputs) {
  char text[4096], operands[1024] = "";
  tenon_graph *graph;
  tenon_partition *partition;
  size_t count = 1;
  int i;
  for (i = 0; i < inputs; ++i)
    sprintf(operands + strlen(operands),
            "%s{\"id\": %d, \"dtype\": \"%s\", \"shape\": [4, 4], \"stride\": "
            "[4, 1], \"layout_type\": \"strided\"}",
            i ? ", " : "", i, dtype);
  sprintf(text,
          "{\"graph\": [{\"id\": 0, \"name\": \"op\", \"kind\": \"%s\", "
          "\"attrs\": {}, \"inputs\": [%s], \"outputs\": [{\"id\": 9, "
          "\"dtype\": \"%s\", \"shape\": [4, 4], \"stride\": [4, 1], "
          "\"layout_type\": \"strided\"}]}]}",
          kind, operands, to);
  TRY(F(tenon_graph_from_json)(text, strlen(text), "test", &graph));
  TRY(F(tenon_graph_get_partitions)(graph, TENON_POLICY_FUSION, &count,
                                    &partition));
  EXPECT(count == 1);
  F(tenon_graph_destroy)(graph);
  return partition;
}

static tenon_status compile_for(const char *cpu, const tenon_partition *part,
                                tenon_compiled_partition **compiled) {
  tenon_engine *engine;
  const tenon_logical_tensor *in, *out;
  size_t num_in, num_out;
  tenon_status status;
  TRY(F(tenon_engine_create)(NULL, &engine));
  TRY(F(tenon_engine_set_option)(engine, "target-cpu", cpu));
  TRY(F(tenon_partition_get_inputs)(part, &num_in, &in));
  TRY(F(tenon_partition_get_outputs)(part, &num_out, &out));
  status = F(tenon_partition_compile)(part, engine, num_in, in, num_out, out,
                                      compiled);
  F(tenon_engine_destroy)(engine);
  return status;
}

/** 1 + 2 = 3 in f16. */
static void add_halves(const char *cpu) {
  tenon_partition *part = partition_of("Add", "f16", "f16", 2);
  tenon_compiled_partition *compiled;
  tenon_engine *engine;
  tenon_stream *stream;
  const tenon_logical_tensor *in, *out;
  size_t num_in, num_out, i;
  uint16_t data[3][16];
  tenon_tensor *tensors[3];
  TRY(compile_for(cpu, part, &compiled));
  TRY(F(tenon_engine_create)(NULL, &engine));
  TRY(F(tenon_stream_create)(engine, NULL, &stream));
  TRY(F(tenon_partition_get_inputs)(part, &num_in, &in));
  TRY(F(tenon_partition_get_outputs)(part, &num_out, &out));
  for (i = 0; i < 16; ++i) {
    data[0][i] = 0x3c00;
    data[1][i] = 0x4000;
    data[2][i] = 0;
  }
  for (i = 0; i < 3; ++i)
    TRY(F(tenon_tensor_create)(i < 2 ? &in[i] : out, engine, data[i],
                               &tensors[i]));
  TRY(F(tenon_compiled_partition_execute)(compiled, stream, 2,
                                          (const tenon_tensor *const *)tensors,
                                          1, &tensors[2]));
  for (i = 0; i < 16; ++i)
    EXPECT(data[2][i] == 0x4200);
  for (i = 0; i < 3; ++i)
    F(tenon_tensor_destroy)(tensors[i]);
  F(tenon_stream_destroy)(stream);
  F(tenon_engine_destroy)(engine);
  F(tenon_compiled_partition_destroy)(compiled);
  F(tenon_partition_destroy)(part);
}

/** Everything of one operand, in all types that it may have. */
static void compile_many(const char *cpu) {
  static const char *const kinds[] = {
      "Abs",  "Elu",     "Exp",  "GELU",  "HardSwish", "Log",
      "Mish", "Round",   "Sqrt", "Tanh",  "Sigmoid",   "SoftPlus",
      "ReLU", "SoftMax", "Pow",  "Square"};
  static const char *const types[] = {"f32", "bf16", "f16"};
  size_t k, t;
  for (k = 0; k < sizeof kinds / sizeof *kinds; ++k)
    for (t = 0; t < 3; ++t) {
      char text[1024];
      tenon_graph *graph;
      tenon_partition *part;
      tenon_compiled_partition *compiled;
      size_t count = 1;
      sprintf(text,
              "{\"graph\": [{\"id\": 0, \"name\": \"op\", \"kind\": \"%s\", "
              "\"attrs\": {%s}, \"inputs\": [{\"id\": 0, \"dtype\": \"%s\", "
              "\"shape\": [4, 7]}], \"outputs\": [{\"id\": 1, \"dtype\": "
              "\"%s\", \"shape\": [4, 7]}]}]}",
              kinds[k],
              !strcmp(kinds[k], "Elu")
                  ? "\"alpha\": {\"type\": \"f32\", \"value\": 1}"
              : !strcmp(kinds[k], "Pow")
                  ? "\"beta\": {\"type\": \"f32\", \"value\": 2.5}"
                  : "",
              types[t], types[t]);
      TRY(F(tenon_graph_from_json)(text, strlen(text), "test", &graph));
      TRY(F(tenon_graph_get_partitions)(graph, TENON_POLICY_FUSION, &count,
                                        &part));
      TRY(compile_for(cpu, part, &compiled));
      F(tenon_compiled_partition_destroy)(compiled);
      F(tenon_partition_destroy)(part);
      F(tenon_graph_destroy)(graph);
    }
}

/** Names that LLVM knows for 32 bits only, takes for questions, or not knows.
 */
static void refuse_cpus(void) {
  static const char *const cpus[] = {
      "i386",        "i486",      "i586",       "i686",
      "pentium",     "pentium2",  "pentium3",   "pentium3m",
      "pentium4",    "pentium4m", "pentium-m",  "prescott",
      "pentium-mmx", "yonah",     "lakemont",   "k6",
      "k6-2",        "k6-3",      "athlon",     "athlon-4",
      "athlon-xp",   "winchip2",  "winchip-c6", "c3",
      "c3-2",        "geode",     "help",       "",
      "native",      "znver99",   "generic",    "x86-64-v9"};
  tenon_partition *part = partition_of("Add", "f32", "f32", 2);
  size_t i;
  for (i = 0; i < sizeof cpus / sizeof *cpus; ++i) {
    tenon_compiled_partition *compiled = NULL;
    EXPECT(compile_for(cpus[i], part, &compiled) == TENON_E_UnsupportedTarget);
    EXPECT(compiled == NULL);
    EXPECT(strstr(last_text(), "E2004") && strstr(last_text(), cpus[i]));
  }
  F(tenon_partition_destroy)(part);
}

int main(int argc, char **argv) {
  char printed[4096];
  size_t count;
  FILE *capture = tmpfile();
  if (argc != 2 || !capture)
    return 2;
  real_stderr = fdopen(dup(STDERR_FILENO), "w");
  setvbuf(real_stderr, NULL, _IONBF, 0);
  dup2(fileno(capture), STDERR_FILENO);
  /* Otherwise this test cannot fail. */
  EXPECT(!dlsym(RTLD_DEFAULT, "__extendhfsf2") && !dlsym(RTLD_DEFAULT, "fmaf"));
  library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library)
    fprintf(real_stderr, "%s\n", dlerror());
  EXPECT(library != NULL);
  EXPECT(!dlsym(RTLD_DEFAULT, "__extendhfsf2"));
  EXPECT(!dlsym(RTLD_DEFAULT, "tenon_engine_create"));
  refuse_cpus();
  add_halves("x86-64");
  add_halves("x86-64-v2");
  add_halves("host");
  compile_many("x86-64");
  compile_many("x86-64-v2");
  refuse_cpus();
  fflush(stderr);
  count = (size_t)pread(fileno(capture), printed, sizeof printed, 0);
  fwrite(printed, 1, count, real_stderr);
  EXPECT(count == 0);
  return 0;
}
