//===- Jit.cpp - object code in this process ------------------------------===//
//
// RuntimeDyld and not JITLink: it takes the plain JITEventListeners for perf
// and gdb, and links our small objects faster.
//
//===----------------------------------------------------------------------===//
#include "codegen/jit/Jit.h"

#include "llvm/ExecutionEngine/JITEventListener.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/RTDyldObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/SectionMemoryManager.h"
#include "llvm/Object/Archive.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm::orc;

namespace tenon::codegen {
namespace {

Error toError(llvm::Error error, std::string_view what) {
  Error result;
  result.code = ErrorCode::Internal;
  result.message = std::string(what) + ": " + llvm::toString(std::move(error));
  return result;
}

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

struct Jit::State {
  std::unique_ptr<LLJIT> jit;
};

Jit::Jit(std::unique_ptr<State> state) : state(std::move(state)) {}
Jit::~Jit() = default;

Expected<std::unique_ptr<Jit>> Jit::create(const JitOptions &options) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
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
    return toError(jit.takeError(), "cannot start the JIT");
  auto state = std::make_unique<State>();
  state->jit = std::move(*jit);
  return std::unique_ptr<Jit>(new Jit(std::move(state)));
}

Expected<bool> Jit::addObject(std::unique_ptr<llvm::MemoryBuffer> object) {
  constexpr const char *what = "cannot add object code";
  if (!object->getBuffer().starts_with(llvm::object::ArchiveMagic)) {
    if (llvm::Error error = state->jit->addObjectFile(std::move(object)))
      return toError(std::move(error), what);
    return true;
  }
  auto archive = llvm::object::Archive::create(object->getMemBufferRef());
  if (!archive)
    return toError(archive.takeError(), what);
  llvm::Error error = llvm::Error::success();
  for (const auto &child : (*archive)->children(error)) {
    auto member = child.getMemoryBufferRef();
    if (!member)
      return toError(member.takeError(), what);
    // Readers of objects want them aligned, which members are not.
    if (llvm::Error e =
            state->jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(
                member->getBuffer(), member->getBufferIdentifier())))
      return toError(std::move(e), what);
  }
  if (error)
    return toError(std::move(error), what);
  return true;
}

Expected<bool> Jit::defineSymbol(std::string_view name, void *address) {
  SymbolMap symbols;
  symbols[state->jit->mangleAndIntern(llvm::StringRef(name))] = {
      ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
  if (llvm::Error error = state->jit->getMainJITDylib().define(
          absoluteSymbols(std::move(symbols))))
    return toError(std::move(error), "cannot define symbol");
  return true;
}

Expected<void *> Jit::lookup(std::string_view name) {
  auto address = state->jit->lookup(llvm::StringRef(name));
  if (!address)
    return toError(address.takeError(), "symbol not found");
  return address->toPtr<void *>();
}

} // namespace tenon::codegen
