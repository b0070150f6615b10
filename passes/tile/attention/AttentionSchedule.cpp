//===- AttentionSchedule.cpp - how attention is computed ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/attention/AttentionSchedule.h"

#include "passes/ops/Costs.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// Bytes of scores that stay in L2 beside a head's keys and values: half of the
/// 512 KiB that the smallest current server cores have.
constexpr int64_t kScoreBytes = 256 << 10;
/// Rows of queries that share one pass over keys and values.
constexpr int64_t kMinQueries = 8;
constexpr int64_t kMaxQueries = 96;
/// With fewer whole rows than these in L2, a pass over keys and values serves
/// too few queries: steps over the keys instead.
constexpr int64_t kMinWholeQueries = 48;
/// Keys of a step; as many scores of kMaxQueries rows fit kScoreBytes.
constexpr int64_t kStepKeys = 512;
/// Blocks are multiples of the heights of register tiles.
constexpr int64_t kQueryStep = 8;
constexpr int64_t kFloatBytes = 4;

/// Where keys are read in place: items that keep threads busy.
constexpr int64_t kEnoughItems = 32;
/// Fewer keys are done before another thread has started.
constexpr int64_t kMinSplitKeys = 256;
/// Scores of more keys would leave L1 between the passes over them.
constexpr int64_t kMaxSplitKeys = 4096;
/// Splits of unknown keys are multiples of it: of vectors.
constexpr int64_t kSplitStep = 16;

/// Keys that are computed for all rows of a block before they are read, and
/// stay in L1 with the queries: bytes of them and multiples of keys.
constexpr int64_t kBoxBytes = 16 << 10, kBoxStep = 4, kMaxBoxKeys = 64;
/// Of one query, elements that so many operations make are made in registers.
constexpr size_t kFewOps = 8;

int64_t elementBytes(Type element) {
  return element.getIntOrFloatBitWidth() / 8;
}

/// The product of static sizes, or nothing.
std::optional<int64_t> known(ArrayRef<Index> sizes) {
  int64_t product = 1;
  for (Index size : sizes) {
    auto c = size.constant();
    if (!c)
      return std::nullopt;
    product *= *c;
  }
  return product;
}

/// Steps of whole panels of packed keys, whose last columns nobody reads.
/// Returns the most keys of a step.
int64_t chooseSteps(const AttentionProblem &p, AttentionSchedule &s) {
  Index panels = ceilDiv(p.keys, p.panel);
  auto keys = p.keys.constant();
  if (keys) {
    int64_t all = roundUp(*keys, p.panel);
    int64_t whole = kScoreBytes / (oddPitch(all, kFloatBytes) * kFloatBytes);
    // Rows that are divided first are there as a whole.
    s.online = !p.fromLeft && !p.normalized && whole < kMinWholeQueries &&
               *keys > kStepKeys;
    if (!s.online) {
      s.span = all;
      return all;
    }
  }
  // Equal steps: not 512 keys and then 4.
  s.online = true;
  Index steps = max(ceilDiv(p.keys, kStepKeys), 1);
  s.span = max(ceilDiv(panels, steps), 1) * p.panel;
  return s.span.constant().value_or(roundUp(kStepKeys, p.panel));
}

/// Blocks of queries of equal height: not 96 queries and then 4.
void chooseRows(const AttentionProblem &p, AttentionSchedule &s) {
  if (auto r = p.rows.constant()) {
    int64_t blocks = std::max<int64_t>(1, ceilDiv(*r, s.queries));
    int64_t even = std::max<int64_t>(1, ceilDiv(*r, blocks));
    s.queries = std::min(*r < kQueryStep ? even : roundUp(even, kQueryStep),
                         std::max<int64_t>(1, *r));
    s.blockRows = s.queries;
    return;
  }
  Index blocks = max(ceilDiv(p.rows, s.queries), 1);
  Index even = ceilDiv(ceilDiv(p.rows, blocks), kQueryStep) * kQueryStep;
  s.blockRows = max(even, kQueryStep);
}

/// Blocks of queries and steps of packed keys.
void chooseBlock(const AttentionProblem &p, AttentionSchedule &s) {
  int64_t most = chooseSteps(p, s);
  s.pitch = oddPitch(most, kFloatBytes);
  s.weightPitch =
      p.isNarrow() ? oddPitch(most, elementBytes(p.element)) : s.pitch;
  s.queries = kScoreBytes / (s.pitch * kFloatBytes) / kQueryStep * kQueryStep;
  s.queries = std::clamp(s.queries, kMinQueries, kMaxQueries);
  chooseRows(p, s);
  if (p.fromLeft || p.interleave > 1)
    return;
  auto stride = p.v.strides[p.v.rank() - 2].constant();
  s.copiesValues = stride && *stride > p.columns && s.queries >= kQueryStep &&
                   *stride * elementBytes(p.element) % kBadStride == 0;
}

/// Splits of an unknown number of keys, or of known ones for unknown others.
void chooseUnknownSplits(const AttentionProblem &p, AttentionSchedule &s) {
  Index heads = product(p.lead);
  Index others = max(heads * ceilDiv(p.rows, s.queries), 1);
  Index wanted =
      max(ceilDiv(kEnoughItems, others), ceilDiv(p.keys, kMaxSplitKeys));
  wanted = max(min(wanted, p.keys / kMinSplitKeys), 1);
  // Whole vectors, which keeps kMaxSplitKeys.
  s.splitKeys =
      max(ceilDiv(ceilDiv(p.keys, wanted), kSplitStep), 1) * kSplitStep;
  s.splits = max(ceilDiv(p.keys, s.splitKeys), 1);
  s.online = true;
  s.partials = heads * p.rows * s.splits;
  s.pitch = oddPitch(kMaxSplitKeys, kFloatBytes);
}

/// Blocks of queries and splits of keys that are read in place. Splits follow
/// from shapes.
void chooseSplits(const AttentionProblem &p, AttentionSchedule &s) {
  auto r = p.rows.constant(), keys = p.keys.constant();
  s.queries = r ? std::clamp<int64_t>(*r, 1, kMaxRowsInPlace) : kMaxRowsInPlace;
  s.blockRows = s.queries;
  if (!keys)
    return chooseUnknownSplits(p, s);
  s.splitKeys = s.pitch = *keys;
  std::optional<int64_t> heads = known(p.lead);
  if (!r || !heads || *heads == 0 || *r == 0)
    return;
  int64_t others = *heads * ceilDiv(*r, s.queries);
  int64_t wanted =
      std::max(ceilDiv(kEnoughItems, others), ceilDiv(*keys, kMaxSplitKeys));
  wanted = std::min(wanted, std::max<int64_t>(1, *keys / kMinSplitKeys));
  // Equal splits need no section for a shorter last one.
  s.pitch = ceilDiv(*keys, wanted);
  for (int64_t count = wanted; count < 2 * wanted; ++count)
    if (*keys % count == 0) {
      s.pitch = *keys / count;
      break;
    }
  s.splitKeys = s.pitch;
  s.splits = ceilDiv(*keys, s.pitch);
  s.online = !s.splits.isConstant(1);
  if (s.online)
    s.partials = *heads * *r * s.splits;
}

/// How many of the keys or values `input`, each of `elements`, a box has.
int64_t chooseBox(const AttentionProblem &p,
                  const std::optional<FusedInput> &input, int64_t elements,
                  int64_t dim) {
  if (!input || (p.rows.isConstant(1) && input->value.cost() <= kFewOps &&
                 !input->value.isFine(dim)))
    return 0;
  int64_t most = kBoxBytes / kFloatBytes / std::max<int64_t>(elements, 1);
  return std::clamp(most / kBoxStep * kBoxStep, kBoxStep, kMaxBoxKeys);
}

/// The causal mask whose hidden keys are skipped. Where weights have a region,
/// one of 0 may become another number. Tiles of a matrix unit take known sizes
/// only.
std::optional<CausalMask> findMask(const AttentionProblem &p, bool inTiles) {
  if (p.fromLeft || p.weights || inTiles)
    return std::nullopt;
  return CausalMask::find(*p.score, [&](BlockArgument argument) {
    return hasOnePerMatrix(
        p.epilogueOperands[argument.getArgNumber() - kFirstEpilogueOperand]);
  });
}

ScratchPlan<AttentionScratch> planScratch(const AttentionProblem &p,
                                          const AttentionSchedule &s) {
  using Scratch = AttentionScratch;
  ScratchPlan<Scratch> plan;
  Type f32 = Float32Type::get(p.element.getContext());
  plan.add(&Scratch::scores, s.queries * s.pitch, f32);
  plan.add(&Scratch::max, s.queries, f32);
  plan.add(&Scratch::sum, s.queries, f32);
  if (s.online)
    plan.add(&Scratch::factor, s.queries, f32);
  if (s.copiesValues)
    plan.add(&Scratch::values, min(p.keys, s.span) * p.columns, p.element);
  if (p.isNarrow())
    plan.add(&Scratch::weights, s.queries * s.weightPitch, p.element);
  if (s.sumsApart && (s.online || p.inPlace))
    plan.add(&Scratch::result, s.queries * p.columns, f32);
  if (p.isNarrow() && s.online)
    plan.add(&Scratch::step, s.queries * p.columns, f32);
  if (s.mask)
    plan.add(&Scratch::hidden, 1, f32);
  if (p.fusedQueries)
    plan.add(&Scratch::fusedQueries, s.queries * *p.depth.constant(),
             p.element);
  if (int64_t elements = std::max(s.boxKeys * p.depth.constant().value_or(0),
                                  s.boxValues * p.columns))
    plan.add(&Scratch::fusedBox, elements, f32);
  if (p.fusedValues && !p.inPlace)
    plan.add(&Scratch::fusedValues, p.keys * p.columns, p.element);
  if (p.packedValues)
    plan.add(&Scratch::packedValues, p.packedValues->packing.matrixSize(),
             p.element);
  if (p.packedKeys)
    plan.add(&Scratch::packedKeys, p.packedKeys->packing.matrixSize(),
             p.element);
  return plan;
}

} // namespace

AttentionSchedule makeSchedule(const AttentionProblem &problem,
                               tile::TargetAttr target) {
  AttentionSchedule schedule;
  schedule.inTiles = target.multipliesInTiles(problem.interleave);
  schedule.sumsApart = problem.dst.elementType() != problem.element ||
                       problem.isNarrow() || !problem.epilogue.empty();
  if (problem.inPlace) {
    chooseSplits(problem, schedule);
    schedule.boxKeys =
        chooseBox(problem, problem.fusedKeys,
                  problem.depth.constant().value_or(0), kDimOfDepth);
    schedule.boxValues =
        chooseBox(problem, problem.fusedValues, problem.columns, kDimOfColumns);
  } else {
    chooseBlock(problem, schedule);
    schedule.mask = findMask(problem, schedule.inTiles);
  }
  schedule.scratch = planScratch(problem, schedule);
  return schedule;
}

} // namespace tenon::passes
