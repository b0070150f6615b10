//===- BrgemmHarness.cpp - compile and call brgemm in tests ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/microkernel/BrgemmHarness.h"

#include "codegen/Passes.h"
#include "codegen/llvm/LowerToLLVM.h"
#include "codegen/microkernel/LowerBrgemm.h"
#include "dialects/support/LinkNames.h"
#include "dialects/tile/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MemoryBuffer.h"

#include <chrono>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;

namespace tenon::microkernel::testing {

void *Compiled::lookup(const std::string &name) {
  auto address = jit->lookup("_mlir_ciface_" + name);
  if (!address) {
    error = str(address.errors());
    return nullptr;
  }
  return *address;
}

static bool lower(ModuleOp module, const HarnessOptions &options,
                  Compiled &result) {
  module.walk([&](func::FuncOp func) {
    func->setAttr("llvm.emit_c_interface", UnitAttr::get(func.getContext()));
  });
  std::string target =
      "vector_bits = " + std::to_string(options.vectorBits) +
      ", num_vector_registers = " + std::to_string(options.numVectorRegisters) +
      ", matrix_unit = " + (options.matrixUnit ? "true" : "false");
  tile::TargetAttr attribute = tile::parseTarget(target, module.getContext());
  if (!attribute)
    return false;
  module->setAttr(kTargetAttr, attribute);
  PassManager pm(module.getContext());
  LowerBrgemmOptions lowering;
  lowering.unrollK = options.unrollK;
  pm.addPass(createLowerBrgemm(lowering));
  if (failed(pm.run(module)))
    return false;
  module.walk([&](func::FuncOp func) {
    result.numKernels += func.getName().starts_with(kKernelPrefix) &&
                         !func.getName().contains("_any_");
    result.numMatrixKernels += func.getName().starts_with(kMatrixKernelPrefix);
  });
  PassManager toLLVM(module.getContext());
  toLLVM.addPass(codegen::createExpandMath()); // rounding to bf16
  codegen::buildLowerToLLVMPipeline(toLLVM);
  return succeeded(toLLVM.run(module));
}

Compiled compileBrgemm(const std::string &text, const HarnessOptions &options,
                       bool link) {
  Compiled result;
  DialectRegistry registry;
  registry.insert<arith::ArithDialect, func::FuncDialect, math::MathDialect,
                  memref::MemRefDialect, scf::SCFDialect, tile::TileDialect,
                  vector::VectorDialect>();
  codegen::registerLLVMTranslations(registry);
  MLIRContext context(registry);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    result.error += diagnostic.str() + "\n";
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return result;

  auto start = std::chrono::steady_clock::now();
  if (!lower(*module, options, result))
    return result;
  codegen::CompileOptions compileOptions;
  compileOptions.assembly = link ? nullptr : &result.assembly;
  auto object = codegen::compileToObject(
      *module, codegen::TargetSpec::forCpu(options.cpu), compileOptions);
  result.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  if (!object) {
    result.error += str(object.errors());
    return result;
  }
  if (!link)
    return result;
  auto jit = codegen::Jit::create();
  if (!jit) {
    result.error += str(jit.errors());
    return result;
  }
  auto added = (*jit)->addObject(std::move(*object));
  if (!added) {
    result.error += str(added.errors());
    return result;
  }
  result.jit = std::move(*jit);
  return result;
}

Descriptor describe(void *data, const std::vector<int64_t> &sizes,
                    const std::vector<int64_t> &strides) {
  Descriptor descriptor;
  descriptor.allocated = descriptor.aligned = data;
  for (size_t i = 0; i < sizes.size(); ++i) {
    descriptor.sizesAndStrides[i] = sizes[i];
    descriptor.sizesAndStrides[sizes.size() + i] = strides[i];
  }
  return descriptor;
}

GuardedFloats::GuardedFloats(size_t count, float fill) : count(count) {
  size_t page = sysconf(_SC_PAGESIZE);
  size_t used = (count * sizeof(float) + page - 1) / page * page;
  bytes = used + page;
  pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(static_cast<char *>(pages) + used, page, PROT_NONE);
  first = reinterpret_cast<float *>(static_cast<char *>(pages) + used) - count;
  for (size_t i = 0; i < count; ++i)
    first[i] = fill;
}

GuardedFloats::~GuardedFloats() { munmap(pages, bytes); }

} // namespace tenon::microkernel::testing
