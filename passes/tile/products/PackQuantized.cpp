//===- PackQuantized.cpp - quantised weights in panels --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// tile.pack_quantized writes, for each quantization group of K, the scales
// (four bytes each), the zero points and the quantized weights. It runs once,
// so it may store single bytes.
//
//===----------------------------------------------------------------------===//
#include "passes/support/GraphAttrs.h"
#include "passes/tile/core/GroupLowering.h"
#include "passes/tile/loops/LoopProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::passes {

namespace {

class QuantizedPacking {
public:
  QuantizedPacking(GroupContext &ctx, tile::PackQuantizedOp op)
      : ctx(ctx), m(ctx.m), op(op), quantized(op.getQuantized()),
        dst(ctx.result()), k(rankedType(op.getWeights()).getDimSize(0)),
        n(rankedType(op.getWeights()).getDimSize(1)), panel(op.getPanel()),
        rowsOfPanel(quantized.rows(k)), rowsOfGroup(quantized.rowsOfGroup(k)),
        groups(k / quantized.groupOf(k)) {}

  void emit() {
    int64_t full = n / panel, rest = n % panel;
    if (full)
      emitPanels({0, full, panel});
    if (!rest)
      return;
    Strided last = dst;
    last.dense = false;
    last.sizes[0] = 1;
    last.offset = full * rowsOfPanel * panel;
    emitCopy(ctx, std::nullopt, last);
    emitPanels({full, 1, rest});
  }

private:
  /// Panels [first, first + count), of each `columns` columns.
  struct Part {
    int64_t first, count, columns;
  };
  using Body = LoopProgram::Body;

  void emitPanels(Part p) {
    int64_t row = 0;
    if (quantized.hasScales()) {
      for (size_t byte = 0; byte < sizeof(float); ++byte)
        emitHead(p, op.getScales(), byte, sizeof(float), byteOfScale(byte));
      row += sizeof(float);
    }
    if (quantized.getZeroPoints())
      emitHead(p, op.getZeroPoints(), row * panel, 1,
               withoutSign(quantized.bias()));
    emitLevels(p);
  }

  static Body byteOfScale(size_t byte) {
    return [byte](OpBuilder &b, Location loc, ValueRange args) -> Value {
      Type i32 = b.getI32Type();
      Value bits = arith::BitcastOp::create(b, loc, i32, args[0]);
      Value by = arith::ConstantOp::create(
          b, loc, b.getI32IntegerAttr(8 * static_cast<int32_t>(byte)));
      bits = arith::ShRUIOp::create(b, loc, bits, by);
      return arith::TruncIOp::create(b, loc, b.getI8Type(), bits);
    };
  }

  /// `body` of each element of `v` [groups, N], to byte `at` of what a group
  /// begins with, columns `step` apart.
  void emitHead(Part p, Value v, int64_t at, int64_t step, const Body &body) {
    Strided src = ctx.memoryOf(v);
    Index alongN = src.strides[1];
    Strided from = view(src, {p.count, groups, p.columns},
                        {panel * alongN, src.strides[0], alongN},
                        p.first * panel * alongN);
    Strided to = view(dst, {p.count, groups, p.columns},
                      {rowsOfPanel * panel, rowsOfGroup * panel, step},
                      p.first * rowsOfPanel * panel + at);
    write({from}, to, body);
  }

  void emitLevels(Part p) {
    Strided src = ctx.memoryOf(op.getWeights());
    Index alongK = src.strides[0], alongN = src.strides[1];
    int64_t perByte = quantized.perRow(), group = quantized.groupOf(k);
    int64_t together = quantized.together(), perRow = perByte * together;
    SmallVector<int64_t> sizes{p.count, groups, group / perRow, p.columns};
    SmallVector<Index> steps{panel * alongN, group * alongK, perRow * alongK,
                             alongN};
    SmallVector<Index> stepsOfDst{rowsOfPanel * panel, rowsOfGroup * panel,
                                  together * panel, together};
    if (together > 1) {
      sizes.push_back(together);
      steps.push_back(alongK);
      stepsOfDst.push_back(1);
    }
    SmallVector<Strided> from;
    for (int64_t i = 0; i < perByte; ++i)
      from.push_back(view(src, sizes, steps,
                          p.first * panel * alongN + i * together * alongK));
    Strided to = view(dst, sizes, stepsOfDst,
                      (p.first * rowsOfPanel + quantized.rowsOfHead()) * panel);
    write(from, to,
          perByte == 1 ? withoutSign(quantized.bias())
                       : halvesOfByte(quantized.bias()));
  }

  static Value byte(OpBuilder &b, Location loc, int64_t n) {
    return arith::ConstantOp::create(
        b, loc, b.getI8IntegerAttr(static_cast<int8_t>(n)));
  }

  /// `bias` more, none if that is 0.
  static Body withoutSign(int64_t bias) {
    if (!bias)
      return Body();
    return [bias](OpBuilder &b, Location loc, ValueRange args) -> Value {
      return arith::AddIOp::create(b, loc, args[0], byte(b, loc, bias));
    };
  }

  /// In halves, `bias` is the highest bit, the sign.
  static Body halvesOfByte(int64_t bias) {
    return [bias](OpBuilder &b, Location loc, ValueRange args) -> Value {
      Value low = arith::AndIOp::create(b, loc, args[0], byte(b, loc, 15));
      Value high = arith::ShLIOp::create(b, loc, args[1], byte(b, loc, 4));
      Value both = arith::OrIOp::create(b, loc, low, high);
      return bias ? arith::XOrIOp::create(b, loc, both, byte(b, loc, 17 * bias))
                        .getResult()
                  : both;
    };
  }

  Strided view(const Strided &s, ArrayRef<int64_t> sizes,
               ArrayRef<Index> strides, Index offset) {
    Strided result;
    result.base = s.base;
    for (int64_t size : sizes)
      result.sizes.push_back(size);
    result.strides.assign(strides.begin(), strides.end());
    result.offset = s.offset ? *s.offset + offset : offset;
    return result;
  }

  /// `body` of the elements of `from`, or these as they are.
  void write(ArrayRef<Strided> from, const Strided &to, const Body &body) {
    LoopProgram program(m, ctx.label, ctx.target.getL2Bytes(), to.sizes,
                        SmallVector<bool>(to.rank(), false));
    SmallVector<LoopProgram::Node> nodes;
    for (const Strided &s : from)
      nodes.push_back(program.input(s));
    program.output(body ? program.compute(nodes, m.builder().getI8Type(), body)
                        : nodes.front(),
                   to);
    program.emit();
  }

  GroupContext &ctx;
  IndexMath &m;
  tile::PackQuantizedOp op;
  tile::QuantizedWeightsAttr quantized;
  Strided dst; // [P, rows, panel]
  int64_t k, n, panel, rowsOfPanel, rowsOfGroup, groups;
};

} // namespace

LogicalResult lowerPackQuantized(GroupContext &ctx, tile::PackQuantizedOp op) {
  QuantizedPacking(ctx, op).emit();
  return success();
}

} // namespace tenon::passes
