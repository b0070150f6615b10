//===- EvalDetection_test.cpp - boxes and regions of detectors ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/reference/TestOps.h"

using namespace tenon;
using namespace tenon::reference;
using graph::AttrMap;
using graph::Dims;
using graph::DType;

namespace {

const std::vector<DType> twoS32(2, DType::s32);

/// One batch of boxes with corners, one class.
OneOp suppression(std::vector<double> boxes, std::vector<double> scores,
                  int64_t most, float overlap = 0.5f) {
  auto count = static_cast<int64_t>(scores.size());
  return {"NonMaxSuppression",
          {make({1, count, 4}, std::move(boxes)),
           make({1, 1, count}, std::move(scores))},
          {{"max_output_boxes_per_class", most}, {"iou_threshold", overlap}},
          twoS32};
}

/// The numbers of the boxes that are taken.
std::vector<double> taken(const OneOp &op) {
  auto results = op.run();
  std::vector<double> boxes;
  for (int64_t i = 0; i < results[0].shape[0]; ++i) {
    if (i < results[1].data[0])
      boxes.push_back(results[0].data[i * 3 + 2]);
    else
      EXPECT_EQ(results[0].data[i * 3 + 2], 0);
  }
  return boxes;
}

using Numbers = std::vector<double>;

// Three boxes around one place, two around another, one alone.
const Numbers corners = {0, 0,  1, 1,  0, 0.1,  1, 1.1,  0, -0.1, 1, 0.9,
                         0, 10, 1, 11, 0, 10.1, 1, 11.1, 0, 100,  1, 101};
const Numbers scores = {0.9, 0.75, 0.6, 0.95, 0.5, 0.3};

TEST(NonMaxSuppression, TakesTheHighestScores) {
  EXPECT_EQ(taken(suppression(corners, scores, 3)), (Numbers{3, 0, 5}));
  EXPECT_EQ(taken(suppression(corners, scores, 2)), (Numbers{3, 0}));
  EXPECT_EQ(taken(suppression(corners, scores, 0)), Numbers{});
  // Overlaps of neighbours are 0.9 / 1.1, and 0.8 / 1.2.
  EXPECT_EQ(taken(suppression(corners, scores, 9, 0.7f)), (Numbers{3, 0, 5}));
  EXPECT_EQ(taken(suppression(corners, scores, 9, 1.0f)),
            (Numbers{3, 0, 1, 2, 4, 5}));
  OneOp limited = suppression(corners, scores, 9);
  limited.attrs["score_threshold"] = 0.3f;
  limited.inputs[1] = make({1, 1, 6}, {0.9, 0.75, 0.6, 0.95, 0.5, 0.25});
  EXPECT_EQ(taken(limited), (Numbers{3, 0}));
  // A score must be above the threshold.
  limited.attrs["score_threshold"] = 0.9375f;
  limited.inputs[1] = make({1, 1, 6}, {1, 0, 0, 0.9375, 0.5, -1});
  EXPECT_EQ(taken(limited), (Numbers{0}));
}

TEST(NonMaxSuppression, Boxes) {
  Numbers swapped, centres;
  for (size_t i = 0; i < corners.size(); i += 4) {
    double y1 = corners[i], x1 = corners[i + 1], y2 = corners[i + 2],
           x2 = corners[i + 3];
    swapped.insert(swapped.end(), {y2, x1, y1, x2});
    centres.insert(centres.end(),
                   {(x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1});
  }
  EXPECT_EQ(taken(suppression(swapped, scores, 3)), (Numbers{3, 0, 5}));
  OneOp op = suppression(centres, scores, 3);
  op.attrs["center_point_box"] = true;
  EXPECT_EQ(taken(op), (Numbers{3, 0, 5}));
  // Half of their union is common to both: not more than the threshold.
  Numbers half = {0, 0, 1, 3, 0, 1, 1, 4};
  EXPECT_EQ(taken(suppression(half, {1, 2}, 2)), (Numbers{1, 0}));
  EXPECT_EQ(taken(suppression(half, {1, 2}, 2, 0.4375f)), (Numbers{1}));
  // A threshold of 0.7f is less than 7 / 10.
  Numbers tenths = {0, 0, 1, 8.5, 0, 1.5, 1, 10};
  EXPECT_EQ(taken(suppression(tenths, {1, 2}, 2, 0.7f)), (Numbers{1, 0}));
  // Without area they overlap nothing, not even themselves.
  Numbers flat = {0, 0, 1, 0, 0, 0, 1, 0, 0, -1, 2, 1};
  EXPECT_EQ(taken(suppression(flat, {1, 2, 3}, 3, 0)), (Numbers{2, 1, 0}));
}

TEST(NonMaxSuppression, TiesAndNan) {
  Numbers apart;
  for (int i = 0; i < 4; ++i)
    apart.insert(apart.end(), {0, 2.0 * i, 1, 2.0 * i + 1});
  EXPECT_EQ(taken(suppression(apart, {1, 2, 1, 2}, 3)), (Numbers{1, 3, 0}));
  EXPECT_EQ(taken(suppression(apart, {kNan, 2, -kInf, kInf}, 4)),
            (Numbers{3, 1, 2}));
  apart[4] = kNan;
  EXPECT_EQ(taken(suppression(apart, {1, 2, 1, 2}, 4)), (Numbers{1, 3, 0, 2}));
}

TEST(NonMaxSuppression, BatchesAndClasses) {
  // The boxes of batch 1 are apart, those of batch 0 the same.
  OneOp op{"NonMaxSuppression",
           {make({2, 2, 4}, {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3}),
            make({2, 2, 2}, {1, 2, 2, 1, 1, 2, 2, 1})},
           {{"max_output_boxes_per_class", int64_t{7}}},
           {DType::s64, DType::s64}};
  auto results = op.run();
  EXPECT_EQ(results[0].shape, (Dims{8, 3}));
  EXPECT_EQ(results[0].integers,
            (std::vector<int64_t>{0, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 0,
                                  1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(results[1].integers, (std::vector<int64_t>{6}));
  op.inputs = {make({2, 0, 4}, {}), make({2, 2, 0}, {})};
  results = op.run();
  EXPECT_EQ(results[0].shape, (Dims{0, 3}));
  EXPECT_EQ(results[1].integers, (std::vector<int64_t>{0}));
  op.inputs[0] = make({2, 1, 4}, Numbers(8, 0));
  EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
  op.inputs[0] = make({8}, Numbers(8, 0));
  EXPECT_EQ(op.error(), ErrorCode::BadRank);
  op = suppression(corners, scores, -1);
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
}

/// One 4x4 image of 4 * y + x, which a bilinear value continues.
OneOp region(Numbers roi, int64_t rows, int64_t columns, AttrMap attrs = {}) {
  Numbers image(16);
  for (int i = 0; i < 16; ++i)
    image[i] = i;
  attrs["output_height"] = rows;
  attrs["output_width"] = columns;
  return {"RoiAlign",
          {make({1, 4, 4, 1}, image), make({1, 4}, std::move(roi)),
           makeS64({1}, {0})},
          attrs};
}

TEST(RoiAlign, SamplesOfCells) {
  // From 0.5 on two cells of size 1: samples at 1 and 2.
  Numbers roi = {1, 1, 3, 3};
  expectNear(region(roi, 2, 2).run()[0], {1, 2, 2, 1}, {5, 6, 9, 10});
  for (int64_t samples : {1, 2, 3})
    expectNear(region(roi, 2, 2, {{"sampling_ratio", samples}}).run()[0],
               {1, 2, 2, 1}, {5, 6, 9, 10});
  expectNear(region({2, 2, 6, 6}, 2, 2, {{"spatial_scale", 0.5f}}).run()[0],
             {1, 2, 2, 1}, {5, 6, 9, 10});
  AttrMap whole = {
      {"coordinate_transformation_mode", std::string("output_half_pixel")}};
  expectNear(region(roi, 2, 2, whole).run()[0], {1, 2, 2, 1},
             {7.5, 8.5, 11.5, 12.5});
  // One cell of two by two samples, at 1 and 2.
  expectNear(region(roi, 1, 1).run()[0], {1, 1, 1, 1}, {7.5});
  expectNear(region({1, 1, 2, 3}, 1, 1).run()[0], {1, 1, 1, 1}, {7});
}

TEST(RoiAlign, EmptyRegions) {
  Numbers point = {1, 1, 1, 1};
  AttrMap whole = {
      {"coordinate_transformation_mode", std::string("output_half_pixel")}};
  expectNear(region(point, 1, 1, whole).run()[0], {1, 1, 1, 1}, {7.5});
  expectNear(region(point, 1, 1).run()[0], {1, 1, 1, 1}, {0});
  expectNear(region(point, 1, 1, {{"sampling_ratio", int64_t{2}}}).run()[0],
             {1, 1, 1, 1}, {2.5});
  expectNear(region({3, 3, 1, 1}, 1, 1).run()[0], {1, 1, 1, 1}, {0});
}

TEST(RoiAlign, Borders) {
  // Along x two samples of row 1.
  auto alongX = [](double x1, double x2, int64_t columns) {
    return region({x1, 1, x2, 2}, 1, columns, {{"sampling_ratio", int64_t{1}}})
        .run()[0];
  };
  expectNear(alongX(-2, 2, 2), {1, 1, 2, 1}, {0, 4.5});  // -1.5, 0.5
  expectNear(alongX(-1, 1, 2), {1, 1, 2, 1}, {4, 4});    // -1, 0
  expectNear(alongX(3.5, 5.5, 2), {1, 1, 2, 1}, {7, 0}); // 3.5, 4.5
  expectNear(alongX(4, 5, 1), {1, 1, 1, 1}, {7});        // 4
  expectNear(alongX(kNan, 5, 1), {1, 1, 1, 1}, {0});
  expectNear(alongX(-kInf, kInf, 1), {1, 1, 1, 1}, {0});
  EXPECT_EQ(region({0, 0, kInf, 1}, 1, 1).error(), ErrorCode::TooLarge);
  expectNear(region({0, 0, kNan, 1}, 1, 1).run()[0], {1, 1, 1, 1}, {0});
}

TEST(RoiAlign, LargestOfWeightedNeighbours) {
  AttrMap max = {{"mode", std::string("max")}};
  // At row 1, column 1.5: a half of 5 and a half of 6.
  expectNear(region({1.5, 1, 2.5, 2}, 1, 1, max).run()[0], {1, 1, 1, 1}, {3});
  // Samples at 1 and 2, which are elements.
  expectNear(region({1, 1, 3, 3}, 1, 1, max).run()[0], {1, 1, 1, 1}, {10});
  OneOp negative = region({1, 1, 3, 3}, 2, 2, max);
  negative.inputs[0].data.assign(16, -2);
  expectNear(negative.run()[0], {1, 2, 2, 1}, {0, 0, 0, 0});
  negative.attrs["coordinate_transformation_mode"] =
      std::string("output_half_pixel");
  expectNear(negative.run()[0], {1, 2, 2, 1}, {-0.5, -0.5, -0.5, -0.5});
  negative.inputs[0].data.assign(16, kNan);
  expectNear(negative.run()[0], {1, 2, 2, 1}, Numbers(4, kNan));
  expectNear(region({1, 1, 1, 1}, 1, 1, max).run()[0], {1, 1, 1, 1}, {0});
}

TEST(RoiAlign, ImagesAndFormats) {
  // Two images of one pixel, three channels.
  OneOp op{"RoiAlign",
           {make({2, 1, 1, 3}, {1, 2, 3, 4, 5, 6}),
            make({3, 4}, {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1}),
            make({3}, {1, 0, 1}, DType::s32)}};
  expectNear(op.run()[0], {3, 1, 1, 3}, {4, 5, 6, 1, 2, 3, 4, 5, 6});
  op.inputs[0].shape = {2, 3, 1, 1};
  op.attrs["data_format"] = std::string("NCX");
  op.attrs["output_width"] = int64_t{2};
  expectNear(op.run()[0], {3, 3, 1, 2},
             {4, 4, 5, 5, 6, 6, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6});
  op.inputs[0] = make({2, 3, 0, 1}, {});
  expectNear(op.run()[0], {3, 3, 1, 2}, Numbers(18, 0));
  op.inputs[1] = make({0, 4}, {});
  op.inputs[2] = make({0}, {}, DType::s32);
  expectNear(op.run()[0], {0, 3, 1, 2}, {});
}

TEST(RoiAlign, Errors) {
  OneOp op = region({0, 0, 1, 1}, 1, 1);
  for (int64_t image : {-1, 1}) {
    op.inputs[2] = makeS64({1}, {image});
    EXPECT_EQ(op.error(), ErrorCode::BadTensorData);
  }
  op.inputs[2] = makeS64({2}, {0, 0});
  EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
  op.inputs[2] = makeS64({1}, {0});
  op.inputs[1] = make({4}, {0, 0, 1, 1});
  EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
  op.inputs[0] = make({1, 1, 1}, {0});
  EXPECT_EQ(op.error(), ErrorCode::BadRank);
  EXPECT_EQ(region({0, 0, 1, 1}, 0, 1).error(), ErrorCode::AttrValue);
}

} // namespace
