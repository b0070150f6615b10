// SPDX-License-Identifier: Apache-2.0
// Values at the edges of element types: what casts saturate, wrap and round;
// 64-bit integers without a detour; and Dropout against the published random
// numbers.
#include "tests/ops/GivenValues.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tenon;
using namespace tenon::test;
using graph::DType;

namespace {

TEST(Casts, FromFloat) {
  for (std::string to : {"s64", "s32", "s8", "u8", "boolean"})
    checkValues("y/" + to + " = TypeCast 211", kFloats);
}

/// All numbers of a float of 8 bits, and f32 on and beside the middle of each
/// two of them, which is where they are rounded.
std::vector<double> byteFloatEdges(DType dtype) {
  std::vector<double> values = kFloats;
  for (uint64_t code = 0; code < 128; ++code) {
    double low = reference::decode(dtype, code);
    double high = reference::decode(dtype, code + 1);
    if (!std::isfinite(low))
      break;
    if (!std::isfinite(high)) // as if there were one more
      high = 2 * low - reference::decode(dtype, code - 1);
    auto middle = static_cast<float>((low + high) / 2);
    for (double x : {low, double(middle), double(std::nextafterf(middle, 0)),
                     double(std::nextafterf(middle, 1e9f)), high})
      values.insert(values.end(), {x, -x});
  }
  return values;
}

TEST(Casts, ByteFloats) {
  for (DType dtype : {DType::f8_e5m2, DType::f8_e4m3}) {
    const std::vector<double> values = byteFloatEdges(dtype);
    std::string type(name(dtype)), count = std::to_string(values.size());
    checkValues("y/" + type + " = TypeCast " + count, values);
    checkValues("y/f32 = TypeCast " + count + "/" + type, values);
    checkValues("y/" + type + " = Quantize " + count + " scales=1", values);
  }
}

/// Around the bounds of all integer types, and ties of f32 that vanish in a
/// double.
const std::vector<int64_t> kIntegers = {0,
                                        1,
                                        -1,
                                        127,
                                        128,
                                        255,
                                        256,
                                        -128,
                                        -129,
                                        -256,
                                        65536,
                                        16777217,
                                        INT32_MAX,
                                        INT32_MIN,
                                        int64_t{INT32_MAX} + 1,
                                        int64_t{INT32_MIN} - 1,
                                        (int64_t{1} << 32) + 5,
                                        (int64_t{1} << 53) + 1,
                                        -(int64_t{1} << 53) - 1,
                                        (int64_t{1} << 60) +
                                            (int64_t{1} << 36) + 1,
                                        (int64_t{1} << 60) + (int64_t{1} << 36),
                                        INT64_MAX - 1,
                                        INT64_MAX,
                                        INT64_MIN,
                                        INT64_MIN + 1};

const std::vector<std::string> kIntegerTypes = {"s64", "s32", "s8", "u8",
                                                "boolean"};

const std::vector<std::string> kNarrowFloats = {"bf16", "f16", "f8_e5m2",
                                                "f8_e4m3"};

TEST(Casts, FromInteger) {
  std::vector<std::string> types = kIntegerTypes;
  types.push_back("f32");
  types.insert(types.end(), kNarrowFloats.begin(), kNarrowFloats.end());
  for (const std::string &from : kIntegerTypes)
    for (const std::string &to : types)
      if (from != to)
        checkAll<int64_t>("y/" + to + " = TypeCast 211/" + from, {kIntegers});
}

/// One cast after the other, as each of them says: nothing is skipped, and no
/// value on the way has more or fewer bits than its type.
TEST(Casts, InARow) {
  for (const std::string &middle : kIntegerTypes)
    for (std::string to : {"f32", "s64", "s32", "s8", "u8", "boolean"})
      if (middle != to) {
        std::string second = "; y/" + to + " = TypeCast m";
        checkValues("m/" + middle + " = TypeCast 211" + second, kFloats);
        for (std::string from : {"s64", "s32", "u8"})
          if (from != middle)
            checkAll<int64_t>("m/" + middle + " = TypeCast 211/" + from +
                                  second,
                              {kIntegers});
      }
  for (const std::string &narrow : kNarrowFloats) {
    std::string widened = "w/f32 = TypeCast 211/" + narrow;
    for (const std::string &to : kIntegerTypes)
      checkValues(widened + "; y/" + to + " = TypeCast w", kFloats);
    for (std::string from : {"s64", "s32", "u8"})
      checkAll<int64_t>("w/f32 = TypeCast 211/" + from + "; y/" + narrow +
                            " = TypeCast w",
                        {kIntegers});
  }
}

/// Numbers on and beside ties, the largest ones, denormal ones.
TEST(Casts, NarrowFloats) {
  std::vector<double> values = kFloats;
  for (double x :
       {1.00390625, 1.01171875, 0x1.fep127, 0x1.ffp127, 0x1.ff8p127, 65504.0,
        65519.0,    65520.0,    0x1p-126,   0x1p-127,   0x1p-130,    0x1.8p-133,
        0x1p-133,   0x1p-134,   0x1.8p-134, 0x1p-24,    0x1p-25,     0x1.8p-25,
        0x1.8p-24,  0x1p-14,    0x1.ffcp-15})
    values.insert(values.end(), {x, -x});
  for (std::string narrow : {"bf16", "f16"}) {
    checkValues("y/" + narrow + " = TypeCast 211", values);
    checkValues("y/f32 = TypeCast 211/" + narrow, values);
  }
  for (const std::string &from : kNarrowFloats) {
    for (const std::string &to : kNarrowFloats)
      if (from != to)
        checkValues("y/" + to + " = TypeCast 211/" + from, values);
    for (const std::string &to : kIntegerTypes)
      checkValues("y/" + to + " = TypeCast 211/" + from, kFloats);
  }
}

/// f64 to all types, on and beside what each of them rounds and saturates, also
/// where f32 on the way would round a second time; and back.
TEST(Casts, Doubles) {
  std::vector<double> values = kFloats;
  for (double x : {0.1,
                   1 + 0x1p-52,
                   1 + 0x1p-24 + 0x1p-52,
                   1 + 0x1p-24 - 0x1p-52,
                   1 + 0x1p-8 + 0x1p-52,
                   1 + 0x1p-8 - 0x1p-52,
                   1 + 0x1p-11 + 0x1p-40,
                   0x1p31 - 0x1p-20,
                   0x1p31 - 0.5,
                   0x1p53 - 1,
                   0x1p63 - 0x1p10,
                   127.999999,
                   128 - 0x1p-45,
                   256 - 0x1p-45,
                   0x1.ffffffp127,
                   0x1.fffffefp127,
                   0x1p128,
                   1e300,
                   0x1p-1074,
                   0x1p-150,
                   0x1.8p-149,
                   0x1.8000001p-149,
                   0x1.7ffffffp-127,
                   0x1.8p-127,
                   0x1.7ffffffp0,
                   0x1p-134 + 0x1p-170,
                   65520.0,
                   65519.9999999,
                   464.0000001,
                   463.9999999,
                   61439.9999999})
    values.insert(values.end(), {x, -x});
  for (std::string to : {"f32", "bf16", "f16", "f8_e5m2", "f8_e4m3", "f8_e8m0",
                         "s64", "s32", "s8", "u8", "boolean"})
    checkValues("y/" + to + " = TypeCast 211/f64", values);
  for (std::string from : {"f32", "bf16", "f16", "f8_e5m2", "f8_e4m3"})
    checkValues("y/f64 = TypeCast 211/" + from, kFloats);
  for (const std::string &from : kIntegerTypes)
    checkAll<int64_t>("y/f64 = TypeCast 211/" + from, {kIntegers});
}

/// All bytes of powers of two, and floats on and beside the middle of each two.
TEST(Casts, PowersOfTwo) {
  std::vector<double> powers, values = kFloats;
  for (int exponent = -127; exponent <= 127; ++exponent) {
    double power = std::ldexp(1.0, exponent);
    auto middle = static_cast<float>(1.5 * power);
    powers.push_back(power);
    for (double x : {power, double(middle), double(std::nextafterf(middle, 0)),
                     double(std::nextafterf(middle, kInf))})
      values.push_back(x);
  }
  powers.push_back(kNan);
  checkValues("y/f8_e8m0 = TypeCast 2111", values);
  checkValues("y/f8_e8m0 = TypeCast 2111/bf16", values);
  for (std::string to : {"f32", "f64", "bf16", "f16", "f8_e4m3", "s32"})
    checkValues("y/" + to + " = TypeCast 256/f8_e8m0", powers);
}

/// Integers beside the ties of 8 and 11 bits, at all sizes: they are rounded
/// once, not to f32 first.
TEST(Casts, LargeIntegersRoundOnce) {
  std::vector<int64_t> values;
  for (int bits : {8, 11})
    for (int shift = 1; shift + bits < 63; ++shift)
      for (int64_t odd : {1, 3}) {
        int64_t top = (int64_t{1} << (bits - 1)) + odd / 2;
        int64_t tie = (top << shift) + (int64_t{1} << (shift - 1));
        for (int64_t near : {-1, 0, 1})
          for (int64_t sign : {1, -1})
            values.push_back(sign * (tie + near));
      }
  for (std::string from : {"s64", "s32"})
    for (std::string to : {"bf16", "f16"})
      checkAll<int64_t>("y/" + to + " = TypeCast 211/" + from, {values});
}

/// Not the number before it.
TEST(Functions, CosineOfNothingIsOne) {
  checkInputs("c = Cos 211; y/boolean = Equal c 1",
              {{0, -0.0, 1e-45, -1e-30, 1e-9}, {1}});
}

/// All movement, on its own and in a row, with operands in strides.
TEST(Movement, S64KeepsAllBits) {
  for (const char *text :
       {"StaticReshape 14x15/s64 shape=5,-1 special_zero=0",
        "StaticTranspose 13x17/s64 order=1,0", "Reorder 13x17/s64<1,13>",
        "y/s64<1,13> = Reorder 13x17/s64", "Concat 3x31/s64 3x31/s64 axis=1",
        ("t = StaticTranspose 13x17/s64 order=1,0; StaticReshape t shape=221 "
         "special_zero=0"),
        "c = Concat 5x31/s64 5x7/s64 axis=1; StaticTranspose c order=1,0"})
    checkAll<int64_t>(text, {kIntegers});
}

/// Sums, differences and products wrap around; comparisons are exact.
TEST(Integers, S32AtItsBounds) {
  const std::vector<double> values = {
      0,     1,      -1,       0x1p31 - 1, -0x1p31,   0x1p31 - 2,
      46341, -46341, 16777217, 0x1p30,     1 - 0x1p31};
  std::vector<double> others = values;
  std::rotate(others.begin(), others.begin() + 3, others.end());
  others.push_back(7); // all pairs, as lengths have no common factor
  for (std::string kind : {"Add", "Subtract", "Multiply"})
    checkInputs("y/s32 = " + kind + " 211/s32 211/s32", {values, others});
  checkInputs("GreaterEqual 211/s32 211/s32", {values, others});
}

/// All pairs of numbers around 0 and the bounds: sums wrap around, quotients by
/// 0 are 0, and that of the least number by -1 is itself.
TEST(Integers, AtTheirBounds) {
  for (std::string type : {"s64", "s32", "s8", "u8"}) {
    int bits = type == "s64" ? 64 : type == "s32" ? 32 : 8;
    int64_t least = type == "u8" ? 0 : INT64_MIN >> (64 - bits);
    int64_t largest = type == "u8" ? 255 : INT64_MAX >> (64 - bits);
    std::vector<int64_t> values = {
        0,   1,    -1,        2,           -2,          3,
        7,   -7,   least,     least + 1,   largest,     largest - 1,
        100, -100, least / 2, largest / 2, largest / 3, 16777217};
    std::vector<int64_t> others = values;
    others.push_back(5); // all pairs, as lengths have no common factor
    std::string operands = " 551/" + type + " 551/" + type;
    for (std::string kind : {"Add", "Subtract", "Multiply", "Divide",
                             "Remainder", "Maximum", "Minimum", "And", "Or"})
      checkAll<int64_t>("y/" + type + " = " + kind + operands,
                        {values, others});
    checkAll<int64_t>("y/" + type + " = Remainder" + operands + " mode=trunc",
                      {values, others});
    for (std::string kind : {"Equal", "Greater", "GreaterEqual"})
      checkAll<int64_t>("y/boolean = " + kind + operands, {values, others});
    for (std::string kind : {"Abs", "Not", "Clamp min=-2.5 max=1e30"}) {
      size_t space = std::min(kind.find(' '), kind.size());
      checkAll<int64_t>("y/" + type + " = " + kind.substr(0, space) + " 551/" +
                            type + kind.substr(space),
                        {values});
    }
  }
}

/// Sums of products wrap around, in whatever order they are added: bytes at
/// their bounds, with and without zero points, and s32 of all sizes.
TEST(Integers, ProductsAtTheirBounds) {
  for (std::string src : {"s8", "u8"})
    for (std::string weights : {"s8", "u8"}) {
      std::vector<double> a = {-128, 127, -128, 255, 0, 255, -1};
      std::vector<double> b = {127, -128, 255, 255, -128};
      std::string operands = "12x300/" + src + " 300x50/" + weights;
      checkInputs("y/s32 = MatMul " + operands, {a, b});
      checkInputs("aw/s32 = TypeCast 12x300/" + src + "; z/s32 = TypeCast 1/" +
                      src +
                      "; a/s32 = Subtract aw z; bw/s32 = TypeCast "
                      "300x50/" +
                      weights + "; v/s32 = TypeCast 1/" + weights +
                      "; b/s32 = Subtract bw v; y/s32 = MatMul a b",
                  {a, {255}, b, {-128}});
      checkInputs("y/s32 = Convolution 2x7x6x40/" + src + " 3x3x40x24/" +
                      weights +
                      " strides=1,1 pads_begin=1,1 pads_end=1,1 dilations=1,1",
                  {a, b});
    }
  const std::vector<double> large = {0x1p31 - 1, -0x1p31, 46341,   -65537,
                                     12345678,   0x1p16,  -0x1p30, 7};
  std::vector<double> others = large;
  others.push_back(-99999999);
  checkInputs("y/s32 = MatMul 12x300/s32 300x50/s32 50/s32",
              {large, others, large});
  checkInputs("y/s32 = MatMul 12x300/s32 300x50/u8", {large, {255, 0, 254}});
  checkInputs("y/s32 = Convolution 2x7x6x40/s32 3x3x40x24/s32 strides=1,1 "
              "pads_begin=1,1 pads_end=1,1 dilations=1,1",
              {large, others});
}

/// Floats whose quotient has more digits than f32, or f64.
TEST(Floats, RemaindersOfLargeQuotients) {
  std::vector<double> values = {0,        1,     -1,         3.5,   -2.25, 1e30,
                                -3.4e38,  1e-40, 0x1p-149,   1e-10, 7,     5e9,
                                16777217, 0.1,   -0x1.8p-60, 3e38};
  std::vector<double> others = values;
  others.push_back(0.3);
  std::erase(others, 0);
  for (std::string mode : {"floor", "trunc"})
    checkInputs("Remainder 551 551 mode=" + mode, {values, others});
}

/// Executes `text` on raw elements.
template <typename Out, typename In>
std::vector<Out> runRaw(std::string_view text, const char *schedule,
                        std::vector<In> in) {
  auto g = parseGraph(text);
  EXPECT_TRUE(g) << str(g.errors());
  Options options;
  options.schedule = schedule;
  auto model = Compiled::compile(*g, options);
  EXPECT_TRUE(model) << str(model.errors());
  auto exec = Executor::create({});
  EXPECT_TRUE(exec);
  if (!model || !exec)
    return {};
  graph::Dims shape = {static_cast<int64_t>(in.size())};
  std::vector<Out> out(in.size(), Out(7));
  HostTensors ins, outs;
  ins[(*model)->graph().inputPorts[0]] = {in.data(), shape};
  outs[(*model)->graph().outputPorts[0]] = {out.data(), shape};
  auto ok = (*model)->execute(**exec, ins, outs);
  EXPECT_TRUE(ok) << str(ok.errors());
  return out;
}

TEST(Casts, AllBitsOfS64Count) {
  using Limits = std::numeric_limits<int64_t>;
  std::vector<int64_t> in = {Limits::max(),
                             Limits::min(),
                             (int64_t{1} << 62) + 12345,
                             -(int64_t{1} << 53) - 1,
                             0,
                             (int64_t{1} << 24) + 1};
  std::vector<int32_t> low;
  std::vector<float> rounded;
  for (int64_t v : in) {
    low.push_back(static_cast<int32_t>(static_cast<uint64_t>(v)));
    rounded.push_back(static_cast<float>(v));
  }
  for (const char *schedule : {"avx2", "generic"}) {
    EXPECT_EQ(runRaw<int32_t>("y/s32 = TypeCast 6/s64", schedule, in), low);
    EXPECT_EQ(runRaw<float>("y/f32 = TypeCast 6/s64", schedule, in), rounded);
    EXPECT_EQ(
        runRaw<int64_t>("y/s64 = TypeCast 3", schedule,
                        std::vector<float>{0x1p63f, -0x1p63f, 0x1p62f}),
        (std::vector<int64_t>{Limits::max(), Limits::min(), int64_t{1} << 62}));
  }
}

TEST(Casts, AnyByteIsTrue) {
  EXPECT_EQ(runRaw<int32_t>("y/s32 = TypeCast 5/boolean", "avx2",
                            std::vector<uint8_t>{0, 1, 2, 128, 255}),
            (std::vector<int32_t>{0, 1, 1, 1, 1}));
}

/// Dropout with these parameters.
void checkDropout(std::string_view text, double seed, double offset,
                  double probability) {
  auto g = parseGraph(text);
  ASSERT_TRUE(g) << str(g.errors());
  auto o = Oracle::make(*g);
  ASSERT_TRUE(o) << str(o.errors());
  const auto &ports = o->graph.inputPorts;
  for (auto [i, v] : {std::pair{1, seed}, {2, offset}, {3, probability}}) {
    reference::Tensor &input = o->inputs.at(ports[i]);
    input = repeated<double>(input, {v});
  }
  reference::EvalOptions exact;
  exact.roundOutputs = false;
  auto expected = reference::evaluate(o->graph, o->inputs, exact);
  ASSERT_TRUE(expected) << str(expected.errors());
  o->expected = o->plain = *expected;
  for (const RunConfig &c : fewConfigs())
    EXPECT_TRUE(checkGraph(*o, c))
        << text << " seed " << seed << " offset " << offset << " p "
        << probability << ", " << c.options.schedule;
}

/// Steps on the way overflow, the results do not.
TEST(LargeValues, GiveWhatTheDefinitionSays) {
  for (double x : {1e38, -1e38, 2e38, 100.0, -100.0}) {
    checkValues("SoftPlus 37 beta=2", {x});
    checkValues("SoftPlus 37 beta=-3", {x});
    checkValues("HardSwish 37", {x});
  }
  // Where SoftPlus becomes src.
  checkValues("SoftPlus 37 beta=2", {14.9, 15.1});
  checkValues("SoftPlus 37 beta=-3", {-9.9, -10.1});
}

TEST(Dropout, SeedsOffsetsProbabilities) {
  const char *text = "y,m/u8 = Dropout 13x211 1/s64 1/s64 1";
  for (double p : {0.0, 0.25, 0.1, 0.9, 0.99999994, 1.0, 1.5, -1.0, kNan})
    checkDropout(text, 7, 3, p);
  for (double seed : {0.0, -1.0, 0x1p31, 0x1p32 + 3, -0x1p40})
    for (double offset : {0.0, 1.0, -5.0, 0x1p32 + 1})
      checkDropout(text, seed, offset, 0.5);
}

/// Windows of -inf, NaN, the lowest finite number and some of each, and
/// gradients that are infinite or NaN: where they go, and where not.
TEST(PoolGradient, EdgesOfFloats) {
  const double lowest = std::numeric_limits<float>::lowest();
  const std::vector<double> sources = {
      -kInf, -kInf, -kInf, kNan,  kNan,   -kInf, lowest, lowest,
      -kInf, 1,     kNan,  kInf,  lowest, -kInf, 2,      2,
      kNan,  -kInf, -kInf, -kInf, -kInf,  -kInf, kNan};
  const std::vector<double> gradients = {1, kInf, 2, kNan, -kInf, 3, 4};
  for (const std::string format : {"NXC", "NCX"})
    for (const std::string window :
         {"strides=2,2 pads_begin=0,0 pads_end=0,0 kernel=2,2",
          "strides=1,1 pads_begin=1,1 pads_end=1,1 kernel=3,3",
          "strides=3,3 pads_begin=0,0 pads_end=0,0 kernel=2,2"}) {
      bool dense = window[8] == '1', apart = window[8] == '3';
      std::string side = dense ? "8" : apart ? "3" : "4";
      for (const std::string channels : {"1", "4", "17"}) {
        auto shape = [&](const std::string &size) {
          return format == "NXC" ? "2x" + size + "x" + size + "x" + channels
                                 : "2x" + channels + "x" + size + "x" + size;
        };
        std::string src = shape("8"), list = src;
        std::replace(list.begin(), list.end(), 'x', ',');
        std::string attrs = " " + window + " data_format=" + format;
        checkInputs("MaxPoolBackward " + src + " " + shape(side) + attrs,
                    {sources, gradients});
        for (const char *exclude : {"true", "false"})
          checkInputs("AvgPoolBackward " + shape(side) + attrs +
                          " src_shape=" + list + " exclude_pad=" + exclude,
                      {gradients});
      }
    }
}

TEST(Dropout, NumbersElementsRowByRow) {
  // Strides change where an element is, not its number.
  checkDropout("y<1,13>,m/u8 = Dropout 13x211<1,13> 1/s64 1/s64 1", 7, 3, 0.5);
  checkDropout("y,m/u8 = Dropout 300x701 1/s64 1/s64 1", 9, 0, 0.5);
}

} // namespace
