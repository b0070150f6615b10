// SPDX-License-Identifier: Apache-2.0
// The API does what tenon.h says: graphs, partitions, layouts, constants,
// caches, serialisation, threads.
#include "compiler/api/TestSupport.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tenon;
using namespace tenon::test;

namespace {

struct Api : ApiTest {};

TEST_F(Api, VersionAndStatusTexts) {
  tenon_version v = tenon_get_version();
  EXPECT_GE(v.major + v.minor, 1);
  EXPECT_NE(std::string(v.text).find("LLVM"), std::string::npos);
  EXPECT_STREQ(tenon_status_string(TENON_SUCCESS), "success");
  EXPECT_STREQ(tenon_status_string(TENON_E_Cycle), "graph has a cycle");
}

TEST_F(Api, ByteSizes) {
  EXPECT_EQ(f32(0, {2, 3}).byteSize(), 24u);
  EXPECT_EQ(f32(0, {}).byteSize(), 4u);
  EXPECT_EQ(f32(0, {2, 0}).byteSize(), 0u);
  EXPECT_EQ(LogicalTensor(0, TENON_S4, {3}).byteSize(), 2u);
  EXPECT_EQ(LogicalTensor::strided(0, TENON_F32, {2, 3}, {10, 2}).byteSize(),
            60u);
}

TEST_F(Api, EqualMeansSameElementsAtSamePlaces) {
  auto a = f32(0, {1, 3});
  auto b = LogicalTensor::strided(0, TENON_F32, {1, 3}, {99, 1});
  EXPECT_TRUE(tenon_logical_tensor_equal(&a, &b));
  auto c = LogicalTensor::strided(0, TENON_F32, {1, 3}, {99, 2});
  EXPECT_FALSE(tenon_logical_tensor_equal(&a, &c));
  auto d = f32(1, {1, 3});
  EXPECT_FALSE(tenon_logical_tensor_equal(&a, &d));
}

TEST_F(Api, DenseLayer) {
  Dense dense{5, 7, 9};
  auto compiled = dense.compile(engine);
  Values x = ramp(35), w = ramp(63, -2), b = ramp(9), y(45);
  Tensor tx = tensor(dense.x, x), tw = tensor(dense.w, w),
         tb = tensor(dense.b, b), ty = tensor(dense.y, y);
  compiled.execute(stream, {&tx, &tw, &tb}, {&ty});
  expectNear(y, dense.expected(x, w, b));
}

TEST_F(Api, TensorsMatchByIdInAnyOrder) {
  Dense dense{4, 4, 4};
  auto compiled = dense.compile(engine);
  Values x = ramp(16), w = ramp(16, 1), b = ramp(4), y(16);
  Tensor tx = tensor(dense.x, x), tw = tensor(dense.w, w),
         tb = tensor(dense.b, b), ty = tensor(dense.y, y);
  compiled.execute(stream, {&tb, &tx, &tw}, {&ty});
  expectNear(y, dense.expected(x, w, b));
}

TEST_F(Api, ConstantsFoldAgainAfterTouchAndForOtherTensors) {
  Dense dense{3, 8, 8};
  auto compiled = dense.compile(engine);
  Values x = ramp(24), w = ramp(64, -1), b(8), y(24);
  Tensor tx = tensor(dense.x, x), tw = tensor(dense.w, w),
         tb = tensor(dense.b, b), ty = tensor(dense.y, y);
  compiled.execute(stream, {&tx, &tw, &tb}, {&ty});
  expectNear(y, dense.expected(x, w, b));
  // Changed in place: only a touch tells.
  for (float &v : w)
    v *= 2;
  tw.touch();
  compiled.execute(stream, {&tx, &tw, &tb}, {&ty});
  expectNear(y, dense.expected(x, w, b));
  Values other = ramp(64, 3);
  tw.setData(other.data());
  compiled.execute(stream, {&tx, &tw, &tb}, {&ty});
  expectNear(y, dense.expected(x, other, b));
  // Another tensor at the same address is another tensor.
  for (float &v : other)
    v -= 5;
  Tensor again = tensor(dense.w, other);
  compiled.execute(stream, {&tx, &again, &tb}, {&ty});
  expectNear(y, dense.expected(x, other, b));
}

TEST_F(Api, BoundConstantsNeedNoFoldingLater) {
  Dense dense{3, 8, 8};
  auto compiled = dense.compile(engine);
  Values x = ramp(24), w = ramp(64, -1), b = ramp(8), y(24);
  Tensor tx = tensor(dense.x, x), tw = tensor(dense.w, w),
         tb = tensor(dense.b, b), ty = tensor(dense.y, y);
  compiled.bindConstants(stream, {&tw, &tb});
  compiled.execute(stream, {&tx, &tw, &tb}, {&ty});
  expectNear(y, dense.expected(x, w, b));
}

TEST_F(Api, PartitionsShareConstantsByContent) {
  check(tenon_set_constant_cache_capacity(1 << 20));
  tenon_constants_stats before = tenon_get_constant_cache_stats();
  // Different sizes of the batch: two codes, equal weights, in panels that
  // are alike on every machine.
  Dense one{24, 32, 32}, two{48, 32, 32};
  auto a = one.compile(engine), b = two.compile(engine);
  Values w = ramp(1024, -1), copy = w, bias = ramp(32), x = ramp(1536), y(1536);
  Tensor tw = tensor(one.w, w), tc = tensor(one.w, copy),
         tb = tensor(one.b, bias);
  a.bindConstants(stream, {&tw, &tb});
  tenon_constants_stats first = tenon_get_constant_cache_stats();
  EXPECT_GT(first.misses, before.misses);
  b.bindConstants(stream, {&tc, &tb});
  tenon_constants_stats second = tenon_get_constant_cache_stats();
  EXPECT_GT(second.hits, first.hits);
  EXPECT_EQ(second.bytes, first.bytes);
  Tensor tx = tensor(two.x, x), ty = tensor(two.y, y);
  b.execute(stream, {&tx, &tc, &tb}, {&ty});
  expectNear(y, two.expected(x, w, bias));
  check(tenon_set_constant_cache_capacity(0));
}

TEST_F(Api, WhatChangedConstantsGaveIsFreed) {
  check(tenon_set_constant_cache_capacity(1 << 20));
  Dense dense{24, 32, 32};
  auto compiled = dense.compile(engine);
  Values w = ramp(1024, -1), bias = ramp(32);
  Tensor tw = tensor(dense.w, w), tb = tensor(dense.b, bias);
  compiled.bindConstants(stream, {&tw, &tb});
  int64_t before = tenon_get_constant_cache_stats().bytes_in_use;
  EXPECT_GT(before, 0);
  for (int i = 0; i < 3; ++i) {
    w[0] += 1;
    tw.touch();
    compiled.bindConstants(stream, {&tw, &tb});
    EXPECT_EQ(tenon_get_constant_cache_stats().bytes_in_use, before);
  }
  check(tenon_set_constant_cache_capacity(0));
}

TEST_F(Api, AWildcardSplits) {
  auto a = f32(1, {8}), b = f32(2, {8}), c = f32(3, {8}), d = f32(4, {8});
  Graph g;
  g.add(Op(1, tenon_op_relu, "r").input(a).output(b));
  g.add(Op(2, "MyOp", "mine").input(b).output(c));
  g.add(Op(3, tenon_op_add, "sum").input(b).input(c).output(d));
  g.finalize();
  auto parts = g.partitions();
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_TRUE(parts[0].isSupported());
  EXPECT_FALSE(parts[1].isSupported());
  EXPECT_NE(parts[1].reason().find("MyOp"), std::string::npos);
  EXPECT_EQ(parts[2].ops(), std::vector<uint64_t>{3});
  EXPECT_EQ(parts[2].inputs().size(), 2u);
  EXPECT_EQ(g.partitions(TENON_POLICY_DEBUG).size(), 3u);
}

TEST_F(Api, ShapesOfResultsAreInferred) {
  auto x = f32(0, {2, 3});
  LogicalTensor y(1, TENON_F32);
  Partition p(Op(0, tenon_op_tanh, "t").input(x).output(y));
  auto compiled = p.compile(engine, {x}, {y});
  EXPECT_EQ(compiled.query(1).shape(), (std::vector<int64_t>{2, 3}));
}

TEST_F(Api, StridedViewsWithoutCopies) {
  // Columns 2..5 of a 4x8 buffer.
  Values buffer = ramp(32), out(16, 7.f);
  auto x = LogicalTensor::strided(0, TENON_F32, {4, 4}, {8, 1});
  auto z = f32(1, {4, 4});
  Partition p(Op(0, tenon_op_abs, "a").input(x).output(z));
  auto compiled = p.compile(engine, {x}, {z});
  Tensor tx(x, engine, buffer.data() + 2), tz = tensor(z, out);
  compiled.execute(stream, {&tx}, {&tz});
  for (size_t r = 0; r < 4; ++r)
    for (size_t c = 0; c < 4; ++c)
      EXPECT_EQ(out[r * 4 + c], std::abs(buffer[r * 8 + c + 2]));
}

TEST_F(Api, StridesMayBeKnownWhereSizesAreNot) {
  auto view = [](uint64_t id, int64_t rows) {
    return LogicalTensor::strided(id, TENON_F32, {rows, 4}, {8, 1});
  };
  LogicalTensor x = view(0, TENON_UNKNOWN_DIM), z = view(1, TENON_UNKNOWN_DIM);
  Partition p(Op(0, tenon_op_abs, "a").input(x).output(z));
  auto compiled = p.compile(engine, {x}, {z});
  LogicalTensor asked;
  check(tenon_compiled_partition_query(compiled.get(), 1, &asked));
  EXPECT_EQ(asked.strides[0], 8);
  Values buffer = ramp(40), out(40, 7.f);
  Tensor tx(view(0, 5), engine, buffer.data()),
      tz(view(1, 5), engine, out.data());
  compiled.execute(stream, {&tx}, {&tz});
  for (size_t i = 0; i < 36; ++i)
    EXPECT_EQ(out[i], i % 8 < 4 ? std::abs(buffer[i]) : 7.f) << i;
  Tensor dense = tensor(f32(0, {5, 4}), buffer);
  EXPECT_THROW(compiled.execute(stream, {&dense}, {&tz}), Exception);
}

TEST_F(Api, OpaqueLayoutsCanBeQueriedConvertedAndPassedOn) {
  auto x = f32(0, {1, 3, 5, 5});
  auto w = f32(1, {8, 3, 3, 3}, TENON_PROPERTY_CONSTANT);
  auto makeConv = [&](uint64_t id, const LogicalTensor &in,
                      const LogicalTensor &weights, const LogicalTensor &out) {
    Op op(id, tenon_op_convolution, "conv" + std::to_string(id));
    op.attr("strides", std::vector<int64_t>{1, 1})
        .attr("pads_begin", std::vector<int64_t>{1, 1})
        .attr("pads_end", std::vector<int64_t>{1, 1})
        .attr("dilations", std::vector<int64_t>{1, 1})
        .attr("data_format", "NCX")
        .attr("weights_format", "OIX")
        .input(in)
        .input(weights)
        .output(out);
    return Partition(op);
  };
  auto y = f32(2, {1, 8, 5, 5});
  auto any = y.with(TENON_LAYOUT_ANY);
  auto opaque = makeConv(0, x, w, y).compile(engine, {x, w}, {any});
  auto plain = makeConv(0, x, w, y).compile(engine, {x, w}, {y});
  LogicalTensor layout = opaque.query(2);
  EXPECT_EQ(layout.layout, TENON_LAYOUT_OPAQUE);
  EXPECT_EQ(plain.query(2).layout, TENON_LAYOUT_STRIDED);
  EXPECT_EQ(layout.byteSize(), 800u);

  Values in = ramp(75), weights = ramp(216, -3), expected(200), back(200);
  Tensor tx = tensor(x, in), tw = tensor(w, weights), ty = tensor(y, expected),
         tback = tensor(y, back);
  Tensor tmid(layout, engine, TENON_MEMORY_ALLOCATE);
  plain.execute(stream, {&tx, &tw}, {&ty});
  opaque.execute(stream, {&tx, &tw}, {&tmid});
  tmid.convertTo(stream, tback);
  EXPECT_EQ(back, expected);

  // Into a second partition as it is.
  auto z = f32(3, {1, 8, 5, 5});
  Partition relu(Op(5, tenon_op_relu, "r").input(y).output(z));
  auto second = relu.compile(engine, {layout}, {z});
  Values result(200);
  Tensor tz = tensor(z, result);
  second.execute(stream, {&tmid}, {&tz});
  for (size_t i = 0; i < 200; ++i)
    EXPECT_EQ(result[i], std::max(0.f, expected[i]));

  // Elementwise results go along; there is no reason to choose it otherwise.
  auto anyZ = z.with(TENON_LAYOUT_ANY);
  EXPECT_EQ(relu.compile(engine, {layout}, {anyZ}).query(3).layout,
            TENON_LAYOUT_OPAQUE);
  EXPECT_EQ(relu.compile(engine, {y}, {anyZ}).query(3).layout,
            TENON_LAYOUT_STRIDED);
}

TEST_F(Api, HostScalarsAreReadAtEachExecution) {
  auto x = f32(0, {4}), y = f32(2, {4});
  LogicalTensor s(1, TENON_F32, {}, TENON_LAYOUT_STRIDED,
                  TENON_PROPERTY_HOST_SCALAR);
  Partition p(Op(0, tenon_op_multiply, "m").input(x).input(s).output(y));
  auto compiled = p.compile(engine, {x, s}, {y});
  Values in = {1, 2, 3, 4}, out(4);
  Tensor tx = tensor(x, in), ty = tensor(y, out);
  for (float factor : {2.f, -3.f}) {
    Tensor ts = Tensor::scalar(s, factor);
    compiled.execute(stream, {&tx, &ts}, {&ty});
    EXPECT_EQ(out, (Values{factor, 2 * factor, 3 * factor, 4 * factor}));
  }
}

TEST_F(Api, InPlacePairsGiveTheSameResults) {
  auto x = f32(0, {64}), y = f32(1, {64}), t = f32(2, {64}), z = f32(3, {64});
  Graph g;
  g.add(Op(1, tenon_op_add, "a").input(x).input(y).output(t));
  g.add(Op(2, tenon_op_gelu, "g").input(t).output(z));
  g.finalize();
  auto parts = g.partitions();
  auto compiled = parts.at(0).compile(engine, {x, y}, {z});
  auto pairs = compiled.inplacePairs();
  ASSERT_FALSE(pairs.empty());
  Values a = ramp(64), b = ramp(64, 2), out(64);
  Tensor ta = tensor(x, a), tb = tensor(y, b), tz = tensor(z, out);
  compiled.execute(stream, {&ta, &tb}, {&tz});
  for (auto pair : pairs) {
    EXPECT_EQ(pair.output_id, 3u);
    Values a2 = a, b2 = b;
    Values &shared = pair.input_id == 0 ? a2 : b2;
    Tensor sa = tensor(x, a2), sb = tensor(y, b2), sz = tensor(z, shared);
    compiled.execute(stream, {&sa, &sb}, {&sz});
    EXPECT_EQ(shared, out);
  }
}

/// A cache of keys: the rows of new tokens, nothing else, are written.
TEST_F(Api, ScatterUpdatesItsOperandInPlace) {
  auto cache = f32(0, {64, 8}), rows = f32(2, {2, 8}), out = f32(3, {64, 8});
  LogicalTensor where(1, TENON_S64, {2, 1});
  Partition p(Op(1, tenon_op_scatter_nd, "s")
                  .input(cache)
                  .input(where)
                  .input(rows)
                  .output(out));
  auto compiled = p.compile(engine, {cache, where, rows}, {out});
  auto pairs = compiled.inplacePairs();
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].input_id, 0u);
  Values a = ramp(512), b = ramp(16, 1000), apart(512), expected = a;
  std::vector<int64_t> indices = {5, -1};
  std::copy_n(b.begin(), 8, expected.begin() + 5 * 8);
  std::copy_n(b.begin() + 8, 8, expected.begin() + 63 * 8);
  Tensor ta = tensor(cache, a), tb = tensor(rows, b), to = tensor(out, apart),
         shared = tensor(out, a);
  Tensor ti(where, engine, indices.data());
  compiled.execute(stream, {&ta, &ti, &tb}, {&to});
  EXPECT_EQ(apart, expected);
  compiled.execute(stream, {&ta, &ti, &tb}, {&shared});
  EXPECT_EQ(a, expected);
}

TEST_F(Api, NoInPlaceWhereElementsAreReadAgain) {
  auto x = f32(0, {16, 16}), y = f32(1, {16, 16});
  Partition p(Op(1, tenon_op_softmax, "s").attr("axis", 1).input(x).output(y));
  for (auto pair : p.compile(engine, {x}, {y}).inplacePairs()) {
    // Allowed only if it is right.
    Values a = ramp(256), b = a, out(256);
    auto compiled = p.compile(engine, {x}, {y});
    Tensor ta = tensor(x, a), to = tensor(y, out), tb = tensor(x, b),
           shared = tensor(y, b);
    compiled.execute(stream, {&ta}, {&to});
    compiled.execute(stream, {&tb}, {&shared});
    EXPECT_EQ(b, out) << pair.input_id;
  }
  // The first operand is read while the product is written.
  Partition m(
      Op(2, tenon_op_matmul, "m").input(x).input(f32(2, {16, 16})).output(y));
  for (auto pair : m.compile(engine, {x, f32(2, {16, 16})}, {y}).inplacePairs())
    EXPECT_NE(pair.input_id, 0u);
}

TEST_F(Api, OwnScratch) {
  auto a = f32(0, {64, 64}), b = f32(1, {64, 64}), c = f32(2, {64, 64});
  auto d = f32(3, {64, 64});
  Graph g;
  g.add(Op(1, tenon_op_matmul, "m1").input(a).input(b).output(c));
  g.add(Op(2, tenon_op_matmul, "m2").input(c).input(b).output(d));
  g.finalize();
  auto compiled = g.partitions().at(0).compile(engine, {a, b}, {d});
  size_t size = compiled.scratchSize();
  EXPECT_GE(size, 64u * 64 * 4);
  Values x = ramp(4096, -1, 0.01f), y = x, out(4096), again(4096);
  Tensor ta = tensor(a, x), tb = tensor(b, y), td = tensor(d, out),
         te = tensor(d, again);
  compiled.execute(stream, {&ta, &tb}, {&td});
  std::unique_ptr<char, void (*)(void *)> scratch(
      static_cast<char *>(aligned_alloc(64, size)), free);
  const tenon_tensor *in[] = {ta.get(), tb.get()};
  tenon_tensor *o[] = {te.get()};
  check(tenon_compiled_partition_execute_with_scratch(
      compiled.get(), stream.get(), 2, in, 1, o, scratch.get(), size));
  EXPECT_EQ(out, again);
}

TEST_F(Api, SerialisedCodeExecutes) {
  Dense dense{5, 16, 8};
  std::string bytes = dense.compile(engine).serialise();
  auto compiled = CompiledPartition::deserialise(bytes, engine);
  EXPECT_EQ(compiled.serialise(), bytes);
  Values x = ramp(80), w = ramp(128, -2), b = ramp(8), y(40);
  Tensor tx = tensor(dense.x, x), tw = tensor(dense.w, w),
         tb = tensor(dense.b, b), ty = tensor(dense.y, y);
  compiled.execute(stream, {&tx, &tw, &tb}, {&ty});
  expectNear(y, dense.expected(x, w, b));
}

TEST_F(Api, CompilingTwiceGivesTheSameBytes) {
  check(tenon_set_compiled_cache_capacity(0));
  Dense dense{5, 16, 24};
  EXPECT_EQ(dense.compile(engine).serialise(),
            dense.compile(engine).serialise());
  check(tenon_set_compiled_cache_capacity(1024));
}

TEST_F(Api, CachesInMemoryAndOnDisk) {
  std::string folder = testing::TempDir() + "/tenon_cache";
  std::filesystem::remove_all(folder);
  check(tenon_set_compiled_cache_folder(folder.c_str()));
  Dense dense{5, 16, 40};
  auto before = tenon_get_compile_stats();
  auto first = dense.compile(engine);
  auto second = dense.compile(engine);
  auto after = tenon_get_compile_stats();
  EXPECT_EQ(after.compiled - before.compiled, 1u);
  EXPECT_EQ(after.from_memory - before.from_memory, 1u);
  // Forget what memory has.
  check(tenon_set_compiled_cache_capacity(0));
  auto third = dense.compile(engine);
  EXPECT_EQ(tenon_get_compile_stats().from_disk - after.from_disk, 1u);
  EXPECT_EQ(third.serialise(), first.serialise());
  // A damaged file is replaced.
  for (auto &file : std::filesystem::directory_iterator(folder))
    std::filesystem::resize_file(file.path(),
                                 std::filesystem::file_size(file.path()) / 2);
  dense.compile(engine);
  EXPECT_EQ(tenon_get_compile_stats().compiled - after.compiled, 1u);
  dense.compile(engine);
  EXPECT_EQ(tenon_get_compile_stats().from_disk - after.from_disk, 2u);
  check(tenon_set_compiled_cache_capacity(1024));
  check(tenon_set_compiled_cache_folder(nullptr));
}

TEST_F(Api, OtherOptionsAreOtherCode) {
  Dense dense{5, 16, 8};
  auto stats = tenon_get_compile_stats();
  dense.compile(engine);
  engine.setOption("fuse", "false");
  dense.compile(engine);
  EXPECT_GE(tenon_get_compile_stats().compiled - stats.compiled, 1u);
}

TEST_F(Api, CallersMemory) {
  struct Counter {
    std::atomic<int> live{0}, total{0};
  } counter;
  tenon_allocator allocator = {[](void *c, size_t size, size_t align) {
                                 ++static_cast<Counter *>(c)->live;
                                 ++static_cast<Counter *>(c)->total;
                                 return aligned_alloc(
                                     align, (size + align - 1) / align * align);
                               },
                               [](void *c, void *block) {
                                 --static_cast<Counter *>(c)->live;
                                 free(block);
                               },
                               &counter};
  {
    Engine own(&allocator);
    Stream s(own, 2);
    Tensor t(f32(0, {100}), own, TENON_MEMORY_ALLOCATE);
    EXPECT_GE(counter.total, 2);
  }
  EXPECT_EQ(counter.live, 0);
}

TEST_F(Api, ManyThreadsOneCompiledPartition) {
  Dense dense{17, 32, 33};
  auto compiled = dense.compile(engine);
  Values w = ramp(32 * 33, -2), b = ramp(33);
  Tensor tw = tensor(dense.w, w), tb = tensor(dense.b, b);
  Stream team(engine, 2);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Values x = ramp(17 * 32, static_cast<float>(t)), y(17 * 33);
      Tensor tx(dense.x, engine, x.data()), ty(dense.y, engine, y.data());
      Values expected = dense.expected(x, w, b);
      for (int i = 0; i < 50; ++i) {
        std::fill(y.begin(), y.end(), -1.f);
        compiled.execute(team, {&tx, &tw, &tb}, {&ty});
        for (size_t k = 0; k < y.size(); ++k)
          wrong += std::abs(y[k] - expected[k]) >
                   1e-3f * (1 + std::abs(expected[k]));
      }
    });
  for (auto &t : threads)
    t.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Api, EqualRequestsAtOnceCompileOnce) {
  Dense dense{19, 31, 23};
  auto before = tenon_get_compile_stats();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] { dense.compile(engine); });
  for (auto &t : threads)
    t.join();
  EXPECT_EQ(tenon_get_compile_stats().compiled - before.compiled, 1u);
}

TEST_F(Api, ForkBeforeFirstUse) {
  Dense dense{5, 7, 9};
  Stream team(engine, 2);
  auto compiled = dense.compile(engine);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Values x = ramp(35), w = ramp(63, -2), b = ramp(9), y(45);
    Tensor tx = tensor(dense.x, x), tw = tensor(dense.w, w),
           tb = tensor(dense.b, b), ty = tensor(dense.y, y);
    compiled.execute(team, {&tx, &tw, &tb}, {&ty});
    Values e = dense.expected(x, w, b);
    _exit(std::abs(y[0] - e[0]) < 1e-3f ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(Api, NestedInsideTheCallersParallelRegion) {
  // A pool whose body executes the partition: sections run on the caller.
  Dense dense{9, 16, 16};
  auto compiled = dense.compile(engine);
  Values w = ramp(256, -2), b = ramp(16);
  Tensor tw = tensor(dense.w, w), tb = tensor(dense.b, b);
  Stream team(engine, 2);
  std::atomic<int> wrong{0};
  struct Body {
    std::function<void(int64_t)> run;
  } body{[&](int64_t i) {
    Values x = ramp(144, static_cast<float>(i)), y(144);
    Tensor tx(dense.x, engine, x.data()), ty(dense.y, engine, y.data());
    compiled.execute(team, {&tx, &tw, &tb}, {&ty});
    Values e = dense.expected(x, w, b);
    wrong += std::abs(y[5] - e[5]) > 1e-3f * (1 + std::abs(e[5]));
  }};
  void *args[] = {&body};
  tenon_rt_run_section(
      tenon_stream_get_exec(team.get()),
      [](void *const *a, int64_t begin, int64_t end, void *) {
        for (int64_t i = begin; i < end; ++i)
          static_cast<Body *>(a[0])->run(i);
      },
      args, 4, 0);
  EXPECT_EQ(wrong, 0);
}

TEST_F(Api, JsonRoundTrip) {
  Dense dense{2, 3, 4};
  Graph g = dense.graph();
  std::string text = g.toJson();
  EXPECT_EQ(Graph::fromJson(text).toJson(), text);
}

TEST_F(Api, InputsThatNothingReadsAreIgnored) {
  Dense dense{2, 3, 4};
  std::string text = dense.graph().toJson();
  const std::string ports = "\"input_ports\": [";
  text.insert(text.find(ports) + ports.size(), "77, ");
  auto partitions = Graph::fromJson(text).partitions();
  ASSERT_EQ(partitions.size(), 1u);
  auto more = f32(77, {5});
  for (bool given : {false, true}) {
    std::vector<LogicalTensor> in = {dense.x, dense.w, dense.b};
    if (given)
      in.insert(in.begin(), more);
    CompiledPartition compiled = partitions[0].compile(engine, in, {dense.y});
    Values x = ramp(6), w = ramp(12), b = ramp(4), y(8), m = ramp(5);
    Tensor tx(dense.x, engine, x.data()), tw(dense.w, engine, w.data()),
        tb(dense.b, engine, b.data()), ty(dense.y, engine, y.data()),
        tm(more, engine, m.data());
    Stream stream(engine);
    compiled.execute(stream, {&tx, &tw, &tb}, {&ty});
    expectNear(y, dense.expected(x, w, b));
    std::fill(y.begin(), y.end(), 0.f);
    compiled.execute(stream, {&tm, &tx, &tw, &tb}, {&ty});
    expectNear(y, dense.expected(x, w, b));
    auto unknown = f32(78, {5});
    Tensor tu(unknown, engine, m.data());
    EXPECT_THROW(compiled.execute(stream, {&tx, &tw, &tb, &tu}, {&ty}),
                 tenon::Exception);
  }
}

TEST_F(Api, DumpsWhatIsAskedFor) {
  std::string folder = testing::TempDir() + "/tenon_dump";
  std::filesystem::create_directories(folder);
  check(tenon_set_dump_mode(TENON_DUMP_ALL, folder.c_str()));
  Dense{2, 3, 4}.compile(engine);
  check(tenon_set_dump_mode(TENON_DUMP_NONE, nullptr));
  int graphs = 0, partitions = 0;
  for (auto &file : std::filesystem::directory_iterator(folder)) {
    std::string name = file.path().filename();
    graphs += name.find("graph") != std::string::npos;
    partitions += name.find("partition") != std::string::npos;
    std::ifstream in(file.path());
    std::string text(std::istreambuf_iterator<char>(in), {});
    EXPECT_NO_THROW(Graph::fromJson(text));
  }
  EXPECT_EQ(graphs, 1);
  EXPECT_EQ(partitions, 1);
}

} // namespace
