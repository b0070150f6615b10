//===- Kernel.cpp - one brgemm microkernel --------------------------------===//
//
//   for b1, .., bj:                  accumulators are loop-carried vectors
//     for k:
//       B row: NV vector loads
//       for each row: scalar load of A, broadcast, NV fma
//   epilogue on each accumulator, store
//
// Where B is interleaved, a step takes 2 or 4 neighbours of k at once: the load
// of A is a group of them, and an instruction adds up their products. Narrow
// elements that are not are widened as they are loaded.
//
// The body is straight code on native vectors: nothing after this point has to
// vectorise, unroll or canonicalise it, and nothing should.
//
//===----------------------------------------------------------------------===//
#include "codegen/microkernel/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tenon::microkernel;
using tenon::tile::SideKind;

namespace {
class KernelBuilder {
public:
  KernelBuilder(OpBuilder &builder, Location loc, const KernelSpec &spec,
                ValueRange arguments)
      : builder(builder), loc(loc), spec(spec),
        args(KernelOperands::unflatten(spec, arguments)), rows(spec.tile.rows),
        vectors(spec.tile.vectors) {}

  void build() {
    buildRowOffsets();
    if (spec.maskedC)
      buildMask();
    if (spec.streamOut)
      wholeLines = startsWithLines();
    if (spec.fetchOut)
      fetchOutput();
    if (spec.fetchOut && spec.streamOut)
      fetchTornLines();
    SmallVector<Value> carried = initialise();
    if (spec.correctsSign())
      carried.append(vectors, zeros(vectorOf(spec.sum)));
    if (spec.prefetch)
      carried.push_back(args.ahead);
    carried = buildReduction(0, args.a, args.b, carried);
    finish(carried);
  }

private:
  //===--- small things ---------------------------------------------------===//
  Value constant(int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  }
  Value mul(Value x, Value y) {
    return arith::MulIOp::create(builder, loc, x, y);
  }
  Value add(Value x, Value y) {
    return arith::AddIOp::create(builder, loc, x, y);
  }
  VectorType vectorOf(Type element) {
    return VectorType::get({spec.lanes}, element);
  }
  /// `pointer` + `offset` elements.
  Value advance(Value pointer, Value offset, Type element) {
    return LLVM::GEPOp::create(builder, loc, pointer.getType(), element,
                               pointer, ValueRange{offset});
  }
  Value advance(Value pointer, int64_t offset, Type element) {
    if (offset == 0)
      return pointer;
    return LLVM::GEPOp::create(
        builder, loc, pointer.getType(), element, pointer,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  }
  static unsigned alignment(Type element) {
    return element.getIntOrFloatBitWidth() / 8;
  }
  Value broadcast(Value scalar) {
    return vector::BroadcastOp::create(builder, loc, vectorOf(scalar.getType()),
                                       scalar);
  }
  Value loadScalar(Value pointer, Type element) {
    return LLVM::LoadOp::create(builder, loc, element, pointer,
                                alignment(element));
  }
  bool isPartial(int64_t v) const { return spec.maskedC && v == vectors - 1; }

  /// Vector `v` of a row; lanes beyond the row's end are 0 and not read.
  Value loadVector(Value pointer, int64_t v, Type element, bool masked) {
    VectorType type = vectorOf(element);
    pointer = advance(pointer, v * spec.lanes, element);
    if (!masked || !isPartial(v))
      return LLVM::LoadOp::create(builder, loc, type, pointer,
                                  alignment(element));
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    return LLVM::MaskedLoadOp::create(
        builder, loc, type, pointer, mask, zero,
        builder.getI32IntegerAttr(alignment(element)), nullptr);
  }

  //===--- before the loops -----------------------------------------------===//
  /// The end of a kernel meets all its lines of C at once, each in a row of its
  /// own: nothing in the machine expects them.
  void fetchOutput() {
    for (int64_t r = 0; r < rows; ++r) {
      if (!spec.streamOut)
        fetchRowOfC(r);
      for (unsigned i = 0, e = spec.sides.size(); i < e; ++i)
        if (spec.sides[i] == SideKind::PerElement)
          fetchRow(advance(args.sides[i], mul(args.sideRow[i], constant(r)),
                           sideElement(i)),
                   sideElement(i), /*forWriting=*/false);
    }
  }

  // Levels as LLVM counts them.
  static constexpr unsigned toL2 = 2, nearest = 3;

  void fetchRowOfC(int64_t r) {
    fetchRow(advance(args.c, cRowOffset[r], spec.stored), spec.stored,
             /*forWriting=*/true);
  }

  /// C that could have gone past the caches, but does not begin with a line.
  void fetchTornLines() {
    auto branch = scf::IfOp::create(builder, loc, wholeLines,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.elseBlock());
    for (int64_t r = 0; r < rows; ++r)
      fetchRowOfC(r);
  }

  /// Whether each row of C begins with a line.
  Value startsWithLines() {
    Value address =
        LLVM::PtrToIntOp::create(builder, loc, args.k.getType(), args.c);
    Value row = mul(args.cRow, constant(alignment(spec.stored)));
    Value bits = arith::OrIOp::create(builder, loc, address, row);
    bits = arith::AndIOp::create(builder, loc, bits, constant(kLineBytes - 1));
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, bits,
                                 constant(0));
  }

  /// As many lines as a full strip fills. Where a row begins inside a line its
  /// last one is left out: it is the first of the next strip, or alone.
  void fetchRow(Value row, Type element, bool forWriting,
                unsigned level = nearest) {
    int64_t bytes = vectors * spec.lanes * alignment(element);
    for (int64_t at = 0; at < bytes; at += kLineBytes)
      buildFetch(advance(row, at, builder.getI8Type()), forWriting, level);
  }

  void buildFetch(Value address, bool forWriting, unsigned level) {
    constexpr unsigned data = 1;
    LLVM::Prefetch::create(builder, loc, address, forWriting, level, data);
  }

  void buildRowOffsets() {
    Value bytes = mul(args.aRow, constant(alignment(spec.element)));
    for (int64_t r = 0; r < rows; ++r) {
      cRowOffset.push_back(mul(args.cRow, constant(r)));
      rowsOfA.push_back(mul(bytes, constant(r)));
    }
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

  void buildMask() {
    SmallVector<int32_t> lanes(spec.lanes);
    for (int64_t i = 0; i < spec.lanes; ++i)
      lanes[i] = i;
    auto type = vectorOf(builder.getI32Type());
    Value index = arith::ConstantOp::create(
        builder, loc, DenseIntElementsAttr::get(type, lanes));
    Value tail =
        arith::TruncIOp::create(builder, loc, builder.getI32Type(), args.tail);
    mask = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, index,
                                 broadcast(tail));
  }

  Value zeros(VectorType type) {
    return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  }

  /// Accumulators in the order row-major (row, vector).
  SmallVector<Value> initialise() {
    SmallVector<Value> accs;
    if (!spec.accumulate && !spec.fromPartial) {
      accs.assign(rows * vectors, zeros(vectorOf(spec.sum)));
      return accs;
    }
    for (int64_t r = 0; r < rows; ++r) {
      Value row = spec.fromPartial
                      ? advance(args.partial, r * kPartialRow, spec.sum)
                      : advance(args.c, cRowOffset[r], spec.sum);
      for (int64_t v = 0; v < vectors; ++v)
        accs.push_back(loadVector(row, v, spec.sum, !spec.fromPartial));
    }
    return accs;
  }

  //===--- the sum --------------------------------------------------------===//
  /// Loops over batch dimensions `level`.. and k. `accs` are the accumulators,
  /// then the sums of B where signs are corrected, then the address to
  /// prefetch.
  SmallVector<Value> buildReduction(unsigned level, Value a, Value b,
                                    SmallVector<Value> accs) {
    if (level == spec.numBatchDims)
      return buildInnerProduct(a, b, accs);
    auto loop = scf::ForOp::create(
        builder, loc, constant(0), args.batch[level], constant(1), accs,
        [&](OpBuilder &, Location, Value i, ValueRange carried) {
          Value aOfBatch = advance(a, mul(i, args.aBatch[level]), spec.element);
          Value bOfBatch = advance(b, mul(i, args.bBatch[level]), spec.element);
          SmallVector<Value> sums = buildReduction(
              level + 1, aOfBatch, bOfBatch, SmallVector<Value>(carried));
          scf::YieldOp::create(builder, loc, sums);
        });
    keepLoopAsIs(loop);
    return SmallVector<Value>(loop.getResults());
  }

  SmallVector<Value> buildInnerProduct(Value a, Value b,
                                       SmallVector<Value> accs) {
    SmallVector<Value> carried(accs);
    carried.push_back(a);
    carried.push_back(b);
    Value steps = args.k, rest;
    if (spec.interleave > 1) {
      Value v = constant(spec.interleave);
      steps = arith::DivUIOp::create(builder, loc, args.k, v);
      rest = arith::RemUIOp::create(builder, loc, args.k, v);
    }
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
    if (spec.interleave > 1 && spec.partialGroup)
      carried = buildPartialGroup(rest, carried);
    carried.truncate(accs.size());
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
            buildStep(a, b, accs, Value());
            if (spec.prefetch && i == 0)
              accs.back() = buildPrefetch(accs.back());
            a = advanceK(a, spec.interleave);
            b = spec.rowOfB ? advance(b, spec.rowOfB, spec.element)
                            : advance(b, args.bRow, spec.element);
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

  /// `a` + `steps` elements along k.
  Value advanceK(Value a, int64_t steps) {
    if (spec.unitStrideK)
      return advance(a, steps, spec.element);
    return advance(a, steps == 1 ? args.aK : mul(args.aK, constant(steps)),
                   spec.element);
  }

  /// One step of k: a rank-1 update of the accumulators, or one of rank
  /// `interleave`, of which only `count` elements exist when that is given.
  void buildStep(Value a, Value b, SmallVectorImpl<Value> &accs, Value count) {
    SmallVector<Value> bRow;
    for (int64_t v = 0; v < vectors; ++v)
      bRow.push_back(loadB(b, v));
    if (spec.fetchB)
      fetchRow(advance(b, mul(args.k, args.bRow), spec.element), spec.element,
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

  /// Returns the address of the next iteration.
  Value buildPrefetch(Value address) {
    for (int64_t i = 0; i < spec.prefetch; ++i)
      buildFetch(advance(address, i * kLineBytes, builder.getI8Type()),
                 /*forWriting=*/false, toL2);
    return advance(address, args.aheadStep, builder.getI8Type());
  }

  //===--- operands of a step ---------------------------------------------===//
  VectorType groupsOf(Type element) {
    return VectorType::get({spec.lanes * spec.interleave}, element);
  }

  /// Vector `v` of a row of B as the product takes it.
  Value loadB(Value b, int64_t v) {
    if (spec.interleave == 1)
      return widen(loadVector(b, v, spec.element, spec.maskedB));
    VectorType type = groupsOf(spec.element);
    b = advance(b, v * type.getNumElements(), spec.element);
    Value groups =
        LLVM::LoadOp::create(builder, loc, type, b, alignment(spec.element));
    return multipliesWords() ? extend(groups, /*isSigned=*/true, 16) : groups;
  }

  /// One element of A in all lanes.
  Value loadElement(Value a) {
    return broadcast(widen(loadScalar(a, spec.element), spec.sign));
  }

  /// `interleave` neighbours of A in all lanes; those from `count` on are 0.
  Value loadGroup(Value a, Value count) {
    int64_t bits = spec.element.getIntOrFloatBitWidth();
    Type group = builder.getIntegerType(bits * spec.interleave);
    Value value = spec.unitStrideK && !count ? loadScalarAs(a, group)
                                             : gatherGroup(a, group, count);
    Value lanes = broadcast(value);
    // x + 128 without sign is x with its highest bit flipped. Beyond K, too:
    // zeros of B do away with it.
    if (spec.correctsSign())
      lanes = arith::XOrIOp::create(
          builder, loc, lanes,
          splatBytes(cast<VectorType>(lanes.getType()), 128));
    Value elements =
        vector::BitCastOp::create(builder, loc, groupsOf(spec.element), lanes);
    return multipliesWords()
               ? extend(elements, spec.sign == ByteSign::Signed, 16)
               : elements;
  }

  /// A vector of `type` whose bytes all are `byte`.
  Value splatBytes(VectorType type, uint8_t byte) {
    unsigned bits = type.getElementTypeBitWidth();
    APInt value = APInt::getSplat(bits, APInt(8, byte));
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(type, value));
  }

  Value loadScalarAs(Value pointer, Type type) {
    return LLVM::LoadOp::create(builder, loc, type, pointer,
                                alignment(spec.element));
  }

  /// The group put together element by element.
  Value gatherGroup(Value a, Type group, Value count) {
    int64_t bits = spec.element.getIntOrFloatBitWidth();
    Type part = builder.getIntegerType(bits);
    auto number = [&](Type type, int64_t v) -> Value {
      return arith::ConstantOp::create(builder, loc,
                                       builder.getIntegerAttr(type, v));
    };
    Value result;
    for (int64_t i = 0; i < spec.interleave; ++i) {
      Value from = advanceK(a, i), exists;
      if (count && i > 0) {
        // What is not there is not read: the first element is, in its place.
        exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       constant(i), count);
        from = arith::SelectOp::create(builder, loc, exists, from, a);
      }
      Value x = loadScalarAs(from, part);
      if (exists)
        x = arith::SelectOp::create(builder, loc, exists, x, number(part, 0));
      x = arith::ExtUIOp::create(builder, loc, group, x);
      if (i > 0)
        x = arith::ShLIOp::create(builder, loc, x, number(group, i * bits));
      result = result
                   ? arith::OrIOp::create(builder, loc, result, x).getResult()
                   : x;
    }
    return result;
  }

  /// Scalars or vectors of elements as the sums have them.
  Value widen(Value x, ByteSign sign = ByteSign::Signed) {
    Type element = getElementTypeOrSelf(x.getType());
    if (element == spec.sum)
      return x;
    if (isa<FloatType>(element))
      return arith::ExtFOp::create(builder, loc, like(x, spec.sum), x);
    return extend(x, sign == ByteSign::Signed, 32);
  }

  static Type like(Value x, Type element) {
    auto vector = dyn_cast<VectorType>(x.getType());
    return vector ? vector.clone(element) : element;
  }

  Value extend(Value x, bool isSigned, unsigned bits) {
    Type type = like(x, builder.getIntegerType(bits));
    if (type == x.getType())
      return x;
    return isSigned ? arith::ExtSIOp::create(builder, loc, type, x).getResult()
                    : arith::ExtUIOp::create(builder, loc, type, x).getResult();
  }

  //===--- products -------------------------------------------------------===//
  /// Bytes in pairs are widened to 16 bits, unless they are already: without
  /// VNNI the instruction that multiplies bytes saturates, the one for words
  /// does not.
  bool multipliesWords() const {
    return spec.element.isInteger() && spec.interleave == 2;
  }

  bool multipliesBF16() const {
    return spec.element.isBF16() && spec.interleave > 1;
  }

  Value multiplyAdd(Value x, Value y, Value acc) {
    if (spec.interleave > 1)
      return addProducts(x, y, acc);
    if (spec.sum.isInteger()) {
      Value product = arith::MulIOp::create(builder, loc, x, y);
      return arith::AddIOp::create(builder, loc, acc, product);
    }
    if (spec.fusedMultiplyAdd)
      return vector::FMAOp::create(builder, loc, x, y, acc);
    auto contract = arith::FastMathFlagsAttr::get(
        builder.getContext(), arith::FastMathFlags::contract);
    Value product = arith::MulFOp::create(builder, loc, x, y, contract);
    return arith::AddFOp::create(builder, loc, acc, product, contract);
  }

  /// acc + the sums of the products within each group, by one instruction.
  Value addProducts(Value x, Value y, Value acc) {
    std::string bits =
        std::to_string(spec.lanes * spec.sum.getIntOrFloatBitWidth());
    auto call = [&](const std::string &name, ValueRange operands) -> Value {
      return LLVM::CallIntrinsicOp::create(builder, loc, acc.getType(),
                                           builder.getStringAttr(name),
                                           operands)
          .getResults();
    };
    if (multipliesBF16())
      return call("llvm.x86.avx512bf16.dpbf16ps." + bits, {acc, x, y});
    if (!multipliesWords())
      return call("llvm.x86.avx512.vpdpbusd." + bits, {acc, x, y});
    Value sums = call(bits == "512"   ? "llvm.x86.avx512.pmaddw.d.512"
                      : bits == "256" ? "llvm.x86.avx2.pmadd.wd"
                                      : "llvm.x86.sse2.pmadd.wd",
                      {x, y});
    return arith::AddIOp::create(builder, loc, acc, sums);
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

  //===--- after the loops ------------------------------------------------===//
  /// Epilogue and store. By columns, so that a per-column side is loaded once.
  void finish(ArrayRef<Value> accs) {
    SmallVector<Value> perRow = loadRowSides();
    SmallVector<Value> values(rows * vectors);
    for (int64_t v = 0; v < vectors; ++v) {
      SmallVector<Value> perColumn = loadColumnSides(v);
      for (int64_t r = 0; r < rows; ++r) {
        Value value = accs[r * vectors + v];
        if (spec.correctsSign())
          value = arith::SubIOp::create(builder, loc, value,
                                        accs[rows * vectors + v]);
        if (spec.epilogue)
          value = applyEpilogue(value, r, v, perRow, perColumn);
        if (spec.streamOut)
          values[r * vectors + v] = value;
        else
          store(value, r, v);
      }
    }
    if (spec.streamOut)
      storeLines(values);
  }

  /// Lines are filled one after the other, by rows: past the caches, or not
  /// where they are not whole.
  void storeLines(ArrayRef<Value> values) {
    auto all = [&](bool stream) {
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t v = 0; v < vectors; ++v)
          store(values[r * vectors + v], r, v, stream);
    };
    auto branch = scf::IfOp::create(builder, loc, wholeLines,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    all(true);
    builder.setInsertionPointToStart(branch.elseBlock());
    all(false);
  }

  Type sideElement(unsigned i) {
    return spec.epilogue->getArgument(i + 1).getType();
  }

  /// Sides that do not depend on n, broadcast: [side * rows + row].
  SmallVector<Value> loadRowSides() {
    SmallVector<Value> values(spec.sides.size() * rows);
    for (unsigned i = 0, e = spec.sides.size(); i < e; ++i)
      for (int64_t r = 0; r < rows; ++r) {
        Value &value = values[i * rows + r];
        Value pointer = args.sides[i];
        if (spec.sides[i] == SideKind::Scalar && r > 0)
          value = values[i * rows];
        else if (spec.sides[i] == SideKind::Scalar)
          value = broadcast(loadScalar(pointer, sideElement(i)));
        else if (spec.sides[i] == SideKind::PerRow)
          value = broadcast(
              loadScalar(advance(pointer, mul(args.sideRow[i], constant(r)),
                                 sideElement(i)),
                         sideElement(i)));
      }
    return values;
  }

  SmallVector<Value> loadColumnSides(int64_t v) {
    SmallVector<Value> values(spec.sides.size());
    for (unsigned i = 0, e = spec.sides.size(); i < e; ++i)
      if (spec.sides[i] == SideKind::PerColumn)
        values[i] = loadVector(args.sides[i], v, sideElement(i), true);
    return values;
  }

  Value applyEpilogue(Value acc, int64_t r, int64_t v, ArrayRef<Value> perRow,
                      ArrayRef<Value> perColumn) {
    Block &block = spec.epilogue->front();
    IRMapping mapping;
    mapping.map(block.getArgument(0), acc);
    for (unsigned i = 0, e = spec.sides.size(); i < e; ++i) {
      Value value = perColumn[i] ? perColumn[i] : perRow[i * rows + r];
      if (spec.sides[i] == SideKind::PerElement) {
        Value offset = mul(args.sideRow[i], constant(r));
        value = loadVector(advance(args.sides[i], offset, sideElement(i)), v,
                           sideElement(i), true);
      }
      mapping.map(block.getArgument(i + 1), value);
    }
    for (Operation &op : block.without_terminator())
      vectorise(op, mapping);
    return mapping.lookup(block.getTerminator()->getOperand(0));
  }

  /// Clones an elementwise scalar operation onto vectors.
  void vectorise(Operation &op, IRMapping &mapping) {
    Attribute value;
    if (matchPattern(&op, m_Constant(&value))) {
      auto type = vectorOf(op.getResult(0).getType());
      Value splat = arith::ConstantOp::create(
          builder, loc, DenseElementsAttr::get(type, value));
      mapping.map(op.getResult(0), splat);
      return;
    }
    Operation *clone = builder.clone(op, mapping);
    for (OpResult result : clone->getResults())
      result.setType(vectorOf(result.getType()));
    auto trunc = dyn_cast<arith::TruncFOp>(clone);
    if (trunc && multipliesBF16() && isLikeSums(op.getOperand(0)))
      trunc.setFastmath(arith::FastMathFlags::afn);
  }

  /// Whether what the epilogue computes `x` by takes sums of bf16 to numbers
  /// that are as rarely denormal as they are: the instruction makes them 0.
  bool isLikeSums(Value x, int depth = 8) {
    Operation *op = x.getDefiningOp();
    if (!op || matchPattern(op, m_Constant()))
      return true;
    return depth > 0 &&
           isa<arith::AddFOp, arith::SubFOp, arith::MaximumFOp,
               arith::MinimumFOp, arith::SelectOp, arith::CmpFOp,
               arith::ExtFOp>(op) &&
           llvm::all_of(op->getOperands(),
                        [&](Value v) { return isLikeSums(v, depth - 1); });
  }

  void store(Value value, int64_t r, int64_t v, bool stream = false) {
    Value pointer = advance(args.c, cRowOffset[r], spec.stored);
    pointer = advance(pointer, v * spec.lanes, spec.stored);
    unsigned align = alignment(spec.stored);
    if (isPartial(v))
      LLVM::MaskedStoreOp::create(builder, loc, value, pointer, mask,
                                  builder.getI32IntegerAttr(align));
    else
      LLVM::StoreOp::create(builder, loc, value, pointer,
                            stream ? align * spec.lanes : align,
                            /*isVolatile=*/false, /*isNonTemporal=*/stream);
  }

  OpBuilder &builder;
  Location loc;
  const KernelSpec &spec;
  KernelOperands args;
  int64_t rows, vectors;
  SmallVector<Value> rowsOfA, cRowOffset; // bytes; elements
  Value mask;
  Value wholeLines; // of C, only with streamOut
};
} // namespace

func::FuncOp tenon::microkernel::buildKernel(OpBuilder &builder, Location loc,
                                             const KernelSpec &spec) {
  auto func =
      func::FuncOp::create(builder, loc, spec.name(), getKernelType(spec));
  func.setPrivate();
  func.setNoInline(true);
  func->setAttr(
      "llvm.linkage",
      LLVM::LinkageAttr::get(builder.getContext(), LLVM::Linkage::Internal));
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
