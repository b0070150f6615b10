//===- GroupStats.cpp - what groups compute and move ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/GroupStats.h"

#include "compiler/driver/Reorders.h"
#include "compiler/driver/ReportSupport.h"
#include "compiler/report/Stats.h"
#include "dialects/graph/OpFacts.h"
#include "dialects/tile/TileDialect.h"
#include "passes/fuse/Group.h"
#include "passes/support/Entry.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

#include <set>

using namespace mlir;

namespace tenon {

using namespace passes;

namespace {

struct Counter : SizeCounter {
  double flopsOf(Operation *op);
  double attentionFlops(tile::AttentionOp op);
  double attentionFlops(tile::AttentionBackwardOp op);
  double recurrenceFlops(tile::RecurrenceOp op);
  double windowFlops(Value dense, Value weights, Value other, int64_t groups,
                     bool depthwise);
};

/// Each element of `dense` with each tap, and each channel of the group of
/// `other`. Weights are as they were or in panels.
double Counter::windowFlops(Value dense, Value weights, Value other,
                            int64_t groups, bool depthwise) {
  size_t spatial = rankedType(dense).getRank() - 2;
  auto taps = rankedType(weights).getShape().slice(depthwise ? 0 : 2, spatial);
  double flops = 2 * elements(dense.getType()) * product(taps);
  // The channels of a group that each meets.
  if (depthwise)
    return flops * product(rankedType(weights).getShape().slice(spatial, 1));
  return flops * product(rankedType(other).getShape().take_back()) /
         static_cast<double>(groups);
}

/// Each stage multiplies a row of its source with all its weights.
double Counter::recurrenceFlops(tile::RecurrenceOp op) {
  auto sizeIn = [&](int64_t operand, int64_t dim) {
    return product(
        rankedType(op.getInputs()[operand]).getShape().slice(dim, 1));
  };
  tile::StepOperandAttr steps = op.getForm(op.operandWithSteps()),
                        rows = op.getForm(op.operandWithBatch());
  double count =
      sizeIn(op.operandWithSteps(), steps.getLead().size()) *
      sizeIn(op.operandWithBatch(), rows.getLead().size() + rows.getSteps());
  double flops = 0;
  for (int64_t i = 0, e = op.getStages().size(); i < e; ++i) {
    tile::StageAttr s = op.getStage(i);
    int64_t k =
        s.getState() >= 0 ? op.getState(s.getState()).getWidth() : s.getDepth();
    if (s.getWeights() >= 0)
      flops += 2.0 * s.getProducts() * k * s.getWidth() * count;
  }
  return flops;
}

double Counter::attentionFlops(tile::AttentionOp op) {
  auto dst = rankedType(op.getDst());
  int64_t depth = rankedType(op.getQ()).getShape().back();
  // The dimension of v that is not summed over.
  int64_t width = dst.getDimSize(dst.getRank() - (op.getFromLeft() ? 2 : 1));
  // Each operation on a score, and the softmax.
  double onScores = 1;
  for (Region *region : {&op.getScore(), &op.getWeights()})
    region->walk([&](Operation *inner) {
      onScores += !isa<arith::ConstantOp, tile::YieldOp>(inner);
    });
  return product(op.getScoreShape()) *
         (2 * product({depth}) + 2 * product({width}) + onScores);
}

/// Five products, and what the region does to a score.
double Counter::attentionFlops(tile::AttentionBackwardOp op) {
  int64_t depth = rankedType(op.getQ()).getShape().back();
  int64_t width = rankedType(op.getV()).getShape().back();
  double onScores = 0;
  op.getGradient().walk([&](Operation *inner) {
    onScores += !isa<arith::ConstantOp, tile::YieldOp>(inner);
  });
  return product(op.getScoreShape()) *
         (2 * (3 * product({depth}) + 2 * product({width})) + onScores);
}

double Counter::flopsOf(Operation *op) {
  auto shape = [](Value v) { return rankedType(v).getShape(); };
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case([&](tile::MatMulOp m) {
        return 2 * elements(m.getDst().getType()) *
               (m.getQuantized() ? product({m.quantizedK()})
                                 : product(shape(m.getSrc()).take_back()));
      })
      // Every element of dst meets all weights of its channel, from the
      // channels of src in its group ...
      .Case([&](tile::ConvOp c) {
        return windowFlops(c.getDst(), c.getWeights(), c.getSrc(),
                           c.getGroups(), c.getDepthwise()) *
               static_cast<double>(c.getJoined());
      })
      // By Winograd the same is computed in fewer multiplications.
      .Case([&](tile::WinogradOp w) {
        constexpr double taps = 9;
        return 2 * taps * elements(w.getDst().getType()) *
               product(shape(w.getSrc()).take_back());
      })
      // ... here every element of src, with the channels of dst it reaches.
      .Case([&](tile::ConvTransposeOp c) {
        return windowFlops(c.getSrc(), c.getWeights(), c.getDst(),
                           c.getGroups(), c.getDepthwise());
      })
      // Every weight meets all positions of diff.
      .Case([&](tile::ConvWeightsOp c) {
        auto diff = shape(c.getDiff()).drop_back();
        return 2 * elements(c.getDst().getType()) *
               product(c.getPacked() ? diff.drop_front(2) : diff);
      })
      .Case<tile::AttentionOp, tile::AttentionBackwardOp>(
          [&](auto attention) { return attentionFlops(attention); })
      .Case([&](tile::RecurrenceOp r) { return recurrenceFlops(r); })
      .Case<tile::FlipOp, tile::PackOp, tile::SliceOp, tile::PackQuantizedOp,
            tile::WinogradWeightsOp, arith::ConstantOp, func::ReturnOp>(
          [](auto) { return 0.0; })
      .Default([&](Operation *other) {
        if (report::movesOnly(kindOf(other)))
          return 0.0;
        double largest = 0;
        for (Type type : other->getOperandTypes())
          largest = std::max(largest, elements(type));
        for (Type type : other->getResultTypes())
          largest = std::max(largest, elements(type));
        return largest;
      });
}

void collectEntry(func::FuncOp entry, const SymbolTable &symbols,
                  const OpNames &names, std::vector<GroupStats> &list) {
  llvm::DenseSet<Value> results, touched;
  for (Value v : entry.getBody().front().getTerminator()->getOperands())
    results.insert(graph::skipViews(v));
  // What a result joins is written into it.
  SmallVector<func::CallOp> calls(entry.getOps<func::CallOp>());
  for (func::CallOp call : llvm::reverse(calls))
    if (auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
        callee && results.contains(call.getResults().front()))
      for (Value v : elidedOperands(call, callee))
        if (v)
          results.insert(graph::skipViews(v));
  llvm::DenseMap<Operation *, std::vector<size_t>> placedBy;
  for (auto call : entry.getOps<func::CallOp>()) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    auto label = call->getAttrOfType<StringAttr>(kLabelAttr);
    if (!callee || !label)
      continue;
    GroupStats &stats = list.emplace_back();
    stats.label = label.getValue().str();
    stats.kind = tile::stringifyGroupKind(*groupKindOf(callee)).str();
    stats.types = typesText(call.getOperandTypes(), call.getResultTypes());
    stats.ops = names.at(call.getLoc());
    Counter counter;
    for (Operation &op : callee.getBody().front())
      stats.flops += counter.flopsOf(&op);
    // What a Concat has in place it does not move.
    llvm::DenseSet<Value> seen;
    double placed = 0;
    std::set<size_t> writers;
    for (Value v : elidedOperands(call, callee))
      if (v) {
        Value whole = graph::skipViews(v);
        seen.insert(whole);
        placed += counter.bytes(v.getType());
        Operation *writer = whole.getDefiningOp();
        for (const auto &ops :
             {names.at(writer->getLoc()), placedBy.lookup(writer)})
          writers.insert(ops.begin(), ops.end());
      }
    stats.inPlace.assign(writers.begin(), writers.end());
    placedBy[call] = stats.inPlace;
    for (Value v : call.getOperands()) {
      Value whole = graph::skipViews(v);
      if (!seen.insert(whole).second)
        continue;
      bool first = touched.insert(whole).second &&
                   !passes::skipAliases(whole).getDefiningOp();
      (first ? stats.memory : stats.reused).read +=
          counter.bytes(whole.getType());
    }
    for (Value v : call.getResults())
      (results.contains(v) ? stats.memory : stats.reused).written +=
          counter.bytes(v.getType()) - placed;
    stats.sized = counter.sized;
  }
}

void collectCopies(func::FuncOp entry, const OpNames &names,
                   std::vector<GroupStats> &list, CompileReport &report) {
  for (auto call : entry.getOps<func::CallOp>()) {
    if (!call.getCallee().starts_with(kCopyPrefix))
      continue;
    GroupStats &stats = list.emplace_back();
    stats.label = stats.kind = "copy";
    Type from = call.getOperand(0).getType(),
         to = call.getOperands().back().getType();
    stats.types = typesText(from, to);
    stats.ops = names.at(call.getLoc());
    Counter counter;
    auto traffic = [&](Value v) -> Traffic & {
      bool arena = bufferOf(v).getDefiningOp<memref::ViewOp>() != nullptr;
      return arena ? stats.reused : stats.memory;
    };
    traffic(call.getOperand(0)).read += counter.bytes(from);
    traffic(call.getOperands().back()).written += counter.bytes(to);
    stats.sized = counter.sized;
    addCopy(call, names, report);
  }
}

void collectArena(func::FuncOp main, CompileReport &report) {
  llvm::DenseMap<Value, size_t> known; // place in report.arena
  Counter counter;
  for (auto call : main.getOps<func::CallOp>()) {
    size_t step = report.arenaSteps.size();
    auto label = call->getAttrOfType<StringAttr>(kLabelAttr);
    report.arenaSteps.push_back(
        (label ? label.getValue() : call.getCallee()).str());
    for (Value operand : call.getOperands()) {
      auto view = bufferOf(operand).getDefiningOp<memref::ViewOp>();
      if (!view || !view.getType().hasStaticShape())
        continue;
      auto offset = getConstantIntValue(view.getByteShift());
      if (!offset) // after buffers of unknown size
        continue;
      auto [it, isNew] = known.try_emplace(view, report.arena.size());
      if (isNew)
        report.arena.push_back(
            {report.arenaSteps.back(), typeText(view.getType()), *offset,
             static_cast<int64_t>(counter.bytes(view.getType())), step, step});
      report.arena[it->second].last = step;
    }
  }
}

} // namespace

void collectGroups(ModuleOp module, const OpNames &names,
                   CompileReport &report) {
  SymbolTable symbols(module);
  if (auto main = symbols.lookup<func::FuncOp>(kMainName))
    collectEntry(main, symbols, names, report.mainGroups);
  if (auto fold = symbols.lookup<func::FuncOp>(kFoldName))
    collectEntry(fold, symbols, names, report.foldGroups);
}

void collectBuffers(ModuleOp module, const OpNames &names,
                    CompileReport &report) {
  if (auto main = module.lookupSymbol<func::FuncOp>(kMainName)) {
    collectCopies(main, names, report.mainGroups, report);
    collectArena(main, report);
  }
  if (auto fold = module.lookupSymbol<func::FuncOp>(kFoldName))
    collectCopies(fold, names, report.foldGroups, report);
}

} // namespace tenon
