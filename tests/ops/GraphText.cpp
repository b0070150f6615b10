// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/GraphText.h"

#include <cctype>

#include "dialects/graph/OpTable.h"
#include "dialects/graph/infer/Infer.h"

#include <cstdlib>

namespace tenon::test {

using namespace graph;

namespace {

std::vector<std::string> split(std::string_view text, char by) {
  std::vector<std::string> parts;
  while (true) {
    size_t end = text.find(by);
    if (std::string_view part = text.substr(0, end); !part.empty())
      parts.emplace_back(part);
    if (end == text.npos)
      return parts;
    text.remove_prefix(end + 1);
  }
}

Dims numbers(std::string_view text, char by) {
  Dims dims;
  for (const std::string &part : split(text, by))
    dims.push_back(part == "?" ? kUnknownDim
                               : std::strtoll(part.c_str(), nullptr, 10));
  return dims;
}

AttrType typeOfAttr(std::string_view kind, std::string_view name) {
  const OpInfo *info = lookupOp(kind);
  const AttrInfo *attr = info ? info->attr(name) : nullptr;
  return attr ? attr->type : AttrType::string;
}

AttrValue parseValue(AttrType type, const std::string &text) {
  switch (type) {
  case AttrType::f32:
    return std::strtof(text.c_str(), nullptr);
  case AttrType::s64:
    return int64_t(std::strtoll(text.c_str(), nullptr, 10));
  case AttrType::boolean:
    return text == "true";
  case AttrType::s64s:
    return numbers(text, ',');
  case AttrType::f32s: {
    std::vector<float> values;
    for (const std::string &part : split(text, ','))
      values.push_back(std::strtof(part.c_str(), nullptr));
    return values;
  }
  case AttrType::string:
    break;
  }
  return text;
}

class Parser {
public:
  /// Whether `text` is within the grammar; else `problem` says what is not.
  bool parse(std::string_view text) {
    for (const std::string &statement : split(text, ';'))
      if (!parseStatement(split(statement, ' ')))
        return false;
    return true;
  }

  Graph graph;
  std::string problem;
  /// Strides of results, which only fit once shapes are inferred.
  std::map<uint64_t, Dims> resultStrides;

private:
  bool fail(std::string message) {
    problem = std::move(message);
    return false;
  }

  uint64_t newTensor(const std::string &name) {
    uint64_t id = next++;
    graph.tensors[id].id = id;
    if (!name.empty())
      names[name] = id;
    return id;
  }

  /// '/bf16', '<8,1>', 'c' behind a shape or the name of a result.
  bool parseSuffixes(std::string_view text, LogicalTensor &t, Dims &strides) {
    while (!text.empty()) {
      size_t used = 1;
      if (text[0] == 'c') {
        t.property = PropertyType::constant;
      } else if (text[0] == '/') {
        used = text.find_first_of("<c", 1);
        used = used == text.npos ? text.size() : used;
        auto dtype = parseDType(text.substr(1, used - 1));
        if (!dtype)
          return fail("dtype in " + std::string(text));
        t.dtype = *dtype;
      } else if (text[0] == '<' && text.find('>') != text.npos) {
        used = text.find('>') + 1;
        strides = numbers(text.substr(1, used - 2), ',');
      } else {
        return fail("suffix " + std::string(text));
      }
      text.remove_prefix(used);
    }
    return true;
  }

  /// '3x?x[batch*2]' or '()' in front of `text`, which is cut off it.
  bool parseShape(std::string_view &text, LogicalTensor &t) {
    t.shape.emplace();
    if (text.starts_with("()")) {
      text.remove_prefix(2);
      return true;
    }
    bool anyName = false;
    do {
      text.remove_prefix(t.shape->empty() ? 0 : 1);
      std::string_view size;
      if (text.starts_with('[') && text.find(']') != text.npos) {
        size = text.substr(1, text.find(']') - 1);
        text.remove_prefix(size.size() + 2);
        t.shape->push_back(kUnknownDim);
        anyName = true;
      } else {
        size = text.substr(0, text.find_first_not_of("0123456789?"));
        text.remove_prefix(size.size());
        if (size.empty())
          return fail("operand " + std::string(text));
        t.shape->push_back(numbers(size, 'x').front());
        size = size == "?" ? "" : size;
      }
      t.sizes.emplace_back(size);
    } while (text.starts_with('x'));
    if (!anyName)
      t.sizes.clear();
    return true;
  }

  bool parseOperand(std::string_view text, Op &op) {
    if (text == "_")
      return op.leaveOutInput() || fail("too many operands");
    if (auto known = names.find(std::string(text)); known != names.end()) {
      op.inputs.push_back(known->second);
      return true;
    }
    size_t colon = text.find(':');
    std::string name(colon == text.npos ? "" : text.substr(0, colon));
    text.remove_prefix(colon == text.npos ? 0 : colon + 1);
    LogicalTensor &t = graph.tensors[newTensor(name)];
    t.dtype = DType::f32;
    t.property = PropertyType::variable;
    graph.inputPorts.push_back(t.id);
    op.inputs.push_back(t.id);
    return parseShape(text, t) && parseSuffixes(text, t, t.strides);
  }

  bool parseResult(std::string_view text, Op &op) {
    if (text == "_")
      return op.leaveOutOutput() || fail("too many results");
    size_t end = std::min(text.find_first_of("/<:"), text.size());
    uint64_t id = newTensor(std::string(text.substr(0, end)));
    text.remove_prefix(end);
    op.outputs.push_back(id);
    LogicalTensor &t = graph.tensors[id];
    t.dtype = op.inputs.empty() ? DType::f32 : graph.tensor(op.inputs[0]).dtype;
    const graph::OpInfo &info = graph::factsOf(op.kind);
    const graph::TypeVarInfo *var =
        op.outputs.size() == 1 && !info.results.empty()
            ? info.typeVar(info.results[0].typeVar)
            : nullptr;
    if (var && var->allowed.size() == 1)
      t.dtype = var->allowed[0];
    if (op.kind == "Select" && op.inputs.size() > 1)
      t.dtype = graph.tensor(op.inputs[1]).dtype;
    if (text.starts_with(':')) {
      text.remove_prefix(1);
      if (!parseShape(text, t))
        return false;
    }
    return parseSuffixes(text, t, resultStrides[id]);
  }

  bool parseStatement(std::vector<std::string> words) {
    if (words.empty())
      return fail("empty statement");
    if (words[0] == "out") {
      for (size_t i = 1; i < words.size(); ++i) {
        if (!names.count(words[i]))
          return fail("no tensor " + words[i]);
        graph.outputPorts.push_back(names[words[i]]);
      }
      return true;
    }
    std::vector<std::string> results = {""};
    size_t at = 0;
    if (words.size() > 2 && words[1] == "=") {
      results = split(words[0], ',');
      // Strides contain commas too: join what was torn apart.
      for (size_t i = 0; i + 1 < results.size();)
        if (results[i].find('<') != std::string::npos &&
            results[i].find('>') == std::string::npos) {
          results[i] += "," + results[i + 1];
          results.erase(results.begin() + i + 1);
        } else {
          ++i;
        }
      at = 2;
    }
    Op op;
    op.id = graph.ops.size();
    op.kind = words[at];
    op.name = words[at] + "_" + std::to_string(op.id);
    for (size_t i = at + 1; i < words.size(); ++i) {
      size_t equal = words[i].find('=');
      if (equal == std::string::npos) {
        if (!parseOperand(words[i], op))
          return false;
        continue;
      }
      std::string name = words[i].substr(0, equal);
      op.attrs[name] =
          parseValue(typeOfAttr(op.kind, name), words[i].substr(equal + 1));
    }
    const OpInfo *info = lookupOp(op.kind);
    if (at == 0 && info && info->results.empty())
      results.clear();
    for (const std::string &result : results)
      if (!parseResult(result, op))
        return false;
    graph.ops.push_back(std::move(op));
    return true;
  }

  std::unordered_map<std::string, uint64_t> names;
  uint64_t next = 0;
};

} // namespace

static Expected<Graph> parse(std::string_view text, bool infer) {
  Parser parser;
  if (!parser.parse(text))
    return Error{ErrorCode::Syntax,
                 std::string(text) + ": " + parser.problem,
                 "",
                 "",
                 {},
                 ""};
  Graph &g = parser.graph;
  if (infer) {
    if (auto errors = inferGraph(g); !errors.empty())
      return errors;
    if (auto errors = completePorts(g); !errors.empty())
      return errors;
  }
  for (auto &[id, strides] : parser.resultStrides)
    g.tensor(id).strides = strides;
  return std::move(g);
}

Expected<Graph> parseGraph(std::string_view text) { return parse(text, true); }
Expected<Graph> parseGraphOnly(std::string_view text) {
  return parse(text, false);
}

std::string caseName(size_t index, std::string_view text) {
  std::string name = std::to_string(index) + "_";
  for (char c : text.substr(0, 60))
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

} // namespace tenon::test
