//===- InferNorm_test.cpp - normalizations, softmax, reductions -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/graph/infer/RuleTest.h"

namespace tenon::graph::test {
namespace {

TEST(InferNorm, Lrn) {
  runCases({{
      {"LRN", "", "2x5x5x3", "2x5x5x3"},
      {"LRN", "data_format=NCX size=3 alpha=0.1 beta=0.5 k=2", "2x3x5",
       "2x3x5"},
      {"LRN", "algorithm=within_channel", "2x3", "2x3"},
      {"LRN", "size=1", "*", "*"},
      {"LRN", "", "3", "E1202"},
      {"LRN", "size=0", "2x3", "E1208 the least value is 1"},
      {"LRN", "algorithm=sideways", "2x3", "E1208 sideways"},
      {"LRNBackward", "", "2x?x3 2x4x3", "2x4x3"},
      {"LRNBackward", "", "2x4x3 2x4x2", "E1203"},
  }});
}

TEST(InferNorm, GroupNormBackward) {
  runCases({{
      {"GroupNormBackward", "groups=2", "3x5x4 3x5x4 3x2 3x2 4", "3x5x4 4 4"},
      {"GroupNormBackward", "groups=2 data_format=NCX", "3x4x5 3x4x5 3x2 3x2",
       "3x4x5"},
      {"GroupNormBackward", "groups=4", "3x4 3x4 3x4 3x4", "3x4 4"},
      {"GroupNormBackward", "groups=2", "3x4 3x4 3x2 3x2", "3x4 - 4"},
      {"GroupNormBackward", "groups=2", "* 3x4 * *", "3x4 ? ?"},
      {"GroupNormBackward", "groups=2", "?x5x4 3x5x4 *  ?x2", "3x5x4 4"},
      {"GroupNormBackward", "groups=3", "3x4 3x4 3x3 3x3",
       "E1203 groups 3 does not divide the 4 channels"},
      {"GroupNormBackward", "groups=2", "3x4 3x5 3x2 3x2", "E1203 differ"},
      {"GroupNormBackward", "groups=2", "3x4 3x4 3x4 3x2",
       "E1203 mean is 3x4, expected is 3x2"},
      {"GroupNormBackward", "groups=2", "3x4 3x4 3x2 2x2",
       "E1203 variance is 2x2, expected is 3x2"},
      {"GroupNormBackward", "groups=2", "3x4 3x4 3x2 3x2 3",
       "E1203 gamma is 3, expected is 4"},
      {"GroupNormBackward", "groups=2", "4 4 * *", "E1202"},
      {"GroupNormBackward", "", "3x4 3x4 * *", "E1206 groups"},
      {"GroupNormBackward", "groups=0", "3x4 3x4 * *", "E1208 least value"},
      {"GroupNormBackward", "groups=2", "3x4 3x4 bf16:* bf16:*",
       "E1204 type of src"},
  }});
}

TEST(InferNorm, RmsNormBackward) {
  runCases({{
      {"RMSNormBackward", "", "2x3x4 2x3x4 4", "2x3x4 4"},
      {"RMSNormBackward", "begin_norm_axis=1", "2x3x4 2x3x4 3x4", "2x3x4 3x4"},
      {"RMSNormBackward", "begin_norm_axis=1", "2x3x4 2x?x4", "2x3x4 3x4"},
      {"RMSNormBackward", "", "2x4 2x4", "2x4"},
      {"RMSNormBackward", "", "* 2x4", "2x4 *"},
      {"RMSNormBackward", "", "2x4 2x5", "E1203 shapes differ"},
      {"RMSNormBackward", "", "2x4 2x4 5", "E1203 gamma is 5, expected is 4"},
      {"RMSNormBackward", "begin_norm_axis=2", "2x4 2x4", "E1208"},
      {"RMSNormBackward", "", "[] []", "E1202"},
      {"RMSNormBackward", "epsilon=-1", "2x4 2x4", "E1208 negative"},
      {"RMSNormBackward", "", "2x4 2x4 f16:4", "E1204 type of src"},
  }});
}

TEST(InferNorm, BatchNorm) {
  runCases({{
      {"BatchNormInference", "epsilon=0.1", "2x5x5x3 3 3 3 3", "2x5x5x3"},
      {"BatchNormInference", "epsilon=0.1 data_format=NCX", "2x3x5 3 3 3 3",
       "2x3x5"},
      {"BatchNormInference", "epsilon=0.1", "2x3x5 3 3 3 3",
       "E1203 gamma is 3, expected is 5"},
      {"BatchNormInference", "epsilon=-1", "2x3 3 3 3 3", "E1208 negative"},
      {"BatchNormInference", "epsilon=0.1", "2x3 bf16:3 bf16:3 bf16:3 bf16:3",
       "E1204 type of src"},
      {"BatchNormInference", "epsilon=0.1",
       "bf16:2x3 bf16:3 bf16:3 bf16:3 bf16:3", "2x3", "bf16:*"},
      {"BatchNormForwardTraining", "epsilon=0.1", "2x4x3 3 3", "2x4x3 3 3 3 3"},
      {"BatchNormForwardTraining", "epsilon=0.1 momentum=0.9", "2x4x3 3 3 3 3",
       "2x4x3 3 3 3 3"},
      {"BatchNormForwardTraining", "epsilon=0.1", "2x4x3 3 3 3",
       "E1201 gamma but no beta", "* * * * *"},
      {"BatchNormForwardTraining", "epsilon=0.1", "2x4x3 3 3 - 3",
       "E1201 beta but no gamma", "* * * * *"},
      {"BatchNormForwardTraining", "epsilon=0.1", "* 3 3", "* ? ? ? ?"},
      {"BatchNormTrainingBackward", "epsilon=0.1", "2x3 2x3 3 3 3", "2x3 3 3"},
      {"BatchNormTrainingBackward", "epsilon=0.1", "2x3 2x3 3 3", "2x3"},
      {"BatchNormTrainingBackward", "epsilon=0.1", "2x3 2x3 3 3 3",
       "E1201 no diff_beta", "* *"},
      {"BatchNormTrainingBackward", "epsilon=0.1", "2x3 2x3 3 3 3",
       "E1201 no diff_gamma", "* - *"},
      {"BatchNormTrainingBackward", "epsilon=0.1", "2x3 2x3 3 3",
       "E1201 no operand gamma", "* * *"},
      {"BatchNormTrainingBackward", "epsilon=0.1", "2x3 2x4 3 3",
       "E1203 shapes differ"},
  }});
}

TEST(InferNorm, GroupNorm) {
  runCases({{
      {"GroupNorm", "groups=2", "3x5x4 4 4", "3x5x4 3x2 3x2"},
      {"GroupNorm",
       "groups=2 keep_stats=false use_affine=false "
       "data_format=NCX",
       "3x4x5", "3x4x5"},
      {"GroupNorm", "groups=3 keep_stats=false use_affine=false", "3x5x4",
       "E1203 groups 3 does not divide the 4"},
      {"GroupNorm", "groups=2 keep_stats=false", "3x5x4",
       "E1201 no gamma and beta"},
      {"GroupNorm", "groups=2 keep_stats=false", "3x5x4 - 4",
       "E1201 no gamma and beta"},
      {"GroupNorm", "groups=2", "3x5x4 4 4", "E1201 keep_stats=false gives",
       "*"},
      {"GroupNorm", "groups=2", "3x5x4 4 4", "E1201 needed are 3", "* - *"},
      {"GroupNorm", "groups=2 keep_stats=false", "3x5x4 4 4",
       "E1201 need keep_stats=true", "* * *"},
      {"GroupNorm", "groups=2 keep_stats=false", "3x5x4 2 2",
       "E1203 gamma is 2"},
      {"GroupNorm", "keep_stats=false", "3x5x4 4 4", "E1206 groups"},
  }});
}

TEST(InferNorm, LayerNorm) {
  runCases({{
      {"LayerNorm", "", "2x3x4 4 4", "2x3x4 2x3 2x3"},
      {"LayerNorm", "begin_norm_axis=1", "2x3x4 3x4 3x4", "2x3x4 2 2"},
      {"LayerNorm", "begin_norm_axis=0", "2x3 2x3 2x3", "2x3 [] []"},
      {"LayerNorm", "keep_stats=false use_affine=false", "2x3x4", "2x3x4"},
      {"LayerNorm", "", "?x3x? 4 4", "?x3x? ?x3 ?x3"},
      {"LayerNorm", "keep_stats=false", "2x3x4", "E1201 use_affine=true"},
      {"LayerNorm", "keep_stats=false", "2x3x4 - 4", "E1201 use_affine=true"},
      {"LayerNorm", "", "2x3x4 4 4", "E1201 needed are 3", "* - *"},
      {"LayerNorm", "keep_stats=false", "2x3x4 3 3", "E1203 gamma is 3"},
      {"LayerNorm", "keep_stats=false begin_norm_axis=3", "2x3x4 4 4",
       "E1208 outside of [-3, 2]"},
      {"LayerNorm", "keep_stats=false use_affine=false", "[]", "E1202 rank 1"},
      {"LayerNormBackward", "", "2x3x4 2x3x4 2x3 2x3 4", "2x3x4 4 4"},
      {"LayerNormBackward", "", "2x3x4 2x3x4 2x3 2x3 4 4", "2x3x4 4 4"},
      {"LayerNormBackward", "use_affine=false", "2x4 2x4 2 2", "2x4"},
      {"LayerNormBackward", "", "2x4 2x4 2 2", "E1201 pass it as operand 4",
       "* * *"},
      {"LayerNormBackward", "", "2x4 2x4 2 2 - 4", "E1201 no gamma", "* * *"},
      {"LayerNormBackward", "", "2x4 2x4 2 2 4", "E1201 needed are 3", "*"},
      {"LayerNormBackward", "", "2x4 2x4 2 2 4", "E1201 needed are 3", "* - *"},
      {"LayerNormBackward", "use_affine=false", "2x4 2x4 2x1 2",
       "E1203 mean is 2x1"},
      {"RMSNorm", "", "2x3 3", "2x3"},
      {"RMSNorm", "", "2x3", "2x3"},
      {"RMSNorm", "", "f16:2x3 f16:3", "2x3", "f16:*"},
      {"RMSNorm", "", "2x3 f16:3", "E1204 type of src"},
      {"RMSNorm", "", "2x3 2", "E1203 gamma is 2"},
  }});
}

TEST(InferNorm, Softmax) {
  runCases({{
      {"SoftMax", "axis=-1", "2x3", "2x3"},
      {"SoftMax", "", "2x3x4", "2x3x4 2x1x4"},
      {"SoftMax", "", "3", "E1208 it explicitly"},
      {"SoftMax", "axis=5", "*", "*"},
      {"SoftMax", "axis=0", "bf16:3", "3", "f32:*"},
      {"SoftMax", "axis=0", "bf16:3", "E1204 one must be f32", "f16:*"},
      {"SoftMax", "axis=0 mode=safe", "3", "E1208 \"safe\""},
      {"SoftMaxBackward", "axis=0", "2x3 2x3", "2x3"},
      {"SoftMaxBackward", "axis=0", "2x3 3x3", "E1203 shapes differ"},
      {"SoftMaxBackward", "axis=0", "bf16:2 bf16:2", "E1204 or f32", "f16:*"},
      {"LogSoftmax", "", "3", "3"},
      {"LogSoftmaxBackward", "axis=-2", "2x3 2x3", "2x3"},
      {"LogSoftmaxBackward", "axis=-3", "2x3 2x3", "E1208 axis is -3"},
  }});
}

TEST(InferReduce, All) {
  runCases({{
      {"ReduceSum", "axes=[1]", "2x3x4", "2x4"},
      {"ReduceMax", "axes=[-1,0]", "2x3x4", "3"},
      {"ReduceMin", "axes=[0,1,2]", "2x3x4", "[]"},
      {"ReduceMean", "axes=[1] keep_dims=true", "2x3x4", "2x1x4"},
      {"ReduceProd", "axes=[0]", "3x0", "0"},
      {"ReduceL1", "", "2x3", "2x3"},
      {"ReduceL2", "axes=[]", "[]", "[]"},
      {"ReduceSum", "axes=[0]", "?x?", "?"},
      {"ReduceSum", "axes=[0]", "*", "*"},
      {"ReduceSum", "axes=[2]", "2x3", "E1208 outside of [-2, 1]"},
      {"ReduceSum", "axes=[1,-1]", "2x3", "E1208 names dim 1 twice"},
      {"ReduceSum", "axes=[0]", "2x3 1", "E1208 given twice"},
      {"ReduceSum", "", "2x3 1", "?"},
      {"ReduceSum", "", "2x3 ?", "*"},
      {"ReduceSum", "keep_dims=true", "2x3 ?", "?x?"},
      {"ReduceSum", "", "2x3 1", "3", "3"},
      {"ReduceSum", "axes=[] keep_dims=true", "2x3 2", "1x1", "1x1"},
      {"ReduceSum", "", "2x3 1", "E1203 dst is 3x3", "3x3"},
      {"ReduceSum", "", "2x3 3", "E1203 3 axes"},
      {"ReduceSum", "", "2x3 1x1", "E1202 rank 0 or 1"},
  }});
}

} // namespace
} // namespace tenon::graph::test
