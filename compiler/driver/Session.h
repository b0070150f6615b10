//===- Session.h - compiling and executing graphs --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
//   auto model = Compiled::compile(graph, options);
//   auto exec  = Executor::create({.threads = 2});
//   (*model)->bindConstants(**exec, weights);
//   (*model)->execute(**exec, inputs, outputs);
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/driver/Options.h"
#include "compiler/driver/Target.h"
#include "compiler/import/Load.h"
#include "compiler/report/CompileReport.h"
#include "dialects/graph/infer/Prepare.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

struct tenon_exec;
struct tenon_model;

namespace tenon {

struct Artefact;

/// Where to execute. Own team, caller's pool or the calling thread.
class Executor {
public:
  using ParallelFor = void (*)(void *pool, int64_t n,
                               void (*body)(void *arg, int64_t i), void *arg);
  struct Config {
    int threads = 1; // team size when no pool is given
    ParallelFor parallelFor = nullptr;
    void *pool = nullptr;
    int concurrency = 0; // of the pool
    bool profile = false;
  };
  struct SectionTime {
    std::string name;
    int64_t calls = 0;
    double seconds = 0;
  };

  static Expected<std::unique_ptr<Executor>> create(const Config &config);
  ~Executor();
  tenon_exec *handle() const { return exec; }
  /// Sums since the last reset, when profiling.
  std::vector<SectionTime> profile() const;
  void resetProfile();

private:
  explicit Executor(tenon_exec *exec) : exec(exec) {}
  tenon_exec *exec;
};

/// A tensor in the caller's memory, in the dtype of the graph (booleans, u8
/// and s8 one byte per element) with the strides of the graph's logical tensor.
/// `shape` must be known, and be the graph's where that is known.
struct HostTensor {
  void *data = nullptr;
  graph::Dims shape;
};
using HostTensors = std::map<uint64_t, HostTensor>; // by tensor id

/// Executable code of one graph. Immutable but for bindConstants; execute may
/// be called by several threads at once, each with its own Executor.
class Compiled {
public:
  /// Unknown dims stay symbolic. Errors: UnsupportedOp, UnsupportedDType,
  /// UnsupportedForm, UnsupportedTarget, BadOption, Internal.
  static Expected<std::unique_ptr<Compiled>>
  compile(const graph::PreparedGraph &graph, const Options &options,
          CompileReport *report = nullptr);
  /// Prepares the graph and compiles it. Errors: graph::prepareGraph's, too.
  static Expected<std::unique_ptr<Compiled>>
  compile(const graph::Graph &graph, const Options &options,
          CompileReport *report = nullptr);
  /// Links a compiled graph into this process. Errors: Internal.
  static Expected<std::unique_ptr<Compiled>> load(Artefact artefact);
  ~Compiled();

  /// The graph as compiled (topologically sorted, ports complete, inferred).
  const graph::Graph &graph() const;
  /// What the runtime executes; lives as long as this.
  const tenon_model *model() const;
  /// Values of a constant input that came with the code, in its dtype and
  /// strides; null: there are none. They win over what the caller gives.
  const void *weight(uint64_t id) const;
  /// Whether the code came with constant `id` in packed form only.
  bool isPacked(uint64_t id) const;
  /// Whether all sizes are known.
  bool isStatic() const;
  /// Positions of the inputs that folding reads, in order.
  std::vector<size_t> foldedInputs() const;
  /// Folds everything that depends on constants only. Must precede execute
  /// when the graph has constant inputs; may be called again after they
  /// changed, but not while another thread executes.
  Expected<bool> bindConstants(Executor &exec, const HostTensors &constants);
  /// Runs once: the version for these sizes, or else the code for all. `inputs`
  /// must hold every input port that is no constant and
  /// every constant input (the code may read those too); `outputs` every
  /// output port. Shapes are checked against the graph by inference.
  /// Errors: BadSize, among others.
  Expected<bool> execute(Executor &exec, const HostTensors &inputs,
                         const HostTensors &outputs);
  /// Shapes of all outputs for these input shapes.
  Expected<std::map<uint64_t, graph::Dims>>
  outputShapes(const std::map<uint64_t, graph::Dims> &inputs) const;
  /// The version that executes these input shapes, by the sizes it is for,
  /// "batch=1, tokens=128"; empty: the code for all sizes. Errors: those of
  /// outputShapes.
  Expected<std::string>
  versionFor(const std::map<uint64_t, graph::Dims> &inputs) const;

  struct Impl;
  /// For the driver.
  static std::unique_ptr<Compiled> adopt(std::unique_ptr<Impl> impl);

private:
  explicit Compiled(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

/// IR text after `phase` ("" or "import": as imported). With `fromPhase`,
/// `text` is IR that has been through that phase, and the following ones run;
/// after "import" it is a graph, which is prepared.
Expected<std::string> lowerToPhase(const graph::PreparedGraph &graph,
                                   const Options &options,
                                   std::string_view phase,
                                   bool locations = false);
Expected<std::string> lowerText(std::string_view mlirText,
                                const Options &options,
                                std::string_view fromPhase,
                                std::string_view toPhase);
/// One numbered file per phase in `directory`.
Expected<bool> dumpPhases(const graph::PreparedGraph &graph,
                          const Options &options, const std::string &directory);
/// Assembly of everything compiled.
Expected<std::string> assemblyOf(const graph::PreparedGraph &graph,
                                 const Options &options);

/// A graph from .json or .mlir (graph dialect), or a model from .onnx, by file
/// name extension.  Errors: those of reading and of the graph; BadOption for a
/// compiled file.
Expected<Model> readModel(const std::string &path,
                          const LoadOptions &options = {});

} // namespace tenon
