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
  EXPECT_TRUE(unknown.has("--input x=1x3xf32")) << unknown.err;
  EXPECT_RESULT(tenon(run + " --input q=2x3xf32"), 1, "no tensor is called");
  // z is an input that no operation reads.
  EXPECT_RESULT(tenon(run + " --input x=2x3xf32=zeros --input z=2x3xf32"), 0,
                "y: 2x3xf32 [1, 2, 3, 1, 2, 3]");
  std::string shapes = " --in-shapes=x:2x3+z:2x3";
  EXPECT_RESULT(tenon(run + shapes), 0, "y: 2x3xf32");
  EXPECT_RESULT(tenon("check " + model() + shapes), 0, "1 passed");
  Result compiled = tenon("compile " + model() + shapes + " -o " +
                          scratch("unread.o") + " --name=unread");
  EXPECT_RESULT(compiled, 0, "no operation reads the input z");
  EXPECT_RESULT(tenon(run + " --in-shapes=x:2x3+q:2x3"), 1, "--in-shapes: no");
  EXPECT_RESULT(tenon(run + " --input x=2x4xf32"), 1, "the model has [n, 3]");
  // Weights are what they are.
  EXPECT_RESULT(tenon(run + " --input x=2x3xf32 --input w=ones"), 1,
                "a constant of the model");
  EXPECT_RESULT(
      tenon("check " + model() + " --input x=4x3xf32 --input z=4x3xf32"), 0,
      "1 passed");
}

TEST(Onnx, InspectTellsWhatAModelHas) {
  Result all = tenon("inspect " + model());
  for (const char *line :
       {"input           x: f32[n, 3]\n", "z: f32[n, 3], which nothing reads",
        "output          y: f32[n, 3]", "1 tensor, 3 elements, 12 B",
        "of ai.onnx, operator set 17\n    Add                        1\n",
        "groups          1"})
    EXPECT_RESULT(all, 0, line);
  EXPECT_RESULT(tenon("inspect --report " + model()), 0, R"("nodes": 1)");

  // One that is not converted, too.
  std::string strange =
      inScratch("strange.onnx", onnx::test::addWeightModel({}, "Frobnicate"));
  for (const char *line :
       {"x: f32[n, 3]", "Frobnicate                 1, not converted",
        "E2001 Frobnicate (ai.onnx 17) \"y\": ",
        "this operator is not converted"})
    EXPECT_RESULT(tenon("inspect " + strange), 2, line);
  Result report = tenon("inspect --report " + strange);
  EXPECT_RESULT(report, 2, R"("failed": 1)");
  EXPECT_RESULT(report, 2, R"("errors": [)");
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

TEST(Onnx, FilesHoldAllArrays) {
  std::string archive = scratch("all.npz"), at = "@" + archive;
  std::string run = "run --repeat=1 " + model() + " --input ";
  EXPECT_RESULT(tenon(run + "x=2x3xf32=iota --output " + at), 0,
                "wrote " + archive);
  EXPECT_RESULT(tenon(run + "x=2x3xf32=iota --expect " + at), 0,
                "expected: as in " + archive);
  EXPECT_RESULT(tenon(run + "x=2x3xf32=ones --expect " + at), 3, "E3001");
  // The only array of a file, whatever its name is; the sizes are its own.
  EXPECT_RESULT(tenon(run + "x=" + at), 0, "y: 2x3xf32 [2, 5, 8, 5, 8, 11]");
  EXPECT_RESULT(tenon("check " + model() + " --input x=" + at), 0, "1 passed");
  EXPECT_RESULT(tenon(run + at), 1, "y is no input of the graph");
  EXPECT_RESULT(tenon(run + "@missing.npz"), 1, "E1001: missing.npz");
  EXPECT_RESULT(tenon(run + "@" + inScratch("text.npz", "text")), 1,
                "is no .npz file");
  EXPECT_RESULT(tenon(run + "x=2x3xf32 --output y=" + at), 0, "wrote");
  EXPECT_RESULT(tenon(run + "x=2x3xf32 --output @x.npy"), 1, "names no file");
}

TEST(Onnx, HintsNameOpenSizes) {
  std::string model =
      inScratch("range.onnx", onnx::test::addWeightModel({}, "Range"));
  Result result = tenon("run " + model);
  EXPECT_RESULT(result, 2, "E2003");
  EXPECT_RESULT(result, 2,
                "hint: known sizes may help, --in-shapes=x:SHAPE+z:SHAPE");
  EXPECT_FALSE(tenon("run --in-shapes=x:1x3+z:1x3 " + model).has("hint"));
}

TEST(Onnx, ChangesNameTensors) {
  EXPECT_RESULT(tenon("inspect " + model() + " --in-shapes=x:4x3"), 0,
                "x: f32[4, 3]");
  EXPECT_RESULT(tenon("run --repeat=1 " + model() + " --in-shapes=x:1x3,x:2x3"),
                0, "2 runs, compiled 1 time");
  Result wrong = tenon("inspect " + model() + " --in-shapes=xx:4x3");
  EXPECT_RESULT(wrong, 1, "--in-shapes: no tensor is called \"xx\"");
  EXPECT_RESULT(wrong, 1, "did you mean x");
  EXPECT_RESULT(tenon("inspect " + model() + " --in-shapes=x:4x5"), 1,
                "the model has [n, 3]");
  EXPECT_RESULT(tenon("inspect " + model() + " --op-kind=y:Multiply --graph"),
                0, "Multiply");
  EXPECT_RESULT(tenon("inspect " + model() + " --op-kind=z:Multiply"), 1,
                "no operation is called \"z\"");
  EXPECT_RESULT(
      tenon(std::string("check --in-shapes=fc1.src:2x13 ") + kDynamic), 0,
      "1 passed");
}

TEST(Onnx, FilesThatAreNoModels) {
  std::string whole = onnx::test::addWeightModel();
  struct Case {
    std::string bytes, text;
  };
  for (const Case &c :
       std::vector<Case>{{"", "no model of ONNX: it is empty"},
                         {"hello, I am text\n", "no model of ONNX: it is text"},
                         {"version https://git-lfs.github.com/spec/v1\noid",
                          "a pointer of Git LFS; hint: `git lfs pull`"},
                         {whole.substr(0, whole.size() - 9), "is it whole?"}})
    for (const std::string command : {"run", "inspect", "check"})
      EXPECT_RESULT(tenon(command + " " + inScratch("no.onnx", c.bytes)), 1,
                    c.text);
  EXPECT_RESULT(tenon("inspect " + inScratch("BIG.ONNX", whole)), 0, "Add");
  EXPECT_RESULT(tenon("model.onnx"), 1, "hint: tenon run model.onnx");
}

TEST(Onnx, MistakesWithInputs) {
  std::string run = "run --repeat=1 " + model() + " ";
  EXPECT_RESULT(tenon(run), 1,
                "such as --in-shapes=x:1x3 or --input x=1x3xf32");
  EXPECT_RESULT(tenon(run + "--input x=1x4xf32"), 1,
                "is given as [1, 4], the model has [n, 3]");
  EXPECT_RESULT(tenon(run + "--input x=1x3"), 1,
                "a shape ends in its data type: x=1x3xf32");
  EXPECT_RESULT(tenon(run + "--input x=x.npy"), 1,
                "files begin with @: x=@x.npy");
  EXPECT_RESULT(tenon(run + "--input x=1x3xs32"), 1, "--dt=x:s32");
  EXPECT_RESULT(tenon(run + "--input arr_0=1x3xf32"), 1,
                "inputs and outputs: x y; numpy.savez(file, NAME=array)");
  // Before anything is compiled.
  Result late = tenon(run + "--input x=1x3xf32 --output yy=@x.npy");
  EXPECT_RESULT(late, 1, "did you mean y");
  EXPECT_EQ(late.out, "");
  Result folder = tenon("compile " + model() + " -o none/x.so");
  EXPECT_RESULT(folder, 1, "E1006: none/x.so: No such file or directory");
  // An option is wrong, not the model: it is not described.
  EXPECT_EQ(tenon("inspect --in-shapes=q:1x3 " + model()).out, "");
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
  EXPECT_RESULT(tenon("inspect --graph " + library), 0, " x: ?x3xf32");
  EXPECT_RESULT(tenon("compile " + model() + " -o " + library +
                      " --name=add --in-shapes=x:2x3"),
                0, "wrote");
  EXPECT_RESULT(tenon("run --repeat=1 " + library + " --input x=1x3xf32"), 1,
                "its x is 2x3xf32, not 1x3xf32");
}

} // namespace
} // namespace tenon::test
