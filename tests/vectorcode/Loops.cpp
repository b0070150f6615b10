// SPDX-License-Identifier: Apache-2.0
#include "tests/vectorcode/Loops.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace tenon::test {

namespace {

struct Range {
  size_t begin, end; // lines, both included
};

std::string_view trim(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front())))
    s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back())))
    s.remove_suffix(1);
  return s;
}

std::vector<std::string_view> linesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(trim(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// Where the last operand, the destination, starts in `operands`.
size_t destinationAt(std::string_view operands) {
  int depth = 0;
  for (size_t i = operands.size(); i-- > 0;) {
    depth += operands[i] == ')';
    depth -= operands[i] == '(';
    if (operands[i] == ',' && depth == 0)
      return i;
  }
  return 0;
}

bool isMove(std::string_view mnemonic) {
  return mnemonic.starts_with("vmov") || mnemonic.starts_with("vbroadcast") ||
         mnemonic.starts_with("vpbroadcast") ||
         mnemonic.starts_with("vlddqu") || mnemonic.starts_with("vmaskmov") ||
         mnemonic.starts_with("vpmaskmov");
}

/// Casts between narrow and wide integers hold the narrow ones of a vector in a
/// part of a register: packed integer instructions on xmm count as vectors.
bool isPackedInteger(std::string_view line) {
  if (line.find("%xmm") == line.npos)
    return false;
  for (std::string_view other : {"vpextr", "vpinsr", "vpbroadcast"})
    if (line.starts_with(other))
      return false;
  return line.starts_with("vp") || line.starts_with("vmovq") ||
         line.starts_with("vmovdq");
}

void count(std::string_view line, Loop &loop) {
  if (line.empty() || line[0] == '.' || line[0] == '#' || line.back() == ':')
    return;
  ++loop.instructions;
  bool wide = line.find("%ymm") != line.npos || line.find("%zmm") != line.npos;
  if (line[0] != 'v' || (!wide && !isPackedInteger(line)))
    return;
  size_t space = std::min(line.find_first_of(" \t"), line.size());
  std::string_view mnemonic = line.substr(0, space);
  std::string_view operands = line.substr(space);
  size_t to = destinationAt(operands);
  loop.vectorLoads += operands.substr(0, to).find('(') != operands.npos;
  std::string_view stored = operands.substr(to);
  loop.vectorStores += stored.find('(') != stored.npos &&
                       stored.find("(%rsp") == stored.npos; // spilled
  // A move under a mask selects.
  loop.vectorArithmetic +=
      !isMove(mnemonic) || operands.find("{%k") != operands.npos;
}

struct Function {
  std::string_view name;
  size_t begin, end; // lines
};

std::vector<Function> functionsOf(const std::vector<std::string_view> &lines) {
  std::vector<Function> functions{{"", 0, 0}};
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].ends_with(":") && !lines[i].starts_with("."))
      functions.push_back({lines[i].substr(0, lines[i].size() - 1), i, i});
    functions.back().end = i + 1;
  }
  return functions;
}

/// From the targets of backward jumps to the jumps.
std::vector<Range> backwardRanges(const std::vector<std::string_view> &lines,
                                  const Function &function) {
  std::map<std::string_view, size_t> labels;
  std::vector<Range> ranges;
  for (size_t i = function.begin; i < function.end; ++i) {
    std::string_view line = lines[i];
    if (line.starts_with(".L") && line.ends_with(":")) {
      labels[line.substr(0, line.size() - 1)] = i;
    } else if (line.starts_with("j")) {
      auto target =
          labels.find(trim(line.substr(line.find_first_of(" \t") + 1)));
      if (target != labels.end())
        ranges.push_back({target->second, i});
    }
  }
  return ranges;
}

/// The function without loops that `line` calls, or null.
const Function *straightCallee(const std::vector<std::string_view> &lines,
                               const std::vector<Function> &functions,
                               std::string_view line) {
  if (!line.starts_with("call"))
    return nullptr;
  std::string_view name = trim(line.substr(line.find_first_of(" \t") + 1));
  for (const Function &f : functions)
    if (f.name == name)
      return backwardRanges(lines, f).empty() ? &f : nullptr;
  return nullptr;
}

} // namespace

std::vector<Loop> innermostLoops(std::string_view assembly) {
  std::vector<std::string_view> lines = linesOf(assembly);
  std::vector<Function> functions = functionsOf(lines);
  std::vector<Loop> loops;
  for (const Function &function : functions) {
    std::vector<Range> ranges = backwardRanges(lines, function);
    for (const Range &r : ranges) {
      bool innermost =
          std::none_of(ranges.begin(), ranges.end(), [&](const Range &inner) {
            return inner.begin >= r.begin && inner.end <= r.end &&
                   (inner.begin != r.begin || inner.end != r.end);
          });
      if (!innermost)
        continue;
      Loop loop;
      loop.function = function.name;
      for (size_t i = r.begin; i <= r.end; ++i) {
        count(lines[i], loop);
        if (const Function *f = straightCallee(lines, functions, lines[i]))
          for (size_t k = f->begin; k < f->end; ++k)
            count(lines[k], loop);
      }
      loops.push_back(std::move(loop));
    }
  }
  return loops;
}

} // namespace tenon::test
