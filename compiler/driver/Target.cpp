// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Target.h"

#include "dialects/support/Fail.h"
#include "passes/support/Mode.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/TargetParser/X86TargetParser.h"

#include <algorithm>

namespace tenon {

using namespace passes;

namespace {

struct Schedule {
  const char *name;
  int64_t vectorBits, numRegisters;
  const char *feature; // that makes it native
};
/// Widest first.
const Schedule kSchedules[] = {{"avx512", 512, 32, "avx512vl"},
                               {"avx2", 256, 16, "avx2"},
                               {"generic", 128, 16, ""}};

/// What no feature tells of a core.
struct Core {
  int64_t l2Bytes;
  bool bf16DotIsSlow;
  int64_t fewRows, fewRowsAhead, leastRows;
  std::initializer_list<const char *> cpus; // LLVM's names
};
/// Golden Cove and its successors, measured on Emerald Rapids: vdpbf16ps takes
/// as long as four vectors of f32, half of the products (88 and 177 GFLOP/s).
/// Zen 3: one row waits for its own requests.
const Core kCores[] = {
    {2 << 20,
     true,
     4,
     4096,
     1,
     {"sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d"}},
    {512 << 10, false, 5, 1024, 2, {"znver3"}}};

/// Features of an LLVM CPU name; empty when it is unknown.
llvm::SmallVector<llvm::StringRef> featuresOfCpu(const std::string &cpu) {
  llvm::SmallVector<llvm::StringRef> features;
  if (llvm::X86::parseArchX86(cpu) == llvm::X86::CK_None)
    return features;
  llvm::X86::getFeaturesForCPU(cpu, features);
  // That list leaves out what others include: avx512f, with avx512bw.
  llvm::StringMap<bool> all;
  for (llvm::StringRef feature : features) {
    all[feature] = true;
    llvm::X86::updateImpliedFeatures(feature, true, all);
  }
#define TENON_CPU_FEATURE(name, builtin)                                       \
  if (all.lookup(name) && !llvm::is_contained(features, name))                 \
    features.push_back(name);
#include "runtime/CpuFeatures.def"
  return features;
}

/// Those of `features` that the runtime can look for.
std::vector<std::string>
checkable(const llvm::SmallVector<llvm::StringRef> &features) {
  std::vector<std::string> names;
#define TENON_CPU_FEATURE(name, builtin)                                       \
  if (llvm::is_contained(features, name))                                      \
    names.push_back(name);
#include "runtime/CpuFeatures.def"
  return names;
}

/// What the machine has for narrow products at the width of the schedule.
void setGroups(Target &target, const llvm::SmallVector<llvm::StringRef> &has) {
  auto any = [&](llvm::StringRef feature) {
    return llvm::is_contained(has, feature);
  };
  bool wide = target.vectorBits == 512;
  if (wide && any("avx512bf16"))
    target.bf16DotWidth = 2;
  if (wide ? any("avx512vnni") : target.vectorBits == 256 && any("avxvnni"))
    target.int8DotWidth = 4;
  else if (wide ? any("avx512bw") : target.vectorBits == 256 && any("avx2"))
    target.int8DotWidth = 2;
  target.matrixUnit = target.bf16DotWidth == 2 && target.int8DotWidth == 4 &&
                      any("amx-tile") && any("amx-bf16") && any("amx-int8");
  if (wide && any("avx512vl"))
    target.l2Bytes = any("amx-tile") ? 2 << 20 : 1 << 20;
  for (const Core &core : kCores)
    if (llvm::is_contained(core.cpus, target.spec.cpu)) {
      target.l2Bytes = core.l2Bytes;
      target.fewRows = core.fewRows;
      target.fewRowsAhead = core.fewRowsAhead;
      target.leastRows = core.leastRows;
      target.bf16DotIsSlow =
          core.bf16DotIsSlow && target.bf16DotWidth == 2 && !target.matrixUnit;
    }
}

/// Features that generated code may not use, since a loader cannot look for
/// them, as LLVM wants them: "-aes,-sha".
std::string withoutUncheckable(const codegen::TargetSpec &spec) {
  llvm::StringSet<> checkable;
#define TENON_CPU_FEATURE(name, builtin) checkable.insert(name);
#include "runtime/CpuFeatures.def"
  llvm::SmallVector<llvm::StringRef> base, own;
  llvm::X86::getFeaturesForCPU("x86-64", base);
  base.push_back("64bit"); // a mode
  if (llvm::X86::parseArchX86(spec.cpu) != llvm::X86::CK_None)
    llvm::X86::getFeaturesForCPU(spec.cpu, own);
  llvm::SmallVector<llvm::StringRef> given;
  llvm::StringRef(spec.features).split(given, ',', -1, false);
  std::vector<std::string> features;
  for (llvm::StringRef feature : given)
    if (feature.consume_front("+"))
      own.push_back(feature);
    else
      features.push_back(feature.str());
  for (llvm::StringRef feature : own)
    if (llvm::is_contained(base, feature) || checkable.contains(feature))
      features.push_back("+" + feature.str());
  for (llvm::StringRef feature : own)
    if (!llvm::is_contained(base, feature) && !checkable.contains(feature))
      features.push_back("-" + feature.str());
  std::sort(features.begin(), features.end());
  features.erase(std::unique(features.begin(), features.end()), features.end());
  return llvm::join(features, ",");
}

Error unknownCpu(const std::string &cpu) {
  return fail(ErrorCode::UnsupportedTarget, "unknown CPU '" + cpu + "'",
              "use host, x86-64-v2, x86-64-v3, x86-64-v4 or an LLVM CPU name");
}

} // namespace

/// The values of options that are no words of their own types.
static std::optional<Error> checkOptions(const Options &options) {
  for (auto [name, value] : {std::pair("winograd", options.winograd),
                             std::pair("chains", options.chains)})
    if (!parseMode(value))
      return fail(ErrorCode::BadOption,
                  "unknown value '" + value + "' of " + name,
                  std::string("use ") + kModes);
  if (options.denormals != kAutoDenormals &&
      options.denormals != kKeepDenormals &&
      options.denormals != kFlushDenormals)
    return fail(ErrorCode::BadOption,
                "unknown value '" + options.denormals + "' of denormals",
                "use auto, keep or flush");
  struct Range {
    const char *name;
    int64_t value, least, most;
    const char *hint;
  };
  for (const Range &range :
       {Range{"compile-threads", options.compileThreads, 0, 1024,
              "use 0, for those of the machine, to 1024"},
        Range{"max-group-ops", options.maxGroupOps, 1, 1 << 20,
              "use 1 to 1048576"}})
    if (range.value < range.least || range.value > range.most)
      return fail(ErrorCode::BadOption,
                  "unknown value " + std::to_string(range.value) + " of " +
                      range.name,
                  range.hint);
  for (const Schedule &s : kSchedules)
    if (options.schedule == s.name)
      return std::nullopt;
  if (options.schedule == "auto")
    return std::nullopt;
  return fail(ErrorCode::BadOption,
              "unknown schedule '" + options.schedule + "'",
              "use auto, avx512, avx2 or generic");
}

/// What this machine lacks of `wanted`, separated by commas. Tuning flags and
/// modes are not among the features that LLVM knows of the machine.
static std::string lacking(const llvm::SmallVector<llvm::StringRef> &wanted,
                           const llvm::StringMap<bool> &host) {
  std::vector<std::string> names;
  for (llvm::StringRef feature : wanted)
    if (host.count(feature) && !host.lookup(feature))
      names.push_back(feature.str());
  return llvm::join(names, ", ");
}

Expected<Target> Target::resolve(const Options &options) {
  if (auto error = checkOptions(options))
    return *error;
  Target target;
  static const llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  llvm::SmallVector<llvm::StringRef> wanted;
  if (options.targetCpu == "host") {
    target.spec = codegen::TargetSpec::host();
    for (auto &f : host)
      if (f.second)
        wanted.push_back(f.first());
  } else {
    wanted = featuresOfCpu(options.targetCpu);
    if (wanted.empty())
      return unknownCpu(options.targetCpu);
    target.spec = codegen::TargetSpec::forCpu(options.targetCpu);
    if (auto ok = codegen::checkTarget(target.spec); !ok)
      return ok.errors();
    target.missingFeature = lacking(wanted, host);
    target.executable = target.missingFeature.empty();
  }
  target.features = checkable(wanted);
  for (const Schedule &s : kSchedules) {
    bool isNative = !*s.feature || llvm::is_contained(wanted, s.feature);
    if (options.schedule != s.name && !(options.schedule == "auto" && isNative))
      continue;
    target.vectorBits = s.vectorBits;
    target.numVectorRegisters = s.numRegisters;
    target.schedule = s.name;
    setGroups(target, wanted);
    break;
  }
  return target;
}

Expected<Target> Target::resolveExecutable(const Options &options) {
  auto target = resolve(options);
  if (target && !target->executable)
    return fail(ErrorCode::UnsupportedTarget,
                "this machine lacks the instruction sets " +
                    target->missingFeature + ", which code for " +
                    options.targetCpu + " may use",
                "choose a target-cpu that this machine implements");
  return target;
}

Expected<Target> Target::resolveAArch64(const Options &options,
                                        const std::string &cpu,
                                        const std::string &triple) {
  if (cpu != "host" && cpu != "generic")
    return fail(ErrorCode::UnsupportedTarget,
                "for AArch64 there is no target '" + cpu + "'",
                "generic is NEON, which all of them have");
  if (options.schedule != "auto" && options.schedule != "generic")
    return fail(ErrorCode::BadOption,
                "the schedule '" + options.schedule + "' is one of x86-64",
                "use auto or generic");
  Target target;
  target.spec = {triple, "generic", ""};
  target.vectorBits = 128;
  target.numVectorRegisters = 32;
  target.schedule = "generic";
  target.features = {"neon"};
  return target;
}

Expected<Target> Target::resolveAhead(const Options &options,
                                      const std::string &cpu,
                                      const std::string &triple) {
  if (llvm::Triple(triple).isAArch64()) {
    if (auto error = checkOptions(options))
      return *error;
    return resolveAArch64(options, cpu, triple);
  }
  Options forCpu = options;
  forCpu.targetCpu = cpu;
  auto target = resolve(forCpu);
  if (!target)
    return target;
  target->spec.triple = triple;
  target->spec.features = withoutUncheckable(target->spec);
  return target;
}

} // namespace tenon
