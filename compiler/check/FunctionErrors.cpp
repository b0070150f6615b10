//===- FunctionErrors.cpp - the table of docs/accuracy.md -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See FunctionErrors.h.
//
//===----------------------------------------------------------------------===//
#include "compiler/check/FunctionErrors.h"
#include "dialects/graph/OpTable.h"

#include <cstdlib>
#include <string>

namespace tenon::check {

namespace {

constexpr FunctionError kRows[] = {
#include "compiler/check/FunctionErrors.inc"
};

std::string_view kindOf(const FunctionError &row) {
  return row.op.substr(0, row.op.find(' '));
}

bool isWritten(const graph::AttrValue &value, const std::string &text) {
  if (const auto *number = std::get_if<float>(&value))
    return *number == std::strtof(text.c_str(), nullptr);
  if (const auto *flag = std::get_if<bool>(&value))
    return *flag == (text == "true");
  const auto *word = std::get_if<std::string>(&value);
  return word && *word == text;
}

/// Whether `op` has the attributes of `row`, those by default included.
bool hasAttributesOf(const graph::Op &op, const FunctionError &row) {
  const graph::OpInfo *info = graph::lookupOp(op.kind);
  std::string_view rest = row.op.substr(kindOf(row).size());
  while (!rest.empty()) {
    rest.remove_prefix(1); // the space
    std::string_view one = rest.substr(0, rest.find(' '));
    rest.remove_prefix(one.size());
    size_t equals = one.find('=');
    std::string_view name = one.substr(0, equals);
    std::string text(one.substr(equals + 1));
    const graph::AttrInfo *attr = info ? info->attr(name) : nullptr;
    if (const graph::AttrValue *value = op.attr(name)) {
      if (!isWritten(*value, text))
        return false;
    } else if (!attr || !attr->defaultText ||
               !isWritten(attr->defaultValue(), text)) {
      return false;
    }
  }
  return true;
}

} // namespace

std::span<const FunctionError> functionErrors() { return kRows; }

const FunctionError *functionErrorOf(const graph::Op &op) {
  const FunctionError *largest = nullptr;
  for (const FunctionError &row : kRows) {
    if (kindOf(row) != op.kind)
      continue;
    if (hasAttributesOf(op, row))
      return &row;
    if (!largest || row.ofLarge > largest->ofLarge)
      largest = &row;
  }
  return largest;
}

} // namespace tenon::check
