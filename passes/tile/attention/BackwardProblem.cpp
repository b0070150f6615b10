//===- BackwardProblem.cpp - gradients of attention: what and how ---------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/attention/BackwardProblem.h"

#include "passes/ops/Costs.h"
#include "passes/ops/Packing.h"
#include "passes/support/GraphAttrs.h"

using namespace mlir;

namespace tenon::passes {

/// Blocks of scores of this many queries and keys stay in L2 twice, beside what
/// the products read.
static constexpr int64_t kQueries = 64, kKeys = 128;
/// Items that keep threads busy.
static constexpr int64_t kEnoughItems = 32;

BackwardProblem readBackwardProblem(GroupContext &ctx,
                                    tile::AttentionBackwardOp op) {
  BackwardProblem p;
  ArrayRef<Index> q = ctx.sizes[op.getQ()];
  p.lead.assign(q.begin(), q.end() - 2);
  p.rows = *(q.end() - 2);
  p.keys = *(ctx.sizes[op.getK()].end() - 2);
  p.depth = rankedType(op.getQ()).getShape().back();
  p.columns = rankedType(op.getV()).getShape().back();
  p.gradient = &op.getGradient().front();
  auto over = [&](const Strided &s, Index rows, int64_t columns) {
    return overLead(s, p.lead, rows, columns);
  };
  auto output = [&](Value v) { return ctx.outputs.find(v)->second.front(); };
  p.q = over(ctx.memoryOf(op.getQ()), p.rows, p.depth);
  p.k = over(ctx.memoryOf(op.getK()), p.keys, p.depth);
  p.v = over(ctx.memoryOf(op.getV()), p.keys, p.columns);
  p.diff = over(ctx.memoryOf(op.getDiff()), p.rows, p.columns);
  p.dq = over(output(op.getDq()), p.rows, p.depth);
  p.dk = over(output(op.getDk()), p.keys, p.depth);
  p.dv = over(output(op.getDv()), p.keys, p.columns);
  SmallVector<Index> scores(p.lead);
  scores.append({p.rows, p.keys});
  for (Value operand : op.getEpilogueOperands())
    p.epilogueOperands.push_back(broadcastTo(ctx.memoryOf(operand), scores));
  auto k = rankedType(op.getK());
  for (int64_t d = 0; d < k.getRank() - 2; ++d) {
    bool isShared = k.getDimSize(d) == 1 && !p.lead[d].isConstant(1);
    (isShared ? p.shared : p.own).push_back(d);
  }
  return p;
}

namespace {

/// `size` cut into as few parts as there are of `most`, of equal length: at
/// least 1.
int64_t evenPart(int64_t size, int64_t most) {
  int64_t parts = std::max<int64_t>(1, ceilDiv(size, most));
  return std::max<int64_t>(1, ceilDiv(size, parts));
}

/// What products read, and how it lies.
void chooseProducts(const BackwardProblem &p, tile::TargetAttr target,
                    BackwardSchedule &s) {
  Packing packing{target};
  s.element = Float32Type::get(p.element().getContext());
  // Without dots, or with slow ones, f32 is as fast, and packs less.
  if (p.element().isBF16() && !target.getBf16DotIsSlow())
    s.interleave =
        packing.interleaveFor(p.element(), std::min(p.depth, p.columns));
  if (s.isInterleaved())
    s.element = p.element();
  auto panelOf = [&](int64_t columns, bool whole) {
    return packing.panelFor(ShapedType::kDynamic, columns, s.interleave, whole);
  };
  auto keys = p.keys.constant();
  s.panel = panelOf(keys ? std::min(*keys, kKeys) : ShapedType::kDynamic,
                    /*whole=*/true);
  s.depthPanel = panelOf(p.depth, /*whole=*/false);
  s.valuePanel = panelOf(p.columns, /*whole=*/false);
}

/// Blocks of scores, and parts of the keys.
void chooseBlocks(const BackwardProblem &p, BackwardSchedule &s) {
  auto rows = p.rows.constant(), keys = p.keys.constant();
  // Equal blocks: not 128 keys and then 2.
  int64_t most = std::max<int64_t>(1, kKeys / s.panel) * s.panel;
  s.keys = keys ? roundUp(evenPart(*keys, most), s.panel) : most;
  s.queries = rows ? evenPart(*rows, kQueries) : kQueries;
  s.pitch = oddPitch(s.keys, sizeof(float));
  if (s.isInterleaved()) {
    int64_t bytes = s.element.getIntOrFloatBitWidth() / 8;
    s.narrowPitch = oddPitch(s.keys, bytes);
    s.acrossPitch = oddPitch(s.queries, bytes);
  }
  Index heads = 1;
  for (int64_t d : p.own)
    heads *= p.lead[d];
  s.keyBlocks = ceilDiv(p.keys, s.keys);
  Index wanted = min(ceilDiv(kEnoughItems, max(heads, 1)), max(s.keyBlocks, 1));
  s.partBlocks = max(ceilDiv(s.keyBlocks, wanted), 1);
  s.parts = ceilDiv(s.keyBlocks, s.partBlocks);
  s.sumsParts = !s.parts.isConstant(1) || s.sumsApart(p.dq);
}

void planScratch(const BackwardProblem &p, BackwardSchedule &s) {
  using Scratch = BackwardScratch;
  Type f32 = Float32Type::get(p.element().getContext());
  auto add = [&](Value Scratch::*place, int64_t elements, Type type,
                 bool isNeeded = true) {
    if (isNeeded)
      s.scratch.add(place, elements, type);
  };
  int64_t v = s.interleave;
  bool dots = s.isInterleaved();
  add(&Scratch::keyColumns, roundUp(p.depth, v) * s.keys, s.element);
  add(&Scratch::valueColumns, roundUp(p.columns, v) * s.keys, s.element);
  add(&Scratch::scores, s.queries * s.pitch, f32);
  add(&Scratch::ofWeights, s.queries * s.pitch, f32);
  for (auto place : {&Scratch::weights, &Scratch::gradients})
    add(place, s.queries * s.narrowPitch, s.element, dots);
  for (auto place : {&Scratch::weightsAcross, &Scratch::gradientsAcross})
    add(place, s.keys * s.acrossPitch, s.element, dots);
  add(&Scratch::q, s.queries * p.depth, s.element, s.copies(p.q));
  add(&Scratch::diff, s.queries * p.columns, s.element, s.copies(p.diff));
  int64_t depth = roundUp(p.depth, s.depthPanel),
          columns = roundUp(p.columns, s.valuePanel);
  add(&Scratch::qRows, roundUp(s.queries, v) * depth, s.element, dots);
  add(&Scratch::diffRows, roundUp(s.queries, v) * columns, s.element, dots);
  add(&Scratch::keyRows, roundUp(s.keys, v) * (dots ? depth : p.depth),
      s.element, dots || s.copies(p.k));
  add(&Scratch::dk, s.keys * p.depth, f32, s.sumsApart(p.dk));
  add(&Scratch::dv, s.keys * p.columns, f32, s.sumsApart(p.dv));
}

} // namespace

BackwardSchedule makeBackwardSchedule(const BackwardProblem &problem,
                                      tile::TargetAttr target) {
  BackwardSchedule schedule;
  chooseProducts(problem, target, schedule);
  chooseBlocks(problem, schedule);
  planScratch(problem, schedule);
  return schedule;
}

} // namespace tenon::passes
