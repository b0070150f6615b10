//===- LowerRt.cpp - the interface of compiled code -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Entry:    i32 NAME(exec, void *const *buffers, const int64_t *dims, arena)
// Its size: i64 NAME_arena(const int64_t *dims)
// Section:  void (void *const *slots, int64_t begin, int64_t end, scratch)
//
// `buffers` has one pointer per argument of the entry but the arena, `dims`
// the sizes of all of them, one after the other. A slot of a section is a
// pointer, a size, a stride or a scalar; a buffer takes one slot and one more
// per dynamic size and stride.
//
//===----------------------------------------------------------------------===//
#include "dialects/rt/RtDialect.h"
#include "passes/Passes.h"
#include "passes/support/Entry.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace tenon::passes {
#define GEN_PASS_DEF_LOWERRT
#include "passes/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral kRunSection = "tenon_rt_run_named_section";
constexpr llvm::StringLiteral kRequire = "tenon_rt_require";

struct Lowering {
  ModuleOp module;
  OpBuilder b;
  LLVMTypeConverter converter;
  Type ptr, i64, i32, index;
  llvm::StringMap<LLVM::GlobalOp> names;
  llvm::DenseMap<StringAttr, func::FuncOp> callees; // sections
  llvm::DenseMap<Value, Value> addresses; // of the buffers of an entry
  /// Of the caller's buffers, per dimension that is not known: its size in i64.
  llvm::DenseMap<Value, SmallVector<Value>> sizes;

  explicit Lowering(ModuleOp module)
      : module(module), b(module.getContext()), converter(module.getContext()),
        ptr(LLVM::LLVMPointerType::get(module.getContext())),
        i64(b.getI64Type()), i32(b.getI32Type()), index(b.getIndexType()) {}

  Value toI64(Location loc, Value v) {
    return arith::IndexCastOp::create(b, loc, i64, v);
  }
  Value constant(Location loc, int64_t v) {
    return LLVM::ConstantOp::create(b, loc, i64, b.getI64IntegerAttr(v));
  }
  Value loadAt(Location loc, Value base, int64_t slot, Type type) {
    Value p =
        LLVM::GEPOp::create(b, loc, ptr, i64, base,
                            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(slot)});
    return LLVM::LoadOp::create(b, loc, type, p);
  }

  /// A memref at `address`. `dynamic` gives the next dynamic size or stride,
  /// sizes first.
  Value
  makeMemref(Location loc, MemRefType type, Value address,
             llvm::function_ref<Value(int64_t dim, bool stride)> dynamic) {
    auto d = MemRefDescriptor::poison(b, loc, converter.convertType(type));
    d.setAllocatedPtr(b, loc, address);
    d.setAlignedPtr(b, loc, address);
    d.setConstantOffset(b, loc, 0);
    SmallVector<Value> sizes;
    for (int64_t i = 0; i < type.getRank(); ++i) {
      sizes.push_back(type.isDynamicDim(i) ? dynamic(i, false)
                                           : constant(loc, type.getDimSize(i)));
      d.setSize(b, loc, i, sizes[i]);
    }
    if (type.getLayout().isIdentity()) {
      Value stride = constant(loc, 1);
      for (int64_t i = type.getRank() - 1; i >= 0; --i) {
        d.setStride(b, loc, i, stride);
        stride = LLVM::MulOp::create(b, loc, stride, sizes[i]);
      }
    } else {
      auto [strides, offset] = type.getStridesAndOffset();
      for (auto [i, s] : llvm::enumerate(strides))
        d.setStride(b, loc, i,
                    ShapedType::isDynamic(s) ? dynamic(i, true)
                                             : constant(loc, s));
    }
    return UnrealizedConversionCastOp::create(b, loc, type, Value(d))
        .getResult(0);
  }

  void setSignature(func::FuncOp f, ArrayRef<Type> in, ArrayRef<Type> out) {
    f.setFunctionType(b.getFunctionType(in, out));
    f.removeArgAttrsAttr();
    f.removeResAttrsAttr();
  }

  //===--- Sections

  void lowerSectionFunction(func::FuncOp f) {
    Block &body = f.getBody().front();
    Location loc = f.getLoc();
    SmallVector<BlockArgument> old(body.getArguments());
    b.setInsertionPointToStart(&body);
    Value slots = body.addArgument(ptr, loc);
    Value begin = body.addArgument(i64, loc);
    Value end = body.addArgument(i64, loc);
    Value scratch = body.addArgument(ptr, loc);
    int64_t slot = 0;
    unsigned n = old.size();
    for (unsigned i = 0; i + 3 < n; ++i) {
      Type type = old[i].getType();
      Value v;
      if (auto memref = dyn_cast<MemRefType>(type)) {
        Value address = loadAt(loc, slots, slot++, ptr);
        v = makeMemref(loc, memref, address, [&](int64_t, bool) {
          return loadAt(loc, slots, slot++, i64);
        });
      } else if (type == index) {
        v = arith::IndexCastOp::create(b, loc, index,
                                       loadAt(loc, slots, slot++, i64));
      } else {
        v = loadAt(loc, slots, slot++, type);
      }
      old[i].replaceAllUsesWith(v);
    }
    old[n - 3].replaceAllUsesWith(
        arith::IndexCastOp::create(b, loc, index, begin));
    old[n - 2].replaceAllUsesWith(
        arith::IndexCastOp::create(b, loc, index, end));
    auto scratchType = cast<MemRefType>(old[n - 1].getType());
    old[n - 1].replaceAllUsesWith(
        makeMemref(loc, scratchType, scratch, [&](int64_t, bool) {
          return constant(loc, std::numeric_limits<int64_t>::max());
        }));
    body.eraseArguments(0, n);
    setSignature(f, {ptr, i64, i64, ptr}, {});
    f->setAttr("rt.lowered", b.getUnitAttr());
    f.setPublic(); // A symbol of its own: perf and gdb name it.
  }

  /// Address of a buffer of an entry. Views are followed by hand: a descriptor
  /// per use would make entries of large graphs slow to compile.
  Value addressOf(Location loc, Value v) {
    Value &known = addresses[v];
    if (known)
      return known;
    // Beside the definition: a section in a loop may be the first to ask.
    OpBuilder::InsertionGuard guard(b);
    if (Operation *def = v.getDefiningOp())
      b.setInsertionPointAfter(def);
    Value address;
    if (auto view = v.getDefiningOp<memref::ViewOp>()) {
      Value base = addressOf(loc, view.getSource());
      address = LLVM::GEPOp::create(b, loc, ptr, b.getI8Type(), base,
                                    toI64(loc, view.getByteShift()));
    } else if (auto part = v.getDefiningOp<rt::PartOp>()) {
      Value base = addressOf(loc, part.getSource());
      address = LLVM::GEPOp::create(b, loc, ptr,
                                    part.getPart().getType().getElementType(),
                                    base, firstOf(loc, part));
    } else if (auto cast = v.getDefiningOp<memref::ReinterpretCastOp>()) {
      // Buffers of a partition have offset 0.
      address = addressOf(loc, cast.getSource());
    } else {
      Value index = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, v);
      address = LLVM::IntToPtrOp::create(b, loc, ptr, toI64(loc, index));
    }
    return addresses[v] = address;
  }

  /// The number of the first element of a part.
  Value firstOf(Location loc, rt::PartOp part) {
    Value first = constant(loc, static_cast<int64_t>(part.getFirst()));
    return part.getMore()
               ? LLVM::AddOp::create(b, loc, first, toI64(loc, part.getMore()))
                     .getResult()
               : first;
  }

  /// A size of a buffer of an entry that is not known, as an index, without
  /// its descriptor.
  Value sizeOf(Location loc, Value v, int64_t dim) {
    if (auto view = v.getDefiningOp<memref::ViewOp>())
      return view.getDynamicSizes()[view.getType().getDynamicDimIndex(dim)];
    if (auto cast = v.getDefiningOp<memref::ReinterpretCastOp>())
      return getValueOrCreateConstantIndexOp(b, loc, cast.getMixedSizes()[dim]);
    if (auto known = sizes.find(v); known != sizes.end())
      return arith::IndexCastOp::create(b, loc, index, known->second[dim]);
    return memref::DimOp::create(b, loc, v, dim);
  }

  /// Replaces what asks for sizes in the entry `f`.
  void resolveSizes(func::FuncOp f) {
    SmallVector<memref::DimOp> ops;
    f.walk([&](memref::DimOp op) { ops.push_back(op); });
    for (memref::DimOp op : ops) {
      std::optional<int64_t> dim = op.getConstantIndex();
      auto type = dyn_cast<MemRefType>(op.getSource().getType());
      if (!dim || !type || *dim >= type.getRank() || !type.isDynamicDim(*dim))
        continue;
      b.setInsertionPoint(op);
      Value size = sizeOf(op.getLoc(), op.getSource(), *dim);
      op.replaceAllUsesWith(size);
      op.erase();
    }
  }

  /// The slots of one argument of a section.
  void slotsOf(Location loc, Value v, SmallVector<Value> &slots) {
    auto type = dyn_cast<MemRefType>(v.getType());
    if (!type) {
      slots.push_back(v.getType() == index ? toI64(loc, v) : v);
      return;
    }
    slots.push_back(addressOf(loc, v));
    for (int64_t i = 0; i < type.getRank(); ++i)
      if (type.isDynamicDim(i))
        slots.push_back(toI64(loc, sizeOf(loc, v, i)));
    if (type.getLayout().isIdentity())
      return;
    auto [strides, offset] = type.getStridesAndOffset();
    auto cast = v.getDefiningOp<memref::ReinterpretCastOp>();
    memref::ExtractStridedMetadataOp meta;
    for (auto [i, s] : llvm::enumerate(strides))
      if (ShapedType::isDynamic(s) && cast) {
        slots.push_back(toI64(loc, getValueOrCreateConstantIndexOp(
                                       b, loc, cast.getMixedStrides()[i])));
      } else if (ShapedType::isDynamic(s)) {
        if (!meta)
          meta = memref::ExtractStridedMetadataOp::create(b, loc, v);
        slots.push_back(toI64(loc, meta.getStrides()[i]));
      }
  }

  Value nameOf(Location loc, StringRef label) {
    LLVM::GlobalOp &global = names[label];
    if (!global) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(module.getBody());
      std::string text = label.str() + '\0';
      auto type = LLVM::LLVMArrayType::get(b.getI8Type(), text.size());
      global = LLVM::GlobalOp::create(
          b, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal,
          "label." + std::to_string(names.size()), b.getStringAttr(text));
    }
    return LLVM::AddressOfOp::create(b, loc, global);
  }

  void lowerSection(rt::SectionOp op, Value exec, Value slotMemory) {
    b.setInsertionPoint(op);
    Location loc = op.getLoc();
    SmallVector<Value> slots;
    for (Value v : op.getArgs())
      slotsOf(loc, v, slots);
    for (auto [i, v] : llvm::enumerate(slots)) {
      Value p =
          LLVM::GEPOp::create(b, loc, ptr, i64, slotMemory,
                              ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
      LLVM::StoreOp::create(b, loc, v, p);
    }
    func::FuncOp callee = callees.at(op.getCalleeAttr().getAttr());
    Value fn = func::ConstantOp::create(b, loc, callee.getFunctionType(),
                                        op.getCallee());
    fn = UnrealizedConversionCastOp::create(b, loc, ptr, fn).getResult(0);
    func::CallOp::create(
        b, loc, kRunSection, TypeRange{},
        ValueRange{exec, fn, slotMemory, toI64(loc, op.getItems()),
                   toI64(loc, op.getScratch()), nameOf(loc, op.getLabel())});
    op.erase();
  }

  void lowerRequire(rt::RequireOp op, Value exec) {
    b.setInsertionPoint(op);
    Location loc = op.getLoc();
    Value holds = arith::ExtUIOp::create(b, loc, b.getI32Type(), op.getHolds());
    func::CallOp::create(b, loc, kRequire, TypeRange{},
                         ValueRange{exec, holds});
    op.erase();
  }

  int64_t slotCount(rt::SectionOp op) {
    int64_t n = 0;
    for (Value v : op.getArgs()) {
      auto type = dyn_cast<MemRefType>(v.getType());
      n += 1 + (type ? 2 * type.getRank() : 0);
    }
    return n;
  }

  //===--- Entries

  /// Nothing to gain from optimising straight calls, and much time to lose.
  void leaveAsIs(func::FuncOp f) {
    f->setAttr("passthrough", b.getStrArrayAttr({"noinline", "optnone"}));
  }

  void bind(BlockArgument arg, Value address, Value memref) {
    addresses[memref] = address;
    arg.replaceAllUsesWith(memref);
  }

  /// Replaces the arguments of an entry, or of its size function, by what
  /// `buffers` and `dims` hold. `buffers` is null for the latter.
  void bindArguments(func::FuncOp f, Value buffers, Value dims, Value arena,
                     ArrayRef<BlockArgument> old) {
    Location loc = f.getLoc();
    int64_t buffer = 0, dim = 0;
    for (BlockArgument arg : old) {
      auto type = cast<MemRefType>(arg.getType());
      if (roleOf(f, arg.getArgNumber()) == tile::ArgRole::arena) {
        bind(arg, arena, makeMemref(loc, type, arena, [&](int64_t, bool) {
               return constant(loc, std::numeric_limits<int64_t>::max());
             }));
        continue;
      }
      Value address = buffers ? loadAt(loc, buffers, buffer++, ptr)
                              : LLVM::ZeroOp::create(b, loc, ptr).getResult();
      SmallVector<Value> known(type.getRank());
      Value memref = makeMemref(loc, type, address, [&](int64_t i, bool) {
        return known[i] = loadAt(loc, dims, dim + i, i64);
      });
      bind(arg, address, memref);
      if (!type.hasStaticShape())
        sizes[memref] = std::move(known);
      auto rank =
          f.getArgAttrOfType<IntegerAttr>(arg.getArgNumber(), kRankAttr);
      dim += rank ? rank.getInt() : type.getRank();
    }
  }

  void lowerEntry(func::FuncOp f) {
    Block &body = f.getBody().front();
    Location loc = f.getLoc();
    SmallVector<BlockArgument> old(body.getArguments());
    SmallVector<rt::SectionOp> sections;
    f.walk([&](rt::SectionOp op) { sections.push_back(op); });
    b.setInsertionPointToStart(&body);
    addresses.clear();
    sizes.clear();
    Value exec = body.addArgument(ptr, loc);
    Value buffers = body.addArgument(ptr, loc);
    Value dims = body.addArgument(ptr, loc);
    Value arena = body.addArgument(ptr, loc);
    int64_t most = 1;
    for (rt::SectionOp op : sections)
      most = std::max(most, slotCount(op));
    Value slotMemory =
        LLVM::AllocaOp::create(b, loc, ptr, i64, constant(loc, most));
    bindArguments(f, buffers, dims, arena, old);
    resolveSizes(f);
    for (rt::SectionOp op : sections)
      lowerSection(op, exec, slotMemory);
    SmallVector<rt::RequireOp> required;
    f.walk([&](rt::RequireOp op) { required.push_back(op); });
    for (rt::RequireOp op : required)
      lowerRequire(op, exec);
    SmallVector<rt::PartOp> parts(body.getOps<rt::PartOp>());
    for (rt::PartOp op : parts) {
      Value address = addressOf(op.getLoc(), op);
      b.setInsertionPointAfter(address.getDefiningOp());
      Value memref =
          makeMemref(op.getLoc(), op.getPart().getType(), address, {});
      op.getPart().replaceAllUsesWith(memref);
    }
    for (rt::PartOp op : parts)
      op.erase();
    Operation *ret = body.getTerminator();
    b.setInsertionPoint(ret);
    Value zero = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
    ret->setOperands(zero);
    body.eraseArguments(0, old.size());
    setSignature(f, {ptr, ptr, ptr, ptr}, {i32});
    leaveAsIs(f);
  }

  void lowerArenaFunction(func::FuncOp f) {
    Block &body = f.getBody().front();
    Location loc = f.getLoc();
    SmallVector<BlockArgument> old(body.getArguments());
    b.setInsertionPointToStart(&body);
    Value dims = body.addArgument(ptr, loc);
    sizes.clear();
    bindArguments(f, {}, dims, {}, old);
    resolveSizes(f);
    Operation *ret = body.getTerminator();
    b.setInsertionPoint(ret);
    ret->setOperand(0, toI64(loc, ret->getOperand(0)));
    body.eraseArguments(0, old.size());
    setSignature(f, {ptr}, {i64});
    leaveAsIs(f);
  }

  void declareRuntime() {
    bool checksValues =
        module.walk([](rt::RequireOp) { return WalkResult::interrupt(); })
            .wasInterrupted();
    b.setInsertionPointToStart(module.getBody());
    auto f = func::FuncOp::create(
        b, module.getLoc(), kRunSection,
        b.getFunctionType({ptr, ptr, ptr, i64, i64, ptr}, {}));
    f.setPrivate();
    if (!checksValues)
      return;
    f = func::FuncOp::create(b, module.getLoc(), kRequire,
                             b.getFunctionType({ptr, b.getI32Type()}, {}));
    f.setPrivate();
  }

  void run() {
    SmallVector<func::FuncOp> sections, entries, sizes;
    module.walk(
        [&](rt::SectionOp op) { callees[op.getCalleeAttr().getAttr()] = {}; });
    for (auto f : module.getOps<func::FuncOp>()) {
      if (isEntry(f))
        entries.push_back(f);
      else if (isArenaSize(f))
        sizes.push_back(f);
      else if (auto callee = callees.find(f.getNameAttr());
               callee != callees.end())
        sections.push_back(callee->second = f);
    }
    declareRuntime();
    for (func::FuncOp f : sections)
      lowerSectionFunction(f);
    for (func::FuncOp f : entries)
      lowerEntry(f);
    for (func::FuncOp f : sizes)
      lowerArenaFunction(f);
  }
};

struct LowerRtPass : impl::LowerRtBase<LowerRtPass> {
  void runOnOperation() override { Lowering(getOperation()).run(); }
};

} // namespace
} // namespace tenon::passes
