//===- VectorizeGeneric_test.cpp - vector code against plain loops --------===//
//
// Each case is one linalg.generic, written as text from a small description,
// compiled and compared with the same loops over double.  Operands end at an
// unreadable page.
//
//===----------------------------------------------------------------------===//
#include "codegen/Passes.h"
#include "codegen/testing/Execute.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <random>

using namespace tenon::codegen;
using namespace tenon::codegen::testing;

namespace {

using Dims = std::vector<int64_t>;

/// One operand: the loop dim of each memref dim (-1: constant 0, size 1).
struct OperandSpec {
  std::vector<int> dims;
  std::string type = "f32";
  /// Memref dims in memory order, outer first; empty: as they are.
  std::vector<int> order = {};
  /// Elements between rows beyond what the shape needs.
  int64_t padding = 0;
  int64_t offset = 0;
};

struct Case {
  Dims sizes;
  std::string reduction; // one letter per loop: p or r
  std::vector<OperandSpec> inputs;
  OperandSpec output;
  /// Uses %a, %b, ... and %out; ends with the name of the result.
  std::string body;
  std::string result;
  /// New output from inputs and old output.
  std::function<double(const std::vector<double> &, double)> reference;
  bool dynamic = false;
  int bits = 256;
  /// Relative to the sum of absolute values.
  double tolerance = 2e-6;
};

struct Operand {
  Operand(const OperandSpec &spec, const Case &test) : spec(spec) {
    for (int d : spec.dims)
      sizes.push_back(d < 0 ? 1 : test.sizes[d]);
    strides.assign(sizes.size(), 1);
    std::vector<int> order = spec.order;
    if (order.empty())
      for (size_t i = 0; i < sizes.size(); ++i)
        order.push_back(i);
    int64_t stride = 1;
    for (size_t i = order.size(); i-- > 0;) {
      strides[order[i]] = stride;
      stride *= std::max<int64_t>(sizes[order[i]], 1);
      if (i + 1 == order.size())
        stride += spec.padding;
    }
    int64_t last = 0;
    bool empty = false;
    for (size_t i = 0; i < sizes.size(); ++i) {
      last += (sizes[i] - 1) * strides[i];
      empty |= sizes[i] == 0;
    }
    count = spec.offset + (empty ? 0 : last + 1);
    buffer = std::make_unique<GuardedBuffer>(count * bytes());
    descriptor = makeDescriptor(buffer->data(), spec.offset, sizes, strides);
  }
  int64_t bytes() const {
    return spec.type == "i64"   ? 8
           : spec.type == "i16" ? 2
           : spec.type == "i8"  ? 1
                                : 4;
  }
  int64_t at(const Dims &ivs) const {
    int64_t address = spec.offset;
    for (size_t i = 0; i < spec.dims.size(); ++i)
      if (spec.dims[i] >= 0)
        address += ivs[spec.dims[i]] * strides[i];
    return address;
  }
  double get(int64_t i) const {
    void *data = buffer->data();
    if (spec.type == "f32")
      return static_cast<float *>(data)[i];
    if (spec.type == "i32")
      return static_cast<int32_t *>(data)[i];
    if (spec.type == "i64")
      return static_cast<int64_t *>(data)[i];
    if (spec.type == "i16")
      return static_cast<int16_t *>(data)[i];
    return static_cast<int8_t *>(data)[i];
  }
  void set(int64_t i, double value) {
    void *data = buffer->data();
    if (spec.type == "f32")
      static_cast<float *>(data)[i] = value;
    else if (spec.type == "i32")
      static_cast<int32_t *>(data)[i] = value;
    else if (spec.type == "i64")
      static_cast<int64_t *>(data)[i] = value;
    else if (spec.type == "i16")
      static_cast<int16_t *>(data)[i] = value;
    else
      static_cast<int8_t *>(data)[i] = value;
  }
  std::string memrefType(bool dynamic) const {
    std::string type = "memref<", layout;
    for (size_t i = 0; i < sizes.size(); ++i) {
      type += (dynamic ? "?" : std::to_string(sizes[i])) + "x";
      // The innermost stride stays known: it decides how memory is accessed.
      bool known = !dynamic || strides[i] == 1;
      layout += (i ? ", " : "") +
                (known ? std::to_string(strides[i]) : std::string("?"));
    }
    return type + spec.type + ", strided<[" + layout +
           "], offset: " + (dynamic ? "?" : std::to_string(spec.offset)) + ">>";
  }

  OperandSpec spec;
  Dims sizes, strides;
  int64_t count = 0;
  std::unique_ptr<GuardedBuffer> buffer;
  std::vector<int64_t> descriptor;
};

std::string mapText(const OperandSpec &operand, size_t rank) {
  std::string text = "affine_map<(";
  for (size_t d = 0; d < rank; ++d)
    text += (d ? ", d" : "d") + std::to_string(d);
  text += ") -> (";
  for (size_t i = 0; i < operand.dims.size(); ++i)
    text += (i ? ", " : "") + (operand.dims[i] < 0
                                   ? std::string("0")
                                   : "d" + std::to_string(operand.dims[i]));
  return text + ")>";
}

std::string moduleText(const Case &test,
                       const std::vector<std::unique_ptr<Operand>> &operands) {
  std::string arguments, maps, ins, types, body, iterators;
  for (size_t i = 0; i < operands.size(); ++i) {
    std::string name = "%m" + std::to_string(i);
    std::string type = operands[i]->memrefType(test.dynamic);
    bool output = i + 1 == operands.size();
    arguments += (i ? ", " : "") + name + ": " + type;
    maps += (i ? ", " : "") + mapText(operands[i]->spec, test.sizes.size());
    if (!output) {
      ins += (i ? ", " : "") + name;
      types += (i ? ", " : "") + type;
    }
    body += (i ? ", %" : "%") +
            (output ? std::string("out") : std::string(1, 'a' + i)) + ": " +
            operands[i]->spec.type;
  }
  for (size_t d = 0; d < test.sizes.size(); ++d)
    iterators += std::string(d ? ", " : "") +
                 (test.reduction[d] == 'r' ? "\"reduction\"" : "\"parallel\"");
  std::string name = "%m" + std::to_string(operands.size() - 1);
  std::string insText =
      operands.size() > 1 ? " ins(" + ins + " : " + types + ")" : "";
  return "func.func @f(" + arguments +
         ") attributes {llvm.emit_c_interface} {\n  linalg.generic "
         "{indexing_maps = [" +
         maps + "], iterator_types = [" + iterators + "]}" + insText +
         " outs(" + name + " : " + operands.back()->memrefType(test.dynamic) +
         ") {\n  ^bb0(" + body + "):\n" + test.body + "\n  linalg.yield " +
         test.result + " : " + operands.back()->spec.type +
         "\n  }\n  return\n}\n";
}

void call(void *function, std::vector<std::unique_ptr<Operand>> &operands) {
  std::vector<void *> a;
  for (auto &operand : operands)
    a.push_back(operand->descriptor.data());
  using P = void *;
  switch (a.size()) {
  case 1:
    return reinterpret_cast<void (*)(P)>(function)(a[0]);
  case 2:
    return reinterpret_cast<void (*)(P, P)>(function)(a[0], a[1]);
  case 3:
    return reinterpret_cast<void (*)(P, P, P)>(function)(a[0], a[1], a[2]);
  default:
    FAIL() << "too many operands";
  }
}

void run(const Case &test) {
  std::vector<std::unique_ptr<Operand>> operands;
  for (const OperandSpec &spec : test.inputs)
    operands.push_back(std::make_unique<Operand>(spec, test));
  operands.push_back(std::make_unique<Operand>(test.output, test));
  std::minstd_rand random(7);
  for (auto &operand : operands)
    for (int64_t i = 0; i < operand->count; ++i)
      operand->set(i, operand->spec.type == "f32"
                          ? double(random() % 2001) / 1000 - 1
                          : double(random() % 21) - 10);
  Operand &out = *operands.back();
  std::vector<double> expected, scale;
  for (int64_t i = 0; i < out.count; ++i) {
    expected.push_back(out.get(i));
    scale.push_back(1 + std::abs(expected.back()));
  }
  Dims ivs(test.sizes.size(), 0);
  int64_t points = std::accumulate(test.sizes.begin(), test.sizes.end(),
                                   int64_t(1), std::multiplies<>());
  for (int64_t point = 0; point < points; ++point) {
    for (int64_t rest = point, d = ivs.size(); d-- > 0;) {
      ivs[d] = rest % test.sizes[d];
      rest /= test.sizes[d];
    }
    std::vector<double> values;
    for (size_t i = 0; i + 1 < operands.size(); ++i)
      values.push_back(operands[i]->get(operands[i]->at(ivs)));
    for (int64_t iv : ivs)
      values.push_back(iv);
    int64_t at = out.at(ivs);
    expected[at] = test.reference(values, expected[at]);
    scale[at] += std::abs(expected[at]);
  }

  std::string text = moduleText(test, operands);
  SCOPED_TRACE(text);
  auto jit = compileText(text, "tenon-vectorize-generic{vector-bits=" +
                                   std::to_string(test.bits) + "}");
  ASSERT_TRUE(bool(jit)) << tenon::str(jit.errors());
  auto function = (*jit)->lookup("_mlir_ciface_f");
  ASSERT_TRUE(bool(function)) << tenon::str(function.errors());
  call(*function, operands);
  for (auto &operand : operands)
    EXPECT_TRUE(operand->buffer->startIsIntact());
  int failures = 0;
  for (int64_t i = 0; i < out.count && failures < 3; ++i) {
    double error = std::abs(out.get(i) - expected[i]);
    if (error > test.tolerance * scale[i]) {
      ADD_FAILURE() << "element " << i << ": " << out.get(i) << ", expected "
                    << expected[i];
      ++failures;
    }
  }
}

class VectorizeGeneric : public ::testing::Test {
public:
  static void SetUpTestSuite() { registerCodegenPasses(); }
};

const int64_t kSizes[] = {0,  1,  2,  3,  4,  5,  7,  8,   9,   15,  16,
                          17, 31, 32, 33, 63, 64, 65, 100, 127, 1000};

Case addCase(int64_t n) {
  Case test;
  test.sizes = {n};
  test.reduction = "p";
  test.inputs = {{{0}}, {{0}}};
  test.output = {{0}};
  test.body = "%r = arith.addf %a, %b : f32";
  test.result = "%r";
  test.reference = [](auto &v, double) { return v[0] + v[1]; };
  return test;
}

TEST_F(VectorizeGeneric, AddOfEverySize) {
  for (int64_t n : kSizes)
    for (bool dynamic : {false, true})
      for (int bits : {128, 256}) {
        Case test = addCase(n);
        test.dynamic = dynamic;
        test.bits = bits;
        run(test);
      }
}

TEST_F(VectorizeGeneric, ReadsTheOutput) {
  Case test = addCase(37);
  test.body = "%s = arith.addf %a, %b : f32\n%r = arith.addf %s, %out : f32";
  test.reference = [](auto &v, double out) { return v[0] + v[1] + out; };
  run(test);
}

TEST_F(VectorizeGeneric, Broadcasts) {
  for (int64_t n : {1, 5, 8, 33})
    for (bool dynamic : {false, true})
      for (const std::vector<int> &dims :
           {std::vector<int>{1}, {0}, {-1, 1}, {0, -1}, {}}) {
        Case test = addCase(0);
        test.sizes = {6, n};
        test.reduction = "pp";
        test.dynamic = dynamic;
        test.inputs = {{{0, 1}}, {dims}};
        test.output = {{0, 1}};
        test.output.padding = 3;
        test.output.offset = 2;
        run(test);
      }
}

TEST_F(VectorizeGeneric, Transposes) {
  for (int64_t m : {1, 3, 7, 8, 9, 16, 23, 33})
    for (int64_t n : {1, 2, 8, 15, 24, 40})
      for (bool dynamic : {false, true}) {
        Case test = addCase(0);
        test.sizes = {m, n};
        test.reduction = "pp";
        test.dynamic = dynamic;
        test.inputs = {{{1, 0}}, {{0, 1}}};
        test.inputs[0].padding = 1;
        test.output = {{0, 1}};
        run(test);
      }
}

TEST_F(VectorizeGeneric, TransposesOfFourDims) {
  std::vector<int> permutation = {0, 1, 2, 3};
  do {
    for (const char *type : {"f32", "i8"}) {
      Case test;
      test.sizes = {3, 9, 10, 17};
      test.reduction = "pppp";
      test.inputs = {{permutation, type}};
      test.output = {{0, 1, 2, 3}, type};
      test.result = "%a";
      test.reference = [](auto &v, double) { return v[0]; };
      run(test);
    }
  } while (std::next_permutation(permutation.begin(), permutation.end()));
}

/// Dims are (groups, columns, members): the output has groups of neighbours.
Case groupsCase(int64_t groups, int64_t columns, const char *type) {
  int64_t members = type == std::string("i16") ? 2 : 4;
  Case test;
  test.sizes = {groups, columns, members};
  test.reduction = "ppp";
  test.output = {{0, 1, 2}, type};
  test.result = "%a";
  test.reference = [](auto &v, double) { return v[0]; };
  return test;
}

TEST_F(VectorizeGeneric, GroupsOfRows) {
  // K of weights [K, N]: members of a group are rows of the input.
  for (const char *type : {"i16", "i8"})
    for (int64_t columns : {1, 3, 8, 15, 16, 48, 53})
      for (bool dynamic : {false, true})
        for (int bits : {128, 256, 512}) {
          Case test = groupsCase(3, columns, type);
          test.inputs = {{{0, 2, 1}, type}};
          test.inputs[0].padding = 1;
          test.dynamic = dynamic;
          test.bits = bits;
          run(test);
        }
}

TEST_F(VectorizeGeneric, GroupsOfComputedRows) {
  for (const char *type : {"i16", "i8"})
    for (int64_t columns : {5, 16, 40}) {
      Case test = groupsCase(2, columns, type);
      // The second is the same for a column, the third for a member.
      test.inputs = {{{0, 2, 1}, type}, {{1}, type}};
      test.body = std::string("%s = arith.addi %a, %b : ") + type;
      test.result = "%s";
      test.reference = [](auto &v, double) { return v[0] + v[1]; };
      run(test);
      test.inputs[1].dims = {2};
      run(test);
    }
}

TEST_F(VectorizeGeneric, GroupsThatMove) {
  // K of keys [N, K]: groups lie together on both sides.
  for (const char *type : {"i16", "i8"})
    for (int64_t columns : {1, 7, 16, 37})
      for (int64_t groups : {3, 16, 35})
        for (bool dynamic : {false, true})
          for (int bits : {128, 256, 512}) {
            Case test = groupsCase(groups, columns, type);
            test.inputs = {{{1, 0, 2}, type}};
            test.inputs[0].offset = 1;
            test.dynamic = dynamic;
            test.bits = bits;
            run(test);
          }
}

TEST_F(VectorizeGeneric, OtherGroups) {
  // Eight bytes; and pairs that are added to what the output holds.
  Case test = groupsCase(4, 20, "i8");
  test.sizes[2] = 8;
  test.inputs = {{{0, 2, 1}, "i8"}};
  run(test);
  test = groupsCase(4, 20, "i16");
  test.inputs = {{{0, 2, 1}, "i16"}};
  test.body = "%s = arith.addi %a, %out : i16";
  test.result = "%s";
  test.reference = [](auto &v, double out) { return v[0] + out; };
  run(test);
}

Case sumCase(const Dims &sizes, unsigned mask) {
  Case test;
  test.sizes = sizes;
  OperandSpec in;
  for (size_t d = 0; d < sizes.size(); ++d) {
    bool reduced = mask >> d & 1;
    test.reduction += reduced ? 'r' : 'p';
    in.dims.push_back(d);
    if (!reduced)
      test.output.dims.push_back(d);
  }
  test.inputs = {in};
  test.body = "%r = arith.addf %a, %out : f32";
  test.result = "%r";
  test.reference = [](auto &v, double out) { return v[0] + out; };
  return test;
}

TEST_F(VectorizeGeneric, SumsOverEverySubset) {
  for (const Dims &sizes : {Dims{5, 3, 4, 9}, Dims{2, 17, 3, 33},
                            Dims{3, 1, 40, 1}, Dims{2, 0, 3, 8}})
    for (unsigned mask = 1; mask < 16; ++mask)
      for (bool dynamic : {false, true}) {
        Case test = sumCase(sizes, mask);
        test.dynamic = dynamic;
        run(test);
      }
}

TEST_F(VectorizeGeneric, SumsOfEverySize) {
  for (int64_t n : kSizes)
    for (bool dynamic : {false, true}) {
      Case all = sumCase({n}, 1);
      all.dynamic = dynamic;
      run(all);
      Case columns = sumCase({6, n}, 1);
      columns.dynamic = dynamic;
      run(columns);
    }
}

TEST_F(VectorizeGeneric, OtherCombiners) {
  struct Combiner {
    const char *op;
    std::function<double(double, double)> apply;
  };
  for (const Combiner &combiner :
       {Combiner{"arith.maximumf",
                 [](double x, double y) { return std::max(x, y); }},
        {"arith.minimumf", [](double x, double y) { return std::min(x, y); }},
        {"arith.maxnumf", [](double x, double y) { return std::max(x, y); }},
        {"arith.mulf", [](double x, double y) { return x * y; }}})
    for (int64_t n : {3, 8, 29, 100}) {
      Case test = sumCase({4, n}, 2);
      test.body = std::string("%r = ") + combiner.op + " %a, %out : f32";
      test.reference = [&](auto &v, double out) {
        return combiner.apply(v[0], out);
      };
      run(test);
    }
}

TEST_F(VectorizeGeneric, IntegerSums) {
  for (int64_t n : {1, 7, 8, 13, 64, 100})
    for (unsigned mask : {1u, 2u, 3u}) {
      Case test = sumCase({5, n}, mask);
      test.inputs[0].type = "i8";
      test.output.type = "i32";
      test.body = "%e = arith.extsi %a : i8 to i32\n"
                  "%r = arith.addi %e, %out : i32";
      run(test);
    }
}

TEST_F(VectorizeGeneric, Contraction) {
  for (bool transposed : {false, true})
    for (bool dynamic : {false, true}) {
      Case test;
      test.sizes = {5, 19, 11};
      test.reduction = "ppr";
      test.dynamic = dynamic;
      test.inputs = {
          {{0, 2}},
          {transposed ? std::vector<int>{1, 2} : std::vector<int>{2, 1}}};
      test.output = {{0, 1}};
      test.body = "%m = arith.mulf %a, %b : f32\n"
                  "%r = arith.addf %m, %out : f32";
      test.result = "%r";
      test.reference = [](auto &v, double out) { return out + v[0] * v[1]; };
      run(test);
    }
}

TEST_F(VectorizeGeneric, IndexValues) {
  for (int64_t n : {1, 8, 21})
    for (bool dynamic : {false, true}) {
      Case test = addCase(0);
      test.sizes = {3, n};
      test.reduction = "pp";
      test.dynamic = dynamic;
      test.inputs = {};
      test.output = {{0, 1}, "i32"};
      test.body = "%i = linalg.index 0 : index\n%j = linalg.index 1 : index\n"
                  "%c = arith.constant 100 : index\n"
                  "%p = arith.muli %i, %c : index\n"
                  "%q = arith.addi %p, %j : index\n"
                  "%r = arith.index_cast %q : index to i32";
      test.reference = [](auto &v, double) { return 100 * v[0] + v[1]; };
      run(test);
    }
}

TEST_F(VectorizeGeneric, MixedWidths) {
  for (int64_t n : kSizes)
    for (bool dynamic : {false, true}) {
      Case test = addCase(n);
      test.dynamic = dynamic;
      test.inputs = {{{0}, "i8"}, {{0}}};
      test.body = "%z = arith.constant 0 : i8\n%h = arith.constant 0.5 : f32\n"
                  "%t = arith.cmpi ne, %a, %z : i8\n"
                  "%r = arith.select %t, %b, %h : f32";
      test.reference = [](auto &v, double) { return v[0] ? v[1] : 0.5; };
      run(test);
    }
}

TEST_F(VectorizeGeneric, IntegerDivisionNeverTraps) {
  for (int64_t n : {1, 5, 8, 11}) {
    Case test = addCase(n);
    for (OperandSpec *o : {&test.inputs[0], &test.inputs[1], &test.output})
      o->type = "i32";
    test.body = "%c = arith.constant 100 : i32\n%d = arith.addi %b, %c : i32\n"
                "%r = arith.divsi %a, %d : i32";
    test.reference = [](auto &v, double) {
      return std::trunc(v[0] / (v[1] + 100));
    };
    run(test);
  }
}

TEST_F(VectorizeGeneric, StridedOperands) {
  for (bool dynamic : {false, true})
    for (const std::vector<int> &order :
         {std::vector<int>{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {0, 2, 1}}) {
      Case test = addCase(0);
      test.sizes = {4, 9, 12};
      test.reduction = "ppp";
      test.dynamic = dynamic;
      test.inputs = {{{0, 1, 2}, "f32", order, 2, 5}, {{0, 1, 2}}};
      test.output = {{0, 1, 2}, "f32", {0, 2, 1}, 1, 3};
      run(test);
      std::swap(test.inputs[0].order, test.output.order);
      run(test);
    }
}

TEST_F(VectorizeGeneric, RankZero) {
  Case test = addCase(0);
  test.sizes = {};
  test.reduction = "";
  test.inputs = {{{}}, {{}}};
  test.output = {{}};
  run(test);
}

/// Compiles `body` as @f over `arguments` and calls it with two descriptors or
/// three.
void runText(const std::string &arguments, const std::string &body,
             std::vector<std::vector<int64_t>> descriptors) {
  auto jit = compileText("func.func @f(" + arguments +
                             ") attributes {llvm.emit_c_interface} {\n" + body +
                             "\nreturn\n}\n",
                         "tenon-vectorize-generic");
  ASSERT_TRUE(bool(jit)) << tenon::str(jit.errors());
  auto function = (*jit)->lookup("_mlir_ciface_f");
  ASSERT_TRUE(bool(function)) << tenon::str(function.errors());
  using P = void *;
  if (descriptors.size() == 2)
    reinterpret_cast<void (*)(P, P)>(*function)(descriptors[0].data(),
                                                descriptors[1].data());
  else
    reinterpret_cast<void (*)(P, P, P)>(*function)(
        descriptors[0].data(), descriptors[1].data(), descriptors[2].data());
}

TEST_F(VectorizeGeneric, ElementsAndTheirRowSum) {
  for (int64_t n : {3, 8, 50, 77}) {
    std::string matrix = "memref<4x" + std::to_string(n) + "xf32>";
    std::vector<float> x(4 * n), y(4 * n), sums(4, 1);
    for (int64_t i = 0; i < 4 * n; ++i)
      x[i] = float(i % 13);
    runText("%x: " + matrix + ", %y: " + matrix + ", %s: memref<4xf32>",
            "linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, "
            "affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], "
            "iterator_types = [\"parallel\", \"reduction\"]} ins(%x : " +
                matrix + ") outs(%y, %s : " + matrix +
                ", memref<4xf32>) {\n^bb0(%a: f32, %b: f32, %c: f32):\n"
                "%p = arith.addf %a, %a : f32\n%q = arith.addf %p, %c : f32\n"
                "linalg.yield %p, %q : f32, f32\n}",
            {makeDescriptor(x.data(), 0, {4, n}, {n, 1}),
             makeDescriptor(y.data(), 0, {4, n}, {n, 1}),
             makeDescriptor(sums.data(), 0, {4}, {1})});
    for (int64_t i = 0; i < 4; ++i) {
      float sum = 1;
      for (int64_t j = 0; j < n; ++j) {
        EXPECT_EQ(y[i * n + j], 2 * x[i * n + j]);
        sum += y[i * n + j];
      }
      EXPECT_EQ(sums[i], sum) << n;
    }
  }
}

TEST_F(VectorizeGeneric, MapsWithSums) {
  // A one-dimensional convolution: x[2 i + k] summed over k.
  std::vector<float> x(2 * 20 + 3), y(20, 0);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i * i % 17);
  runText("%x: memref<43xf32>, %y: memref<20xf32>",
          "%w = memref.alloca() : memref<3xf32>\n"
          "linalg.generic {indexing_maps = [affine_map<(i, k) -> (i * 2 + k)>,"
          " affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>], "
          "iterator_types = [\"parallel\", \"reduction\"]} ins(%x, %w : "
          "memref<43xf32>, memref<3xf32>) outs(%y : memref<20xf32>) {\n"
          "^bb0(%a: f32, %b: f32, %o: f32):\n%r = arith.addf %a, %o : f32\n"
          "linalg.yield %r : f32\n}",
          {makeDescriptor(x.data(), 0, {43}, {1}),
           makeDescriptor(y.data(), 0, {20}, {1})});
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(y[i], x[2 * i] + x[2 * i + 1] + x[2 * i + 2]);
}

TEST_F(VectorizeGeneric, FillAndCopy) {
  std::vector<float> x(45), y(45);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i);
  runText("%x: memref<45xf32>, %y: memref<45xf32>",
          "linalg.copy ins(%x : memref<45xf32>) outs(%y : memref<45xf32>)\n"
          "%c = arith.constant 2.5 : f32\n"
          "linalg.fill ins(%c : f32) outs(%x : memref<45xf32>)",
          {makeDescriptor(x.data(), 0, {45}, {1}),
           makeDescriptor(y.data(), 0, {45}, {1})});
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(x[i], 2.5f);
    EXPECT_EQ(y[i], float(i));
  }
}

TEST_F(VectorizeGeneric, Booleans) {
  // One byte per element, whatever vectors of i1 look like.
  std::vector<float> x(21);
  std::vector<uint8_t> y(21, 9);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i % 3) - 1;
  runText("%x: memref<21xf32>, %y: memref<21xi1>",
          "%z = arith.constant 0.0 : f32\n"
          "linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, "
          "affine_map<(i) -> (i)>], iterator_types = [\"parallel\"]} ins(%x :"
          " memref<21xf32>) outs(%y : memref<21xi1>) {\n^bb0(%a: f32, %o: i1):"
          "\n%r = arith.cmpf ogt, %a, %z : f32\nlinalg.yield %r : i1\n}",
          {makeDescriptor(x.data(), 0, {21}, {1}),
           makeDescriptor(y.data(), 0, {21}, {1})});
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(y[i], x[i] > 0 ? 1 : 0);
}

TEST_F(VectorizeGeneric, LoadsInTheBody) {
  // y[i, j] = x[n - 1 - i, perm(j)], perm a reversal or nothing: gathers and
  // vector loads.
  for (bool reverse : {false, true})
    for (int64_t n : {1, 5, 8, 19}) {
      std::vector<float> x(n * n), y(n * n);
      for (int64_t i = 0; i < n * n; ++i)
        x[i] = float(i);
      std::string size = std::to_string(n);
      std::string type = "memref<" + size + "x" + size + "xf32>";
      runText("%x: " + type + ", %y: " + type,
              "%n = arith.constant " + std::to_string(n - 1) +
                  " : index\nlinalg.generic {indexing_maps = [affine_map<(i, "
                  "j) -> (i, j)>], iterator_types = [\"parallel\", "
                  "\"parallel\"]} outs(%y : " +
                  type +
                  ") {\n^bb0(%o: f32):\n%i = linalg.index 0 : index\n"
                  "%j = linalg.index 1 : index\n"
                  "%p = arith.subi %n, %i : index\n"
                  "%q = arith.subi %n, %j : index\n"
                  "%r = memref.load %x[%p, " +
                  (reverse ? "%q" : "%j") + "] : " + type +
                  "\nlinalg.yield %r : f32\n}",
              {makeDescriptor(x.data(), 0, {n, n}, {n, 1}),
               makeDescriptor(y.data(), 0, {n, n}, {n, 1})});
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j)
          ASSERT_EQ(y[i * n + j],
                    x[(n - 1 - i) * n + (reverse ? n - 1 - j : j)]);
    }
}

} // namespace
