//===- FormChains.cpp - groups that share one split of their rows ---------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %0 = call @expand(%x, ..)            %2 = call @chain(%x, ..)
//   %1 = call @depthwise(%0, ..)    ->   @chain {#tile.group<chain>,
//   %2 = call @project(%1, ..)             tile.band = 14} { all operations }
//
// A product or window whose result only the next one reads, as its src or
// beside its product (the gate of an MLP), and is too large to stay in L2 until
// then, is computed together with it, a band of rows at a time: what is between
// them is written and read in L2 only.
//
// The cost: rows that windows of two bands need are computed twice, and all
// weights pass once per band. Bands are as high as L2 allows, as long as there
// are items enough to balance threads.
//
//===----------------------------------------------------------------------===//
#include "dialects/tile/Target.h"
#include "passes/Passes.h"
#include "passes/fuse/Chain.h"
#include "passes/fuse/Group.h"
#include "passes/ops/Costs.h"
#include "passes/ops/ScalarOps.h"
#include "passes/support/Entry.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Mode.h"
#include "passes/support/UniqueNames.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/FormatVariadic.h"

#include <array>

#define DEBUG_TYPE "tenon-form-chains"

using namespace mlir;

namespace tenon::passes {
#define GEN_PASS_DEF_FORMCHAINS
#include "passes/Passes.h.inc"

namespace {

/// Of L2, for bands and weights of a chain, and for what a tensor between two
/// groups shares it with: the rest belongs to what streams by.
constexpr double kShareOfL2 = 0.75;
/// Operations in the time that a byte comes from beyond L2 or goes there, or
/// that a byte of weights comes from L2: docs/cost-model.md.
constexpr double kFlopsPerByte = 4, kFlopsPerWeightByte = 2;
/// In mode `always` each image has 3 bands, so that tests cover a band in the
/// middle and a shorter last one.
constexpr int64_t kForcedBands = 3;
/// Bands of equal height are preferred if they keep 95 % of the best gain; at
/// most 32 numbers of bands are tried.
constexpr double kNearlyBest = 0.95;
constexpr int64_t kTries = 32;
/// Heights of register tiles divide it.
constexpr int64_t kRowStep = 8;

/// One group of a chain to be.
struct ChainMember {
  // Handles of MLIR have no const methods.
  mutable func::CallOp call;
  mutable func::FuncOp group;
  Operation *first; // of its operations
  WindowDim rows;
  BandShape shape;
  int64_t ops = 0;
  int64_t src = 0, weights = 0, result = 0; // bytes
  int64_t row = 0;                          // of the result, in scratch memory
  double flops = 0;

  ChainMember(func::CallOp call, func::FuncOp group, Operation *first,
              const WindowDim &rows, const BandShape &shape)
      : call(call), group(group), first(first), rows(rows), shape(shape),
        ops(llvm::range_size(group.getBody().front())),
        src(bytesAtLeast(rankedType(first->getOperand(0)))),
        weights(bytesAtLeast(rankedType(first->getOperand(1)))),
        result(bytesAtLeast(type())), row(BandBuffer(type(), 1).bytes) {
    auto conv = dyn_cast<tile::ConvOp>(first);
    int64_t terms = conv && conv.getDepthwise()
                        ? 1
                        : rankedType(first->getOperand(0)).getShape().back();
    if (conv)
      terms *= conv.getTaps(0) * conv.getTaps(1);
    flops = 2 * static_cast<double>(terms) *
            static_cast<double>(type().getNumElements());
  }

  RankedTensorType type() const {
    return cast<RankedTensorType>(group.getResultTypes().front());
  }
};

std::optional<ChainMember> memberOf(func::CallOp call,
                                    const SymbolTable &symbols) {
  auto group = symbols.lookup<func::FuncOp>(call.getCallee());
  if (!group || !group->hasAttr(kGroupAttr) || group.getNumResults() != 1)
    return std::nullopt;
  Operation *first = nullptr;
  for (Operation &op : group.getBody().front()) {
    if (isa<tile::PackOp>(op)) // a panel at a time, of all rows
      return std::nullopt;
    if (!startsMember(&op)) {
      if (!first && isScalarOp(&op)) // makes src, a block at a time
        return std::nullopt;
      continue;
    }
    if (first) // already a chain
      return std::nullopt;
    first = &op;
  }
  // The first operation makes what the group returns, element by element.
  auto shape = bandShape(call.getResultTypes().front());
  if (!first || !shape ||
      rankedType(first->getResult(0)).getShape() !=
          rankedType(call.getResult(0)).getShape())
    return std::nullopt;
  std::optional<WindowDim> rows = bandWindow(first);
  if (!rows)
    return std::nullopt;
  return ChainMember(call, group, first, *rows, *shape);
}

/// The call of the one group that reads `call`'s result, where only its first
/// operation does, or only one that reads the same rows after a product.
func::CallOp onlyReader(func::CallOp call, const SymbolTable &symbols) {
  Value v = call.getResult(0);
  if (!v.hasOneUse())
    return {};
  auto reader = dyn_cast<func::CallOp>(*v.user_begin());
  if (!reader)
    return {};
  std::optional<ChainMember> member = memberOf(reader, symbols);
  if (!member || !readsBands(member->first))
    return {};
  BlockArgument arg =
      member->group.getArgument(v.use_begin()->getOperandNumber());
  if (!arg.hasOneUse())
    return {};
  auto conv = dyn_cast<tile::ConvOp>(member->first);
  bool sameRows = !(conv && conv.getDepthwise()) && member->rows.isIdentity() &&
                  rankedType(arg).getShape() ==
                      rankedType(member->first->getResult(0)).getShape();
  bool reads = *arg.user_begin() == member->first
                   ? member->first->getOperand(0) == arg
                   : sameRows;
  return reads ? reader : func::CallOp();
}

/// What a group computes first, if that is a contraction that no band of src is
/// enough for, and why.
struct Whole {
  Operation *first;
  StringRef why;
};
std::optional<Whole> needsWhole(func::CallOp call, const SymbolTable &symbols) {
  auto group = symbols.lookup<func::FuncOp>(call.getCallee());
  if (!group || !group->hasAttr(kGroupAttr))
    return std::nullopt;
  for (Operation &op : group.getBody().front()) {
    if (isa<tile::WinogradOp>(op))
      return Whole{&op, "Winograd transforms whole images"};
    if (startsMember(&op) && !readsBands(&op))
      return Whole{
          &op,
          "only the first may be a convolution with several taps or strides"};
  }
  return std::nullopt;
}

/// Bytes that pass L2 between the writing and the reading of an element of the
/// result of `from`: the tensor itself, half of what both read and write beside
/// it, and all weights.
int64_t passingBytes(const ChainMember &from, const ChainMember &to) {
  return from.result + from.weights + to.weights + (from.src + to.result) / 2;
}

/// How a chain is cut, and what that costs and saves.
struct ChainPlan {
  int64_t band = 0; // 0: nothing fits
  int64_t items = 0;
  int64_t footprint = 0; // bytes of bands and weights
  double saved = 0;      // bytes that do not leave L2
  double twice = 0;      // operations computed again
  double weights = 0;    // bytes read again

  double gain() const {
    return saved * kFlopsPerByte - twice - weights * kFlopsPerWeightByte;
  }
};

struct Planner {
  int64_t l2Bytes, maxOps;
  Mode mode;

  int64_t room() const {
    return static_cast<int64_t>(kShareOfL2 * static_cast<double>(l2Bytes));
  }

  bool staysInL2(const ChainMember &from, const ChainMember &to) const {
    return passingBytes(from, to) <= room();
  }

  /// The plan of `members` for this many bands of each image.
  ChainPlan planFor(ArrayRef<ChainMember> members, int64_t bands) const {
    const BandShape &shape = members.back().shape;
    auto real = [](int64_t n) { return static_cast<double>(n); };
    ChainPlan plan;
    plan.band =
        std::min(shape.rows, roundUp(ceilDiv(shape.rows, bands),
                                     shape.columns == 1 ? kRowStep : 1));
    bands = ceilDiv(shape.rows, plan.band);
    plan.items = shape.images * bands;
    int64_t rows = plan.band, weights = members.back().weights;
    for (size_t i = members.size() - 1; i-- > 0;) {
      rows = rowsNeeded(members[i + 1].rows, rows);
      plan.footprint += rows * members[i].row;
      weights += members[i].weights;
      if (!staysInL2(members[i], members[i + 1]))
        plan.saved += 2 * real(members[i].result);
      double extra = real(bands * rows) / real(members[i].shape.rows) - 1;
      plan.twice += std::max(0.0, extra) * members[i].flops;
    }
    plan.footprint += weights;
    plan.weights = real((plan.items - 1) * weights);
    return plan;
  }

  /// Whether bands and weights fit, and threads are balanced; it is so for more
  /// bands, too.
  bool isPossible(const ChainPlan &plan) const {
    return plan.footprint <= room() && plan.items >= kMinItems;
  }

  /// Fewest bands for which it is possible; 0: none gain.
  int64_t fewestBands(ArrayRef<ChainMember> members) const {
    if (planFor(members, 1).gain() <= 0)
      return 0;
    int64_t fewest = 1;
    for (int64_t most = members.back().shape.rows; fewest < most;) {
      int64_t middle = (fewest + most) / 2;
      if (isPossible(planFor(members, middle)))
        most = middle;
      else
        fewest = middle + 1;
    }
    ChainPlan plan = planFor(members, fewest);
    return isPossible(plan) && plan.gain() > 0 ? fewest : 0;
  }

  /// The highest bands, or of equal heights where those gain nearly as much.
  ChainPlan planOf(ArrayRef<ChainMember> members) const {
    int64_t rows = members.back().shape.rows;
    if (mode == Mode::always)
      return planFor(members, std::min(rows, kForcedBands));
    int64_t fewest = fewestBands(members);
    if (fewest == 0)
      return {};
    ChainPlan highest = planFor(members, fewest);
    LDBG() << members.size() << " groups in " << fewest
           << " bands at least: " << highest.footprint << " bytes of " << room()
           << ", gain " << highest.gain();
    for (int64_t bands = fewest; bands < fewest + kTries; ++bands) {
      ChainPlan plan = planFor(members, std::min(rows, bands));
      if (plan.gain() < kNearlyBest * highest.gain())
        break;
      if (rows % plan.band == 0)
        return plan;
    }
    return highest;
  }

  double gainOf(ArrayRef<ChainMember> members) const {
    if (mode == Mode::always)
      return static_cast<double>(members.size() - 1);
    int64_t bands = fewestBands(members);
    return bands ? planFor(members, bands).gain() : 0;
  }

  /// Lengths of the chains that `path` is cut into, for the largest gain; the
  /// longest ones, if that is asked for.
  SmallVector<size_t> cut(ArrayRef<ChainMember> path) const {
    if (mode == Mode::never)
      return SmallVector<size_t>(path.size(), 1);
    SmallVector<double> gains(path.size() + 1, 0); // of the first so many
    SmallVector<size_t> lengths(path.size() + 1, 1);
    for (size_t n = 1; n <= path.size(); ++n) {
      gains[n] = gains[n - 1];
      int64_t ops = path[n - 1].ops;
      for (size_t length = 2; length <= n; ++length) {
        ops += path[n - length].ops;
        if (ops > maxOps)
          break;
        double gain =
            gains[n - length] + gainOf(path.slice(n - length, length));
        if (gain > gains[n]) {
          gains[n] = gain;
          lengths[n] = length;
        }
      }
    }
    SmallVector<size_t> result;
    for (size_t n = path.size(); n > 0; n -= lengths[n])
      result.push_back(lengths[n]);
    std::reverse(result.begin(), result.end());
    return result;
  }

  /// Why two groups beside each other are in no chain together.
  std::string explainRefusal(const ChainMember &from,
                             const ChainMember &to) const {
    if (mode != Mode::byCost)
      return mode == Mode::never ? "chains=never" : "max-ops";
    int64_t between = from.result;
    if (staysInL2(from, to))
      return llvm::formatv("the {0} bytes between stay in L2 until they are "
                           "read, with {1} more",
                           between, passingBytes(from, to) - between);
    std::array<ChainMember, 2> both = {from, to};
    ChainPlan one = planFor(both, to.shape.rows);
    if (one.footprint > room())
      return llvm::formatv("weights and rows take {0} bytes at least, of {1} "
                           "of L2",
                           one.footprint, room());
    return "computing rows twice and reading weights for each band would cost "
           "more than it saves";
  }
};

struct FormChainsPass : impl::FormChainsBase<FormChainsPass> {
  using FormChainsBase::FormChainsBase;

  void runOnOperation() override {
    std::optional<Mode> parsed = parseMode(mode);
    if (!parsed) {
      getOperation()->emitError("mode must be ") << kModes << ", is " << mode;
      return signalPassFailure();
    }
    planner = {tile::targetOf(getOperation()).getL2Bytes(), maxOps, *parsed};
    SmallVector<func::FuncOp> entries;
    for (auto f : getOperation().getOps<func::FuncOp>())
      if (isEntry(f))
        entries.push_back(f);
      else
        names.add(f.getName());
    for (func::FuncOp f : entries)
      formIn(f);
    // Only entries call groups.
    llvm::StringSet<> called;
    for (func::FuncOp f : entries)
      for (auto call : f.getOps<func::CallOp>())
        called.insert(call.getCallee());
    for (auto f :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (!isEntry(f) && f->hasAttr(kGroupAttr) &&
          !called.contains(f.getName()))
        f.erase();
  }

private:
  void formIn(func::FuncOp entry) {
    SymbolTable symbols(getOperation());
    SmallVector<func::CallOp> calls(
        entry.getBody().front().getOps<func::CallOp>());
    llvm::DenseSet<Operation *> onPath;
    if (remarks)
      for (func::CallOp call : calls)
        explainWhole(call, symbols);
    for (func::CallOp call : calls) {
      std::vector<ChainMember> path;
      while (call && onPath.insert(call).second) {
        auto member = memberOf(call, symbols);
        if (!member)
          break;
        path.push_back(*member);
        call = onlyReader(call, symbols);
      }
      if (path.size() > 1)
        replaceParts(path, planner.cut(path));
    }
  }

  /// Why a convolution and the only group that reads it are in no path, though
  /// one of them could be.
  static void explainWhole(func::CallOp from, const SymbolTable &symbols) {
    if (from.getNumResults() != 1 || !from.getResult(0).hasOneUse())
      return;
    auto to = dyn_cast<func::CallOp>(*from.getResult(0).user_begin());
    if (!to)
      return;
    auto reader = memberOf(to, symbols);
    std::optional<Whole> whole;
    if (memberOf(from, symbols))
      whole = needsWhole(to, symbols);
    else if (reader)
      whole = needsWhole(from, symbols);
    if (!whole)
      return;
    bool isReader = whole->first->getParentOfType<func::FuncOp>() ==
                    symbols.lookup<func::FuncOp>(to.getCallee());
    Operation *first = isReader ? whole->first : reader->first;
    auto arg = dyn_cast<BlockArgument>(first->getOperand(0));
    if (arg && to.getOperand(arg.getArgNumber()) == from.getResult(0) &&
        (isReader || isa<tile::WinogradOp>(whole->first)))
      first->emitRemark("not in bands with the group before it: ")
          << whole->why;
  }

  void replaceParts(ArrayRef<ChainMember> path, ArrayRef<size_t> lengths) {
    for (size_t at = 0; size_t length : lengths) {
      ArrayRef<ChainMember> part = path.slice(at, length);
      at += length;
      if (remarks && at < path.size())
        path[at].first->emitRemark(
            "not in bands with the group before it: " +
            planner.explainRefusal(path[at - 1], path[at]));
      if (length > 1)
        replace(part, planner.planOf(part));
    }
  }

  /// One call in place of those of all members.
  void replace(ArrayRef<ChainMember> members, const ChainPlan &plan) {
    assert(members.size() > 1 && plan.band > 0 && "a chain has bands");
    SmallVector<Value> operands;
    std::string key;
    llvm::raw_string_ostream os(key);
    os << plan.band;
    Value between;
    for (const ChainMember &member : members) {
      os << " " << member.group.getName();
      for (Value v : member.call.getOperands())
        if (v == between)
          os << " -";
        else
          operands.push_back(v);
      between = member.call.getResult(0);
    }
    func::FuncOp &chain = known[key];
    if (!chain)
      chain = build(members, plan, operands);
    func::CallOp last = members.back().call;
    OpBuilder b(last);
    SmallVector<Location> locs;
    std::string label;
    for (const ChainMember &member : members) {
      locs.push_back(member.call.getLoc());
      if (auto name = member.call->getAttrOfType<StringAttr>(kLabelAttr))
        label += (label.empty() ? "" : " > ") + name.str();
    }
    auto call = func::CallOp::create(b, FusedLoc::get(b.getContext(), locs),
                                     chain, operands);
    call->setAttr(kLabelAttr, b.getStringAttr(label));
    last.getResult(0).replaceAllUsesWith(call.getResult(0));
    if (remarks)
      for (const ChainMember &member : members)
        member.first->emitRemark(llvm::formatv(
            "computed with {0} more groups, in bands of {1} of {2} rows, {3} "
            "items: {4} bytes stay in L2, {5} of weights and bands, {6:F1} % "
            "computed twice",
            members.size() - 1, plan.band, members.back().shape.rows,
            plan.items, static_cast<int64_t>(plan.saved), plan.footprint,
            100 * plan.twice / flopsOf(members)));
    for (const ChainMember &member : llvm::reverse(members))
      member.call.erase();
    ++chains;
    joined += members.size();
  }

  static double flopsOf(ArrayRef<ChainMember> members) {
    double flops = 0;
    for (const ChainMember &member : members)
      flops += member.flops;
    return flops;
  }

  /// The operations of all members in one function; `operands` are its own.
  func::FuncOp build(ArrayRef<ChainMember> members, const ChainPlan &plan,
                     ArrayRef<Value> operands) {
    SmallVector<Location> locs;
    for (const ChainMember &member : members)
      locs.push_back(member.group.getLoc());
    OpBuilder b(&getContext());
    auto fn = func::FuncOp::create(
        FusedLoc::get(b.getContext(), locs), nameOf(members),
        b.getFunctionType(ValueRange(operands).getTypes(),
                          {members.back().type()}));
    fn.setPrivate();
    fn->setAttr(kGroupAttr, tile::GroupKindAttr::get(b.getContext(),
                                                     tile::GroupKind::chain));
    fn->setAttr(kBandAttr, b.getI64IntegerAttr(plan.band));
    b.setInsertionPointToStart(fn.addEntryBlock());
    unsigned next = 0;
    Value before, between; // outside, inside
    for (const ChainMember &member : members) {
      IRMapping map;
      for (auto [arg, v] :
           llvm::zip(member.group.getArguments(), member.call.getOperands()))
        map.map(arg, v == before ? between : fn.getArgument(next++));
      Block &body = member.group.getBody().front();
      for (Operation &op : body.without_terminator())
        b.clone(op, map);
      before = member.call.getResult(0);
      between = map.lookup(body.getTerminator()->getOperand(0));
    }
    func::ReturnOp::create(b, fn.getLoc(), between);
    getOperation().push_back(fn);
    return fn;
  }

  std::string nameOf(ArrayRef<ChainMember> members) {
    std::string base = "chain";
    for (const ChainMember &member : members)
      base += "_" + member.group.getName().str();
    base.resize(std::min<size_t>(base.size(), 80));
    return names.unused(base);
  }

  Planner planner{};
  UniqueNames names;
  llvm::StringMap<func::FuncOp> known; // by members and their operands
};

} // namespace
} // namespace tenon::passes
