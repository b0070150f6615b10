//===- PlanArena.cpp - one arena per entry --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Buffers are taken in the order of the calls that need them; each gets the
// smallest free range of the arena that holds it, else the arena grows. A
// buffer is free again after the last call that reads it, views included.
//
// Buffers of dynamic size follow the static part; two of equal type and equal
// size share their bytes when their lifetimes do not overlap.
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"
#include "passes/support/Bytes.h"
#include "passes/support/Entry.h"
#include "passes/support/IndexMath.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#include <map>
#include <set>

using namespace mlir;

namespace tenon::passes {
#define GEN_PASS_DEF_PLANARENA
#include "passes/Passes.h.inc"

namespace {

/// Start of every buffer: a cache line, so that vectors do not split lines.
constexpr int64_t kAlign = 64;

int64_t alignUp(int64_t n) {
  return saturatingAdd(n, kAlign - 1) / kAlign * kAlign;
}

/// Free ranges of an arena that grows at its end.
class FreeList {
public:
  int64_t take(int64_t size) {
    // The first of the smallest that hold it.
    if (auto best = bySize.lower_bound({size, 0}); best != bySize.end()) {
      auto [bytes, at] = *best;
      remove(at);
      if (bytes > size)
        add(at + size, bytes - size);
      return at;
    }
    // Grow, from the last range if that touches the end.
    int64_t at = end;
    if (!free.empty()) {
      auto last = std::prev(free.end());
      if (last->first + last->second == end) {
        at = last->first;
        remove(at);
      }
    }
    end = saturatingAdd(at, size);
    return at;
  }
  void give(int64_t at, int64_t size) {
    auto next = free.lower_bound(at);
    if (next != free.begin()) {
      auto [before, bytes] = *std::prev(next);
      if (before + bytes == at) {
        remove(before);
        at = before;
        size += bytes;
      }
    }
    if (next != free.end() && at + size == next->first) {
      size += next->second;
      remove(next->first);
    }
    add(at, size);
  }
  int64_t size() const { return end; }

private:
  void add(int64_t at, int64_t size) {
    free[at] = size;
    bySize.insert({size, at});
  }
  void remove(int64_t at) {
    auto it = free.find(at);
    bySize.erase({it->second, at});
    free.erase(it);
  }

  std::map<int64_t, int64_t> free;              // start -> size
  std::set<std::pair<int64_t, int64_t>> bySize; // the same: size, start
  int64_t end = 0;
};

struct Buffer {
  memref::AllocOp op;
  int64_t first, last; // positions of operations in the entry
};

/// Position of the last use of `v` or of a view of it.
int64_t lastUse(Value v, const llvm::DenseMap<Operation *, int64_t> &position) {
  int64_t last = -1;
  for (Operation *user : v.getUsers()) {
    last = std::max(last, position.lookup(user));
    if (isa<ViewLikeOpInterface>(user))
      last = std::max(last, lastUse(user->getResult(0), position));
  }
  return last;
}

struct PlanArenaPass : impl::PlanArenaBase<PlanArenaPass> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> entries;
    for (auto f : getOperation().getOps<func::FuncOp>())
      if (isEntry(f))
        entries.push_back(f);
    for (func::FuncOp f : entries)
      plan(f);
  }

  void plan(func::FuncOp f) {
    Block &body = f.getBody().front();
    llvm::DenseMap<Operation *, int64_t> position;
    int64_t n = 0;
    for (Operation &op : body)
      position[&op] = n++;
    SmallVector<Buffer> fixed, dynamic;
    for (auto alloc : body.getOps<memref::AllocOp>()) {
      Buffer buffer{alloc, position[alloc], lastUse(alloc, position)};
      (alloc.getType().hasStaticShape() ? fixed : dynamic).push_back(buffer);
    }
    Type arenaType = MemRefType::get({ShapedType::kDynamic},
                                     IntegerType::get(&getContext(), 8));
    Builder attr(&getContext());
    DictionaryAttr role = attr.getDictionaryAttr(attr.getNamedAttr(
        kRoleAttr,
        tile::ArgRoleAttr::get(&getContext(), tile::ArgRole::arena)));
    // The size function has the arguments before the arena.
    SmallVector<Type> argTypes(f.getArgumentTypes());
    SmallVector<DictionaryAttr> argAttrs;
    f.getAllArgAttrs(argAttrs);
    (void)f.insertArgument(f.getNumArguments(), arenaType, role, f.getLoc());
    Value arena = f.getArguments().back();
    buffers += fixed.size() + dynamic.size();

    int64_t size = placeFixed(fixed, arena);
    bytesArena += size;
    Value total = placeDynamic(dynamic, arena, size, f);
    makeSizeFunction(f, argTypes, argAttrs, total, size);
  }

  int64_t placeFixed(ArrayRef<Buffer> list, Value arena) {
    FreeList arenaList;
    std::multimap<int64_t, std::pair<int64_t, int64_t>> live; // by last use
    for (const Buffer &buffer : list) {
      while (!live.empty() && live.begin()->first < buffer.first) {
        auto [at, bytes] = live.begin()->second;
        arenaList.give(at, bytes);
        live.erase(live.begin());
      }
      memref::AllocOp op = buffer.op;
      int64_t bytes = std::max(kAlign, alignUp(knownBytes(op.getType())));
      int64_t at = arenaList.take(bytes);
      live.insert({buffer.last, {at, bytes}});
      bytesUnshared = saturatingAdd(bytesUnshared, bytes);
      OpBuilder b(op);
      IndexMath m(b, op.getLoc());
      Value view = memref::ViewOp::create(b, op.getLoc(), op.getType(), arena,
                                          m.value(at), ValueRange{});
      op.replaceAllUsesWith(view);
      op.erase();
    }
    return arenaList.size();
  }

  /// Returns the end of the arena, or null when nothing is dynamic.
  Value placeDynamic(ArrayRef<Buffer> list, Value arena, int64_t start,
                     func::FuncOp f) {
    // Places of one type and size, in order, that nobody uses.
    struct Alike {
      std::map<size_t, Value> idle; // by number: offset
      size_t count = 0;
    };
    struct Used {
      Alike *alike;
      size_t number;
      Value offset;
    };
    std::map<SmallVector<const void *>, Alike> places; // by type and sizes
    std::multimap<int64_t, Used> live;                 // by last use
    Value end;
    // The same in f64, for sums that do not fit 64 bits.
    Value about;
    for (const Buffer &buffer : list) {
      memref::AllocOp op = buffer.op;
      OpBuilder b(op);
      IndexMath m(b, op.getLoc());
      SmallVector<Value> sizes(op.getDynamicSizes());
      while (!live.empty() && live.begin()->first < buffer.first) {
        const Used &used = live.begin()->second;
        used.alike->idle[used.number] = used.offset;
        live.erase(live.begin());
      }
      SmallVector<const void *> key = {op.getType().getAsOpaquePointer()};
      for (Value size : sizes)
        key.push_back(size.getAsOpaquePointer());
      Alike &alike = places[key];
      Used place{&alike, alike.count, {}};
      if (!alike.idle.empty()) {
        std::tie(place.number, place.offset) = *alike.idle.begin();
        alike.idle.erase(alike.idle.begin());
      } else {
        place.offset = end ? end : m.value(start);
        ++alike.count;
        int64_t known = knownBytes(op.getType());
        Index bytes = known;
        for (Value s : sizes)
          bytes *= m(s);
        about = addProduct(b, op.getLoc(),
                           about ? about : real(b, op.getLoc(), start), known,
                           sizes);
        Index lines = ceilDiv(bytes, kAlign);
        end = m.value(m(place.offset) + lines * kAlign);
      }
      live.insert({buffer.last, place});
      Value view = memref::ViewOp::create(b, op.getLoc(), op.getType(), arena,
                                          place.offset, sizes);
      op.replaceAllUsesWith(view);
      op.erase();
    }
    return end ? saturated(end, about) : end;
  }

  static Value real(OpBuilder &b, Location loc, int64_t n) {
    return arith::ConstantOp::create(b, loc,
                                     b.getF64FloatAttr(static_cast<double>(n)));
  }

  /// sum + factor * sizes..., in f64.
  static Value addProduct(OpBuilder &b, Location loc, Value sum, int64_t factor,
                          ValueRange sizes) {
    Value product = real(b, loc, factor);
    for (Value size : sizes) {
      Value n = arith::IndexCastOp::create(b, loc, b.getI64Type(), size);
      n = arith::SIToFPOp::create(b, loc, b.getF64Type(), n);
      product = arith::MulFOp::create(b, loc, product, n);
    }
    return arith::AddFOp::create(b, loc, sum, product);
  }

  /// `bytes`, or kTooManyBytes where there are `about` as many.
  static Value saturated(Value bytes, Value about) {
    Operation *later = bytes.getDefiningOp();
    if (later->isBeforeInBlock(about.getDefiningOp()))
      later = about.getDefiningOp();
    OpBuilder b(later->getContext());
    b.setInsertionPointAfter(later);
    Location loc = about.getLoc();
    Value fits = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, about,
                                       real(b, loc, kTooManyBytes));
    Value most = arith::ConstantIndexOp::create(b, loc, kTooManyBytes);
    return arith::SelectOp::create(b, loc, fits, bytes, most);
  }

  /// `@NAME_arena`: the arguments of the entry -> bytes of the arena.
  void makeSizeFunction(func::FuncOp f, TypeRange types,
                        ArrayRef<DictionaryAttr> attrs, Value total,
                        int64_t size) {
    OpBuilder b(&getContext());
    b.setInsertionPointAfter(f);
    auto fn =
        func::FuncOp::create(b, f.getLoc(), (f.getName() + kArenaSuffix).str(),
                             b.getFunctionType(types, {b.getIndexType()}));
    if (!attrs.empty())
      fn.setAllArgAttrs(attrs);
    b.setInsertionPointToStart(fn.addEntryBlock());
    Value result;
    if (!total) {
      result = arith::ConstantIndexOp::create(b, f.getLoc(), size);
    } else {
      SetVector<Operation *> slice;
      (void)getBackwardSlice(total, &slice);
      slice.insert(total.getDefiningOp());
      IRMapping map;
      for (BlockArgument arg : fn.getArguments())
        map.map(f.getArgument(arg.getArgNumber()), arg);
      for (Operation &op : f.getBody().front())
        if (slice.contains(&op))
          b.clone(op, map);
      result = map.lookup(total);
    }
    func::ReturnOp::create(b, f.getLoc(), result);
  }
};

} // namespace
} // namespace tenon::passes
