//===- SearchShapes.cpp - guesses at shapes of searches -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// And of RoiAlign and RandomUniform. See OpForms.h.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/forms/Draft.h"

namespace tenon::forms {

using namespace graph;

namespace {

/// The dim of src, of rank 1 or more, that a search is along.
size_t searchedDim(Draft &d) {
  Dims shape = d.shapes["src"] = d.source(1, 5);
  auto axis = d.random.in(0, static_cast<int64_t>(shape.size()) - 1);
  d.set("axis", d.anySpelling(axis, shape.size()));
  return static_cast<size_t>(axis);
}

void argExtreme(Draft &d) {
  size_t axis = searchedDim(d);
  d.failed |= d.shapes["src"][axis] == 0;
}

void cumSum(Draft &d) { searchedDim(d); }

void topK(Draft &d) {
  size_t axis = searchedDim(d);
  int64_t size = d.shapes["src"][axis];
  bool isEmpty = size == 0 || d.random.chance(10);
  d.set("k", isEmpty ? 0 : d.random.in(1, size));
}

void nonMaxSuppression(Draft &d) {
  Dims boxes = d.source(3, 3);
  if (!d.first)
    boxes.back() = 4;
  d.shapes["boxes"] = boxes;
  d.shapes["scores"] = {boxes[0], d.random.in(1, 3), boxes[1]};
  d.set("max_output_boxes_per_class", d.random.in(0, 4));
  d.set("iou_threshold", d.random.pick({0.0f, 0.25f, 0.5f, 1.0f}));
}

void roiAlign(Draft &d) {
  Dims src = {d.random.in(1, 3), d.random.in(1, 9), d.random.in(1, 9),
              d.random.in(1, 9)};
  if (d.first)
    src = d.source(4, 4);
  else if (d.random.chance(3))
    src[d.random.in(0, 3)] = 0;
  d.shapes["src"] = src;
  int64_t regions = src[0] == 0 ? 0 : d.random.in(0, 4);
  d.shapes["rois"] = {regions, 4};
  d.shapes["batch_indices"] = {regions};
  d.set("output_height", d.random.in(1, 3));
  d.set("output_width", d.random.in(1, 3));
  d.set("sampling_ratio", d.random.in(0, 2));
  d.set("spatial_scale", d.random.pick({1.0f, 0.5f, 0.25f}));
}

void randomUniform(Draft &d) {
  d.shapes["seed"] = d.first ? d.source(0, 5) : Dims{1};
  d.shapes["offset"] = d.random.chance(50) ? Dims{} : Dims{1};
  d.set("shape", Draft{d.info, d.random, d.options, nullptr}.source(0, 5));
}

} // namespace

void guessSearch(Draft &draft) {
  std::string_view rule = draft.info.shapeRule;
  if (rule == "arg_extreme")
    argExtreme(draft);
  else if (rule == "cum_sum")
    cumSum(draft);
  else if (rule == "top_k")
    topK(draft);
  else if (rule == "non_max_suppression")
    nonMaxSuppression(draft);
  else if (rule == "roi_align")
    roiAlign(draft);
  else
    randomUniform(draft);
}

} // namespace tenon::forms
