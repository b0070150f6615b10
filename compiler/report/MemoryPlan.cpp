//===- MemoryPlan.cpp - the arena as text and as a picture ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See MemoryPlan.h.
//
//===----------------------------------------------------------------------===//
#include "compiler/report/MemoryPlan.h"

#include "dialects/support/Text.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace tenon::report {

namespace {

// In pixels.
constexpr double kLeft = 110, kTop = 64, kHeight = 480, kRight = 130;
constexpr double kLabels = 150; // below, for the names of steps
constexpr double kCharacter = 6.2;

std::string xml(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      // XML has no other control characters, not even escaped.
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

template <typename... Values>
std::string format(const char *text, Values... values) {
  char buffer[256];
  std::snprintf(buffer, sizeof buffer, text, values...);
  return buffer;
}

std::string bytesOf(int64_t bytes) { return countText(bytes, "byte"); }

/// `text` as far as it fits into `width` pixels.
std::string fit(const std::string &text, double width) {
  auto most = static_cast<size_t>(std::max(0.0, width / kCharacter));
  if (text.size() <= most)
    return text;
  if (most <= 3)
    return "";
  size_t end = most - 2;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end; // not inside a character of UTF-8
  return text.substr(0, end) + "..";
}

class Picture {
public:
  explicit Picture(const CompileReport &report)
      : report(report), plan(summarize(report)),
        column(
            std::clamp(1000.0 / std::max<size_t>(report.arenaSteps.size(), 1),
                       12.0, 120.0)) {}

  std::string draw() {
    double width =
        kLeft + column * static_cast<double>(report.arenaSteps.size()) + kRight;
    width = std::max(width, 640.0);
    out = format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
                 "height=\"%.0f\" font-family=\"sans-serif\" "
                 "font-size=\"11\">\n",
                 width, kTop + kHeight + kLabels);
    out += "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    title();
    axes();
    for (const ArenaBuffer &buffer : report.arena)
      rectangle(buffer);
    return out + "</svg>\n";
  }

private:
  double x(size_t step) const {
    return kLeft + column * static_cast<double>(step);
  }
  double y(int64_t address) const {
    double size = static_cast<double>(std::max<int64_t>(plan.size, 1));
    return kTop + kHeight - kHeight * static_cast<double>(address) / size;
  }

  void text(double atX, double atY, const std::string &what,
            const std::string &attributes = {}) {
    out += format("<text x=\"%.1f\" y=\"%.1f\"", atX, atY) + attributes + ">" +
           xml(what) + "</text>\n";
  }

  void title() {
    text(kLeft, 20,
         "peak: " + bytesOf(plan.size) +
             ", sum of all buffers: " + bytesOf(plan.sum) + " in " +
             countText(static_cast<int64_t>(report.arena.size()), "buffer"),
         " font-size=\"14\"");
    text(kLeft, 40,
         "in use at once at most " + bytesOf(plan.live) + ", at step " +
             std::to_string(plan.liveStep));
  }

  void axes() {
    for (int i = 0; i <= 4; ++i) {
      int64_t address = plan.size * i / 4;
      out += format("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
                    "stroke=\"#ccc\"/>\n",
                    kLeft, y(address), x(report.arenaSteps.size()), y(address));
      text(kLeft - 6, y(address) + 4, std::to_string(address),
           " text-anchor=\"end\"");
    }
    double below = kTop + kHeight + 12;
    for (size_t step = 0; step < report.arenaSteps.size(); ++step) {
      double middle = x(step) + column / 2;
      text(middle, below,
           std::to_string(step) + " " +
               fit(report.arenaSteps[step], kLabels * 1.2),
           format(" transform=\"rotate(50 %.1f %.1f)\"", middle, below));
    }
  }

  void rectangle(const ArenaBuffer &buffer) {
    double left = x(buffer.first), right = x(buffer.last + 1);
    double top = y(buffer.offset + buffer.bytes), bottom = y(buffer.offset);
    // Colours far apart for neighbours in the list.
    size_t index = static_cast<size_t>(&buffer - report.arena.data());
    out += "<g><title>" +
           xml(buffer.name + ": " + buffer.type + ", " + bytesOf(buffer.bytes) +
               " at " + std::to_string(buffer.offset) + ", steps " +
               std::to_string(buffer.first) + " to " +
               std::to_string(buffer.last)) +
           "</title>" +
           format("<rect class=\"buffer\" x=\"%.1f\" y=\"%.2f\" "
                  "width=\"%.1f\" height=\"%.2f\" ",
                  left, top, right - left, bottom - top) +
           format("fill=\"hsl(%zu,55%%,80%%)\" stroke=\"#555\"/>",
                  index * 137 % 360);
    double middle = (top + bottom) / 2;
    if (bottom - top >= 26) {
      text(left + 4, middle - 2, fit(buffer.name, right - left - 8));
      text(left + 4, middle + 11, fit(bytesOf(buffer.bytes), right - left - 8));
    } else if (bottom - top >= 12) {
      text(left + 4, middle + 4,
           fit(buffer.name + " " + bytesOf(buffer.bytes), right - left - 8));
    }
    out += "</g>\n";
  }

  const CompileReport &report;
  MemoryPlan plan;
  double column;
  std::string out;
};

} // namespace

MemoryPlan summarize(const CompileReport &report) {
  MemoryPlan plan;
  plan.size = report.arenaBytes;
  std::vector<int64_t> change(report.arenaSteps.size() + 1);
  for (const ArenaBuffer &buffer : report.arena) {
    plan.sum += buffer.bytes;
    change[buffer.first] += buffer.bytes;
    change[buffer.last + 1] -= buffer.bytes;
  }
  int64_t live = 0;
  for (size_t step = 0; step < report.arenaSteps.size(); ++step) {
    live += change[step];
    if (live > plan.live) {
      plan.live = live;
      plan.liveStep = step;
    }
  }
  return plan;
}

std::string memoryText(const CompileReport &report) {
  MemoryPlan plan = summarize(report);
  std::string out = "peak " + bytesOf(plan.size) + ", sum of all buffers " +
                    bytesOf(plan.sum) + ", in use at once at most " +
                    bytesOf(plan.live) + " (step " +
                    std::to_string(plan.liveStep) + ")\n";
  if (report.arena.empty())
    return out;
  out += format("%11s %12s %12s  %s\n", "steps", "offset", "bytes", "buffer");
  for (const ArenaBuffer &b : report.arena)
    out += format("%5zu-%-5zu %12lld %12lld  ", b.first, b.last,
                  static_cast<long long>(b.offset),
                  static_cast<long long>(b.bytes)) +
           b.name + ": " + b.type + "\n";
  return out;
}

std::string memorySvg(const CompileReport &report) {
  return Picture(report).draw();
}

} // namespace tenon::report
