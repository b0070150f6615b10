//===- brgemm_narrow_test.cpp - products of bf16, f16 and bytes -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Small integers in each type: sums are exact, and results must be equal to
// those of plain loops, for each form of the product that this machine has.
// What it lacks is skipped by name.
//
//===----------------------------------------------------------------------===//
#include "codegen/microkernel/BrgemmHarness.h"
#include "runtime/tenon_model.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace tenon::microkernel::testing;

namespace {

enum class Element { BF16, F16, S8, U8, S16 };

/// One way to multiply.
struct Form {
  const char *name;
  Element a;
  int64_t interleave;
  int64_t vectorBits;
  bool matrixUnit;
  std::vector<const char *> features;
};

const Form kForms[] = {
    {"bf16 widened, 256 bits", Element::BF16, 1, 256, false, {"avx2"}},
    {"bf16 widened, 512 bits", Element::BF16, 1, 512, false, {"avx512f"}},
    {"bf16 in pairs", Element::BF16, 2, 512, false, {"avx512bf16"}},
    {"bf16 in tiles",
     Element::BF16,
     2,
     512,
     true,
     {"avx512bf16", "amx-tile", "amx-bf16"}},
    {"f16 widened, 256 bits", Element::F16, 1, 256, false, {"avx2", "f16c"}},
    {"f16 widened, 512 bits", Element::F16, 1, 512, false, {"avx512f"}},
    {"s8 widened, 128 bits", Element::S8, 1, 128, false, {}},
    {"u8 widened, 256 bits", Element::U8, 1, 256, false, {"avx2"}},
    {"s8 as int16", Element::S8, 2, 256, false, {"avx2"}},
    {"u8 as int16", Element::U8, 2, 256, false, {"avx2"}},
    {"words", Element::S16, 2, 256, false, {"avx2"}},
    {"words, 512 bits", Element::S16, 2, 512, false, {"avx512bw"}},
    {"s8 as int16, 512 bits", Element::S8, 2, 512, false, {"avx512bw"}},
    {"s8 in fours, 256 bits", Element::S8, 4, 256, false, {"avxvnni"}},
    {"u8 in fours, 256 bits", Element::U8, 4, 256, false, {"avxvnni"}},
    {"s8 in fours", Element::S8, 4, 512, false, {"avx512vnni"}},
    {"u8 in fours", Element::U8, 4, 512, false, {"avx512vnni"}},
    {"s8 in tiles",
     Element::S8,
     4,
     512,
     true,
     {"avx512vnni", "amx-tile", "amx-int8"}},
    {"u8 in tiles",
     Element::U8,
     4,
     512,
     true,
     {"avx512vnni", "amx-tile", "amx-int8"}},
};

struct Shape {
  int64_t m, n, k;
  int64_t batch = 0; // 0: no batch dimension
  bool dynamicM = false;
  bool unitK = true;
  bool narrowC = false; // C as A's floats, or as s8
};

const Shape kShapes[] = {
    {1, 16, 8},
    {5, 33, 7},
    {16, 32, 128},
    {17, 40, 131},
    {33, 64, 200},
    {47, 32, 64, 0, true},
    {63, 20, 70, 3},
    {96, 48, 192, 2, true},
    {9, 32, 129, 0, true},
    {24, 32, 66, 0, false, false},
    {31, 30, 96, 0, false, true, true},
    {40, 64, 64, 2, true, true, true},
    // Sums of tiles are results: all rows in one tile, some twice, batches.
    {7, 32, 128},
    {36, 64, 256},
    {52, 16, 128, 3},
};

bool isByte(Element e) { return e == Element::S8 || e == Element::U8; }
bool isInteger(Element e) { return isByte(e) || e == Element::S16; }
size_t bytesOf(Element e) { return isByte(e) ? 1 : 2; }

void write(Element e, char *to, int64_t value) {
  if (isByte(e)) {
    *to = static_cast<char>(value);
    return;
  }
  if (e == Element::S16) {
    int16_t word = static_cast<int16_t>(value);
    std::memcpy(to, &word, 2);
    return;
  }
  float f = static_cast<float>(value);
  if (e == Element::BF16) {
    std::memcpy(to, reinterpret_cast<const char *>(&f) + 2, 2);
  } else {
    _Float16 h = static_cast<_Float16>(f);
    std::memcpy(to, &h, 2);
  }
}

double read(Element e, const char *from) {
  if (e == Element::S8)
    return *reinterpret_cast<const int8_t *>(from);
  if (e == Element::S16) {
    int16_t word;
    std::memcpy(&word, from, 2);
    return word;
  }
  float f = 0;
  if (e == Element::BF16) {
    std::memcpy(reinterpret_cast<char *>(&f) + 2, from, 2);
    return f;
  }
  _Float16 h;
  std::memcpy(&h, from, 2);
  return static_cast<float>(h);
}

int64_t valueOf(Element e, int64_t i) {
  int64_t small = (i * 7 + i / 5) % 9;
  if (!isInteger(e))
    return small - 4;
  // The ends of the range, too: no sum of two products fits 16 bits.
  int64_t wide = (i * 37 + i / 11) % 256;
  return e == Element::U8 ? wide : wide - 128;
}

class Narrow {
public:
  Narrow(const Form &form, const Shape &s) : form(form), s(s) {
    panel = (s.n + 31) / 32 * 32;
    groups = (s.k + form.interleave - 1) / form.interleave;
    batch = std::max<int64_t>(s.batch, 1);
    size_t bytes = bytesOf(form.a);
    lda = s.unitK ? s.k + 3 : 1;
    a.resize(batch * s.m * (s.k + 3) * bytes, char(0x7f));
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t m = 0; m < s.m; ++m)
        for (int64_t k = 0; k < s.k; ++k)
          write(form.a, &a[indexA(b, m, k) * bytes],
                valueOf(form.a, indexA(b, m, k)));
    w.resize(batch * groups * form.interleave * panel * bytes, 0);
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t k = 0; k < s.k; ++k)
        for (int64_t n = 0; n < s.n; ++n)
          write(weights(), &w[indexW(b, k, n) * bytes],
                valueOf(weights(), b * 31 + k * 5 + n * 3));
    c.resize(s.m * s.n * sizeOfC());
  }

  std::string text() const {
    std::string t = type(), ct = typeOfC(), v = std::to_string(form.interleave);
    std::string lead = s.batch ? std::to_string(s.batch) + "x" : "";
    std::string rows = s.dynamicM ? "?" : std::to_string(s.m);
    std::string k = std::to_string(s.k), n = std::to_string(s.n);
    std::string aStrides =
        (s.batch ? std::to_string(s.m * (s.k + 3)) + ", " : std::string()) +
        std::to_string(s.unitK ? lda : 1) + ", " +
        std::to_string(s.unitK ? 1 : s.m);
    std::string at = "memref<" + lead + rows + "x" + k + "x" + t +
                     ", strided<[" + aStrides + "]>>";
    std::string bt = "memref<" + lead + std::to_string(groups) + "x" +
                     std::to_string(panel) + "x" +
                     (form.interleave > 1 ? v + "x" : "") + t + ">";
    std::string c = "memref<" + rows + "x" + n + "x" + ct + ">";
    std::string sum = isInteger(form.a) ? "i32" : "f32";
    std::string body;
    if (s.narrowC)
      body = " epilogue {\n^bb0(%acc: " + sum + "):\n%0 = " +
             (isInteger(form.a) ? "arith.trunci" : "arith.truncf") +
             " %acc : " + sum + " to " + ct + "\ntile.yield %0 : " + ct + "\n}";
    return "func.func @f(%a: " + at + ", %b: " + bt + ", %c: " + c +
           ") {\ntile.brgemm ins(%a, %b : " + at + ", " + bt +
           ") outs(%c : " + c + ")" +
           (form.a == Element::U8 ? " unsigned_a" : "") + body +
           "\nreturn\n}\n";
  }

  void run(void *function) {
    std::vector<int64_t> aSizes, aStrides, bSizes, bStrides;
    if (s.batch) {
      aSizes = {s.batch};
      aStrides = {s.m * (s.k + 3)};
      bSizes = {s.batch};
      bStrides = {groups * panel * form.interleave};
    }
    aSizes.insert(aSizes.end(), {s.m, s.k});
    aStrides.insert(aStrides.end(), {s.unitK ? lda : 1, s.unitK ? 1 : s.m});
    bSizes.insert(bSizes.end(), {groups, panel});
    bStrides.insert(bStrides.end(), {panel * form.interleave, form.interleave});
    if (form.interleave > 1) {
      bSizes.push_back(form.interleave);
      bStrides.push_back(1);
    }
    Descriptor da = describe(a.data(), aSizes, aStrides);
    Descriptor db = describe(w.data(), bSizes, bStrides);
    Descriptor dc = describe(c.data(), {s.m, s.n}, {s.n, 1});
    reinterpret_cast<void (*)(Descriptor *, Descriptor *, Descriptor *)>(
        function)(&da, &db, &dc);
  }

  void check() const {
    for (int64_t m = 0; m < s.m; ++m)
      for (int64_t n = 0; n < s.n; ++n) {
        double expected = expectedAt(m, n);
        ASSERT_EQ(expected, resultAt(m * s.n + n))
            << form.name << ", " << s.m << " x " << s.n << " x " << s.k
            << ", at " << m << ", " << n;
      }
  }

private:
  Element weights() const {
    return form.a == Element::U8 ? Element::S8 : form.a;
  }
  int64_t indexA(int64_t b, int64_t m, int64_t k) const {
    return b * s.m * (s.k + 3) + (s.unitK ? m * lda + k : k * s.m + m);
  }
  int64_t indexW(int64_t b, int64_t k, int64_t n) const {
    int64_t v = form.interleave;
    return ((b * groups + k / v) * panel + n) * v + k % v;
  }
  std::string type() const {
    return form.a == Element::BF16  ? "bf16"
           : form.a == Element::F16 ? "f16"
           : form.a == Element::S16 ? "i16"
                                    : "i8";
  }
  std::string typeOfC() const {
    return s.narrowC ? type() : isInteger(form.a) ? "i32" : "f32";
  }
  size_t sizeOfC() const { return s.narrowC ? bytesOf(form.a) : 4; }

  double expectedAt(int64_t m, int64_t n) const {
    double sum = 0;
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t k = 0; k < s.k; ++k)
        sum += static_cast<double>(valueOf(form.a, indexA(b, m, k))) *
               static_cast<double>(valueOf(weights(), b * 31 + k * 5 + n * 3));
    if (!s.narrowC)
      return sum;
    if (isByte(form.a)) // What trunci keeps.
      return static_cast<int8_t>(static_cast<int64_t>(sum));
    if (form.a == Element::S16)
      return static_cast<int16_t>(static_cast<int64_t>(sum));
    char rounded[2];
    float f = static_cast<float>(sum);
    if (form.a == Element::F16) {
      _Float16 h = static_cast<_Float16>(f);
      return static_cast<float>(h);
    }
    uint32_t bits;
    std::memcpy(&bits, &f, 4);
    bits += 0x7fff + ((bits >> 16) & 1);
    uint16_t high = static_cast<uint16_t>(bits >> 16);
    std::memcpy(rounded, &high, 2);
    return read(Element::BF16, rounded);
  }

  double resultAt(int64_t i) const {
    const char *at = &c[i * sizeOfC()];
    if (s.narrowC)
      return read(isByte(form.a) ? Element::S8 : form.a, at);
    if (isInteger(form.a)) {
      int32_t sum;
      std::memcpy(&sum, at, 4);
      return sum;
    }
    float sum;
    std::memcpy(&sum, at, 4);
    return sum;
  }

  const Form &form;
  const Shape &s;
  int64_t panel, groups, batch, lda;
  std::vector<char> a, w, c;
};

class NarrowTest : public ::testing::TestWithParam<size_t> {};

TEST_P(NarrowTest, EqualsPlainLoops) {
  const Form &form = kForms[GetParam()];
  for (const char *feature : form.features)
    if (!tenon_rt_cpu_has(feature))
      GTEST_SKIP() << form.name << ": this machine has no " << feature;
  HarnessOptions options;
  options.vectorBits = form.vectorBits;
  options.numVectorRegisters = form.vectorBits == 512 ? 32 : 16;
  options.matrixUnit = form.matrixUnit;
  bool usedTiles = false;
  for (const Shape &shape : kShapes) {
    // What is interleaved is read in groups along k.
    Narrow narrow(form, shape);
    Compiled compiled = compileBrgemm(narrow.text(), options);
    ASSERT_TRUE(compiled.jit) << compiled.error << narrow.text();
    usedTiles |= compiled.numMatrixKernels > 0;
    void *function = compiled.lookup("f");
    ASSERT_TRUE(function) << compiled.error;
    narrow.run(function);
    narrow.check();
    if (HasFatalFailure())
      return;
  }
  EXPECT_EQ(usedTiles, form.matrixUnit);
}

INSTANTIATE_TEST_SUITE_P(Forms, NarrowTest,
                         ::testing::Range(size_t(0), std::size(kForms)));

} // namespace
