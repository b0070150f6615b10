//===- CompiledPartition.cpp - execution through the C interface ----------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/api/CompiledPartition.h"
#include "compiler/api/Ports.h"
#include "compiler/driver/Shapes.h"

#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cstring>
#include <sstream>

using namespace tenon;
using namespace tenon::api;

namespace {

/// Sets of constants, and of sizes, that are remembered: callers alternate
/// between few.
constexpr size_t kRemembered = 4;

using Buffers = llvm::SmallVector<void *, 32>;
using Sizes = llvm::SmallVector<int64_t, 64>;
using Errors = std::vector<Error>;

void append(Sizes &sizes, const graph::Dims &dims) {
  sizes.append(dims.begin(), dims.end());
}

/// Sizes of all inputs, then outputs. Errors: those of inference.
Errors sizesOf(const tenon_compiled_partition &compiled, const Sizes &inputs,
               Sizes &all) {
  {
    std::lock_guard lock(compiled.mutex);
    for (const auto &s : compiled.sizes)
      if (std::equal(s.inputs.begin(), s.inputs.end(), inputs.begin(),
                     inputs.end())) {
        all.assign(s.all.begin(), s.all.end());
        return {};
      }
  }
  std::map<uint64_t, graph::Dims> given;
  const int64_t *at = inputs.data();
  for (const Port &port : compiled.inputs) {
    size_t rank = port.about.shape->size();
    given[port.about.id] = graph::Dims(at, at + rank);
    at += rank;
  }
  auto shapes = compiled.code->compiled->outputShapes(given);
  if (!shapes)
    return shapes.errors();
  all = inputs;
  for (const Port &port : compiled.outputs)
    append(all, shapes->at(port.about.id));
  std::lock_guard lock(compiled.mutex);
  auto &known = compiled.sizes;
  known.insert(known.begin(),
               {{inputs.begin(), inputs.end()}, {all.begin(), all.end()}});
  if (known.size() > kRemembered)
    known.pop_back();
  return {};
}

Errors runtimeError(tenon_rt_status status) {
  ErrorCode code = ErrorCode::Internal;
  if (status == TENON_RT_OUT_OF_MEMORY)
    code = ErrorCode::OutOfMemory;
  else if (status == TENON_RT_INVALID_ARGUMENT)
    code = ErrorCode::BadTensorData;
  return errorList(code, std::string("execution failed: ") +
                             tenon_rt_status_string(status));
}

/// Drops the reference at the end of an execution.
struct FoldedReference {
  tenon_folded *folded = nullptr;
  ~FoldedReference() { tenon_folded_release(folded); }
};

/// What is folded from these tensors, one for each input; null where not given.
Errors foldedOf(tenon_compiled_partition &compiled, tenon_stream &stream,
                const tenon_tensor *const *inputs, FoldedReference &reference) {
  if (compiled.constants.empty())
    return {};
  Identity identity;
  for (size_t position : compiled.constants)
    identity.push_back(
        {inputs[position]->serial, inputs[position]->generation.load()});
  {
    std::lock_guard lock(compiled.mutex);
    for (auto &b : compiled.bound)
      if (b.identity == identity) {
        tenon_folded_retain(b.folded);
        reference.folded = b.folded;
        return {};
      }
  }
  std::vector<const void *> data(compiled.inputs.size());
  for (size_t position : compiled.constants)
    data[position] = inputs[position]->data;
  tenon_rt_status status =
      tenon_model_fold(compiled.code->compiled->model(), stream.exec,
                       sharedConstants(), data.data(), &reference.folded);
  if (status != TENON_RT_OK)
    return runtimeError(status);
  tenon_folded_retain(reference.folded);
  std::lock_guard lock(compiled.mutex);
  auto &bound = compiled.bound;
  bound.insert(bound.begin(), {std::move(identity), reference.folded});
  if (bound.size() > kRemembered) {
    tenon_folded_release(bound.back().folded);
    bound.pop_back();
  }
  return {};
}

/// The sizes of the tensors must be those that follow from the inputs.
Errors checkSizes(const tenon_compiled_partition &compiled,
                  const Tensors &inputs, const Tensors &outputs, Sizes &all) {
  Sizes given;
  for (const tenon_tensor *t : inputs)
    append(given, *t->about.shape);
  if (auto e = sizesOf(compiled, given, all); !e.empty())
    return e;
  const int64_t *at = all.data() + given.size();
  for (const tenon_tensor *t : outputs) {
    const graph::Dims &dims = *t->about.shape;
    graph::Dims wanted(at, at + dims.size());
    if (dims != wanted)
      return errorList(ErrorCode::ShapeMismatch,
                       called(t->about.id) + " is " + text(dims) +
                           ", the result " + text(wanted));
    at += dims.size();
  }
  return {};
}

Errors execute(tenon_compiled_partition &compiled, tenon_stream &stream,
               size_t numInputs, const tenon_tensor *const *inputs,
               size_t numOutputs, tenon_tensor *const *outputs, void *scratch,
               const size_t *scratchSize) {
  Tensors in, out, kept;
  if (auto e = dropIgnored(compiled, numInputs, inputs, kept); !e.empty())
    return e;
  if (auto e =
          match(compiled.inputs, "inputs", numInputs, inputs, compiled.own, in);
      !e.empty())
    return e;
  if (auto e = match(compiled.outputs, "outputs", numOutputs, outputs, {}, out);
      !e.empty())
    return e;
  Sizes sizes;
  if (!compiled.isStatic)
    if (auto e = checkSizes(compiled, in, out, sizes); !e.empty())
      return e;
  const tenon_model *model = compiled.code->compiled->model();
  const int64_t *dims = compiled.isStatic ? nullptr : sizes.data();
  if (scratchSize) {
    int64_t wanted = tenon_model_scratch_bytes(model, dims);
    if (static_cast<int64_t>(*scratchSize) < wanted || (wanted && !scratch))
      return errorList(ErrorCode::BadTensorData, std::to_string(*scratchSize) +
                                                     " bytes of scratch are "
                                                     "given, " +
                                                     std::to_string(wanted) +
                                                     " are needed");
    if (reinterpret_cast<uintptr_t>(scratch) % 64)
      return errorList(ErrorCode::BadTensorData,
                       "the scratch is not aligned to 64 bytes");
    if (!wanted)
      scratch = nullptr;
  }
  FoldedReference folded;
  if (auto e = foldedOf(compiled, stream, in.data(), folded); !e.empty())
    return e;
  Buffers buffers;
  for (const tenon_tensor *t : in)
    buffers.push_back(t->data);
  for (const tenon_tensor *t : out)
    buffers.push_back(t->data);
  tenon_rt_status status = tenon_model_run(model, stream.exec, folded.folded,
                                           buffers.data(), dims, scratch);
  return status == TENON_RT_OK ? Errors{} : runtimeError(status);
}

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
    append(sizes, dims);
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
    if (!bytes)
      continue;
    made->own.resize(made->inputs.size());
    auto &tensor = made->own[i] = std::make_unique<tenon_tensor>();
    tensor->about = about;
    tensor->data = const_cast<std::byte *>(bytes->data()); // inputs are read
  }
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
  if (count)
    *count = 0;
  if (pairs)
    *pairs = nullptr;
  return guarded([&]() -> Errors {
    if (auto e = checkHandle(compiled, "compiled"); !e.empty())
      return e;
    if (auto e = needed({{"count", count}}); !e.empty())
      return e;
    *count = compiled->pairs.size();
    if (pairs)
      *pairs = compiled->pairs.data();
    return {};
  });
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
// Execution
//===----------------------------------------------------------------------===//

tenon_status tenon_compiled_partition_bind_constants(
    tenon_compiled_partition *compiled, tenon_stream *stream,
    size_t num_tensors, const tenon_tensor *const *tensors) {
  return guarded([&]() -> Errors {
    if (auto e = checkHandle(compiled, "compiled"); !e.empty())
      return e;
    if (auto e = checkHandle(stream, "stream"); !e.empty())
      return e;
    if (num_tensors && !tensors)
      return needed({{"tensors", nullptr}});
    Tensors inputs(compiled->inputs.size(), nullptr);
    for (size_t i = 0; i < num_tensors; ++i)
      if (auto e = checkHandle(tensors[i], "tensors"); !e.empty())
        return e;
    for (size_t position : compiled->constants) {
      const Port &port = compiled->inputs[position];
      for (size_t i = 0; i < num_tensors; ++i)
        if (tensors[i]->about.id == port.about.id)
          inputs[position] = tensors[i];
      if (!inputs[position] && position < compiled->own.size())
        inputs[position] = compiled->own[position].get();
      if (!inputs[position])
        return errorList(ErrorCode::PortMismatch,
                         called(port.about.id) + ", a constant, is missing");
      if (auto e = checkTensor(port, *inputs[position]); !e.empty())
        return e;
    }
    FoldedReference reference;
    return foldedOf(*compiled, *stream, inputs.data(), reference);
  });
}

tenon_status tenon_compiled_partition_execute(
    tenon_compiled_partition *compiled, tenon_stream *stream, size_t num_inputs,
    const tenon_tensor *const *inputs, size_t num_outputs,
    tenon_tensor *const *outputs) {
  return guarded([&]() -> Errors {
    if (auto e = checkHandle(compiled, "compiled"); !e.empty())
      return e;
    if (auto e = checkHandle(stream, "stream"); !e.empty())
      return e;
    return execute(*compiled, *stream, num_inputs, inputs, num_outputs, outputs,
                   nullptr, nullptr);
  });
}

tenon_status tenon_compiled_partition_execute_with_scratch(
    tenon_compiled_partition *compiled, tenon_stream *stream, size_t num_inputs,
    const tenon_tensor *const *inputs, size_t num_outputs,
    tenon_tensor *const *outputs, void *scratch, size_t scratch_size) {
  return guarded([&]() -> Errors {
    if (auto e = checkHandle(compiled, "compiled"); !e.empty())
      return e;
    if (auto e = checkHandle(stream, "stream"); !e.empty())
      return e;
    return execute(*compiled, *stream, num_inputs, inputs, num_outputs, outputs,
                   scratch, &scratch_size);
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
