// SPDX-License-Identifier: Apache-2.0
// Sizes that follow from unknown ones, against the evaluator.
#include "tests/ops/UnknownSizes.h"

#include <regex>

using namespace tenon::test;

namespace {

TEST(UnknownSizes, WhatOthersLeave) {
  auto text = [](const std::string &src, const std::string &shape) {
    return "a = StaticReshape " + src + " shape=" + shape +
           " special_zero=true; SoftMax a axis=1";
  };
  checkShapes(text("?x?x64", "0,-1"),
              {text("2x3x64", "0,-1"), text("7x1x64", "0,-1")});
  checkShapes(text("?x?x6", "0,-1,0"), {text("2x4x6", "0,-1,0")});
  checkShapes(text("?x?x6", "0,0,2,-1"), {text("2x4x6", "0,0,2,-1")});
  checkShapes(text("?x6", "-1,3"), {text("4x6", "-1,3")});
}

/// A size that is 1 when the code runs, and was unknown when it was made.
TEST(UnknownSizes, DoNotStretch) {
  struct Case {
    const char *general, *stretched, *whole;
  };
  for (const Case &c :
       {Case{"Add ?x4 ?x4", "Add 1x4 3x4", "Add 3x4 3x4"},
        {"Add 4096x4 ?x4", "Add 4096x4 1x4", "Add 4096x4 4096x4"},
        {"Multiply 8x? 8x?", "Multiply 8x7 8x1", "Multiply 8x1 8x1"},
        {"Select ?x4/boolean 4 ?x4", "Select 1x4/boolean 4 3x4",
         "Select 3x4/boolean 4 3x4"},
        {"PReLU ?x4 ?x4 per_channel_broadcast=false",
         "PReLU 3x4 1x4 per_channel_broadcast=false",
         "PReLU 3x4 3x4 per_channel_broadcast=false"},
        {"MatMul ?x4x8 ?x8x5", "MatMul 1x4x8 3x8x5", "MatMul 3x4x8 3x8x5"},
        {"MatMul 4x8 8x5 ?", "MatMul 4x8 8x5 1", "MatMul 4x8 8x5 5"}}) {
    checkShapes(c.general, {c.whole});
    auto general = parseGraph(c.general), stretched = parseGraph(c.stretched);
    ASSERT_TRUE(general && stretched);
    auto model = tenon::Compiled::compile(*general, {});
    ASSERT_TRUE(model) << str(model.errors());
    auto oracle = Oracle::make(*stretched);
    ASSERT_TRUE(oracle);
    auto results = execute(**model, *oracle, {});
    ASSERT_FALSE(results) << c.stretched;
    EXPECT_EQ(results.errors()[0].code, tenon::ErrorCode::ShapeMismatch);
  }
}

/// Columns of the weights, rows and K of any number, also less than a panel.
TEST(UnknownSizes, AllSizesOfProducts) {
  auto text = [](const std::string &m, const std::string &n,
                 const std::string &k, const std::string &type,
                 const std::string &after) {
    return "y = MatMul 2x" + m + "x" + k + type + " 2x" + k + "x" + n + type +
           after;
  };
  struct Sizes {
    const char *m, *n, *k;
  };
  const Sizes sizes[] = {{"1", "1", "64"},   {"7", "3", "64"},
                         {"16", "16", "64"}, {"5", "48", "64"},
                         {"33", "61", "64"}, {"130", "257", "64"},
                         {"4", "0", "64"},   {"0", "5", "64"}};
  for (const char *type : {"", "/bf16", "/f16"})
    for (const char *after : {"", "; ReLU y"}) {
      std::vector<std::string> some, all;
      for (const Sizes &s : sizes) {
        some.push_back(text(s.m, s.n, "64", type, after));
        all.push_back(text(s.m, s.n, s.k, type, after));
      }
      checkShapes(text("?", "?", "64", type, after), some);
      checkShapes(text("4", "?", "64", type, after),
                  {text("4", "1", "64", type, after),
                   text("4", "129", "64", type, after)});
      checkShapes(text("?", "?", "?", type, after),
                  {text("5", "17", "1", type, after),
                   text("5", "17", "0", type, after),
                   text("40", "70", "513", type, after),
                   text("1", "70", "5000", type, after)});
    }
}

/// Scores of quantised models: the result is rounded to bytes and back.
TEST(UnknownSizes, ColumnsOfProductsThatAreRounded) {
  auto text = [](const std::string &rows, const std::string &n) {
    return "y = MatMul 2x" + rows + "x15 2x" + n +
           "x15 transpose_b=true; z/u8 = Quantize y scales=0.05 zps=128; "
           "Dequantize z scales=0.05 zps=128";
  };
  checkShapes(text("?", "?"),
              {text("40", "40"), text("1", "7"), text("130", "50")});
}

/// Weights that change with every execution and meet few rows are read where
/// they lie, along either dimension.
TEST(UnknownSizes, ColumnsOfProductsInPlace) {
  for (const char *rows : {"1", "3"}) {
    auto along = [&](const std::string &n) {
      return std::string("y = MatMul ") + rows + "x300 300x" + n + "; Add y " +
             n;
    };
    auto across = [&](const std::string &n) {
      return std::string("y = MatMul 2x") + rows + "x64 2x" + n +
             "x64 transpose_b=true; Multiply y 2x1x" + n;
    };
    checkShapes(along("?"), {along("1"), along("47"), along("2100")});
    checkShapes(across("?"), {across("1"), across("47"), across("2100")});
  }
}

/// Long sums are cut into parts, and rows of known number.
TEST(UnknownSizes, ColumnsOfLongProducts) {
  auto text = [](const std::string &n) {
    return "y = MatMul 64x5000 5000x" + n + "; Tanh y";
  };
  checkShapes(text("?"), {text("1"), text("49"), text("200")});
}

TEST(UnknownSizes, StatisticsOfAttention) {
  auto text = [](const std::string &keys) {
    return "s = MatMul 2x1x4x8 2x" + keys +
           "x8x16; p,t = SoftMax s axis=-1; o = MatMul p 2x" + keys +
           "x16x8; out o t";
  };
  checkShapes(text("?"), {text("3"), text("5")});
}

/// The memory of two elements to a byte has one dimension, the caller's tensor
/// two; sizes behind it are found all the same. And few rows have code of their
/// own.
TEST(UnknownSizes, RowsThatMeetQuantizedWeights) {
  auto text = [](const std::string &rows, const std::string &type) {
    return "w/f32 = DynamicDequantize 256x264/" + type +
           "c 8x264c qtype=per_group group_shape=32,1; y = MatMul " + rows +
           "x256 w; z = ReLU y; Add z 264";
  };
  for (const char *type : {"u4", "s4", "s8"})
    checkShapes(text("?", type),
                {text("1", type), text("3", type), text("16", type),
                 text("17", type), text("61", type)});
}

/// Tokens of any number, their rows and what is computed from them.
TEST(UnknownSizes, PlacesByIndex) {
  auto tokens = [](const std::string &shape) {
    return "e = Gather 50x32c " + shape +
           "/s64; LayerNorm e 32c 32c keep_stats=false";
  };
  checkShapes(tokens("?x?"), {tokens("2x7"), tokens("1x1"), tokens("5x0")});
  auto of = [](const char *text, const std::string &size) {
    std::string result = text;
    for (size_t at; (at = result.find('#')) != std::string::npos;)
      result.replace(at, 1, size);
    return result;
  };
  for (const char *text :
       {"Gather #x6x9 4/s64 axis=1", "Gather 7x6x# 3/s32 axis=0",
        "GatherElements #x6 #x4/s64 axis=1", "GatherND 9x#x3 5x1/s64",
        "ScatterND #x6 4x1/s64 4x6 reduction=add",
        "ScatterND 9x6 #x1/s64 #x6 reduction=add",
        "ScatterElements 9x# 4x#/s64 4x#",
        "s = Slice #x9 begins=2 ends=7 axes=1; ReLU s",
        "s = Slice 9x#x8 begins=2,1 ends=7,8 axes=0,2 steps=2,3; ReLU s",
        "e = Expand #x1 shape=-1,5; Multiply e #x5",
        "e = Expand #x1 shape=-1,5; ReLU e"})
    checkShapes(of(text, "?"), {of(text, "6"), of(text, "33")});
}

/// Parts of a dim of unknown size, also where it is shorter than its part.
TEST(UnknownSizes, PartsOfDims) {
  auto text = [](const std::string &size, const char *part, const char *after) {
    return "s = Slice " + size + "x9 " + part + " axes=0; " + after;
  };
  for (const char *part :
       {"begins=1 ends=2147483647", "begins=0 ends=-1", "begins=-1 ends=99",
        "begins=2 ends=5", "begins=1 ends=2147483647 steps=2",
        "begins=-3 ends=-1"})
    for (const char *after :
         {"ReLU s", "MatMul s 9x17", "SoftMax s axis=0", "out s"})
      checkShapes(text("?", part, after),
                  {text("1", part, after), text("4", part, after),
                   text("33", part, after), text("0", part, after)});
  checkShapes("s = Slice ?x? begins=1,-2 ends=99,99; Add s 2",
              {"s = Slice 5x7 begins=1,-2 ends=99,99; Add s 2",
               "s = Slice 2x2 begins=1,-2 ends=99,99; Add s 2"});
}

/// Several sizes of a result, computed from names of others.
TEST(UnknownSizes, ComputedFromNames) {
  const std::string any = std::to_string(tenon::graph::kUnknownDim);
  struct Sizes {
    int64_t batch, tokens;
  };
  const Sizes sizes[] = {{1, 1}, {2, 7}, {3, 0}, {5, 16}};
  // Rows of tokens to heads: what a model does around its attention.
  auto heads = [&](const std::string &b, const std::string &s,
                   const std::string &bs, const std::string &shape,
                   const std::string &named) {
    return "y = MatMul " + bs + "x24 24x24c; h" + named +
           " = StaticReshape y shape=" + shape +
           ",3,8 special_zero=false; t = StaticTranspose h order=0,2,1,3; "
           "Add t " +
           b + "x1x" + s + "x1";
  };
  // The reshape is all there is.
  auto view = [](const std::string &b, const std::string &s,
                 const std::string &bs, const std::string &shape,
                 const std::string &named) {
    return "v" + named + " = StaticReshape " + bs + "x6 shape=" + shape +
           ",6 special_zero=false; a = Abs " + b + "x" + s + "; out v a";
  };
  auto expand = [](const std::string &b, const std::string &s,
                   const std::string &, const std::string &shape,
                   const std::string &named) {
    return "e" + named + " = Expand 4 shape=" + shape + ",4; a = Abs " + b +
           "x" + s + "; c = Sqrt e; out e a c";
  };
  auto check = [&](auto text, const std::string &inner) {
    std::vector<std::string> texts;
    for (const Sizes &size : sizes) {
      std::string b = std::to_string(size.batch),
                  s = std::to_string(size.tokens),
                  bs = std::to_string(size.batch * size.tokens);
      texts.push_back(text(b, s, bs, b + "," + s, ""));
    }
    checkShapes(
        text("[b]", "[s]", "[b*s]", any + "," + any, ":[b]x[s]x" + inner),
        texts);
  };
  check(heads, "3x8");
  check(view, "6");
  check(expand, "4");
}

/// The first rows of a table, then the last ones of those: positions of tokens
/// behind others.
TEST(UnknownSizes, PartsOfNamedSizes) {
  const std::string any = std::to_string(tenon::graph::kUnknownDim);
  auto text = [](const std::string &past, const std::string &tokens,
                 const std::string &both, const std::string &rows,
                 const std::string &begin, const std::string &end,
                 bool isNamed) {
    return "p = Abs " + past + "; t" + (isNamed ? ":" + both + "x4" : "") +
           " = Slice " + rows + "x4 begins=0 ends=" + end + "; l" +
           (isNamed ? ":" + tokens + "x4" : "") + " = Slice t begins=" + begin +
           " ends=2147483647; y = Add l " + tokens + "x4; out l y p";
  };
  for (const char *rows : {"64", "?"}) {
    std::vector<std::string> texts;
    for (auto [past, tokens] :
         {std::pair{0, 1}, {5, 3}, {60, 4}, {7, 0}, {0, 64}})
      texts.push_back(text(std::to_string(past), std::to_string(tokens), "",
                           "64", std::to_string(past),
                           std::to_string(past + tokens), false));
    checkShapes(text("[p]", "[n]", "[p+n]", rows, any, any, true), texts);
  }
  // More than there are.
  auto general = parseGraph(text("[p]", "[n]", "[p+n]", "64", any, any, true));
  auto wrong = parseGraph(text("60", "5", "", "65", "60", "65", false));
  ASSERT_TRUE(general && wrong);
  auto model = tenon::Compiled::compile(*general, {});
  ASSERT_TRUE(model) << str(model.errors());
  auto oracle = Oracle::make(*wrong);
  ASSERT_TRUE(oracle);
  EXPECT_FALSE(execute(**model, *oracle, {}));
}

/// Sizes as numbers that the code computes with.
TEST(UnknownSizes, ShapesAsData) {
  for (const char *rest : {"", " start=-2", " start=1 end=2", " start=3"}) {
    auto text = [&](const std::string &src) {
      return "s/s64 = Shape " + src + rest + "; Add s 1/s64";
    };
    checkShapes(text("?x?x5"), {text("2x7x5"), text("0x1x5")});
  }
}

/// Sizes of one name that differ, and a reshape to another number of elements,
/// are found when the code runs.
TEST(UnknownSizes, NamesThatContradict) {
  const std::string any = std::to_string(tenon::graph::kUnknownDim);
  struct Case {
    std::string general, wrong;
  };
  for (const Case &c :
       {Case{"MatMul [n]x4 4x5; Abs [n]x3", "MatMul 6x4 4x5; Abs 7x3"},
        {"v:[a]x[b] = StaticReshape [n] shape=" + any + "," + any +
             " special_zero=false; x = Abs [a]; y = Abs [b]; out v x y",
         "v = StaticReshape 12 shape=3,4 special_zero=false; x = Abs 3; y = "
         "Abs 5; out v x y"}}) {
    auto general = parseGraph(c.general), wrong = parseGraph(c.wrong);
    ASSERT_TRUE(general && wrong);
    auto model = tenon::Compiled::compile(*general, {});
    ASSERT_TRUE(model) << str(model.errors());
    auto oracle = Oracle::make(*wrong);
    ASSERT_TRUE(oracle);
    auto results = execute(**model, *oracle, {});
    ASSERT_FALSE(results) << c.wrong;
    EXPECT_EQ(results.errors()[0].code, tenon::ErrorCode::ShapeMismatch);
  }
}

/// Searches along and across a dim of any size, and elements around it.
TEST(UnknownSizes, SearchesAndPads) {
  auto of = [](const std::string &text, const char *size) {
    return std::regex_replace(text, std::regex("#"), size);
  };
  for (const char *text : {"y/s64 = ArgMax #x9 axis=0",
                           "y/s64 = ArgMin #x9 axis=1 last_index=true",
                           "y/s64 = ArgMax 3x# axis=1 keep_dims=false",
                           "y/s64 = ArgMin 3x#x5/s64 axis=1",
                           "CumSum #x9 axis=0",
                           "CumSum 3x# axis=1 exclusive=true reverse=true",
                           "CumSum #/s32 axis=0",
                           "CumSum #x#x2 axis=1 reverse=true",
                           "v,i/s64 = TopK #x9 axis=1 k=4",
                           "v,i/s64 = TopK 2x# axis=1 k=5",
                           "v,i/s64 = TopK #x3 axis=0 k=5 largest=false",
                           "p/s64,n/s64 = NonZero #x3",
                           "p/s64,n/s64 = NonZero 2x#/boolean",
                           "p/s64,n/s64 = NonZero #x4<9,2>",
                           "Pad #x5 pads_begin=1,0 pads_end=2,3 value=2.0",
                           "Pad #x5 pads_begin=-2,1 pads_end=3,-2",
                           "Pad 3x# pads_begin=0,-3 pads_end=1,-2 interior=0,2",
                           "Pad #x5 pads_begin=2,1 pads_end=3,2 mode=reflect",
                           "Pad 4x# pads_begin=1,4 pads_end=1,5 mode=edge",
                           "Pad #x5 pads_begin=4,-1 pads_end=3,1 mode=wrap"})
    checkShapes(of(text, "?"),
                {of(text, "6"), of(text, "33"), of(text, "130")});
  for (const char *text :
       {"CumSum # axis=0", "CumSum 2x# axis=1 reverse=true",
        "p/s64,n/s64 = NonZero #", "y/s64 = ArgMax # axis=0"})
    checkShapes(of(text, "?"), {of(text, "1"), of(text, "20011")});
  checkShapes("RoiAlign 2x?x?x5 ?x4 ?/s64 output_height=3 output_width=2",
              {"RoiAlign 2x7x9x5 4x4 4/s64 output_height=3 output_width=2",
               "RoiAlign 2x1x1x5 1x4 1/s64 output_height=3 output_width=2"});
}

/// Any number of boxes, also of batches and of classes, of which a known number
/// is taken, or all.
TEST(UnknownSizes, SuppressedBoxes) {
  for (const char *most : {"5", "9223372036854775807", "0"}) {
    auto text = [&](const std::string &batches, const std::string &classes,
                    const std::string &boxes) {
      return "i/s64,n/s64 = NonMaxSuppression " + batches + "x" + boxes +
             "x4 " + batches + "x" + classes + "x" + boxes +
             " max_output_boxes_per_class=" + most + " iou_threshold=0.4";
    };
    checkShapes(text("2", "3", "?"),
                {text("2", "3", "1"), text("2", "3", "4"), text("2", "3", "70"),
                 text("2", "3", "0")});
    checkShapes(
        text("?", "3", "70"),
        {text("1", "3", "70"), text("4", "3", "70"), text("0", "3", "70")});
    checkShapes(text("?", "?", "?"),
                {text("1", "1", "1"), text("3", "2", "70"), text("2", "0", "4"),
                 text("0", "2", "4")});
  }
}

/// Weights say how long a row is, but code for levels has to know it.
TEST(UnknownSizes, ColumnsThatMeetQuantizedWeights) {
  auto text = [](const std::string &columns) {
    return "w/f32 = Dequantize 256x264/s8c scales=0.5; y = MatMul 3x" +
           columns + " w; ReLU y";
  };
  checkShapes(text("?"), {text("256")});
}

/// Products of integers, with zero points and without.
TEST(UnknownSizes, AllSizesOfIntegerProducts) {
  auto text = [](const std::string &m, const std::string &n,
                 const std::string &k, const std::string &weights) {
    return "a/s32 = TypeCast " + m + "x" + k + "/u8; z/s32 = TypeCast 1/u8; " +
           "x/s32 = Subtract a z; y/s32 = MatMul x " + k + "x" + n + weights +
           "; v/s32 = MatMul " + m + "x" + k + "/s8 " + k + "x" + n + weights +
           "; out y v";
  };
  for (const char *weights : {"/s8", "/u8", "/s32"}) {
    checkShapes(text("?", "?", "64", weights),
                {text("1", "1", "64", weights), text("7", "33", "64", weights),
                 text("70", "129", "64", weights)});
    checkShapes(text("?", "?", "?", weights),
                {text("5", "17", "1", weights), text("5", "17", "0", weights),
                 text("40", "70", "513", weights)});
  }
}

/// Rows of two tensors, both of unknown length, are not the same rows.
TEST(UnknownSizes, SumsOfOtherRows) {
  for (const char *after :
       {"s = Subtract %y r; out s", "t = Exp r; s = Multiply t %g; ReLU s",
        "m = Subtract %x r; s = Multiply m r; out m s",
        "s = Subtract %x r; t = Add r %y; out s t"}) {
    auto text = [&](const std::string &columns, const std::string &others) {
      std::string result =
          "r = ReduceSum x:5x" + columns + " axes=1 keep_dims=true; " + after;
      for (const auto &[from, to] :
           {std::pair("%x", "x"), {"%y", "y:5x#"}, {"%g", "g:#"}})
        if (size_t at = result.find(from); at != result.npos)
          result.replace(at, 2, to);
      if (size_t at = result.find('#'); at != result.npos)
        result.replace(at, 1, others);
      return result;
    };
    checkShapes(text("?", "?"),
                {text("64", "17"), text("3", "40"), text("8", "8")});
  }
}

/// Constants of one size that is not known, and one that is folded.
TEST(UnknownSizes, ConstantsOfNamedSizes) {
  auto text = [](const std::string &n) {
    return "s = Exp 3c; x = Multiply x:" + n + "x3 a:" + n +
           "x3c; y = Add x b:" + n + "x3c; Add y s";
  };
  checkShapes(text("[n]"), {text("5"), text("1"), text("0"), text("70")});
}

/// Of rows of nothing no unknown size follows from the number of elements.
TEST(UnknownSizes, GradientsOfEmptyRows) {
  auto text = [](const std::string &n) {
    return "x,g,b = LayerNormBackward " + n + "x0x3 " + n + "x0x3 " + n +
           "x0 " + n + "x0 3";
  };
  checkShapes(text("?"), {text("5"), text("1")});
}

TEST(UnknownSizes, BatchesOfEdgesAndMaxima) {
  for (const char *rest :
       {"x6x8x20 strides=2,2 pads_begin=1,1 pads_end=0,0 kernel=3,3",
        "x20x6x8 strides=2,2 pads_begin=1,1 pads_end=0,0 kernel=3,3 "
        "data_format=NCX"}) {
    auto pool = [&](const std::string &batch) {
      return "y,i/s64 = MaxPool " + batch + rest;
    };
    checkShapes(pool("?"), {pool("1"), pool("5")});
  }
  auto edges = [](const std::string &rows) {
    return "x/f32 = TypeCast " + rows +
           "x37/f64; r = ReLU x; y/f64 = TypeCast r";
  };
  checkShapes(edges("?"), {edges("0"), edges("1"), edges("9")});
}

/// Columns of src lie apart: so many are brought into rows first.
TEST(UnknownSizes, RowsThatAreTransposed) {
  auto text = [](const std::string &rows) {
    return "y = MatMul 300x" + rows + " 300x260c 260c transpose_a=true; ReLU y";
  };
  checkShapes(text("?"), {text("1"), text("7"), text("130")});
}

TEST(UnknownSizes, OrdersFromTheBack) {
  auto text = [](const std::string &src, const std::string &order) {
    return "a = StaticTranspose " + src + " order=" + order + "; ReLU a";
  };
  for (const char *order : {"", "-1,-2,-3", "2,-3,1"})
    checkShapes(text("?x?x7", order), {text("2x3x7", order)});
}

} // namespace
