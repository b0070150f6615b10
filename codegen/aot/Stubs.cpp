//===- Stubs.cpp - the C functions of a compiled file ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/aot/Stubs.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include <algorithm>
#include <set>

namespace tenon::codegen {

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

bool AotInterface::isCreateArgument(size_t tensor) const {
  return model.tensors[tensor].constant &&
         llvm::none_of(model.weights.places, [&](const tenon_model_weight &w) {
           return w.input == static_cast<int64_t>(tensor);
         });
}

bool AotInterface::isRunArgument(size_t tensor) const {
  return !model.tensors[tensor].constant;
}

bool AotInterface::hasUnknownDims(size_t tensor) const {
  return llvm::is_contained(model.tensors[tensor].dims, TENON_UNKNOWN_DIM);
}

bool AotInterface::isDynamic() const {
  for (size_t i = 0; i < model.tensors.size(); ++i)
    if (hasUnknownDims(i))
      return true;
  return false;
}

std::string identifierFor(const std::string &text) {
  // Of C and C++, and the names of arguments that all functions have.
  static const std::set<std::string> taken = {
      "alignas",   "alignof",  "and",      "asm",      "auto",     "bool",
      "break",     "case",     "catch",    "char",     "class",    "concept",
      "const",     "continue", "decltype", "default",  "delete",   "do",
      "double",    "else",     "enum",     "exec",     "explicit", "export",
      "extern",    "false",    "float",    "for",      "friend",   "goto",
      "if",        "inline",   "int",      "long",     "model",    "mutable",
      "namespace", "new",      "noexcept", "not",      "operator", "options",
      "or",        "private",  "public",   "register", "requires", "restrict",
      "return",    "scratch",  "short",    "signed",   "sizeof",   "static",
      "struct",    "switch",   "template", "this",     "throw",    "true",
      "try",       "typedef",  "typeid",   "typename", "union",    "unsigned",
      "using",     "virtual",  "void",     "volatile", "while",    "xor"};
  std::string name;
  for (char c : text)
    name += llvm::isAlnum(c) ? c : '_';
  if (name.empty() || llvm::isDigit(name[0]))
    name = "t" + name;
  return taken.count(name) ? name + "_" : name;
}

std::vector<std::string> identifiersFor(const std::vector<std::string> &texts) {
  std::vector<std::string> names;
  std::set<std::string> used;
  for (const std::string &text : texts) {
    std::string base = identifierFor(text), name = base;
    // Sizes are called NAME_dims.
    for (int i = 2; used.count(name) || used.count(name + "_dims"); ++i)
      name = base + "_" + std::to_string(i);
    used.insert({name, name + "_dims"});
    names.push_back(name);
  }
  return names;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

void finishCode(llvm::Module &module, const CodeInfo &code,
                const std::string &symbol) {
  for (llvm::GlobalValue &value : module.global_values())
    if (!value.isDeclaration() && !value.hasLocalLinkage()) {
      value.setVisibility(llvm::GlobalValue::DefaultVisibility);
      value.setLinkage(llvm::GlobalValue::InternalLinkage);
    }
  emitCode(module, code, symbol)
      ->setVisibility(llvm::GlobalValue::HiddenVisibility);
}

namespace {

/// Functions that put their arguments into lists and call the runtime.
class StubEmitter {
public:
  StubEmitter(llvm::Module &module, const AotInterface &about,
              llvm::GlobalVariable *info)
      : module(module), about(about), info(info), builder(module.getContext()) {
  }

  void emit() {
    emitGetInfo();
    emitCreate();
    emitDestroy();
    emitScratchBytes();
    emitRun();
  }

private:
  using Types = std::vector<llvm::Type *>;

  llvm::Type *pointer() { return builder.getPtrTy(); }
  llvm::Constant *null() {
    return llvm::ConstantPointerNull::get(builder.getPtrTy());
  }
  size_t tensors() const { return about.model.tensors.size(); }

  /// Begins a function; the builder stands in its body.
  llvm::Function *begin(const char *name, llvm::Type *result, Types arguments) {
    auto *type = llvm::FunctionType::get(result, arguments, false);
    auto *f = llvm::Function::Create(type, llvm::Function::ExternalLinkage,
                                     about.prefix + name, module);
    f->addFnAttr(llvm::Attribute::NoUnwind);
    builder.SetInsertPoint(
        llvm::BasicBlock::Create(module.getContext(), "", f));
    return f;
  }

  llvm::Value *callRuntime(const char *name, llvm::Type *result,
                           const std::vector<llvm::Value *> &arguments) {
    Types types;
    for (llvm::Value *v : arguments)
      types.push_back(v->getType());
    return builder.CreateCall(
        module.getOrInsertFunction(
            name, llvm::FunctionType::get(result, types, false)),
        arguments);
  }

  /// The address of a list in the frame.
  llvm::Value *list(const std::vector<llvm::Value *> &values) {
    auto *type = llvm::ArrayType::get(pointer(), values.size());
    llvm::Value *memory = builder.CreateAlloca(type);
    for (size_t i = 0; i < values.size(); ++i)
      builder.CreateStore(values[i],
                          builder.CreateConstGEP2_64(type, memory, 0, i));
    return memory;
  }

  void emitGetInfo() {
    begin("_get_info", pointer(), {});
    builder.CreateRet(info);
  }

  void emitCreate() {
    Types types = {pointer(), pointer()};
    for (size_t i = 0; i < tensors(); ++i)
      if (about.isCreateArgument(i))
        types.push_back(pointer());
    types.push_back(pointer());
    llvm::Function *f = begin("_create", builder.getInt32Ty(), types);
    std::vector<llvm::Value *> constants;
    unsigned next = 2;
    for (size_t i = 0; i < static_cast<size_t>(about.model.numInputs); ++i)
      constants.push_back(about.isCreateArgument(i)
                              ? static_cast<llvm::Value *>(f->getArg(next++))
                              : null());
    builder.CreateRet(callRuntime(
        "tenon_aot_create", builder.getInt32Ty(),
        {info, f->getArg(0), f->getArg(1), list(constants), f->getArg(next)}));
  }

  void emitDestroy() {
    llvm::Function *f = begin("_destroy", builder.getVoidTy(), {pointer()});
    callRuntime("tenon_aot_destroy", builder.getVoidTy(), {f->getArg(0)});
    builder.CreateRetVoid();
  }

  /// Addresses of sizes; null when all are known.
  llvm::Value *dimsList(const std::vector<llvm::Value *> &dims) {
    return about.isDynamic() ? list(dims) : null();
  }

  void emitScratchBytes() {
    Types types = {pointer()};
    for (size_t i = 0; i < tensors(); ++i)
      if (about.isRunArgument(i) && about.hasUnknownDims(i))
        types.push_back(pointer());
    llvm::Function *f = begin("_scratch_bytes", builder.getInt64Ty(), types);
    std::vector<llvm::Value *> dims;
    unsigned next = 1;
    for (size_t i = 0; i < tensors(); ++i)
      dims.push_back(about.isRunArgument(i) && about.hasUnknownDims(i)
                         ? static_cast<llvm::Value *>(f->getArg(next++))
                         : null());
    builder.CreateRet(callRuntime("tenon_aot_scratch_bytes",
                                  builder.getInt64Ty(),
                                  {f->getArg(0), dimsList(dims)}));
  }

  void emitRun() {
    Types types = {pointer(), pointer()};
    for (size_t i = 0; i < tensors(); ++i)
      if (about.isRunArgument(i))
        types.insert(types.end(), about.hasUnknownDims(i) ? 2 : 1, pointer());
    types.push_back(pointer());
    llvm::Function *f = begin("_run", builder.getInt32Ty(), types);
    std::vector<llvm::Value *> buffers, dims;
    unsigned next = 2;
    for (size_t i = 0; i < tensors(); ++i) {
      bool given = about.isRunArgument(i);
      buffers.push_back(given ? static_cast<llvm::Value *>(f->getArg(next++))
                              : null());
      dims.push_back(given && about.hasUnknownDims(i)
                         ? static_cast<llvm::Value *>(f->getArg(next++))
                         : null());
    }
    builder.CreateRet(callRuntime("tenon_aot_run", builder.getInt32Ty(),
                                  {f->getArg(0), f->getArg(1), list(buffers),
                                   dimsList(dims), f->getArg(next)}));
  }

  llvm::Module &module;
  const AotInterface &about;
  llvm::GlobalVariable *info;
  llvm::IRBuilder<> builder;
};

} // namespace

/// The code of another module of the file.
static llvm::Constant *codeOf(llvm::Module &module, const std::string &symbol) {
  llvm::GlobalVariable *code = declareData(module, symbol);
  code->setVisibility(llvm::GlobalValue::HiddenVisibility);
  return code;
}

void emitStubs(llvm::Module &module, const AotInterface &about,
               const std::vector<std::vector<std::string>> &codes) {
  assert(codes.size() == about.versions.size() + 1 && "the model comes last");
  auto emit = [&](size_t number, const ModelInfo &model,
                  llvm::ArrayRef<llvm::Constant *> versions,
                  const std::string &symbol) {
    std::vector<llvm::Constant *> addresses;
    for (const std::string &code : codes[number])
      addresses.push_back(codeOf(module, code));
    return emitModel(module, model, addresses, versions, symbol);
  };
  std::vector<llvm::Constant *> versions;
  for (size_t i = 0; i < about.versions.size(); ++i) {
    llvm::GlobalVariable *info =
        emit(i, about.versions[i], {},
             about.prefix + "_version_" + std::to_string(i));
    info->setLinkage(llvm::GlobalValue::InternalLinkage);
    versions.push_back(info);
  }
  llvm::GlobalVariable *info = emit(about.versions.size(), about.model,
                                    versions, about.prefix + "_info");
  StubEmitter(module, about, info).emit();
}

} // namespace tenon::codegen
