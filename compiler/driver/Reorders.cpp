//===- Reorders.cpp - what is copied in another order, and what is not ----===//
#include "compiler/driver/Reorders.h"

#include "compiler/driver/FactSupport.h"
#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "dialects/graph/PlainOp.h"
#include "dialects/tile/TileDialect.h"
#include "passes/fuse/Group.h"
#include "passes/ops/WinogradName.h"
#include "passes/support/Entry.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Orders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tenon {

namespace {

using When = ReorderFacts::When;

std::optional<uint64_t> idAt(IntegerAttr attr) {
  if (!attr)
    return std::nullopt;
  return attr.getValue().getZExtValue();
}

std::optional<uint64_t> argId(func::FuncOp entry, unsigned i) {
  return idAt(entry.getArgAttrOfType<IntegerAttr>(i, graph::kIdAttr));
}

void setBytes(ReorderFacts &facts, Type from, Type to) {
  SizeCounter counter;
  facts.bytes = {counter.bytes(from), counter.bytes(to)};
  facts.sized = counter.sized;
}

/// What a group does that only brings a tensor into another order; empty: it
/// does something else.
std::string copyText(func::FuncOp group) {
  if (group.getNumArguments() == 0) // A constant, which the caller gets.
    return "";
  Operation *only = nullptr;
  for (Operation &op : group.getBody().front().without_terminator()) {
    if (isa<arith::ConstantOp>(op))
      continue;
    if (only)
      return "";
    only = &op;
  }
  if (!only)
    return "";
  return llvm::TypeSwitch<Operation *, std::string>(only)
      .Case<tile::PackOp, tile::PackGatesOp, tile::PackLevelsOp>(
          [](auto) { return "packed in panels"; })
      .Case([](tile::FlipOp) { return "taps in the opposite order"; })
      .Case([](tile::WinogradWeightsOp w) {
        return "transformed for Winograd's " +
               winogradName(static_cast<int64_t>(w.getOutputs()));
      })
      .Case([](graph::ReorderOp) { return "copied"; })
      .Default([](Operation *) { return ""; });
}

/// Whether rows of the transposed value are rows of the caller's buffer, one
/// behind the other.
bool liesInOrder(const Transposed &value) {
  SmallVector<int64_t> strides = callerStrides(value);
  return !strides.empty() && strides.back() == 1 &&
         llvm::is_sorted(strides, std::greater<>());
}

/// Reorders of one entry behind the fuse phase.
struct EntryReorders {
  // Handles of MLIR have no const methods.
  mutable func::FuncOp entry;
  const SymbolTable &symbols;
  const OpNames &names;
  std::vector<ReorderFacts> &list;
  llvm::DenseMap<Value, unsigned> outputs{}; // numbers, behind views

  std::string copyTextOf(func::CallOp call) {
    auto group = symbols.lookup<func::FuncOp>(call.getCallee());
    return group ? copyText(group) : "";
  }

  /// Sets who wrote what `v` shows, before it was copied.
  void setOrigin(Value v, ReorderFacts &facts) {
    v = graph::skipViews(v);
    auto call = v.getDefiningOp<func::CallOp>();
    while (call && !copyTextOf(call).empty()) {
      v = graph::skipViews(call.getOperand(0));
      call = v.getDefiningOp<func::CallOp>();
    }
    if (call)
      facts.from = names.at(call.getLoc());
    else if (auto arg = dyn_cast<BlockArgument>(v))
      facts.input = argId(entry, arg.getArgNumber());
  }

  /// The first output that is `v`, or a view of it.
  std::optional<uint64_t> outputOf(Value v) const {
    auto found = outputs.find(v);
    if (found == outputs.end())
      return std::nullopt;
    return idAt(
        entry.getResultAttrOfType<IntegerAttr>(found->second, graph::kIdAttr));
  }

  void addCopyGroup(func::CallOp call, const std::string &what) {
    ReorderFacts &facts = list.emplace_back();
    Value src = behindTransposes(call.getOperand(0)).source;
    Value dst = call.getResult(0);
    facts.when = entry.getName() == kFoldName ? When::bind : When::run;
    facts.what = what;
    facts.types = typesText(src.getType(), dst.getType());
    facts.ops = names.at(call.getLoc());
    setOrigin(src, facts);
    facts.output = outputOf(dst);
    if (!facts.output)
      facts.to = facts.ops;
    setBytes(facts, src.getType(), dst.getType());
  }

  void addFusedReads(func::CallOp call) {
    llvm::SmallDenseSet<Value> seen;
    for (Value v : call.getOperands()) {
      Transposed value = behindTransposes(v);
      if (!seen.insert(v).second || value.source == v || value.isSame())
        continue;
      ReorderFacts &facts = list.emplace_back();
      facts.what = liesInOrder(value) ? "read as it lies in the caller's buffer"
                                      : "read in another order";
      facts.types = typesText(value.source.getType(), v.getType());
      facts.to = names.at(call.getLoc());
      setOrigin(value.source, facts);
      setBytes(facts, value.source.getType(), v.getType());
    }
  }

  void addFusedWrites() {
    Operation *ret = entry.getBody().front().getTerminator();
    for (OpOperand &use : ret->getOpOperands()) {
      unsigned i = use.getOperandNumber();
      Value source = writtenAsComputed(entry, i);
      if (!source)
        continue;
      ReorderFacts &facts = list.emplace_back();
      facts.what = "written in the order of the caller's buffer";
      facts.types = typesText(source.getType(), use.get().getType());
      setOrigin(source, facts);
      facts.output = outputOf(source);
      setBytes(facts, source.getType(), use.get().getType());
    }
  }

  void collect() {
    Operation *ret = entry.getBody().front().getTerminator();
    for (OpOperand &use : ret->getOpOperands())
      outputs.try_emplace(graph::skipViews(use.get()), use.getOperandNumber());
    for (auto call : entry.getOps<func::CallOp>()) {
      if (std::string what = copyTextOf(call); !what.empty())
        addCopyGroup(call, what);
      else if (entry.getName() == kMainName)
        addFusedReads(call);
    }
    if (entry.getName() == kMainName)
      addFusedWrites();
  }
};

} // namespace

void collectKept(ModuleOp module, const OpNames &names, CompileReport &report) {
  auto main = module.lookupSymbol<func::FuncOp>(kMainName);
  if (!main)
    return;
  for (Operation &op : main.getBody().front()) {
    auto attr = op.getAttrOfType<DenseI64ArrayAttr>(kOrderAttr);
    if (!attr)
      continue;
    auto type = rankedType(op.getResult(0));
    SmallVector<int64_t> shape;
    for (int64_t d : attr.asArrayRef())
      shape.push_back(type.getDimSize(d));
    Type given = RankedTensorType::get(shape, type.getElementType());
    std::set<std::vector<size_t>> seen = {names.at(op.getLoc())};
    for (Operation *user : op.getUsers()) {
      // One operation of the graph may have become several.
      auto to = names.at(user->getLoc());
      if (isa<graph::StaticTransposeOp>(user) || !seen.insert(to).second)
        continue;
      ReorderFacts &facts = report.reorders.emplace_back();
      facts.what = "kept as it is computed";
      facts.types = typesText(given, type);
      facts.from = names.at(op.getLoc());
      facts.to = std::move(to);
      setBytes(facts, given, type);
    }
  }
}

void collectReorders(ModuleOp module, const OpNames &names,
                     CompileReport &report) {
  SymbolTable symbols(module);
  for (StringRef name : {kMainName, kFoldName})
    if (auto entry = symbols.lookup<func::FuncOp>(name))
      EntryReorders{entry, symbols, names, report.reorders}.collect();
}

void addCopy(func::CallOp call, const OpNames &names, CompileReport &report) {
  auto entry = call->getParentOfType<func::FuncOp>();
  Value from = call.getOperand(0), to = call.getOperands().back();
  ReorderFacts facts;
  facts.when = entry.getName() == kFoldName ? When::bind : When::run;
  facts.what = "copied";
  facts.types = typesText(from.getType(), to.getType());
  facts.ops = names.at(call.getLoc());
  if (auto arg = dyn_cast<BlockArgument>(bufferOf(from)))
    facts.input = argId(entry, arg.getArgNumber());
  if (auto arg = dyn_cast<BlockArgument>(bufferOf(to)))
    facts.output = argId(entry, arg.getArgNumber());
  (facts.output ? facts.from : facts.to) = facts.ops;
  setBytes(facts, from.getType(), to.getType());
  // Its reader cannot take it as it lies after all.
  llvm::erase_if(report.reorders, [&](const ReorderFacts &other) {
    return other.when == When::never && !other.to.empty() &&
           other.to == facts.to && other.input == facts.input &&
           other.bytes.read == facts.bytes.read;
  });
  report.reorders.push_back(std::move(facts));
}

} // namespace tenon
