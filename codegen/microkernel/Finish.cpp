//===- Finish.cpp - C made of sums in memory ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   for each row:
//     load its sums, epilogue, store
//
// Where the number of rows is not known, there is a kernel for each height that
// a block may have. They have the long loops over k alone and serve all
// epilogues, each of which is compiled once, for a row.
//
//===----------------------------------------------------------------------===//
#include "codegen/microkernel/KernelResults.h"
#include "codegen/vector/LocalFunction.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tenon::microkernel;

namespace {
class RowsOfC : KernelResults {
public:
  RowsOfC(OpBuilder &builder, Location loc, const KernelSpec &spec,
          ValueRange arguments)
      : KernelResults(builder, loc, spec, arguments), first(args) {}

  void finishRows() {
    forRow([&] { finish(initialise()); });
  }
  void prefetchRows() {
    forRow([&] { prefetchOutput(); });
  }

private:
  void forRow(llvm::function_ref<void()> body) {
    scf::ForOp::create(builder, loc, constant(0), first.rows, constant(1),
                       ValueRange(),
                       [&](OpBuilder &, Location, Value row, ValueRange) {
                         goTo(row);
                         body();
                         scf::YieldOp::create(builder, loc);
                       });
  }

  void goTo(Value row) {
    args.c = advance(first.c, mul(row, args.cRow), spec.stored);
    if (first.partial) // sums are there
      args.partial = advance(first.partial,
                             mul(row, constant(spec.rowOfSums())), spec.sum);
    for (unsigned i = 0, e = spec.epilogueOperands.size(); i < e; ++i)
      if (spec.hasRowStride(i))
        args.epilogueOperands[i] =
            advance(first.epilogueOperands[i], mul(row, args.epilogueRow[i]),
                    epilogueElement(i));
  }

  const KernelOperands first; // of the first row
};
} // namespace

func::FuncOp tenon::microkernel::buildFinish(OpBuilder &builder, Location loc,
                                             const KernelSpec &spec) {
  assert(spec.finishes && spec.tile.rows == 1 && "it goes row by row");
  auto func = codegen::createLocalFunction(builder, loc, spec.name(),
                                           getKernelType(spec));
  OpBuilder::InsertionGuard guard(builder);
  Block *entry = func.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  RowsOfC(builder, loc, spec, entry->getArguments()).finishRows();
  func::ReturnOp::create(builder, loc);
  return func;
}

void tenon::microkernel::buildFinishPrefetch(OpBuilder &builder, Location loc,
                                             const KernelSpec &spec,
                                             ValueRange arguments) {
  RowsOfC(builder, loc, spec, arguments).prefetchRows();
}
