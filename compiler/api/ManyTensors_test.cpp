// SPDX-License-Identifier: Apache-2.0
// Operations of any number of operands, graphs of many results, and element
// types that are for the edges of graphs alone.
#include "compiler/api/TestSupport.h"

#include <cmath>

using namespace tenon;
using namespace tenon::test;

namespace {

constexpr int kMany = 1000;

/// Executes the one partition of `g`.
void run(Graph &g, const std::vector<LogicalTensor> &in,
         const std::vector<LogicalTensor> &out, std::vector<void *> data) {
  Engine engine;
  Stream stream(engine);
  g.finalize();
  auto partitions = g.partitions();
  ASSERT_EQ(partitions.size(), 1u);
  auto compiled = partitions[0].compile(engine, in, out);
  std::vector<std::unique_ptr<Tensor>> tensors;
  std::vector<const Tensor *> inputs;
  std::vector<Tensor *> outputs;
  auto add = [&](const LogicalTensor &about, auto &list) {
    tensors.push_back(
        std::make_unique<Tensor>(about, engine, data[tensors.size()]));
    list.push_back(tensors.back().get());
  };
  for (const LogicalTensor &about : in)
    add(about, inputs);
  for (const LogicalTensor &about : out)
    add(about, outputs);
  compiled.execute(stream, inputs, outputs);
}

TEST(ManyTensors, ConcatOfAThousand) {
  std::vector<Values> values;
  std::vector<LogicalTensor> in;
  std::vector<void *> data;
  Op concat(5, tenon_op_concat, "all");
  for (int i = 0; i < kMany; ++i) {
    in.push_back(f32(static_cast<uint64_t>(i), {3, 1 + i % 3}));
    values.push_back(
        ramp(static_cast<size_t>(3 * (1 + i % 3)), static_cast<float>(i)));
    concat.input(in.back());
  }
  for (Values &v : values)
    data.push_back(v.data());
  int64_t columns = 0;
  for (const LogicalTensor &t : in)
    columns += t.dims[1];
  LogicalTensor dst = f32(kMany, {3, columns});
  concat.output(dst).attr("axis", 1);
  Graph g;
  g.add(std::move(concat));
  Values y(static_cast<size_t>(3 * columns));
  data.push_back(y.data());
  run(g, in, {dst}, data);
  Values expected;
  for (size_t row = 0; row < 3; ++row)
    for (const Values &v : values)
      expected.insert(expected.end(), v.begin() + row * (v.size() / 3),
                      v.begin() + (row + 1) * (v.size() / 3));
  EXPECT_EQ(y, expected);
}

/// What ONNX's Split is: a Slice for each result.
TEST(ManyTensors, AThousandSlices) {
  LogicalTensor src = f32(0, {3, kMany});
  std::vector<LogicalTensor> out;
  std::vector<Values> values(kMany, Values(3));
  Values x = ramp(3 * kMany);
  std::vector<void *> data{x.data()};
  Graph g;
  for (int i = 0; i < kMany; ++i) {
    out.push_back(f32(static_cast<uint64_t>(i + 1), {3, 1}));
    g.add(std::move(Op(static_cast<uint64_t>(i), tenon_op_slice, "part")
                        .input(src)
                        .output(out.back())
                        .attr("axes", std::vector<int64_t>{1})
                        .attr("begins", std::vector<int64_t>{i})
                        .attr("ends", std::vector<int64_t>{i + 1})));
    data.push_back(values[static_cast<size_t>(i)].data());
  }
  run(g, {src}, out, data);
  for (size_t i = 0; i < kMany; ++i)
    EXPECT_EQ(values[i], (Values{x[i], x[kMany + i], x[2 * kMany + i]}));
}

TEST(EdgeTypes, DoublesComeInAndGoOut) {
  LogicalTensor x(0, TENON_F64, {2, 3}), wide(3, TENON_F64, {2, 3});
  EXPECT_EQ(x.byteSize(), 48u);
  LogicalTensor narrow = f32(1, {2, 3}), root = f32(2, {2, 3});
  Graph g;
  g.add(std::move(Op(10, tenon_op_type_cast, "in").input(x).output(narrow)));
  g.add(std::move(Op(11, tenon_op_sqrt, "root").input(narrow).output(root)));
  g.add(std::move(Op(12, tenon_op_type_cast, "out").input(root).output(wide)));
  std::vector<double> in = {0.1, 2, 1e-300, 1e30, 16777217, 0}, out(6, -1);
  run(g, {x}, {wide}, {in.data(), out.data()});
  for (size_t i = 0; i < in.size(); ++i)
    EXPECT_EQ(out[i], double(std::sqrt(static_cast<float>(in[i]))));
}

} // namespace
