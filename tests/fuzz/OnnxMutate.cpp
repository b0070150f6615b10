// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/OnnxMutate.h"

#include "compiler/import/onnx/Conversions.h"

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include <array>
#include <limits>
#include <vector>

namespace tenon::fuzz {

namespace {

/// Kinds of messages, and of fields that are none.
enum class Kind {
  bytes,
  text,
  numbers, // varints in one field
  model,
  operatorSet,
  function,
  graph,
  node,
  attribute,
  tensor,
  port,
  type,
  tensorType,
  shape,
  dim
};

/// What field `number` of a message of `kind` is, by onnx.proto.
Kind kindOf(Kind kind, uint32_t number) {
  struct Row {
    Kind of;
    uint32_t number;
    Kind is;
  };
  static constexpr std::array rows{
      Row{Kind::model, 7, Kind::graph},
      Row{Kind::model, 8, Kind::operatorSet},
      Row{Kind::model, 25, Kind::function},
      Row{Kind::operatorSet, 1, Kind::text},
      Row{Kind::function, 1, Kind::text},
      Row{Kind::function, 4, Kind::text},
      Row{Kind::function, 5, Kind::text},
      Row{Kind::function, 7, Kind::node},
      Row{Kind::function, 9, Kind::operatorSet},
      Row{Kind::function, 10, Kind::text},
      Row{Kind::function, 11, Kind::attribute},
      Row{Kind::graph, 1, Kind::node},
      Row{Kind::graph, 5, Kind::tensor},
      Row{Kind::graph, 11, Kind::port},
      Row{Kind::graph, 12, Kind::port},
      Row{Kind::node, 1, Kind::text},
      Row{Kind::node, 2, Kind::text},
      Row{Kind::node, 4, Kind::text},
      Row{Kind::node, 5, Kind::attribute},
      Row{Kind::node, 7, Kind::text},
      Row{Kind::attribute, 1, Kind::text},
      Row{Kind::attribute, 4, Kind::text},
      Row{Kind::attribute, 5, Kind::tensor},
      Row{Kind::attribute, 6, Kind::graph},
      Row{Kind::attribute, 8, Kind::numbers},
      Row{Kind::attribute, 10, Kind::tensor},
      Row{Kind::attribute, 11, Kind::graph},
      Row{Kind::attribute, 21, Kind::text},
      Row{Kind::tensor, 1, Kind::numbers},
      Row{Kind::tensor, 5, Kind::numbers},
      Row{Kind::tensor, 7, Kind::numbers},
      Row{Kind::tensor, 8, Kind::text},
      Row{Kind::port, 1, Kind::text},
      Row{Kind::port, 2, Kind::type},
      Row{Kind::type, 1, Kind::tensorType},
      Row{Kind::tensorType, 2, Kind::shape},
      Row{Kind::shape, 1, Kind::dim},
      Row{Kind::dim, 2, Kind::text},
  };
  for (const Row &row : rows)
    if (row.of == kind && row.number == number)
      return row.is;
  return Kind::bytes;
}

bool isMessage(Kind kind) { return kind > Kind::numbers; }

/// A field, and what it holds by its way of writing.
struct Field {
  uint32_t number = 0;
  protozero::pbf_wire_type wire = protozero::pbf_wire_type::varint;
  Kind kind = Kind::bytes;
  uint64_t value = 0; // varint, fixed32, fixed64
  std::string bytes;
  std::vector<uint64_t> numbers;
  std::vector<Field> fields;
};

using Wire = protozero::pbf_wire_type;

std::vector<Field> read(protozero::pbf_reader message, Kind kind) {
  std::vector<Field> fields;
  while (message.next()) {
    Field &field = fields.emplace_back();
    field.number = message.tag();
    field.wire = message.wire_type();
    switch (field.wire) {
    case Wire::varint:
      field.value = message.get_uint64();
      break;
    case Wire::fixed32:
      field.value = message.get_fixed32();
      break;
    case Wire::fixed64:
      field.value = message.get_fixed64();
      break;
    default:
      field.kind = kindOf(kind, field.number);
      if (isMessage(field.kind))
        field.fields = read(message.get_message(), field.kind);
      else if (field.kind == Kind::numbers)
        for (uint64_t number : message.get_packed_uint64())
          field.numbers.push_back(number);
      else
        field.bytes = message.get_bytes();
    }
  }
  return fields;
}

std::string write(const std::vector<Field> &fields) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  for (const Field &field : fields)
    switch (field.wire) {
    case Wire::varint:
      writer.add_uint64(field.number, field.value);
      break;
    case Wire::fixed32:
      writer.add_fixed32(field.number, static_cast<uint32_t>(field.value));
      break;
    case Wire::fixed64:
      writer.add_fixed64(field.number, field.value);
      break;
    default:
      if (isMessage(field.kind))
        writer.add_message(field.number, write(field.fields));
      else if (field.kind == Kind::numbers)
        writer.add_packed_uint64(field.number, field.numbers.begin(),
                                 field.numbers.end());
      else
        writer.add_bytes(field.number, field.bytes);
    }
  return bytes;
}

class Mutator {
public:
  Mutator(std::vector<Field> &fields, Random &random)
      : root(fields), random(random) {
    collect(root);
  }

  /// One change of a field, of its neighbours, or of its place.
  void change() {
    if (places.empty())
      return;
    auto [list, at] = places[below(places.size())];
    Field &field = (*list)[at];
    switch (below(10)) {
    case 0:
      list->erase(list->begin() + static_cast<int64_t>(at));
      return;
    case 1: // again, often enough to exceed a limit now and then
      list->insert(list->end(), below(8) ? 1 : 300, Field(field));
      return;
    case 2:
      std::swap(field, (*list)[below(list->size())]);
      return;
    case 3: { // one of the same kind instead, or into it
      auto [others, other] = places[below(places.size())];
      Field copy = (*others)[other];
      if (copy.kind == field.kind && copy.wire == field.wire) {
        copy.number = field.number;
        field = std::move(copy);
      } else if (isMessage(field.kind)) {
        field.fields.push_back(std::move(copy));
      }
      return;
    }
    case 4:
      field.number = static_cast<uint32_t>(1 + below(26));
      return;
    default:
      changeContent(field);
    }
  }

private:
  size_t below(size_t count) { return random() % count; }

  void collect(std::vector<Field> &fields) {
    for (size_t i = 0; i < fields.size(); ++i) {
      places.emplace_back(&fields, i);
      if (fields[i].kind == Kind::text)
        texts.push_back(fields[i].bytes);
      collect(fields[i].fields);
    }
  }

  uint64_t number(uint64_t old) {
    static constexpr std::array<int64_t, 22> numbers{
        0,
        1,
        -1,
        2,
        3,
        4,
        7,
        16,
        255,
        4096,
        4097,
        int64_t{1} << 20,
        (int64_t{1} << 31) - 1,
        int64_t{1} << 31,
        int64_t{3} << 30,
        int64_t{1} << 40,
        int64_t{1} << 62,
        std::numeric_limits<int64_t>::max(),
        std::numeric_limits<int64_t>::min(),
        std::numeric_limits<int32_t>::min(),
        -2,
        -1000};
    switch (below(4)) {
    case 0:
      return old + 1;
    case 1:
      return old - 1;
    case 2:
      return old ^ (uint64_t{1} << below(64));
    default:
      return static_cast<uint64_t>(numbers[below(numbers.size())]);
    }
  }

  void changeContent(Field &field) {
    if (isMessage(field.kind))
      return;
    if (field.wire != Wire::length_delimited) {
      static constexpr std::array<uint64_t, 6> floats{
          0, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f7fffff, 0x00000001};
      field.value = field.wire == Wire::varint ? number(field.value)
                                               : floats[below(floats.size())];
      return;
    }
    if (field.kind == Kind::numbers)
      changeList(field.numbers);
    else if (field.kind == Kind::text)
      changeText(field);
    else
      changeBytes(field.bytes);
  }

  void changeList(std::vector<uint64_t> &list) {
    size_t choice = below(6);
    if (list.empty() || choice == 0)
      list.push_back(number(1));
    else if (choice == 1)
      list.pop_back();
    else if (choice == 2)
      std::swap(list[below(list.size())], list[below(list.size())]);
    else
      for (uint64_t &each : list)
        if (each && below(list.size()) == 0)
          each = number(each);
  }

  void changeText(Field &field) {
    size_t choice = below(8);
    if (choice == 0 && !field.bytes.empty())
      return changeBytes(field.bytes);
    if (choice == 1)
      return field.bytes.clear();
    if (choice < 4 && field.number == 4) {
      auto tables = onnx::conversionTables();
      auto table = tables[below(tables.size())];
      field.bytes = table[below(table.size())].opType;
      return;
    }
    if (!texts.empty())
      field.bytes = texts[below(texts.size())];
  }

public:
  void changeBytes(std::string &bytes) {
    size_t choice = below(5);
    if (bytes.empty() || choice == 0)
      bytes.insert(below(bytes.size() + 1), 1 + below(16),
                   static_cast<char>(random()));
    else if (choice == 1)
      bytes.resize(below(bytes.size()));
    else if (choice == 2)
      bytes.erase(below(bytes.size()), 1 + below(8));
    else
      bytes[below(bytes.size())] ^= static_cast<char>(1 << below(8));
  }

private:
  std::vector<Field> &root;
  Random &random;
  std::vector<std::pair<std::vector<Field> *, size_t>> places;
  std::vector<std::string> texts;
};

} // namespace

std::string mutateModel(std::string_view bytes, Random &random) {
  std::vector<Field> fields;
  std::string result(bytes);
  try {
    fields =
        read(protozero::pbf_reader(bytes.data(), bytes.size()), Kind::model);
    for (size_t i = 1 + random() % 4; i > 0; --i)
      Mutator(fields, random).change();
    result = write(fields);
  } catch (const protozero::exception &) {
    // Cut or damaged already.
    Mutator(fields, random).changeBytes(result);
  }
  if (random() % 16 == 0)
    Mutator(fields, random).changeBytes(result);
  return result;
}

} // namespace tenon::fuzz
