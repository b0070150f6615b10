#include "dialects/tile/TileDialect.h"
#include "passes/ops/OpKinds.h"
#include "passes/support/Diagnose.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Orders.h"
#include "passes/tile/core/GroupLowering.h"

using namespace mlir;

namespace tenon::tiling {

void SizeMap::set(Value v, ArrayRef<Ofr> s) {
  sizes[v] = SmallVector<Ofr>(s.begin(), s.end());
}

ArrayRef<Ofr> SizeMap::operator[](Value v) const {
  auto it = sizes.find(v);
  assert(it != sizes.end() && "value without sizes");
  return it->second;
}

/// Output size of a window: (in + pads - ((k - 1) * dilation + 1)) / stride
/// + 1.
static Ofr windowSize(IndexMath &m, Ofr in, int64_t pads, int64_t k,
                      int64_t dilation, int64_t stride) {
  Ofr padded = m.add(in, m.attr(pads - ((k - 1) * dilation + 1)));
  return m.add(m.floorDiv(padded, m.attr(stride)), m.attr(1));
}

/// Sizes of the dynamic dimensions; static ones are overwritten by the type.
SmallVector<Ofr> SizeMap::inferResult(Operation *op, unsigned i) {
  auto type = rankedType(op->getResult(i));
  int64_t rank = type.getRank();
  SmallVector<Ofr> r(rank, Ofr());
  auto broadcast = [&](int64_t dims, ValueRange operands) {
    for (Value v : operands) {
      ArrayRef<Ofr> s = (*this)[v];
      int64_t lead = dims - static_cast<int64_t>(s.size());
      for (auto [i, size] : llvm::enumerate(s))
        if (lead + static_cast<int64_t>(i) >= 0 &&
            !IndexMath::isConstant(size, 1) && !r[lead + i])
          r[lead + i] = size;
    }
  };
  if (auto product = dyn_cast<tile::MatMulOp>(op)) {
    ArrayRef<Ofr> a = (*this)[product.getSrc()];
    for (int64_t i = 2; i <= static_cast<int64_t>(a.size()) && i <= rank; ++i)
      r[rank - i] = a[a.size() - i];
    // Batch dims that src does not have come from the weights.
    ArrayRef<Ofr> w = (*this)[product.getWeights()];
    for (int64_t i = 3; i <= rank; ++i) {
      int64_t wi = static_cast<int64_t>(w.size()) - !product.getInPlace() - i;
      bool one = !r[rank - i] || IndexMath::isConstant(r[rank - i], 1);
      if (one && wi >= 0)
        r[rank - i] = w[wi];
    }
    return r;
  }
  if (auto attention = dyn_cast<tile::AttentionOp>(op)) {
    // Leading dims of q, where it has none those of k and v; then the rows.
    for (auto [v, extra] :
         {std::pair(attention.getQ(), 0),
          std::pair(attention.getK(), attention.getPacked() ? 1 : 0),
          std::pair(attention.getV(), 0)}) {
      ArrayRef<Ofr> s = (*this)[v].drop_back(2 + extra);
      for (int64_t i = 1; i <= static_cast<int64_t>(s.size()); ++i)
        if (Ofr &d = r[rank - 2 - i]; !d || IndexMath::isConstant(d, 1))
          d = s[s.size() - i];
    }
    Value rows = attention.getFromLeft() ? attention.getV() : attention.getQ();
    r[rank - 2] = *((*this)[rows].end() - 2);
    return r;
  }
  if (auto rnn = dyn_cast<tile::RnnOp>(op)) {
    // Steps and batch of dst, the batch of the states.
    ArrayRef<Ofr> gates = (*this)[rnn.getGates()];
    r[rank - 2] = gates[1];
    if (i == 0)
      r[0] = gates[0];
    return r;
  }
  if (isa<tile::FlipOp>(op))
    return llvm::to_vector((*this)[op->getOperand(0)]);
  if (isa<tile::PackGatesOp>(op)) {
    r[1] = (*this)[op->getOperand(0)][2];
    return r;
  }
  if (auto conv = dyn_cast<tile::ConvOp>(op)) {
    ArrayRef<Ofr> s = (*this)[conv.getSrc()];
    r[0] = s[0];
    for (int64_t i = 0; i < rank - 2; ++i)
      r[i + 1] = windowSize(
          m, s[i + 1], conv.getPadsBegin()[i] + conv.getPadsEnd()[i],
          conv.getTaps(i), conv.getDilations()[i], conv.getStrides()[i]);
    return r;
  }
  if (auto pack = dyn_cast<tile::PackOp>(op)) {
    // [B.., K, N] to [B.., P, K, panel], or [K.., N] to [G, P, K.., panel].
    ArrayRef<Ofr> s = (*this)[pack.getWeights()];
    int64_t last = static_cast<int64_t>(s.size()) - 1;
    Ofr k;
    for (int64_t i = 0; i < last; ++i)
      k = r[pack.getGroups() ? i + 2 : i < last - 1 ? i : i + 1] = s[i];
    r[pack.getGroups() ? last + 1 : last] =
        m.ceilDiv(k, m.attr(pack.getInterleave()));
    Ofr columns = m.floorDiv(s[last], m.attr(pack.getGroups().value_or(1)));
    r[pack.getGroups() ? 1 : last - 1] =
        m.ceilDiv(columns, m.attr(pack.getPanel()));
    return r;
  }
  if (isa<tile::ConvTransposeOp, tile::WinogradOp>(op)) {
    r[0] = (*this)[op->getOperand(0)][0];
    return r;
  }
  if (isKind(op, "StaticReshape")) {
    // Dims are copied, and one is what the others leave.
    ArrayRef<Ofr> s = (*this)[op->getOperand(0)];
    SmallVector<int64_t> shape = intsAttr(op, "shape");
    bool copies = boolAttr(op, "special_zero");
    Ofr others = m.attr(1);
    int64_t rest = -1;
    for (int64_t i = 0; i < rank; ++i) {
      if (!type.isDynamicDim(i))
        r[i] = m.attr(type.getDimSize(i));
      else if (copies && shape[i] == 0)
        r[i] = s[i];
      else
        rest = i;
      if (r[i])
        others = m.mul(others, r[i]);
    }
    if (rest >= 0) // of an empty tensor nothing is left
      r[rest] = m.floorDiv(m.product(s), m.max(others, m.attr(1)));
    return r;
  }
  if (isKind(op, "StaticTranspose")) {
    ArrayRef<Ofr> s = (*this)[op->getOperand(0)];
    for (auto [i, o] : llvm::enumerate(orderOf(op->getResult(0))))
      r[i] = s[o];
    return r;
  }
  if (kindOf(op).starts_with("Reduce")) {
    ArrayRef<Ofr> s = (*this)[op->getOperand(0)];
    llvm::SmallDenseSet<int64_t> axes;
    for (int64_t a : intsAttr(op, "axes"))
      axes.insert(normalizedAxis(a, s.size()));
    bool keep = boolAttr(op, "keep_dims");
    int64_t j = 0;
    for (int64_t i = 0, e = s.size(); i < e; ++i) {
      if (axes.contains(i) && !keep)
        continue;
      r[j++] = axes.contains(i) ? m.attr(1) : s[i];
    }
    return r;
  }
  if (fusion::isRowOp(op)) // other operands have fewer dimensions
    return SmallVector<Ofr>((*this)[op->getOperand(0)]);
  if (isKind(op, "Concat")) {
    int64_t axis = normalizedAxis(intAttr(op, "axis"), rank);
    broadcast(rank, op->getOperands());
    r[axis] = m.attr(0);
    for (Value v : op->getOperands())
      r[axis] = m.add(r[axis], (*this)[v][axis]);
    return r;
  }
  if (isKind(op, "MaxPool") || isKind(op, "AvgPool"))
    r[0] = (*this)[op->getOperand(0)][0];
  else
    broadcast(rank, op->getOperands());
  return r;
}

/// Results behind the first: statistics and gradients of parameters.
SmallVector<Ofr> SizeMap::inferStatistics(Operation *op, int64_t rank) {
  ArrayRef<Ofr> s = (*this)[op->getOperand(0)];
  if (isKind(op, "PReLUBackward"))
    return SmallVector<Ofr>((*this)[op->getOperand(1)]);
  if (kindOf(op).starts_with("BatchNorm"))
    return {s[fusion::channelDim(op, s.size())]};
  if (isa<tile::AttentionOp>(op)) { // the last size is 1, by the type
    SmallVector<Ofr> dst = inferResult(op, 0);
    dst.resize(rank);
    return dst;
  }
  // The leading sizes; where reduced, the type says 1.
  return SmallVector<Ofr>(s.take_front(rank));
}

LogicalResult SizeMap::infer(Operation *op) {
  for (auto [i, v] : llvm::enumerate(op->getResults())) {
    auto type = rankedType(v);
    SmallVector<Ofr> r(type.getRank(), Ofr());
    if (!type.hasStaticShape()) {
      if (i == 0 || isa<tile::RnnOp>(op)) {
        r = inferResult(op, i);
      } else {
        r = inferStatistics(op, type.getRank());
      }
    }
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (!type.isDynamicDim(d))
        r[d] = m.attr(type.getDimSize(d));
      else if (!r[d])
        return emitError(op, ErrorCode::UnsupportedForm,
                         "cannot derive the size of dimension " + Twine(d) +
                             " of its result");
    }
    sizes[v] = std::move(r);
  }
  return success();
}

} // namespace tenon::tiling
