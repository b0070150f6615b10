//===- BlockEmitter.cpp - the body on one block of elements ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/vector/BlockEmitter.h"
#include "codegen/vector/Attrs.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {

/// Of a shuffle: any value will do.
constexpr int64_t kAnyLane = vector::ShuffleOp::kPoisonIndex;

BlockEmitter::BlockEmitter(OpBuilder &builder, linalg::LinalgOp op,
                           const LoopAccess &access, const VectorPlan &plan)
    : b(builder), op(op), access(access), plan(plan) {
  for (const OperandAccess &operand : access.operands)
    buffers.push_back(operand.isMemref ? makeBuffer(operand) : Buffer());
}

Value BlockEmitter::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, loc(), value);
}

Value BlockEmitter::add(Value x, Value y) {
  return b.createOrFold<arith::AddIOp>(loc(), x, y);
}

Value BlockEmitter::mul(Value x, Value y) {
  return b.createOrFold<arith::MulIOp>(loc(), x, y);
}

BlockEmitter::Buffer BlockEmitter::makeBuffer(const OperandAccess &operand) {
  auto type = cast<MemRefType>(operand.value.getType());
  auto meta = memref::ExtractStridedMetadataOp::create(b, loc(), operand.value);
  Buffer buffer;
  buffer.base = operand.memrefOffset == kDynamic ? Value(meta.getOffset())
                                                 : index(operand.memrefOffset);
  SmallVector<Value> strides;
  for (auto [i, stride] : llvm::enumerate(operand.memrefStrides))
    strides.push_back(stride == kDynamic ? Value(meta.getStrides()[i])
                                         : index(stride));
  for (unsigned d = 0; d < access.rank(); ++d) {
    Value total = index(operand.stride[d] == kDynamic ? 0 : operand.stride[d]);
    if (operand.stride[d] == kDynamic)
      for (auto [row, stride] : llvm::zip(operand.coefficients, strides))
        total = add(total, mul(index(row[d]), stride));
    buffer.stride.push_back(total);
  }
  for (auto [constant, stride] : llvm::zip(operand.constants, strides))
    buffer.base = add(buffer.base, mul(index(constant), stride));

  // The extent of the view is never used: every access is inside the operand.
  auto viewType =
      MemRefType::get({kDynamic}, type.getElementType(),
                      MemRefLayoutAttrInterface(), type.getMemorySpace());
  OpFoldResult extent = index(std::numeric_limits<int64_t>::max());
  buffer.view = memref::ReinterpretCastOp::create(
      b, loc(), viewType, meta.getBaseBuffer(), b.getIndexAttr(0), {extent},
      {b.getIndexAttr(1)});
  return buffer;
}

Value BlockEmitter::size(unsigned dim) {
  if (access.sizes[dim] != kDynamic)
    return index(access.sizes[dim]);
  auto [operand, memrefDim] = access.sizeSource[dim];
  return memref::DimOp::create(b, loc(), access.operands[operand].value,
                               index(memrefDim));
}

Point BlockEmitter::origin() {
  Point point;
  // A loop of one iteration is never entered: its variable is zero.
  for (int64_t size : access.sizes)
    point.ivs.push_back(size == 1 ? index(0) : Value());
  for (const Buffer &buffer : buffers)
    point.address.push_back(buffer.base);
  point.known.assign(buffers.size(), Value());
  return point;
}

Value BlockEmitter::startsWithLines() {
  Value bytes; // of all addresses, as far as they are no multiples of a line
  for (unsigned o : plan.nontemporal) {
    Value address = memref::ExtractAlignedPointerAsIndexOp::create(
        b, loc(), buffers[o].view);
    int64_t size = access.operands[o].element.getIntOrFloatBitWidth() / 8;
    address = add(address, mul(buffers[o].base, index(size)));
    bytes =
        bytes ? Value(arith::OrIOp::create(b, loc(), bytes, address)) : address;
  }
  if (!bytes)
    return bytes;
  bytes = arith::AndIOp::create(b, loc(), bytes, index(kLineBytes - 1));
  return arith::CmpIOp::create(b, loc(), arith::CmpIPredicate::eq, bytes,
                               index(0));
}

Point BlockEmitter::enter(const Point &point, unsigned dim, Value iv) {
  Point result = point;
  result.ivs[dim] = iv;
  for (auto [o, buffer] : llvm::enumerate(buffers))
    if (buffer.view && access.operands[o].dependsOn(dim))
      result.address[o] = add(point.address[o], mul(iv, buffer.stride[dim]));
  return result;
}

Point BlockEmitter::shift(const Point &point, unsigned dim, int64_t count) {
  if (count == 0)
    return point;
  Point result = point;
  result.ivs[dim] = add(point.ivs[dim], index(count));
  for (auto [o, buffer] : llvm::enumerate(buffers))
    if (buffer.view && access.operands[o].dependsOn(dim))
      result.address[o] =
          add(point.address[o], mul(index(count), buffer.stride[dim]));
  return result;
}

Value BlockEmitter::splat(Value value, int64_t lanes) {
  if (lanes == 0 || isa<VectorType>(value.getType()))
    return value;
  auto type = VectorType::get({lanes}, value.getType());
  return vector::BroadcastOp::create(b, loc(), type, value);
}

Value BlockEmitter::loadAlong(unsigned number, const Point &point,
                              int64_t lanes) {
  auto type = VectorType::get({lanes}, access.operands[number].element);
  return vector::LoadOp::create(
      b, loc(), type, buffers[number].view,
      ValueRange{addressOf(number, point, plan.vectorDim)});
}

void BlockEmitter::prefetch(const Point &point, int64_t elements) {
  for (auto [number, distance] : llvm::enumerate(plan.prefetches)) {
    const OperandAccess &operand = access.operands[number];
    if (distance == 0 || !operand.isMemref ||
        operand.stride[plan.vectorDim] != 1)
      continue;
    int64_t perLine = kLineBytes * 8 / operand.element.getIntOrFloatBitWidth();
    for (int64_t i = 0; i + perLine <= elements; i += perLine) {
      Value at = add(point.address[number], index(distance + i));
      memref::PrefetchOp::create(b, loc(), buffers[number].view, ValueRange{at},
                                 /*isWrite=*/false, /*localityHint=*/2,
                                 /*isDataCache=*/true);
    }
  }
}

Value BlockEmitter::load(unsigned number, const Point &point, int64_t lanes,
                         Value mask) {
  const OperandAccess &operand = access.operands[number];
  if (point.known[number])
    return splat(point.known[number], lanes);
  if (!operand.isMemref)
    return splat(operand.value, lanes);
  auto scalarAt = [&](const Point &p) -> Value {
    return memref::LoadOp::create(b, loc(), buffers[number].view,
                                  ValueRange{addressOf(number, p)});
  };
  if (lanes == 0 || !operand.dependsOn(plan.vectorDim))
    return splat(scalarAt(point), lanes);
  int64_t run = operand.run[plan.vectorDim];
  if (operand.stride[plan.vectorDim] == 1 && !operand.element.isInteger(1) &&
      lanes % run == 0)
    return run > 1 ? loadRuns(number, point, lanes, mask)
                   : loadWhole(number, point, lanes, mask);
  if (!mask && run == 1 && isNearby(operand, lanes))
    return loadNearby(number, point, lanes);
  SmallVector<Value> elements;
  for (int64_t lane = 0; lane < lanes; ++lane)
    elements.push_back(scalarAt(shift(point, plan.vectorDim, lane)));
  return vector::FromElementsOp::create(
      b, loc(), VectorType::get({lanes}, operand.element), elements);
}

/// Of the element at `point`, where loop variables may be within a run; that of
/// `vectorDim`, if given, is not.
Value BlockEmitter::addressOf(unsigned number, const Point &point,
                              std::optional<unsigned> vectorDim) {
  const OperandAccess &operand = access.operands[number];
  Value address = point.address[number];
  for (unsigned d = 0; d < access.rank(); ++d) {
    if (operand.run[d] == 1 || operand.stride[d] == 0 || d == vectorDim)
      continue;
    Value within =
        arith::RemUIOp::create(b, loc(), point.ivs[d], index(operand.run[d]));
    Value back =
        arith::SubIOp::create(b, loc(), within, index(operand.phase[d]));
    address = arith::SubIOp::create(b, loc(), address,
                                    mul(back, buffers[number].stride[d]));
  }
  return address;
}

/// A contiguous vector along the vector dim.
Value BlockEmitter::loadWhole(unsigned number, const Point &point,
                              int64_t lanes, Value mask) {
  if (!mask)
    return loadAlong(number, point, lanes);
  auto type = VectorType::get({lanes}, access.operands[number].element);
  Value zero = arith::ConstantOp::create(b, loc(), b.getZeroAttr(type));
  return vector::MaskedLoadOp::create(
      b, loc(), type, buffers[number].view,
      ValueRange{addressOf(number, point, plan.vectorDim)}, mask, zero);
}

/// One element of each run of such a vector, in all of its lanes. Vectors begin
/// with runs: where a multiple of their lanes does.
Value BlockEmitter::loadRuns(unsigned number, const Point &point, int64_t lanes,
                             Value mask) {
  int64_t run = access.operands[number].run[plan.vectorDim];
  int64_t phase = access.operands[number].phase[plan.vectorDim];
  SmallVector<int64_t> order, needed;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    order.push_back(lane / run * run + phase);
    needed.push_back(lane % run == phase ? lane - phase : lanes);
  }
  // The element of a run is there if the first lane is, also after the last.
  if (mask) {
    Value none =
        arith::ConstantOp::create(b, loc(), b.getZeroAttr(mask.getType()));
    mask = shuffle(mask, none, needed);
  }
  Value whole = loadWhole(number, point, lanes, mask);
  return shuffle(whole, whole, order);
}

/// Whether elements are 2 to 4 steps from each other: in so many vectors.
bool BlockEmitter::isNearby(const OperandAccess &operand, int64_t lanes) const {
  int64_t stride = operand.stride[plan.vectorDim];
  return stride >= 2 && stride <= 4 && lanes >= 4 &&
         operand.element.isIntOrFloat() &&
         operand.element.getIntOrFloatBitWidth() % 8 == 0;
}

/// Such elements of contiguous vectors, of which the last ends with the last
/// element.
Value BlockEmitter::loadNearby(unsigned number, const Point &point,
                               int64_t lanes) {
  const OperandAccess &operand = access.operands[number];
  int64_t stride = operand.stride[plan.vectorDim];
  auto type = VectorType::get({lanes}, operand.element);
  Value address = addressOf(number, point, plan.vectorDim);
  Value result;
  for (int64_t i = 0; i < stride; ++i) {
    int64_t first =
        i + 1 < stride ? i * lanes : (lanes - 1) * stride + 1 - lanes;
    Value part = vector::LoadOp::create(b, loc(), type, buffers[number].view,
                                        ValueRange{add(address, index(first))});
    SmallVector<int64_t> order;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int64_t at = lane * stride, from = std::min(at / lanes, stride - 1);
      order.push_back(from == i  ? (i ? lanes : 0) + at - first
                      : from < i ? lane
                                 : kAnyLane);
    }
    result = shuffle(i ? result : part, part, order);
  }
  return result;
}

/// A contiguous vector along the vector dim.
void BlockEmitter::storeAlong(Value value, unsigned number, const Point &point,
                              int64_t lanes) {
  bool nontemporal = allowNontemporal && lanes == plan.lanes &&
                     llvm::is_contained(plan.nontemporal, number);
  // That of a register: groups side by side are several.
  int64_t bytes =
      lanes * access.operands[number].element.getIntOrFloatBitWidth() / 8;
  vector::StoreOp::create(
      b, loc(), value, buffers[number].view, ValueRange{point.address[number]},
      /*nontemporal=*/nontemporal,
      nontemporal ? llvm::MaybeAlign(bytes) : llvm::MaybeAlign());
}

void BlockEmitter::store(Value value, unsigned number, const Point &point,
                         int64_t lanes, Value mask) {
  const OperandAccess &operand = access.operands[number];
  Value view = buffers[number].view, address = point.address[number];
  if (lanes == 0) {
    memref::StoreOp::create(b, loc(), value, view, ValueRange{address});
    return;
  }
  if (operand.stride[plan.vectorDim] == 1 && !operand.element.isInteger(1)) {
    if (mask)
      vector::MaskedStoreOp::create(b, loc(), view, ValueRange{address}, mask,
                                    value);
    else
      storeAlong(value, number, point, lanes);
    return;
  }
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value at = shift(point, plan.vectorDim, lane).address[number];
    Value element = vector::ExtractOp::create(b, loc(), value, lane);
    memref::StoreOp::create(b, loc(), element, view, ValueRange{at});
  }
}

void BlockEmitter::hoistLoads(Point &point, ArrayRef<unsigned> inner) {
  for (unsigned o = 0; o < access.operands.size(); ++o) {
    const OperandAccess &operand = access.operands[o];
    bool moves = operand.dependsOn(plan.vectorDim) ||
                 llvm::any_of(inner, [&](unsigned dim) {
                   return operand.dependsOn(dim);
                 });
    if (operand.isOutput || !operand.isRead || !operand.isMemref || moves ||
        point.known[o])
      continue;
    point.known[o] = memref::LoadOp::create(b, loc(), buffers[o].view,
                                            ValueRange{addressOf(o, point)});
  }
}

Value BlockEmitter::indexValue(unsigned dim, const Point &point,
                               int64_t lanes) {
  Value iv = splat(point.ivs[dim], lanes);
  if (lanes == 0 || dim != plan.vectorDim)
    return iv;
  Value step = vector::StepOp::create(
      b, loc(), VectorType::get({lanes}, b.getIndexType()));
  return arith::AddIOp::create(b, loc(), iv, step);
}

void BlockEmitter::mapArguments(ArrayRef<Point> points, int64_t lanes,
                                Value mask, ValueRange accumulators,
                                MutableArrayRef<IRMapping> maps) {
  unsigned next = 0;
  for (auto [o, operand] : llvm::enumerate(access.operands)) {
    Value argument = op.getBlock()->getArgument(o);
    bool kept = llvm::is_contained(plan.accumulators, o);
    bool shared =
        !operand.dependsOn(plan.vectorDim) && !kept &&
        !(plan.jam > 1 && operand.dependsOn(plan.parallelDims.back()));
    for (auto [p, point] : llvm::enumerate(points)) {
      if (kept)
        maps[p].map(argument,
                    accumulators[p * plan.accumulators.size() + next]);
      else if (shared && p > 0)
        maps[p].map(argument, maps[0].lookupOrNull(argument));
      else if (operand.isRead)
        maps[p].map(argument, load(o, point, lanes, mask));
    }
    next += kept;
  }
}

/// A value of the body that is the same in every lane.
bool BlockEmitter::isUniform(Value value, unsigned depth) {
  constexpr unsigned kMaxDepth = 8;
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && argument.getOwner() == op.getBlock()) {
    const OperandAccess &operand = access.operands[argument.getArgNumber()];
    return !operand.isOutput && !operand.dependsOn(plan.vectorDim);
  }
  Operation *def = value.getDefiningOp();
  if (!def || def->getBlock() != op.getBlock())
    return true;
  if (auto index = dyn_cast<linalg::IndexOp>(def))
    return index.getDim() != plan.vectorDim;
  return depth < kMaxDepth &&
         llvm::all_of(
             def->getOperands(),
             [&](Value operand) { return isUniform(operand, depth + 1); });
}

/// Lane `lane` of what a body value has become.
Value BlockEmitter::laneOf(Value value, const Point &point, int64_t lane,
                           IRMapping &map) {
  if (auto index = value.getDefiningOp<linalg::IndexOp>()) {
    Value iv = point.ivs[index.getDim()];
    return index.getDim() == plan.vectorDim ? add(iv, this->index(lane)) : iv;
  }
  Value mapped = map.lookupOrDefault(value);
  if (!isa<VectorType>(mapped.getType()))
    return mapped;
  return vector::ExtractOp::create(b, loc(), mapped, lane);
}

/// A load in the body: one scalar where all indices are uniform, one vector
/// where the last index is the vector dim itself, else one element per lane.
Value BlockEmitter::vectorLoad(memref::LoadOp load, const Point &point,
                               int64_t lanes, IRMapping &map) {
  auto at = [&](int64_t lane) {
    SmallVector<Value> indices;
    for (Value index : load.getIndices())
      indices.push_back(laneOf(index, point, lane, map));
    return indices;
  };
  auto scalar = [&](int64_t lane) -> Value {
    return memref::LoadOp::create(b, loc(), load.getMemref(), at(lane));
  };
  auto type = VectorType::get({lanes}, load.getType());
  OperandRange indices = load.getIndices();
  auto uniform = [&](Value index) { return isUniform(index, 0); };
  if (llvm::all_of(indices, uniform))
    return splat(scalar(0), lanes);
  auto last = indices.back().getDefiningOp<linalg::IndexOp>();
  if (last && last.getDim() == plan.vectorDim &&
      load.getMemRefType().isLastDimUnitStride() &&
      llvm::all_of(indices.drop_back(), uniform))
    return vector::LoadOp::create(b, loc(), type, load.getMemref(), at(0));
  SmallVector<Value> elements;
  for (int64_t lane = 0; lane < lanes; ++lane)
    elements.push_back(scalar(lane));
  return vector::FromElementsOp::create(b, loc(), type, elements);
}

/// An index that is cast at once: a vector of the narrow type, not one of
/// 64-bit indices to be narrowed. Null for other operations.
Value BlockEmitter::castIndex(Operation &bodyOp, const Point &point,
                              int64_t lanes) {
  auto cast = dyn_cast<arith::IndexCastOp>(bodyOp);
  auto index =
      cast ? cast.getIn().getDefiningOp<linalg::IndexOp>() : linalg::IndexOp();
  if (!index || !lanes)
    return {};
  Type element = cast.getType();
  Value iv = splat(
      arith::IndexCastOp::create(b, loc(), element, point.ivs[index.getDim()]),
      lanes);
  if (index.getDim() != plan.vectorDim)
    return iv;
  SmallVector<Attribute> steps;
  for (int64_t lane = 0; lane < lanes; ++lane)
    steps.push_back(b.getIntegerAttr(element, lane));
  auto type = VectorType::get({lanes}, element);
  Value step =
      arith::ConstantOp::create(b, loc(), DenseElementsAttr::get(type, steps));
  return arith::AddIOp::create(b, loc(), iv, step);
}

void BlockEmitter::cloneOp(Operation &bodyOp, const Point &point, int64_t lanes,
                           IRMapping &map) {
  if (auto index = dyn_cast<linalg::IndexOp>(bodyOp)) {
    map.map(index.getResult(), indexValue(index.getDim(), point, lanes));
    return;
  }
  if (Value cast = castIndex(bodyOp, point, lanes)) {
    map.map(bodyOp.getResult(0), cast);
    return;
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(bodyOp); constant && lanes) {
    auto type = VectorType::get({lanes}, constant.getType());
    map.map(constant.getResult(),
            arith::ConstantOp::create(
                b, loc(), DenseElementsAttr::get(type, constant.getValue())));
    return;
  }
  if (auto load = dyn_cast<memref::LoadOp>(bodyOp); load && lanes) {
    map.map(load.getResult(), vectorLoad(load, point, lanes, map));
    return;
  }
  // Values from outside the body are the same in every lane.
  if (lanes)
    for (Value operand : bodyOp.getOperands())
      if (!map.contains(operand))
        map.map(operand, splat(operand, lanes));
  Operation *clone = b.clone(bodyOp, map);
  if (lanes)
    for (OpResult result : clone->getResults())
      result.setType(VectorType::get({lanes}, result.getType()));
}

SmallVector<IRMapping> BlockEmitter::evaluate(ArrayRef<Point> points,
                                              int64_t lanes, Value mask,
                                              ValueRange accumulators) {
  SmallVector<IRMapping> maps(points.size());
  mapArguments(points, lanes, mask, accumulators, maps);
  // Operation by operation: neighbouring instructions are independent.
  for (Operation &bodyOp : body()->without_terminator())
    for (auto [point, map] : llvm::zip(points, maps))
      cloneOp(bodyOp, point, lanes, map);
  return maps;
}

Value BlockEmitter::resultOf(Value yielded, const IRMapping &map,
                             int64_t lanes) {
  Value value = map.lookupOrNull(yielded);
  return value ? value : splat(yielded, lanes);
}

/// Element i of each, then element i + 1; there are 1 to 4.
Value BlockEmitter::interleaved(ArrayRef<Value> members) {
  if (members.size() == 1)
    return members.front();
  if (members.size() == 3) {
    int64_t lanes = cast<VectorType>(members[0].getType()).getDimSize(0);
    SmallVector<int64_t> pairs, spread, all;
    for (int64_t i = 0; i < lanes; ++i) {
      pairs.append({i, lanes + i, kAnyLane});
      spread.append({kAnyLane, kAnyLane, i});
      all.append({3 * i, 3 * i + 1, 3 * (lanes + i) + 2});
    }
    Value x = shuffle(members[0], members[1], pairs);
    return shuffle(x, shuffle(members[2], members[2], spread), all);
  }
  SmallVector<Value> even, odd;
  for (auto [i, member] : llvm::enumerate(members))
    (i % 2 ? odd : even).push_back(member);
  Value x = interleaved(even), y = interleaved(odd);
  int64_t count = cast<VectorType>(x.getType()).getDimSize(0);
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < count; ++i)
    order.append({i, count + i});
  return shuffle(x, y, order);
}

Value BlockEmitter::shuffle(Value x, Value y, ArrayRef<int64_t> order) {
  return vector::ShuffleOp::create(b, loc(), x, y, order);
}

void BlockEmitter::emitGroups(const Point &point, int64_t lanes) {
  unsigned dim = *plan.groupDim;
  Value yielded = body()->getTerminator()->getOperand(0);
  SmallVector<Value> members;
  for (int64_t i = 0; i < access.sizes[dim]; ++i) {
    Point member = enter(point, dim, index(i));
    if (lanes == 0)
      emit({member}, lanes, nullptr, {});
    else
      members.push_back(
          resultOf(yielded, evaluate({member}, lanes, nullptr, {})[0], lanes));
  }
  if (members.empty())
    return;
  storeAlong(interleaved(members), access.operands.size() - 1, point, lanes);
}

void BlockEmitter::copyGroup(const Point &point) {
  Value group = loadAlong(0, point, access.sizes[*plan.groupDim]);
  vector::StoreOp::create(b, loc(), group, buffers[1].view,
                          ValueRange{point.address[1]});
}

SmallVector<Value> BlockEmitter::emit(ArrayRef<Point> points, int64_t lanes,
                                      Value mask, ValueRange accumulators) {
  SmallVector<IRMapping> maps = evaluate(points, lanes, mask, accumulators);
  SmallVector<Value> kept;
  Operation *yield = body()->getTerminator();
  for (auto [p, point] : llvm::enumerate(points)) {
    unsigned next = 0;
    for (OpOperand &init : op.getDpsInitsMutable()) {
      unsigned o = init.getOperandNumber();
      Value yielded = yield->getOperand(o - op.getNumDpsInputs());
      Value value = resultOf(yielded, maps[p], lanes);
      if (!llvm::is_contained(plan.accumulators, o)) {
        store(value, o, point, lanes, mask);
        continue;
      }
      if (mask)
        value = arith::SelectOp::create(
            b, loc(), mask, value,
            accumulators[p * plan.accumulators.size() + next]);
      kept.push_back(value);
      ++next;
    }
  }
  return kept;
}

} // namespace tenon::codegen
