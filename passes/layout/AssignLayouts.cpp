//===- AssignLayouts.cpp - channels first or last, for the whole graph ----===//
// SPDX-License-Identifier: Apache-2.0
//
//   %c = graph.Convolution ..               %c = graph.Convolution ..
//   %t = graph.StaticTranspose %c           %r = graph.ReLU %c
//   %r = graph.ReLU %t                 ->   %t = graph.StaticTranspose %r
//   %u = graph.StaticTranspose %r           (%u is %r)
//
// Convolutions write channels last, but for those of single positions, which
// are products either way. Where the user's tensors are NCX each stands between
// two transposes, and what lies between could be computed in either order.
// Which is cheapest is one question for all operations together: each is a node
// with two sides, channels first and last; what is read or written in an order
// that is not its own costs what moving it takes. The least cut of that network
// (MinCut.h) is the assignment. What has but one order (other convolutions,
// buffers of the caller, operations that reshape) stands on its side.
//
// An operation of the other side than it is written for is built anew there;
// transposes that meet their inverse vanish. What is read without its transpose
// is marked with the order of the graph's tensor, for reports.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "passes/Passes.h"
#include "passes/layout/ChannelOrders.h"
#include "passes/layout/GroupNorms.h"
#include "passes/layout/MinCut.h"
#include "passes/ops/OpKinds.h"
#include "passes/ops/ScalarOps.h"
#include "passes/support/Build.h"
#include "passes/support/Entry.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "tenon-assign-layouts"

using namespace mlir;

namespace tenon::passes {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "passes/Passes.h.inc"

namespace {

// Costs are bytes that move along rows in the same time (docs/cost-model.md,
// "Layouts"), per byte of a tensor.
/// A copy into the other order.
constexpr int64_t kCopy = 6;
/// A reader that reads across rows, beyond what reading takes anyway.
constexpr int64_t kAcross = 4;
/// A tensor that is written and read again, for its reader is in no group with
/// its writer.
constexpr int64_t kUnfused = 2;
/// A pool with channels first: its windows are in no lanes.
constexpr int64_t kPoolOfFirst = 2;

/// A convolution that is a product with channels first packs its src.
constexpr int64_t kProductOfFirst = 4;

/// Which tensors and operations have channels, and where: what follows from the
/// convolutions along transposes and movable operations.
struct Images {
  llvm::DenseMap<Value, Channels> at;

  explicit Images(func::FuncOp f) {
    for (Operation &op : f.getBody().front())
      for (Value v : imagesOfConvolution(&op))
        add(v, Channels::last);
    for (size_t i = 0; i < queue.size(); ++i)
      spread(queue[i]);
  }

  /// Whether all images of `op` have channels in one place, from which it can
  /// be moved.
  bool isFree(Operation *op) const {
    SmallVector<Value> images = imagesOf(op);
    if (images.empty())
      return false;
    auto first = at.find(images[0]);
    return first != at.end() && isMovable(op, first->second) &&
           llvm::all_of(images, [&](Value v) {
             auto found = at.find(v);
             return found != at.end() && found->second == first->second;
           });
  }

private:
  void add(Value v, Channels channels) {
    auto type = rankedType(v);
    if (type && type.getRank() >= 3 && at.try_emplace(v, channels).second)
      queue.push_back(v);
  }

  void spread(Value v) {
    Channels channels = at.at(v);
    for (Operation *op : v.getUsers())
      if (movesChannels(op, channels))
        add(op->getResult(0), other(channels));
      else
        join(op, v);
    Operation *def = v.getDefiningOp();
    if (def && movesChannels(def, other(channels)))
      add(def->getOperand(0), other(channels));
    else if (def)
      join(def, v);
  }

  /// All images of `op` have channels where `v` has them, if that is one.
  void join(Operation *op, Value v) {
    Channels channels = at.at(v);
    SmallVector<Value> images;
    if (isMovable(op, channels))
      images = imagesOf(op);
    if (llvm::is_contained(images, v))
      for (Value image : images)
        add(image, channels);
  }

  SmallVector<Value> queue;
};

/// Where the caller's buffer of the strides `attr` has the channels of an image
/// that has them at `at`.
Channels inMemory(DenseI64ArrayAttr attr, Channels at) {
  if (!attr)
    return at;
  SmallVector<int64_t> strides;
  for (int64_t o : orderInto(other(at), attr.size()))
    strides.push_back(attr[o]);
  return llvm::is_sorted(strides, std::greater<>()) &&
                 !llvm::is_sorted(attr.asArrayRef(), std::greater<>())
             ? other(at)
             : at;
}

/// The network of one function, and what is computed where.
class Assignment {
public:
  explicit Assignment(func::FuncOp f) : f(f), images(f) {
    for (Operation &op : f.getBody().front().without_terminator())
      if (images.isFree(&op)) {
        index[&op] = ops.size();
        ops.push_back(&op);
      }
  }

  /// Operations to be moved.
  llvm::DenseSet<Operation *> solve(bool remarks) {
    costs.assign(ops.size(), {0, 0});
    for (auto [i, op] : llvm::enumerate(ops))
      addOwn(i, op);
    for (BlockArgument arg : f.getArguments())
      addReads(arg);
    for (Operation &op : f.getBody().front())
      for (Value v : op.getResults())
        addReads(v);
    MinCut cut(ops.size());
    for (auto [i, op] : llvm::enumerate(ops)) {
      LDBG() << nameOf(op->getLoc()) << " costs " << costs[i].first
             << " with channels first, " << costs[i].second << " last";
      cut.addCosts(i, costs[i].first, costs[i].second);
    }
    for (const Edge &e : edges)
      cut.addEdge(e.a, e.b, e.cost);
    std::vector<bool> last = cut.solve();
    llvm::DenseSet<Operation *> moved;
    for (auto [i, op] : llvm::enumerate(ops))
      if (last[i] != (placeOf(op) == Channels::last))
        moved.insert(op);
    if (remarks)
      explain(last, moved);
    return moved;
  }

  /// Where `op`, one of those with a choice, has channels as it is written.
  Channels placeOf(Operation *op) const {
    return images.at.at(imagesOf(op)[0]);
  }

private:
  struct Edge {
    size_t a, b;
    int64_t cost;
  };

  void addCost(size_t node, Channels at, int64_t cost) {
    (at == Channels::first ? costs[node].first : costs[node].second) += cost;
  }

  void addOwn(size_t node, Operation *op) {
    Channels at = placeOf(op);
    for (Value v : copiedBesides(op, at))
      if (!isConstant(v))
        addCost(node, other(at), kCopy * bytesAtLeast(rankedType(v)));
    if (graph::isPooling(op))
      addCost(node, Channels::first,
              kPoolOfFirst * bytesAtLeast(rankedType(op->getOperand(0))));
    if (graph::isContraction(op))
      addCost(node, Channels::first,
              kProductOfFirst * bytesAtLeast(rankedType(op->getOperand(0))));
  }

  /// Whether `v` is moved once, not in every execution.
  bool isConstant(Value v) {
    auto arg = dyn_cast<BlockArgument>(v);
    return arg && (isConstantArg(f, arg.getArgNumber()) ||
                   isFoldedArg(f, arg.getArgNumber()));
  }

  /// What moves if `v` is read in the other order than it is made in.
  int64_t bytesOf(Value v) {
    Order order = orderInto(other(images.at.at(v)), rankedType(v).getRank());
    return isConstant(v) || keepsMemory(rankedType(v).getShape(), order)
               ? 0
               : bytesAtLeast(rankedType(v));
  }

  /// Readers of `v`, itself or transposed.
  struct Readers {
    SmallVector<Operation *> free;
    bool fixed[2] = {false, false}; // by Channels: some that have no choice
  };

  void collect(Value v, Readers &readers) {
    Channels at = images.at.at(v);
    for (OpOperand &use : v.getUses()) {
      Operation *op = use.getOwner();
      if (movesChannels(op, at))
        collect(op->getResult(0), readers);
      else if (index.contains(op))
        readers.free.push_back(op);
      else if (isa<func::ReturnOp>(op))
        readers.fixed[size_t(inMemory(f.getResultAttrOfType<DenseI64ArrayAttr>(
                                          use.getOperandNumber(), kStridesAttr),
                                      at))] = true;
      else if (!isa<graph::StaticTransposeOp>(op)) // others are read through it
        readers.fixed[size_t(at)] = true;
    }
  }

  void addReads(Value v) {
    auto found = images.at.find(v);
    Operation *def = v.getDefiningOp();
    if (found == images.at.end() ||
        (def && movesChannels(def, other(found->second))))
      return; // no image, or one that its source stands for
    Channels at = found->second;
    auto writer = index.find(def);
    if (auto arg = dyn_cast<BlockArgument>(v))
      at = inMemory(f.getArgAttrOfType<DenseI64ArrayAttr>(arg.getArgNumber(),
                                                          kStridesAttr),
                    at);
    Readers readers;
    collect(v, readers);
    // Work on elements would be done where `v` is made.
    bool apart = def && !graph::isView(def) && !readers.fixed[0] &&
                 !readers.fixed[1] && llvm::all_of(readers.free, isScalarOp);
    int64_t cost = (kAcross + (apart ? kUnfused : 0)) * bytesOf(v);
    for (Operation *reader : readers.free) {
      if (writer != index.end())
        edges.push_back({writer->second, index.at(reader), cost});
      else
        addCost(index.at(reader), other(at), cost);
    }
    // One copy serves all who cannot read it as it is.
    if (writer != index.end())
      for (Channels wanted : {Channels::first, Channels::last})
        if (readers.fixed[size_t(wanted)])
          addCost(writer->second, other(wanted), kCopy * bytesOf(v));
  }

  /// Says where operations that are moved, or could be and read or write across
  /// rows, have their channels, and what the other place would cost, all else
  /// as it is. Operations that one of the graph's became count together.
  void explain(const std::vector<bool> &last,
               const llvm::DenseSet<Operation *> &moved) const {
    struct Costs {
      Operation *op;
      int64_t here = 0, there = 0;
      bool moved = false;
    };
    std::vector<Costs> named;
    std::vector<size_t> at; // in it, of each operation
    llvm::StringMap<size_t> places;
    for (Operation *op : ops) {
      auto [place, isNew] =
          places.try_emplace(nameOf(op->getLoc()), named.size());
      if (isNew)
        named.push_back({op});
      at.push_back(place->second);
    }
    for (auto [i, op] : llvm::enumerate(ops)) {
      Costs &c = named[at[i]];
      c.here += last[i] ? costs[i].second : costs[i].first;
      c.there += last[i] ? costs[i].first : costs[i].second;
      c.moved |= moved.contains(op);
    }
    for (const Edge &e : edges)
      if (at[e.a] != at[e.b]) // else they move together
        for (size_t i : {at[e.a], at[e.b]})
          (last[e.a] == last[e.b] ? named[i].there : named[i].here) += e.cost;
    for (const Costs &c : named)
      if (c.moved || c.here > 0)
        c.op->emitRemark(llvm::formatv(
            "layout: channels {0}, {1}: what lies across takes as long as {2} "
            "bytes in rows, with channels {3} {4}",
            last[index.at(c.op)] ? "last" : "first", reasonOf(c.op, c.moved),
            c.here, last[index.at(c.op)] ? "first" : "last", c.there));
  }

  /// How the place of an operation compares with that in the graph. All
  /// convolutions have channels last here.
  static StringRef reasonOf(Operation *op, bool moved) {
    if (graph::isContraction(op))
      return moved ? "weights times positions" : "positions times weights";
    return moved ? "not as the graph has them" : "as the graph has them";
  }

  func::FuncOp f;
  Images images;
  std::vector<Operation *> ops; // those with a choice
  llvm::DenseMap<Operation *, size_t> index;
  std::vector<std::pair<int64_t, int64_t>> costs; // first, last
  std::vector<Edge> edges;
};

/// What the transpose that makes `v` reads, which somebody is to read instead.
Value readBefore(Value v) {
  Value source = v.getDefiningOp()->getOperand(0);
  if (Operation *def = source.getDefiningOp())
    def->setAttr(kOrderAttr,
                 DenseI64ArrayAttr::get(v.getContext(), orderOf(v)));
  return source;
}

/// Builds what was assigned.
struct Mover {
  llvm::DenseMap<Value, Value> inOther; // transposes made here

  Value moved(Value v, Channels at) {
    Operation *def = v.getDefiningOp();
    if (def && movesChannels(def, other(at)))
      return readBefore(v);
    Value &result = inOther[v];
    if (!result) {
      OpBuilder b(v.getContext());
      b.setInsertionPointAfterValue(v);
      result = buildTranspose(b, v.getLoc(), v,
                              orderInto(other(at), rankedType(v).getRank()));
    }
    return result;
  }

  void move(Operation *op, Channels at) {
    OpBuilder b(op);
    SmallVector<Value> images = imagesOf(op);
    Operation *clone =
        buildMoved(b, op, at, [&](Value v) { return moved(v, at); });
    for (auto [from, to] : llvm::zip(op->getResults(), clone->getResults())) {
      Value seen = to;
      if (llvm::is_contained(images, from))
        seen = buildTranspose(b, op->getLoc(), to,
                              orderInto(at, rankedType(to).getRank()));
      from.replaceAllUsesWith(seen);
    }
    op->erase();
  }
};

/// A transpose of a transpose that leaves nothing transposed.
void cancel(Operation *op) {
  Order outer = orderOf(op->getResult(0)), inner = orderOf(op->getOperand(0));
  if (!outer.empty() && outer == invertPermutationVector(inner))
    op->getResult(0).replaceAllUsesWith(readBefore(op->getOperand(0)));
}

struct AssignLayoutsPass : impl::AssignLayoutsBase<AssignLayoutsPass> {
  using AssignLayoutsBase::AssignLayoutsBase;

  void runOnOperation() override {
    for (auto f : getOperation().getOps<func::FuncOp>())
      if (isEntry(f))
        assign(f);
  }

  void assign(func::FuncOp f) {
    Assignment assignment(f);
    llvm::DenseSet<Operation *> chosen = assignment.solve(remarks);
    moved += chosen.size();
    llvm::DenseMap<Operation *, Channels> places;
    for (Operation *op : chosen)
      places[op] = assignment.placeOf(op);
    Mover mover;
    for (Operation &op :
         llvm::make_early_inc_range(f.getBody().front().without_terminator())) {
      if (isa<graph::StaticTransposeOp>(op))
        cancel(&op);
      else if (auto place = places.find(&op); place != places.end())
        mover.move(&op, place->second);
    }
    for (auto norm : llvm::make_early_inc_range(
             f.getBody().front().getOps<graph::GroupNormOp>()))
      if (isCheaperByChannels(norm) &&
          channelDim(norm, rankedType(norm.getSrc()).getRank()) != 1)
        decomposeByChannels(norm);
    eraseDeadOps(f);
  }
};

} // namespace
} // namespace tenon::passes
