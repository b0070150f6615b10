//===- BenchPrint.cpp - tables, CSV and JSON of tenon bench ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See BenchRun.h.
//
//===----------------------------------------------------------------------===//
#include "tools/tenon/BenchRun.h"

#include "dialects/support/Text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

namespace tenon::cli {

using nlohmann::ordered_json;

namespace {

double rate(double amount, double seconds) {
  return seconds > 0 ? 1e-9 * amount / seconds : 0;
}

std::string runsText(size_t runs) {
  return countText(static_cast<int64_t>(runs), "run");
}

/// `value`, or "-" where there is none.
std::string cell(const char *format, std::optional<double> value) {
  char text[32] = "-";
  if (value)
    std::snprintf(text, sizeof text, format, *value);
  return text;
}

void printGroup(const GroupTime &g, const BenchResult &r) {
  auto counted = [&](double value) {
    return g.counted ? std::optional(value) : std::nullopt;
  };
  bool hasPeak = g.counted && g.boundSeconds > 0;
  std::string peak = hasPeak ? cell("%.1f%% ", g.peakPercent()) +
                                   (g.boundByMemory ? "mem" : "fma")
                             : "-";
  std::printf(
      "%10s %6.1f%% %5.3g %9s %8s %10s %9s  %s%s%s%s\n",
      secondsText(g.seconds).c_str(), 100 * g.seconds / r.profiledSeconds,
      g.sections, cell("%.1f", counted(rate(g.flops, g.seconds))).c_str(),
      cell("%.1f", counted(rate(g.bytes, g.seconds))).c_str(), peak.c_str(),
      cell("%.2fx", g.ratio()).c_str(), g.label.c_str(),
      g.kind.empty() ? "" : " (", g.kind.c_str(), g.kind.empty() ? "" : ")");
}

void printGroups(const BenchResult &r) {
  if (r.groups.empty())
    return;
  std::printf("%10s %7s %5s %9s %8s %10s %9s  %s\n", "time/run", "share",
              "calls", "GFLOP/s", "GB/s", "of peak", "unfused", "group");
  for (const GroupTime &group : r.groups)
    printGroup(group, r);
  std::printf("%10s %6.1f%% %53s  (between groups)\n",
              secondsText(r.betweenSeconds).c_str(),
              100 * r.betweenSeconds / r.profiledSeconds, "");
  if (std::ranges::any_of(r.groups, [](const GroupTime &group) {
        return group.counted && group.peakPercent() > 100;
      }))
    std::printf("of peak   over 100%%: cached data, narrow types, Winograd, or "
                "peaks that were measured while the machine was busy\n");
  if (!r.unfusedSeconds)
    return;
  std::printf("unfused   %s, %.2fx of the time with groups (%s each, in "
              "turns)\n",
              secondsText(*r.unfusedSeconds).c_str(),
              *r.unfusedSeconds / r.profiledSeconds,
              runsText(r.profiledRuns).c_str());
  bool any = false;
  for (const GroupTime &group : r.groups)
    if (group.slower) {
      std::printf("slower    %s: unfused it takes %.2fx of the time\n",
                  group.label.c_str(), *group.ratio());
      any = true;
    }
  if (!any)
    std::printf("slower    fusion makes no group slower by more than %.0f%%\n",
                100 / kLeastRatio - 100);
}

void printResult(const BenchResult &r, const Peaks &peaks) {
  std::printf("time      min %s  median %s  p90 %s  (%s, %s)\n",
              secondsText(r.least()).c_str(), secondsText(r.median()).c_str(),
              secondsText(r.p90()).c_str(), runsText(r.times.size()).c_str(),
              r.caches.c_str());
  std::printf("rate      %.1f GFLOP/s, %.1f%% of %.1f measured FMA peak; "
              "%.1f GB/s of inputs, constants and outputs\n",
              r.gflops(), r.peakPercent(peaks), 1e-9 * peaks.flops,
              rate(r.ioBytes, r.median()));
  if (r.compiled) {
    std::printf("compile   %s", secondsText(r.compile.totalSeconds).c_str());
    for (const PhaseTime &phase : r.compile.phases)
      std::printf("%s %s %s", &phase == &r.compile.phases.front() ? ":" : ",",
                  phase.name.c_str(), secondsText(phase.seconds).c_str());
    std::printf("\n");
  }
  if (r.hasConstants)
    std::printf("constants %s\n", secondsText(r.bindSeconds).c_str());
  printGroups(r);
}

std::string quoted(const std::string &text) {
  std::string out = "\"";
  for (char c : text)
    out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

/// Null where there is no number.
ordered_json orNull(std::optional<double> value) {
  return value ? ordered_json(*value) : ordered_json();
}

ordered_json toJson(const GroupTime &g, const BenchResult &r) {
  auto counted = [&](double value) {
    return orNull(g.counted ? std::optional(value) : std::nullopt);
  };
  return {{"name", g.label},
          {"kind", g.kind},
          {"sections", g.sections},
          {"seconds", g.seconds},
          {"percent", 100 * g.seconds / r.profiledSeconds},
          {"flops", counted(g.flops)},
          {"bytes", counted(g.bytes)},
          {"gflops", counted(rate(g.flops, g.seconds))},
          {"gbPerSecond", counted(rate(g.bytes, g.seconds))},
          {"peakPercent", counted(g.peakPercent())},
          {"bound", !g.counted        ? ordered_json()
                    : g.boundByMemory ? "memory"
                                      : "fma"},
          {"togetherSeconds", g.togetherSeconds},
          {"unfusedSeconds", orNull(g.unfusedSeconds)},
          {"ratio", orNull(g.ratio())},
          {"slowerThanUnfused", g.slower}};
}

ordered_json toJson(const BenchResult &r, const Peaks &peaks) {
  if (!r.reason.empty())
    return {{"ops", r.ops}, {"notCompiled", r.reason}};
  ordered_json root;
  root["ops"] = r.ops;
  root["runs"] = r.times.size();
  root["seconds"] = {
      {"min", r.least()}, {"median", r.median()}, {"p90", r.p90()}};
  root["flops"] = r.flops;
  root["gflops"] = r.gflops();
  root["peakPercent"] = r.peakPercent(peaks);
  root["bindSeconds"] = r.bindSeconds;
  root["compileSeconds"] = r.compile.totalSeconds;
  root["phases"] = ordered_json::object();
  for (const PhaseTime &phase : r.compile.phases)
    root["phases"][phase.name] = phase.seconds;
  root["profiledRuns"] = r.profiledRuns;
  root["profiledSeconds"] = r.profiledSeconds;
  root["betweenSeconds"] = r.betweenSeconds;
  root["unfusedSeconds"] = orNull(r.unfusedSeconds);
  root["groups"] = ordered_json::array();
  for (const GroupTime &group : r.groups)
    root["groups"].push_back(toJson(group, r));
  return root;
}

} // namespace

void printBenchTable(const BenchArgs &args, const Peaks &peaks,
                     const std::vector<BenchResult> &results) {
  std::printf("%s, %s\n", args.model.path.c_str(),
              countText(args.exec.threads, "thread").c_str());
  for (size_t i = 0; i < results.size(); ++i) {
    const BenchResult &r = results[i];
    if (results.size() > 1)
      std::printf("partition %zu of %zu: %s\n", i, results.size(),
                  countText(static_cast<int64_t>(r.ops), "operation").c_str());
    if (r.reason.empty())
      printResult(r, peaks);
    else
      std::printf("skipped   %s\n", r.reason.c_str());
  }
}

/// One line for each partition, and one for each group.
void printBenchCsv(const BenchArgs &args, const Peaks &peaks,
                   const std::vector<BenchResult> &results) {
  std::printf("model,threads,caches,partition,group,kind,runs,min_s,median_s,"
              "p90_s,gflops,gb_per_s,peak_percent,bound,unfused_ratio,"
              "compile_s\n");
  std::string head = quoted(args.model.path) + "," +
                     std::to_string(args.exec.threads) + "," +
                     (args.warm ? "warm" : "cold");
  auto optional = [](bool known, double value) {
    return known ? cell("%.6g", value) : std::string();
  };
  for (size_t i = 0; i < results.size(); ++i) {
    const BenchResult &r = results[i];
    if (!r.reason.empty())
      continue;
    std::printf("%s,%zu,,,%zu,%.9g,%.9g,%.9g,%.6g,%.6g,%.4g,fma,%s,%.6g\n",
                head.c_str(), i, r.times.size(), r.least(), r.median(), r.p90(),
                r.gflops(), rate(r.ioBytes, r.median()), r.peakPercent(peaks),
                optional(r.unfusedSeconds.has_value(),
                         r.unfusedSeconds.value_or(0) / r.profiledSeconds)
                    .c_str(),
                r.compile.totalSeconds);
    for (const GroupTime &g : r.groups)
      std::printf(
          "%s,%zu,%s,%s,%zu,,%.9g,,%s,%s,%s,%s,%s,\n", head.c_str(), i,
          quoted(g.label).c_str(), g.kind.c_str(), r.profiledRuns, g.seconds,
          optional(g.counted, rate(g.flops, g.seconds)).c_str(),
          optional(g.counted, rate(g.bytes, g.seconds)).c_str(),
          optional(g.counted, g.peakPercent()).c_str(),
          !g.counted        ? ""
          : g.boundByMemory ? "memory"
                            : "fma",
          optional(g.ratio().has_value(), g.ratio().value_or(0)).c_str());
  }
}

void printBenchJson(const BenchArgs &args, const Peaks &peaks,
                    const std::vector<BenchResult> &results) {
  ordered_json root;
  root["model"] = args.model.path;
  root["threads"] = args.exec.threads;
  root["cold"] = !args.warm;
  root["peakGflops"] = 1e-9 * peaks.flops;
  root["peakGbPerSecond"] = ordered_json::object();
  for (const Peaks::Level &level : peaks.levels)
    root["peakGbPerSecond"][level.name] = {{"read", 1e-9 * level.read},
                                           {"write", 1e-9 * level.write}};
  root["partitions"] = ordered_json::array();
  for (const BenchResult &r : results)
    root["partitions"].push_back(toJson(r, peaks));
  std::printf(
      "%s\n",
      root.dump(2, ' ', false, ordered_json::error_handler_t::replace).c_str());
}

} // namespace tenon::cli
