// SPDX-License-Identifier: Apache-2.0
#include "tests/onnx/Cases.h"

#include <algorithm>

namespace tenon::test {

namespace {

struct Exception {
  const char *reason;
  std::vector<const char *> names;
};

/// Cases that do not pass, by the reason.
const std::vector<Exception> &exceptions() {
  static const std::vector<Exception> list = {
      {"operators of training (ai.onnx.preview.training) are not converted",
       {"node/test_adagrad", "node/test_adagrad_multiple", "node/test_adam",
        "node/test_adam_multiple", "node/test_momentum",
        "node/test_momentum_multiple", "node/test_nesterov_momentum",
        "simple/test_gradient_of_add", "simple/test_gradient_of_add_and_mul"}},
      {"random numbers, of which ONNX does not say which",
       {"node/test_bernoulli", "node/test_bernoulli_double",
        "node/test_bernoulli_double_expanded", "node/test_bernoulli_expanded",
        "node/test_bernoulli_seed", "node/test_bernoulli_seed_expanded",
        "node/test_training_dropout", "node/test_training_dropout_default",
        "node/test_training_dropout_default_mask",
        "node/test_training_dropout_mask"}},
      {"elements of type s16, u16, u32 and u64 do not exist in Tenon",
       {"node/test_bitshift_left_uint16",
        "node/test_bitshift_left_uint32",
        "node/test_bitshift_left_uint64",
        "node/test_bitshift_right_uint16",
        "node/test_bitshift_right_uint32",
        "node/test_bitshift_right_uint64",
        "node/test_max_int16",
        "node/test_max_uint16",
        "node/test_max_uint32",
        "node/test_max_uint64",
        "node/test_min_int16",
        "node/test_min_uint16",
        "node/test_min_uint32",
        "node/test_min_uint64",
        "node/test_mod_mixed_sign_int16",
        "node/test_mod_uint16",
        "node/test_mod_uint32",
        "node/test_mod_uint64",
        "node/test_pow_types_float32_uint32",
        "node/test_pow_types_float32_uint64"}},
      {"text: elements of strings, and n-grams of them",
       {"node/test_cast_FLOAT_to_STRING",
        "node/test_cast_STRING_to_FLOAT",
        "node/test_castlike_FLOAT_to_STRING",
        "node/test_castlike_FLOAT_to_STRING_expanded",
        "node/test_castlike_STRING_to_FLOAT",
        "node/test_castlike_STRING_to_FLOAT_expanded",
        "node/test_strnormalizer_export_monday_casesensintive_lower",
        "node/test_strnormalizer_export_monday_casesensintive_nochangecase",
        "node/test_strnormalizer_export_monday_casesensintive_upper",
        "node/test_strnormalizer_export_monday_empty_output",
        "node/test_strnormalizer_export_monday_insensintive_upper_twodim",
        "node/test_strnormalizer_nostopwords_nochangecase",
        "node/test_tfidfvectorizer_tf_batch_onlybigrams_skip0",
        "node/test_tfidfvectorizer_tf_batch_onlybigrams_skip5",
        "node/test_tfidfvectorizer_tf_batch_uniandbigrams_skip5",
        "node/test_tfidfvectorizer_tf_only_bigrams_skip0",
        "node/test_tfidfvectorizer_tf_onlybigrams_levelempty",
        "node/test_tfidfvectorizer_tf_onlybigrams_skip5",
        "node/test_tfidfvectorizer_tf_uniandbigrams_skip5",
        "simple/test_strnorm_model_monday_casesensintive_lower",
        "simple/test_strnorm_model_monday_casesensintive_nochangecase",
        "simple/test_strnorm_model_monday_casesensintive_upper",
        "simple/test_strnorm_model_monday_empty_output",
        "simple/test_strnorm_model_monday_insensintive_upper_twodim",
        "simple/test_strnorm_model_nostopwords_nochangecase"}},
      {"determinants: Tenon has no such operation",
       {"node/test_det_2d", "node/test_det_nd"}},
      {"sequences and optionals are no tensors",
       {"node/test_identity_opt",
        "node/test_identity_sequence",
        "node/test_if_opt",
        "node/test_if_seq",
        "node/test_loop13_seq",
        "node/test_loop16_seq_none",
        "node/test_optional_get_element",
        "node/test_optional_get_element_sequence",
        "node/test_optional_has_element",
        "node/test_optional_has_element_empty",
        "node/test_sequence_insert_at_back",
        "node/test_sequence_insert_at_front",
        "node/test_sequence_map_add_1_sequence_1_tensor",
        "node/test_sequence_map_add_1_sequence_1_tensor_expanded",
        "node/test_sequence_map_add_2_sequences",
        "node/test_sequence_map_add_2_sequences_expanded",
        "node/test_sequence_map_extract_shapes",
        "node/test_sequence_map_extract_shapes_expanded",
        "node/test_sequence_map_identity_1_sequence",
        "node/test_sequence_map_identity_1_sequence_1_tensor",
        "node/test_sequence_map_identity_1_sequence_1_tensor_expanded",
        "node/test_sequence_map_identity_1_sequence_expanded",
        "node/test_sequence_map_identity_2_sequences",
        "node/test_sequence_map_identity_2_sequences_expanded",
        "simple/test_sequence_model1",
        "simple/test_sequence_model2",
        "simple/test_sequence_model3",
        "simple/test_sequence_model4",
        "simple/test_sequence_model5",
        "simple/test_sequence_model6",
        "simple/test_sequence_model7",
        "simple/test_sequence_model8"}},
      {"Loop and Scan are not converted",
       {"node/test_loop11",
        "node/test_range_float_type_positive_delta_expanded",
        "node/test_range_int32_type_negative_delta_expanded",
        "node/test_scan9_sum", "node/test_scan_sum"}},
      {"align_corners with scales: outputs of sizes that are not rounded",
       {"node/test_resize_downsample_scales_cubic_align_corners",
        "node/test_resize_downsample_scales_linear_align_corners"}},
      {"Interpolate does not crop", {"node/test_resize_tf_crop_and_resize"}},
      {"Unique: as many results as the data has different elements",
       {"node/test_unique_not_sorted_without_axis",
        "node/test_unique_sorted_with_axis",
        "node/test_unique_sorted_with_axis_3d",
        "node/test_unique_sorted_with_negative_axis",
        "node/test_unique_sorted_without_axis"}},
  };
  return list;
}

} // namespace

const char *exceptionFor(const std::string &name) {
  for (const Exception &exception : exceptions())
    if (std::find(exception.names.begin(), exception.names.end(), name) !=
        exception.names.end())
      return exception.reason;
  return nullptr;
}

bool hasRoundedNumbers(const std::string &name) {
  static const std::vector<std::string_view> names = {
      // Outputs with four digits.
      "node/test_roialign_aligned_false",
      "node/test_roialign_aligned_true",
      "node/test_gridsample_bicubic",
      // Computed with pi as 3.1415, and in the function body 3.14159.
      "node/test_blackmanwindow",
      "node/test_blackmanwindow_symmetric",
      "node/test_hammingwindow",
      "node/test_hammingwindow_symmetric",
      "node/test_hannwindow",
      "node/test_hannwindow_symmetric",
      "node/test_blackmanwindow_expanded",
      "node/test_blackmanwindow_symmetric_expanded",
      "node/test_hammingwindow_expanded",
      "node/test_hammingwindow_symmetric_expanded",
      "node/test_hannwindow_expanded",
      "node/test_hannwindow_symmetric_expanded",
  };
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> exceptionNames() {
  std::vector<std::string> names;
  for (const Exception &exception : exceptions())
    names.insert(names.end(), exception.names.begin(), exception.names.end());
  return names;
}

} // namespace tenon::test
