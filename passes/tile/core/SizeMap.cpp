// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "dialects/graph/SizeExpr.h"
#include "dialects/tile/TileDialect.h"
#include "passes/ops/Interpolation.h"
#include "passes/ops/OpKinds.h"
#include "passes/ops/ScalarOps.h"
#include "passes/ops/WindowGeometry.h"
#include "passes/ops/WinogradTile.h"
#include "passes/support/Diagnose.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Permutations.h"
#include "passes/tile/core/GroupLowering.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tenon::passes {

void SizeMap::set(Value v, ArrayRef<Index> s) {
  sizes[v] = SmallVector<Index>(s.begin(), s.end());
}

void SizeMap::expect(Value result, ArrayRef<Index> s) {
  if (!expected.try_emplace(result, s.begin(), s.end()).second)
    return;
  Operation *op = result.getDefiningOp();
  if (!op || !isScalarOp(op))
    return;
  for (Value v : op->getOperands())
    if (rankedType(v).getShape() == rankedType(result).getShape())
      expect(v, s);
}

void SizeMap::setColumns(Value packed, Index n) { columns[packed] = n; }

std::optional<Index> SizeMap::columnsOf(Value packed) const {
  auto it = columns.find(packed);
  return it == columns.end() ? std::nullopt : std::optional(it->second);
}

ArrayRef<Index> SizeMap::operator[](Value v) const {
  auto it = sizes.find(v);
  assert(it != sizes.end() && "value without sizes");
  return it->second;
}

void SizeMap::learn(const graph::NamedSizeFacts &declared) {
  for (const auto &[name, facts] : declared)
    if (auto it = named.find(name); it != named.end())
      it->second.learn({facts.min, facts.max, facts.multipleOf});
}

std::optional<Index> SizeMap::evaluate(StringRef expression) const {
  using graph::SizeExpr;
  auto expr = SizeExpr::parse(expression);
  assert(expr && "the verifier of tile.reshape has read it");
  SmallVector<Index> values;
  for (const SizeExpr::Token &token : expr->postfix()) {
    if (token.kind == SizeExpr::Kind::number) {
      values.push_back(token.number);
      continue;
    }
    if (token.kind == SizeExpr::Kind::name) {
      auto it = named.find(token.name);
      if (it == named.end())
        return std::nullopt;
      values.push_back(it->second);
      continue;
    }
    Index y = values.pop_back_val();
    Index &x = values.back();
    if (token.kind == SizeExpr::Kind::add)
      x = x + y;
    else if (token.kind == SizeExpr::Kind::sub)
      x = x - y;
    else if (token.kind == SizeExpr::Kind::mul)
      x = x * y;
    else if (token.kind == SizeExpr::Kind::div)
      x = max(x, 0) / max(y, 1);
    else
      x = max(x, 0) % max(y, 1);
  }
  bool mayBeBelow0 = llvm::any_of(expr->postfix(), [](const auto &token) {
    return token.kind == SizeExpr::Kind::sub;
  });
  return mayBeBelow0 ? max(values.back(), 0) : values.back();
}

/// Positions of a window: (in + pads - ((k - 1) * dilation + 1)) / stride + 1,
/// rounded as `ceil` says; 0 where src is smaller.
static Index windowSize(Index in, int64_t pads, int64_t k, int64_t dilation,
                        int64_t stride, bool ceil = false) {
  int64_t more =
      pads - (k - 1) * dilation - 1 + stride + (ceil ? stride - 1 : 0);
  Index reach = in + more;
  return (more < 0 ? max(reach, 0) : reach) / stride;
}

PartOfSize partOf(tile::SliceOp slice, int64_t dim, Index size,
                  const SizeMap &sizes) {
  int64_t offset = slice.getOffsets()[dim], step = slice.getStep(dim);
  StringRef named = slice.getSize(dim);
  // What the type knows it has at the offset already.
  bool isKnown = rankedType(slice.getSrc()).isDynamicDim(dim) ? !slice.getEnds()
                                                              : named.empty();
  if (isKnown)
    return {offset, size};
  auto clamp = [&](int64_t at) -> Index {
    if (at == 0 || at >= std::numeric_limits<int32_t>::max())
      return at == 0 ? Index(0) : size;
    return at < 0 ? max(size + at, 0) : min(size, at);
  };
  Index end = slice.getEnds() ? clamp((*slice.getEnds())[dim]) : size;
  if (named.empty()) {
    Index first = clamp(offset);
    Index length = first.isConstant(0) ? end : max(end - first, 0);
    return {first, ceilDiv(length, step)};
  }
  std::optional<Index> count = sizes.evaluate(named);
  assert(count && "TileGroups has found its names");
  return {offset == ShapedType::kDynamic ? end - *count * step : clamp(offset),
          *count};
}

/// Stands for a size that is not derived yet.
static constexpr int64_t kUnknown = ShapedType::kDynamic;

static bool isUnknown(Index size) { return size.isConstant(kUnknown); }

namespace {

/// Computes the sizes of one result from those of the operands. Dimensions of
/// known size may stay unknown: the type has them.
///
/// MLIR's ReifyRankedShapedTypeOpInterface does not fit: it builds tensor.dim
/// of operands, and those of a group are buffers by now.
class ResultSizes {
public:
  ResultSizes(const SizeMap &sizes, Value result)
      : sizes(sizes), result(result), op(result.getDefiningOp()),
        type(rankedType(result)), rank(type.getRank()), r(rank, kUnknown) {}

  SmallVector<Index> infer();

private:
  /// Those of operand `i`.
  ArrayRef<Index> operand(unsigned i) const { return sizes[op->getOperand(i)]; }

  void broadcast();
  void ofPooling();
  void copyAll() { r = llvm::to_vector(operand(0)); }
  void of(tile::MatMulOp product);
  void of(tile::AttentionOp attention);
  void of(tile::ConvOp conv);
  void of(tile::WinogradOp conv);
  void of(tile::ConvTransposeOp conv);
  void of(tile::PackOp pack);
  void of(graph::StaticReshapeOp reshape);
  void of(graph::StaticTransposeOp transpose);
  void of(graph::ConcatOp concat);
  void of(graph::GatherOp gather);
  void of(graph::GatherNDOp gather);
  void of(tile::RecurrenceOp recurrence);
  void of(tile::SliceOp slice);
  void of(graph::PadOp pad);
  void ofSearch();
  void ofInterpolate();
  void ofSizes(std::optional<ArrayAttr> expressions);
  void ofReduction();
  void ofOther();
  void ofStatistics();
  void ofMain();

  const SizeMap &sizes;
  Value result;
  Operation *op;
  RankedTensorType type;
  int64_t rank;
  SmallVector<Index> r;
};

/// Operands are aligned at their last dims, and dims of size 1 are broadcast.
void ResultSizes::broadcast() {
  for (Value v : op->getOperands()) {
    ArrayRef<Index> s = sizes[v];
    int64_t lead = rank - static_cast<int64_t>(s.size());
    for (auto [i, size] : llvm::enumerate(s))
      if (lead + static_cast<int64_t>(i) >= 0 && !size.isConstant(1) &&
          isUnknown(r[lead + i]))
        r[lead + i] = size;
  }
}

void ResultSizes::of(tile::MatMulOp product) {
  ArrayRef<Index> a = sizes[product.getSrc()];
  for (int64_t i = 2; i <= static_cast<int64_t>(a.size()) && i <= rank; ++i)
    r[rank - i] = a[a.size() - i];
  // Batch dims that src does not have come from the weights.
  ArrayRef<Index> w = sizes[product.getWeights()];
  for (int64_t i = 3; i <= rank; ++i) {
    int64_t wi = static_cast<int64_t>(w.size()) - !product.getInPlace() - i;
    bool one = isUnknown(r[rank - i]) || r[rank - i].isConstant(1);
    if (one && wi >= 0)
      r[rank - i] = w[wi];
  }
  if (product.getInPlace())
    r.back() = w.back();
  else if (auto columns = sizes.columnsOf(product.getWeights()))
    r.back() = *columns;
}

/// Leading dims of q, where it has none those of k and v; then the rows.
void ResultSizes::of(tile::AttentionOp attention) {
  int interleaved = attention.getInterleave() > 1 ? 2 : 0;
  for (auto [v, extra] :
       {std::pair(attention.getQ(), 0),
        std::pair(attention.getK(), interleaved             ? 2
                                    : attention.getPacked() ? 1
                                                            : 0),
        std::pair(attention.getV(), interleaved)}) {
    ArrayRef<Index> s = sizes[v].drop_back(2 + extra);
    for (int64_t i = 1; i <= static_cast<int64_t>(s.size()); ++i)
      if (Index &d = r[rank - 2 - i]; isUnknown(d) || d.isConstant(1))
        d = s[s.size() - i];
  }
  Value rows = attention.getFromLeft() ? attention.getV() : attention.getQ();
  r[rank - 2] = *(sizes[rows].end() - 2);
}

/// The size `window` of a result, whose src has `src`, of `op`.
static Index sizeOfWindow(Operation *op, Index src, Index window) {
  // Of nothing comes nothing.
  return op->hasAttr(kEmptyLikeSrcAttr) ? window * min(src, 1) : window;
}

void ResultSizes::of(tile::ConvOp conv) {
  ArrayRef<Index> s = sizes[conv.getSrc()];
  r[0] = s[0];
  for (int64_t i = 0; i < rank - 2; ++i) {
    int64_t stride = conv.getStrides()[i];
    Index window =
        hasSamePads(conv)
            ? ceilDiv(s[i + 1], stride)
            : windowSize(s[i + 1],
                         conv.getPadsBegin()[i] + conv.getPadsEnd()[i],
                         conv.getTaps(i), conv.getDilations()[i], stride);
    r[i + 1] = sizeOfWindow(conv, s[i + 1], window);
  }
}

void ResultSizes::of(tile::WinogradOp conv) {
  ArrayRef<Index> s = operand(0);
  r[0] = s[0];
  for (int64_t i = 0; i < 2; ++i) {
    Index window =
        windowSize(s[i + 1], conv.getPadsBegin()[i] + conv.getPadsEnd()[i],
                   winograd::kTaps, /*dilation=*/1, /*stride=*/1);
    r[i + 1] = sizeOfWindow(conv, s[i + 1], window);
  }
}

void ResultSizes::of(tile::ConvTransposeOp conv) {
  ArrayRef<Index> s = sizes[conv.getSrc()];
  auto weights = rankedType(conv.getWeights());
  r[0] = s[0];
  for (int64_t i = 0; conv.getPadsEnd() && i < rank - 2; ++i) {
    int64_t k = weights.getDimSize(i + (conv.getDepthwise() ? 0 : 2));
    int64_t stride = conv.getStrides()[i];
    int64_t more = (k - 1) * conv.getDilations()[i] + 1 - stride -
                   conv.getPadsBegin()[i] - (*conv.getPadsEnd())[i];
    // Of nothing comes nothing.
    r[i + 1] = (s[i + 1] * stride + more) * min(s[i + 1], 1);
  }
}

void ResultSizes::ofPooling() {
  copyAll();
  bool ncx = isNcx(op, rank), ceil = stringAttr(op, "rounding_type") == "ceil";
  SmallVector<WindowDim> windows = windowDims(
      op, op->getOperand(0).getType(), type, ncx, intsAttr(op, "kernel"));
  for (auto [i, w] : llvm::enumerate(windows)) {
    Index &size = r[i + (ncx ? 2 : 1)];
    size = hasSamePads(op) ? ceilDiv(size, w.stride)
                           : windowSize(size, w.pad + w.padEnd, w.kernel,
                                        w.dilation, w.stride, ceil);
  }
}

/// Steps and batch of sequences, the batch of final states.
void ResultSizes::of(tile::RecurrenceOp recurrence) {
  int64_t rows = recurrence.operandWithBatch(),
          steps = recurrence.operandWithSteps();
  tile::StepOperandAttr form = recurrence.getForm(rows);
  r[rank - 2] = sizes[recurrence.getInputs()[rows]]
                     [form.getLead().size() + form.getSteps()];
  if (type.isDynamicDim(rank - 3))
    r[rank - 3] = sizes[recurrence.getInputs()[steps]]
                       [recurrence.getForm(steps).getLead().size()];
}

/// [B.., K, N] to [B.., P, K, panel], or [K.., N] to [G, P, K.., panel].
void ResultSizes::of(tile::PackOp pack) {
  ArrayRef<Index> s = sizes[pack.getWeights()];
  int64_t last = static_cast<int64_t>(s.size()) - 1;
  Index k;
  for (int64_t i = 0; i < last; ++i)
    k = r[pack.getGroups() ? i + 2 : i < last - 1 ? i : i + 1] = s[i];
  r[pack.getGroups() ? last + 1 : last] = ceilDiv(k, pack.getInterleave());
  Index columns = s[last] / pack.getGroups().value_or(1);
  r[pack.getGroups() ? 1 : last - 1] = ceilDiv(columns, pack.getPanel());
}

/// Dims are copied, and one is what the others leave.
void ResultSizes::of(graph::StaticReshapeOp) {
  ArrayRef<Index> s = operand(0);
  SmallVector<int64_t> shape = intsAttr(op, "shape");
  bool copies = boolAttr(op, "special_zero");
  Index others = 1;
  int64_t rest = -1;
  for (int64_t i = 0; i < rank; ++i) {
    if (!type.isDynamicDim(i))
      r[i] = type.getDimSize(i);
    else if (copies && shape[i] == 0)
      r[i] = s[i];
    else
      rest = i;
    if (!isUnknown(r[i]))
      others *= r[i];
  }
  if (rest >= 0) // of an empty tensor nothing is left
    r[rest] = product(s) / max(others, 1);
}

void ResultSizes::of(graph::StaticTransposeOp transpose) {
  ArrayRef<Index> s = operand(0);
  for (auto [i, o] : llvm::enumerate(orderOf(transpose.getDst())))
    r[i] = s[o];
}

void ResultSizes::of(graph::ConcatOp) {
  int64_t axis = normalizedAxis(intAttr(op, "axis"), rank);
  broadcast();
  r[axis] = 0;
  for (Value v : op->getOperands())
    r[axis] += sizes[v][axis];
}

/// Dims of src before the axis, of the indices, of src behind it.
void ResultSizes::of(graph::GatherOp) {
  ArrayRef<Index> src = operand(0), indices = operand(1);
  int64_t axis = normalizedAxis(intAttr(op, "axis"), src.size());
  int64_t shared = intAttr(op, "batch_dims");
  SmallVector<Index> all(src.take_front(axis));
  llvm::append_range(all, indices.drop_front(shared));
  llvm::append_range(all, src.drop_front(axis + 1));
  r = std::move(all);
}

/// Dims of the indices but the last, of src behind those that they index.
void ResultSizes::of(graph::GatherNDOp) {
  ArrayRef<Index> src = operand(0), indices = operand(1);
  int64_t indexed = intAttr(op, "batch_dims") + *indices.back().constant();
  SmallVector<Index> all(indices.drop_back());
  llvm::append_range(all, src.drop_front(indexed));
  r = std::move(all);
}

/// Sizes that are known are those of the type.
void ResultSizes::of(tile::SliceOp slice) {
  ArrayRef<Index> src = operand(0);
  int64_t lead = static_cast<int64_t>(src.size()) - rank;
  for (int64_t i = 0; i < rank; ++i)
    if (type.isDynamicDim(i))
      r[i] = partOf(slice, lead + i, src[lead + i], sizes).count;
}

/// By scales; other sizes are in the type.
void ResultSizes::ofInterpolate() {
  r[0] = operand(0)[0];
  int64_t first = isNcx(op, rank) ? 2 : 1;
  for (auto [i, f] : llvm::enumerate(fractionsOf(op)))
    r[first + i] = operand(0)[first + i] * f.times / f.over;
}

void ResultSizes::of(graph::PadOp) {
  SmallVector<int64_t> begins = intsAttr(op, "pads_begin"),
                       ends = intsAttr(op, "pads_end"),
                       interior = intsAttr(op, "interior");
  for (auto [d, size] : llvm::enumerate(operand(0))) {
    Index between =
        interior.empty() ? Index(0) : (max(size, 1) - 1) * interior[d];
    r[d] = max(size + between + (begins[d] + ends[d]), 0);
  }
}

/// Those of src, but along the axis, of which the type knows.
void ResultSizes::ofSearch() {
  if (isa<graph::NonZeroOp>(op)) // [rank of src, elements of src]
    r[1] = product(operand(0));
  else if (isa<graph::RoiAlignOp>(op)) { // [regions, .., channels, ..]
    r[0] = operand(1)[0];
    r[channelDim(op, 4)] = operand(0)[channelDim(op, 4)];
  } else if (isa<graph::NonMaxSuppressionOp>(op)) {
    ArrayRef<Index> scores = operand(1); // [batch, classes, boxes]
    r[0] = min(Index(intAttr(op, "max_output_boxes_per_class")), scores[2]) *
           scores[0] * scores[1];
  } else {
    copyAll();
    if (rank < static_cast<int64_t>(r.size())) // of ArgMax and ArgMin
      r.erase(r.begin() + normalizedAxis(intAttr(op, "axis"), r.size()));
  }
}

/// Sizes that are computed from named ones.
void ResultSizes::ofSizes(std::optional<ArrayAttr> expressions) {
  if (!expressions)
    return;
  for (auto [i, text] :
       llvm::enumerate(expressions->getAsValueRange<StringAttr>()))
    if (type.isDynamicDim(i) && !text.empty())
      if (std::optional<Index> size = sizes.evaluate(text))
        r[i] = *size;
}

void ResultSizes::ofReduction() {
  ArrayRef<Index> s = operand(0);
  llvm::SmallDenseSet<int64_t> axes;
  for (int64_t a : intsAttr(op, "axes"))
    axes.insert(normalizedAxis(a, s.size()));
  bool keep = boolAttr(op, "keep_dims");
  int64_t j = 0;
  for (int64_t i = 0, e = s.size(); i < e; ++i) {
    if (axes.contains(i) && !keep)
      continue;
    r[j++] = axes.contains(i) ? 1 : s[i];
  }
}

/// By the class of the operation.
void ResultSizes::ofOther() {
  if (graph::factsOf(op).reducedDims == graph::ReducedDims::axes)
    ofReduction();
  else if (graph::classOf(op) == graph::OpClass::search)
    ofSearch();
  else if (graph::isReductionLike(op)) // other operands have fewer dimensions
    copyAll();
  else if (graph::isPooling(op) && !graph::isBackward(op))
    ofPooling();
  else
    broadcast();
}

/// The first result, or one like it.
void ResultSizes::ofMain() {
  llvm::TypeSwitch<Operation *>(op)
      .Case<tile::MatMulOp, tile::AttentionOp, tile::ConvOp, tile::WinogradOp,
            tile::ConvTransposeOp, tile::PackOp, tile::RecurrenceOp,
            tile::SliceOp, graph::StaticReshapeOp, graph::StaticTransposeOp,
            graph::ConcatOp, graph::GatherOp, graph::GatherNDOp, graph::PadOp>(
          [&](auto typed) { of(typed); })
      .Case([&](graph::GatherElementsOp) { r = llvm::to_vector(operand(1)); })
      .Case<graph::ScatterElementsOp, graph::ScatterNDOp>(
          [&](auto) { r = llvm::to_vector(operand(0)); })
      .Case([&](graph::InterpolateOp) { ofInterpolate(); })
      .Case([&](tile::FlipOp) { copyAll(); })
      .Case([&](tile::AttentionBackwardOp) { // like q, k and v
        r = llvm::to_vector(operand(cast<OpResult>(result).getResultNumber()));
      })
      .Case([&](tile::ExpandOp expand) {
        ofSizes(expand.getSizes());
        broadcast();
      })
      .Case([&](tile::ReshapeOp reshape) { ofSizes(reshape.getSizes()); })
      .Default([&](Operation *) { ofOther(); });
}

/// Results after the first: statistics and gradients of parameters.
void ResultSizes::ofStatistics() {
  ArrayRef<Index> s = operand(0);
  graph::ReducedDims reduced = graph::factsOf(op).reducedDims;
  if (reduced == graph::ReducedDims::slope)
    r = llvm::to_vector(operand(1));
  else if (reduced == graph::ReducedDims::allButChannels)
    r = {s[channelDim(op, s.size())]};
  else if (auto attention = dyn_cast<tile::AttentionOp>(op))
    of(attention); // the last size is 1, by the type
  else             // the leading sizes; where reduced, the type says 1
    r = llvm::to_vector(s.take_front(rank));
}

SmallVector<Index> ResultSizes::infer() {
  if (result == op->getResult(0) ||
      isa<tile::AttentionBackwardOp, tile::RecurrenceOp>(op) ||
      graph::classOf(op) == graph::OpClass::search)
    ofMain();
  else
    ofStatistics();
  return std::move(r);
}

} // namespace

LogicalResult SizeMap::infer(Operation *op) {
  for (Value v : op->getResults()) {
    auto type = rankedType(v);
    SmallVector<Index> r(type.getRank(), kUnknown);
    if (!type.hasStaticShape())
      r = ResultSizes(*this, v).infer();
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (!type.isDynamicDim(d))
        r[d] = type.getDimSize(d);
      else if (auto it = expected.find(v);
               isUnknown(r[d]) && it != expected.end())
        r[d] = it->second[d];
      if (isUnknown(r[d]))
        return emitError(op, ErrorCode::UnsupportedForm,
                         "cannot derive the size of dimension " + Twine(d) +
                             " of its result");
    }
    sizes[v] = std::move(r);
  }
  if (auto pack = dyn_cast<tile::PackOp>(op))
    if (auto n = rankedType(pack.getWeights()).getRank() - 1;
        rankedType(pack.getWeights()).isDynamicDim(n))
      setColumns(pack.getResult(), (*this)[pack.getWeights()][n]);
  return success();
}

SmallVector<Index> openPositions(Operation *op, const SizeMap &sizes) {
  auto conv = dyn_cast<tile::ConvOp>(op);
  bool isPooling = isa<graph::MaxPoolOp, graph::AvgPoolOp>(op);
  if ((!conv && !isPooling && !isa<tile::WinogradOp>(op)) ||
      op->hasAttr(kEmptyLikeSrcAttr) || hasSamePads(op))
    return {};
  auto type = rankedType(op->getResult(0));
  int64_t rank = type.getRank();
  int64_t first = isPooling && isNcx(op, rank) ? 2 : 1;
  SmallVector<int64_t> kernel = intsAttr(op, "kernel"); // of a pooling
  SmallVector<Index> counts;
  for (int64_t i = 0; i < rank - 2; ++i) {
    int64_t taps = conv        ? conv.getTaps(i)
                   : isPooling ? kernel[i]
                               : winograd::kTaps;
    if (taps > 1 && type.isDynamicDim(first + i))
      counts.push_back(sizes[op->getResult(0)][first + i]);
  }
  return counts;
}

} // namespace tenon::passes
