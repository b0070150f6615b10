//===- GroupFacts.cpp - what groups compute and move ----------------------===//
#include "compiler/driver/GroupFacts.h"

#include "compiler/report/Stats.h"
#include "dialects/tile/TileDialect.h"
#include "passes/fusion/Group.h"
#include "passes/support/Entry.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"

#include <set>
#include <unordered_map>

using namespace mlir;

namespace tenon {

namespace {

/// How the tile phase names functions that copy.
constexpr llvm::StringLiteral kCopyPrefix = "g.copy";

/// The operations of a graph that locations name.
class OpNames {
public:
  explicit OpNames(const graph::Graph &graph) {
    for (size_t i = 0; i < graph.ops.size(); ++i)
      if (const graph::Op &op = graph.ops[i]; !op.name.empty())
        byName[op.name].push_back(i);
  }

  void add(Location loc, std::set<size_t> &ops) const {
    if (auto named = dyn_cast<NameLoc>(loc)) {
      addJoined(named.getName().strref(), ops);
      add(named.getChildLoc(), ops);
    } else if (auto fused = dyn_cast<FusedLoc>(loc)) {
      for (Location l : fused.getLocations())
        add(l, ops);
    }
  }

private:
  /// A name, or several joined with "+". Names may hold pluses themselves: the
  /// longest one that fits wins.
  void addJoined(StringRef text, std::set<size_t> &ops) const {
    while (!text.empty()) {
      size_t length = text.size();
      auto found = byName.end();
      while (length > 0) {
        found = byName.find(text.take_front(length).str());
        if (found != byName.end())
          break;
        size_t plus = text.take_front(length).rfind('+');
        length = plus == StringRef::npos ? 0 : plus;
      }
      if (found != byName.end())
        ops.insert(found->second.begin(), found->second.end());
      else // made by the compiler
        length = std::min(text.find('+'), text.size());
      text = text.drop_front(std::min(text.size(), length + 1));
    }
  }

  std::unordered_map<std::string, std::vector<size_t>> byName;
};

/// Sums over types, which notices sizes that are not known.
struct Counter {
  bool sized = true;

  double elements(Type type) {
    auto shaped = cast<ShapedType>(type);
    if (!shaped.hasStaticShape()) {
      sized = false;
      return 0;
    }
    return static_cast<double>(shaped.getNumElements());
  }
  double bytes(Type type) {
    Type element = storageType(cast<ShapedType>(type).getElementType());
    return elements(type) * element.getIntOrFloatBitWidth() / 8;
  }
  double product(ArrayRef<int64_t> sizes) {
    double n = 1;
    for (int64_t size : sizes) {
      sized &= !ShapedType::isDynamic(size);
      n *= static_cast<double>(size);
    }
    return sized ? n : 0;
  }

  double flopsOf(Operation *op);
  double attentionFlops(tile::AttentionOp op);
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
  if (depthwise)
    return flops;
  return flops * product(rankedType(other).getShape().take_back()) /
         static_cast<double>(groups);
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

double Counter::flopsOf(Operation *op) {
  auto shape = [](Value v) { return rankedType(v).getShape(); };
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case([&](tile::MatMulOp m) {
        return 2 * elements(m.getDst().getType()) *
               product(shape(m.getSrc()).take_back());
      })
      // Every element of dst meets all weights of its channel, from the
      // channels of src in its group ...
      .Case([&](tile::ConvOp c) {
        return windowFlops(c.getDst(), c.getWeights(), c.getSrc(),
                           c.getGroups(), c.getDepthwise());
      })
      // By minimal filtering the same is computed in fewer multiplications.
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
      .Case([&](tile::AttentionOp a) { return attentionFlops(a); })
      .Case([&](tile::RnnOp r) {
        return 2 * tile::RnnOp::kGates * elements(r.getDst().getType()) *
               product(shape(r.getRecurrent()).slice(1, 1));
      })
      .Case<tile::PackOp, tile::PackGatesOp, tile::WinogradWeightsOp,
            arith::ConstantOp, func::ReturnOp>([](auto) { return 0.0; })
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

std::string typeText(Type type) {
  auto shaped = cast<ShapedType>(type);
  std::string text;
  llvm::raw_string_ostream os(text);
  for (int64_t size : shaped.getShape())
    if (ShapedType::isDynamic(size))
      os << "?x";
    else
      os << size << "x";
  os << shaped.getElementType();
  return text;
}

std::string typesText(TypeRange read, TypeRange written) {
  std::string text;
  for (TypeRange list : {read, written}) {
    if (!text.empty())
      text += " -> ";
    for (auto [i, type] : llvm::enumerate(list))
      text += (i ? ", " : "") + typeText(type);
  }
  return text;
}

/// What a view shows.
Value behindViews(Value v) {
  while (Operation *def = v.getDefiningOp()) {
    if (!fusion::isView(def))
      break;
    v = def->getOperand(0);
  }
  return v;
}

void collectEntry(func::FuncOp entry, const SymbolTable &symbols,
                  const OpNames &names, std::vector<GroupFacts> &list) {
  llvm::DenseSet<Value> results, touched;
  for (Value v : entry.getBody().front().getTerminator()->getOperands())
    results.insert(behindViews(v));
  for (auto call : entry.getOps<func::CallOp>()) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    auto label = call->getAttrOfType<StringAttr>(kLabelAttr);
    if (!callee || !label)
      continue;
    GroupFacts &facts = list.emplace_back();
    facts.label = label.getValue().str();
    facts.kind = callee->getAttrOfType<StringAttr>(kGroupAttr).str();
    facts.types = typesText(call.getOperandTypes(), call.getResultTypes());
    std::set<size_t> ops;
    names.add(call.getLoc(), ops);
    facts.ops.assign(ops.begin(), ops.end());
    Counter counter;
    for (Operation &op : callee.getBody().front())
      facts.flops += counter.flopsOf(&op);
    llvm::DenseSet<Value> seen;
    for (Value v : call.getOperands()) {
      Value whole = behindViews(v);
      if (!seen.insert(whole).second)
        continue;
      bool first = touched.insert(whole).second && !whole.getDefiningOp();
      (first ? facts.memory : facts.reused).read +=
          counter.bytes(whole.getType());
    }
    for (Value v : call.getResults())
      (results.contains(v) ? facts.memory : facts.reused).written +=
          counter.bytes(v.getType());
    facts.sized = counter.sized;
  }
}

/// The buffer that a chain of views shows.
Value bufferOf(Value v) {
  while (Operation *def = v.getDefiningOp()) {
    auto view = dyn_cast<ViewLikeOpInterface>(def);
    if (!view || isa<memref::ViewOp>(def))
      break;
    v = view.getViewSource();
  }
  return v;
}

void collectCopies(func::FuncOp entry, const OpNames &names,
                   std::vector<GroupFacts> &list) {
  for (auto call : entry.getOps<func::CallOp>()) {
    if (!call.getCallee().starts_with(kCopyPrefix))
      continue;
    GroupFacts &facts = list.emplace_back();
    facts.label = facts.kind = "copy";
    Type from = call.getOperand(0).getType(),
         to = call.getOperands().back().getType();
    facts.types = typesText(from, to);
    std::set<size_t> ops;
    names.add(call.getLoc(), ops);
    facts.ops.assign(ops.begin(), ops.end());
    Counter counter;
    auto traffic = [&](Value v) -> Traffic & {
      bool arena = bufferOf(v).getDefiningOp<memref::ViewOp>() != nullptr;
      return arena ? facts.reused : facts.memory;
    };
    traffic(call.getOperand(0)).read += counter.bytes(from);
    traffic(call.getOperands().back()).written += counter.bytes(to);
    facts.sized = counter.sized;
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
      if (!offset) // behind buffers of unknown size
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

void collectGroups(ModuleOp module, const graph::Graph &graph,
                   CompileReport &report) {
  OpNames names(graph);
  SymbolTable symbols(module);
  if (auto main = symbols.lookup<func::FuncOp>(kMainName))
    collectEntry(main, symbols, names, report.mainGroups);
  if (auto fold = symbols.lookup<func::FuncOp>(kFoldName))
    collectEntry(fold, symbols, names, report.foldGroups);
}

void collectBuffers(ModuleOp module, const graph::Graph &graph,
                    CompileReport &report) {
  OpNames names(graph);
  if (auto main = module.lookupSymbol<func::FuncOp>(kMainName)) {
    collectCopies(main, names, report.mainGroups);
    collectArena(main, report);
  }
  if (auto fold = module.lookupSymbol<func::FuncOp>(kFoldName))
    collectCopies(fold, names, report.foldGroups);
}

} // namespace tenon
