// SPDX-License-Identifier: Apache-2.0
//
// Operators of com.microsoft on quantised tensors.
#include "compiler/import/onnx/Conversions.h"
#include "compiler/import/onnx/Quant.h"

#include <algorithm>

namespace tenon::onnx {

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Codes of 4 bits, two in a byte of the last dim, the first one in the low
/// half, as bytes of their own.
static Value unpacked(NodeContext &n, Value bytes) {
  Dims dims = n.knownShape(bytes);
  if (n.failed() || dims.empty())
    return bytes;
  auto last = static_cast<int64_t>(dims.size());
  Value low = n.op("And", {bytes, n.like(bytes, 15)});
  Value high = n.op("Divide", {bytes, n.like(bytes, 16)});
  Value both =
      n.op("Concat", {n.unsqueeze(low, {last}), n.unsqueeze(high, {last})},
           {{"axis", last}});
  dims.back() *= 2;
  return n.reshape(both, dims);
}

namespace {

/// Weights of MatMulNBits: N rows of K codes in blocks, each with a scale and a
/// zero point, which is half of the range if they are left out.
class BlockWeights {
public:
  explicit BlockWeights(NodeContext &n)
      : n(n), bits(n.integer("bits", 4)), block(n.integer("block_size", 0)),
        columns(n.integer("K", 0)), rows(n.integer("N", 0)) {
    int64_t most = int64_t{1} << 31;
    if ((bits != 4 && bits != 8) || block < 16 || columns < 1 || rows < 1 ||
        block > most || columns > most || rows > most)
      n.refuse("weights of other than 4 or 8 bits, or strange sizes");
    else
      blocks = (columns + block - 1) / block;
  }

  /// N, K.
  Value made() {
    if (n.failed())
      return kNone;
    if (n.shape(n.in(1)) != Dims{rows, blocks, block * bits / 8}) {
      n.refuse("weights that are not N, blocks, bytes of a block");
      return kNone;
    }
    Dims padded{rows, blocks * block};
    Value codes = bits == 8 ? n.reshape(n.in(1), padded)
                            : n.packedWeight(n.in(1), DataType::u4, padded);
    if (codes == kNone)
      codes = n.reshape(unpacked(n, n.in(1)), padded);
    Value scales = n.reshape(n.in(2), {rows, blocks});
    if (n.in(4) != kNone && !isInOrder())
      return ofGroups(codes, scales);
    DType type = n.type(scales);
    graph::AttrMap attrs{{"qtype", "per_group"},
                         {"group_shape", Dims{1, block}}};
    Value weights;
    if (n.in(3) != kNone && n.isFloat(n.in(3))) {
      weights = n.op("DynamicDequantize", {codes, scales}, attrs, type);
      weights = lessZeros(weights, n.op("Multiply", {zeros(), scales}));
    } else {
      weights =
          n.op("DynamicDequantize", {codes, scales, zeros()}, attrs, type);
    }
    if (padded[1] == columns)
      return weights;
    return n.slice(weights, 1, 0, columns);
  }

private:
  /// Whether the group of each column is that of its block.
  bool isInOrder() {
    std::optional<Dims> groups = n.known(n.in(4));
    for (size_t i = 0; groups && i < groups->size(); ++i)
      if ((*groups)[i] != static_cast<int64_t>(i) / block)
        return false;
    return groups.has_value();
  }

  /// The same where operand 4 says the group of each column. Constants are
  /// computed when the model is compiled, and so are these weights.
  Value ofGroups(Value codes, Value scales) {
    Dims shape = n.shape(n.in(4));
    if (!n.isConstant(n.in(4))) {
      n.refuse("groups of columns, g_idx, that are no constant");
      return kNone;
    }
    if (shape != Dims{columns} && shape != Dims{blocks * block}) {
      n.refuse("groups, g_idx, that are not one for each column");
      return kNone;
    }
    std::optional<Dims> known = n.known(n.in(4));
    if (known && std::ranges::any_of(*known, [&](int64_t group) {
          return group < 0 || group >= blocks;
        })) {
      n.refuse("groups, g_idx, that have no scale");
      return kNone;
    }
    Value groups = n.slice(n.in(4), 0, 0, columns);
    DType type = n.type(scales);
    auto ofColumns = [&](Value numbers) {
      return n.op("Gather",
                  {n.cast(converted(n, numbers, DType::f32), type), groups},
                  {{"axis", int64_t{1}}});
    };
    Value numbers = n.slice(converted(n, codes, DType::f32), 1, 0, columns);
    numbers = n.op("Subtract", {n.cast(numbers, type), ofColumns(zeros())});
    return n.op("Multiply", {numbers, ofColumns(scales)});
  }

  /// Zero points of blocks, N, blocks.
  Value zeros() {
    Dims shape{rows, blocks};
    Value given = n.in(3);
    if (given == kNone)
      return n.op("Expand", {n.scalar(bits == 8 ? 128 : 8, DType::u8)},
                  {{"shape", shape}});
    if (bits == 8 || n.isFloat(given))
      return n.reshape(given, shape);
    // Each row begins with a byte of its own.
    int64_t bytes = (blocks + 1) / 2;
    if (blocks % 2 == 0)
      if (Value view = n.packedWeight(given, DataType::u4, shape))
        return view;
    Value all = unpacked(n, n.reshape(given, {rows, bytes}));
    if (blocks % 2 == 0)
      return all;
    return n.slice(all, 1, 0, blocks);
  }

  /// Less what a zero point that is no integer makes, in each block.
  Value lessZeros(Value weights, Value product) {
    Value apart = n.reshape(weights, {rows, blocks, block});
    apart = n.op("Subtract", {apart, n.unsqueeze(product, {2})});
    return n.reshape(apart, {rows, blocks * block});
  }

  NodeContext &n;
  int64_t bits, block, columns, rows, blocks = 0;
};

} // namespace

/// Operands A, B, scales, zero points, groups of columns, bias.
static void matMulNBits(NodeContext &n) {
  Value weights = BlockWeights(n).made();
  weights = n.cast(weights, n.type(n.in(0)));
  n.out(0,
        n.op("MatMul", {n.in(0), weights, n.in(5)}, {{"transpose_b", true}}));
}

//===----------------------------------------------------------------------===//
// Rows of tables
//===----------------------------------------------------------------------===//

namespace {

/// Operands of GatherBlockQuantized: a table of codes in blocks along one axis,
/// which may be packed as two of 4 bits in a byte, indices, and a scale and a
/// zero point of each block.
class BlockTable {
public:
  explicit BlockTable(NodeContext &n)
      : n(n), codes(n.in(0)), scales(n.in(2)), zeros(n.in(3)),
        block(n.integer("block_size", 128)) {}

  void run() {
    int rank = n.rank(codes);
    int64_t gathered = n.axisOf(n.integer("gather_axis", 0), rank);
    axis = n.axisOf(n.integer("quantize_axis", 1), rank);
    readCodes();
    Dims all = n.knownShape(codes), blocks = n.knownShape(scales);
    if (n.failed())
      return;
    if (block < 1 || blocks.size() != all.size() ||
        blocks[axis] != (all[axis] + block - 1) / block)
      return n.refuse("scales that are not those of blocks");
    auto rows = [&](Value table) {
      return table == kNone
                 ? kNone
                 : n.op("Gather", {table, n.in(1)}, {{"axis", gathered}});
    };
    DType type = n.type(scales);
    // Indices choose parts of blocks, or the last one is smaller: numbers are
    // made of all codes.
    if (axis == gathered || all[axis] % block)
      return n.out(0, rows(n.cast(numbers(), type)));
    codes = rows(codes);
    scales = rows(scales);
    zeros = rows(zeros);
    if (axis > gathered)
      axis += n.rank(n.in(1)) - 1;
    n.out(0, n.cast(numbers(), type));
  }

private:
  /// Codes and zero points as bytes.
  void readCodes() {
    DType type = n.type(codes);
    if (type == DType::u8)
      return readBytes();
    if (type != DType::u4 && type != DType::s4)
      return n.refuse("codes of another type than u4, s4 and u8");
    DType bytes = type == DType::u4 ? DType::u8 : DType::s8;
    codes = converted(n, codes, bytes);
    if (zeros != kNone)
      zeros = converted(n, zeros, bytes);
  }

  void readBytes() {
    int64_t bits = n.integer("bits", 4);
    if (bits != 4 && bits != 8)
      return n.refuse("codes of other than 4 or 8 bits");
    if (bits == 4)
      codes = unpacked(n, codes);
    if (zeros == kNone) {
      zeros = n.op("Expand", {n.scalar(bits == 8 ? 128 : 8, DType::u8)},
                   {{"shape", n.knownShape(scales)}});
    } else if (bits == 4) {
      // The last byte of a row may have one of them.
      int64_t blocks = n.rank(scales) ? n.knownShape(scales).back() : 0;
      zeros = n.slice(unpacked(n, zeros), -1, 0, blocks);
    }
  }

  Value numbers() {
    return dequantized(n, codes, {scales, zeros, axis, n.type(codes), block});
  }

  NodeContext &n;
  Value codes, scales, zeros;
  int64_t block, axis = 0;
};

} // namespace

static void gatherBlockQuantized(NodeContext &n) { BlockTable(n).run(); }

//===----------------------------------------------------------------------===//
// Products of integers
//===----------------------------------------------------------------------===//

/// The product of integers times both scales, plus a bias. The scale of `b` may
/// be of each column.
static Value scaledProduct(NodeContext &n, Value product, Value scaleA,
                           Value scaleB, Value bias) {
  Value result = n.cast(product, DType::f32);
  // One number in a dim of its own must not add one.
  auto shaped = [&](Value x) {
    return n.shape(x) == Dims{1} ? n.reshape(x, {}) : x;
  };
  Value scale = n.op("Multiply", {shaped(scaleA), shaped(scaleB)});
  result = n.op("Multiply", {result, scale});
  return bias == kNone ? result : n.op("Add", {result, bias});
}

/// Operands A, B, scales, zero points, bias.
static void matMulIntegerToFloat(NodeContext &n) {
  Value product = integerProduct(n, n.in(0), n.in(4), n.in(1), n.in(5));
  n.out(0, scaledProduct(n, product, n.in(2), n.in(3), n.in(6)));
}

/// Operands A, which is quantised by its range, B, its scale and zero point,
/// bias.
static void dynamicQuantizeMatMul(NodeContext &n) {
  DynamicCodes a = dynamicCodes(n, n.in(0));
  Value product = integerProduct(n, a.codes, a.zeroPoint, n.in(1), n.in(3));
  n.out(0, scaledProduct(n, product, a.scale, n.in(2), n.in(4)));
}

/// Operands A, its scale and zero point, B and its, C as s32 with the product
/// of both scales, and those of the result, which is f32 without.
static void qGemm(NodeContext &n) {
  Value a = n.in(0), b = n.in(3);
  bool transposeA = n.integer("transA", 0), transposeB = n.integer("transB", 0);
  if (n.rank(a) != 2 || n.rank(b) != 2)
    return n.refuse("matrices are needed");
  if (transposeA)
    a = n.transpose(a, {1, 0});
  if (transposeB)
    b = n.transpose(b, {1, 0});
  Value product = integerProduct(n, a, n.in(2), b, n.in(5));
  if (n.in(6) != kNone)
    product = n.op("Add", {product, n.in(6)});
  Value result = scaledProduct(n, product, n.in(1), n.in(4), kNone);
  if (float alpha = n.number("alpha", 1); alpha != 1)
    result = n.op("Multiply", {result, n.like(result, alpha)});
  n.out(0,
        n.in(7) == kNone ? result : quantized(n, result, schemeAt(n, 7, -1)));
}

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

/// Operands A, its scale and zero point, B and its, and those of the result.
static void qLinearBinary(NodeContext &n) {
  Scheme to = schemeAt(n, 6, -1);
  to.type = n.type(n.in(0));
  Value a = dequantized(n, n.in(0), schemeAt(n, 1, -1));
  Value b = dequantized(n, n.in(3), schemeAt(n, 4, -1));
  n.out(0, quantized(n, n.op(n.conversion().kind, {a, b}), to));
}

/// Operands condition, X, its scale and zero point, Y and its, and those of the
/// result.
static void qLinearWhere(NodeContext &n) {
  Scheme to = schemeAt(n, 7, -1);
  to.type = n.type(n.in(1));
  Value x = dequantized(n, n.in(1), schemeAt(n, 2, -1));
  Value y = dequantized(n, n.in(4), schemeAt(n, 5, -1));
  x = n.expandLike(x, n.in(0)); // the condition may be larger than both
  n.out(0, quantized(n, n.select(n.in(0), x, y), to));
}

/// Operands X, its scale and zero point, and those of the result.
static void qLinearUnary(NodeContext &n, std::string_view kind,
                         graph::AttrMap attrs) {
  Scheme to = schemeAt(n, 3, -1);
  to.type = n.type(n.in(0));
  Value x = dequantized(n, n.in(0), schemeAt(n, 1, -1));
  n.out(0, quantized(n, n.op(kind, {x}, std::move(attrs)), to));
}

static void qLinearSigmoid(NodeContext &n) { qLinearUnary(n, "Sigmoid", {}); }

static void qLinearLeakyRelu(NodeContext &n) {
  qLinearUnary(n, "LeakyReLU", {{"alpha", n.number("alpha", 0.01f)}});
}

/// Of a set before version 13 all dims from `axis` on are one.
static void qLinearSoftmax(NodeContext &n) {
  int rank = n.rank(n.in(0));
  int64_t axis = n.axisOf(n.integer("axis", -1), rank);
  if (n.integer("opset", 13) < 13 && axis != rank - 1)
    return n.refuse("a softmax over several dims");
  qLinearUnary(n, "SoftMax", {{"axis", axis}});
}

static const char *formatOf(NodeContext &n) {
  return n.integer("channels_last", 0) ? "NXC" : "NCX";
}

static void qLinearGlobalAveragePool(NodeContext &n) {
  int rank = n.rank(n.in(0));
  int64_t first = n.integer("channels_last", 0) ? 1 : 2;
  Dims axes;
  for (int64_t i = 0; i < rank - 2; ++i)
    axes.push_back(first + i);
  qLinearUnary(n, "ReduceMean", {{"axes", axes}, {"keep_dims", true}});
}

static void qLinearAveragePool(NodeContext &n) {
  graph::AttrMap attrs = averagePoolAttrs(n);
  attrs["data_format"] = formatOf(n);
  qLinearUnary(n, "AvgPool", attrs);
}

/// Operands are the scale and zero point of the result, then each part with its
/// own.
static void qLinearConcat(NodeContext &n) {
  Values parts;
  for (size_t i = 2; i + 1 < n.numInputs(); i += 3)
    parts.push_back(dequantized(n, n.in(i), schemeAt(n, i + 1, -1)));
  Value joined = n.op("Concat", parts, {{"axis", n.integer("axis", 0)}});
  Scheme to = schemeAt(n, 0, -1);
  to.type = n.type(n.in(2));
  n.out(0, quantized(n, joined, to));
}

static void nhwcMaxPool(NodeContext &n) {
  graph::AttrMap attrs = maxPoolAttrs(n);
  attrs["data_format"] = "NXC";
  DType type = n.type(n.in(0));
  Value x = n.isFloat(n.in(0)) ? n.in(0) : n.cast(n.in(0), DType::f32);
  n.out(0, n.cast(n.op("MaxPool", {x}, attrs), type));
}

std::span<const OpConversion> microsoftQuantConversions() {
  static constexpr OpConversion table[] = {
      microsoft("DynamicQuantizeMatMul", dynamicQuantizeMatMul),
      microsoft("GatherBlockQuantized", gatherBlockQuantized),
      microsoft("MatMulIntegerToFloat", matMulIntegerToFloat),
      microsoft("MatMulNBits", matMulNBits),
      microsoft("NhwcMaxPool", nhwcMaxPool),
      microsoft("QGemm", qGemm),
      microsoft("QLinearAdd", qLinearBinary, "Add"),
      microsoft("QLinearAveragePool", qLinearAveragePool),
      microsoft("QLinearConcat", qLinearConcat),
      microsoft("QLinearGlobalAveragePool", qLinearGlobalAveragePool),
      microsoft("QLinearLeakyRelu", qLinearLeakyRelu),
      microsoft("QLinearMul", qLinearBinary, "Multiply"),
      microsoft("QLinearSigmoid", qLinearSigmoid),
      microsoft("QLinearSoftmax", qLinearSoftmax),
      microsoft("QLinearWhere", qLinearWhere),
  };
  return table;
}

} // namespace tenon::onnx
