//===- CompiledPartition.cpp - code with its ports, C interface -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/api/Execute.h"
#include "compiler/driver/Shapes.h"

#include <algorithm>
#include <cstring>
#include <sstream>

using namespace tenon;
using namespace tenon::api;

using Errors = std::vector<Error>;

namespace {

/// Sizes of the inputs from logical tensors, by id.
Errors inputSizes(const tenon_compiled_partition &compiled, size_t count,
                  const tenon_logical_tensor *given, Sizes &sizes) {
  if (count && !given)
    return needed({{"inputs", nullptr}});
  for (const Port &port : compiled.inputs) {
    graph::Dims dims = *port.about.shape;
    for (size_t i = 0; i < count; ++i)
      if (given[i].id == port.about.id) {
        auto t = fromApi(given[i]);
        if (!t)
          return t.errors();
        if (!t->shape || !fits(dims, *t->shape))
          return errorList(ErrorCode::ShapeMismatch,
                           called(port.about.id) + " is " +
                               text(t->shape.value_or(graph::Dims{})) +
                               ", compiled was " + text(dims));
        dims = *t->shape;
      }
    if (std::find(dims.begin(), dims.end(), graph::kUnknownDim) != dims.end())
      return errorList(ErrorCode::UnknownShape,
                       "the sizes of " + called(port.about.id) + " are needed");
    sizes.append(dims.begin(), dims.end());
  }
  return {};
}

} // namespace

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

tenon_compiled_partition::~tenon_compiled_partition() {
  for (Bound &b : bound)
    tenon_folded_release(b.folded);
}

tenon_compiled_partition *
tenon::api::makeCompiled(const CodePtr &code, const std::set<uint64_t> &opaque,
                         const Constants &constants) {
  auto made = std::make_unique<tenon_compiled_partition>();
  made->code = code;
  made->isStatic = code->compiled->isStatic();
  made->opaque.assign(opaque.begin(), opaque.end());
  const graph::Graph &graph = code->compiled->graph();
  auto add = [&](uint64_t id, std::vector<Port> &ports) {
    Port port;
    port.about = graph.tensor(id);
    port.strides = port.about.strides;
    port.view = toApi(port.about);
    port.view.layout = TENON_LAYOUT_STRIDED;
    if (opaque.count(id)) {
      port.view.layout = TENON_LAYOUT_OPAQUE;
      port.view.layout_id = kChannelsLast;
      memset(port.view.strides, 0, sizeof port.view.strides);
    }
    ports.push_back(std::move(port));
  };
  for (uint64_t id : graph.inputPorts)
    add(id, made->inputs);
  for (uint64_t id : graph.outputPorts)
    add(id, made->outputs);
  for (size_t i = 0; i < made->inputs.size(); ++i) {
    const graph::LogicalTensor &about = made->inputs[i].about;
    const auto *bytes = constants.find(about.id);
    const void *data = bytes ? bytes->data() : code->compiled->weight(about.id);
    if (!data && !code->compiled->isPacked(about.id)) {
      made->givenInputs.push_back(made->inputs[i].view);
      continue;
    }
    made->own.resize(made->inputs.size());
    auto &tensor = made->own[i] = std::make_unique<tenon_tensor>();
    tensor->about = about;
    tensor->data = const_cast<void *>(data); // inputs are read
  }
  for (const Port &port : made->outputs)
    made->givenOutputs.push_back(port.view);
  made->values = constants;
  made->constants = code->compiled->foldedInputs();
  for (auto [input, output] : code->artefact.inPlace)
    made->pairs.push_back({input, output});
  return made.release();
}

void tenon_compiled_partition_destroy(tenon_compiled_partition *compiled) {
  delete compiled;
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

tenon_status
tenon_compiled_partition_query(const tenon_compiled_partition *compiled,
                               uint64_t id, tenon_logical_tensor *tensor) {
  return guarded([&]() -> Errors {
    if (auto e = checkHandle(compiled, "compiled"); !e.empty())
      return e;
    if (auto e = needed({{"tensor", tensor}}); !e.empty())
      return e;
    for (const auto *ports : {&compiled->inputs, &compiled->outputs})
      for (const Port &port : *ports)
        if (port.about.id == id) {
          *tensor = port.view;
          return {};
        }
    return errorList(ErrorCode::UnknownTensor,
                     called(id) + " is no port of the partition");
  });
}

tenon_status tenon_compiled_partition_get_inplace_pairs(
    const tenon_compiled_partition *compiled, size_t *count,
    const tenon_inplace_pair **pairs) {
  return getList(compiled, "compiled", &tenon_compiled_partition::pairs, count,
                 pairs);
}

tenon_status tenon_compiled_partition_get_scratch_size(
    const tenon_compiled_partition *compiled, size_t num_inputs,
    const tenon_logical_tensor *inputs, size_t *bytes) {
  if (bytes)
    *bytes = 0;
  return guarded([&]() -> Errors {
    if (auto e = checkHandle(compiled, "compiled"); !e.empty())
      return e;
    if (auto e = needed({{"bytes", bytes}}); !e.empty())
      return e;
    Sizes given, all;
    if (!compiled->isStatic) {
      if (auto e = inputSizes(*compiled, num_inputs, inputs, given); !e.empty())
        return e;
      if (auto e = sizesOf(*compiled, given, all); !e.empty())
        return e;
    }
    *bytes = static_cast<size_t>(tenon_model_scratch_bytes(
        compiled->code->compiled->model(), all.empty() ? nullptr : all.data()));
    return {};
  });
}

tenon_status tenon_compiled_partition_get_version(
    const tenon_compiled_partition *compiled, size_t num_inputs,
    const tenon_logical_tensor *inputs, const char **version) {
  if (version)
    *version = nullptr;
  return guarded([&]() -> Errors {
    if (auto e = checkHandle(compiled, "compiled"); !e.empty())
      return e;
    if (auto e = needed({{"version", version}}); !e.empty())
      return e;
    *version = "";
    if (compiled->isStatic)
      return {};
    Sizes given, all;
    if (auto e = inputSizes(*compiled, num_inputs, inputs, given); !e.empty())
      return e;
    if (auto e = sizesOf(*compiled, given, all); !e.empty())
      return e;
    const tenon_model *model = compiled->code->compiled->model();
    const tenon_model_info *info = tenon_model_get_info(model);
    int64_t number = tenon_model_find_version(model, all.data());
    if (number >= 0 && number < info->num_versions)
      *version = info->versions[number]->name;
    return {};
  });
}

tenon_status tenon_compiled_partition_infer(
    const tenon_compiled_partition *compiled, size_t num_inputs,
    const tenon_logical_tensor *inputs, size_t num_outputs,
    tenon_logical_tensor *outputs) {
  return guarded([&]() -> Errors {
    if (auto e = checkHandle(compiled, "compiled"); !e.empty())
      return e;
    if (auto e = needed({{"outputs", outputs}}); !e.empty())
      return e;
    if (num_outputs != compiled->outputs.size())
      return errorList(ErrorCode::PortMismatch,
                       "there are " + std::to_string(compiled->outputs.size()) +
                           " outputs, room is for " +
                           std::to_string(num_outputs));
    Sizes given, all;
    if (auto e = inputSizes(*compiled, num_inputs, inputs, given); !e.empty())
      return e;
    if (auto e = sizesOf(*compiled, given, all); !e.empty())
      return e;
    const int64_t *at = all.data() + given.size();
    for (size_t i = 0; i < num_outputs; ++i) {
      const Port &port = compiled->outputs[i];
      outputs[i] = port.view;
      graph::LogicalTensor t = port.about;
      std::copy(at, at + t.shape->size(), t.shape->begin());
      at += t.shape->size();
      tenon_logical_tensor known = toApi(t);
      memcpy(outputs[i].dims, known.dims, sizeof known.dims);
      if (port.view.layout == TENON_LAYOUT_STRIDED)
        memcpy(outputs[i].strides, known.strides, sizeof known.strides);
    }
    return {};
  });
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

tenon_status
tenon_compiled_partition_serialise(const tenon_compiled_partition *compiled,
                                   size_t *size, void *bytes) {
  return guarded([&]() -> Errors {
    if (auto e = checkHandle(compiled, "compiled"); !e.empty())
      return e;
    if (auto e = needed({{"size", size}}); !e.empty())
      return e;
    Artefact artefact = compiled->code->artefact;
    artefact.notes.clear();
    for (uint64_t id : compiled->opaque)
      artefact.notes += std::to_string(id) + " ";
    std::string made = serialise(artefact);
    size_t room = *size;
    *size = made.size();
    if (!bytes)
      return {};
    if (room < made.size())
      return errorList(ErrorCode::TooLarge,
                       std::to_string(made.size()) +
                           " bytes are needed, room is for " +
                           std::to_string(room));
    memcpy(bytes, made.data(), made.size());
    return {};
  });
}

tenon_status
tenon_compiled_partition_deserialise(const void *bytes, size_t size,
                                     tenon_engine *engine,
                                     tenon_compiled_partition **compiled) {
  if (compiled)
    *compiled = nullptr;
  return guarded([&]() -> Errors {
    if (auto e = checkHandle(engine, "engine"); !e.empty())
      return e;
    if (auto e = needed({{"bytes", bytes}, {"compiled", compiled}}); !e.empty())
      return e;
    auto artefact = deserialise({static_cast<const char *>(bytes), size});
    if (!artefact)
      return artefact.errors();
    std::set<uint64_t> opaque;
    std::istringstream notes(artefact->notes);
    for (uint64_t id; notes >> id;)
      opaque.insert(id);
    auto code = loadCode(std::move(*artefact));
    if (!code)
      return code.errors();
    *compiled = makeCompiled(*code, opaque);
    return {};
  });
}
