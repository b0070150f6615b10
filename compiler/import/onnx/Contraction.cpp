// SPDX-License-Identifier: Apache-2.0
//
// Matrix products and convolutions.
#include "compiler/import/onnx/Conversions.h"

namespace tenon::onnx {

static void matMul(NodeContext &n) {
  n.out(0, n.op("MatMul", {n.in(0), n.in(1)}));
}

/// Where both factors are 1, C is the bias of the product.
Value gemmOf(NodeContext &n) {
  graph::AttrMap attrs{{"transpose_a", n.integer("transA", 0) != 0},
                       {"transpose_b", n.integer("transB", 0) != 0}};
  float alpha = n.number("alpha", 1), beta = n.number("beta", 1);
  Value c = beta == 0 ? kNone : n.in(2);
  if (alpha == 1 && beta == 1)
    return n.op("MatMul", {n.in(0), n.in(1), c}, attrs);
  Value product = n.op("MatMul", {n.in(0), n.in(1)}, attrs);
  if (alpha != 1)
    product = n.op("Multiply", {product, n.like(product, alpha)});
  if (c != kNone && beta != 1)
    c = n.op("Multiply", {c, n.like(c, beta)});
  return c == kNone ? product : n.op("Add", {product, c});
}

static void gemm(NodeContext &n) { n.out(0, gemmOf(n)); }

graph::AttrMap convAttrs(NodeContext &n, Value weights, std::string format) {
  int rank = n.rank(weights);
  size_t spatial = rank > 2 ? static_cast<size_t>(rank) - 2 : 0;
  graph::AttrMap attrs{
      {"data_format", "NCX"},
      {"weights_format", std::move(format)},
      {"groups", n.integer("group", 1)},
      {"strides", n.integers("strides").value_or(Dims(spatial, 1))},
      {"dilations", n.integers("dilations").value_or(Dims(spatial, 1))}};
  addPads(n, spatial, attrs);
  return attrs;
}

static void conv(NodeContext &n) {
  n.out(0, n.op("Convolution", {n.in(0), n.in(1), n.in(2)},
                convAttrs(n, n.in(1), "OIX")));
}

/// Pads for the sizes that are wanted, or, without these, for a stride times
/// each size of the image, whatever it is. The odd pad is at the end with
/// SAME_UPPER, else at the beginning.
static void padsFor(NodeContext &n, const std::optional<Dims> &sizes,
                    graph::AttrMap &attrs) {
  Dims in = sizes ? n.knownShape(n.in(0)) : n.shape(n.in(0)),
       weights = n.knownShape(n.in(1));
  auto strides = std::get<Dims>(attrs.at("strides"));
  auto dilations = std::get<Dims>(attrs.at("dilations"));
  size_t spatial = sizes ? sizes->size() : strides.size();
  Dims extra = n.integers("output_padding").value_or(Dims(spatial, 0));
  if (n.failed())
    return;
  if (in.size() != spatial + 2 || weights.size() != spatial + 2 ||
      strides.size() != spatial || dilations.size() != spatial ||
      extra.size() != spatial)
    return n.refuse("an entry for each spatial dim is needed");
  Dims begins(spatial), ends(spatial);
  bool upper = n.text("auto_pad", "NOTSET") == "SAME_UPPER";
  for (size_t i = 0; i < spatial; ++i) {
    int64_t dilated = dilations[i] * (weights[i + 2] - 1) + 1;
    int64_t total = extra[i] + dilated - strides[i];
    if (sizes)
      total += strides[i] * in[i + 2] - (*sizes)[i];
    // What is missing is added at the end.
    if (total < 0) {
      extra[i] -= total;
      total = 0;
    }
    begins[i] = upper ? total / 2 : total - total / 2;
    ends[i] = total - begins[i];
  }
  attrs["pads_begin"] = begins;
  attrs["pads_end"] = ends;
  attrs["auto_pad"] = "None";
  attrs["output_padding"] = extra;
}

static void convTranspose(NodeContext &n) {
  graph::AttrMap attrs = convAttrs(n, n.in(1), "IOX");
  if (std::optional<Dims> extra = n.integers("output_padding"))
    attrs.emplace("output_padding", *extra);
  std::optional<Dims> sizes = n.integers("output_shape");
  // Once it had the batch and the channels as well.
  if (sizes && static_cast<int>(sizes->size()) == n.rank(n.in(0)) &&
      sizes->size() > 2)
    sizes->erase(sizes->begin(), sizes->begin() + 2);
  if (sizes || n.text("auto_pad", "NOTSET").starts_with("SAME"))
    padsFor(n, sizes, attrs);
  n.out(0, n.op("ConvTranspose", {n.in(0), n.in(1), n.in(2)}, attrs));
}

std::span<const OpConversion> contractionConversions() {
  static constexpr OpConversion table[] = {
      {"Conv", 1, conv},
      {"ConvTranspose", 1, convTranspose},
      {"Gemm", 1, gemm},
      {"MatMul", 1, matMul},
  };
  return table;
}

} // namespace tenon::onnx
