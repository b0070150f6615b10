//===-- Print.cpp - DevInfo as text and JSON ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "tools/devinfo/DevInfo.h"

#include "dialects/support/Text.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <ostream>

using namespace tenon::devinfo;

/// "32 KiB", "32 MiB".
static std::string formatSize(int64_t bytes) {
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0)
    return std::to_string(bytes >> 20) + " MiB";
  return std::to_string(bytes >> 10) + " KiB";
}

static std::string formatRate(double rate) {
  char text[32];
  snprintf(text, sizeof(text), "%8.1f", rate);
  return text;
}

void DevInfo::printText(std::ostream &out) const {
  out << "cpu:      " << cpuName << "\n";
  out << "cpus:     " << allowedCpus << " allowed\n";
  out << "isa:     ";
  for (const std::string &name : isa)
    out << " " << name;
  out << "\n";
  for (const CacheInfo &cache : caches) {
    out << "cache:    L" << cache.level << " " << cache.type << ", "
        << formatSize(cache.bytes);
    if (cache.ways)
      out << ", " << cache.ways << " ways";
    if (cache.lineBytes)
      out << ", " << cache.lineBytes << "-byte lines";
    out << ", shared by " << cache.sharedBy << "\n";
  }
  if (fmaGflopsYmm > 0)
    out << "f32 fma:  " << formatRate(fmaGflopsYmm)
        << " GFLOP/s, 1 thread, 256 bits\n";
  if (fmaGflopsZmm > 0)
    out << "f32 fma:  " << formatRate(fmaGflopsZmm)
        << " GFLOP/s, 1 thread, 512 bits\n";
  for (const LevelBandwidth &entry : bandwidths) {
    const Bandwidth &rate = entry.gbPerSecond;
    char label[8];
    snprintf(label, sizeof(label), "%-5s", (entry.level + ":").c_str());
    out << label << "    " << formatRate(rate.read) << " read "
        << formatRate(rate.write) << " write " << formatRate(rate.copy)
        << " copy GB/s, " << formatSize(entry.bytes) << ", "
        << countText(entry.threads, "thread") << "\n";
  }
}

std::string DevInfo::toJson() const {
  using nlohmann::ordered_json;
  ordered_json root;
  root["cpuName"] = cpuName;
  root["allowedCpus"] = allowedCpus;
  root["isa"] = isa;
  root["caches"] = ordered_json::array();
  for (const CacheInfo &cache : caches)
    root["caches"].push_back({{"level", cache.level},
                              {"type", cache.type},
                              {"bytes", cache.bytes},
                              {"lineBytes", cache.lineBytes},
                              {"ways", cache.ways},
                              {"sharedBy", cache.sharedBy}});
  root["fmaGflopsYmm"] = fmaGflopsYmm;
  root["fmaGflopsZmm"] = fmaGflopsZmm;
  root["bandwidths"] = ordered_json::array();
  for (const LevelBandwidth &entry : bandwidths)
    root["bandwidths"].push_back({{"level", entry.level},
                                  {"bytes", entry.bytes},
                                  {"threads", entry.threads},
                                  {"gbPerSecond",
                                   {{"read", entry.gbPerSecond.read},
                                    {"write", entry.gbPerSecond.write},
                                    {"copy", entry.gbPerSecond.copy}}}});
  root["seconds"] = seconds;
  // A CPU name is whatever the firmware says: replace what is not UTF-8.
  return root.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}
