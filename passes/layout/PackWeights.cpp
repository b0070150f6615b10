//===- PackWeights.cpp - contractions read weights in panels --------------===//
//
//   MatMul(%x, %w)            %p = tile.pack %w panel 16
//                       ->    tile.matmul %x, %p
//
// The keys of tile.attention are packed likewise.
//
// A panel holds, for each k, NR neighbouring columns: the microkernel streams
// it with unit stride.  NR is the register tile's width, or less when there
// are fewer columns.
//
//===----------------------------------------------------------------------===//
#include "codegen/microkernel/RegisterTile.h"
#include "dialects/tile/TileDialect.h"
#include "passes/Passes.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_PACKWEIGHTS
#include "passes/Passes.h.inc"

namespace {

struct PackWeightsPass : impl::PackWeightsBase<PackWeightsPass> {
  using PackWeightsBase::PackWeightsBase;

  /// Columns of a panel for N columns in all and M rows (or dynamic).
  int64_t panelFor(int64_t m, int64_t n) {
    microkernel::VectorIsa isa{vectorBits, numVectorRegisters};
    auto known = [](int64_t d) {
      return ShapedType::isDynamic(d) ? std::nullopt : std::optional(d);
    };
    constexpr int64_t elementBits = 32;
    int64_t lanes = isa.lanes(elementBits);
    int64_t panel =
        microkernel::chooseRegisterTile(isa, elementBits, known(m), known(n))
            .vectors *
        lanes;
    return ShapedType::isDynamic(n)
               ? panel
               : std::min(panel, std::max<int64_t>(1, (n + lanes - 1) / lanes) *
                                     lanes);
  }

  void packMatMul(Operation *op, OpBuilder &b) {
    Value src = op->getOperand(0), weights = op->getOperand(1);
    auto type = rankedType(weights);
    auto dst = rankedType(op->getResult(0));
    int64_t m = dst.getDimSize(dst.getRank() - 2);
    int64_t panel = panelFor(m, type.getShape().back());
    Value packed =
        tile::PackOp::create(b, op->getLoc(), weights, panel, std::nullopt);
    Value product = tile::MatMulOp::create(b, op->getLoc(), dst, src, packed);
    replace(op, product);
  }

  void packConvolution(Operation *op, OpBuilder &b) {
    Value src = op->getOperand(0), weights = op->getOperand(1);
    auto type = rankedType(weights);
    int64_t rank = type.getRank();
    int64_t groups = intAttr(op, "groups", 1);
    int64_t inputs = type.getDimSize(rank - 2);
    int64_t outputs = type.getDimSize(rank - 1);
    bool depthwise = inputs == 1 && groups > 1 && outputs == groups;
    if (!depthwise) {
      auto dst = rankedType(op->getResult(0));
      int64_t panel =
          panelFor(dst.getDimSize(rank - 2),
                   ShapedType::isDynamic(outputs) ? outputs : outputs / groups);
      weights = tile::PackOp::create(b, op->getLoc(), weights, panel, groups);
    }
    SmallVector<int64_t> begin = intsAttr(op, "pads_begin");
    SmallVector<int64_t> end = intsAttr(op, "pads_end");
    begin.resize(rank - 2, 0);
    end.resize(rank - 2, 0);
    Value product = tile::ConvOp::create(
        b, op->getLoc(), op->getResult(0).getType(), src, weights,
        b.getDenseI64ArrayAttr(intsAttr(op, "strides")),
        b.getDenseI64ArrayAttr(begin), b.getDenseI64ArrayAttr(end),
        b.getDenseI64ArrayAttr(intsAttr(op, "dilations")),
        b.getI64IntegerAttr(groups), depthwise ? b.getUnitAttr() : UnitAttr());
    replace(op, product);
  }

  /// Keys change with every execution, but are read once per block of queries.
  void packKeys(tile::AttentionOp op, OpBuilder &b) {
    int64_t panel = panelFor(ShapedType::kDynamic, op.getNumKeys());
    Value keys =
        tile::PackOp::create(b, op.getLoc(), op.getK(), panel, std::nullopt);
    op.getKMutable().assign(keys);
    op.setPacked(true);
    ++packed;
  }

  void replace(Operation *op, Value product) {
    op->getResult(0).replaceAllUsesWith(product);
    op->erase();
    ++packed;
  }

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      auto attention = dyn_cast<tile::AttentionOp>(op);
      if (isKind(op, "MatMul") || isKind(op, "Convolution") ||
          (attention && !attention.getPacked()))
        ops.push_back(op);
    });
    OpBuilder b(&getContext());
    for (Operation *op : ops) {
      b.setInsertionPoint(op);
      if (auto attention = dyn_cast<tile::AttentionOp>(op))
        packKeys(attention, b);
      else if (isKind(op, "MatMul"))
        packMatMul(op, b);
      else
        packConvolution(op, b);
    }
  }
};

} // namespace
} // namespace tenon
