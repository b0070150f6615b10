//===- KernelCache.cpp - the kernels of a module --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/microkernel/KernelCache.h"
#include "codegen/vector/LocalFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tenon::microkernel;

/// Of the operations in it, not of how they are connected.
static size_t hashOf(Region &region) {
  llvm::hash_code hash(0);
  region.walk([&](Operation *op) {
    hash =
        llvm::hash_combine(hash, OperationEquivalence::computeHash(
                                     op, OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

void KernelCache::setEpilogue(KernelSpec &spec, Region &region) {
  spec.epilogue = nullptr;
  spec.epilogueId = 0;
  if (region.empty())
    return;
  // Which way each side runs is not in the region: name() adds it.
  std::vector<Epilogue> &alike = epilogues[hashOf(region)];
  for (const Epilogue &known : alike)
    if (OperationEquivalence::isRegionEquivalentTo(
            known.region, &region, OperationEquivalence::IgnoreLocations)) {
      spec.epilogue = known.region;
      spec.epilogueId = known.id;
      return;
    }
  alike.push_back({&region, ++numEpilogues});
  spec.epilogue = &region;
  spec.epilogueId = numEpilogues;
}

template <typename Spec, typename Build>
func::FuncOp KernelCache::getOrBuild(const Spec &spec, Build build) {
  func::FuncOp &func = kernels[spec.name()];
  if (!func) {
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    func = build(builder, module.getLoc(), spec);
    table.insert(func); // Renames it if the module has that name already.
  }
  return func;
}

func::FuncOp KernelCache::getKernel(KernelSpec spec) {
  spec.nontemporalOut &= spec.fillsLines();
  return getOrBuild(spec, spec.finishes ? buildFinish : buildKernel);
}

func::FuncOp KernelCache::getKernel(const MatrixKernelSpec &spec) {
  return getOrBuild(spec, buildMatrixKernel);
}

std::string SizeRange::str() const {
  std::string text = std::to_string(low) + "to" + std::to_string(high);
  return step == 1 ? text : text + "by" + std::to_string(step);
}

namespace {

/// The body of a dispatch function.
class Dispatch {
public:
  Dispatch(OpBuilder &builder, Location loc, KernelCache &cache,
           const KernelSpec &spec, ValueRange arguments)
      : builder(builder), loc(loc), cache(cache), spec(spec),
        rows(arguments[0]), vectors(arguments[1]),
        operands(arguments.drop_front(2)) {}

  /// if rows, vectors is one of the known pairs: call its kernel.
  void build(SizeRange heights, SizeRange widths) {
    assert(widths.step == 1 && "strips have any number of vectors");
    // Cases count rows outermost.
    int64_t width = widths.count();
    Value number = arith::AddIOp::create(
        builder, loc,
        arith::MulIOp::create(builder, loc, numberOf(rows, heights),
                              constant(width)),
        numberOf(vectors, widths));
    buildSwitch(number, 0, heights.count() * width, [&](int64_t i) {
      spec.tile = {heights.size(i / width), widths.size(i % width)};
      func::CallOp::create(builder, loc, cache.getKernel(spec), operands);
    });
  }

  /// The same with kernels that leave sums, for C or in memory where another
  /// function finishes them.
  void buildApart(SizeRange heights, SizeRange widths) {
    Value sums;
    if (!spec.storesSums())
      sums = allocateSums(heights.high * widths.high);
    if (widths.count() == 1)
      return buildWidth(heights, widths.low, sums);
    buildSwitch(vectors, widths.low, widths.high + 1,
                [&](int64_t width) { buildWidth(heights, width, sums); });
  }

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value integer(int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  }

  /// Which of the sizes of `range` `size` is.
  Value numberOf(Value size, SizeRange range) {
    Value number =
        arith::SubIOp::create(builder, loc, size, constant(range.low));
    return range.step == 1 ? number
                           : arith::DivSIOp::create(builder, loc, number,
                                                    constant(range.step));
  }

  void buildSwitch(Value number, int64_t from, int64_t to,
                   llvm::function_ref<void(int64_t)> body) {
    auto cases = llvm::to_vector(llvm::seq(from, to));
    auto select = scf::IndexSwitchOp::create(builder, loc, TypeRange{}, number,
                                             cases, cases.size());
    OpBuilder::InsertionGuard guard(builder);
    for (auto [region, i] : llvm::zip(select.getCaseRegions(), cases)) {
      builder.createBlock(&region);
      body(i);
      scf::YieldOp::create(builder, loc);
    }
    builder.createBlock(&select.getDefaultRegion());
    scf::YieldOp::create(builder, loc);
  }

  Value allocateSums(int64_t numVectors) {
    Value count = integer(numVectors * spec.lanes);
    return LLVM::AllocaOp::create(
        builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
        spec.sum, count, kLineBytes);
  }

  void buildWidth(SizeRange heights, int64_t width, Value sums) {
    spec.tile = {1, width};
    KernelOperands of = KernelOperands::unflatten(spec, operands);
    of.partial = sums;
    of.rows =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), rows);
    KernelSpec finish = spec.ofFinish();
    SmallVector<Value> finishOperands = of.flatten(finish);
    if (spec.prefetchOut)
      buildFinishPrefetch(builder, loc, finish, finishOperands);
    KernelSpec toSums = spec.ofSums();
    if (sums) {
      of.c = sums;
      of.cRow = integer(spec.rowOfSums());
    } else {
      toSums.maskedC = spec.maskedC;
    }
    of.epilogueOperands.clear();
    SmallVector<Value> sumOperands = of.flatten(toSums);
    buildSwitch(numberOf(rows, heights), 0, heights.count(), [&](int64_t i) {
      toSums.tile.rows = heights.size(i);
      func::CallOp::create(builder, loc, cache.getKernel(toSums), sumOperands);
    });
    if (sums)
      func::CallOp::create(builder, loc, cache.getKernel(finish),
                           finishOperands);
  }

  OpBuilder &builder;
  Location loc;
  KernelCache &cache;
  KernelSpec spec;
  Value rows, vectors;
  ValueRange operands;
};

} // namespace

func::FuncOp KernelCache::getDispatcher(const KernelSpec &spec, SizeRange rows,
                                        SizeRange vectors, bool apart) {
  KernelSpec family = spec;
  family.tile = {0, 0};
  std::string name = family.name() + "_any_" + rows.str() + "x" +
                     vectors.str() + (apart ? "_apart" : "");
  if (func::FuncOp known = dispatchers.lookup(name))
    return known;

  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Location loc = module.getLoc();
  Type index = builder.getIndexType();
  SmallVector<Type> types{index, index};
  llvm::append_range(types, getKernelType(spec).getInputs());
  auto func = codegen::createLocalFunction(builder, loc, name,
                                           builder.getFunctionType(types, {}));
  dispatchers[name] = func;
  table.insert(func);
  Block *entry = func.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  Dispatch dispatch(builder, loc, *this, spec, entry->getArguments());
  if (apart)
    dispatch.buildApart(rows, vectors);
  else
    dispatch.build(rows, vectors);
  func::ReturnOp::create(builder, loc);
  return func;
}
