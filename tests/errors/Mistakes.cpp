//===- Mistakes.cpp - what can be wrong with an operation -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Mistakes.h.
//
//===----------------------------------------------------------------------===//
#include "tests/errors/Mistakes.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tenon::test {

using namespace forms;
using namespace graph;
using enum ErrorCode;

namespace {

class Collector {
public:
  Collector(const OpInfo &info, const OpForm &form) : info(info), form(form) {}

  std::vector<Mistake> collect() {
    counts();
    dtypes();
    shapes(form.inputs, info.operands, /*results=*/false);
    shapes(form.outputs, info.results, /*results=*/true);
    sizes();
    for (const AttrInfo &attr : info.attrs)
      attribute(attr);
    Mistake &unknown =
        add("an unknown attribute", {UnknownAttr}, {"frobnicate"});
    unknown.form.op.attrs["frobnicate"] = int64_t(1);
    return std::move(mistakes);
  }

private:
  Mistake &add(std::string what, std::set<ErrorCode> codes,
               std::vector<std::string> says) {
    mistakes.push_back(
        {std::move(what), form, std::move(codes), std::move(says)});
    return mistakes.back();
  }

  void counts() {
    countsOf("operands", &OpForm::inputs, info.operands, info.operandCounts);
    countsOf("results", &OpForm::outputs, info.results, info.resultCounts);
  }

  void countsOf(const char *what, std::vector<LogicalTensor> OpForm::*member,
                std::span<const ValueInfo> values,
                std::span<const int> allowed) {
    bool variadic = std::any_of(values.begin(), values.end(),
                                [](const ValueInfo &v) { return v.variadic; });
    if (allowed.empty() && variadic)
      return;
    std::vector<int> counts(allowed.begin(), allowed.end());
    if (counts.empty())
      counts.push_back(static_cast<int>(values.size()));
    auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    for (int count : {*least - 1, *most + 1, *most + 7}) {
      if (count < 0)
        continue;
      Mistake &m = add(std::to_string(count) + " " + what, {OperandCount},
                       {"has " + std::to_string(count) + " " + what});
      LogicalTensor filler;
      filler.dtype = DType::f32;
      filler.shape = Dims{2, 3};
      if (!(form.*member).empty())
        filler = (form.*member).back();
      (m.form.*member).resize(static_cast<size_t>(count), filler);
    }
  }

  void dtypes() {
    dtypesOf(&OpForm::inputs, info.operands);
    dtypesOf(&OpForm::outputs, info.results);
  }

  void dtypesOf(std::vector<LogicalTensor> OpForm::*member,
                std::span<const ValueInfo> values) {
    for (size_t i = 0; i < (form.*member).size(); ++i) {
      const ValueInfo &value = values[std::min(i, values.size() - 1)];
      const TypeVarInfo *var = info.typeVar(value.typeVar);
      if (!var)
        continue;
      auto allows = [&](DType type) {
        return std::find(var->allowed.begin(), var->allowed.end(), type) !=
               var->allowed.end();
      };
      for (DType type : {DType::s64, DType::boolean, DType::f8_e4m3, DType::s4,
                         DType::undef, DType::s32, DType::u8}) {
        if (allows(type))
          continue;
        Mistake &m =
            add(std::string(name(type)) + " as " + roleName(values, i),
                {BadDType}, {roleName(values, i), std::string(name(type))});
        (m.form.*member)[i].dtype = type;
      }
      // Two values of one variable.
      for (DType type : var->allowed)
        if (type != (form.*member)[i].dtype && shares(value.typeVar) > 1) {
          Mistake &m = add("two types for " + std::string(value.typeVar),
                           {BadDType}, {std::string(name(type))});
          (m.form.*member)[i].dtype = type;
          break;
        }
    }
  }

  /// Values of the form with this type variable.
  size_t shares(std::string_view typeVar) const {
    size_t count = 0;
    for (size_t i = 0; i < form.inputs.size(); ++i)
      count += info.operands[std::min(i, info.operands.size() - 1)].typeVar ==
               typeVar;
    for (size_t i = 0; i < form.outputs.size(); ++i)
      count +=
          info.results[std::min(i, info.results.size() - 1)].typeVar == typeVar;
    return count;
  }

  /// What no tensor may have, whatever the operation.
  void shapes(const std::vector<LogicalTensor> &tensors,
              std::span<const ValueInfo> values, bool results) {
    auto change = [&](Mistake &m, size_t i) -> LogicalTensor & {
      return results ? m.form.outputs[i] : m.form.inputs[i];
    };
    for (size_t i = 0; i < tensors.size(); ++i) {
      std::string role = roleName(values, i);
      Mistake &deep = add("rank 13 of " + role, {BadRank}, {role, "13"});
      change(deep, i).shape = Dims(13, 1);
      Mistake &negative =
          add("a negative dim of " + role, {BadDim}, {role, "-7"});
      change(negative, i).shape = Dims{2, -7};
      Mistake &huge =
          add("too many elements of " + role, {BadDim}, {role, "4294967296"});
      change(huge, i).shape = Dims{4294967296, 4294967296};
      Mistake &strides =
          add("one stride too many of " + role, {BadStride}, {role, "strides"});
      change(strides, i).strides = Dims(tensors[i].shape->size() + 1, 1);
      if (tensors[i].shape->empty())
        continue;
      Mistake &back =
          add("a negative stride of " + role, {BadStride}, {role, "-5"});
      change(back, i).strides = Dims(tensors[i].shape->size(), -5);
    }
  }

  /// A dim that no longer fits the others. Operations are free to accept some.
  void sizes() {
    for (size_t i = 0; i < form.inputs.size(); ++i)
      for (size_t d = 0; d < form.inputs[i].shape->size(); ++d) {
        Mistake &m = add("operand " + std::to_string(i) + " with another dim " +
                             std::to_string(d),
                         {}, {});
        (*m.form.inputs[i].shape)[d] += 1009;
      }
    for (size_t i = 0; i < form.inputs.size(); ++i) {
      Mistake &lower =
          add("operand " + std::to_string(i) + " of rank 0", {}, {});
      lower.form.inputs[i].shape = Dims{};
      Mistake &higher =
          add("operand " + std::to_string(i) + " of a higher rank", {}, {});
      higher.form.inputs[i].shape->insert(higher.form.inputs[i].shape->begin(),
                                          1009);
    }
    if (info.opClass == OpClass::structural)
      return;
    for (size_t i = 0; i < form.outputs.size(); ++i) {
      std::string role = roleName(info.results, i);
      // What the result itself decides can not clash with it.
      bool decides = std::any_of(
          info.attrs.begin(), info.attrs.end(), [](const AttrInfo &attr) {
            return attr.name.ends_with("_shape") && !attr.required;
          });
      for (size_t slot = 0; slot < form.inputs.size(); ++slot)
        decides |=
            info.operands[std::min(slot, info.operands.size() - 1)].isShape;
      Mistake &rank = add("a higher rank of " + role,
                          {ShapeMismatch, BadRank, OperandCount}, {});
      rank.form.outputs[i].shape->insert(rank.form.outputs[i].shape->begin(),
                                         1009);
      for (size_t d = 0; d < form.outputs[i].shape->size(); ++d) {
        Mistake &m = add("another dim " + std::to_string(d) + " of " + role,
                         decides ? std::set<ErrorCode>()
                                 : std::set<ErrorCode>{ShapeMismatch},
                         {});
        (*m.form.outputs[i].shape)[d] += 1009;
        if (!decides)
          m.says.push_back(std::to_string((*m.form.outputs[i].shape)[d]));
      }
    }
  }

  void attribute(const AttrInfo &attr) {
    std::string label(attr.name);
    if (attr.required) {
      Mistake &m = add("no " + label, {MissingAttr}, {label});
      m.form.op.attrs.erase(label);
    }
    const std::pair<AttrType, AttrValue> values[] = {
        {AttrType::f32, 0.5f},
        {AttrType::s64, int64_t(1)},
        {AttrType::boolean, true},
        {AttrType::string, std::string("text")},
        {AttrType::s64s, Dims{1, 1}},
        {AttrType::f32s, std::vector<float>{1, 1}}};
    for (auto &[type, value] : values) {
      if (type == attr.type)
        continue;
      Mistake &m =
          add(label + " of type " + std::string(name(type)), {AttrType_},
              {label, std::string(name(type)), std::string(name(attr.type))});
      m.form.op.attrs[label] = value;
    }
    if (!attr.allowed.empty()) {
      Mistake &m = add("a word for " + label, {AttrValue_}, {label, "maybe"});
      m.form.op.attrs[label] = std::string("maybe");
      Mistake &upper =
          add("another spelling for " + label, {AttrValue_}, {label});
      std::string word(attr.allowed[0]);
      for (char &c : word)
        c = static_cast<char>(
            std::islower(static_cast<unsigned char>(c))
                ? std::toupper(static_cast<unsigned char>(c))
                : std::tolower(static_cast<unsigned char>(c)));
      upper.form.op.attrs[label] = word;
    }
    ranges(attr, label);
  }

  /// Extreme numbers: accepted, or refused with the name of the attribute.
  void ranges(const AttrInfo &attr, const std::string &label) {
    constexpr float inf = std::numeric_limits<float>::infinity();
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    if (attr.type == AttrType::f32) {
      add(label + " is NaN", {AttrValue_}, {label}).form.op.attrs[label] = nan;
      for (float number : {inf, -inf, -1.0f, 0.0f, 3e38f})
        add(label + " is " + std::to_string(number), {}, {})
            .form.op.attrs[label] = number;
    }
    if (attr.type == AttrType::f32s)
      for (const std::vector<float> &list : {std::vector<float>{nan},
                                             {inf},
                                             {0},
                                             {-1},
                                             {},
                                             std::vector<float>(1009, 1.0f)})
        add("a list of " + std::to_string(list.size()) + " for " + label, {},
            {})
            .form.op.attrs[label] = list;
    if (attr.type == AttrType::s64)
      for (int64_t number : {INT64_MIN, INT64_MAX, int64_t(-1), int64_t(0),
                             int64_t(99), int64_t(-99)})
        add(label + " is " + std::to_string(number), {}, {})
            .form.op.attrs[label] = number;
    if (attr.type != AttrType::s64s)
      return;
    size_t length = 1;
    if (const AttrValue *given = form.op.attr(label))
      length = std::get<Dims>(*given).size();
    for (int64_t number :
         {INT64_MIN, INT64_MAX, int64_t(-2), int64_t(0), int64_t(1009)})
      add(label + " of " + std::to_string(number), {}, {})
          .form.op.attrs[label] = Dims(length, number);
    for (size_t other : {size_t(0), length + 1, size_t(1009)})
      add(label + " of length " + std::to_string(other), {}, {})
          .form.op.attrs[label] = Dims(other, 1);
    if (length == 0)
      return;
    if (std::string_view(label) == "strides" || label == "kernel" ||
        label == "dilations" || label.starts_with("pads")) {
      bool isPad = label.starts_with("pads");
      // The windows of a pooling may end before src does.
      bool crops = form.op.kind == "Pad" ||
                   (label == "pads_end" &&
                    form.op.kind.find("Pool") != std::string::npos);
      int64_t small = crops ? INT32_MIN : isPad ? -1 : 0;
      Mistake &m = add("too small " + label, {AttrValue_},
                       {label, std::to_string(small)});
      m.form.op.attrs[label] = Dims(length, small);
    }
  }

  // The enumerators that share their name with a type.
  static constexpr ErrorCode AttrType_ = ErrorCode::AttrType;
  static constexpr ErrorCode AttrValue_ = ErrorCode::AttrValue;
  using AttrType = graph::AttrType;
  using AttrValue = graph::AttrValue;

  const OpInfo &info;
  const OpForm &form;
  std::vector<Mistake> mistakes;
};

} // namespace

std::string roleName(std::span<const ValueInfo> values, size_t i) {
  return std::string(values[std::min(i, values.size() - 1)].name);
}

std::vector<Mistake> mistakesIn(const OpInfo &info, const OpForm &form) {
  return Collector(info, form).collect();
}

} // namespace tenon::test
