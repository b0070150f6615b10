// SPDX-License-Identifier: Apache-2.0
#include "tests/vectorcode/Million.h"

#include "dialects/graph/OpTable.h"

#include <algorithm>

namespace tenon::test {

/// Operations that need more than "Kind operands of one shape".
static const char *const kForms[] = {
    "y/s32 = And 1000x1000/s32 1000x1000/s32",
    "y/s64 = ArgMax 1000x1000 axis=1",
    "y/s64 = ArgMin 1000x1000 axis=0",
    "CumSum 1000x1000 axis=0",
    "AvgPool 5x56x56x64 strides=2,2 pads_begin=0,0 pads_end=0,0 kernel=2,2 "
    "exclude_pad=false",
    "AvgPoolBackward 5x28x28x64 strides=2,2 pads_begin=0,0 pads_end=0,0 "
    "kernel=2,2 exclude_pad=false src_shape=5,56,56,64",
    "BatchNormInference 5x56x56x64 64c 64c 64c 64c epsilon=0.001",
    "y,rm,rv,m,v = BatchNormForwardTraining 5x56x56x64 64 64 64 64 "
    "epsilon=0.001",
    "x,g,b = BatchNormTrainingBackward 5x56x56x64 5x56x56x64 64 64 64 "
    "epsilon=0.001",
    "BiasAdd 1000x1000 1000c",
    "Clamp 1000x1000 min=0 max=6",
    "ClampBackward 1000x1000 1000x1000 min=0 max=6",
    "Concat 1000x500 1000x500 axis=1",
    "Convolution 5x56x56x64 3x3x64x64c strides=1,1 pads_begin=1,1 "
    "pads_end=1,1 dilations=1,1",
    "y/f32 = Dequantize 1000x1000/u8 scales=0.1 zps=128",
    "y,m/u8 = Dropout 1000x1000 1/s64 1/s64 1",
    "y/f32 = DynamicDequantize 1000x1000/s8 1000 qtype=per_channel",
    "y/s8 = DynamicQuantize 1000x1000 1 1/s8",
    "ConvTranspose 5x28x28x64 2x2x64x64c strides=2,2 pads_begin=0,0 "
    "pads_end=0,0 dilations=1,1",
    "ConvTransposeBackwardData 5x56x56x64 3x3x64x64c strides=1,1 "
    "pads_begin=1,1 pads_end=1,1 dilations=1,1",
    "ConvTransposeBackwardWeights 5x56x56x64 5x56x56x64 strides=1,1 "
    "pads_begin=1,1 pads_end=1,1 dilations=1,1 weights_shape=3,3,64,64",
    "ConvolutionBackwardData 5x56x56x64 3x3x64x64c strides=1,1 "
    "pads_begin=1,1 pads_end=1,1 dilations=1,1 dst_shape=5,56,56,64",
    "ConvolutionBackwardWeights 5x56x56x64 5x56x56x64 strides=1,1 "
    "pads_begin=1,1 pads_end=1,1 dilations=1,1 weights_shape=3,3,64,64",
    "Elu 1000x1000 alpha=1",
    "EluBackward 1000x1000 1000x1000 alpha=1 use_dst=false",
    "y/s32 = GenIndex 1000x1000 axis=1",
    "GroupNorm 5x56x56x64 64c 64c groups=8 keep_stats=false",
    "x,g,b = GroupNormBackward 5x56x56x64 5x56x56x64 5x8 5x8 64 groups=8",
    "HardSigmoid 1000x1000 alpha=0.2 beta=0.5",
    "HardSigmoidBackward 1000x1000 1000x1000 alpha=0.2 beta=0.5",
    "Interpolate 5x28x28x64 mode=linear sizes=56,56",
    "InterpolateBackward 5x28x28x64 5x56x56x64 mode=linear sizes=56,56",
    "LRN 5x56x56x64",
    "LRNBackward 5x56x56x64 5x56x56x64",
    "LSTM 50x40x500 1x1x500x4x500c 1x1x500x4x500c 1x1x4x500c",
    "RNN 50x40x500 1x1x500x1x500c 1x1x500x1x500c 1x1x1x500c",
    "GRU 50x40x500 1x1x500x3x500c 1x1x500x3x500c 1x1x3x500c",
    "AUGRU 50x40x500 1x1x500x3x500c 1x1x500x3x500c 50x40x1 1x1x3x500c",
    "RNNBackward 50x40x500 1x1x500x1x500c 1x1x500x1x500c 1x1x50x40x1000 "
    "50x40x500",
    "LSTMBackward 50x40x500 1x1x500x4x500c 1x1x500x4x500c 1x1x50x40x3000 "
    "50x40x500",
    "GRUBackward 50x40x500 1x1x500x3x500c 1x1x500x3x500c 1x1x50x40x2000 "
    "50x40x500",
    "AUGRUBackward 50x40x500 1x1x500x3x500c 1x1x500x3x500c 50x40x1 "
    "1x1x50x40x2000 50x40x500",
    "Expand 1000x1 shape=1000,1000",
    "Gather 1000x1000 1000/s64",
    "GatherElements 1000x1000 1000x1000/s64",
    "GatherND 1000x1000 1000x1/s64",
    "LayerNorm 1000x1000 1000c 1000c keep_stats=false",
    "x,g,b = LayerNormBackward 1000x1000 1000x1000 1000 1000 1000",
    "LeakyReLU 1000x1000 alpha=0.01",
    "MatMul 1000x1000 1000x1000c",
    "MaxPool 5x56x56x64 strides=2,2 pads_begin=1,1 pads_end=1,1 kernel=3,3",
    "MaxPoolBackward 5x56x56x64 5x28x28x64 strides=2,2 pads_begin=1,1 "
    "pads_end=1,1 kernel=3,3",
    "i/s64,n/s64 = NonMaxSuppression 1x1000x4 1x80x1000 "
    "max_output_boxes_per_class=100 iou_threshold=0.5",
    "i/s64,n/s64 = NonZero 1000x1000",
    "y/boolean = Not 1000x1000/boolean",
    "y/s32 = Or 1000x1000/s32 1000x1000/s32",
    "PReLU 1000x1000 1000c",
    "Pad 1000x998 pads_begin=0,1 pads_end=0,1",
    "y/u8 = Quantize 1000x1000 scales=0.1 zps=128",
    "x,s = PReLUBackward 1000x1000 1000 1000x1000",
    "Pow 1000x1000 beta=2",
    "y<1,1000> = Reorder 1000x1000",
    "y/f32 = RandomUniform 1/s64 1/s64 shape=1000,1000",
    "RMSNorm 1000x1000 1000c",
    "x,g = RMSNormBackward 1000x1000 1000x1000 1000",
    "RoiAlign 1x56x56x256 80x4 80/s64 output_height=7 output_width=7",
    "ScatterElements 1000x1000 1000x1000/s64 1000x1000",
    "ScatterND 1000x1000 1000x1/s64 1000x1000",
    "y/s64 = Shape 1000x1000",
    "Slice 1000x2000 begins=0 ends=1000 axes=1",
    "Select 1000x1000/boolean 1000x1000 1000x1000",
    "SoftMax 1000x1000 axis=-1",
    "StaticReshape 1000x1000 shape=500,2000 special_zero=false",
    "StaticTranspose 1000x1000 order=1,0",
    "v,i/s64 = TopK 1000x1000 k=10",
    "y/s8 = TypeCast 1000x1000",
};

std::vector<std::string> millionCases() {
  std::vector<std::string> cases;
  for (const graph::OpInfo &op : graph::allOps()) {
    // The text of a graph says no shapes of results.
    bool isShaped = std::ranges::any_of(op.operands, [](const auto &operand) {
      return operand.isShape && !operand.optional;
    });
    if (op.compiles.empty() || op.results.empty() || isShaped)
      continue;
    std::string kind(op.kind);
    std::string text;
    for (std::string form : kForms)
      if (form.starts_with(kind + " ") ||
          form.find("= " + kind + " ") != std::string::npos)
        text = form;
    if (text.empty() && op.category == "reduction")
      text = kind + " 1000x1000 axes=1";
    else if (text.empty())
      text = kind +
             (op.operands.size() == 1 ? " 1000x1000" : " 1000x1000 1000x1000");
    cases.push_back(text);
  }
  return cases;
}

static double bytesOf(const graph::LogicalTensor &t) {
  return double(t.numElements()) * graph::byteSize(t.dtype);
}

Work workOf(const graph::Graph &g) {
  const graph::Op &op = g.ops.front();
  Work work;
  for (uint64_t id : op.inputs)
    work.readBytes += bytesOf(g.tensor(id));
  for (uint64_t id : op.outputs)
    work.writtenBytes += bytesOf(g.tensor(id));
  double results = double(g.tensor(op.outputs[0]).numElements());
  if (op.kind == "MatMul") {
    work.flops = 2 * results * double(g.tensor(op.inputs[0]).shape->back());
  } else if (op.kind.starts_with("Conv")) {
    // Each element of the small tensor of the window meets all weights of its
    // channel; data are NXC.
    bool toWeights = op.kind.ends_with("BackwardWeights");
    bool fromSmall = op.kind == "ConvTranspose" ||
                     op.kind == "ConvolutionBackwardData" ||
                     op.kind == "ConvTransposeBackwardWeights";
    uint64_t small = fromSmall   ? op.inputs[0]
                     : toWeights ? op.inputs[1]
                                 : op.outputs[0];
    const graph::LogicalTensor &w =
        g.tensor(toWeights ? op.outputs[0] : op.inputs[1]);
    work.flops = 2 * double(g.tensor(small).numElements()) *
                 double(w.numElements()) /
                 double(g.tensor(small).shape->back());
  } else if (graph::factsOf(op.kind).opClass == graph::OpClass::recurrent) {
    // Each step multiplies with all weights.
    const graph::Dims &src = *g.tensor(op.inputs[0]).shape;
    work.flops = 2 * double(src[0] * src[1]) *
                 double(g.tensor(op.inputs[1]).numElements() +
                        g.tensor(op.inputs[2]).numElements());
  } else if (const graph::AttrValue *kernel = op.attr("kernel")) {
    work.flops = 2 * results;
    for (int64_t size : std::get<graph::Dims>(*kernel))
      work.flops *= double(size);
  }
  return work;
}

} // namespace tenon::test
