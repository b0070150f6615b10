/*===-- check.h - what the examples of the C interface share -----*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0                                      *|
|*                                                                          *|
|* An example stops at the first call that fails and at the first number    *|
|* that is wrong, so that its test is to run it.                            *|
|*                                                                          *|
\*===----------------------------------------------------------------------===*/
#ifndef TENON_EXAMPLES_CHECK_H
#define TENON_EXAMPLES_CHECK_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <tenon.h>
#ifdef __cplusplus
#include <tenon.hpp>
#endif

/** Ends the program unless the call has succeeded. */
#define TRY(call)                                                              \
  do {                                                                         \
    if ((call) != TENON_SUCCESS) {                                             \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                       \
              tenon_last_error()->text);                                       \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

/** Ends the program unless it is so. */
#define EXPECT(condition)                                                      \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);  \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

/** Whether two sums of a few hundred products are the same but for rounding. */
static inline int is_near(double a, double b) {
  return fabs(a - b) <= 1e-4 * (1 + fabs(b));
}

/** Numbers from -1 to 1 that look random; other `seed`, other numbers. */
static inline void fill(float *values, size_t count, uint32_t seed) {
  size_t i;
  for (i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    values[i] = (float)(seed >> 8) / (float)(1 << 23) - 1.0f;
  }
}

/** The edge `id`: dense, f32. */
static inline tenon_logical_tensor edge(uint64_t id, int32_t rank,
                                        const int64_t *dims) {
  tenon_logical_tensor made;
  TRY(tenon_logical_tensor_init(&made, id, TENON_F32, rank, dims,
                                TENON_LAYOUT_STRIDED, TENON_PROPERTY_VARIABLE));
  return made;
}

/** An operation with one result and no attributes yet. */
static inline tenon_op *new_op(uint64_t id, tenon_op_kind kind,
                               const char *name, int num_inputs,
                               const tenon_logical_tensor *const *inputs,
                               const tenon_logical_tensor *output) {
  tenon_op *op;
  int i;
  TRY(tenon_op_create(id, kind, name, &op));
  for (i = 0; i < num_inputs; ++i)
    TRY(tenon_op_add_input(op, inputs[i]));
  TRY(tenon_op_add_output(op, output));
  return op;
}

/** Gives the operation to the graph. */
static inline void add_op(tenon_graph *graph, tenon_op *op) {
  TRY(tenon_graph_add_op(graph, op));
  tenon_op_destroy(op);
}

/** The partition of a graph that is to be a single one; ends the graph. */
static inline tenon_partition *only_partition(tenon_graph *graph) {
  tenon_partition *partition;
  size_t count = 1;
  TRY(tenon_graph_finalize(graph));
  TRY(tenon_graph_get_partitions(graph, TENON_POLICY_FUSION, &count,
                                 &partition));
  EXPECT(count == 1 && tenon_partition_is_supported(partition));
  tenon_graph_destroy(graph);
  return partition;
}

static inline tenon_tensor *new_tensor(const tenon_logical_tensor *about,
                                       tenon_engine *engine, void *data) {
  tenon_tensor *tensor;
  TRY(tenon_tensor_create(about, engine, data, &tensor));
  return tensor;
}

/** Executes with tensors that end with it. */
static inline void execute(tenon_compiled_partition *compiled,
                           tenon_stream *stream, size_t num_inputs,
                           tenon_tensor *const *inputs, tenon_tensor *output) {
  size_t i;
  TRY(tenon_compiled_partition_execute(compiled, stream, num_inputs,
                                       (const tenon_tensor *const *)inputs, 1,
                                       &output));
  for (i = 0; i < num_inputs; ++i)
    tenon_tensor_destroy(inputs[i]);
  tenon_tensor_destroy(output);
}

#ifdef __cplusplus
/** A graph whose edges and operations are numbered as they come. */
class Net {
public:
  /** A dense edge. */
  tenon::LogicalTensor edge(const std::vector<int64_t> &dims,
                            tenon_dtype dtype = TENON_F32) {
    return tenon::LogicalTensor(edges++, dtype, dims);
  }
  /** An edge with distances in elements, a view of a larger tensor. */
  tenon::LogicalTensor view(const std::vector<int64_t> &dims,
                            const std::vector<int64_t> &strides,
                            tenon_dtype dtype = TENON_F32) {
    return tenon::LogicalTensor::strided(edges++, dtype, dims, strides);
  }
  /** An operation; `add` it when it has its edges and attributes. */
  tenon::Op op(tenon_op_kind kind, const char *name) {
    return tenon::Op(ops++, kind, name);
  }
  void add(const tenon::Op &op) { graph.add(op); }
  /** Adds an operation without attributes; its result is of these sizes. */
  tenon::LogicalTensor apply(tenon_op_kind kind, const char *name,
                             const std::vector<tenon::LogicalTensor> &inputs,
                             const std::vector<int64_t> &dims,
                             tenon_dtype dtype = TENON_F32) {
    tenon::LogicalTensor result = edge(dims, dtype);
    tenon::Op made = op(kind, name);
    for (const tenon::LogicalTensor &input : inputs)
      made.input(input);
    add(made.output(result));
    return result;
  }
  /** The one partition of the whole graph, with these results at least. */
  tenon::Partition finish(const std::vector<tenon::LogicalTensor> &outputs) {
    for (const tenon::LogicalTensor &output : outputs)
      graph.output(output.id);
    graph.finalize();
    std::vector<tenon::Partition> partitions = graph.partitions();
    EXPECT(partitions.size() == 1 && partitions[0].isSupported());
    return std::move(partitions[0]);
  }

private:
  tenon::Graph graph;
  uint64_t edges = 0, ops = 0;
};

/** An edge, and where the program keeps it. */
struct Bound {
  tenon::LogicalTensor about;
  void *memory;
};

/** A whole graph, compiled, with the buffers that it reads and writes. */
class Call {
public:
  Call(Net &net, const tenon::Engine &engine, const std::vector<Bound> &inputs,
       const std::vector<Bound> &outputs)
      : compiled(net.finish(edgesOf(outputs))
                     .compile(engine, edgesOf(inputs), edgesOf(outputs))) {
    for (const Bound &input : inputs)
      in.emplace_back(input.about, engine, input.memory);
    for (const Bound &output : outputs)
      out.emplace_back(output.about, engine, output.memory);
  }
  void run(const tenon::Stream &stream) {
    std::vector<const tenon::Tensor *> reads;
    std::vector<tenon::Tensor *> writes;
    for (const tenon::Tensor &tensor : in)
      reads.push_back(&tensor);
    for (tenon::Tensor &tensor : out)
      writes.push_back(&tensor);
    compiled.execute(stream, reads, writes);
  }
  /** Whether the result may have the memory of the input. */
  bool isInPlace(const tenon::LogicalTensor &input,
                 const tenon::LogicalTensor &output) const {
    for (const tenon_inplace_pair &pair : compiled.inplacePairs())
      if (pair.input_id == input.id && pair.output_id == output.id)
        return true;
    return false;
  }

private:
  static std::vector<tenon::LogicalTensor>
  edgesOf(const std::vector<Bound> &all) {
    std::vector<tenon::LogicalTensor> edges;
    for (const Bound &one : all)
      edges.push_back(one.about);
    return edges;
  }

  tenon::CompiledPartition compiled;
  std::vector<tenon::Tensor> in, out;
};

/** The main of an example in C++: 1 when a call fails. */
inline int run_example(void (*run)()) {
  try {
    run();
  } catch (const tenon::Exception &e) {
    fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
#endif

#endif
