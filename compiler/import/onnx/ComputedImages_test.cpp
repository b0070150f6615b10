// SPDX-License-Identifier: Apache-2.0
//
// Images whose sizes, or those of what is made of them, are not known.
#include "compiler/import/onnx/ComputedSizesSupport.h"

using namespace tenon;
using namespace tenon::onnx;
using namespace tenon::onnx::test;

namespace {

/// Images that get the size of another one.
TEST(ComputedImages, Resizes) {
  struct Form {
    std::string_view mode, coordinates, nearest;
  };
  std::vector<Form> forms;
  for (std::string_view coordinates :
       {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"}) {
    forms.push_back({"linear", coordinates, "floor"});
    forms.push_back({"cubic", coordinates, "floor"});
    for (std::string_view nearest :
         {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})
      forms.push_back({"nearest", coordinates, nearest});
  }
  for (const Form &form : forms) {
    SCOPED_TRACE(std::string(form.mode) + " " + std::string(form.coordinates) +
                 " " + std::string(form.nearest));
    expectSame({node("Shape", {"x"}, {"shape"}),
                node("Slice", {"shape", "zero", "two"}, {"batch"}),
                node("Shape", {"like"}, {"shape2"}),
                node("Slice", {"shape2", "two", "last"}, {"space"}),
                node("Concat", {"batch", "space"}, {"sizes"},
                     {attr("axis", int64_t{0})}),
                node("Resize", {"x", "", "", "sizes"}, {"resized"},
                     {text("mode", form.mode),
                      text("coordinate_transformation_mode", form.coordinates),
                      text("nearest_mode", form.nearest)}),
                node("Add", {"resized", "like"}, {"y"})},
               {{{1, 2, 3, 4}, {1, 2, 6, 9}},
                {{1, 1, 5, 7}, {1, 1, 3, 1}},
                {{2, 1, 4, 2}, {2, 1, 4, 5}}},
               constants());
  }
}

/// Factors that are quotients of sizes, as old exporters write them.
TEST(ComputedImages, ResizesByQuotients) {
  std::vector<TensorProto> weights = constants();
  weights.push_back(floats("kept", {2}, {1, 1}));
  for (std::string_view mode : {"linear", "nearest", "cubic"})
    expectSame(
        {node("Shape", {"x"}, {"shape"}),
         node("Cast", {"shape"}, {"given"},
              {attr("to", static_cast<int64_t>(DataType::f32))}),
         node("Add", {"given", "given"}, {"wanted"}),
         node("Div", {"wanted", "given"}, {"ratio"}),
         node("Slice", {"ratio", "two", "last"}, {"factors"}),
         node("Concat", {"kept", "factors"}, {"scales"},
              {attr("axis", int64_t{0})}),
         node("Resize", {"x", "", "scales"}, {"resized"}, {text("mode", mode)}),
         node("ReduceSum", {"like"}, {"sum"}),
         node("Add", {"resized", "sum"}, {"y"})},
        {{{1, 2, 3, 4}, {1, 2, 6, 8}}, {{2, 1, 4, 2}, {2, 1, 8, 6}}}, weights);
}

TEST(ComputedImages, BlocksOfChannels) {
  for (std::string_view mode : {"DCR", "CRD"}) {
    ModelProto model =
        modelOf({node("DepthToSpace", {"x"}, {"wide"},
                      {attr("blocksize", int64_t{2}), text("mode", mode)}),
                 node("SpaceToDepth", {"wide"}, {"deep"},
                      {attr("blocksize", int64_t{2})}),
                 node("ReduceSum", {"wide"}, {"sum"}),
                 node("Add", {"deep", "sum"}, {"y"})},
                {named("x", DataType::f32, {"n", "8", "h", "w"})}, {"y"});
    auto open = importModel(model);
    ASSERT_TRUE(open) << str(open.errors());
    ImportOptions options;
    options.shapes = {{"x", {2, 8, 3, 2}}};
    auto closed = importModel(model, options);
    ASSERT_TRUE(closed) << str(closed.errors());
    Given given{{"x", ramp({2, 8, 3, 2})}};
    Tensor expected = computed(*closed, given), y = computed(*open, given);
    ASSERT_EQ(y.shape, expected.shape);
    EXPECT_EQ(y.data, expected.data);
  }
}

/// Samples of images, batch and all sizes open, from within and outside.
TEST(ComputedImages, SamplesOfImages) {
  for (std::string_view mode : {"nearest", "linear", "cubic"})
    for (std::string_view padding : {"zeros", "border", "reflection"})
      for (int64_t corners : {0, 1}) {
        SCOPED_TRACE(std::string(mode) + " " + std::string(padding));
        ValueInfoProto grid =
            named("grid", DataType::f32, {"n", "oh", "ow", "two"});
        (*grid.shape)[3].value = 2;
        ModelProto model =
            modelOf({node("GridSample", {"x", "grid"}, {"y"},
                          {text("mode", mode), text("padding_mode", padding),
                           attr("align_corners", corners)})},
                    {named("x", DataType::f32, {"n", "c", "h", "w"}), grid},
                    {"y"}, {}, 20);
        expectSameFor(model,
                      {{{"x", {2, 3, 4, 5}}, {"grid", {2, 3, 2, 2}}},
                       {{"x", {1, 1, 1, 7}}, {"grid", {1, 4, 5, 2}}}},
                      0.11);
      }
}

/// The same of volumes, and places of another batch, which are refused.
TEST(ComputedImages, SamplesOfVolumes) {
  ValueInfoProto grid =
      named("grid", DataType::f32, {"n", "od", "oh", "ow", "three"});
  (*grid.shape)[4].value = 3;
  ModelProto model =
      modelOf({node("GridSample", {"x", "grid"}, {"y"})},
              {named("x", DataType::f32, {"n", "c", "d", "h", "w"}), grid},
              {"y"}, {}, 20);
  expectSameFor(model, {{{"x", {2, 3, 2, 4, 5}}, {"grid", {2, 3, 2, 2, 3}}}},
                0.11);
  (*model.graph.inputs[0].shape)[0].value = 2;
  (*model.graph.inputs[1].shape)[0].value = 3;
  EXPECT_EQ(failureOf(model).code, ErrorCode::UnsupportedForm);
}

/// The places of all elements of images of the size of x.
TEST(ComputedImages, PlacesOfImages) {
  for (int64_t corners : {0, 1}) {
    ValueInfoProto theta = named("theta", DataType::f32, {"n", "r", "s"});
    (*theta.shape)[1].value = 2;
    (*theta.shape)[2].value = 3;
    ModelProto model =
        modelOf({node("Shape", {"x"}, {"size"}),
                 node("AffineGrid", {"theta", "size"}, {"grid"},
                      {attr("align_corners", corners)}),
                 node("GridSample", {"x", "grid"}, {"y"})},
                {named("x", DataType::f32, {"n", "c", "h", "w"}), theta}, {"y"},
                {}, 20);
    expectSameFor(model,
                  {{{"x", {2, 3, 4, 5}}, {"theta", {2, 2, 3}}},
                   {{"x", {1, 2, 1, 7}}, {"theta", {1, 2, 3}}}},
                  0.11);
    model.graph.outputs[0].name = "grid";
    model.graph.nodes.pop_back();
    model.graph.nodes[1].outputs[0] = "grid";
    expectSameFor(model,
                  {{{"x", {2, 3, 4, 5}}, {"theta", {2, 2, 3}}},
                   {{"x", {1, 2, 1, 7}}, {"theta", {1, 2, 3}}}},
                  0.11);
  }
}

} // namespace
