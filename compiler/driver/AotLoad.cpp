//===- AotLoad.cpp - loading files compiled ahead of time -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/aot/TemporaryFolder.h"
#include "compiler/driver/Aot.h"
#include "compiler/driver/SessionImpl.h"
#include "compiler/import/json/Json.h"
#include "dialects/support/Fail.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/TargetParser/Triple.h"

#include <dlfcn.h>
#include <optional>

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

/// Lets libraries that are opened later find the functions of the runtime,
/// which are hidden where a program has opened the one we are in with
/// RTLD_LOCAL.
bool showRuntime() {
  Dl_info here;
  if (!dladdr(reinterpret_cast<void *>(&tenon_model_create), &here))
    return false;
  void *self = dlopen(here.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
  if (self)
    dlclose(self); // it stays open for whoever has opened it
  return self != nullptr;
}

/// Opens the library at `path`.
Expected<void *> openLibrary(const std::string &path) {
  std::string message;
  auto open = [&]() {
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (const char *text = handle ? nullptr : dlerror())
      message = text;
    return handle;
  };
  void *handle = open();
  bool lacksRuntime = message.find("tenon_") != std::string::npos;
  if (!handle && lacksRuntime && showRuntime())
    handle = open();
  if (!handle)
    return fail(ErrorCode::CannotRead, message);
  return handle;
}

/// Links an object or an archive to a library that has no name any more.
Expected<void *> linkAndOpen(const AotFile &file, llvm::StringRef bytes) {
  codegen::LinkJob job;
  job.triple = file.seal.triple;
  job.objects = {std::string_view(bytes.data(), bytes.size())};
  auto linked = codegen::linkObjects(job);
  if (!linked)
    return linked.errors();
  auto folder = codegen::TemporaryFolder::create();
  if (!folder)
    return folder.errors();
  auto path = (*folder)->write("model.so", *linked);
  if (!path)
    return path.errors();
  return openLibrary(*path);
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

/// Each word of `list` must be a feature that the runtime can look for.
std::optional<Error> checkFeatureNames(const std::string &list) {
  std::string known;
  llvm::SmallVector<llvm::StringRef> names, words;
#define TENON_CPU_FEATURE(name, builtin)                                       \
  names.push_back(name);                                                       \
  known += (known.empty() ? "" : ", ") + std::string(name);
#include "runtime/CpuFeatures.def"
  llvm::StringRef(list).split(words, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef word : words)
    if (!llvm::is_contained(names, word))
      return fail(ErrorCode::BadOption,
                  "there is no CPU feature '" + word.str() + "' to do without",
                  "features are " + known);
  return std::nullopt;
}

/// What loading has failed for, where the runtime's status does not tell
/// enough.
Error loadError(tenon_rt_status status, const AotFile &file,
                const tenon_model_info &info, const AotLoadOptions &options) {
  const std::string &weights = options.weightsFile;
  if (status == TENON_RT_UNSUPPORTED_CPU)
    return fail(ErrorCode::UnsupportedTarget,
                file.path + ": this machine lacks " +
                    missingFeatures(info, options.withoutFeatures),
                "compile it with --targets for a CPU without them, too");
  if (status == TENON_RT_CANNOT_READ && weights.empty())
    return fail(ErrorCode::CannotRead,
                file.path + ": the values of its constants are in a file of "
                            "weights, which is not given",
                "--weights names the file");
  if (status == TENON_RT_CANNOT_READ || status == TENON_RT_DAMAGED) {
    auto bytes = readFile(weights);
    if (!bytes)
      return bytes.errors().front();
    uint64_t size = (*bytes)->getBufferSize();
    uint64_t wanted = static_cast<uint64_t>(info.weight_bytes);
    return fail(
        ErrorCode::DamagedArtefact,
        weights + ": is not the file of weights that was written with " +
            file.path + ": " +
            (size == wanted ? "its content differs"
                            : "it has " + std::to_string(size) +
                                  " bytes, not " + std::to_string(wanted)),
        "compile the model again, with --weights");
  }
  return runtimeError(status, "loading " + file.path);
}

} // namespace

bool isAotFile(const std::string &path) {
  if (!llvm::sys::fs::is_regular_file(path))
    return false;
  llvm::StringRef extension = llvm::sys::path::extension(path);
  // Whatever it holds, it is to be one.
  if (extension == ".so" || extension == ".o" || extension == ".a")
    return true;
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
  if (auto error = checkFeatureNames(options.withoutFeatures))
    return *error;
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
    return loadError(status, file, *info, options);
  impl->setGraph(file.graph);
  return Compiled::adopt(std::move(impl));
}

} // namespace tenon
