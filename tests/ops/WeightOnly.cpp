// SPDX-License-Identifier: Apache-2.0
// Products of floats with weights that stay quantized to 8 or 4 bits.
#include "tests/ops/Cases.h"

namespace tenon::test {

static std::string number(int64_t n) { return std::to_string(n); }

/// [K, N] in groups of `group` along K, zero points of `zp` ("": none).
static std::string grouped(const std::string &rows, int64_t k, int64_t n,
                           int64_t group, const std::string &type,
                           const std::string &zp) {
  std::string counts = number(k / group) + "x" + number(n);
  return "w/f32 = DynamicDequantize " + number(k) + "x" + number(n) + "/" +
         type + "c " + counts + "c " +
         (zp.empty() ? "" : counts + "/" + zp + "c ") +
         "qtype=per_group group_shape=" + number(group) + ",1; MatMul " + rows +
         "x" + number(k) + " w";
}

Cases weightOnlyCases() {
  Cases cases;
  // Few rows, whose kernels read quantized weights; many, for which weights are
  // made of them; panels of which the last is cut, and narrower than a vector.
  for (const char *rows : {"1", "2", "3", "7", "16", "17", "70"})
    for (const char *type : {"s8", "u8", "s4", "u4"}) {
      cases.push_back(grouped(rows, 256, 256, 32, type, ""));
      cases.push_back(grouped(rows, 256, 300, 64, type, type));
    }
  for (const char *rows : {"1", "20"}) {
    cases.push_back(grouped(rows, 22000, 3, 2, "s4", "s4"));
    cases.push_back(grouped(rows, 512, 130, 512, "u4", "u4"));
    cases.push_back(grouped(rows, 257, 256, 257, "s8", "s8"));
    cases.push_back(grouped(rows, 4096, 40, 128, "s4", ""));
  }
  for (std::string rows : {"1", "5", "33"}) {
    std::string a = rows + "x256";
    for (
        const std::string &text : std::initializer_list<std::string>{
            "w/f32 = Dequantize 256x256/s8c scales=0.5; MatMul " + a + " w",
            "w/f32 = Dequantize 256x256/s8c scales=0.5 zps=-128; MatMul " + a +
                " w",
            "w/f32 = Dequantize 256x256/u8c scales=0.25 zps=131; y = MatMul " +
                a + " w; ReLU y",
            "w/f32 = Dequantize 256x256/u8c scales=0.25 zps=300; MatMul " + a +
                " w",
            "w/f32 = DynamicDequantize 256x260/s8c 260c 260/s8c "
            "qtype=per_channel axis=1; y = MatMul " +
                a + " w 260c; GELU y",
            "w/f32 = DynamicDequantize 256x256/u4c 1c qtype=per_tensor; "
            "MatMul " +
                a + " w",
            "w/f32 = DynamicDequantize 256x256/u4c 1c 1/u4c "
            "qtype=per_tensor; MatMul " +
                a + " w",
            // Transposed; scales and zero points are, too.
            "w/f32 = DynamicDequantize 300x256/u4c 300x8c 300x8/u4c "
            "qtype=per_group group_shape=1,32; MatMul " +
                a + " w transpose_b=true",
            "w/f32 = DynamicDequantize 300x256/s8c 300c qtype=per_channel "
            "axis=0; MatMul " +
                a + " w transpose_b=true",
            // Zero points of 8 bits for quantized weights of 4.
            "w/f32 = DynamicDequantize 256x256/s4c 8x256c 8x256/s8c "
            "qtype=per_group group_shape=32,1; MatMul " +
                a + " w",
            // Scales of rows, and of several columns.
            "w/f32 = DynamicDequantize 256x256/s8c 256c qtype=per_channel "
            "axis=0; MatMul " +
                a + " w",
            "w/f32 = DynamicDequantize 256x256/s8c 8x128c qtype=per_group "
            "group_shape=32,2; MatMul " +
                a + " w",
            // Weights that change.
            "w/f32 = DynamicDequantize 256x256/s8 8x256 qtype=per_group "
            "group_shape=32,1; MatMul " +
                a + " w",
            // A that is computed, in other orders and in other types.
            "x = Multiply " + a +
                " ()c; w/f32 = Dequantize 256x256/s8c "
                "scales=0.5; y = MatMul x w; Add y " +
                rows + "x256",
            "w/f32 = DynamicDequantize 256x256/s4c 8x256c qtype=per_group "
            "group_shape=32,1; MatMul 256x" +
                rows + " w transpose_a=true",
            "w/f32 = DynamicDequantize 256x256/u4c 8x256c qtype=per_group "
            "group_shape=32,1; v/bf16 = TypeCast w; MatMul " +
                a + "/bf16 v",
            "w/f16 = DynamicDequantize 256x256/u4c 8x256/f16c "
            "qtype=per_group group_shape=32,1; MatMul " +
                a + "/f16 w",
            "w/f32 = Dequantize 256x256/s8c scales=0.5; MatMul 2x3x" + a + " w",
            // Two that read the same weights, and a gate.
            "w/f32 = DynamicDequantize 256x256/u4c 8x256c qtype=per_group "
            "group_shape=32,1; y = MatMul x:" +
                a + " w; z = Sigmoid y; MatMul z w",
            // Bytes with a scale per channel times quantized weights.
            "x/f32 = DynamicDequantize " + a +
                "/u8 256 qtype=per_channel "
                "axis=1; w/f32 = Dequantize 256x256/s8c scales=0.5; MatMul x w",
        })
      cases.push_back(text);
  }
  // Several blocks of rows, and parts of K; from a computed tensor, a
  // transposed and a narrow one.
  std::string w = "w/f32 = DynamicDequantize 2048x64/s4c 16x64c "
                  "qtype=per_group group_shape=128,1; ";
  cases.push_back(w + "x = Multiply 600x2048 ()c; MatMul x w");
  cases.push_back(w + "MatMul 2048x600 w transpose_a=true");
  cases.push_back(w + "v/bf16 = TypeCast w; MatMul 600x2048/bf16 v");
  return cases;
}

} // namespace tenon::test
