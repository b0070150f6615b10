//===- Verify.cpp - checks that follow from the operation table -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Counts, tensors, data types and attributes of any operation.  What relates
// shapes to each other is in the rules.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Merge.h"
#include "dialects/graph/infer/Rules.h"
#include "dialects/graph/infer/VerifyAttrs.h"

#include <algorithm>
#include <cmath>

namespace tenon::graph::infer {
namespace {

//===----------------------------------------------------------------------===//
// Counts.
//===----------------------------------------------------------------------===//

/// "2 or 3"; variadic values list a range of counts, or none.
std::string countsText(std::span<const int> counts) {
  std::string text;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (i)
      text += i + 1 == counts.size() ? " or " : ", ";
    text += std::to_string(counts[i]);
  }
  return text;
}

/// Only optional values are left out before given ones.
bool checkAbsent(RuleContext &ctx, const char *what, uint64_t absent,
                 size_t count, std::span<const ValueInfo> values) {
  for (size_t i = 0; i < std::min(count, kMaxAbsent); ++i)
    if ((absent >> i & 1) &&
        (i >= values.size() || !values[i].optional || values[i].variadic)) {
      ctx.error(ErrorCode::OperandCount,
                i < values.size()
                    ? cat(what, " ", values[i].name, " is left out")
                    : cat(what, " ", i, " is left out"),
                "only optional ones can be");
      return false;
    }
  return true;
}

bool checkCount(RuleContext &ctx, const char *what, size_t given,
                std::span<const ValueInfo> values,
                std::span<const int> counts) {
  bool variadic = std::any_of(values.begin(), values.end(),
                              [](const ValueInfo &v) { return v.variadic; });
  if (variadic) {
    // Any number, unless the table lists the allowed ones.
    if (counts.empty() || std::any_of(counts.begin(), counts.end(), [&](int n) {
          return size_t(n) == given;
        }))
      return true;
    ctx.error(ErrorCode::OperandCount,
              cat("has ", given, " ", what, ", allowed are ", counts.front(),
                  " to ", counts.back()));
    return false;
  }
  // No counts in the table: exactly the listed values.
  bool fits = counts.empty()
                  ? given == values.size()
                  : std::any_of(counts.begin(), counts.end(),
                                [&](int n) { return size_t(n) == given; });
  if (fits && given <= values.size())
    return true;
  std::string names;
  for (const ValueInfo &value : values)
    names += (names.empty() ? "" : ", ") + std::string(value.name) +
             (value.optional ? "?" : "");
  int listed = static_cast<int>(values.size());
  ctx.error(ErrorCode::OperandCount,
            cat("has ", given, " ", what, ", needed are ",
                countsText(counts.empty() ? std::span<const int>(&listed, 1)
                                          : counts),
                " (", names, ")"));
  return false;
}

//===----------------------------------------------------------------------===//
// Data types.
//===----------------------------------------------------------------------===//

class DTypeChecker {
public:
  explicit DTypeChecker(RuleContext &ctx) : ctx(ctx) {}

  /// Checks a value against the allowed types of its variable and against
  /// the values of the same variable before it.
  void check(const std::string &name, std::string_view typeVar, DType dtype) {
    if (typeVar.empty() || typeVar == "any")
      return;
    const TypeVarInfo *var = ctx.info.typeVar(typeVar);
    if (var && std::find(var->allowed.begin(), var->allowed.end(), dtype) ==
                   var->allowed.end()) {
      std::string allowed;
      for (DType type : var->allowed)
        allowed += (allowed.empty() ? "" : ", ") +
                   std::string(tenon::graph::name(type));
      ctx.error(ErrorCode::BadDType,
                cat(name, " is ", tenon::graph::name(dtype), ", allowed is ",
                    allowed));
      return;
    }
    auto [it, isFirst] = bound.try_emplace(typeVar, name, dtype);
    if (!isFirst && it->second.second != dtype)
      ctx.error(ErrorCode::BadDType,
                cat(it->second.first, " is ",
                    tenon::graph::name(it->second.second), " but ", name,
                    " is ", tenon::graph::name(dtype)),
                cat("both are ", typeVar, " and must have the same type"));
  }

  void checkAll(bool results) {
    std::span<const ValueInfo> values =
        results ? ctx.info.results : ctx.info.operands;
    std::span<const LogicalTensor> tensors = results ? ctx.outputs : ctx.inputs;
    if (values.empty())
      return;
    for (size_t i = 0; i < tensors.size(); ++i)
      if (results ? ctx.hasOutput(i) : ctx.hasInput(i))
        check(results ? ctx.outName(i) : ctx.inName(i),
              values[std::min(i, values.size() - 1)].typeVar, tensors[i].dtype);
  }

private:
  RuleContext &ctx;
  std::map<std::string_view, std::pair<std::string, DType>> bound;
};

void checkTypesDifferOnlyVia32(RuleContext &ctx, DType from, DType to) {
  if (from == to || from == DType::f32 || to == DType::f32)
    return;
  ctx.error(ErrorCode::BadDType,
            cat("src is ", name(from), " and dst is ", name(to),
                "; when they differ one must be f32"));
}

/// Affine parameters and statistics are f32 or of the type of src.
void checkAuxiliaryTypes(RuleContext &ctx) {
  DType src = ctx.inputs[0].dtype;
  auto check = [&](const std::string &valueName, DType dtype) {
    if (dtype == DType::f32 || dtype == src)
      return true;
    ctx.error(ErrorCode::BadDType,
              cat(valueName, " is ", name(dtype), " but src is ", name(src),
                  "; it must be f32 or the type of src"));
    return false;
  };
  // All auxiliary values share a type variable: one report is enough.
  for (size_t i = 1; i < ctx.inputs.size(); ++i)
    if (ctx.hasInput(i) && ctx.info.operands[i].typeVar == "T2")
      if (!check(ctx.inName(i), ctx.inputs[i].dtype))
        return;
  for (size_t i = 1; i < ctx.outputs.size(); ++i)
    if (ctx.hasOutput(i) && !check(ctx.outName(i), ctx.outputs[i].dtype))
      return;
}

//===----------------------------------------------------------------------===//
// Constraints between type variables, by typeRule.
//===----------------------------------------------------------------------===//

void checkCast(RuleContext &ctx) {
  DType src = ctx.inputs[0].dtype, dst = ctx.outputs[0].dtype;
  if (src == dst)
    ctx.error(ErrorCode::BadDType, cat("src and dst are both ", name(src)),
              "a cast between equal types is not an operation; leave it out");
}

void checkViaF32(RuleContext &ctx) {
  checkTypesDifferOnlyVia32(ctx, ctx.inputs[0].dtype, ctx.outputs[0].dtype);
}

void checkSameOrF32(RuleContext &ctx) {
  DType in = ctx.inputs[0].dtype, out = ctx.outputs[0].dtype;
  if (out != in && out != DType::f32)
    ctx.error(ErrorCode::BadDType,
              cat(ctx.inName(0), " is ", name(in), " and ", ctx.outName(0),
                  " is ", name(out), "; the result must be of the type of ",
                  ctx.inName(0), " or f32"));
}

/// Floats are multiplied by floats of their type, integers by integers.
/// `widens`: floats may give f32.
void checkFactors(RuleContext &ctx, bool widens) {
  DType src = ctx.inputs[0].dtype;
  bool floats = isFloat(src);
  auto check = [&](const std::string &valueName, DType dtype, bool fits,
                   std::string_view needed) {
    if (!fits)
      ctx.error(ErrorCode::BadDType,
                cat(valueName, " is ", name(dtype), " but ", ctx.inName(0),
                    " is ", name(src), ", with which it is ", needed));
  };
  DType weights = ctx.inputs[1].dtype;
  check(ctx.inName(1), weights, floats ? weights == src : !isFloat(weights),
        floats ? name(src) : "s32, s8 or u8");
  DType sum = floats ? src : DType::s32;
  if (ctx.hasInput(2))
    check(ctx.inName(2), ctx.inputs[2].dtype, ctx.inputs[2].dtype == sum,
          name(sum));
  DType dst = ctx.outputs[0].dtype;
  bool isWide = floats && widens && src != DType::f32;
  check(ctx.outName(0), dst, dst == sum || (isWide && dst == DType::f32),
        isWide ? cat(name(src), " or f32") : std::string(name(sum)));
}
void checkProduct(RuleContext &ctx) { checkFactors(ctx, /*widens=*/true); }
void checkProductOfType(RuleContext &ctx) {
  checkFactors(ctx, /*widens=*/false);
}

/// Scales are of the type of floats that they make, or powers of two; f8 has
/// no zero points.
void checkDynamicScales(RuleContext &ctx) {
  bool quantizes = ctx.info.rounding == Rounding::quantizes;
  DType quantized = quantizes ? ctx.outputs[0].dtype : ctx.inputs[0].dtype;
  DType scales = ctx.inputs[1].dtype, dst = ctx.outputs[0].dtype;
  if (isFloat(quantized) && ctx.hasInput(2))
    ctx.error(ErrorCode::BadDType,
              cat(ctx.inName(2), " is given but the quantized type is ",
                  name(quantized)),
              "zero points exist for integer types only");
  if (!quantizes && scales != dst && scales != DType::f8_e8m0)
    ctx.error(ErrorCode::BadDType,
              cat(ctx.inName(1), " is ", name(scales), " but ", ctx.outName(0),
                  " is ", name(dst)),
              "scales have the type of dst, or are f8_e8m0");
}

/// What a value of a recurrent operation may be, by its type variable, when
/// src_layer is `src`.
std::vector<DType> allowedInCell(std::string_view typeVar, DType src) {
  bool isInt8 = src == DType::u8;
  if (typeVar == "W")
    return {isInt8 ? DType::s8 : src};
  if (typeVar == "B" || typeVar == "C" || typeVar == "P")
    return {DType::f32, isInt8 ? DType::f32 : src};
  if (typeVar == "I" || typeVar == "D" || typeVar == "E")
    return {src, isInt8 ? DType::f32 : src};
  return {};
}

void checkRecurrent(RuleContext &ctx) {
  DType src = ctx.inputs[0].dtype;
  auto check = [&](const std::string &valueName, const ValueInfo &value,
                   DType dtype) {
    std::vector<DType> allowed = allowedInCell(value.typeVar, src);
    if (allowed.empty() || std::ranges::find(allowed, dtype) != allowed.end())
      return;
    std::string text(name(allowed[0]));
    if (allowed[1 % allowed.size()] != allowed[0])
      text += cat(" or ", name(allowed[1]));
    ctx.error(ErrorCode::BadDType,
              cat(valueName, " is ", name(dtype), " but src_layer is ",
                  name(src), ", with which it is ", text));
  };
  for (size_t i = 1; i < ctx.inputs.size(); ++i)
    if (ctx.hasInput(i))
      check(ctx.inName(i), ctx.info.operands[i], ctx.inputs[i].dtype);
  for (size_t i = 0; i < ctx.outputs.size(); ++i)
    if (ctx.hasOutput(i))
      check(ctx.outName(i), ctx.info.results[i], ctx.outputs[i].dtype);
}

/// Floats and s32 may be mixed, other types not.
void checkMixed(RuleContext &ctx) {
  auto mixes = [](DType dtype) {
    return isFloat(dtype) || dtype == DType::s32 || dtype == DType::undef;
  };
  DType a = ctx.inputs[0].dtype, b = ctx.inputs[1].dtype,
        dst = ctx.outputs[0].dtype;
  if ((a == b && b == dst) || (mixes(a) && mixes(b) && mixes(dst)))
    return;
  ctx.error(ErrorCode::BadDType,
            cat(ctx.inName(0), " is ", name(a), ", ", ctx.inName(1), " is ",
                name(b), " and ", ctx.outName(0), " is ", name(dst)),
            "types differ among floats and s32 only; cast the others");
}

void checkZpsOfIntegers(RuleContext &ctx) {
  bool quantizes = ctx.info.rounding == Rounding::quantizes;
  DType quantized = quantizes ? ctx.outputs[0].dtype : ctx.inputs[0].dtype;
  if (isFloat(quantized) && ctx.op.attr("zps"))
    ctx.error(ErrorCode::AttrValue,
              cat("attribute zps is given but the quantized type is ",
                  name(quantized)),
              "zero points exist for integer types only");
}

void checkScatter(RuleContext &ctx) {
  DType type = ctx.inputs[0].dtype;
  std::string reduction = ctx.stringAttr("reduction");
  bool isNumber = type != DType::boolean && type != DType::f8_e5m2 &&
                  type != DType::f8_e4m3;
  if (reduction != "none" && !isNumber)
    ctx.error(
        ErrorCode::BadDType,
        cat("src is ", name(type), " and attribute reduction is ", reduction),
        "elements of this type are replaced only: reduction=none");
}

constexpr RuleEntry typeRules[] = {
    {"cast", checkCast},
    {"dynamic_scales", checkDynamicScales},
    {"mixed", checkMixed},
    {"product", checkProduct},
    {"product_of_type", checkProductOfType},
    {"recurrent", checkRecurrent},
    {"same_or_f32", checkSameOrF32},
    {"scatter", checkScatter},
    {"statistics", checkAuxiliaryTypes},
    {"via_f32", checkViaF32},
    {"zps_of_integers", checkZpsOfIntegers},
};

/// Every name of the table has its rule, as Verify_test makes sure.
void checkCrossTypes(RuleContext &ctx) {
  if (!ctx.info.typeRule.empty())
    std::ranges::find(typeRules, ctx.info.typeRule, &RuleEntry::name)
        ->rule(ctx);
}

} // namespace

bool isTypeRule(std::string_view name) {
  return std::ranges::find(typeRules, name, &RuleEntry::name) !=
         std::end(typeRules);
}

bool verifyTensor(RuleContext &ctx, const std::string &name,
                  const LogicalTensor &tensor, bool isResult) {
  if (!tensor.shape) {
    if (tensor.strides.empty() ||
        std::none_of(tensor.strides.begin(), tensor.strides.end(), isKnown))
      return true;
    ctx.error(ErrorCode::BadStride,
              cat(name, " has strides but no shape (tensor ",
                  std::to_string(tensor.id), ")"));
    return false;
  }
  const Dims &shape = *tensor.shape;
  bool ok = true;
  if (shape.size() > size_t(kMaxRank)) {
    ctx.error(ErrorCode::BadRank, cat(name, " has rank ", shape.size(),
                                      "; the limit is ", kMaxRank));
    return false;
  }
  for (size_t i = 0; i < shape.size(); ++i)
    if (isKnown(shape[i]) && shape[i] < 0) {
      ctx.error(ErrorCode::BadDim,
                cat(name, " has dim ", i, " of size ", shape[i]),
                "sizes are 0 or more");
      ok = false;
    }
  if (ok && !isAddressable(shape)) {
    ctx.error(ErrorCode::BadDim, cat(name, " is ", tensor.shape,
                                     ", which is larger than any memory"));
    ok = false;
  }
  if (!ok || tensor.strides.empty())
    return ok;

  const Dims &strides = tensor.strides;
  // Files write strides that they cannot tell as one unknown entry.
  if (std::none_of(strides.begin(), strides.end(), isKnown))
    return true;
  if (strides.size() != shape.size()) {
    ctx.error(ErrorCode::BadStride,
              cat(name, " is ", tensor.shape, " with ", strides.size(),
                  " strides ", listToString(strides)),
              "one stride per dim");
    return false;
  }
  __int128 extent = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!isKnown(strides[i]) || !isKnown(shape[i]))
      continue;
    if (strides[i] < 0 || (isResult && strides[i] == 0 && shape[i] > 1)) {
      ctx.error(ErrorCode::BadStride,
                cat(name, " is ", tensor.shape, " with stride ", strides[i],
                    " in dim ", i),
                isResult && strides[i] == 0
                    ? "elements of a result must not share memory"
                    : "strides are 0 or more");
      return false;
    }
    // Two products fit 128 bits, twelve need not: stop at the first excess.
    if (shape[i] > 1 && fitsDim(extent))
      extent += __int128(shape[i] - 1) * strides[i];
  }
  if (fitsDim(extent) || product(shape) == 0)
    return true;
  ctx.error(ErrorCode::BadStride,
            cat(name, " is ", tensor.shape, " with strides ",
                listToString(strides), ": the extent does not fit 64 bits"));
  return false;
}

bool verifyAgainstTable(RuleContext &ctx) {
  bool ok = checkCount(ctx, "operands", ctx.inputs.size(), ctx.info.operands,
                       ctx.info.operandCounts);
  ok &= checkCount(ctx, "results", ctx.outputs.size(), ctx.info.results,
                   ctx.info.resultCounts);
  ok &= checkAbsent(ctx, "operand", ctx.op.absentInputs, ctx.inputs.size(),
                    ctx.info.operands);
  ok &= checkAbsent(ctx, "result", ctx.op.absentOutputs, ctx.outputs.size(),
                    ctx.info.results);
  if (ok) {
    DTypeChecker types(ctx);
    types.checkAll(/*results=*/false);
    types.checkAll(/*results=*/true);
    if (!ctx.failed())
      checkCrossTypes(ctx);
  }
  for (size_t i = 0; i < ctx.inputs.size(); ++i)
    ok &= !ctx.hasInput(i) ||
          verifyTensor(ctx, ctx.inName(i), ctx.inputs[i], false);
  for (size_t i = 0; i < ctx.outputs.size(); ++i)
    ok &= !ctx.hasOutput(i) ||
          verifyTensor(ctx, ctx.outName(i), ctx.outputs[i], true);
  ok &= checkAttrs(ctx);
  return ok;
}

} // namespace tenon::graph::infer
