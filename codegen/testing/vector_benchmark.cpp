//===- vector_benchmark.cpp - vector code against memcpy ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Prints time and bandwidth of compiled linalg operations over 2^20 floats
// (data in L2/L3), beside memcpy of the same size, and the compile time.
//
//===----------------------------------------------------------------------===//
#include "codegen/Passes.h"
#include "codegen/testing/Execute.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

using namespace tenon::codegen;
using namespace tenon::codegen::testing;

namespace {

constexpr int64_t kRows = 1024, kColumns = 1024;

struct Benchmark {
  const char *name;
  const char *inMap;
  const char *outMap;
  const char *iterators;
  std::vector<int64_t> outSizes;
  const char *body;
};

std::string memrefOf(const std::vector<int64_t> &sizes) {
  std::string type = "memref<";
  for (int64_t size : sizes)
    type += std::to_string(size) + "x";
  return type + "f32>";
}

double seconds() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

/// The median of 21 runs.
template <typename Run> double measure(Run run) {
  std::vector<double> times;
  for (int i = 0; i < 21; ++i) {
    double start = seconds();
    run();
    times.push_back(seconds() - start);
  }
  std::nth_element(times.begin(), times.begin() + 10, times.end());
  return times[10];
}

void report(const char *name, double time, double bytes, double compile) {
  std::printf("%-22s %8.1f us %7.1f GB/s   compile %5.1f ms\n", name,
              time * 1e6, bytes / time * 1e-9, compile * 1e3);
}

void run(const Benchmark &test, std::vector<float> &in,
         std::vector<float> &out) {
  std::string inType = memrefOf({kRows, kColumns});
  std::string outType = memrefOf(test.outSizes);
  std::string text =
      "func.func @f(%x: " + inType + ", %z: " + outType +
      ") attributes {llvm.emit_c_interface} {\nlinalg.generic {indexing_maps = "
      "[affine_map<(i, j) -> (" +
      test.inMap + ")>, affine_map<(i, j) -> (" + test.outMap +
      ")>], iterator_types = [" + test.iterators + "]} ins(%x : " + inType +
      ") outs(%z : " + outType + ") {\n^bb0(%a: f32, %o: f32):\n" + test.body +
      "\nlinalg.yield %r : f32\n}\nreturn\n}\n";
  double start = seconds();
  auto jit = compileText(text, "tenon-vectorize-generic,tenon-expand-math");
  if (!jit) {
    std::printf("%s\n", tenon::str(jit.errors()).c_str());
    return;
  }
  auto code = reinterpret_cast<void (*)(void *, void *)>(
      *(*jit)->lookup("_mlir_ciface_f"));
  double compile = seconds() - start;
  std::vector<int64_t> outStrides(test.outSizes.size(), 1);
  if (test.outSizes.size() == 2)
    outStrides[0] = test.outSizes[1];
  auto dx = makeDescriptor(in.data(), 0, {kRows, kColumns}, {kColumns, 1});
  auto dz = makeDescriptor(out.data(), 0, test.outSizes, outStrides);
  int64_t written = 1;
  for (int64_t size : test.outSizes)
    written *= size;
  report(test.name, measure([&] { code(dx.data(), dz.data()); }),
         4.0 * (kRows * kColumns + written), compile);
}

} // namespace

int main() {
  registerCodegenPasses();
  std::vector<float> in(kRows * kColumns), out(kRows * kColumns);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = float(i % 2001) / 500 - 2;
  report("memcpy",
         measure([&] { std::memcpy(out.data(), in.data(), in.size() * 4); }),
         8.0 * in.size(), 0);
  const char *parallel = "\"parallel\", \"parallel\"";
  const char *gelu =
      "%h = arith.constant 0.5 : f32\n%one = arith.constant 1.0 : f32\n"
      "%c = arith.constant 0.70710678 : f32\n%s = arith.mulf %a, %c : f32\n"
      "%e = math.erf %s : f32\n%p = arith.addf %e, %one : f32\n"
      "%q = arith.mulf %p, %a : f32\n%r = arith.mulf %q, %h : f32";
  const std::vector<int64_t> matrix = {kRows, kColumns};
  const Benchmark benchmarks[] = {
      {"add", "i, j", "i, j", parallel, matrix, "%r = arith.addf %a, %a : f32"},
      {"exp", "i, j", "i, j", parallel, matrix, "%r = math.exp %a : f32"},
      {"log", "i, j", "i, j", parallel, matrix, "%r = math.log %a : f32"},
      {"tanh", "i, j", "i, j", parallel, matrix, "%r = math.tanh %a : f32"},
      {"gelu (erf)", "i, j", "i, j", parallel, matrix, gelu},
      {"transpose", "j, i", "i, j", parallel, matrix,
       "%r = arith.addf %a, %a : f32"},
      {"row sums",
       "i, j",
       "i",
       "\"parallel\", \"reduction\"",
       {kRows},
       "%r = arith.addf %a, %o : f32"},
      {"column sums",
       "i, j",
       "j",
       "\"reduction\", \"parallel\"",
       {kColumns},
       "%r = arith.addf %a, %o : f32"},
      {"row maxima",
       "i, j",
       "i",
       "\"parallel\", \"reduction\"",
       {kRows},
       "%r = arith.maximumf %a, %o : f32"},
  };
  for (const Benchmark &benchmark : benchmarks)
    run(benchmark, in, out);
  return 0;
}
