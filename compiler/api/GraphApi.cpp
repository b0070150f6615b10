//===- GraphApi.cpp - operations and graphs -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/api/Api.h"
#include "compiler/import/Load.h"
#include "compiler/import/json/Json.h"
#include "dialects/graph/Merge.h"
#include "dialects/graph/OpTable.h"
#include "dialects/graph/SizeExpr.h"
#include "dialects/graph/infer/Infer.h"
#include "dialects/support/WriteFile.h"

#include <algorithm>
#include <cstdlib>

using namespace tenon;
using namespace tenon::api;

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static const graph::OpInfo *infoOf(int kind) {
  for (const graph::OpInfo &info : graph::allOps())
    if (info.cEnumValue == kind)
      return &info;
  return nullptr;
}

static tenon_op *makeOp(uint64_t id, std::string_view kind, const char *name) {
  auto made = std::make_unique<tenon_op>();
  made->op.id = id;
  made->op.kind = kind;
  made->op.name = name ? name : "";
  return made.release();
}

tenon_status tenon_op_create(uint64_t id, tenon_op_kind kind, const char *name,
                             tenon_op **op) {
  if (op)
    *op = nullptr;
  return guarded([&]() -> std::vector<Error> {
    if (auto e = needed({{"op", op}}); !e.empty())
      return e;
    const graph::OpInfo *info = infoOf(kind);
    if (!info) {
      Error e = fail(ErrorCode::UnknownOp,
                     "there is no operation kind " + std::to_string(kind));
      e.opName = name ? name : "";
      e.opId = id;
      return {e};
    }
    *op = makeOp(id, info->kind, name);
    return {};
  });
}

tenon_status tenon_op_create_named(uint64_t id, const char *kind,
                                   const char *name, tenon_op **op) {
  if (op)
    *op = nullptr;
  return guarded([&]() -> std::vector<Error> {
    if (auto e = needed({{"kind", kind}, {"op", op}}); !e.empty())
      return e;
    if (!*kind)
      return errorList(ErrorCode::UnknownOp, "the kind is empty");
    *op = makeOp(id, kind, name);
    return {};
  });
}

void tenon_op_destroy(tenon_op *op) { delete op; }

static tenon_status addTensor(tenon_op *op, const tenon_logical_tensor *given,
                              bool output) {
  return guarded([&]() -> std::vector<Error> {
    if (auto e = checkHandle(op, "op"); !e.empty())
      return e;
    if (!given) {
      if (output ? op->op.leaveOutOutput() : op->op.leaveOutInput())
        return {};
      return errorList(ErrorCode::OperandCount,
                       "none is left out behind 64 operands or results");
    }
    auto tensor = fromApi(*given);
    if (!tensor)
      return tensor.errors();
    (output ? op->op.outputs : op->op.inputs).push_back(tensor->id);
    (output ? op->outputs : op->inputs).push_back(std::move(*tensor));
    return {};
  });
}

tenon_status tenon_op_add_input(tenon_op *op,
                                const tenon_logical_tensor *input) {
  return addTensor(op, input, false);
}

tenon_status tenon_op_add_output(tenon_op *op,
                                 const tenon_logical_tensor *output) {
  return addTensor(op, output, true);
}

/// Stores what `make` returns once the arguments are there.
template <typename Make>
static tenon_status setAttr(tenon_op *op, const char *name, const void *values,
                            size_t count, Make make) {
  return guarded([&]() -> std::vector<Error> {
    if (auto e = checkHandle(op, "op"); !e.empty())
      return e;
    if (auto e = needed({{"name", name}}); !e.empty())
      return e;
    if (count && !values)
      return needed({{"values", nullptr}});
    op->op.attrs.insert_or_assign(name, graph::AttrValue(make()));
    return {};
  });
}

tenon_status tenon_op_set_f32(tenon_op *op, const char *name, float value) {
  return setAttr(op, name, nullptr, 0, [&] { return value; });
}

tenon_status tenon_op_set_f32s(tenon_op *op, const char *name,
                               const float *values, size_t count) {
  return setAttr(op, name, values, count,
                 [&] { return std::vector<float>(values, values + count); });
}

tenon_status tenon_op_set_s64(tenon_op *op, const char *name, int64_t value) {
  return setAttr(op, name, nullptr, 0, [&] { return value; });
}

tenon_status tenon_op_set_s64s(tenon_op *op, const char *name,
                               const int64_t *values, size_t count) {
  return setAttr(op, name, values, count,
                 [&] { return graph::Dims(values, values + count); });
}

tenon_status tenon_op_set_bool(tenon_op *op, const char *name, int32_t value) {
  return setAttr(op, name, nullptr, 0, [&] { return value != 0; });
}

tenon_status tenon_op_set_string(tenon_op *op, const char *name,
                                 const char *value) {
  return setAttr(op, name, value, 1, [&] { return std::string(value); });
}

uint64_t tenon_op_get_id(const tenon_op *op) { return op ? op->op.id : 0; }

const char *tenon_op_get_kind(const tenon_op *op) {
  return op ? op->op.kind.c_str() : "";
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

/// Whether Tenon knows what the operation means.
static bool isKnown(const graph::Op &op) {
  return graph::lookupOp(op.kind) && op.kind != "Wildcard";
}

static std::vector<Error> checkState(const tenon_graph *graph, bool finalized) {
  if (auto e = checkHandle(graph, "graph"); !e.empty())
    return e;
  if (graph->finalized == finalized)
    return {};
  return finalized
             ? errorList(ErrorCode::WrongState, "the graph is not finalized",
                         "call tenon_graph_finalize first")
             : errorList(ErrorCode::WrongState,
                         "the graph is finalized already");
}

tenon_status tenon_graph_create(tenon_graph **graph) {
  if (graph)
    *graph = nullptr;
  return guarded([&]() -> std::vector<Error> {
    if (auto e = needed({{"graph", graph}}); !e.empty())
      return e;
    *graph = new tenon_graph;
    return {};
  });
}

void tenon_graph_destroy(tenon_graph *graph) { delete graph; }

/// Adds the tensors of an operation; the first contradiction, if any.
static std::vector<Error> mergeTensors(graph::Graph &g, const tenon_op &op) {
  for (const auto *tensors : {&op.inputs, &op.outputs})
    for (const graph::LogicalTensor &t : *tensors) {
      auto [it, isNew] = g.tensors.insert({t.id, t});
      if (isNew)
        continue;
      std::string conflict = graph::mergeTensor(it->second, t);
      if (!conflict.empty())
        return {graph::errorAbout(
            op.op, ErrorCode::EdgeConflict,
            "tensor " + std::to_string(t.id) + " is described with " + conflict,
            "all descriptions of one tensor id must agree")};
    }
  return {};
}

/// An id or a result that the graph has already.
static std::vector<Error> checkNew(const tenon_graph &graph,
                                   const graph::Op &op) {
  const std::vector<graph::Op> &ops = graph.graph.ops;
  if (auto it = graph.opsById.find(op.id); it != graph.opsById.end())
    return {graph::errorAbout(op, ErrorCode::DuplicateOpId,
                              "the graph has an operation with this id, \"" +
                                  ops[it->second].name + "\"")};
  for (uint64_t id : op.outputs)
    if (auto it = graph.producers.find(id); it != graph.producers.end()) {
      const graph::Op &other = ops[it->second];
      return {graph::errorAbout(
          op, ErrorCode::TwoProducers,
          "tensor " + std::to_string(id) + " is written by \"" + other.name +
              "\" (id " + std::to_string(other.id) + ")")};
    }
  return {};
}

std::vector<Error> tenon::api::addOp(tenon_graph &graph, const tenon_op &op) {
  if (auto e = checkNew(graph, op.op); !e.empty())
    return e;
  graph::Graph &g = graph.graph;
  if (isKnown(op.op))
    if (auto errors = graph::verifyOp(op.op, op.inputs, op.outputs);
        !errors.empty())
      return errors;
  // On a copy of what changes: after an error the graph is as it was.
  graph::Graph merged;
  for (const auto *tensors : {&op.inputs, &op.outputs})
    for (const graph::LogicalTensor &t : *tensors)
      if (auto it = g.tensors.find(t.id); it != g.tensors.end())
        merged.tensors.insert(*it);
  if (auto errors = mergeTensors(merged, op); !errors.empty())
    return errors;
  for (auto &[id, t] : merged.tensors)
    g.tensors.insert_or_assign(id, t);
  graph.opsById[op.op.id] = g.ops.size();
  for (uint64_t id : op.op.outputs)
    graph.producers[id] = g.ops.size();
  g.ops.push_back(op.op);
  return {};
}

tenon_status tenon_graph_add_op(tenon_graph *graph, const tenon_op *op) {
  return guarded([&]() -> std::vector<Error> {
    if (auto e = checkState(graph, false); !e.empty())
      return e;
    if (auto e = checkHandle(op, "op"); !e.empty())
      return e;
    return addOp(*graph, *op);
  });
}

tenon_status tenon_graph_add_output(tenon_graph *graph, uint64_t tensor) {
  return guarded([&]() -> std::vector<Error> {
    if (auto e = checkState(graph, false); !e.empty())
      return e;
    if (!graph->producers.count(tensor))
      return errorList(ErrorCode::UnknownTensor,
                       "no operation writes tensor " + std::to_string(tensor),
                       "add the operation first");
    graph->graph.outputPorts.push_back(tensor);
    return {};
  });
}

static Expected<graph::LogicalTensor *> findTensor(tenon_graph &graph,
                                                   uint64_t id) {
  auto found = graph.graph.tensors.find(id);
  if (found == graph.graph.tensors.end())
    return fail(ErrorCode::UnknownTensor,
                "no operation has tensor " + std::to_string(id),
                "add the operation first");
  return &found->second;
}

tenon_status tenon_graph_set_size(tenon_graph *graph, uint64_t tensor,
                                  int32_t dim, const char *size) {
  return guarded([&]() -> std::vector<Error> {
    if (auto e = checkState(graph, false); !e.empty())
      return e;
    if (auto e = needed({{"size", size}}); !e.empty())
      return e;
    auto found = findTensor(*graph, tensor);
    if (!found)
      return found.errors();
    graph::LogicalTensor &t = **found;
    if (!t.shape || dim < 0 || static_cast<size_t>(dim) >= t.shape->size())
      return errorList(ErrorCode::BadRank,
                       "tensor " + std::to_string(tensor) + " has no dim " +
                           std::to_string(dim),
                       "the rank has to be known, dims count from 0");
    if (auto expr = graph::SizeExpr::parse(size); !expr)
      return expr.errors();
    t.sizes.resize(t.shape->size());
    t.sizes[dim] = size;
    return {};
  });
}

tenon_status tenon_graph_declare_size(tenon_graph *graph, const char *name,
                                      int64_t min, int64_t max,
                                      int64_t multiple_of, size_t num_likely,
                                      const int64_t *likely) {
  return guarded([&]() -> std::vector<Error> {
    if (auto e = checkState(graph, false); !e.empty())
      return e;
    if (auto e = needed({{"name", name}}); !e.empty())
      return e;
    if (num_likely && !likely)
      return needed({{"likely", nullptr}});
    graph::SizeFacts facts{min, max, multiple_of, {}};
    // More are an error, which need not read them all.
    facts.likely.assign(
        likely, likely + std::min(num_likely, graph::kMostLikelyValues + 1));
    if (auto e = graph::checkSizeFacts(name, facts); !e.empty())
      return e;
    graph->graph.sizeFacts.insert_or_assign(name, std::move(facts));
    return {};
  });
}

/// Shapes as far as they follow: what operations that Tenon does not know
/// produce may have none.
static std::vector<Error> inferKnown(graph::Graph &g) {
  for (graph::Op &op : g.ops) {
    if (!isKnown(op))
      continue;
    std::vector<graph::LogicalTensor> inputs, outputs;
    for (uint64_t id : op.inputs)
      inputs.push_back(g.tensor(id));
    for (uint64_t id : op.outputs)
      outputs.push_back(g.tensor(id));
    auto errors = graph::inferOp(op, inputs, outputs);
    for (const Error &e : errors)
      if (e.code != ErrorCode::UnknownShape)
        return errors;
    if (errors.empty())
      for (size_t i = 0; i < outputs.size(); ++i)
        g.tensor(op.outputs[i]) = outputs[i];
  }
  return {};
}

std::vector<Error> tenon::api::finalize(tenon_graph &graph) {
  graph::Graph g = graph.graph;
  if (auto e = graph::topologicalSort(g); !e.empty())
    return e;
  if (auto e = graph::completePorts(g); !e.empty())
    return e;
  if (auto e = graph::applyNamedSizes(g); !e.empty())
    return e;
  if (auto e = inferKnown(g); !e.empty())
    return e;
  if (auto e = graph::checkReaders(g); !e.empty())
    return e;
  graph.graph = std::move(g);
  graph.finalized = true;
  graph.opsById.clear();
  graph.producers.clear();
  dump(graph.graph, TENON_DUMP_GRAPH, "graph");
  return {};
}

tenon_status tenon_graph_finalize(tenon_graph *graph) {
  return guarded([&]() -> std::vector<Error> {
    if (auto e = checkState(graph, false); !e.empty())
      return e;
    return finalize(*graph);
  });
}

int32_t tenon_graph_is_finalized(const tenon_graph *graph) {
  return graph && graph->finalized;
}

tenon_status tenon_graph_from_json(const char *text, size_t length,
                                   const char *name, tenon_graph **graph) {
  if (graph)
    *graph = nullptr;
  return guarded([&]() -> std::vector<Error> {
    if (auto e = needed({{"text", text}, {"graph", graph}}); !e.empty())
      return e;
    auto read = json::readJson({text, length}, name ? name : "text");
    if (!read)
      return read.errors();
    auto made = std::make_unique<tenon_graph>();
    made->graph = std::move(*read);
    if (auto e = finalize(*made); !e.empty())
      return e;
    *graph = made.release();
    return {};
  });
}

tenon_status tenon_graph_from_file(const char *path, tenon_graph **graph) {
  if (graph)
    *graph = nullptr;
  return guarded([&]() -> std::vector<Error> {
    if (auto e = needed({{"path", path}, {"graph", graph}}); !e.empty())
      return e;
    auto model = loadModel(path);
    if (!model)
      return model.errors();
    auto made = std::make_unique<tenon_graph>();
    made->graph = std::move(model->graph);
    made->constants = std::move(model->constants);
    if (auto e = finalize(*made); !e.empty())
      return e;
    *graph = made.release();
    return {};
  });
}

tenon_status tenon_graph_find_tensor(const tenon_graph *graph, const char *name,
                                     uint64_t *id) {
  return guarded([&]() -> std::vector<Error> {
    if (auto e = checkHandle(graph, "graph"); !e.empty())
      return e;
    if (auto e = needed({{"name", name}, {"id", id}}); !e.empty())
      return e;
    for (const auto &[known, tensor] : graph->graph.tensors)
      if (!tensor.name.empty() && tensor.name == name) {
        *id = known;
        return {};
      }
    return errorList(ErrorCode::UnknownTensor,
                     "no tensor is called \"" + std::string(name) + "\"");
  });
}

tenon_status tenon_graph_set_tensor_name(tenon_graph *graph, uint64_t id,
                                         const char *name) {
  return guarded([&]() -> std::vector<Error> {
    if (auto e = checkState(graph, false); !e.empty())
      return e;
    if (auto e = needed({{"name", name}}); !e.empty())
      return e;
    auto found = findTensor(*graph, id);
    if (!found)
      return found.errors();
    (*found)->name = name;
    return {};
  });
}

const char *tenon_graph_get_tensor_name(const tenon_graph *graph, uint64_t id) {
  if (!graph || graph->kind != tenon_graph::kKind)
    return "";
  auto found = graph->graph.tensors.find(id);
  return found == graph->graph.tensors.end() ? "" : found->second.name.c_str();
}

tenon_status tenon_graph_to_json(tenon_graph *graph, const char **text,
                                 size_t *length) {
  return guarded([&]() -> std::vector<Error> {
    if (auto e = checkHandle(graph, "graph"); !e.empty())
      return e;
    if (auto e = needed({{"text", text}}); !e.empty())
      return e;
    graph->json = json::writeJson(graph->graph);
    *text = graph->json.c_str();
    if (length)
      *length = graph->json.size();
    return {};
  });
}

//===----------------------------------------------------------------------===//
// Dumps
//===----------------------------------------------------------------------===//

namespace {
struct Dumps {
  std::mutex mutex;
  int mode = TENON_DUMP_NONE;
  std::string folder;
  int count = 0;
};
} // namespace

/// Never destroyed: other threads may be compiling when the process ends.
static Dumps &dumps() {
  static auto *d = new Dumps;
  return *d;
}

tenon_status tenon_set_dump_mode(tenon_dump_mode mode, const char *folder) {
  return guarded([&]() -> std::vector<Error> {
    if (mode < TENON_DUMP_NONE || mode > TENON_DUMP_ALL)
      return errorList(ErrorCode::BadOption,
                       "there is no dump mode " + std::to_string(int(mode)));
    std::lock_guard lock(dumps().mutex);
    dumps().mode = mode;
    dumps().folder = folder ? folder : "";
    return {};
  });
}

void tenon::api::dump(const graph::Graph &graph, tenon_dump_mode what,
                      const std::string &name) {
  Dumps &d = dumps();
  std::lock_guard lock(d.mutex);
  if (!(d.mode & what))
    return;
  std::string path = (d.folder.empty() ? "" : d.folder + "/") + "tenon-" +
                     name + "-" + std::to_string(d.count++) + ".json";
  (void)writeFile(path, json::writeJson(graph));
}
