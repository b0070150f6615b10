//===- Stubs.h - the C functions of a compiled file ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A file compiled ahead of time has an object for each target, and one with the
// description, the weights and functions with one argument per tensor, which
// any machine of the architecture executes; they call runtime/tenon_aot.h.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/jit/ModelInfo.h"

namespace tenon::codegen {

/// What a file offers to programs.
struct AotInterface {
  /// Begins all symbols; a C identifier.
  std::string prefix;
  ModelInfo model;
  /// The model with likely sizes.
  std::vector<ModelInfo> versions;
  /// C identifiers of the tensors, all different.
  std::vector<std::string> arguments;

  /// Constants that programs give to create.
  bool isCreateArgument(size_t tensor) const;
  /// Everything that is no constant.
  bool isRunArgument(size_t tensor) const;
  /// Whether sizes are given with each execution.
  bool hasUnknownDims(size_t tensor) const;
  bool isDynamic() const;
};

/// `text` as a C identifier that is no keyword.
std::string identifierFor(const std::string &text);
/// One for each of `texts`, made different by numbers.
std::vector<std::string> identifiersFor(const std::vector<std::string> &texts);

/// Makes everything in a module of code private but a tenon_model_code under
/// `symbol`, which only its own file sees.
void finishCode(llvm::Module &module, const CodeInfo &code,
                const std::string &symbol);

/// Adds the description, `PREFIX_info`, and the functions; `codes` has for each
/// version, and last for the model itself, the symbols that finishCode was
/// given for other modules, most demanding first.
void emitStubs(llvm::Module &module, const AotInterface &about,
               const std::vector<std::vector<std::string>> &codes);

/// The text of the C header that declares them.
std::string headerText(const AotInterface &about,
                       const std::vector<std::string> &targets);

} // namespace tenon::codegen
