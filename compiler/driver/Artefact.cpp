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
#include "compiler/driver/Versions.h"
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
constexpr uint32_t kFormatVersion = 2;
/// About, graph, object; objects of versions follow.
constexpr size_t kFixedParts = 3;
constexpr size_t kMostParts = kFixedParts + kMostVersions;

struct Part {
  uint64_t offset, size;
  tenon_constant_key hash;
};

/// The table of parts follows.
struct Header {
  char magic[8];
  uint32_t version;
  uint32_t parts;
  tenon_constant_key compiler; // hash of its version
  tenon_constant_key tableHash;
};
static_assert(sizeof(Part) == 32 && sizeof(Header) == 48,
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

VersionInfo summaryOf(const std::string &name, const CompileReport &report) {
  VersionInfo info{name, 0, report.groups, report.codeBytes};
  for (const PhaseTime &phase : report.phases)
    info.seconds += phase.seconds;
  return info;
}

} // namespace

Expected<Artefact> compileArtefact(const graph::PreparedGraph &graph,
                                   const Options &options, const Target &target,
                                   CompileReport *report) {
  auto start = std::chrono::steady_clock::now();
  CompileReport unused;
  CompileReport &r = report ? *report : unused;
  r = {};
  Versions versions = versionsOf(graph);
  auto generate = [&](const graph::PreparedGraph &g, const std::string &name,
                      size_t count, CompileReport &report) {
    auto finish = [&](llvm::Module &module, codegen::CodeInfo &code) {
      codegen::ModelInfo info = describeModel(*g);
      info.name = name;
      codegen::emitModelWithCode(module, info, code, count);
    };
    return generateCode(g, options, target, finish, report, /*inParts=*/true);
  };
  auto code = generate(graph, "", versions.list.size(), r);
  if (!code)
    return code.errors();
  llvm::append_range(r.remarks, versions.remarks);
  Artefact artefact;
  artefact.graph = *graph;
  artefact.target = target.spec;
  artefact.object = code->object->getBuffer().str();
  artefact.inPlace = std::move(code->inPlace);
  artefact.perf = options.perf;
  for (const Version &version : versions.list) {
    CompileReport about;
    auto special = generate(version.graph, version.name, 0, about);
    if (!special)
      return special.errors();
    artefact.versions.push_back(special->object->getBuffer().str());
    std::erase_if(artefact.inPlace, [&](const auto &pair) {
      return !llvm::is_contained(special->inPlace, pair);
    });
    r.versions.push_back(summaryOf(version.name, about));
  }
  r.totalSeconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return artefact;
}

std::string serialise(const Artefact &artefact) {
  std::vector<std::string> parts = {
      aboutText(artefact), json::writeJson(artefact.graph), artefact.object};
  llvm::append_range(parts, artefact.versions);
  Header header = {};
  memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kFormatVersion;
  header.parts = static_cast<uint32_t>(parts.size());
  header.compiler = compilerKey();
  std::vector<Part> table;
  uint64_t offset = sizeof(Header) + parts.size() * sizeof(Part);
  for (const std::string &part : parts) {
    table.push_back(
        {offset, part.size(), codegen::hashOf(part.data(), part.size())});
    offset += part.size();
  }
  header.tableHash = codegen::hashOf(table.data(), table.size() * sizeof(Part));
  std::string bytes(reinterpret_cast<const char *>(&header), sizeof header);
  bytes.append(reinterpret_cast<const char *>(table.data()),
               table.size() * sizeof(Part));
  for (const std::string &part : parts)
    bytes += part;
  return bytes;
}

/// The parts of a file, each as it was written.
static Expected<std::vector<std::string_view>> partsOf(std::string_view bytes) {
  Header header;
  if (bytes.size() < sizeof header ||
      memcmp(bytes.data(), kMagic, sizeof kMagic) != 0)
    return fail(ErrorCode::NotAnArtefact,
                "this is no compiled partition of Tenon");
  memcpy(&header, bytes.data(), sizeof header);
  if (header.version != kFormatVersion ||
      !equal(header.compiler, compilerKey()))
    return fail(ErrorCode::ForeignArtefact,
                "compiled by another version of Tenon", "compile it again");
  uint64_t end = sizeof header + header.parts * sizeof(Part);
  if (header.parts < kFixedParts || header.parts > kMostParts ||
      end > bytes.size())
    return damaged("the table");
  std::vector<Part> table(header.parts);
  memcpy(table.data(), bytes.data() + sizeof header,
         table.size() * sizeof(Part));
  if (!equal(header.tableHash,
             codegen::hashOf(table.data(), table.size() * sizeof(Part))))
    return damaged("the table");
  std::vector<std::string_view> parts;
  static const char *const names[kFixedParts] = {"the head", "the graph",
                                                 "the code"};
  for (const Part &part : table) {
    const char *name = names[std::min(parts.size(), kFixedParts - 1)];
    if (part.offset != end || part.size > bytes.size() - end)
      return damaged(name);
    parts.push_back(bytes.substr(part.offset, part.size));
    if (!equal(part.hash,
               codegen::hashOf(parts.back().data(), parts.back().size())))
      return damaged(name);
    end += part.size;
  }
  if (end != bytes.size())
    return damaged("the end");
  return parts;
}

Expected<Artefact> deserialise(std::string_view bytes) {
  auto found = partsOf(bytes);
  if (!found)
    return found.errors();
  const std::vector<std::string_view> &parts = *found;
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
  artefact.versions.assign(parts.begin() + kFixedParts, parts.end());
  return artefact;
}

} // namespace tenon
