//===- Window.cpp - sliding windows over spatial dims ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Window.h.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/Window.h"

namespace tenon::reference {

std::optional<Window> readWindow(OpContext &c, Dims kernel, bool dilated) {
  int spatial = static_cast<int>(kernel.size());
  Window window;
  auto strides = c.spatialList("strides", spatial, 1);
  auto begin = c.spatialList("pads_begin", spatial, 0);
  auto end = c.spatialList("pads_end", spatial, 0);
  auto dilations = dilated ? c.spatialList("dilations", spatial, 1)
                           : std::optional<Dims>(Dims(spatial, 1));
  if (!strides || !begin || !end || !dilations)
    return std::nullopt;
  for (int64_t k : kernel)
    if (k < 1 || k > INT32_MAX) {
      c.fail(ErrorCode::BadDim, "the window has shape " + shapeText(kernel));
      return std::nullopt;
    }
  window.kernel = std::move(kernel);
  window.strides = *strides;
  window.dilations = *dilations;
  window.padsBegin = *begin;
  window.padsEnd = *end;
  return window;
}

void resolveAutoPad(OpContext &c, Window &window, const Dims &spatialDims,
                    bool transposed) {
  std::string mode = c.text("auto_pad", "None");
  if (mode == "None")
    return;
  for (int d = 0; d < window.spatial(); ++d) {
    int64_t stride = window.strides[d];
    int64_t rest = transposed ? 0 : spatialDims[d] % stride;
    int64_t total = window.extent(d) - (rest == 0 ? stride : rest);
    if (mode == "VALID" || total < 0)
      total = 0;
    int64_t smaller = total / 2;
    window.padsBegin[d] = mode == "SAME_LOWER" ? total - smaller : smaller;
    window.padsEnd[d] = total - window.padsBegin[d];
  }
}

bool computeSmall(OpContext &c, Window &window, bool ceil) {
  window.small.clear();
  for (int d = 0; d < window.spatial(); ++d) {
    int64_t free = window.big[d] + window.padsBegin[d] + window.padsEnd[d] -
                   window.extent(d);
    if (free < 0)
      return c.fail(ErrorCode::ShapeMismatch,
                    "the window of " + std::to_string(window.extent(d)) +
                        " exceeds spatial dim " + std::to_string(d) + " of " +
                        std::to_string(window.big[d]) + " padded by " +
                        std::to_string(window.padsBegin[d]) + " and " +
                        std::to_string(window.padsEnd[d]));
    int64_t stride = window.strides[d];
    window.small.push_back((free + (ceil ? stride - 1 : 0)) / stride + 1);
  }
  return true;
}

Dims spatialOf(const Dims &shape, bool channelLast) {
  return channelLast ? Dims(shape.begin() + 1, shape.end() - 1)
                     : Dims(shape.begin() + 2, shape.end());
}

Dims dataShape(int64_t batch, int64_t channels, const Dims &spatial,
               bool channelLast) {
  Dims shape{batch};
  if (!channelLast)
    shape.push_back(channels);
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  if (channelLast)
    shape.push_back(channels);
  return shape;
}

std::vector<double> toChannelLast(const Tensor &tensor, bool channelLast) {
  if (channelLast || tensor.data.empty())
    return tensor.data;
  int64_t batch = tensor.shape[0], channels = tensor.shape[1];
  int64_t inner = tensor.numElements() / (batch * channels);
  std::vector<double> result(tensor.data.size());
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t ch = 0; ch < channels; ++ch)
      for (int64_t x = 0; x < inner; ++x)
        result[(n * inner + x) * channels + ch] =
            tensor.data[(n * channels + ch) * inner + x];
  return result;
}

void fromChannelLast(const std::vector<double> &data, Tensor &tensor,
                     bool channelLast) {
  if (channelLast || tensor.data.empty()) {
    tensor.data = data;
    return;
  }
  int64_t batch = tensor.shape[0], channels = tensor.shape[1];
  int64_t inner = tensor.numElements() / (batch * channels);
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t ch = 0; ch < channels; ++ch)
      for (int64_t x = 0; x < inner; ++x)
        tensor.data[(n * channels + ch) * inner + x] =
            data[(n * inner + x) * channels + ch];
}

Dims unravel(int64_t i, const Dims &dims) {
  Dims index(dims.size(), 0);
  for (size_t d = dims.size(); d-- > 0;) {
    index[d] = i % dims[d];
    i /= dims[d];
  }
  return index;
}

} // namespace tenon::reference
