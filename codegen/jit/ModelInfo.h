//===- ModelInfo.h - the description beside compiled code ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What runtime/tenon_model.h describes, as values, and the way into a module:
// the JIT, the cache and ahead-of-time files find it there as data.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/tenon_model.h"

#include <string>
#include <vector>

namespace llvm {
class Constant;
class GlobalVariable;
class Module;
class StringRef;
template <typename T> class ArrayRef;
} // namespace llvm

namespace tenon::codegen {

struct TensorInfo {
  uint64_t id = 0;
  std::string name;
  int32_t dtype = TENON_UNDEF;
  std::vector<int64_t> dims;
  std::vector<int64_t> strides; // empty: dense, row-major
  bool constant = false;
};

struct EntryInfo {
  std::string symbol; // its function; empty: there is none
  std::vector<tenon_model_arg> args;
  /// Inputs that it reads.
  std::vector<int32_t> reads;
};

struct FoldedInfo {
  int64_t bytes = 0;
  std::vector<int64_t> dims;
  tenon_constant_key recipe = {};
  std::vector<int32_t> inputs;
};

/// The code for one target.
struct CodeInfo {
  std::string target;
  std::string features; // separated by commas
  bool flushDenormals = false;
  EntryInfo main, fold;
  std::vector<FoldedInfo> folded;
};

/// Constants that come with the code.
struct WeightsInfo {
  std::vector<tenon_model_weight> places;
  std::vector<char> data;
  bool embed = true;
};

/// A size of which something is declared.
struct SizeInfo {
  std::string name;
  int64_t min = 0, max = 0, multipleOf = 1;
  std::vector<tenon_model_dim> dims;
};

struct ModelInfo {
  std::string name;
  std::vector<TensorInfo> tensors; // inputs, then outputs
  int64_t numInputs = 0;
  WeightsInfo weights;
  /// For each code where its folded buffers lie among the weights; empty: they
  /// are computed when the model is loaded.
  std::vector<std::vector<int64_t>> packed;
  std::vector<SizeInfo> sizes;
};

/// The symbol of the tenon_model_info in code for this process.
inline constexpr char kModelInfoSymbol[] = "tenon_model";

/// The symbol under which such code finds that of its version `number`, which
/// is linked on its own.
std::string versionSymbol(size_t number);

/// XXH3, 128 bits, as runtime/tenon_model.h says.
tenon_constant_key hashOf(const void *data, size_t bytes);

/// Adds a tenon_model_code to the module that holds its functions, which has
/// its data layout.
llvm::GlobalVariable *emitCode(llvm::Module &module, const CodeInfo &code,
                               llvm::StringRef symbol);

/// Adds a tenon_model_info; `codes` are tenon_model_code and `versions`
/// tenon_model_info of this module or declarations of others.
llvm::GlobalVariable *emitModel(llvm::Module &module, const ModelInfo &model,
                                llvm::ArrayRef<llvm::Constant *> codes,
                                llvm::ArrayRef<llvm::Constant *> versions,
                                llvm::StringRef symbol);

/// What another module defines under `symbol`.
llvm::GlobalVariable *declareData(llvm::Module &module, llvm::StringRef symbol);

/// Code of one target and its description, kModelInfoSymbol, with declarations
/// of `versions` versions.
void emitModelWithCode(llvm::Module &module, const ModelInfo &model,
                       const CodeInfo &code, size_t versions);

} // namespace tenon::codegen
