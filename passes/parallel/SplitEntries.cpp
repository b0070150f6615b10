//===- SplitEntries.cpp - long entries as several functions ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   func @main(%exec, ..) -> i32 {       func @main(%exec, ..) -> i32 {
//     <100,000 operations>         ->      %frame = llvm.alloca
//     return %0 }                          call @main.p0(%exec, .., %frame)
//                                          call @main.p1(%exec, .., %frame) ..
//                                          return %0 }
//
// An entry starts one section after the other, in one block. LLVM's code
// generator takes more time for each operation the more of them a function has,
// so long entries are cut, and so is what computes the size of an arena. What
// follows from the arguments in a few operations is computed where it is read;
// other values that a later piece reads go through memory of the entry, the
// frame.
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"
#include "passes/support/Build.h"
#include "passes/support/Entry.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tenon::passes {
#define GEN_PASS_DEF_SPLITENTRIES
#include "passes/Passes.h.inc"

namespace {

/// Operations that compute a value anew; with more it goes through the frame.
constexpr int64_t kMostAgain = 8;

/// 64-bit words that a value of an LLVM type takes.
int64_t wordsOf(Type type) {
  if (auto list = dyn_cast<LLVM::LLVMArrayType>(type))
    return static_cast<int64_t>(list.getNumElements()) *
           wordsOf(list.getElementType());
  if (auto fields = dyn_cast<LLVM::LLVMStructType>(type)) {
    int64_t words = 0;
    for (Type field : fields.getBody())
      words += wordsOf(field);
    return words;
  }
  return 1;
}

/// Operations in `op`, itself included.
int64_t countOps(Operation &op) {
  int64_t count = 0;
  op.walk([&](Operation *) { ++count; });
  return count;
}

class Splitter {
public:
  explicit Splitter(func::FuncOp entry)
      : entry(entry), body(entry.getBody().front()), loc(entry.getLoc()),
        b(entry.getContext()), converter(entry.getContext()),
        ptr(LLVM::LLVMPointerType::get(entry.getContext())) {}

  /// Cuts the entry into pieces of about `most` operations; returns how many.
  int64_t split(int64_t most) {
    assignPieces(most);
    int64_t count = static_cast<int64_t>(starts.size());
    if (count < 2)
      return 0;
    for (Operation &op : body.without_terminator())
      noteCost(op);
    makePieces();
    // From the last: what is computed again still has the operands it had.
    finishEntry();
    for (int64_t i = count; i-- > 0;)
      connect(pieces[i], i);
    frameWords.setValueAttr(b.getI64IntegerAttr(words));
    for (func::FuncOp piece : pieces)
      eraseDeadOps(piece);
    eraseDeadOps(entry);
    return count;
  }

private:
  /// Of what stays in the entry: its memory, which all pieces use.
  static constexpr int64_t kEntry = -1;

  static bool staysInEntry(Operation &op) {
    return isa<LLVM::AllocaOp>(op) || op.hasTrait<OpTrait::ConstantLike>();
  }

  void assignPieces(int64_t most) {
    int64_t size = most;
    for (Operation &op : body.without_terminator()) {
      if (staysInEntry(op)) {
        pieceOf[&op] = kEntry;
        continue;
      }
      if (size >= most) {
        starts.push_back(&op);
        size = 0;
      }
      size += countOps(op);
      pieceOf[&op] = static_cast<int64_t>(starts.size()) - 1;
    }
  }

  /// Whether `op` reads what no section writes: the addresses of buffers and
  /// the sizes that the caller gives.
  bool isLoadOfArgument(Operation *op) const {
    auto load = dyn_cast<LLVM::LoadOp>(op);
    auto address =
        load ? load.getAddr().getDefiningOp<LLVM::GEPOp>() : LLVM::GEPOp();
    auto arg =
        address ? dyn_cast<BlockArgument>(address.getBase()) : BlockArgument();
    if (!arg)
      return false;
    constexpr unsigned kBuffers = 1, kDims = 2; // as LowerRt has them
    return isArenaSize(entry) || arg.getArgNumber() == kBuffers ||
           arg.getArgNumber() == kDims;
  }

  /// Notes how many operations compute the results of `op` from arguments.
  void noteCost(Operation &op) {
    if (op.getNumRegions() || !(isPure(&op) || isLoadOfArgument(&op)))
      return;
    int64_t cost = 1;
    for (Value v : op.getOperands())
      if (Operation *def = v.getDefiningOp()) {
        auto known = costs.find(def);
        if (known == costs.end())
          return;
        cost += known->second;
      }
    if (cost <= kMostAgain)
      costs[&op] = cost;
  }

  void makePieces() {
    SmallVector<Type> types(entry.getArgumentTypes());
    types.push_back(ptr);
    func::FuncOp last = entry;
    for (auto [i, first] : llvm::enumerate(starts)) {
      b.setInsertionPointAfter(last);
      auto piece = func::FuncOp::create(
          b, loc, entry.getName().str() + ".p" + std::to_string(i),
          b.getFunctionType(types, {}));
      piece.setPrivate();
      if (Attribute attr = entry->getAttr("passthrough"))
        piece->setAttr("passthrough", attr);
      piece.addEntryBlock();
      pieces.push_back(last = piece);
    }
    for (Operation &op : llvm::make_early_inc_range(body.without_terminator()))
      if (int64_t at = pieceOf.lookup(&op); at != kEntry)
        op.moveBefore(&pieces[at].getBody().front(),
                      pieces[at].getBody().front().end());
    for (func::FuncOp piece : pieces) {
      b.setInsertionPointToEnd(&piece.getBody().front());
      func::ReturnOp::create(b, loc);
    }
    b.setInsertionPointToStart(&body);
    frameWords = LLVM::ConstantOp::create(b, loc, b.getI64Type(),
                                          b.getI64IntegerAttr(0));
    frame = LLVM::AllocaOp::create(b, loc, ptr, b.getI64Type(), frameWords);
  }

  /// Gives what `piece` reads of others to it.
  void connect(func::FuncOp piece, int64_t number) {
    Block &block = piece.getBody().front();
    Operation *first = &block.front();
    IRMapping here;
    for (auto [from, to] : llvm::zip(body.getArguments(), block.getArguments()))
      here.map(from, to);
    piece.walk([&](Operation *op) {
      for (OpOperand &operand : op->getOpOperands()) {
        Value v = operand.get();
        if (!isFrom(v, number)) {
          b.setInsertionPoint(first);
          operand.set(valueIn(v, here, block.getArguments().back()));
        }
      }
    });
  }

  /// Whether `v` is a value of piece `number`, not one that another has made.
  bool isFrom(Value v, int64_t number) const {
    if (auto arg = dyn_cast<BlockArgument>(v))
      return arg.getOwner() != &body;
    auto found = pieceOf.find(v.getDefiningOp());
    return found == pieceOf.end() || found->second == number;
  }

  /// `v` of another piece, computed again or read from the frame at `here`.
  Value valueIn(Value v, IRMapping &here, Value frameHere) {
    if (Value known = here.lookupOrNull(v))
      return known;
    Operation *def = v.getDefiningOp();
    if (!costs.contains(def)) {
      auto slot = slots.find(v);
      int64_t at = slot == slots.end() ? save(v) : slot->second;
      Value read = LLVM::LoadOp::create(
          b, loc, converter.convertType(v.getType()), addressOf(frameHere, at));
      here.map(v, as(v.getType(), read));
      return here.lookup(v);
    }
    for (Value operand : def->getOperands())
      valueIn(operand, here, frameHere);
    b.clone(*def, here);
    return here.lookup(v);
  }

  /// Stores `v` in the frame after its operation; returns where.
  int64_t save(Value v) {
    OpBuilder::InsertionGuard guard(b);
    Operation *def = v.getDefiningOp();
    b.setInsertionPointAfter(def);
    int64_t number = pieceOf.lookup(def), at = words;
    Value frameHere =
        number == kEntry ? frame : pieces[number].getArguments().back();
    Type stored = converter.convertType(v.getType());
    LLVM::StoreOp::create(b, loc, as(stored, v), addressOf(frameHere, at));
    words += wordsOf(stored);
    slots[v] = at;
    return at;
  }

  Value addressOf(Value memory, int64_t word) {
    return LLVM::GEPOp::create(
        b, loc, ptr, b.getI64Type(), memory,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(word)});
  }

  Value as(Type type, Value v) {
    return v.getType() == type
               ? v
               : UnrealizedConversionCastOp::create(b, loc, type, v)
                     .getResult(0);
  }

  /// Calls the pieces, and returns what they leave.
  void finishEntry() {
    Operation *ret = body.getTerminator();
    b.setInsertionPoint(ret);
    SmallVector<Value> operands(body.getArguments());
    operands.push_back(frame);
    for (func::FuncOp piece : pieces)
      func::CallOp::create(b, loc, piece, operands);
    IRMapping here;
    for (Value arg : body.getArguments())
      here.map(arg, arg);
    for (OpOperand &operand : ret->getOpOperands())
      if (!isFrom(operand.get(), kEntry))
        operand.set(valueIn(operand.get(), here, frame));
  }

  func::FuncOp entry;
  Block &body;
  Location loc;
  OpBuilder b;
  LLVMTypeConverter converter;
  Type ptr;
  llvm::DenseMap<Operation *, int64_t> pieceOf; // operations of the block
  llvm::DenseMap<Operation *, int64_t> costs;   // of what is computed again
  SmallVector<Operation *> starts;
  SmallVector<func::FuncOp> pieces;
  llvm::DenseMap<Value, int64_t> slots; // words of the frame
  LLVM::ConstantOp frameWords;
  Value frame;
  int64_t words = 0;
};

struct SplitEntriesPass : impl::SplitEntriesBase<SplitEntriesPass> {
  using SplitEntriesBase::SplitEntriesBase;
  void runOnOperation() override {
    SmallVector<func::FuncOp> entries;
    for (auto f : getOperation().getOps<func::FuncOp>())
      if (isEntry(f) || isArenaSize(f))
        entries.push_back(f);
    for (func::FuncOp f : entries) {
      eraseDeadOps(f); // descriptors nobody reads
      pieces += Splitter(f).split(maxOps);
    }
  }
};

} // namespace
} // namespace tenon::passes
