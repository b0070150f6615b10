/* tenon_rt.h is plain C11 and enough to use the library from C. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/tenon_rt.h"

#include <stdio.h>

#define EXPECT(condition)                                                      \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);  \
      return 1;                                                                \
    }                                                                          \
  } while (0)

static void addOne(void *const *args, int64_t begin, int64_t end,
                   void *scratch) {
  int *values = (int *)args[0];
  (void)scratch;
  for (int64_t i = begin; i < end; ++i)
    values[i] += 1;
}

static void serialFor(void *pool, int64_t n, void (*body)(void *, int64_t),
                      void *arg) {
  ++*(int *)pool;
  for (int64_t i = n; i-- > 0;)
    body(arg, i);
}

int main(void) {
  int calls = 0;
  int values[100] = {0};
  void *args[] = {values};
  tenon_exec *exec = NULL;
  tenon_exec_options options;
  tenon_exec_options_init(&options);
  options.threading = TENON_THREADS_POOL;
  options.concurrency = 7;
  options.parallel_for = serialFor;
  options.pool = &calls;
  EXPECT(tenon_exec_create(&options, &exec) == TENON_RT_OK);
  EXPECT(tenon_exec_concurrency(exec) == 7);
  tenon_rt_run_section(exec, addOne, args, 100, 0);
  EXPECT(tenon_exec_status(exec) == TENON_RT_OK);
  EXPECT(calls == 1);
  for (int i = 0; i < 100; ++i)
    EXPECT(values[i] == 1);
  tenon_exec_destroy(exec);
  return 0;
}
