//===- RuleTest.h - tables of shape inference cases -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A case is text: operands "2x3 f16:4x? * []" (dtype optional, by default the
// first that the table allows; `*` unranked; `[]` rank 0; `-` left out, of
// results too), attributes
// "axis=1 strides=[1,2] mode=linear", and what to expect: result shapes in the
// same notation, or "E1203 words of the message".
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/OpTable.h"
#include "dialects/graph/infer/Infer.h"
#include "dialects/graph/infer/Shapes.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <sstream>

namespace tenon::graph::test {

struct Case {
  const char *kind;
  const char *attrs;
  const char *inputs;
  /// Result shapes; or an error code and a part of the message.
  const char *expected;
  /// Results as the graph knows them; all unranked when empty.
  const char *outputs = "";
};

inline std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream{std::string(text)};
  for (std::string part; std::getline(stream, part, separator);)
    if (!part.empty())
      parts.push_back(part);
  return parts;
}

inline infer::Shape parseShape(const std::string &text) {
  if (text == "*")
    return std::nullopt;
  Dims dims;
  if (text != "[]")
    for (const std::string &dim : split(text, 'x'))
      dims.push_back(dim == "?" ? kUnknownDim
                                : std::strtoll(dim.c_str(), nullptr, 10));
  return dims;
}

/// "2x3/3:1" has strides 3 and 1.
inline LogicalTensor parseTensor(std::string text, DType fallback) {
  LogicalTensor tensor;
  tensor.dtype = fallback;
  if (size_t slash = text.find('/'); slash != std::string::npos) {
    for (const std::string &stride : split(text.substr(slash + 1), ':'))
      tensor.strides.push_back(std::strtoll(stride.c_str(), nullptr, 10));
    text.resize(slash);
  }
  if (size_t colon = text.find(':'); colon != std::string::npos) {
    tensor.dtype = *parseDType(text.substr(0, colon));
    text = text.substr(colon + 1);
  }
  tensor.shape = parseShape(text);
  return tensor;
}

inline DType defaultDType(const OpInfo *info, std::span<const ValueInfo> values,
                          size_t i) {
  if (!info || values.empty())
    return DType::f32;
  const TypeVarInfo *var =
      info->typeVar(values[std::min(i, values.size() - 1)].typeVar);
  return var && !var->allowed.empty() ? var->allowed.front() : DType::f32;
}

inline AttrValue parseAttr(const AttrInfo *attr, const std::string &text) {
  switch (attr ? attr->type : AttrType::s64) {
  case AttrType::boolean:
    return text == "true";
  case AttrType::s64:
    return int64_t(std::strtoll(text.c_str(), nullptr, 10));
  case AttrType::f32:
    return std::strtof(text.c_str(), nullptr);
  case AttrType::string:
    return text;
  case AttrType::s64s: {
    Dims list;
    for (const std::string &item : split(text.substr(1), ','))
      if (item != "]")
        list.push_back(std::strtoll(item.c_str(), nullptr, 10));
    return list;
  }
  case AttrType::f32s: {
    std::vector<float> list;
    for (const std::string &item : split(text.substr(1), ','))
      if (item != "]")
        list.push_back(std::strtof(item.c_str(), nullptr));
    return list;
  }
  }
  return false;
}

struct Parsed {
  Op op;
  std::vector<LogicalTensor> inputs, outputs;
};

inline Parsed parse(const Case &c) {
  Parsed parsed;
  const OpInfo *info = lookupOp(c.kind);
  parsed.op.kind = c.kind;
  parsed.op.name = "op";
  for (const std::string &item : split(c.attrs, ' ')) {
    size_t equals = item.find('=');
    std::string name = item.substr(0, equals);
    parsed.op.attrs[name] =
        parseAttr(info ? info->attr(name) : nullptr, item.substr(equals + 1));
  }
  auto add = [&](bool isResult, const std::string &text) {
    Op &op = parsed.op;
    if (text == "-") {
      isResult ? op.leaveOutOutput() : op.leaveOutInput();
      return;
    }
    std::vector<uint64_t> &ids = isResult ? op.outputs : op.inputs;
    uint64_t absent = isResult ? op.absentOutputs : op.absentInputs;
    std::vector<LogicalTensor> &tensors =
        isResult ? parsed.outputs : parsed.inputs;
    ids.push_back(ids.size());
    std::span<const ValueInfo> values;
    if (info)
      values = isResult ? info->results : info->operands;
    size_t slot = slotCount(absent, ids.size()) - 1;
    tensors.push_back(parseTensor(text, defaultDType(info, values, slot)));
  };
  for (const std::string &text : split(c.inputs, ' '))
    add(/*isResult=*/false, text);
  bool fails = c.expected[0] == 'E';
  std::vector<std::string> outputs = split(c.outputs, ' ');
  if (outputs.empty() && fails)
    outputs.assign(info && !info->results.empty(), "*");
  else if (outputs.empty())
    for (const std::string &text : split(c.expected, ' '))
      outputs.push_back(text == "-" ? text : "*");
  for (const std::string &text : outputs)
    add(/*isResult=*/true, text);
  return parsed;
}

inline std::string shapesText(const std::vector<LogicalTensor> &tensors) {
  std::string text;
  for (const LogicalTensor &tensor : tensors)
    text += (text.empty() ? "" : " ") + infer::toString(tensor.shape);
  return text;
}

/// In the notation of infer::toString.
inline std::string expectedText(const char *expected) {
  std::vector<LogicalTensor> tensors;
  for (const std::string &text : split(expected, ' '))
    if (text != "-")
      tensors.push_back(parseTensor(text, DType::f32));
  return shapesText(tensors);
}

/// Infers each case and compares; what was inferred must verify.
inline void runCases(std::span<const Case> cases) {
  for (const Case &c : cases) {
    SCOPED_TRACE(std::string(c.kind) + " {" + c.attrs + "} " + c.inputs +
                 " -> " + c.expected);
    Parsed parsed = parse(c);
    std::vector<Error> errors =
        inferOp(parsed.op, parsed.inputs, parsed.outputs);
    if (c.expected[0] == 'E') {
      std::string code(c.expected, 5);
      std::string words = std::strlen(c.expected) > 6 ? c.expected + 6 : "";
      std::string text = str(errors);
      EXPECT_NE(text.find(code + " "), std::string::npos) << "got: " << text;
      EXPECT_NE(text.find(words), std::string::npos) << "got: " << text;
      continue;
    }
    EXPECT_EQ(str(errors), "");
    EXPECT_EQ(shapesText(parsed.outputs), expectedText(c.expected));
    EXPECT_EQ(str(verifyOp(parsed.op, parsed.inputs, parsed.outputs)), "");
  }
}

} // namespace tenon::graph::test
