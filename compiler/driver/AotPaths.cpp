//===- AotPaths.cpp - where compiled files go -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/AotPaths.h"

#include "dialects/support/Fail.h"
#include "dialects/support/WriteFile.h"

#include <cctype>
#include <filesystem>
#include <vector>

namespace tenon {

namespace {

Expected<bool> chooseForm(const AotPaths &paths, AotRequest &request) {
  using Job = codegen::LinkJob;
  std::filesystem::path path(paths.output);
  std::string extension = path.extension().string();
  if (extension == ".o")
    request.link.output = Job::object;
  else if (extension == ".so")
    request.link.output = Job::library;
  else if (extension == ".a")
    request.link.output = Job::archive;
  else
    return fail(ErrorCode::BadOption,
                "the output \"" + paths.output +
                    "\" does not say what it is to be",
                "let it end in .o, .so or .a");
  if (!request.link.files.empty() && request.link.output != Job::library)
    return fail(ErrorCode::BadOption, "files to link go with a library (.so)",
                "programs link objects and archives with the runtime");
  request.link.soname = path.filename().string();
  return true;
}

Expected<bool> checkFolders(const AotPaths &paths) {
  for (const std::string &file : {paths.output, paths.header, paths.weights}) {
    std::filesystem::path folder = std::filesystem::path(file).parent_path();
    std::error_code why;
    if (folder.empty() || std::filesystem::is_directory(folder, why))
      continue;
    return fail(ErrorCode::CannotWrite,
                file + ": " + (why ? why.message() : "Not a directory"));
  }
  return true;
}

Expected<std::string> prefixOf(const AotPaths &paths) {
  std::string name = paths.name;
  if (name.empty()) {
    name = std::filesystem::path(paths.output).stem().string();
    if (name.rfind("lib", 0) == 0 && name.size() > 3)
      name = name.substr(3);
    for (char &c : name)
      if (!std::isalnum(static_cast<unsigned char>(c)))
        c = '_';
    if (std::isdigit(static_cast<unsigned char>(name[0])))
      name = "model_" + name;
  }
  bool good = !std::isdigit(static_cast<unsigned char>(name[0]));
  for (char c : name)
    good &= std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  // Those of the runtime.
  if (!good || name.rfind("tenon_", 0) == 0 || name == "tenon")
    return fail(ErrorCode::BadOption,
                "the name \"" + name + "\" cannot begin names of functions",
                "use letters, digits and _, and do not begin with tenon_");
  return name;
}

} // namespace

Expected<bool> planFiles(const AotPaths &paths, AotRequest &request) {
  if (auto ok = chooseForm(paths, request); !ok)
    return ok;
  if (auto ok = checkFolders(paths); !ok)
    return ok;
  auto prefix = prefixOf(paths);
  if (!prefix)
    return prefix.errors();
  request.prefix = *prefix;
  request.embedWeights = paths.weights.empty();
  return true;
}

Expected<bool> writeAotFiles(const AotPaths &paths, const AotFiles &files) {
  std::vector<FileContent> all = {{paths.output, files.code}};
  if (!paths.header.empty())
    all.push_back({paths.header, files.header});
  if (!paths.weights.empty())
    all.push_back({paths.weights, files.weights});
  return writeFiles(all);
}

} // namespace tenon
