//===- AotLoad.cpp - loading files compiled ahead of time -----------------===//
#include "compiler/driver/Aot.h"
#include "compiler/driver/SessionImpl.h"
#include "compiler/import/json/Json.h"
#include "dialects/support/Fail.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

#include <dlfcn.h>

namespace tenon {

namespace {

Expected<std::unique_ptr<llvm::MemoryBuffer>>
readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail(ErrorCode::CannotRead,
                path + ": " + buffer.getError().message());
  return std::move(*buffer);
}

bool isLibrary(llvm::StringRef file) {
  constexpr size_t kTypeOffset = 16; // e_type
  return file.starts_with("\177ELF") && file.size() > kTypeOffset &&
         file[kTypeOffset] == 3; // ET_DYN
}

/// Opens the library at `path`.
Expected<void *> openLibrary(const std::string &path) {
  if (void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
    return handle;
  const char *message = dlerror();
  return fail(ErrorCode::CannotRead, message ? message : path);
}

/// Links an object or an archive to a library that has no name any more.
Expected<void *> linkAndOpen(const AotFile &file, llvm::StringRef bytes) {
  codegen::LinkJob job;
  job.triple = file.seal.triple;
  job.objects = {std::string_view(bytes.data(), bytes.size())};
  auto linked = codegen::linkObjects(job);
  if (!linked)
    return linked.errors();
  llvm::SmallString<128> path;
  int descriptor;
  if (llvm::sys::fs::createTemporaryFile("tenon", "so", descriptor, path))
    return fail(ErrorCode::CannotWrite, "no temporary file");
  llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
  os << *linked;
  os.close();
  bool failed = os.has_error();
  os.clear_error();
  Expected<void *> opened = failed
                                ? fail(ErrorCode::CannotWrite, path.str().str())
                                : openLibrary(path.str().str());
  llvm::sys::fs::remove(path);
  return opened;
}

Expected<void *> openAny(const AotFile &file) {
  auto bytes = readFile(file.path);
  if (!bytes)
    return bytes.errors();
  llvm::StringRef text = (*bytes)->getBuffer();
  if (!isLibrary(text))
    return linkAndOpen(file, text);
  // Without a slash dlopen would look elsewhere.
  llvm::SmallString<128> path(file.path);
  if (llvm::sys::fs::make_absolute(path))
    return fail(ErrorCode::CannotRead, file.path);
  return openLibrary(path.str().str());
}

} // namespace

bool isAotFile(const std::string &path) {
  auto bytes = llvm::MemoryBuffer::getFileSlice(path, /*MapSize=*/7,
                                                /*Offset=*/0);
  return bytes && codegen::looksSealed((*bytes)->getBuffer());
}

Expected<AotFile> readAotFile(const std::string &path) {
  auto bytes = readFile(path);
  if (!bytes)
    return bytes.errors();
  auto sealed = codegen::openSealed((*bytes)->getBuffer());
  if (!sealed) {
    std::vector<Error> errors = sealed.errors();
    for (Error &error : errors)
      error.message = path + ": " + error.message;
    return errors;
  }
  auto graph = json::readJson(sealed->graph, path);
  if (!graph)
    return graph.errors();
  return AotFile{path, std::move(sealed->seal), std::move(*graph)};
}

Expected<std::unique_ptr<Compiled>> loadAotFile(const AotFile &file,
                                                const AotLoadOptions &options) {
  llvm::Triple here(codegen::TargetSpec::host().triple);
  if (llvm::Triple(file.seal.triple).getArch() != here.getArch())
    return fail(ErrorCode::UnsupportedTarget,
                "code for " + file.seal.triple + " does not execute here");
  auto library = openAny(file);
  if (!library)
    return library.errors();
  auto impl = std::make_unique<Compiled::Impl>();
  impl->library = *library;
  std::string symbol = file.seal.prefix + "_info";
  auto *info = static_cast<const tenon_model_info *>(
      dlsym(impl->library, symbol.c_str()));
  if (!info)
    return fail(ErrorCode::DamagedArtefact, "there is no symbol " + symbol);
  tenon_model_options modelOptions;
  tenon_model_options_init(&modelOptions);
  if (!options.weightsFile.empty())
    modelOptions.weights_file = options.weightsFile.c_str();
  modelOptions.without_features = options.withoutFeatures.c_str();
  tenon_rt_status status =
      tenon_model_create(info, &modelOptions, &impl->model);
  if (status != TENON_RT_OK)
    return runtimeError(status, "loading " + file.path);
  impl->setGraph(file.graph);
  return Compiled::adopt(std::move(impl));
}

} // namespace tenon
