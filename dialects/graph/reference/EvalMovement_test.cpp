//===- EvalMovement_test.cpp - data movement, reductions, quantisation ----===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/reference/TestOps.h"

using namespace tenon;
using namespace tenon::reference;
using graph::AttrMap;
using graph::Dims;
using graph::DType;

namespace {

TEST(Movement, Concat) {
  Tensor a = make({2, 1}, {1, 2}), b = make({2, 2}, {3, 4, 5, 6});
  OneOp op{"Concat", {a, b}, {{"axis", int64_t{-1}}}};
  expectNear(op.run()[0], {2, 3}, {1, 3, 4, 2, 5, 6});
  op.attrs["axis"] = int64_t{0};
  EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
  op.attrs["axis"] = int64_t{2};
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
}

TEST(Movement, Transpose) {
  OneOp op{"StaticTranspose",
           {make({1, 2, 3}, {1, 2, 3, 4, 5, 6})},
           {{"order", Dims{-1, 0, 1}}}};
  expectNear(op.run()[0], {3, 1, 2}, {1, 4, 2, 5, 3, 6});
  op.attrs["order"] = Dims{};
  expectNear(op.run()[0], {3, 2, 1}, {1, 4, 2, 5, 3, 6});
  for (Dims bad : {Dims{0, 1}, Dims{0, 1, 1}, Dims{0, 1, 3}, Dims{0, 1, -4}}) {
    op.attrs["order"] = bad;
    EXPECT_EQ(op.error(), ErrorCode::AttrValue);
  }
}

TEST(Movement, Reshape) {
  OneOp op{"StaticReshape",
           {make({2, 3}, {1, 2, 3, 4, 5, 6})},
           {{"shape", Dims{0, -1, 1}}, {"special_zero", true}}};
  expectNear(op.run()[0], {2, 3, 1}, {1, 2, 3, 4, 5, 6});
  op.attrs["shape"] = Dims{4, -1};
  EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
  op.attrs["shape"] = Dims{-1, -1};
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
  op.attrs["shape"] = Dims{1, 1, 0};
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
  op.inputs = {make({0, 3}, {})};
  op.attrs["shape"] = Dims{3, 0};
  op.attrs["special_zero"] = false;
  expectNear(op.run()[0], {3, 0}, {});
  op.attrs["shape"] = Dims{0, -1};
  EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
}

TEST(Movement, GenIndexAndReorder) {
  Tensor src = make({2, 2}, {5, 6, 7, 8});
  OneOp index{"GenIndex", {src}, {{"axis", int64_t{0}}}, {DType::s32}};
  expectNear(index.run()[0], {2, 2}, {0, 0, 1, 1});
  expectNear(OneOp{"Reorder", {src}}.run()[0], {2, 2}, src.data);
}

TEST(Movement, TypeCastRounds) {
  OneOp op{
      "TypeCast", {make({3}, {1.00390625, 65520, 0.1})}, {}, {DType::bf16}};
  expectNear(op.run()[0], {3}, {1, 65536, 0.10009765625}, 0);
  op.results = {DType::f16};
  EXPECT_EQ(op.run()[0].data[1], kInf);
}

TEST(Movement, TypeCastOfIntegers) {
  std::vector<double> values = {0,     -0.5,  0.5,  1.9,        -1.9,
                                127.5, -129,  300,  3000000000, -7,
                                kInf,  -kInf, kNan, 0x1p-149};
  auto n = static_cast<int64_t>(values.size());
  OneOp op{"TypeCast", {make({n}, values)}, {}, {DType::s8}};
  expectNear(op.run()[0], {n},
             {0, 0, 0, 1, -1, 127, -128, 127, 127, -7, 127, -128, 0, 0}, 0);
  op.results = {DType::u8};
  expectNear(op.run()[0], {n},
             {0, 0, 0, 1, 0, 127, 0, 255, 255, 0, 255, 0, 0, 0}, 0);
  op.results = {DType::boolean};
  expectNear(op.run()[0], {n}, {0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 0);
  op.results = {DType::s64};
  EXPECT_EQ(op.run()[0].integers,
            (std::vector<int64_t>{0, 0, 0, 1, -1, 127, -129, 300, 3000000000,
                                  -7, INT64_MAX, INT64_MIN, 0, 0}));
  // Integers wrap.
  op.inputs = {make({5}, {0, 200, -129, 256, 2147483648.0}, DType::s64)};
  op.results = {DType::s8};
  expectNear(op.run()[0], {5}, {0, -56, 127, 0, 0}, 0);
  op.results = {DType::s32};
  expectNear(op.run()[0], {5}, {0, 200, -129, 256, -2147483648.0}, 0);
  op.results = {DType::boolean};
  expectNear(op.run()[0], {5}, {0, 1, 1, 1, 1}, 0);
  // One rounding to f32.
  op.inputs = {make({2}, {16777217, -16777219}, DType::s32)};
  op.results = {DType::f32};
  expectNear(op.run()[0], {2}, {16777216, -16777220}, 0);
}

TEST(Movement, S64KeepsAllBits) {
  const std::vector<int64_t> values = {
      (int64_t{1} << 53) + 1,  INT64_MAX, INT64_MIN,
      -(int64_t{1} << 53) - 1, 7,         INT64_MAX - 1};
  Tensor src = makeS64({2, 3}, values);
  auto run = [&](OneOp op) {
    op.results = {DType::s64};
    return op.run()[0].integers;
  };
  EXPECT_EQ(run({"StaticReshape",
                 {src},
                 {{"shape", graph::Dims{3, 2}}, {"special_zero", false}}}),
            values);
  EXPECT_EQ(run({"Reorder", {src}}), values);
  EXPECT_EQ(run({"StaticTranspose", {src}}),
            (std::vector<int64_t>{values[0], values[3], values[1], values[4],
                                  values[2], values[5]}));
  EXPECT_EQ(
      run({"Concat", {src, makeS64({2, 1}, {1, 2})}, {{"axis", int64_t{1}}}}),
      (std::vector<int64_t>{values[0], values[1], values[2], 1, values[3],
                            values[4], values[5], 2}));
}

TEST(Movement, CastsOfS64InARow) {
  auto cast = [](Tensor src, DType to) {
    return OneOp{"TypeCast", {std::move(src)}, {}, {to}}.run()[0];
  };
  Tensor far = make({4}, {1e38, -1e38, kNan, 0x1p62});
  Tensor wide = cast(far, DType::s64);
  EXPECT_EQ(wide.integers,
            (std::vector<int64_t>{INT64_MAX, INT64_MIN, 0, int64_t{1} << 62}));
  EXPECT_EQ(cast(wide, DType::s32).data, (std::vector<double>{-1, 0, 0, 0}));
  EXPECT_EQ(cast(wide, DType::u8).data, (std::vector<double>{255, 0, 0, 0}));
  EXPECT_EQ(cast(wide, DType::boolean).data, (std::vector<double>{1, 1, 0, 1}));
  EXPECT_EQ(cast(wide, DType::f32).data,
            (std::vector<double>{0x1p63, -0x1p63, 0, 0x1p62}));
  EXPECT_EQ(cast(make({2}, {-1, 5}, DType::s32), DType::s64).integers,
            (std::vector<int64_t>{-1, 5}));
}

TEST(Movement, SeedsOfDropoutHaveAllBits) {
  constexpr int64_t seed = (int64_t{1} << 53) + 1;
  auto run = [&](int64_t seed, int64_t offset) {
    return OneOp{"Dropout",
                 {make({4096}, std::vector<double>(4096, 1)),
                  makeS64({}, {seed}), makeS64({}, {offset}), make({}, {0.5})}}
        .run()[0]
        .data;
  };
  EXPECT_NE(run(seed, 3), run(seed - 1, 3));
  EXPECT_NE(run(3, seed), run(3, seed - 1));
}

TEST(Movement, S64IsRefusedWhereItIsComputedWith) {
  Tensor wide = makeS64({2}, {1, 2}), f32 = make({2}, {1, 2});
  OneOp exp{"Exp", {wide}, {}, {DType::s64}};
  EXPECT_EQ(exp.error(), ErrorCode::BadDType);
  OneOp round{"Round", {f32}, {}, {DType::s64}};
  EXPECT_EQ(round.error(), ErrorCode::BadDType);
  OneOp reorder{"Reorder", {wide}, {}, {DType::f32}};
  EXPECT_EQ(reorder.error(), ErrorCode::BadDType);
  OneOp concat{"Concat", {wide, f32}, {{"axis", int64_t{0}}}, {DType::s64}};
  EXPECT_EQ(concat.error(), ErrorCode::BadDType);
  OneOp dropout{"Dropout", {wide, wide, wide, make({}, {0.5})}};
  EXPECT_EQ(dropout.error(), ErrorCode::BadDType);
}

TEST(Movement, Dropout) {
  std::vector<double> ones(4096, 1);
  auto run = [&](double seed, double offset, double probability) {
    return OneOp{"Dropout",
                 {make({4096}, ones), make({}, {seed}, DType::s64),
                  make({}, {offset}, DType::s64), make({}, {probability})},
                 {},
                 {DType::f32, DType::u8}}
        .run();
  };
  auto results = run(7, 3, 0.25);
  double kept = 0;
  for (size_t i = 0; i < 4096; ++i) {
    kept += results[1].data[i];
    EXPECT_EQ(results[0].data[i], results[1].data[i] / 0.75);
  }
  EXPECT_NEAR(kept / 4096, 0.75, 0.03);
  EXPECT_EQ(run(7, 3, 0.25)[0].data, results[0].data);
  EXPECT_NE(run(8, 3, 0.25)[0].data, results[0].data);
  EXPECT_NE(run(7, 4, 0.25)[0].data, results[0].data);
  EXPECT_EQ(run(7, 3, 0)[0].data, ones);
  EXPECT_EQ(run(7, 3, 1)[0].data, std::vector<double>(4096, 0));
  // Offset 0: four neighbours share one number.
  auto legacy = run(7, 0, 0.5)[1];
  for (size_t i = 0; i < 4096; ++i)
    EXPECT_EQ(legacy.data[i], legacy.data[i & ~size_t{3}]);
}

TEST(Movement, RandomUniform) {
  auto uniform = [](int64_t seed, int64_t offset, const Dims &shape) {
    return OneOp{"RandomUniform",
                 {makeS64({1}, {seed}), makeS64({}, {offset})},
                 {{"shape", shape}}};
  };
  Tensor drawn = uniform(7, 3, {4096}).run()[0];
  double sum = 0;
  for (double value : drawn.data) {
    EXPECT_TRUE(value >= 0 && value < 1) << value;
    EXPECT_EQ(std::fmod(value * 0x1p24, 1), 0) << value;
    sum += value;
  }
  EXPECT_NEAR(sum / 4096, 0.5, 0.02);
  // By the numbers alone, whatever the shape.
  EXPECT_EQ(uniform(7, 3, {64, 64}).run()[0].data, drawn.data);
  EXPECT_EQ(uniform(7, 3, {}).run()[0].data[0], drawn.data[0]);
  EXPECT_NE(uniform(8, 3, {4096}).run()[0].data, drawn.data);
  EXPECT_NE(uniform(7, 4, {4096}).run()[0].data, drawn.data);
  EXPECT_EQ(uniform(7, 3, {5, 0}).run()[0].shape, (Dims{5, 0}));
  // Those of Dropout, but for offset 0, where neighbours are not the same.
  OneOp dropout{"Dropout",
                {make({4096}, std::vector<double>(4096, 1)), makeS64({}, {7}),
                 makeS64({}, {3}), make({}, {0.5})}};
  Tensor kept = dropout.run()[0];
  for (size_t i = 0; i < 4096; ++i)
    EXPECT_EQ(kept.data[i] != 0, drawn.data[i] >= 0.5) << i;
  Tensor first = uniform(7, 0, {4}).run()[0];
  EXPECT_NE(first.data[0], first.data[1]);
  EXPECT_EQ(uniform(7, 3, {2, -1}).error(), ErrorCode::AttrValue);

  OneOp byTensor = uniform(7, 3, {});
  byTensor.attrs.clear();
  byTensor.inputs.push_back(make({2}, {2, 3}, DType::s32));
  Tensor six = byTensor.run()[0];
  EXPECT_EQ(six.shape, (Dims{2, 3}));
  EXPECT_TRUE(std::equal(six.data.begin(), six.data.end(), drawn.data.begin()));
  byTensor.inputs[2] = makeS64({1}, {-1});
  EXPECT_EQ(byTensor.error(), ErrorCode::BadTensorData);
  byTensor.inputs[2] = makeS64({}, {1});
  EXPECT_EQ(byTensor.error(), ErrorCode::BadRank);
  byTensor.inputs[2] = makeS64({1}, {int64_t{1} << 60});
  EXPECT_EQ(byTensor.error(), ErrorCode::TooLarge);
  byTensor.inputs[0] = makeS64({2}, {1, 2});
  byTensor.inputs[2] = makeS64({1}, {4});
  EXPECT_EQ(byTensor.error(), ErrorCode::ShapeMismatch);
}

TEST(Reduce, AllKinds) {
  Tensor src = make({2, 2}, {1, -2, 3, 4});
  struct Case {
    const char *kind;
    std::vector<double> rows;
  };
  const Case cases[] = {{"ReduceSum", {-1, 7}},
                        {"ReduceMean", {-0.5, 3.5}},
                        {"ReduceMax", {1, 4}},
                        {"ReduceMin", {-2, 3}},
                        {"ReduceProd", {-2, 12}},
                        {"ReduceL1", {3, 7}},
                        {"ReduceL2", {std::sqrt(5.0), 5}}};
  for (const Case &c : cases) {
    SCOPED_TRACE(c.kind);
    OneOp op{c.kind, {src}, {{"axes", Dims{-1}}}};
    expectNear(op.run()[0], {2}, c.rows);
    op.attrs["keep_dims"] = true;
    expectNear(op.run()[0], {2, 1}, c.rows);
  }
}

TEST(Reduce, WithoutAxesNothingIsReduced) {
  for (const char *kind : {"ReduceL1", "ReduceL2", "ReduceSum", "ReduceMean"}) {
    OneOp op{kind, {make({3}, {-3, 0, 2})}, {{"axes", Dims{}}}};
    expectNear(op.run()[0], {3}, {-3, 0, 2});
  }
}

TEST(Reduce, AxesAndEmptyDims) {
  Tensor src = make({2, 1, 3}, {1, 2, 3, 4, 5, 6});
  OneOp op{"ReduceSum", {src}, {{"axes", Dims{0, 2}}}};
  expectNear(op.run()[0], {1}, {21});
  op.attrs["axes"] = Dims{0, 1, 2};
  expectNear(op.run()[0], {}, {21});
  op.attrs = {};
  expectNear(op.run()[0], {2, 1, 3}, src.data);
  op.inputs.push_back(make({1}, {-3}, DType::s32));
  expectNear(op.run()[0], {1, 3}, {5, 7, 9});
  OneOp repeated{"ReduceSum", {src}, {{"axes", Dims{0, -3}}}};
  EXPECT_EQ(repeated.error(), ErrorCode::AttrValue);
  // Only the reduced dim disappears.
  OneOp empty{"ReduceMax", {make({2, 0}, {})}, {{"axes", Dims{0}}}};
  expectNear(empty.run()[0], {0}, {});
  empty.attrs["axes"] = Dims{1};
  expectNear(empty.run()[0], {2}, {-kInf, -kInf});
}

TEST(Quantize, RoundsAfterAddingTheZeroPoint) {
  OneOp op{"Quantize",
           {make({4}, {0.5, 1.5, -100, 1000})},
           {{"scales", std::vector<float>{1}}, {"zps", Dims{1}}},
           {DType::u8}};
  expectNear(op.run()[0], {4}, {2, 2, 0, 255});
  op.attrs["scales"] = std::vector<float>{0};
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
}

TEST(Quantize, Float8DoesNotSaturate) {
  OneOp op{"Quantize",
           {make({2}, {465, 1.05})},
           {{"scales", std::vector<float>{1}}},
           {DType::f8_e4m3}};
  expectNear(op.run()[0], {2}, {kNan, 1});
}

TEST(Quantize, PerChannel) {
  AttrMap attrs = {{"qtype", std::string("per_channel")},
                   {"axis", int64_t{-1}},
                   {"scales", std::vector<float>{0.5, 2}},
                   {"zps", Dims{0, 10}}};
  Tensor src = make({2, 2}, {1, 4, -2, 8});
  OneOp quantize{"Quantize", {src}, attrs, {DType::s8}};
  expectNear(quantize.run()[0], {2, 2}, {2, 12, -4, 14});
  Tensor q = make({2, 2}, {2, 12, -4, 14}, DType::s8);
  OneOp dequantize{"Dequantize", {q}, attrs};
  expectNear(dequantize.run()[0], {2, 2}, src.data);
  dequantize.attrs["scales"] = std::vector<float>{1, 2, 3};
  EXPECT_EQ(dequantize.error(), ErrorCode::AttrValue);
}

TEST(Quantize, DynamicPerGroup) {
  Tensor q = make({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}, DType::s8);
  OneOp op{"DynamicDequantize",
           {q, make({2, 2}, {1, 10, 100, 1000}),
            make({2, 2}, {0, 1, 0, 2}, DType::s8)},
           {{"qtype", std::string("per_group")}, {"group_shape", Dims{1, 2}}}};
  expectNear(op.run()[0], {2, 4}, {1, 2, 20, 30, 500, 600, 5000, 6000});
  op.attrs["group_shape"] = Dims{1, 3};
  EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
}

TEST(Quantize, DynamicQuantizePerGroup) {
  OneOp op{"DynamicQuantize",
           {make({2, 4}, {1, 2, 30, 40, 500, 600, 7000, 1e6}),
            make({2, 2}, {1, 10, 100, 1000}),
            make({2, 2}, {0, 1, 0, 2}, DType::s8)},
           {{"qtype", std::string("per_group")}, {"group_shape", Dims{1, 2}}},
           {DType::u4}};
  expectNear(op.run()[0], {2, 4}, {1, 2, 4, 5, 5, 6, 9, 15});
}

TEST(Quantize, PowersOfTwoAsScales) {
  OneOp op{"DynamicQuantize",
           {make({1, 4}, {1, 4000, -1e6, kNan}),
            make({1, 2}, {0.5, 4}, DType::f8_e8m0)},
           {{"qtype", std::string("per_group")},
            {"group_shape", Dims{1, 2}},
            {"saturate", true}},
           {DType::f8_e4m3}};
  expectNear(op.run()[0], {1, 4}, {2, 448, -448, kNan});
  op.attrs["saturate"] = false;
  expectNear(op.run()[0], {1, 4}, {2, kNan, kNan, kNan});
}

TEST(Quantize, DynamicPerTensor) {
  OneOp op{"DynamicQuantize",
           {make({2}, {1, -1}), make({1}, {0.5}), make({1}, {3}, DType::s32)},
           {},
           {DType::u8}};
  expectNear(op.run()[0], {2}, {5, 1});
}

} // namespace
