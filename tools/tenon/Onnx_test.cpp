//===- Onnx_test.cpp - commands on models of ONNX -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the binary as a user does, with the names of a model.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/TestFiles.h"
#include "tools/tenon/TestSupport.h"

namespace tenon::test {
namespace {

/// y = x + w, x of [n, 3].
std::string model() {
  return inScratch("model.onnx", onnx::test::addWeightModel());
}

TEST(Onnx, RunsWithWeightsOfTheFile) {
  std::string run = "run --repeat=1 " + model();
  EXPECT_RESULT(tenon(run + " --input x=2x3xf32=zeros"), 0,
                "y: 2x3xf32 [1, 2, 3, 1, 2, 3]");
  EXPECT_RESULT(tenon(run + " --input x=2x3xf32=zeros"), 0, "check: passed");
  Result unknown = tenon(run);
  EXPECT_RESULT(unknown, 1, "E1211: input x is ?x3xf32");
  EXPECT_TRUE(unknown.has("--input x=SHAPExDTYPE")) << unknown.err;
  EXPECT_RESULT(tenon(run + " --input q=2x3xf32"), 1, "no tensor is called");
  // z is an input that no operation reads.
  EXPECT_RESULT(tenon(run + " --input x=2x3xf32=zeros --input z=2x3xf32"), 0,
                "y: 2x3xf32 [1, 2, 3, 1, 2, 3]");
  EXPECT_RESULT(tenon(run + " --input x=2x4xf32"), 1, "not those of the model");
  // Weights are what they are.
  EXPECT_RESULT(tenon(run + " --input x=2x3xf32 --input w=ones"), 1,
                "a constant of the model");
  EXPECT_RESULT(
      tenon("check " + model() + " --input x=4x3xf32 --input z=4x3xf32"), 0,
      "1 passed");
  EXPECT_RESULT(tenon("inspect " + model()), 0, "Add");
}

TEST(Onnx, InputsMayBeOnnxsOwnTestData) {
  std::string tensor;
  protozero::pbf_writer writer(tensor);
  writer.add_int64(1, 1);
  writer.add_int64(1, 3);
  writer.add_int32(2, 1);
  const float elements[] = {10, 20, 30};
  writer.add_bytes(9, reinterpret_cast<const char *>(elements),
                   sizeof elements);
  std::string run = "run --repeat=1 " + model() + " --input x=1x3xf32=@";
  EXPECT_RESULT(tenon(run + inScratch("x.pb", tensor)), 0, "[11, 22, 33]");
  EXPECT_RESULT(tenon(run + inScratch("bad.pb", tensor.substr(0, 9))), 1,
                "E1008");
}

TEST(Onnx, BoundInputsAreNoInputs) {
  std::string bound =
      "run --repeat=1 " + model() + " --input x=1x3xf32 --bind=x=";
  EXPECT_RESULT(tenon(bound + "1"), 1, "which is not its size");
  EXPECT_RESULT(tenon(bound + "one"), 1, "no name with numbers");
  EXPECT_RESULT(tenon(std::string("run --bind=x=1 ") + kMlp), 1,
                "only inputs of a model of ONNX");
}

TEST(Onnx, LibrariesHaveNamesAndWeights) {
  std::string library = scratch("model.so"), header = scratch("model.h");
  EXPECT_RESULT(tenon("compile " + model() + " -o " + library + " --name=add" +
                      " --header=" + header),
                0, "wrote");
  EXPECT_NE(contentOf(header).find("const int64_t x_dims[2]"),
            std::string::npos);
  for (const char *rows : {"1", "3"})
    EXPECT_RESULT(tenon("run --repeat=1 " + library + " --input x=" + rows +
                        "x3xf32=zeros"),
                  0, "[1, 2, 3");
}

} // namespace
} // namespace tenon::test
