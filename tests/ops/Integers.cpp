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

Cases integerCases() {
  Cases cases;
  addArithmetic(cases);
  addBits(cases);
  addReductions(cases);
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
