//===- OutlineSections.cpp - sections become functions --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   func @g(%a, %b) {                      func @g.s0(%a, %b, %begin, %end,
//   %mem)
//     rt.parallel "g" items(%n) ... {  ->  @main: rt.section @g.s0 "fc1"
//     items(%n) } }                                           args(%a, %b)
//
// What a section reads from outside becomes arguments; literals are repeated
// inside. Group functions, which then only start sections, are inlined into
// the entries. A section waits for nothing, so any pool may run it.
//
//===----------------------------------------------------------------------===//
#include "dialects/rt/RtDialect.h"
#include "passes/Passes.h"
#include "passes/support/Entry.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tenon::passes {
#define GEN_PASS_DEF_OUTLINESECTIONS
#include "passes/Passes.h.inc"

namespace {

/// Moves the body of `op` to a function and leaves an rt.section.
void outline(rt::ParallelOp op, StringRef symbol, ModuleOp module) {
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op.getBody(), captured);
  SmallVector<Value> args;
  SmallVector<Operation *> literals;
  for (Value v : captured)
    if (auto literal = v.getDefiningOp<arith::ConstantOp>())
      literals.push_back(literal);
    else
      args.push_back(v);
  Location loc = op.getLoc();
  Block &body = op.getBody().front();
  SmallVector<Type> types;
  for (Value v : args)
    types.push_back(v.getType());
  for (Value v : body.getArguments())
    types.push_back(v.getType());
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  auto fn = func::FuncOp::create(b, loc, symbol, b.getFunctionType(types, {}));
  fn.setPrivate();
  Block *entry = fn.addEntryBlock();
  b.setInsertionPointToStart(entry);
  auto inside = [&](OpOperand &use) {
    return op->isProperAncestor(use.getOwner());
  };
  for (Operation *literal : literals) {
    Operation *copy = b.clone(*literal);
    literal->getResult(0).replaceUsesWithIf(copy->getResult(0), inside);
  }
  for (auto [i, v] : llvm::enumerate(args))
    v.replaceUsesWithIf(entry->getArgument(i), inside);
  for (auto [i, v] : llvm::enumerate(body.getArguments()))
    v.replaceAllUsesWith(entry->getArgument(args.size() + i));
  body.getTerminator()->erase();
  entry->getOperations().splice(entry->end(), body.getOperations());
  b.setInsertionPointToEnd(entry);
  func::ReturnOp::create(b, loc);
  b.setInsertionPoint(op);
  rt::SectionOp::create(b, loc, FlatSymbolRefAttr::get(fn), op.getLabelAttr(),
                        op.getItems(), op.getScratch(), args);
  op.erase();
}

struct OutlineSectionsPass : impl::OutlineSectionsBase<OutlineSectionsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> groups, entries;
    for (auto f : module.getOps<func::FuncOp>()) {
      if (isEntry(f))
        entries.push_back(f);
      else if (f->hasAttr(kGroupAttr))
        groups.push_back(f);
    }
    for (func::FuncOp g : groups) {
      int n = 0;
      StringRef base = g.getName();
      base.consume_back(kLoweredSuffix);
      SmallVector<rt::ParallelOp> list; // also those in loops over time steps
      g.walk([&](rt::ParallelOp op) { list.push_back(op); });
      for (rt::ParallelOp op : list) {
        outline(op, (base + ".s" + Twine(n++)).str(), module);
        ++sections;
      }
    }
    for (func::FuncOp f : entries)
      inlineGroups(f, module);
    for (func::FuncOp g : groups)
      g.erase();
  }

  void inlineGroups(func::FuncOp f, ModuleOp module) {
    SymbolTable symbols(module);
    SmallVector<func::CallOp> calls(f.getBody().front().getOps<func::CallOp>());
    for (func::CallOp call : calls) {
      auto g = symbols.lookup<func::FuncOp>(call.getCallee());
      if (!g || !g->hasAttr(kGroupAttr))
        continue;
      IRMapping map;
      for (auto [arg, v] : llvm::zip(g.getArguments(), call.getOperands()))
        map.map(arg, v);
      OpBuilder b(call);
      for (Operation &op : g.getBody().front().without_terminator()) {
        Operation *copy = b.clone(op, map);
        copy->setLoc(call.getLoc());
        if (auto label = call->getAttrOfType<StringAttr>(kLabelAttr))
          copy->walk(
              [&](rt::SectionOp section) { section.setLabelAttr(label); });
      }
      call.erase();
    }
  }
};

} // namespace
} // namespace tenon::passes
