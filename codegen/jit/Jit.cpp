//===- Jit.cpp - object code in this process ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// RuntimeDyld and not JITLink: it takes the plain JITEventListeners for perf
// and gdb, and links our small objects faster.
//
//===----------------------------------------------------------------------===//
#include "codegen/jit/Jit.h"

#include "codegen/jit/Guard.h"
#include "codegen/jit/TargetMachine.h"
#include "dialects/support/Fail.h"
#include "dialects/support/WriteFile.h"

#include "llvm/ExecutionEngine/JITEventListener.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/RTDyldObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/SectionMemoryManager.h"
#include "llvm/Object/Archive.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <unistd.h>

using namespace llvm::orc;

namespace tenon::codegen {
namespace {

/// What the session complained about: LLVM's own reporter prints it.
class Complaints {
public:
  void add(llvm::Error error) {
    std::string text = llvm::toString(std::move(error));
    std::lock_guard lock(mutex);
    all.push_back(std::move(text));
  }
  /// An error with `cause` and all that was told before.
  Error with(llvm::Error cause, std::string_view what) {
    std::string text = llvm::toString(std::move(cause));
    std::lock_guard lock(mutex);
    for (const std::string &complaint : std::exchange(all, {}))
      if (complaint != text)
        text += "; " + complaint;
    return fail(ErrorCode::Internal, std::string(what) + ": " + text);
  }

private:
  std::mutex mutex;
  std::vector<std::string> all;
};

/// Symbols as code of ours that was linked in the usual way would find them:
/// those of the process, and those of the libraries that the one with this code
/// depends on, even if a program opened it with RTLD_LOCAL. Generated code
/// calls functions that nobody else may have loaded: of libgcc, for half
/// precision on CPUs without F16C, and of libm.
class OwnScope : public DefinitionGenerator {
public:
  llvm::Error tryToGenerate(LookupState &, LookupKind, JITDylib &library,
                            JITDylibLookupFlags,
                            const SymbolLookupSet &symbols) override {
    SymbolMap found;
    for (const auto &[name, flags] : symbols)
      // It depends on the caller what is found: dlsym looks where that was
      // loaded.
      if (void *address = dlsym(RTLD_DEFAULT, (*name).str().c_str()))
        found[name] = {ExecutorAddr::fromPtr(address),
                       llvm::JITSymbolFlags::Exported};
    if (found.empty())
      return llvm::Error::success();
    return library.define(absoluteSymbols(std::move(found)));
  }
};

/// Code and data of an object in one block: they refer to each other with
/// 32-bit displacements, which nobody checks. RuntimeDyld does not count the
/// addresses of functions that calls jump through, one for each undefined
/// symbol, and would put them elsewhere.
class ObjectMemory : public llvm::SectionMemoryManager {
public:
  ObjectMemory(const llvm::MemoryBuffer &object, MemoryMapper *mapper)
      : SectionMemoryManager(mapper, /*ReserveAlloc=*/true),
        addressBytes(object.getBufferSize() / kSymbolBytes * sizeof(void *)) {}

  void reserveAllocationSpace(uintptr_t codeSize, llvm::Align codeAlign,
                              uintptr_t readSize, llvm::Align readAlign,
                              uintptr_t writeSize,
                              llvm::Align writeAlign) override {
    SectionMemoryManager::reserveAllocationSpace(
        codeSize, codeAlign, readSize, readAlign,
        writeSize + llvm::alignTo(addressBytes, kMostAlign),
        std::max(writeAlign, llvm::Align(kMostAlign)));
  }

private:
  /// Of a symbol in an ELF object: it has no more of them than fit it.
  static constexpr uint64_t kSymbolBytes = 24;
  static constexpr uint64_t kMostAlign = 64;
  uint64_t addressBytes;
};

std::unique_ptr<ObjectLayer> createLinkingLayer(ExecutionSession &session,
                                                const JitOptions &options) {
  auto layer = std::make_unique<RTDyldObjectLinkingLayer>(
      session, [mapper = options.mapper](const llvm::MemoryBuffer &object) {
        return std::make_unique<ObjectMemory>(object, mapper);
      });
  // The listeners are singletons that LLVM owns.
  if (options.gdb)
    if (auto *gdb = llvm::JITEventListener::createGDBRegistrationListener())
      layer->registerJITEventListener(*gdb);
  if (options.perf)
    if (auto *perf = llvm::JITEventListener::createPerfJITEventListener())
      layer->registerJITEventListener(*perf);
  return layer;
}

} // namespace

/// Null in a Jit that LLVM could not go on with.
struct Jit::State {
  Complaints complaints; // outlives the session
  std::unique_ptr<LLJIT> jit;
};

Jit::Jit(std::unique_ptr<State> state) : state(std::move(state)) {}
Jit::~Jit() = default;

/// Calls `work`. After a fatal error the state is lost.
template <typename Result, typename Work>
static Expected<Result> guardedBy(std::unique_ptr<Jit::State> &state,
                                  Work work) {
  if (!state)
    return fail(ErrorCode::Internal, "the JIT has failed before");
  Expected<Result> result = Result();
  if (auto fatal = runGuarded([&] { result = work(*state); })) {
    (void)state.release();
    return *fatal;
  }
  return result;
}

/// Whether LLVM can write its dump for perf: it prints that it cannot find a
/// place for it, and ends the process when the disk is full.
static Expected<bool> checkPerfFolder() {
  constexpr size_t kRoom = 1 << 20;
  llvm::SmallString<128> folder;
  // Where LLVM looks.
  for (const char *name : {"JITDUMPDIR", "HOME"})
    if (const char *value = std::getenv(name); value && folder.empty())
      folder = value;
  llvm::sys::path::append(folder, ".debug", "jit");
  if (std::error_code error = llvm::sys::fs::create_directories(folder))
    return fail(ErrorCode::CannotWrite,
                folder.str().str() + ": " + error.message(),
                "JITDUMPDIR names another folder for the dump");
  std::string probe =
      (folder + "/.tenon-" + std::to_string(getpid()) + ".probe").str();
  auto written = writeFile(probe, std::string(kRoom, '\0'));
  llvm::sys::fs::remove(probe);
  return written;
}

static Expected<bool> start(Jit::State &state, const JitOptions &options) {
  // It compiles nothing, so it need not know the CPU: asking for all features
  // and setting them up takes longer than linking small code.
  auto jit = LLJITBuilder()
                 .setJITTargetMachineBuilder(JITTargetMachineBuilder(
                     llvm::Triple(llvm::sys::getProcessTriple())))
                 .setObjectLinkingLayerCreator([&](ExecutionSession &session) {
                   return createLinkingLayer(session, options);
                 })
                 .create();
  if (!jit)
    return state.complaints.with(jit.takeError(), "cannot start the JIT");
  state.jit = std::move(*jit);
  state.jit->getExecutionSession().setErrorReporter(
      [&state](llvm::Error error) { state.complaints.add(std::move(error)); });
  state.jit->getMainJITDylib().addGenerator(std::make_unique<OwnScope>());
  return true;
}

Expected<std::unique_ptr<Jit>> Jit::create(const JitOptions &options) {
  initialiseTargets();
  if (options.perf)
    if (auto ok = checkPerfFolder(); !ok)
      return ok.errors();
  auto state = std::make_unique<State>();
  auto started = guardedBy<bool>(
      state, [&](State &state) { return start(state, options); });
  if (!started)
    return started.errors();
  return std::unique_ptr<Jit>(new Jit(std::move(state)));
}

static Expected<bool> add(Jit::State &state,
                          std::unique_ptr<llvm::MemoryBuffer> object) {
  constexpr const char *what = "cannot add object code";
  auto failed = [&](llvm::Error error) {
    return state.complaints.with(std::move(error), what);
  };
  if (!object->getBuffer().starts_with(llvm::object::ArchiveMagic)) {
    if (llvm::Error error = state.jit->addObjectFile(std::move(object)))
      return failed(std::move(error));
    return true;
  }
  auto archive = llvm::object::Archive::create(object->getMemBufferRef());
  if (!archive)
    return failed(archive.takeError());
  llvm::Error error = llvm::Error::success();
  for (const auto &child : (*archive)->children(error)) {
    auto member = child.getMemoryBufferRef();
    if (!member)
      return failed(member.takeError());
    // Readers of objects want them aligned, which members are not.
    if (llvm::Error e =
            state.jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(
                member->getBuffer(), member->getBufferIdentifier())))
      return failed(std::move(e));
  }
  if (error)
    return failed(std::move(error));
  return true;
}

Expected<bool> Jit::addObject(std::unique_ptr<llvm::MemoryBuffer> object) {
  return guardedBy<bool>(
      state, [&](State &state) { return add(state, std::move(object)); });
}

Expected<bool> Jit::defineSymbol(std::string_view name, void *address) {
  return guardedBy<bool>(state, [&](State &state) -> Expected<bool> {
    SymbolMap symbols;
    symbols[state.jit->mangleAndIntern(llvm::StringRef(name))] = {
        ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
    if (llvm::Error error = state.jit->getMainJITDylib().define(
            absoluteSymbols(std::move(symbols))))
      return state.complaints.with(std::move(error), "cannot define symbol");
    return true;
  });
}

Expected<void *> Jit::lookup(std::string_view name) {
  return guardedBy<void *>(state, [&](State &state) -> Expected<void *> {
    // Hidden symbols, too: those that objects of one file share.
    auto symbol = state.jit->getExecutionSession().lookup(
        {{&state.jit->getMainJITDylib(), JITDylibLookupFlags::MatchAllSymbols}},
        state.jit->mangleAndIntern(llvm::StringRef(name)));
    if (!symbol)
      return state.complaints.with(symbol.takeError(), "symbol not found");
    return symbol->getAddress().toPtr<void *>();
  });
}

} // namespace tenon::codegen
