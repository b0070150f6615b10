//===- OutlineConstants.cpp - what runs once goes to @fold ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   @main(%x, %w {graph.property = "constant"})      @main(%x, %w, %f
//   {tile.folded})
//     %p = tile.pack %w                         ->     tile.matmul %x, %f
//     tile.matmul %x, %p                             @fold(%w) -> tile.pack %w
//
// An operation moves when all its operands are constants, folded values or
// moved results. Views (reshape, transpose) of constants cost nothing, so they
// move only when something that moves reads them.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/OpFacts.h"
#include "passes/Passes.h"
#include "passes/ops/OpKinds.h"
#include "passes/support/Build.h"
#include "passes/support/Entry.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tenon::passes {
#define GEN_PASS_DEF_OUTLINECONSTANTS
#include "passes/Passes.h.inc"

namespace {

/// Whether memory for the results can be had before any input is known.
bool hasKnownShapes(Operation *op) {
  auto isKnown = [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return !shaped || shaped.hasStaticShape();
  };
  return llvm::all_of(op->getOperandTypes(), isKnown) &&
         llvm::all_of(op->getResultTypes(), isKnown);
}

struct Outliner {
  ModuleOp module;
  func::FuncOp main;
  func::FuncOp fold;
  IRMapping toFold; // values of main -> values of fold
  int64_t moved = 0;

  Outliner(ModuleOp module, func::FuncOp main) : module(module), main(main) {}

  /// @fold, made on first use: one argument per constant argument of @main.
  void prepareFold() {
    fold = module.lookupSymbol<func::FuncOp>(kFoldName);
    OpBuilder b(module.getContext());
    if (!fold) {
      SmallVector<Type> types;
      SmallVector<DictionaryAttr> attrs;
      for (BlockArgument arg : main.getArguments())
        if (isConstantArg(main, arg.getArgNumber())) {
          types.push_back(arg.getType());
          attrs.push_back(main.getArgAttrDict(arg.getArgNumber()));
        }
      b.setInsertionPointAfter(main);
      fold = func::FuncOp::create(b, main.getLoc(), kFoldName,
                                  b.getFunctionType(types, {}));
      fold.setAllArgAttrs(attrs);
      Block *body = fold.addEntryBlock();
      b.setInsertionPointToEnd(body);
      func::ReturnOp::create(b, main.getLoc());
    }
    unsigned constant = 0, folded = 0;
    Operation *ret = fold.getBody().front().getTerminator();
    for (BlockArgument arg : main.getArguments()) {
      unsigned i = arg.getArgNumber();
      if (isConstantArg(main, i))
        toFold.map(arg, fold.getArgument(constant++));
      else if (isFoldedArg(main, i))
        toFold.map(arg, ret->getOperand(folded++));
    }
  }

  bool isKnown(Value v) { return toFold.contains(v); }

  /// Operations of main that only depend on constants.
  SmallVector<Operation *> findMovable() {
    llvm::DenseSet<Value> known;
    for (BlockArgument arg : main.getArguments())
      if (isConstantArg(main, arg.getArgNumber()) ||
          isFoldedArg(main, arg.getArgNumber()))
        known.insert(arg);
    // Without constants nobody binds any, also where all is made of literals.
    if (known.empty())
      return {};
    llvm::DenseSet<Operation *> movable;
    bool anyReal = false;
    for (Operation &op : main.getBody().front().without_terminator()) {
      bool all = llvm::all_of(op.getOperands(),
                              [&](Value v) { return known.contains(v); });
      // Nothing random or unknown: only pure operations.
      if (!all || !isPure(&op) || !hasKnownShapes(&op))
        continue;
      known.insert(op.result_begin(), op.result_end());
      movable.insert(&op);
      anyReal |= !isAlias(&op) && !isa<arith::ConstantOp>(op);
    }
    if (!anyReal)
      return {};
    // Views and literals only move for a reader that moves.
    SmallVector<Operation *> order;
    llvm::DenseSet<Operation *> needed;
    for (Operation &op :
         llvm::reverse(main.getBody().front().without_terminator())) {
      if (!movable.contains(&op))
        continue;
      bool cheap = isAlias(&op) || isa<arith::ConstantOp>(op);
      bool wanted = !cheap || llvm::any_of(op.getUsers(), [&](Operation *u) {
        return needed.contains(u);
      });
      if (!wanted)
        continue;
      needed.insert(&op);
      order.push_back(&op);
    }
    std::reverse(order.begin(), order.end());
    return order;
  }

  void run() {
    SmallVector<Operation *> ops = findMovable();
    if (ops.empty())
      return;
    prepareFold();
    Operation *ret = fold.getBody().front().getTerminator();
    OpBuilder b(ret);
    llvm::DenseSet<Operation *> set(ops.begin(), ops.end());
    for (Operation *op : ops) {
      b.clone(*op, toFold);
      moved += !isAlias(op) && !isa<arith::ConstantOp>(op);
    }
    auto outside = [&](OpOperand &use) {
      return !set.contains(use.getOwner());
    };
    SmallVector<Value> read;
    for (Operation *op : ops)
      if (!isAlias(op) && !isa<arith::ConstantOp>(op))
        for (Value v : op->getResults())
          if (llvm::any_of(v.getUses(), outside))
            read.push_back(v);
    unsigned before = main.getNumArguments();
    passFolded(read);
    for (auto [v, arg] :
         llvm::zip_equal(read, main.getArguments().drop_front(before)))
      v.replaceUsesWithIf(arg, outside);
    for (Operation *op : llvm::reverse(ops))
      if (op->use_empty())
        op->erase();
    dropUnused();
  }

  /// What main still reads of `values` becomes results and arguments, all at
  /// once: each change of a signature makes another type of all arguments.
  void passFolded(ArrayRef<Value> values) {
    Builder b(module.getContext());
    unsigned end = main.getNumArguments();
    DictionaryAttr attrs =
        b.getDictionaryAttr(b.getNamedAttr(kFoldedAttr, b.getUnitAttr()));
    SmallVector<Location> locs;
    SmallVector<Value> results;
    for (Value v : values) {
      locs.push_back(v.getLoc());
      results.push_back(toFold.lookup(v));
    }
    (void)main.insertArguments(
        SmallVector<unsigned>(values.size(), end),
        ValueRange(values).getTypes(),
        SmallVector<DictionaryAttr>(values.size(), attrs), locs);
    Operation *ret = fold.getBody().front().getTerminator();
    ret->insertOperands(ret->getNumOperands(), results);
  }

  /// Folded arguments nobody reads any more, and the results they stand for.
  void dropUnused() {
    Operation *ret = fold.getBody().front().getTerminator();
    BitVector eraseArgs(main.getNumArguments());
    BitVector eraseResults(ret->getNumOperands());
    unsigned folded = 0;
    for (BlockArgument arg : main.getArguments()) {
      if (!isFoldedArg(main, arg.getArgNumber()))
        continue;
      if (arg.use_empty()) {
        eraseArgs.set(arg.getArgNumber());
        eraseResults.set(folded);
      }
      ++folded;
    }
    (void)main.eraseArguments(eraseArgs);
    ret->eraseOperands(eraseResults);
    fold.setFunctionType(FunctionType::get(
        module.getContext(), fold.getArgumentTypes(), ret->getOperandTypes()));
    eraseDeadOps(fold); // What fed them.
  }
};

struct OutlineConstantsPass : impl::OutlineConstantsBase<OutlineConstantsPass> {
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>(kMainName);
    if (!main)
      return;
    Outliner outliner(getOperation(), main);
    outliner.run();
    moved += outliner.moved;
  }
};

} // namespace
} // namespace tenon::passes
