//===- TargetMachine.cpp - LLVM's description of a target -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/jit/TargetMachine.h"

#include "dialects/support/Fail.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Config/Targets.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/TargetParser/Triple.h"

namespace tenon::codegen {

void initialiseTargets() {
  static const bool once = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
    // Files for other machines; x86-64 is where this is built.
#if LLVM_HAS_AARCH64_TARGET
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
#endif
    return true;
  }();
  (void)once;
}

TargetSpec TargetSpec::host() {
  // Asked once: each CPUID instruction traps in a virtual machine, and loading
  // from a cache asks several times.
  static const TargetSpec found = [] {
    llvm::SubtargetFeatures features;
    for (const auto &feature : llvm::sys::getHostCPUFeatures())
      features.AddFeature(feature.first(), feature.second);
    return TargetSpec{llvm::sys::getProcessTriple(),
                      llvm::sys::getHostCPUName().str(), features.getString()};
  }();
  return found;
}

TargetSpec TargetSpec::forCpu(const std::string &cpu) {
  if (cpu == "host")
    return host();
  return {llvm::sys::getProcessTriple(), cpu, ""};
}

namespace {

/// What of the triple no code is generated for; empty: all is well.
std::string unsupportedPart(const llvm::Triple &triple) {
  using llvm::Triple;
  auto quoted = [](const char *what, llvm::StringRef name) {
    return std::string(what) + " '" + name.str() + "'";
  };
  bool knownArch =
      triple.getArch() == Triple::x86_64 || triple.getArch() == Triple::aarch64;
  // Forms of AArch64 with calls of their own.
  if (!knownArch || triple.getSubArch() == Triple::AArch64SubArch_arm64e ||
      triple.getSubArch() == Triple::AArch64SubArch_arm64ec)
    return quoted("the architecture", triple.getArchName());
  if (triple.getOS() != Triple::Linux)
    return quoted("the operating system", triple.getOSName());
  // Without a name LLVM takes glibc.
  if (triple.getEnvironment() != Triple::GNU &&
      triple.getEnvironment() != Triple::UnknownEnvironment)
    return quoted("the environment", triple.getEnvironmentName());
  if (!triple.isOSBinFormatELF())
    return quoted("the object format",
                  Triple::getObjectFormatTypeName(triple.getObjectFormat()));
  return "";
}

/// LLVM only prints a warning about a feature that it does not know.
Expected<bool> checkFeatures(llvm::StringRef features,
                             const llvm::MCSubtargetInfo &info,
                             const std::string &triple) {
  llvm::SmallVector<llvm::StringRef> words;
  if (!features.empty())
    features.split(words, ',');
  for (llvm::StringRef word : words) {
    llvm::StringRef name = word;
    bool isSigned = name.consume_front("+") || name.consume_front("-");
    bool known = isSigned && llvm::any_of(info.getAllProcessorFeatures(),
                                          [&](const auto &feature) {
                                            return name == feature.Key;
                                          });
    if (!known)
      return fail(ErrorCode::UnsupportedTarget,
                  "unknown CPU feature '" + word.str() + "' for " + triple);
  }
  return true;
}

} // namespace

Expected<bool> checkTarget(const TargetSpec &spec) {
  initialiseTargets();
  llvm::Triple triple(spec.triple);
  if (std::string part = unsupportedPart(triple); !part.empty())
    return fail(ErrorCode::UnsupportedTarget,
                "no code for '" + spec.triple + "': " + part +
                    " is not supported",
                "use x86_64-linux-gnu or aarch64-linux-gnu");
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return fail(ErrorCode::UnsupportedTarget, message);
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      target->createMCSubtargetInfo(triple, "", ""));
  if (!info || !info->isCPUStringValid(spec.cpu))
    return fail(ErrorCode::UnsupportedTarget,
                "unknown CPU '" + spec.cpu + "' for " + spec.triple);
  if (auto ok = checkFeatures(spec.features, *info, spec.triple); !ok)
    return ok;
  info.reset(target->createMCSubtargetInfo(triple, spec.cpu, spec.features));
  if (triple.getArch() == llvm::Triple::x86_64 &&
      !info->checkFeatures("+64bit"))
    return fail(ErrorCode::UnsupportedTarget,
                "the CPU '" + spec.cpu + "' has no 64-bit mode",
                "use host, x86-64-v2, x86-64-v3, x86-64-v4 or the LLVM name of "
                "a 64-bit CPU");
  return true;
}

Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const TargetSpec &spec) {
  if (auto ok = checkTarget(spec); !ok)
    return ok.errors();
  llvm::Triple triple(spec.triple);
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, message);
  llvm::TargetOptions options;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, spec.cpu, spec.features, options, llvm::Reloc::PIC_,
      /*CM=*/std::nullopt, llvm::CodeGenOptLevel::Default));
  if (!machine)
    return fail(ErrorCode::UnsupportedTarget,
                "no code generator for " + spec.triple);
  return machine;
}

} // namespace tenon::codegen
