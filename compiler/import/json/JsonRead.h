//===- JsonRead.h - pieces of the JSON reader -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Private to this folder.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/json/Json.h"
#include "compiler/import/json/JsonTape.h"

namespace tenon::json {

/// Where a problem is and who collects it.
class Reporter {
public:
  Reporter(std::string_view text, std::string_view sourceName,
           const JsonOptions &options)
      : options(options), text(text), sourceName(sourceName) {}

  /// Reports a problem at `where`, an op's if `op` is not null.
  void report(ErrorCode code, Value where, const graph::Op *op,
              std::string message, std::string hint = "");
  void report(Error error);
  /// "WrongType: <what> must be <wanted>, it is <spelling>".
  void wrongType(Value where, const graph::Op *op, std::string_view what,
                 std::string_view wanted);
  /// In strict mode an error, otherwise nothing.
  void unknownKey(Value where, const graph::Op *op, std::string_view key);
  void repeatedKey(Value where, const graph::Op *op, std::string_view key);

  bool any() const { return count != 0; }
  /// The errors, and how many more there were.  Leaves the reporter empty.
  std::vector<Error> take();

  const JsonOptions &options;

private:
  std::string_view text, sourceName;
  std::vector<Error> errors;
  size_t count = 0;
};

/// Reads the member "attrs" of `op` into op.attrs.
void readAttrs(Value object, graph::Op &op, Reporter &reporter);

/// One description of a tensor.
struct TensorText {
  graph::LogicalTensor tensor;
  /// Nothing was said about strides: dense unless another description says
  /// otherwise.  The layout is undef then.
  bool isDenseByDefault = false;
};

/// Reads the member "sizes" of a graph.
void readSizeFacts(Value object, graph::NamedSizeFacts &facts,
                   Reporter &reporter);

/// Reads one logical tensor of `op`; nothing when it has no usable id.
std::optional<TensorText> readTensor(Value object, const graph::Op &op,
                                     Reporter &reporter);

} // namespace tenon::json
