//===- Files.cpp - reports, and code as files -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/api/CompiledPartition.h"
#include "compiler/api/Ports.h"
#include "compiler/api/tenon_files.h"
#include "compiler/driver/AotPaths.h"
#include "compiler/import/json/Json.h"
#include "compiler/report/Dot.h"
#include "compiler/report/Explanation.h"
#include "compiler/report/MemoryPlan.h"

#include <algorithm>
#include <cstring>

using namespace tenon;
using namespace tenon::api;

using Errors = std::vector<Error>;

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

/// "ReLU_7": reports tell operations by their names.
static void nameOperations(graph::Graph &graph) {
  for (graph::Op &op : graph.ops)
    if (op.name.empty())
      op.name = op.kind + "_" + std::to_string(op.id);
}

static Expected<std::string>
reportOf(graph::Graph graph, const Options &options, tenon_report kind) {
  nameOperations(graph);
  if (kind == TENON_REPORT_GRAPH)
    return json::writeJson(graph);
  auto prepared = graph::prepareGraph(graph);
  if (!prepared)
    return prepared.errors();
  if (kind == TENON_REPORT_ASSEMBLY)
    return assemblyOf(*prepared, options);
  CompileReport report;
  auto compiled = Compiled::compile(*prepared, options, &report);
  if (!compiled)
    return compiled.errors();
  const graph::Graph &made = (*compiled)->graph();
  if (kind == TENON_REPORT_DOT)
    return report::toDot(made, report.mainGroups);
  if (kind == TENON_REPORT_MEMORY)
    return report.arenaBytes ? report::memoryText(report) : std::string();
  report::Explainer explainer(made, report, options.fuse);
  report::Explanation all = report::explainAll(made, explainer);
  if (kind == TENON_REPORT_EXPLANATION)
    return report::explanationText(made, report, explainer, all);
  return report::explanationJson("", made, report, explainer, all);
}

tenon_status
tenon_compiled_partition_get_report(tenon_compiled_partition *compiled,
                                    tenon_engine *engine, tenon_report kind,
                                    const char **text, size_t *length) {
  if (text)
    *text = nullptr;
  return guarded([&]() -> Errors {
    if (auto e = checkHandle(compiled, "compiled"); !e.empty())
      return e;
    if (auto e = checkHandle(engine, "engine"); !e.empty())
      return e;
    if (auto e = needed({{"text", text}}); !e.empty())
      return e;
    if (kind < TENON_REPORT_EXPLANATION || kind > TENON_REPORT_ASSEMBLY)
      return errorList(ErrorCode::BadOption,
                       "there is no report " + std::to_string(int(kind)));
    auto made = reportOf(compiled->code->compiled->graph(),
                         engine->state->currentOptions(), kind);
    if (!made)
      return made.errors();
    compiled->report = std::move(*made);
    *text = compiled->report.c_str();
    if (length)
      *length = compiled->report.size();
    return {};
  });
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

void tenon_export_options_init(tenon_export_options *options) {
  if (!options)
    return;
  *options = {};
  options->struct_size = sizeof *options;
}

namespace {

std::string orEmpty(const char *text) { return text ? text : ""; }

std::vector<std::string> splitAtCommas(const std::string &text) {
  std::vector<std::string> pieces;
  for (size_t from = 0; from < text.size();) {
    size_t comma = std::min(text.find(',', from), text.size());
    pieces.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  return pieces;
}

/// "x", or "t7" for a tensor that has no name.
std::string nameOf(const graph::Graph &graph, uint64_t id) {
  const std::string &name = graph.tensor(id).name;
  return name.empty() ? "t" + std::to_string(id) : name;
}

Errors setPacking(AotRequest &request, const std::string &word) {
  using Packing = AotRequest::Packing;
  if (word == "compile")
    request.packing = Packing::compile;
  else if (word == "load")
    request.packing = Packing::load;
  else if (!word.empty() && word != "auto")
    return errorList(ErrorCode::BadOption,
                     "constants cannot be packed at \"" + word + "\"",
                     "give auto, compile or load");
  return {};
}

/// Values that came with the graph, and those that the caller gives.
Errors addConstants(const tenon_compiled_partition &compiled, size_t count,
                    const tenon_tensor *const *constants, AotRequest &request) {
  for (const auto &own : compiled.own)
    if (own && own->data)
      request.constants[own->about.id].assign(
          static_cast<const char *>(own->data),
          static_cast<size_t>(spanBytes(own->about)));
    else if (own)
      return errorList(ErrorCode::UnsupportedForm,
                       "a file has its constants in packed form only");
  for (size_t i = 0; i < count; ++i) {
    if (auto e = checkHandle(constants[i], "constants"); !e.empty())
      return e;
    uint64_t id = constants[i]->about.id;
    auto port = std::find_if(
        compiled.inputs.begin(), compiled.inputs.end(), [&](const Port &p) {
          return p.about.id == id &&
                 p.about.property == graph::PropertyType::constant;
        });
    if (port == compiled.inputs.end())
      return errorList(ErrorCode::UnknownTensor,
                       "tensor " + std::to_string(id) +
                           " is no constant input of the partition");
    if (auto e = checkTensor(*port, *constants[i]); !e.empty())
      return e;
    request.constants[id].assign(static_cast<const char *>(constants[i]->data),
                                 static_cast<size_t>(spanBytes(port->about)));
  }
  return {};
}

} // namespace

tenon_status
tenon_compiled_partition_export(const tenon_compiled_partition *compiled,
                                tenon_engine *engine, size_t num_constants,
                                const tenon_tensor *const *constants,
                                const tenon_export_options *options) {
  return guarded([&]() -> Errors {
    if (auto e = checkHandle(compiled, "compiled"); !e.empty())
      return e;
    if (auto e = checkHandle(engine, "engine"); !e.empty())
      return e;
    if (auto e = needed({{"options", options}}); !e.empty())
      return e;
    if ((num_constants && !constants) || !options->output ||
        (options->num_links && !options->links))
      return needed({{"constants, output or links", nullptr}});
    AotRequest request;
    request.options = engine->state->currentOptions();
    request.targets = splitAtCommas(orEmpty(options->targets));
    request.triple = orEmpty(options->triple);
    request.link.linker = orEmpty(options->linker);
    request.link.files.assign(options->links,
                              options->links + options->num_links);
    request.nameOf = nameOf;
    if (auto e = setPacking(request, orEmpty(options->packing)); !e.empty())
      return e;
    AotPaths paths{options->output, orEmpty(options->header),
                   orEmpty(options->weights), orEmpty(options->name)};
    if (auto ok = planFiles(paths, request); !ok)
      return ok.errors();
    if (auto e = addConstants(*compiled, num_constants, constants, request);
        !e.empty())
      return e;
    auto graph = graph::prepareGraph(compiled->code->compiled->graph());
    if (!graph)
      return graph.errors();
    auto files = compileAhead(*graph, std::move(request));
    if (!files)
      return files.errors();
    auto written = writeAotFiles(paths, *files);
    return written ? Errors{} : written.errors();
  });
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

tenon_status
tenon_compiled_partition_from_file(const char *path, const char *weights,
                                   tenon_engine *engine,
                                   tenon_compiled_partition **compiled) {
  if (compiled)
    *compiled = nullptr;
  return guarded([&]() -> Errors {
    if (auto e = checkHandle(engine, "engine"); !e.empty())
      return e;
    if (auto e = needed({{"path", path}, {"compiled", compiled}}); !e.empty())
      return e;
    auto file = readAotFile(path);
    if (!file)
      return file.errors();
    AotLoadOptions options;
    options.weightsFile = orEmpty(weights);
    auto loaded = loadAotFile(*file, options);
    if (!loaded)
      return loaded.errors();
    auto code = std::make_shared<Code>();
    code->compiled = std::move(*loaded);
    *compiled = makeCompiled(code, {});
    return {};
  });
}

//===----------------------------------------------------------------------===//
// Ports
//===----------------------------------------------------------------------===//

tenon_status
tenon_compiled_partition_get_inputs(const tenon_compiled_partition *compiled,
                                    size_t *count,
                                    const tenon_logical_tensor **inputs) {
  return getList(compiled, "compiled", &tenon_compiled_partition::givenInputs,
                 count, inputs);
}

tenon_status
tenon_compiled_partition_get_outputs(const tenon_compiled_partition *compiled,
                                     size_t *count,
                                     const tenon_logical_tensor **outputs) {
  return getList(compiled, "compiled", &tenon_compiled_partition::givenOutputs,
                 count, outputs);
}

const char *tenon_compiled_partition_get_tensor_name(
    const tenon_compiled_partition *compiled, uint64_t id) {
  if (!compiled)
    return "";
  for (const auto *ports : {&compiled->inputs, &compiled->outputs})
    for (const Port &port : *ports)
      if (port.about.id == id)
        return port.about.name.c_str();
  return "";
}
