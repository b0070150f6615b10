// SPDX-License-Identifier: Apache-2.0
// Sizes that are not known, or named: others follow from them, what is declared
// of them holds, and likely values have code of their own.
#include "compiler/api/TestSupport.h"

#include <filesystem>

using namespace tenon;
using namespace tenon::test;

namespace {

constexpr int64_t kAny = TENON_UNKNOWN_DIM;

struct Sizes : ApiTest {
  /// relu(x . w + b) of `rows` rows.
  Dense dense{kAny, 24, 40};
  Values w = ramp(24 * 40, -2), b = ramp(40);

  CompiledPartition compile(const SizeFacts &facts) {
    LogicalTensor t = f32(3, {kAny, 40});
    Graph g;
    g.add(Op(10, tenon_op_matmul, "fc")
              .input(dense.x)
              .input(dense.w)
              .input(dense.b)
              .output(t))
        .add(Op(11, tenon_op_relu, "act").input(t).output(dense.y))
        .size(0, 0, "rows")
        .declareSize("rows", facts)
        .finalize();
    return g.partitions().at(0).compile(engine, {dense.x, dense.w, dense.b},
                                        {dense.y});
  }
  std::string versionFor(const CompiledPartition &compiled, int64_t rows) {
    return compiled.version({f32(0, {rows, 24}), dense.w, dense.b});
  }
  Values run(CompiledPartition &compiled, int64_t rows) {
    auto size = static_cast<size_t>(rows);
    Values x = ramp(size * 24), y(size * 40, -7);
    Tensor tx = tensor(f32(0, {rows, 24}), x), tw = tensor(dense.w, w),
           tb = tensor(dense.b, b), ty = tensor(f32(4, {rows, 40}), y);
    compiled.execute(stream, {&tx, &tw, &tb}, {&ty});
    return y;
  }
  void check(CompiledPartition &compiled, int64_t rows) {
    SCOPED_TRACE(rows);
    Dense known{rows, 24, 40};
    Values x = ramp(static_cast<size_t>(rows * 24));
    expectNear(run(compiled, rows), known.expected(x, w, b));
  }
  tenon_status statusOf(CompiledPartition &compiled, int64_t rows) {
    try {
      run(compiled, rows);
      return TENON_SUCCESS;
    } catch (const Exception &e) {
      return e.status();
    }
  }
};

TEST_F(Sizes, AreGivenAtExecution) {
  LogicalTensor x = f32(0, {kAny, 6}), y(1, TENON_F32);
  Partition p(Op(0, tenon_op_softmax, "s").attr("axis", 1).input(x).output(y));
  auto compiled = p.compile(engine, {x}, {y});
  for (int64_t rows : {1, 5, 3, 5, 0}) {
    size_t count = static_cast<size_t>(rows) * 6;
    Values in = ramp(count), out(count, -1);
    Tensor tx = tensor(f32(0, {rows, 6}), in);
    Tensor ty = tensor(f32(1, {rows, 6}), out);
    compiled.execute(stream, {&tx}, {&ty});
    for (int64_t r = 0; r < rows; ++r)
      EXPECT_NEAR(
          std::accumulate(out.begin() + r * 6, out.begin() + r * 6 + 6, 0.f), 1,
          1e-5);
    LogicalTensor given = f32(0, {rows, 6}), result;
    tenon::check(
        tenon_compiled_partition_infer(compiled.get(), 1, &given, 1, &result));
    EXPECT_EQ(result.shape(), (std::vector<int64_t>{rows, 6}));
    compiled.scratchSize({given});
  }
  Values in = ramp(12), out(18);
  Tensor tx = tensor(f32(0, {2, 6}), in), ty = tensor(f32(1, {3, 6}), out);
  EXPECT_THROW(compiled.execute(stream, {&tx}, {&ty}), Exception);
}

/// A reshape to several sizes that only execution tells.
TEST_F(Sizes, AreComputedFromNamedOnes) {
  LogicalTensor rows = f32(0, {kAny, 6}), like = f32(1, {kAny, kAny, 6});
  LogicalTensor parts = f32(2, {kAny, kAny, 6}), sum(3, TENON_F32);
  Graph g;
  g.add(Op(0, tenon_op_static_reshape, "parts")
            .attr("shape", std::vector<int64_t>{kAny, kAny, 6})
            .attr("special_zero", false)
            .input(rows)
            .output(parts))
      .add(Op(1, tenon_op_add, "sum").input(parts).input(like).output(sum))
      .size(0, 0, "batch * tokens")
      .size(1, 0, "batch")
      .size(1, 1, "tokens")
      .size(2, 0, "batch")
      .size(2, 1, "tokens")
      .finalize();
  Partition p = std::move(g.partitions().at(0));
  auto compiled = p.compile(engine, {rows, like}, {sum});
  for (auto [batch, tokens] : {std::pair<int64_t, int64_t>{2, 5}, {1, 1}}) {
    size_t count = static_cast<size_t>(batch * tokens) * 6;
    Values a = ramp(count), b(count, 2), out(count, -1);
    Tensor ta = tensor(f32(0, {batch * tokens, 6}), a),
           tb = tensor(f32(1, {batch, tokens, 6}), b),
           to = tensor(f32(3, {batch, tokens, 6}), out);
    compiled.execute(stream, {&ta, &tb}, {&to});
    for (size_t i = 0; i < count; ++i)
      EXPECT_EQ(out[i], a[i] + 2) << i;
  }
  Values a = ramp(66), b(60), out(60);
  Tensor ta = tensor(f32(0, {11, 6}), a), tb = tensor(f32(1, {2, 5, 6}), b),
         to = tensor(f32(3, {2, 5, 6}), out);
  EXPECT_THROW(compiled.execute(stream, {&ta, &tb}, {&to}), Exception);
}

TEST_F(Sizes, LikelyOnesHaveCodeOfTheirOwn) {
  auto compiled = compile({1, 4096, 1, {1, 128}});
  for (int64_t rows : {1, 2, 127, 128, 129, 128, 1})
    check(compiled, rows);
  EXPECT_EQ(versionFor(compiled, 1), "rows=1");
  EXPECT_EQ(versionFor(compiled, 128), "rows=128");
  EXPECT_EQ(versionFor(compiled, 127), "");
  EXPECT_EQ(compile({1, 4096, 1, {}}).version({f32(0, {1, 24})}), "");
}

TEST_F(Sizes, ThatAreNotAsDeclaredAreErrors) {
  auto compiled = compile({8, 64, 8, {8}});
  for (int64_t rows : {8, 16, 64})
    check(compiled, rows);
  for (int64_t rows : {0, 1, 12, 72})
    EXPECT_EQ(statusOf(compiled, rows), TENON_E_BadSize) << rows;
  EXPECT_NE(
      std::string(tenon_last_error()->message)
          .find("dim 0 of tensor 0, rows, is 72, declared to be from 8 to "
                "64 and a multiple of 8"),
      std::string::npos)
      << tenon_last_error()->message;
  EXPECT_THROW(versionFor(compiled, 12), Exception);
}

TEST_F(Sizes, AreCheckedWhenSizesAreKnownAtCompilation) {
  LogicalTensor x = f32(0, {kAny}), y(1, TENON_F32);
  Graph g;
  g.add(Op(0, tenon_op_relu, "r").input(x).output(y))
      .size(0, 0, "n")
      .declareSize("n", {1, 8, 1, {2}})
      .finalize();
  auto part = std::move(g.partitions().at(0));
  EXPECT_EQ(part.compile(engine, {f32(0, {4})}, {y}).version({}), "");
  try {
    part.compile(engine, {f32(0, {9})}, {y});
    ADD_FAILURE();
  } catch (const Exception &e) {
    EXPECT_EQ(e.status(), TENON_E_BadSize);
  }
}

TEST_F(Sizes, DeclarationsAreChecked) {
  Graph g;
  LogicalTensor x = f32(0, {kAny}), y(1, TENON_F32);
  g.add(Op(0, tenon_op_relu, "r").input(x).output(y)).size(0, 0, "n");
  auto declare = [&](const char *name, int64_t min, int64_t max,
                     int64_t multiple, size_t count, const int64_t *likely) {
    return tenon_graph_declare_size(g.get(), name, min, max, multiple, count,
                                    likely);
  };
  const int64_t values[2] = {4, 5};
  EXPECT_EQ(declare(nullptr, 0, 1, 1, 0, nullptr), TENON_E_NullArgument);
  EXPECT_EQ(declare("n", 0, 1, 1, 1, nullptr), TENON_E_NullArgument);
  EXPECT_EQ(declare("n+1", 0, 1, 1, 0, nullptr), TENON_E_AttrValue);
  EXPECT_EQ(declare("n", 2, 1, 1, 0, nullptr), TENON_E_BadSize);
  EXPECT_EQ(declare("n", 0, TENON_NO_MAX, 0, 0, nullptr), TENON_E_BadSize);
  EXPECT_EQ(declare("n", 0, TENON_NO_MAX, 4, 2, values), TENON_E_BadSize);
  std::vector<int64_t> many(17);
  std::iota(many.begin(), many.end(), 0);
  EXPECT_EQ(declare("n", 0, TENON_NO_MAX, 1, many.size(), many.data()),
            TENON_E_TooLarge);
  EXPECT_EQ(tenon_graph_declare_size(nullptr, "n", 0, 1, 1, 0, nullptr),
            TENON_E_NullArgument);
  EXPECT_EQ(declare("m", 0, 1, 1, 0, nullptr), TENON_SUCCESS);
  EXPECT_EQ(tenon_graph_finalize(g.get()), TENON_E_BadSize);
  EXPECT_EQ(tenon_graph_set_size(g.get(), 1, 0, "m"), TENON_E_BadRank);
}

TEST_F(Sizes, EachPartitionHasThoseOfItsInputs) {
  LogicalTensor x = f32(0, {kAny}), a = f32(1, {kAny}), c = f32(2, {kAny}),
                y(3, TENON_F32);
  Graph g;
  g.add(Op(0, tenon_op_relu, "r").input(x).output(a))
      .add(Op(1, std::string("Unknown"), "u").input(a).output(c))
      .add(Op(2, tenon_op_abs, "b").input(c).output(y))
      .size(0, 0, "n")
      .declareSize("n", {1, 8, 1, {2}})
      .finalize();
  auto parts = g.partitions();
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].compile(engine, {x}, {a}).version({f32(0, {2})}), "n=2");
  // Its input has no name.
  EXPECT_EQ(parts[2].compile(engine, {c}, {y}).version({f32(2, {2})}), "");
}

TEST_F(Sizes, SerialisedCodeHasAllVersions) {
  auto compiled = compile({1, 4096, 1, {1, 128}});
  std::string bytes = compiled.serialise();
  auto again = CompiledPartition::deserialise(bytes, engine);
  EXPECT_EQ(again.serialise(), bytes);
  for (int64_t rows : {1, 5, 128})
    check(again, rows);
  EXPECT_EQ(versionFor(again, 128), "rows=128");
  EXPECT_EQ(statusOf(again, 4097), TENON_E_BadSize);
  // Wherever it is damaged, and wherever it ends.
  for (size_t at = 0; at < bytes.size(); at += bytes.size() / 97 + 1) {
    std::string bad = bytes;
    bad[at] ^= 1;
    EXPECT_THROW(CompiledPartition::deserialise(bad, engine), Exception) << at;
    EXPECT_THROW(CompiledPartition::deserialise(bytes.substr(0, at), engine),
                 Exception)
        << at;
  }
}

TEST_F(Sizes, DeclarationsArePartOfTheKeyOfCaches) {
  std::string folder = testing::TempDir() + "/tenon_sizes_cache";
  std::filesystem::remove_all(folder);
  tenon::check(tenon_set_compiled_cache_folder(folder.c_str()));
  auto before = tenon_get_compile_stats();
  auto one = compile({1, 96, 1, {2}});
  auto other = compile({1, 96, 1, {3}});
  auto same = compile({1, 96, 1, {2}});
  auto after = tenon_get_compile_stats();
  EXPECT_EQ(after.compiled - before.compiled, 2u);
  EXPECT_EQ(after.from_memory - before.from_memory, 1u);
  EXPECT_EQ(versionFor(one, 2), "rows=2");
  EXPECT_EQ(versionFor(other, 2), "");
  EXPECT_EQ(versionFor(same, 2), "rows=2");
  // From the folder.
  tenon::check(tenon_set_compiled_cache_capacity(0));
  auto loaded = compile({1, 96, 1, {3}});
  EXPECT_EQ(tenon_get_compile_stats().from_disk - after.from_disk, 1u);
  EXPECT_EQ(versionFor(loaded, 3), "rows=3");
  for (int64_t rows : {2, 3, 96})
    check(loaded, rows);
  tenon::check(tenon_set_compiled_cache_capacity(1024));
  tenon::check(tenon_set_compiled_cache_folder(nullptr));
}

/// What is packed in the same way is there once, also in the shared store.
TEST_F(Sizes, VersionsShareConstants) {
  tenon::check(tenon_set_constant_cache_capacity(1 << 24));
  auto general = compile({1, 512, 1, {}});
  check(general, 300);
  auto alone = tenon_get_constant_cache_stats();
  auto both = compile({1, 512, 1, {256}});
  for (int64_t rows : {256, 300})
    check(both, rows);
  auto shared = tenon_get_constant_cache_stats();
  EXPECT_EQ(shared.buffers, alone.buffers);
  tenon::check(tenon_set_constant_cache_capacity(0));
}

TEST_F(Sizes, OfFilesAreThoseOfGraphs) {
  auto compiledFrom = [&](const std::string &sizes) {
    std::string text =
        R"({"graph": [{"id": 0, "kind": "ReLU", "name": "r", "attrs": {},
            "inputs": [{"id": 0, "dtype": "f32", "shape": ["n"]}],
            "outputs": [{"id": 1, "dtype": "f32"}]}], "sizes": )" +
        sizes + "}";
    Graph g = Graph::fromJson(text);
    EXPECT_EQ(Graph::fromJson(g.toJson()).toJson(), g.toJson());
    return g.partitions().at(0).compile(engine, {f32(0, {kAny})},
                                        {LogicalTensor(1, TENON_F32)});
  };
  EXPECT_EQ(compiledFrom(R"({"n": {"likely": [7]}})").version({f32(0, {7})}),
            "n=7");
  EXPECT_THROW(compiledFrom(R"({"n": {"max": -1}})"), Exception);
  EXPECT_THROW(compiledFrom(R"({"k": {"max": 1}})"), Exception);
}

} // namespace
