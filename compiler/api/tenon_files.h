/*===-- tenon_files.h - reports, and code as files --------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0                                      *|
|*                                                                          *|
|* What people want to know of compiled partitions, and compiled partitions *|
|* as objects and libraries.  tenon.h includes it.                          *|
|*                                                                          *|
\*===----------------------------------------------------------------------===*/
#ifndef TENON_FILES_H
#define TENON_FILES_H

#include "tenon.h"

#ifdef __cplusplus
extern "C" {
#endif

/*===-- Reports -----------------------------------------------------------===*/

typedef enum tenon_report {
  /** Lines that say where each operation went and what became of each tensor,
   * as `tenon explain` prints them. */
  TENON_REPORT_EXPLANATION = 1,
  /** The same for programs, as JSON. */
  TENON_REPORT_EXPLANATION_JSON = 2,
  /** The fused graph in the language of graphviz. */
  TENON_REPORT_DOT = 3,
  /** The buffers between groups, and where each lies; empty when sizes are not
   * known. */
  TENON_REPORT_MEMORY = 4,
  /** The graph as compiled, as tenon_graph_from_json reads it. */
  TENON_REPORT_GRAPH = 5,
  /** The machine code, as assembly. */
  TENON_REPORT_ASSEMBLY = 6
} tenon_report;

/**
 * A report about a compiled partition, NUL-terminated; all but
 * TENON_REPORT_GRAPH compile it once more, with the options of the engine, and
 * take as long.  The text is the compiled partition's until it is destroyed or
 * asked again, so by one thread at a time.  Errors: BadOption (no such report),
 * those of tenon_partition_compile.
 */
TENON_API tenon_status tenon_compiled_partition_get_report(
    tenon_compiled_partition *compiled, tenon_engine *engine,
    tenon_report report, const char **text, size_t *length);

/*===-- Files -------------------------------------------------------------===*/

/** Initialise with tenon_export_options_init; NULL is what is not wanted. */
typedef struct tenon_export_options {
  /** sizeof(tenon_export_options). */
  size_t struct_size;
  /** The file to write: an object (.o), a library (.so) or an archive (.a). */
  const char *output;
  /** A C header to write. */
  const char *header;
  /** A file for the values of constants, which are otherwise in the output. */
  const char *weights;
  /** Begins the names of all functions; NULL: that of the output. */
  const char *name;
  /** CPUs, separated by commas; NULL: the one of the engine's options. */
  const char *targets;
  /** Another machine, such as "aarch64-linux-gnu"; NULL: this one. */
  const char *triple;
  /** When constants are packed: "auto", "compile" or "load". */
  const char *packing;
  /** A linker like ld; NULL: ld.lld or ld. */
  const char *linker;
  /** Further files of a library, such as libtenon_rt.so for it to load. */
  size_t num_links;
  const char *const *links;
} tenon_export_options;

TENON_API void tenon_export_options_init(tenon_export_options *options);

/**
 * Writes the compiled partition as code that C programs link (docs/aot.md),
 * compiled with the options of the engine.  Constant inputs for which a tensor
 * is given get its values; programs give the others.  All files are written or
 * none.  Errors: BadOption, UnsupportedTarget, CannotRead (no linker),
 * CannotWrite, UnknownTensor (a tensor is no constant input), and those of
 * tenon_partition_compile.
 */
TENON_API tenon_status tenon_compiled_partition_export(
    const tenon_compiled_partition *compiled, tenon_engine *engine,
    size_t num_constants, const tenon_tensor *const *constants,
    const tenon_export_options *options);

/**
 * Loads such a file, or one of the command line; objects and archives are
 * linked for that.  `weights` is its file of weights, or NULL.  Code is
 * executed from it: only a file that you trust.  The file stays loaded until
 * the process ends. Errors: CannotRead, NotAnArtefact, ForeignArtefact,
 * DamagedArtefact, UnsupportedTarget.
 */
TENON_API tenon_status tenon_compiled_partition_from_file(
    const char *path, const char *weights, tenon_engine *engine,
    tenon_compiled_partition **compiled);

/**
 * What an execution gives and gets, in order; the lists are the compiled
 * partition's.  Inputs whose values came with the graph or the file are not
 * among them.
 */
TENON_API tenon_status tenon_compiled_partition_get_inputs(
    const tenon_compiled_partition *compiled, size_t *count,
    const tenon_logical_tensor **inputs);
TENON_API tenon_status tenon_compiled_partition_get_outputs(
    const tenon_compiled_partition *compiled, size_t *count,
    const tenon_logical_tensor **outputs);
/** What the model calls a tensor, the compiled partition's; "": nothing. */
TENON_API const char *tenon_compiled_partition_get_tensor_name(
    const tenon_compiled_partition *compiled, uint64_t id);

#ifdef __cplusplus
}
#endif

#endif /* TENON_FILES_H */
