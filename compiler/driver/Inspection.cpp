//===- Inspection.cpp - IR, phase by phase, and assembly ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/jit/Compile.h"
#include "compiler/driver/Aot.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/driver/Reproducer.h"
#include "compiler/import/Load.h"
#include "dialects/graph/Convert.h"
#include "dialects/support/Fail.h"
#include "dialects/support/WriteFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace mlir;

namespace tenon {

/// Runs the phases from the imported graph and keeps the pipeline.
static Expected<std::unique_ptr<Pipeline>>
runPhases(const graph::PreparedGraph &graph, const Options &options,
          const Target &target, std::string_view to,
          const std::function<void(const Phase &, Pipeline &)> &after = {}) {
  auto pipeline = std::make_unique<Pipeline>(options);
  if (auto errors = pipeline->import(graph, target); !errors.empty())
    return errors;
  auto errors = pipeline->run("", to, [&](const Phase &phase, double) {
    if (after)
      after(phase, *pipeline);
  });
  if (!errors.empty())
    return errors;
  return pipeline;
}

/// Writes `text` to a new file in `folder`; its path, or empty when it cannot
/// be written.
static std::string writeTemporary(const std::string &folder,
                                  const std::string &text) {
  llvm::SmallString<128> model(folder), path;
  if (model.empty())
    llvm::sys::path::system_temp_directory(true, model);
  if (llvm::sys::fs::create_directories(model))
    return {};
  llvm::sys::path::append(model, "tenon-%%%%%%%%.mlir");
  int file = -1;
  if (llvm::sys::fs::createUniqueFile(model, file, path))
    return {};
  if (llvm::sys::Process::SafelyCloseFileDescriptor(file))
    return {};
  if (writeFile(path.str(), text))
    return path.str().str();
  (void)llvm::sys::fs::remove(path); // there is nothing else to say
  return {};
}

void keepReproducer(const graph::PreparedGraph &graph, const Options &options,
                    const Target &target, std::string_view reached,
                    std::vector<Error> &errors) {
  if (options.reproducer == "none")
    return;
  auto internal = llvm::find_if(
      errors, [](const Error &e) { return e.code == ErrorCode::Internal; });
  if (internal == errors.end())
    return;
  auto phases = allPhases();
  size_t next = 0;
  while (!reached.empty() && phases[next++].name != reached) {
  }
  if (next == phases.size())
    return;
  // Nothing fails in import: IR exists from there on.
  std::string from(reached.empty() ? "import" : reached);
  auto pipeline = runPhases(graph, options, target, from);
  if (!pipeline)
    return;
  std::string command =
      "--compile-from=" + from +
      " --compile-to=" + std::string(phases[next].name) +
      " --target-cpu=" + options.targetCpu + " --schedule=" + options.schedule +
      " --max-group-ops=" + std::to_string(options.maxGroupOps) +
      " --chains=" + options.chains + " --winograd=" + options.winograd +
      " --denormals=" + options.denormals +
      (options.fastMath ? " --fast-math" : "") +
      (options.fuse ? "" : " --no-fuse");
  std::string path = writeTemporary(options.reproducer,
                                    "// tenon inspect THIS_FILE " + command +
                                        "\n" + (*pipeline)->text(true));
  if (!path.empty())
    internal->hint = "this is a fault of Tenon; to repeat it: tenon inspect " +
                     path + " " + command;
}

static std::optional<Error> checkPhase(std::string_view name) {
  if (findPhase(name))
    return std::nullopt;
  std::string all;
  for (const Phase &p : allPhases())
    all += (all.empty() ? "" : ", ") + std::string(p.name);
  return fail(ErrorCode::BadOption,
              "there is no phase '" + std::string(name) + "'",
              "phases are " + all);
}

Expected<std::string> lowerToPhase(const graph::PreparedGraph &graph,
                                   const Options &options,
                                   std::string_view phase, bool locations) {
  if (phase.empty())
    phase = "import";
  if (auto e = checkPhase(phase))
    return *e;
  auto target = Target::resolve(options);
  if (!target)
    return target.errors();
  auto pipeline = runPhases(graph, options, *target, phase);
  if (!pipeline)
    return pipeline.errors();
  return (*pipeline)->text(locations);
}

/// Imports the graph that was parsed.
static std::vector<Error> prepareParsed(Pipeline &pipeline,
                                        const Target &target) {
  auto graph = graph::fromMLIR(pipeline.module());
  if (!graph)
    return graph.errors();
  auto prepared = graph::prepareGraph(std::move(*graph));
  if (!prepared)
    return prepared.errors();
  return pipeline.import(*prepared, target);
}

Expected<std::string> lowerText(std::string_view mlirText,
                                const Options &options,
                                std::string_view fromPhase,
                                std::string_view toPhase) {
  if (auto e = checkPhase(fromPhase))
    return *e;
  if (auto e = checkPhase(toPhase))
    return *e;
  auto target = Target::resolve(options);
  if (!target)
    return target.errors();
  Pipeline pipeline(options);
  if (auto errors = pipeline.parse(mlirText); !errors.empty())
    return errors;
  // After import it is a graph, which may have been edited.
  bool isGraph = fromPhase == allPhases().front().name;
  if (auto errors = isGraph ? prepareParsed(pipeline, *target)
                            : pipeline.setTarget(*target);
      !errors.empty())
    return errors;
  if (auto errors = pipeline.run(fromPhase, toPhase); !errors.empty())
    return errors;
  return pipeline.text(false);
}

Expected<bool> dumpPhases(const graph::PreparedGraph &graph,
                          const Options &options,
                          const std::string &directory) {
  auto target = Target::resolve(options);
  if (!target)
    return target.errors();
  if (std::error_code ec = llvm::sys::fs::create_directories(directory))
    return fail(ErrorCode::CannotWrite,
                "cannot create " + directory + ": " + ec.message());
  std::vector<Error> errors;
  int n = 0;
  auto pipeline = runPhases(
      graph, options, *target, "llvm", [&](const Phase &phase, Pipeline &p) {
        std::string file = directory + "/" + (n < 10 ? "0" : "") +
                           std::to_string(n) + "-" + std::string(phase.name) +
                           ".mlir";
        ++n;
        if (!errors.empty())
          return;
        if (auto written = writeFile(file, p.text(true)); !written)
          errors = written.errors();
      });
  if (!pipeline)
    return pipeline.errors();
  if (!errors.empty())
    return errors;
  return true;
}

Expected<std::string> assemblyOf(const graph::PreparedGraph &graph,
                                 const Options &options) {
  auto target = Target::resolve(options);
  if (!target)
    return target.errors();
  auto pipeline = runPhases(graph, options, *target, "llvm");
  if (!pipeline)
    return pipeline.errors();
  codegen::CompileOptions co;
  std::string assembly;
  co.assembly = &assembly;
  auto object =
      codegen::compileToObject((*pipeline)->module(), target->spec, co);
  if (!object)
    return object.errors();
  return assembly;
}

Expected<Model> readModel(const std::string &path, const LoadOptions &options) {
  if (isAotFile(path))
    return fail(ErrorCode::BadOption,
                path + ": is a compiled file, not a graph",
                "run, bench and inspect take compiled files");
  if (!path.ends_with(".mlir"))
    return loadModel(path, options);
  auto text = readTextFile(path, options.maxFileSize);
  if (!text)
    return text.errors();
  Pipeline pipeline{Options()};
  if (auto errors = pipeline.parse(*text); !errors.empty())
    return errors;
  auto graph = graph::fromMLIR(pipeline.module());
  if (!graph)
    return graph.errors();
  return Model{std::move(*graph), {}, {}};
}

} // namespace tenon
