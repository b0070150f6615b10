// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse/OutlineGroups.h"

#include "dialects/graph/OpFacts.h"
#include "passes/support/Entry.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// "fc1+relu1" of the named operations, cut to a readable length; the first is
/// always there.
std::string labelOf(const Group &g) {
  std::string label;
  std::string kept;
  for (Operation *op : g.ops) {
    if (graph::isView(op))
      continue;
    std::string n = nameOf(op->getLoc());
    if (n.empty())
      n = kindOf(op).empty() ? op->getName().stripDialect().str()
                             : kindOf(op).str();
    if (n == kept)
      continue;
    kept = n;
    if (!label.empty() && label.size() + n.size() > 60) {
      label += "+...";
      break;
    }
    label += (label.empty() ? "" : "+") + n;
  }
  return label;
}

std::string symbolOf(StringRef label) {
  std::string s = "g_";
  for (char c : label)
    s += llvm::isAlnum(c) || c == '_' ? c : '_';
  return s;
}

} // namespace

func::FuncOp GroupOutliner::functionOf(const Group &g, ArrayRef<Value> inputs,
                                       ArrayRef<Value> outputs,
                                       StringRef label) {
  SmallVector<Type> in, out;
  for (Value v : inputs)
    in.push_back(v.getType());
  for (Value v : outputs)
    out.push_back(v.getType());
  SmallVector<Location> locs;
  for (Operation *op : g.ops)
    locs.push_back(op->getLoc());
  OpBuilder fb(module.getContext());
  auto fn = func::FuncOp::create(FusedLoc::get(module.getContext(), locs),
                                 "group", fb.getFunctionType(in, out));
  fn.setPrivate();
  fn->setAttr(kGroupAttr, tile::GroupKindAttr::get(fb.getContext(), g.kind));
  fb.setInsertionPointToStart(fn.addEntryBlock());
  IRMapping map;
  for (auto [i, v] : llvm::enumerate(inputs))
    map.map(v, fn.getArgument(i));
  for (Operation *op : g.ops) {
    for (Value o : op->getOperands())
      if (auto literal = o.getDefiningOp<arith::ConstantOp>())
        if (!map.contains(o))
          fb.clone(*literal, map);
    Operation *clone = fb.clone(*op, map);
    for (NamedAttribute a : SmallVector<NamedAttribute>(op->getAttrs()))
      if (a.getName().strref().starts_with("graph."))
        clone->removeAttr(a.getName());
  }
  SmallVector<Value> results;
  for (Value v : outputs)
    results.push_back(map.lookup(v));
  func::ReturnOp::create(fb, fn.getLoc(), results);
  std::string text;
  llvm::raw_string_ostream os(text);
  fn->print(os, OpPrintingFlags().useLocalScope());
  auto [it, inserted] = known.try_emplace(text, fn);
  if (!inserted) {
    fn->erase();
    ++sharedGroups;
    return it->second;
  }
  fn.setName(names.unused(symbolOf(label)));
  module.push_back(fn);
  return fn;
}

/// One function, rebuilt as calls.
struct Outlining {
  GroupOutliner &outliner;
  func::FuncOp f;
  OpBuilder b;
  IRMapping values; // old -> new

  Outlining(GroupOutliner &outliner, func::FuncOp f)
      : outliner(outliner), f(f), b(f.getContext()) {}

  /// The new value of `v`, cloning views and literals where first needed.
  Value get(Value v) {
    SmallVector<Value> open = {v};
    while (!open.empty()) {
      Value next = open.back();
      if (values.contains(next)) {
        open.pop_back();
        continue;
      }
      Operation *def = next.getDefiningOp();
      size_t known = open.size();
      llvm::copy_if(def->getOperands(), std::back_inserter(open),
                    [&](Value o) { return !values.contains(o); });
      if (open.size() == known)
        b.clone(*def, values);
    }
    return values.lookup(v);
  }

  void call(const Group &g) {
    llvm::DenseSet<Operation *> inside(g.ops.begin(), g.ops.end());
    llvm::SetVector<Value> inputs;
    for (Operation *op : g.ops)
      for (Value v : op->getOperands())
        if (!inside.contains(v.getDefiningOp()) &&
            !v.getDefiningOp<arith::ConstantOp>())
          inputs.insert(v);
    SmallVector<Value> outputs = escaping(g, g.ops.size());
    std::string label = labelOf(g);
    // Equal functions are shared; who calls them says for which operations.
    SmallVector<Location> locs;
    for (Operation *op : g.ops)
      op->walk([&](Operation *inner) { locs.push_back(inner->getLoc()); });
    SmallVector<Value> operands;
    for (Value v : inputs)
      operands.push_back(get(v));
    func::FuncOp fn =
        outliner.functionOf(g, inputs.getArrayRef(), outputs, label);
    auto c = func::CallOp::create(b, FusedLoc::get(f.getContext(), locs), fn,
                                  operands);
    c->setAttr(kLabelAttr, b.getStringAttr(label));
    for (auto [old, now] : llvm::zip(outputs, c.getResults()))
      values.map(old, now);
  }

  void run(ArrayRef<Group> groups) {
    Block *old = &f.getBody().front();
    Block *fresh = new Block();
    f.getBody().push_back(fresh);
    for (BlockArgument arg : old->getArguments())
      values.map(arg, fresh->addArgument(arg.getType(), arg.getLoc()));
    b.setInsertionPointToStart(fresh);
    for (const Group &g : groups)
      call(g);
    SmallVector<Value> results;
    for (Value v : old->getTerminator()->getOperands())
      results.push_back(get(v));
    func::ReturnOp::create(b, old->getTerminator()->getLoc(), results);
    old->dropAllReferences();
    old->erase();
  }
};

void GroupOutliner::outline(func::FuncOp f, ArrayRef<Group> groups) {
  Outlining(*this, f).run(groups);
}

} // namespace tenon::passes
