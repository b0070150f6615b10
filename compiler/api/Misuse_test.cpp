// SPDX-License-Identifier: Apache-2.0
// A coded error for each misuse, and nothing written out of bounds.
#include "compiler/api/TestSupport.h"

#include <cstring>
#include <functional>
#include <thread>

using namespace tenon;
using namespace tenon::test;

namespace {

/// The status of a call that throws or returns it.
tenon_status statusOf(const std::function<void()> &call) {
  try {
    call();
  } catch (const Exception &e) {
    return e.status();
  }
  return TENON_SUCCESS;
}

struct Misuse : testing::Test {
  Engine engine;
  Stream stream{engine};
  Dense dense{4, 8, 6};
  CompiledPartition compiled = dense.compile(engine);
  Values x = ramp(32), w = ramp(48), b = ramp(6);
  // Guarded: what lies around must stay.
  Values guarded = Values(24 + 32, 1234.f);
  float *y = guarded.data() + 16;
  Tensor tx{dense.x, engine, x.data()}, tw{dense.w, engine, w.data()},
      tb{dense.b, engine, b.data()}, ty{dense.y, engine, y};

  void TearDown() override {
    for (size_t i = 0; i < 16; ++i) {
      EXPECT_EQ(guarded[i], 1234.f);
      EXPECT_EQ(guarded[40 + i], 1234.f);
    }
  }
  tenon_status execute(const std::vector<const Tensor *> &in,
                       const std::vector<Tensor *> &out) {
    return statusOf([&] { compiled.execute(stream, in, out); });
  }
};

TEST_F(Misuse, NullHandles) {
  EXPECT_EQ(tenon_engine_create(nullptr, nullptr), TENON_E_NullArgument);
  tenon_stream *s = nullptr;
  EXPECT_EQ(tenon_stream_create(nullptr, nullptr, &s), TENON_E_NullArgument);
  EXPECT_EQ(s, nullptr);
  EXPECT_EQ(tenon_graph_add_op(nullptr, nullptr), TENON_E_NullArgument);
  EXPECT_EQ(tenon_op_add_input(nullptr, nullptr), TENON_E_NullArgument);
  EXPECT_EQ(tenon_compiled_partition_execute(nullptr, nullptr, 0, nullptr, 0,
                                             nullptr),
            TENON_E_NullArgument);
  EXPECT_EQ(tenon_tensor_touch(nullptr), TENON_E_NullArgument);
  EXPECT_STREQ(tenon_last_error()->message, "tensor is NULL");
  EXPECT_NE(std::strstr(tenon_last_error()->text, "E1401"), nullptr);
  const tenon_tensor *in[3] = {nullptr, nullptr, nullptr};
  tenon_tensor *out[1] = {ty.get()};
  EXPECT_EQ(tenon_compiled_partition_execute(compiled.get(), stream.get(), 3,
                                             in, 1, out),
            TENON_E_NullArgument);
  EXPECT_EQ(tenon_compiled_partition_execute(compiled.get(), stream.get(), 3,
                                             nullptr, 1, out),
            TENON_E_NullArgument);
  for (auto destroy : {+[] { tenon_engine_destroy(nullptr); },
                       +[] { tenon_stream_destroy(nullptr); },
                       +[] { tenon_tensor_destroy(nullptr); },
                       +[] { tenon_op_destroy(nullptr); },
                       +[] { tenon_graph_destroy(nullptr); },
                       +[] { tenon_partition_destroy(nullptr); },
                       +[] { tenon_compiled_partition_destroy(nullptr); }})
    destroy();
}

TEST_F(Misuse, HandlesOfAnotherKind) {
  auto *wrong = reinterpret_cast<tenon_graph *>(engine.get());
  EXPECT_EQ(tenon_graph_finalize(wrong), TENON_E_BadHandle);
  EXPECT_EQ(tenon_tensor_touch(reinterpret_cast<tenon_tensor *>(stream.get())),
            TENON_E_BadHandle);
}

TEST_F(Misuse, LogicalTensors) {
  tenon_logical_tensor t;
  int64_t dims[13] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  auto init = [&](tenon_dtype d, int32_t rank, const int64_t *sizes) {
    return tenon_logical_tensor_init(
        &t, 0, d, rank, sizes, TENON_LAYOUT_STRIDED, TENON_PROPERTY_VARIABLE);
  };
  EXPECT_EQ(init(TENON_F32, 13, dims), TENON_E_BadRank);
  EXPECT_EQ(init(TENON_F32, -2, dims), TENON_E_BadRank);
  EXPECT_EQ(init(TENON_F32, 2, nullptr), TENON_E_NullArgument);
  EXPECT_EQ(init(static_cast<tenon_dtype>(77), 1, dims), TENON_E_BadDType);
  int64_t negative[] = {4, -1};
  EXPECT_EQ(init(TENON_F32, 2, negative), TENON_E_BadDim);
  int64_t huge[] = {INT64_MAX / 2, 8};
  EXPECT_EQ(init(TENON_F32, 2, huge), TENON_E_BadDim);
  int64_t two[] = {2, 2}, strides[] = {-1, 1};
  EXPECT_EQ(tenon_logical_tensor_init_strided(&t, 0, TENON_F32, 2, two, strides,
                                              TENON_PROPERTY_VARIABLE),
            TENON_E_BadStride);
  EXPECT_EQ(tenon_logical_tensor_init(&t, 0, TENON_F32, 1, two,
                                      TENON_LAYOUT_STRIDED,
                                      TENON_PROPERTY_HOST_SCALAR),
            TENON_E_BadRank);
  size_t bytes = 7;
  LogicalTensor unknown(0, TENON_F32);
  EXPECT_EQ(tenon_logical_tensor_byte_size(&unknown, &bytes),
            TENON_E_UnknownShape);
  EXPECT_EQ(bytes, 0u);
  auto any = f32(0, {2}).with(TENON_LAYOUT_ANY);
  EXPECT_EQ(tenon_logical_tensor_byte_size(&any, &bytes), TENON_E_BadStride);
  auto opaque = f32(0, {1, 2, 3}).with(TENON_LAYOUT_OPAQUE);
  opaque.layout_id = 99;
  EXPECT_EQ(tenon_logical_tensor_byte_size(&opaque, &bytes), TENON_E_BadStride);
}

TEST_F(Misuse, EnginesStreamsOptions) {
  tenon_allocator half = {nullptr, [](void *, void *) {}, nullptr};
  tenon_engine *e = nullptr;
  EXPECT_EQ(tenon_engine_create(&half, &e), TENON_E_BadOption);
  EXPECT_EQ(e, nullptr);
  EXPECT_EQ(tenon_engine_set_option(engine.get(), "no-such", "1"),
            TENON_E_BadOption);
  EXPECT_EQ(tenon_engine_set_option(engine.get(), "fuse", "perhaps"),
            TENON_E_BadOption);
  EXPECT_EQ(tenon_engine_set_option(engine.get(), "max-group-ops", "12x"),
            TENON_E_BadOption);
  tenon_exec_options options;
  tenon_exec_options_init(&options);
  options.threading = TENON_THREADS_POOL; // without a pool
  tenon_stream *s = nullptr;
  EXPECT_EQ(tenon_stream_create(engine.get(), &options, &s), TENON_E_BadOption);
  options.struct_size = 1;
  EXPECT_EQ(tenon_stream_create(engine.get(), &options, &s), TENON_E_BadOption);
  EXPECT_EQ(tenon_set_compiled_cache_capacity(-1), TENON_E_BadOption);
  EXPECT_EQ(tenon_set_compiled_cache_folder("/proc/nowhere"),
            TENON_E_CannotWrite);
  EXPECT_EQ(tenon_set_dump_mode(static_cast<tenon_dump_mode>(9), nullptr),
            TENON_E_BadOption);
}

TEST_F(Misuse, TargetThatDoesNotExist) {
  engine.setOption("target-cpu", "no-such-cpu");
  EXPECT_EQ(statusOf([&] { Dense{3, 3, 3}.compile(engine); }),
            TENON_E_UnsupportedTarget);
}

TEST_F(Misuse, Operations) {
  tenon_op *op = nullptr;
  EXPECT_EQ(tenon_op_create(0, static_cast<tenon_op_kind>(4711), "x", &op),
            TENON_E_UnknownOp);
  EXPECT_EQ(tenon_op_create_named(0, nullptr, "x", &op), TENON_E_NullArgument);
  EXPECT_EQ(tenon_op_create_named(0, "", "x", &op), TENON_E_UnknownOp);
  Graph g;
  auto a = f32(1, {2, 3}), c = f32(3, {2, 2});
  auto add = [&](Op &op) { return tenon_graph_add_op(g.get(), op.get()); };
  EXPECT_EQ(add(Op(1, tenon_op_relu, "few").output(c)), TENON_E_OperandCount);
  EXPECT_EQ(add(Op(1, tenon_op_matmul, "clash").input(a).input(a).output(c)),
            TENON_E_ShapeMismatch);
  EXPECT_STREQ(tenon_last_error()->op_kind, "MatMul");
  EXPECT_STREQ(tenon_last_error()->op_name, "clash");
  EXPECT_EQ(tenon_last_error()->op_id, 1u);
  EXPECT_EQ(add(Op(1, tenon_op_relu, "attr")
                    .attr("slope", 1.f)
                    .input(a)
                    .output(f32(4, {2, 3}))),
            TENON_E_UnknownAttr);
  EXPECT_EQ(add(Op(1, tenon_op_softmax, "type")
                    .attr("axis", "one")
                    .input(a)
                    .output(f32(4, {2, 3}))),
            TENON_E_AttrType);
  EXPECT_EQ(add(Op(1, tenon_op_elu, "missing").input(a).output(f32(4, {2, 3}))),
            TENON_E_MissingAttr);
  // What failed left nothing behind.
  check(add(Op(1, tenon_op_relu, "good").input(a).output(f32(4, {2, 3}))));
  EXPECT_EQ(add(Op(1, tenon_op_relu, "again").input(a).output(f32(5, {2, 3}))),
            TENON_E_DuplicateOpId);
  EXPECT_EQ(add(Op(2, tenon_op_relu, "two").input(a).output(f32(4, {2, 3}))),
            TENON_E_TwoProducers);
  EXPECT_EQ(add(Op(2, tenon_op_relu, "edge")
                    .input(f32(4, {9, 3}))
                    .output(f32(6, {9, 3}))),
            TENON_E_EdgeConflict);
  EXPECT_EQ(tenon_graph_add_output(g.get(), 77), TENON_E_UnknownTensor);
  EXPECT_EQ(tenon_graph_set_size(g.get(), 77, 0, "n"), TENON_E_UnknownTensor);
  EXPECT_EQ(tenon_graph_set_size(g.get(), 4, 2, "n"), TENON_E_BadRank);
  EXPECT_EQ(tenon_graph_set_size(g.get(), 4, -1, "n"), TENON_E_BadRank);
  EXPECT_EQ(tenon_graph_set_size(g.get(), 4, 0, "2 n"), TENON_E_AttrValue);
  EXPECT_EQ(tenon_graph_set_size(g.get(), 4, 0, nullptr), TENON_E_NullArgument);
  g.finalize();
  EXPECT_EQ(g.partitions().size(), 1u);
}

/// What the last error says of an operation: "kind name id".
std::string lastOperation() {
  const tenon_error *e = tenon_last_error();
  return std::string(e->op_kind) + " " + e->op_name + " " +
         std::to_string(e->op_id);
}

TEST_F(Misuse, ErrorsNameTheOperationWhateverTheCall) {
  tenon_op *none = nullptr;
  EXPECT_EQ(tenon_op_create(7, static_cast<tenon_op_kind>(4711), "odd", &none),
            TENON_E_UnknownOp);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(lastOperation(), " odd 7");
  Op clash(9, tenon_op_matmul, "clash");
  clash.input(f32(1, {2, 3})).input(f32(2, {2, 3})).output(f32(3, {2, 2}));
  Graph g;
  EXPECT_EQ(tenon_graph_add_op(g.get(), clash.get()), TENON_E_ShapeMismatch);
  std::string text = tenon_last_error()->text;
  tenon_partition *partition = nullptr;
  EXPECT_EQ(tenon_op_create_named(8, nullptr, "x", &none),
            TENON_E_NullArgument);
  EXPECT_EQ(tenon_partition_create(clash.get(), &partition),
            TENON_E_ShapeMismatch);
  EXPECT_EQ(partition, nullptr);
  EXPECT_EQ(lastOperation(), "MatMul clash 9");
  EXPECT_EQ(tenon_last_error()->text, text);
}

TEST_F(Misuse, ATensorIsRefusedAsItsByteSizeIs) {
  auto unknown = f32(5, {TENON_UNKNOWN_DIM, 2});
  LogicalTensor any(5, TENON_F32, {2, 2}, TENON_LAYOUT_ANY);
  LogicalTensor badType = f32(5, {2});
  badType.dtype = 99;
  for (const LogicalTensor &about : {unknown, any, badType}) {
    size_t bytes = 0;
    tenon_status status = tenon_logical_tensor_byte_size(&about, &bytes);
    EXPECT_NE(status, TENON_SUCCESS);
    std::string text = tenon_last_error()->text;
    EXPECT_NE(text.find("tensor 5"), std::string::npos) << text;
    EXPECT_EQ(tenon_set_compiled_cache_capacity(-1), TENON_E_BadOption);
    tenon_tensor *tensor = nullptr;
    EXPECT_EQ(tenon_tensor_create(&about, engine.get(), nullptr, &tensor),
              status);
    EXPECT_EQ(tenon_last_error()->text, text);
    EXPECT_EQ(tensor, nullptr);
  }
}

TEST_F(Misuse, OrderOfCalls) {
  Graph g;
  size_t count = 0;
  EXPECT_EQ(
      tenon_graph_get_partitions(g.get(), TENON_POLICY_FUSION, &count, nullptr),
      TENON_E_WrongState);
  auto a = f32(1, {2}), b = f32(2, {2});
  g.add(Op(1, tenon_op_relu, "r").input(a).output(b));
  g.finalize();
  EXPECT_EQ(tenon_graph_finalize(g.get()), TENON_E_WrongState);
  Op late(2, tenon_op_relu, "late");
  late.input(b).output(f32(3, {2}));
  EXPECT_EQ(tenon_graph_add_op(g.get(), late.get()), TENON_E_WrongState);
  EXPECT_EQ(tenon_graph_add_output(g.get(), 1), TENON_E_WrongState);
  EXPECT_EQ(tenon_graph_set_size(g.get(), 1, 0, "n"), TENON_E_WrongState);
  tenon_partition *one[1];
  count = 0;
  EXPECT_EQ(
      tenon_graph_get_partitions(g.get(), TENON_POLICY_FUSION, &count, one),
      TENON_E_TooLarge);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(tenon_graph_get_partitions(
                g.get(), static_cast<tenon_partition_policy>(5), &count, one),
            TENON_E_BadOption);
}

TEST_F(Misuse, CyclesAndText) {
  Graph g;
  auto a = f32(1, {2}), b = f32(2, {2});
  g.add(Op(1, tenon_op_relu, "r").input(a).output(b));
  g.add(Op(2, tenon_op_relu, "s").input(b).output(a));
  EXPECT_EQ(tenon_graph_finalize(g.get()), TENON_E_Cycle);
  EXPECT_EQ(statusOf([] { Graph::fromJson("{"); }), TENON_E_Syntax);
  EXPECT_NE(statusOf([] { Graph::fromJson(""); }), TENON_SUCCESS);
}

TEST_F(Misuse, Compilation) {
  auto part = std::move(dense.graph().partitions().at(0));
  auto compile = [&](const std::vector<LogicalTensor> &in,
                     const std::vector<LogicalTensor> &out) {
    return statusOf([&] { part.compile(engine, in, out); });
  };
  EXPECT_EQ(compile({dense.x, dense.w}, {dense.y}), TENON_E_PortMismatch);
  EXPECT_EQ(compile({dense.x, dense.w, dense.w}, {dense.y}),
            TENON_E_PortMismatch);
  EXPECT_EQ(compile({dense.x, dense.w, dense.b}, {}), TENON_E_PortMismatch);
  EXPECT_EQ(compile({dense.x, dense.w, f32(77, {6})}, {dense.y}),
            TENON_E_PortMismatch);
  EXPECT_EQ(compile({f32(0, {5, 8}), dense.w, dense.b}, {dense.y}),
            TENON_E_ShapeMismatch);
  EXPECT_EQ(compile({LogicalTensor(0, TENON_BF16, {4, 8}), dense.w, dense.b},
                    {dense.y}),
            TENON_E_BadDType);
  EXPECT_EQ(
      compile({dense.x.with(TENON_LAYOUT_ANY), dense.w, dense.b}, {dense.y}),
      TENON_E_BadStride);
  // Elements of a result that share memory.
  EXPECT_EQ(compile({dense.x, dense.w, dense.b},
                    {LogicalTensor::strided(4, TENON_F32, {4, 6}, {1, 1})}),
            TENON_E_BadStride);
  Op wild(1, "Wildcard", "w");
  auto a = f32(1, {2}), b = f32(2, {2});
  wild.input(a).output(b);
  Partition unsupported(wild);
  EXPECT_EQ(statusOf([&] { unsupported.compile(engine, {a}, {b}); }),
            TENON_E_UnsupportedOp);
}

TEST_F(Misuse, ExecutionWithOtherTensors) {
  EXPECT_EQ(execute({&tx, &tw}, {&ty}), TENON_E_PortMismatch);
  EXPECT_EQ(execute({&tx, &tw, &tw}, {&ty}), TENON_E_PortMismatch);
  EXPECT_EQ(execute({&tx, &tw, &tb}, {}), TENON_E_PortMismatch);
  EXPECT_EQ(execute({&tx, &tw, &tb}, {&tx}), TENON_E_PortMismatch);
  Tensor wide(f32(0, {4, 9}), engine, x.data());
  EXPECT_EQ(execute({&wide, &tw, &tb}, {&ty}), TENON_E_ShapeMismatch);
  Tensor rank(f32(0, {32}), engine, x.data());
  EXPECT_EQ(execute({&rank, &tw, &tb}, {&ty}), TENON_E_ShapeMismatch);
  Tensor integers(LogicalTensor(0, TENON_S32, {4, 8}), engine, x.data());
  EXPECT_EQ(execute({&integers, &tw, &tb}, {&ty}), TENON_E_BadDType);
  Tensor strided(LogicalTensor::strided(0, TENON_F32, {4, 8}, {1, 4}), engine,
                 x.data());
  EXPECT_EQ(execute({&strided, &tw, &tb}, {&ty}), TENON_E_BadStride);
  Tensor none(dense.x, engine, nullptr);
  EXPECT_EQ(execute({&none, &tw, &tb}, {&ty}), TENON_E_BadTensorData);
}

TEST_F(Misuse, MisalignedBuffers) {
  alignas(8) char bytes[200];
  tenon_tensor *t = nullptr;
  EXPECT_EQ(tenon_tensor_create(&dense.x, engine.get(), bytes + 1, &t),
            TENON_E_BadTensorData);
  EXPECT_EQ(t, nullptr);
  EXPECT_EQ(tenon_tensor_set_data(tx.get(), bytes + 2), TENON_E_BadTensorData);
  // As it was.
  EXPECT_EQ(tx.data(), x.data());
}

TEST_F(Misuse, MemoryOfTheLibraryIsNotReplaced) {
  Tensor own(dense.x, engine, TENON_MEMORY_ALLOCATE);
  EXPECT_EQ(tenon_tensor_set_data(own.get(), x.data()), TENON_E_BadHandle);
}

TEST_F(Misuse, Scratch) {
  auto a = f32(0, {64, 64}), c = f32(2, {64, 64}), d = f32(3, {64, 64});
  auto bb = f32(1, {64, 64});
  Graph g;
  g.add(Op(1, tenon_op_matmul, "m1").input(a).input(bb).output(c));
  g.add(Op(2, tenon_op_matmul, "m2").input(c).input(bb).output(d));
  g.finalize();
  auto chain = g.partitions().at(0).compile(engine, {a, bb}, {d});
  size_t size = chain.scratchSize();
  ASSERT_GT(size, 0u);
  Values data(4096);
  Tensor ta(a, engine, data.data()), tbb(bb, engine, data.data());
  Tensor td(d, engine, TENON_MEMORY_ALLOCATE);
  const tenon_tensor *in[] = {ta.get(), tbb.get()};
  tenon_tensor *out[] = {td.get()};
  std::vector<char> memory(size + 128);
  char *aligned =
      memory.data() + 64 - reinterpret_cast<uintptr_t>(memory.data()) % 64;
  auto run = [&](void *scratch, size_t bytes) {
    return tenon_compiled_partition_execute_with_scratch(
        chain.get(), stream.get(), 2, in, 1, out, scratch, bytes);
  };
  EXPECT_EQ(run(aligned, size), TENON_SUCCESS);
  EXPECT_EQ(run(aligned, size - 1), TENON_E_BadTensorData);
  EXPECT_EQ(run(aligned + 4, size), TENON_E_BadTensorData);
  EXPECT_EQ(run(nullptr, size), TENON_E_BadTensorData);
}

TEST_F(Misuse, ExecutionAfterEverythingElseIsDestroyed) {
  CompiledPartition alive;
  std::unique_ptr<Stream> last;
  {
    Engine gone;
    last = std::make_unique<Stream>(gone);
    alive = dense.compile(gone);
  }
  alive.execute(*last, {&tx, &tw, &tb}, {&ty});
  expectNear(Values(y, y + 24), dense.expected(x, w, b));
}

TEST_F(Misuse, CompiledBytesWithAnyPartChanged) {
  std::string bytes = compiled.serialise();
  auto load = [&](const std::string &text) {
    return statusOf([&] { CompiledPartition::deserialise(text, engine); });
  };
  EXPECT_EQ(load(bytes), TENON_SUCCESS);
  EXPECT_EQ(load(""), TENON_E_NotAnArtefact);
  EXPECT_EQ(load("not a compiled partition at all, but long enough to be one "
                 "if only its first bytes were looked at, which they are, and "
                 "some more of this text, so that a header fits into it"),
            TENON_E_NotAnArtefact);
  EXPECT_EQ(load(bytes.substr(0, bytes.size() / 2)), TENON_E_DamagedArtefact);
  EXPECT_EQ(load(bytes + "x"), TENON_E_DamagedArtefact);
  // A byte in every part, and each byte of the header.
  for (size_t at = 0; at < bytes.size(); at += at < 200 ? 1 : 101) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x20);
    tenon_status status = load(changed);
    EXPECT_TRUE(status == TENON_E_NotAnArtefact ||
                status == TENON_E_ForeignArtefact ||
                status == TENON_E_DamagedArtefact)
        << "byte " << at << ": " << status;
  }
}

TEST_F(Misuse, NoMemory) {
  tenon_allocator none = {
      [](void *, size_t, size_t) -> void * { return nullptr; },
      [](void *, void *) {}, nullptr};
  Engine poor(&none);
  tenon_stream *s = nullptr;
  EXPECT_EQ(tenon_stream_create(poor.get(), nullptr, &s), TENON_E_OutOfMemory);
  tenon_tensor *t = nullptr;
  EXPECT_EQ(
      tenon_tensor_create(&dense.x, poor.get(), TENON_MEMORY_ALLOCATE, &t),
      TENON_E_OutOfMemory);
}

TEST_F(Misuse, ConversionOfOtherSizes) {
  Tensor other(f32(9, {8, 4}), engine, TENON_MEMORY_ALLOCATE);
  EXPECT_EQ(tenon_tensor_convert(stream.get(), tx.get(), other.get()),
            TENON_E_ShapeMismatch);
  Tensor integers(LogicalTensor(9, TENON_S32, {4, 8}), engine,
                  TENON_MEMORY_ALLOCATE);
  EXPECT_EQ(tenon_tensor_convert(stream.get(), tx.get(), integers.get()),
            TENON_E_BadDType);
}

TEST_F(Misuse, ErrorsAreOfTheThread) {
  EXPECT_EQ(tenon_tensor_touch(nullptr), TENON_E_NullArgument);
  tenon_status other = -1;
  std::thread([&] { other = tenon_last_error()->status; }).join();
  EXPECT_EQ(other, TENON_SUCCESS);
  EXPECT_EQ(tenon_last_error()->status, TENON_E_NullArgument);
}

} // namespace
