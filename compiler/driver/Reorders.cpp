//===- Reorders.cpp - what is copied in another order, and what is not ----===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Reorders.h"

#include "compiler/driver/ReportSupport.h"
#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "dialects/graph/PlainOp.h"
#include "dialects/tile/TileDialect.h"
#include "passes/fuse/Group.h"
#include "passes/ops/WinogradName.h"
#include "passes/support/Entry.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Permutations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tenon {

using namespace passes;

namespace {

using When = ReorderInfo::When;

std::optional<uint64_t> idAt(IntegerAttr attr) {
  if (!attr)
    return std::nullopt;
  return attr.getValue().getZExtValue();
}

std::optional<uint64_t> argId(func::FuncOp entry, unsigned i) {
  return idAt(entry.getArgAttrOfType<IntegerAttr>(i, graph::kIdAttr));
}

void setBytes(ReorderInfo &info, Type from, Type to) {
  SizeCounter counter;
  info.bytes = {counter.bytes(from), counter.bytes(to)};
  info.sized = counter.sized;
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
      .Case<tile::PackOp, tile::PackQuantizedOp>(
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
/// after the other.
bool liesInOrder(const Transposed &value) {
  SmallVector<int64_t> strides = callerStrides(value);
  return !strides.empty() && strides.back() == 1 &&
         llvm::is_sorted(strides, std::greater<>());
}

/// Reorders of one entry after the fuse phase.
struct EntryReorders {
  // Handles of MLIR have no const methods.
  mutable func::FuncOp entry;
  const SymbolTable &symbols;
  const OpNames &names;
  std::vector<ReorderInfo> &list;
  llvm::DenseMap<Value, unsigned> outputs{}; // numbers, under views

  std::string copyTextOf(func::CallOp call) {
    auto group = symbols.lookup<func::FuncOp>(call.getCallee());
    return group ? copyText(group) : "";
  }

  /// Sets who wrote what `v` shows, before it was copied.
  void setOrigin(Value v, ReorderInfo &info) {
    v = graph::skipViews(v);
    auto call = v.getDefiningOp<func::CallOp>();
    while (call && !copyTextOf(call).empty()) {
      v = graph::skipViews(call.getOperand(0));
      call = v.getDefiningOp<func::CallOp>();
    }
    if (call)
      info.from = names.at(call.getLoc());
    else if (auto arg = dyn_cast<BlockArgument>(v))
      info.input = argId(entry, arg.getArgNumber());
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
    ReorderInfo &info = list.emplace_back();
    Value src = skipTransposes(call.getOperand(0)).source;
    Value dst = call.getResult(0);
    info.when = entry.getName() == kFoldName ? When::bind : When::run;
    info.what = what;
    info.types = typesText(src.getType(), dst.getType());
    info.ops = names.at(call.getLoc());
    setOrigin(src, info);
    info.output = outputOf(dst);
    if (!info.output)
      info.to = info.ops;
    setBytes(info, src.getType(), dst.getType());
  }

  void addFusedReads(func::CallOp call) {
    llvm::SmallDenseSet<Value> seen;
    for (Value v : call.getOperands()) {
      Transposed value = skipTransposes(v);
      if (!seen.insert(v).second || value.source == v || value.isSame())
        continue;
      ReorderInfo &info = list.emplace_back();
      info.what = liesInOrder(value) ? "read as it lies in the caller's buffer"
                                     : "read in another order";
      info.types = typesText(value.source.getType(), v.getType());
      info.to = names.at(call.getLoc());
      setOrigin(value.source, info);
      setBytes(info, value.source.getType(), v.getType());
    }
  }

  void addFusedWrites() {
    Operation *ret = entry.getBody().front().getTerminator();
    for (OpOperand &use : ret->getOpOperands()) {
      unsigned i = use.getOperandNumber();
      Value source = writtenAsComputed(entry, i);
      if (!source)
        continue;
      ReorderInfo &info = list.emplace_back();
      info.what = "written in the order of the caller's buffer";
      info.types = typesText(source.getType(), use.get().getType());
      setOrigin(source, info);
      info.output = outputOf(source);
      setBytes(info, source.getType(), use.get().getType());
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
      ReorderInfo &info = report.reorders.emplace_back();
      info.what = "kept as it is computed";
      info.types = typesText(given, type);
      info.from = names.at(op.getLoc());
      info.to = std::move(to);
      setBytes(info, given, type);
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
  ReorderInfo info;
  info.when = entry.getName() == kFoldName ? When::bind : When::run;
  info.what = "copied";
  info.types = typesText(from.getType(), to.getType());
  info.ops = names.at(call.getLoc());
  if (auto arg = dyn_cast<BlockArgument>(bufferOf(from)))
    info.input = argId(entry, arg.getArgNumber());
  if (auto arg = dyn_cast<BlockArgument>(bufferOf(to)))
    info.output = argId(entry, arg.getArgNumber());
  (info.output ? info.from : info.to) = info.ops;
  setBytes(info, from.getType(), to.getType());
  // Its reader cannot take it as it lies after all.
  llvm::erase_if(report.reorders, [&](const ReorderInfo &other) {
    return other.when == When::never && !other.to.empty() &&
           other.to == info.to && other.input == info.input &&
           other.bytes.read == info.bytes.read;
  });
  report.reorders.push_back(std::move(info));
}

} // namespace tenon
