//===-- tenon.hpp - Tenon's C++ interface ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// tenon.h with objects that free themselves and one exception (and
// std::invalid_argument where strides are not as many as sizes); nothing else.
// What each call does, and its errors, is written there.
//
//   tenon::Engine engine;
//   tenon::Stream stream(engine);
//   tenon::LogicalTensor x(0, TENON_F32, {8}), y(1, TENON_F32, {8});
//   tenon::Op relu(0, tenon_op_relu, "relu");
//   relu.input(x).output(y);
//   auto compiled = tenon::Partition(relu).compile(engine, {x}, {y});
//   compiled.execute(stream, {&tensorX}, {&tensorY});
//
// C++17. Objects may be moved, not copied; one that another is made from is
// empty then, assignment swaps. Calls without a method take get().
//
//===----------------------------------------------------------------------===//
#ifndef TENON_HPP
#define TENON_HPP

#include "tenon.h"

#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tenon {
// Names of its own for the linker, whatever else is in a program.
inline namespace v1 {

/// What every failing call throws.
class Exception : public std::runtime_error {
public:
  explicit Exception(const tenon_error &error)
      : std::runtime_error(error.text), code(error.status),
        opKindText(error.op_kind), opNameText(error.op_name), id(error.op_id),
        hintText(error.hint) {}

  /// A TENON_E_... number.
  tenon_status status() const { return code; }
  const std::string &opKind() const { return opKindText; }
  const std::string &opName() const { return opNameText; }
  uint64_t opId() const { return id; }
  const std::string &hint() const { return hintText; }

private:
  tenon_status code;
  std::string opKindText, opNameText;
  uint64_t id;
  std::string hintText;
};

/// Throws unless the call succeeded.
inline void check(tenon_status status) {
  if (status != TENON_SUCCESS)
    throw Exception(*tenon_last_error());
}

namespace detail {

/// Owns a handle.
template <typename T, void (*destroy)(T *)> class Object {
public:
  Object() = default;
  explicit Object(T *handle) : handle(handle) {}
  Object(Object &&other) noexcept
      : handle(std::exchange(other.handle, nullptr)) {}
  Object &operator=(Object &&other) noexcept {
    std::swap(handle, other.handle);
    return *this;
  }
  ~Object() { destroy(handle); }
  T *get() const { return handle; }
  explicit operator bool() const { return handle != nullptr; }

protected:
  T *handle = nullptr;
};

} // namespace detail

class LogicalTensor : public tenon_logical_tensor {
public:
  LogicalTensor() : tenon_logical_tensor{} {}
  LogicalTensor(const tenon_logical_tensor &t) : tenon_logical_tensor(t) {}
  LogicalTensor(uint64_t id, tenon_dtype dtype,
                const std::vector<int64_t> &dims,
                tenon_layout layout = TENON_LAYOUT_STRIDED,
                tenon_property property = TENON_PROPERTY_VARIABLE) {
    check(tenon_logical_tensor_init(this, id, dtype,
                                    static_cast<int32_t>(dims.size()),
                                    dims.data(), layout, property));
  }
  /// Of unknown rank.
  LogicalTensor(uint64_t id, tenon_dtype dtype) {
    check(tenon_logical_tensor_init(this, id, dtype, TENON_UNKNOWN_RANK,
                                    nullptr, TENON_LAYOUT_STRIDED,
                                    TENON_PROPERTY_VARIABLE));
  }
  static LogicalTensor strided(uint64_t id, tenon_dtype dtype,
                               const std::vector<int64_t> &dims,
                               const std::vector<int64_t> &strides,
                               tenon_property p = TENON_PROPERTY_VARIABLE) {
    LogicalTensor t;
    if (dims.size() != strides.size())
      throw std::invalid_argument("as many strides as sizes are needed");
    check(tenon_logical_tensor_init_strided(&t, id, dtype,
                                            static_cast<int32_t>(dims.size()),
                                            dims.data(), strides.data(), p));
    return t;
  }
  std::vector<int64_t> shape() const {
    return rank < 0 ? std::vector<int64_t>()
                    : std::vector<int64_t>(dims, dims + rank);
  }
  size_t byteSize() const {
    size_t bytes = 0;
    check(tenon_logical_tensor_byte_size(this, &bytes));
    return bytes;
  }
  /// The same edge with another layout.
  LogicalTensor with(tenon_layout other) const {
    LogicalTensor t = *this;
    t.layout = other;
    return t;
  }
};

class Engine : public detail::Object<tenon_engine, tenon_engine_destroy> {
public:
  explicit Engine(const tenon_allocator *allocator = nullptr) {
    check(tenon_engine_create(allocator, &handle));
  }
  void setOption(const std::string &name, const std::string &value) {
    check(tenon_engine_set_option(handle, name.c_str(), value.c_str()));
  }
};

class Stream : public detail::Object<tenon_stream, tenon_stream_destroy> {
public:
  /// The calling thread alone.
  explicit Stream(const Engine &engine) {
    check(tenon_stream_create(engine.get(), nullptr, &handle));
  }
  Stream(const Engine &engine, const tenon_exec_options &options) {
    check(tenon_stream_create(engine.get(), &options, &handle));
  }
  /// A team of its own; 0: one thread per CPU.
  Stream(const Engine &engine, int threads) {
    tenon_exec_options options;
    tenon_exec_options_init(&options);
    options.threading = TENON_THREADS_TEAM;
    options.threads = threads;
    check(tenon_stream_create(engine.get(), &options, &handle));
  }
};

class Tensor : public detail::Object<tenon_tensor, tenon_tensor_destroy> {
public:
  Tensor() = default;
  /// The caller's memory, or TENON_MEMORY_ALLOCATE for the library's.
  Tensor(const LogicalTensor &about, const Engine &engine, void *data) {
    check(tenon_tensor_create(&about, engine.get(), data, &handle));
  }
  /// `value` has the size and form of the dtype.
  template <typename T>
  static Tensor scalar(const LogicalTensor &about, const T &value) {
    Tensor t;
    check(tenon_tensor_create_scalar(&about, &value, &t.handle));
    return t;
  }
  void setData(void *data) { check(tenon_tensor_set_data(handle, data)); }
  void touch() { check(tenon_tensor_touch(handle)); }
  void *data() const {
    void *address = nullptr;
    check(tenon_tensor_get_data(handle, &address));
    return address;
  }
  LogicalTensor about() const {
    LogicalTensor t;
    check(tenon_tensor_get_logical_tensor(handle, &t));
    return t;
  }
  void convertTo(const Stream &stream, Tensor &to) const {
    check(tenon_tensor_convert(stream.get(), handle, to.get()));
  }
};

class Op : public detail::Object<tenon_op, tenon_op_destroy> {
public:
  Op(uint64_t id, tenon_op_kind kind, const std::string &name = "") {
    check(tenon_op_create(id, kind, name.c_str(), &handle));
  }
  Op(uint64_t id, const std::string &kind, const std::string &name) {
    check(tenon_op_create_named(id, kind.c_str(), name.c_str(), &handle));
  }
  Op &input(const LogicalTensor &t) {
    check(tenon_op_add_input(handle, &t));
    return *this;
  }
  Op &output(const LogicalTensor &t) {
    check(tenon_op_add_output(handle, &t));
    return *this;
  }
  /// Leave out an optional one before those that follow.
  Op &input(std::nullptr_t) {
    check(tenon_op_add_input(handle, nullptr));
    return *this;
  }
  Op &output(std::nullptr_t) {
    check(tenon_op_add_output(handle, nullptr));
    return *this;
  }
  Op &attr(const std::string &name, float value) {
    check(tenon_op_set_f32(handle, name.c_str(), value));
    return *this;
  }
  Op &attr(const std::string &name, const std::vector<float> &values) {
    check(
        tenon_op_set_f32s(handle, name.c_str(), values.data(), values.size()));
    return *this;
  }
  Op &attr(const std::string &name, int64_t value) {
    check(tenon_op_set_s64(handle, name.c_str(), value));
    return *this;
  }
  Op &attr(const std::string &name, int value) {
    return attr(name, static_cast<int64_t>(value));
  }
  Op &attr(const std::string &name, const std::vector<int64_t> &values) {
    check(
        tenon_op_set_s64s(handle, name.c_str(), values.data(), values.size()));
    return *this;
  }
  Op &attr(const std::string &name, bool value) {
    check(tenon_op_set_bool(handle, name.c_str(), value));
    return *this;
  }
  Op &attr(const std::string &name, const char *value) {
    check(tenon_op_set_string(handle, name.c_str(), value));
    return *this;
  }
};

class CompiledPartition
    : public detail::Object<tenon_compiled_partition,
                            tenon_compiled_partition_destroy> {
public:
  using Object::Object;

  LogicalTensor query(uint64_t id) const {
    LogicalTensor t;
    check(tenon_compiled_partition_query(handle, id, &t));
    return t;
  }
  std::vector<tenon_inplace_pair> inplacePairs() const {
    size_t count = 0;
    const tenon_inplace_pair *pairs = nullptr;
    check(tenon_compiled_partition_get_inplace_pairs(handle, &count, &pairs));
    return {pairs, pairs + count};
  }
  /// The likely sizes for which the code that executes `inputs` is; empty: for
  /// all.
  std::string version(const std::vector<LogicalTensor> &inputs) const {
    std::vector<tenon_logical_tensor> plain(inputs.begin(), inputs.end());
    const char *name = nullptr;
    check(tenon_compiled_partition_get_version(handle, plain.size(),
                                               plain.data(), &name));
    return name;
  }
  size_t scratchSize(const std::vector<LogicalTensor> &inputs = {}) const {
    std::vector<tenon_logical_tensor> plain(inputs.begin(), inputs.end());
    size_t bytes = 0;
    check(tenon_compiled_partition_get_scratch_size(handle, plain.size(),
                                                    plain.data(), &bytes));
    return bytes;
  }
  void bindConstants(const Stream &stream,
                     const std::vector<const Tensor *> &tensors) {
    std::vector<const tenon_tensor *> handles;
    for (const Tensor *t : tensors)
      handles.push_back(t->get());
    check(tenon_compiled_partition_bind_constants(
        handle, stream.get(), handles.size(), handles.data()));
  }
  void execute(const Stream &stream, const std::vector<const Tensor *> &inputs,
               const std::vector<Tensor *> &outputs) {
    std::vector<const tenon_tensor *> in;
    std::vector<tenon_tensor *> out;
    for (const Tensor *t : inputs)
      in.push_back(t->get());
    for (Tensor *t : outputs)
      out.push_back(t->get());
    check(tenon_compiled_partition_execute(handle, stream.get(), in.size(),
                                           in.data(), out.size(), out.data()));
  }
  std::string serialise() const {
    size_t size = 0;
    check(tenon_compiled_partition_serialise(handle, &size, nullptr));
    std::string bytes(size, '\0');
    check(tenon_compiled_partition_serialise(handle, &size, bytes.data()));
    return bytes;
  }
  static CompiledPartition deserialise(const std::string &bytes,
                                       const Engine &engine) {
    CompiledPartition made;
    check(tenon_compiled_partition_deserialise(bytes.data(), bytes.size(),
                                               engine.get(), &made.handle));
    return made;
  }
};

class Partition
    : public detail::Object<tenon_partition, tenon_partition_destroy> {
public:
  explicit Partition(tenon_partition *owned) : Object(owned) {}
  explicit Partition(const Op &op) {
    check(tenon_partition_create(op.get(), &handle));
  }
  uint64_t id() const { return tenon_partition_get_id(handle); }
  bool isSupported() const { return tenon_partition_is_supported(handle); }
  std::string reason() const { return tenon_partition_get_reason(handle); }
  std::vector<uint64_t> ops() const {
    size_t count = 0;
    const uint64_t *ids = nullptr;
    check(tenon_partition_get_ops(handle, &count, &ids));
    return {ids, ids + count};
  }
  std::vector<LogicalTensor> inputs() const {
    size_t count = 0;
    const tenon_logical_tensor *tensors = nullptr;
    check(tenon_partition_get_inputs(handle, &count, &tensors));
    return {tensors, tensors + count};
  }
  std::vector<LogicalTensor> outputs() const {
    size_t count = 0;
    const tenon_logical_tensor *tensors = nullptr;
    check(tenon_partition_get_outputs(handle, &count, &tensors));
    return {tensors, tensors + count};
  }
  CompiledPartition compile(const Engine &engine,
                            const std::vector<LogicalTensor> &inputs,
                            const std::vector<LogicalTensor> &outputs) const {
    std::vector<tenon_logical_tensor> in(inputs.begin(), inputs.end());
    std::vector<tenon_logical_tensor> out(outputs.begin(), outputs.end());
    tenon_compiled_partition *made = nullptr;
    check(tenon_partition_compile(handle, engine.get(), in.size(), in.data(),
                                  out.size(), out.data(), &made));
    return CompiledPartition(made);
  }
};

/// What is declared of a named size: the defaults say nothing.
struct SizeFacts {
  int64_t min = 0, max = TENON_NO_MAX, multipleOf = 1;
  std::vector<int64_t> likely;
};

class Graph : public detail::Object<tenon_graph, tenon_graph_destroy> {
public:
  Graph() { check(tenon_graph_create(&handle)); }
  static Graph fromJson(const std::string &text,
                        const std::string &name = "text") {
    Graph g(nullptr);
    check(tenon_graph_from_json(text.data(), text.size(), name.c_str(),
                                &g.handle));
    return g;
  }
  /// A graph (.json) or a model of ONNX (.onnx), with its weights.
  static Graph fromFile(const std::string &path) {
    Graph g(nullptr);
    check(tenon_graph_from_file(path.c_str(), &g.handle));
    return g;
  }
  /// The id of an input, an output or a weight of a model.
  uint64_t find(const std::string &name) const {
    uint64_t id = 0;
    check(tenon_graph_find_tensor(handle, name.c_str(), &id));
    return id;
  }
  Graph &add(const Op &op) {
    check(tenon_graph_add_op(handle, op.get()));
    return *this;
  }
  Graph &output(uint64_t tensorId) {
    check(tenon_graph_add_output(handle, tensorId));
    return *this;
  }
  Graph &size(uint64_t tensorId, int32_t dim, const std::string &expression) {
    check(tenon_graph_set_size(handle, tensorId, dim, expression.c_str()));
    return *this;
  }
  /// What holds for the size `name` in every execution; see
  /// tenon_graph_declare_size.
  Graph &declareSize(const std::string &name, const SizeFacts &facts) {
    check(tenon_graph_declare_size(handle, name.c_str(), facts.min, facts.max,
                                   facts.multipleOf, facts.likely.size(),
                                   facts.likely.data()));
    return *this;
  }
  void finalize() { check(tenon_graph_finalize(handle)); }
  std::vector<Partition>
  partitions(tenon_partition_policy policy = TENON_POLICY_FUSION) const {
    size_t count = 0;
    check(tenon_graph_get_partitions(handle, policy, &count, nullptr));
    std::vector<tenon_partition *> made(count);
    check(tenon_graph_get_partitions(handle, policy, &count, made.data()));
    std::vector<Partition> owned;
    for (tenon_partition *p : made)
      owned.emplace_back(p);
    return owned;
  }
  std::string toJson() const {
    const char *text = nullptr;
    size_t length = 0;
    check(tenon_graph_to_json(handle, &text, &length));
    return {text, length};
  }

private:
  explicit Graph(std::nullptr_t) {}
};

} // namespace v1
} // namespace tenon

#endif // TENON_HPP
