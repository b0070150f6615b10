// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/Cases.h"

#include <array>

namespace tenon::test {

namespace {

/// softmax(q . k) . v over `lead` ("2x3x" or "") with these sizes; `score` is
/// what stands between the product s and the softmax of t.
std::string plain(const std::string &lead, const std::string &queries,
                  const std::string &keys, const std::string &depth,
                  const std::string &columns,
                  const std::string &score = "t = Multiply s 1c",
                  const std::string &mode = "") {
  return "s = MatMul " + lead + queries + "x" + depth + " " + lead + keys +
         "x" + depth + " transpose_b=true; " + score +
         "; p = SoftMax t axis=-1" + mode + "; MatMul p " + lead + keys + "x" +
         columns;
}

const std::string kZeros = " mode=inf_as_zero";

/// Masks that compare indices, which hide scores behind a number: keys that no
/// query of a block sees are left out, unless the number counts.
void pushCausal(Cases &cases) {
  const std::string indices = "r/s32 = GenIndex s axis=-2; "
                              "c/s32 = GenIndex s axis=-1; ";
  const std::string inf = "z = Subtract n:()c n; h = Log z; "; // -inf
  const std::string low = "h = Clamp ()c min=-500 max=-500; ";
  const std::string seen = "g/boolean = GreaterEqual r c; ";
  const std::string later = "m/s32 = Add r ()/s32c; "
                            "g/boolean = GreaterEqual m c; ";
  auto push = [&](const std::string &score, const std::string &mode = "",
                  bool steps = true) {
    cases.push_back(
        plain("2x3x", "131", "203", "8", "5", indices + score, mode));
    if (steps)
      cases.push_back(
          plain("2x", "117", "1601", "16", "24", indices + score, mode));
  };
  for (const std::string &mode : {std::string(), kZeros}) {
    push(inf + seen + "t = Select g s h", mode);
    push(inf + later + "t = Select g s h", mode);
    push(low + later + "t = Select g s h", mode);
    // Rows that see nothing.
    push(inf + "m/s32 = Add c ()/s32c; g/boolean = GreaterEqual r m; "
               "t = Select g s h",
         mode);
    push(inf + "g/boolean = GreaterEqual c r; t = Select g h s", mode);
  }
  // A number that counts; others behind the mask; offsets of each batch.
  push(seen + "t = Select g s ()c");
  push(low + seen + "a = Select g s h; b = Multiply a ()c; t = Divide b 1c");
  push(inf + seen + "a = Divide s 1c; t = Select g a h");
  push(inf + "m/s32 = Add r 2x1x1x1/s32; g/boolean = GreaterEqual m c; "
             "t = Select g s h",
       "", false);
  // What varies otherwise is computed in full.
  push(inf + seen + "a = Select g s h; t = Add a 203", "", false);
  push(inf + "m/s32 = Add r 131x1/s32; g/boolean = GreaterEqual m c; "
             "t = Select g s h",
       "", false);
  push(inf + "g/boolean = GreaterEqual c r; t = Select g s h", "", false);
  // Statistics, and weights dropped behind the mask.
  for (const char *rest :
       {"p,y = SoftMax t axis=-1; o = MatMul p 2x203x5; out o y",
        "p = SoftMax t axis=-1; d = Dropout p 1/s64 ()/s64 1; "
        "MatMul d 2x203x5"})
    cases.push_back("s = MatMul 2x131x8 2x8x203; " + indices + inf + seen +
                    "t = Select g s h; " + rest);
}

/// Elementwise operations on the result: in all keys at once, in steps, of keys
/// that are read in place, and of pieces of those.
void pushEpilogues(Cases &cases) {
  const std::string joined = "t = StaticTranspose o order=0,2,1,3; "
                             "r = StaticReshape t shape=2,0,24 "
                             "special_zero=true; ";
  for (const char *type : {"", "/bf16", "/f16"})
    for (auto [rows, keys] : {std::pair("131", "203"), std::pair("117", "1601"),
                              std::pair("3", "70"), std::pair("1", "4096")}) {
      std::string lead = "2x3x", k = keys, t = type;
      std::string start = "s" + t + " = MatMul " + lead + rows + "x16" + t +
                          " " + lead + "16x" + k + t + "; p" + t +
                          " = SoftMax s axis=-1; o" + t + " = MatMul p " +
                          lead + k + "x8" + t + "; ";
      std::string wide = t.empty() ? "" : "w/f32 = TypeCast o; ";
      std::string from = t.empty() ? "o" : "w";
      for (const std::string &tail :
           {wide + "q/u8 = Quantize " + from + " scales=0.01 zps=128",
            "g" + t + " = GELU o; h" + t + " = Tanh g",
            joined + (t.empty() ? "q/s8 = Quantize r scales=0.02"
                                : "q/f32 = TypeCast r"),
            joined + "m" + t + " = Multiply r 24" + t + "c"})
        cases.push_back(start + tail);
    }
  // Statistics beside it, and the result itself, leave the group as it was.
  cases.push_back("s = MatMul 5x8 8x7; p,z = SoftMax s axis=-1; o = MatMul p "
                  "7x4; r = ReLU o; out r z");
  cases.push_back("s = MatMul 5x8 8x7; p = SoftMax s axis=-1; o = MatMul p "
                  "7x4; r = ReLU o; out r o");
}

/// Keys, values and weights in bytes: products of bytes or, where no
/// instruction has them, one group in floats.
void pushBytes(Cases &cases) {
  for (bool narrow : {false, true})
    for (auto [rows, keys] :
         {std::pair("37", "53"), std::pair("1", "70"), std::pair("131", "203"),
          std::pair("9", "1601")}) {
      std::string r = rows, k = keys, t = narrow ? "/bf16" : "";
      auto bytes = [&](const char *name, const std::string &shape,
                       const char *attrs) {
        std::string from = std::string(name) + "8";
        return narrow ? from + "/f32 = Dequantize " + shape + attrs + "; " +
                            name + t + " = TypeCast " + from + "; "
                      : std::string(name) + "/f32 = Dequantize " + shape +
                            attrs + "; ";
      };
      auto start = [&](const char *score) {
        return bytes("q", "2x3x" + r + "x16/u8", " scales=0.05 zps=128") +
               bytes("k", "2x3x16x" + k + "/s8", " scales=0.07") + "s" + t +
               " = MatMul q k; " + score;
      };
      auto weights = [&](const char *kind, const char *attrs) {
        std::string w = "p" + t + " = SoftMax t axis=-1; ";
        w += narrow ? "f/f32 = TypeCast p; " : "";
        w += std::string("i/") + kind + " = Quantize " + (narrow ? "f" : "p") +
             attrs + "; ";
        return w + (narrow ? "j/f32 = Dequantize i" : "w/f32 = Dequantize i") +
               attrs + "; " + (narrow ? "w" + t + " = TypeCast j; " : "");
      };
      std::string values =
          bytes("v", "2x3x" + k + "x8/u8", " scales=0.04 zps=130") + "o" + t +
          " = MatMul w v; ";
      std::string wide = narrow ? "x/f32 = TypeCast o; " : "";
      std::string result = std::string("y/u8 = Quantize ") +
                           (narrow ? "x" : "o") + " scales=0.03 zps=120";
      std::string divide = "t" + t + " = Divide s 1c";
      cases.push_back(start("") + divide + "; " +
                      weights("u8", " scales=0.0039 zps=0") + values + wide +
                      result);
      cases.push_back(start("") + divide + "; " +
                      weights("s8", " scales=0.0039 zps=-128") + values +
                      "out o");
      cases.push_back(start("") + "d" + t + " = Divide s 1c; t" + t +
                      " = Add d 2x1x1x" + k + t + "; " +
                      weights("u8", " scales=0.0078 zps=3") + values +
                      "z = StaticTranspose o order=0,2,1,3; h = StaticReshape "
                      "z shape=2,0,24 special_zero=true; ReLU h");
    }
  // Summed along the queries; a number of steps for each channel; no
  // Dequantize of the same.
  const std::string scores = "s = MatMul 7x8 8x7; p = SoftMax s axis=-1; ";
  for (const char *rest :
       {"i/u8 = Quantize p scales=0.0039; w/f32 = Dequantize i scales=0.0039; "
        "MatMul 5x7 w",
        "i/u8 = Quantize p scales=0.0039; w/f32 = Dequantize i scales=0.0039; "
        "MatMul w 7x5 transpose_a=true",
        "i/u8 = Quantize p scales=0.1,0.2,0.3,0.1,0.2,0.3,0.1 "
        "zps=0,0,0,0,0,0,0 qtype=per_channel axis=1; w/f32 = Dequantize i "
        "scales=0.0039; MatMul w 7x5",
        "i/u8 = Quantize p scales=0.0039; w/f32 = Dequantize i scales=0.01 "
        "zps=7; o = MatMul w 7x5; out o"})
    cases.push_back(scores + rest);
}

} // namespace

Cases attentionCases() {
  Cases cases;
  // Sizes: one query, one key, primes, several blocks, rows longer than L2.
  for (auto [lead, queries, keys, depth, columns] :
       std::initializer_list<std::array<const char *, 5>>{
           {"", "1", "1", "1", "1"},
           {"", "1", "37", "8", "5"},
           {"3x", "13", "1", "7", "3"},
           {"2x3x", "31", "29", "17", "13"},
           {"2x", "97", "101", "24", "40"},
           {"2x2x", "384", "384", "64", "64"},
           {"1x2x2x", "5", "77", "80", "80"},
           {"2x", "9", "1031", "4", "8"},
           // Steps over the keys, the last of them shorter or not.
           {"2x", "101", "1536", "16", "24"},
           {"", "3", "9001", "3", "4"},
           {"3x", "1", "2049", "5", "8"},
           {"2x", "0", "7", "4", "3"},
           {"0x", "5", "7", "4", "3"},
           {"2x", "5", "0", "4", "3"},
           {"2x", "5", "7", "0", "3"},
           {"2x", "5", "7", "4", "0"}})
    cases.push_back(plain(lead, queries, keys, depth, columns));

  // Scale and masks, before and behind each other, in both softmax modes.
  for (const char *score : {
           "t = Divide s ()",
           "t = Divide s 2x3x11x13",
           "t = Multiply s 13",
           "a = Divide s 1c; t = Add a 2x1x1x13",
           "a = Multiply s 1; t = Add 11x13 a",
           "a = Add s 2x3x11x13; t = Multiply a ()",
           "a = Divide s 1c; t = Select 2x1x1x13/boolean a ()c",
           "a = Select 11x13/boolean s ()c; t = Divide a ()",
           "a = Select 2x3x11x13/boolean 1 s; t = Add a 2x1x11x1",
           "a = Divide s 1c; b = Tanh a; c = Multiply b 1c; t = Add c 11x13",
           "m = Multiply 2x1x1x13 ()c; t = Add s m",
           "t = Add s m<1,11>:11x13",
           "t = Reorder s",
           "a = Add s 13; b = Multiply a a; t = Subtract b s",
           // Rows, and elements, of -inf.
           "r = ReLU 11x1; l = Log r; t = Add s l",
           "r = ReLU 2x3x11x13; l = Log r; t = Add s l",
       })
    for (const std::string &mode : {std::string(), kZeros})
      cases.push_back(plain("2x3x", "11", "13", "8", "5", score, mode));

  // Rows walked in steps: masks of keys, some of which mask whole steps.
  for (const char *score :
       {"a = Divide s 1c; t = Add a 2x1x1x1601",
        "a = Multiply s 9x1601; t = Add a 2x3x9x1",
        "r = ReLU 9x1601; l = Log r; t = Add s l",
        "r = ReLU 9x1; l = Log r; t = Add s l",
        "r/s32 = GenIndex s axis=-2; m/s32 = Add r ()/s32c; "
        "c/s32 = GenIndex s axis=-1; g/boolean = GreaterEqual c m; "
        "t = Select g s ()c"})
    for (const std::string &mode : {std::string(), kZeros})
      cases.push_back(plain("2x3x", "9", "1601", "8", "5", score, mode));

  // Few queries: keys in place, in pieces, some of which are masked.
  for (auto [lead, queries, keys, depth, columns] :
       std::initializer_list<std::array<const char *, 5>>{
           {"", "1", "1601", "8", "5"},
           {"2x", "8", "1024", "64", "48"},
           {"3x11x", "1", "300", "16", "32"},
           {"", "2", "9001", "3", "4"}})
    cases.push_back(plain(lead, queries, keys, depth, columns));
  for (const char *score :
       {"a = Divide s 1c; t = Add a 2x1x1x1601",
        "r = ReLU 2x1601; l = Log r; t = Add s l",
        "r = ReLU 2x1; l = Log r; t = Add s l",
        "r/s32 = GenIndex s axis=-2; m/s32 = Add r ()/s32c; "
        "c/s32 = GenIndex s axis=-1; g/boolean = GreaterEqual c m; "
        "t = Select g s ()c"})
    for (const std::string &mode : {std::string(), kZeros})
      cases.push_back(plain("2x3x", "2", "1601", "8", "5", score, mode));
  // Divisors of 0.
  cases.push_back(
      plain("2x3x", "11", "13", "8", "5", "d = ReLU 3x11x1; t = Divide s d"));
  // Heads that share keys; keys the other way around; sums of the softmax.
  cases.push_back(
      "s = MatMul 2x2x3x1x8 2x2x1x1601x8 transpose_b=true; "
      "p,z = SoftMax s axis=-1; o = MatMul p 2x2x1x1601x7; out o z");
  cases.push_back("s = MatMul 3x2x8 3x8x1100; p,z = SoftMax s axis=-1" +
                  kZeros + "; o = MatMul p 3x1100x7; out o z");

  // Dropout of weights; numbers of weights count through all dimensions.
  const std::string drop = "; d = Dropout p 1/s64 ()/s64 1; MatMul d ";
  for (const std::string &mode : {std::string(), kZeros})
    for (const std::string &text :
         {"s = MatMul 2x3x5x8 2x3x8x7; p = SoftMax s axis=-1" + mode + drop +
              "2x3x7x4",
          "s = MatMul 2x2x3x5x8 2x2x1x8x7; a = Add s 5x7; p,z = SoftMax a "
          "axis=-1" +
              mode + "; d = Dropout p ()/s64 ()/s64 ()" +
              "; o = MatMul d 2x2x1x7x4; out o z",
          "s = MatMul 2x5x1x8 2x1x8x7; p = SoftMax s axis=-1" + mode + drop +
              "2x1x7x4",
          "s = MatMul 2x97x8 2x8x1601; p = SoftMax s axis=-1" + mode + drop +
              "2x1601x4",
          "s = MatMul 2x3x8 2x8x1601; p = SoftMax s axis=-1" + mode + drop +
              "2x1601x4",
          "s = MatMul 2x5x8 2x8x7; p = SoftMax s axis=-1" + mode +
              "; d = Dropout p 1/s64c 1/s64c 1c; MatMul d 2x7x4"})
      cases.push_back(text);

  // The softmax along the last dimension but one; products that sum over what
  // the softmax does not.
  for (const char *text : {
           "s = MatMul 2x7x8 2x8x5; p = SoftMax s axis=1; MatMul 2x4x7 p",
           "s = MatMul 2x7x8 2x8x5; a = Multiply s 5; b = Add a 2x7x1; "
           "p = SoftMax b axis=-2; MatMul 2x4x7 p",
           "s = MatMul 2x8x7 2x8x5 transpose_a=true; p = SoftMax s axis=1; "
           "MatMul 2x4x7 p",
           "s = MatMul 7x8 8x5; i/s32 = GenIndex s axis=0; j/s32 = GenIndex s "
           "axis=1; g/boolean = GreaterEqual j i; t = Select g s ()c; "
           "p = SoftMax t axis=0; MatMul 4x7 p",
           "s = MatMul 7x8 8x5; p,z = SoftMax s axis=0; o = MatMul 4x7 p; out "
           "o z",
           "s = MatMul 2x7x8 2x8x5; p = SoftMax s axis=1; MatMul p 2x5x4",
           "s = MatMul 2x133x8 2x8x5; p = SoftMax s axis=-1; MatMul 2x4x133 p",
           "s = MatMul 2x400x8 2x8x300; a = Add s 2x1x300; p,z = SoftMax a "
           "axis=-1 mode=inf_as_zero; o = MatMul 2x4x400 p; out o z",
           "s = MatMul 9x8 8x5; p = SoftMax s axis=-1; d = Dropout p 1/s64 "
           "1/s64 1; MatMul 4x9 d",
           "s = MatMul 9x8 8x5; p = SoftMax s axis=-1; t = StaticTranspose p "
           "order=1,0; MatMul t 9x4",
           // Dropout that stays outside of the group.
           "s = MatMul 7x8 8x5; p = SoftMax s axis=0; d = Dropout p 1/s64 "
           "1/s64 1; MatMul 4x7 d",
           "s = MatMul 7x8 8x5; p = SoftMax s axis=-1; d,m/u8 = Dropout p "
           "1/s64 1/s64 1; o = MatMul d 5x4; out o m",
           // Heads as columns of one matrix.
           "s = MatMul 2x7x8 2x8x15; r = StaticReshape s shape=2,7,3,5 "
           "special_zero=false; t = StaticTranspose r order=0,2,1,3; "
           "a = Add t 2x3x7x5; p = SoftMax a axis=3 mode=inf_as_zero; "
           "u = StaticTranspose p order=0,2,1,3; w = StaticReshape u "
           "shape=2,7,15 special_zero=false; MatMul 2x4x7 w",
       })
    cases.push_back(text);

  // Products of many shapes, read and written through views.
  for (const char *text : {
           // Keys as they are, and transposed by an operation.
           "s = MatMul 2x5x8 2x8x7; p = SoftMax s axis=2; MatMul p 2x7x4",
           "k = StaticTranspose 2x7x8 order=0,2,1; s = MatMul 2x5x8 k; "
           "p = SoftMax s axis=-1; MatMul p 2x7x4",
           "s = MatMul 2x8x5 2x8x7 transpose_a=true; p = SoftMax s axis=-1; "
           "MatMul p 2x4x7 transpose_b=true",
           // Heads behind the sequence.
           "q = StaticTranspose 2x19x3x8 order=0,2,1,3; "
           "k = StaticTranspose 2x23x3x8 order=0,2,3,1; "
           "v = StaticTranspose 2x23x3x8 order=0,2,1,3; s = MatMul q k; "
           "d = Multiply s 1c; p = SoftMax d axis=-1; o = MatMul p v; "
           "t = StaticTranspose o order=0,2,1,3; StaticReshape t "
           "shape=2,19,24 special_zero=false",
           "s = MatMul 2x5x8 2x8x7; p = SoftMax s axis=-1; o = MatMul p 2x7x4; "
           "t = StaticTranspose o order=0,2,1; Reorder t",
           // Grouped heads: keys and values of a group are shared.
           "q = StaticReshape 2x6x17x8 shape=2,2,3,17,8 special_zero=false; "
           "k = StaticReshape 2x2x19x8 shape=2,2,1,19,8 special_zero=false; "
           "v = StaticReshape 2x2x19x8 shape=2,2,1,19,8 special_zero=false; "
           "m = StaticReshape 2x1x1x19 shape=2,1,1,1,19 special_zero=false; "
           "s = MatMul q k transpose_b=true; d = Divide s 1; a = Add d m; "
           "p = SoftMax a axis=-1 mode=inf_as_zero; o = MatMul p v; "
           "StaticReshape o shape=2,6,17,8 special_zero=false",
           "s = MatMul 2x2x5x1x8 2x2x1x19x8 transpose_b=true; d = Divide s "
           "2x2x5x1x1; a = Add d 2x1x1x1x19; p = SoftMax a axis=-1; MatMul p "
           "2x2x1x19x8",
           "s = MatMul 2x5x3x8 2x1x19x8 transpose_b=true; d = Add s "
           "2x5x3x19; p,z = SoftMax d axis=-1; o = MatMul p 2x1x19x8; out o z",
           // One head of keys and values for all.
           "s = MatMul 2x3x5x8 7x8 transpose_b=true; p = SoftMax s axis=-1; "
           "MatMul p 7x4",
           "s = MatMul 5x8 3x8x7; p = SoftMax s axis=-1; MatMul p 3x7x4",
           // Values from the left; keys from the left.
           "s = MatMul 2x5x8 2x8x7; p = SoftMax s axis=-1; "
           "t = StaticTranspose p order=0,2,1; r = Reorder t; "
           "o = MatMul 2x4x7 r; StaticTranspose o order=0,2,1",
           "s = MatMul 2x7x8 2x8x5; t = StaticTranspose s order=0,2,1; "
           "p = SoftMax t axis=-1; MatMul p 2x7x4",
           // Statistics.
           "s = MatMul 2x5x8 2x8x7; p,z = SoftMax s axis=-1; o = MatMul p "
           "2x7x4; out o z",
           "s = MatMul 2x33x8 2x8x7; a = Add s 2x1x7; p,z = SoftMax a axis=-1 "
           "mode=inf_as_zero; o = MatMul p 2x7x4; e = Exp z; out e o z",
           // Values a power of two apart.
           "v = StaticTranspose 2x13x16x16 order=0,2,1,3; "
           "s = MatMul 2x16x11x8 2x16x8x13; p = SoftMax s axis=-1; MatMul p v",
           // Strided ports.
           "s = MatMul q<200,16,1>:2x5x8 k<1,64,8>:2x8x7; p = SoftMax s "
           "axis=-1; MatMul p v<1,2,14>:2x7x4",
           "s = MatMul 5x8 8x7; p = SoftMax s axis=-1; o<1,5> = MatMul p 7x4; "
           "out o",
           // Constants: keys packed once; everything folded.
           "s = MatMul 2x5x8 2x8x7c; p = SoftMax s axis=-1; MatMul p 2x7x4c",
           "s = MatMul 5x8c 8x7c; p = SoftMax s axis=-1; MatMul p 7x4c",
           // Two in one graph, one behind the other.
           "s = MatMul x:7x7 7x7c; p = SoftMax s axis=-1; o = MatMul p x; "
           "t = MatMul o 7x7c; r = SoftMax t axis=-1; MatMul r x",
           // What is no attention stays right.
           "s = MatMul 5x8 8x7; p = SoftMax s axis=-1; o = MatMul p 7x4; "
           "out o s",
           "s = MatMul 5x8 8x7; p = SoftMax s axis=-1; o = MatMul p 7x4; "
           "out o p",
           "s = MatMul 7x8 8x7; p = SoftMax s axis=0; MatMul p 7x4",
           "s = MatMul 7x8 8x7; p = SoftMax s axis=-1; MatMul 4x7 p",
           "s = MatMul 5x8 8x7; p = SoftMax s axis=-1; MatMul p 3x7x4",
           "s = MatMul 5x8 8x7; p,z = SoftMax s axis=-1; e = ReduceSum z "
           "axes=0,1; v = Multiply 7x4 e; MatMul p v",
           // Queries, keys and values that are computed where they are read.
           "q = Multiply 3x200x16 16; v = ReLU 3x70x20; s = MatMul q 3x70x16 "
           "transpose_b=true; p = SoftMax s axis=-1; MatMul p v",
           "k = Exp 2x1x30x8; v = Add 2x1x30x12 30x1; q = Add 2x4x40x8 40x1; "
           "s = MatMul q k transpose_b=true; p = SoftMax s axis=-1; MatMul p v",
           "k = Tanh 2x3000x8; v = ReLU 2x3000x8; q = Add 2x100x8 ()c; s = "
           "MatMul q k transpose_b=true; p = SoftMax s axis=-1; MatMul p v",
           "k/bf16 = Tanh 2x150x16/bf16; v/bf16 = ReLU 2x150x16/bf16; q/bf16 = "
           "ReLU 2x140x16/bf16; s/bf16 = MatMul q k transpose_b=true; p/bf16 = "
           "SoftMax s axis=-1; MatMul p v",
           "q = ReLU 2x3x8; v = ReLU 2x70x20; s = MatMul q 2x70x8 "
           "transpose_b=true; p = SoftMax s axis=-1; MatMul p v",
           "x = ReLU 2x70x16; s = MatMul x x transpose_b=true; p = SoftMax s "
           "axis=-1; MatMul p x",
       })
    cases.push_back(text);
  pushCausal(cases);
  pushEpilogues(cases);
  pushBytes(cases);
  return cases;
}

} // namespace tenon::test
