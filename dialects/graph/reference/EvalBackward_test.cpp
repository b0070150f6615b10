//===- EvalBackward_test.cpp - gradients against finite differences -------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/reference/TestOps.h"

using namespace tenon;
using namespace tenon::reference;
using graph::AttrMap;
using graph::Dims;
using graph::DType;

namespace {

struct Activation {
  const char *forward;
  AttrMap attrs;
  bool hasUseDst;
};

/// Away from the kinks of the functions.
const std::vector<double> points = {-4, -1.7, -0.4, 0.3, 0.8, 2.2, 5};

TEST(Backward, ActivationsAreGradients) {
  const Activation activations[] = {
      {"Abs", {}, false},
      {"Clamp", {{"min", -1.f}, {"max", 2.f}}, true},
      {"Elu", {{"alpha", 0.5f}}, true},
      {"GELU", {}, false},
      {"GELU", {{"mode", std::string("gelu_tanh")}}, false},
      {"HardSigmoid", {{"alpha", 0.25f}, {"beta", 0.5f}}, false},
      {"HardSwish", {}, false},
      {"Mish", {}, false},
      {"ReLU", {}, true},
      {"Sigmoid", {}, true},
      {"SoftPlus", {{"beta", -2.f}}, false},
      {"Sqrt", {}, true},
      {"Tanh", {}, true},
  };
  Tensor diffDst = make({7}, {1, -2, 3, -4, 5, -6, 7});
  for (const Activation &a : activations) {
    SCOPED_TRACE(a.forward);
    OneOp forward{a.forward, {make({7}, points)}, a.attrs};
    if (forward.kind == "Sqrt")
      for (double &x : forward.inputs[0].data)
        x = std::fabs(x);
    auto expected = numericGradient(forward, 0, diffDst.data);
    OneOp backward{
        forward.kind + "Backward", {forward.inputs[0], diffDst}, a.attrs};
    backward.attrs["use_dst"] = false;
    expectNear(backward.run()[0], {7}, expected, 1e-7);
    if (!a.hasUseDst)
      continue;
    backward.attrs.erase("use_dst"); // true by default
    backward.inputs[0] = forward.run()[0];
    expectNear(backward.run()[0], {7}, expected, 1e-7);
  }
}

TEST(Backward, ValuesAtTheKinks) {
  auto at = [](const char *kind, double s, AttrMap attrs) {
    attrs["use_dst"] = false;
    return OneOp{kind, {make({1}, {s}), make({1}, {10})}, attrs}
        .run()[0]
        .data[0];
  };
  EXPECT_EQ(at("AbsBackward", 0, {}), 0);
  EXPECT_EQ(at("ReLUBackward", 0, {}), 0);
  EXPECT_EQ(at("ReLUBackward", kNan, {}), 0);
  EXPECT_EQ(at("ReLUBackward", kNan, {{"propagate_nan", true}}), 10);
  EXPECT_EQ(at("ReLUBackward", -1, {{"propagate_nan", true}}), 0);
  EXPECT_EQ(at("EluBackward", 0, {{"alpha", 0.5f}}), 5);
  AttrMap bounds = {{"min", -1.f}, {"max", 1.f}};
  EXPECT_EQ(at("ClampBackward", 1, bounds), 0);
  EXPECT_EQ(at("ClampBackward", -1, bounds), 0);
  EXPECT_EQ(at("HardSwishBackward", -3, {}), 0);
  EXPECT_EQ(at("HardSwishBackward", 3, {}), 10);
}

TEST(Backward, NoOverflow) {
  for (double s : {-1000.0, 1000.0}) {
    OneOp op{"MishBackward", {make({1}, {s}), make({1}, {1})}};
    expectNear(op.run()[0], {1}, {s > 0 ? 1.0 : 0.0});
    OneOp limit{"MishBackward",
                {make({1}, {s * std::numeric_limits<double>::infinity()}),
                 make({1}, {1})}};
    expectNear(limit.run()[0], {1}, {s > 0 ? 1.0 : 0.0});
    op.kind = "GELUBackward";
    op.attrs["mode"] = std::string("gelu_tanh");
    expectNear(op.run()[0], {1}, {s > 0 ? 1.0 : 0.0});
  }
}

TEST(Backward, NoCancellation) {
  for (double s : {-50.0, -20.0, 20.0, 50.0}) {
    OneOp op{
        "TanhBackward", {make({1}, {s}), make({1}, {1})}, {{"use_dst", false}}};
    double e = std::exp(-std::abs(s));
    EXPECT_NEAR(op.run()[0].data[0] / (4 * e * e), 1, 1e-12) << s;
    op.kind = "SigmoidBackward";
    EXPECT_NEAR(op.run()[0].data[0] / e, 1, 1e-8) << s;
  }
}

TEST(Backward, PRelu) {
  AttrMap ncx = {{"data_format", std::string("NCX")}};
  for (Dims slope : {Dims{2}, Dims{1}, Dims{1, 2, 1}, Dims{3, 1, 1}}) {
    // The forward takes a slope of one entry only without the channel flag.
    AttrMap attrs = ncx;
    attrs["per_channel_broadcast"] = slope != Dims{1};
    OneOp forward{"PReLU",
                  {make({3, 2, 2}, ramp(12)),
                   make(slope, ramp(elementCount(slope), 0.3))},
                  attrs};
    Tensor diffDst = make({3, 2, 2}, ramp(12, 0.41));
    OneOp backward{"PReLUBackward",
                   {forward.inputs[0], forward.inputs[1], diffDst},
                   ncx,
                   {DType::f32, DType::f32}};
    auto results = backward.run();
    expectNear(results[0], {3, 2, 2}, numericGradient(forward, 0, diffDst.data),
               1e-7);
    expectNear(results[1], slope, numericGradient(forward, 1, diffDst.data),
               1e-7);
  }
}

TEST(Backward, BiasAdd) {
  OneOp op{"BiasAddBackward", {make({2, 1, 2}, {1, 2, 3, 4})}};
  expectNear(op.run()[0], {2}, {4, 6});
  op.attrs["data_format"] = std::string("NCX");
  expectNear(op.run()[0], {1}, {10});
}

TEST(Backward, SoftMaxFamily) {
  for (const char *kind : {"SoftMax", "LogSoftmax"})
    for (int64_t axis : {0, 1}) {
      OneOp forward{kind, {make({3, 4}, ramp(12))}, {{"axis", axis}}};
      Tensor diffDst = make({3, 4}, ramp(12, 0.41));
      OneOp backward{std::string(kind) + "Backward",
                     {diffDst, forward.run()[0]},
                     forward.attrs};
      expectNear(backward.run()[0], {3, 4},
                 numericGradient(forward, 0, diffDst.data), 1e-7);
    }
}

TEST(Backward, LayerNorm) {
  for (int64_t axis : {-1, 1}) {
    Dims inner = axis == 1 ? Dims{2, 4} : Dims{4};
    OneOp forward{"LayerNorm",
                  {make({2, 2, 4}, ramp(16)),
                   make(inner, ramp(elementCount(inner), 0.3)),
                   make(inner, ramp(elementCount(inner), 0.2))},
                  {{"begin_norm_axis", axis}, {"epsilon", 0.1f}},
                  std::vector<DType>(3, DType::f32)};
    auto results = forward.run();
    Tensor diffDst = make({2, 2, 4}, ramp(16, 0.41));
    OneOp backward{"LayerNormBackward",
                   {forward.inputs[0], diffDst, results[1], results[2],
                    forward.inputs[1], forward.inputs[2]},
                   forward.attrs,
                   forward.results};
    auto gradients = backward.run();
    for (size_t i = 0; i < 3; ++i)
      expectNear(gradients[i], forward.inputs[i].shape,
                 numericGradient(forward, i, diffDst.data), 1e-6);
  }
}

TEST(Backward, GroupNorm) {
  for (bool last : {false, true}) {
    Dims shape = last ? Dims{2, 3, 4} : Dims{2, 4, 3};
    OneOp forward{"GroupNorm",
                  {make(shape, ramp(24)), make({4}, {1, -2, 0.5, 3}),
                   make({4}, {1, 2, 3, 4})},
                  {{"groups", int64_t{2}},
                   {"epsilon", 0.1f},
                   {"data_format", std::string(last ? "NXC" : "NCX")}},
                  std::vector<DType>(3, DType::f32)};
    auto results = forward.run();
    Tensor diffDst = make(shape, ramp(24, 0.41));
    OneOp backward{
        "GroupNormBackward",
        {forward.inputs[0], diffDst, results[1], results[2], forward.inputs[1]},
        forward.attrs,
        forward.results};
    auto gradients = backward.run(), all = gradients;
    for (size_t i = 0; i < 3; ++i)
      expectNear(gradients[i], forward.inputs[i].shape,
                 numericGradient(forward, i, diffDst.data), 1e-6);
    // Gradients that are left out change no other.
    backward.results[1] = DType::undef;
    EXPECT_EQ(backward.run()[2].data, all[2].data);
    backward.results = {DType::f32};
    EXPECT_EQ(backward.run()[0].data, all[0].data);
    // Without gamma.
    backward.inputs.pop_back();
    forward.inputs[1].data.assign(4, 1);
    expectNear(backward.run()[0], shape,
               numericGradient(forward, 0, diffDst.data), 1e-6);
  }
}

TEST(Backward, GroupNormFormsAndErrors) {
  auto matrix = [](Dims shape) {
    return make(shape, ramp(elementCount(shape)));
  };
  OneOp op{"GroupNormBackward",
           {matrix({2, 4}), matrix({2, 4}), matrix({2, 2}),
            make({2, 2}, {1, 1, 1, 1})},
           {{"groups", int64_t{2}}}};
  EXPECT_EQ(op.run()[0].shape, (Dims{2, 4}));
  op.attrs["groups"] = int64_t{3};
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
  op.attrs["groups"] = int64_t{4};
  EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
  op.inputs = {matrix({0, 4, 3}), matrix({0, 4, 3}), matrix({0, 2}),
               matrix({0, 2}), matrix({3})};
  op.attrs["groups"] = int64_t{3};
  op.inputs[2] = op.inputs[3] = matrix({0, 3});
  op.results = std::vector<DType>(3, DType::f32);
  expectNear(op.run()[1], {3}, {0, 0, 0});
  op.inputs[4] = matrix({4});
  EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
  op.inputs[0] = matrix({4});
  EXPECT_EQ(op.error(), ErrorCode::BadRank);
}

TEST(Backward, RmsNorm) {
  for (int64_t axis : {-1, 1}) {
    Dims inner = axis == 1 ? Dims{2, 4} : Dims{4};
    OneOp forward{"RMSNorm",
                  {make({2, 2, 4}, ramp(16)),
                   make(inner, ramp(elementCount(inner), 0.3))},
                  {{"begin_norm_axis", axis}, {"epsilon", 0.1f}}};
    Tensor diffDst = make({2, 2, 4}, ramp(16, 0.41));
    OneOp backward{"RMSNormBackward",
                   {forward.inputs[0], diffDst, forward.inputs[1]},
                   forward.attrs,
                   {DType::f32, DType::f32}};
    auto gradients = backward.run();
    for (size_t i = 0; i < 2; ++i)
      expectNear(gradients[i], forward.inputs[i].shape,
                 numericGradient(forward, i, diffDst.data), 1e-6);
    // gamma is 1 if it is left out.
    backward.inputs.pop_back();
    Tensor ofGamma = backward.run()[1];
    EXPECT_EQ(ofGamma.data, gradients[1].data);
    forward.inputs.pop_back();
    backward.results.pop_back();
    expectNear(backward.run()[0], {2, 2, 4},
               numericGradient(forward, 0, diffDst.data), 1e-6);
  }
  OneOp op{"RMSNormBackward",
           {make({2, 3}, ramp(6)), make({2, 3}, ramp(6)), make({2}, {1, 1})}};
  EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
  op.attrs["begin_norm_axis"] = int64_t{2};
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
  op = {"RMSNormBackward", {make({0, 3}, {}), make({0, 3}, {})}};
  op.results = {DType::f32, DType::f32};
  expectNear(op.run()[1], {3}, {0, 0, 0});
}

TEST(Backward, BatchNorm) {
  AttrMap attrs = {{"epsilon", 0.1f}, {"data_format", std::string("NCX")}};
  OneOp forward{"BatchNormForwardTraining",
                {make({3, 2, 2}, ramp(12)), make({2}, {0, 0}),
                 make({2}, {1, 1}), make({2}, {2, -3}), make({2}, {1, 5})},
                attrs,
                std::vector<DType>(5, DType::f32)};
  auto results = forward.run();
  Tensor diffDst = make({3, 2, 2}, ramp(12, 0.41));
  OneOp backward{
      "BatchNormTrainingBackward",
      {forward.inputs[0], diffDst, results[3], results[4], forward.inputs[3]},
      attrs,
      std::vector<DType>(3, DType::f32)};
  auto gradients = backward.run();
  const size_t operands[] = {0, 3, 4};
  for (size_t i = 0; i < 3; ++i)
    expectNear(gradients[i], forward.inputs[operands[i]].shape,
               numericGradient(forward, operands[i], diffDst.data), 1e-6);
  // One result: constant statistics, no gamma.
  backward.results = {DType::f32};
  std::vector<double> expected;
  for (int64_t i = 0; i < 12; ++i)
    expected.push_back(diffDst.data[i] /
                       std::sqrt(results[4].data[i / 2 % 2] + 0.1f));
  expectNear(backward.run()[0], {3, 2, 2}, expected);
}

} // namespace
