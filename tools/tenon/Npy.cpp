//===- Npy.cpp - tensors in .npy files ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Npy.h.  A file is 6 bytes of magic, two of version, the length of the
// header, the header (a Python dictionary as text), and the elements.
//
//===----------------------------------------------------------------------===//
#include "tools/tenon/Npy.h"

#include "compiler/import/Load.h"
#include "dialects/support/WriteFile.h"
#include "tools/tenon/Cli.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tenon::cli {

using graph::DType;
using reference::Tensor;

namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

struct NpyType {
  std::string_view descr;
  DType dtype;
};

constexpr NpyType npyTypes[] = {{"<f4", DType::f32},     {"<f2", DType::f16},
                                {"|i1", DType::s8},      {"|u1", DType::u8},
                                {"|b1", DType::boolean}, {"<i4", DType::s32},
                                {"<i8", DType::s64},     {"<f8", DType::f64}};

/// Reads the dictionary of the header; tolerant of spaces and order.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : rest(text) {}

  std::string descr;
  bool fortran = false;
  graph::Dims shape;

  /// What is wrong, or empty.
  std::string run() {
    if (!take('{'))
      return "the header is no dictionary";
    bool hasDescr = false, hasOrder = false, hasShape = false;
    while (!take('}')) {
      std::string key;
      if (!text(key) || !take(':'))
        return "the header is malformed";
      bool good = false;
      if (key == "descr")
        good = hasDescr = text(descr);
      else if (key == "fortran_order")
        good = hasOrder = boolean();
      else if (key == "shape")
        good = hasShape = tuple();
      else
        return "the header has an unknown key";
      if (!good)
        return "\"" + key + "\" of the header cannot be read";
      if (!take(',') && peek() != '}')
        return "the header is malformed";
    }
    if (!hasDescr || !hasOrder || !hasShape)
      return "the header lacks descr, fortran_order or shape";
    return {};
  }

private:
  char peek() {
    while (!rest.empty() && (rest[0] == ' ' || rest[0] == '\n'))
      rest.remove_prefix(1);
    return rest.empty() ? '\0' : rest[0];
  }
  bool take(char c) {
    if (peek() != c)
      return false;
    rest.remove_prefix(1);
    return true;
  }
  bool text(std::string &out) {
    char quote = peek();
    if (quote != '\'' && quote != '"')
      return false;
    size_t end = rest.find(quote, 1);
    if (end == rest.npos || end > 64)
      return false;
    out = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    return true;
  }
  bool boolean() {
    peek();
    for (bool value : {true, false}) {
      std::string_view word = value ? "True" : "False";
      if (rest.substr(0, word.size()) == word) {
        fortran = value;
        rest.remove_prefix(word.size());
        return true;
      }
    }
    return false;
  }
  bool tuple() {
    if (!take('('))
      return false;
    while (!take(')')) {
      peek();
      size_t length = 0;
      while (length < rest.size() && rest[length] >= '0' && rest[length] <= '9')
        ++length;
      std::optional<int64_t> dim = parseInteger(rest.substr(0, length));
      if (!dim || shape.size() >= size_t(graph::kMaxRank))
        return false;
      shape.push_back(*dim);
      rest.remove_prefix(length);
      if (!take(',') && peek() != ')')
        return false;
    }
    return true;
  }

  std::string_view rest;
};

Error badData(const std::string &name, std::string why, std::string hint = {}) {
  Error error;
  error.code = ErrorCode::BadTensorData;
  error.message = name + ": " + std::move(why);
  error.hint = std::move(hint);
  return error;
}

std::span<const std::byte> asBytes(std::string_view text) {
  return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

/// Strides of an array whose first dim is the innermost one.
graph::Dims fortranStrides(const graph::Dims &shape) {
  graph::Dims strides;
  int64_t stride = 1;
  for (int64_t dim : shape) {
    strides.push_back(stride);
    stride *= std::max<int64_t>(dim, 1);
  }
  return strides;
}

Expected<Tensor> readElements(const NpyArray &array, const std::string &name) {
  int64_t count = reference::elementCount(array.shape);
  std::string_view data = array.bytes;
  if (count < 0)
    return badData(name, "the shape has too many elements");
  for (const NpyType &type : npyTypes) {
    if (type.descr != array.type)
      continue;
    auto size = static_cast<uint64_t>(graph::byteSize(type.dtype));
    if (static_cast<uint64_t>(count) != data.size() / size ||
        data.size() % size)
      return badData(name, "the shape asks for " + std::to_string(count) +
                               " elements of " + std::to_string(size) +
                               " bytes, the file holds " +
                               std::to_string(data.size()) + " bytes");
    return reference::fromMemory(type.dtype, array.shape,
                                 array.isFortran
                                     ? fortranStrides(array.shape)
                                     : graph::denseStrides(array.shape),
                                 asBytes(data));
  }
  return badData(name, "elements of type \"" + array.type + "\"",
                 "f2, f4, f8, i1, u1, b1, i4 and i8 in little endian are read");
}

} // namespace

Expected<NpyArray> parseNpyArray(std::string_view bytes,
                                 const std::string &name) {
  if (bytes.substr(0, kMagic.size()) != kMagic || bytes.size() < 10)
    return badData(name, "is no .npy file",
                   "write it with numpy.save, or as @x.npy with --output");
  auto byteAt = [&](size_t i) {
    return static_cast<uint64_t>(static_cast<unsigned char>(bytes[i]));
  };
  uint64_t version = byteAt(6);
  if (version < 1 || version > 3)
    return badData(name, "has version " + std::to_string(version),
                   "versions 1 to 3 are read");
  size_t start = version == 1 ? 10 : 12;
  uint64_t length = byteAt(8) | byteAt(9) << 8;
  if (version > 1 && bytes.size() >= start)
    length |= byteAt(10) << 16 | byteAt(11) << 24;
  if (bytes.size() < start || bytes.size() - start < length)
    return badData(name, "ends inside its header");
  HeaderParser header(bytes.substr(start, length));
  if (std::string why = header.run(); !why.empty())
    return badData(name, why);
  NpyArray array{std::move(header.descr), std::move(header.shape),
                 header.fortran, bytes.substr(start + length)};
  // Bytes have no order.
  if (array.type.size() == 3 && array.type[0] == '<' && array.type[2] == '1')
    array.type[0] = '|';
  return array;
}

Expected<Tensor> parseNpy(std::string_view bytes, const std::string &name,
                          std::string *type) {
  auto array = parseNpyArray(bytes, name);
  if (!array)
    return array.errors();
  if (type)
    *type = array->type;
  return readElements(*array, name);
}

/// What elements of a type without a name in the format are stored as.
static DType storedAs(DType dtype) {
  if (graph::isFloat(dtype) && dtype != DType::f16 && dtype != DType::f64)
    return DType::f32;
  return dtype == DType::s4   ? DType::s8
         : dtype == DType::u4 ? DType::u8
                              : dtype;
}

std::string npyTypeFor(DType dtype) {
  for (const NpyType &type : npyTypes)
    if (type.dtype == storedAs(dtype))
      return std::string(type.descr);
  return "<f4";
}

std::string formatNpy(const Tensor &tensor) {
  Tensor stored = tensor;
  stored.dtype = storedAs(tensor.dtype);
  std::string header = "{'descr': '" + npyTypeFor(tensor.dtype) +
                       "', 'fortran_order': False, 'shape': (";
  for (int64_t dim : stored.shape)
    header += std::to_string(dim) + ",";
  header += "), }";
  // The data starts at a multiple of 64, the header ends in a newline.
  while ((10 + header.size() + 1) % 64)
    header += ' ';
  header += '\n';
  std::string out(kMagic);
  out += {'\x01', '\x00', static_cast<char>(header.size() & 0xff),
          static_cast<char>(header.size() >> 8)};
  out += header;
  graph::Dims strides = graph::denseStrides(stored.shape);
  int64_t size = reference::spannedBytes(stored.dtype, stored.shape, strides);
  size_t start = out.size();
  out.resize(start + static_cast<size_t>(size));
  // The strides fit and the size was computed from them: nothing can fail.
  (void)reference::toMemory(
      stored, strides,
      std::as_writable_bytes(std::span<char>(out).subspan(start)));
  return out;
}

Expected<std::string> readNpyBytes(const std::string &path) {
  constexpr uint64_t kMaxFileSize = uint64_t(1) << 32;
  return readTextFile(path, kMaxFileSize);
}

Expected<Tensor> readNpy(const std::string &path, std::string *type) {
  Expected<std::string> bytes = readNpyBytes(path);
  if (!bytes)
    return bytes.errors();
  return parseNpy(*bytes, path, type);
}

Expected<bool> writeNpy(const std::string &path, const Tensor &tensor) {
  return writeFile(path, formatNpy(tensor));
}

} // namespace tenon::cli
