/*===-- tenon_dlpack.h - executing on tensors of frameworks -----*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0                                      *|
|*                                                                          *|
|* A framework that describes its tensors by DLPack executes compiled       *|
|* partitions on them without making a tenon_tensor for each.  What         *|
|* tenon.h says of calls, errors, handles and threads holds here, too.      *|
|*                                                                          *|
\*===----------------------------------------------------------------------===*/
#ifndef TENON_DLPACK_H
#define TENON_DLPACK_H

#include "tenon.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A DLTensor of DLPack 1: the same members at the same places. */
typedef struct tenon_dltensor {
  void *data;
  /** 1: the memory of the CPU, the only one that is accepted. */
  int32_t device_type;
  int32_t device_id;
  int32_t ndim;
  /** A DLDataTypeCode, bits of an element, and elements that are one. */
  uint8_t dtype_code;
  uint8_t dtype_bits;
  uint16_t dtype_lanes;
  const int64_t *shape;
  /** In elements; NULL: dense, row-major. */
  const int64_t *strides;
  uint64_t byte_offset;
} tenon_dltensor;

/** The element type, or TENON_UNDEF where Tenon has none like it. */
TENON_API tenon_dtype tenon_dltensor_get_dtype(const tenon_dltensor *tensor);

/** A compiled partition some of whose inputs are given once and the others,
 * with the outputs, at each execution.  Immutable, re-entrant. */
typedef struct tenon_call tenon_call;

/**
 * `bound`: tensors for inputs, found by their ids: all constants, and any
 * others.  They are not copied, and must live as long as the call; their data
 * may be set and touched between executions.  Errors: PortMismatch (no such
 * input, or a constant is missing), and those of
 * tenon_compiled_partition_execute about single tensors.
 */
TENON_API tenon_status tenon_call_create(tenon_compiled_partition *compiled,
                                         size_t num_bound,
                                         const tenon_tensor *const *bound,
                                         tenon_call **call);
TENON_API void tenon_call_destroy(tenon_call *call);

/**
 * Executes.  `tensors`: those inputs that are not bound and then all outputs,
 * in the order of the ports.  Errors: those of
 * tenon_compiled_partition_execute; BadTensorData also for memory of another
 * device.
 */
TENON_API tenon_status tenon_call_execute(const tenon_call *call,
                                          tenon_stream *stream,
                                          size_t num_tensors,
                                          const tenon_dltensor *tensors);

/**
 * Describes the first `count` objects of a sequence of another language.
 * `item` gives an object by its position and `read` describes it, 0 for
 * success: for Python PyList_GetItem, and dltensor_from_py_object_no_sync of
 * DLPack's exchange interface of the framework.  Errors: BadTensorData (one of
 * the two failed).
 */
TENON_API tenon_status
tenon_dltensors_read(void *(*item)(void *sequence, ptrdiff_t position),
                     int (*read)(void *object, tenon_dltensor *tensor),
                     void *sequence, size_t count, tenon_dltensor *tensors);

#ifdef __cplusplus
}
#endif

#endif /* TENON_DLPACK_H */
