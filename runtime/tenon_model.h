/*===-- tenon_model.h - executing compiled graphs, C interface --*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0                                      *|
|*                                                                          *|
|* The compiler writes a tenon_model_info beside the code of a graph; these *|
|* functions execute it.  Code compiled in this process, from a file of the *|
|* compiler's cache and ahead of time is described and run the same way.    *|
|*                                                                          *|
|* The structures are part of files: they change with TENON_MODEL_VERSION   *|
|* only.  All of them are read-only, static, and may be shared by threads.  *|
|*                                                                          *|
\*===----------------------------------------------------------------------===*/
#ifndef TENON_MODEL_H
#define TENON_MODEL_H

#include "tenon_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/*===-- What the compiler writes
 * ------------------------------------------------------------===*/

/** Element types.  s4 and u4 are packed two to a byte, the first one low. */
typedef enum tenon_dtype {
  TENON_UNDEF = 0,
  TENON_F16 = 1,
  TENON_BF16 = 2,
  TENON_F32 = 3,
  TENON_S32 = 4,
  TENON_S8 = 5,
  TENON_U8 = 6,
  TENON_BOOLEAN = 7,
  TENON_F8_E5M2 = 8,
  TENON_F8_E4M3 = 9,
  TENON_S4 = 10,
  TENON_U4 = 11,
  TENON_S64 = 12,
  TENON_F64 = 13,
  /** Powers of two: 2^(byte - 127), NaN for 255. */
  TENON_F8_E8M0 = 14
} tenon_dtype;

/** A dimension that is given with each execution. */
#define TENON_UNKNOWN_DIM INT64_MIN

/** An input or an output of a graph. */
typedef struct tenon_tensor_info {
  /** As in the graph. */
  uint64_t id;
  /** NUL-terminated, never NULL. */
  const char *name;
  /** A tenon_dtype. */
  int32_t dtype;
  int32_t rank;
  /** `rank` sizes, TENON_UNKNOWN_DIM where they vary. */
  const int64_t *dims;
  /** `rank` strides in elements; NULL: dense, row-major. */
  const int64_t *strides;
  /** Nonzero: the same for all executions, read by tenon_model_fold. */
  int32_t constant;
  int32_t reserved;
} tenon_tensor_info;

/** One buffer of an entry. */
typedef struct tenon_model_arg {
  /** Zero: the tensor number `index`; nonzero: the folded buffer `index`. */
  int32_t folded;
  int32_t index;
} tenon_model_arg;

/** A function of the compiled code. */
typedef struct tenon_model_entry {
  /** Takes buffers and, of all of them in one list, sizes; scratch last. */
  int32_t (*run)(tenon_exec *exec, void *const *buffers, const int64_t *dims,
                 void *scratch);
  /** Bytes of scratch for these sizes. */
  int64_t (*scratch)(const int64_t *dims);
  const tenon_model_arg *args;
  int64_t num_args;
} tenon_model_entry;

/** A buffer computed from constants, once. */
typedef struct tenon_model_folded {
  int64_t bytes;
  int64_t rank;
  const int64_t *dims;
  /** What is computed, from which types; not from which values. */
  tenon_constant_key recipe;
  /** The constant inputs it depends on. */
  const int32_t *inputs;
  int64_t num_inputs;
} tenon_model_folded;

/** The code for one kind of machine. */
typedef struct tenon_model_code {
  /** Its name, such as "x86-64-v3". */
  const char *target;
  /** What it needs of the CPU: LLVM's feature names, separated by commas. */
  const char *features;
  tenon_model_entry main;
  /** `run` is NULL when nothing is folded. */
  tenon_model_entry fold;
  const tenon_model_folded *folded;
  int64_t num_folded;
  /** Nonzero: `main` runs with denormal numbers read and written as 0. */
  int32_t flush_denormals;
  int32_t reserved;
} tenon_model_code;

/** Where the values of a constant input lie among the weights. */
typedef struct tenon_model_weight {
  int64_t input;
  /** Negative: no code reads them but in packed form. */
  int64_t offset;
  int64_t bytes;
} tenon_model_weight;

#define TENON_MODEL_MAGIC 0x444d4e54u /* "TNMD" */
/** A dim of an input that is not known. */
typedef struct tenon_model_dim {
  int32_t input;
  int32_t dim;
} tenon_model_dim;

/** A size with a name, and what is declared of it for all executions. */
typedef struct tenon_model_size {
  const char *name;
  /** Both are allowed. */
  int64_t min;
  int64_t max;
  /** At least 1. */
  int64_t multiple_of;
  /** Dims that are this size, and so equal. */
  const tenon_model_dim *dims;
  int64_t num_dims;
} tenon_model_size;

#define TENON_MODEL_VERSION 4

typedef struct tenon_model_info {
  uint32_t magic;
  uint32_t version;
  /** Of a version of another model: its sizes, "batch=1, tokens=128". */
  const char *name;
  /** Inputs, then outputs. */
  const tenon_tensor_info *tensors;
  int64_t num_inputs;
  int64_t num_outputs;
  /** Most demanding first. */
  const tenon_model_code *const *codes;
  int64_t num_codes;
  /** Constants that come with the code; the others the caller gives. */
  const tenon_model_weight *weights;
  int64_t num_weights;
  /**
   * NULL, or for each code NULL or where each of its folded buffers lies among
   * the weights: nothing is computed then.  The weights are those of the model
   * that has this version.
   */
  const int64_t *const *packed;
  /** Their bytes, or NULL: they are in a file of `weight_bytes` bytes. */
  const void *weight_data;
  int64_t weight_bytes;
  /** XXH3 (128 bits, seed 0) of the weights. */
  tenon_constant_key weight_hash;
  /** Sizes of which something is declared. */
  const tenon_model_size *sizes;
  int64_t num_sizes;
  /**
   * The same model with some of its unknown sizes known: the same tensors,
   * codes for the same machines, no weights and no versions of its own.  The
   * first one whose sizes are those of an execution is executed.
   */
  const struct tenon_model_info *const *versions;
  int64_t num_versions;
} tenon_model_info;

/*===-- Models
 * ------------------------------------------------------------===*/

/** A description that was checked, with the code that suits this CPU. */
typedef struct tenon_model tenon_model;

/** Initialise with tenon_model_options_init. */
typedef struct tenon_model_options {
  /** sizeof(tenon_model_options). */
  size_t struct_size;
  /** The file of weights that are not in the code; copied during the call. */
  const char *weights_file;
  /** CPU features to do without, separated by commas; NULL: none. */
  const char *without_features;
} tenon_model_options;

TENON_RT_API void tenon_model_options_init(tenon_model_options *options);

/** Whether this CPU and its system have the feature of that LLVM name. */
TENON_RT_API int32_t tenon_rt_cpu_has(const char *feature);

/**
 * Checks `info`, maps and checks the file of weights, and chooses the first
 * code whose features this CPU has.  `info` must outlive the model.  `options`
 * may be NULL.  Fails, with *model NULL, with INVALID_ARGUMENT (a NULL),
 * FOREIGN_MODEL (magic or version), UNSUPPORTED_CPU, CANNOT_READ (weights),
 * DAMAGED (weights have another size or hash) or OUT_OF_MEMORY.
 */
TENON_RT_API tenon_rt_status
tenon_model_create(const tenon_model_info *info,
                   const tenon_model_options *options, tenon_model **model);

/** Frees the model; nothing may be using it.  NULL is allowed. */
TENON_RT_API void tenon_model_destroy(tenon_model *model);

TENON_RT_API const tenon_model_info *
tenon_model_get_info(const tenon_model *model);
TENON_RT_API const tenon_model_code *
tenon_model_get_code(const tenon_model *model);

/**
 * The number of the version that executes these sizes (as in
 * tenon_model_scratch_bytes): below info->num_versions, or that number for the
 * code for all sizes.  -1: sizes are not the description's, or not as declared.
 */
TENON_RT_API int64_t tenon_model_find_version(const tenon_model *model,
                                              const int64_t *dims);
/** Version `version` as a model that lives as long as `model`, for its
 * description and code: to be executed is `model`.  NULL: there is none. */
TENON_RT_API const tenon_model *
tenon_model_get_version(const tenon_model *model, int64_t version);

/** Values of constant input `input` among the weights; NULL: not there, or in
 * packed form only. */
TENON_RT_API const void *tenon_model_weight_of(const tenon_model *model,
                                               int64_t input);

/**
 * Bytes of scratch of an execution; multiple of 64, 0 if none is needed.
 * `dims`: sizes of all inputs, then outputs, in one list; NULL if all are
 * known.  Negative if it is NULL and they are not, or where
 * tenon_model_find_version is.  Any thread.
 */
TENON_RT_API int64_t tenon_model_scratch_bytes(const tenon_model *model,
                                               const int64_t *dims);

/** What was computed from one set of constants.  Counted references. */
typedef struct tenon_folded tenon_folded;

/**
 * Computes what depends on constants only, for all versions; what several of
 * them compute in the same way is there once.  `inputs` has an address for each
 * input; those of constants are read, during the call only, and NULL stands
 * for the weights of the model.  Buffers that `store` (may be NULL, must
 * outlive *folded) has already are shared, not computed.  Any thread.
 * *folded, on success, has one reference; it is valid when nothing is to be
 * folded, too.
 */
TENON_RT_API tenon_rt_status tenon_model_fold(const tenon_model *model,
                                              tenon_exec *exec,
                                              tenon_constants *store,
                                              const void *const *inputs,
                                              tenon_folded **folded);
TENON_RT_API void tenon_folded_retain(tenon_folded *folded);
/** Frees it with the last reference.  NULL is allowed. */
TENON_RT_API void tenon_folded_release(tenon_folded *folded);
/** Bytes of its buffers, also of those that others share; without those that
 * are among the weights of the model. */
TENON_RT_API int64_t tenon_folded_bytes(const tenon_folded *folded);
/** Buffer `index` of the code for all sizes, as long as *folded lives. */
TENON_RT_API const void *tenon_folded_buffer(const tenon_folded *folded,
                                             int64_t index);

/**
 * Executes once.  `tensors`: an address for each input, then each output;
 * of a constant NULL stands for the weights of the model.  `dims` as in
 * tenon_model_scratch_bytes; sizes must be those of the description where it
 * has them, and fit together where not.  `scratch`: that many bytes, aligned
 * to 64; NULL: the executor provides them.  `folded` may be NULL when nothing
 * is folded.  Any number of threads, each with its own scratch and outputs.
 *
 * INVALID_ARGUMENT: a NULL, an address that is not a multiple of the element
 * size, a size that is not the description's or not as declared.  Otherwise
 * what tenon_exec_status describes; the status of `exec` is OK afterwards.
 */
TENON_RT_API tenon_rt_status tenon_model_run(
    const tenon_model *model, tenon_exec *exec, tenon_folded *folded,
    void *const *tensors, const int64_t *dims, void *scratch);

#ifdef __cplusplus
}
#endif

#endif /* TENON_MODEL_H */
