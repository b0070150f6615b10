#include "passes/tiling/Items.h"

#include "dialects/rt/RtDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <numeric>
#include <tuple>

using namespace mlir;

namespace tenon::tiling {

namespace {
constexpr int64_t kMaxRowBlock = 384;
} // namespace

void emitItems(IndexMath &m, StringRef label, Ofr items,
               llvm::function_ref<void(IndexMath &, Value)> body) {
  emitItems(m, label, items, m.attr(0),
            [&](IndexMath &im, Value item, Value) { body(im, item); });
}

void emitItems(IndexMath &m, StringRef label, Ofr items, Ofr scratchBytes,
               llvm::function_ref<void(IndexMath &, Value, Value)> body) {
  OpBuilder &b = m.builder();
  auto section = rt::ParallelOp::create(b, m.location(), label, m.value(items),
                                        m.value(scratchBytes));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&section.getBody().front());
  IndexMath inner(b, m.location());
  Value scratch = section.getScratchMemory();
  emitLoop(inner, Ofr(section.getBegin()), Ofr(section.getEnd()),
           [&](IndexMath &im, Ofr i) { body(im, cast<Value>(i), scratch); });
}

Value firstOfRange(Value item) {
  auto section = cast<BlockArgument>(item).getOwner()->getParentOp();
  return section->getParentOfType<rt::ParallelOp>().getBegin();
}

void emitIfFirst(IndexMath &m, Value item, Ofr number,
                 llvm::function_ref<void(IndexMath &)> body) {
  OpBuilder &b = m.builder();
  Location loc = m.location();
  auto equal = [&](Value x, Value y) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, y);
  };
  Value wanted =
      arith::OrIOp::create(b, loc, equal(item, firstOfRange(item)),
                           equal(m.value(number), m.value(m.attr(0))));
  scf::IfOp::create(b, loc, wanted, [&](OpBuilder &nb, Location l) {
    IndexMath inner(nb, l);
    body(inner);
    scf::YieldOp::create(nb, l);
  });
}

Value scratchView(IndexMath &m, Value scratch, Type element, Ofr byteOffset,
                  Ofr count) {
  auto known = IndexMath::constant(count);
  auto type = MemRefType::get({known.value_or(ShapedType::kDynamic)}, element);
  SmallVector<Value> dynamic;
  if (!known)
    dynamic.push_back(cast<Value>(count));
  return memref::ViewOp::create(m.builder(), m.location(), type, scratch,
                                m.value(byteOffset), dynamic);
}

int64_t rowBlock(std::optional<int64_t> rows, std::optional<int64_t> k,
                 int64_t l2Bytes, int64_t elementBytes, int64_t multiple) {
  int64_t columns = k.value_or(1024);
  int64_t row = std::max<int64_t>(1, elementBytes * columns);
  int64_t block = std::clamp(l2Bytes / 2 / row, multiple, kMaxRowBlock) /
                  multiple * multiple;
  if (rows)
    block = std::min(block, std::max<int64_t>(1, *rows));
  return block;
}

int64_t evenRows(int64_t rows, int64_t block) {
  int64_t most = block + block / 8; // if that makes one block less
  int64_t blocks = (rows + most - 1) / most;
  return (rows + blocks - 1) / blocks;
}

int64_t shareRows(int64_t rows, int64_t block, int64_t others, int64_t least) {
  int64_t wanted = (kMinItems + others - 1) / std::max<int64_t>(others, 1);
  int64_t blocks = std::min(wanted, rows / std::max<int64_t>(least, 1));
  return blocks * block <= rows ? block : (rows + blocks - 1) / blocks;
}

int64_t evenItems(int64_t rows, int64_t block, int64_t others) {
  // Of more items one is a thirtieth or less; lower blocks pass all weights for
  // few rows.
  constexpr int64_t kMostItems = 32, kLeastRows = 32;
  int64_t blocks = (rows + block - 1) / block, items = blocks * others;
  if (items > kMostItems || items % 2 == 0 || (blocks + 1) * kLeastRows > rows)
    return block;
  return (rows + blocks) / (blocks + 1);
}

SmallVector<Ofr> delinearize(IndexMath &m, Value index, ArrayRef<Ofr> counts) {
  SmallVector<Ofr> parts(counts.size());
  Ofr rest = index;
  for (int64_t i = static_cast<int64_t>(counts.size()) - 1; i >= 0; --i) {
    if (IndexMath::isConstant(counts[i], 1)) {
      parts[i] = m.attr(0);
    } else if (i == 0) {
      parts[i] = rest;
    } else {
      parts[i] = m.rem(rest, counts[i]);
      rest = m.floorDiv(rest, counts[i]);
    }
  }
  return parts;
}

void emitLoop(IndexMath &m, Ofr from, Ofr to,
              llvm::function_ref<void(IndexMath &, Ofr)> body) {
  auto f = IndexMath::constant(from), t = IndexMath::constant(to);
  if (f && t && *f >= *t)
    return;
  OpBuilder &b = m.builder();
  auto loop = scf::ForOp::create(b, m.location(), m.value(from), m.value(to),
                                 m.value(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  IndexMath inner(b, m.location());
  body(inner, Ofr(loop.getInductionVar()));
}

void emitIfBelow(IndexMath &m, Ofr number, int64_t bound,
                 llvm::function_ref<void(IndexMath &)> below,
                 llvm::function_ref<void(IndexMath &)> otherwise) {
  OpBuilder &b = m.builder();
  Value isBelow =
      arith::CmpIOp::create(b, m.location(), arith::CmpIPredicate::slt,
                            m.value(number), m.value(m.attr(bound)));
  auto branch = scf::IfOp::create(b, m.location(), isBelow, true);
  for (bool first : {true, false}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(
        &(first ? branch.getThenRegion() : branch.getElseRegion()).front());
    IndexMath inner(b, m.location());
    (first ? below : otherwise)(inner);
  }
}

void withBlockSize(IndexMath &m, Ofr number, int64_t total, int64_t block,
                   llvm::function_ref<void(IndexMath &, int64_t)> body) {
  int64_t full = total / block, tail = total % block;
  if (tail == 0 || full == 0) {
    body(m, tail == 0 ? block : tail);
    return;
  }
  emitIfBelow(
      m, number, full, [&](IndexMath &fm) { body(fm, block); },
      [&](IndexMath &tm) { body(tm, tail); });
}

std::pair<int64_t, int64_t> WindowDim::interior() const {
  int64_t first = std::min(out, (pad + stride - 1) / stride);
  int64_t room = in - 1 - (kernel - 1) * dilation + pad;
  int64_t past = room < 0 ? 0 : std::min(out, room / stride + 1);
  return {first, std::max(past, first)};
}

std::pair<int64_t, int64_t> WindowDim::tapsAt(int64_t position) const {
  int64_t start = position * stride;
  auto reach = [&](int64_t distance) {
    int64_t taps = (std::max<int64_t>(distance, 0) + dilation - 1) / dilation;
    return std::min(taps, kernel);
  };
  int64_t lo = reach(pad - start);
  return {lo, std::max(lo, reach(in + pad - start))};
}

std::pair<Ofr, Ofr> WindowDim::validTaps(IndexMath &m, Ofr start) const {
  // lo = ceil((pad - start) / dilation), hi = ceil((in + pad - start) / dil).
  Ofr before = m.max(m.sub(m.attr(pad), start), m.attr(0));
  Ofr lo = m.min(m.ceilDiv(before, m.attr(dilation)), m.attr(kernel));
  Ofr room = m.max(m.sub(m.attr(in + pad), start), m.attr(0));
  Ofr hi = m.min(m.ceilDiv(room, m.attr(dilation)), m.attr(kernel));
  return {lo, m.max(lo, hi)};
}

std::pair<Ofr, Ofr> WindowDim::validPositions(IndexMath &m, Ofr k) const {
  Ofr reach = m.mul(k, m.attr(dilation)), step = m.attr(stride);
  Ofr before = m.max(m.sub(m.attr(pad), reach), m.attr(0));
  Ofr from = m.min(m.ceilDiv(before, step), m.attr(out));
  Ofr room = m.max(m.sub(m.attr(in + pad), reach), m.attr(0));
  Ofr past = m.min(m.ceilDiv(room, step), m.attr(out));
  return {from, m.max(past, from)};
}

SpreadDim::SpreadDim(int64_t in, int64_t out, int64_t kernel, int64_t stride,
                     int64_t pad, int64_t dilation)
    : in(in), out(out), kernel(kernel), stride(stride), pad(pad),
      dilation(dilation) {
  divisor = std::gcd(stride, dilation);
  step = stride / divisor;
  back = dilation / divisor;
  // Euclid: x * (back mod step) = r (mod step) holds for both pairs.
  int64_t r0 = step, r1 = back % step, x0 = 0, x1 = 1;
  while (r1 != 0) {
    int64_t q = r0 / r1;
    std::tie(r0, r1) = std::pair(r1, r0 - q * r1);
    std::tie(x0, x1) = std::pair(x1, x0 - q * x1);
  }
  inverse = step == 1 ? 0 : (x0 % step + step) % step;
}

SpreadDim::Class SpreadDim::classOf(IndexMath &m, Ofr c) const {
  // The first tap k solves k * dilation = t (mod stride) with t = c + pad. It
  // exists where the divisor divides t.
  Ofr t = m.add(c, m.attr(pad));
  Ofr rest = m.rem(t, m.attr(stride));
  Class result;
  result.first = m.rem(
      m.mul(m.floorDiv(rest, m.attr(divisor)), m.attr(inverse)), m.attr(step));
  Ofr left = m.max(m.sub(m.attr(kernel), result.first), m.attr(0));
  Ofr none = m.min(m.rem(rest, m.attr(divisor)), m.attr(1));
  result.taps = m.mul(m.ceilDiv(left, m.attr(step)), m.sub(m.attr(1), none));
  Ofr reach = m.sub(m.mul(result.first, m.attr(dilation)), rest);
  result.shift = m.sub(m.floorDiv(t, m.attr(stride)),
                       m.floorDiv(m.max(reach, m.attr(0)), m.attr(stride)));
  result.count =
      m.ceilDiv(m.max(m.sub(m.attr(out), c), m.attr(0)), m.attr(stride));
  return result;
}

std::pair<Ofr, Ofr> SpreadDim::interior(IndexMath &m, const Class &c) const {
  Ofr reach = m.mul(m.sub(c.taps, m.attr(1)), m.attr(back));
  Ofr first = m.min(m.max(m.sub(reach, c.shift), m.attr(0)), c.count);
  Ofr past = m.min(m.sub(m.attr(in), c.shift), c.count);
  return {first, m.max(past, first)};
}

std::pair<Ofr, Ofr> SpreadDim::validTaps(IndexMath &m, const Class &c,
                                         Ofr q) const {
  // Tap j meets at - j * back.
  Ofr at = m.add(c.shift, q);
  Ofr before = m.max(m.add(at, m.attr(1)), m.attr(0));
  Ofr hi = m.min(m.ceilDiv(before, m.attr(back)), c.taps);
  Ofr beyond = m.max(m.sub(at, m.attr(in - 1)), m.attr(0));
  Ofr lo = m.min(m.ceilDiv(beyond, m.attr(back)), hi);
  return {lo, hi};
}

} // namespace tenon::tiling
