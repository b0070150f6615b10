//===- EvalIndexing_test.cpp - parts of tensors ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/reference/TestOps.h"

using namespace tenon;
using namespace tenon::reference;
using graph::Dims;
using graph::DType;

namespace {

const Tensor kGrid = make({2, 3}, {1, 2, 3, 4, 5, 6});
constexpr int64_t kLong = (int64_t{1} << 53) + 1; // no double
const std::vector<DType> kIndexTypes = {DType::s64, DType::s32};

Tensor indices(Dims shape, std::vector<double> values,
               DType type = DType::s64) {
  return make(std::move(shape), std::move(values), type);
}

/// The first error of `op`, as text.
std::string errorText(const OneOp &op) {
  auto values = op.tryRun();
  return values ? "" : str(values.errors());
}

TEST(Indexing, Slice) {
  OneOp op{"Slice", {kGrid}, {{"begins", Dims{1, -2}}, {"ends", Dims{2, 9}}}};
  expectNear(op.run()[0], {1, 2}, {5, 6});
  op.attrs = {{"begins", Dims{2}},
              {"ends", Dims{-4}},
              {"axes", Dims{-1}},
              {"steps", Dims{-2}}};
  expectNear(op.run()[0], {2, 2}, {3, 1, 6, 4});
  op.attrs["ends"] = Dims{-1}; // the last element: there is none up to it
  expectNear(op.run()[0], {2, 0}, {});
  op.attrs["steps"] = Dims{0};
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
  op.attrs["steps"] = Dims{1, 1};
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
  op.attrs["steps"] = Dims{1};
  op.attrs["axes"] = Dims{2};
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
  expectNear(
      OneOp{"Slice", {make({}, {7})}, {{"begins", Dims{}}, {"ends", Dims{}}}}
          .run()[0],
      {}, {7});
}

TEST(Indexing, SliceByOperands) {
  for (DType type : kIndexTypes) {
    Tensor begins = indices({2}, {0, 1}, type),
           ends = indices({2}, {1, 3}, type);
    OneOp op{"Slice", {kGrid, begins, ends}};
    expectNear(op.run()[0], {1, 2}, {2, 3});
  }
  OneOp op{"Slice",
           {makeS64({2}, {kLong, 3}), indices({1}, {0}), indices({1}, {1})},
           {},
           {DType::s64}};
  EXPECT_EQ(op.run()[0].integers, (std::vector<int64_t>{kLong}));
  op.results = {DType::f32}; // src and dst are of one type
  EXPECT_EQ(op.error(), ErrorCode::BadDType);
}

TEST(Indexing, PadModes) {
  Tensor src = make({3}, {1, 2, 3});
  auto pad = [&](const char *mode, int64_t begin, int64_t end) {
    OneOp op{"Pad",
             {src},
             {{"pads_begin", Dims{begin}},
              {"pads_end", Dims{end}},
              {"mode", std::string(mode)}}};
    return op.run()[0].data;
  };
  using Numbers = std::vector<double>;
  EXPECT_EQ(pad("constant", 1, 2), (Numbers{0, 1, 2, 3, 0, 0}));
  EXPECT_EQ(pad("edge", 2, 1), (Numbers{1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(pad("reflect", 2, 2), (Numbers{3, 2, 1, 2, 3, 2, 1}));
  EXPECT_EQ(pad("wrap", 3, 1), (Numbers{1, 2, 3, 1, 2, 3, 1}));
  for (const char *mode : {"constant", "edge", "reflect", "wrap"})
    EXPECT_EQ(pad(mode, -1, -1), (Numbers{2})) << mode;
  EXPECT_EQ(pad("wrap", -2, 1), (Numbers{3, 1}));
  EXPECT_EQ(pad("constant", -4, 3), (Numbers{0, 0}));
  EXPECT_EQ(pad("constant", -3, 0), (Numbers{}));
}

TEST(Indexing, PadOfMoreDims) {
  OneOp op{
      "Pad",
      {kGrid},
      {{"pads_begin", Dims{0, 1}}, {"pads_end", Dims{1, -1}}, {"value", 0.5f}}};
  expectNear(op.run()[0], {3, 3}, {.5, 1, 2, .5, 4, 5, .5, .5, .5});
  op.attrs["interior"] = Dims{1, 2};
  op.attrs["pads_begin"] = op.attrs["pads_end"] = Dims{0, -1};
  expectNear(op.run()[0], {3, 5},
             {.5, .5, 2, .5, .5, .5, .5, .5, .5, .5, .5, .5, 5, .5, .5});
  op.inputs.push_back(make({1}, {9}));
  op.attrs["pads_begin"] = op.attrs["pads_end"] = Dims{0, -3};
  expectNear(op.run()[0], {3, 1}, {2, 9, 5});
  expectNear(OneOp{"Pad",
                   {make({0}, {})},
                   {{"pads_begin", Dims{1}}, {"pads_end", Dims{1}}}}
                 .run()[0],
             {2}, {0, 0});
}

TEST(Indexing, PadValueOfIntegers) {
  graph::AttrMap attrs = {
      {"pads_begin", Dims{1}}, {"pads_end", Dims{0}}, {"value", -2.75f}};
  OneOp op{"Pad", {make({1}, {5}, DType::s8)}, attrs, {DType::s8}};
  expectNear(op.run()[0], {2}, {-2, 5});
  op.inputs = {make({1}, {5}, DType::u8)};
  op.results = {DType::u8};
  expectNear(op.run()[0], {2}, {0, 5});
  op.inputs = {makeS64({1}, {kLong})};
  op.results = {DType::s64};
  EXPECT_EQ(op.run()[0].integers, (std::vector<int64_t>{-2, kLong}));
  op.inputs.push_back(makeS64({}, {kLong + 2}));
  EXPECT_EQ(op.run()[0].integers, (std::vector<int64_t>{kLong + 2, kLong}));
  op.inputs[1] = makeS64({2}, {1, 2});
  EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
}

TEST(Indexing, PadErrors) {
  for (auto [mode, begin, end] :
       std::vector<std::tuple<std::string, int64_t, int64_t>>{
           {"reflect", 3, 0},
           {"wrap", 0, 4},
           {"constant", -2, -2},
           {"constant", INT64_MAX, INT64_MAX}}) {
    OneOp op{
        "Pad",
        {make({3}, {1, 2, 3})},
        {{"pads_begin", Dims{begin}}, {"pads_end", Dims{end}}, {"mode", mode}}};
    EXPECT_EQ(op.error(), ErrorCode::AttrValue) << mode << " " << begin;
  }
  OneOp op{"Pad",
           {make({0}, {})},
           {{"pads_begin", Dims{1}},
            {"pads_end", Dims{0}},
            {"mode", std::string("edge")}}};
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
  op.attrs["pads_begin"] = Dims{1, 1};
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
}

TEST(Indexing, Expand) {
  OneOp op{"Expand", {make({2, 1}, {1, 2})}, {{"shape", Dims{2, -1, 2}}}};
  expectNear(op.run()[0], {2, 2, 2}, {1, 1, 2, 2, 1, 1, 2, 2});
  op.attrs["shape"] = Dims{};
  expectNear(op.run()[0], {2, 1}, {1, 2});
  op.attrs["shape"] = Dims{0};
  expectNear(op.run()[0], {2, 0}, {});
  op.attrs["shape"] = Dims{3, 1};
  EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
  op.attrs["shape"] = Dims{-2};
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
  op.attrs.clear();
  for (DType type : kIndexTypes) {
    op.inputs = {make({}, {4}), indices({1}, {3}, type)};
    expectNear(op.run()[0], {3}, {4, 4, 4});
    op.inputs[1] = indices({1}, {-2}, type);
    EXPECT_EQ(op.error(), ErrorCode::BadTensorData);
  }
}

TEST(Indexing, Reshape) {
  OneOp op{"Reshape", {kGrid, indices({2}, {0, -1}, DType::s32)}};
  expectNear(op.run()[0], {2, 3}, kGrid.data);
  op.inputs[1] = indices({3}, {3, 1, 2});
  expectNear(op.run()[0], {3, 1, 2}, kGrid.data);
  op.inputs[1] = indices({1}, {5});
  EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
  op.inputs[1] = indices({1}, {-2});
  EXPECT_EQ(op.error(), ErrorCode::BadTensorData);
  op.inputs[1] = indices({3}, {2, 3, 0}); // there is no dim 2
  EXPECT_EQ(op.error(), ErrorCode::BadTensorData);
  op.inputs = {make({2, 0}, {}), indices({2}, {0, 7})};
  op.attrs["allow_zero"] = true;
  expectNear(op.run()[0], {0, 7}, {});
  op.inputs = {makeS64({1}, {kLong}), indices({0}, {})};
  op.results = {DType::s64};
  EXPECT_EQ(op.run()[0].integers, (std::vector<int64_t>{kLong}));
}

TEST(Indexing, Shape) {
  OneOp op{"Shape", {make({2, 0, 4}, {})}, {}, {DType::s32}};
  expectNear(op.run()[0], {3}, {2, 0, 4});
  op.attrs["start"] = int64_t{-2};
  op.results = {DType::s64};
  EXPECT_EQ(op.run()[0].integers, (std::vector<int64_t>{0, 4}));
  op.attrs["end"] = int64_t{-1};
  EXPECT_EQ(op.run()[0].integers, (std::vector<int64_t>{0}));
  op.inputs = {makeS64({}, {kLong})};
  EXPECT_EQ(op.run()[0].shape, (Dims{0}));
}

TEST(Indexing, Gather) {
  for (DType type : kIndexTypes) {
    OneOp op{"Gather", {kGrid, indices({2, 2}, {1, 0, -1, -2}, type)}};
    expectNear(op.run()[0], {2, 2, 3}, {4, 5, 6, 1, 2, 3, 4, 5, 6, 1, 2, 3});
    op.attrs["axis"] = int64_t{-1};
    op.inputs[1] = indices({}, {-3}, type);
    expectNear(op.run()[0], {2}, {1, 4});
    op.inputs[1] = indices({2, 2}, {0, 1, 3, 2}, type);
    EXPECT_EQ(op.error(), ErrorCode::BadTensorData);
    EXPECT_NE(errorText(op).find("indices[1, 0] is 3, the dim has 3 elements"),
              std::string::npos)
        << errorText(op);
    op.inputs[1] = indices({1}, {-4}, type);
    EXPECT_EQ(op.error(), ErrorCode::BadTensorData);
    op.inputs[1] = indices({0}, {}, type);
    expectNear(op.run()[0], {2, 0}, {});
  }
  OneOp empty{"Gather", {make({0, 2}, {}), indices({1}, {0})}};
  EXPECT_EQ(empty.error(), ErrorCode::BadTensorData);
  OneOp s64{"Gather",
            {makeS64({2}, {kLong, 3}), indices({3}, {1, 0, 0}, DType::s32)},
            {},
            {DType::s64}};
  EXPECT_EQ(s64.run()[0].integers, (std::vector<int64_t>{3, kLong, kLong}));
}

TEST(Indexing, GatherBatch) {
  OneOp op{"Gather",
           {kGrid, indices({2, 2}, {2, 0, 1, 1})},
           {{"axis", int64_t{1}}, {"batch_dims", int64_t{1}}}};
  expectNear(op.run()[0], {2, 2}, {3, 1, 5, 5});
  // A dim of src before axis that is not shared, and one behind it.
  op.inputs = {make({2, 2, 2, 2},
                    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}),
               indices({2, 1}, {1, 0})};
  op.attrs["axis"] = int64_t{2};
  expectNear(op.run()[0], {2, 2, 1, 2}, {2, 3, 6, 7, 8, 9, 12, 13});
  op.inputs[1] = indices({1, 1}, {0});
  EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
  op.attrs["batch_dims"] = int64_t{3};
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
}

TEST(Indexing, GatherElements) {
  for (DType type : kIndexTypes) {
    OneOp op{"GatherElements",
             {kGrid, indices({1, 4}, {2, -3, 0, -1}, type)},
             {{"axis", int64_t{1}}}};
    expectNear(op.run()[0], {1, 4}, {3, 1, 1, 3});
    op.attrs["axis"] = int64_t{0};
    op.inputs[1] = indices({2, 3}, {1, 0, -1, 0, -2, 1}, type);
    expectNear(op.run()[0], {2, 3}, {4, 2, 6, 1, 2, 6});
    op.inputs[1] = indices({1, 1}, {2}, type);
    EXPECT_EQ(op.error(), ErrorCode::BadTensorData);
    op.inputs[1] = indices({1, 4}, {0, 0, 0, 0}, type);
    EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
    op.inputs[1] = indices({1}, {0}, type);
    EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
  }
}

TEST(Indexing, GatherNd) {
  OneOp op{"GatherND", {kGrid, indices({3, 2}, {0, 1, -1, -1, 1, 0})}};
  expectNear(op.run()[0], {3}, {2, 6, 4});
  op.inputs[1] = indices({2, 1}, {1, -2}, DType::s32);
  expectNear(op.run()[0], {2, 3}, {4, 5, 6, 1, 2, 3});
  op.inputs[1] = indices({2, 0}, {});
  expectNear(op.run()[0], {2, 2, 3}, {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6});
  op.inputs[1] = indices({2, 1}, {1, 2});
  EXPECT_NE(errorText(op).find("indices[1, 0] is 2, the dim has 2 elements"),
            std::string::npos);
  op.inputs[1] = indices({3}, {0, 0, 0});
  EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
  op.inputs[1] = indices({2, 1}, {2, -3});
  op.attrs["batch_dims"] = int64_t{1};
  expectNear(op.run()[0], {2}, {3, 4});
  op.attrs["batch_dims"] = int64_t{2};
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
}

graph::AttrMap reduction(const char *word) {
  return {{"reduction", std::string(word)}};
}

TEST(Indexing, ScatterElementsInOrder) {
  for (DType type : kIndexTypes) {
    OneOp op{
        "ScatterElements",
        {kGrid, indices({1, 3}, {1, -2, 1}, type), make({1, 3}, {7, 8, 9})}};
    expectNear(op.run()[0], {2, 3}, {1, 8, 3, 7, 5, 9});
    op.attrs["axis"] = int64_t{1};
    expectNear(op.run()[0], {2, 3}, {1, 9, 3, 4, 5, 6}); // the last one stays
    for (auto [word, value] : std::vector<std::pair<std::string, double>>{
             {"add", 26}, {"mul", 1008}, {"min", 2}, {"max", 9}}) {
      op.attrs["reduction"] = word;
      expectNear(op.run()[0], {2, 3}, {1, value, 3, 4, 5, 6});
    }
    op.inputs[1] = indices({1, 3}, {1, 3, 0}, type);
    EXPECT_NE(errorText(op).find("indices[0, 1] is 3, the dim has 3 elements"),
              std::string::npos);
    op.inputs[1] = indices({1, 2}, {0, 0}, type);
    EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
  }
}

TEST(Indexing, ScatterKeepsSumsExact) {
  // In f32 the first sum would lose its 1.
  OneOp op{"ScatterElements",
           {make({1}, {1 << 24}), indices({2}, {0, 0}), make({2}, {1, 1})},
           reduction("add")};
  expectNear(op.run()[0], {1}, {16777218}, 0);
  op.attrs = reduction("max");
  op.inputs[2] = make({2}, {kNan, 1});
  expectNear(op.run()[0], {1}, {kNan});
  op.attrs = reduction("min");
  expectNear(op.run()[0], {1}, {kNan});
  OneOp none{"ScatterElements",
             {make({2}, {1, 2}), indices({0}, {}), make({0}, {})}};
  expectNear(none.run()[0], {2}, {1, 2});
}

TEST(Indexing, ScatterOfIntegersWraps) {
  auto run = [](DType type, std::vector<double> src,
                std::vector<double> updates, const char *word) {
    auto count = static_cast<int64_t>(updates.size());
    OneOp op{"ScatterElements",
             {make({1}, std::move(src), type),
              indices({count}, std::vector<double>(count, 0)),
              make({count}, std::move(updates), type)},
             reduction(word),
             {type}};
    return op.run()[0].at(0);
  };
  EXPECT_EQ(run(DType::u8, {200}, {100}, "add"), 44);
  EXPECT_EQ(run(DType::s8, {100}, {100}, "add"), -56);
  EXPECT_EQ(run(DType::s8, {-3}, {-4}, "min"), -4);
  double most = 2147483647;
  EXPECT_EQ(run(DType::s32, {most}, {most, most}, "mul"), most);
  OneOp op{"ScatterElements",
           {makeS64({1}, {kLong}), indices({1}, {0}), makeS64({1}, {2})},
           reduction("add"),
           {DType::s64}};
  EXPECT_EQ(op.run()[0].integers, (std::vector<int64_t>{kLong + 2}));
  op.attrs = reduction("max");
  EXPECT_EQ(op.run()[0].integers, (std::vector<int64_t>{kLong}));
  op.attrs = reduction("none");
  EXPECT_EQ(op.run()[0].integers, (std::vector<int64_t>{2}));
}

TEST(Indexing, ScatterNd) {
  OneOp op{"ScatterND",
           {kGrid, indices({2, 1}, {-1, 1}), make({2, 3}, {7, 8, 9, 1, 2, 3})}};
  expectNear(op.run()[0], {2, 3}, {1, 2, 3, 1, 2, 3});
  op.attrs = reduction("add");
  expectNear(op.run()[0], {2, 3}, {1, 2, 3, 12, 15, 18});
  op.inputs[1] = indices({2}, {0, 2}, DType::s32);
  op.inputs[2] = make({}, {10});
  expectNear(op.run()[0], {2, 3}, {1, 2, 13, 4, 5, 6});
  op.inputs[1] = indices({2}, {0, 3}, DType::s32);
  EXPECT_EQ(op.error(), ErrorCode::BadTensorData);
  op.inputs[1] = indices({1}, {0});
  EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
  op.inputs[1] = indices({0, 2}, {});
  op.inputs[2] = make({0}, {});
  expectNear(op.run()[0], {2, 3}, kGrid.data);
}

TEST(Indexing, HugeShapesAreRefused) {
  OneOp op{"Expand",
           {make({1}, {0})},
           {{"shape", Dims{int64_t{1} << 40, int64_t{1} << 10}}}};
  EXPECT_EQ(op.error(), ErrorCode::TooLarge);
  // Empty, but with 2^60 rows to walk.
  op.attrs["shape"] = Dims{int64_t{1} << 30, int64_t{1} << 30, 0};
  EXPECT_EQ(op.error(), ErrorCode::TooLarge);
  OneOp pad{"Pad",
            {make({1, 1, 0}, {})},
            {{"pads_begin", Dims{INT32_MAX, INT32_MAX, 0}},
             {"pads_end", Dims{0, 0, 0}}}};
  EXPECT_EQ(pad.error(), ErrorCode::TooLarge);
}

} // namespace
