//===- EmitModel.cpp - the description beside compiled code ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/jit/ModelInfo.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/xxhash.h"

namespace tenon::codegen {

namespace {

/// Constants laid out as the C compiler lays out runtime/tenon_model.h: plain
/// structures with natural alignment.
class Emitter {
public:
  explicit Emitter(llvm::Module &module)
      : module(module), context(module.getContext()) {}

  llvm::Constant *word(int64_t value) {
    return llvm::ConstantInt::getSigned(llvm::Type::getInt64Ty(context), value);
  }
  llvm::Constant *half(int32_t value) {
    return llvm::ConstantInt::getSigned(llvm::Type::getInt32Ty(context), value);
  }
  llvm::Constant *unsignedHalf(uint32_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value);
  }
  llvm::Constant *null() {
    return llvm::ConstantPointerNull::get(
        llvm::PointerType::getUnqual(context));
  }
  llvm::Constant *structure(llvm::ArrayRef<llvm::Constant *> fields) {
    return llvm::ConstantStruct::getAnon(context, fields);
  }
  llvm::Constant *text(llvm::StringRef value) {
    return data(llvm::ConstantDataArray::getString(context, value));
  }
  llvm::Constant *bytes(llvm::ArrayRef<char> value) {
    return data(llvm::ConstantDataArray::getString(
                    context, {value.data(), value.size()}, /*AddNull=*/false),
                64);
  }
  llvm::Constant *words(const std::vector<int64_t> &values) {
    return array(values, [&](int64_t v) { return word(v); });
  }
  llvm::Constant *halves(const std::vector<int32_t> &values) {
    return array(values, [&](int32_t v) { return half(v); });
  }
  llvm::Constant *key(tenon_constant_key k) {
    return structure({word(int64_t(k.low)), word(int64_t(k.high))});
  }

  /// The address of an array; null when it is empty.
  template <typename T, typename Make>
  llvm::Constant *array(const std::vector<T> &values, Make make) {
    if (values.empty())
      return null();
    std::vector<llvm::Constant *> elements;
    for (const T &value : values)
      elements.push_back(make(value));
    auto *type =
        llvm::ArrayType::get(elements.front()->getType(), elements.size());
    return data(llvm::ConstantArray::get(type, elements));
  }

  llvm::Constant *entry(const EntryInfo &info) {
    if (info.symbol.empty())
      return structure({null(), null(), null(), word(0)});
    auto arg = [&](const tenon_model_arg &a) {
      return structure({half(a.folded), half(a.index)});
    };
    return structure({function(info.symbol), function(info.symbol + "_arena"),
                      array(info.args, arg), word(int64_t(info.args.size()))});
  }

  llvm::GlobalVariable *global(llvm::Constant *value, llvm::StringRef symbol,
                               llvm::GlobalValue::LinkageTypes linkage) {
    return new llvm::GlobalVariable(module, value->getType(),
                                    /*isConstant=*/true, linkage, value,
                                    symbol);
  }

private:
  llvm::Constant *data(llvm::Constant *value, uint64_t align = 0) {
    auto *g = global(value, "tenon_data", llvm::GlobalValue::PrivateLinkage);
    if (align)
      g->setAlignment(llvm::Align(align));
    return g;
  }
  llvm::Constant *function(llvm::StringRef name) {
    llvm::Function *f = module.getFunction(name);
    assert(f && "an entry is a function of its module");
    return f;
  }

  llvm::Module &module;
  llvm::LLVMContext &context;
};

} // namespace

tenon_constant_key hashOf(const void *data, size_t bytes) {
  llvm::XXH128_hash_t hash =
      llvm::xxh3_128bits({static_cast<const uint8_t *>(data), bytes});
  return {hash.low64, hash.high64};
}

llvm::GlobalVariable *emitCode(llvm::Module &module, const CodeInfo &code,
                               llvm::StringRef symbol) {
  Emitter e(module);
  auto folded = [&](const FoldedInfo &f) {
    return e.structure({e.word(f.bytes), e.word(int64_t(f.dims.size())),
                        e.words(f.dims), e.key(f.recipe), e.halves(f.inputs),
                        e.word(int64_t(f.inputs.size()))});
  };
  return e.global(e.structure({e.text(code.target), e.text(code.features),
                               e.entry(code.main), e.entry(code.fold),
                               e.array(code.folded, folded),
                               e.word(int64_t(code.folded.size())),
                               e.half(code.flushDenormals), e.half(0)}),
                  symbol, llvm::GlobalValue::ExternalLinkage);
}

llvm::GlobalVariable *emitModel(llvm::Module &module, const ModelInfo &model,
                                llvm::ArrayRef<llvm::Constant *> codes,
                                llvm::ArrayRef<llvm::Constant *> versions,
                                llvm::StringRef symbol) {
  Emitter e(module);
  auto tensor = [&](const TensorInfo &t) {
    return e.structure({e.word(int64_t(t.id)), e.text(t.name), e.half(t.dtype),
                        e.half(int32_t(t.dims.size())), e.words(t.dims),
                        e.words(t.strides), e.half(t.constant), e.half(0)});
  };
  auto weight = [&](const tenon_model_weight &w) {
    return e.structure({e.word(w.input), e.word(w.offset), e.word(w.bytes)});
  };
  auto dim = [&](const tenon_model_dim &d) {
    return e.structure({e.half(d.input), e.half(d.dim)});
  };
  auto size = [&](const SizeInfo &s) {
    return e.structure({e.text(s.name), e.word(s.min), e.word(s.max),
                        e.word(s.multipleOf), e.array(s.dims, dim),
                        e.word(int64_t(s.dims.size()))});
  };
  auto same = [](llvm::Constant *c) { return c; };
  auto words = [&](const std::vector<int64_t> &list) { return e.words(list); };
  const WeightsInfo &weights = model.weights;
  bool embed = weights.embed && !weights.data.empty();
  return e.global(
      e.structure(
          {e.unsignedHalf(TENON_MODEL_MAGIC),
           e.unsignedHalf(TENON_MODEL_VERSION), e.text(model.name),
           e.array(model.tensors, tensor), e.word(model.numInputs),
           e.word(int64_t(model.tensors.size()) - model.numInputs),
           e.array(codes.vec(), same), e.word(int64_t(codes.size())),
           e.array(weights.places, weight),
           e.word(int64_t(weights.places.size())), e.array(model.packed, words),
           embed ? e.bytes(weights.data) : e.null(),
           e.word(int64_t(weights.data.size())),
           e.key(hashOf(weights.data.data(), weights.data.size())),
           e.array(model.sizes, size), e.word(int64_t(model.sizes.size())),
           e.array(versions.vec(), same), e.word(int64_t(versions.size()))}),
      symbol, llvm::GlobalValue::ExternalLinkage);
}

std::string versionSymbol(size_t number) {
  return std::string(kModelInfoSymbol) + "_version_" + std::to_string(number);
}

llvm::GlobalVariable *declareData(llvm::Module &module,
                                  llvm::StringRef symbol) {
  return new llvm::GlobalVariable(
      module, llvm::Type::getInt8Ty(module.getContext()), /*isConstant=*/true,
      llvm::GlobalValue::ExternalLinkage, nullptr, symbol);
}

void emitModelWithCode(llvm::Module &module, const ModelInfo &model,
                       const CodeInfo &code, size_t versions) {
  std::vector<llvm::Constant *> infos;
  for (size_t i = 0; i < versions; ++i)
    infos.push_back(declareData(module, versionSymbol(i)));
  emitModel(module, model, {emitCode(module, code, "tenon_code")}, infos,
            kModelInfoSymbol);
}

} // namespace tenon::codegen
