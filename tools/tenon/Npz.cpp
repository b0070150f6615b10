//===- Npz.cpp - several arrays in one file -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Npz.h. An archive is its members, each behind a header, a directory that
// says where they are, and a trailer that says where the directory is. Every
// offset and length is checked before use.
//
//===----------------------------------------------------------------------===//
#include "tools/tenon/Npz.h"

#include "compiler/import/Load.h"

#include <cstring>
#include <optional>
#include <set>
#include <zlib.h>

namespace tenon::cli {

namespace {

constexpr uint64_t kMember = 0x04034b50, kEntry = 0x02014b50,
                   kTrailer = 0x06054b50;
constexpr uint64_t kStored = 0, kDeflated = 8;
constexpr uint64_t kMaxBytes = uint64_t{1} << 32; // of an archive
constexpr uint64_t kMaxUnpacked = uint64_t{1} << 33;

/// Little-endian number of `size` bytes at `at`; nullopt beyond the end.
std::optional<uint64_t> number(std::string_view file, uint64_t at,
                               size_t size) {
  if (at > file.size() || file.size() - at < size)
    return std::nullopt;
  uint64_t value = 0;
  std::memcpy(&value, file.data() + at, size);
  return value;
}

/// A member as the directory describes it.
struct Entry {
  std::string name;
  uint64_t method, checksum, packedSize, size, header, next;
};

std::optional<Entry> readEntry(std::string_view file, uint64_t at) {
  auto signature = number(file, at, 4), method = number(file, at + 10, 2);
  auto checksum = number(file, at + 16, 4);
  auto packed = number(file, at + 20, 4), size = number(file, at + 24, 4);
  auto nameSize = number(file, at + 28, 2), extra = number(file, at + 30, 2);
  auto comment = number(file, at + 32, 2), header = number(file, at + 42, 4);
  if (!header || *signature != kEntry || !number(file, at + 46 + *nameSize, 0))
    return std::nullopt;
  return Entry{std::string(file.substr(at + 46, *nameSize)),
               *method,
               *checksum,
               *packed,
               *size,
               *header,
               at + 46 + *nameSize + *extra + *comment};
}

/// Raw deflate; false unless exactly out.size() bytes come out.
bool inflateInto(std::string_view packed, std::string &out) {
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return false;
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  int status = inflate(&stream, Z_FINISH);
  bool isComplete = status == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  return isComplete;
}

uint64_t checksumOf(std::string_view bytes) {
  return crc32_z(0, reinterpret_cast<const Bytef *>(bytes.data()),
                 bytes.size());
}

/// The content of a member; absent with a reason in `why`.
std::optional<std::string> unpack(std::string_view file, const Entry &entry,
                                  std::string &why) {
  auto nameSize = number(file, entry.header + 26, 2);
  auto extra = number(file, entry.header + 28, 2);
  uint64_t start = entry.header + 30 + nameSize.value_or(0) + extra.value_or(0);
  why = "is cut off";
  if (!extra || number(file, entry.header, 4) != kMember ||
      start > file.size() || file.size() - start < entry.packedSize)
    return std::nullopt;
  std::string_view packed = file.substr(start, entry.packedSize);
  std::string out;
  why = "cannot be unpacked";
  if (entry.method == kStored && entry.packedSize == entry.size) {
    out = packed;
  } else if (entry.method == kDeflated &&
             entry.size / 1040 <= entry.packedSize) {
    // Deflate packs no better than 1032 to 1: a larger size is not believed.
    out.resize(entry.size);
    if (!inflateInto(packed, out))
      return std::nullopt;
  } else {
    return std::nullopt;
  }
  why = "is damaged: its checksum differs";
  if (checksumOf(out) != entry.checksum)
    return std::nullopt;
  return out;
}

void append(std::string &text, uint64_t value, int size) {
  for (int i = 0; i < size; ++i)
    text += static_cast<char>(value >> (8 * i));
}

Error fail(ErrorCode code, std::string message, std::string hint = {}) {
  Error error;
  error.code = code;
  error.message = std::move(message);
  error.hint = std::move(hint);
  return error;
}

} // namespace

Expected<std::vector<NpzMember>> parseNpz(std::string_view file,
                                          const std::string &name) {
  // The trailer is at the end, before a comment of up to 64 KiB.
  constexpr uint64_t kLargestTrailer = 22 + 65536;
  uint64_t lowest =
      file.size() > kLargestTrailer ? file.size() - kLargestTrailer : 0;
  uint64_t at = file.size();
  while (at > lowest && number(file, at, 4) != kTrailer)
    --at;
  auto count = number(file, at + 10, 2), first = number(file, at + 16, 4);
  if (!number(file, at + 20, 2) || number(file, at, 4) != kTrailer)
    return fail(ErrorCode::BadTensorData, name + ": is no .npz file",
                "write it with numpy.savez, or as @x.npz with --output");
  std::vector<NpzMember> members;
  std::set<std::string> names;
  uint64_t position = *first, total = 0;
  for (uint64_t i = 0; i < *count; ++i) {
    auto entry = readEntry(file, position);
    if (!entry)
      return fail(ErrorCode::BadTensorData,
                  name + ": the directory of the archive is damaged");
    position = entry->next;
    std::string why = "is larger than 4 GiB";
    if (entry->size >= kMaxBytes - 1 || (total += entry->size) > kMaxUnpacked)
      return fail(ErrorCode::TooLarge, name + ": " + entry->name + " " + why);
    auto bytes = unpack(file, *entry, why);
    if (!bytes)
      return fail(ErrorCode::BadTensorData,
                  name + ": " + entry->name + " " + why);
    if (entry->name.ends_with(".npy"))
      entry->name.resize(entry->name.size() - 4);
    if (!names.insert(entry->name).second)
      return fail(ErrorCode::BadTensorData,
                  name + ": has two arrays \"" + entry->name + "\"");
    members.push_back({std::move(entry->name), std::move(*bytes)});
  }
  return members;
}

Expected<std::string> formatNpz(const std::vector<NpzMember> &members) {
  std::string file, directory;
  for (const NpzMember &member : members) {
    std::string name = member.name + ".npy";
    uint64_t size = member.bytes.size(), offset = file.size();
    if (size >= kMaxBytes - 1 || offset >= kMaxBytes - 1 ||
        name.size() > 0xffff || members.size() > 0xffff)
      return fail(ErrorCode::TooLarge, "an archive of more than 4 GiB",
                  "write .npy files");
    // From the version that a reader needs to the lengths of name and extras:
    // the same in both places. The date is the first of 1980, as numpy's.
    std::string about;
    append(about, 20, 2);
    append(about, 0, 2); // flags
    append(about, kStored, 2);
    append(about, 0x00210000, 4);
    append(about, checksumOf(member.bytes), 4);
    append(about, size, 4);
    append(about, size, 4);
    append(about, name.size(), 2);
    append(about, 0, 2);
    append(file, kMember, 4);
    file += about + name;
    file += member.bytes;
    append(directory, kEntry, 4);
    append(directory, 20, 2);
    directory += about;
    append(directory, 0, 10); // comment, disk, attributes
    append(directory, offset, 4);
    directory += name;
  }
  uint64_t start = file.size();
  if (start >= kMaxBytes - 1)
    return fail(ErrorCode::TooLarge, "an archive of more than 4 GiB",
                "write .npy files");
  file += directory;
  append(file, kTrailer, 4);
  append(file, 0, 4);
  append(file, members.size(), 2);
  append(file, members.size(), 2);
  append(file, directory.size(), 4);
  append(file, start, 4);
  append(file, 0, 2);
  return file;
}

Expected<std::vector<NpzMember>> readNpz(const std::string &path) {
  Expected<std::string> bytes = readTextFile(path, kMaxBytes);
  if (!bytes)
    return bytes.errors();
  return parseNpz(*bytes, path);
}

} // namespace tenon::cli
