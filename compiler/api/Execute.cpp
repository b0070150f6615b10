//===- Execute.cpp - running compiled code on given memory ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/api/Execute.h"
#include "compiler/driver/Shapes.h"

#include <algorithm>

using namespace tenon;
using namespace tenon::api;

namespace {

/// Sets of constants, and of sizes, that are remembered: callers alternate
/// between few.
constexpr size_t kRemembered = 4;

using Buffers = llvm::SmallVector<void *, 32>;
using Errors = std::vector<Error>;

void append(Sizes &sizes, const graph::Dims &dims) {
  sizes.append(dims.begin(), dims.end());
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

/// The sizes of the outputs must be those that follow from the inputs. `all`
/// becomes those of inputs and outputs.
Errors checkSizes(const tenon_compiled_partition &compiled,
                  llvm::ArrayRef<Given> inputs, llvm::ArrayRef<Given> outputs,
                  Sizes &all) {
  Sizes sizes;
  for (auto [port, g] : llvm::zip(compiled.inputs, inputs))
    sizes.append(g.dims, g.dims + port.about.shape->size());
  if (auto e = sizesOf(compiled, sizes, all); !e.empty())
    return e;
  const int64_t *at = all.data() + sizes.size();
  for (auto [port, g] : llvm::zip(compiled.outputs, outputs)) {
    size_t rank = port.about.shape->size();
    if (!std::equal(at, at + rank, g.dims))
      return errorList(ErrorCode::ShapeMismatch,
                       called(port.about.id) + " is " +
                           text(graph::Dims(g.dims, g.dims + rank)) +
                           ", the result " + text(graph::Dims(at, at + rank)));
    at += rank;
  }
  return {};
}

Errors checkScratch(const Scratch &scratch, int64_t wanted) {
  if (static_cast<int64_t>(scratch.size) < wanted || (wanted && !scratch.data))
    return errorList(ErrorCode::BadTensorData,
                     std::to_string(scratch.size) +
                         " bytes of scratch are given, " +
                         std::to_string(wanted) + " are needed");
  if (reinterpret_cast<uintptr_t>(scratch.data) % 64)
    return errorList(ErrorCode::BadTensorData,
                     "the scratch is not aligned to 64 bytes");
  return {};
}

} // namespace

Errors tenon::api::sizesOf(const tenon_compiled_partition &compiled,
                           const Sizes &inputs, Sizes &all) {
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

/// Drops what was computed from data that have changed: nothing asks for it
/// again.
static void dropChanged(std::vector<tenon_compiled_partition::Bound> &bound,
                        const Identity &now) {
  auto changed = [&](const tenon_compiled_partition::Bound &b) {
    for (auto [was, is] : llvm::zip(b.identity, now))
      if (was.first == is.first && was.second < is.second)
        return true;
    return false;
  };
  for (auto &b : bound)
    if (changed(b))
      tenon_folded_release(b.folded);
  llvm::erase_if(bound, changed);
}

Errors tenon::api::foldedOf(tenon_compiled_partition &compiled,
                            tenon_stream &stream,
                            const tenon_tensor *const *inputs,
                            FoldedReference &reference) {
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
    dropChanged(compiled.bound, identity);
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

Errors tenon::api::execute(tenon_compiled_partition &compiled,
                           tenon_stream &stream, llvm::ArrayRef<Given> inputs,
                           llvm::ArrayRef<Given> outputs,
                           const tenon_tensor *const *tensors,
                           const Scratch *scratch) {
  Sizes sizes;
  if (!compiled.isStatic)
    if (auto e = checkSizes(compiled, inputs, outputs, sizes); !e.empty())
      return e;
  const tenon_model *model = compiled.code->compiled->model();
  const int64_t *dims = compiled.isStatic ? nullptr : sizes.data();
  void *memory = nullptr;
  if (scratch) {
    int64_t wanted = tenon_model_scratch_bytes(model, dims);
    if (auto e = checkScratch(*scratch, wanted); !e.empty())
      return e;
    memory = wanted ? scratch->data : nullptr;
  }
  FoldedReference folded;
  if (auto e = foldedOf(compiled, stream, tensors, folded); !e.empty())
    return e;
  Buffers buffers;
  for (const Given &g : inputs)
    buffers.push_back(g.data);
  for (const Given &g : outputs)
    buffers.push_back(g.data);
  tenon_rt_status status = tenon_model_run(model, stream.exec, folded.folded,
                                           buffers.data(), dims, memory);
  return status == TENON_RT_OK ? Errors{} : runtimeError(status);
}

//===----------------------------------------------------------------------===//
// On tensors
//===----------------------------------------------------------------------===//

/// Brings the tensors into the order of the ports, and executes.
static Errors executeTensors(tenon_compiled_partition *compiled,
                             tenon_stream *stream, size_t numInputs,
                             const tenon_tensor *const *inputs,
                             size_t numOutputs, tenon_tensor *const *outputs,
                             const Scratch *scratch = nullptr) {
  if (auto e = checkHandle(compiled, "compiled"); !e.empty())
    return e;
  if (auto e = checkHandle(stream, "stream"); !e.empty())
    return e;
  Tensors in, out, kept;
  if (auto e = dropIgnored(*compiled, numInputs, inputs, kept); !e.empty())
    return e;
  if (auto e = match(compiled->inputs, "inputs", numInputs, inputs,
                     compiled->own, in);
      !e.empty())
    return e;
  if (auto e =
          match(compiled->outputs, "outputs", numOutputs, outputs, {}, out);
      !e.empty())
    return e;
  AllGiven givenIn, givenOut;
  for (const tenon_tensor *t : in)
    givenIn.push_back(given(*t));
  for (const tenon_tensor *t : out)
    givenOut.push_back(given(*t));
  return execute(*compiled, *stream, givenIn, givenOut, in.data(), scratch);
}

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
  return guarded([&] {
    return executeTensors(compiled, stream, num_inputs, inputs, num_outputs,
                          outputs);
  });
}

tenon_status tenon_compiled_partition_execute_with_scratch(
    tenon_compiled_partition *compiled, tenon_stream *stream, size_t num_inputs,
    const tenon_tensor *const *inputs, size_t num_outputs,
    tenon_tensor *const *outputs, void *scratch, size_t scratch_size) {
  return guarded([&] {
    Scratch memory{scratch, scratch_size};
    return executeTensors(compiled, stream, num_inputs, inputs, num_outputs,
                          outputs, &memory);
  });
}
