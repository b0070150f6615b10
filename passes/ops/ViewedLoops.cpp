// SPDX-License-Identifier: Apache-2.0
#include "passes/ops/ViewedLoops.h"

#include "dialects/graph/GraphDialect.h"
#include "passes/ops/ScalarOps.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Permutations.h"

using namespace mlir;

namespace tenon::passes {

namespace {

using Dims = ViewedLoops::Dims;

/// Walks from a value back to what is read for it. Loops are cut in two on the
/// way, wherever a reshape meets a dimension that is a part of one.
class LoopFinder {
public:
  std::optional<ViewedLoops> run(Value v, ArrayRef<Operation *> ops) {
    Dims dims;
    for (int64_t size : rankedType(v).getShape()) {
      dims.emplace_back();
      if (size == 1)
        continue;
      dims.back().push_back(found.sizes.size());
      found.sizes.push_back(size);
    }
    found.dims[v] = dims;
    for (Operation *op : llvm::reverse(ops)) {
      auto known = found.dims.find(op->getResult(0));
      if (known == found.dims.end())
        continue; // It makes something else.
      Dims ofResult = known->second;
      if (!passBack(op, ofResult))
        return std::nullopt;
    }
    return std::move(found);
  }

private:
  /// From the dims of the result of `op` to those of its operands.
  bool passBack(Operation *op, const Dims &result) {
    if (isa<graph::StaticReshapeOp>(op))
      return passReshape(op, result);
    if (Order order = orderOf(op->getResult(0)); !order.empty()) {
      Dims operand(order.size());
      for (auto [i, o] : llvm::enumerate(order))
        operand[o] = result[i];
      return set(op->getOperand(0), operand);
    }
    // Operands of those with such an attribute need not be aligned at the end.
    if (!isScalarOp(op) ||
        (op->getNumOperands() > 1 && op->hasAttr("data_format")))
      return false;
    return llvm::all_of(op->getOperands(), [&](Value v) {
      ArrayRef<int64_t> shape = rankedType(v).getShape();
      if (splatLiteral(v))
        return true;
      Dims operand(result.end() - shape.size(), result.end());
      for (auto [size, loops] : llvm::zip(shape, operand))
        if (size == 1)
          loops.clear();
      return set(v, operand);
    });
  }

  bool set(Value v, const Dims &dims) {
    auto [known, isNew] = found.dims.try_emplace(v, dims);
    return isNew || known->second == dims;
  }

  /// Of two sizes that are not known, no type tells which becomes which, unless
  /// all of them are copied.
  static bool knowsSizes(Operation *reshape) {
    auto src = rankedType(reshape->getOperand(0)),
         dst = rankedType(reshape->getResult(0));
    if (llvm::count_if(src.getShape(), ShapedType::isDynamic) <= 1)
      return true;
    SmallVector<int64_t> target = intsAttr(reshape, "shape");
    for (int64_t d = 0; d < src.getRank(); ++d)
      if (src.isDynamicDim(d) && (d >= dst.getRank() || target[d] != 0))
        return false;
    return boolAttr(reshape, "special_zero");
  }

  bool passReshape(Operation *op, const Dims &result) {
    Value src = op->getOperand(0);
    ArrayRef<int64_t> shape = rankedType(src).getShape();
    if (!knowsSizes(op))
      return false;
    SmallVector<unsigned> left;
    for (const auto &loops : result)
      llvm::append_range(left, loops);
    Dims operand(shape.size());
    for (int64_t d = static_cast<int64_t>(shape.size()) - 1; d >= 0; --d)
      for (int64_t size = shape[d]; size != 1;) {
        std::optional<int64_t> rest = take(left, size, operand);
        if (!rest)
          return false;
        operand[d].insert(operand[d].begin(), left.pop_back_val());
        size = *rest;
      }
    return left.empty() && set(src, operand);
  }

  /// Makes the last of `left` a loop of a dim of `size`, and returns what is
  /// left of that; nothing if neither divides the other. `pending` are dims of
  /// a value that is not known yet.
  std::optional<int64_t> take(SmallVector<unsigned> &left, int64_t size,
                              Dims &pending) {
    if (left.empty() || size == 0)
      return std::nullopt;
    unsigned loop = left.back();
    int64_t own = found.sizes[loop];
    if (ShapedType::isDynamic(size) || ShapedType::isDynamic(own))
      return size == own ? std::optional<int64_t>(1) : std::nullopt;
    if (own != 0 && size % own == 0)
      return size / own;
    if (own % size != 0)
      return std::nullopt;
    cut(loop, size, left, pending);
    return 1;
  }

  /// Cuts `loop` into itself and a new one inside, of `inner` iterations.
  void cut(unsigned loop, int64_t inner, SmallVector<unsigned> &left,
           Dims &pending) {
    unsigned fresh = found.sizes.size();
    found.sizes[loop] /= inner;
    found.sizes.push_back(inner);
    auto cutIn = [&](auto &loops) {
      if (auto *at = llvm::find(loops, loop); at != loops.end())
        loops.insert(at + 1, fresh);
    };
    for (auto &[value, dims] : found.dims)
      llvm::for_each(dims, cutIn);
    llvm::for_each(pending, cutIn);
    cutIn(left);
  }

  ViewedLoops found;
};

} // namespace

std::optional<ViewedLoops> findViewedLoops(Value v, ArrayRef<Operation *> ops) {
  return LoopFinder().run(v, ops);
}

} // namespace tenon::passes
