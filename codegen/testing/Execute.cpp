//===- Execute.cpp - run MLIR text in a test ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/testing/Execute.h"
#include "codegen/llvm/LowerToLLVM.h"
#include "dialects/tile/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;

namespace tenon::codegen::testing {
namespace {

constexpr char kFill = 0x5a;

Error fail(const std::string &message) {
  Error error;
  error.message = message;
  return error;
}

} // namespace

Expected<std::unique_ptr<Jit>> compileText(const std::string &text,
                                           const std::string &passes,
                                           const std::string &target) {
  DialectRegistry registry;
  registry.insert<arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
                  math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                  tile::TileDialect, vector::VectorDialect>();
  registerLLVMTranslations(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return fail("the text does not parse:\n" + text);
  tile::TargetAttr attribute = tile::parseTarget(target, &context);
  if (!attribute)
    return fail("bad target " + target);
  (*module)->setAttr(kTargetAttr, attribute);
  PassManager pm(&context);
  if (!passes.empty() && failed(parsePassPipeline(passes, pm)))
    return fail("bad pipeline " + passes);
  buildLowerToLLVMPipeline(pm);
  if (failed(pm.run(*module)))
    return fail("a pass failed on\n" + text);
  auto object = compileToObject(*module, TargetSpec::host(), CompileOptions());
  if (!object)
    return object.errors();
  auto jit = Jit::create();
  if (!jit)
    return jit.errors();
  if (auto added = (*jit)->addObject(std::move(*object)); !added)
    return added.errors();
  return jit;
}

GuardedBuffer::GuardedBuffer(size_t bytes) {
  size_t page = sysconf(_SC_PAGESIZE);
  size_t body = (bytes + 2 * page - 1) / page * page;
  mapped = body + page;
  mapping = static_cast<char *>(mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (mapping == MAP_FAILED)
    std::abort();
  mprotect(mapping + body, page, PROT_NONE);
  start = mapping + body - bytes;
  std::memset(mapping, kFill, start - mapping);
}

GuardedBuffer::~GuardedBuffer() { munmap(mapping, mapped); }

bool GuardedBuffer::startIsIntact() const {
  for (const char *at = mapping; at < start; ++at)
    if (*at != kFill)
      return false;
  return true;
}

std::vector<int64_t> makeDescriptor(void *data, int64_t offset,
                                    const std::vector<int64_t> &sizes,
                                    const std::vector<int64_t> &strides) {
  int64_t address = reinterpret_cast<int64_t>(data);
  std::vector<int64_t> descriptor = {address, address, offset};
  descriptor.insert(descriptor.end(), sizes.begin(), sizes.end());
  descriptor.insert(descriptor.end(), strides.begin(), strides.end());
  return descriptor;
}

} // namespace tenon::codegen::testing
