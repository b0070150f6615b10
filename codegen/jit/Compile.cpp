//===- Compile.cpp - LLVM dialect to machine code -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "codegen/jit/Compile.h"

#include "codegen/jit/Guard.h"
#include "codegen/jit/Optimise.h"
#include "codegen/jit/TargetMachine.h"
#include "codegen/llvm/Parts.h"
#include "dialects/support/Fail.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <chrono>
#include <exception>
#include <optional>

namespace tenon::codegen {
namespace {

/// Adds the time since construction to a counter when it leaves scope.
class Stopwatch {
public:
  explicit Stopwatch(double *seconds) : seconds(seconds) {}
  ~Stopwatch() {
    if (seconds)
      *seconds += std::chrono::duration<double>(Clock::now() - start).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  double *seconds;
  Clock::time_point start = Clock::now();
};

void setFunctionAttributes(llvm::Module &module, llvm::TargetMachine &machine,
                           const CompileOptions &options) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    // Vector widths are ours to choose: never split a 512-bit operation.
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("min-legal-vector-width", "512");
    if (options.framePointers)
      function.addFnAttr("frame-pointer", "all");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

/// The passes of the code generator but strength reduction, which ran before.
class OthersThanReduction : public llvm::legacy::PassManagerBase {
public:
  explicit OthersThanReduction(llvm::legacy::PassManager &passes)
      : passes(passes) {}

  void add(llvm::Pass *pass) override {
    static const void *reduction =
        std::unique_ptr<llvm::Pass>(llvm::createLoopStrengthReducePass())
            ->getPassID();
    if (pass->getPassID() == reduction)
      delete pass;
    else
      passes.add(pass);
  }

private:
  llvm::legacy::PassManager &passes;
};

using Object = std::unique_ptr<llvm::MemoryBuffer>;

/// What LLVM works on for one module, with a context of its own.
struct Job {
  std::unique_ptr<llvm::TargetMachine> machine;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> ir;
  std::string errors; // that LLVM has told the context, one per line
};

/// Instead of LLVM's own handler, which prints, and ends the process after an
/// error.
void collectErrors(Job &job) {
  job.context.setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo *info, void *errors) {
        if (info->getSeverity() != llvm::DS_Error)
          return;
        std::string &text = *static_cast<std::string *>(errors);
        llvm::raw_string_ostream stream(text);
        llvm::DiagnosticPrinterRawOStream printer(stream);
        if (!text.empty())
          stream << "\n";
        info->print(printer);
      },
      &job.errors);
}

/// Fails where the target has no such files.
bool emitFile(llvm::Module &module, llvm::TargetMachine &machine,
              llvm::CodeGenFileType type, llvm::SmallVectorImpl<char> &out) {
  llvm::raw_svector_ostream stream(out);
  llvm::legacy::PassManager passes;
  OthersThanReduction others(passes);
  if (machine.addPassesToEmitFile(others, stream, nullptr, type))
    return false;
  passes.run(module);
  return true;
}

std::optional<Error> translate(mlir::ModuleOp module,
                               const CompileOptions &options, Job &job) {
  job.ir = mlir::translateModuleToLLVMIR(module, job.context, "tenon",
                                         /*disableVerification=*/true);
  if (!job.ir)
    return fail(ErrorCode::Internal, "translation to LLVM IR failed");
  job.ir->setDataLayout(job.machine->createDataLayout());
  job.ir->setTargetTriple(job.machine->getTargetTriple());
  setFunctionAttributes(*job.ir, *job.machine, options);
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (llvm::verifyModule(*job.ir, &stream))
    return fail(ErrorCode::Internal, "LLVM IR is not valid: " + message);
  return std::nullopt;
}

Expected<Object> compileJob(mlir::ModuleOp module,
                            const CompileOptions &options, CompileTimes *times,
                            Job &job) {
  collectErrors(job);
  {
    Stopwatch watch(times ? &times->translate : nullptr);
    if (auto error = translate(module, options, job))
      return *error;
  }
  {
    Stopwatch watch(times ? &times->optimize : nullptr);
    optimise(*job.ir, *job.machine);
  }
  if (options.finish)
    options.finish(*job.ir);
  if (options.llvmIR) {
    llvm::raw_string_ostream stream(*options.llvmIR);
    job.ir->print(stream, nullptr);
  }
  llvm::SmallVector<char, 0> object;
  if (options.assembly) {
    // Code generation changes the module: print from a copy.
    llvm::SmallVector<char, 0> text;
    std::unique_ptr<llvm::Module> copy = llvm::CloneModule(*job.ir);
    if (emitFile(*copy, *job.machine, llvm::CodeGenFileType::AssemblyFile,
                 text))
      options.assembly->assign(text.begin(), text.end());
  }
  Stopwatch watch(times ? &times->emit : nullptr);
  if (!emitFile(*job.ir, *job.machine, llvm::CodeGenFileType::ObjectFile,
                object))
    return fail(ErrorCode::UnsupportedTarget,
                "target " + job.machine->getTargetTriple().str() +
                    " cannot emit object files");
  if (!job.errors.empty())
    return fail(ErrorCode::Internal, "LLVM: " + job.errors);
  return Object(std::make_unique<llvm::SmallVectorMemoryBuffer>(
      std::move(object), "tenon.o", /*RequiresNullTerminator=*/false));
}

/// A module in an LLVM context of its own.
Expected<Object> compileModule(mlir::ModuleOp module, const TargetSpec &target,
                               const CompileOptions &options,
                               CompileTimes *times) {
  auto machine = createTargetMachine(target);
  if (!machine)
    return machine.errors();
  auto job = std::make_unique<Job>();
  job->machine = std::move(*machine);
  Expected<Object> object = Object();
  if (auto fatal = runGuarded(
          [&] { object = compileJob(module, options, times, *job); })) {
    (void)job.release(); // LLVM was in the midst of it
    return *fatal;
  }
  return object;
}

/// Modules at once, in threads that know no exceptions.
std::vector<Expected<Object>>
compileModules(llvm::SmallVector<mlir::ModuleOp> modules,
               const TargetSpec &target, const CompileOptions &options,
               std::vector<CompileTimes> &times) {
  std::vector<Expected<Object>> objects;
  for (size_t i = 0; i < modules.size(); ++i)
    objects.emplace_back(Object());
  std::vector<std::exception_ptr> thrown(modules.size());
  CompileOptions others = options;
  others.finish = nullptr;
  mlir::parallelFor(modules[0].getContext(), 0, modules.size(), [&](size_t i) {
    try {
      objects[i] = compileModule(modules[i], target, i == 0 ? options : others,
                                 &times[i]);
    } catch (...) {
      thrown[i] = std::current_exception();
    }
  });
  for (std::exception_ptr &exception : thrown)
    if (exception)
      std::rethrow_exception(exception);
  return objects;
}

Expected<Object> makeArchive(llvm::ArrayRef<Expected<Object>> objects) {
  std::vector<llvm::NewArchiveMember> members;
  for (const Expected<Object> &object : objects)
    members.emplace_back((*object)->getMemBufferRef());
  auto archive = llvm::writeArchiveToBuffer(
      members, llvm::SymtabWritingMode::NoSymtab, llvm::object::Archive::K_GNU,
      /*Deterministic=*/true, /*Thin=*/false);
  if (!archive)
    return fail(ErrorCode::Internal, "cannot put objects together: " +
                                         llvm::toString(archive.takeError()));
  return std::move(*archive);
}

Expected<Object> compileInParts(mlir::ModuleOp module, int64_t parts,
                                const TargetSpec &target,
                                const CompileOptions &options,
                                CompileTimes *times) {
  if (auto machine = createTargetMachine(target); !machine)
    return machine.errors(); // once, not for each part
  splitIntoParts(module, parts);
  std::vector<CompileTimes> partTimes(parts);
  auto objects =
      compileModules(llvm::to_vector(module.getOps<mlir::ModuleOp>()), target,
                     options, partTimes);
  if (failed(joinParts(module)))
    return fail(ErrorCode::Internal, "the parts of a module do not fit");
  for (const Expected<Object> &object : objects)
    if (!object)
      return object.errors();
  if (times)
    for (const CompileTimes &part : partTimes) {
      times->translate += part.translate;
      times->optimize += part.optimize;
      times->emit += part.emit;
    }
  return makeArchive(objects);
}

} // namespace

Expected<std::unique_ptr<llvm::MemoryBuffer>>
compileToObject(mlir::ModuleOp module, const TargetSpec &target,
                const CompileOptions &options, CompileTimes *times) {
  bool wantsText = options.llvmIR || options.assembly;
  int64_t parts = options.inParts && !wantsText ? countParts(module) : 1;
  return parts == 1 ? compileModule(module, target, options, times)
                    : compileInParts(module, parts, target, options, times);
}

} // namespace tenon::codegen
