// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/core/Strided.h"

#include "passes/support/GraphAttrs.h"
#include "passes/support/Permutations.h"

using namespace mlir;

namespace tenon::passes {

Type Strided::elementType() const {
  return cast<MemRefType>(base.getType()).getElementType();
}

int64_t bytesOf(const Strided &s) {
  int64_t bits = s.elementType().getIntOrFloatBitWidth();
  for (Index size : s.sizes)
    bits *= size.constant().value_or(0);
  return bits / 8;
}

Strided stridedOf(IndexMath &m, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  Strided s;
  s.base = memref;
  for (int64_t i = 0; i < type.getRank(); ++i)
    s.sizes.push_back(
        type.isDynamicDim(i)
            ? m(memref::DimOp::create(m.builder(), m.location(), memref, i))
            : Index(type.getDimSize(i)));
  if (type.getLayout().isIdentity()) {
    s.dense = true;
    Index stride = 1;
    s.strides.resize(type.getRank());
    for (int64_t i = type.getRank() - 1; i >= 0; --i) {
      s.strides[i] = stride;
      stride = s.sizes[i] * stride;
    }
    return s;
  }
  auto [strides, offset] = type.getStridesAndOffset();
  assert(offset == 0 && "buffers of a partition have offset 0");
  memref::ExtractStridedMetadataOp meta;
  for (auto [i, stride] : llvm::enumerate(strides)) {
    if (!ShapedType::isDynamic(stride)) {
      s.strides.push_back(stride);
      continue;
    }
    if (!meta)
      meta = memref::ExtractStridedMetadataOp::create(m.builder(), m.location(),
                                                      memref);
    s.strides.push_back(m(meta.getStrides()[i]));
  }
  return s;
}

Strided transpose(const Strided &s, ArrayRef<int64_t> order) {
  Strided t;
  t.base = s.base;
  t.offset = s.offset;
  for (int64_t o : order) {
    t.sizes.push_back(s.sizes[o]);
    t.strides.push_back(s.strides[o]);
  }
  return t;
}

Strided broadcastTo(const Strided &s, ArrayRef<Index> sizes) {
  Strided t;
  t.base = s.base;
  t.offset = s.offset;
  t.sizes.assign(sizes.begin(), sizes.end());
  t.strides.assign(sizes.size(), 0);
  int64_t lead = static_cast<int64_t>(sizes.size()) - s.rank();
  Index dense = 1;
  for (int64_t i = s.rank() - 1; i >= 0; --i) {
    if (s.sizes[i].isConstant(1))
      continue;
    // From the sizes of the iteration space, so that operands agree on them.
    t.strides[lead + i] = s.dense ? dense : s.strides[i];
    if (s.dense)
      dense *= sizes[lead + i];
  }
  return t;
}

static int64_t orDynamic(Index o) {
  return o.constant().value_or(ShapedType::kDynamic);
}

namespace {

/// A product of sizes as far as it is known: a number, and SSA values.
class Factors {
public:
  void add(Index size) {
    if (auto known = size.constant())
      number *= *known;
    else
      values.push_back(size.dynamic().getAsOpaquePointer());
    llvm::sort(values);
  }
  bool operator==(const Factors &) const = default;
  /// Whether `other` has a factor that is missing here.
  bool lacks(const Factors &other) const {
    if (values == other.values)
      return number < other.number;
    return !std::includes(values.begin(), values.end(), other.values.begin(),
                          other.values.end());
  }

private:
  int64_t number = 1;
  SmallVector<const void *> values;
};

/// Strides of a view with sizes that are not known: dims of both sides, from
/// the front, are taken together until their products are the same factors. No
/// size is 0.
class ViewStrides {
public:
  ViewStrides(const Strided &src, ArrayRef<Index> sizes)
      : src(src), sizes(sizes), strides(sizes.size(), 1) {}

  std::optional<SmallVector<Index>> find() {
    size_t i = 0, j = 0, n = src.sizes.size();
    while (i < n || j < sizes.size()) {
      size_t i0 = i, j0 = j;
      Factors from, to;
      // One dim of each side at least, where there is one.
      if (i < n)
        from.add(src.sizes[i++]);
      if (j < sizes.size())
        to.add(sizes[j++]);
      while (!(from == to)) {
        if (from.lacks(to) && i < n)
          from.add(src.sizes[i++]);
        else if (to.lacks(from) && j < sizes.size())
          to.add(sizes[j++]);
        else
          return std::nullopt;
      }
      if (!setStrides(i0, i, j0, j))
        return std::nullopt;
    }
    return std::move(strides);
  }

private:
  /// Of dims [j0, j1), which have the elements of dims [i0, i1) of src.
  bool setStrides(size_t i0, size_t i1, size_t j0, size_t j1) {
    Index last = 1;
    bool any = false;
    for (size_t i = i1; i-- > i0;) {
      if (src.sizes[i].isConstant(1))
        continue;
      if (any && !(src.strides[i] == reach))
        return false;
      if (!any)
        last = src.strides[i];
      any = true;
      reach = src.sizes[i] * src.strides[i];
    }
    for (size_t j = j1; j-- > j0;) {
      strides[j] = last;
      last = sizes[j] * last;
    }
    return true;
  }

  const Strided &src;
  ArrayRef<Index> sizes;
  SmallVector<Index> strides;
  Index reach; // of the dims behind one, in elements
};

} // namespace

std::optional<Strided> reshape(const Strided &s, ArrayRef<Index> sizes) {
  Strided t;
  t.base = s.base;
  t.offset = s.offset;
  t.sizes.assign(sizes.begin(), sizes.end());
  t.strides.assign(sizes.size(), 1);
  if (s.dense) {
    t.dense = true;
    Index stride = 1;
    for (int64_t i = t.rank() - 1; i >= 0; --i) {
      t.strides[i] = stride;
      stride = sizes[i] * stride;
    }
    return t;
  }
  auto numbers = [](ArrayRef<Index> list) {
    SmallVector<int64_t> result;
    for (Index o : list)
      result.push_back(orDynamic(o));
    return result;
  };
  auto strides =
      reshapedStrides(numbers(s.sizes), numbers(s.strides), numbers(sizes));
  auto isZero = [](Index size) { return size.isConstant(0); };
  if (!strides && !llvm::any_of(s.sizes, isZero))
    if (auto found = ViewStrides(s, sizes).find()) {
      t.strides = std::move(*found);
      return t;
    }
  if (!strides)
    return std::nullopt;
  for (auto [stride, number] : llvm::zip(t.strides, *strides))
    stride = number;
  return t;
}

void setSizes(Strided &s, ArrayRef<Index> sizes) {
  s.sizes.assign(sizes.begin(), sizes.end());
  if (!s.dense)
    return;
  Index stride = 1;
  for (int64_t d = s.rank() - 1; d >= 0; --d) {
    s.strides[d] = stride;
    stride = s.sizes[d] * stride;
  }
}

Index offsetOf(const Strided &s, ArrayRef<Index> at) {
  Index offset = s.offset.value_or(0);
  for (auto [i, stride] : llvm::zip(at, s.strides))
    offset += i * stride;
  return offset;
}

SmallVector<Index> positionOf(Index number, ArrayRef<Index> sizes) {
  SmallVector<Index> position(sizes.size());
  for (int64_t d = static_cast<int64_t>(sizes.size()) - 1; d >= 0; --d) {
    position[d] = d == 0 ? number : number % sizes[d];
    number = number / sizes[d];
  }
  return position;
}

Index numberOf(ArrayRef<Index> at, ArrayRef<Index> sizes) {
  Index number = 0;
  for (auto [index, size] : llvm::zip(at, sizes))
    number = number * size + index;
  return number;
}

Strided overLead(const Strided &s, ArrayRef<Index> lead, Index rows,
                 Index columns) {
  SmallVector<Index> shape(lead);
  shape.append({rows, columns});
  Strided t = broadcastTo(s, shape);
  for (int64_t i : {1, 2})
    t.strides[t.rank() - i] = s.strides[s.rank() - i];
  return t;
}

Value box(IndexMath &m, Value base, Index offset, ArrayRef<Index> sizes,
          ArrayRef<Index> strides) {
  return memref::ReinterpretCastOp::create(m.builder(), m.location(), base,
                                           m.folded(offset), m.folded(sizes),
                                           m.folded(strides));
}

Value subBox(IndexMath &m, Value memref, ArrayRef<Index> offsets,
             ArrayRef<Index> sizes) {
  SmallVector<OpFoldResult> steps(sizes.size(), m.folded(1));
  return memref::SubViewOp::create(m.builder(), m.location(), memref,
                                   m.folded(offsets), m.folded(sizes), steps);
}

Value panelBox(IndexMath &m, Value base, Index offset, SmallVector<Index> sizes,
               SmallVector<Index> strides, Index k, int64_t panel, int64_t v) {
  sizes.append({ceilDiv(k, v), panel});
  strides.append({panel * v, v});
  if (v > 1) {
    sizes.push_back(v);
    strides.push_back(1);
  }
  return box(m, base, offset, sizes, strides);
}

int64_t panelWidth(RankedTensorType packed, int64_t v) {
  return packed.getShape().drop_back(v > 1).back();
}

Index panelSize(Index k, int64_t panel, int64_t v) {
  return ceilDiv(k, v) * (panel * v);
}

MemRefType memrefType(Type elementType, ArrayRef<Index> sizes,
                      ArrayRef<Index> strides) {
  SmallVector<int64_t> shape = llvm::map_to_vector(sizes, orDynamic);
  SmallVector<int64_t> steps = llvm::map_to_vector(strides, orDynamic);
  int64_t dense = 1;
  bool isDense = true;
  for (int64_t i = static_cast<int64_t>(shape.size()) - 1; isDense && i >= 0;
       --i) {
    isDense = steps[i] == dense && (i == 0 || !ShapedType::isDynamic(shape[i]));
    if (isDense && i > 0)
      dense *= shape[i];
  }
  if (isDense)
    return MemRefType::get(shape, elementType);
  return MemRefType::get(
      shape, elementType,
      StridedLayoutAttr::get(elementType.getContext(), 0, steps));
}

MemRefType bufferType(RankedTensorType type, DenseI64ArrayAttr strides) {
  Type element = storageType(type.getElementType());
  if (!strides)
    return MemRefType::get(type.getShape(), element);
  SmallVector<Index> sizes, steps;
  // Sizes matter for recognising dense layouts only; dynamic ones never do.
  bool dynamic = !type.hasStaticShape();
  for (auto [d, s] : llvm::zip(type.getShape(), strides.asArrayRef())) {
    sizes.push_back(ShapedType::isDynamic(d) ? 1 : d);
    steps.push_back(s);
  }
  if (!dynamic)
    return memrefType(element, sizes, steps);
  return MemRefType::get(
      type.getShape(), element,
      StridedLayoutAttr::get(type.getContext(), 0, strides.asArrayRef()));
}

Value asMemref(IndexMath &m, const Strided &s) {
  MemRefType type =
      s.dense ? MemRefType::get(llvm::map_to_vector(s.sizes, orDynamic),
                                s.elementType())
              : memrefType(s.elementType(), s.sizes, s.strides);
  if (type == s.base.getType())
    return s.base;
  return memref::ReinterpretCastOp::create(
      m.builder(), m.location(), type, s.base, m.folded(0), m.folded(s.sizes),
      m.folded(s.strides));
}

void coalesce(SmallVectorImpl<Index> &sizes, SmallVectorImpl<int> &classes,
              MutableArrayRef<Strided *> ops) {
  auto erase = [&](int64_t i) {
    sizes.erase(sizes.begin() + i);
    classes.erase(classes.begin() + i);
    for (Strided *s : ops) {
      s->sizes.erase(s->sizes.begin() + i);
      s->strides.erase(s->strides.begin() + i);
    }
  };
  for (int64_t i = static_cast<int64_t>(sizes.size()) - 1; i >= 0; --i)
    if (sizes[i].isConstant(1))
      erase(i);
  for (int64_t i = static_cast<int64_t>(sizes.size()) - 2; i >= 0; --i) {
    if (classes[i] != classes[i + 1])
      continue;
    bool all = llvm::all_of(ops, [&](Strided *s) {
      return s->strides[i] == sizes[i + 1] * s->strides[i + 1];
    });
    if (!all)
      continue;
    sizes[i] *= sizes[i + 1];
    for (Strided *s : ops) {
      s->sizes[i] = sizes[i];
      s->strides[i] = s->strides[i + 1];
    }
    erase(i + 1);
  }
}

} // namespace tenon::passes
