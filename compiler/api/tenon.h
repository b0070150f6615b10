/*===-- tenon.h - Tenon's C interface ---------------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0                                      *|
|*                                                                          *|
|* Build a graph of operations, ask for partitions, compile and execute     *|
|* them.  docs/c-api.md walks through a program.                            *|
|*                                                                          *|
|* Calls return a status, TENON_SUCCESS or the number of an error; what      *|
|* they yield comes through their last arguments.  When they fail, a new    *|
|* handle is NULL and other results mean nothing.  tenon_last_error() tells *|
|* the rest.  Nothing throws, prints or ends the process.  Beside the       *|
|* errors listed any call may give NullArgument, BadHandle (of another      *|
|* kind, destroyed), OutOfMemory and Internal.  Compiling installs LLVM's   *|
|* handlers of fatal errors; in a program that uses the same LLVM, its own  *|
|* are replaced.                                                            *|
|*                                                                          *|
|* Handles: X_create makes one, X_destroy ends it; destroying NULL does     *|
|* nothing.  A handle may be destroyed as soon as no call uses it: objects   *|
|* keep alive what they need of others.  Strings and arrays given to a call *|
|* are copied; those returned belong to the object and live as long as it   *|
|* does, unless a call says otherwise.                                      *|
|*                                                                          *|
|* Threads: any number of threads may use any objects at once, except that  *|
|* an op and a graph under construction and a tensor whose data are being   *|
|* set want one thread at a time.                                           *|
|*                                                                          *|
\*===----------------------------------------------------------------------===*/
#ifndef TENON_H
#define TENON_H

#include "tenon_rt.h"

#include "tenon_model.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_API TENON_RT_API

/*===-- Status ------------------------------------------------------------===*/

/** Zero, or the number of an error: tenon_errors.def lists them. */
typedef int32_t tenon_status;

enum {
  TENON_SUCCESS = 0,
#define TENON_ERROR(number, name, category, text) TENON_E_##name = number,
#include "tenon_errors.def"
};

/** What went wrong in the last failing call of this thread. */
typedef struct tenon_error {
  tenon_status status;
  /** Numbers that clash and all; never NULL. */
  const char *message;
  /** Kind and name of the operation it is about; empty if it is about none. */
  const char *op_kind;
  const char *op_name;
  /** Its id, if it has a kind. */
  uint64_t op_id;
  /** What to do; may be empty. */
  const char *hint;
  /** All of it as the command line prints it.  Where several things are wrong
   * a line for each; the fields above are of the first. */
  const char *text;
} tenon_error;

/** Strings live until the next failing call of this thread.  Never NULL;
 * before the first failure the status is TENON_SUCCESS. */
TENON_API const tenon_error *tenon_last_error(void);

/** One line about an error number; static. */
TENON_API const char *tenon_status_string(tenon_status status);

typedef struct tenon_version {
  int32_t major, minor, patch;
  /** With LLVM's version and the build; static. */
  const char *text;
} tenon_version;

TENON_API tenon_version tenon_get_version(void);

/*===-- Logical tensors ---------------------------------------------------===*/

#define TENON_MAX_RANK 12
/** A rank that is not known. */
#define TENON_UNKNOWN_RANK (-1)

typedef enum tenon_layout {
  TENON_LAYOUT_UNDEF = 0,
  /** The compiler chooses; the compiled partition tells what. */
  TENON_LAYOUT_ANY = 1,
  /** `strides`, in elements. */
  TENON_LAYOUT_STRIDED = 2,
  /** `layout_id`, which a compiled partition gave. */
  TENON_LAYOUT_OPAQUE = 3
} tenon_layout;

typedef enum tenon_property {
  TENON_PROPERTY_UNDEF = 0,
  TENON_PROPERTY_VARIABLE = 1,
  /** Its content does not change between executions: see tenon_tensor. */
  TENON_PROPERTY_CONSTANT = 2,
  /** One value, of rank 0, read at each execution. */
  TENON_PROPERTY_HOST_SCALAR = 3
} tenon_property;

/** An edge of a graph; a plain value.  Make one with tenon_logical_tensor_*.
 */
typedef struct tenon_logical_tensor {
  /** Edges of one graph are the same if their ids are. */
  uint64_t id;
  /** A tenon_dtype. */
  int32_t dtype;
  /** 0..TENON_MAX_RANK or TENON_UNKNOWN_RANK. */
  int32_t rank;
  /** Sizes; TENON_UNKNOWN_DIM where not known. */
  int64_t dims[TENON_MAX_RANK];
  /** A tenon_layout. */
  int32_t layout;
  /** A tenon_property. */
  int32_t property;
  /** STRIDED only, in elements. */
  int64_t strides[TENON_MAX_RANK];
  /** OPAQUE only. */
  uint64_t layout_id;
} tenon_logical_tensor;

/**
 * A tensor of these sizes, dense and row-major when `layout` is
 * TENON_LAYOUT_STRIDED.  `rank` may be TENON_UNKNOWN_RANK and `dims` NULL then.
 * Errors: BadRank, BadDim, BadDType, NullArgument.
 */
TENON_API tenon_status tenon_logical_tensor_init(
    tenon_logical_tensor *tensor, uint64_t id, tenon_dtype dtype, int32_t rank,
    const int64_t *dims, tenon_layout layout, tenon_property property);

/** The same with strides in elements.  Errors: also BadStride (a negative one).
 */
TENON_API tenon_status tenon_logical_tensor_init_strided(
    tenon_logical_tensor *tensor, uint64_t id, tenon_dtype dtype, int32_t rank,
    const int64_t *dims, const int64_t *strides, tenon_property property);

/**
 * Bytes from the first to the last element.  Errors: UnknownShape; BadDim
 * (larger than any memory); BadStride (layout is ANY or UNDEF).
 */
TENON_API tenon_status tenon_logical_tensor_byte_size(
    const tenon_logical_tensor *tensor, size_t *bytes);

/** Whether id, dtype, sizes and addresses of elements are the same. */
TENON_API int32_t tenon_logical_tensor_equal(const tenon_logical_tensor *a,
                                             const tenon_logical_tensor *b);

/*===-- Engines and streams -----------------------------------------------===*/

/** Where memory of tensors and executions comes from, and what is compiled for.
 * Code and what is computed from constants lie in the C library's memory. */
typedef struct tenon_engine tenon_engine;

/**
 * `allocator` NULL: the C library's memory.  It is copied; its context must
 * outlive all objects made with the engine.  Errors: BadOption (one of the two
 * callbacks is missing), OutOfMemory.
 */
TENON_API tenon_status tenon_engine_create(const tenon_allocator *allocator,
                                           tenon_engine **engine);
TENON_API void tenon_engine_destroy(tenon_engine *engine);

/**
 * Sets an option of the compiler by the name of its flag, such as
 * "target-cpu", for what the engine compiles from now on.  `tenon compile
 * --help` lists them.  Errors: BadOption (no such option, or not a number or
 * boolean; which texts a value may be tenon_partition_compile knows).
 */
TENON_API tenon_status tenon_engine_set_option(tenon_engine *engine,
                                               const char *name,
                                               const char *value);

/** Threads that execute.  Execution is over when a call returns. */
typedef struct tenon_stream tenon_stream;

/**
 * `options` (NULL: one thread, the caller's) says whose threads: a team of its
 * own, the caller's pool, or none; its allocator is ignored for the engine's.
 * Many threads may execute on one stream at once; the first has its threads,
 * the others go alone; a failure of one may be told to the others.  Errors:
 * BadOption, OutOfMemory.
 */
TENON_API tenon_status tenon_stream_create(tenon_engine *engine,
                                           const tenon_exec_options *options,
                                           tenon_stream **stream);
TENON_API void tenon_stream_destroy(tenon_stream *stream);

/**
 * Changes `options` so that up to `threads` threads of the OpenMP library that
 * the process has loaded (GNU's, or one with its entry points) execute: those
 * that a framework computes with, so that no others spin beside them.  Errors:
 * BadOption (threads are not 1 to TENON_RT_MAX_THREADS; no such library).
 */
TENON_API tenon_status
tenon_exec_options_use_openmp(tenon_exec_options *options, int32_t threads);

/** The executor behind it, for profiling; owned by the stream. */
TENON_API tenon_exec *tenon_stream_get_exec(tenon_stream *stream);

/*===-- Tensors -----------------------------------------------------------===*/

/**
 * A logical tensor with memory.  What a partition computes from constants once
 * it keeps for the tensor as it was: give new data with tenon_tensor_set_data,
 * and tell of data changed in place with tenon_tensor_touch.  Addresses do not
 * matter, another tensor at the same address is another tensor.
 */
typedef struct tenon_tensor tenon_tensor;

/** For `data`: memory of the library, freed with the tensor. */
#define TENON_MEMORY_ALLOCATE ((void *)(intptr_t)-1)

/**
 * `data`: the caller's memory, aligned to the element; TENON_MEMORY_ALLOCATE
 * (uninitialised); or NULL, to be set later.  Errors: NullArgument,
 * UnknownShape, BadStride (layout ANY), BadTensorData (not aligned),
 * OutOfMemory.
 */
TENON_API tenon_status tenon_tensor_create(const tenon_logical_tensor *about,
                                           tenon_engine *engine, void *data,
                                           tenon_tensor **tensor);
/** A host scalar; `value` has the size and form of its dtype and is copied.
 * Errors: BadRank, BadDType, BadDim, NullArgument. */
TENON_API tenon_status
tenon_tensor_create_scalar(const tenon_logical_tensor *about, const void *value,
                           tenon_tensor **tensor);
TENON_API void tenon_tensor_destroy(tenon_tensor *tensor);
/** Errors: NullArgument, BadHandle (memory is the library's), BadTensorData. */
TENON_API tenon_status tenon_tensor_set_data(tenon_tensor *tensor, void *data);
/** NULL where none were set. */
TENON_API tenon_status tenon_tensor_get_data(const tenon_tensor *tensor,
                                             void **data);
/** The data have changed: what was computed from them once is no longer it. */
TENON_API tenon_status tenon_tensor_touch(tenon_tensor *tensor);
TENON_API tenon_status tenon_tensor_get_logical_tensor(
    const tenon_tensor *tensor, tenon_logical_tensor *about);

/**
 * Copies the elements of `from` to `to`, of equal dtype and sizes and any
 * layouts, opaque ones included.  Does not touch `to`.  Errors: ShapeMismatch,
 * BadDType, BadTensorData (no data).
 */
TENON_API tenon_status tenon_tensor_convert(tenon_stream *stream,
                                            const tenon_tensor *from,
                                            tenon_tensor *to);

/*===-- Operations and graphs ---------------------------------------------===*/

/** Kinds of operations: docs/ops.md. */
typedef enum tenon_op_kind {
#include "tenon_ops.inc"
} tenon_op_kind;

typedef struct tenon_op tenon_op;

/** `name` (may be NULL) appears in messages and profiles.  Errors: UnknownOp.
 */
TENON_API tenon_status tenon_op_create(uint64_t id, tenon_op_kind kind,
                                       const char *name, tenon_op **op);
/** Of a kind by name, "MatMul".  A kind that the table does not have is the
 * framework's own: it splits the graph as a Wildcard does.  Errors: UnknownOp
 * (an empty name). */
TENON_API tenon_status tenon_op_create_named(uint64_t id, const char *kind,
                                             const char *name, tenon_op **op);
TENON_API void tenon_op_destroy(tenon_op *op);
/* Edges in the order of docs/ops.md; `input` and `output` are copied.  NULL
 * leaves out an optional one before those that follow.  Errors: BadRank,
 * BadDType, BadDim, BadStride, OperandCount (NULL behind 64 edges). */
TENON_API tenon_status tenon_op_add_input(tenon_op *op,
                                          const tenon_logical_tensor *input);
TENON_API tenon_status tenon_op_add_output(tenon_op *op,
                                           const tenon_logical_tensor *output);
/* Attributes by name; an attribute set twice has the last value.  Names, types
 * and values are checked when the op is added to a graph. */
TENON_API tenon_status tenon_op_set_f32(tenon_op *op, const char *name,
                                        float value);
TENON_API tenon_status tenon_op_set_f32s(tenon_op *op, const char *name,
                                         const float *values, size_t count);
TENON_API tenon_status tenon_op_set_s64(tenon_op *op, const char *name,
                                        int64_t value);
TENON_API tenon_status tenon_op_set_s64s(tenon_op *op, const char *name,
                                         const int64_t *values, size_t count);
TENON_API tenon_status tenon_op_set_bool(tenon_op *op, const char *name,
                                         int32_t value);
TENON_API tenon_status tenon_op_set_string(tenon_op *op, const char *name,
                                           const char *value);
/** 0 for NULL. */
TENON_API uint64_t tenon_op_get_id(const tenon_op *op);
/** "MatMul"; empty for NULL. */
TENON_API const char *tenon_op_get_kind(const tenon_op *op);

typedef struct tenon_graph tenon_graph;

/** An empty graph. */
TENON_API tenon_status tenon_graph_create(tenon_graph **graph);
TENON_API void tenon_graph_destroy(tenon_graph *graph);

/**
 * Copies `op` into the graph after checking all that is known of it.  Edges
 * are what ids of logical tensors say; operations may come in any order.
 * Errors: those of the operation (codes 1100 to 1299); WrongState after
 * tenon_graph_finalize.  After an error the graph is as it was.
 */
TENON_API tenon_status tenon_graph_add_op(tenon_graph *graph,
                                          const tenon_op *op);

/**
 * Declares results of the graph, beside those that nobody reads and those that
 * an End reads.  Errors: UnknownTensor (nothing writes it), WrongState.
 */
TENON_API tenon_status tenon_graph_add_output(tenon_graph *graph,
                                              uint64_t tensor_id);

/**
 * What dim `dim` of a tensor of the graph is computed from: an expression of
 * names and numbers with + - * // % and parentheses, "batch * tokens".  A name
 * stands for one size in the whole graph; it is known, at the latest when the
 * partition is executed, from an input with a dim that is this name alone.
 * Results whose sizes do not follow from their operands need it: a reshape to
 * several unknown sizes.  The last call for a dim counts.
 * Errors: UnknownTensor (no operation has it), BadRank (no such dim, or the
 * rank is not known), AttrValue (no expression), WrongState.
 */
TENON_API tenon_status tenon_graph_set_size(tenon_graph *graph,
                                            uint64_t tensor_id, int32_t dim,
                                            const char *size);

/** Most pieces of code for likely sizes beside the general code. */
#define TENON_MOST_VERSIONS 8
/** No bound for tenon_graph_declare_size. */
#define TENON_NO_MAX INT64_MAX

/**
 * What is true of the size `name` (tenon_graph_set_size) in every execution: it
 * is from `min` to `max` and a multiple of `multiple_of`; 0, TENON_NO_MAX and 1
 * say nothing.  Code may rely on it; executing with another size is the error
 * BadSize.  For each of the `likely` values, at most 16, the likeliest first,
 * there is code of its own beside the general one, which executions with that
 * value use; likely values of several names are combined, and of the
 * combinations the first TENON_MOST_VERSIONS count.  `likely` is copied, and
 * may be NULL if there are none.  The last call for a name counts. Errors:
 * AttrValue (no name), BadSize (numbers that contradict), TooLarge (too many
 * likely values), WrongState.  tenon_graph_finalize fails with BadSize if no
 * dim of a tensor is the name alone.
 */
TENON_API tenon_status tenon_graph_declare_size(
    tenon_graph *graph, const char *name, int64_t min, int64_t max,
    int64_t multiple_of, size_t num_likely, const int64_t *likely);

/**
 * No more operations: sorts them, checks edges, infers shapes as far as they
 * follow.  Errors: Cycle, TwoProducers, ...; WrongState when it is finalized.
 * After an error the graph is as it was.
 */
TENON_API tenon_status tenon_graph_finalize(tenon_graph *graph);
TENON_API int32_t tenon_graph_is_finalized(const tenon_graph *graph);

/**
 * A finalized graph from the text of a file (JSON); `name` is for messages.
 * Any bytes are fine.  Input ports that no operation reads are ignored, and may
 * be given to compile and execute.  Errors: those of reading and of finalize.
 */
TENON_API tenon_status tenon_graph_from_json(const char *text, size_t length,
                                             const char *name,
                                             tenon_graph **graph);
/**
 * A finalized graph from a file: a graph (.json) or a model of ONNX (.onnx).
 * The weights of a model are constants that need not be given to compile and
 * execute, and tenon_partition_get_inputs leaves them out. They are views of
 * the file, which stays mapped while the graph, a partition or a compiled
 * partition of it exists, and must not be changed. Serialized code holds none
 * of them. What a model computes with double is computed in f32; inputs and
 * outputs of double are f64. Errors: those of reading, of finalize, and of
 * operators that are not known.
 */
TENON_API tenon_status tenon_graph_from_file(const char *path,
                                             tenon_graph **graph);
/**
 * The id of the tensor that the model calls `name`: an input, an output or a
 * weight. Errors: UnknownTensor.
 */
TENON_API tenon_status tenon_graph_find_tensor(const tenon_graph *graph,
                                               const char *name, uint64_t *id);
/** Calls a tensor so, in reports and in headers of
 * tenon_compiled_partition_export. Errors: UnknownTensor (no operation has it),
 * WrongState. */
TENON_API tenon_status tenon_graph_set_tensor_name(tenon_graph *graph,
                                                   uint64_t id,
                                                   const char *name);
/** What the model calls a tensor, the graph's; "": nothing. */
TENON_API const char *tenon_graph_get_tensor_name(const tenon_graph *graph,
                                                  uint64_t id);
/** The graph as such a text, NUL-terminated; the graph's until it is destroyed
 * or asked again, so by one thread at a time. */
TENON_API tenon_status tenon_graph_to_json(tenon_graph *graph,
                                           const char **text, size_t *length);

/*===-- Partitions --------------------------------------------------------===*/

typedef enum tenon_partition_policy {
  /** As large as they can be. */
  TENON_POLICY_FUSION = 1,
  /** One operation each. */
  TENON_POLICY_DEBUG = 2
} tenon_partition_policy;

/** Operations that are compiled together, or one that the framework has to
 * run.  Immutable; independent of its graph. */
typedef struct tenon_partition tenon_partition;

/**
 * The partitions of a finalized graph, in an order in which they can be
 * executed; each op is in exactly one (End in none).  Regions are convex: none
 * needs a result that needs one of its own.  Call with `partitions` NULL for
 * their number, then with room for `*count`; each is to be destroyed.
 * Errors: WrongState (not finalized), TooLarge (`*count` is too small).
 */
TENON_API tenon_status tenon_graph_get_partitions(tenon_graph *graph,
                                                  tenon_partition_policy policy,
                                                  size_t *count,
                                                  tenon_partition **partitions);

/** Of a single operation, without a graph.  Errors: as tenon_graph_add_op. */
TENON_API tenon_status tenon_partition_create(const tenon_op *op,
                                              tenon_partition **partition);
TENON_API void tenon_partition_destroy(tenon_partition *partition);

TENON_API uint64_t tenon_partition_get_id(const tenon_partition *partition);
/** Whether it compiles, as far as kinds and element types tell. */
TENON_API int32_t
tenon_partition_is_supported(const tenon_partition *partition);
/** Why not; empty when it does. */
TENON_API const char *
tenon_partition_get_reason(const tenon_partition *partition);
/** Ids of its operations, in an order in which they can be executed. */
TENON_API tenon_status tenon_partition_get_ops(const tenon_partition *partition,
                                               size_t *count,
                                               const uint64_t **ids);
/** What it reads and writes, in the order in which tensors are given. */
TENON_API tenon_status
tenon_partition_get_inputs(const tenon_partition *partition, size_t *count,
                           const tenon_logical_tensor **inputs);
TENON_API tenon_status
tenon_partition_get_outputs(const tenon_partition *partition, size_t *count,
                            const tenon_logical_tensor **outputs);

/*===-- Compiled partitions -----------------------------------------------===*/

/** Code.  Immutable, re-entrant. */
typedef struct tenon_compiled_partition tenon_compiled_partition;

/**
 * Compiles for these inputs and outputs: one for each port, by id, in any
 * order, which the compiled partition has then.  Inputs say sizes (unknown ones
 * are given at execution; not all operations compile then, and one that turns
 * out to be 1 does not broadcast) and layouts, STRIDED or OPAQUE; outputs may
 * leave sizes to be inferred, and with TENON_LAYOUT_ANY the layout to the
 * compiler. Equal requests are served from the caches below.
 *
 * Errors: PortMismatch (ids), BadDType (not the graph's), UnknownShape,
 * ShapeMismatch, BadStride, BadOption (an option's text), UnsupportedOp and the
 * other codes of the 2000s, Internal.
 */
TENON_API tenon_status tenon_partition_compile(
    const tenon_partition *partition, tenon_engine *engine, size_t num_inputs,
    const tenon_logical_tensor *inputs, size_t num_outputs,
    const tenon_logical_tensor *outputs, tenon_compiled_partition **compiled);
TENON_API void
tenon_compiled_partition_destroy(tenon_compiled_partition *compiled);

/** A port with the sizes and the layout compiled.  Errors: UnknownTensor. */
TENON_API tenon_status
tenon_compiled_partition_query(const tenon_compiled_partition *compiled,
                               uint64_t id, tenon_logical_tensor *tensor);

/** An input that may have the same memory as an output. */
typedef struct tenon_inplace_pair {
  uint64_t input_id;
  uint64_t output_id;
} tenon_inplace_pair;

/** If the tensors of a pair have the same address, the result is right all the
 * same; each output in one pair at most per execution.  Any other overlap of an
 * output is undefined.  Of more than 64 inputs that could be paired with one
 * output, those that are read last are listed. */
TENON_API tenon_status tenon_compiled_partition_get_inplace_pairs(
    const tenon_compiled_partition *compiled, size_t *count,
    const tenon_inplace_pair **pairs);

/**
 * Bytes of scratch of an execution.  With unknown sizes the tensors have to
 * say: inputs as for execution (NULL and 0 when all sizes are known).
 * Errors: UnknownShape, and those of tenon_compiled_partition_execute.
 */
TENON_API tenon_status tenon_compiled_partition_get_scratch_size(
    const tenon_compiled_partition *compiled, size_t num_inputs,
    const tenon_logical_tensor *inputs, size_t *bytes);

/**
 * Which code executes inputs as for tenon_compiled_partition_get_scratch_size:
 * that for likely sizes (tenon_graph_declare_size), "batch=1, tokens=128", or,
 * empty, that for all.  The text is the compiled partition's.  Errors: those of
 * tenon_compiled_partition_infer.
 */
TENON_API tenon_status tenon_compiled_partition_get_version(
    const tenon_compiled_partition *compiled, size_t num_inputs,
    const tenon_logical_tensor *inputs, const char **version);

/**
 * Sizes and layouts of all outputs, in the order of the ports, for inputs with
 * known sizes.  `outputs` has room for all of them.  Errors: PortMismatch,
 * UnknownShape, ShapeMismatch, BadSize (not as declared).
 */
TENON_API tenon_status tenon_compiled_partition_infer(
    const tenon_compiled_partition *compiled, size_t num_inputs,
    const tenon_logical_tensor *inputs, size_t num_outputs,
    tenon_logical_tensor *outputs);

/**
 * Computes now what depends on constants only, for the constant tensors given
 * (others are ignored).  Without this call the first execution does.
 * The sets of constants given last, up to four, are remembered.
 * Errors: PortMismatch (one is missing); BadDType, ShapeMismatch, BadStride (a
 * tensor is not what was compiled); BadTensorData, OutOfMemory.
 */
TENON_API tenon_status tenon_compiled_partition_bind_constants(
    tenon_compiled_partition *compiled, tenon_stream *stream,
    size_t num_tensors, const tenon_tensor *const *tensors);

/**
 * Executes: one tensor for each port, by id (the order of the ports is the
 * fastest).  When it returns the outputs are written.  Any number of threads
 * may execute one compiled partition at once, with outputs of their own.
 * `scratch`: memory of the caller's, at least of the size asked for, aligned to
 * 64 bytes, used by nobody else meanwhile; may be NULL if that size is 0.
 *
 * Errors: PortMismatch; BadDType, ShapeMismatch, BadStride (a tensor is not
 * what was compiled); BadSize (not as declared); BadTensorData (no data, not
 * aligned, scratch too small); OutOfMemory; Internal.  On an error outputs may
 * be partly written, but nothing outside them.
 */
TENON_API tenon_status tenon_compiled_partition_execute(
    tenon_compiled_partition *compiled, tenon_stream *stream, size_t num_inputs,
    const tenon_tensor *const *inputs, size_t num_outputs,
    tenon_tensor *const *outputs);
TENON_API tenon_status tenon_compiled_partition_execute_with_scratch(
    tenon_compiled_partition *compiled, tenon_stream *stream, size_t num_inputs,
    const tenon_tensor *const *inputs, size_t num_outputs,
    tenon_tensor *const *outputs, void *scratch, size_t scratch_size);

/**
 * The compiled partition as bytes, for tenon_compiled_partition_deserialise of
 * the same build of Tenon on a machine with the same instructions.  Call with
 * `bytes` NULL for the size, then with room for `*size`.  Errors: TooLarge.
 */
TENON_API tenon_status tenon_compiled_partition_serialise(
    const tenon_compiled_partition *compiled, size_t *size, void *bytes);
/** Errors: NotAnArtefact, ForeignArtefact, DamagedArtefact, UnsupportedTarget.
 */
TENON_API tenon_status tenon_compiled_partition_deserialise(
    const void *bytes, size_t size, tenon_engine *engine,
    tenon_compiled_partition **compiled);

#ifdef __cplusplus
}
#endif

#include "tenon_files.h"
#include "tenon_settings.h"

#endif /* TENON_H */
