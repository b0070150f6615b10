//===- Execution.h - compiled code on real memory ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Executors as the command line describes them, buffers for one execution, and
// the reference results that executions are judged by.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/check/Reference.h"
#include "compiler/driver/Session.h"
#include "compiler/import/Model.h"
#include "dialects/graph/reference/Tensor.h"
#include "tools/tenon/Pool.h"
#include "tools/tenon/Tensors.h"

#include <map>
#include <memory>
#include <vector>

namespace tenon::cli {

using TensorMap = std::map<uint64_t, reference::Tensor>;

/// Values of all inputs of `graph` but those in `given`: what `specs` ask for,
/// and filled from `seed` where they ask for nothing.  Errors: those of
/// check::fillInputs, resolveTensor and makeTensor; BadOption for a tensor that
/// is no input, or that has values.
Expected<TensorMap> makeInputs(const graph::Graph &graph, uint64_t seed,
                               const std::vector<TensorSpec> &specs,
                               const Constants &given = {});
/// Adds the values of `given` that `graph` reads. Errors: BadTensorData.
std::vector<Error> addValues(const graph::Graph &graph, const Constants &given,
                             TensorMap &values);

/// An executor with what it needs to live.
struct Execution {
  std::unique_ptr<Pool> pool; // outlives the executor
  std::unique_ptr<Executor> executor;

  static Expected<Execution> create(int threads, bool callerPool,
                                    bool profile = false);
};

/// The strides in memory: the graph's, dense where it states none.
graph::Dims stridesFor(const graph::LogicalTensor &tensor,
                       const graph::Dims &shape);

/// Memory for `tensor` with the elements of `value`. Errors: those of
/// TensorBuffer::allocate and TensorBuffer::write.
Expected<TensorBuffer> bufferOf(const graph::LogicalTensor &tensor,
                                const reference::Tensor &value);

/// Memory for the ports of one execution.
class Buffers {
public:
  /// Inputs hold `values`.  `graph` is what is executed: static shapes of
  /// inputs.  Shapes of outputs that it lacks come from `compiled`. Constants
  /// in `given`, which must outlive this, are not copied.
  static Expected<Buffers> create(const Compiled &compiled,
                                  const graph::Graph &graph,
                                  const TensorMap &values,
                                  const Constants &given = {});

  /// All input ports, the constant ones too.
  const HostTensors &inputs() const { return inputViews; }
  /// Input ports that are constants.
  const HostTensors &constants() const { return constantViews; }
  const HostTensors &outputs() const { return outputViews; }

  void clearOutputs();
  /// The values of the outputs.  Errors: Internal, when the execution wrote
  /// to inputs or outside of tensors.
  Expected<TensorMap> results() const;
  size_t bytes() const;

private:
  std::map<uint64_t, TensorBuffer> inputBuffers, outputBuffers;
  std::map<uint64_t, uint64_t> inputHashes;
  HostTensors inputViews, constantViews, outputViews;
};

/// Binds the constants when there are any.
Expected<bool> bindConstants(Compiled &compiled, Executor &executor,
                             const Buffers &buffers);
/// Executes once on cleared outputs and returns their values.
Expected<TensorMap> executeOnce(Compiled &compiled, Executor &executor,
                                Buffers &buffers);

/// What `compiled` does otherwise than the definition says, as these options
/// let it.
check::Arithmetic arithmeticOf(const Options &options,
                               const Compiled &compiled);

/// Reference results of one graph for one set of inputs, kept for any number
/// of comparisons.
class Oracle {
public:
  /// `graph` has static inputs.  Errors: those of reference::evaluate.
  static Expected<Oracle> create(const graph::Graph &graph, TensorMap inputs,
                                 const check::Arithmetic &arithmetic,
                                 int threads);

  /// Judges every output that the oracle has.  Errors: UnknownTensor.
  Expected<std::vector<check::Judgement>> judge(const TensorMap &got) const;
  /// The errors of judge, and one Mismatch for every output that fails.
  std::vector<Error> check(const TensorMap &got) const;

private:
  Oracle(check::Reference reference) : reference(std::move(reference)) {}

  check::Reference reference;
  std::map<uint64_t, std::string> names;
};

/// Evaluation takes three tensors of doubles for each edge at worst.
double oracleBytes(const graph::Graph &graph);

} // namespace tenon::cli
