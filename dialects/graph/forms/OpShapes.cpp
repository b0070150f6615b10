//===- OpShapes.cpp - guesses at shapes, by shape rule --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See OpForms.h.  A rule without a line here keeps the shape of operand 0.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/forms/Draft.h"

#include "dialects/graph/infer/Shapes.h"

#include <algorithm>
#include <numeric>

namespace tenon::forms {

using namespace graph;

//===----------------------------------------------------------------------===//
// Draft
//===----------------------------------------------------------------------===//

int64_t Draft::dim() {
  return random.chance(70) ? random.pick(options.palette) : boundaryDim(random);
}

Dims Draft::source(size_t minRank, size_t maxRank) {
  if (first) {
    Dims shape = first->shape.value_or(Dims());
    failed |= shape.size() < minRank || shape.size() > maxRank;
    return failed ? Dims(minRank, 1) : shape;
  }
  static constexpr size_t ranks[] = {0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5};
  size_t rank = std::clamp(random.pick(ranks), minRank, maxRank);
  Dims shape;
  int64_t room = options.maxElements;
  for (size_t i = 0; i < rank; ++i) {
    int64_t size = dim();
    shape.push_back(size <= room ? size : 1);
    room /= std::max<int64_t>(shape.back(), 1);
  }
  return shape;
}

Dims Draft::stretching(const Dims &shape) {
  Dims result = shape;
  if (random.chance(40))
    return result;
  if (random.chance(10))
    return {};
  if (!result.empty() && random.chance(60))
    result.erase(result.begin(),
                 result.begin() +
                     random.in(0, static_cast<int64_t>(result.size()) - 1));
  for (int64_t &size : result)
    if (random.chance(30))
      size = 1;
  return result;
}

int64_t Draft::anySpelling(int64_t axis, size_t rank) {
  return random.chance(40) ? axis - static_cast<int64_t>(rank) : axis;
}

std::string Draft::word(std::string_view name) const {
  auto given = attrs.find(name);
  if (given != attrs.end())
    if (const auto *text = std::get_if<std::string>(&given->second))
      return *text;
  const AttrInfo *attr = info.attr(name);
  return attr && attr->defaultText ? std::string(*attr->defaultText) : "";
}

bool Draft::flag(std::string_view name) const {
  auto given = attrs.find(name);
  if (given != attrs.end())
    if (const bool *value = std::get_if<bool>(&given->second))
      return *value;
  const AttrInfo *attr = info.attr(name);
  return attr && attr->defaultText == "true";
}

namespace {

Dims &firstShape(Draft &d) {
  return d.shapes[std::string(d.info.operands[0].name) +
                  (d.info.operands[0].variadic ? "0" : "")];
}

size_t channelDim(Draft &d, size_t rank) {
  return rank < 2 ? 0 : d.word("data_format") == "NCX" ? 1 : rank - 1;
}

int64_t anyAxis(Draft &d, const Dims &shape) {
  auto rank = static_cast<int64_t>(shape.size());
  return d.anySpelling(d.random.in(0, std::max<int64_t>(rank - 1, 0)),
                       shape.size());
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

void same(Draft &d) { firstShape(d) = d.source(0, 5); }

void broadcast(Draft &d) {
  Dims shape = firstShape(d) = d.source(0, 5);
  Dims other = d.word("auto_broadcast") == "none" ? shape : d.stretching(shape);
  // Either side may be the small one, or both.
  if (d.random.chance(15) && shape.size() < 5)
    other.insert(other.begin(), d.dim());
  if (!d.first && d.random.chance(30))
    std::swap(other, firstShape(d));
  d.shapes["src_1"] = other;
}

/// Either the operand or attribute beta says the exponent.
void pow(Draft &d) {
  if (d.operands == 2) {
    d.attrs.erase("beta");
    broadcast(d);
    d.shapes["exponent"] = d.shapes["src_1"];
    return;
  }
  firstShape(d) = d.source(0, 5);
  if (!d.attrs.contains("beta"))
    d.set("beta", 2.0f);
}

void select(Draft &d) {
  Dims shape = d.source(0, 5);
  bool equal = d.word("auto_broadcast") == "none";
  firstShape(d) = equal || d.first ? shape : d.stretching(shape);
  d.shapes["src_0"] = shape;
  d.shapes["src_1"] = equal ? shape : d.stretching(shape);
}

void perChannel(Draft &d) {
  Dims shape = firstShape(d) = d.source(2, 5);
  Dims channels = {shape[channelDim(d, shape.size())]};
  for (size_t i = 1; i < d.info.operands.size(); ++i)
    d.shapes[std::string(d.info.operands[i].name)] = channels;
}

void prelu(Draft &d) {
  Dims shape = firstShape(d) = d.source(1, 5);
  d.shapes["slope"] = d.random.chance(50)
                          ? Dims{shape[channelDim(d, shape.size())]}
                          : d.stretching(shape);
}

void dropout(Draft &d) {
  firstShape(d) = d.source(0, 5);
  for (const char *role : {"seed", "offset", "probability"})
    d.shapes[role] = d.random.chance(50) ? Dims{} : Dims{1};
}

//===----------------------------------------------------------------------===//
// Contractions and windows
//===----------------------------------------------------------------------===//

void matmul(Draft &d) {
  Dims src = firstShape(d) = d.source(1, 5);
  size_t rank = src.size();
  int64_t inner =
      rank > 1 && d.flag("transpose_a") ? src[rank - 2] : src[rank - 1];
  int64_t rows =
      rank > 1 ? src[d.flag("transpose_a") ? rank - 1 : rank - 2] : 1;
  int64_t columns = d.dim();
  Dims weights = {inner, columns}, batch;
  if (d.flag("transpose_b"))
    std::swap(weights[0], weights[1]);
  bool isVector = d.random.chance(10);
  if (isVector)
    weights = {inner};
  else if (rank > 2 && d.random.chance(50))
    batch = d.stretching(Dims(src.begin(), src.end() - 2));
  weights.insert(weights.begin(), batch.begin(), batch.end());
  d.shapes["weights"] = weights;
  Dims dst(src.begin(), src.end() - std::min<size_t>(rank, 2));
  if (rank > 1)
    dst.push_back(rows);
  if (!isVector)
    dst.push_back(columns);
  d.shapes["bias"] = !dst.empty() && d.random.chance(60) ? Dims{dst.back()}
                                                         : d.stretching(dst);
}

struct WindowSizes {
  Dims kernel, strides, dilations, padsBegin, padsEnd;
};

WindowSizes window(Draft &d, size_t spatial) {
  WindowSizes w;
  // An attribute of the list is there, or absent for the default.
  bool dilated = d.random.chance(25), padded = d.random.chance(50);
  for (size_t i = 0; i < spatial; ++i) {
    w.kernel.push_back(d.random.pick({1, 2, 3, 3}));
    w.strides.push_back(d.random.pick({1, 1, 2, 3}));
    w.dilations.push_back(dilated ? d.random.in(1, 2) : 1);
    // Seldom windows of nothing but padding.
    int64_t most = d.random.chance(10) ? 2 : w.kernel.back() - 1;
    w.padsBegin.push_back(padded ? d.random.in(0, most) : 0);
    w.padsEnd.push_back(padded ? d.random.in(0, most) : 0);
  }
  d.set("strides", w.strides);
  d.set("pads_begin", w.padsBegin);
  d.set("pads_end", w.padsEnd);
  if (const AttrInfo *attr = d.info.attr("dilations");
      attr && (attr->required || dilated))
    d.set("dilations", w.dilations);
  d.set("kernel", w.kernel);
  if (d.random.chance(70))
    d.attrs.erase("auto_pad");
  return w;
}

/// Batch, spatial sizes that leave room for a window, channels.
Dims image(Draft &d) {
  if (d.first)
    return d.source(3, 5);
  size_t rank = d.random.pick({3, 4, 4, 4, 5});
  Dims shape(rank);
  for (int64_t &size : shape)
    size = d.random.in(rank == 5 ? 2 : 3, rank == 5 ? 5 : 9);
  shape[0] = d.random.in(1, 3);
  shape[channelDim(d, rank)] = d.random.pick({1, 2, 3, 4, 6, 8, 16, 17});
  if (d.random.chance(3))
    shape[d.random.in(0, static_cast<int64_t>(rank) - 1)] = 0;
  return shape;
}

int64_t someDivisor(Draft &d, int64_t number) {
  if (number < 2 || d.random.chance(50))
    return 1;
  Dims divisors;
  for (int64_t i = 2; i <= number; ++i)
    if (number % i == 0)
      divisors.push_back(i);
  return d.random.chance(40) ? number : d.random.pick(divisors);
}

int64_t countOf(const Dims &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                         std::multiplies<>());
}

/// Weights with the dim that counts all channels of the narrow tensor and the
/// one that counts those of the wide one per group.
Dims filter(Draft &d, const Dims &kernel, int64_t full, int64_t perGroup) {
  std::string format = d.word("weights_format");
  Dims shape = kernel;
  if (format.starts_with("X"))
    shape.insert(shape.end(), {perGroup, full});
  else
    shape.insert(shape.begin(), {full, perGroup});
  return shape;
}

void convolution(Draft &d) {
  Dims src = firstShape(d) = image(d);
  if (d.failed)
    return;
  int64_t channels = src[channelDim(d, src.size())];
  int64_t groups = someDivisor(d, channels);
  d.set("groups", groups);
  int64_t results = groups * d.random.pick({1, 1, 2, 3, 4, 8});
  WindowSizes w = window(d, src.size() - 2);
  d.shapes["weights"] =
      filter(d, w.kernel, results, channels / std::max<int64_t>(groups, 1));
  d.shapes["bias"] = {results};
}

void convTranspose(Draft &d) {
  Dims src = firstShape(d) = image(d);
  if (d.failed)
    return;
  int64_t channels = src[channelDim(d, src.size())];
  int64_t groups = someDivisor(d, channels);
  d.set("groups", groups);
  int64_t perGroup = d.random.pick({1, 2, 3, 4, 8});
  WindowSizes w = window(d, src.size() - 2);
  if (d.random.chance(30)) {
    Dims padding;
    for (int64_t stride : w.strides)
      padding.push_back(d.random.in(0, stride - 1));
    d.set("output_padding", padding);
  }
  d.shapes["weights"] = filter(d, w.kernel, channels, perGroup);
  d.shapes["bias"] = {groups * perGroup};
}

void pool(Draft &d) {
  Dims src = firstShape(d) = image(d);
  if (!d.failed)
    window(d, src.size() - 2);
}

/// Antialiasing does not compile where dst is a small part of src.
void withoutWideFilters(Draft &d) {
  if (d.options.onlyCompiling)
    d.attrs.erase("antialias");
}

void interpolate(Draft &d) {
  Dims src = firstShape(d) = image(d);
  if (d.failed)
    return;
  d.attrs.erase("sizes");
  d.attrs.erase("scales");
  Dims sizes;
  std::vector<float> scales;
  for (size_t i = 2; i < src.size(); ++i) {
    sizes.push_back(d.random.in(1, 9));
    scales.push_back(d.random.pick({0.5f, 1.0f, 1.5f, 2.0f}));
  }
  if (d.random.chance(60))
    d.set("sizes", sizes);
  else
    d.set("scales", scales);
  if (!d.attrs.contains("scales"))
    d.attrs.erase("ratio");
  withoutWideFilters(d);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void alongAxis(Draft &d) {
  Dims shape = firstShape(d) = d.source(1, 5);
  // The default of SoftMax is 1.
  if (shape.size() < 2 || d.random.chance(75))
    d.set("axis", anyAxis(d, shape));
  else
    d.attrs.erase("axis");
}

void rowNorm(Draft &d) {
  Dims shape = firstShape(d) = d.source(1, 5);
  int64_t axis = d.random.chance(70) ? -1 : anyAxis(d, shape);
  if (axis == -1 && d.random.chance(50))
    d.attrs.erase("begin_norm_axis");
  else
    d.set("begin_norm_axis", axis);
  size_t begin = axis < 0 ? axis + shape.size() : axis;
  Dims rest(shape.begin() + begin, shape.end());
  d.shapes["gamma"] = d.shapes["beta"] = rest;
  d.set("keep_stats", d.results == 3);
  if (d.operands == 1)
    d.set("use_affine", false);
}

void groupNorm(Draft &d) {
  perChannel(d);
  if (d.failed)
    return;
  d.set("groups", someDivisor(d, d.shapes["gamma"][0]));
  d.set("keep_stats", d.results == 3);
  if (d.operands == 1)
    d.set("use_affine", false);
}

void reduce(Draft &d) {
  Dims shape = firstShape(d) = d.source(0, 5);
  Dims axes;
  for (size_t i = 0; i < shape.size(); ++i)
    if (d.random.chance(45))
      axes.push_back(d.anySpelling(static_cast<int64_t>(i), shape.size()));
  if (!axes.empty() && d.random.chance(20))
    std::swap(axes.front(), axes.back());
  d.set("axes", axes);
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

void concat(Draft &d) {
  ++d.operands; // drawn as any number, but one is needed
  Dims shape = firstShape(d) = d.source(1, 5);
  int64_t axis = d.random.in(0, static_cast<int64_t>(shape.size()) - 1);
  d.set("axis", d.anySpelling(axis, shape.size()));
  for (size_t i = 1; i < d.operands; ++i) {
    Dims other = shape;
    if (d.random.chance(60))
      other[axis] = d.dim();
    d.shapes[std::string(d.info.operands[0].name) + std::to_string(i)] = other;
  }
}

void reshape(Draft &d) {
  Dims shape = firstShape(d) = d.source(0, 5);
  bool copies = d.random.chance(30);
  Dims target = regrouped(d, shape);
  int64_t count = countOf(shape);
  for (size_t i = 0; copies && i < target.size() && i < shape.size(); ++i)
    if (target[i] == shape[i] && d.random.chance(60))
      target[i] = 0;
  if (!target.empty() && count > 0 && d.random.chance(40))
    target[d.random.in(0, static_cast<int64_t>(target.size()) - 1)] = -1;
  d.set("shape", target);
  d.set("special_zero", copies);
}

void transpose(Draft &d) {
  Dims shape = firstShape(d) = d.source(0, 5);
  Dims order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[d.random.in(0, static_cast<int64_t>(i) - 1)]);
  for (int64_t &axis : order)
    if (d.random.chance(10))
      axis -= static_cast<int64_t>(shape.size());
  if (d.random.chance(10))
    order.clear();
  d.set("order", order);
}

/// End, Wildcard: any shapes, also of the results.
void anything(Draft &d) {
  firstShape(d) = d.source(0, 5);
  for (size_t i = 1; i < d.operands; ++i)
    d.shapes[std::string(d.info.operands[0].name) + std::to_string(i)] =
        d.source(0, 5);
  for (size_t i = 0; i < d.results; ++i)
    d.shapes["dst" + std::to_string(i)] = d.source(0, 5);
}

//===----------------------------------------------------------------------===//
// Quantisation
//===----------------------------------------------------------------------===//

void quantize(Draft &d) {
  Dims shape = firstShape(d) = d.source(0, 5);
  int64_t count = 1;
  if (d.word("qtype") == "per_channel") {
    if (shape.empty())
      d.failed = true;
    else {
      int64_t axis = d.random.in(0, static_cast<int64_t>(shape.size()) - 1);
      count = shape[axis];
      d.set("axis", d.anySpelling(axis, shape.size()));
    }
  }
  if (d.word("qtype") == "per_group") {
    Dims groups, scales;
    for (int64_t size : shape) {
      groups.push_back(someDivisor(d, size));
      scales.push_back(size / groups.back());
    }
    d.set("group_shape", groups);
    d.shapes["scales"] = d.shapes["zps"] = scales;
    return;
  }
  d.shapes["scales"] = count == 1 && d.random.chance(30) ? Dims{} : Dims{count};
  d.shapes["zps"] = d.random.chance(50) ? Dims{1} : Dims{count};
  std::vector<float> scales;
  Dims zps;
  for (int64_t i = 0; i < count; ++i) {
    scales.push_back(d.random.pick({0.25f, 0.5f, 1.0f, 2.0f, 0.1f}));
    zps.push_back(d.random.in(0, 7));
  }
  d.set("scales", scales);
  if (d.random.chance(50))
    d.set("zps", zps);
  else
    d.attrs.erase("zps");
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// The role of the forward operation that `name` of the gradient means.
std::string forwardRole(std::string_view name) {
  if (name.ends_with("_before"))
    name.remove_suffix(7);
  if (name.ends_with("_or_dst"))
    return std::string(name.substr(0, name.size() - 7));
  return std::string(name.starts_with("diff_") ? name.substr(5) : name);
}

void gradient(Draft &d) {
  Roles roles;
  AttrMap attrs;
  if (!guessForward(d, roles, attrs)) {
    d.failed = true;
    return;
  }
  for (const AttrInfo &attr : d.info.attrs) {
    auto forward = attrs.find(attr.name);
    if (forward != attrs.end())
      d.attrs[std::string(attr.name)] = forward->second;
    else if (lookupOp(d.info.backwardOf)->attr(attr.name))
      d.attrs.erase(std::string(attr.name));
  }
  withoutWideFilters(d);
  for (const ValueInfo &operand : d.info.operands)
    if (auto role = roles.find(forwardRole(operand.name)); role != roles.end())
      d.shapes[std::string(operand.name)] = role->second;
  if (d.first && d.shapes[std::string(d.info.operands[0].name)] !=
                     d.first->shape.value_or(Dims()))
    d.failed = true;
  // Where operands do not tell the shape of the result, an attribute or the
  // result itself does.
  for (const AttrInfo &attr : d.info.attrs) {
    if (!attr.name.ends_with("_shape"))
      continue;
    const std::string_view result = d.info.results[0].name;
    Dims shape = roles[forwardRole(result)];
    if (d.random.chance(50))
      d.set(attr.name, shape);
    else
      d.shapes[std::string(result)] = shape;
  }
}

struct ShapeGuess {
  std::string_view rule;
  void (*guess)(Draft &);
};

constexpr ShapeGuess guesses[] = {
    {"arg_extreme", guessSearch},
    {"batch_norm_inference", perChannel},
    {"batch_norm_training", perChannel},
    {"bias_add", perChannel},
    {"broadcast", broadcast},
    {"concat", concat},
    {"conv", convolution},
    {"conv_transpose", convTranspose},
    {"cum_sum", guessSearch},
    {"dropout", dropout},
    {"dynamic_quantize", quantize},
    {"group_norm", groupNorm},
    {"interpolate", interpolate},
    {"layer_norm", rowNorm},
    {"log_softmax", alongAxis},
    {"matmul", matmul},
    {"non_max_suppression", guessSearch},
    {"none", anything},
    {"pool", pool},
    {"pow", pow},
    {"prelu", prelu},
    {"quantize", quantize},
    {"random_uniform", guessSearch},
    {"recurrent", guessRecurrent},
    {"reduce", reduce},
    {"rms_norm", rowNorm},
    {"roi_align", guessSearch},
    {"select", select},
    {"softmax", alongAxis},
    {"static_reshape", reshape},
    {"static_transpose", transpose},
    {"top_k", guessSearch},
    {"wildcard", anything},
};

} // namespace

Dims regrouped(Draft &d, const Dims &shape) {
  Dims target = shape;
  // Join neighbours, split off a divisor, add a 1; any number of times.
  for (int i = 0; i < 3; ++i) {
    auto at = d.random.in(0, std::max<int64_t>(target.size(), 1) - 1);
    if (size_t(at) + 1 < target.size() && d.random.chance(50)) {
      target[at] *= target[at + 1];
      target.erase(target.begin() + at + 1);
    } else if (!target.empty() && d.random.chance(50)) {
      int64_t part = someDivisor(d, target[at]);
      target[at] /= part;
      target.insert(target.begin() + at, part);
    } else if (target.size() < 5 && d.random.chance(30)) {
      target.insert(target.begin() + at, 1);
    }
  }
  if (d.random.chance(10))
    target = {countOf(shape)};
  return target;
}

void guessShapes(Draft &draft) {
  if (!draft.info.backwardOf.empty())
    return gradient(draft);
  if (guessIndexing(draft))
    return;
  for (const ShapeGuess &entry : guesses)
    if (entry.rule == draft.info.shapeRule)
      return entry.guess(draft);
  same(draft);
  // An operation that looks along one dim.
  if (draft.has("axis") && !draft.failed)
    draft.set("axis", anyAxis(draft, firstShape(draft)));
}

} // namespace tenon::forms
