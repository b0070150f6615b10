//===- Generate.cpp - random valid graphs ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Operations are added one by one. Each takes values that earlier ones made, or
// inputs that others read already, where shape and type fit, else new inputs;
// the recent values are taken most, so that chains form which fuse.
//
//===----------------------------------------------------------------------===//
#include "tests/differential/Generate.h"

#include "dialects/graph/forms/OpForms.h"
#include "dialects/graph/infer/Infer.h"

#include <algorithm>
#include <set>

namespace tenon::test {

using namespace forms;
using namespace graph;

namespace {

/// Whether results of the operation may be so large that they say nothing when
/// its operands were computed.
bool grows(std::string_view kind) {
  return kind == "Exp" || kind == "ReduceL2" || kind == "ReduceProd";
}

/// Whether the result jumps where its operands change a little: what errors on
/// the way make of it says nothing.
bool jumps(std::string_view kind) {
  return kind == "Floor" || kind == "Remainder" || kind == "Atan2";
}

bool isLength(const ValueInfo &operand) {
  return operand.domain == Domain::length;
}

bool isOfDomain(const ValueInfo &operand) {
  switch (operand.domain) {
  case Domain::length: // says nothing of the other operands
  case Domain::any:
  case Domain::quantized:
  case Domain::scale:
  case Domain::zeroPoint:
  case Domain::half:
    return false;
  default:
    return true;
  }
}

/// Whether the numbers of an operand are the sizes of the result.
bool saysSizes(std::string_view kind, size_t operand) {
  const OpInfo &info = factsOf(kind);
  return operand < info.operands.size() && info.operands[operand].isShape;
}

/// Whether values computed on the way make a poor operand: not in the domain
/// of the function, not the shape of the result, or so large that the result
/// says nothing.  New inputs get
/// values that suit (compiler/check/Fill.h).
bool wantsInput(std::string_view kind, size_t operand) {
  const OpInfo &info = factsOf(kind);
  if (jumps(kind) || saysSizes(kind, operand) ||
      (operand < info.operands.size() && isLength(info.operands[operand])))
    return true;
  // Variances and other parameters.
  if (info.typeRule == "statistics")
    return operand > 0;
  // Divisors.
  bool isGradient = !info.backwardOf.empty();
  if (info.operands.size() > 1 && !isGradient)
    return operand < info.operands.size() && isOfDomain(info.operands[operand]);
  return grows(kind) || std::ranges::any_of(info.operands, isOfDomain);
}

class Generator {
public:
  Generator(uint64_t seed, const GenerateOptions &options)
      : random(seed), options(options), kinds(compilingOps()),
        firstKind(kinds[seed % kinds.size()]) {
    form.maxElements = options.maxElements;
    form.palette.clear();
    for (int i = 0; i < 3; ++i)
      form.palette.push_back(boundaryDim(random));
    if (random.chance(6))
      form.palette[0] = 0;
  }

  Graph run() {
    static constexpr int64_t sizes[] = {1, 1, 2,  3,  3,  4,  5,
                                        6, 8, 10, 12, 16, 20, 30};
    auto target =
        static_cast<size_t>(std::min(options.maxOps, random.pick(sizes)));
    addOp(*firstKind);
    for (int tries = 0; graph.ops.size() < target && tries < 200; ++tries)
      addOp(*nextKind());
    finish();
    return std::move(graph);
  }

private:
  const OpInfo *nextKind() {
    const OpInfo *kind = random.pick(kinds);
    // More of what fuses.
    if (kind->category.starts_with("elementwise") || random.chance(60))
      return kind;
    std::vector<const OpInfo *> fusing;
    for (const OpInfo *info : kinds)
      if (info->category.starts_with("elementwise"))
        fusing.push_back(info);
    return fusing.empty() ? kind : random.pick(fusing);
  }

  /// A value that `info` may take as operand 0, recent ones first.
  const LogicalTensor *pickFirst(const OpInfo &info) {
    if (values.empty() || info.operands.empty() || random.chance(15) ||
        jumps(info.kind) || (wantsInput(info.kind, 0) && random.chance(85)))
      return nullptr;
    std::vector<DType> types = typesOf(info, info.operands[0].typeVar, true);
    for (int i = 0; i < 8; ++i) {
      auto last = static_cast<int64_t>(values.size()) - 1;
      uint64_t id = values[random.chance(60) ? std::max<int64_t>(last - i, 0)
                                             : random.in(0, last)];
      const LogicalTensor &tensor = graph.tensor(id);
      if (std::find(types.begin(), types.end(), tensor.dtype) != types.end())
        return &tensor;
    }
    return nullptr;
  }

  void addOp(const OpInfo &info) {
    std::optional<OpForm> made;
    std::optional<uint64_t> first;
    if (const LogicalTensor *tensor = pickFirst(info)) {
      first = tensor->id;
      made = makeForm(info, random, form, tensor);
    }
    if (!made) {
      first.reset();
      made = makeForm(info, random, form);
    }
    if (!made)
      return;
    Op op = std::move(made->op);
    op.id = graph.ops.size();
    op.name = op.kind + "_" + std::to_string(op.id);
    for (size_t i = 0; i < made->inputs.size(); ++i)
      op.inputs.push_back(
          i == 0 && first
              ? *first
              : operandLike(made->inputs[i], info.kind, op.inputSlot(i)));
    for (LogicalTensor &output : made->outputs) {
      op.outputs.push_back(addTensor(std::move(output)));
      values.push_back(op.outputs.back());
    }
    graph.ops.push_back(std::move(op));
  }

  /// A value of the shape and type of `wanted`: an old one, or a new input.
  uint64_t operandLike(const LogicalTensor &wanted, std::string_view kind,
                       size_t operand) {
    if (!wantsInput(kind, operand) && random.chance(60)) {
      std::vector<uint64_t> fitting;
      for (uint64_t id : values)
        if (graph.tensor(id).dtype == wanted.dtype &&
            graph.tensor(id).shape == wanted.shape)
          fitting.push_back(id);
      if (!fitting.empty())
        return random.chance(50) ? fitting.back() : random.pick(fitting);
    }
    LogicalTensor input = wanted;
    bool isConstant = random.chance(operand > 0 ? 35 : 8);
    input.property =
        isConstant ? PropertyType::constant
                   : random.pick({PropertyType::variable, PropertyType::undef});
    if (random.chance(10))
      input.strides =
          someStrides(*input.shape, /*mayRepeat=*/!saysSizes(kind, operand));
    uint64_t id = addTensor(std::move(input));
    graph.inputPorts.push_back(id);
    // Others may read it too.
    if (!isConstant && !wantsInput(kind, operand))
      values.push_back(id);
    return id;
  }

  uint64_t addTensor(LogicalTensor tensor) {
    uint64_t id = tensor.id = graph.tensors.size();
    graph.tensors[id] = std::move(tensor);
    return id;
  }

  /// Dims in another order in memory, gaps between rows, or (for inputs) one
  /// element for a whole dim.
  Dims someStrides(const Dims &shape, bool mayRepeat) {
    Dims order(shape.size()), strides(shape.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = static_cast<int64_t>(i);
    if (random.chance(60))
      for (size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1],
                  order[random.in(0, static_cast<int64_t>(i) - 1)]);
    int64_t step = random.chance(10) ? 2 : 1;
    for (size_t i = order.size(); i-- > 0;) {
      strides[order[i]] = step;
      step *= std::max<int64_t>(shape[order[i]], 1);
      if (random.chance(25))
        step += random.in(1, 5);
    }
    if (mayRepeat && !strides.empty() && random.chance(10))
      strides[random.in(0, static_cast<int64_t>(strides.size()) - 1)] = 0;
    return strides;
  }

  /// Ports, and layouts of what the caller sees.
  void finish() {
    for (const Op &op : graph.ops)
      for (uint64_t id : op.outputs)
        if (random.chance(8))
          graph.outputPorts.push_back(id);
    // Cannot fail: all ports have tensors.
    completePorts(graph);
    std::set<uint64_t> inputs(graph.inputPorts.begin(), graph.inputPorts.end());
    for (uint64_t id : graph.outputPorts)
      if (random.chance(12) && !inputs.count(id))
        graph.tensor(id).strides =
            someStrides(*graph.tensor(id).shape, /*mayRepeat=*/false);
  }

  Random random;
  const GenerateOptions &options;
  FormOptions form;
  std::vector<const OpInfo *> kinds;
  const OpInfo *firstKind;
  Graph graph;
  std::vector<uint64_t> values;
};

} // namespace

std::vector<const OpInfo *> compilingOps() {
  std::vector<const OpInfo *> ops;
  for (const OpInfo &info : allOps())
    if (!info.compiles.empty())
      ops.push_back(&info);
  return ops;
}

Graph generateGraph(uint64_t seed, const GenerateOptions &options) {
  return Generator(seed, options).run();
}

} // namespace tenon::test
