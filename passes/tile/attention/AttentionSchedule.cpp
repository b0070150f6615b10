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
/// Queries of an item.
constexpr int64_t kMaxRows = 8;

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

/// Blocks of queries and steps of packed keys.
void chooseBlock(const AttentionProblem &p, AttentionSchedule &s) {
  int64_t panels = ceilDiv(p.keys, p.panel);
  s.span = panels * p.panel; // whole panels, whose last columns nobody reads
  int64_t whole = kScoreBytes / (oddPitch(s.span, kFloatBytes) * kFloatBytes);
  // Rows that are divided first are there as a whole.
  s.online = !p.fromLeft && !p.normalized && whole < kMinWholeQueries &&
             p.keys > kStepKeys;
  if (s.online) {
    int64_t steps = ceilDiv(p.keys, kStepKeys);
    s.span = ceilDiv(panels, steps) * p.panel;
  }
  s.pitch = oddPitch(s.span, kFloatBytes);
  s.weightPitch =
      p.isNarrow() ? oddPitch(s.span, elementBytes(p.element)) : s.pitch;
  s.queries = kScoreBytes / (s.pitch * kFloatBytes) / kQueryStep * kQueryStep;
  s.queries = std::clamp(s.queries, kMinQueries, kMaxQueries);
  // Equal blocks: not 96 queries and then 4.
  if (auto r = p.rows.constant()) {
    int64_t blocks = std::max<int64_t>(1, ceilDiv(*r, s.queries));
    int64_t even = std::max<int64_t>(1, ceilDiv(*r, blocks));
    s.queries = std::min(*r < kQueryStep ? even : roundUp(even, kQueryStep),
                         std::max<int64_t>(1, *r));
  }
  if (p.fromLeft || p.interleave > 1)
    return;
  auto stride = p.v.strides[p.v.rank() - 2].constant();
  s.copiesValues = stride && *stride > p.columns && s.queries >= kQueryStep &&
                   *stride * elementBytes(p.element) % kBadStride == 0;
}

/// Blocks of queries and splits of keys that are read in place. Splits follow
/// from shapes.
void chooseSplits(const AttentionProblem &p, AttentionSchedule &s) {
  auto r = p.rows.constant();
  s.queries = r ? std::clamp<int64_t>(*r, 1, kMaxRows) : kMaxRows;
  s.splitKeys = s.pitch = p.keys;
  std::optional<int64_t> heads = known(p.lead);
  if (!r || !heads || *heads == 0 || *r == 0)
    return;
  int64_t others = *heads * ceilDiv(*r, s.queries);
  int64_t wanted =
      std::max(ceilDiv(kEnoughItems, others), ceilDiv(p.keys, kMaxSplitKeys));
  wanted = std::min(wanted, std::max<int64_t>(1, p.keys / kMinSplitKeys));
  // Equal splits need no section for a shorter last one.
  s.splitKeys = ceilDiv(p.keys, wanted);
  for (int64_t count = wanted; count < 2 * wanted; ++count)
    if (p.keys % count == 0) {
      s.splitKeys = p.keys / count;
      break;
    }
  s.splits = ceilDiv(p.keys, s.splitKeys);
  s.online = s.splits > 1;
  if (s.online)
    s.partials = *heads * *r * s.splits;
  s.pitch = s.splitKeys;
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

ScratchPlan planScratch(const AttentionProblem &p, const AttentionSchedule &s) {
  using Scratch = AttentionScratch;
  ScratchPlan plan;
  Type f32 = Float32Type::get(p.element.getContext());
  auto add = [&](Value Scratch::*place, int64_t elements, Type type) {
    plan.buffers.push_back({place, elements, type});
  };
  add(&Scratch::scores, s.queries * s.pitch, f32);
  add(&Scratch::max, s.queries, f32);
  add(&Scratch::sum, s.queries, f32);
  if (s.online)
    add(&Scratch::factor, s.queries, f32);
  if (s.copiesValues)
    add(&Scratch::values, std::min(p.keys, s.span) * p.columns, p.element);
  if (p.isNarrow())
    add(&Scratch::weights, s.queries * s.weightPitch, p.element);
  if (s.sumsApart && (s.online || p.inPlace))
    add(&Scratch::result, s.queries * p.columns, f32);
  if (p.isNarrow() && s.online)
    add(&Scratch::step, s.queries * p.columns, f32);
  if (s.mask)
    add(&Scratch::hidden, 1, f32);
  if (p.fusedQueries)
    add(&Scratch::fusedQueries, s.queries * *p.depth.constant(), p.element);
  if (p.fusedValues)
    add(&Scratch::fusedValues, p.keys * p.columns, p.element);
  if (p.packedValues)
    add(&Scratch::packedValues, p.packedValues->packing.matrixSize(),
        p.element);
  if (p.packedKeys)
    add(&Scratch::packedKeys, p.packedKeys->packing.matrixSize(), p.element);
  return plan;
}

} // namespace

int64_t ScratchPlan::Buffer::bytes() const {
  return roundUp(elements * elementBytes(type), kLineBytes);
}

int64_t ScratchPlan::bytes() const {
  int64_t bytes = 0;
  for (const Buffer &buffer : buffers)
    bytes += buffer.bytes();
  return bytes;
}

AttentionSchedule makeSchedule(const AttentionProblem &problem,
                               tile::TargetAttr target) {
  AttentionSchedule schedule;
  schedule.inTiles = target.multipliesInTiles(problem.interleave);
  schedule.sumsApart = problem.isNarrow() || !problem.epilogue.empty();
  if (problem.inPlace) {
    chooseSplits(problem, schedule);
  } else {
    chooseBlock(problem, schedule);
    schedule.mask = findMask(problem, schedule.inTiles);
  }
  schedule.scratch = planScratch(problem, schedule);
  return schedule;
}

} // namespace tenon::passes
