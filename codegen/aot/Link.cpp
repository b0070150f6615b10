//===- Link.cpp - objects to one file -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/aot/Link.h"

#include "codegen/aot/TemporaryFolder.h"
#include "dialects/support/Fail.h"

#include "llvm/Object/Archive.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/TargetParser/Triple.h"

#include <optional>
#include <unistd.h>

namespace tenon::codegen {

namespace {

Expected<std::string> readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail(ErrorCode::CannotRead,
                path + ": " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

Expected<std::string> findLinker(const LinkJob &job) {
  std::vector<std::string> names = {"ld.lld", "ld.lld-22"};
  if (!job.linker.empty())
    names = {job.linker};
  // Another system linker would not know the machine.
  else if (llvm::Triple(job.triple).getArch() == llvm::Triple::x86_64)
    names.push_back("ld");
  for (const std::string &name : names)
    if (auto found = llvm::sys::findProgramByName(name))
      return *found;
  return fail(ErrorCode::CannotRead,
              "no linker: " + names.front() + " is not on PATH",
              "install lld, name a linker with --linker, or write an archive, "
              "which needs none");
}

const char *emulationOf(const llvm::Triple &triple) {
  return triple.isAArch64() ? "aarch64linux" : "elf_x86_64";
}

Expected<std::string> makeArchive(const LinkJob &job) {
  std::vector<llvm::NewArchiveMember> members;
  std::vector<std::string> names;
  names.reserve(job.objects.size());
  for (std::string_view object : job.objects) {
    names.push_back("part" + std::to_string(names.size()) + ".o");
    members.emplace_back(llvm::MemoryBufferRef(
        llvm::StringRef(object.data(), object.size()), names.back()));
  }
  auto buffer = llvm::writeArchiveToBuffer(
      members, llvm::SymtabWritingMode::NormalSymtab,
      llvm::object::Archive::K_GNU, /*Deterministic=*/true, /*Thin=*/false);
  if (!buffer)
    return fail(ErrorCode::Internal,
                "the archive: " + llvm::toString(buffer.takeError()));
  return (*buffer)->getBuffer().str();
}

/// The command that links what is in `folder` then to `out`.
Expected<std::vector<std::string>> argumentsFor(const LinkJob &job,
                                                const TemporaryFolder &folder,
                                                const std::string &linker,
                                                const std::string &out) {
  std::vector<std::string> arguments = {
      linker, "-m", emulationOf(llvm::Triple(job.triple)), "-o", out};
  if (job.output == LinkJob::object) {
    arguments.push_back("-r");
  } else {
    for (const char *flag : {"-shared", "--hash-style=gnu", "-z", "relro", "-z",
                             "noexecstack", "--whole-archive"})
      arguments.push_back(flag);
    if (!job.soname.empty())
      arguments.insert(arguments.end(), {"-soname", job.soname});
  }
  for (size_t i = 0; i < job.objects.size(); ++i) {
    auto path = folder.write("part" + std::to_string(i) + ".o", job.objects[i]);
    if (!path)
      return path.errors();
    arguments.push_back(*path);
  }
  if (job.output == LinkJob::library)
    arguments.push_back("--no-whole-archive");
  arguments.insert(arguments.end(), job.files.begin(), job.files.end());
  return arguments;
}

/// What the linker writes to `out`.
Expected<std::string> runLinker(const LinkJob &job,
                                const TemporaryFolder &folder,
                                const std::vector<std::string> &arguments,
                                const std::string &out) {
  std::string log = folder.file("log"), message;
  std::vector<llvm::StringRef> words(arguments.begin(), arguments.end());
  std::optional<llvm::StringRef> redirects[] = {
      llvm::StringRef(), llvm::StringRef(log), llvm::StringRef(log)};
  // What lld does about a crash needs files, too.
  std::vector<llvm::StringRef> environment = {"LLVM_DISABLE_SYMBOLIZATION=1"};
  for (char **variable = environ; *variable; ++variable)
    environment.push_back(*variable);
  int code = llvm::sys::ExecuteAndWait(
      arguments.front(), words, llvm::ArrayRef<llvm::StringRef>(environment),
      redirects, 0, 0, &message);
  if (code == 0)
    return readFile(out);
  if (auto text = readFile(log))
    message += *text;
  uint64_t bytes = 0;
  for (std::string_view object : job.objects)
    bytes += object.size();
  const char *hint = "TMPDIR names another folder for temporary files";
  if (folder.isFull(bytes))
    return fail(ErrorCode::CannotWrite,
                out + ": No space left on device" +
                    (message.empty() ? "" : ": " + message),
                hint);
  // lld maps its output: when the disk is full, it ends with a signal.
  constexpr int kCrashed = -2;
  if (code == kCrashed || message.empty())
    return fail(ErrorCode::CannotWrite,
                out + ": " + arguments.front() + " could not write it" +
                    (message.empty() ? "" : ": " + message),
                hint);
  return fail(ErrorCode::BadOption, arguments.front() + " failed: " + message);
}

} // namespace

Expected<std::string> linkObjects(const LinkJob &job) {
  if (job.output == LinkJob::archive)
    return makeArchive(job);
  if (job.output == LinkJob::object && job.objects.size() == 1)
    return std::string(job.objects.front());
  auto linker = findLinker(job);
  if (!linker)
    return linker;
  auto folder = TemporaryFolder::create();
  if (!folder)
    return folder.errors();
  std::string out = (*folder)->file("out");
  auto arguments = argumentsFor(job, **folder, *linker, out);
  if (!arguments)
    return arguments.errors();
  return runLinker(job, **folder, *arguments, out);
}

} // namespace tenon::codegen
