//===- Load.cpp - models from files ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/Load.h"

#include "compiler/import/json/Json.h"
#include "compiler/import/onnx/Load.h"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

namespace tenon {

static Error cannotRead(const std::string &path, std::string why,
                        std::string hint = "") {
  Error e;
  e.code = ErrorCode::CannotRead;
  e.message = path + ": " + std::move(why);
  e.hint = std::move(hint);
  return e;
}

/// Why nothing can be read at `path`, before its name tells what it would be.
static std::optional<Error> whyNoFile(const std::string &path) {
  std::error_code code;
  std::filesystem::file_status status = std::filesystem::status(path, code);
  if (std::filesystem::is_directory(status))
    return cannotRead(path, "is a directory", "name a file in it");
  if (!std::filesystem::exists(status))
    return cannotRead(path,
                      code ? code.message() : "No such file or directory");
  return std::nullopt;
}

Expected<std::string> readTextFile(const std::string &path,
                                   uint64_t maxFileSize) {
  if (auto error = whyNoFile(path))
    return *error;
  std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(path.c_str(), "rb"),
                                              std::fclose);
  if (!file)
    return cannotRead(path, std::strerror(errno));
  // The size of a pipe is not known ahead, so count what arrives.
  std::string text;
  constexpr size_t kChunk = 1 << 20;
  for (;;) {
    size_t size = text.size();
    text.resize(size + kChunk);
    size_t got = std::fread(text.data() + size, 1, kChunk, file.get());
    text.resize(size + got);
    if (text.size() > maxFileSize) {
      Error e = cannotRead(path, "has more than " +
                                     std::to_string(maxFileSize) + " bytes");
      e.code = ErrorCode::TooLarge;
      return e;
    }
    if (got < kChunk)
      break;
  }
  if (std::ferror(file.get()))
    return cannotRead(path, std::strerror(errno));
  return text;
}

/// In small letters.
static std::string extensionOf(const std::string &path) {
  std::string extension = std::filesystem::path(path).extension().string();
  for (char &c : extension)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension;
}

bool isOnnxFile(const std::string &path) {
  return extensionOf(path) == ".onnx";
}

Expected<Model> loadModel(const std::string &path, const LoadOptions &options) {
  if (auto error = whyNoFile(path))
    return *error;
  if (isOnnxFile(path)) {
    onnx::ImportOptions import;
    import.numbers = options.bound;
    import.shapes = options.shapes;
    return onnx::loadModel(path, import, options.summary);
  }
  if (!options.bound.empty()) {
    Error error;
    error.code = ErrorCode::BadOption;
    error.message = path + ": only inputs of a model of ONNX are bound";
    return error;
  }
  if (std::string extension = extensionOf(path); extension != ".json")
    return cannotRead(path, "unknown kind of model file \"" + extension + "\"",
                      "models end in .onnx, graphs in .json or .mlir, compiled "
                      "files in .so, .o or .a");
  Expected<std::string> text = readTextFile(path, options.maxFileSize);
  if (!text)
    return text.errors();
  json::JsonOptions jsonOptions;
  jsonOptions.strict = options.strict;
  auto graph = json::readJson(*text, path, jsonOptions);
  if (!graph)
    return graph.errors();
  return Model{std::move(*graph), {}, {}};
}

} // namespace tenon
