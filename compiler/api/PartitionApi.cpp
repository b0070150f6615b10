//===- PartitionApi.cpp - partitions and their compilation ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/api/Api.h"
#include "compiler/api/Cache.h"
#include "compiler/api/CompiledPartition.h"
#include "compiler/driver/Denormals.h"
#include "dialects/graph/Merge.h"
#include "dialects/graph/OpTable.h"
#include "dialects/graph/infer/Infer.h"

#include <algorithm>
#include <set>

using namespace tenon;
using namespace tenon::api;

static std::atomic<uint64_t> nextPartitionId{0};

static tenon_partition *makePartition(const tenon_graph &from,
                                      const Partition &part) {
  const graph::Graph &graph = from.graph;
  const Constants &constants = from.constants;
  auto made = std::make_unique<tenon_partition>();
  made->graph = extract(graph, part);
  made->id = nextPartitionId.fetch_add(1);
  made->supported = part.supported;
  made->reason = part.reason;
  for (const graph::Op &op : made->graph.ops)
    made->ops.push_back(op.id);
  for (uint64_t id : part.inputs)
    if (!constants.find(id))
      made->inputs.push_back(toApi(made->graph.tensor(id)));
  made->constants = constants;
  for (uint64_t id : part.outputs)
    made->outputs.push_back(toApi(made->graph.tensor(id)));
  return made.release();
}

tenon_status tenon_graph_get_partitions(tenon_graph *graph,
                                        tenon_partition_policy policy,
                                        size_t *count,
                                        tenon_partition **partitions) {
  return guarded([&]() -> std::vector<Error> {
    if (auto e = checkHandle(graph, "graph"); !e.empty())
      return e;
    if (auto e = needed({{"count", count}}); !e.empty())
      return e;
    if (!graph->finalized)
      return errorList(ErrorCode::WrongState, "the graph is not finalized",
                       "call tenon_graph_finalize first");
    if (policy != TENON_POLICY_FUSION && policy != TENON_POLICY_DEBUG)
      return errorList(ErrorCode::BadOption, "there is no partition policy " +
                                                 std::to_string(int(policy)));
    std::vector<Partition> parts = partition(
        graph->graph, policy == TENON_POLICY_DEBUG ? PartitionPolicy::debug
                                                   : PartitionPolicy::fusion);
    size_t room = *count;
    *count = parts.size();
    if (!partitions)
      return {};
    if (room < parts.size())
      return errorList(ErrorCode::TooLarge,
                       "there are " + std::to_string(parts.size()) +
                           " partitions, room is for " + std::to_string(room));
    std::vector<std::unique_ptr<tenon_partition>> made;
    for (const Partition &part : parts)
      made.emplace_back(makePartition(*graph, part));
    for (size_t i = 0; i < made.size(); ++i)
      partitions[i] = made[i].release();
    return {};
  });
}

tenon_status tenon_partition_create(const tenon_op *op,
                                    tenon_partition **result) {
  if (result)
    *result = nullptr;
  return guarded([&]() -> std::vector<Error> {
    if (auto e = checkHandle(op, "op"); !e.empty())
      return e;
    if (auto e = needed({{"partition", result}}); !e.empty())
      return e;
    tenon_graph single;
    if (auto e = addOp(single, *op); !e.empty())
      return e;
    if (auto e = finalize(single); !e.empty())
      return e;
    auto parts = partition(single.graph, PartitionPolicy::fusion);
    if (parts.empty())
      return errorList(ErrorCode::UnsupportedOp,
                       op->op.kind + " makes no partition");
    *result = makePartition(single, parts.front());
    return {};
  });
}

void tenon_partition_destroy(tenon_partition *partition) { delete partition; }

uint64_t tenon_partition_get_id(const tenon_partition *partition) {
  return partition ? partition->id : 0;
}

int32_t tenon_partition_is_supported(const tenon_partition *partition) {
  return partition && partition->supported;
}

const char *tenon_partition_get_reason(const tenon_partition *partition) {
  return partition ? partition->reason.c_str() : "";
}

tenon_status tenon_partition_get_ops(const tenon_partition *partition,
                                     size_t *count, const uint64_t **ids) {
  return getList(partition, "partition", &tenon_partition::ops, count, ids);
}

tenon_status tenon_partition_get_inputs(const tenon_partition *partition,
                                        size_t *count,
                                        const tenon_logical_tensor **inputs) {
  return getList(partition, "partition", &tenon_partition::inputs, count,
                 inputs);
}

tenon_status tenon_partition_get_outputs(const tenon_partition *partition,
                                         size_t *count,
                                         const tenon_logical_tensor **outputs) {
  return getList(partition, "partition", &tenon_partition::outputs, count,
                 outputs);
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

namespace {

/// Whether no operation reads the input, here and elsewhere in the graph.
bool isIgnored(const graph::Graph &graph, uint64_t id) {
  return std::find(graph.ignoredInputs.begin(), graph.ignoredInputs.end(),
                   id) != graph.ignoredInputs.end();
}

/// A partition's graph with the sizes and layouts that a caller asks for.
class Request {
public:
  explicit Request(const tenon_partition &partition)
      : graph(partition.graph), constants(partition.constants) {}

  Expected<graph::PreparedGraph> prepare(size_t numInputs,
                                         const tenon_logical_tensor *inputs,
                                         size_t numOutputs,
                                         const tenon_logical_tensor *outputs) {
    if (auto e = applyList(graph.inputPorts, numInputs, inputs, "input");
        !e.empty())
      return e;
    if (auto e = applyList(graph.outputPorts, numOutputs, outputs, "output");
        !e.empty())
      return e;
    auto prepared = graph::prepareGraph(std::move(graph));
    if (prepared)
      chooseLayouts(*prepared);
    return prepared;
  }

  /// Outputs whose layout was chosen and is not plain.
  const std::set<uint64_t> &opaqueOutputs() const { return opaque; }

private:
  /// `ports` gets the order of the list.
  std::vector<Error> applyList(std::vector<uint64_t> &ports, size_t count,
                               const tenon_logical_tensor *tensors,
                               const std::string &what) {
    if (count && !tensors)
      return needed({{"tensors", nullptr}});
    std::set<uint64_t> seen;
    std::vector<uint64_t> ordered;
    for (size_t i = 0; i < count; ++i) {
      uint64_t id = tensors[i].id;
      if (what == "input" && isIgnored(graph, id))
        continue;
      if (std::find(ports.begin(), ports.end(), id) == ports.end() ||
          !seen.insert(id).second)
        return errorList(ErrorCode::PortMismatch,
                         "tensor " + std::to_string(id) + " is " +
                             (seen.count(id) ? "given twice" : "no " + what) +
                             " of the partition");
      if (auto e = applyOne(tensors[i], what == "output"); !e.empty())
        return e;
      ordered.push_back(id);
    }
    for (uint64_t id : ports) {
      if (seen.count(id))
        continue;
      if (!constants.find(id))
        return errorList(ErrorCode::PortMismatch, "no logical tensor is given "
                                                  "for " +
                                                      what + " " +
                                                      std::to_string(id));
      ordered.push_back(id);
    }
    ports = std::move(ordered);
    return {};
  }

  std::vector<Error> applyOne(const tenon_logical_tensor &given, bool output) {
    auto t = fromApi(given);
    if (!t)
      return t.errors();
    graph::LogicalTensor &port = graph.tensor(given.id);
    std::string name = "tensor " + std::to_string(given.id);
    if (t->dtype != port.dtype && port.dtype != graph::DType::undef)
      return errorList(ErrorCode::BadDType,
                       name + " is " + std::string(graph::name(port.dtype)) +
                           " in the graph, " +
                           std::string(graph::name(t->dtype)) +
                           " is asked for");
    port.dtype = t->dtype;
    if (!output && t->layout != graph::LayoutType::strided)
      return errorList(ErrorCode::BadStride,
                       name + " is an input without a layout",
                       "give strides, or the layout of the partition that "
                       "writes it");
    if (!output && !t->shape)
      return errorList(ErrorCode::UnknownShape,
                       name + " is an input of unknown rank");
    // What was known of strides when the graph was built was a wish.
    graph::LogicalTensor sizes = *t;
    sizes.strides.clear();
    port.strides.clear();
    port.layout = sizes.layout = graph::LayoutType::strided;
    std::string conflict = graph::mergeTensor(port, sizes);
    if (!conflict.empty())
      return errorList(ErrorCode::ShapeMismatch,
                       name + ": the graph and the call have " + conflict);
    port.strides = t->strides;
    if (output && t->layout == graph::LayoutType::any)
      chosen.insert(given.id);
    return {};
  }

  /// Kernels compute images with channels last, whatever the order of sizes,
  /// and elementwise work goes along: such results stay as they are computed.
  void chooseLayouts(graph::PreparedGraph &prepared) {
    std::set<uint64_t> lastInMemory;
    for (uint64_t id : prepared->inputPorts) {
      const graph::LogicalTensor &t = prepared->tensor(id);
      if (isImage(t) && t.strides == channelsLastStrides(*t.shape))
        lastInMemory.insert(id);
    }
    for (const graph::Op &op : prepared->ops) {
      if (!computesChannelsLast(*prepared, op, lastInMemory))
        continue;
      for (uint64_t id : op.outputs) {
        const graph::LogicalTensor &t = prepared->tensor(id);
        if (!isImage(t))
          continue;
        lastInMemory.insert(id);
        if (!chosen.count(id))
          continue;
        prepared.layOutOutput(id, channelsLastStrides(*t.shape));
        opaque.insert(id);
      }
    }
  }

  static bool isImage(const graph::LogicalTensor &t) {
    return t.hasStaticShape() && t.shape->size() >= 3;
  }

  static bool computesChannelsLast(const graph::Graph &graph,
                                   const graph::Op &op,
                                   const std::set<uint64_t> &lastInMemory) {
    const graph::OpInfo *info = graph::lookupOp(op.kind);
    if (!info)
      return false;
    if (info->attr("data_format"))
      return op.attrOr<std::string>("data_format", "NXC") == "NCX";
    return info->category.starts_with("elementwise") &&
           std::any_of(op.inputs.begin(), op.inputs.end(), [&](uint64_t id) {
             return lastInMemory.count(id) &&
                    graph.tensor(id).shape == graph.tensor(op.outputs[0]).shape;
           });
  }

  graph::Graph graph;
  const Constants &constants;
  std::set<uint64_t> chosen; // layouts left to us
  std::set<uint64_t> opaque;
};

} // namespace

tenon_status tenon_partition_compile(const tenon_partition *partition,
                                     tenon_engine *engine, size_t num_inputs,
                                     const tenon_logical_tensor *inputs,
                                     size_t num_outputs,
                                     const tenon_logical_tensor *outputs,
                                     tenon_compiled_partition **compiled) {
  if (compiled)
    *compiled = nullptr;
  return guarded([&]() -> std::vector<Error> {
    if (auto e = checkHandle(partition, "partition"); !e.empty())
      return e;
    if (auto e = checkHandle(engine, "engine"); !e.empty())
      return e;
    if (auto e = needed({{"compiled", compiled}}); !e.empty())
      return e;
    if (!partition->supported)
      return errorList(ErrorCode::UnsupportedOp, partition->reason,
                       "the framework has to run this partition");
    Request request(*partition);
    auto graph = request.prepare(num_inputs, inputs, num_outputs, outputs);
    if (!graph)
      return graph.errors();
    dump(**graph, TENON_DUMP_SUBGRAPH, "partition");
    auto code =
        compileCached(*graph, decideDenormals(engine->state->currentOptions(),
                                              **graph, partition->constants));
    if (!code)
      return code.errors();
    *compiled =
        makeCompiled(*code, request.opaqueOutputs(), partition->constants);
    (*compiled)->ignored = partition->graph.ignoredInputs;
    return {};
  });
}
