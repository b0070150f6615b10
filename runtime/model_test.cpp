// SPDX-License-Identifier: Apache-2.0
// Models made by hand: what tenon_model_run says when code fails, and which
// buffers it takes.
#include "runtime/TestSupport.h"
#include "runtime/tenon_model.h"

#include <array>

namespace tenon::rt::test {
namespace {

using RunFn = int32_t (*)(tenon_exec *, void *const *, const int64_t *, void *);

/// Code that reads one tensor of `dtype` and `size` elements and writes none.
struct HandMade {
  using ScratchFn = int64_t (*)(const int64_t *);
  HandMade(
      RunFn run, int32_t dtype, int64_t size = 1,
      ScratchFn scratch = [](const int64_t *) { return int64_t(0); })
      : size(size) {
    tensor.name = "x";
    tensor.dtype = dtype;
    tensor.rank = 1;
    tensor.dims = &this->size;
    code.target = "any";
    code.features = "";
    code.main = {run, scratch, &arg, 1};
    info.magic = TENON_MODEL_MAGIC;
    info.version = TENON_MODEL_VERSION;
    info.name = "made by hand";
    info.tensors = &tensor;
    info.num_inputs = 1;
    info.codes = &codes;
    info.num_codes = 1;
    EXPECT_EQ(tenon_model_create(&info, nullptr, &model), TENON_RT_OK);
  }
  ~HandMade() { tenon_model_destroy(model); }
  HandMade(const HandMade &) = delete;
  HandMade &operator=(const HandMade &) = delete;

  tenon_rt_status run(tenon_exec *exec, void *x) {
    return tenon_model_run(model, exec, nullptr, &x, nullptr, nullptr);
  }

  int64_t size;
  tenon_tensor_info tensor = {};
  tenon_model_arg arg = {};
  tenon_model_code code = {};
  const tenon_model_code *codes = &code;
  tenon_model_info info = {};
  tenon_model *model = nullptr;
};

int32_t good(tenon_exec *, void *const *, const int64_t *, void *) { return 0; }

TEST(Model, failureOfItsOwnIsReportedAndCleared) {
  HandMade model(
      [](tenon_exec *exec, void *const *, const int64_t *, void *) {
        tenon_rt_fail(exec, TENON_RT_POOL_MISBEHAVED);
        return int32_t(0);
      },
      TENON_F32);
  ExecPtr exec = makeExec(singleOptions());
  float x = 0;
  EXPECT_EQ(model.run(exec.get(), &x), TENON_RT_POOL_MISBEHAVED);
  EXPECT_EQ(tenon_exec_status(exec.get()), TENON_RT_OK);
}

// Another thread with the same executor fails, and collects its status, while
// ours runs: ours may have skipped sections, and says why.
TEST(Model, failureThatAnotherThreadCollectedKeepsItsStatus) {
  HandMade model(
      [](tenon_exec *exec, void *const *, const int64_t *, void *) {
        std::thread([&] {
          tenon_rt_fail(exec, TENON_RT_POOL_MISBEHAVED);
          tenon_exec_clear_status(exec);
        }).join();
        return int32_t(0);
      },
      TENON_F32);
  HandMade next(good, TENON_F32);
  ExecPtr exec = makeExec(singleOptions());
  float x = 0;
  EXPECT_EQ(model.run(exec.get(), &x), TENON_RT_POOL_MISBEHAVED);
  // The one after it has been spared.
  EXPECT_EQ(next.run(exec.get(), &x), TENON_RT_OK);
}

TEST(Model, failureThatNobodyHasCollectedStopsTheRun) {
  HandMade model(good, TENON_F32);
  ExecPtr exec = makeExec(singleOptions());
  float x = 0;
  tenon_rt_fail(exec.get(), TENON_RT_FORKED_IN_SECTION);
  EXPECT_EQ(model.run(exec.get(), &x), TENON_RT_FORKED_IN_SECTION);
}

/// A size that has wrapped around is none.
TEST(Model, scratchOfNegativeSizeIsRefused) {
  HandMade model(good, TENON_F32, 1,
                 [](const int64_t *) { return int64_t(-64); });
  ExecPtr exec = makeExec(singleOptions());
  float x = 0;
  EXPECT_NE(model.run(exec.get(), &x), TENON_RT_OK);
}

/// 2^-130 + 2^-130, as the machine adds.
float doubledDenormal() {
  volatile float tiny = 0x1p-130f;
  return tiny + tiny;
}

TEST(Model, denormalsAreFlushedInTheModelOnly) {
  auto store = [](tenon_exec *, void *const *buffers, const int64_t *, void *) {
    *static_cast<float *>(buffers[0]) = doubledDenormal();
    return int32_t(0);
  };
  ExecPtr exec = makeExec(singleOptions());
  for (bool flushes : {false, true}) {
    HandMade model(store, TENON_F32);
    model.code.flush_denormals = flushes;
    float x = 1;
    EXPECT_EQ(model.run(exec.get(), &x), TENON_RT_OK);
    EXPECT_EQ(x, flushes ? 0 : 0x1p-129f);
    EXPECT_EQ(doubledDenormal(), 0x1p-129f);
  }
}

TEST(Model, addressesAreMultiplesOfTheElementSize) {
  struct Case {
    int32_t dtype;
    int bytes; // that the address has to be a multiple of
  };
  alignas(16) char memory[32] = {};
  ExecPtr exec = makeExec(singleOptions());
  for (Case c : {Case{TENON_U4, 1},
                 {TENON_BOOLEAN, 1},
                 {TENON_F8_E4M3, 1},
                 {TENON_BF16, 2},
                 {TENON_S32, 4},
                 {TENON_F8_E8M0, 1},
                 {TENON_F64, 8},
                 {TENON_S64, 8}}) {
    HandMade model(good, c.dtype);
    for (int offset = 0; offset < 16; ++offset)
      EXPECT_EQ(model.run(exec.get(), memory + offset),
                offset % c.bytes ? TENON_RT_INVALID_ARGUMENT : TENON_RT_OK)
          << "dtype " << c.dtype << ", offset " << offset;
  }
}

TEST(Model, nullIsFineWithoutElements) {
  ExecPtr exec = makeExec(singleOptions());
  HandMade empty(good, TENON_F32, 0), one(good, TENON_F32, 1);
  EXPECT_EQ(empty.run(exec.get(), nullptr), TENON_RT_OK);
  EXPECT_EQ(one.run(exec.get(), nullptr), TENON_RT_INVALID_ARGUMENT);
}

//===----------------------------------------------------------------------===//
// Versions
//===----------------------------------------------------------------------===//

/// What a version leaves in its result: its number, and the number of elements
/// that it was told of.
template <int number>
int32_t leaveNumber(tenon_exec *, void *const *buffers, const int64_t *dims,
                    void *) {
  auto *result = static_cast<int64_t *>(buffers[0]);
  result[0] = number;
  result[1] = dims[1];
  return 0;
}

template <int number> int64_t scratchOf(const int64_t *) { return number * 64; }

/// A model [2] <- [rows], with versions for 4 and for 8 rows. Rows are from 2
/// to 64 and even.
struct WithVersions {
  static constexpr int kVersions = 2;
  static constexpr int64_t kAny = TENON_UNKNOWN_DIM;
  int64_t rows[kVersions + 1] = {kAny, 4, 8}, results = 2;
  tenon_tensor_info tensors[kVersions + 1][2] = {};
  tenon_model_arg args[2] = {{0, 1}, {0, 0}};
  tenon_model_code code[kVersions + 1] = {};
  const tenon_model_code *codes[kVersions + 1];
  tenon_model_info infos[kVersions + 1] = {};
  const tenon_model_info *versions[kVersions] = {&infos[1], &infos[2]};
  tenon_model_dim dim = {0, 0};
  tenon_model_size size = {"rows", 2, 64, 2, &dim, 1};
  tenon_model *model = nullptr;

  WithVersions() {
    code[0].main = {leaveNumber<0>, scratchOf<0>, args, 2};
    code[1].main = {leaveNumber<1>, scratchOf<1>, args, 2};
    code[2].main = {leaveNumber<2>, scratchOf<2>, args, 2};
    for (int i = 0; i <= kVersions; ++i) {
      for (int t = 0; t < 2; ++t)
        tensors[i][t] = {
            uint64_t(t), "t", TENON_S64, 1, t ? &results : &rows[i],
            nullptr,     0,   0};
      code[i].target = "any";
      code[i].features = "";
      codes[i] = &code[i];
      infos[i].magic = TENON_MODEL_MAGIC;
      infos[i].version = TENON_MODEL_VERSION;
      infos[i].name = "v";
      infos[i].tensors = tensors[i];
      infos[i].num_inputs = infos[i].num_outputs = 1;
      infos[i].codes = &codes[i];
      infos[i].num_codes = 1;
    }
    infos[0].versions = versions;
    infos[0].num_versions = kVersions;
    infos[0].sizes = &size;
    infos[0].num_sizes = 1;
  }
  ~WithVersions() { tenon_model_destroy(model); }
  tenon_rt_status create() {
    return tenon_model_create(&infos[0], nullptr, &model);
  }
};

TEST(Versions, TheFirstThatFitsIsExecuted) {
  WithVersions m;
  ASSERT_EQ(m.create(), TENON_RT_OK);
  ExecPtr exec = makeExec(singleOptions());
  for (auto [rows, version, number] :
       {std::array<int64_t, 3>{4, 0, 1}, {8, 1, 2}, {6, 2, 0}, {64, 2, 0}}) {
    SCOPED_TRACE(rows);
    const int64_t dims[2] = {rows, 2};
    std::vector<int64_t> x(size_t(rows), 0);
    int64_t y[2] = {-1, -1};
    void *tensors[2] = {x.data(), y};
    EXPECT_EQ(tenon_model_find_version(m.model, dims), version);
    EXPECT_EQ(tenon_model_scratch_bytes(m.model, dims), number * 64);
    EXPECT_EQ(
        tenon_model_run(m.model, exec.get(), nullptr, tensors, dims, nullptr),
        TENON_RT_OK);
    EXPECT_EQ(y[0], number);
    EXPECT_EQ(y[1], rows);
  }
  EXPECT_EQ(tenon_model_get_info(tenon_model_get_version(m.model, 1)),
            &m.infos[2]);
  EXPECT_EQ(tenon_model_get_version(m.model, 2), m.model);
  EXPECT_EQ(tenon_model_get_version(m.model, 3), nullptr);
  EXPECT_EQ(tenon_model_get_version(m.model, -1), nullptr);
}

TEST(Versions, SizesThatAreNotAsDeclaredAreRefused) {
  WithVersions m;
  ASSERT_EQ(m.create(), TENON_RT_OK);
  ExecPtr exec = makeExec(singleOptions());
  std::vector<int64_t> x(100, 0);
  int64_t y[2] = {-1, -1};
  void *tensors[2] = {x.data(), y};
  for (int64_t rows : {int64_t(-1), int64_t(0), int64_t(1), int64_t(5),
                       int64_t(65), int64_t(66), INT64_MAX, INT64_MIN}) {
    const int64_t dims[2] = {rows, 2};
    EXPECT_EQ(tenon_model_find_version(m.model, dims), -1) << rows;
    EXPECT_EQ(tenon_model_scratch_bytes(m.model, dims), -1) << rows;
    EXPECT_EQ(
        tenon_model_run(m.model, exec.get(), nullptr, tensors, dims, nullptr),
        TENON_RT_INVALID_ARGUMENT)
        << rows;
  }
  const int64_t results[2] = {4, 3};
  EXPECT_EQ(tenon_model_find_version(m.model, results), -1);
  EXPECT_EQ(tenon_model_find_version(m.model, nullptr), -1);
  EXPECT_EQ(y[0], -1);
}

TEST(Versions, OneThatCannotBeExecutedIsAnError) {
  WithVersions m;
  m.infos[2].version = TENON_MODEL_VERSION + 1;
  EXPECT_EQ(m.create(), TENON_RT_FOREIGN_MODEL);
  m.infos[2].version = TENON_MODEL_VERSION;
  m.code[1].features = "no-such-feature";
  EXPECT_EQ(m.create(), TENON_RT_UNSUPPORTED_CPU);
  EXPECT_EQ(m.model, nullptr);
}

int foldings = 0;

/// Twice a constant.
int32_t foldTwice(tenon_exec *, void *const *buffers, const int64_t *, void *) {
  ++foldings;
  *static_cast<int64_t *>(buffers[1]) = 2 * *static_cast<int64_t *>(buffers[0]);
  return 0;
}

int32_t copyFolded(tenon_exec *, void *const *buffers, const int64_t *,
                   void *) {
  *static_cast<int64_t *>(buffers[0]) = *static_cast<int64_t *>(buffers[1]);
  return 0;
}

/// A model [1] <- [rows], [1] constant, that folds; with versions for 4 rows,
/// as the general code folds, and for 8, which fold in another way, alike.
struct FoldingVersions {
  static constexpr int kAll = 4;
  int64_t rows[kAll] = {TENON_UNKNOWN_DIM, 4, 8, 8}, one = 1;
  tenon_tensor_info tensors[kAll][3] = {};
  tenon_model_arg args[2] = {{0, 2}, {1, 0}}, foldArgs[2] = {{0, 1}, {1, 0}};
  int32_t input = 1;
  tenon_model_folded folded[kAll] = {};
  tenon_model_code code[kAll] = {};
  const tenon_model_code *codes[kAll];
  tenon_model_info infos[kAll] = {};
  const tenon_model_info *versions[3] = {&infos[1], &infos[2], &infos[3]};
  tenon_model *model = nullptr;

  FoldingVersions() {
    for (int i = 0; i < kAll; ++i) {
      for (int t = 0; t < 3; ++t)
        tensors[i][t] = {uint64_t(t),         "t",     TENON_S64, 1,
                         t ? &one : &rows[i], nullptr, t == 1,    0};
      folded[i] = {8, 1, &one, {uint64_t(i / 2), 7}, &input, 1};
      code[i].target = "any";
      code[i].features = "";
      code[i].main = {copyFolded, scratchOf<0>, args, 2};
      code[i].fold = {foldTwice, scratchOf<0>, foldArgs, 2};
      code[i].folded = &folded[i];
      code[i].num_folded = 1;
      codes[i] = &code[i];
      infos[i].magic = TENON_MODEL_MAGIC;
      infos[i].version = TENON_MODEL_VERSION;
      infos[i].name = "v";
      infos[i].tensors = tensors[i];
      infos[i].num_inputs = 2;
      infos[i].num_outputs = 1;
      infos[i].codes = &codes[i];
      infos[i].num_codes = 1;
    }
    infos[0].versions = versions;
    infos[0].num_versions = 3;
    EXPECT_EQ(tenon_model_create(&infos[0], nullptr, &model), TENON_RT_OK);
  }
  ~FoldingVersions() { tenon_model_destroy(model); }
};

TEST(Versions, FoldOnceWhatTheyFoldAlike) {
  FoldingVersions m;
  ExecPtr exec = makeExec(singleOptions());
  tenon_constants *store = nullptr;
  ASSERT_EQ(tenon_rt_constants_create(1 << 20, nullptr, &store), TENON_RT_OK);
  for (tenon_constants *shared : {(tenon_constants *)nullptr, store}) {
    foldings = 0;
    int64_t constant = 21, y = 0;
    std::vector<int64_t> x(8, 0);
    const void *inputs[2] = {nullptr, &constant};
    tenon_folded *folded = nullptr;
    ASSERT_EQ(tenon_model_fold(m.model, exec.get(), shared, inputs, &folded),
              TENON_RT_OK);
    EXPECT_EQ(foldings, 2);
    EXPECT_EQ(tenon_folded_bytes(folded), 16);
    for (int64_t rows : {3, 4, 8}) {
      const int64_t dims[3] = {rows, 1, 1};
      void *tensors[3] = {x.data(), &constant, &y};
      y = 0;
      EXPECT_EQ(
          tenon_model_run(m.model, exec.get(), folded, tensors, dims, nullptr),
          TENON_RT_OK);
      EXPECT_EQ(y, 42) << rows;
      EXPECT_EQ(
          tenon_model_run(m.model, exec.get(), nullptr, tensors, dims, nullptr),
          TENON_RT_INVALID_ARGUMENT);
    }
    tenon_folded_release(folded);
    // Without the constant.
    const void *none[2] = {};
    EXPECT_EQ(tenon_model_fold(m.model, exec.get(), shared, none, &folded),
              TENON_RT_INVALID_ARGUMENT);
    EXPECT_EQ(folded, nullptr);
  }
  tenon_rt_constants_destroy(store);
}

/// What is packed already is taken from the weights, for each version and code.
TEST(Versions, PackedConstantsAreNotFolded) {
  FoldingVersions m;
  const int64_t weights[3] = {21, 42, 70};
  const int64_t general = 8, other = 16;
  const int64_t *packed[FoldingVersions::kAll] = {&general, &general, &other,
                                                  &other};
  const tenon_model_weight place = {1, -1, 8};
  m.infos[0].weights = &place;
  m.infos[0].num_weights = 1;
  m.infos[0].weight_data = weights;
  m.infos[0].weight_bytes = sizeof weights;
  for (int i = 0; i < FoldingVersions::kAll; ++i)
    m.infos[i].packed = &packed[i];
  tenon_model_destroy(m.model);
  ASSERT_EQ(tenon_model_create(&m.infos[0], nullptr, &m.model), TENON_RT_OK);
  EXPECT_EQ(tenon_model_weight_of(m.model, 1), nullptr);
  ExecPtr exec = makeExec(singleOptions());
  foldings = 0;
  tenon_folded *folded = nullptr;
  ASSERT_EQ(tenon_model_fold(m.model, exec.get(), nullptr, nullptr, &folded),
            TENON_RT_OK);
  EXPECT_EQ(foldings, 0);
  EXPECT_EQ(tenon_folded_bytes(folded), 0);
  EXPECT_EQ(tenon_folded_buffer(folded, 0), weights + 1);
  for (auto [rows, result] :
       {std::array<int64_t, 2>{5, 42}, {4, 42}, {8, 70}}) {
    const int64_t dims[3] = {rows, 1, 1};
    std::vector<int64_t> x(size_t(rows), 0);
    int64_t y = -1;
    void *tensors[3] = {x.data(), nullptr, &y};
    EXPECT_EQ(
        tenon_model_run(m.model, exec.get(), folded, tensors, dims, nullptr),
        TENON_RT_OK);
    EXPECT_EQ(y, result) << rows;
  }
  tenon_folded_release(folded);
}

/// Packed code may read another constant as it is, which must be there.
TEST(Versions, PackedCodeRefusesConstantsThatNobodyGives) {
  HandMade model(good, TENON_F32);
  const int64_t offset = 0, *packed = &offset;
  model.tensor.constant = 1;
  model.info.packed = &packed;
  tenon_model_destroy(model.model);
  ASSERT_EQ(tenon_model_create(&model.info, nullptr, &model.model),
            TENON_RT_OK);
  ExecPtr exec = makeExec(singleOptions());
  EXPECT_EQ(model.run(exec.get(), nullptr), TENON_RT_INVALID_ARGUMENT);
  float x = 0;
  EXPECT_EQ(model.run(exec.get(), &x), TENON_RT_OK);
}

} // namespace
} // namespace tenon::rt::test
