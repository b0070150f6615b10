//===- FormGroups.cpp - groups by dependence and cost ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %0 = tile.matmul %x, %w              %r = call @fc1(%x, %w, %b)
//   %1 = graph.Add %0, %b          ->    @fc1 {#tile.group<contraction>} {
//   %2 = graph.ReLU %1                     tile.matmul, Add, ReLU }
//
// Operations are taken in order. One joins the latest group among the
// producers of its operands: every other operand then comes from an earlier
// group, so no cycle can arise and one pass suffices. A group is executed at
// the place of its first operation. A row operation whose operands are older
// joins a later group that reads the same tensor over the same rows: two sums
// of one tensor are one pass over it. At last, elementwise groups move into
// the later group that reads them:
//
//   %d = call @dequantize(%q)            %r = call @fc2(%x, %w, %q)
//   %r = call @fc2(%x, %w, %d)     ->
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "dialects/tile/Target.h"
#include "dialects/tile/TileDialect.h"
#include "passes/Passes.h"
#include "passes/fuse/FusedPrologue.h"
#include "passes/fuse/Group.h"
#include "passes/fuse/OutlineGroups.h"
#include "passes/ops/ScalarOps.h"
#include "passes/support/Build.h"
#include "passes/support/Entry.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Permutations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/DebugLog.h"

#include <limits>

#define DEBUG_TYPE "tenon-form-groups"

using namespace mlir;

namespace tenon::passes {
#define GEN_PASS_DEF_FORMGROUPS
#include "passes/Passes.h.inc"

namespace {

struct FusionPlanner {
  func::FuncOp f;
  bool enable;
  int64_t maxOps;
  bool remarks;
  FusedPrologue own;
  std::vector<Group> groups;
  llvm::DenseMap<Operation *, int> groupOf;

  /// Why an operation did not join the group before it.
  void remark(Operation *op, const std::string &reason) {
    if (remarks)
      op->emitRemark(reason);
  }

  /// Group of the operation behind aliases, or -1.
  int producerGroup(Value v) {
    Operation *def = skipAliases(v).getDefiningOp();
    return def ? groupOf.lookup_or(def, -1) : -1;
  }

  /// Whether an operand is an alias of what group `g` makes: there is nothing
  /// to see before the group has ended.
  bool readsView(Operation *op, int g) {
    return llvm::any_of(op->getOperands(), [&](Value v) {
      Operation *def = v.getDefiningOp();
      return def && isAlias(def) && producerGroup(v) == g;
    });
  }

  void join(Operation *op, int g) {
    Group &group = groups[g];
    LDBG() << nameOf(op->getLoc()) << " joins group " << g;
    if (graph::isReductionLike(op) && group.kind == GroupKind::elementwise) {
      group.kind = GroupKind::reduction;
      group.rows = reductionSpace(op);
    }
    group.ops.push_back(op);
    groupOf[op] = g;
  }

  void start(Operation *op, GroupKind kind) {
    LDBG() << nameOf(op->getLoc()) << " starts group " << groups.size() << ", "
           << tile::stringifyGroupKind(kind);
    Group g;
    g.kind = kind;
    Value shaped =
        graph::isReductionLike(op) ? op->getOperand(0) : op->getResult(0);
    g.space.assign(rankedType(shaped).getShape());
    if (kind == GroupKind::reduction)
      g.rows = reductionSpace(op);
    groups.push_back(std::move(g));
    groups.back().ops.push_back(op);
    groupOf[op] = groups.size() - 1;
  }

  /// The last group after `latest` that reads operand 0 of the row operation
  /// `op` over the same rows, or -1.
  int siblingGroup(Operation *op, int latest) {
    if (!graph::isReductionLike(op) ||
        !llvm::is_contained(reductionSpace(op).reduced, true))
      return -1;
    int sibling = -1;
    for (Operation *user : op->getOperand(0).getUsers()) {
      int g = groupOf.lookup_or(user, -1);
      if (g > std::max(latest, sibling) && sharesRows(op, groups[g]) &&
          static_cast<int64_t>(groups[g].ops.size()) < maxOps)
        sibling = g;
    }
    return sibling;
  }

  /// Whether `v`, which an epilogue would read, lies along its columns.
  static bool liesAlongRows(Value v) {
    for (Operation *def = v.getDefiningOp(); def && isAlias(def);
         def = def->getOperand(0).getDefiningOp()) {
      if (isPartView(def)) // rows may be repeated elements, or be apart
        return false;
      Order order = orderOf(def->getResult(0));
      if (!order.empty() &&
          order.back() != static_cast<int64_t>(order.size()) - 1)
        return false;
    }
    return true;
  }

  /// Whether only a window reads `op`, and computes it where it reads.
  bool isResultOfWindow(Operation *op) {
    return op->getNumResults() == 1 && op->hasOneUse() &&
           kindOfGroup(*op->user_begin()) == GroupKind::window &&
           own.makes(*op->use_begin(), op);
  }

  /// Whether the elementwise group `from` can be computed inside group `to`, of
  /// whose operations, or `joining`, each that reads it reads it directly. If
  /// both are elementwise, others may read it later: it is written as well.
  bool canMove(int from, int to, Operation *joining = nullptr) {
    const Group &e = groups[from], &g = groups[to];
    // Packing reads each element once.
    auto pack = dyn_cast<tile::PackOp>(g.ops.back());
    bool epilogue = takesEpilogue(g.ops.front());
    bool kinds =
        e.kind == GroupKind::elementwise &&
        (g.kind == GroupKind::elementwise || g.kind == GroupKind::reduction ||
         g.kind == GroupKind::contraction ||
         (g.kind == GroupKind::window && epilogue) || pack);
    if (!kinds || isa<tile::ConvWeightsOp>(g.ops.front()) ||
        isResultOfWindow(g.ops.back()) ||
        static_cast<int64_t>(e.ops.size() + g.ops.size()) >= maxOps)
      return false;
    ArrayRef<int64_t> space = g.space;
    if (pack)
      space = rankedType(pack.getWeights()).getShape();
    bool isWritten = g.kind == GroupKind::elementwise;
    auto reads = [&](Operation *user) {
      int at = groupOf.lookup_or(user, -1);
      return user == joining || at == from ||
             (at == to && !(epilogue && user == g.ops.front())) ||
             (isWritten && (at > to || isa<func::ReturnOp>(user)));
    };
    for (Operation *op : e.ops) {
      Value result = op->getResult(0);
      if ((epilogue && !fitsEpilogue(op)) ||
          ((epilogue || pack) && graph::isIndexed(op)) ||
          rankedType(result).getShape() != space ||
          !llvm::all_of(result.getUsers(), reads))
        return false;
      for (Value v : op->getOperands())
        if (int p = producerGroup(v);
            p != from && (p >= to || (epilogue && !liesAlongRows(v))))
          return false;
    }
    return true;
  }

  void move(int from, int to) {
    Group &e = groups[from], &g = groups[to];
    assert(from != to && !e.ops.empty() && "an empty group moved");
    LDBG() << "group " << from << " moves into group " << to;
    auto at = llvm::find_if(g.ops, [&](Operation *op) {
      return llvm::any_of(op->getOperands(), [&](Value v) {
        return groupOf.lookup_or(v.getDefiningOp(), -1) == from;
      });
    });
    for (Operation *op : e.ops) {
      groupOf[op] = to;
      remark(op, "it is computed in the first group that reads it");
    }
    g.ops.insert(at, e.ops.begin(), e.ops.end());
    e.ops.clear();
  }

  /// Elementwise groups go where their first reader is. Returns how many.
  int64_t moveToReaders() {
    int64_t moved = 0;
    for (int from = groups.size() - 1; from >= 0; --from) {
      constexpr int none = std::numeric_limits<int>::max();
      int to = none;
      for (Operation *user : groups[from].ops.back()->getUsers())
        to = std::min(to, groupOf.lookup_or(user, none));
      if (to != none && to > from && canMove(from, to)) {
        move(from, to);
        ++moved;
      }
    }
    return moved;
  }

  /// Moves all of `from` to the front of `to`, if that stays small enough or
  /// has to be.
  bool prepend(Group &from, Group &to, bool always = false) {
    if (!always &&
        static_cast<int64_t>(from.ops.size() + to.ops.size()) > maxOps)
      return false;
    to.ops.insert(to.ops.begin(), from.ops.begin(), from.ops.end());
    from.ops.clear();
    return true;
  }

  /// Whether `op` learns the number of keys from what its group packs.
  static bool needsItsPacks(Operation *op) {
    auto attention = dyn_cast<tile::AttentionOp>(op);
    return attention && ShapedType::isDynamic(attention.getNumKeys());
  }

  /// Gives each attention that needs them packs of its own.
  void unsharePacks() {
    SmallVector<tile::AttentionOp> needing;
    for (auto op : f.getOps<tile::AttentionOp>())
      if (needsItsPacks(op))
        needing.push_back(op);
    for (tile::AttentionOp op : needing)
      for (OpOperand *operand : {&op.getKMutable(), &op.getVMutable()})
        if (auto pack = operand->get().getDefiningOp<tile::PackOp>();
            pack && !pack->hasOneUse())
          operand->set(OpBuilder(op).clone(*pack)->getResult(0));
  }

  /// Weights, keys and values that change with every execution are packed by
  /// the product that meets them, where that does so from caches.
  void movePacks() {
    for (size_t from = 0; from < groups.size(); ++from) {
      auto pack = dyn_cast_or_null<tile::PackOp>(
          groups[from].ops.empty() ? nullptr : groups[from].ops.back());
      if (!pack || !pack->hasOneUse())
        continue;
      Operation *user = *pack->user_begin();
      if (!own.packs(user, pack))
        continue;
      if (prepend(groups[from], groups[groupOf.lookup(user)],
                  needsItsPacks(user)))
        remark(user, "it packs what it reads in panels itself");
    }
    number();
  }

  /// Whether a product reads what `g` makes.
  bool feedsProduct(const Group &g) {
    return llvm::any_of(escaping(g, g.ops.size()), [](Value v) {
      return llvm::any_of(v.getUsers(), [](Operation *user) {
        return kindOfGroup(user) == GroupKind::contraction;
      });
    });
  }

  /// Where `op` is read, if that is in one place, perhaps through views, which
  /// are added to `through`; else null.
  static OpOperand *onlyUse(Operation *op, std::vector<Operation *> &through) {
    while (op->hasOneUse()) {
      OpOperand &use = *op->use_begin();
      if (!graph::isView(use.getOwner()))
        return &use;
      op = use.getOwner();
      through.push_back(op);
    }
    return nullptr;
  }

  /// Whether attention of `g` begins after `op`, one of `g`.
  static bool isBeforeAttention(Operation *op, const Group &g) {
    for (Operation *each : g.ops) {
      if (each == op)
        return g.kind == GroupKind::attention;
      if (isa<tile::AttentionOp>(each))
        break;
    }
    return false;
  }

  /// The operand of attention, or of what is packed for it, that elementwise
  /// operations of its group make of what is read at `use`; `use` if no such
  /// operation reads it. Null: it is not one operand.
  OpOperand *operandAfter(OpOperand *use) {
    std::vector<Operation *> views;
    while (use &&
           isBeforeAttention(use->getOwner(),
                             groups[groupOf.lookup(use->getOwner())]) &&
           isScalarOp(use->getOwner()))
      use = onlyUse(use->getOwner(), views);
    return use;
  }

  /// Whether `g` computes `operand`, which it reads, by what it has and `more`.
  bool makes(OpOperand &operand, const Group &g,
             ArrayRef<Operation *> more) const {
    if (isa<tile::PackOp>(operand.getOwner()) && g.kind != GroupKind::attention)
      return false; // It is packed before, by sections of another form.
    llvm::DenseSet<Operation *> makers;
    SmallVector<Value> stack{operand.get()};
    auto isOne = [&](Operation *op) {
      return op && (llvm::is_contained(more, op) ||
                    (op != operand.getOwner() && isBeforeAttention(op, g)));
    };
    while (!stack.empty())
      if (Operation *def = stack.pop_back_val().getDefiningOp();
          isOne(def) && makers.insert(def).second)
        llvm::append_range(stack, def->getOperands());
    SmallVector<Operation *> ops(more);
    llvm::append_range(ops, g.ops);
    llvm::erase_if(ops, [&](Operation *op) { return !makers.contains(op); });
    return own.makes(operand, ops);
  }

  /// Rows of a product, queries, keys, values and taps of a pooling are
  /// computed where they are read. Groups that read others come first: what
  /// they compute then may be needed for an operand, too.
  void movePrologues() {
    for (Group &from : llvm::reverse(groups)) {
      Operation *last = from.ops.empty() ? nullptr : from.ops.back();
      if (!last || from.kind != GroupKind::elementwise ||
          llvm::any_of(from.ops, graph::isIndexed) ||
          escaping(from, from.ops.size()).size() != 1)
        continue;
      std::vector<Operation *> moved = from.ops;
      OpOperand *use = onlyUse(last, moved);
      OpOperand *operand = operandAfter(use);
      if (!operand)
        continue;
      int to = groupOf.lookup(use->getOwner());
      if (!makes(*operand, groups[to], moved))
        continue;
      if (groups[to].kind == GroupKind::contraction &&
          feedsProduct(groups[to])) {
        remark(last, "a chain of products is worth more than a group with the "
                     "first of them");
        continue;
      }
      size_t computed = from.ops.size();
      from.ops = moved;
      if (!prepend(from, groups[to])) {
        from.ops.resize(computed);
        continue;
      }
      for (Operation *op : moved) {
        groupOf[op] = to;
        if (!graph::isView(op))
          remark(op, "it is computed in the only group that reads it");
      }
    }
    number();
  }

  /// A product or window among the producers of `op`, where the latest group
  /// can move into the epilogue that `op` is to join; else -1.
  int epilogueBefore(Operation *op, int latest) {
    for (Value v : op->getOperands()) {
      int g = producerGroup(v);
      if (g >= 0 && g < latest && takesEpilogue(groups[g].ops.front()) &&
          explainRefusal(op, groups[g], groupOf, g, maxOps).empty() &&
          !readsView(op, g) && canMove(latest, g, op))
        return g;
    }
    return -1;
  }

  /// Whether `op` ends the operation of the graph that the last of `g` begins.
  static bool isPartOf(Operation *op, const Group &g) {
    return op->hasAttr(kPartAttr) &&
           op->getOperand(0).getDefiningOp() == g.ops.back();
  }

  int64_t form() {
    int64_t fused = 0;
    for (Operation &op : f.getBody().front().without_terminator()) {
      std::optional<GroupKind> kind = kindOfGroup(&op);
      if (!kind)
        continue;
      int latest = -1;
      for (Value v : op.getOperands())
        latest = std::max(latest, producerGroup(v));
      // Parts of one operation are one all the same: it rounds once.
      bool joins = latest >= 0 && (enable || isPartOf(&op, groups[latest]));
      if (joins && !isResultOfWindow(&op)) {
        if (int g = enable ? epilogueBefore(&op, latest) : -1; g >= 0) {
          move(latest, g);
          latest = g;
        }
        std::string reason =
            explainRefusal(&op, groups[latest], groupOf, latest, maxOps);
        if (reason.empty() && readsView(&op, latest))
          reason = "another operand from the group reaches it through a view";
        if (reason.empty()) {
          join(&op, latest);
          ++fused;
          continue;
        }
        // Packing prepares data, nobody asks why it is alone.
        if (*kind != GroupKind::pack)
          remark(&op, reason);
      }
      if (int g = enable ? siblingGroup(&op, latest) : -1; g >= 0) {
        join(&op, g);
        ++fused;
        continue;
      }
      start(&op, *kind);
    }
    return fused;
  }

  /// Why the result of the first `n` operations cannot be stored after them.
  std::string explainNotStored(const Group &g, size_t n) {
    SmallVector<Value> values = escaping(g, n);
    if (values.size() != 1)
      return "more than one value would leave the epilogue: " +
             std::to_string(values.size());
    return "";
  }

  /// An epilogue stores one tensor: cut a group with one where more than one
  /// value leaves it.
  void splitEpilogues() {
    std::vector<Group> result;
    for (Group &g : groups) {
      size_t n = g.ops.size();
      if (takesEpilogue(g.ops.front()))
        while (n > 1 && !explainNotStored(g, n).empty())
          --n;
      Group rest;
      if (n < g.ops.size()) {
        remark(g.ops[n], explainNotStored(g, g.ops.size()));
        rest.kind = GroupKind::elementwise;
        rest.ops.assign(g.ops.begin() + n, g.ops.end());
        rest.space = g.space;
        g.ops.resize(n);
      }
      result.push_back(std::move(g));
      if (!rest.ops.empty())
        result.push_back(std::move(rest));
    }
    groups = std::move(result);
    number();
  }

  /// Groups that are left, and who is in which.
  void number() {
    llvm::erase_if(groups, [](const Group &g) { return g.ops.empty(); });
    groupOf.clear();
    for (auto [i, g] : llvm::enumerate(groups))
      for (Operation *op : g.ops)
        groupOf[op] = i;
  }
};

/// Returns a copy. What is reshaped after transposes, or shows parts or repeats
/// of another value, is copied before, if that copy can be written as the
/// caller's buffer has it: reshapes copy, too.
void copyResult(OpBuilder &b, Location loc, func::FuncOp f, OpOperand &use) {
  auto copy = [&](Value v) {
    return buildGraphOp(b, loc, "Reorder", v, rankedType(v));
  };
  Value v = use.get();
  auto reshape = v.getDefiningOp<graph::StaticReshapeOp>();
  Operation *shown = reshape ? reshape.getSrc().getDefiningOp() : nullptr;
  if (shown && (!orderOf(reshape.getSrc()).empty() || isPartView(shown))) {
    Value before = copy(reshape.getSrc());
    Operation *again = b.clone(*reshape);
    again->setOperand(0, before);
    use.set(again->getResult(0));
    if (writtenAsComputed(f, use.getOperandNumber()))
      return;
    use.set(v);
    again->erase();
    before.getDefiningOp()->erase();
  }
  use.set(copy(v));
}

/// A result that is an argument, a view or returned twice needs a copy; but for
/// a view of what can be written as it is computed.
void copyAliasedResults(func::FuncOp f) {
  Operation *ret = f.getBody().front().getTerminator();
  llvm::DenseSet<Value> seen;
  OpBuilder b(ret);
  for (OpOperand &use : ret->getOpOperands()) {
    Value v = use.get();
    Operation *def = v.getDefiningOp();
    if (Value source = writtenAsComputed(f, use.getOperandNumber());
        source && !isAlias(source.getDefiningOp()) &&
        seen.insert(source).second)
      continue;
    bool alias = !def || isAlias(def) || isa<arith::ConstantOp>(def) ||
                 !seen.insert(v).second;
    if (!alias)
      continue;
    Location loc = def ? def->getLoc() : f.getLoc();
    copyResult(b, loc, f, use);
  }
}

struct FormGroupsPass : impl::FormGroupsBase<FormGroupsPass> {
  using FormGroupsBase::FormGroupsBase;
  void runOnOperation() override {
    GroupOutliner outliner(getOperation());
    SmallVector<func::FuncOp> entries;
    for (auto f : getOperation().getOps<func::FuncOp>())
      if (isEntry(f))
        entries.push_back(f);
    for (func::FuncOp f : entries) {
      eraseDeadOps(f); // A group has results.
      copyAliasedResults(f);
      FusionPlanner former;
      former.f = f;
      former.enable = enable;
      former.maxOps = maxOps;
      former.remarks = remarks;
      former.own = {tile::targetOf(f).getL2Bytes()};
      if (enable)
        former.unsharePacks();
      fused += former.form();
      former.number();
      former.splitEpilogues();
      if (enable)
        fused += former.moveToReaders();
      former.number();
      if (enable) {
        former.movePacks();
        former.movePrologues();
      }
      assert(llvm::none_of(former.groups,
                           [](const Group &g) { return g.ops.empty(); }));
      outliner.outline(f, former.groups);
      groups += former.groups.size();
    }
    shared += outliner.shared();
  }
};

} // namespace
} // namespace tenon::passes
