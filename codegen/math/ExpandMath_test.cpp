//===- ExpandMath_test.cpp - errors of the math functions -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every function over a sweep of all f32 bit patterns against the C library in
// double.  The step between patterns is a prime; set TENON_MATH_STRIDE=1 for
// the exhaustive sweep (minutes).
//
//===----------------------------------------------------------------------===//
#include "codegen/Passes.h"
#include "codegen/testing/Execute.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <numbers>

using namespace tenon::codegen;
using namespace tenon::codegen::testing;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

uint32_t sweepStride() {
  const char *text = std::getenv("TENON_MATH_STRIDE");
  return text ? std::max(std::atoi(text), 1) : 4093;
}

/// f = vector code, g = scalar code of one operation on one or two operands;
/// `op` may end in flags after a space, `after` makes %r of the result %e.
class Function {
public:
  explicit Function(const std::string &op, bool binary = false,
                    const std::string &target = "",
                    const std::string &after = "")
      : binary(binary) {
    std::string type = "memref<?xf32>", arguments = "%x: " + type;
    std::string maps = "affine_map<(d) -> (d)>, affine_map<(d) -> (d)>";
    std::string ins = "%x", types = type, body = "%a: f32", operands = "%a";
    std::string loads = "%a = memref.load %x[%i] : " + type + "\n";
    if (binary) {
      arguments += ", %y: " + type;
      maps += ", affine_map<(d) -> (d)>";
      ins += ", %y";
      types += ", " + type;
      body += ", %b: f32";
      operands += ", %b";
      loads += "%b = memref.load %y[%i] : " + type + "\n";
    }
    std::string attributes =
        ", %z: " + type + ") attributes {llvm.emit_c_interface} {\n";
    auto space = std::min(op.find(' '), op.size());
    std::string apply = (after.empty() ? "%r" : "%e") +
                        (" = math." + op.substr(0, space)) + " " + operands +
                        op.substr(space) + " : f32\n" + after;
    std::string text =
        "func.func @f(" + arguments + attributes +
        "linalg.generic {indexing_maps = [" + maps +
        "], iterator_types = [\"parallel\"]} ins(" + ins + " : " + types +
        ") outs(%z : " + type + ") {\n^bb0(" + body + ", %o: f32):\n" + apply +
        "linalg.yield %r : f32\n}\nreturn\n}\nfunc.func @g(" + arguments +
        attributes +
        "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
        "%n = memref.dim %z, %c0 : " +
        type + "\nscf.for %i = %c0 to %n step %c1 {\n" + loads + apply +
        "memref.store %r, %z[%i] : " + type + "\n}\nreturn\n}\n";
    auto compiled =
        compileText(text, "tenon-vectorize-generic,tenon-expand-math", target);
    if (!compiled) {
      ADD_FAILURE() << tenon::str(compiled.errors());
      return;
    }
    jit = std::move(*compiled);
    vectorCode = *jit->lookup("_mlir_ciface_f");
    scalarCode = *jit->lookup("_mlir_ciface_g");
  }

  std::vector<float> run(bool vector, std::vector<float> x,
                         std::vector<float> y = {}) {
    std::vector<float> z(x.size());
    auto describe = [](std::vector<float> &v) {
      return makeDescriptor(v.data(), 0, {int64_t(v.size())}, {1});
    };
    auto dx = describe(x), dy = describe(y), dz = describe(z);
    void *code = vector ? vectorCode : scalarCode;
    using P = void *;
    if (binary)
      reinterpret_cast<void (*)(P, P, P)>(code)(dx.data(), dy.data(),
                                                dz.data());
    else
      reinterpret_cast<void (*)(P, P)>(code)(dx.data(), dz.data());
    return z;
  }
  float at(float x, float y = 0) { return run(true, {x}, {y})[0]; }

private:
  bool binary;
  std::unique_ptr<Jit> jit;
  void *vectorCode = nullptr, *scalarCode = nullptr;
};

/// Distance of `value` from `exact` in units of the last place of f32; huge for
/// a wrong special value.
double ulps(float value, double exact) {
  if (std::isnan(exact) || std::isnan(value))
    return std::isnan(exact) && std::isnan(value) ? 0 : 1e9;
  float rounded = float(exact);
  if (std::isinf(rounded) || std::isinf(value)) {
    if (value == rounded)
      return 0;
    // One side just past the largest number.
    double largest = std::numeric_limits<float>::max();
    return std::isinf(exact)
               ? 1e9
               : std::abs((std::isinf(value) ? std::copysign(0x1p128, value)
                                             : double(value)) -
                          exact) /
                     (largest * 0x1p-24);
  }
  int exponent = exact == 0 ? -126 : std::ilogb(exact);
  return std::abs(value - exact) /
         std::ldexp(1.0, std::max(exponent, -126) - 23);
}

void sweep(const char *op, double (*reference)(double), double bound,
           const std::string &target = "") {
  Function function(op, /*binary=*/false, target);
  uint64_t stride = sweepStride();
  constexpr size_t kBatch = 1 << 16;
  double worst = 0;
  float worstAt = 0;
  bool sameBits = true;
  for (uint64_t bits = 0; bits < (1ull << 32);) {
    std::vector<float> x;
    for (; bits < (1ull << 32) && x.size() < kBatch; bits += stride)
      x.push_back(std::bit_cast<float>(uint32_t(bits)));
    std::vector<float> z = function.run(true, x);
    for (size_t i = 0; i < x.size(); ++i) {
      double error = ulps(z[i], reference(double(x[i])));
      if (error > worst) {
        worst = error;
        worstAt = x[i];
      }
    }
    if (bits / stride % 7 != 0)
      continue;
    std::vector<float> scalar = function.run(false, x);
    for (size_t i = 0; i < x.size(); ++i)
      sameBits &=
          std::bit_cast<uint32_t>(scalar[i]) == std::bit_cast<uint32_t>(z[i]) ||
          std::isnan(z[i]);
  }
  std::printf("%-6s worst error %.3f ulp at %.9g (%a)\n", op, worst, worstAt,
              worstAt);
  EXPECT_LE(worst, bound) << op << " at " << worstAt;
  EXPECT_TRUE(sameBits) << op;
}

/// Whether this machine executes what the pass emits for `target`.
bool supports(const std::string &target) {
  auto has = [&](const char *parameter) {
    return target.find(parameter) != std::string::npos;
  };
  return (!has("avx2") || __builtin_cpu_supports("avx2")) &&
         (!has("avx512") || __builtin_cpu_supports("avx512vl"));
}

/// A target with each set of instructions that this machine executes.
std::vector<std::string> targets() {
  std::vector<std::string> all = {"", "avx2 = true", "avx512 = true"};
  std::erase_if(all, [](const std::string &t) { return !supports(t); });
  return all;
}

class ExpandMath : public ::testing::Test {
public:
  static void SetUpTestSuite() { registerCodegenPasses(); }
};

TEST_F(ExpandMath, Exp) { sweep("exp", std::exp, 1.1); }
/// Coefficients found in registers.
TEST_F(ExpandMath, Avx2) {
  const std::string target = "avx2 = true";
  if (!supports(target))
    GTEST_SKIP() << "no AVX2";
  sweep("exp", std::exp, 1, target);
  Function exp("exp", /*binary=*/false, target);
  EXPECT_EQ(exp.at(0), 1);
  EXPECT_EQ(exp.at(-0.0f), 1);
  // With the flag, of numbers from 0 to 1.
  Function log1p("log1p fastmath<ninf>", /*binary=*/false, target);
  std::vector<float> x = {0, 1, 0x1p-149f, 0x1p-126f, kNaN};
  for (uint32_t bits = 0; bits < 0x3f800000; bits += 40009)
    x.push_back(std::bit_cast<float>(bits));
  std::vector<float> z = log1p.run(true, x), scalar = log1p.run(false, x);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_LE(ulps(z[i], std::log1p(double(x[i]))), 1.2) << x[i];
    EXPECT_TRUE(std::isnan(z[i]) || scalar[i] == z[i]) << x[i];
  }
}
/// Where a result becomes 1 it never exceeds it.
TEST_F(ExpandMath, AtMostOne) {
  for (const std::string &target : targets()) {
    Function function("tanh", /*binary=*/false, target);
    std::vector<float> x = {1e30f, kInf};
    for (float v = 2; v < 12; v += 0x1p-12f)
      x.push_back(v);
    std::vector<float> z = function.run(true, x);
    EXPECT_LE(*std::max_element(z.begin(), z.end()), 1) << target;
    EXPECT_EQ(z[0], 1);
    EXPECT_EQ(z[1], 1);
    EXPECT_EQ(function.at(-kInf), -1);
    EXPECT_TRUE(std::signbit(function.at(-0.0f)));
    EXPECT_TRUE(std::isnan(function.at(kNaN)));
  }
}
TEST_F(ExpandMath, Exp2) { sweep("exp2", std::exp2, 1); }
/// The scalar code has no such instruction: its bits must be the same.
TEST_F(ExpandMath, Avx512) {
  const std::string target = "avx512 = true";
  if (!supports(target))
    GTEST_SKIP() << "no AVX-512";
  sweep("exp", std::exp, 1, target);
  sweep("exp2", std::exp2, 1, target);
}
/// As sums of exponentials ask for it: tiny results are 0, all others as exact.
TEST_F(ExpandMath, ExpWithoutDenormals) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const char *flags : {"afn", "afn,ninf"})
    for (const std::string &target : targets()) {
      bool isFinite = std::strchr(flags, ',');
      Function exp(std::string("exp fastmath<") + flags + ">",
                   /*binary=*/false, target);
      std::vector<float> x;
      for (double v = -120; v < (isFinite ? 88 : 95); v += 0.0137)
        x.push_back(static_cast<float>(v));
      x.insert(x.end(), {-inf, -1e30f, -88.0f, -87.7f, 0.0f, -0.0f,
                         std::numeric_limits<float>::quiet_NaN()});
      if (!isFinite)
        x.insert(x.end(), {inf, 1e30f});
      std::vector<float> z = exp.run(true, x), scalar = exp.run(false, x);
      for (size_t i = 0; i < x.size(); ++i) {
        double exact = std::exp(x[i]), octave = x[i] / std::numbers::ln2;
        if (octave < -126.5 || (octave < -126 && z[i] == 0))
          exact = 0;
        EXPECT_LE(ulps(z[i], exact), exact ? 1.1 : 0) << flags << " " << x[i];
        EXPECT_TRUE(std::isnan(z[i]) || scalar[i] == z[i]) << x[i];
      }
    }
}

/// Of a difference, which was rounded, also where few bits of the result stay:
/// off by no more than ExpUse says.
TEST_F(ExpandMath, ExpOfDifference) {
  const std::string narrowed = "%h = arith.truncf %e : f32 to bf16\n"
                               "%w = arith.extf %h : bf16 to f32\n"
                               "%zero = arith.constant 0.0 : f32\n"
                               "%p = arith.mulf %w, %zero : f32\n"
                               "%r = arith.addf %p, %e : f32\n";
  for (bool narrow : {false, true})
    for (const std::string &target : targets()) {
      Function exp("exp fastmath<afn,ninf,reassoc>", /*binary=*/false, target,
                   narrow ? narrowed : "");
      std::vector<float> x = {-std::numeric_limits<float>::infinity(), -1e30f,
                              -88.0f, 0.0f, -0.0f};
      for (double v = -87.3; v <= 0; v += 0.00137)
        x.push_back(static_cast<float>(v));
      std::vector<float> z = exp.run(true, x), scalar = exp.run(false, x);
      double worst = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        EXPECT_EQ(scalar[i], z[i]) << x[i];
        if (x[i] <= -88) {
          EXPECT_EQ(z[i], 0) << x[i];
          continue;
        }
        double exact = std::exp(double(x[i]));
        double error = std::abs(z[i] - exact) / exact;
        worst = std::max(worst, error);
        EXPECT_LE(error, narrow ? 0x1p-18 : 1.1 * 0x1p-23 - x[i] * 0x1p-28)
            << x[i] << " " << target;
      }
      std::printf("%s%s worst error %.3g\n", target.c_str(),
                  narrow ? " narrowed" : "", worst);
    }
}

TEST_F(ExpandMath, ExpM1) { sweep("expm1", std::expm1, 2); }
TEST_F(ExpandMath, Log) { sweep("log", std::log, 1); }
TEST_F(ExpandMath, Log1p) { sweep("log1p", std::log1p, 1); }
TEST_F(ExpandMath, Tanh) { sweep("tanh", std::tanh, 4); }
TEST_F(ExpandMath, Rsqrt) {
  sweep("rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1.5);
}

TEST_F(ExpandMath, SignsOfZero) {
  for (const char *op : {"expm1", "log1p", "tanh"}) {
    Function function(op);
    EXPECT_TRUE(std::signbit(function.at(-0.0f))) << op;
    EXPECT_FALSE(std::signbit(function.at(0.0f))) << op;
  }
}

TEST_F(ExpandMath, PowOverGrid) {
  Function function("powf", true);
  double worst = 0;
  float worstX = 0, worstY = 0;
  uint32_t step = std::max<uint32_t>(sweepStride() * 300, 20011);
  for (float y = -40; y <= 40; y += 0.37f) {
    std::vector<float> x;
    for (uint64_t bits = 0; bits < 0x7f800000; bits += step)
      x.push_back(std::bit_cast<float>(uint32_t(bits)));
    for (float near = 0.5f; near < 2; near += 0.0137f)
      x.push_back(near);
    std::vector<float> ys(x.size(), y);
    std::vector<float> z = function.run(true, x, ys);
    for (size_t i = 0; i < x.size(); ++i) {
      double error = ulps(z[i], std::pow(double(x[i]), double(y)));
      if (error > worst) {
        worst = error;
        worstX = x[i];
        worstY = y;
      }
    }
  }
  // Large exponents of numbers near one.
  for (float y : {-20000.0f, -999.5f, 300.0f, 4097.25f, 80000.0f})
    for (float x = 0.98f; x < 1.02f; x += 0.0000371f) {
      double error = ulps(function.at(x, y), std::pow(double(x), double(y)));
      if (error > worst) {
        worst = error;
        worstX = x;
        worstY = y;
      }
    }
  std::printf("powf   worst error %.3f ulp at %a ^ %a\n", worst, worstX,
              worstY);
  EXPECT_LE(worst, 4) << worstX << " ^ " << worstY;
}

TEST_F(ExpandMath, PowSpecialCases) {
  Function function("powf", true);
  const float values[] = {
      0.0f,   -0.0f, 1.0f,        -1.0f,  2.0f,    -2.0f,      3.0f, -3.0f,
      0.5f,   -0.5f, 2.5f,        -2.5f,  kInf,    -kInf,      kNaN, 1e30f,
      1e-30f, -7.0f, 16777216.0f, 1e-41f, -1e-41f, 16777215.0f};
  for (float x : values)
    for (float y : values) {
      double exact = std::pow(double(x), double(y));
      float got = function.at(x, y);
      EXPECT_LE(ulps(got, exact), 4) << x << " ^ " << y << " gave " << got;
      if (exact == 0) {
        EXPECT_EQ(std::signbit(got), std::signbit(exact)) << x << " ^ " << y;
      }
    }
}

uint16_t roundToBF16(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  if (std::isnan(x))
    return bits >> 16 | 0x40;
  uint32_t low = bits & 0xffff, high = bits >> 16;
  return high + (low > 0x8000 || (low == 0x8000 && (high & 1)));
}

TEST_F(ExpandMath, BFloat16RoundTrip) {
  auto jit = compileText(
      "func.func @f(%x: memref<?xf32>, %z: memref<?xbf16>) attributes "
      "{llvm.emit_c_interface} {\nlinalg.generic {indexing_maps = "
      "[affine_map<(d) -> (d)>, affine_map<(d) -> (d)>], iterator_types = "
      "[\"parallel\"]} ins(%x : memref<?xf32>) outs(%z : memref<?xbf16>) "
      "{\n^bb0(%a: f32, %o: bf16):\n%r = arith.truncf %a : f32 to bf16\n"
      "linalg.yield %r : bf16\n}\nreturn\n}\n"
      "func.func @g(%x: memref<?xbf16>, %z: memref<?xf32>) attributes "
      "{llvm.emit_c_interface} {\nlinalg.generic {indexing_maps = "
      "[affine_map<(d) -> (d)>, affine_map<(d) -> (d)>], iterator_types = "
      "[\"parallel\"]} ins(%x : memref<?xbf16>) outs(%z : memref<?xf32>) "
      "{\n^bb0(%a: bf16, %o: f32):\n%r = arith.extf %a : bf16 to f32\n"
      "linalg.yield %r : f32\n}\nreturn\n}\n",
      "tenon-vectorize-generic,tenon-expand-math");
  ASSERT_TRUE(bool(jit)) << tenon::str(jit.errors());
  std::vector<float> x;
  for (uint64_t bits = 0; bits < (1ull << 32); bits += 65537 * 16 - 1)
    x.push_back(std::bit_cast<float>(uint32_t(bits)));
  for (uint32_t bits : {0x3f808000u, 0x3f818000u, 0x7f7fffffu, 0x7fffffffu,
                        0x7f800001u, 0xff800000u, 0x00008000u})
    x.push_back(std::bit_cast<float>(bits));
  std::vector<uint16_t> narrow(x.size());
  std::vector<float> wide(x.size());
  int64_t n = x.size();
  auto dx = makeDescriptor(x.data(), 0, {n}, {1});
  auto dn = makeDescriptor(narrow.data(), 0, {n}, {1});
  auto dw = makeDescriptor(wide.data(), 0, {n}, {1});
  using Code = void (*)(void *, void *);
  reinterpret_cast<Code>(*(*jit)->lookup("_mlir_ciface_f"))(dx.data(),
                                                            dn.data());
  reinterpret_cast<Code>(*(*jit)->lookup("_mlir_ciface_g"))(dn.data(),
                                                            dw.data());
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(narrow[i], roundToBF16(x[i])) << std::hexfloat << x[i];
    ASSERT_EQ(std::bit_cast<uint32_t>(wide[i]), uint32_t(narrow[i]) << 16);
  }
}

} // namespace
