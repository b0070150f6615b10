//===- Npz.cpp - reading .npz archives ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Npz.h.  Every offset and length of the file is checked before use.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/Npz.h"

#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <zlib.h>

namespace tenon::conformance {

using graph::DType;
using reference::Tensor;

namespace {

using Bytes = std::span<const std::byte>;

/// No single array may be larger: a damaged header must not exhaust memory.
constexpr uint64_t kMaxBytes = uint64_t{1} << 31;

Error makeError(ErrorCode code, std::string message) {
  Error error;
  error.code = code;
  error.message = std::move(message);
  return error;
}

/// Little-endian number of `size` bytes at `at`; nullopt beyond the end.
std::optional<uint64_t> number(Bytes file, uint64_t at, size_t size) {
  if (at > file.size() || file.size() - at < size)
    return std::nullopt;
  uint64_t value = 0;
  std::memcpy(&value, file.data() + at, size);
  return value;
}

/// A member of the archive as the central directory describes it.
struct Member {
  std::string name;
  uint64_t method, packedSize, size, localHeader, nextEntry;
};

std::optional<Member> readMember(Bytes file, uint64_t at) {
  auto signature = number(file, at, 4), method = number(file, at + 10, 2);
  auto packed = number(file, at + 20, 4), size = number(file, at + 24, 4);
  auto nameSize = number(file, at + 28, 2), extra = number(file, at + 30, 2);
  auto comment = number(file, at + 32, 2), local = number(file, at + 42, 4);
  if (!local || *signature != 0x02014b50 ||
      !number(file, at + 46 + *nameSize, 0))
    return std::nullopt;
  Member member;
  member.name.assign(reinterpret_cast<const char *>(file.data()) + at + 46,
                     *nameSize);
  member.method = *method;
  member.packedSize = *packed;
  member.size = *size;
  member.localHeader = *local;
  member.nextEntry = at + 46 + *nameSize + *extra + *comment;
  return member;
}

/// Raw deflate; false unless exactly out.size() bytes come out.
bool inflateInto(Bytes packed, std::vector<std::byte> &out) {
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return false;
  stream.next_in =
      reinterpret_cast<Bytef *>(const_cast<std::byte *>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  int status = inflate(&stream, Z_FINISH);
  bool complete = status == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  return complete;
}

Expected<std::vector<std::byte>> extract(Bytes file, const Member &member) {
  auto nameSize = number(file, member.localHeader + 26, 2);
  auto extra = number(file, member.localHeader + 28, 2);
  if (member.size > kMaxBytes)
    return makeError(ErrorCode::TooLarge, member.name + " has " +
                                              std::to_string(member.size) +
                                              " bytes");
  if (!extra)
    return makeError(ErrorCode::Syntax, member.name + " lies outside the file");
  uint64_t start = member.localHeader + 30 + *nameSize + *extra;
  if (start > file.size() || file.size() - start < member.packedSize)
    return makeError(ErrorCode::Syntax, member.name + " is cut off");
  Bytes packed = file.subspan(start, member.packedSize);
  if (member.method == 0 && member.packedSize == member.size)
    return std::vector<std::byte>(packed.begin(), packed.end());
  // Deflate packs no better than 1032 to 1: do not believe a larger size.
  if (member.size / 1040 > member.packedSize)
    return makeError(ErrorCode::Syntax, member.name + " cannot be unpacked");
  std::vector<std::byte> out(member.size);
  if (member.method != 8 || !inflateInto(packed, out))
    return makeError(ErrorCode::Syntax, member.name + " cannot be unpacked");
  return out;
}

/// The text between the quotes after 'key':, or the rest after it.
std::string_view valueOf(std::string_view header, std::string_view key) {
  size_t at = header.find("'" + std::string(key) + "':");
  if (at == std::string_view::npos)
    return {};
  header.remove_prefix(at + key.size() + 3);
  size_t start = header.find_first_not_of(' ');
  return start == std::string_view::npos ? header : header.substr(start);
}

std::optional<graph::Dims> parseShape(std::string_view text) {
  if (text.empty() || text[0] != '(')
    return std::nullopt;
  graph::Dims shape;
  for (size_t i = 1; i < text.size() && text[i] != ')';) {
    if (text[i] < '0' || text[i] > '9') {
      ++i; // comma, space
      continue;
    }
    uint64_t dim = 0;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
      dim = dim * 10 + static_cast<uint64_t>(text[i] - '0');
      if (dim > kMaxBytes)
        return std::nullopt;
    }
    shape.push_back(static_cast<int64_t>(dim));
  }
  return shape;
}

/// A number of the array; `bits` holds its bytes.
template <typename T> double numberAs(const std::byte *bits) {
  T value;
  std::memcpy(&value, bits, sizeof(T));
  return static_cast<double>(value);
}

double numberOf(const std::string &descr, const std::byte *bits) {
  char kind = descr[1];
  int size = descr[2] - '0';
  if (kind == 'f')
    return size == 4 ? numberAs<float>(bits) : numberAs<double>(bits);
  if (kind == 'i')
    return size == 1   ? numberAs<int8_t>(bits)
           : size == 2 ? numberAs<int16_t>(bits)
           : size == 4 ? numberAs<int32_t>(bits)
                       : numberAs<int64_t>(bits);
  return size == 1   ? numberAs<uint8_t>(bits)
         : size == 2 ? numberAs<uint16_t>(bits)
         : size == 4 ? numberAs<uint32_t>(bits)
                     : numberAs<uint64_t>(bits);
}

/// Bytes per element, 0 when the type string is not understood.
size_t elementSize(const std::string &descr) {
  constexpr std::string_view known[] = {"f4", "f8", "i1", "i2", "i4", "i8",
                                        "u1", "u2", "u4", "u8", "b1"};
  if (descr.size() == 3 && (descr[0] == '<' || descr[0] == '|'))
    for (std::string_view type : known)
      if (descr.substr(1) == type)
        return static_cast<size_t>(descr[2] - '0');
  return 0;
}

} // namespace

Expected<std::string> readFile(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  if (stream && stream.peek() != std::ifstream::traits_type::eof())
    text << stream.rdbuf();
  if (!stream)
    return makeError(ErrorCode::CannotRead, "cannot read " + path);
  return text.str();
}

Expected<NpyArray> parseNpy(Bytes file) {
  auto major = number(file, 6, 1);
  bool wide = major && *major >= 2; // version 1 has a 2-byte header size
  auto size = number(file, 8, wide ? 4 : 2);
  uint64_t start = wide ? 12 : 10;
  if (!size || std::memcmp(file.data(), "\x93NUMPY", 6) != 0 ||
      !number(file, start + *size, 0))
    return makeError(ErrorCode::Syntax, "not an .npy file");
  std::string_view header(reinterpret_cast<const char *>(file.data()) + start,
                          *size);
  NpyArray array;
  std::string_view descr = valueOf(header, "descr");
  if (descr.size() > 4 && descr[0] == '\'')
    array.descr = descr.substr(1, descr.find('\'', 1) - 1);
  auto shape = parseShape(valueOf(header, "shape"));
  size_t width = elementSize(array.descr);
  if (!shape || width == 0 ||
      !valueOf(header, "fortran_order").starts_with("False"))
    return makeError(ErrorCode::Syntax,
                     "unusable .npy header: " + std::string(header));
  array.shape = *shape;
  int64_t count = reference::elementCount(array.shape);
  Bytes data = file.subspan(start + *size);
  if (count < 0 || static_cast<uint64_t>(count) > data.size() / width)
    return makeError(ErrorCode::Syntax, "the .npy has " +
                                            std::to_string(data.size()) +
                                            " bytes, too few for its shape");
  array.bytes.assign(data.begin(), data.begin() + count * width);
  return array;
}

Expected<std::map<std::string, NpyArray>> parseNpz(Bytes file) {
  // The directory's trailer is at the end, before a comment of up to 64 KiB.
  uint64_t end = file.size(), lowest = end > 70000 ? end - 70000 : 0, at = end;
  while (at > lowest && number(file, at, 4) != uint64_t{0x06054b50})
    --at;
  auto entries = number(file, at + 10, 2), first = number(file, at + 16, 4);
  if (!number(file, at + 20, 2) || number(file, at, 4) != uint64_t{0x06054b50})
    return makeError(ErrorCode::Syntax, "not a zip archive");
  std::map<std::string, NpyArray> arrays;
  uint64_t position = *first;
  for (uint64_t i = 0; i < *entries; ++i) {
    auto member = readMember(file, position);
    if (!member)
      return makeError(ErrorCode::Syntax, "damaged zip directory");
    position = member->nextEntry;
    auto bytes = extract(file, *member);
    if (!bytes)
      return bytes.errors();
    auto array = parseNpy(*bytes);
    if (!array)
      return array.errors();
    std::string name = member->name;
    if (name.ends_with(".npy"))
      name.resize(name.size() - 4);
    arrays.emplace(std::move(name), std::move(*array));
  }
  return arrays;
}

Expected<Tensor> toTensor(const NpyArray &array, DType dtype) {
  size_t width = elementSize(array.descr);
  bool raw = graph::isFloat(dtype) && array.descr[1] == 'u';
  if (raw && width != static_cast<size_t>(graph::byteSize(dtype)))
    return makeError(ErrorCode::BadTensorData,
                     "array of " + array.descr + " for a tensor of " +
                         std::string(graph::name(dtype)));
  if (array.descr == "<i8") { // no double holds all of these
    auto tensor = reference::fromMemory(
        DType::s64, array.shape, graph::denseStrides(array.shape), array.bytes);
    if (tensor)
      reference::setDType(*tensor, dtype);
    return tensor;
  }
  Tensor tensor = reference::zeros(DType::undef, array.shape);
  for (size_t i = 0; i < tensor.data.size(); ++i) {
    double value = numberOf(array.descr, array.bytes.data() + i * width);
    tensor.data[i] =
        raw ? reference::decode(dtype, static_cast<uint64_t>(value)) : value;
  }
  reference::setDType(tensor, dtype);
  return tensor;
}

} // namespace tenon::conformance
