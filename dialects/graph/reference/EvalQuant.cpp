//===- EvalQuant.cpp - quantisation ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Quantize:   q = saturate(round_half_even(s / scale + zp)), f8 without
//             saturation but where attribute saturate asks for it
// Dequantize: d = (q - zp) * scale
//
// Decisions.  The division is exact: no rounded reciprocal.  Scale and zero
// point lists may also have a single entry for per_channel.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/OpTable.h"
#include "dialects/graph/reference/OpContext.h"

#include <algorithm>
#include <cmath>

namespace tenon::reference {
namespace {

/// The parameters of one element: scales[i], zps[i].
struct Parameters {
  std::vector<double> scales, zps; // zps may be empty
  /// Index of the scale of an element, given as strides over src's dims with a
  /// group size per dim.
  Dims strides, groups;

  double scale(int64_t i) const { return scales[i]; }
  double zp(int64_t i) const {
    return zps.empty() ? 0 : zps[zps.size() == 1 ? 0 : i];
  }
};

/// Groups given by group_shape; the scales tensor has one dim per src dim.
bool setPerGroup(OpContext &c, const Dims &scalesShape, Parameters &p) {
  const Dims &shape = c.in(0).shape;
  p.groups = c.list("group_shape");
  bool fits =
      p.groups.size() == shape.size() && scalesShape.size() == shape.size();
  for (size_t d = 0; fits && d < shape.size(); ++d)
    fits = p.groups[d] >= 1 && p.groups[d] <= std::max<int64_t>(shape[d], 1) &&
           scalesShape[d] * p.groups[d] == shape[d];
  if (!fits)
    return c.fail(ErrorCode::ShapeMismatch,
                  "group_shape " + shapeText(p.groups) + " times scales " +
                      shapeText(scalesShape) + " is not src " +
                      shapeText(shape));
  p.strides = graph::denseStrides(scalesShape);
  return true;
}

/// How many groups the convolution has that reads tensor `id` as weights with
/// the channels of one group along `axis`, under casts and other quantisation;
/// 0: something else does.
int64_t groupsOfReader(const OpContext &c, uint64_t id, int axis, int rank) {
  int64_t groups = 0;
  auto readers = c.readersOf(id);
  for (const auto &[op, operand] : readers) {
    int64_t here = 0;
    const graph::OpInfo &info = graph::factsOf(op->kind);
    bool isQuant = info.opClass == graph::OpClass::quantization;
    if ((isQuant || op->kind == "TypeCast") && operand == 0) {
      here = groupsOfReader(c, op->outputs[0], axis, rank);
    } else if (info.attr("weights_format") &&
               info.operands[operand].name == "weights") {
      std::string format = op->attrOr<std::string>("weights_format", "XIO");
      bool channelsFirst = format == "OIX" || format == "IOX";
      if (axis == (channelsFirst ? 1 : rank - 2))
        here = op->attrOr<int64_t>("groups", 1);
    }
    if (here == 0 || (groups != 0 && groups != here))
      return 0;
    groups = here;
  }
  return groups;
}

/// Scales for each of `channels` along `axis` of each group of weights: which
/// group it is says the dim of all channels. Returns how many there are.
int64_t setGrouped(const OpContext &c, int axis, Parameters &p) {
  const Dims &shape = c.in(0).shape;
  int rank = c.in(0).rank();
  int64_t groups = groupsOfReader(c, c.op.outputs[0], axis, rank);
  auto count = static_cast<int64_t>(p.scales.size());
  if (groups < 2 || count != groups * shape[axis])
    return shape[axis];
  // Dim 0 where dim 1 has the channels of a group, else the last one.  Of rank
  // 3 both orders have them in dim 1.
  auto format = [&](uint64_t id) {
    for (;;) {
      const graph::Op &reader = *c.readersOf(id)[0].op;
      if (graph::factsOf(reader.kind).attr("weights_format"))
        return reader.attrOr<std::string>("weights_format", "XIO");
      id = reader.outputs[0];
    }
  }(c.op.outputs[0]);
  int full = format == "OIX" || format == "IOX" ? 0 : rank - 1;
  p.groups[full] = std::max<int64_t>(shape[full] / groups, 1);
  p.strides[full] = shape[axis];
  return count;
}

/// Fills strides and groups from qtype, axis, group_shape.
bool setGranularity(OpContext &c, const Dims &scalesShape, Parameters &p) {
  const Dims &shape = c.in(0).shape;
  int rank = c.in(0).rank();
  std::string qtype = c.text("qtype", "per_tensor");
  auto count = static_cast<int64_t>(p.scales.size());
  if (qtype == "per_group") {
    if (!setPerGroup(c, scalesShape, p))
      return false;
  } else {
    p.groups.assign(rank, 1);
    p.strides.assign(rank, 0);
  }
  int64_t needed = 1;
  if (qtype == "per_channel") {
    auto axis = c.axis("axis", 1, rank);
    if (!axis)
      return false;
    needed = shape[*axis];
    if (count != 1)
      p.strides[*axis] = 1;
    if (count > needed && needed > 0)
      needed = setGrouped(c, *axis, p);
  }
  if (qtype != "per_group" && count != 1 && count != needed)
    return c.fail(ErrorCode::AttrValue, std::to_string(count) +
                                            " scales are given, needed are " +
                                            std::to_string(needed));
  auto zps = static_cast<int64_t>(p.zps.size());
  if (zps != 0 && zps != 1 && zps != count)
    return c.fail(ErrorCode::AttrValue, std::to_string(zps) +
                                            " zero points for " +
                                            std::to_string(count) + " scales");
  return true;
}

std::optional<Parameters> staticParameters(OpContext &c) {
  Parameters p;
  for (float scale : c.op.attrOr<std::vector<float>>("scales", {}))
    p.scales.push_back(scale);
  for (int64_t zp : c.list("zps"))
    p.zps.push_back(static_cast<double>(zp));
  if (!setGranularity(c, {}, p))
    return std::nullopt;
  return p;
}

std::optional<Parameters> dynamicParameters(OpContext &c) {
  Parameters p;
  p.scales = c.in(1).data;
  if (c.hasIn(2))
    p.zps = c.in(2).data;
  if (!setGranularity(c, c.in(1).shape, p))
    return std::nullopt;
  return p;
}

/// dst[i] = f(src[i], scale, zp).
template <typename F>
bool apply(OpContext &c, const std::optional<Parameters> &p, F f) {
  const Tensor &src = c.in(0);
  if (!p || !c.setShape(0, src.shape))
    return false;
  Dims index(src.rank(), 0);
  for (int64_t i = 0; i < src.numElements(); ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d)
      at += index[d] / p->groups[d] * p->strides[d];
    c.out().data[i] = f(src.data[i], p->scale(at), p->zp(at));
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < src.shape[d])
        break;
      index[d] = 0;
    }
  }
  return true;
}

bool quantize(OpContext &c, const std::optional<Parameters> &p) {
  if (p && std::find(p->scales.begin(), p->scales.end(), 0) != p->scales.end())
    return c.fail(ErrorCode::AttrValue, "a scale is 0",
                  "nothing can be divided by it");
  DType dtype = c.out().dtype;
  Range range = rangeOf(dtype);
  bool saturates = graph::isFloat(dtype) && c.flag("saturate", false);
  return apply(c, p, [=](double s, double scale, double zp) {
    double steps = s / scale + zp;
    return roundTo(dtype, saturates && !std::isnan(steps)
                              ? std::clamp(steps, range.min, range.max)
                              : steps);
  });
}

bool dequantize(OpContext &c, const std::optional<Parameters> &p) {
  return apply(
      c, p, [](double q, double scale, double zp) { return (q - zp) * scale; });
}

bool evalQuantize(OpContext &c) { return quantize(c, staticParameters(c)); }
bool evalDequantize(OpContext &c) { return dequantize(c, staticParameters(c)); }
bool evalDynamicQuantize(OpContext &c) {
  return quantize(c, dynamicParameters(c));
}
bool evalDynamicDequantize(OpContext &c) {
  return dequantize(c, dynamicParameters(c));
}

} // namespace

std::span<const OpEntry> quantOps() {
  static constexpr OpEntry entries[] = {
      {"Dequantize", evalDequantize},
      {"DynamicDequantize", evalDynamicDequantize},
      {"DynamicQuantize", evalDynamicQuantize},
      {"Quantize", evalQuantize},
  };
  return entries;
}

} // namespace tenon::reference
