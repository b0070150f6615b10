/*===-- tenon_aot.h - what files compiled ahead of time call ----*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0                                      *|
|*                                                                          *|
|* `tenon compile` writes functions with named, typed arguments; they are   *|
|* thin wrappers around these.  Programs call the wrappers, which the       *|
|* generated header declares.                                               *|
|*                                                                          *|
\*===----------------------------------------------------------------------===*/
#ifndef TENON_AOT_H
#define TENON_AOT_H

#include "tenon_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A model with its constants, ready to execute. */
typedef struct tenon_aot tenon_aot;

/**
 * tenon_model_create and tenon_model_fold in one.  `exec` is used during the
 * call only; NULL: the calling thread.  `constants` has an address for each
 * input, of which those of constants without weights are read; they must
 * outlive *aot.  NULL: there are none.  Fails, with *aot NULL, as those two.
 */
TENON_RT_API tenon_rt_status tenon_aot_create(
    const tenon_model_info *info, const tenon_model_options *options,
    tenon_exec *exec, const void *const *constants, tenon_aot **aot);

/** Frees it; nothing may be using it.  NULL is allowed. */
TENON_RT_API void tenon_aot_destroy(tenon_aot *aot);

/** The checked description, with the name of the chosen target. */
TENON_RT_API const tenon_model *tenon_aot_get_model(const tenon_aot *aot);

/**
 * Bytes of scratch, as tenon_model_scratch_bytes.  `dims` has for each input,
 * then output, the address of its sizes; NULL: those of the description.
 * -1 for sizes that are not the description's, or for an unknown one.
 */
TENON_RT_API int64_t tenon_aot_scratch_bytes(const tenon_aot *aot,
                                             const int64_t *const *dims);

/**
 * Executes once, as tenon_model_run.  `tensors` has an address for each input,
 * then output; those of constants are ignored.  `exec` NULL: the calling
 * thread does all the work.  `dims` as in tenon_aot_scratch_bytes.
 */
TENON_RT_API tenon_rt_status tenon_aot_run(const tenon_aot *aot,
                                           tenon_exec *exec,
                                           void *const *tensors,
                                           const int64_t *const *dims,
                                           void *scratch);

#ifdef __cplusplus
}
#endif

#endif /* TENON_AOT_H */
