// Sizes that follow from unknown ones, against the evaluator.
#include "tests/ops/UnknownSizes.h"

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

TEST(UnknownSizes, OrdersFromTheBack) {
  auto text = [](const std::string &src, const std::string &order) {
    return "a = StaticTranspose " + src + " order=" + order + "; ReLU a";
  };
  for (const char *order : {"", "-1,-2,-3", "2,-3,1"})
    checkShapes(text("?x?x7", order), {text("2x3x7", order)});
}

} // namespace
