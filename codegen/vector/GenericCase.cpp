//===- GenericCase.cpp - vector code against plain loops ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/vector/GenericCase.h"

#include <cmath>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <random>

namespace tenon::codegen::testing {
namespace {

struct Operand {
  Operand(const OperandSpec &spec, const Case &test) : spec(spec) {
    for (int d : spec.dims)
      sizes.push_back(d < 0 ? 1 : test.sizes[d]);
    strides.assign(sizes.size(), 1);
    std::vector<int> order = spec.order;
    if (order.empty())
      for (size_t i = 0; i < sizes.size(); ++i)
        order.push_back(i);
    int64_t stride = 1;
    for (size_t i = order.size(); i-- > 0;) {
      strides[order[i]] = stride;
      stride *= std::max<int64_t>(sizes[order[i]], 1);
      if (i + 1 == order.size())
        stride += spec.padding;
    }
    int64_t last = 0;
    bool empty = false;
    for (size_t i = 0; i < sizes.size(); ++i) {
      last += (sizes[i] - 1) * strides[i];
      empty |= sizes[i] == 0;
    }
    count = spec.offset + (empty ? 0 : last + 1);
    buffer = std::make_unique<GuardedBuffer>(count * bytes());
    descriptor = makeDescriptor(buffer->data(), spec.offset, sizes, strides);
  }
  int64_t bytes() const {
    return spec.type == "i64"   ? 8
           : spec.type == "i16" ? 2
           : spec.type == "i8"  ? 1
                                : 4;
  }
  int64_t at(const Dims &ivs) const {
    int64_t address = spec.offset;
    for (size_t i = 0; i < spec.dims.size(); ++i) {
      if (spec.dims[i] < 0)
        continue;
      int64_t iv = ivs[spec.dims[i]];
      if (spec.run > 1 && i + 1 == spec.dims.size())
        iv += spec.phase - iv % spec.run;
      address += iv * strides[i];
    }
    return address;
  }
  double get(int64_t i) const {
    void *data = buffer->data();
    if (spec.type == "f32")
      return static_cast<float *>(data)[i];
    if (spec.type == "i32")
      return static_cast<int32_t *>(data)[i];
    if (spec.type == "i64")
      return static_cast<int64_t *>(data)[i];
    if (spec.type == "i16")
      return static_cast<int16_t *>(data)[i];
    return static_cast<int8_t *>(data)[i];
  }
  void set(int64_t i, double value) {
    void *data = buffer->data();
    if (spec.type == "f32")
      static_cast<float *>(data)[i] = value;
    else if (spec.type == "i32")
      static_cast<int32_t *>(data)[i] = value;
    else if (spec.type == "i64")
      static_cast<int64_t *>(data)[i] = value;
    else if (spec.type == "i16")
      static_cast<int16_t *>(data)[i] = value;
    else
      static_cast<int8_t *>(data)[i] = value;
  }
  std::string memrefType(bool dynamic) const {
    std::string type = "memref<", layout;
    for (size_t i = 0; i < sizes.size(); ++i) {
      type += (dynamic ? "?" : std::to_string(sizes[i])) + "x";
      // The innermost stride stays known: it decides how memory is accessed.
      bool known = !dynamic || strides[i] == 1;
      layout += (i ? ", " : "") +
                (known ? std::to_string(strides[i]) : std::string("?"));
    }
    return type + spec.type + ", strided<[" + layout +
           "], offset: " + (dynamic ? "?" : std::to_string(spec.offset)) + ">>";
  }

  OperandSpec spec;
  Dims sizes, strides;
  int64_t count = 0;
  std::unique_ptr<GuardedBuffer> buffer;
  std::vector<int64_t> descriptor;
};

std::string mapText(const OperandSpec &operand, size_t rank) {
  std::string text = "affine_map<(";
  for (size_t d = 0; d < rank; ++d)
    text += (d ? ", d" : "d") + std::to_string(d);
  text += ") -> (";
  for (size_t i = 0; i < operand.dims.size(); ++i) {
    std::string index = operand.dims[i] < 0
                            ? std::string("0")
                            : "d" + std::to_string(operand.dims[i]);
    std::string run = std::to_string(operand.run);
    if (operand.run > 1 && i + 1 == operand.dims.size())
      index = "(" + index + " floordiv " + run + ") * " + run + " + " +
              std::to_string(operand.phase);
    text += (i ? ", " : "") + index;
  }
  return text + ")>";
}

std::string moduleText(const Case &test,
                       const std::vector<std::unique_ptr<Operand>> &operands) {
  std::string arguments, maps, ins, types, body, iterators;
  for (size_t i = 0; i < operands.size(); ++i) {
    std::string name = "%m" + std::to_string(i);
    std::string type = operands[i]->memrefType(test.dynamic);
    bool output = i + 1 == operands.size();
    arguments += (i ? ", " : "") + name + ": " + type;
    maps += (i ? ", " : "") + mapText(operands[i]->spec, test.sizes.size());
    if (!output) {
      ins += (i ? ", " : "") + name;
      types += (i ? ", " : "") + type;
    }
    body += (i ? ", %" : "%") +
            (output ? std::string("out") : std::string(1, 'a' + i)) + ": " +
            operands[i]->spec.type;
  }
  for (size_t d = 0; d < test.sizes.size(); ++d)
    iterators += std::string(d ? ", " : "") +
                 (test.reduction[d] == 'r' ? "\"reduction\"" : "\"parallel\"");
  std::string name = "%m" + std::to_string(operands.size() - 1);
  std::string insText =
      operands.size() > 1 ? " ins(" + ins + " : " + types + ")" : "";
  return "func.func @f(" + arguments +
         ") attributes {llvm.emit_c_interface} {\n  linalg.generic "
         "{indexing_maps = [" +
         maps + "], iterator_types = [" + iterators + "]}" + insText +
         " outs(" + name + " : " + operands.back()->memrefType(test.dynamic) +
         ") attrs = {" + test.attributes + "} {\n  ^bb0(" + body + "):\n" +
         test.body + "\n  linalg.yield " + test.result + " : " +
         operands.back()->spec.type + "\n  }\n  return\n}\n";
}

void call(void *function, std::vector<std::unique_ptr<Operand>> &operands) {
  std::vector<void *> a;
  for (auto &operand : operands)
    a.push_back(operand->descriptor.data());
  using P = void *;
  switch (a.size()) {
  case 1:
    return reinterpret_cast<void (*)(P)>(function)(a[0]);
  case 2:
    return reinterpret_cast<void (*)(P, P)>(function)(a[0], a[1]);
  case 3:
    return reinterpret_cast<void (*)(P, P, P)>(function)(a[0], a[1], a[2]);
  default:
    FAIL() << "too many operands";
  }
}

} // namespace

void run(const Case &test) {
  std::vector<std::unique_ptr<Operand>> operands;
  for (const OperandSpec &spec : test.inputs)
    operands.push_back(std::make_unique<Operand>(spec, test));
  operands.push_back(std::make_unique<Operand>(test.output, test));
  std::minstd_rand random(7);
  for (auto &operand : operands)
    for (int64_t i = 0; i < operand->count; ++i)
      operand->set(i, operand->spec.type == "f32"
                          ? double(random() % 2001) / 1000 - 1
                          : double(random() % 21) - 10);
  Operand &out = *operands.back();
  std::vector<double> expected, scale;
  for (int64_t i = 0; i < out.count; ++i) {
    expected.push_back(out.get(i));
    scale.push_back(1 + std::abs(expected.back()));
  }
  Dims ivs(test.sizes.size(), 0);
  int64_t points = std::accumulate(test.sizes.begin(), test.sizes.end(),
                                   int64_t(1), std::multiplies<>());
  for (int64_t point = 0; point < points; ++point) {
    for (int64_t rest = point, d = ivs.size(); d-- > 0;) {
      ivs[d] = rest % test.sizes[d];
      rest /= test.sizes[d];
    }
    std::vector<double> values;
    for (size_t i = 0; i + 1 < operands.size(); ++i)
      values.push_back(operands[i]->get(operands[i]->at(ivs)));
    for (int64_t iv : ivs)
      values.push_back(iv);
    int64_t at = out.at(ivs);
    expected[at] = test.reference(values, expected[at]);
    scale[at] += std::abs(expected[at]);
  }

  std::string text = moduleText(test, operands);
  SCOPED_TRACE(text);
  auto jit = compileText(text, "tenon-vectorize-generic",
                         "vector_bits = " + std::to_string(test.bits));
  ASSERT_TRUE(bool(jit)) << tenon::str(jit.errors());
  auto function = (*jit)->lookup("_mlir_ciface_f");
  ASSERT_TRUE(bool(function)) << tenon::str(function.errors());
  call(*function, operands);
  for (auto &operand : operands)
    EXPECT_TRUE(operand->buffer->startIsIntact());
  int failures = 0;
  for (int64_t i = 0; i < out.count && failures < 3; ++i) {
    double error = std::abs(out.get(i) - expected[i]);
    if (error > test.tolerance * scale[i]) {
      ADD_FAILURE() << "element " << i << ": " << out.get(i) << ", expected "
                    << expected[i];
      ++failures;
    }
  }
}

} // namespace tenon::codegen::testing
