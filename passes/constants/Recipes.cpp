//===- Recipes.cpp - names for what @fold computes ------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/constants/Recipes.h"

#include "passes/support/Entry.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// Attributes that say where an operation comes from, not what it does.
constexpr llvm::StringLiteral kBookkeeping = "graph.";

/// Writes the operations behind a value, operands first, each once.
class Writer {
public:
  explicit Writer(func::FuncOp fold, FoldRecipe &recipe)
      : fold(fold), recipe(recipe), os(recipe.text) {}

  void write(Value root) {
    // A chain of constants may be long: no recursion.
    SmallVector<std::pair<Operation *, unsigned>> stack;
    visit(root, stack);
    while (!stack.empty()) {
      auto &[op, next] = stack.back();
      if (next < op->getNumOperands()) {
        visit(op->getOperand(next++), stack);
        continue;
      }
      finish(op);
      stack.pop_back();
    }
    os << "= " << numbers.lookup(root);
  }

private:
  void visit(Value value,
             SmallVector<std::pair<Operation *, unsigned>> &stack) {
    if (numbers.contains(value))
      return;
    if (Operation *op = value.getDefiningOp())
      return stack.push_back({op, 0});
    auto arg = cast<BlockArgument>(value);
    numbers[value] = count++;
    os << "arg " << value.getType();
    if (Attribute strides = fold.getArgAttr(arg.getArgNumber(), kStridesAttr))
      os << " " << strides;
    os << "\n";
    recipe.arguments.push_back(arg.getArgNumber());
  }

  void finish(Operation *op) {
    if (op->getNumResults() && numbers.contains(op->getResult(0)))
      return; // reached on two ways
    os << op->getName() << " ";
    for (NamedAttribute attr : op->getAttrDictionary())
      if (!attr.getName().strref().starts_with(kBookkeeping))
        os << attr.getName().strref() << "=" << attr.getValue() << " ";
    os << "(";
    for (Value operand : op->getOperands())
      os << numbers.lookup(operand) << " ";
    os << ") " << op->getResultTypes();
    for (Region &region : op->getRegions())
      for (Operation &inner : region.getOps())
        os << " {" << inner << "}";
    os << "\n";
    for (Value result : op->getResults())
      numbers[result] = count++;
  }

  func::FuncOp fold;
  FoldRecipe &recipe;
  llvm::raw_string_ostream os;
  llvm::DenseMap<Value, int> numbers;
  int count = 1;
};

} // namespace

std::vector<FoldRecipe> recipesOf(func::FuncOp fold) {
  std::vector<FoldRecipe> recipes;
  for (Value result : fold.getBody().front().getTerminator()->getOperands())
    Writer(fold, recipes.emplace_back()).write(result);
  return recipes;
}

} // namespace tenon::passes
