//===- OpExample.cpp - a program that executes one operation --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See OpExample.h.  Numbers are in the program, so that it needs the library
// and nothing else.
//
//===----------------------------------------------------------------------===//
#include "tools/tenon/OpExample.h"

#include "tools/tenon/OpExampleData.h"

#include <charconv>

namespace tenon::cli {

using namespace graph;

namespace {

constexpr size_t kColumns = 80;

std::string_view cppType(DType type) {
  switch (type) {
  case DType::s32:
    return "int32_t";
  case DType::s64:
    return "int64_t";
  case DType::s8:
    return "int8_t";
  case DType::u8:
  case DType::boolean:
    return "uint8_t";
  default:
    return "float";
  }
}

std::string cppDType(DType type) {
  std::string text = "TENON_";
  for (char c : name(type))
    text += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// The fewest digits that read back as the same value.
std::string shortest(float value) {
  char text[40];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

/// `before` and `items` with commas and `after`, broken where lines end.
std::string wrapped(const std::string &before,
                    const std::vector<std::string> &items,
                    const std::string &after) {
  std::string text = "  " + before;
  size_t column = text.size();
  for (size_t i = 0; i < items.size(); ++i) {
    std::string item = items[i] + (i + 1 < items.size() ? "," : after);
    bool isFirst = i == 0;
    if (column + item.size() + !isFirst > kColumns) {
      text += "\n      ";
      column = 6;
    } else if (!isFirst) {
      text += ' ';
      ++column;
    }
    text += item;
    column += item.size();
  }
  return text + (items.empty() ? after : "") + "\n";
}

template <typename List, typename Text>
std::vector<std::string> texts(const List &list, const Text &text) {
  std::vector<std::string> all;
  for (const auto &item : list)
    all.push_back(text(item));
  return all;
}

std::string joined(const std::vector<std::string> &items) {
  std::string text;
  for (const std::string &item : items)
    text += (text.empty() ? "" : ", ") + item;
  return text;
}

std::string dims(const Dims &shape) {
  return joined(texts(shape, [](int64_t d) { return std::to_string(d); }));
}

std::string cppFloat(float value) {
  std::string text = shortest(value);
  return text + (text.find_first_of(".e") == std::string::npos ? ".0f" : "f");
}

struct AttrText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(float value) const { return cppFloat(value); }
  std::string operator()(const std::string &value) const {
    return '"' + value + '"';
  }
  std::string operator()(const Dims &values) const {
    return "std::vector<int64_t>{" + dims(values) + "}";
  }
  std::string operator()(const std::vector<float> &values) const {
    return "std::vector<float>{" + joined(texts(values, cppFloat)) + "}";
  }
};

/// With what is absent in its place.
std::vector<std::string> slots(const std::vector<ExampleValue> &values,
                               uint64_t absent) {
  std::vector<std::string> names;
  for (size_t slot = 0, given = 0; given < values.size(); ++slot) {
    bool isAbsent = slot < kMaxAbsent && (absent >> slot & 1);
    names.push_back(isAbsent ? "nullptr" : values[given++].name);
  }
  return names;
}

std::string operation(const OpInfo &info, const ExampleData &data) {
  std::string text = "  Op op(0, " + std::string(info.cEnum) + ");\n";
  for (const auto &[name, value] : data.op.attrs)
    text +=
        "  op.attr(\"" + name + "\", " + std::visit(AttrText(), value) + ");\n";
  auto list = [&](const char *call, const std::vector<std::string> &names) {
    std::vector<std::string> calls = texts(names, [&](const std::string &name) {
      return "." + std::string(call) + "(" + name + ")";
    });
    std::string line = "  op", all;
    for (const std::string &one : calls) {
      if (line.size() + one.size() > kColumns - 1) {
        all += line + "\n";
        line = "      ";
      }
      line += one;
    }
    return calls.empty() ? all : all + line + ";\n";
  };
  return text + list("input", slots(data.operands, data.op.absentInputs)) +
         list("output", slots(data.results, data.op.absentOutputs));
}

std::vector<std::string> elements(const reference::Tensor &values) {
  std::vector<std::string> all;
  for (int64_t i = 0; i < values.numElements(); ++i)
    all.push_back(values.isS64()
                      ? std::to_string(values.integers[i])
                      : shortest(static_cast<float>(values.data[i])));
  return all;
}

std::string declarations(const ExampleData &data) {
  std::string text;
  uint64_t id = 0;
  for (const auto *values : {&data.operands, &data.results})
    for (const ExampleValue &value : *values)
      text += "  LogicalTensor " + value.name + "(" + std::to_string(id++) +
              ", " + cppDType(value.about.dtype) + ", {" +
              dims(*value.about.shape) + "});\n";
  return text;
}

std::string arrays(const ExampleData &data) {
  std::string text;
  auto begin = [](const ExampleValue &value, const char *what) {
    return std::string(cppType(value.about.dtype)) + " " + value.name + what +
           "[]";
  };
  for (const ExampleValue &value : data.operands)
    text +=
        wrapped(begin(value, "Data") + " = {", elements(value.values), "};");
  for (const ExampleValue &value : data.results)
    text += wrapped("const " + begin(value, "Wanted") + " = {",
                    elements(value.values), "};") +
            "  " + std::string(cppType(value.about.dtype)) + " " + value.name +
            "Data[" + std::to_string(value.about.numElements()) + "];\n";
  return text;
}

std::string execution(const ExampleData &data) {
  std::string text = "  Engine engine;\n  Stream stream(engine);\n";
  for (const auto *values : {&data.operands, &data.results})
    for (const ExampleValue &value : *values)
      text += wrapped("Tensor " + value.name + "Tensor(",
                      {value.name, "engine", value.name + "Data"}, ");");
  auto list = [](const std::vector<ExampleValue> &values, const char *before,
                 const char *after) {
    return texts(values, [&](const ExampleValue &value) {
      return before + value.name + after;
    });
  };
  auto call = [&](const std::string &begin, const char *before,
                  const char *after) {
    std::vector<std::string> items = list(data.operands, before, after),
                             results = list(data.results, before, after);
    if (items.empty())
      items.emplace_back();
    items.front() = "{" + items.front();
    items.back() += "}";
    results.front() = "{" + results.front();
    items.insert(items.end(), results.begin(), results.end());
    return wrapped(begin, items, "});");
  };
  return text + call("auto compiled = Partition(op).compile(engine, ", "", "") +
         call("compiled.execute(stream, ", "&", "Tensor");
}

std::string comparison(const OpInfo &info, const ExampleData &data) {
  std::string text =
      "  int wrong = 0;\n"
      "  auto compare = [&](auto &got, auto &wanted) {\n"
      "    for (size_t i = 0; i < std::size(wanted); ++i)\n"
      "      wrong += !(std::fabs(double(got[i]) - wanted[i]) <=\n"
      "                 1e-5 * (1 + std::fabs(wanted[i])));\n"
      "  };\n";
  for (const ExampleValue &value : data.results)
    text += "  compare(" + value.name + "Data, " + value.name + "Wanted);\n";
  return text + "  std::printf(\"" + std::string(info.kind) +
         ": %d elements are wrong\\n\", wrong);\n"
         "  return wrong != 0;\n";
}

} // namespace

Expected<std::string> exampleOf(const OpInfo &info) {
  std::optional<ExampleData> data;
  if (!info.compiles.empty() && info.opClass != OpClass::structural)
    data = exampleData(info);
  if (!data) {
    Error error;
    error.code = ErrorCode::UnsupportedOp;
    error.message = "there is no example of " + std::string(info.kind) +
                    ", which does not compile";
    return error;
  }
  std::string kind(info.kind);
  return "// Printed by: tenon ops " + kind +
         " --example\n"
         "//   c++ -std=c++17 example.cpp $(pkg-config --cflags --libs tenon)\n"
         "#include <cmath>\n#include <cstdio>\n#include <iterator>\n"
         "#include <tenon.hpp>\n\n"
         "int main() {\n  using namespace tenon;\n" +
         declarations(*data) + operation(info, *data) +
         "\n  // Wanted is what the reference evaluator computes.\n" +
         arrays(*data) + "\n" + execution(*data) + "\n" +
         comparison(info, *data) + "}\n";
}

} // namespace tenon::cli
