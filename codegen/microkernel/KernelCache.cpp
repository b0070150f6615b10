//===- KernelCache.cpp - the kernels of a module --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/microkernel/KernelCache.h"
#include "codegen/vector/LocalFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
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
  return getOrBuild(spec, buildKernel);
}

func::FuncOp KernelCache::getKernel(const MatrixKernelSpec &spec) {
  return getOrBuild(spec, buildMatrixKernel);
}

std::string SizeRange::str() const {
  std::string text = std::to_string(low) + "to" + std::to_string(high);
  return step == 1 ? text : text + "by" + std::to_string(step);
}

/// if rows, vectors is one of the known pairs: call its kernel.
static void buildDispatch(OpBuilder &builder, Location loc, KernelCache &cache,
                          KernelSpec spec, SizeRange rows, SizeRange vectors,
                          ValueRange arguments) {
  assert(vectors.step == 1 && "strips have any number of vectors");
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  // Cases count rows outermost.
  int64_t width = vectors.count();
  Value row =
      arith::SubIOp::create(builder, loc, arguments[0], constant(rows.low));
  if (rows.step > 1)
    row = arith::DivSIOp::create(builder, loc, row, constant(rows.step));
  Value column =
      arith::SubIOp::create(builder, loc, arguments[1], constant(vectors.low));
  Value number = arith::AddIOp::create(
      builder, loc, arith::MulIOp::create(builder, loc, row, constant(width)),
      column);
  SmallVector<int64_t> cases;
  for (int64_t i = 0; i < rows.count() * width; ++i)
    cases.push_back(i);
  auto select = scf::IndexSwitchOp::create(builder, loc, TypeRange{}, number,
                                           cases, cases.size());
  for (int64_t i : cases) {
    spec.tile = {rows.size(i / width), vectors.size(i % width)};
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&select.getCaseRegions()[i]);
    func::CallOp::create(builder, loc, cache.getKernel(spec),
                         arguments.drop_front(2));
    scf::YieldOp::create(builder, loc);
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&select.getDefaultRegion());
  scf::YieldOp::create(builder, loc);
}

func::FuncOp KernelCache::getDispatcher(const KernelSpec &spec, SizeRange rows,
                                        SizeRange vectors) {
  KernelSpec family = spec;
  family.tile = {0, 0};
  std::string name = family.name() + "_any_" + rows.str() + "x" + vectors.str();
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
  buildDispatch(builder, loc, *this, spec, rows, vectors,
                entry->getArguments());
  func::ReturnOp::create(builder, loc);
  return func;
}
