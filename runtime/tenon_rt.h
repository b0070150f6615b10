/*===-- tenon_rt.h - Tenon's runtime, C interface ---------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0                                      *|
|*                                                                          *|
|* What compiled code calls while it runs: parallel sections, scratch,      *|
|* memory, shared constants, profiling.  JIT code and ahead-of-time         *|
|* artefacts use the same entry points.  Needs libc and pthread only.       *|
|*                                                                          *|
|* Nothing here throws, aborts or prints.  Sizes are bytes, times are       *|
|* nanoseconds of the monotonic clock.                                      *|
|*                                                                          *|
\*===----------------------------------------------------------------------===*/
#ifndef TENON_RT_H
#define TENON_RT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TENON_RT_API __attribute__((visibility("default")))
#else
#define TENON_RT_API
#endif

/*===-- Status
 * --------------------------------------------------------------===*/

typedef enum tenon_rt_status {
  TENON_RT_OK = 0,
  /** An allocator returned NULL. */
  TENON_RT_OUT_OF_MEMORY = 1,
  /** An argument is outside its documented range. */
  TENON_RT_INVALID_ARGUMENT = 2,
  /** The constant store is full of buffers that are in use. */
  TENON_RT_OVER_CAPACITY = 3,
  /** The caller's parallel_for did not run every index exactly once. */
  TENON_RT_POOL_MISBEHAVED = 4,
  /** The process forked inside a section: the other workers are gone. */
  TENON_RT_FORKED_IN_SECTION = 5,
  /** Not a model of this version. */
  TENON_RT_FOREIGN_MODEL = 6,
  /** No code of the model suits this CPU. */
  TENON_RT_UNSUPPORTED_CPU = 7,
  /** A file cannot be opened or mapped. */
  TENON_RT_CANNOT_READ = 8,
  /** A file or an image is not as it was written. */
  TENON_RT_DAMAGED = 9,
  /** An element of an operand is outside of its range, or open sizes do not fit
   * each other or a window. */
  TENON_RT_BAD_VALUE = 10
} tenon_rt_status;

/** English text for `status`; static storage, never NULL. */
TENON_RT_API const char *tenon_rt_status_string(tenon_rt_status status);

/*===-- Memory callbacks
 * ----------------------------------------------------===*/

/**
 * Where the runtime gets memory.  Both functions or neither (NULL: the C
 * library).  They may be called from any thread, several at once.
 * `allocate` returns `size` (> 0) bytes aligned to `align` (a power of two:
 * 64, or 2 MiB for blocks of at least 2 MiB), or NULL when it cannot.
 */
typedef struct tenon_allocator {
  void *(*allocate)(void *context, size_t size, size_t align);
  void (*release)(void *context, void *block);
  void *context;
} tenon_allocator;

/*===-- Executor
 * ------------------------------------------------------------===*/

/**
 * Runs sections.  One tenon_exec owns at most one team of threads and the
 * memory it keeps between calls.
 *
 * Any number of threads may use one tenon_exec at the same time: the first
 * section to arrive has the workers, and sections that arrive meanwhile,
 * including those started inside a section, run on their calling thread alone.
 * Nothing ever waits for another caller.  Callers that each want parallelism
 * use a tenon_exec each.
 *
 * After fork() the child may go on using its copy: it starts a new team when it
 * first needs one.  Forking inside a section body is not supported except to
 * call exec*(); the child then sees TENON_RT_FORKED_IN_SECTION, never a hang.
 */
typedef struct tenon_exec tenon_exec;

typedef enum tenon_threading {
  /** Everything on the calling thread. */
  TENON_THREADS_SINGLE = 0,
  /** A team of `threads` threads, the calling one included. */
  TENON_THREADS_TEAM = 1,
  /** The caller's `parallel_for`; the runtime creates no thread. */
  TENON_THREADS_POOL = 2
} tenon_threading;

/**
 * A caller's thread pool: calls body(arg, i) exactly once for each i in
 * [0, n), on any threads, in any order, even all on one thread, and returns
 * when all calls have returned.  `pool` is passed through untouched.  It is
 * called by one thread at a time per tenon_exec and never from inside a body
 * of the same tenon_exec.
 */
typedef void (*tenon_parallel_for_fn)(void *pool, int64_t n,
                                      void (*body)(void *arg, int64_t i),
                                      void *arg);

/** Largest accepted `threads` and `concurrency`. */
#define TENON_RT_MAX_THREADS 1024

/** Initialise with tenon_exec_options_init, then change what is needed. */
typedef struct tenon_exec_options {
  /** sizeof(tenon_exec_options), set by tenon_exec_options_init. */
  size_t struct_size;
  tenon_threading threading;
  /**
   * TEAM: number of threads, 1..TENON_RT_MAX_THREADS; 0 means one per CPU
   * the process may run on.  If the system refuses to start some, the others
   * do their work.
   */
  int32_t threads;
  /** POOL: how many ranges a section is cut into; 1..TENON_RT_MAX_THREADS. */
  int32_t concurrency;
  tenon_parallel_for_fn parallel_for;
  void *pool;
  /**
   * TEAM: how long an idle worker, and the caller at the end of a section,
   * spins before it sleeps.  Negative: the default (50 us).  When there are
   * more threads than CPUs they yield instead of spinning.
   */
  int64_t spin_ns;
  tenon_allocator allocator;
  /** Nonzero: ask for huge pages for blocks of at least 2 MiB (default). */
  int32_t huge_pages;
  /** Nonzero: profiling is on from the start (default 0). */
  int32_t profile;
} tenon_exec_options;

/** Defaults: TENON_THREADS_SINGLE, C library memory, huge pages. */
TENON_RT_API void tenon_exec_options_init(tenon_exec_options *options);

/**
 * Creates an executor; `options` NULL means defaults.  It is read during the
 * call only; pool and allocator context must outlive the executor.  Threads
 * start with the first section that has use for them.  On failure `*exec` is
 * NULL and the status OUT_OF_MEMORY or INVALID_ARGUMENT.
 */
TENON_RT_API tenon_rt_status
tenon_exec_create(const tenon_exec_options *options, tenon_exec **exec);

/**
 * Ends and joins the team, frees everything.  No section may be running and
 * no arena acquired.  NULL is allowed.
 */
TENON_RT_API void tenon_exec_destroy(tenon_exec *exec);

/** CPUs the process may run on (its affinity mask), at least 1. */
TENON_RT_API int32_t tenon_rt_allowed_cpus(void);

/** Largest number of ranges a section is cut into; constant per executor. */
TENON_RT_API int32_t tenon_exec_concurrency(const tenon_exec *exec);

/**
 * The first failure since creation or the last clear, or TENON_RT_OK.  While
 * it is not OK, sections do nothing: what they would read may not have been
 * computed.  Callers that share an executor share its status.
 */
TENON_RT_API tenon_rt_status tenon_exec_status(const tenon_exec *exec);

/** Back to OK.  Call it only while no other thread uses the executor. */
TENON_RT_API void tenon_exec_clear_status(tenon_exec *exec);

/**
 * Records `status` unless a failure is recorded already.  Any thread, also
 * from inside a section.
 */
TENON_RT_API void tenon_rt_fail(tenon_exec *exec, tenon_rt_status status);

/**
 * Records TENON_RT_BAD_VALUE if `holds` is 0: called by compiled code that has
 * checked elements of an operand.
 */
TENON_RT_API void tenon_rt_require(tenon_exec *exec, int32_t holds);

/*===-- Sections
 * ------------------------------------------------------------===*/

/**
 * The body of a section: does work items [begin, end).  `args` is what the
 * caller passed.  `scratch` is 64-byte aligned, uninitialised, used by no
 * other call until this one returns, NULL if no scratch was asked for.  A body
 * never waits for other items, and does not throw.
 */
typedef void (*tenon_section_fn)(void *const *args, int64_t begin, int64_t end,
                                 void *scratch);

/**
 * Runs items [0, items) of `fn` and returns when all are done.  The items are
 * cut into at most tenon_exec_concurrency contiguous ranges of sizes that
 * differ by at most one.  POOL, and a single thread: each range is one call of
 * `fn`.  TEAM: each thread takes its own range in up to six pieces, each one
 * call of `fn`, of about half of what is left, and then pieces that others have
 * not come to.  Each thread (POOL: each range) has its own
 * `scratch_bytes_per_worker` bytes.  Workers compute with the caller's
 * floating-point control register (rounding, denormals).
 *
 * Scratch is kept for later sections.  If there is too little memory for all
 * ranges the section runs as one range; if that fails too it does not run and
 * the status becomes TENON_RT_OUT_OF_MEMORY.  Negative `items` or scratch
 * sizes give TENON_RT_INVALID_ARGUMENT.  items == 0 does nothing.
 */
TENON_RT_API void tenon_rt_run_section(tenon_exec *exec, tenon_section_fn fn,
                                       void *const *args, int64_t items,
                                       int64_t scratch_bytes_per_worker);

/**
 * The same, under `name` in the profile.  `name` is NUL-terminated, copied
 * when first seen and only read while profiling is on; NULL counts as
 * "(unnamed)".
 */
TENON_RT_API void tenon_rt_run_named_section(tenon_exec *exec,
                                             tenon_section_fn fn,
                                             void *const *args, int64_t items,
                                             int64_t scratch_bytes_per_worker,
                                             const char *name);

/*===-- Profile
 * -------------------------------------------------------------===*/

/** Sums over all runs of the sections of one name. */
typedef struct tenon_profile_entry {
  /** Owned by the executor; valid until the profile is reset or destroyed. */
  const char *name;
  uint64_t count;
  uint64_t items;
  /** Wall time from call to return, as the calling thread sees it. */
  uint64_t total_ns;
  uint64_t min_ns;
  uint64_t max_ns;
} tenon_profile_entry;

/** Switches profiling; what was recorded stays.  Any thread, any time. */
TENON_RT_API void tenon_exec_profile_enable(tenon_exec *exec, int32_t enable);

/**
 * Copies up to `capacity` entries, largest total time first, and returns how
 * many there are.  `entries` may be NULL if `capacity` is 0.  Any thread.
 */
TENON_RT_API size_t tenon_exec_profile_read(tenon_exec *exec,
                                            tenon_profile_entry *entries,
                                            size_t capacity);

/** Forgets all entries; pointers from tenon_exec_profile_read become invalid.
 */
TENON_RT_API void tenon_exec_profile_reset(tenon_exec *exec);

/** Told of sections by the thread that starts them, at most one at a time for
 * each thread. Both must not fail and may be called by several threads. */
typedef struct tenon_observer {
  /** `name` as in tenon_rt_run_named_section. */
  void (*begin)(void *context, const char *name);
  void (*end)(void *context);
  void *context;
} tenon_observer;

/**
 * Has `observer` told when each section begins and ends, so that a profiler of
 * the program shows them; NULL: nobody.  It must live until it is replaced and
 * no execution that began before is under way.  Any thread, any time.
 */
TENON_RT_API void tenon_exec_observe(tenon_exec *exec,
                                     const tenon_observer *observer);

/*===-- Memory
 * --------------------------------------------------------------===*/

/**
 * `size` bytes from the executor's allocator (`exec` NULL: the C library),
 * uninitialised, aligned to 64 bytes, or to 2 MiB with huge pages if at least
 * 2 MiB.  size == 0 gives a valid unique pointer.  NULL if there is no memory
 * or size < 0; the status is left alone.  Free with tenon_rt_free and the same
 * `exec`.  Any thread.
 */
TENON_RT_API void *tenon_rt_alloc(tenon_exec *exec, int64_t size);

/** Frees a block of tenon_rt_alloc.  NULL is allowed. */
TENON_RT_API void tenon_rt_free(tenon_exec *exec, void *block);

/**
 * Memory for one execution's intermediates: like tenon_rt_alloc, but the
 * executor keeps released arenas and hands them out again, so the steady state
 * allocates nothing.  Each acquired arena belongs to its acquirer alone.
 * Without memory: NULL, and the status becomes TENON_RT_OUT_OF_MEMORY.
 */
TENON_RT_API void *tenon_rt_arena_acquire(tenon_exec *exec, int64_t size);

/** Gives back what tenon_rt_arena_acquire returned.  NULL is allowed. */
TENON_RT_API void tenon_rt_arena_release(tenon_exec *exec, void *arena);

/**
 * Frees kept arenas and scratch that nobody uses at the moment.  Any thread.
 */
TENON_RT_API void tenon_exec_trim(tenon_exec *exec);

/*===-- Constants
 * -----------------------------------------------------------===*/

/**
 * Buffers of packed constants, found by a 128-bit key of their content and
 * form, shared between all partitions that ask for the same key.  Buffers no
 * one refers to stay, least recently used first to go, while the sum of all
 * buffers is within the capacity.  All functions may be called from any
 * thread; none blocks except tenon_rt_constants_wait.  A child of fork() must
 * not use a store that other threads of the parent were using.
 */
typedef struct tenon_constants tenon_constants;

typedef struct tenon_constant_key {
  uint64_t low;
  uint64_t high;
} tenon_constant_key;

typedef enum tenon_constant_state {
  /** The caller fills the buffer, then calls tenon_rt_constants_publish. */
  TENON_CONSTANT_NEW = 0,
  /** The buffer is filled and must not be written. */
  TENON_CONSTANT_READY = 1,
  /** Another thread is filling it: tenon_rt_constants_wait before reading. */
  TENON_CONSTANT_PENDING = 2
} tenon_constant_state;

typedef struct tenon_constants_stats {
  int64_t capacity;
  /** Bytes of all buffers, and of those somebody refers to. */
  int64_t bytes;
  int64_t bytes_in_use;
  int64_t buffers;
  uint64_t hits;
  uint64_t misses;
  uint64_t evictions;
  /** Acquires refused with TENON_RT_OVER_CAPACITY. */
  uint64_t refusals;
} tenon_constants_stats;

/**
 * Creates a store of at most `capacity` bytes (negative: no limit; 0: every
 * acquire is refused).  `allocator` may be NULL, else it is copied.  The
 * creator owns the store and outlives all references into it with it.
 */
TENON_RT_API tenon_rt_status
tenon_rt_constants_create(int64_t capacity, const tenon_allocator *allocator,
                          tenon_constants **store);

/** Frees the store and every buffer, referred to or not.  NULL is allowed. */
TENON_RT_API void tenon_rt_constants_destroy(tenon_constants *store);

/**
 * Takes a reference to the buffer of `key` with `size` bytes (>= 0), creating
 * it if it is not there.  The buffer has the alignment of tenon_rt_alloc.  To
 * stay free of deadlocks, fill and publish everything NEW before waiting for
 * anything PENDING.
 *
 * Fails, with *data NULL and no reference taken, with OVER_CAPACITY (keep a
 * private copy instead), OUT_OF_MEMORY, or INVALID_ARGUMENT (size negative or
 * not the size the key already has).
 */
TENON_RT_API tenon_rt_status tenon_rt_constants_acquire(
    tenon_constants *store, tenon_constant_key key, int64_t size, void **data,
    tenon_constant_state *state);

/** The filler of a NEW buffer declares it READY.  INVALID_ARGUMENT otherwise.
 */
TENON_RT_API tenon_rt_status tenon_rt_constants_publish(tenon_constants *store,
                                                        tenon_constant_key key);

/**
 * For a holder of a PENDING buffer: blocks until it is READY, or until its
 * filler has given up, and then the caller becomes its filler (NEW).
 */
TENON_RT_API tenon_rt_status
tenon_rt_constants_wait(tenon_constants *store, tenon_constant_key key,
                        tenon_constant_state *state);

/**
 * Drops one reference.  `filler` is nonzero if the caller was told NEW and has
 * not published: the buffer then goes to a waiter, or away.
 * INVALID_ARGUMENT if there is no such reference.
 */
TENON_RT_API tenon_rt_status tenon_rt_constants_release(tenon_constants *store,
                                                        tenon_constant_key key,
                                                        int32_t filler);

/** Changes the capacity, evicting unused buffers as needed. */
TENON_RT_API void tenon_rt_constants_set_capacity(tenon_constants *store,
                                                  int64_t capacity);

TENON_RT_API void tenon_rt_constants_get_stats(tenon_constants *store,
                                               tenon_constants_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* TENON_RT_H */
