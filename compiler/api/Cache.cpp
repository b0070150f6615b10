//===- Cache.cpp - compiled code for equal requests -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/api/Cache.h"

#include "codegen/jit/ModelInfo.h"
#include "compiler/api/Api.h"
#include "compiler/driver/Version.h"
#include "compiler/import/json/Json.h"
#include "dialects/support/WriteFile.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <list>
#include <sstream>
#include <unistd.h>
#include <unordered_map>

namespace tenon::api {

namespace {

using Result = Expected<CodePtr>;

/// All that decides what is compiled, as text; the number of threads does not.
std::string keyOf(const graph::Graph &graph, const Options &options) {
  std::ostringstream os;
  os << compilerVersion() << "\n";
#define TENON_OPTION(type, name, flag, initial, help)                          \
  if (&options.name != static_cast<const void *>(&options.compileThreads))     \
    os << flag << "=" << options.name << "\n";
#include "compiler/driver/Options.def"
  os << codegen::TargetSpec::host().cpu << codegen::TargetSpec::host().features
     << "\n"
     << json::writeJson(graph);
  return os.str();
}

class Cache {
public:
  Result request(const graph::PreparedGraph &graph, const Options &options,
                 const Target &target) {
    std::string key = keyOf(*graph, options);
    std::promise<Result> promise;
    std::shared_future<Result> pending;
    {
      std::lock_guard lock(mutex);
      if (auto it = entries.find(key); it != entries.end()) {
        order.splice(order.begin(), order, it->second.place);
        ++stats.from_memory;
        return it->second.code;
      }
      if (auto it = running.find(key); it != running.end())
        pending = it->second;
      else
        running.emplace(key, promise.get_future().share());
    }
    if (pending.valid()) {
      Result result = pending.get();
      std::lock_guard lock(mutex);
      ++stats.from_memory;
      return result;
    }
    Result result = produceSafely(key, graph, options, target);
    promise.set_value(result);
    std::lock_guard lock(mutex);
    running.erase(key);
    if (result)
      insert(key, *result);
    return result;
  }

  void setCapacity(int64_t entriesKept) {
    std::lock_guard lock(mutex);
    capacity = entriesKept;
    shrink();
  }
  int64_t getCapacity() {
    std::lock_guard lock(mutex);
    return capacity;
  }
  void setFolder(std::string path) {
    std::lock_guard lock(mutex);
    folder = std::move(path);
  }
  tenon_compile_stats getStats() {
    std::lock_guard lock(mutex);
    return stats;
  }

private:
  struct Entry {
    CodePtr code;
    std::list<std::string>::iterator place;
  };

  /// Whoever waits for the result gets one, whatever happens.
  Result produceSafely(const std::string &key,
                       const graph::PreparedGraph &graph,
                       const Options &options, const Target &target) {
    try {
      return produce(key, graph, options, target);
    } catch (const std::bad_alloc &) {
      return fail(ErrorCode::OutOfMemory, "memory is exhausted");
    } catch (const std::exception &e) {
      return fail(ErrorCode::Internal, e.what());
    }
  }

  Result produce(const std::string &key, const graph::PreparedGraph &graph,
                 const Options &options, const Target &target) {
    std::string path;
    {
      std::lock_guard lock(mutex);
      if (!folder.empty())
        path = folder + "/" + fileName(key);
    }
    if (!path.empty())
      if (CodePtr code = readFile(path)) {
        std::lock_guard lock(mutex);
        ++stats.from_disk;
        return code;
      }
    auto artefact = compileArtefact(graph, options, target);
    if (!artefact)
      return artefact.errors();
    // What cannot be written is compiled again next time.
    if (!path.empty())
      (void)writeFile(path, serialise(*artefact));
    std::lock_guard lock(mutex);
    ++stats.compiled;
    return loadCode(std::move(*artefact));
  }

  static std::string fileName(const std::string &key) {
    tenon_constant_key hash = codegen::hashOf(key.data(), key.size());
    char name[48];
    snprintf(name, sizeof name, "%016llx%016llx.tenon",
             static_cast<unsigned long long>(hash.high),
             static_cast<unsigned long long>(hash.low));
    return name;
  }

  /// Null when there is no such file, or none that can be used.
  static CodePtr readFile(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
      return nullptr;
    std::ostringstream bytes;
    bytes << file.rdbuf();
    auto artefact = deserialise(bytes.view());
    if (!artefact)
      return nullptr;
    auto code = loadCode(std::move(*artefact));
    if (!code)
      return nullptr;
    // Whoever bounds the folder sees what is used.
    std::error_code ignored;
    std::filesystem::last_write_time(
        path, std::filesystem::file_time_type::clock::now(), ignored);
    return *code;
  }

  void insert(const std::string &key, const CodePtr &code) {
    if (capacity <= 0 || entries.count(key))
      return;
    order.push_front(key);
    entries[key] = {code, order.begin()};
    shrink();
  }

  void shrink() {
    while (static_cast<int64_t>(entries.size()) >
           std::max<int64_t>(0, capacity)) {
      entries.erase(order.back());
      order.pop_back();
    }
  }

  std::mutex mutex;
  int64_t capacity = 1024;
  std::string folder;
  std::unordered_map<std::string, Entry> entries;
  std::list<std::string> order; // most recently used first
  std::unordered_map<std::string, std::shared_future<Result>> running;
  tenon_compile_stats stats = {};
};

/// Never destroyed: other threads may be compiling when the process ends.
Cache &cache() {
  static auto *c = new Cache;
  return *c;
}

} // namespace

Expected<CodePtr> loadCode(Artefact artefact) {
  auto code = std::make_shared<Code>();
  code->artefact = std::move(artefact);
  auto compiled = Compiled::load(code->artefact);
  if (!compiled)
    return compiled.errors();
  code->compiled = std::move(*compiled);
  return CodePtr(std::move(code));
}

Expected<CodePtr> compileCached(const graph::PreparedGraph &graph,
                                const Options &options) {
  auto target = Target::resolveExecutable(options);
  if (!target)
    return target.errors();
  return cache().request(graph, options, *target);
}

} // namespace tenon::api

using namespace tenon;
using namespace tenon::api;

tenon_status tenon_set_compiled_cache_capacity(int64_t partitions) {
  return guarded([&]() -> std::vector<Error> {
    if (partitions < 0)
      return errorList(ErrorCode::BadOption, "the capacity is negative: " +
                                                 std::to_string(partitions));
    cache().setCapacity(partitions);
    return {};
  });
}

int64_t tenon_get_compiled_cache_capacity() { return cache().getCapacity(); }

tenon_status tenon_set_compiled_cache_folder(const char *folder) {
  return guarded([&]() -> std::vector<Error> {
    std::string path = folder ? folder : "";
    std::error_code error;
    if (!path.empty()) {
      std::filesystem::create_directories(path, error);
      if (error || access(path.c_str(), W_OK) != 0)
        return errorList(ErrorCode::CannotWrite,
                         "the folder " + path + " cannot be written" +
                             (error ? ": " + error.message() : ""));
    }
    cache().setFolder(path);
    return {};
  });
}

tenon_compile_stats tenon_get_compile_stats() { return cache().getStats(); }
