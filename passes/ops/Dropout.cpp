// SPDX-License-Identifier: Apache-2.0
#include "passes/ops/Dropout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <array>

using namespace mlir;

namespace tenon::passes {

namespace {

/// Words of 32 bits in the low half of an i64. High halves hold garbage until
/// a word is multiplied or compared: the product of the low halves is one
/// instruction of every vector unit.
struct Words {
  OpBuilder &b;
  Location loc;

  Value c(int64_t v) {
    return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(v));
  }
  Value add(Value x, int64_t y) {
    return arith::AddIOp::create(b, loc, x, c(y));
  }
  Value low(Value x) { return arith::AndIOp::create(b, loc, x, c(0xffffffff)); }
  Value high(Value x) { return arith::ShRUIOp::create(b, loc, x, c(32)); }
  Value product(Value x, int64_t y) {
    return arith::MulIOp::create(b, loc, low(x), c(y));
  }
  Value exclusive(Value x, Value y) {
    return arith::XOrIOp::create(b, loc, x, y);
  }
  Value equal(Value x, int64_t y) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, c(y));
  }
  Value select(Value bit, Value x, Value y) {
    return arith::SelectOp::create(b, loc, bit, x, y);
  }
};

constexpr int kRounds = 10;
constexpr int64_t kFactorEven = 0xD2511F53, kFactorOdd = 0xCD9E8D57;
constexpr int64_t kStep0 = 0x9E3779B9, kStep1 = 0xBB67AE85;

/// Ten rounds of Philox on `counter`, which it replaces.
void philox(Words &w, std::array<Value, 4> &counter, Value key0, Value key1) {
  for (int round = 0; round < kRounds; ++round) {
    Value even = w.product(counter[0], kFactorEven);
    Value odd = w.product(counter[2], kFactorOdd);
    counter = {w.exclusive(w.exclusive(w.high(odd), counter[1]), key0), odd,
               w.exclusive(w.exclusive(w.high(even), counter[3]), key1), even};
    key0 = w.add(key0, kStep0);
    key1 = w.add(key1, kStep1);
  }
}

} // namespace

/// The word of element `lane` of its block.
static Value wordOf(Words &w, const std::array<Value, 4> &words, Value lane) {
  Value random = w.select(w.equal(lane, 0), words[0], words[1]);
  random = w.select(w.equal(lane, 2), words[2], random);
  random = w.select(w.equal(lane, 3), words[3], random);
  return w.low(random);
}

Value emitRandom(OpBuilder &b, Location loc, Value seed, Value offset,
                 Value element) {
  Words w{b, loc};
  Value lane = arith::AndIOp::create(b, loc, element, w.c(3));
  Value block = arith::AndIOp::create(b, loc, element, w.c(~int64_t{3}));
  std::array<Value, 4> words = {offset, w.high(offset), block, w.high(block)};
  philox(w, words, seed, w.high(seed));
  return wordOf(w, words, lane);
}

Value emitUniform(OpBuilder &b, Location loc, Value random) {
  Words w{b, loc};
  Value upper = arith::ShRUIOp::create(b, loc, random, w.c(8));
  upper = arith::TruncIOp::create(b, loc, b.getI32Type(), upper);
  Value f = arith::SIToFPOp::create(b, loc, b.getF32Type(), upper);
  Value step = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0x1p-24f));
  return arith::MulFOp::create(b, loc, f, step);
}

Value emitDropoutRandom(OpBuilder &b, Location loc, Value seed, Value offset,
                        Value element) {
  Words w{b, loc};
  Value lane = arith::AndIOp::create(b, loc, element, w.c(3));
  Value block = arith::AndIOp::create(b, loc, element, w.c(~int64_t{3}));
  // Offset 0 selects the older rule.
  Value old = w.equal(offset, 0);
  std::array<Value, 4> words = {w.select(old, block, offset),
                                w.select(old, w.add(block, 1), w.high(offset)),
                                block,
                                w.select(old, w.add(block, 3), w.high(block))};
  philox(w, words, seed, w.select(old, seed, w.high(seed)));
  lane = w.select(old, w.c(2), lane);
  return wordOf(w, words, lane);
}

/// The probability as f64, in [0, 1]; NaN becomes 1.
static Value clampProbability(OpBuilder &b, Location loc, Value p) {
  Value zero = arith::ConstantOp::create(b, loc, b.getF64FloatAttr(0));
  Value one = arith::ConstantOp::create(b, loc, b.getF64FloatAttr(1));
  p = arith::ExtFOp::create(b, loc, b.getF64Type(), p);
  Value below =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, p, one);
  p = arith::SelectOp::create(b, loc, below, p, one);
  Value negative =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, p, zero);
  return arith::SelectOp::create(b, loc, negative, zero, p);
}

Value emitDropoutMask(OpBuilder &b, Location loc, Value random,
                      Value probability) {
  // random > p * (2^32 - 1) holds for an integer exactly when it exceeds the
  // integer part; at p = 1 that is the largest number: nothing exceeds it.
  Value p = clampProbability(b, loc, probability);
  Value scale =
      arith::ConstantOp::create(b, loc, b.getF64FloatAttr(4294967295.0));
  Value limit = arith::MulFOp::create(b, loc, p, scale);
  limit = arith::FPToSIOp::create(b, loc, b.getI64Type(), limit);
  Value bit =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, random, limit);
  return arith::ExtUIOp::create(b, loc, b.getI8Type(), bit);
}

Value emitDropoutResult(OpBuilder &b, Location loc, Value x, Value mask,
                        Value probability) {
  Value one = arith::ConstantOp::create(b, loc, b.getF64FloatAttr(1));
  Value kept =
      arith::SubFOp::create(b, loc, one, clampProbability(b, loc, probability));
  kept = arith::TruncFOp::create(b, loc, b.getF32Type(), kept);
  Value scaled = arith::DivFOp::create(b, loc, x, kept);
  Value none = arith::ConstantOp::create(b, loc, b.getI8IntegerAttr(0));
  Value bit =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, mask, none);
  Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
  return arith::SelectOp::create(b, loc, bit, scaled, zero);
}

} // namespace tenon::passes
