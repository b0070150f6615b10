//===- TensorFiles.cpp - files that inputs and constants are in -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// See openFiles in Tensors.h.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/MappedFile.h"
#include "compiler/import/onnx/Elements.h"
#include "tools/tenon/Npy.h"
#include "tools/tenon/Npz.h"
#include "tools/tenon/Tensors.h"

#include <algorithm>
#include <map>

namespace tenon::cli {

namespace {

/// Opens files, each once.
class FileOpener {
public:
  void open(TensorSpec spec) {
    if (spec.source != TensorSpec::Source::file)
      return specs.push_back(std::move(spec));
    if (spec.path.ends_with(".pb"))
      return openPb(std::move(spec));
    const std::vector<Member> *members = membersOf(spec);
    if (!members)
      return;
    if (!spec.isArchive())
      return add(std::move(spec), members->front());
    if (!spec.name.empty())
      return openMember(std::move(spec), *members);
    for (const Member &member : *members) {
      TensorSpec one = spec;
      one.name = member.name;
      add(std::move(one), member);
    }
  }
  std::vector<TensorSpec> specs;
  std::vector<Error> errors;

private:
  struct Member {
    std::string name;
    std::shared_ptr<const std::string> bytes;
  };

  /// Null after an error.
  const std::vector<Member> *membersOf(const TensorSpec &spec) {
    auto [found, isNew] = opened.try_emplace(spec.path);
    if (!isNew)
      return found->second.empty() ? nullptr : &found->second;
    auto read = spec.isArchive() ? readNpz(spec.path) : readWhole(spec.path);
    if (!read) {
      append(read.errors());
      return nullptr;
    }
    for (NpzMember &member : *read)
      found->second.push_back(
          {std::move(member.name),
           std::make_shared<std::string>(std::move(member.bytes))});
    if (read->empty())
      fail(ErrorCode::BadTensorData, spec.path + ": holds no array");
    return read->empty() ? nullptr : &found->second;
  }

  static Expected<std::vector<NpzMember>> readWhole(const std::string &path) {
    auto bytes = readNpyBytes(path);
    if (!bytes)
      return bytes.errors();
    return std::vector<NpzMember>{{"", std::move(*bytes)}};
  }

  void openMember(TensorSpec spec, const std::vector<Member> &members) {
    auto found = std::ranges::find(members, spec.name, &Member::name);
    if (found == members.end() && members.size() == 1)
      found = members.begin();
    if (found != members.end())
      return add(std::move(spec), *found);
    std::string names;
    for (const Member &member : members)
      if (names.size() < 400)
        names += (names.empty() ? "" : ", ") + member.name;
    fail(ErrorCode::UnknownTensor,
         spec.path + ": has no array \"" + spec.name + "\"", "it has " + names);
  }

  void add(TensorSpec spec, const Member &member) {
    auto array = parseNpyArray(*member.bytes, spec.path);
    if (!array)
      return append(array.errors());
    spec.fileShape = array->shape;
    spec.array = member.bytes;
    specs.push_back(std::move(spec));
  }

  void openPb(TensorSpec spec) {
    auto file = MappedFile::open(spec.path);
    if (!file)
      return append(file.errors());
    // What is wrong with a tensor is told when it is read.
    if (auto proto = onnx::parseTensor((*file)->bytes()))
      spec.fileShape = proto->dims;
    specs.push_back(std::move(spec));
  }

  void append(const std::vector<Error> &more) {
    errors.insert(errors.end(), more.begin(), more.end());
  }
  void fail(ErrorCode code, std::string message, std::string hint = {}) {
    Error error;
    error.code = code;
    error.message = std::move(message);
    error.hint = std::move(hint);
    errors.push_back(std::move(error));
  }

  std::map<std::string, std::vector<Member>> opened; // by path
};

} // namespace

Expected<std::vector<TensorSpec>> openFiles(std::vector<TensorSpec> specs) {
  FileOpener opener;
  for (TensorSpec &spec : specs)
    opener.open(std::move(spec));
  if (!opener.errors.empty())
    return opener.errors;
  return std::move(opener.specs);
}

} // namespace tenon::cli
