//===- Kernel.cpp - one brgemm microkernel --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   for b1, .., bj:                  accumulators are loop-carried vectors
//     for k:
//       B row: NV vector loads
//       for each row: scalar load of A, broadcast, NV fma
//   epilogue on each accumulator, store
//
// Where B is interleaved, a step takes 2 or 4 neighbours of k at once: the load
// of A is a group of them, and an instruction adds up their products. Narrow
// elements that are not are widened as they are loaded. Quantized weights are
// made weights where they are loaded, too; a loop over groups of K, which begin
// with scales and zero points, is around that over k.
//
// The body is straight code on native vectors: nothing after this point has to
// vectorise, unroll or canonicalise it, and nothing should.
//
//===----------------------------------------------------------------------===//
#include "codegen/microkernel/Kernel.h"

#include "codegen/microkernel/KernelResults.h"
#include "codegen/vector/LocalFunction.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tenon::microkernel;

namespace {
class KernelBuilder : KernelResults {
public:
  KernelBuilder(OpBuilder &builder, Location loc, const KernelSpec &spec,
                ValueRange arguments)
      : KernelResults(builder, loc, spec, arguments) {
    Value bytes = mul(args.aRow, constant(alignment(spec.element)));
    for (int64_t r = 0; r < rows; ++r)
      rowsOfA.push_back(mul(bytes, constant(r)));
  }

  void build() {
    if (spec.prefetchOut)
      prefetchOutput();
    SmallVector<Value> carried = initialise();
    if (spec.correctsSign())
      carried.append(vectors, zeros(vectorOf(spec.sum)));
    if (spec.totals) {
      clearTotal(0);
      carried.append(2, constant(0));
    }
    if (spec.prefetch)
      carried.push_back(args.ahead);
    carried = buildReduction(0, args.a, args.b, carried);
    if (spec.totals) {
      int64_t count = rows * vectors;
      addTotals(MutableArrayRef(carried).take_front(count), carried[count + 1]);
    }
    finish(carried);
  }

private:
  /// Loops over batch dimensions `level`.. and k. `accs` are the accumulators,
  /// then the sums of B where signs are corrected, then, with totals, the steps
  /// of k that are in the accumulators and the blocks that are in the totals,
  /// then the address to prefetch.
  SmallVector<Value> buildReduction(unsigned level, Value a, Value b,
                                    SmallVector<Value> accs) {
    if (level == spec.numBatchDims)
      return spec.quantized ? buildGroups(a, b, accs)
                            : buildInnerProduct(a, b, accs);
    auto loop = scf::ForOp::create(
        builder, loc, constant(0), args.batch[level], constant(1), accs,
        [&](OpBuilder &, Location, Value i, ValueRange carried) {
          Value aOfBatch = advance(a, mul(i, args.aBatch[level]), spec.element);
          Value bOfBatch =
              advance(b, mul(i, args.bBatch[level]), spec.elementOfB());
          SmallVector<Value> sums = buildReduction(
              level + 1, aOfBatch, bOfBatch, SmallVector<Value>(carried));
          scf::YieldOp::create(builder, loc, sums);
        });
    keepLoopAsIs(loop);
    return SmallVector<Value>(loop.getResults());
  }

  /// Groups of quantized weights follow each other in A and B.
  SmallVector<Value> buildGroups(Value a, Value b, SmallVector<Value> accs) {
    Type byte = spec.elementOfB();
    Value rows = arith::DivUIOp::create(builder, loc, args.k,
                                        constant(spec.quantized->perByte()));
    rows = add(rows, constant(spec.quantized->hasZeroPoints));
    if (spec.quantized->hasScales)
      rows = add(rows, constant(alignment(builder.getF32Type())));
    Value bytes = mul(rows, args.bRow);
    accs.append({a, b, args.scales});
    auto loop = scf::ForOp::create(
        builder, loc, constant(0), args.groups, constant(1), accs,
        [&](OpBuilder &, Location, Value, ValueRange carried) {
          SmallVector<Value> sums(carried.drop_back(3));
          if (spec.totals && spec.quantized->slices)
            sums = makeRoom(sums, constant(1));
          Value a = carried[sums.size()], b = carried[sums.size() + 1],
                scales = carried.back();
          Value quantized = loadHead(b, scales), next;
          if (spec.quantized->slices) {
            sums = buildSlicedGroup(a, quantized, sums);
            next = advance(rowOfSlice(a, spec.quantized->slices),
                           1 + spec.quantized->slices, spec.element);
          } else {
            sums = buildInnerProduct(a, quantized, sums);
            next = advanceK(a, args.k);
          }
          sums.append(
              {next, advance(b, bytes, byte), advance(scales, bytes, byte)});
          scf::YieldOp::create(builder, loc, sums);
        });
    keepLoopAsIs(loop);
    return SmallVector<Value>(loop.getResults().drop_back(3));
  }

  /// Int8 slices have sums of their own, which begin and end with the group.
  /// What is carried after `accs` goes through.
  SmallVector<Value> buildSlicedGroup(Value a, Value b,
                                      SmallVector<Value> accs) {
    int64_t slices = spec.quantized->slices, count = rows * vectors;
    SmallVector<Value> sums;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        llvm::append_range(sums, startOfSlices(rowOfA(a, r), v));
    sums.append(accs.begin() + count, accs.end());
    sums = buildInnerProduct(advance(a, 1 + slices, spec.element), b, sums);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v) {
        int64_t i = r * vectors + v;
        accs[i] = addSlices(rowOfA(a, r), v,
                            ArrayRef(sums).slice(i * slices, slices), accs[i]);
      }
    llvm::copy(ArrayRef(sums).drop_front(count * slices), accs.begin() + count);
    return accs;
  }

  /// Where slice `d` of the group at `a` is.
  Value rowOfSlice(Value a, int64_t d) {
    Value words = arith::DivUIOp::create(builder, loc, args.k,
                                         constant(spec.quantized->together()));
    return advance(a, mul(words, constant(d)), spec.element);
  }

  /// Begins a block of the sum where `steps` more would make this one too long.
  SmallVector<Value> makeRoom(SmallVector<Value> accs, Value steps) {
    int64_t count = rows * vectors;
    Value longer = add(accs[count], steps), blocks = accs[count + 1];
    Value isFull =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ugt, longer,
                              constant(stepsPerBlock()));
    ArrayRef<Value> others = ArrayRef(accs).drop_front(count + 2);
    auto branch = scf::IfOp::create(
        builder, loc, isFull,
        [&](OpBuilder &, Location) {
          addToTotals(ArrayRef(accs).take_front(count), blocks);
          SmallVector<Value> next(count, zeros(vectorOf(spec.sum)));
          next.append({steps, add(blocks, constant(1))});
          llvm::append_range(next, others);
          scf::YieldOp::create(builder, loc, next);
        },
        [&](OpBuilder &, Location) {
          SmallVector<Value> same(accs);
          same[count] = longer;
          scf::YieldOp::create(builder, loc, same);
        });
    return SmallVector<Value>(branch.getResults());
  }

  /// A step adds as many products to an accumulator, one by one, as it takes
  /// elements of K. Groups of int8 slices add one.
  int64_t stepsPerBlock() const {
    return spec.quantized && spec.quantized->slices
               ? kSumBlock
               : kSumBlock / spec.perRowOfB();
  }

  SmallVector<Value> buildInnerProduct(Value a, Value b,
                                       SmallVector<Value> accs) {
    SmallVector<Value> carried(accs);
    carried.push_back(a);
    carried.push_back(b);
    Value steps = args.k, rest;
    if (spec.perRowOfB() > 1) {
      Value v = constant(spec.perRowOfB());
      steps = arith::DivUIOp::create(builder, loc, args.k, v);
      rest = arith::RemUIOp::create(builder, loc, args.k, v);
    }
    if (spec.totals && !(spec.quantized && spec.quantized->slices))
      carried = buildBlocks(steps, carried);
    else
      carried = buildSteps(steps, carried);
    if (spec.interleave > 1 && spec.partialGroup)
      carried = buildPartialGroup(rest, carried);
    carried.truncate(accs.size());
    return carried;
  }

  /// `steps` of k in blocks, each with accumulators of its own. Where these
  /// blocks are all that is summed, none is carried from one to the next.
  SmallVector<Value> buildBlocks(Value steps, SmallVector<Value> initial) {
    Value block = constant(stepsPerBlock());
    int64_t count = rows * vectors;
    bool isAll = spec.numBatchDims == 0 && !spec.quantized && !spec.fromPartial;
    SmallVector<Value> none(count, zeros(vectorOf(spec.sum)));
    ArrayRef<Value> all = initial;
    auto loop = scf::ForOp::create(
        builder, loc, constant(0), steps, block,
        isAll ? all.drop_front(count + 1) : all,
        [&](OpBuilder &, Location, Value from, ValueRange carried) {
          Value left = arith::SubIOp::create(builder, loc, steps, from);
          Value some = arith::MinUIOp::create(builder, loc, left, block);
          SmallVector<Value> next;
          if (!isAll) {
            next =
                buildSteps(some, makeRoom(SmallVector<Value>(carried), some));
            scf::YieldOp::create(builder, loc, next);
            return;
          }
          next = none;
          next.push_back(some);
          llvm::append_range(next, carried);
          next = buildSteps(some, next);
          Value &blocks = next[count + 1];
          addToTotals(ArrayRef(next).take_front(count), blocks);
          blocks = add(blocks, constant(1));
          scf::YieldOp::create(builder, loc,
                               ArrayRef(next).drop_front(count + 1));
        });
    keepLoopAsIs(loop);
    SmallVector<Value> results(loop.getResults());
    if (isAll) {
      none.push_back(initial[count]);
      results.insert(results.begin(), none.begin(), none.end());
    }
    return results;
  }

  SmallVector<Value> buildSteps(Value steps, SmallVector<Value> carried) {
    if (spec.unroll > 1) {
      Value unrolled = steps;
      if (!spec.wholeIterations)
        unrolled = mul(
            arith::DivUIOp::create(builder, loc, steps, constant(spec.unroll)),
            constant(spec.unroll));
      carried = buildKLoop(constant(0), unrolled, spec.unroll, carried);
      if (!spec.wholeIterations)
        carried = buildKLoop(unrolled, steps, 1, carried);
    } else {
      carried = buildKLoop(constant(0), steps, 1, carried);
    }
    return carried;
  }

  SmallVector<Value> buildKLoop(Value from, Value to, int64_t step,
                                ValueRange initial) {
    auto loop = scf::ForOp::create(
        builder, loc, from, to, constant(step), initial,
        [&](OpBuilder &, Location, Value, ValueRange carried) {
          SmallVector<Value> accs(carried.drop_back(2));
          Value a = hide(carried[carried.size() - 2]), b = carried.back();
          for (int64_t i = 0; i < step; ++i) {
            if (spec.quantized && spec.quantized->slices)
              buildSlicedStep(a, b, accs);
            else if (spec.quantized)
              buildQuantizedStep(a, b, accs);
            else
              buildStep(a, b, accs, Value());
            if (spec.prefetch && i == 0)
              accs.back() = buildPrefetch(accs.back());
            a = advanceK(a, spec.stepOfA());
            b = spec.rowOfB
                    ? advance(b, spec.rowOfB, spec.elementOfB())
                    : advance(b, mul(args.bRow, constant(spec.perColumnOfB())),
                              spec.elementOfB());
          }
          accs.append({a, b});
          scf::YieldOp::create(builder, loc, accs);
        });
    keepLoopAsIs(loop);
    return SmallVector<Value>(loop.getResults());
  }

  /// The last `count` < interleave elements of k, if there are any.
  SmallVector<Value> buildPartialGroup(Value count,
                                       SmallVector<Value> carried) {
    Value any = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                      count, constant(0));
    auto branch = scf::IfOp::create(
        builder, loc, any,
        [&](OpBuilder &, Location) {
          SmallVector<Value> accs(ArrayRef(carried).drop_back(2));
          Value a = carried[carried.size() - 2], b = carried.back();
          buildStep(a, b, accs, count);
          accs.append({a, b});
          scf::YieldOp::create(builder, loc, accs);
        },
        [&](OpBuilder &, Location) {
          scf::YieldOp::create(builder, loc, carried);
        });
    return SmallVector<Value>(branch.getResults());
  }

  /// One step of k: a rank-1 update of the accumulators, or one of rank
  /// `interleave`, of which only `count` elements exist when that is given.
  void buildStep(Value a, Value b, SmallVectorImpl<Value> &accs, Value count) {
    SmallVector<Value> bRow;
    for (int64_t v = 0; v < vectors; ++v)
      bRow.push_back(loadB(b, v));
    if (spec.prefetchB)
      prefetchRow(advance(b, mul(args.k, args.bRow), spec.element),
                  spec.element,
                  /*forWriting=*/false, toL2);
    for (int64_t r = 0; r < rows; ++r) {
      Value row = rowOfA(a, r);
      Value x = spec.interleave == 1 ? loadElement(row) : loadGroup(row, count);
      for (int64_t v = 0; v < vectors; ++v) {
        Value &acc = accs[r * vectors + v];
        acc = multiplyAdd(x, bRow[v], acc);
      }
    }
    for (int64_t v = 0; spec.correctsSign() && v < vectors; ++v) {
      Value &sum = accs[rows * vectors + v];
      sum = addProducts(splatBytes(groupsOf(spec.element), 128), bRow[v], sum);
    }
  }

  /// One row of quantized weights. Few rows of A are many vectors wide: a
  /// vector after the other, or what they hold would not fit registers.
  void buildQuantizedStep(Value a, Value b, SmallVectorImpl<Value> &accs) {
    int64_t parts = spec.perRowOfB(), together = rows <= kFewRows ? 1 : vectors;
    for (int64_t first = 0; first < vectors; first += together) {
      SmallVector<Value> quantized;
      for (int64_t i = 0; i < together; ++i)
        quantized.push_back(loadQuantized(b, first + i));
      for (int64_t part = 0; part < parts; ++part) {
        SmallVector<Value> weights;
        for (int64_t i = 0; i < together; ++i)
          weights.push_back(weightsOf(quantized[i], part, first + i));
        for (int64_t r = 0; r < rows; ++r) {
          Value x = loadElement(rowOfA(advanceK(a, part), r));
          for (int64_t i = 0; i < together; ++i) {
            Value &acc = accs[r * vectors + first + i];
            acc = multiplyAdd(x, weights[i], acc);
          }
        }
      }
    }
  }

  /// One row of quantized weights, and the int8 slices of four neighbours of K
  /// for each half of their bytes: quantized weights, the bytes without sign,
  /// are multiplied by them.
  void buildSlicedStep(Value a, Value b, SmallVectorImpl<Value> &accs) {
    SmallVector<Value> quantized;
    for (int64_t v = 0; v < vectors; ++v)
      quantized.push_back(loadPackedQuantized(b, v));
    for (int64_t part = 0; part < spec.quantized->perByte(); ++part) {
      SmallVector<Value> weights;
      for (Value l : quantized)
        weights.push_back(partOfQuantized(l, part));
      for (int64_t d = 0; d < spec.quantized->slices; ++d) {
        Value word = rowOfSlice(advance(a, part, spec.element), d);
        for (int64_t r = 0; r < rows; ++r) {
          Value x =
              broadcast(loadScalar(rowOfA(word, r), builder.getI32Type()));
          x = vector::BitCastOp::create(builder, loc, weights.front().getType(),
                                        x);
          for (int64_t v = 0; v < vectors; ++v) {
            Value &acc = accs[(r * vectors + v) * spec.quantized->slices + d];
            acc = addProducts(weights[v], x, acc);
          }
        }
      }
    }
  }

  static constexpr int64_t kFewRows = 2;

  /// Returns the address of the next iteration.
  Value buildPrefetch(Value address) {
    for (int64_t i = 0; i < spec.prefetch; ++i)
      buildPrefetchAt(advance(address, i * kLineBytes, builder.getI8Type()),
                      /*forWriting=*/false, toL2);
    return advance(address, args.aheadStep, builder.getI8Type());
  }

  /// Row `r` of A. An address adds a register times 1, 2, 4 or 8, so that only
  /// odd multiples of the stride have registers of their own. Beyond 7 they
  /// would be too many: those rows are counted from the seventh.
  Value rowOfA(Value a, int64_t r) {
    if (r == 0)
      return a;
    int64_t factor = std::min<int64_t>(r & -r, 8);
    if (r > 7 && factor == 1)
      return rowOfA(advance(a, rowsOfA[7], builder.getI8Type()), r - 7);
    return advance(a, rowsOfA[r / factor],
                   builder.getIntegerType(8 * static_cast<unsigned>(factor)));
  }

  /// `value` as one that LLVM knows nothing about. Its loop strength reduction
  /// would otherwise make every row of A a variable of the loop, or add up
  /// strides at each step.
  Value hide(Value value) {
    return LLVM::InlineAsmOp::create(
               builder, loc, value.getType(), ValueRange{value},
               /*asm_string=*/"", /*constraints=*/"=r,0",
               /*has_side_effects=*/false, /*is_align_stack=*/false,
               LLVM::tailcallkind::TailCallKind::None, nullptr, nullptr)
        .getResult(0);
  }

  /// LLVM shall not unroll the loop again: it is as long as it should be.
  void keepLoopAsIs(scf::ForOp loop) {
    MLIRContext *context = builder.getContext();
    auto unroll =
        LLVM::LoopUnrollAttr::get(context, builder.getBoolAttr(true), nullptr,
                                  nullptr, nullptr, nullptr, nullptr, nullptr);
    auto vectorize = LLVM::LoopVectorizeAttr::get(
        context, builder.getBoolAttr(true), nullptr, nullptr, nullptr, nullptr,
        nullptr, nullptr);
    loop->setAttr("llvm.loop_annotation",
                  LLVM::LoopAnnotationAttr::get(
                      context, /*disableNonforced=*/nullptr, vectorize,
                      /*interleave=*/nullptr, unroll, nullptr, nullptr, nullptr,
                      nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                      nullptr, {}));
  }

  SmallVector<Value> rowsOfA; // bytes
};
} // namespace

func::FuncOp tenon::microkernel::buildKernel(OpBuilder &builder, Location loc,
                                             const KernelSpec &spec) {
  auto func = codegen::createLocalFunction(builder, loc, spec.name(),
                                           getKernelType(spec));
  // C is written only where neither A nor B is read.
  func.setArgAttr(0, "llvm.noalias", builder.getUnitAttr());
  func.setArgAttr(1, "llvm.noalias", builder.getUnitAttr());

  OpBuilder::InsertionGuard guard(builder);
  Block *entry = func.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  KernelBuilder(builder, loc, spec, entry->getArguments()).build();
  func::ReturnOp::create(builder, loc);
  return func;
}
