#include "passes/tiling/Items.h"

#include "dialects/rt/RtDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tenon::tiling {

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
  emitLoop(inner, Ofr(section.getBegin()), Ofr(section.getEnd()),
           [&](IndexMath &im, Ofr i) {
             body(im, cast<Value>(i), section.getScratchMemory());
           });
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

std::pair<int64_t, int64_t> WindowDim::interior() const {
  int64_t first = std::min(out, (pad + stride - 1) / stride);
  int64_t room = in - 1 - (kernel - 1) * dilation + pad;
  int64_t past = room < 0 ? 0 : std::min(out, room / stride + 1);
  return {first, std::max(past, first)};
}

std::pair<Ofr, Ofr> WindowDim::validTaps(IndexMath &m, Ofr start) const {
  // lo = ceil((pad - start) / dilation), hi = ceil((in + pad - start) / dil).
  Ofr before = m.max(m.sub(m.attr(pad), start), m.attr(0));
  Ofr lo = m.min(m.ceilDiv(before, m.attr(dilation)), m.attr(kernel));
  Ofr room = m.max(m.sub(m.attr(in + pad), start), m.attr(0));
  Ofr hi = m.min(m.ceilDiv(room, m.attr(dilation)), m.attr(kernel));
  return {lo, m.max(lo, hi)};
}

} // namespace tenon::tiling
