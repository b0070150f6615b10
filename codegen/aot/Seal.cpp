//===- Seal.cpp - what a compiled file says about itself ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/aot/Seal.h"

#include "codegen/jit/ModelInfo.h"
#include "dialects/support/Fail.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ObjectFile.h"

#include <cstring>
#include <optional>
#include <sstream>

namespace tenon::codegen {

namespace {

constexpr char kSealSection[] = ".tenon.seal";
constexpr char kGraphSection[] = ".tenon.graph";
constexpr char kMagic[8] = {'T', 'E', 'N', 'O', 'N', 'A', 'O', 'T'};

/// Begins the section; lines of text follow. Little-endian.
struct SealHeader {
  char magic[8];
  uint32_t version;
  uint32_t textBytes;
  tenon_constant_key hash; // of the file with zeros in this place
};
static_assert(sizeof(SealHeader) == 32, "a file has no padding");

void addSection(llvm::Module &module, llvm::StringRef bytes,
                const char *section) {
  llvm::Constant *value = llvm::ConstantDataArray::getString(
      module.getContext(), bytes, /*AddNull=*/false);
  auto *global = new llvm::GlobalVariable(
      module, value->getType(), /*isConstant=*/true,
      llvm::GlobalValue::InternalLinkage, value, "tenon_section");
  global->setSection(section);
  global->setAlignment(llvm::Align(8));
}

/// The two sections of one object.
struct Sections {
  std::optional<llvm::StringRef> seal, graph;
};

Sections sectionsOf(const llvm::object::Binary &binary) {
  Sections found;
  const auto *object = llvm::dyn_cast<llvm::object::ObjectFile>(&binary);
  if (!object)
    return found;
  for (const llvm::object::SectionRef &section : object->sections()) {
    auto name = section.getName();
    auto contents = section.getContents();
    if (name && contents) {
      if (*name == kSealSection)
        found.seal = *contents;
      else if (*name == kGraphSection)
        found.graph = *contents;
    }
    llvm::consumeError(name.takeError());
    llvm::consumeError(contents.takeError());
  }
  return found;
}

/// Of the first object that has a seal.  What cannot be read has none.
Sections findSections(std::string_view file) {
  llvm::MemoryBufferRef buffer(llvm::StringRef(file.data(), file.size()),
                               "artefact");
  auto binary = llvm::object::createBinary(buffer);
  if (!binary) {
    llvm::consumeError(binary.takeError());
    return {};
  }
  const auto *archive = llvm::dyn_cast<llvm::object::Archive>(binary->get());
  if (!archive)
    return sectionsOf(**binary);
  Sections found;
  llvm::Error error = llvm::Error::success();
  for (const llvm::object::Archive::Child &child : archive->children(error)) {
    auto member = child.getAsBinary();
    if (member && !found.seal)
      found = sectionsOf(**member);
    llvm::consumeError(member.takeError());
  }
  llvm::consumeError(std::move(error));
  return found;
}

tenon_constant_key hashWithout(std::string_view file, size_t at) {
  std::string copy(file);
  memset(copy.data() + at, 0, sizeof(tenon_constant_key));
  return hashOf(copy.data(), copy.size());
}

/// Where in a file the hash of its seal lies.
size_t hashPlace(std::string_view file, llvm::StringRef seal) {
  return static_cast<size_t>(seal.data() - file.data()) +
         offsetof(SealHeader, hash);
}

} // namespace

void emitSeal(llvm::Module &module, const Seal &seal,
              const std::string &graph) {
  std::string text = seal.compiler + "\n" + seal.triple + "\n" + seal.prefix;
  for (const std::string &target : seal.targets)
    text += "\n" + target;
  SealHeader header = {};
  memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kSealVersion;
  header.textBytes = static_cast<uint32_t>(text.size());
  std::string bytes(reinterpret_cast<const char *>(&header), sizeof header);
  addSection(module, bytes + text, kSealSection);
  addSection(module, graph, kGraphSection);
}

Expected<bool> applySeal(std::string &file) {
  Sections sections = findSections(file);
  if (!sections.seal || sections.seal->size() < sizeof(SealHeader))
    return fail(ErrorCode::Internal, "the linker has lost the seal");
  size_t place = hashPlace(file, *sections.seal);
  tenon_constant_key hash = hashWithout(file, place);
  memcpy(file.data() + place, &hash, sizeof hash);
  return true;
}

bool looksSealed(std::string_view file) {
  return file.substr(0, 4) == "\177ELF" || file.substr(0, 7) == "!<arch>";
}

Expected<SealedFile> openSealed(std::string_view file) {
  Sections sections = findSections(file);
  SealHeader header;
  if (!sections.seal || sections.seal->size() < sizeof header)
    return fail(ErrorCode::NotAnArtefact,
                "this was not written by tenon compile, or the part that says "
                "so is damaged");
  memcpy(&header, sections.seal->data(), sizeof header);
  if (memcmp(header.magic, kMagic, sizeof kMagic) != 0)
    return fail(ErrorCode::DamagedArtefact,
                "the seal of the compiled file is not as it was written",
                "compile it again");
  tenon_constant_key hash = hashWithout(file, hashPlace(file, *sections.seal));
  if (header.version != kSealVersion)
    return fail(ErrorCode::ForeignArtefact,
                "the compiled file has version " +
                    std::to_string(header.version) + " of the format, not " +
                    std::to_string(kSealVersion),
                "compile it again");
  llvm::StringRef text = sections.seal->drop_front(sizeof header);
  if (hash.low != header.hash.low || hash.high != header.hash.high ||
      text.size() < header.textBytes || !sections.graph)
    return fail(ErrorCode::DamagedArtefact,
                "the compiled file is not as it was written",
                "compile it again; what changes a file, such as strip, "
                "breaks its seal");
  SealedFile found;
  std::istringstream is(text.take_front(header.textBytes).str());
  std::getline(is, found.seal.compiler);
  std::getline(is, found.seal.triple);
  std::getline(is, found.seal.prefix);
  for (std::string target; std::getline(is, target);)
    found.seal.targets.push_back(target);
  found.seal.hash = hash;
  found.graph = sections.graph->str();
  return found;
}

} // namespace tenon::codegen
