// SPDX-License-Identifier: Apache-2.0
#include "tests/onnx/Cases.h"

#include <algorithm>
#include <array>

namespace tenon::test {

namespace {

struct Exception {
  const char *reason;
  /// Names without the suite; "*" stands for any text.
  std::vector<std::string_view> patterns;
};

/// Cases of ONNX that do not pass, by the reason.
const std::vector<Exception> &exceptions() {
  static const std::vector<Exception> list = {
      {"operators of training (ai.onnx.preview.training) are not converted",
       {"test_adagrad*", "test_adam*", "test_momentum*",
        "test_nesterov_momentum", "test_gradient_of_add*"}},
      {"random numbers, of which ONNX does not say which",
       {"test_bernoulli*", "test_training_dropout",
        "test_training_dropout_default", "test_training_dropout_default_mask",
        "test_training_dropout_mask"}},
      {"elements of type s16, u16, u32 and u64 do not exist in Tenon",
       {"*_int16", "*_uint16", "*_uint32", "*_uint64", "*_int16_expanded",
        "*_uint16_expanded", "*_uint32_expanded", "*_uint64_expanded",
        "test_bitcast_uint16_to_int16", "test_bitcast_uint32_to_int32",
        "test_bitwise_*_i16_3d", "test_bitwise_*_ui64_bcast_3v1d",
        "test_bitwise_not_3d"}},
      {"elements of 2 bits and float4e2m1 do not exist in Tenon",
       {"test_cast*INT2*", "*linear_int2", "*linear_uint2",
        "test_cast*FLOAT4E2M1*", "*linear_float4e2m1"}},
      {"8-bit floats without a negative zero do not exist in Tenon",
       {"test_cast*FNUZ*"}},
      {"text: elements of strings",
       {"test_cast*STRING*", "test_strnormalizer_*", "test_strnorm_*",
        "test_string_*", "test_regex_*", "test_equal_string*",
        "test_ai_onnx_ml_label_encoder_*"}},
      {"images that are decoded", {"test_image_decoder_*"}},
      {"sequences and optionals are no tensors",
       {"test_identity_opt", "test_identity_sequence", "test_if_opt",
        "test_if_seq", "test_loop13_seq", "test_loop16_seq_none",
        "test_optional_get_element", "test_optional_get_element_optional_*",
        "test_optional_get_element_sequence", "test_optional_has_element",
        "test_optional_has_element_empty",
        "test_optional_has_element_empty_optional_input",
        "test_optional_has_element_optional_input",
        "test_optional_has_element_tensor_input", "test_sequence_*",
        "test_split_to_sequence_*"}},
      {"bits of 32 and 64 that are read as another type",
       {"test_bitcast_*float*"}},
      {"scores that a graph in an attribute changes",
       {"test_flexattention_causal_mask", "test_flexattention_prob_mod",
        "test_flexattention_relative_positional",
        "test_flexattention_score_mod", "test_flexattention_soft_cap"}},
      {"trees of decisions are not converted",
       {"test_ai_onnx_ml_tree_ensemble_*"}},
  };
  return list;
}

/// Whether `pattern`, in which "*" stands for any text, is for `name`.
bool matches(std::string_view pattern, std::string_view name) {
  size_t star = pattern.find('*');
  if (star == std::string_view::npos)
    return pattern == name;
  if (name.substr(0, star) != pattern.substr(0, star))
    return false;
  for (size_t i = star; i <= name.size(); ++i)
    if (matches(pattern.substr(star + 1), name.substr(i)))
      return true;
  return false;
}

std::string_view withoutSuite(std::string_view name) {
  return name.substr(name.find('/') + 1);
}

bool isOfOnnx(std::string_view name) {
  return !name.starts_with("microsoft/") && !name.starts_with("control_flow/");
}

} // namespace

const char *exceptionFor(const std::string &name) {
  if (!isOfOnnx(name))
    return nullptr;
  for (const Exception &exception : exceptions())
    for (std::string_view pattern : exception.patterns)
      if (matches(pattern, withoutSuite(name)))
        return exception.reason;
  return nullptr;
}

Accuracy accuracyOf(const std::string &name) {
  struct Row {
    std::string_view pattern;
    Accuracy accuracy;
  };
  static constexpr std::array rows{
      // Outputs with four digits.
      Row{"test_roialign_aligned_*", Accuracy::fewDigits},
      Row{"test_gridsample_bicubic", Accuracy::fewDigits},
      Row{"test_averagepool_2d_ceil_last_window_starts_on_pad",
          Accuracy::fewDigits},
      // Computed with pi as 3.1415, and in the function body 3.14159.
      Row{"test_blackmanwindow*", Accuracy::fewDigits},
      Row{"test_hammingwindow*", Accuracy::fewDigits},
      Row{"test_hannwindow*", Accuracy::fewDigits},
      Row{"test_attention_*_bf16*", Accuracy::roundedOnTheWay},
      Row{"test_attention_*_fp16*", Accuracy::roundedOnTheWay},
      // ONNX Runtime quantises the state of each step.
      Row{"dynamic_quantize_lstm", Accuracy::quantisedOnTheWay},
  };
  for (const Row &row : rows)
    if (matches(row.pattern, withoutSuite(name)))
      return row.accuracy;
  return Accuracy::ofType;
}

std::vector<std::string>
unusedExceptions(const std::vector<std::string> &cases) {
  std::vector<std::string> unused;
  for (const Exception &exception : exceptions())
    for (std::string_view pattern : exception.patterns)
      if (std::none_of(cases.begin(), cases.end(), [&](auto &name) {
            return isOfOnnx(name) && matches(pattern, withoutSuite(name));
          }))
        unused.emplace_back(pattern);
  return unused;
}

} // namespace tenon::test
