//===- IndexingShapes.cpp - guesses at shapes of parts of tensors ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Slice, Pad, Expand, Reshape and Shape; gathers and scatters. See OpForms.h.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/forms/Draft.h"

#include <algorithm>

namespace tenon::forms {

using namespace graph;

namespace {

Dims &source(Draft &d, size_t minRank) {
  return d.shapes["src"] = d.source(minRank, 5);
}

//===----------------------------------------------------------------------===//
// By position
//===----------------------------------------------------------------------===//

void slice(Draft &d) {
  Dims src = source(d, 0), begins, ends, axes, steps;
  bool all = d.random.chance(30);
  for (size_t i = 0; i < src.size(); ++i) {
    if (!all && d.random.chance(40))
      continue;
    int64_t size = src[i], step = d.random.pick({1, 1, 1, 2, 3, -1, -2});
    int64_t low = d.random.in(0, std::max<int64_t>(size - 1, 0));
    int64_t high = d.random.in(low, size);
    bool back = step < 0;
    // One below -size is in front of the first element.
    begins.push_back(back ? high : d.anySpelling(low, size_t(size)));
    ends.push_back(back ? (low > 0 ? low - 1 : -size - 1) : high);
    axes.push_back(d.anySpelling(static_cast<int64_t>(i), src.size()));
    steps.push_back(step);
  }
  d.set("begins", begins);
  d.set("ends", ends);
  if (!all)
    d.set("axes", axes);
  if (std::ranges::any_of(steps, [](int64_t step) { return step != 1; }))
    d.set("steps", steps);
}

void pad(Draft &d) {
  Dims src = source(d, 0), begin, end, interior;
  std::string mode = d.word("mode");
  for (int64_t size : src) {
    int64_t most = mode == "constant"  ? 3
                   : mode == "wrap"    ? size
                   : mode == "reflect" ? size - 1
                                       : 3 * std::min<int64_t>(size, 1);
    most = std::clamp<int64_t>(most, 0, 3);
    auto entry = [&] {
      return d.random.chance(15) ? -d.random.in(0, 1) : d.random.in(0, most);
    };
    begin.push_back(entry());
    end.push_back(entry());
    interior.push_back(d.random.in(0, 2));
  }
  d.set("pads_begin", begin);
  d.set("pads_end", end);
  if (mode == "constant" && d.random.chance(25))
    d.set("interior", interior);
  d.shapes["pad_value"] = d.random.chance(50) ? Dims{} : Dims{1};
}

void expand(Draft &d) {
  Dims &src = source(d, 0);
  if (!d.first)
    src = d.stretching(src);
  Dims target;
  for (int64_t size : src)
    target.push_back(size == 1             ? d.dim()
                     : d.random.chance(30) ? d.random.pick({1, -1})
                                           : size);
  if (target.size() < 5 && d.random.chance(30))
    target.insert(target.begin(), d.dim());
  else if (!target.empty() && d.random.chance(20))
    target.erase(target.begin());
  d.set("shape", target);
}

/// The result says what the operand has to hold.
void reshape(Draft &d) {
  Dims target = regrouped(d, source(d, 0));
  d.shapes["shape"] = {static_cast<int64_t>(target.size())};
  d.shapes["dst"] = target;
  if (std::ranges::count(target, 0))
    d.set("allow_zero", true);
}

void shape(Draft &d) {
  auto rank = static_cast<int64_t>(source(d, 0).size());
  d.attrs.erase("start");
  d.attrs.erase("end");
  if (d.random.chance(40))
    d.set("start", d.random.in(-rank - 1, rank + 1));
  if (d.random.chance(40))
    d.set("end", d.random.in(-rank - 1, rank + 1));
}

//===----------------------------------------------------------------------===//
// By index
//===----------------------------------------------------------------------===//

/// `count` dims, none of them 0.
Dims someDims(Draft &d, int64_t count) {
  Dims dims;
  for (int64_t i = 0; i < count; ++i)
    dims.push_back(d.dim());
  return dims;
}

/// Draws batch_dims, at most `most`; the dims of src that they are.
Dims batch(Draft &d, const Dims &src, int64_t most) {
  d.attrs.erase("batch_dims");
  int64_t count = d.random.chance(30) ? d.random.in(0, most) : 0;
  if (count > 0)
    d.set("batch_dims", count);
  return Dims(src.begin(), src.begin() + count);
}

int64_t drawAxis(Draft &d, const Dims &src) {
  int64_t axis = d.random.in(0, static_cast<int64_t>(src.size()) - 1);
  d.set("axis", d.anySpelling(axis, src.size()));
  return axis;
}

void gather(Draft &d) {
  Dims src = source(d, 1);
  int64_t axis = drawAxis(d, src);
  Dims indices = batch(d, src, axis);
  // No index is right in an empty dim.
  Dims rest = src[axis] == 0 ? Dims{0} : someDims(d, d.random.in(0, 2));
  indices.insert(indices.end(), rest.begin(), rest.end());
  d.shapes["indices"] = indices;
}

/// GatherElements and ScatterElements.
void elements(Draft &d) {
  Dims src = source(d, 1), indices;
  int64_t axis = drawAxis(d, src);
  for (int64_t size : src)
    indices.push_back(d.random.chance(50)
                          ? size
                          : d.random.in(std::min<int64_t>(size, 1), size));
  if (src[axis] == 0)
    indices[axis] = 0;
  else if (d.random.chance(60))
    indices[axis] = d.dim();
  d.shapes["indices"] = d.shapes["updates"] = indices;
}

/// GatherND and ScatterND.
void slices(Draft &d) {
  Dims src = source(d, 1), shared;
  auto rank = static_cast<int64_t>(src.size());
  if (d.has("batch_dims"))
    shared = batch(d, src, rank - 1);
  auto first = static_cast<int64_t>(shared.size());
  int64_t width = d.random.in(1, rank - first);
  bool isEmpty =
      std::count(src.begin() + first, src.begin() + first + width, 0) > 0;
  Dims rows = shared, more = isEmpty ? Dims{0} : someDims(d, d.random.in(0, 2));
  rows.insert(rows.end(), more.begin(), more.end());
  Dims updates = rows;
  updates.insert(updates.end(), src.begin() + first + width, src.end());
  rows.push_back(width);
  d.shapes["indices"] = rows;
  d.shapes["updates"] = updates;
}

struct ShapeGuess {
  std::string_view rule;
  void (*guess)(Draft &);
};

constexpr ShapeGuess guesses[] = {
    {"expand", expand},
    {"gather", gather},
    {"gather_elements", elements},
    {"gather_nd", slices},
    {"pad", pad},
    {"reshape", reshape},
    {"scatter_elements", elements},
    {"scatter_nd", slices},
    {"shape", shape},
    {"slice", slice},
};

} // namespace

bool guessIndexing(Draft &draft) {
  const ShapeGuess *entry =
      std::ranges::find(guesses, draft.info.shapeRule, &ShapeGuess::rule);
  if (entry == std::end(guesses))
    return false;
  entry->guess(draft);
  return true;
}

} // namespace tenon::forms
