//===- NamedSizes_test.cpp - sizes that are expressions of others ---------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/infer/Infer.h"

#include <gtest/gtest.h>

namespace tenon::graph {
namespace {

constexpr int64_t kAny = kUnknownDim;

/// A graph of tensors alone.
Graph tensors(
    const std::vector<std::pair<std::optional<Dims>, std::vector<std::string>>>
        &of) {
  Graph graph;
  for (const auto &[shape, sizes] : of) {
    LogicalTensor t;
    t.id = graph.tensors.size();
    t.shape = shape;
    t.sizes = sizes;
    graph.tensors.emplace(t.id, t);
  }
  return graph;
}

TEST(NamedSizes, AreComputedFromKnownOnes) {
  Graph g = tensors({{Dims{2, 7, 64}, {"b", "s", "64"}},
                     {Dims{kAny, 64}, {"b * s", ""}},
                     {std::nullopt, {"(s + 1) // 2", "b - 2", "s % 4"}},
                     {Dims{kAny, kAny}, {"b", "other"}}});
  ASSERT_TRUE(applyNamedSizes(g).empty());
  EXPECT_EQ(g.tensor(1).shape, (Dims{14, 64}));
  EXPECT_EQ(g.tensor(2).shape, (Dims{4, 0, 3}));
  EXPECT_EQ(g.tensor(3).shape, (Dims{2, kAny}));
}

TEST(NamedSizes, ThatContradictAreErrors) {
  struct Case {
    Graph graph;
    ErrorCode code;
    const char *message;
  };
  for (Case &c : std::vector<Case>{
           {tensors({{Dims{2}, {"b"}}, {Dims{3}, {"b"}}}),
            ErrorCode::ShapeMismatch,
            "dim 0 of tensor 1, b, is 3, but another b is 2"},
           {tensors({{Dims{2}, {"b"}}, {Dims{3}, {"b*2"}}}),
            ErrorCode::ShapeMismatch,
            "dim 0 of tensor 1, b*2, is 3, the expression is 4"},
           {tensors({{Dims{2}, {"b"}}, {Dims{kAny}, {"b-3"}}}),
            ErrorCode::BadDim, "dim 0 of tensor 1, b-3, is no size"},
           {tensors({{Dims{0}, {"b"}}, {Dims{kAny}, {"4//b"}}}),
            ErrorCode::BadDim, "dim 0 of tensor 1, 4//b, is no size"},
           {tensors({{Dims{2, 3}, {"b"}}}), ErrorCode::BadRank,
            "tensor 0 has 2 dims and 1 sizes"},
           {tensors({{Dims{kAny}, {"2 b"}}}), ErrorCode::AttrValue, "2 b"}}) {
    std::vector<Error> errors = applyNamedSizes(c.graph);
    ASSERT_EQ(errors.size(), 1u) << c.message;
    EXPECT_EQ(errors[0].code, c.code) << c.message;
    EXPECT_NE(errors[0].message.find(c.message), std::string::npos)
        << errors[0].message;
  }
}

TEST(NamedSizes, AreAsDeclared) {
  Graph g = tensors({{Dims{kAny, 64}, {"b", "64"}}, {Dims{kAny}, {"b * 2"}}});
  g.sizeFacts["b"] = {1, 16, 4, {}};
  EXPECT_TRUE(applyNamedSizes(g).empty());
  EXPECT_EQ(g.tensor(1).shape, Dims{kAny});
  for (int64_t size : {0, 6, 20}) {
    Graph special = g;
    special.tensor(0).shape = Dims{size, 64};
    std::vector<Error> errors = applyNamedSizes(special);
    ASSERT_EQ(errors.size(), 1u) << size;
    EXPECT_EQ(errors[0].code, ErrorCode::BadSize);
    EXPECT_EQ(errors[0].message,
              "dim 0 of tensor 0, b, is " + std::to_string(size) +
                  ", declared to be from 1 to 16 and a multiple of 4");
  }
  // Where only one size is left, it is known.
  g.sizeFacts["b"].max = 7;
  EXPECT_TRUE(applyNamedSizes(g).empty());
  EXPECT_EQ(g.tensor(1).shape, Dims{8});
}

TEST(NamedSizes, ThatAreDeclaredAreDims) {
  Graph g = tensors({{Dims{kAny}, {"b * 2"}}});
  g.sizeFacts["b"] = {};
  std::vector<Error> errors = applyNamedSizes(g);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].code, ErrorCode::BadSize);
  EXPECT_NE(errors[0].message.find("no dim of a tensor is that name alone"),
            std::string::npos);
}

} // namespace
} // namespace tenon::graph
