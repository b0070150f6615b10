// SPDX-License-Identifier: Apache-2.0
// Models made by hand: what tenon_model_run says when code fails, and which
// buffers it takes.
#include "runtime/TestSupport.h"
#include "runtime/tenon_model.h"

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

} // namespace
} // namespace tenon::rt::test
