//===- EvalSearch_test.cpp - extremes, orders, running sums ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/reference/TestOps.h"

using namespace tenon;
using namespace tenon::reference;
using graph::AttrMap;
using graph::Dims;
using graph::DType;

namespace {

using Integers = std::vector<int64_t>;

AttrMap axisOf(int64_t axis, AttrMap more = {}) {
  more["axis"] = axis;
  return more;
}

/// Positions in s64, and that s32 gives the same.
Integers positions(OneOp op, const Dims &shape) {
  op.results = {DType::s64};
  Tensor wide = op.run()[0];
  EXPECT_EQ(wide.shape, shape);
  op.results = {DType::s32};
  Tensor narrow = op.run()[0];
  EXPECT_EQ(narrow.shape, shape);
  EXPECT_EQ(narrow.data,
            std::vector<double>(wide.integers.begin(), wide.integers.end()));
  return wide.integers;
}

TEST(ArgExtreme, AxesAndTies) {
  Tensor src = make({2, 3}, {3, 7, 7, -1, -1, -4});
  AttrMap flat = axisOf(1, {{"keep_dims", false}});
  EXPECT_EQ(positions({"ArgMax", {src}}, {1, 3}), (Integers{0, 0, 0}));
  EXPECT_EQ(positions({"ArgMax", {src}, axisOf(-1)}, {2, 1}), (Integers{1, 0}));
  EXPECT_EQ(positions({"ArgMin", {src}, flat}, {2}), (Integers{0, 2}));
  flat["last_index"] = true;
  EXPECT_EQ(positions({"ArgMax", {src}, flat}, {2}), (Integers{2, 1}));
  EXPECT_EQ(positions({"ArgMin", {make({1, 2}, {-0.0, 0.0})}, flat}, {1}),
            (Integers{1}));
  Tensor cube = make({2, 2, 2}, {1, 2, 3, 0, 5, 5, 9, 5});
  EXPECT_EQ(positions({"ArgMax", {cube}, axisOf(1)}, {2, 1, 2}),
            (Integers{1, 0, 1, 0}));
  // Of one element, and of none.
  EXPECT_EQ(positions({"ArgMin", {make({3, 1}, {4, kNan, -kInf})}, axisOf(1)},
                      {3, 1}),
            (Integers{0, 0, 0}));
  EXPECT_EQ(positions({"ArgMin", {make({0, 2}, {})}, axisOf(1)}, {0, 1}),
            Integers{});
}

TEST(ArgExtreme, NanCountsBeforeNumbers) {
  Tensor src = make({5}, {1, kNan, kInf, kNan, -kInf});
  EXPECT_EQ(positions({"ArgMax", {src}}, {1}), (Integers{1}));
  EXPECT_EQ(positions({"ArgMin", {src}}, {1}), (Integers{1}));
  AttrMap last = {{"last_index", true}};
  EXPECT_EQ(positions({"ArgMax", {src}, last}, {1}), (Integers{3}));
  EXPECT_EQ(positions({"ArgMin", {src}, last}, {1}), (Integers{3}));
}

TEST(ArgExtreme, Integers) {
  // Neighbours that a double does not tell apart.
  constexpr int64_t big = int64_t{1} << 53;
  Tensor src = makeS64({3}, {big, big + 1, big});
  EXPECT_EQ(positions({"ArgMax", {src}}, {1}), (Integers{1}));
  EXPECT_EQ(positions({"ArgMin", {makeS64({2}, {big + 1, big})}}, {1}),
            (Integers{1}));
  for (DType type : {DType::s32, DType::s8, DType::u8, DType::bf16})
    EXPECT_EQ(positions({"ArgMax", {make({3}, {1, 9, 2}, type)}}, {1}),
              (Integers{1}));
}

TEST(ArgExtreme, Errors) {
  const std::vector<DType> s32 = {DType::s32};
  OneOp op{"ArgMax", {make({2, 0}, {})}, axisOf(1), s32};
  EXPECT_EQ(op.error(), ErrorCode::BadDim);
  op.attrs = axisOf(2);
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
  op = {"ArgMin", {make({}, {1})}, {}, s32};
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
}

const std::vector<DType> valuesAndS32 = {DType::f32, DType::s32};

TEST(TopK, OrderAndTies) {
  Tensor src = make({2, 4}, {1, 3, 3, 2, -1, -5, -1, -1});
  OneOp op{"TopK", {src}, {{"k", int64_t{3}}}, valuesAndS32};
  auto results = op.run();
  expectNear(results[0], {2, 3}, {3, 3, 2, -1, -1, -1});
  expectNear(results[1], {2, 3}, {1, 2, 3, 0, 2, 3});
  op.attrs["largest"] = false;
  op.attrs["k"] = int64_t{2};
  results = op.run();
  expectNear(results[0], {2, 2}, {1, 2, -5, -1});
  expectNear(results[1], {2, 2}, {0, 3, 1, 0});
  op.attrs = axisOf(0, {{"k", int64_t{1}}});
  results = op.run();
  expectNear(results[0], {1, 4}, {1, 3, 3, 2});
  expectNear(results[1], {1, 4}, {0, 0, 0, 0});
  EXPECT_EQ(op.run(4)[1].data, results[1].data);
}

TEST(TopK, NanIsGreatest) {
  Tensor src = make({5}, {kNan, 2, kInf, kNan, -kInf});
  OneOp op{"TopK", {src}, {{"k", int64_t{5}}}, valuesAndS32};
  auto results = op.run();
  expectNear(results[0], {5}, {kNan, kNan, kInf, 2, -kInf});
  expectNear(results[1], {5}, {0, 3, 2, 1, 4});
  op.attrs["largest"] = false;
  results = op.run();
  expectNear(results[0], {5}, {-kInf, 2, kInf, kNan, kNan});
  expectNear(results[1], {5}, {4, 1, 2, 0, 3});
}

TEST(TopK, CountsFromNoneToAll) {
  OneOp op{"TopK", {make({2, 1}, {4, 5})}, axisOf(0), valuesAndS32};
  for (int64_t k : {0, 1, 2}) {
    OneOp byAttr = op, byTensor = op;
    byAttr.attrs["k"] = k;
    byTensor.inputs.push_back(k == 1 ? makeS64({}, {k})
                                     : make({1}, {double(k)}, DType::s32));
    for (const OneOp &one : {byAttr, byTensor}) {
      auto results = one.run();
      std::vector<double> all = {5, 4}, where = {1, 0};
      all.resize(k);
      where.resize(k);
      expectNear(results[0], {k, 1}, all);
      expectNear(results[1], {k, 1}, where);
    }
  }
  op.attrs["k"] = int64_t{3};
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
  op.attrs.erase("k");
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
  op.inputs.push_back(make({1}, {-1}, DType::s32));
  EXPECT_EQ(op.error(), ErrorCode::BadTensorData);
  op.inputs[1] = make({2}, {1, 1}, DType::s32);
  EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
  op = {"TopK", {make({0, 3}, {})}, {{"k", int64_t{2}}}, valuesAndS32};
  expectNear(op.run()[0], {0, 2}, {});
}

TEST(TopK, Integers) {
  constexpr int64_t big = int64_t{1} << 53;
  Tensor src = makeS64({3}, {big, big + 1, -big});
  OneOp op{"TopK", {src}, {{"k", int64_t{2}}}, {DType::s64, DType::s64}};
  auto results = op.run();
  EXPECT_EQ(results[0].integers, (Integers{big + 1, big}));
  EXPECT_EQ(results[1].integers, (Integers{1, 0}));
  op.results = {DType::s64};
  EXPECT_EQ(op.run()[0].integers, (Integers{big + 1, big}));
  // values have the type of src.
  op.results = {DType::f32, DType::s64};
  EXPECT_EQ(op.error(), ErrorCode::BadDType);
  op.results = {DType::s64, DType::f32};
  op.inputs = {make({3}, {1, 2, 3})};
  EXPECT_EQ(op.error(), ErrorCode::BadDType);
}

TEST(CumSum, AllForms) {
  Tensor src = make({2, 3}, {1, 2, 3, 10, 20, 30});
  OneOp op{"CumSum", {src}, axisOf(1)};
  expectNear(op.run()[0], {2, 3}, {1, 3, 6, 10, 30, 60});
  op.attrs["exclusive"] = true;
  expectNear(op.run()[0], {2, 3}, {0, 1, 3, 0, 10, 30});
  op.attrs["reverse"] = true;
  expectNear(op.run()[0], {2, 3}, {5, 3, 0, 50, 30, 0});
  op.attrs["exclusive"] = false;
  expectNear(op.run()[0], {2, 3}, {6, 5, 3, 60, 50, 30});
  op.attrs = axisOf(-2);
  expectNear(op.run()[0], {2, 3}, {1, 2, 3, 11, 22, 33});
  op.inputs = {make({2, 0}, {})};
  expectNear(op.run()[0], {2, 0}, {});
  op.inputs = {make({1, 2}, {kInf, kNan})};
  expectNear(op.run()[0], {1, 2}, {kInf, kNan});
  op.inputs = {make({4}, {1, kNan, 2, -kInf})};
  op.attrs = axisOf(0);
  expectNear(op.run()[0], {4}, {1, kNan, kNan, kNan});
  op.attrs = axisOf(1);
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
  op.inputs = {make({}, {1})};
  op.attrs = axisOf(0);
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
}

TEST(CumSum, IntegersWrap) {
  OneOp op{"CumSum",
           {make({3}, {2147483647, 1, 2}, DType::s32)},
           axisOf(0),
           {DType::s32}};
  expectNear(op.run()[0], {3}, {2147483647, -2147483648.0, -2147483646.0});
  op.inputs = {makeS64({3}, {INT64_MAX, 2, -1})};
  op.results = {DType::s64};
  EXPECT_EQ(op.run()[0].integers,
            (Integers{INT64_MAX, INT64_MIN + 1, INT64_MIN}));
}

TEST(NonZero, PositionsAndCount) {
  Tensor src = make({2, 3}, {0, 5, 0, kNan, -0.0, -1});
  OneOp op{"NonZero", {src}, {}, {DType::s64, DType::s64}};
  auto results = op.run();
  EXPECT_EQ(results[0].shape, (Dims{2, 6}));
  EXPECT_EQ(results[0].integers,
            (Integers{0, 1, 1, 0, 0, 0, 1, 0, 2, 0, 0, 0}));
  EXPECT_EQ(results[1].shape, Dims{});
  EXPECT_EQ(results[1].integers, (Integers{3}));
  op = {"NonZero",
        {make({3}, {1, 0, 1}, DType::boolean)},
        {},
        {DType::s32, DType::s32}};
  results = op.run();
  expectNear(results[0], {1, 3}, {0, 2, 0});
  expectNear(results[1], {}, {2});
  op.inputs = {makeS64({2}, {0, INT64_MIN})};
  results = op.run();
  expectNear(results[0], {1, 2}, {1, 0});
  expectNear(results[1], {}, {1});
}

TEST(NonZero, ScalarsAndNothing) {
  OneOp op{"NonZero", {make({}, {2})}, {}, {DType::s32, DType::s32}};
  auto results = op.run();
  expectNear(results[0], {0, 1}, {});
  expectNear(results[1], {}, {1});
  op.inputs = {make({}, {0})};
  expectNear(op.run()[1], {}, {0});
  op.inputs = {make({2, 0, 3}, {})};
  results = op.run();
  expectNear(results[0], {3, 0}, {});
  expectNear(results[1], {}, {0});
}

} // namespace
