// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/products/DequantizedPanels.h"

#include "codegen/microkernel/Int4.h"
#include "passes/tile/core/Strided.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace tenon::passes {

Value wordsOf(IndexMath &m, Value memory, Type type) {
  OpBuilder &b = m.builder();
  Index count = product(m(memref::getMixedSizes(b, m.location(), memory)));
  Value bytes = box(m, memory, 0, {count}, {1});
  Index words = count / (type.getIntOrFloatBitWidth() / 8);
  auto known = words.constant();
  SmallVector<Value> sizes;
  if (!known)
    sizes.push_back(m.value(words));
  return memref::ViewOp::create(
      b, m.location(),
      MemRefType::get({known.value_or(ShapedType::kDynamic)}, type), bytes,
      m.value(0), sizes);
}

/// Level `part` of those in a byte, as i32.
static Value quantizedValue(OpBuilder &b, Location loc,
                            tile::QuantizedWeightsAttr quantized, Value byte,
                            int64_t part) {
  Type i32 = b.getI32Type();
  bool isSigned = quantized.getIsSigned();
  Value x = isSigned ? arith::ExtSIOp::create(b, loc, i32, byte).getResult()
                     : arith::ExtUIOp::create(b, loc, i32, byte);
  return quantized.getBits() == 8
             ? x
             : microkernel::halfOfByte(b, loc, x, isSigned, part);
}

void DequantizedPanels::emit(IndexMath &m, Value memory, Index start,
                             int64_t from, int64_t count, Value to) const {
  OpBuilder &b = m.builder();
  MLIRContext *context = b.getContext();
  int64_t perRow = quantized.perRow(), group = quantized.groupOf(k);
  int64_t bytesOfGroup = quantized.rowsOfGroup(k) * panel;
  // One group is all of K, of which this may be a part.
  int64_t groups = quantized.hasScales() ? count / group : 1;
  int64_t rows = count / groups / perRow;
  int64_t first = quantized.hasScales() ? from / group * bytesOfGroup : 0;
  int64_t row = quantized.hasScales() ? 0 : from / perRow;
  AffineExpr d0 = b.getAffineDimExpr(0), d2 = b.getAffineDimExpr(2);
  AffineMap all = b.getMultiDimIdentityMap(3),
            ofGroup = AffineMap::get(3, 0, {d0, d2}, context);
  auto at = [&](int64_t bytes) { return start + (first + bytes); };
  SmallVector<Value> ins{box(m, memory,
                             at((quantized.rowsOfHead() + row) * panel),
                             {groups, rows, panel}, {bytesOfGroup, panel, 1})};
  SmallVector<AffineMap> maps{all};
  auto addHead = [&](Value from, Index offset, int64_t bytesOfElement) {
    ins.push_back(box(m, from, offset, {groups, panel},
                      {bytesOfGroup / bytesOfElement, 1}));
    maps.push_back(ofGroup);
  };
  constexpr int64_t size = sizeof(float);
  if (quantized.hasScales())
    addHead(wordsOf(m, memory, b.getF32Type()), at(0) / size, size);
  if (quantized.getZeroPoints())
    addHead(memory, at(quantized.hasScales() ? size * panel : 0), 1);
  maps.push_back(all);
  for (int64_t part = 0; part < perRow; ++part) {
    Value out = box(m, to, part * panel, {groups, rows, panel},
                    {count / groups * panel, perRow * panel, 1});
    linalg::GenericOp::create(
        b, m.location(), TypeRange(), ins, out, maps,
        SmallVector<utils::IteratorType>(3, utils::IteratorType::parallel),
        [&](OpBuilder &nb, Location l, ValueRange args) {
          Value x = quantizedValue(nb, l, quantized, args[0], part);
          if (quantized.getZeroPoints()) {
            Value zero = args[1 + quantized.hasScales()];
            Type i32 = nb.getI32Type();
            zero = quantized.getIsSigned()
                       ? arith::ExtSIOp::create(nb, l, i32, zero).getResult()
                       : arith::ExtUIOp::create(nb, l, i32, zero);
            x = arith::SubIOp::create(nb, l, x, zero);
          }
          x = arith::SIToFPOp::create(nb, l, nb.getF32Type(), x);
          if (quantized.hasScales())
            x = arith::MulFOp::create(nb, l, x, args[1]);
          linalg::YieldOp::create(nb, l, x);
        });
  }
}

} // namespace tenon::passes
