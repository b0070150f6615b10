//===- Slice.cpp - every few elements of a dim ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Slice.h.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Slice.h"

#include <algorithm>

namespace tenon::graph {

SliceRange sliceRange(int64_t size, int64_t begin, int64_t end, int64_t step) {
  int64_t least = step > 0 ? 0 : -1, most = step > 0 ? size : size - 1;
  auto place = [&](int64_t given) {
    return std::clamp(given < 0 ? given + size : given, least, most);
  };
  SliceRange range{place(begin), 0};
  // Wide, since the step may be the least number that there is.
  __int128 stride = step > 0 ? __int128(step) : -__int128(step);
  __int128 length = __int128(place(end)) - range.first;
  if (step < 0)
    length = -length;
  if (length > 0)
    range.count = static_cast<int64_t>((length + stride - 1) / stride);
  return range;
}

} // namespace tenon::graph
