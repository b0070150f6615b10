//===- UnpackInt4.cpp - two integers to a byte become two bytes -----------===//
// SPDX-License-Identifier: Apache-2.0
//
//   func @main(%x: tensor<2x6xsi4>)
//       ->  func @main(%x: tensor<6xui8>)      the same memory
//           %b = TypeCast(Reshape(%x)) + [[8], [128]] : tensor<2x6xs32>
//           %n = TypeCast(And(%b, [[15], [240]])) * [[1], [1/16]] - 8
//           Reshape(Transpose(TypeCast(%n))) : tensor<2x6xsi8>
//
// No memory below this point has elements of less than a byte. The bits of u4
// are the number; those of s4 are it after 8 was added, without what is carried
// out of them, and 8 less is the number again. In f32 all of this is exact.
// Constants are unpacked once.
//
// What quantises to 4 bits gives bytes with as few values (kBitsAttr). Where it
// is a result of the graph, pairs of them are put together:
//
//   return %q : tensor<2x6xsi4>
//       ->  %n = And(Reshape(TypeCast(%q)), 15)    [6, 2] of s32
//           return TypeCast(ReduceSum(%n * [1, 16])) : tensor<6xui8>
//
// Of an odd number of elements, the high half of the last byte is cut off
// (Slice), or 0 (Pad).
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "dialects/support/Rounding.h"
#include "passes/Passes.h"
#include "passes/ops/Quantised.h"
#include "passes/support/Build.h"
#include "passes/support/Entry.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Permutations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

#include <array>

using namespace mlir;

namespace tenon::passes {
#define GEN_PASS_DEF_UNPACKINT4
#include "passes/Passes.h.inc"

namespace {

class Unpacking {
public:
  Unpacking(func::FuncOp f, BlockArgument arg)
      : b(OpBuilder::atBlockBegin(&f.getBody().front())), loc(arg.getLoc()),
        arg(arg), type(rankedType(arg)) {
    auto strides =
        f.getArgAttrOfType<DenseI64ArrayAttr>(arg.getArgNumber(), kStridesAttr);
    if (strides)
      order = *orderInMemory(type.getShape(), strides.asArrayRef());
  }

  /// `arg` becomes bytes; what is made of them takes its place.
  void run() {
    auto element = cast<IntegerType>(type.getElementType());
    MLIRContext *context = b.getContext();
    int64_t count = ceilDiv(type.getNumElements(), 2);
    arg.setType(RankedTensorType::get(
        count, IntegerType::get(context, 8, IntegerType::Unsigned)));
    Value bytes = buildReshape(b, loc, arg, {1, count});
    Operation *first = bytes.getDefiningOp();
    Value numbers = unpack(bytes, element.isSigned());
    auto byte = IntegerType::get(context, 8, element.getSignedness());
    Value result = inOrder(swapLastTwo(b, buildCast(b, loc, numbers, byte)));
    result.getDefiningOp()->setAttr(kBitsAttr, b.getI64IntegerAttr(4));
    arg.replaceUsesWithIf(
        result, [&](OpOperand &use) { return use.getOwner() != first; });
  }

private:
  /// The numbers in `bytes` [1, n], as f32: low halves, then high ones.
  Value unpack(Value bytes, bool isSigned) {
    Type s32 = IntegerType::get(b.getContext(), 32, IntegerType::Signed);
    Value x = buildCast(b, loc, bytes, s32);
    if (isSigned)
      x = buildBinary(b, loc, "Add", x, halves<int32_t>({8, 128}, s32));
    x = buildBinary(b, loc, "And", x, halves<int32_t>({15, 240}, s32));
    x = buildCast(b, loc, x, b.getF32Type());
    x = buildBinary(b, loc, "Multiply", x,
                    halves<float>({1, 1.0f / 16}, b.getF32Type()));
    return isSigned ? buildBinary(b, loc, "Subtract", x, buildScalar(b, loc, 8))
                    : x;
  }

  /// One number for each half of a byte that is used.
  template <typename T> Value halves(std::array<T, 2> numbers, Type element) {
    int64_t perByte = type.getNumElements() == 1 ? 1 : 2;
    return arith::ConstantOp::create(
        b, loc,
        DenseElementsAttr::get(RankedTensorType::get({perByte, 1}, element),
                               ArrayRef(numbers).take_front(perByte)));
  }

  /// `pairs` with the dimensions of the argument.
  Value inOrder(Value pairs) {
    int64_t count = type.getNumElements();
    auto all = rankedType(pairs);
    if (all.getNumElements() != count)
      pairs = buildGraphOp(
          b, loc, "Slice", buildReshape(b, loc, pairs, all.getNumElements()),
          RankedTensorType::get(count, all.getElementType()),
          {b.getNamedAttr("operandSegmentSizes",
                          b.getDenseI32ArrayAttr({1, 0, 0})),
           b.getNamedAttr("begins", b.getDenseI64ArrayAttr({0})),
           b.getNamedAttr("ends", b.getDenseI64ArrayAttr({count}))});
    if (order.empty())
      return buildReshape(b, loc, pairs, type.getShape());
    Order back(order.size());
    for (auto [i, o] : llvm::enumerate(order))
      back[o] = i;
    pairs = buildReshape(b, loc, pairs, permuted(type.getShape(), order));
    return buildTranspose(b, loc, pairs, back);
  }

  OpBuilder b;
  Location loc;
  BlockArgument arg;
  RankedTensorType type;
  Order order; // of the dimensions in memory, if not as in the tensor
};

/// Results of 4 bits become bytes of two.
class ResultPacking {
public:
  ResultPacking(func::ReturnOp op) : b(op), loc(op.getLoc()), op(op) {}

  void run(OpOperand &result) {
    auto type = rankedType(result.get());
    int64_t count = type.getNumElements(), perByte = count == 1 ? 1 : 2;
    Value v = result.get();
    if (count % perByte != 0) {
      v = buildReshape(b, loc, v, count++);
      v = buildGraphOp(
          b, loc, "Pad", v,
          RankedTensorType::get(count, rankedType(v).getElementType()),
          {b.getNamedAttr("pads_begin", b.getDenseI64ArrayAttr({0})),
           b.getNamedAttr("pads_end", b.getDenseI64ArrayAttr({1}))});
    }
    v = buildReshape(b, loc, v, {count / perByte, perByte});
    v = buildBinary(b, loc, "And", buildCast(b, loc, v, s32()), literal({15}));
    v = buildBinary(b, loc, "Multiply", v,
                    literal(ArrayRef<int32_t>{1, 16}.take_front(perByte)));
    Value bytes = buildGraphOp(
        b, loc, "ReduceSum", v, RankedTensorType::get(count / perByte, s32()),
        {b.getNamedAttr("axes", b.getDenseI64ArrayAttr({1})),
         b.getNamedAttr("keep_dims", b.getBoolAttr(false))});
    auto byte = IntegerType::get(b.getContext(), 8, IntegerType::Unsigned);
    result.set(buildCast(b, loc, bytes, byte));
  }

private:
  Type s32() const {
    return IntegerType::get(op->getContext(), 32, IntegerType::Signed);
  }
  Value literal(ArrayRef<int32_t> values) {
    auto type =
        RankedTensorType::get(static_cast<int64_t>(values.size()), s32());
    return arith::ConstantOp::create(b, loc,
                                     DenseElementsAttr::get(type, values));
  }

  OpBuilder b;
  Location loc;
  func::ReturnOp op;
};

/// What quantises to 4 bits makes bytes.
void makeBytes(Operation *quantize) {
  Value result = quantize->getResult(0);
  auto type = rankedType(result);
  auto element = cast<IntegerType>(type.getElementType());
  Builder b(quantize->getContext());
  result.setType(
      type.clone(IntegerType::get(b.getContext(), 8, element.getSignedness())));
  quantize->setAttr(kBitsAttr, b.getI64IntegerAttr(4));
}

struct UnpackInt4Pass : impl::UnpackInt4Base<UnpackInt4Pass> {
  /// Whether there were results of 4 bits.
  bool packResults(func::FuncOp f) {
    auto end = cast<func::ReturnOp>(f.getBody().front().getTerminator());
    SmallVector<OpOperand *> packed;
    for (OpOperand &result : end->getOpOperands())
      if (rankedType(result.get()).getElementType().isInteger(4))
        packed.push_back(&result);
    SmallVector<DictionaryAttr> attrs;
    f.getAllResultAttrs(attrs);
    attrs.resize(f.getNumResults());
    for (OpOperand *result : packed) {
      DictionaryAttr &dict = attrs[result->getOperandNumber()];
      NamedAttrList list(dict);
      list.erase(kStridesAttr);
      list.set(kRankAttr,
               IntegerAttr::get(IndexType::get(&getContext()),
                                rankedType(result->get()).getRank()));
      dict = list.getDictionary(&getContext());
    }
    f.walk([](Operation *op) {
      if (graph::isQuantization(op) &&
          rankedType(op->getResult(0)).getElementType().isInteger(4))
        makeBytes(op);
    });
    for (OpOperand *result : packed)
      ResultPacking(end).run(*result);
    if (packed.empty())
      return false;
    f.setAllResultAttrs(attrs);
    return true;
  }

  void runOnOperation() override {
    for (auto f : getOperation().getOps<func::FuncOp>()) {
      bool hasPacked = packResults(f);
      bool changed = false;
      SmallVector<DictionaryAttr> attrs;
      f.getAllArgAttrs(attrs);
      for (BlockArgument arg : f.getArguments()) {
        auto type = rankedType(arg);
        if (!type || !type.getElementType().isInteger(4))
          continue;
        if (!arg.use_empty())
          arg.user_begin()->emitRemark(
              "two elements to a byte are unpacked to bytes before anything "
              "reads them");
        Unpacking(f, arg).run();
        DictionaryAttr &dict = attrs[arg.getArgNumber()];
        NamedAttrList list(dict);
        list.erase(kStridesAttr);
        list.set(kRankAttr, IntegerAttr::get(IndexType::get(&getContext()),
                                             type.getRank()));
        dict = list.getDictionary(&getContext());
        changed = true;
        ++unpacked;
      }
      if (changed)
        f.setAllArgAttrs(attrs); // at once: each change makes another list
      if (changed || hasPacked)
        f.setFunctionType(FunctionType::get(
            &getContext(), f.getBody().getArgumentTypes(),
            f.getBody().front().getTerminator()->getOperandTypes()));
    }
  }
};

} // namespace
} // namespace tenon::passes
