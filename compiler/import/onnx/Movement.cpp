// SPDX-License-Identifier: Apache-2.0
//
// The same elements in another shape, order or number.
#include "compiler/import/onnx/Conversions.h"

namespace tenon::onnx {

static void identity(NodeContext &n) { n.out(0, n.in(0)); }

/// Of tensors, which are there unless they are left out.
static void optionalHasElement(NodeContext &n) {
  n.out(0, n.scalar(n.in(0) != kNone, NodeContext::kBool));
}

/// In inference nothing is dropped, and the mask is true everywhere.
static void dropout(NodeContext &n) {
  if (n.in(2) != kNone && n.neededNumber(2, "the operand training_mode", 0) &&
      n.neededNumber(1, "the operand ratio", 0.5) != 0)
    return n.refuse("numbers that are random");
  n.out(0, n.in(0));
  if (!n.wants(1))
    return;
  // The mask was of the type of the data before version 10.
  DType type = n.opset() < 10 ? n.type(n.in(0)) : NodeContext::kBool;
  n.out(1, n.expandLike(n.scalar(1, type), n.in(0)));
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static void reshape1(NodeContext &n) {
  n.out(0, n.op("StaticReshape", {n.in(0)},
                {{"shape", n.integers("shape").value_or(Dims{})},
                 {"special_zero", true}}));
}

static void reshape5(NodeContext &n) {
  bool allowZero = n.integer("allowzero", 0) != 0;
  if (std::optional<Dims> shape = n.known(n.in(1)))
    return n.out(0, n.op("StaticReshape", {n.in(0)},
                         {{"shape", *shape}, {"special_zero", !allowZero}}));
  if (std::optional<Sizes> sizes = n.elementsAsSizes(n.in(1))) {
    std::optional<Sizes> source = n.sizesOf(n.in(0));
    for (size_t i = 0; i < sizes->size() && source && !allowZero; ++i)
      if ((*sizes)[i].number == 0 && i < source->size())
        (*sizes)[i] = (*source)[i];
    return n.out(0, n.reshapeTo(n.in(0), *sizes));
  }
  n.out(0, n.op("Reshape", {n.in(0), n.in(1)}, {{"allow_zero", allowZero}}));
}

static void flatten(NodeContext &n) {
  int64_t axis = n.integer("axis", 1);
  auto rank = static_cast<int64_t>(n.rank(n.in(0)));
  if (axis != rank)
    axis = n.axisOf(axis, static_cast<int>(rank));
  if (n.failed())
    return;
  Sizes sizes = *n.sizesOf(n.in(0));
  n.out(0, n.reshapeTo(n.in(0), {productOf(sizes, 0, axis),
                                 productOf(sizes, axis, rank)}));
}

/// Axes: an attribute, or since version 13 operand 1.
static std::optional<Dims> axesOf(NodeContext &n) {
  if (n.in(1) != kNone)
    return n.needed(1, "the operand axes");
  return n.integers("axes");
}

static void squeeze(NodeContext &n) {
  Dims dims = n.shape(n.in(0));
  Sizes sizes = n.sizesOf(n.in(0)).value_or(Sizes{}), kept;
  std::vector<bool> drop(dims.size(), false);
  if (std::optional<Dims> axes = axesOf(n)) {
    for (int64_t axis : *axes) {
      int64_t i = n.axisOf(axis, static_cast<int>(dims.size()));
      if (n.failed())
        return;
      drop[i] = true;
    }
  } else {
    for (size_t i = 0; i < dims.size(); ++i)
      drop[i] = dims[i] == 1;
  }
  for (size_t i = 0; i < dims.size(); ++i)
    if (!drop[i])
      kept.push_back(sizes[i]);
  n.out(0, n.reshapeTo(n.in(0), std::move(kept)));
}

static void unsqueeze(NodeContext &n) {
  n.out(0, n.unsqueeze(n.in(0), axesOf(n).value_or(Dims{})));
}

static void transpose(NodeContext &n) {
  n.out(0, n.transpose(n.in(0), n.integers("perm").value_or(Dims{})));
}

static void expand(NodeContext &n) {
  if (std::optional<Dims> shape = n.known(n.in(1)))
    return n.out(0, n.op("Expand", {n.in(0)}, {{"shape", *shape}}));
  if (std::optional<Sizes> sizes = n.elementsAsSizes(n.in(1)))
    return n.out(0, n.expandTo(n.in(0), *sizes));
  n.out(0, n.op("Expand", {n.in(0), n.in(1)}));
}

/// Each dim that is repeated gets a dim of 1 in front of it, which is expanded
/// and joined with it.
static void tile(NodeContext &n) {
  n.shape(n.in(0)); // of unknown rank: an error
  Sizes dims = n.sizesOf(n.in(0)).value_or(Sizes{});
  std::optional<Sizes> repeats = n.elementsAsSizes(n.in(1));
  if (!repeats)
    n.needed(1, "the operand repeats");
  if (n.failed())
    return;
  if (repeats->size() != dims.size())
    return n.refuse("as many repeats as dims are needed");
  Sizes apart, expanded, joined;
  for (size_t i = 0; i < dims.size(); ++i) {
    const Size &dim = dims[i], &repeat = (*repeats)[i];
    bool isOnce = repeat.isKnown() && repeat.number == 1;
    if (!isOnce) {
      apart.push_back({1, ""});
      expanded.push_back(repeat);
    }
    apart.push_back(dim);
    expanded.push_back(dim);
    joined.push_back(isOnce ? dim
                            : n.sizeOf(termOf(dim) + " * " + termOf(repeat)));
  }
  Value x = n.reshapeTo(n.in(0), apart);
  n.out(0, n.reshapeTo(n.expandTo(x, expanded), joined));
}

/// Blocks of channels become neighbours in space: N, C, H, W is read as N and
/// the dims of `apart`, transposed, and joined.
static void depthToSpace(NodeContext &n) {
  int rank = n.rank(n.in(0));
  Sizes d = n.sizesOf(n.in(0)).value_or(Sizes{});
  int64_t b = n.integer("blocksize", 1);
  if (n.failed())
    return;
  if (rank != 4 || b < 1 || b > (1 << 15) || !d[1].isKnown() ||
      d[1].number % (b * b))
    return n.refuse("4 dims and channels in blocks are needed");
  bool columnsFirst = n.text("mode", "DCR") == "CRD";
  Size block{b, ""}, c{d[1].number / (b * b), ""};
  Sizes apart = columnsFirst ? Sizes{d[0], c, block, block, d[2], d[3]}
                             : Sizes{d[0], block, block, c, d[2], d[3]};
  Dims order = columnsFirst ? Dims{0, 1, 4, 2, 5, 3} : Dims{0, 3, 4, 1, 5, 2};
  Value x = n.transpose(n.reshapeTo(n.in(0), apart), order);
  auto times = [&](const Size &size) {
    return n.sizeOf(termOf(size) + " * " + std::to_string(b));
  };
  n.out(0, n.reshapeTo(x, {d[0], c, times(d[2]), times(d[3])}));
}

static void spaceToDepth(NodeContext &n) {
  int rank = n.rank(n.in(0));
  Sizes d = n.sizesOf(n.in(0)).value_or(Sizes{});
  int64_t b = n.integer("blocksize", 1);
  if (n.failed())
    return;
  auto isInBlocks = [&](const Size &size) {
    return !size.isKnown() || size.number % b == 0;
  };
  if (rank != 4 || b < 1 || b > (1 << 15) || !d[1].isKnown() ||
      !isInBlocks(d[2]) || !isInBlocks(d[3]))
    return n.refuse("4 dims and sizes in blocks are needed");
  auto blocks = [&](const Size &size) {
    return n.sizeOf(termOf(size) + " // " + std::to_string(b));
  };
  Size block{b, ""}, height = blocks(d[2]), width = blocks(d[3]);
  Value x = n.reshapeTo(n.in(0), {d[0], d[1], height, block, width, block});
  bool columnsFirst = n.text("mode", "DCR") == "CRD";
  x = n.transpose(x, columnsFirst ? Dims{0, 1, 3, 5, 2, 4}
                                  : Dims{0, 3, 5, 1, 2, 4});
  n.out(0, n.reshapeTo(x, {d[0], {d[1].number * b * b, ""}, height, width}));
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

static void concat(NodeContext &n) {
  Values operands;
  for (size_t i = 0; i < n.numInputs(); ++i)
    operands.push_back(n.in(i));
  n.out(0, n.op("Concat", operands, {{"axis", n.integer("axis", 1)}}));
}

/// The lower or upper triangle: columns from the one k beside the diagonal.
static void trilu(NodeContext &n) {
  Value x = n.in(0);
  Value row = n.indexAlong(x, -2), column = n.indexAlong(x, -1);
  Value k = n.in(1) == kNone ? n.scalar(0, DType::s64) : n.in(1);
  Value edge = n.op("Add", {row, k});
  bool upper = n.integer("upper", 1) != 0;
  Value keep =
      n.op("GreaterEqual", {upper ? column : edge, upper ? edge : column}, {},
           NodeContext::kBool);
  n.out(0, n.select(keep, x, n.like(x, 0)));
}

std::span<const OpConversion> movementConversions() {
  static constexpr OpConversion table[] = {
      {"Concat", 1, concat},
      {"DepthToSpace", 1, depthToSpace},
      {"Dropout", 1, dropout},
      {"Expand", 8, expand},
      {"Flatten", 1, flatten},
      {"Identity", 1, identity},
      {"OptionalGetElement", 15, identity},
      {"OptionalHasElement", 15, optionalHasElement},
      {"Reshape", 1, reshape1},
      {"Reshape", 5, reshape5},
      {"SpaceToDepth", 1, spaceToDepth},
      {"Squeeze", 1, squeeze},
      {"Tile", 6, tile},
      {"Transpose", 1, transpose},
      {"Trilu", 14, trilu},
      {"Unsqueeze", 1, unsqueeze},
  };
  return table;
}

} // namespace tenon::onnx
