//===- Link.cpp - objects to one file -------------------------------------===//
#include "codegen/aot/Link.h"

#include "dialects/support/Fail.h"

#include "llvm/Object/Archive.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

#include <optional>

namespace tenon::codegen {

namespace {

/// A folder that goes away with all that is in it.
class TemporaryFolder {
public:
  TemporaryFolder() {
    valid = !llvm::sys::fs::createUniqueDirectory("tenon-link", folder);
  }
  ~TemporaryFolder() {
    if (valid)
      llvm::sys::fs::remove_directories(folder);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  bool isValid() const { return valid; }
  std::string file(const std::string &name) const {
    return (folder + "/" + name).str();
  }
  bool write(const std::string &name, std::string_view bytes) const {
    std::error_code error;
    llvm::raw_fd_ostream os(file(name), error);
    if (error)
      return false;
    os << llvm::StringRef(bytes.data(), bytes.size());
    os.close();
    bool ok = !os.has_error();
    os.clear_error();
    return ok;
  }

private:
  llvm::SmallString<128> folder;
  bool valid = false;
};

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

} // namespace

Expected<std::string> linkObjects(const LinkJob &job) {
  if (job.output == LinkJob::archive)
    return makeArchive(job);
  if (job.output == LinkJob::object && job.objects.size() == 1)
    return std::string(job.objects.front());
  auto linker = findLinker(job);
  if (!linker)
    return linker;
  TemporaryFolder folder;
  if (!folder.isValid())
    return fail(ErrorCode::CannotWrite, "no temporary folder");
  std::string out = folder.file("out"), log = folder.file("log");
  std::vector<std::string> arguments = {
      *linker, "-m", emulationOf(llvm::Triple(job.triple)), "-o", out};
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
    std::string name = "part" + std::to_string(i) + ".o";
    if (!folder.write(name, job.objects[i]))
      return fail(ErrorCode::CannotWrite, folder.file(name));
    arguments.push_back(folder.file(name));
  }
  if (job.output == LinkJob::library)
    arguments.push_back("--no-whole-archive");
  arguments.insert(arguments.end(), job.files.begin(), job.files.end());
  std::vector<llvm::StringRef> words(arguments.begin(), arguments.end());
  std::optional<llvm::StringRef> redirects[] = {
      llvm::StringRef(), llvm::StringRef(log), llvm::StringRef(log)};
  std::string message;
  int code = llvm::sys::ExecuteAndWait(*linker, words, std::nullopt, redirects,
                                       0, 0, &message);
  if (code == 0)
    return readFile(out);
  if (auto text = readFile(log))
    message += *text;
  return fail(ErrorCode::BadOption, *linker + " failed: " + message);
}

} // namespace tenon::codegen
