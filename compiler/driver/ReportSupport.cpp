//===- ReportSupport.cpp - parts of reports about a module ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/ReportSupport.h"

#include "passes/fuse/Group.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace tenon {

using namespace passes;

OpNames::OpNames(const graph::Graph &graph) {
  for (size_t i = 0; i < graph.ops.size(); ++i)
    if (const graph::Op &op = graph.ops[i]; !op.name.empty())
      byName[op.name].push_back(i);
}

std::vector<size_t> OpNames::at(Location loc) const {
  std::set<size_t> ops;
  add(loc, ops);
  return {ops.begin(), ops.end()};
}

void OpNames::add(Location loc, std::set<size_t> &ops) const {
  if (auto named = dyn_cast<NameLoc>(loc)) {
    addJoined(named.getName().strref(), ops);
    add(named.getChildLoc(), ops);
  } else if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location l : fused.getLocations())
      add(l, ops);
  }
}

/// A name, or several joined with "+". Names may hold pluses themselves: the
/// longest one that fits wins.
void OpNames::addJoined(StringRef text, std::set<size_t> &ops) const {
  while (!text.empty()) {
    size_t length = text.size();
    auto found = byName.end();
    while (length > 0) {
      found = byName.find(text.take_front(length).str());
      if (found != byName.end())
        break;
      size_t plus = text.take_front(length).rfind('+');
      length = plus == StringRef::npos ? 0 : plus;
    }
    if (found != byName.end())
      ops.insert(found->second.begin(), found->second.end());
    else // made by the compiler
      length = std::min(text.find('+'), text.size());
    text = text.drop_front(std::min(text.size(), length + 1));
  }
}

double SizeCounter::elements(Type type) {
  auto shaped = cast<ShapedType>(type);
  if (!shaped.hasStaticShape()) {
    sized = false;
    return 0;
  }
  return static_cast<double>(shaped.getNumElements());
}

double SizeCounter::bytes(Type type) {
  Type element = storageType(cast<ShapedType>(type).getElementType());
  return elements(type) * element.getIntOrFloatBitWidth() / 8;
}

double SizeCounter::product(ArrayRef<int64_t> sizes) {
  double n = 1;
  for (int64_t size : sizes) {
    sized &= !ShapedType::isDynamic(size);
    n *= static_cast<double>(size);
  }
  return sized ? n : 0;
}

std::string typeText(Type type) {
  auto shaped = cast<ShapedType>(type);
  std::string text;
  llvm::raw_string_ostream os(text);
  for (int64_t size : shaped.getShape())
    if (ShapedType::isDynamic(size))
      os << "?x";
    else
      os << size << "x";
  os << shaped.getElementType();
  return text;
}

std::string typesText(TypeRange read, TypeRange written) {
  std::string text;
  for (TypeRange list : {read, written}) {
    if (!text.empty())
      text += " -> ";
    for (auto [i, type] : llvm::enumerate(list))
      text += (i ? ", " : "") + typeText(type);
  }
  return text;
}

Value bufferOf(Value v) {
  while (Operation *def = v.getDefiningOp()) {
    auto view = dyn_cast<ViewLikeOpInterface>(def);
    if (!view || isa<memref::ViewOp>(def))
      break;
    v = view.getViewSource();
  }
  return v;
}

} // namespace tenon
