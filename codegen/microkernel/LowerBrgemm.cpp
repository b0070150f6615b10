//===- LowerBrgemm.cpp - tile.brgemm to microkernels ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Cuts C into blocks the registers hold and calls a kernel for each:
//
//   tile.brgemm ins(%a, %b : memref<10x64xf32>, memref<64x24xf32>)
//               outs(%c : memref<10x24xf32>)
// becomes, with 4 x 3 vectors of 8 lanes,
//   scf.for %i = 0 to 1 { call @tenon_brgemm_f32_4x3x8_b0(%a', %b', %c', ..) }
//   scf.for %i = 0 to 2 { call @tenon_brgemm_f32_3x3x8_b0(..) }
//
// Strips of columns run outermost: a strip of B stays in cache for all rows.
// Rows are cut evenly (4+3+3, not 4+4+2), as a low block leaves FMAs idle.
//
//===----------------------------------------------------------------------===//
#include "codegen/microkernel/LowerBrgemm.h"
#include "codegen/microkernel/KernelCache.h"
#include "codegen/microkernel/SitePrefetch.h"
#include "codegen/vector/Fence.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/SetVector.h"

namespace tenon::microkernel {
#define GEN_PASS_DEF_LOWERBRGEMM
#include "codegen/microkernel/Passes.h.inc"
} // namespace tenon::microkernel

using namespace mlir;
using namespace tenon::microkernel;
using tenon::tile::BrgemmOp;
using tenon::tile::EpilogueBroadcast;

namespace {

/// `bytes` of stack at the start of `function`.
Value allocateScratch(func::FuncOp function, int64_t bytes) {
  OpBuilder b(function.getContext());
  b.setInsertionPointToStart(&function.getBody().front());
  Location loc = function.getLoc();
  Value size = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(bytes));
  return LLVM::AllocaOp::create(b, loc,
                                LLVM::LLVMPointerType::get(b.getContext()),
                                b.getI8Type(), size, kLineBytes);
}

class BrgemmCallLowering : SitePrefetch {
public:
  BrgemmCallLowering(BrgemmOp op, KernelCache &cache,
                     tenon::tile::TargetAttr target, int64_t unroll)
      : SitePrefetch(op, cache, target, unroll), cache(cache) {}

  void build() {
    for (Value operand : op.getEpilogueOperands())
      epilogueOperands.push_back(takeApart(operand));
    // What a matrix unit leaves is finished at once: there is no time to
    // prefetch.
    spec.prefetchOut = op.getPrefetchOut() && !spec.fromPartial;
    spec.nontemporalOut = op.getNontemporalOut() && !spec.fromPartial;
    if (!spec.fromPartial)
      return buildStrips();
    setUpMatrixUnit();
    buildStrips();
    if (!isConfigured)
      buildTileRelease(builder, loc);
  }

  /// Rows of the tiles that this site has the matrix unit set up for: 0 where
  /// it does not use the unit, none where only the running program knows.
  std::optional<int64_t> rowsOfTiles() const {
    if (!spec.fromPartial)
      return 0;
    return staticM ? std::optional(std::clamp<int64_t>(*staticM, 1, kTileRows))
                   : std::nullopt;
  }
  /// Memory that kernels need for totals.
  int64_t bytesOfTotals() const {
    return spec.totals * full.rows * full.vectors * spec.lanes *
           spec.sum.getIntOrFloatBitWidth() / 8;
  }
  /// Such memory, for one kernel at a time.
  void setTotals(Value memory) { totals = memory; }
  /// Whether a kernel may store past the caches.
  bool nontemporal() const { return storesNontemporally; }

  /// The function around sets the unit up.
  void setConfigured() { isConfigured = true; }

private:
  //===--- the matrix unit ------------------------------------------------===//
  /// Scratch at the start of the function: it is entered once per range of work
  /// items.
  void setUpMatrixUnit() {
    auto func = op->getParentOfType<func::FuncOp>();
    if (!sumsGoToC)
      sums = allocateScratch(func, kTilesPerSide * kTileRows * kPartialRow *
                                       sizeof(int32_t));
    Value rows = make<arith::MinUIOp>(c.sizes[0], integer(kTileRows));
    rows = make<arith::MaxUIOp>(rows, integer(1));
    if (!isConfigured)
      buildTileConfiguration(builder, loc,
                             allocateScratch(func, kConfigurationBytes), rows);
    tileRows = fromInteger(rows);
    Value perStep = integer(kTileGroups * spec.interleave);
    matrixSteps = make<arith::DivUIOp>(a.sizes[spec.numBatchDims + 1], perStep);
    matrixK = make<arith::MulIOp>(matrixSteps, perStep);
  }

  /// Blocks of two tiles of rows; the rest in two or in one, which begin where
  /// all their rows exist.
  void buildMatrixRows(Value column, int64_t vectors, Value tail) {
    constexpr int64_t both = kTilesPerSide * kTileRows;
    auto two = [&](Value row, Size count) {
      Value last = make<arith::SubIOp>(valueOf(count), index(kTileRows));
      buildMatrixCall({row, make<arith::AddIOp>(row, last)}, {index(0), last},
                      column, vectors);
      buildRowsOfSums(row, count, index(0), column, vectors, tail);
    };
    auto one = [&](Value row, Size count) {
      Value before = make<arith::SubIOp>(tileRows, valueOf(count));
      buildMatrixCall({make<arith::SubIOp>(row, before)}, {index(0)}, column,
                      vectors);
      buildRowsOfSums(row, count, before, column, vectors, tail);
    };
    if (staticM) {
      int64_t rest = *staticM % both, whole = *staticM - rest;
      if (whole)
        buildLoop(index(0), index(whole), both,
                  [&](Value row) { two(row, Size{nullptr, both}); });
      if (rest > kTileRows)
        two(index(whole), Size{nullptr, rest});
      else if (rest)
        one(index(whole), Size{nullptr, rest});
      return;
    }
    Value m = fromInteger(c.sizes[0]);
    Value rest = make<arith::RemUIOp>(m, index(both));
    Value whole = make<arith::SubIOp>(m, rest);
    buildLoop(index(0), whole, both,
              [&](Value row) { two(row, Size{nullptr, both}); });
    auto isMore = [&](int64_t than) -> Value {
      return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ugt,
                                   rest, index(than));
    };
    auto yielding = [&](auto body) {
      return [&, body](OpBuilder &, Location) {
        body();
        scf::YieldOp::create(builder, loc);
      };
    };
    scf::IfOp::create(
        builder, loc, isMore(kTileRows),
        yielding([&] { two(whole, Size{rest, 0}); }), yielding([&] {
          scf::IfOp::create(builder, loc, isMore(0),
                            yielding([&] { one(whole, Size{rest, 0}); }));
        }));
  }

  /// Sums of the tiles that begin at `rows` of C, to rows `to` of the scratch.
  void buildMatrixCall(ArrayRef<Value> rows, ArrayRef<Value> to, Value column,
                       int64_t vectors) {
    MatrixKernelSpec unit;
    unit.rowTiles = rows.size();
    unit.columnTiles = vectors;
    unit.element = spec.element;
    unit.sum = spec.sum;
    unit.sign = spec.sign;
    unit.interleave = spec.interleave;
    unit.numBatchDims = spec.numBatchDims;
    MatrixKernelOperands operands;
    KernelOperands at;
    for (auto [row, sum] : llvm::zip(rows, to)) {
      at = getOperands(row, column, Value());
      operands.a.push_back(at.a);
      operands.sums.push_back(sumsGoToC ? at.c : sumsAt(sum));
    }
    operands.sumRow = sumsGoToC ? at.cRow : integer(kPartialRow);
    int64_t k = op.getAType().getShape().back();
    unit.prefetchRows = ShapedType::isDynamic(k) ||
                        k > kStepsAhead * kTileGroups * spec.interleave;
    operands.b = at.b;
    setPrefetch(unit, operands, rows.front());
    operands.steps = matrixSteps;
    operands.aRow = at.aRow;
    operands.bRow = at.bRow;
    operands.batch = at.batch;
    operands.aBatch = at.aBatch;
    operands.bBatch = at.bBatch;
    func::CallOp::create(builder, loc, cache.getKernel(unit),
                         operands.flatten());
  }

  Value sumsAt(Value row) {
    return advance(sums, row, integer(kPartialRow), spec.sum);
  }

  /// The rest of k and the epilogue, if any, of `count` rows from `row`, whose
  /// sums begin at row `from` of the scratch.
  void buildRowsOfSums(Value row, Size count, Value from, Value column,
                       int64_t vectors, Value tail) {
    if (sumsGoToC)
      return;
    buildBlocks(count, [&](Value first, Size height) {
      buildCall(make<arith::AddIOp>(row, first), column, height,
                Size{nullptr, vectors}, tail, make<arith::AddIOp>(from, first));
    });
  }

  //===--- strips of columns ----------------------------------------------===//
  /// Whether whole vectors of B may be loaded in a strip at a multiple of a
  /// vector: only then is every vector that begins in C within a row of B.
  bool hasPaddedB() {
    int64_t width = panelWidth(op);
    return op.getPacked() && !ShapedType::isDynamic(width) &&
           width % spec.lanes == 0;
  }

  void buildStrips() {
    int64_t width = full.vectors * spec.lanes;
    if (!staticN)
      return buildDynamicStrips(width);
    int64_t numFull = *staticN / width, rest = *staticN % width;
    if (numFull > 0)
      buildLoop(index(0), index(numFull * width), width, [&](Value column) {
        buildRows(column, Size{nullptr, full.vectors}, Value());
      });
    if (rest == 0)
      return;
    int64_t vectors = llvm::divideCeil(rest, spec.lanes);
    int64_t tail = rest - (vectors - 1) * spec.lanes;
    buildRows(index(numFull * width), Size{nullptr, vectors},
              tail == spec.lanes ? Value() : integer(tail));
  }

  /// The last strip, and so every strip, may have any width: masked kernels.
  void buildDynamicStrips(int64_t width) {
    Value n = fromInteger(c.sizes[1]);
    buildLoop(index(0), n, width, [&](Value column) {
      Value left =
          make<arith::MinSIOp>(make<arith::SubIOp>(n, column), index(width));
      Value vectors = make<arith::CeilDivUIOp>(left, index(spec.lanes));
      Value whole = make<arith::MulIOp>(make<arith::SubIOp>(vectors, index(1)),
                                        index(spec.lanes));
      Value tail = toInteger(make<arith::SubIOp>(left, whole));
      Size size = full.vectors == 1 ? Size{nullptr, 1} : Size{vectors, 0};
      buildRows(column, size, tail);
    });
  }

  /// for i = from to `to` step `step`, or the body alone if it runs once.
  void buildLoop(Value from, Value to, int64_t step,
                 llvm::function_ref<void(Value)> body) {
    APInt first, end;
    if (matchPattern(from, m_ConstantInt(&first)) &&
        matchPattern(to, m_ConstantInt(&end)) &&
        end.getSExtValue() - first.getSExtValue() == step)
      return body(from);
    scf::ForOp::create(builder, loc, from, to, index(step), ValueRange{},
                       [&](OpBuilder &, Location, Value i, ValueRange) {
                         body(i);
                         scf::YieldOp::create(builder, loc);
                       });
  }

  //===--- blocks of rows -------------------------------------------------===//
  void buildRows(Value column, Size vectors, Value tail) {
    if (spec.fromPartial)
      return buildMatrixRows(column, vectors.fixed, tail);
    auto call = [&](Value row, Size height) {
      buildCall(row, column, height, vectors, tail);
    };
    if (staticM)
      return buildBlocks(Size{nullptr, *staticM}, call);
    Value rows = fromInteger(c.sizes[0]);
    auto multiple = static_cast<int64_t>(op.getRowMultiple().value_or(1));
    if (multiple <= full.rows)
      return buildDynamicBlocks(
          rows, call, isHigh(full.rows / multiple * multiple) ? multiple : 1);
    if (!isHigh(splitBalanced(multiple, full.rows).height))
      return buildDynamicBlocks(rows, call);
    // As many rows at a time as divide all, in blocks of known heights.
    buildLoop(index(0), rows, multiple, [&](Value first) {
      buildBlocks(Size{nullptr, multiple}, [&](Value row, Size height) {
        call(make<arith::AddIOp>(first, row), height);
      });
    });
  }

  /// Whether blocks of `rows` rows are not much slower than the highest.
  bool isHigh(int64_t rows) const { return 3 * rows >= 2 * full.rows; }

  /// `total` rows in blocks that the registers hold, as even as possible.
  void buildBlocks(Size total, llvm::function_ref<void(Value, Size)> block) {
    if (total.dynamic)
      return buildDynamicBlocks(total.dynamic, block);
    BalancedSplit split = splitBalanced(total.fixed, full.rows);
    int64_t tall = split.height + 1, low = split.numTall * tall;
    if (split.numTall)
      buildLoop(index(0), index(low), tall,
                [&](Value row) { block(row, Size{nullptr, tall}); });
    if (split.numShort)
      buildLoop(index(low), index(total.fixed), split.height,
                [&](Value row) { block(row, Size{nullptr, split.height}); });
  }

  /// Blocks of multiples of `unit` rows, which divides `total`.
  void buildDynamicBlocks(Value total,
                          llvm::function_ref<void(Value, Size)> block,
                          int64_t unit = 1) {
    int64_t limit = full.rows / unit;
    if (limit == 1)
      return buildLoop(index(0), total, unit,
                       [&](Value row) { block(row, Size{nullptr, unit}); });
    // One block, which does nothing where there are no rows.
    if (auto most = op.getMaxRows();
        most && static_cast<int64_t>(*most) <= limit * unit)
      return block(index(0), Size{total, 0, unit});
    auto rows = [&](Value units) {
      return unit == 1 ? units : make<arith::MulIOp>(units, index(unit));
    };
    if (unit > 1)
      total = make<arith::DivUIOp>(total, index(unit));
    // No rows: no blocks; the 1 only keeps the division defined.
    Value blocks = make<arith::CeilDivUIOp>(total, index(limit));
    Value divisor = make<arith::MaxSIOp>(blocks, index(1));
    Value height = make<arith::DivUIOp>(total, divisor);
    Value numTall = make<arith::RemUIOp>(total, divisor);
    buildLoop(index(0), blocks, 1, [&](Value i) {
      Value isTall = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::ult, i, numTall);
      Value extra =
          arith::SelectOp::create(builder, loc, isTall, index(1), index(0));
      Value row = make<arith::AddIOp>(make<arith::MulIOp>(i, height),
                                      make<arith::MinSIOp>(i, numTall));
      block(rows(row), Size{rows(make<arith::AddIOp>(height, extra)), 0, unit});
    });
  }

  //===--- one block ------------------------------------------------------===//
  /// `from`: with a matrix unit, the row of the scratch that has its sums.
  void buildCall(Value row, Value column, Size rows, Size vectors, Value tail,
                 Value from = Value()) {
    spec.maskedC = static_cast<bool>(tail);
    spec.maskedB = tail && !hasPaddedB();
    KernelOperands operands = getOperands(row, column, tail);
    if (from)
      continueSums(operands, from);
    if (spec.prefetch)
      setPrefetch(operands, row, valueOf(rows));
    if (!rows.dynamic && !vectors.dynamic) {
      spec.tile = {rows.fixed, vectors.fixed};
      storesNontemporally |= spec.nontemporalOut && spec.fillsLines();
      func::CallOp::create(builder, loc, cache.getKernel(spec),
                           operands.flatten(spec));
      return;
    }
    storesNontemporally |= spec.nontemporalOut;
    auto range = [](Size size, int64_t limit) {
      return size.dynamic ? SizeRange{size.unit, limit / size.unit * size.unit,
                                      size.unit}
                          : SizeRange{size.fixed, size.fixed};
    };
    func::FuncOp dispatcher = cache.getDispatcher(
        spec, range(rows, full.rows), range(vectors, full.vectors),
        finishesApart && rows.dynamic);
    SmallVector<Value> arguments{valueOf(rows), valueOf(vectors)};
    llvm::append_range(arguments, operands.flatten(spec));
    func::CallOp::create(builder, loc, dispatcher, arguments);
  }

  /// Begins where the matrix unit ended.
  void continueSums(KernelOperands &operands, Value from) {
    operands.partial = sumsAt(from);
    Value groups = make<arith::DivUIOp>(matrixK, integer(spec.interleave));
    operands.a =
        LLVM::GEPOp::create(builder, loc, operands.a.getType(), spec.element,
                            operands.a, ValueRange{matrixK});
    Value done = make<arith::MulIOp>(groups, operands.bRow);
    operands.b =
        LLVM::GEPOp::create(builder, loc, operands.b.getType(), spec.element,
                            operands.b, ValueRange{done});
    operands.k = make<arith::SubIOp>(operands.k, matrixK);
  }

  KernelOperands getOperands(Value row, Value column, Value tail) {
    unsigned j = spec.numBatchDims;
    Value one = integer(1);
    KernelOperands operands;
    operands.k = spec.interleave == 1 ? b.sizes[j] : a.sizes[j + 1];
    if (std::optional<tenon::tile::QuantizedWeightsAttr> quantized =
            op.getQuantized())
      setGroups(operands, *quantized, column);
    operands.aRow = a.strides[j];
    operands.aK = a.strides[j + 1];
    operands.bRow = b.strides[j];
    operands.cRow = c.strides[0];
    for (unsigned i = 0; i < j; ++i) {
      operands.batch.push_back(b.sizes[i]);
      operands.aBatch.push_back(a.strides[i]);
      operands.bBatch.push_back(b.strides[i]);
    }
    operands.a = advance(a.pointer, row, a.strides[j], spec.element);
    operands.b =
        advance(b.pointer, column, integer(spec.interleave), spec.elementOfB());
    operands.c = advance(c.pointer, row, c.strides[0], spec.stored);
    operands.c = advance(operands.c, column, one, spec.stored);
    for (auto [i, view] : llvm::enumerate(epilogueOperands)) {
      Type element = cast<MemRefType>(op.getEpilogueOperands()[i].getType())
                         .getElementType();
      Value pointer = view.pointer;
      bool hasRow = spec.hasRowStride(i);
      if (hasRow)
        pointer = advance(pointer, row, view.strides[0], element);
      if (spec.epilogueOperands[i] == EpilogueBroadcast::PerColumn ||
          spec.epilogueOperands[i] == EpilogueBroadcast::PerElement)
        pointer = advance(pointer, column, one, element);
      operands.epilogueOperands.push_back(pointer);
      operands.epilogueRow.push_back(hasRow ? view.strides[0] : Value());
    }
    operands.totals = totals;
    operands.tail = tail;
    return operands;
  }

  /// How many elements of K a group of `quantized` has, how many there are, and
  /// where scales of the first begin.
  void setGroups(KernelOperands &operands,
                 tenon::tile::QuantizedWeightsAttr quantized, Value column) {
    int64_t k = quantized.kOf(op.getAType().getShape().back()),
            group = quantized.groupOf(k);
    operands.k = integer(group);
    operands.groups = integer(k / group);
    operands.scales =
        advance(b.pointer, column, integer(1), builder.getF32Type());
  }

  KernelCache &cache;
  // With a matrix unit: scratch, rows of a tile (index), whole steps of k and
  // what they cover of it (i64).
  Value sums, tileRows, matrixSteps, matrixK;
  Value totals;
  bool isConfigured = false;
  bool storesNontemporally = false;
  SmallVector<View, 2> epilogueOperands;
};

/// Whether something that `function` calls may set the matrix unit up.
bool callsOtherProducts(func::FuncOp function, const SymbolTable &symbols) {
  auto result = function.walk([&](SymbolUserOpInterface user) {
    if (isa<memref::GetGlobalOp>(user))
      return WalkResult::advance();
    auto call = dyn_cast<func::CallOp>(user.getOperation());
    auto callee =
        call ? symbols.lookup<func::FuncOp>(call.getCallee()) : nullptr;
    bool isKnown = callee && !callee.isExternal();
    if (!isKnown || !callee.getOps<func::CallOp>().empty() ||
        callee.walk([](BrgemmOp) { return WalkResult::interrupt(); })
            .wasInterrupted())
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Setting the matrix unit up takes as long as some products: once for all in a
/// function, where they want the same.
void shareConfigurations(MutableArrayRef<BrgemmCallLowering> sites,
                         ArrayRef<BrgemmOp> ops) {
  llvm::MapVector<func::FuncOp, SmallVector<BrgemmCallLowering *>> byFunction;
  for (auto [site, op] : llvm::zip(sites, ops))
    if (site.rowsOfTiles() != 0)
      byFunction[op->getParentOfType<func::FuncOp>()].push_back(&site);
  if (byFunction.empty())
    return;
  SymbolTable symbols(ops.front()->getParentOfType<ModuleOp>());
  for (auto &[function, members] : byFunction) {
    std::optional<int64_t> rows = members.front()->rowsOfTiles();
    if (!rows || callsOtherProducts(function, symbols) ||
        !llvm::all_of(members, [&](BrgemmCallLowering *site) {
          return site->rowsOfTiles() == rows;
        }))
      continue;
    Location loc = function.getLoc();
    Value memory = allocateScratch(function, kConfigurationBytes);
    OpBuilder builder(function.getContext());
    builder.setInsertionPointAfterValue(memory);
    Value value = arith::ConstantOp::create(builder, loc,
                                            builder.getI64IntegerAttr(*rows));
    buildTileConfiguration(builder, loc, memory, value);
    function.walk([&](func::ReturnOp exit) {
      builder.setInsertionPoint(exit);
      buildTileRelease(builder, loc);
    });
    for (BrgemmCallLowering *site : members)
      site->setConfigured();
  }
}

/// Memory for totals: once for all products in a function.
void shareTotals(MutableArrayRef<BrgemmCallLowering> sites,
                 ArrayRef<BrgemmOp> ops) {
  llvm::MapVector<func::FuncOp, int64_t> bytes;
  for (auto [site, op] : llvm::zip(sites, ops)) {
    int64_t &most = bytes[op->getParentOfType<func::FuncOp>()];
    most = std::max(most, site.bytesOfTotals());
  }
  llvm::DenseMap<func::FuncOp, Value> memory;
  for (auto [function, most] : bytes)
    if (most)
      memory[function] = allocateScratch(function, most);
  for (auto [site, op] : llvm::zip(sites, ops))
    site.setTotals(memory.lookup(op->getParentOfType<func::FuncOp>()));
}

struct LowerBrgemmPass
    : tenon::microkernel::impl::LowerBrgemmBase<LowerBrgemmPass> {
  using LowerBrgemmBase::LowerBrgemmBase;

  void runOnOperation() override {
    if (unrollK < 0) {
      getOperation().emitError("unroll-k must be at least 0, is ") << unrollK;
      return signalPassFailure();
    }
    tenon::tile::TargetAttr target = tenon::tile::targetOf(getOperation());
    VectorIsa isa = isaOf(target);
    SmallVector<BrgemmOp> ops;
    bool fits = true;
    getOperation().walk([&](BrgemmOp op) {
      ops.push_back(op);
      int64_t j = op.getNumBatchDims();
      int64_t columns = op.getCType().getDimSize(1);
      int64_t lanes = isa.forColumns(ShapedType::isDynamic(columns)
                                         ? std::nullopt
                                         : std::optional(columns),
                                     /*elementBits=*/32)
                          .lanes(32);
      if (op.getInterleave() > 1 && op.getBType().getDimSize(j + 1) % lanes) {
        op.emitError("an interleaved b needs panels of a multiple of ")
            << lanes << " columns, has " << op.getBType();
        fits = false;
      }
      if (std::string reason = whyNoSuchTile(op, target); !reason.empty()) {
        op.emitError(reason);
        fits = false;
      }
    });
    if (!fits)
      return signalPassFailure();
    KernelCache cache(getOperation());
    std::vector<BrgemmCallLowering> sites;
    for (BrgemmOp op : ops)
      sites.emplace_back(op, cache, target, unrollK);
    shareConfigurations(sites, ops);
    shareTotals(sites, ops);
    llvm::SetVector<func::FuncOp> nontemporal;
    for (auto [site, op] : llvm::zip(sites, ops)) {
      site.build();
      if (site.nontemporal())
        nontemporal.insert(op->getParentOfType<func::FuncOp>());
    }
    // Last: kernels were cloned from the epilogues of earlier operations.
    for (BrgemmOp op : ops)
      op.erase();
    for (func::FuncOp f : nontemporal)
      tenon::codegen::fenceStores(f);
    numLowered += ops.size();
    numKernels += cache.getNumKernels();
    numDispatchers += cache.getNumDispatchers();
  }
};
} // namespace
