/*===-- tenon_settings.h - settings of the process --------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0                                      *|
|*                                                                          *|
|* Caches and dumps, which all objects of a process share.  tenon.h         *|
|* includes it.                                                             *|
|*                                                                          *|
\*===----------------------------------------------------------------------===*/
#ifndef TENON_SETTINGS_H
#define TENON_SETTINGS_H

#include "tenon.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Compiled partitions kept in memory for equal requests, least recently used
 * first to go; 0: none.  The default is 1024.  Errors: BadOption (negative).
 */
TENON_API tenon_status tenon_set_compiled_cache_capacity(int64_t partitions);
TENON_API int64_t tenon_get_compiled_cache_capacity(void);

/**
 * A folder, which may be shared by processes, for compiled partitions; NULL or
 * empty: none, the default.  A file that cannot be used (another version, a
 * damaged one) is replaced.  Code is loaded from it: only a folder that you
 * trust.  It grows without bound; files may be deleted, and the time of the
 * last change is that of the last use.  Errors: CannotWrite.
 */
TENON_API tenon_status tenon_set_compiled_cache_folder(const char *folder);

/** What became of requests to compile since the process began. */
typedef struct tenon_compile_stats {
  uint64_t compiled;
  uint64_t from_memory;
  uint64_t from_disk;
} tenon_compile_stats;
TENON_API tenon_compile_stats tenon_get_compile_stats(void);

/**
 * Bytes of what was computed from constants that partitions share when their
 * content is the same; unused ones go first.  Negative: no bound.  0 (the
 * default): each compiled partition has its own.
 */
TENON_API tenon_status tenon_set_constant_cache_capacity(int64_t bytes);
TENON_API int64_t tenon_get_constant_cache_capacity(void);
TENON_API tenon_constants_stats tenon_get_constant_cache_stats(void);

/** What is written as JSON into the folder of tenon_set_dump_mode. */
typedef enum tenon_dump_mode {
  TENON_DUMP_NONE = 0,
  /** Each partition that is compiled. */
  TENON_DUMP_SUBGRAPH = 1,
  /** Each graph that is finalized. */
  TENON_DUMP_GRAPH = 2,
  TENON_DUMP_ALL = 3
} tenon_dump_mode;
/** The working directory when `folder` is NULL.  Errors: BadOption. */
TENON_API tenon_status tenon_set_dump_mode(tenon_dump_mode mode,
                                           const char *folder);

#ifdef __cplusplus
}
#endif

#endif /* TENON_SETTINGS_H */
