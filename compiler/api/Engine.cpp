//===- Engine.cpp - engines, streams, tensors -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/api/Api.h"

#include <charconv>
#include <cstring>

namespace tenon::api {

namespace {

bool parse(const std::string &text, std::string &value) {
  value = text;
  return true;
}

bool parse(const std::string &text, bool &value) {
  value = text == "true" || text == "1";
  return value || text == "false" || text == "0";
}

bool parse(const std::string &text, int64_t &value) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

} // namespace

std::vector<Error> setOption(Options &options, const std::string &flag,
                             const std::string &value) {
  std::string known;
#define TENON_OPTION(type, name, option, initial, help)                        \
  if (flag == option)                                                          \
    return parse(value, options.name)                                          \
               ? std::vector<Error>{}                                          \
               : errorList(ErrorCode::BadOption,                               \
                           "'" + value + "' is no value of " option, help);    \
  known += known.empty() ? option : ", " option;
#include "compiler/driver/Options.def"
  return errorList(ErrorCode::BadOption, "there is no option '" + flag + "'",
                   "there are " + known);
}

} // namespace tenon::api

using namespace tenon;
using namespace tenon::api;

//===----------------------------------------------------------------------===//
// Engines and streams
//===----------------------------------------------------------------------===//

tenon_status tenon_engine_create(const tenon_allocator *allocator,
                                 tenon_engine **engine) {
  if (engine)
    *engine = nullptr;
  return guarded([&]() -> std::vector<Error> {
    if (auto e = needed({{"engine", engine}}); !e.empty())
      return e;
    if (allocator && !allocator->allocate != !allocator->release)
      return errorList(ErrorCode::BadOption,
                       "an allocator has both functions or none");
    auto made = std::make_unique<tenon_engine>();
    if (allocator)
      made->state->allocator = *allocator;
    *engine = made.release();
    return {};
  });
}

void tenon_engine_destroy(tenon_engine *engine) { delete engine; }

tenon_status tenon_engine_set_option(tenon_engine *engine, const char *name,
                                     const char *value) {
  return guarded([&]() -> std::vector<Error> {
    if (auto e = checkHandle(engine, "engine"); !e.empty())
      return e;
    if (auto e = needed({{"name", name}, {"value", value}}); !e.empty())
      return e;
    std::lock_guard lock(engine->state->mutex);
    return setOption(engine->state->options, name, value);
  });
}

tenon_status tenon_stream_create(tenon_engine *engine,
                                 const tenon_exec_options *options,
                                 tenon_stream **stream) {
  if (stream)
    *stream = nullptr;
  return guarded([&]() -> std::vector<Error> {
    if (auto e = checkHandle(engine, "engine"); !e.empty())
      return e;
    if (auto e = needed({{"stream", stream}}); !e.empty())
      return e;
    tenon_exec_options own;
    tenon_exec_options_init(&own);
    if (options && options->struct_size == own.struct_size)
      own = *options;
    else if (options)
      return errorList(ErrorCode::BadOption, "the options were not initialised",
                       "call tenon_exec_options_init");
    own.allocator = engine->state->allocator;
    auto made = std::make_unique<tenon_stream>();
    made->engine = engine->state;
    tenon_rt_status status = tenon_exec_create(&own, &made->exec);
    if (status != TENON_RT_OK)
      return errorList(status == TENON_RT_OUT_OF_MEMORY ? ErrorCode::OutOfMemory
                                                        : ErrorCode::BadOption,
                       std::string("no stream with these options: ") +
                           tenon_rt_status_string(status));
    *stream = made.release();
    return {};
  });
}

void tenon_stream_destroy(tenon_stream *stream) { delete stream; }

tenon_exec *tenon_stream_get_exec(tenon_stream *stream) {
  return stream ? stream->exec : nullptr;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static std::atomic<uint64_t> nextSerial{1};

tenon_tensor::tenon_tensor() : Handle(kKind), serial(nextSerial.fetch_add(1)) {}

tenon_tensor::~tenon_tensor() {
  if (!owned)
    return;
  const tenon_allocator &a = engine->allocator;
  a.release ? a.release(a.context, owned) : tenon_rt_free(nullptr, owned);
}

/// Memory of the engine's, for all elements.
static std::vector<Error> allocate(tenon_tensor &tensor) {
  int64_t bytes = std::max<int64_t>(1, spanBytes(tensor.about));
  const tenon_allocator &a = tensor.engine->allocator;
  tensor.owned = a.allocate
                     ? a.allocate(a.context, static_cast<size_t>(bytes), 64)
                     : tenon_rt_alloc(nullptr, bytes);
  tensor.data = tensor.owned;
  if (tensor.owned)
    return {};
  return errorList(ErrorCode::OutOfMemory,
                   "no memory for the " + std::to_string(bytes) +
                       " bytes of tensor " + std::to_string(tensor.about.id));
}

tenon_status tenon_tensor_create(const tenon_logical_tensor *about,
                                 tenon_engine *engine, void *data,
                                 tenon_tensor **tensor) {
  if (tensor)
    *tensor = nullptr;
  return guarded([&]() -> std::vector<Error> {
    if (auto e = needed({{"about", about}, {"tensor", tensor}}); !e.empty())
      return e;
    if (auto e = checkHandle(engine, "engine"); !e.empty())
      return e;
    auto t = placeable(*about);
    if (!t)
      return t.errors();
    auto made = std::make_unique<tenon_tensor>();
    made->about = std::move(*t);
    made->given = *about;
    made->engine = engine->state;
    std::vector<Error> errors;
    if (data == TENON_MEMORY_ALLOCATE) {
      errors = allocate(*made);
    } else {
      errors = checkAlignment(made->about, data);
      made->data = data;
    }
    if (errors.empty())
      *tensor = made.release();
    return errors;
  });
}

tenon_status tenon_tensor_create_scalar(const tenon_logical_tensor *about,
                                        const void *value,
                                        tenon_tensor **tensor) {
  if (tensor)
    *tensor = nullptr;
  return guarded([&]() -> std::vector<Error> {
    if (auto e =
            needed({{"about", about}, {"value", value}, {"tensor", tensor}});
        !e.empty())
      return e;
    auto t = fromApi(*about);
    if (!t)
      return t.errors();
    if (about->rank != 0)
      return errorList(ErrorCode::BadRank, "a scalar has rank 0, tensor " +
                                               std::to_string(about->id) +
                                               " has rank " +
                                               std::to_string(about->rank));
    auto made = std::make_unique<tenon_tensor>();
    made->about = *t;
    made->given = *about;
    memcpy(made->scalar, value, static_cast<size_t>(spanBytes(*t)));
    made->data = made->scalar;
    *tensor = made.release();
    return {};
  });
}

void tenon_tensor_destroy(tenon_tensor *tensor) { delete tensor; }

tenon_status tenon_tensor_set_data(tenon_tensor *tensor, void *data) {
  return guarded([&]() -> std::vector<Error> {
    if (auto e = checkHandle(tensor, "tensor"); !e.empty())
      return e;
    if (tensor->owned || tensor->data == tensor->scalar)
      return errorList(ErrorCode::BadHandle,
                       "the memory of tensor " +
                           std::to_string(tensor->about.id) +
                           " is the library's",
                       "write to what tenon_tensor_get_data gives");
    if (auto e = checkAlignment(tensor->about, data); !e.empty())
      return e;
    tensor->data = data;
    tensor->generation.fetch_add(1);
    return {};
  });
}

tenon_status tenon_tensor_get_data(const tenon_tensor *tensor, void **data) {
  if (data)
    *data = nullptr;
  return guarded([&]() -> std::vector<Error> {
    if (auto e = checkHandle(tensor, "tensor"); !e.empty())
      return e;
    if (auto e = needed({{"data", data}}); !e.empty())
      return e;
    *data = tensor->data;
    return {};
  });
}

tenon_status tenon_tensor_touch(tenon_tensor *tensor) {
  return guarded([&]() -> std::vector<Error> {
    if (auto e = checkHandle(tensor, "tensor"); !e.empty())
      return e;
    tensor->generation.fetch_add(1);
    return {};
  });
}

tenon_status tenon_tensor_get_logical_tensor(const tenon_tensor *tensor,
                                             tenon_logical_tensor *about) {
  return guarded([&]() -> std::vector<Error> {
    if (auto e = checkHandle(tensor, "tensor"); !e.empty())
      return e;
    if (auto e = needed({{"about", about}}); !e.empty())
      return e;
    *about = tensor->given;
    return {};
  });
}
