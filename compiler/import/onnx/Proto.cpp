// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/Proto.h"

#include <protozero/pbf_reader.hpp>

#include <algorithm>

namespace tenon::onnx {

namespace {

using Reader = protozero::pbf_reader;

// A field of a number and a way of writing. Of another way it is not the field
// that is meant, and skipped.
constexpr uint32_t varint(uint32_t number) {
  return protozero::tag_and_type(number, protozero::pbf_wire_type::varint);
}
constexpr uint32_t fixed32(uint32_t number) {
  return protozero::tag_and_type(number, protozero::pbf_wire_type::fixed32);
}
constexpr uint32_t fixed64(uint32_t number) {
  return protozero::tag_and_type(number, protozero::pbf_wire_type::fixed64);
}
constexpr uint32_t bytes(uint32_t number) {
  return protozero::tag_and_type(number,
                                 protozero::pbf_wire_type::length_delimited);
}

/// Thrown, beside protozero's exceptions, within this file.
struct TooMuch {
  const char *what;
};

/// Deeper than any graph in a graph of a model.
constexpr int kMaxDepth = 32;
/// A message of two bytes takes a hundred times as much memory: their number is
/// bounded, at some 100 times that of the largest models.
constexpr int kMaxMessages = 1 << 22;

std::string_view view(Reader &field) {
  protozero::data_view data = field.get_view();
  return {data.data(), data.size()};
}

template <typename T, typename Range>
void append(std::vector<T> &list, const Range &range) {
  for (auto element : range)
    list.push_back(static_cast<T>(element));
}

bool isPacked(const Reader &field) {
  return field.wire_type() == protozero::pbf_wire_type::length_delimited;
}

/// Lists of numbers are packed into one field, or have a field per element.
void readFloats(Reader &field, std::vector<float> &list) {
  if (isPacked(field))
    append(list, field.get_packed_float());
  else
    list.push_back(field.get_float());
}

void readDoubles(Reader &field, std::vector<double> &list) {
  if (isPacked(field))
    append(list, field.get_packed_double());
  else
    list.push_back(field.get_double());
}

template <typename T> void readInts(Reader &field, std::vector<T> &list) {
  if (isPacked(field))
    append(list, field.get_packed_int64());
  else
    list.push_back(static_cast<T>(field.get_int64()));
}

/// Reads messages; each function fills one kind of them. The numbers are those
/// of the fields in onnx.proto.
class Parser {
public:
  void read(Reader message, ModelProto &model) {
    count();
    while (message.next())
      switch (message.tag_and_type()) {
      case varint(1):
        model.irVersion = message.get_int64();
        break;
      case bytes(7):
        read(message.get_message(), model.graph);
        break;
      case bytes(8):
        read(message.get_message(), model.operatorSets.emplace_back());
        break;
      case bytes(25):
        read(message.get_message(), model.functions.emplace_back());
        break;
      default:
        message.skip();
      }
  }

  void read(Reader message, FunctionProto &function) {
    count();
    while (message.next())
      switch (message.tag_and_type()) {
      case bytes(1):
        function.name = view(message);
        break;
      case bytes(4):
        count();
        function.inputs.push_back(view(message));
        break;
      case bytes(5):
        count();
        function.outputs.push_back(view(message));
        break;
      case bytes(7):
        read(message.get_message(), function.nodes.emplace_back());
        break;
      case bytes(9):
        read(message.get_message(), function.operatorSets.emplace_back());
        break;
      case bytes(10):
        function.domain = view(message);
        break;
      case bytes(11):
        read(message.get_message(), function.defaults.emplace_back());
        break;
      default:
        message.skip();
      }
  }

  void read(Reader message, TensorProto &tensor) {
    count();
    while (message.next())
      switch (message.tag_and_type()) {
      case bytes(1):
      case varint(1):
        readInts(message, tensor.dims);
        break;
      case varint(2):
        tensor.type = static_cast<DataType>(message.get_int32());
        break;
      case bytes(4):
      case fixed32(4):
        readFloats(message, tensor.floats);
        break;
      case bytes(5):
      case varint(5):
        readInts(message, tensor.int32s);
        break;
      case bytes(7):
      case varint(7):
        readInts(message, tensor.int64s);
        break;
      case bytes(8):
        tensor.name = view(message);
        break;
      case bytes(9):
        tensor.raw = view(message);
        tensor.isRaw = true;
        break;
      case bytes(10):
      case fixed64(10):
        readDoubles(message, tensor.doubles);
        break;
      case bytes(13):
        readExternal(message.get_message(), tensor);
        break;
      case varint(14):
        tensor.isExternal = message.get_int32() == 1;
        break;
      default:
        message.skip();
      }
  }

private:
  /// A key and a value, such as "location" and a path.
  void readExternal(Reader message, TensorProto &tensor) {
    count();
    auto &[key, value] = tensor.external.emplace_back();
    while (message.next())
      switch (message.tag_and_type()) {
      case bytes(1):
        key = view(message);
        break;
      case bytes(2):
        value = view(message);
        break;
      default:
        message.skip();
      }
  }

  void count() {
    if (++messages > kMaxMessages)
      throw TooMuch{"more messages than any model has"};
  }

  void read(Reader message, OperatorSet &set) {
    count();
    while (message.next())
      switch (message.tag_and_type()) {
      case bytes(1):
        set.domain = view(message);
        break;
      case varint(2):
        set.version = message.get_int64();
        break;
      default:
        message.skip();
      }
  }

  void read(Reader message, GraphProto &graph) {
    count();
    if (++depth > kMaxDepth)
      throw TooMuch{"graphs nested too deeply"};
    while (message.next())
      switch (message.tag_and_type()) {
      case bytes(1):
        read(message.get_message(), graph.nodes.emplace_back());
        break;
      case bytes(2):
        graph.name = view(message);
        break;
      case bytes(5):
        read(message.get_message(), graph.initializers.emplace_back());
        break;
      case bytes(11):
        read(message.get_message(), graph.inputs.emplace_back());
        break;
      case bytes(12):
        read(message.get_message(), graph.outputs.emplace_back());
        break;
      default:
        message.skip();
      }
    --depth;
  }

  void read(Reader message, NodeProto &node) {
    count();
    while (message.next())
      switch (message.tag_and_type()) {
      case bytes(1):
        count();
        node.inputs.push_back(view(message));
        break;
      case bytes(2):
        count();
        node.outputs.push_back(view(message));
        break;
      case bytes(3):
        node.name = view(message);
        break;
      case bytes(4):
        node.opType = view(message);
        break;
      case bytes(5):
        read(message.get_message(), node.attributes.emplace_back());
        break;
      case bytes(7):
        node.domain = view(message);
        break;
      default:
        message.skip();
      }
  }

  void read(Reader message, AttributeProto &attribute) {
    count();
    while (message.next())
      switch (message.tag_and_type()) {
      case bytes(1):
        attribute.name = view(message);
        break;
      case fixed32(2):
        attribute.f = message.get_float();
        break;
      case varint(3):
        attribute.i = message.get_int64();
        break;
      case bytes(4):
        attribute.s = view(message);
        break;
      case bytes(5):
      case bytes(10):
        read(message.get_message(), attribute.tensors.emplace_back());
        break;
      case bytes(6):
      case bytes(11):
        read(message.get_message(), attribute.graphs.emplace_back());
        break;
      case bytes(7):
      case fixed32(7):
        readFloats(message, attribute.floats);
        break;
      case bytes(8):
      case varint(8):
        readInts(message, attribute.ints);
        break;
      case bytes(9):
        count();
        attribute.strings.push_back(view(message));
        break;
      case bytes(21):
        attribute.reference = view(message);
        break;
      default:
        message.skip();
      }
  }

  void read(Reader message, ValueInfoProto &value) {
    count();
    while (message.next())
      switch (message.tag_and_type()) {
      case bytes(1):
        value.name = view(message);
        break;
      case bytes(2): {
        Reader type = message.get_message();
        while (type.next())
          if (type.tag_and_type() == bytes(1)) {
            value.isTensor = true;
            readTensorType(type.get_message(), value);
          } else {
            type.skip();
          }
        break;
      }
      default:
        message.skip();
      }
  }

  void readTensorType(Reader message, ValueInfoProto &value) {
    while (message.next())
      switch (message.tag_and_type()) {
      case varint(1):
        value.type = static_cast<DataType>(message.get_int32());
        break;
      case bytes(2): {
        value.shape.emplace();
        Reader shape = message.get_message();
        while (shape.next())
          if (shape.tag_and_type() == bytes(1))
            read(shape.get_message(), value.shape->emplace_back());
          else
            shape.skip();
        break;
      }
      default:
        message.skip();
      }
  }

  void read(Reader message, DimProto &dim) {
    count();
    while (message.next())
      switch (message.tag_and_type()) {
      case varint(1):
        dim.value = message.get_int64();
        break;
      case bytes(2):
        dim.name = view(message);
        break;
      default:
        message.skip();
      }
  }

  int depth = 0;
  int messages = 0;
};

/// What people give instead of a model: text, or a part of one.
Error whyUnreadable(std::string_view content, const char *what, bool isCut) {
  Error error;
  error.code = ErrorCode::Syntax;
  error.message = std::string("no ") + what + " of ONNX: ";
  std::string_view start = content.substr(0, 256);
  bool isText = !start.empty() && std::ranges::all_of(start, [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\r' ||
           c == '\t';
  });
  if (start.starts_with("version https://git-lfs")) {
    error.message += "a pointer of Git LFS";
    error.hint = "`git lfs pull` fetches the file itself";
  } else if (content.empty()) {
    error.message += "it is empty";
  } else if (isText) {
    error.message += "it is text";
  } else {
    error.message += isCut ? "it ends in the middle of a message"
                           : "its bytes are no messages";
    error.hint = "is it whole?";
  }
  return error;
}

template <typename Message>
Expected<Message> parse(std::string_view content, const char *what) {
  Message message;
  try {
    Parser().read(Reader(content.data(), content.size()), message);
  } catch (const protozero::exception &e) {
    return whyUnreadable(
        content, what,
        dynamic_cast<const protozero::end_of_buffer_exception *>(&e) !=
            nullptr);
  } catch (const TooMuch &e) {
    return Error{ErrorCode::TooLarge, e.what, "", "", {}, ""};
  }
  return message;
}

} // namespace

std::string nameOf(DataType type) {
  static constexpr const char *names[] = {
      "undefined",      "float",      "uint8",
      "int8",           "uint16",     "int16",
      "int32",          "int64",      "string",
      "bool",           "float16",    "double",
      "uint32",         "uint64",     "complex64",
      "complex128",     "bfloat16",   "float8e4m3fn",
      "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
      "uint4",          "int4",       "float4e2m1",
      "float8e8m0",     "uint2",      "int2"};
  auto number = static_cast<int32_t>(type);
  if (number >= 0 && static_cast<size_t>(number) < std::size(names))
    return names[number];
  return "type " + std::to_string(number);
}

Expected<ModelProto> parseModel(std::string_view bytes) {
  Expected<ModelProto> model = parse<ModelProto>(bytes, "model");
  // Nearly any text is a message of unknown fields.
  if (model && (model->irVersion <= 0 || model->operatorSets.empty())) {
    Error error = whyUnreadable(bytes, "model", false);
    if (!bytes.empty())
      error.message = "no model of ONNX: it has no version or no operator set";
    return error;
  }
  return model;
}

Expected<TensorProto> parseTensor(std::string_view bytes) {
  return parse<TensorProto>(bytes, "tensor");
}

} // namespace tenon::onnx
