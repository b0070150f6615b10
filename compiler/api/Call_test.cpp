//===- Call_test.cpp - executing on tensors of DLPack ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "TestSupport.h"
#include "tenon_dlpack.h"

#include <dlfcn.h>

#include <map>
#include <set>
#include <thread>

using namespace tenon;
using namespace tenon::test;

namespace {

struct CallEnd {
  void operator()(tenon_call *call) const { tenon_call_destroy(call); }
};
using Call = std::unique_ptr<tenon_call, CallEnd>;

/// A tensor of f32 as a framework describes it.
tenon_dltensor dl(Values &data, const std::vector<int64_t> &dims) {
  tenon_dltensor t = {};
  t.data = data.data();
  t.device_type = 1;
  t.ndim = static_cast<int32_t>(dims.size());
  t.dtype_code = 2;
  t.dtype_bits = 32;
  t.dtype_lanes = 1;
  t.shape = dims.data();
  return t;
}

struct CallTest : ApiTest {
  Dense dense{3, 5, 4};
  CompiledPartition compiled = dense.compile(engine);
  Values ws = ramp(20), bs = ramp(4), xs = ramp(15, 1), ys = Values(12);
  std::vector<int64_t> xDims{3, 5}, yDims{3, 4};
  Tensor w = tensor(dense.w, ws), b = tensor(dense.b, bs);

  Call call() {
    const tenon_tensor *bound[] = {w.get(), b.get()};
    tenon_call *made = nullptr;
    EXPECT_EQ(tenon_call_create(compiled.get(), 2, bound, &made), 0);
    return Call(made);
  }
  std::vector<tenon_dltensor> tensors() {
    return {dl(xs, xDims), dl(ys, yDims)};
  }
  /// The status of an execution on what `change` makes of the tensors.
  template <typename Change> tenon_status changed(Change change) {
    auto all = tensors();
    change(all);
    return tenon_call_execute(call().get(), stream.get(), all.size(),
                              all.data());
  }
};

TEST_F(CallTest, Computes) {
  Call made = call();
  auto all = tensors();
  ASSERT_EQ(tenon_call_execute(made.get(), stream.get(), 2, all.data()), 0);
  expectNear(ys, dense.expected(xs, ws, bs));
}

TEST_F(CallTest, SeesBoundTensorsThatAreTouched) {
  Call made = call();
  auto all = tensors();
  ASSERT_EQ(tenon_call_execute(made.get(), stream.get(), 2, all.data()), 0);
  for (float &v : ws)
    v += 1;
  ASSERT_EQ(tenon_tensor_touch(w.get()), 0);
  ASSERT_EQ(tenon_call_execute(made.get(), stream.get(), 2, all.data()), 0);
  expectNear(ys, dense.expected(xs, ws, bs));
}

TEST_F(CallTest, TakesOffsetsAndStridesOfSingleElements) {
  Values moved(1);
  moved.insert(moved.end(), xs.begin(), xs.end());
  EXPECT_EQ(changed([&](auto &all) {
              all[0].data = moved.data();
              all[0].byte_offset = sizeof(float);
            }),
            0);
  expectNear(ys, dense.expected(xs, ws, bs));
  const int64_t strides[] = {5, 1};
  EXPECT_EQ(changed([&](auto &all) { all[0].strides = strides; }), 0);
}

TEST_F(CallTest, RefusesTensorsThatDoNotFit) {
  const int64_t other[] = {3, 6}, swapped[] = {1, 3};
  EXPECT_EQ(changed([&](auto &all) { all[0].shape = other; }),
            TENON_E_ShapeMismatch);
  EXPECT_EQ(changed([&](auto &all) { all[0].ndim = 1; }),
            TENON_E_ShapeMismatch);
  EXPECT_EQ(changed([&](auto &all) { all[0].strides = swapped; }),
            TENON_E_BadStride);
  EXPECT_EQ(changed([&](auto &all) { all[1].dtype_bits = 64; }),
            TENON_E_BadDType);
  EXPECT_EQ(changed([&](auto &all) { all[1].dtype_lanes = 2; }),
            TENON_E_BadDType);
  EXPECT_EQ(changed([&](auto &all) { all[0].device_type = 2; }),
            TENON_E_BadTensorData);
  EXPECT_EQ(changed([&](auto &all) { all[0].data = nullptr; }),
            TENON_E_BadTensorData);
  EXPECT_EQ(changed([&](auto &all) { all[0].ndim = -1; }),
            TENON_E_BadTensorData);
  EXPECT_EQ(changed([&](auto &all) { all[0].byte_offset = 2; }),
            TENON_E_BadTensorData);
  EXPECT_EQ(changed([&](auto &all) { all.pop_back(); }), TENON_E_PortMismatch);
}

TEST_F(CallTest, WantsItsConstants) {
  const tenon_tensor *bound[] = {w.get()};
  tenon_call *made = nullptr;
  EXPECT_EQ(tenon_call_create(compiled.get(), 1, bound, &made),
            TENON_E_PortMismatch);
  EXPECT_EQ(made, nullptr);
  EXPECT_EQ(tenon_call_create(nullptr, 0, nullptr, &made),
            TENON_E_NullArgument);
  tenon_call_destroy(nullptr);
}

TEST_F(CallTest, ManyThreadsUseOne) {
  Call made = call();
  std::vector<std::thread> threads;
  Values wanted = dense.expected(xs, ws, bs);
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      Values mine(12);
      for (int k = 0; k < 50; ++k) {
        tenon_dltensor all[] = {dl(xs, xDims), dl(mine, yDims)};
        ASSERT_EQ(tenon_call_execute(made.get(), stream.get(), 2, all), 0);
        expectNear(mine, wanted);
      }
    });
  for (std::thread &t : threads)
    t.join();
}

TEST_F(CallTest, SizesAreGivenByEachExecution) {
  Dense open{TENON_UNKNOWN_DIM, 5, 4};
  CompiledPartition code = open.compile(engine);
  const tenon_tensor *bound[] = {w.get(), b.get()};
  tenon_call *raw = nullptr;
  ASSERT_EQ(tenon_call_create(code.get(), 2, bound, &raw), 0);
  Call made(raw);
  for (int64_t m : {2, 7}) {
    Values x = ramp(static_cast<size_t>(m * 5)), y(static_cast<size_t>(m * 4));
    std::vector<int64_t> in{m, 5}, out{m, 4}, wrong{m + 1, 4};
    tenon_dltensor all[] = {dl(x, in), dl(y, out)};
    ASSERT_EQ(tenon_call_execute(raw, stream.get(), 2, all), 0);
    expectNear(y, Dense{m, 5, 4}.expected(x, ws, bs));
    all[1].shape = wrong.data();
    EXPECT_EQ(tenon_call_execute(raw, stream.get(), 2, all),
              TENON_E_ShapeMismatch);
  }
}

/// A step of an optimiser writes where it reads: a moment and a parameter.
TEST_F(CallTest, TwoResultsOfOneLoopAreInPlace) {
  const std::vector<int64_t> dims{37, 53};
  auto old = f32(0, dims), grad = f32(1, dims), param = f32(2, dims),
       moment = f32(3, dims), next = f32(4, dims), row = f32(5, {53}),
       sum = f32(6, dims), twice = f32(7, {53});
  Graph g;
  g.add(Op(1, tenon_op_add, "moment").input(old).input(grad).output(moment));
  g.add(
      Op(2, tenon_op_subtract, "next").input(param).input(moment).output(next));
  // Of another shape, beside one of all elements.
  g.add(Op(3, tenon_op_add, "rows").input(row).input(row).output(twice));
  g.add(Op(4, tenon_op_multiply, "sum").input(twice).input(grad).output(sum));
  g.output(3);
  g.output(4);
  g.output(6);
  g.output(7);
  g.finalize();
  const std::vector<LogicalTensor> ins{old, grad, param, row};
  const std::vector<LogicalTensor> outs{moment, next, sum, twice};
  CompiledPartition code = g.partitions().at(0).compile(engine, ins, outs);
  std::set<std::pair<uint64_t, uint64_t>> pairs;
  for (auto pair : code.inplacePairs())
    pairs.insert({pair.input_id, pair.output_id});
  EXPECT_TRUE(pairs.count({0, 3}));
  EXPECT_TRUE(pairs.count({2, 4}));

  auto run = [&](const std::map<uint64_t, uint64_t> &shared) {
    std::map<uint64_t, Values> data;
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < ins.size(); ++i)
      data[ins[i].id] = ramp(ins[i].rank == 1 ? 53 : 37 * 53, float(i) + 1);
    for (const LogicalTensor &out : outs)
      if (!shared.count(out.id))
        data[out.id] = Values(out.rank == 1 ? 53 : 37 * 53);
    auto at = [&](uint64_t id) -> Values & {
      auto it = shared.find(id);
      return data.at(it == shared.end() ? id : it->second);
    };
    std::vector<const tenon_tensor *> given;
    std::vector<tenon_tensor *> results;
    for (const auto *list : {&ins, &outs})
      for (const LogicalTensor &t : *list)
        tensors.push_back(tensor(t, at(t.id)));
    for (size_t i = 0; i < 4; ++i) {
      given.push_back(tensors[i].get());
      results.push_back(tensors[4 + i].get());
    }
    EXPECT_EQ(tenon_compiled_partition_execute(code.get(), stream.get(), 4,
                                               given.data(), 4, results.data()),
              0);
    std::vector<Values> found;
    for (const LogicalTensor &out : outs)
      found.push_back(at(out.id));
    return found;
  };
  const std::vector<Values> apart = run({});
  EXPECT_EQ(run({{3, 0}, {4, 2}}), apart);
  for (auto [input, output] : pairs)
    EXPECT_EQ(run({{output, input}}), apart) << input << " and " << output;
}

TEST_F(CallTest, ReadsSequences) {
  auto all = tensors();
  std::vector<tenon_dltensor> read(2);
  auto item = [](void *sequence, ptrdiff_t i) -> void * {
    return static_cast<std::vector<tenon_dltensor> *>(sequence)->data() + i;
  };
  auto copy = [](void *object, tenon_dltensor *t) {
    *t = *static_cast<tenon_dltensor *>(object);
    return t->ndim == 2 ? 0 : -1;
  };
  ASSERT_EQ(tenon_dltensors_read(item, copy, &all, 2, read.data()), 0);
  EXPECT_EQ(read[1].data, ys.data());
  all[1].ndim = 1;
  EXPECT_EQ(tenon_dltensors_read(item, copy, &all, 2, read.data()),
            TENON_E_BadTensorData);
  EXPECT_EQ(tenon_dltensors_read(item, nullptr, &all, 2, read.data()),
            TENON_E_NullArgument);
}

TEST(DlTensor, TypesHaveTheirBits) {
  tenon_dltensor t = {};
  t.dtype_lanes = 1;
  struct {
    uint8_t code, bits;
    tenon_dtype dtype;
  } cases[] = {{4, 16, TENON_BF16},   {2, 16, TENON_F16}, {0, 64, TENON_S64},
               {6, 8, TENON_BOOLEAN}, {1, 8, TENON_U8},   {1, 16, TENON_UNDEF},
               {5, 64, TENON_UNDEF}};
  for (auto [code, bits, dtype] : cases) {
    t.dtype_code = code;
    t.dtype_bits = bits;
    EXPECT_EQ(tenon_dltensor_get_dtype(&t), dtype) << int(code);
  }
  EXPECT_EQ(tenon_dltensor_get_dtype(nullptr), TENON_UNDEF);
}

TEST(OpenMp, ExecutesOnItsThreads) {
  tenon_exec_options options;
  tenon_exec_options_init(&options);
  EXPECT_EQ(tenon_exec_options_use_openmp(&options, 0), TENON_E_BadOption);
  EXPECT_EQ(tenon_exec_options_use_openmp(nullptr, 1), TENON_E_NullArgument);
  // The test is not linked with one.
  ASSERT_EQ(tenon_exec_options_use_openmp(&options, 2), TENON_E_BadOption);
  if (!dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL))
    GTEST_SKIP() << dlerror();
  ASSERT_EQ(tenon_exec_options_use_openmp(&options, 2), 0);

  tenon_exec *exec = nullptr;
  ASSERT_EQ(tenon_exec_create(&options, &exec), TENON_RT_OK);
  std::atomic<int64_t> sum{0};
  void *args[] = {&sum};
  auto body = [](void *const *a, int64_t begin, int64_t end, void *) {
    for (int64_t i = begin; i < end; ++i)
      static_cast<std::atomic<int64_t> *>(a[0])->fetch_add(i);
  };
  for (int k = 0; k < 20; ++k)
    tenon_rt_run_section(exec, body, args, 100, 64);
  EXPECT_EQ(sum.load(), 20 * 4950);
  EXPECT_EQ(tenon_exec_status(exec), TENON_RT_OK);
  tenon_exec_destroy(exec);
}

} // namespace
