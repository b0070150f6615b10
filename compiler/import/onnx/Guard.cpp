// SPDX-License-Identifier: Apache-2.0
//
// Parts of a graph that count only where a condition holds, and are executed
// anyway: what makes an execution fail must not be theirs. An index that no dim
// has is such a thing; quotients of 0 and the like have results.
#include "compiler/import/onnx/Builder.h"

#include "dialects/graph/OpTable.h"

#include <algorithm>

namespace tenon::onnx {

/// The operand of an operation with indices that must be right, 0 if none is.
static size_t indexOperand(std::string_view kind) {
  const graph::OpInfo *info = graph::lookupOp(kind);
  for (size_t i = 1; info && i < info->operands.size(); ++i)
    if (info->operands[i].domain == graph::Domain::index)
      return i;
  return 0;
}

/// Whether all of `indices` are positions, from the front or from the end, in
/// the dim that `attrs` names, or in all dims if it names none.
static bool areRight(const reference::Tensor &indices, const graph::Dims &dims,
                     const graph::AttrMap &attrs) {
  graph::Dims indexed = dims;
  if (auto found = attrs.find("axis"); found != attrs.end()) {
    auto rank = static_cast<int64_t>(dims.size());
    int64_t axis = std::get<int64_t>(found->second);
    if (axis < -rank || axis >= rank)
      return false;
    indexed = {dims[axis < 0 ? axis + rank : axis]};
  }
  if (indexed.empty())
    return false;
  int64_t size = std::ranges::min(indexed); // one that is not known is less
  for (int64_t i = 0; i < indices.numElements(); ++i)
    if (int64_t at = reference::integerAt(indices, i);
        at >= size || at < -std::max<int64_t>(size, 0))
      return false;
  return true;
}

std::vector<Value> Builder::withIndicesChecked(std::string_view kind,
                                               std::vector<Value> operands,
                                               const graph::AttrMap &attrs) {
  size_t i = indexOperand(kind);
  if (i == 0 || i >= operands.size() || operands[i] == kNone ||
      graph::isFloat(tensor(operands[i]).dtype))
    return operands;
  const graph::LogicalTensor &src = tensor(operands[0]);
  if (const reference::Tensor *known = this->known(operands[i]);
      known && src.shape && areRight(*known, *src.shape, attrs))
    return operands;
  graph::DType dtype = tensor(operands[i]).dtype;
  Value zero = constant(reference::zeros(dtype, {}));
  operands[i] = add("Select", {guard, operands[i], zero}, {}, {dtype}).front();
  return operands;
}

} // namespace tenon::onnx
