//===- VectorPlan.cpp - which loop becomes vectors ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every loop dim is a candidate.  Its cost counts, per vector, one for each
// unit-stride load or store and one per lane for strided ones; a dim shorter
// than a vector pays for the idle lanes.  The cheapest wins, the dim that is
// contiguous in the output, then the innermost, on a tie.
//
//===----------------------------------------------------------------------===//
#include "codegen/vector/VectorPlan.h"
#include "codegen/vector/Attrs.h"
#include "codegen/vector/Combiners.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

/// A horizontal reduction ends in log2(lanes) shuffles: the price of about two
/// vector operations when spread over a typical row.
constexpr double kHorizontalCost = 2.0;
/// A strided store costs an extract and a store per lane.
constexpr double kScatterCostPerLane = 1.5;
/// Body weights: below the first, loads and loop control dominate, and four
/// vectors per iteration pay; above the second, one fills the machine.
constexpr unsigned kCheapBody = 6;
constexpr unsigned kHeavyBody = 16;
/// Rows of fewer vectors than these take half of the lanes, but no fewer lanes.
constexpr int64_t kShortRow = 3, kFewLanes = 8;
/// Accumulators of rows that share loads, which leave room in 16 registers; and
/// where runs are spread over lanes, which takes vectors of its own, in 16.
constexpr unsigned kJammedVectors = 12;
constexpr unsigned kJammedRuns = 4;
/// Iterations that kJamAttr lets pass together (docs/cost-model.md); the same
/// of those that reduce what passes.
constexpr unsigned kJammedBodies = 6;
constexpr unsigned kJammedRows = 4;
/// Rows a multiple of it apart meet two sets of L1 at most.
constexpr int64_t kFewSetsStride = 2048;    // bytes
constexpr int64_t kManyRegistersBits = 512; // 32 of them
constexpr unsigned kMathCallWeight = 10;
constexpr unsigned kDivisionWeight = 3;

bool isScalarElement(Type type) { return type.isIntOrIndexOrFloat(); }

/// An operation that becomes a vector operation by changing its types, or a
/// load, which BlockEmitter takes apart.
bool isVectorisable(Operation &op) {
  if (isa<arith::ConstantOp, linalg::IndexOp>(op))
    return true;
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return isScalarElement(load.getType()) && !load.getType().isInteger(1);
  return OpTrait::hasElementwiseMappableTraits(&op) &&
         op.getNumRegions() == 0 && isMemoryEffectFree(&op) &&
         llvm::all_of(op.getOperandTypes(), isScalarElement) &&
         llvm::all_of(op.getResultTypes(), isScalarElement);
}

/// Garbage in idle lanes must not trap.
bool mayTrap(Operation &op) {
  return isa<memref::LoadOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp,
             arith::RemUIOp, arith::CeilDivSIOp, arith::CeilDivUIOp,
             arith::FloorDivSIOp>(op);
}

/// Whether `op` is the comparison of a minimum or maximum, which is one
/// instruction.
bool isPartOfMinMax(Operation &op) {
  auto compare = dyn_cast<arith::CmpFOp>(op);
  auto select = compare && compare->hasOneUse()
                    ? dyn_cast<arith::SelectOp>(*compare->user_begin())
                    : arith::SelectOp();
  if (!select || select.getCondition() != compare.getResult())
    return false;
  Value x = compare.getLhs(), y = compare.getRhs();
  Value yes = select.getTrueValue(), no = select.getFalseValue();
  return (x == yes && y == no) || (x == no && y == yes);
}

unsigned bodyWeight(Block &body) {
  unsigned weight = 0;
  for (Operation &op : body.without_terminator()) {
    if (isa<arith::ConstantOp, linalg::IndexOp>(op) || op.use_empty() ||
        isPartOfMinMax(op))
      continue;
    if (isa<arith::DivFOp, math::SqrtOp>(op) || mayTrap(op))
      weight += kDivisionWeight;
    else if (isa<math::MathDialect>(op.getDialect()) &&
             !isa<math::FmaOp, math::AbsFOp, math::FloorOp, math::CeilOp,
                  math::RoundEvenOp, math::CopySignOp>(op))
      weight += kMathCallWeight;
    else
      weight += 1;
  }
  return weight;
}

/// Elements per vector register for the widest type the body touches.
int64_t chooseLanes(linalg::LinalgOp op, const LoopAccess &access,
                    int64_t vectorBits) {
  unsigned widest = 8;
  auto visit = [&](Type type) {
    if (type.isIntOrFloat())
      widest = std::max(widest, type.getIntOrFloatBitWidth());
    else if (type.isIndex())
      widest = 32;
  };
  for (const OperandAccess &operand : access.operands)
    if (operand.isMemref)
      visit(operand.element);
  for (Operation &inner : op.getBlock()->without_terminator())
    for (Type type : inner.getResultTypes())
      visit(type);
  // 64-bit values occur as indices beside 32-bit data: two registers each.
  return vectorBits / std::min(widest, 32u);
}

bool unitStride(const OperandAccess &operand, unsigned dim) {
  return operand.stride[dim] == 1 && !operand.element.isInteger(1);
}

/// Collects what the choice of a dim needs, then makes it.
class Planner {
public:
  Planner(linalg::LinalgOp op, const LoopAccess &access, int64_t vectorBits)
      : op(op), access(access), vectorBits(vectorBits) {}

  VectorPlan run() {
    for (unsigned d = 0; d < access.rank(); ++d)
      if (access.sizes[d] != 1)
        (access.isReduction[d] ? plan.reductionDims : plan.parallelDims)
            .push_back(d);
    findAccumulators();
    weight = bodyWeight(*op.getBlock());
    lanes = chooseLanes(op, access, vectorBits);
    hasRuns = llvm::any_of(access.operands, [](const OperandAccess &operand) {
      return operand.hasRuns();
    });
    if (!check() || (!hasRuns && planGroups()))
      return plan;
    chooseDim();
    if (plan.mode == VectorMode::Scalar)
      return plan;
    llvm::erase(plan.parallelDims, plan.vectorDim);
    llvm::erase(plan.reductionDims, plan.vectorDim);
    setLanes();
    if (plan.mode == VectorMode::Parallel && plan.reductionDims.empty() &&
        !hasRuns)
      tryTranspose();
    if (plan.mode == VectorMode::Horizontal)
      jamRows();
    setUnroll();
    setJam();
    return plan;
  }

private:
  void findAccumulators() {
    if (plan.reductionDims.empty())
      return;
    for (unsigned o = 0; o < access.operands.size(); ++o) {
      const OperandAccess &operand = access.operands[o];
      if (operand.isOutput &&
          llvm::none_of(plan.reductionDims,
                        [&](unsigned d) { return operand.dependsOn(d); }))
        plan.accumulators.push_back(o);
    }
  }

  bool check() {
    for (Operation &inner : op.getBlock()->without_terminator())
      if (!isVectorisable(inner)) {
        plan.reason = ("body operation " + inner.getName().getStringRef() +
                       " has no vector form")
                          .str();
        return false;
      }
    if (plan.parallelDims.empty() && plan.reductionDims.empty()) {
      plan.reason = "one element";
      return false;
    }
    return true;
  }

  bool isAccumulator(unsigned operand) const {
    return llvm::is_contained(plan.accumulators, operand);
  }

  /// The cost per element of vectors along `dim`, or nothing if impossible.
  std::optional<double> costOf(unsigned dim) const {
    bool horizontal = access.isReduction[dim];
    double cost = horizontal ? kHorizontalCost : 0;
    for (auto [o, operand] : llvm::enumerate(access.operands)) {
      if (!operand.isMemref)
        continue;
      bool kept = isAccumulator(o);
      if (operand.isOutput && operand.dependsOn(dim) == (kept && horizontal))
        return std::nullopt;
      if (horizontal && kept) {
        if (!matchCombiner(op, o))
          return std::nullopt;
        continue;
      }
      if (!operand.dependsOn(dim))
        continue;
      if (unitStride(operand, dim))
        cost += 1;
      else
        cost += lanes * (operand.isOutput ? kScatterCostPerLane : 1.0);
    }
    int64_t size = access.sizes[dim];
    return cost /
           (size == kDynamic ? lanes : std::clamp<int64_t>(size, 1, lanes));
  }

  bool contiguousOutput(unsigned dim) const {
    return llvm::any_of(access.operands, [&](const OperandAccess &operand) {
      return operand.isOutput && operand.stride[dim] == 1;
    });
  }

  void chooseDim() {
    std::optional<double> best;
    // What scalar loops would pay per element: vectors must be cheaper.
    double scalarCost = 0;
    for (const OperandAccess &operand : access.operands)
      scalarCost += operand.isMemref ? 1.5 : 0;
    scalarCost += weight;
    for (unsigned d = 0; d < access.rank(); ++d) {
      if (access.sizes[d] == 1)
        continue;
      std::optional<double> cost = costOf(d);
      if (!cost)
        continue;
      bool better = !best || *cost < *best ||
                    (*cost == *best && (contiguousOutput(d) ||
                                        !contiguousOutput(plan.vectorDim)));
      if (!better)
        continue;
      best = cost;
      plan.vectorDim = d;
    }
    if (!best || *best > scalarCost) {
      plan.reason =
          best ? "no loop is worth vectors" : "no loop can be vectors";
      return;
    }
    plan.mode = access.isReduction[plan.vectorDim] ? VectorMode::Horizontal
                                                   : VectorMode::Parallel;
    if (plan.mode == VectorMode::Horizontal)
      for (unsigned o : plan.accumulators)
        plan.combiners.push_back(*matchCombiner(op, o));
  }

  void setLanes() {
    plan.lanes = lanes;
    int64_t size = access.sizes[plan.vectorDim];
    // Short rows are bound by their ends: idle lanes, and folding of lanes.
    if (plan.mode == VectorMode::Horizontal && lanes > kFewLanes &&
        size != kDynamic && size < kShortRow * lanes)
      plan.lanes = lanes /= 2;
    plan.canMask = llvm::none_of(*op.getBlock(), mayTrap);
    for (const OperandAccess &operand : access.operands) {
      if (!operand.isMemref || !operand.dependsOn(plan.vectorDim))
        continue;
      // AVX2 has masked moves of 32 and 64 bits only.
      plan.canMask &= unitStride(operand, plan.vectorDim) &&
                      lanes % operand.run[plan.vectorDim] == 0 &&
                      operand.element.isIntOrFloat() &&
                      operand.element.getIntOrFloatBitWidth() >= 32;
    }
    if (size == kDynamic || size >= lanes || size == 0)
      return;
    if (llvm::isPowerOf2_64(size) || !plan.canMask)
      plan.lanes = llvm::bit_floor(uint64_t(size));
  }

  /// Square tiles when an input runs along another parallel dim than the
  /// output does, and both dims hold at least one tile. Kernels of 3x3 taps
  /// take tiles of half as many lanes.
  void tryTranspose() {
    int64_t widest = std::max<int64_t>(vectorBits / 32, 4);
    auto fits = [&](unsigned d, int64_t tile) {
      return access.sizes[d] == kDynamic || access.sizes[d] >= tile;
    };
    for (int64_t tile : {widest, kFewLanes}) {
      if (tile > std::min(widest, lanes))
        continue;
      for (unsigned dim : plan.parallelDims) {
        unsigned across = dim, along = plan.vectorDim;
        if (!contiguousOutput(along) && contiguousOutput(across))
          std::swap(across, along);
        if (!fits(across, tile) || !fits(along, tile) ||
            !readsAcross(across, along))
          continue;
        llvm::erase(plan.parallelDims, dim);
        plan.mode = VectorMode::Transpose;
        plan.vectorDim = along;
        plan.tileDim = across;
        plan.lanes = tile;
        return;
      }
    }
  }

  /// Whether an input's neighbours are those along `across`, which are none of
  /// the output's, along `along`.
  bool readsAcross(unsigned across, unsigned along) const {
    return llvm::any_of(access.operands, [&](const OperandAccess &operand) {
      return operand.isMemref && !operand.isOutput &&
             unitStride(operand, across) && operand.dependsOn(along) &&
             operand.stride[along] != 1;
    });
  }

  /// Where the output has groups of 2 to 4 (`tile.pack` with an interleave, the
  /// colours of pixels): a strided store takes each element apart.
  bool planGroups() {
    constexpr int64_t kGroupBits = 32, kMostMembers = 4;
    const OperandAccess &output = access.operands.back();
    if (!plan.reductionDims.empty() || op.getNumDpsInits() != 1 ||
        !output.isMemref || !output.element.isIntOrFloat())
      return false;
    int64_t bits = output.element.getIntOrFloatBitWidth();
    auto dimOfStride = [&](int64_t stride) {
      return llvm::find_if(plan.parallelDims, [&](unsigned d) {
        return output.stride[d] == stride;
      });
    };
    auto group = dimOfStride(1);
    if (group == plan.parallelDims.end())
      return false;
    int64_t size = access.sizes[*group];
    if (bits % 8 || bits > kGroupBits || size < 2 || size > kMostMembers)
      return false;
    auto across = dimOfStride(size);
    if (across == plan.parallelDims.end())
      return false;
    unsigned groupDim = *group, vectorDim = *across;
    bool moves =
        size * bits == kGroupBits && planGroupsThatMove(groupDim, vectorDim);
    if (!moves && !canInterleave(groupDim, vectorDim))
      return false;
    plan.groupDim = groupDim;
    plan.vectorDim = vectorDim;
    int64_t columns = access.sizes[vectorDim];
    plan.lanes = vectorBits / kGroupBits;
    if (columns != kDynamic && columns > 0 && columns < plan.lanes)
      plan.lanes = llvm::bit_floor(uint64_t(columns));
    llvm::erase(plan.parallelDims, groupDim);
    llvm::erase(plan.parallelDims, vectorDim);
    return true;
  }

  /// Each member of a group is a row of every input, or the same row.
  bool canInterleave(unsigned groupDim, unsigned vectorDim) {
    bool any = false;
    for (const OperandAccess &operand : access.operands) {
      if (!operand.isMemref || operand.isOutput ||
          !operand.dependsOn(vectorDim))
        continue;
      if (!unitStride(operand, vectorDim))
        return false;
      any = true;
    }
    if (any && !access.operands.back().isRead)
      plan.mode = VectorMode::Interleave;
    return plan.mode == VectorMode::Interleave;
  }

  /// A copy of groups that lie together in the input, too, side by side along
  /// another dim.
  bool planGroupsThatMove(unsigned groupDim, unsigned vectorDim) {
    const OperandAccess &input = access.operands.front();
    if (access.operands.size() != 2 || !isCopyOf(0) ||
        input.stride[groupDim] != 1 || !input.dependsOn(vectorDim))
      return false;
    int64_t tile = vectorBits / 32;
    for (unsigned dim : plan.parallelDims) {
      auto fits = [&](unsigned d) {
        return access.sizes[d] == kDynamic || access.sizes[d] >= tile;
      };
      if (dim == groupDim || dim == vectorDim || !fits(dim) ||
          !fits(vectorDim) || input.stride[dim] != access.sizes[groupDim])
        continue;
      plan.mode = VectorMode::Transpose;
      plan.tileDim = dim;
      llvm::erase(plan.parallelDims, dim);
      return true;
    }
    return false;
  }

  /// Whether the body yields operand `number`, and does nothing else.
  bool isCopyOf(unsigned number) {
    Block *body = op.getBlock();
    return llvm::hasSingleElement(*body) &&
           body->getTerminator()->getOperand(0) == body->getArgument(number);
  }

  void setUnroll() {
    bool reduces = !plan.accumulators.empty();
    unsigned most = weight <= kCheapBody ? 4 : weight <= kHeavyBody ? 2 : 1;
    bool jams = op->hasAttr(kJamAttr) && plan.mode != VectorMode::Horizontal;
    if (plan.mode == VectorMode::Transpose || jams ||
        (hasRuns && reduces && !plan.parallelDims.empty()))
      most = 1; // Registers hold rows of the tile, or what stays.
    else if (reduces && plan.mode == VectorMode::Parallel)
      // Accumulators are the only vectors that stay: half the registers.
      most = std::max<unsigned>(2 * most / plan.accumulators.size(), 1);
    else if (reduces)
      // Additions take four cycles and two start in each.
      most = std::max<unsigned>(most, 4 / plan.accumulators.size()) / plan.jam;
    most = std::max(most, 1u);
    int64_t size = access.sizes[plan.vectorDim];
    plan.unroll = most;
    if (size == kDynamic)
      return;
    int64_t vectors = std::max<int64_t>(size / plan.lanes, 1);
    plan.unroll = std::min<int64_t>(most, vectors);
    // Among the larger half of the counts, the one that leaves least over.
    for (unsigned count = plan.unroll; count > most / 2 && count > 1; --count)
      if (vectors % count < vectors % plan.unroll)
        plan.unroll = count;
  }

  /// Rows that kJamAttr lets pass together: their lanes are folded together.
  void jamRows() {
    auto asked = op->getAttrOfType<IntegerAttr>(kJamAttr);
    if (!asked || !llvm::is_contained(plan.parallelDims, asked.getInt()))
      return;
    llvm::erase(plan.parallelDims, asked.getInt());
    plan.parallelDims.push_back(asked.getInt());
    jam(kJammedRows);
  }

  /// Sums of products in which one factor is the same for the next iteration
  /// of the innermost parallel loop: a window that passes over rows.
  void setJam() {
    auto asked = op->getAttrOfType<IntegerAttr>(kJamAttr);
    if (asked && plan.mode == VectorMode::Parallel &&
        plan.reductionDims.empty() &&
        llvm::is_contained(plan.parallelDims, asked.getInt())) {
      llvm::erase(plan.parallelDims, asked.getInt());
      plan.parallelDims.push_back(asked.getInt());
      // Whole rows come faster from memory.
      if (!meetFewSets(asked.getInt()) && !op->hasAttr(kPrefetchAttr))
        setStrip();
      return jam(kJammedBodies);
    }
    if (plan.mode != VectorMode::Parallel || plan.accumulators.size() != 1 ||
        plan.parallelDims.empty() || (weight > kHeavyBody && !hasRuns) ||
        (op->hasAttr(kPrefetchAttr) && !hasRuns))
      return;
    unsigned dim = plan.parallelDims.back();
    bool shares =
        llvm::any_of(access.operands, [&](const OperandAccess &operand) {
          return operand.isMemref && !operand.isOutput &&
                 operand.dependsOn(plan.vectorDim) && !operand.dependsOn(dim);
        });
    if (!shares || !access.operands.back().dependsOn(dim))
      return;
    unsigned most = hasRuns && vectorBits < kManyRegistersBits ? kJammedRuns
                                                               : kJammedVectors;
    jam(std::max(most / plan.unroll, 1u));
  }

  bool meetFewSets(unsigned dim) const {
    return llvm::any_of(access.operands, [&](const OperandAccess &operand) {
      int64_t stride = operand.isMemref ? operand.stride[dim] : 0;
      return stride != 0 && stride != kDynamic &&
             stride * operand.element.getIntOrFloatBitWidth() / 8 %
                     kFewSetsStride ==
                 0;
    });
  }

  /// What iterations that pass together read of a strip of vectors stays in L1
  /// for the next ones; of strips of one length, if there is a length.
  void setStrip() {
    constexpr int64_t kLongStrip = 8, kShortStrip = 5, kAtOnce = 12;
    int64_t size = access.sizes[plan.vectorDim];
    int64_t vectors = size == kDynamic ? 0 : size / plan.lanes;
    if (vectors <= kAtOnce)
      return;
    plan.strip = kLongStrip;
    for (int64_t length = kLongStrip; length >= kShortStrip; --length)
      if (vectors % length == 0) {
        plan.strip = length;
        return;
      }
  }

  /// As many iterations of the innermost parallel loop, or about as many if
  /// nothing is left over then, or less: what is left is a block of its own.
  void jam(unsigned most) {
    plan.jam = most;
    int64_t size = access.sizes[plan.parallelDims.back()];
    if (size == kDynamic || size == 0)
      return;
    for (unsigned count = most; 3 * count >= 2 * most; --count)
      if (size % count == 0) {
        plan.jam = count;
        return;
      }
    int64_t blocks = llvm::divideCeil(size, most);
    plan.jam = llvm::divideCeil(size, blocks);
  }

  linalg::LinalgOp op;
  const LoopAccess &access;
  int64_t vectorBits;
  int64_t lanes = 1;
  unsigned weight = 0;
  bool hasRuns = false; // of some input
  VectorPlan plan;
};

} // namespace

/// What of kNontemporalAttr can be done: stores of whole vectors along rows
/// that begin with a line if the first one does.
static SmallVector<unsigned> planNontemporal(linalg::LinalgOp op,
                                             const LoopAccess &access,
                                             const VectorPlan &plan) {
  SmallVector<unsigned> nontemporal;
  auto wanted = op->getAttrOfType<DenseI64ArrayAttr>(kNontemporalAttr);
  bool isParallel = plan.mode == VectorMode::Parallel &&
                    plan.reductionDims.empty() && plan.jam == 1;
  if (!wanted || !(isParallel || plan.mode == VectorMode::Interleave))
    return nontemporal;
  // Elements that one store writes side by side.
  int64_t together =
      plan.mode == VectorMode::Interleave ? access.sizes[*plan.groupDim] : 1;
  for (int64_t output : wanted.asArrayRef()) {
    unsigned o = op.getNumDpsInputs() + static_cast<unsigned>(output);
    const OperandAccess &operand = access.operands[o];
    int64_t perLine = kLineBytes * 8 / operand.element.getIntOrFloatBitWidth();
    bool whole = operand.element.getIntOrFloatBitWidth() == 32 &&
                 operand.stride[plan.vectorDim] == together &&
                 !llvm::is_contained(plan.accumulators, o);
    for (unsigned d = 0; d < access.rank(); ++d)
      whole &=
          d == plan.vectorDim || d == plan.groupDim || access.sizes[d] == 1 ||
          (operand.stride[d] != kDynamic && operand.stride[d] % perLine == 0);
    if (whole)
      nontemporal.push_back(o);
  }
  return nontemporal;
}

/// Whether the body takes long, and inputs of a second iteration fit into
/// registers, as they are: not every CPU has registers of narrow floats.
static bool loadsAhead(linalg::LinalgOp op, const LoopAccess &access,
                       const VectorPlan &plan) {
  constexpr int64_t kMostVectors = 8;
  int64_t vectors = 0;
  for (const OperandAccess &operand : access.operands) {
    if (!operand.isMemref || operand.isOutput || !operand.isRead)
      continue;
    if (operand.element.getIntOrFloatBitWidth() != 32)
      return false;
    vectors += plan.unroll;
  }
  bool isLong = llvm::any_of(*op.getBlock(), [](Operation &inner) {
    return isa<math::ExpOp, math::TanhOp, math::LogOp, arith::DivFOp,
               math::SqrtOp>(inner);
  });
  return plan.mode == VectorMode::Parallel && plan.reductionDims.empty() &&
         plan.jam == 1 && isLong && vectors <= kMostVectors;
}

VectorPlan planVectors(linalg::LinalgOp op, const LoopAccess &access,
                       int64_t vectorBits) {
  VectorPlan plan = Planner(op, access, vectorBits).run();
  plan.nontemporal = planNontemporal(op, access, plan);
  plan.loadsAhead = loadsAhead(op, access, plan);
  if (auto prefetches = op->getAttrOfType<DenseI64ArrayAttr>(kPrefetchAttr))
    plan.prefetches.assign(prefetches.asArrayRef().begin(),
                           prefetches.asArrayRef().end());
  return plan;
}

} // namespace tenon::codegen
