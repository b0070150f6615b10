// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/MlirFlags.h"

#include "compiler/driver/Phases.h"
#include "tools/tenon/Cli.h"

#include "mlir/IR/AsmState.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Debug.h"
#include "llvm/Support/raw_ostream.h"

namespace tenon::cli {

struct MlirFlags::Impl {
  mlir::DefaultTimingManager timing;
  mlir::TimingScope root;
};

/// Turns on what LDBG() prints under these types, separated by commas. The
/// packaged LLVM, which is built without asserts, has no option for that.
static Expected<bool> printDebugOutput(llvm::StringRef types) {
#ifdef NDEBUG
  return badOption("--mlir-debug-only=" + types.str() +
                       ": this build has no debug output",
                   "build with --config=asserts");
#else
  std::vector<std::string> names = splitText(types.str(), ',');
  std::vector<const char *> list;
  list.reserve(names.size());
  for (const std::string &name : names)
    list.push_back(name.c_str());
  llvm::DebugFlag = true;
  llvm::setCurrentDebugTypes(list.data(), static_cast<unsigned>(list.size()));
  return true;
#endif
}

MlirFlags::MlirFlags() = default;
MlirFlags::~MlirFlags() { setPassManagerSetup({}); }

Expected<bool> MlirFlags::take(std::vector<std::string> &arguments) {
  constexpr llvm::StringLiteral debugOnly = "--mlir-debug-only=";
  std::vector<std::string> taken{"tenon"};
  std::string types;
  std::erase_if(arguments, [&](const std::string &a) {
    bool mine = a.rfind("--mlir-", 0) == 0;
    if (llvm::StringRef(a).starts_with(debugOnly))
      types = a.substr(debugOnly.size());
    else if (mine)
      taken.push_back(a);
    return mine;
  });
  if (!types.empty())
    if (auto ok = printDebugOutput(types); !ok)
      return ok;
  if (taken.size() == 1)
    return true;
  registerAllPasses(); // flags name them
  mlir::registerAsmPrinterCLOptions();
  mlir::registerPassManagerCLOptions();
  mlir::registerDefaultTimingManagerCLOptions();
  std::vector<const char *> argv;
  argv.reserve(taken.size());
  for (const std::string &a : taken)
    argv.push_back(a.c_str());
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!llvm::cl::ParseCommandLineOptions(static_cast<int>(argv.size()),
                                         argv.data(), "", &os)) {
    llvm::StringRef message = llvm::StringRef(text).trim();
    message.consume_front("tenon: ");
    std::string what = message.split(".  Try").first.str();
    return badOption(what.empty() ? "MLIR refuses its flags" : what,
                     "tenon-opt --help lists the flags of MLIR");
  }
  impl = std::make_unique<Impl>();
  mlir::applyDefaultTimingManagerCLOptions(impl->timing);
  impl->root = impl->timing.getRootScope();
  setPassManagerSetup([this](mlir::PassManager &pm, const Phase &) {
    if (failed(mlir::applyPassManagerCLOptions(pm)))
      return false;
    pm.enableTiming(impl->root);
    return true;
  });
  return true;
}

} // namespace tenon::cli
