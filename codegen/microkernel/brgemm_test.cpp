//===- brgemm_test.cpp - lowered brgemm against plain loops ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Inputs are small integers, so that every sum is exact in f32 and results must
// be equal to those of plain loops in double, whatever the order of summation.
// Every buffer ends at an unreadable page, and gaps between rows hold NaN.
//
//===----------------------------------------------------------------------===//
#include "codegen/microkernel/BrgemmHarness.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

using namespace tenon::microkernel::testing;

namespace {

enum class Epilogue { None, BiasRelu, AllSides };

/// One function with one tile.brgemm.
struct Function {
  std::optional<int64_t> m, n; // Dynamic when empty.
  int64_t nb = 120;            // Of packed B.
  int batchDims = 0;
  bool packed = true, accumulate = false, unitK = true, prefetch = false;
  bool nontemporal = false;
  int64_t nextPanel = 0; // elements; 0: what follows B
  int64_t maxTerms = 0;  // of a sum; 0: any number
  Epilogue epilogue = Epilogue::None;
  std::string tile;

  std::string text(const std::string &name) const {
    auto size = [](std::optional<int64_t> x) {
      return x ? std::to_string(*x) + "x" : "?x";
    };
    std::string batch, strides;
    for (int i = 0; i < batchDims; ++i) {
      batch += "?x";
      strides += "?, ";
    }
    std::string a = "memref<" + batch + size(m) + "?xf32, strided<[" + strides +
                    "?, " + (unitK ? "1" : "?") + "], offset: ?>>";
    std::string b = "memref<" + batch + "?x" + (packed ? size(nb) : "?x") +
                    "f32, strided<[" + strides + "?, 1], offset: ?>>";
    std::string c =
        "memref<" + size(m) + size(n) + "f32, strided<[?, 1], offset: ?>>";
    std::string body, epilogueOperands, epilogueArgs;
    epilogueArgs = ", %bias: memref<?xf32>, %residual: memref<?x?xf32, "
                   "strided<[?, 1], offset: ?>>, %scale: memref<?xf32, "
                   "strided<[?], offset: ?>>, %shift: memref<f32>";
    if (epilogue == Epilogue::BiasRelu) {
      epilogueOperands = "epilogue_operands(%bias : memref<?xf32>) "
                         "maps [affine_map<(d0, d1) -> (d1)>] ";
      body = " epilogue {\n^bb0(%acc: f32, %x: f32):\n"
             "%zero = arith.constant 0.0 : f32\n"
             "%0 = arith.addf %acc, %x : f32\n"
             "%1 = arith.maximumf %0, %zero : f32\n"
             "tile.yield %1 : f32\n}";
    } else if (epilogue == Epilogue::AllSides) {
      epilogueOperands =
          "epilogue_operands(%bias, %residual, %scale, %shift : memref<?xf32>, "
          "memref<?x?xf32, strided<[?, 1], offset: ?>>, "
          "memref<?xf32, strided<[?], offset: ?>>, memref<f32>) "
          "maps [affine_map<(d0, d1) -> (d1)>, "
          "affine_map<(d0, d1) -> (d0, d1)>, "
          "affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> ()>] ";
      body = " epilogue {\n"
             "^bb0(%acc: f32, %x: f32, %r: f32, %s: f32, %t: f32):\n"
             "%0 = arith.addf %acc, %x : f32\n"
             "%1 = arith.mulf %0, %s : f32\n"
             "%2 = arith.addf %1, %r : f32\n"
             "%3 = arith.subf %2, %t : f32\n"
             "tile.yield %3 : f32\n}";
    }
    return "func.func @" + name + "(%a: " + a + ", %b: " + b + ", %c: " + c +
           epilogueArgs + ") {\ntile.brgemm ins(%a, %b : " + a + ", " + b +
           ") " + epilogueOperands + "outs(%c : " + c + ")" +
           (accumulate ? " accumulate" : "") +
           (prefetch ? " prefetch_next" : "") +
           (nextPanel ? " next_panel " + std::to_string(nextPanel) : "") +
           (nontemporal ? " prefetch_out nontemporal_out" : "") +
           (maxTerms ? " max_terms " + std::to_string(maxTerms) : "") +
           (tile.empty() ? "" : " register_tile " + tile) +
           (packed ? "" : " attributes {packed = false}") + body +
           "\nreturn\n}\n";
  }
};

/// Sizes and strides (elements) of one call.
struct Call {
  int64_t m, n, k;
  std::vector<int64_t> batch;
  int64_t aRowGap = 0; // Elements between rows of A.
  int64_t aK = 1;      // Stride of k.
  int64_t overlap = 0; // Batch stride of A; 0: no overlap.
  int64_t cRowGap = 3;
};

int64_t small(int64_t i) { return (i * 7 + i / 5) % 9 - 4; }

class Buffers {
public:
  Buffers(const Function &f, const Call &call) : f(f), call(call) {
    int64_t j = call.batch.size();
    aSizes = bSizes = call.batch;
    aSizes.insert(aSizes.end(), {call.m, call.k});
    nb = f.packed ? f.nb : call.n;
    bSizes.insert(bSizes.end(), {call.k, nb});
    aStrides.assign(j + 2, 0);
    bStrides.assign(j + 2, 0);
    aStrides[j + 1] = call.aK;
    aStrides[j] = call.k * call.aK + call.aRowGap;
    bStrides[j + 1] = 1;
    bStrides[j] = nb;
    for (int64_t i = j; i-- > 0;) {
      aStrides[i] = call.overlap ? call.overlap * (j - i)
                                 : aStrides[i + 1] * aSizes[i + 1];
      bStrides[i] = bStrides[i + 1] * bSizes[i + 1];
    }
    ldc = call.n + call.cRowGap;
    a = make(extent(aSizes, aStrides), 1);
    b = make(extent(bSizes, bStrides), 2);
    c = make((call.m - 1) * ldc + call.n, 3);
    residual = make((call.m - 1) * (ldc + 1) + call.n, 4);
    bias = make(call.n, 5);
    scale = make((call.m - 1) * 2 + 1, 6);
    shift = make(1, 7);
    spoil(*c, ldc);
    spoil(*residual, ldc + 1);
    original.assign(c->data(), c->data() + c->size());
  }

  void run(void *function) {
    Descriptor da = describe(a->data(), aSizes, aStrides);
    Descriptor db = describe(b->data(), bSizes, bStrides);
    Descriptor dc = describe(c->data(), {call.m, call.n}, {ldc, 1});
    Descriptor dBias = describe(bias->data(), {call.n}, {1});
    Descriptor dResidual =
        describe(residual->data(), {call.m, call.n}, {ldc + 1, 1});
    Descriptor dScale = describe(scale->data(), {call.m}, {2});
    Descriptor dShift = describe(shift->data(), {}, {});
    using Entry =
        void (*)(Descriptor *, Descriptor *, Descriptor *, Descriptor *,
                 Descriptor *, Descriptor *, Descriptor *);
    reinterpret_cast<Entry>(function)(&da, &db, &dc, &dBias, &dResidual,
                                      &dScale, &dShift);
  }

  /// The number of wrong elements, including touched gaps.
  int64_t countWrong() const {
    std::vector<double> expected(call.m * call.n);
    for (int64_t m = 0; m < call.m; ++m)
      for (int64_t n = 0; n < call.n; ++n)
        expected[m * call.n + n] = f.accumulate ? original[m * ldc + n] : 0;
    addProducts(expected);
    int64_t wrong = 0;
    for (int64_t m = 0; m < call.m; ++m)
      for (int64_t n = 0; n < ldc; ++n) {
        int64_t i = m * ldc + n;
        if (i >= static_cast<int64_t>(c->size()))
          break;
        if (n >= call.n)
          wrong += std::memcmp(&(*c)[i], &original[i], 4) != 0;
        else
          wrong += (*c)[i] != finish(expected[m * call.n + n], m, n);
      }
    return wrong;
  }

private:
  using Floats = std::unique_ptr<GuardedFloats>;

  static int64_t extent(const std::vector<int64_t> &sizes,
                        const std::vector<int64_t> &strides) {
    int64_t last = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == 0)
        return 0;
      last += (sizes[i] - 1) * strides[i];
    }
    return last + 1;
  }
  static Floats make(int64_t count, int64_t seed) {
    auto floats = std::make_unique<GuardedFloats>(std::max<int64_t>(count, 0));
    for (size_t i = 0; i < floats->size(); ++i)
      (*floats)[i] = static_cast<float>(small(i + seed));
    return floats;
  }
  void spoil(GuardedFloats &floats, int64_t stride) const {
    for (size_t i = 0; i < floats.size(); ++i)
      if (static_cast<int64_t>(i % stride) >= call.n)
        floats[i] = std::numeric_limits<float>::quiet_NaN();
  }

  void addProducts(std::vector<double> &sum) const {
    int64_t total = 1;
    for (int64_t count : call.batch)
      total *= count;
    for (int64_t i = 0; i < total; ++i) {
      int64_t aBase = 0, bBase = 0, rest = i;
      for (size_t d = call.batch.size(); d-- > 0; rest /= call.batch[d]) {
        aBase += rest % call.batch[d] * aStrides[d];
        bBase += rest % call.batch[d] * bStrides[d];
      }
      int64_t aRow = aStrides[call.batch.size()];
      for (int64_t m = 0; m < call.m; ++m)
        for (int64_t k = 0; k < call.k; ++k) {
          double x = (*a)[aBase + m * aRow + k * call.aK];
          for (int64_t n = 0; n < call.n; ++n)
            sum[m * call.n + n] += x * (*b)[bBase + k * nb + n];
        }
    }
  }
  double finish(double acc, int64_t m, int64_t n) const {
    switch (f.epilogue) {
    case Epilogue::None:
      return acc;
    case Epilogue::BiasRelu:
      return std::max(acc + (*bias)[n], 0.0);
    case Epilogue::AllSides:
      return (acc + (*bias)[n]) * (*scale)[2 * m] +
             (*residual)[m * (ldc + 1) + n] - (*shift)[0];
    }
    return 0;
  }

  const Function &f;
  const Call &call;
  int64_t nb, ldc;
  std::vector<int64_t> aSizes, bSizes, aStrides, bStrides;
  Floats a, b, c, residual, bias, scale, shift;
  std::vector<float> original;
};

/// Several functions compiled together, so that they share kernels.
class Suite {
public:
  Suite(std::vector<Function> functions, HarnessOptions options = {})
      : functions(std::move(functions)) {
    std::string text;
    for (size_t i = 0; i < this->functions.size(); ++i)
      text += this->functions[i].text("f" + std::to_string(i));
    code = compileBrgemm(text, options);
    EXPECT_TRUE(code.jit) << code.error;
    for (size_t i = 0; code.jit && i < this->functions.size(); ++i)
      entries.push_back(code.lookup("f" + std::to_string(i)));
  }

  void check(size_t i, const Call &call) {
    if (i >= entries.size() || !entries[i])
      return;
    Buffers buffers(functions[i], call);
    buffers.run(entries[i]);
    ++numCalls;
    int64_t wrong = buffers.countWrong();
    if (wrong == 0 || ++numFailures > 5)
      return;
    ADD_FAILURE() << wrong << " wrong elements of " << call.m << "x" << call.n
                  << "x" << call.k << ", " << call.batch.size()
                  << " batch dims, k stride " << call.aK << " in\n"
                  << functions[i].text("f");
  }

  std::vector<Function> functions;
  Compiled code;
  std::vector<void *> entries;
  int64_t numCalls = 0, numFailures = 0;
};

const int64_t someK[] = {0, 1, 2, 3, 7, 64, 100};

TEST(Brgemm, everyDynamicSize) {
  Suite suite({Function{}});
  EXPECT_EQ(suite.code.numKernels, 12); // 4 heights x 3 widths, masked.
  for (int64_t m = 1; m <= 40; ++m)
    for (int64_t n = 1; n <= 100; ++n)
      for (int64_t k : someK)
        suite.check(0, {m, n, k, {}});
  EXPECT_EQ(suite.numFailures, 0);
  EXPECT_EQ(suite.numCalls, 28000);
}

/// Sums in blocks, whose totals have totals again: one block more or less of
/// each.
TEST(Brgemm, longSums) {
  Function plain, adding;
  plain.n = adding.n = 8;
  plain.nb = adding.nb = 8;
  adding.accumulate = true;
  adding.epilogue = Epilogue::BiasRelu;
  Suite suite({plain, adding});
  for (int64_t block : {256, 256 * 32, 256 * 32 * 32})
    for (int64_t k : {block - 1, block, block + 1, block + 256, block + 257,
                      2 * block + 300})
      for (size_t i : {0, 1}) {
        suite.check(i, {1, 8, k, {}});
        if (k < 20000)
          suite.check(i, {5, 8, k, {}});
      }
  EXPECT_EQ(suite.numFailures, 0);
}

/// Batches that are parts of a block, and some that are several.
TEST(Brgemm, longSumsOverBatches) {
  Function one, two;
  one.n = two.n = 8;
  one.nb = two.nb = 8;
  one.batchDims = 1;
  two.batchDims = 2;
  Suite suite({one, two});
  for (int64_t k : {1, 3, 100, 255, 256, 300, 700})
    for (int64_t count : {1, 2, 3, 40}) {
      suite.check(0, {3, 8, k, {count}});
      suite.check(1, {3, 8, k, {3, count}});
    }
  EXPECT_EQ(suite.numFailures, 0);
}

TEST(Brgemm, noRowsOrColumns) {
  Suite suite({Function{}});
  GuardedFloats nothing(0);
  for (auto [m, n] : {std::pair<int64_t, int64_t>{0, 5}, {5, 0}, {0, 0}}) {
    Descriptor a = describe(nothing.data(), {m, 4}, {4, 1});
    Descriptor b = describe(nothing.data(), {4, 120}, {120, 1});
    Descriptor c = describe(nothing.data(), {m, n}, {n, 1});
    using Entry =
        void (*)(Descriptor *, Descriptor *, Descriptor *, Descriptor *,
                 Descriptor *, Descriptor *, Descriptor *);
    ASSERT_TRUE(suite.entries.size());
    reinterpret_cast<Entry>(suite.entries[0])(&a, &b, &c, &c, &c, &c, &c);
  }
}

TEST(Brgemm, everyStaticWidth) {
  for (bool packed : {true, false}) {
    std::vector<Function> functions;
    for (int64_t n = 1; n <= 100; ++n) {
      Function f;
      f.n = n;
      f.packed = packed;
      f.epilogue = Epilogue::BiasRelu;
      functions.push_back(f);
    }
    Suite suite(functions);
    // Wide enough functions agree on 4 x 3, so most kernels are shared.
    EXPECT_LE(suite.code.numKernels, 80);
    for (int64_t n = 1; n <= 100; ++n)
      for (int64_t m : {1, 3, 4, 5, 9, 40})
        for (int64_t k : {0, 1, 7, 64})
          suite.check(n - 1, {m, n, k, {}});
    EXPECT_EQ(suite.numFailures, 0);
  }
}

TEST(Brgemm, everyStaticHeight) {
  std::vector<Function> functions;
  const int64_t widths[] = {5, 16, 24, 60};
  for (int64_t m = 1; m <= 40; ++m)
    for (int64_t n : widths) {
      Function f;
      f.m = m;
      f.n = n;
      f.accumulate = n == 24;
      functions.push_back(f);
    }
  Suite suite(functions);
  size_t i = 0;
  for (int64_t m = 1; m <= 40; ++m)
    for (int64_t n : widths) {
      for (int64_t k : someK)
        suite.check(i, {m, n, k, {}});
      ++i;
    }
  EXPECT_EQ(suite.numFailures, 0);
}

/// All forms of operands and epilogues, with a small tile to keep them few.
std::vector<Function> allForms(int maxBatchDims) {
  std::vector<Function> functions;
  for (int batchDims = 0; batchDims <= maxBatchDims; ++batchDims)
    for (bool packed : {true, false})
      for (bool accumulate : {true, false})
        for (bool unitK : {true, false})
          for (Epilogue epilogue :
               {Epilogue::None, Epilogue::BiasRelu, Epilogue::AllSides}) {
            Function f;
            f.batchDims = batchDims;
            f.packed = packed;
            f.accumulate = accumulate;
            f.unitK = unitK;
            f.epilogue = epilogue;
            f.tile = "[2, 2]";
            functions.push_back(f);
          }
  return functions;
}

void checkAllForms(Suite &suite) {
  const std::vector<int64_t> batches[4][3] = {
      {{}, {}, {}},
      {{1}, {3}, {0}},
      {{1, 1}, {2, 3}, {0, 2}},
      {{1, 1, 1}, {2, 1, 3}, {2, 0, 2}}};
  for (size_t i = 0; i < suite.functions.size(); ++i) {
    const Function &f = suite.functions[i];
    for (const std::vector<int64_t> &batch : batches[f.batchDims])
      for (int64_t k : {0, 1, 5, 33})
        for (int64_t n : {1, 8, 13, 16, 31})
          for (int64_t m : {1, 2, 5}) {
            Call call{m, n, k, batch};
            call.aK = f.unitK ? 1 : 3;
            call.aRowGap = k % 2;
            call.overlap = n % 2; // A convolution's taps: views overlap.
            suite.check(i, call);
          }
  }
  EXPECT_EQ(suite.numFailures, 0);
}

TEST(Brgemm, allForms) {
  Suite suite(allForms(3));
  checkAllForms(suite);
}

TEST(Brgemm, longSumsOfAnyHeightAreFinishedApart) {
  Function plain;
  plain.n = plain.nb = 24;
  plain.tile = "[4, 3]";
  Function adding = plain, epilogue = plain;
  adding.accumulate = true;
  epilogue.epilogue = Epilogue::AllSides;
  Function shortSums = epilogue; // declined
  shortSums.maxTerms = 255;
  // Four heights; one function for each end.
  EXPECT_EQ(Suite({plain, adding, epilogue}).code.numKernels, 6);
  EXPECT_EQ(Suite({plain, shortSums}).code.numKernels, 8);
}

TEST(Brgemm, allFormsUnrolled) {
  HarnessOptions options;
  options.unrollK = 4;
  std::vector<Function> functions = allForms(1);
  for (Function &f : functions)
    f.maxTerms = 3 * 33; // kernels finish their own sums
  Suite suite(functions, options);
  checkAllForms(suite);
}

TEST(Brgemm, prefetchReadsNothing) {
  // Nothing follows B here but an unreadable page.
  Function dynamic;
  dynamic.nb = 24;
  dynamic.prefetch = true;
  Function fixed = dynamic;
  fixed.m = 10;
  fixed.n = 21;
  Function apart = dynamic; // the next panel does not follow this one
  apart.nextPanel = 1 << 20;
  Suite suite({dynamic, fixed, apart});
  for (int64_t k : someK) {
    for (int64_t m : {1, 3, 4, 10, 37})
      for (int64_t n : {1, 8, 24})
        for (size_t function : {0, 2})
          suite.check(function, {m, n, k, {}});
    suite.check(1, {10, 21, k, {}});
  }
  EXPECT_EQ(suite.numFailures, 0);
}

TEST(Brgemm, pastTheCaches) {
  // With whole lines, with rows that begin inside one, and with columns left.
  Function fixed;
  fixed.nb = 48;
  fixed.nontemporal = true;
  fixed.tile = "[4, 2]";
  fixed.n = 48;
  Function dynamic = fixed;
  dynamic.n.reset();
  dynamic.epilogue = Epilogue::AllSides;
  Suite suite({fixed, dynamic});
  for (int64_t m : {1, 4, 7, 10})
    for (int64_t gap : {0, 3, 16, 20}) {
      Call call{m, 48, 16, {}};
      call.cRowGap = gap;
      suite.check(0, call);
      for (int64_t n : {5, 16, 24, 40, 48}) {
        call.n = n;
        suite.check(1, call);
      }
    }
  EXPECT_EQ(suite.numFailures, 0);
  std::string text = compileBrgemm(fixed.text("f"), {}, false).assembly;
  EXPECT_NE(text.find("vmovntps"), std::string::npos);
  // What the CPU has for a fence; either waits for what is on the way.
  EXPECT_TRUE(text.find("mfence") != text.npos ||
              text.find("\tlock\t") != text.npos)
      << text;
}

/// In place: C = A B + C through an epilogue operand.
void checkOperandMayBeC(const std::string &m, const std::string &k) {
  std::string ta = "memref<" + m + "x" + k + "xf32>",
              tb = "memref<" + k + "x24xf32>", tc = "memref<" + m + "x19xf32>";
  std::string operands = ") epilogue_operands(%c : " + tc + ") maps [" +
                         "affine_map<(d0, d1) -> (d0, d1)>] outs(%c : " + tc;
  Compiled code = compileBrgemm(
      "func.func @f(%a: " + ta + ", %b: " + tb + ", %c: " + tc +
      ") {\ntile.brgemm ins(%a, %b : " + ta + ", " + tb + operands +
      ") epilogue {\n^bb0(%acc: f32, %x: f32):\n"
      "%0 = arith.addf %acc, %x : f32\ntile.yield %0 : f32\n}\nreturn\n}\n");
  ASSERT_TRUE(code.jit) << code.error;
  GuardedFloats a(15, 2), b(72, 3), c(95, 1);
  Descriptor da = describe(a.data(), {5, 3}, {3, 1});
  Descriptor db = describe(b.data(), {3, 24}, {24, 1});
  Descriptor dc = describe(c.data(), {5, 19}, {19, 1});
  using Entry = void (*)(Descriptor *, Descriptor *, Descriptor *);
  reinterpret_cast<Entry>(code.lookup("f"))(&da, &db, &dc);
  for (size_t i = 0; i < c.size(); ++i)
    EXPECT_EQ(c[i], 19) << i;
}

TEST(Brgemm, epilogueOperandMayBeC) { checkOperandMayBeC("5", "3"); }
/// Its sums are not in C until the operand has been read.
TEST(Brgemm, epilogueOperandMayBeCOfAnyHeight) { checkOperandMayBeC("?", "?"); }

/// Other vector widths. 512 bits run as pairs of 256 where there is no AVX-512.
void checkWidth(HarnessOptions options, std::vector<std::string> tiles) {
  std::vector<Function> functions;
  for (const std::string &tile : tiles) {
    Function f;
    f.nb = 128;
    f.tile = tile;
    f.epilogue = Epilogue::AllSides;
    f.n = 100;
    functions.push_back(f);
    f.epilogue = Epilogue::None;
    f.n = 77;
    f.packed = false;
    functions.push_back(f);
  }
  Function chosen;
  chosen.nb = 128;
  functions.push_back(chosen);
  Suite suite(functions, options);
  for (size_t i = 0; i < functions.size(); ++i)
    for (int64_t m : {1, 2, 3, 5, 7, 8, 12, 14, 15, 29, 40})
      for (int64_t k : {0, 1, 7, 64})
        suite.check(i, {m, functions[i].n.value_or(m * 3), k, {}});
  EXPECT_EQ(suite.numFailures, 0);
}

TEST(Brgemm, vectors512) {
  HarnessOptions options;
  options.vectorBits = 512;
  options.numVectorRegisters = 32;
  checkWidth(options,
             {"[8, 3]", "[6, 4]", "[12, 2]", "[14, 2]", "[4, 4]", "[1, 4]"});
}

TEST(Brgemm, vectors128OnAnyMachine) {
  HarnessOptions options;
  options.vectorBits = 128;
  options.cpu = "x86-64";
  checkWidth(options, {"[6, 2]", "[3, 3]"});
}

TEST(Brgemm, scalarOnAnyMachine) {
  HarnessOptions options;
  options.vectorBits = 32;
  options.cpu = "x86-64";
  checkWidth(options, {"[2, 3]"});
}

TEST(Brgemm, equalEpiloguesShareKernels) {
  Function f;
  f.m = 4;
  f.n = 24;
  f.epilogue = Epilogue::BiasRelu;
  Function other = f;
  other.m = 8;
  Function different = f;
  different.epilogue = Epilogue::None;
  EXPECT_EQ(Suite({f, f, other}).code.numKernels, 1);
  EXPECT_EQ(Suite({f, different}).code.numKernels, 2);
}

TEST(Brgemm, refusesNonsenseTargets) {
  HarnessOptions options;
  options.vectorBits = 100;
  Compiled code = compileBrgemm(Function{}.text("f"), options);
  EXPECT_FALSE(code.jit);
  EXPECT_NE(code.error.find("vector_bits is 100, must be"), std::string::npos)
      << code.error;
}

} // namespace
