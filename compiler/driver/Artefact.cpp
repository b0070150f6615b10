//===- Artefact.cpp - a compiled graph as bytes ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A header, a table of parts, the parts. All numbers are little-endian. The
// header holds the hash of the table, the table those of the parts, so that no
// byte of a file can change unnoticed.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/Artefact.h"

#include "codegen/jit/ModelInfo.h"
#include "compiler/driver/Generate.h"
#include "compiler/driver/Version.h"
#include "compiler/import/json/Json.h"
#include "dialects/support/Fail.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <chrono>
#include <cstring>
#include <sstream>

namespace tenon {

namespace {

constexpr char kMagic[8] = {'T', 'E', 'N', 'O', 'N', 'A', 'R', 'T'};
constexpr uint32_t kFormatVersion = 1;
constexpr int kParts = 3;

struct Part {
  uint64_t offset, size;
  tenon_constant_key hash;
};

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t parts;
  tenon_constant_key compiler;  // hash of its version
  tenon_constant_key tableHash; // of what follows
  Part table[kParts];           // about, graph, object
};
static_assert(sizeof(Part) == 32 && sizeof(Header) == 48 + 32 * kParts,
              "a file has no padding");

bool equal(tenon_constant_key a, tenon_constant_key b) {
  return a.low == b.low && a.high == b.high;
}

tenon_constant_key compilerKey() {
  std::string_view version = compilerVersion();
  return codegen::hashOf(version.data(), version.size());
}

/// Lines; none of what they hold has a line break.
std::string aboutText(const Artefact &artefact) {
  const codegen::TargetSpec &target = artefact.target;
  std::string text = target.triple + "\n" + target.cpu + "\n" +
                     target.features + "\n" + artefact.notes + "\n";
  for (auto [input, output] : artefact.inPlace)
    text += std::to_string(input) + " " + std::to_string(output) + "\n";
  return text;
}

void parseAbout(const std::string &text, Artefact &artefact) {
  std::istringstream is(text);
  std::getline(is, artefact.target.triple);
  std::getline(is, artefact.target.cpu);
  std::getline(is, artefact.target.features);
  std::getline(is, artefact.notes);
  for (uint64_t input, output; is >> input >> output;)
    artefact.inPlace.push_back({input, output});
}

/// A feature that the code may use and this machine lacks; empty: none.
std::string missingFeature(const codegen::TargetSpec &target) {
  const std::string hostFeatures = codegen::TargetSpec::host().features;
  llvm::SmallVector<llvm::StringRef> wanted, present;
  llvm::StringRef(target.features).split(wanted, ',', -1, false);
  llvm::StringRef(hostFeatures).split(present, ',', -1, false);
  for (llvm::StringRef feature : wanted)
    if (feature.starts_with("+") && !llvm::is_contained(present, feature))
      return feature.drop_front().str();
  return {};
}

Error damaged(const std::string &what) {
  return fail(ErrorCode::DamagedArtefact,
              what + " of the compiled file is not as it was written",
              "compile it again");
}

} // namespace

Expected<Artefact> compileArtefact(const graph::PreparedGraph &graph,
                                   const Options &options, const Target &target,
                                   CompileReport *report) {
  auto start = std::chrono::steady_clock::now();
  CompileReport unused;
  CompileReport &r = report ? *report : unused;
  r = {};
  auto finish = [&](llvm::Module &module, codegen::CodeInfo &code) {
    codegen::emitModelWithCode(module, describeModel(*graph), code);
  };
  auto code = generateCode(graph, options, target, finish, r,
                           /*inParts=*/true);
  if (!code)
    return code.errors();
  r.totalSeconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  Artefact artefact;
  artefact.graph = *graph;
  artefact.target = target.spec;
  artefact.object = code->object->getBuffer().str();
  artefact.inPlace = std::move(code->inPlace);
  artefact.perf = options.perf;
  return artefact;
}

std::string serialise(const Artefact &artefact) {
  std::string parts[kParts] = {
      aboutText(artefact), json::writeJson(artefact.graph), artefact.object};
  Header header = {};
  memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kFormatVersion;
  header.parts = kParts;
  header.compiler = compilerKey();
  uint64_t offset = sizeof(Header);
  for (int i = 0; i < kParts; ++i) {
    header.table[i] = {offset, parts[i].size(),
                       codegen::hashOf(parts[i].data(), parts[i].size())};
    offset += parts[i].size();
  }
  header.tableHash = codegen::hashOf(header.table, sizeof header.table);
  std::string bytes(reinterpret_cast<const char *>(&header), sizeof header);
  for (const std::string &part : parts)
    bytes += part;
  return bytes;
}

Expected<Artefact> deserialise(std::string_view bytes) {
  Header header;
  if (bytes.size() < sizeof header ||
      memcmp(bytes.data(), kMagic, sizeof kMagic) != 0)
    return fail(ErrorCode::NotAnArtefact,
                "this is no compiled partition of Tenon");
  memcpy(&header, bytes.data(), sizeof header);
  if (header.version != kFormatVersion || header.parts != kParts ||
      !equal(header.compiler, compilerKey()))
    return fail(ErrorCode::ForeignArtefact,
                "compiled by another version of Tenon", "compile it again");
  if (!equal(header.tableHash,
             codegen::hashOf(header.table, sizeof header.table)))
    return damaged("the table");
  std::string_view parts[kParts];
  static const char *const names[kParts] = {"the head", "the graph",
                                            "the code"};
  uint64_t end = sizeof header;
  for (int i = 0; i < kParts; ++i) {
    const Part &part = header.table[i];
    if (part.offset != end || part.size > bytes.size() - end)
      return damaged(names[i]);
    parts[i] = bytes.substr(part.offset, part.size);
    if (!equal(part.hash, codegen::hashOf(parts[i].data(), parts[i].size())))
      return damaged(names[i]);
    end += part.size;
  }
  if (end != bytes.size())
    return damaged("the end");
  Artefact artefact;
  parseAbout(std::string(parts[0]), artefact);
  if (std::string missing = missingFeature(artefact.target);
      !missing.empty() ||
      artefact.target.triple != codegen::TargetSpec::host().triple)
    return fail(ErrorCode::UnsupportedTarget,
                missing.empty() ? "code for " + artefact.target.triple +
                                      " does not execute here"
                                : "this machine lacks " + missing +
                                      ", which the compiled code may use",
                "compile it on this machine");
  auto graph = json::readJson(parts[1], "compiled file");
  if (!graph)
    return graph.errors();
  artefact.graph = std::move(*graph);
  artefact.object = std::string(parts[2]);
  return artefact;
}

} // namespace tenon
