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
    // Cases count rows outermost.
    int64_t width = widths.high - widths.low + 1;
    Value row =
        arith::SubIOp::create(builder, loc, rows, constant(heights.low));
    Value column =
        arith::SubIOp::create(builder, loc, vectors, constant(widths.low));
    Value number = arith::AddIOp::create(
        builder, loc, arith::MulIOp::create(builder, loc, row, constant(width)),
        column);
    int64_t count = (heights.high - heights.low + 1) * width;
    buildSwitch(number, 0, count, [&](int64_t i) {
      spec.tile = {heights.low + i / width, widths.low + i % width};
      func::CallOp::create(builder, loc, cache.getKernel(spec), operands);
    });
  }

  /// The same with kernels that leave sums, for C or in memory where another
  /// function finishes them.
  void buildApart(SizeRange heights, SizeRange widths) {
    Value sums;
    if (!spec.storesSums())
      sums = allocateSums(heights.high * widths.high);
    if (widths.isFixed())
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
    buildSwitch(rows, heights.low, heights.high + 1, [&](int64_t height) {
      toSums.tile.rows = height;
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
  std::string name = (family.name() + "_any_" + Twine(rows.low) + "to" +
                      Twine(rows.high) + "x" + Twine(vectors.low) + "to" +
                      Twine(vectors.high) + (apart ? "_apart" : ""))
                         .str();
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
