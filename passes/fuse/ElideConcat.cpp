//===- ElideConcat.cpp - operands of a Concat, where it joins them --------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %a = call @conv1(%x)                   %a = call @conv1(%x)
//   %b = call @conv2(%a)             ->    %b = call @conv2(%a)
//   %j = call @cat(%a, %b, %y)             %j = call @cat(%a, %b, %y)
//                                            {tile.in_place = [0, 1]}
//
// The tile phase then has @conv1 and @conv2 write into the memory of %j, and
// copies %y alone. Calls are taken from the last to the first: the result of a
// Concat may be an operand of another one, and what it joins follows it there.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/OpFacts.h"
#include "passes/Passes.h"
#include "passes/fuse/Group.h"
#include "passes/support/Entry.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Permutations.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace tenon::passes {
#define GEN_PASS_DEF_ELIDECONCAT
#include "passes/Passes.h.inc"

namespace {

/// Bytes of the shortest rows of several elements: vectors go along rows, and
/// of few elements they are dearer than a copy of all.
constexpr int64_t kMinRowBytes = 16;

using Strides = SmallVector<int64_t>;

class Joining {
public:
  /// Results of the entry are where the caller has them.
  Joining(func::FuncOp entry, const SymbolTable &symbols) : symbols(symbols) {
    Operation *ret = entry.getBody().front().getTerminator();
    for (auto [i, v] : llvm::enumerate(ret->getOperands())) {
      std::optional<Strides> strides = resultStrides(entry, i);
      Value source = graph::skipViews(v);
      for (; strides && v != source; v = v.getDefiningOp()->getOperand(0))
        strides = stridesBeforeView(v, *strides);
      known[source] = strides.value_or(Strides());
    }
  }

  /// Operands of the Concat of `call` that are in place; `remarks`: says why.
  SmallVector<int64_t> join(func::CallOp call, bool remarks) {
    auto group = symbols.lookup<func::FuncOp>(call.getCallee());
    Operation *concat = concatOf(group);
    Value whole = call.getResult(0);
    SmallVector<int64_t> inPlace;
    Strides strides = stridesOf(whole);
    std::string said;
    for (auto [i, arg] : llvm::enumerate(concat->getOperands())) {
      auto from = dyn_cast<BlockArgument>(arg);
      std::string why;
      if (!rankedType(whole).hasStaticShape() || strides.empty())
        why = "sizes or strides are not known";
      else if (!from)
        why = "it is a literal";
      else if (llvm::count(concat->getOperands(), arg) > 1)
        why = "it is joined twice";
      else
        why = place(call.getOperand(from.getArgNumber()), strides);
      if (why.empty())
        inPlace.push_back(static_cast<int64_t>(i));
      else
        said += "; operand " + std::to_string(i) + " is copied: " + why;
    }
    if (remarks)
      concat->emitRemark() << inPlace.size() << " of "
                           << concat->getNumOperands()
                           << " operands are computed in place" << said;
    return inPlace;
  }

private:
  Strides stridesOf(Value v) const {
    if (auto it = known.find(v); it != known.end())
      return it->second;
    auto type = rankedType(v);
    return MemRefType::get(type.getShape(), type.getElementType())
        .getStridesAndOffset()
        .first;
  }

  /// Whether all views of `v` are views of memory with these strides.
  static bool keepsViews(Value v, ArrayRef<int64_t> strides) {
    return llvm::all_of(v.getUsers(), [&](Operation *user) {
      if (!graph::isView(user))
        return true;
      auto behind = stridesBehindView(user->getResult(0), strides);
      return behind && keepsViews(user->getResult(0), *behind);
    });
  }

  /// Elements of `type` that lie side by side.
  static int64_t rowElements(RankedTensorType type, ArrayRef<int64_t> strides) {
    int64_t elements = 1;
    for (int64_t d = type.getRank() - 1; d >= 0; --d) {
      if (type.getDimSize(d) != 1 && strides[d] != elements)
        break;
      elements *= type.getDimSize(d);
    }
    return elements;
  }

  /// Why the group that computes `operand` cannot write it with `strides`;
  /// empty: it can, and does from here on.
  std::string place(Value operand, Strides strides) {
    Value v = operand;
    for (Operation *def = v.getDefiningOp(); def && graph::isView(def);
         def = v.getDefiningOp()) {
      auto before = stridesBeforeView(v, strides);
      if (!before)
        return "a reshape lies between its group and the Concat";
      strides = std::move(*before);
      v = def->getOperand(0);
    }
    auto writer = v.getDefiningOp<func::CallOp>();
    if (!writer)
      return "it is an input or a constant, which no group writes";
    if (known.contains(v))
      return "its group writes it to another result already";
    auto type = rankedType(v);
    if (!type.getElementType().isIntOrFloat() ||
        type.getElementType().getIntOrFloatBitWidth() < 8)
      return "its elements are smaller than a byte";
    if (type.getRank() == 0 || strides.back() != 1)
      return "its group computes its dimensions in another order";
    int64_t row = rowElements(type, strides);
    int64_t bytes = row * type.getElementType().getIntOrFloatBitWidth() / 8;
    if (row > 1 && bytes < kMinRowBytes && bytes < bytesAtLeast(type))
      return "it is contiguous in dst for only " + std::to_string(bytes) +
             " bytes, of the " + std::to_string(kMinRowBytes) +
             " that a kernel should write";
    if (!keepsViews(v, strides))
      return "others read it through a reshape";
    known[v] = std::move(strides);
    return "";
  }

  const SymbolTable &symbols;
  llvm::DenseMap<Value, Strides> known; // of results that have a place
};

struct ElideConcatPass : impl::ElideConcatBase<ElideConcatPass> {
  using ElideConcatBase::ElideConcatBase;
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto entry : getOperation().getOps<func::FuncOp>())
      if (isEntry(entry))
        joinIn(entry, symbols);
  }

  void joinIn(func::FuncOp entry, const SymbolTable &symbols) {
    Joining joining(entry, symbols);
    SmallVector<func::CallOp> calls(entry.getOps<func::CallOp>());
    for (func::CallOp call : llvm::reverse(calls)) {
      auto group = symbols.lookup<func::FuncOp>(call.getCallee());
      if (groupKindOf(group) != tile::GroupKind::concat)
        continue;
      SmallVector<int64_t> inPlace = joining.join(call, remarks);
      placed += inPlace.size();
      if (!inPlace.empty())
        call->setAttr(kInPlaceAttr,
                      Builder(&getContext()).getDenseI64ArrayAttr(inPlace));
    }
  }
};

} // namespace
} // namespace tenon::passes
