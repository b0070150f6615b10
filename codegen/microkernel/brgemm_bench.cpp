//===- brgemm_bench.cpp - microkernels against the FMA peak ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   brgemm_bench [--vector-bits=B] [--registers=R] [--tile=MRxNV] [--unroll=U]
//                [--rows=R] [--prefetch] [MxNxK]...
//
// C = A B on one thread: for each block of R rows (default all), for each
// packed panel of B, one tile.brgemm. Prints the time, GFLOP/s and the share of
// the peak: that of a loop of independent FMAs run in turn with the product. On
// a machine with other work trust the best times.
//
//===----------------------------------------------------------------------===//
#include "codegen/microkernel/BrgemmHarness.h"
#include "codegen/microkernel/RegisterTile.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

using namespace tenon::microkernel;
using namespace tenon::microkernel::testing;

namespace {

/// CPU time of this thread: what others ran meanwhile does not count.
double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * time.tv_nsec;
}

using Vector = float __attribute__((vector_size(32)));

/// GFLOP/s of a loop of 12 independent 8-lane FMAs.
__attribute__((target("avx2,fma"))) double measurePeak() {
  constexpr int64_t chains = 12, rounds = 50'000;
  Vector acc[chains] = {}, x = {}, y = {};
  double start = now();
  for (int64_t i = 0; i < rounds; ++i) {
#pragma clang loop unroll(full)
    for (int64_t c = 0; c < chains; ++c)
      asm volatile("vfmadd231ps %1, %2, %0" : "+x"(acc[c]) : "x"(x), "x"(y));
  }
  return chains * rounds * 16e-9 / (now() - start);
}

struct Problem {
  int64_t m, n, k;
};

using Gemm = void (*)(Descriptor *, Descriptor *, Descriptor *);

/// A module with @gemm(a: M x K, b: panels x K x width, c: M x N).
std::string makeModule(Problem p, int64_t width, const std::string &tile) {
  int64_t full = p.n / width, rest = p.n % width;
  auto number = [](int64_t x) { return std::to_string(x); };
  std::string m = number(p.m), n = number(p.n), k = number(p.k),
              w = number(width);
  std::string aType = "memref<" + m + "x" + k + "xf32>";
  std::string bType = "memref<" + number((p.n + width - 1) / width) + "x" + k +
                      "x" + w + "xf32>";
  std::string panel =
      "memref<" + k + "x" + w + "xf32, strided<[" + w + ", 1], offset: ?>>";
  std::string cType = "memref<" + m + "x" + n + "xf32>";
  auto body = [&](const std::string &i, const std::string &columns) {
    std::string part = "memref<" + m + "x" + columns + "xf32, strided<[" + n +
                       ", 1], offset: ?>>";
    return "%w" + i + " = arith.constant " + w + " : index\n%o" + i +
           " = arith.muli %" + i + ", %w" + i + " : index\n%b" + i +
           " = memref.subview %b[%" + i + ", 0, 0] [1, " + k + ", " + w +
           "] [1, 1, 1] : " + bType + " to " + panel + "\n%c" + i +
           " = memref.subview %c[0, %o" + i + "] [" + m + ", " + columns +
           "] [1, 1] : " + cType + " to " + part + "\n" +
           "tile.brgemm ins(%a, %b" + i + " : " + aType + ", " + panel +
           ") outs(%c" + i + " : " + part + ") " + tile + "\n";
  };
  std::string text = "func.func @gemm(%a: " + aType + ", %b: " + bType +
                     ", %c: " + cType + ") {\n";
  text += "%zero = arith.constant 0 : index\n%one = arith.constant 1 : index\n"
          "%full = arith.constant " +
          number(full) + " : index\n";
  if (full)
    text += "scf.for %i = %zero to %full step %one {\n" + body("i", w) + "}\n";
  if (rest)
    text += body("full", number(rest));
  return text + "return\n}\n";
}

void run(Problem p, const HarnessOptions &options, RegisterTile tile,
         int64_t rowBlock, bool prefetch) {
  int64_t block = rowBlock && p.m % rowBlock == 0 ? rowBlock : p.m;
  VectorIsa isa{options.vectorBits, options.numVectorRegisters};
  if (tile.rows == 0)
    tile = chooseRegisterTile(isa, 32, p.m, p.n);
  int64_t width = tile.vectors * isa.lanes(32);
  std::string text = std::string(prefetch ? "prefetch_next " : "") +
                     "register_tile [" + std::to_string(tile.rows) + ", " +
                     std::to_string(tile.vectors) + "]";
  Compiled code =
      compileBrgemm(makeModule({block, p.n, p.k}, width, text), options);
  if (!code.jit) {
    std::fprintf(stderr, "%s\n", code.error.c_str());
    std::exit(4);
  }
  auto gemm = reinterpret_cast<Gemm>(code.lookup("gemm"));
  int64_t panels = (p.n + width - 1) / width;
  auto allocate = [](int64_t count) {
    size_t bytes = (count * sizeof(float) + 63) / 64 * 64;
    auto *data = static_cast<float *>(std::aligned_alloc(64, bytes));
    for (int64_t i = 0; i < count; ++i)
      data[i] = static_cast<float>(i % 7) - 3;
    return data;
  };
  float *a = allocate(p.m * p.k), *b = allocate(panels * p.k * width),
        *c = allocate(p.m * p.n);
  Descriptor db = describe(b, {panels, p.k, width}, {p.k * width, width, 1});
  auto runBlocks = [&] {
    for (int64_t row = 0; row < p.m; row += block) {
      Descriptor da = describe(a + row * p.k, {block, p.k}, {p.k, 1});
      Descriptor dc = describe(c + row * p.n, {block, p.n}, {p.n, 1});
      gemm(&da, &db, &dc);
    }
  };

  runBlocks();
  std::vector<double> times, peaks;
  for (double start = now(); now() - start < 1 || times.size() < 5;) {
    peaks.push_back(measurePeak());
    double begin = now();
    runBlocks();
    times.push_back(now() - begin);
  }
  std::sort(times.begin(), times.end());
  std::sort(peaks.begin(), peaks.end());
  double flops = 2e-9 * p.m * p.n * p.k;
  double median = flops / times[times.size() / 2], best = flops / times[0];
  double medianPeak = peaks[peaks.size() / 2];
  std::printf("%5ldx%ldx%ld tile %ldx%ld: best %8.1f us %6.1f GFLOP/s %5.1f %% "
              "of %.1f, median %6.1f GFLOP/s %5.1f %% of %.1f; %ld kernels, "
              "compiled in %.1f ms\n",
              p.m, p.n, p.k, tile.rows, tile.vectors, times[0] * 1e6, best,
              100 * best / peaks.back(), peaks.back(), median,
              100 * median / medianPeak, medianPeak, code.numKernels,
              code.seconds * 1e3);
  std::free(a);
  std::free(b);
  std::free(c);
}
} // namespace

int main(int argc, char **argv) {
  HarnessOptions options;
  RegisterTile tile{0, 0};
  int64_t rowBlock = 0;
  bool prefetch = false;
  std::vector<Problem> problems;
  for (int i = 1; i < argc; ++i) {
    Problem p;
    if (std::strcmp(argv[i], "--prefetch") == 0) {
      prefetch = true;
      continue;
    }
    if (std::sscanf(argv[i], "--vector-bits=%ld", &options.vectorBits) == 1 ||
        std::sscanf(argv[i], "--registers=%ld", &options.numVectorRegisters) ==
            1 ||
        std::sscanf(argv[i], "--rows=%ld", &rowBlock) == 1 ||
        std::sscanf(argv[i], "--unroll=%ld", &options.unrollK) == 1 ||
        std::sscanf(argv[i], "--tile=%ldx%ld", &tile.rows, &tile.vectors) == 2)
      continue;
    if (std::sscanf(argv[i], "%ldx%ldx%ld", &p.m, &p.n, &p.k) != 3) {
      std::fprintf(stderr, "cannot read argument %s\n", argv[i]);
      return 1;
    }
    problems.push_back(p);
  }
  if (problems.empty())
    problems = {{128, 768, 768}, {512, 1024, 1024}, {1024, 1024, 1024}};
  for (Problem p : problems)
    run(p, options, tile, rowBlock, prefetch);
  return 0;
}
