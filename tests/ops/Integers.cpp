// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/Cases.h"

namespace tenon::test {

static const char *const kIntegers[] = {"s64", "s32", "s8", "u8"};
static const char *const kBits[] = {"s64", "s32", "s8", "u8", "boolean"};

static std::string binary(const std::string &kind, const std::string &type,
                          const std::string &a, const std::string &b,
                          const std::string &result) {
  return "y/" + result + " = " + kind + " " + a + "/" + type + " " + b + "/" +
         type;
}

static void addArithmetic(Cases &cases) {
  for (std::string type : kIntegers) {
    for (const char *kind : {"Add", "Subtract", "Multiply", "Divide", "Maximum",
                             "Minimum", "Remainder", "Remainder mode=trunc"}) {
      std::string op = kind;
      size_t space = op.find(' ');
      std::string attrs = space == std::string::npos ? "" : op.substr(space);
      op = op.substr(0, space);
      for (auto [a, b] : {std::pair("5x37", "5x37"), std::pair("5x1", "37"),
                          std::pair("()", "()"), std::pair("0x3", "3")})
        cases.push_back(binary(op, type, a, b, type) + attrs);
    }
    for (const char *kind :
         {"Abs", "Clamp min=-3.5 max=4.5", "Clamp min=0.25 max=0.75",
          "Clamp min=-1e30 max=2e9"}) {
      std::string op = kind;
      size_t space = op.find(' ');
      std::string attrs = space == std::string::npos ? "" : op.substr(space);
      cases.push_back("y/" + type + " = " + op.substr(0, space) + " 5x37/" +
                      type + attrs);
    }
  }
}

static void addBits(Cases &cases) {
  for (std::string type : kBits) {
    for (const char *kind : {"And", "Or"})
      for (auto [a, b] : {std::pair("5x37", "37"), std::pair("7", "7")})
        cases.push_back(binary(kind, type, a, b, type));
    for (const char *kind : {"Equal", "Greater", "GreaterEqual"}) {
      cases.push_back(binary(kind, type, "5x37", "5x37", "boolean"));
      cases.push_back(binary(kind, type, "5x1", "1x7", "boolean"));
    }
    cases.push_back("y/" + type + " = Not 5x37/" + type);
    cases.push_back("y/" + type + " = Select 37/boolean 5x37/" + type + " ()/" +
                    type);
    cases.push_back("y/" + type + " = Select 13x17/boolean<1,13> 13x17/" +
                    type + " 17/" + type);
  }
  for (const char *kind : {"Add", "Multiply", "Maximum", "Minimum"})
    cases.push_back(binary(kind, "boolean", "5x37", "37", "boolean"));
}

static void addReductions(Cases &cases) {
  for (std::string type : kBits)
    for (std::string kind :
         {"ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd", "ReduceL1"}) {
      if (type == "boolean" && kind != "ReduceMax" && kind != "ReduceMin")
        continue;
      for (const char *form :
           {"5x37 axes=1", "5x37 axes=0 keep_dims=true", "2x3x41 axes=0,2",
            "3x0 axes=1", "70003 axes=0", "5x7 axes=", "13x17<1,13> axes=1"}) {
        std::string text = form;
        size_t space = text.find_first_of(" <");
        text.insert(space, "/" + type);
        cases.push_back("y/" + type + " = " + kind + " " + text);
      }
    }
}

/// Products of bytes, with zero points, and of s32.
static void addProducts(Cases &cases) {
  static const std::string kPadded =
      " strides=2,1 pads_begin=1,0 pads_end=1,1 dilations=1,1";
  // Types of both operands, and zero points to take off the bytes.
  struct Operands {
    std::string src, weights, before;
  };
  auto less = [](const std::string &from, const std::string &zero,
                 const std::string &to) {
    return to + "w/s32 = TypeCast " + from + "; " + to + "/s32 = Subtract " +
           to + "w " + zero + "; ";
  };
  for (std::string constant : {"", "c"})
    for (const char *shapes :
         {"5x7 7x11", "1x64 64x128", "33x256 256x48", "13x5 5x3", "3x5x7 7x11",
          "3x5x7 3x7x11", "5x0 0x11", "0x7 7x11", "129x96 96x130"}) {
      std::string both = shapes;
      std::string src = both.substr(0, both.find(' ')),
                  weights = both.substr(both.find(' ') + 1);
      for (const char *types : {"s8 s8", "u8 s8", "s8 u8", "u8 u8", "s32 s8",
                                "u8 s32", "s32 s32"}) {
        std::string pair = types;
        cases.push_back("y/s32 = MatMul " + src + "/" +
                        pair.substr(0, pair.find(' ')) + " " + weights + "/" +
                        pair.substr(pair.find(' ') + 1) + constant);
      }
      std::string a = "x:" + src + "/u8", w = "k:" + weights + "/s8" + constant;
      std::string zero = "z/s32 = TypeCast 1/u8; v/s32 = TypeCast 1/s8; ";
      cases.push_back(zero + less(a, "z", "a") + less(w, "v", "b") +
                      "y/s32 = MatMul a b");
      cases.push_back(zero + less(a, "z", "a") + "y/s32 = MatMul a " + weights +
                      "/u8" + constant);
    }
  for (const char *text : {
           // Zero points of rows and of columns.
           "z/s32 = TypeCast 5x1/u8; v/s32 = TypeCast 11/u8c; x/s32 = TypeCast "
           "5x64/u8; a/s32 = Subtract x z; k/s32 = TypeCast 64x11/u8c; b/s32 = "
           "Subtract k v; y/s32 = MatMul a b 11/s32",
           "y/s32 = MatMul 64x33/u8 48x64/s8c 48/s32 transpose_a=true "
           "transpose_b=true",
           "y/s32 = MatMul 64/u8 64x48/u8c",
           "y/s32 = MatMul 64/s8 64/s8 1/s32",
           "y/s32<1,33> = MatMul 33x64/u8<1,40> 64x48/s8<1,64>",
           // What follows joins the product.
           "s/s32 = MatMul 33x64/u8 64x48/s8c 48/s32; f/f32 = TypeCast s; "
           "m = Multiply f 48c; r = ReLU m; y/u8 = Quantize r scales=8",
           "s/s32 = MatMul 33x64/s8 64x48/s8c; c/s32 = Clamp s min=-50 max=50; "
           "y/s8 = TypeCast c",
       })
    cases.push_back(text);
  for (const char *types : {"s8 s8", "u8 s8", "u8 u8", "s32 s8"}) {
    std::string pair = types, src = "/" + pair.substr(0, pair.find(' ')),
                weights = "/" + pair.substr(pair.find(' ') + 1);
    for (std::string constant : {"", "c"}) {
      auto add = [&](const std::string &x, const std::string &w,
                     const std::string &rest) {
        cases.push_back("y/s32 = Convolution " + x + src + " " + w + weights +
                        constant + rest);
      };
      add("1x9x8x16", "3x3x16x32", kPadded);
      add("2x3x9x8", "20x3x3x3",
          kPadded + " data_format=NCX weights_format=OIX");
      add("1x8x7x64", "1x1x64x40",
          " 40/s32 strides=1,1 pads_begin=0,0 "
          "pads_end=0,0 dilations=1,1");
      add("1x9x8x32", "3x3x16x32", kPadded + " groups=2");
    }
  }
  for (const char *text : {
           // The padding is 0, whatever the zero point is.
           "z/s32 = TypeCast 1/u8; x/s32 = TypeCast 1x9x8x16/u8; a/s32 = "
           "Subtract x z; y/s32 = Convolution a 3x3x16x32/s8c strides=1,1 "
           "pads_begin=1,1 pads_end=1,1 dilations=1,1",
           "x/s32 = TypeCast 1x16x9x8/u8; a/s32 = Subtract x 1/s32c; k/s32 = "
           "TypeCast 32x16x3x3/u8c; v/s32 = TypeCast 32x1x1x1/u8c; b/s32 = "
           "Subtract k v; y/s32 = Convolution a b 32/s32 strides=1,1 "
           "pads_begin=1,1 pads_end=1,1 dilations=2,1 data_format=NCX "
           "weights_format=OIX",
           // Channels are lanes.
           "y/s32 = Convolution 1x9x8x32/u8 3x3x1x32/s8c strides=1,1 "
           "pads_begin=1,1 pads_end=1,1 dilations=1,1 groups=32",
           "x/s32 = TypeCast 1x9x8x32/u8; z/s32 = TypeCast 1/u8; a/s32 = "
           "Subtract x z; y/s32 = Convolution a 3x3x4x32/s8c 32/s32 "
           "strides=1,1 pads_begin=1,1 pads_end=1,1 dilations=1,1 groups=8",
       })
    cases.push_back(text);
}

Cases integerCases() {
  Cases cases;
  addArithmetic(cases);
  addBits(cases);
  addReductions(cases);
  addProducts(cases);
  for (const char *text : {
           "y/s64 = GenIndex 3x5/s64 axis=1",
           "y/s64 = GenIndex 3x5/boolean axis=-2",
           "y/s32 = GenIndex 300x7/u8 axis=0",
           // Integers and floats in one group.
           "i/s64 = GenIndex 7x37/boolean axis=1; "
           "g/boolean = Greater 7x1/s64 i; y = Select g 7x37 ()",
           "g/boolean = GreaterEqual 5x37 37; n/boolean = Not g; "
           "h/boolean = Equal 5x37 5x37; b/boolean = Or n h; "
           "y = Select b 5x37 37",
           "c/s32 = TypeCast 5x37; d/s32 = Multiply c 37/s32; "
           "y/f32 = TypeCast d",
           "c/s64 = TypeCast 5x37/boolean; y/s64 = ReduceSum c axes=1",
           "y/s32 = And 4x8/s32 4x8/s32 auto_broadcast=none",
           "y/u8 = Or 4x8/u8 4x8/u8 auto_broadcast=none",
           "Equal 4x8 4x8 auto_broadcast=none",
           "Greater 4x8 4x8 auto_broadcast=none",
           "Atan2 4x8 4x8 auto_broadcast=none",
           "Remainder 4x8 4x8 auto_broadcast=none mode=trunc",
           "y/boolean = Equal 5x37 5x37",
           "y/boolean = Equal 5x37/bf16 37/bf16",
           "y/boolean = Greater 5x37/f16 37/f16",
           "y/boolean = Greater 5x37 5x1",
       })
    cases.push_back(text);
  return cases;
}

} // namespace tenon::test
