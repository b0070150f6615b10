//===- Tensors.cpp - tensors between command line and code ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Tensors.h.
//
//===----------------------------------------------------------------------===//
#include "tools/tenon/Tensors.h"

#include "compiler/import/MappedFile.h"
#include "compiler/import/onnx/Elements.h"
#include "dialects/graph/OpTable.h"
#include "dialects/graph/reference/Numeric.h"
#include "dialects/support/Text.h"
#include "tools/tenon/Cli.h"
#include "tools/tenon/Npy.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace tenon::cli {

using graph::DType;
using graph::Graph;
using graph::Op;
using reference::Tensor;

//===----------------------------------------------------------------------===//
// Specifications
//===----------------------------------------------------------------------===//

static Error badSpec(std::string_view text, std::string why) {
  return badOption("\"" + std::string(text.substr(0, 120)) + "\": " + why,
                   "NAME=4x16xf32=@x.npy, NAME=@x.npy, NAME=cast:@x.npy, "
                   "NAME=rand:SEED, "
                   "NAME=ones, NAME=zeros, NAME=iota, @x.npz");
}

/// "4x16xf32" or "f32".
static bool parseType(std::string_view text, TensorSpec &spec) {
  std::vector<std::string> pieces = splitText(text, 'x');
  if (pieces.empty() || pieces.size() > size_t(graph::kMaxRank) + 1)
    return false;
  spec.dtype = graph::parseDType(pieces.back());
  if (!spec.dtype || *spec.dtype == DType::undef)
    return false;
  pieces.pop_back();
  spec.shape.emplace();
  for (const std::string &piece : pieces) {
    std::optional<int64_t> dim = parseInteger(piece);
    if (!dim || *dim < 0)
      return false;
    spec.shape->push_back(*dim);
  }
  return reference::elementCount(*spec.shape) >= 0;
}

static bool parseSource(std::string_view text, TensorSpec &spec) {
  using Source = TensorSpec::Source;
  constexpr std::string_view kCast = "cast:";
  if (text.substr(0, kCast.size()) == kCast &&
      text.substr(kCast.size(), 1) == "@") {
    spec.cast = true;
    text.remove_prefix(kCast.size());
  }
  if (text.size() > 1 && text[0] == '@') {
    spec.source = Source::file;
    spec.path = text.substr(1);
    return true;
  }
  if (text == "ones" || text == "zeros" || text == "iota") {
    spec.source = text == "ones"    ? Source::ones
                  : text == "zeros" ? Source::zeros
                                    : Source::iota;
    return true;
  }
  if (text.substr(0, 4) != "rand")
    return false;
  spec.source = Source::random;
  text.remove_prefix(4);
  if (text.empty())
    return true;
  std::optional<int64_t> seed;
  if (text[0] == ':')
    seed = parseInteger(text.substr(1));
  spec.seed = static_cast<uint64_t>(seed.value_or(0));
  return seed && *seed >= 0;
}

/// "@x.npz" or "cast:@x.npz": all arrays of a file.
static bool parseArchive(std::string_view text, TensorSpec &spec) {
  bool isFile = text.starts_with("@") || text.starts_with("cast:@");
  return isFile && text.ends_with(".npz") && parseSource(text, spec);
}

Expected<TensorSpec> parseTensorSpec(std::string_view text) {
  TensorSpec archive;
  if (parseArchive(text, archive))
    return archive;
  size_t equals = text.find('=');
  if (equals == text.npos || equals == 0)
    return badSpec(text, "does not start with NAME=");
  TensorSpec spec;
  spec.name = text.substr(0, equals);
  std::string_view rest = text.substr(equals + 1);
  // A path may hold "=", a type may not.
  size_t file = rest.find('@');
  size_t second = rest.substr(0, file).find('=');
  if (second != rest.npos) {
    if (!parseType(rest.substr(0, second), spec))
      return badSpec(text, "\"" + std::string(rest.substr(0, second)) +
                               "\" is no shape and data type");
    rest.remove_prefix(second + 1);
  } else if (parseType(rest, spec)) {
    return spec;
  } else {
    spec.shape.reset();
    spec.dtype.reset();
  }
  if (parseSource(rest, spec))
    return spec;
  Error error = badSpec(text, "\"" + std::string(rest) + "\" is no source");
  std::string word = spec.name + "=";
  TensorSpec typed;
  if (rest.ends_with(".npy") || rest.ends_with(".npz") || rest.ends_with(".pb"))
    error.hint = "files begin with @: " + word + "@" + std::string(rest);
  else if (parseType(std::string(rest) + "xf32", typed))
    error.hint =
        "a shape ends in its data type: " + word + std::string(rest) + "xf32";
  return error;
}

Expected<TensorSpec> parseFileSpec(std::string_view text,
                                   std::string_view option, bool mayCast) {
  size_t equals = text.find('=');
  TensorSpec spec;
  bool isArchive = parseArchive(text, spec);
  if (!isArchive && (equals == text.npos || equals == 0 ||
                     !parseSource(text.substr(equals + 1), spec) ||
                     spec.source != TensorSpec::Source::file))
    return badOption("--" + std::string(option) + ": \"" + std::string(text) +
                         "\" names no file",
                     "write NAME=@FILE.npy, or @FILE.npz for all");
  if (spec.cast && !mayCast)
    return badOption("--" + std::string(option) +
                     ": nothing is cast when a file is written");
  if (!isArchive)
    spec.name = text.substr(0, equals);
  return spec;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static std::string roleOf(std::span<const graph::ValueInfo> values, size_t i) {
  if (values.empty())
    return std::to_string(i);
  const graph::ValueInfo &value = values[std::min(i, values.size() - 1)];
  std::string role(value.name);
  // Operands of a variadic one are told apart by their position.
  return value.variadic ? role + std::to_string(i) : role;
}

/// Calls `visit(name, id)` for every readable name until it returns true: first
/// those that the model gives its tensors.
template <typename Fn> static void forEachName(const Graph &graph, Fn visit) {
  for (const auto &[id, tensor] : graph.tensors)
    if (!tensor.name.empty() && visit(tensor.name, id))
      return;
  for (const Op &op : graph.ops) {
    const graph::OpInfo *info = graph::lookupOp(op.kind);
    if (!info || op.name.empty())
      continue;
    for (size_t i = 0; i < op.inputs.size(); ++i)
      if (visit(op.name + "." + roleOf(info->operands, i), op.inputs[i]))
        return;
    for (size_t i = 0; i < op.outputs.size(); ++i)
      if (visit(op.name + "." + roleOf(info->results, i), op.outputs[i]))
        return;
    if (!op.outputs.empty() && visit(op.name, op.outputs[0]))
      return;
  }
}

Expected<uint64_t> resolveTensor(const Graph &graph, std::string_view name) {
  std::optional<uint64_t> found;
  // Names of a model may be numbers: they are not ids.
  for (const auto &[known, tensor] : graph.tensors)
    if (!tensor.name.empty() && tensor.name == name)
      return known;
  std::optional<int64_t> id = parseInteger(name);
  if (id && *id >= 0 && graph.tensors.count(static_cast<uint64_t>(*id)))
    return static_cast<uint64_t>(*id);
  std::vector<std::string> names;
  forEachName(graph, [&](const std::string &candidate, uint64_t candidateId) {
    if (candidate == name)
      found = candidateId;
    else
      names.push_back(candidate);
    return found.has_value();
  });
  if (found)
    return *found;
  Error error;
  error.code = ErrorCode::UnknownTensor;
  error.message = "no tensor is called \"" + std::string(name) + "\"";
  // What people mean is mostly a port, and no weight of a model.
  std::vector<std::string> ports, listed;
  for (const std::vector<uint64_t> *all :
       {&graph.inputPorts, &graph.outputPorts})
    for (uint64_t port : *all) {
      const graph::LogicalTensor &t = graph.tensor(port);
      if (t.property == graph::PropertyType::constant && !t.name.empty())
        continue;
      ports.push_back(plainName(graph, port));
      if (listed.size() < 24)
        listed.push_back(describeTensor(graph, port));
    }
  std::string near = closest(name, ports);
  if (near.empty())
    near = closest(name, names);
  error.hint = near.empty() ? "inputs and outputs:" : "did you mean " + near;
  if (near.empty())
    for (const std::string &port : listed)
      error.hint += " " + port;
  // As numpy calls arrays without a name.
  if (name.starts_with("arr_"))
    error.hint += "; numpy.savez(file, NAME=array) names arrays";
  return error;
}

std::string describeTensor(const Graph &graph, uint64_t id) {
  if (auto found = graph.tensors.find(id);
      found != graph.tensors.end() && !found->second.name.empty())
    return found->second.name;
  std::string text;
  forEachName(graph, [&](const std::string &name, uint64_t candidate) {
    if (candidate == id)
      text = name;
    return candidate == id;
  });
  std::string number = std::to_string(id);
  return text.empty() ? number : number + " (" + text + ")";
}

std::string plainName(const Graph &graph, uint64_t id) {
  std::string text = describeTensor(graph, id);
  size_t open = text.find(" (");
  bool isNamed = !graph.tensor(id).name.empty() || open == text.npos;
  return isNamed ? text : text.substr(open + 2, text.size() - open - 3);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Values in [-1, 1), of types without a sign in [0, 1], small integers, or 0
/// and 1; the same on every machine.
static void fillRandom(Tensor &tensor, DType dtype, uint64_t seed) {
  reference::Range range = reference::rangeOf(dtype);
  double low = std::max(range.min, -8.0), high = std::min(range.max, 8.0);
  uint64_t state = seed;
  for (double &value : tensor.data) {
    // SplitMix64.
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    z ^= z >> 31;
    double unit = std::ldexp(static_cast<double>(z >> 40), -24);
    value = graph::isFloat(dtype) ? 2 * unit - 1
                                  : low + std::floor(unit * (high - low + 1));
    if (range.min > 0)
      value = std::fabs(value);
  }
}

static std::string dimsText(const graph::Dims &dims) {
  std::string text;
  for (int64_t dim : dims)
    text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text.empty() ? "scalar" : text;
}

static Error badTensor(const TensorSpec &spec, std::string why) {
  Error error;
  error.code = ErrorCode::BadTensorData;
  error.message = spec.path + " for " + spec.name + ": " + std::move(why);
  return error;
}

/// Whether element `i` is a value of the integer type `dtype`.
static bool holds(DType dtype, const Tensor &tensor, int64_t i) {
  reference::Range range = reference::rangeOf(dtype);
  double v = tensor.at(i);
  if (dtype == DType::s64 && !tensor.isS64() && v >= range.max) // 2^63
    return false;
  // What at() rounds is out of range of every type but s64, rounded or not.
  return v >= range.min && v <= range.max && v == std::floor(v);
}

/// A tensor of ONNX's test data, and its type as files of arrays call it.
static Expected<Tensor> readPb(const std::string &path, std::string *type) {
  auto file = MappedFile::open(path);
  if (!file)
    return file.errors();
  auto proto = onnx::parseTensor((*file)->bytes());
  auto read =
      proto ? onnx::readElements(*proto) : Expected<Tensor>(proto.errors());
  if (!read) {
    Error error = read.errors().front();
    error.code = ErrorCode::BadTensorData;
    error.message = path + ": " + error.message;
    return error;
  }
  if (proto->type == onnx::DataType::f64)
    reference::setDType(*read, graph::DType::f64);
  *type = npyTypeFor(read->dtype);
  return read;
}

static Expected<Tensor> readFile(const TensorSpec &spec,
                                 const graph::LogicalTensor &tensor) {
  std::string type;
  Expected<Tensor> read = spec.path.ends_with(".pb") ? readPb(spec.path, &type)
                          : spec.array ? parseNpy(*spec.array, spec.path, &type)
                                       : readNpy(spec.path, &type);
  if (!read)
    return read;
  if (std::string wanted = npyTypeFor(tensor.dtype);
      type != wanted && !spec.cast) {
    Error error = badTensor(
        spec, "the file holds elements of type " + type + ", tensors of " +
                  std::string(graph::name(tensor.dtype)) + " need " + wanted);
    error.hint = "cast:@" + spec.path + " converts them";
    return error;
  }
  if (read->shape != *tensor.shape)
    return badTensor(spec, "the file holds " + dimsText(read->shape) +
                               ", the tensor is " + dimsText(*tensor.shape));
  if (!graph::isFloat(tensor.dtype))
    for (int64_t i = 0; i < read->numElements(); ++i)
      if (!holds(tensor.dtype, *read, i))
        return badTensor(spec, "element " + std::to_string(i) + " is " +
                                   read->text(i, 17) + ", which " +
                                   std::string(graph::name(tensor.dtype)) +
                                   " cannot hold");
  reference::setDType(*read, tensor.dtype);
  return read;
}

Expected<Tensor> makeTensor(const TensorSpec &spec,
                            const graph::LogicalTensor &tensor) {
  using Source = TensorSpec::Source;
  if (spec.source == Source::file) {
    Expected<Tensor> read = readFile(spec, tensor);
    if (read)
      reference::roundToDType(*read);
    return read;
  }
  if (reference::elementCount(*tensor.shape) > int64_t{1} << 30) {
    Error error;
    error.code = ErrorCode::TooLarge;
    error.message = spec.name + " has the shape " + dimsText(*tensor.shape);
    return error;
  }
  // Numbers of every type are small here: doubles, until they are made.
  Tensor made = reference::zeros(DType::undef, *tensor.shape);
  if (spec.source == Source::ones)
    std::fill(made.data.begin(), made.data.end(), 1.0);
  if (spec.source == Source::random)
    fillRandom(made, tensor.dtype, spec.seed);
  if (spec.source == Source::iota)
    for (size_t i = 0; i < made.data.size(); ++i)
      made.data[i] = static_cast<double>(i);
  reference::setDType(made, tensor.dtype);
  reference::roundToDType(made);
  return made;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Expected<TensorBuffer> TensorBuffer::allocate(DType dtype, graph::Dims shape,
                                              graph::Dims strides) {
  constexpr int64_t kMost = int64_t{1} << 40;
  TensorBuffer buffer;
  int64_t bytes = strides.size() == shape.size()
                      ? reference::spannedBytes(dtype, shape, strides)
                      : -1;
  Error error;
  if (bytes < 0 || bytes > kMost) {
    error.code = ErrorCode::BadTensorData;
    error.message = "a tensor of shape " + dimsText(shape) + " with strides " +
                    dimsText(strides) + " has no memory";
    return error;
  }
  buffer.dtype = dtype;
  buffer.dims = std::move(shape);
  buffer.strides = std::move(strides);
  buffer.size = static_cast<size_t>(bytes);
  size_t whole = (buffer.size + 2 * kGuard + 63) / 64 * 64;
  buffer.memory.reset(static_cast<std::byte *>(std::aligned_alloc(64, whole)));
  if (!buffer.memory) {
    error.code = ErrorCode::OutOfMemory;
    error.message = "a tensor needs " + std::to_string(bytes) + " bytes";
    return error;
  }
  buffer.clear();
  return buffer;
}

void TensorBuffer::clear() {
  std::memset(memory.get(), 0xFF, size + 2 * kGuard);
}

std::vector<Error> TensorBuffer::write(const Tensor &tensor) {
  return reference::toMemory(tensor, strides, span());
}

Expected<Tensor> TensorBuffer::read() const {
  return reference::fromMemory(dtype, dims, strides, span());
}

std::string TensorBuffer::damage() const {
  for (size_t i = 0; i < kGuard; ++i) {
    if (memory[i] != std::byte{0xFF})
      return "memory before the tensor was written";
    if (memory[kGuard + size + i] != std::byte{0xFF})
      return "memory after the tensor was written";
  }
  double dense = static_cast<double>(reference::elementCount(dims)) *
                 graph::byteSize(dtype);
  if (static_cast<double>(size) <= dense || graph::byteSize(dtype) < 1)
    return {};
  // Zeros over 0xFF leave 0xFF in the gaps alone.
  Expected<TensorBuffer> mask = allocate(dtype, dims, strides);
  if (!mask || !mask->write(reference::zeros(dtype, dims)).empty())
    return {};
  for (size_t i = 0; i < size; ++i)
    if (mask->span()[i] == std::byte{0xFF} && span()[i] != std::byte{0xFF})
      return "byte " + std::to_string(i) +
             ", in a gap that the strides leave, was written";
  return {};
}

uint64_t TensorBuffer::hash() const {
  uint64_t state = 0xcbf29ce484222325;
  std::span<const std::byte> bytes = span();
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    state = (state ^ word) * 0x9FB21C651E98DF25;
    state ^= state >> 32;
  }
  for (; i < bytes.size(); ++i)
    state = (state ^ static_cast<uint64_t>(bytes[i])) * 0x100000001b3;
  return state;
}

} // namespace tenon::cli
