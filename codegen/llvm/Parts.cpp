//===- Parts.cpp - a module as parts of about equal work ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/Parts.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <algorithm>
#include <set>

using namespace mlir;

namespace tenon::codegen {

namespace {

/// Without constants, which cost nothing. See docs/cost-model.md: LLVM takes
/// some 15 ms for this many.
constexpr int64_t kOperationsPerPart = 400;
/// Twice the most threads: those that are done early take another.
constexpr int64_t kMostParts = 16;

constexpr llvm::StringLiteral kPartOrderAttr = "tenon.order";
constexpr llvm::StringLiteral kLinkageAttr = "llvm.linkage";

/// Something at the top of a module.
struct Item {
  Operation *op;
  bool isFunction, isDefinition;
  int64_t work = 0; // operations inside
  llvm::SetVector<StringAttr> uses;
  bool used = false; // by another item
  size_t part = 0;
};

using Items = llvm::MapVector<StringAttr, Item>;

/// Whether copies are as good as the original.
bool isCopyable(Operation *op) {
  if (auto global = dyn_cast<LLVM::GlobalOp>(op))
    return global.getConstant() &&
           (global.getLinkage() == LLVM::Linkage::Internal ||
            global.getLinkage() == LLVM::Linkage::Private);
  auto global = dyn_cast<memref::GlobalOp>(op);
  return global && global.getConstant() && global.isPrivate();
}

Item makeItem(Operation &op) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  Item item = {.op = &op,
               .isFunction = bool(function),
               .isDefinition = function && !function.isExternal(),
               .uses = {}};
  StringAttr own = SymbolTable::getSymbolName(&op);
  op.walk([&](Operation *inner) {
    ++item.work;
    if (isa<SymbolUserOpInterface>(inner))
      inner->getAttrDictionary().walk([&](SymbolRefAttr symbol) {
        if (symbol.getRootReference() != own)
          item.uses.insert(symbol.getRootReference());
      });
  });
  return item;
}

Items collect(ModuleOp module) {
  Items items;
  for (Operation &op : module.getBody()->getOperations())
    items.insert({SymbolTable::getSymbolName(&op), makeItem(op)});
  llvm::SetVector<StringAttr> used;
  for (auto &[name, item] : items)
    used.insert(item.uses.begin(), item.uses.end());
  for (StringAttr name : used)
    if (auto found = items.find(name); found != items.end())
      found->second.used = true;
  return items;
}

/// The largest first, each to the part that has least so far.
void distribute(Items &items, int64_t parts) {
  std::vector<Item *> functions;
  std::vector<int64_t> load(parts, 0);
  for (auto &[name, item] : items)
    if (item.isDefinition && item.used)
      functions.push_back(&item);
    else if (item.isDefinition)
      load[0] += item.work;
  std::stable_sort(functions.begin(), functions.end(),
                   [](Item *a, Item *b) { return a->work > b->work; });
  for (Item *item : functions) {
    item->part = std::min_element(load.begin(), load.end()) - load.begin();
    load[item->part] += item->work;
  }
}

/// The same function without its body, for another module.
Operation *declare(Operation *definition) {
  Operation *op = definition->cloneWithoutRegions();
  SymbolTable::setSymbolVisibility(op, SymbolTable::Visibility::Private);
  if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op))
    function.setLinkage(LLVM::Linkage::External);
  else
    op->removeAttr(kLinkageAttr);
  return op;
}

/// What a part refers to but does not define, in the order of the module.
std::set<size_t> neighboursOf(const Items &items, size_t part) {
  std::set<size_t> needed;
  std::vector<const Item *> open;
  for (const auto &[name, item] : items)
    if (item.part == part && (item.isDefinition || !item.used))
      open.push_back(&item);
  while (!open.empty()) {
    const Item *item = open.back();
    open.pop_back();
    for (StringAttr name : item->uses) {
      auto found = items.find(name);
      if (found == items.end())
        continue;
      const Item &other = found->second;
      if (other.isDefinition && other.part == part)
        continue;
      if (needed.insert(found - items.begin()).second && !other.isFunction)
        open.push_back(&other); // a constant may hold addresses of others
    }
  }
  return needed;
}

/// Attributes that say something about code; others belong to the graph.
void copyAttributes(ModuleOp from, ModuleOp to) {
  for (NamedAttribute attribute : from->getDiscardableAttrs())
    if (StringRef name = attribute.getName();
        name.starts_with("llvm.") || name.starts_with("dlti."))
      to->setDiscardableAttr(attribute.getName(), attribute.getValue());
}

bool isDeclaration(Operation *op) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  return function && function.isExternal();
}

/// Which of two operations of one name stays; null: they contradict.
Operation *choose(Operation *a, Operation *b) {
  if (isDeclaration(b))
    return a;
  if (isDeclaration(a))
    return b;
  bool same = !isa<FunctionOpInterface>(a) &&
              OperationEquivalence::isEquivalentTo(
                  a, b, OperationEquivalence::IgnoreLocations);
  return same ? a : nullptr;
}

} // namespace

int64_t countParts(ModuleOp module) {
  int64_t work = 0, functions = 0;
  for (Operation &op : module.getBody()->getOperations()) {
    auto function = dyn_cast<FunctionOpInterface>(op);
    if (!function && !isCopyable(&op))
      return 1;
    if (!function || function.isExternal())
      continue;
    ++functions;
    op.walk([&](Operation *inner) {
      work += !inner->hasTrait<OpTrait::ConstantLike>();
    });
  }
  return std::clamp<int64_t>(std::min(work / kOperationsPerPart, functions), 1,
                             kMostParts);
}

void splitIntoParts(ModuleOp module, int64_t parts) {
  if (parts == 1) {
    ModuleOp all = ModuleOp::create(module.getLoc());
    copyAttributes(module, all);
    all.getBody()->getOperations().splice(all.getBody()->end(),
                                          module.getBody()->getOperations());
    module.push_back(all);
    return;
  }
  Items items = collect(module);
  distribute(items, parts);
  SmallVector<StringRef> order;
  for (auto &[name, item] : items)
    order.push_back(name.getValue());
  module->setDiscardableAttr(kPartOrderAttr,
                             Builder(module).getStrArrayAttr(order));
  SmallVector<ModuleOp> modules;
  for (int64_t part = 0; part < parts; ++part) {
    modules.push_back(ModuleOp::create(module.getLoc()));
    copyAttributes(module, modules.back());
    for (size_t i : neighboursOf(items, part)) {
      Item &item = (items.begin() + i)->second;
      modules.back().push_back(item.isFunction ? declare(item.op)
                                               : item.op->clone());
      if (auto f = dyn_cast<LLVM::LLVMFuncOp>(item.op); f && !f.isExternal())
        f.setLinkage(LLVM::Linkage::External);
    }
  }
  for (auto &[name, item] : items) {
    item.op->remove();
    if (item.isDefinition || !item.used)
      modules[item.part].push_back(item.op);
    else
      item.op->destroy();
  }
  for (ModuleOp part : modules)
    module.push_back(part);
}

LogicalResult joinParts(ModuleOp module) {
  SmallVector<ModuleOp> parts(module.getOps<ModuleOp>());
  auto order = module->getAttrOfType<ArrayAttr>(kPartOrderAttr);
  if (!order) {
    for (ModuleOp part : parts) {
      module.getBody()->getOperations().splice(part->getIterator(),
                                               part.getBody()->getOperations());
      part.erase();
    }
    return success();
  }
  module->removeAttr(kPartOrderAttr);
  llvm::MapVector<StringAttr, Operation *> found;
  bool contradicts = false;
  for (ModuleOp part : parts) {
    for (Operation &op :
         llvm::make_early_inc_range(part.getBody()->getOperations())) {
      op.remove();
      Operation *&kept = found[SymbolTable::getSymbolName(&op)];
      if (!kept) {
        kept = &op;
        continue;
      }
      Operation *chosen = choose(kept, &op);
      if (!chosen) {
        contradicts = true;
        op.emitError("parts of a module differ in what has this name");
        chosen = kept;
      }
      (chosen == kept ? &op : kept)->destroy();
      kept = chosen;
    }
    part.erase();
  }
  for (StringAttr name : order.getAsRange<StringAttr>())
    if (auto it = found.find(name); it != found.end())
      module.push_back(std::exchange(it->second, nullptr));
  Operation *first = &module.getBody()->front();
  for (auto &[name, op] : found)
    if (op)
      module.getBody()->getOperations().insert(first->getIterator(), op);
  return failure(contradicts);
}

} // namespace tenon::codegen
