//===- TileGroups.cpp - entries and groups on buffers ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   func @main(%x: tensor, ..) -> tensor       func @main(%x: memref, .., %y:
//   memref)
//     %0 = call @fc1(%x, %p, %b)         ->      %0 = memref.alloc
//     return ..                                  call @fc1(%x, %p, %b, %0)
//
// Views become sizes and strides on the way; a reshape that strides cannot
// express becomes a copy. A group function is lowered once per combination of
// operand layouts. Temporaries are plain memref.allocs until the arena is
// planned.
//
// Groups are lowered straight to buffers: they are destination-passing by
// construction and hold no conflicting writes, so one-shot bufferisation would
// have nothing to decide.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "dialects/graph/PlainOp.h"
#include "dialects/graph/SizeExpr.h"
#include "dialects/rt/RtDialect.h"
#include "dialects/tile/TileDialect.h"
#include "passes/Passes.h"
#include "passes/fuse/Group.h"
#include "passes/support/Build.h"
#include "passes/support/Diagnose.h"
#include "passes/support/Entry.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Permutations.h"
#include "passes/tile/Specializer.h"
#include "passes/tile/core/GroupLowering.h"
#include "passes/tile/core/Literals.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace tenon::passes {
#define GEN_PASS_DEF_TILEGROUPS
#include "passes/Passes.h.inc"

namespace {

class EntryLowering {
  /// A value as a part of `whole`, from index `at` of dim `axis` on; `shown` is
  /// the operand of the Concat, a view of the value or the value itself.
  struct Part {
    Value shown, whole;
    int64_t axis, at;
  };

public:
  /// `groups` has all functions of groups.
  EntryLowering(ModuleOp module, func::FuncOp old, const SymbolTable &groups,
                Specializer &specializer)
      : module(module), old(old), groups(groups), specializer(specializer),
        b(module.getContext()), m(b, old.getLoc()) {}

  LogicalResult run() {
    makeFunction();
    for (Operation &op : old.getBody().front().without_terminator()) {
      if (isa<arith::ConstantOp>(op))
        continue;
      if (auto call = dyn_cast<func::CallOp>(op)) {
        if (failed(lowerCall(call)))
          return failure();
        continue;
      }
      if (failed(lowerAlias(&op)))
        return failure();
    }
    old.erase();
    fn.setName(name);
    return success();
  }

private:
  void makeFunction() {
    name = old.getName().str();
    SmallVector<Type> types;
    SmallVector<DictionaryAttr> attrs;
    auto add = [&](Type type, DictionaryAttr dict, tile::ArgRole role) {
      NamedAttrList list(dict);
      list.set(kRoleAttr, tile::ArgRoleAttr::get(b.getContext(), role));
      auto strides =
          dyn_cast_or_null<DenseI64ArrayAttr>(list.get(kStridesAttr));
      types.push_back(bufferType(cast<RankedTensorType>(type), strides));
      attrs.push_back(list.getDictionary(b.getContext()));
    };
    for (BlockArgument arg : old.getArguments()) {
      unsigned i = arg.getArgNumber();
      add(arg.getType(), old.getArgAttrDict(i),
          isFoldedArg(old, i) ? tile::ArgRole::folded : tile::ArgRole::input);
    }
    unsigned inputs = types.size();
    for (auto [i, type] : llvm::enumerate(old.getResultTypes()))
      add(type, old.getResultAttrDict(i), tile::ArgRole::output);
    b.setInsertionPoint(old);
    fn = func::FuncOp::create(b, old.getLoc(), name + ".new",
                              b.getFunctionType(types, {}));
    fn.setAllArgAttrs(attrs);
    b.setInsertionPointToStart(fn.addEntryBlock());
    auto ret = func::ReturnOp::create(b, old.getLoc());
    b.setInsertionPoint(ret);
    for (BlockArgument arg : old.getArguments())
      define(arg, stridedOf(m, fn.getArgument(arg.getArgNumber())));
    // Sizes of constants that are not known are not given to @fold, which
    // computes nothing of such a size.
    if (old.getName() != kFoldName)
      nameSizes();
    for (auto [i, v] : llvm::enumerate(
             old.getBody().front().getTerminator()->getOperands())) {
      Strided buffer = stridedOf(m, fn.getArgument(inputs + i));
      places[graph::skipViews(v)] = beforeViews(v, std::move(buffer));
    }
    for (auto call : old.getOps<func::CallOp>())
      findParts(call);
  }

  /// The expressions of the sizes of `arg`; none if it has none.
  static SmallVector<StringRef> textsOf(BlockArgument arg) {
    ArrayAttr texts = graph::sizesOf(arg);
    if (!texts ||
        static_cast<int64_t>(texts.size()) != rankedType(arg).getRank())
      return {};
    return llvm::to_vector(texts.getAsValueRange<StringAttr>());
  }

  /// A name stands for the first size that has it alone; others of this name,
  /// and those that are computed from it, have to be equal.
  void nameSizes() {
    for (BlockArgument arg : old.getArguments())
      for (auto [i, text] : llvm::enumerate(textsOf(arg)))
        if (auto expr = graph::SizeExpr::parse(text); expr && expr->name())
          sizes.setNamed(text, sizes[arg][i]);
    if (auto declared = graph::sizeFactsOf(old))
      sizes.learn(*declared);
    for (BlockArgument arg : old.getArguments()) {
      SmallVector<Index> shared(sizes[arg]);
      for (auto [i, text] : llvm::enumerate(textsOf(arg))) {
        auto named = text.empty() ? std::nullopt : sizes.evaluate(text);
        if (!named)
          continue;
        require(shared[i], *named);
        shared[i] = *named;
      }
      Strided s = values[arg];
      setSizes(s, shared);
      define(arg, std::move(s));
    }
  }

  /// The execution fails unless both are equal.
  void require(Index x, Index y) {
    if (!(x == y))
      require(arith::CmpIPredicate::eq, x, y);
  }
  /// The execution fails unless `x` is at most `y`.
  void requireAtMost(Index x, Index y) {
    bool isKnown =
        x.constant() && y.constant() && *x.constant() <= *y.constant();
    if (!isKnown)
      require(arith::CmpIPredicate::sle, x, y);
  }
  void require(arith::CmpIPredicate predicate, Index x, Index y) {
    rt::RequireOp::create(b, m.location(),
                          arith::CmpIOp::create(b, m.location(), predicate,
                                                m.value(x), m.value(y)));
  }

  /// The operands that the call of a Concat has in place.
  void findParts(func::CallOp call) {
    auto group = groups.lookup<func::FuncOp>(call.getCallee());
    SmallVector<Value> joined = elidedOperands(call, group);
    if (joined.empty())
      return;
    Operation *concat = concatOf(group);
    Value whole = call.getResult(0);
    int64_t axis =
        normalizedAxis(intAttr(concat, "axis"), rankedType(whole).getRank());
    int64_t at = 0;
    for (auto [part, operand] : llvm::zip(joined, concat->getOperands())) {
      if (part)
        parts[graph::skipViews(part)] = {part, whole, axis, at};
      at += rankedType(operand).getDimSize(axis);
    }
  }

  SmallVector<Index> constantSizes(Value v) {
    return SmallVector<Index>(rankedType(v).getShape());
  }

  /// `buffer` of `v`, as what `v` shows lies there; see writtenAsComputed and
  /// ElideConcat, which make sure that it does.
  Strided beforeViews(Value v, Strided buffer) {
    for (Operation *view = v.getDefiningOp(); view && graph::isView(view);
         view = v.getDefiningOp()) {
      Order order = orderOf(v);
      v = view->getOperand(0);
      buffer = order.empty()
                   ? *passes::reshape(buffer, constantSizes(v))
                   : transpose(buffer, invertPermutationVector(order));
    }
    return buffer;
  }

  /// Where the result `v` of a group goes: to the caller's buffer, to a part of
  /// another tensor, or to memory of its own.
  Strided placeOf(Value v, ArrayRef<Index> shape) {
    if (auto known = places.find(v); known != places.end()) {
      Strided s = known->second;
      s.sizes.assign(shape.begin(), shape.end());
      return s;
    }
    auto part = parts.find(v);
    Strided s = part == parts.end() ? allocate(rankedType(v), shape)
                                    : partOf(part->second);
    return places[v] = s;
  }

  Strided partOf(const Part &part) {
    Strided whole = placeOf(part.whole, constantSizes(part.whole));
    Strided s;
    s.sizes = constantSizes(part.shown);
    s.strides = whole.strides;
    MemRefType type = memrefType(whole.elementType(), s.sizes, s.strides);
    int64_t first = part.at * *whole.strides[part.axis].constant();
    s.base = rt::PartOp::create(b, m.location(), type, whole.base, first,
                                /*more=*/Value());
    s.dense = type.getLayout().isIdentity();
    return beforeViews(part.shown, std::move(s));
  }

  void define(Value v, Strided s) {
    sizes.set(v, s.sizes);
    values[v] = std::move(s);
  }

  Strided allocate(RankedTensorType type, ArrayRef<Index> shape) {
    SmallVector<Value> dynamic;
    for (auto [i, d] : llvm::enumerate(shape))
      if (type.isDynamicDim(i))
        dynamic.push_back(m.value(d));
    auto t =
        MemRefType::get(type.getShape(), storageType(type.getElementType()));
    Value alloc = memref::AllocOp::create(b, m.location(), t, dynamic);
    Strided s;
    s.base = alloc;
    s.dense = true;
    s.sizes.assign(shape.begin(), shape.end());
    s.strides.assign(shape.size(), 1);
    for (int64_t d = s.rank() - 2; d >= 0; --d)
      s.strides[d] = s.sizes[d + 1] * s.strides[d + 1];
    return s;
  }

  /// `size`, arithmetic in the body of a lowered group on sizes of its
  /// arguments, where these are `buffers`. `known` has what was copied before.
  Value sizeHere(Value size, ArrayRef<Strided> buffers, IRMapping &known) {
    if (Value copied = known.lookupOrNull(size))
      return copied;
    Operation *def = size.getDefiningOp();
    assert(def && "sizes are made from those of buffers");
    if (auto dim = dyn_cast<memref::DimOp>(def)) {
      auto argument = cast<BlockArgument>(dim.getSource());
      Index here =
          buffers[argument.getArgNumber()].sizes[*dim.getConstantIndex()];
      known.map(size, m.value(here));
    } else {
      for (Value operand : def->getOperands())
        (void)sizeHere(operand, buffers, known);
      b.clone(*def, known);
    }
    return known.lookup(size);
  }

  LogicalResult callLowered(func::FuncOp group, ArrayRef<Strided> in,
                            ArrayRef<Strided> out, StringRef label,
                            Location loc, ArrayRef<int64_t> inPlace = {}) {
    SmallVector<Value> operands;
    for (const Strided &s : in)
      operands.push_back(asMemref(m, s));
    for (const Strided &s : out)
      operands.push_back(asMemref(m, s));
    TypeRange types = ValueRange(operands).getTypes();
    SmallVector<Type> all(types);
    SmallVector<Strided> buffers(in);
    llvm::append_range(buffers, out);
    SmallVector<Specializer::SizesFacts> facts;
    for (const Strided &s : buffers)
      facts.push_back(llvm::map_to_vector(
          s.sizes, [](Index size) { return size.facts(); }));
    func::FuncOp lowered = specializer.get(
        group, ArrayRef<Type>(all).take_front(in.size()),
        ArrayRef<Type>(all).drop_front(in.size()), facts, inPlace);
    if (!lowered)
      return failure();
    IRMapping known;
    for (auto [t, dynamic] :
         llvm::zip(lowered.getArgumentTypes().drop_front(operands.size()),
                   specializer.sizesOfTemporaries(lowered))) {
      SmallVector<Value> here;
      for (Value size : dynamic)
        here.push_back(sizeHere(size, buffers, known));
      operands.push_back(
          memref::AllocOp::create(b, loc, cast<MemRefType>(t), here));
    }
    auto call = func::CallOp::create(b, loc, lowered, operands);
    call->setAttr(kLabelAttr, b.getStringAttr(label));
    return success();
  }

  /// A group that copies tensors of `type`.
  func::FuncOp copyGroup(RankedTensorType type) {
    func::FuncOp &group = copies[type];
    if (group)
      return group;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(module.getBody());
    group = func::FuncOp::create(b, old.getLoc(),
                                 kCopyPrefix + std::to_string(copies.size()),
                                 b.getFunctionType({type}, {type}));
    group.setPrivate();
    group->setAttr(
        kGroupAttr,
        tile::GroupKindAttr::get(b.getContext(), tile::GroupKind::elementwise));
    b.setInsertionPointToStart(group.addEntryBlock());
    Value v =
        buildGraphOp(b, old.getLoc(), "Reorder", group.getArgument(0), type);
    func::ReturnOp::create(b, old.getLoc(), v);
    return group;
  }

  LogicalResult copy(RankedTensorType type, const Strided &from,
                     const Strided &to, Location loc) {
    return callLowered(copyGroup(type), from, to, "copy", loc);
  }

  /// Whether the elements of a row lie side by side; a single one does.
  bool makeUnitLast(Strided &s) {
    if (s.rank() > 0 && s.sizes.back().isConstant(1))
      s.strides.back() = 1;
    return s.rank() == 0 || s.strides.back().isConstant(1);
  }

  LogicalResult lowerCall(func::CallOp call) {
    auto group = groups.lookup<func::FuncOp>(call.getCallee());
    std::optional<tile::GroupKind> kind = groupKindOf(group);
    using tile::GroupKind;
    // These store rows with vectors.
    bool contraction =
        kind == GroupKind::contraction || kind == GroupKind::chain ||
        kind == GroupKind::attention || kind == GroupKind::recurrence;
    // Sums that are rounded in registers are of whole vectors, too.
    contraction |= kind == GroupKind::window &&
                   !rankedType(call.getResult(0)).getElementType().isF32();
    for (auto conv : group.getOps<tile::ConvOp>())
      contraction |= conv.hasGroupsAsLanes();
    // Sizes of the results, from those of the operands.
    SizeMap inner;
    for (auto [arg, v] : llvm::zip(group.getArguments(), call.getOperands())) {
      inner.set(arg, sizes[v]);
      if (auto columns = sizes.columnsOf(v))
        inner.setColumns(arg, *columns);
    }
    for (Operation &op : group.getBody().front().without_terminator()) {
      if (failed(inner.infer(&op)))
        return failure();
      // There would be means of nothing; inference refuses known sizes.
      for (Index count : openPositions(&op, inner))
        requireAtMost(1, count);
    }
    SmallVector<Strided> in, out;
    SmallVector<std::pair<unsigned, Strided>> later; // result, its real place
    for (auto [arg, v] : llvm::zip(group.getArguments(), call.getOperands())) {
      Strided s = values.find(v)->second;
      // Rows of all but the product's operands are read with vector loads; its
      // operand may be a residual as well.
      bool rows =
          contraction && (!arg.hasOneUse() ||
                          !llvm::is_contained(operandsOf(group), Value(arg)));
      if (rows && !makeUnitLast(s)) {
        Strided dense = allocate(rankedType(v), s.sizes);
        if (failed(copy(rankedType(v), s, dense, call.getLoc())))
          return failure();
        s = dense;
      }
      in.push_back(std::move(s));
    }
    Operation *ret = group.getBody().front().getTerminator();
    for (auto [i, v] : llvm::enumerate(call.getResults())) {
      auto type = rankedType(v);
      SmallVector<Index> shape(inner[ret->getOperand(i)]);
      Strided s = placeOf(v, shape);
      if (contraction && !makeUnitLast(s)) {
        later.push_back({i, s});
        s = allocate(type, shape);
      }
      out.push_back(s);
      define(v, std::move(s));
      if (auto columns = inner.columnsOf(ret->getOperand(i)))
        sizes.setColumns(v, *columns);
    }
    auto label = call->getAttrOfType<StringAttr>(kLabelAttr);
    auto inPlace = call->getAttrOfType<DenseI64ArrayAttr>(kInPlaceAttr);
    if (failed(callLowered(
            group, in, out, label ? label.getValue() : "", call.getLoc(),
            inPlace ? inPlace.asArrayRef() : ArrayRef<int64_t>())))
      return failure();
    for (auto &[i, s] : later)
      if (failed(copy(rankedType(call.getResult(i)), out[i], s, call.getLoc())))
        return failure();
    return success();
  }

  /// Arguments that the product itself, or packing for it, reads, whatever
  /// their strides.
  SmallVector<Value> operandsOf(func::FuncOp group) {
    SmallVector<Value> read;
    for (Operation &op : group.getBody().front()) {
      // What is not packed is read by rows.
      if (auto conv = dyn_cast<tile::ConvWeightsOp>(op))
        return {conv.getSrc()};
      if (auto attention = dyn_cast<tile::AttentionOp>(op)) {
        read.append({attention.getQ(), attention.getK()});
        return read;
      }
      if (auto backward = dyn_cast<tile::AttentionBackwardOp>(op))
        return {backward.getQ(), backward.getK(), backward.getV(),
                backward.getDiff()};
      // Before a product there is only what is packed for it.
      llvm::append_range(read, op.getOperands());
      if (isa<tile::MatMulOp, tile::ConvOp, tile::ConvTransposeOp,
              tile::RecurrenceOp, tile::WinogradOp>(op))
        return read;
    }
    return {};
  }

  /// The box that `slice` shows of `s`.
  Strided boxOf(tile::SliceOp slice, Strided s) {
    int64_t lead = s.rank() - rankedType(slice.getDst()).getRank();
    Index first = 0;
    bool isShorter = false;
    auto src = rankedType(slice.getSrc()), dst = rankedType(slice.getDst());
    for (int64_t d = 0; d < s.rank(); ++d) {
      int64_t shown = d < lead ? 1 : dst.getDimSize(d - lead);
      Index all = s.sizes[d], step = slice.getStep(d);
      PartOfSize part = passes::partOf(slice, d, all, sizes);
      if (src.isDynamicDim(d) || !slice.getSize(d).empty()) {
        isShorter |= !(part.count == all);
        s.sizes[d] = part.count;
        if (!ShapedType::isDynamic(shown))
          require(part.count, shown);
      }
      if (!slice.getSize(d).empty()) {
        requireAtMost(0, part.first);
        requireAtMost(part.first + (part.count - 1) * step + 1, all);
      }
      first += part.first * s.strides[d];
      s.strides[d] = s.strides[d] * step;
      if (!ShapedType::isDynamic(shown))
        s.sizes[d] = shown;
    }
    s.sizes.erase(s.sizes.begin(), s.sizes.begin() + lead);
    s.strides.erase(s.strides.begin(), s.strides.begin() + lead);
    s.dense = false;
    // The type of the memory tells no other number of elements where that is
    // not known.
    if (!first.isConstant(0) || isShorter)
      s.base = partFrom(s, first);
    return s;
  }

  /// The memory of `s` from element `first` on.
  Value partFrom(const Strided &s, Index first) {
    Value base = s.base;
    // A part of what stands for all is one of the whole buffer.
    if (auto part = base.getDefiningOp<rt::PartOp>();
        part && part.getPart().getType().getNumElements() == 1) {
      base = part.getSource();
      first = first + static_cast<int64_t>(part.getFirst());
      if (part.getMore())
        first = first + m(part.getMore());
    }
    MemRefType type = memrefType(s.elementType(), s.sizes, s.strides);
    auto number = first.constant();
    // Where sizes or the place are not known, one element stands for all.
    auto fixed = type.getStridesAndOffset().first;
    if (!number || !type.hasStaticShape() ||
        llvm::any_of(fixed, ShapedType::isDynamic))
      type = MemRefType::get({1}, s.elementType());
    return rt::PartOp::create(b, m.location(), type, base, number.value_or(0),
                              number ? Value() : m.value(first));
  }

  /// Names in sizes of `op` have to be those of inputs.
  LogicalResult checkNames(Operation *op) {
    auto texts = op->getAttrOfType<ArrayAttr>("sizes");
    if (!texts)
      return success();
    for (StringRef text : texts.getAsValueRange<StringAttr>())
      if (!text.empty() && !sizes.evaluate(text))
        return emitError(op, ErrorCode::UnsupportedForm,
                         "the size " + text +
                             " has a name that no input has for a dimension");
    return success();
  }

  LogicalResult lowerAlias(Operation *op) {
    Value src = op->getOperand(0), dst = op->getResult(0);
    if (auto literal = src.getDefiningOp<arith::ConstantOp>())
      if (!values.contains(src))
        define(src,
               literalMemory(m, cast<DenseElementsAttr>(literal.getValue())));
    const Strided s = values.find(src)->second;
    if (failed(checkNames(op)))
      return failure();
    if (auto slice = dyn_cast<tile::SliceOp>(op)) {
      define(dst, boxOf(slice, s));
      return success();
    }
    if (isa<tile::ExpandOp>(op)) {
      if (failed(sizes.infer(op)))
        return failure();
      define(dst, broadcastTo(s, sizes[dst]));
      return success();
    }
    if (isa<graph::StaticTransposeOp>(op)) {
      define(dst, passes::transpose(s, orderOf(dst)));
      return success();
    }
    if (failed(sizes.infer(op)))
      return failure();
    SmallVector<Index> shape(sizes[dst]);
    if (isa<tile::ReshapeOp>(op))
      require(product(s.sizes), product(shape));
    if (std::optional<Strided> view = passes::reshape(s, shape)) {
      define(dst, *view);
      return success();
    }
    Strided dense = allocate(rankedType(src), s.sizes);
    if (failed(copy(rankedType(src), s, dense, op->getLoc())))
      return failure();
    define(dst, *passes::reshape(dense, shape));
    return success();
  }

  ModuleOp module;
  func::FuncOp old, fn;
  const SymbolTable &groups;
  std::string name;
  Specializer &specializer;
  OpBuilder b;
  IndexMath m;
  SizeMap sizes;
  llvm::DenseMap<Value, Strided> values;
  llvm::DenseMap<Value, Strided> places; // of results: the caller's, or ours
  llvm::DenseMap<Value, Part> parts;     // what a Concat has in place
  llvm::DenseMap<RankedTensorType, func::FuncOp> copies;
};

struct TileGroupsPass : impl::TileGroupsBase<TileGroupsPass> {
  using TileGroupsBase::TileGroupsBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> entries, tensorGroups;
    for (auto f : module.getOps<func::FuncOp>())
      (isEntry(f) ? entries : tensorGroups).push_back(f);
    SymbolTable groups(module);
    Specializer specializer(module);
    for (func::FuncOp f : entries)
      if (failed(EntryLowering(module, f, groups, specializer).run()))
        return signalPassFailure();
    functions += specializer.count();
    // Groups on tensors have served.
    for (auto f : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (f.getNumArguments() &&
          llvm::any_of(f.getArgumentTypes(), llvm::IsaPred<TensorType>))
        f.erase();
      else if (llvm::any_of(f.getResultTypes(), llvm::IsaPred<TensorType>))
        f.erase();
  }
};

} // namespace
} // namespace tenon::passes
