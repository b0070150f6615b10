// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/Load.h"

#include "compiler/import/MappedFile.h"
#include "compiler/import/onnx/Summary.h"

#include <charconv>
#include <filesystem>

namespace tenon::onnx {

namespace {

/// The bytes of a model and its messages, which are views of them.
struct Source {
  std::vector<std::shared_ptr<const MappedFile>> files;
  ModelProto model;
  std::deque<NodeProto> nodes;
  std::shared_ptr<const std::deque<TensorProto>> packed;
};

/// Finds elements that are in other files.
class ExternalData {
public:
  ExternalData(std::filesystem::path folder, Source &source)
      : folder(std::move(folder)), source(source) {}

  void read(GraphProto &graph) {
    for (TensorProto &tensor : graph.initializers)
      read(tensor);
    read(graph.nodes);
  }
  void read(std::vector<NodeProto> &nodes) {
    for (NodeProto &node : nodes)
      for (AttributeProto &attribute : node.attributes) {
        for (TensorProto &tensor : attribute.tensors)
          read(tensor);
        for (GraphProto &graph : attribute.graphs)
          read(graph);
      }
  }
  std::vector<Error> errors;

private:
  void read(TensorProto &tensor);
  std::optional<std::string_view> fileAt(const TensorProto &tensor,
                                         std::string_view location);
  void fail(const TensorProto &tensor, ErrorCode code, std::string what) {
    errors.push_back(
        Error{code,
              "tensor \"" + std::string(tensor.name) + "\" " + std::move(what),
              "",
              "",
              {},
              ""});
  }

  std::filesystem::path folder;
  Source &source;
  std::map<std::string, std::string_view, std::less<>> opened;
};

std::optional<std::string_view>
ExternalData::fileAt(const TensorProto &tensor, std::string_view location) {
  if (auto found = opened.find(location); found != opened.end())
    return found->second;
  std::filesystem::path path(location);
  bool isInside = !location.empty() && path.is_relative();
  for (const auto &part : path)
    isInside &= part != "..";
  if (!isInside) {
    fail(tensor, ErrorCode::BadTensorData,
         "is in \"" + std::string(location) +
             "\", which is not in the folder of the model");
    return std::nullopt;
  }
  auto file = MappedFile::open((folder / path).string());
  if (!file) {
    fail(tensor, ErrorCode::CannotRead,
         "cannot be read: " + file.errors().front().message);
    return std::nullopt;
  }
  source.files.push_back(*file);
  return opened[std::string(location)] = (*file)->bytes();
}

void ExternalData::read(TensorProto &tensor) {
  if (!tensor.isExternal)
    return;
  std::string_view location;
  std::optional<uint64_t> offset = 0, length;
  auto number = [](std::string_view text) -> std::optional<uint64_t> {
    uint64_t value = 0;
    auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value);
    bool isNumber = error == std::errc() && end == text.data() + text.size();
    return isNumber ? std::optional(value) : std::nullopt;
  };
  bool isGood = true;
  for (const auto &[key, value] : tensor.external) {
    if (key == "location")
      location = value;
    if (key == "offset")
      isGood &= (offset = number(value)).has_value();
    if (key == "length")
      isGood &= (length = number(value)).has_value();
  }
  if (!isGood)
    return fail(tensor, ErrorCode::BadTensorData,
                "has an offset or a length that is no number");
  std::optional<std::string_view> bytes = fileAt(tensor, location);
  if (!bytes)
    return;
  if (*offset > bytes->size() || length.value_or(0) > bytes->size() - *offset)
    return fail(tensor, ErrorCode::BadTensorData,
                "ends beyond the end of \"" + std::string(location) +
                    "\", which has " + std::to_string(bytes->size()) +
                    " bytes");
  // Without a length it is as long as its dims say.
  std::optional<graph::DType> dtype = dtypeOf(tensor.type);
  if (!length && dtype) {
    int64_t size =
        reference::elementCount(tensor.dims) < 0
            ? -1
            : reference::spannedBytes(*dtype, tensor.dims,
                                      graph::denseStrides(tensor.dims)) *
                  (tensor.type == DataType::f64 ? 2 : 1);
    if (size < 0 || static_cast<uint64_t>(size) > bytes->size() - *offset)
      return fail(tensor, ErrorCode::BadTensorData,
                  "has more elements than \"" + std::string(location) + "\"");
    length = static_cast<uint64_t>(size);
  }
  tensor.raw = bytes->substr(*offset, length.value_or(0));
  tensor.isRaw = true;
  tensor.isExternal = false;
}

std::vector<std::byte> bytesOf(const reference::Tensor &tensor,
                               std::vector<Error> &errors) {
  graph::Dims strides = graph::denseStrides(tensor.shape);
  std::vector<std::byte> bytes(static_cast<size_t>(
      reference::spannedBytes(tensor.dtype, tensor.shape, strides)));
  for (Error &error : reference::toMemory(tensor, strides, bytes))
    errors.push_back(std::move(error));
  return bytes;
}

/// Weights and constants that the graph reads.
std::vector<Error> addConstants(const Imported &imported,
                                Constants &constants) {
  std::vector<Error> errors;
  for (const auto &[id, tensor] : imported.constants)
    constants.add(id, bytesOf(tensor, errors));
  for (const auto &[id, tensor] : imported.weights) {
    const graph::LogicalTensor &about = imported.graph.tensor(id);
    auto bytes = std::as_bytes(std::span(tensor->raw));
    int64_t size = reference::spannedBytes(about.dtype, *about.shape,
                                           graph::denseStrides(*about.shape));
    if (tensor->isRaw && tensor->type != DataType::f64 &&
        size == static_cast<int64_t>(bytes.size())) {
      auto element =
          static_cast<uintptr_t>(std::max(graph::byteSize(about.dtype), 1.0));
      // Code reads elements at multiples of their size; a file has them
      // anywhere.
      if (reinterpret_cast<uintptr_t>(bytes.data()) % element == 0)
        constants.add(id, bytes);
      else
        constants.add(id, std::vector(bytes.begin(), bytes.end()));
      continue;
    }
    auto elements = readElements(*tensor);
    if (elements)
      constants.add(id, bytesOf(*elements, errors));
    else
      errors.insert(errors.end(), elements.errors().begin(),
                    elements.errors().end());
  }
  return errors;
}

} // namespace

Expected<Model> loadModel(const std::string &path, const ImportOptions &given,
                          ModelSummary *summary) {
  auto named = [&](std::vector<Error> errors) {
    for (Error &error : errors)
      if (error.code != ErrorCode::CannotRead ||
          error.message.rfind(path, 0) != 0)
        error.message = path + ": " + error.message;
    return errors;
  };
  auto file = MappedFile::open(path);
  if (!file)
    return file.errors();
  auto source = std::make_shared<Source>();
  source->files.push_back(*file);
  auto parsed = parseModel((*file)->bytes());
  if (!parsed)
    return named(parsed.errors());
  source->model = std::move(*parsed);
  ExternalData external(std::filesystem::path(path).parent_path(), *source);
  external.read(source->model.graph);
  for (FunctionProto &function : source->model.functions)
    external.read(function.nodes);
  if (!external.errors.empty() && !summary)
    return named(external.errors);
  ImportOptions options = given;
  std::vector<ConvertedNode> nodes;
  if (summary)
    options.nodes = &nodes;
  auto imported = importModel(source->model, options);
  if (summary)
    *summary = summarize(source->model, nodes, imported ? &*imported : nullptr);
  if (!external.errors.empty())
    return named(external.errors);
  if (!imported)
    return named(imported.errors());
  source->nodes = std::move(imported->nodes);
  source->packed = imported->packed;
  Model model;
  model.constants.keep(source);
  if (auto errors = addConstants(*imported, model.constants); !errors.empty())
    return named(errors);
  for (const Port &input : imported->inputs)
    if (!input.id)
      model.unread.push_back(input.name);
  model.hasDoubles = imported->hasDoubles;
  for (const Port &output : imported->outputs)
    if (output.count)
      model.counted.push_back({*output.id, *output.count, output.axis});
  model.graph = std::move(imported->graph);
  return model;
}

} // namespace tenon::onnx
