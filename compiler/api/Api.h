//===- Api.h - what is behind the handles ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Private to the API.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/api/tenon.h"
#include "compiler/driver/Options.h"
#include "compiler/import/Model.h"
#include "compiler/partition/Partition.h"
#include "dialects/graph/Graph.h"
#include "dialects/support/Fail.h"

#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

namespace tenon::api {

/// Tells handles apart, as far as memory that is still ours can tell.
enum class Kind : uint32_t {
  engine = 0x74656e01,
  stream,
  tensor,
  op,
  graph,
  partition,
  compiled,
  call
};

struct Handle {
  explicit Handle(Kind kind) : kind(kind) {}
  ~Handle() { kind = Kind(0); }
  Kind kind;
};

/// Remembers the errors as the thread's last and returns the first's number.
tenon_status report(const std::vector<Error> &errors);
inline tenon_status report(Error error) {
  return report(std::vector<Error>{std::move(error)});
}

inline std::vector<Error> errorList(ErrorCode code, std::string message,
                                    std::string hint = {}) {
  return {fail(code, std::move(message), std::move(hint))};
}

/// Runs the body of a call: returns errors (empty: success), throws nothing.
template <typename Body> tenon_status guarded(Body body) noexcept {
  try {
    std::vector<Error> errors = body();
    return errors.empty() ? TENON_SUCCESS : report(errors);
  } catch (const std::bad_alloc &) {
    return report(fail(ErrorCode::OutOfMemory, "memory is exhausted"));
  } catch (const std::exception &e) {
    return report(fail(ErrorCode::Internal, e.what()));
  } catch (...) {
    return report(fail(ErrorCode::Internal, "unknown exception"));
  }
}

/// An argument of a call.
struct Argument {
  const char *name;
  const void *value;
};

/// Errors for each argument that is null.
std::vector<Error> needed(std::initializer_list<Argument> arguments);

template <typename T>
std::vector<Error> checkHandle(const T *handle, const char *name) {
  if (!handle)
    return needed({{name, nullptr}});
  if (handle->kind != T::kKind)
    return errorList(ErrorCode::BadHandle,
                     std::string(name) + " is a handle of another kind, or was "
                                         "destroyed");
  return {};
}

/// The elements of a list that belongs to an object.
template <typename T, typename Element>
tenon_status getList(const T *handle, const char *name,
                     const std::vector<Element> T::*list, size_t *count,
                     const Element **elements) {
  if (count)
    *count = 0;
  if (elements)
    *elements = nullptr;
  return guarded([&]() -> std::vector<Error> {
    if (auto e = checkHandle(handle, name); !e.empty())
      return e;
    if (auto e = needed({{"count", count}}); !e.empty())
      return e;
    *count = (handle->*list).size();
    if (elements)
      *elements = (handle->*list).data();
    return {};
  });
}

/// What an engine has; streams, tensors and compiled partitions share it.
struct EngineState {
  tenon_allocator allocator = {};
  std::mutex mutex; // of options
  Options options;

  Options currentOptions() {
    std::lock_guard lock(mutex);
    return options;
  }
};

/// Adds the operation; after an error the graph is as it was.
std::vector<Error> addOp(tenon_graph &graph, const tenon_op &op);
/// Sorts, completes and infers; after an error the graph is as it was, so that
/// it can be repaired.
std::vector<Error> finalize(tenon_graph &graph);

/// Sets an option by the name of its flag. Errors: BadOption.
std::vector<Error> setOption(Options &options, const std::string &flag,
                             const std::string &value);

//===----------------------------------------------------------------------===//
// Logical tensors
//===----------------------------------------------------------------------===//

/// Checks and converts. Opaque layouts become their strides when sizes are
/// known.
Expected<graph::LogicalTensor> fromApi(const tenon_logical_tensor &tensor);
tenon_logical_tensor toApi(const graph::LogicalTensor &tensor);

/// The layout "channels last": N, X..., C in memory for sizes N, C, X....
inline constexpr uint64_t kChannelsLast = 1;
graph::Dims channelsLastStrides(const graph::Dims &dims);

/// Checks, converts, and wants sizes and a layout.
Expected<graph::LogicalTensor> placeable(const tenon_logical_tensor &tensor);

/// Errors: BadTensorData where `data` cannot be memory of such elements.
std::vector<Error> checkAlignment(const graph::LogicalTensor &about,
                                  const void *data);

/// Bytes from the first to the last element; sizes and strides are known.
int64_t spanBytes(const graph::LogicalTensor &tensor);

/// Whether two tensors of one shape have their elements at the same places.
bool sameAddresses(const graph::Dims &dims, const int64_t *a, const int64_t *b);

//===----------------------------------------------------------------------===//
// Dumps
//===----------------------------------------------------------------------===//

/// Writes a graph when the dump mode asks for it. A failure is reported on no
/// call: dumps are an aid.
void dump(const graph::Graph &graph, tenon_dump_mode what,
          const std::string &name);

} // namespace tenon::api

//===----------------------------------------------------------------------===//
// Objects
//===----------------------------------------------------------------------===//

struct tenon_engine : tenon::api::Handle {
  static constexpr auto kKind = tenon::api::Kind::engine;
  tenon_engine() : Handle(kKind) {}
  std::shared_ptr<tenon::api::EngineState> state =
      std::make_shared<tenon::api::EngineState>();
};

struct tenon_stream : tenon::api::Handle {
  static constexpr auto kKind = tenon::api::Kind::stream;
  tenon_stream() : Handle(kKind) {}
  ~tenon_stream() { tenon_exec_destroy(exec); }
  std::shared_ptr<tenon::api::EngineState> engine;
  tenon_exec *exec = nullptr;
};

struct tenon_tensor : tenon::api::Handle {
  static constexpr auto kKind = tenon::api::Kind::tensor;
  tenon_tensor();
  ~tenon_tensor();
  tenon::graph::LogicalTensor about; // sizes and strides known
  tenon_logical_tensor given;        // as the caller has described it
  void *data = nullptr;
  void *owned = nullptr; // memory of the library's
  std::shared_ptr<tenon::api::EngineState> engine;
  alignas(8) char scalar[8] = {};
  /// Never used twice in a process.
  const uint64_t serial;
  std::atomic<uint64_t> generation{0};
};

struct tenon_op : tenon::api::Handle {
  static constexpr auto kKind = tenon::api::Kind::op;
  tenon_op() : Handle(kKind) {}
  tenon::graph::Op op;
  std::vector<tenon::graph::LogicalTensor> inputs, outputs;
};

struct tenon_graph : tenon::api::Handle {
  static constexpr auto kKind = tenon::api::Kind::graph;
  tenon_graph() : Handle(kKind) {}
  tenon::graph::Graph graph;
  /// Until finalized: positions in graph.ops of operations by id, and of
  /// producers by tensor.
  std::map<uint64_t, size_t> opsById, producers;
  bool finalized = false;
  std::string json;
  tenon::Constants constants; // of a model, by tensor id
};

struct tenon_partition : tenon::api::Handle {
  static constexpr auto kKind = tenon::api::Kind::partition;
  tenon_partition() : Handle(kKind) {}
  /// Its operations; ports in order.
  tenon::graph::Graph graph;
  uint64_t id = 0;
  bool supported = true;
  std::string reason;
  std::vector<uint64_t> ops;
  /// Those that a caller gives: constants of a model have their values.
  std::vector<tenon_logical_tensor> inputs, outputs;
  tenon::Constants constants;
};
