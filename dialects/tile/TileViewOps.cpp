// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/SizeExpr.h"
#include "dialects/tile/TileDialect.h"

using namespace mlir;
using namespace tenon::tile;
namespace graph = tenon::graph;

static std::string sizeText(int64_t size) {
  return ShapedType::isDynamic(size) ? "?" : std::to_string(size);
}

LogicalResult SliceOp::verify() {
  auto src = cast<RankedTensorType>(getSrc().getType());
  auto dst = cast<RankedTensorType>(getDst().getType());
  ArrayRef<int64_t> offsets = getOffsets();
  int64_t lead = src.getRank() - dst.getRank();
  if (lead < 0 || src.getRank() != static_cast<int64_t>(offsets.size()) ||
      (getSteps() && getSteps()->size() != offsets.size()) ||
      (getEnds() && getEnds()->size() != offsets.size()) ||
      (getSizes() && getSizes()->size() != offsets.size()) ||
      src.getElementType() != dst.getElementType())
    return emitOpError("src is ")
           << src << ", dst " << dst << ", with " << offsets.size()
           << " offsets; ranks and element types must agree";
  for (auto [i, offset] : llvm::enumerate(offsets)) {
    bool isLead = static_cast<int64_t>(i) < lead;
    int64_t all = src.getDimSize(i), step = getStep(i),
            some = isLead ? 1 : dst.getDimSize(i - lead);
    bool fits = false;
    if (StringRef size = getSize(i); !size.empty()) {
      if (auto expr = graph::SizeExpr::parse(size); !expr)
        return emitOpError("dim ")
               << i << ": " << expr.errors().front().message;
      fits = step > 0;
    } else if (ShapedType::isDynamic(all)) {
      fits = getEnds()
                 ? step > 0
                 : ShapedType::isDynamic(some) && offset == 0 && step == 1;
    } else if (!ShapedType::isDynamic(some)) {
      int64_t end = offset + (some - 1) * step; // the last element
      fits = some == 0 || (offset >= 0 && offset < all && end >= 0 &&
                           end < all && step != 0);
    }
    if (!fits)
      return emitOpError("dim ")
             << i << ": " << sizeText(some) << " elements from " << offset
             << " on, each " << step << "th, of " << sizeText(all);
  }
  return success();
}

StringRef SliceOp::getSize(int64_t i) {
  return getSizes() ? cast<StringAttr>((*getSizes())[i]).getValue()
                    : StringRef();
}

bool SliceOp::isView() {
  return !getSteps() ||
         llvm::all_of(*getSteps(), [](int64_t step) { return step > 0; });
}

/// One expression for each dim of `dst`; with `needsAll` for each that is not
/// known.
static LogicalResult verifySizes(Operation *op, ArrayAttr sizes,
                                 RankedTensorType dst, bool needsAll) {
  if (static_cast<int64_t>(sizes.size()) != dst.getRank())
    return op->emitOpError("has ")
           << sizes.size() << " sizes for " << dst.getRank() << " dims";
  for (auto [i, size] : llvm::enumerate(sizes.getAsValueRange<StringAttr>())) {
    if (size.empty() && !(needsAll && dst.isDynamicDim(i)))
      continue;
    if (auto expr = graph::SizeExpr::parse(size); !expr)
      return op->emitOpError("dim ")
             << i << ": " << expr.errors().front().message;
  }
  return success();
}

LogicalResult ExpandOp::verify() {
  auto src = cast<RankedTensorType>(getSrc().getType());
  auto dst = cast<RankedTensorType>(getDst().getType());
  int64_t lead = dst.getRank() - src.getRank();
  bool fits = lead >= 0 && src.getElementType() == dst.getElementType();
  for (int64_t i = 0; fits && i < src.getRank(); ++i)
    fits = src.getDimSize(i) == 1 || src.isDynamicDim(i) ||
           dst.isDynamicDim(lead + i) ||
           src.getDimSize(i) == dst.getDimSize(lead + i);
  if (!fits)
    return emitOpError("src is ")
           << src << ", which does not broadcast to " << dst;
  return getSizes() ? verifySizes(*this, *getSizes(), dst, false) : success();
}

LogicalResult ReshapeOp::verify() {
  auto src = cast<RankedTensorType>(getSrc().getType());
  auto dst = cast<RankedTensorType>(getDst().getType());
  if (src.getElementType() != dst.getElementType())
    return emitOpError("src is ") << src << ", dst " << dst;
  return verifySizes(*this, getSizes(), dst, true);
}
