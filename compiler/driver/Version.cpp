//===- Version.cpp - which compiler this is -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Version.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"

#include <cstring>
#include <elf.h>
#include <link.h>

namespace tenon {

namespace {

/// The build id in one segment of notes; empty if there is none.
std::string buildIdIn(const char *notes, size_t size) {
  size_t at = 0;
  while (at + sizeof(ElfW(Nhdr)) <= size) {
    ElfW(Nhdr) note;
    memcpy(&note, notes + at, sizeof note);
    size_t name = at + sizeof note;
    size_t content = name + llvm::alignTo(note.n_namesz, 4);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        memcmp(notes + name, "GNU", 4) == 0)
      return llvm::toHex(
          llvm::ArrayRef(reinterpret_cast<const uint8_t *>(notes + content),
                         note.n_descsz),
          /*LowerCase=*/true);
    at = content + llvm::alignTo(note.n_descsz, 4);
  }
  return {};
}

/// Of the file that holds this function: a program or libtenon.so.
int findBuildId(dl_phdr_info *info, size_t, void *result) {
  auto self = reinterpret_cast<uintptr_t>(&findBuildId);
  bool ours = false;
  std::string id;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = info->dlpi_phdr[i];
    uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD)
      ours |= self >= begin && self < begin + segment.p_memsz;
    if (segment.p_type == PT_NOTE && id.empty())
      id = buildIdIn(reinterpret_cast<const char *>(begin), segment.p_memsz);
  }
  if (ours)
    *static_cast<std::string *>(result) = id;
  return ours;
}

} // namespace

const std::string &compilerVersion() {
  static const std::string version = [] {
    std::string build;
    dl_iterate_phdr(findBuildId, &build);
    return std::to_string(kVersionMajor) + "." + std::to_string(kVersionMinor) +
           "." + std::to_string(kVersionPatch) +
           " (LLVM " LLVM_VERSION_STRING ", build " +
           (build.empty() ? "unknown" : build) + ")";
  }();
  return version;
}

} // namespace tenon
