# SPDX-License-Identifier: Apache-2.0
"""Writes cases of the operators of com.microsoft, with what ONNX Runtime
computes as the outputs.

    python3 tests/onnx/write_microsoft_tests.py tests/onnx/microsoft

Each case is a model of one node. Needs the packages onnx (with ml_dtypes),
onnxruntime and numpy; those in the repository are of onnxruntime 1.32.0.
"""

import ml_dtypes
import numpy as np

from case_files import write_all
from microsoft_cases import Cases, f32, floats, rng, s8, u8


def add_fused(c):
    x, bias = floats(2, 3, 8), floats(8)
    c.add("bias_gelu", "BiasGelu", [("a", x), ("b", bias)])
    c.add("gelu", "Gelu", [("x", x)])
    c.add("fast_gelu", "FastGelu", [("x", x)])
    c.add("fast_gelu_bias", "FastGelu", [("x", x), ("bias", bias)])
    c.add("quick_gelu", "QuickGelu", [("x", x)], alpha=1.5)
    a, b = floats(2, 4, 5), floats(2, 6, 4)
    c.add(
        "fused_matmul", "FusedMatMul", [("a", a), ("b", b)], transA=1, transB=1, alpha=0.5
    )
    m, n, k = floats(3, 4), floats(4, 5), floats(5)
    for act in ("Relu", "Sigmoid", "Tanh"):
        c.add(
            "fused_gemm_" + act.lower(),
            "FusedGemm",
            [("a", m), ("b", n), ("c", k)],
            activation=act,
            alpha=0.5,
            beta=2.0,
        )
    c.add(
        "fused_gemm_leaky_relu",
        "FusedGemm",
        [("a", m), ("b", n), ("c", k)],
        activation="LeakyRelu",
        activation_alpha=0.3,
    )
    image, w, wb = floats(1, 4, 6, 6), floats(4, 4, 3, 3, scale=0.3), floats(4)
    conv = [("x", image), ("w", w), ("b", wb)]
    pads = dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    c.add("fused_conv_relu", "FusedConv", conv, activation="Relu", **pads)
    c.add(
        "fused_conv_sum",
        "FusedConv",
        conv + [("z", floats(1, 4, 6, 6))],
        activation="Relu",
        **pads,
    )
    c.add(
        "fused_conv_clip",
        "FusedConv",
        conv,
        activation="Clip",
        activation_params=[-0.5, 0.5],
        **pads,
    )


def add_norms(c):
    x, skip = floats(2, 3, 8), floats(2, 3, 8)
    gamma, beta, bias = floats(8), floats(8), floats(8)
    c.add(
        "skip_layer_norm",
        "SkipLayerNormalization",
        [("x", x), ("skip", skip), ("g", gamma), ("b", beta), ("bias", bias)],
        ["y", "", "", "sum"],
        epsilon=1e-5,
    )
    c.add(
        "skip_layer_norm_broadcast",
        "SkipLayerNormalization",
        [("x", x), ("skip", skip[0]), ("g", gamma)],
    )
    c.add(
        "skip_simplified_layer_norm",
        "SkipSimplifiedLayerNormalization",
        [("x", x), ("skip", skip), ("g", gamma), ("bias", bias)],
        ["y", "", "", "sum"],
        epsilon=1e-5,
    )
    c.add(
        "simplified_layer_norm",
        "SimplifiedLayerNormalization",
        [("x", x), ("g", gamma)],
        domain="",
        axis=-1,
        epsilon=1e-5,
    )
    ids = rng.integers(0, 10, (2, 4)).astype(np.int32)
    segments = rng.integers(0, 2, (2, 4)).astype(np.int32)
    mask = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
    tables = [("words", floats(10, 8)), ("places", floats(6, 8))]
    affine = [("g", gamma), ("b", beta)]
    c.add(
        "embed_layer_norm",
        "EmbedLayerNormalization",
        [("ids", ids), ("segments", segments)]
        + tables
        + [("seg", floats(2, 8))]
        + affine
        + [("mask", mask)],
        ["y", "m"],
    )
    c.add(
        "embed_layer_norm_positions",
        "EmbedLayerNormalization",
        [("ids", ids), ("segments", None)]
        + tables
        + [("seg", None)]
        + affine
        + [("mask", None), ("at", np.array([[3, 2, 1, 0], [0, 0, 1, 5]], np.int32))],
        ["y", "", "sum"],
    )


def add_attention(c):
    b, s, h, d = 2, 3, 2, 4
    hidden = h * d
    x, w, bias = floats(b, s, hidden), floats(hidden, 3 * hidden), floats(3 * hidden)
    base = [("x", x), ("w", w), ("bias", bias)]
    c.add("attention", "Attention", base, num_heads=h)
    c.add("attention_causal", "Attention", base, num_heads=h, unidirectional=1)
    mask2 = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
    c.add("attention_mask", "Attention", base + [("m", mask2)], num_heads=h)
    c.add(
        "attention_mask_lengths",
        "Attention",
        base + [("m", np.array([2, 3], np.int32))],
        num_heads=h,
    )
    mask3 = rng.integers(0, 2, (b, s, s)).astype(np.int32)
    mask3[:, :, 0] = 1
    c.add("attention_mask_3d", "Attention", base + [("m", mask3)], num_heads=h)
    past = floats(2, b, h, 5, d)
    c.add(
        "attention_past",
        "Attention",
        base + [("m", None), ("past", past)],
        ["y", "present"],
        num_heads=h,
        unidirectional=1,
    )
    c.add(
        "attention_bias",
        "Attention",
        base + [("m", None), ("past", None), ("ab", floats(1, h, s, s))],
        num_heads=h,
        scale=0.3,
    )
    c.add(
        "qattention",
        "QAttention",
        [
            ("x", u8(b, s, hidden)),
            ("w", u8(hidden, 3 * hidden)),
            ("bias", bias),
            ("xs", f32(0.02)),
            ("ws", f32(0.01)),
            ("m", mask2),
            ("xz", np.array(120, np.uint8)),
            ("wz", np.array(128, np.uint8)),
        ],
        num_heads=h,
    )

    add_heads(c, b, s, h, d, bias)


def add_heads(c, b, s, h, d, bias):
    hidden = h * d
    q, k, v = floats(b, s, hidden), floats(b, 5, hidden), floats(b, 5, hidden)
    mha = [("q", q), ("k", k), ("v", v)]
    c.add("mha", "MultiHeadAttention", mha, num_heads=h)
    c.add("mha_bias", "MultiHeadAttention", mha + [("bias", bias)], num_heads=h)
    key_mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], np.int32)
    c.add(
        "mha_key_mask",
        "MultiHeadAttention",
        mha + [("bias", None), ("m", key_mask)],
        num_heads=h,
    )
    c.add(
        "mha_score_bias",
        "MultiHeadAttention",
        mha + [("bias", None), ("m", None), ("ab", floats(1, h, s, 5))],
        num_heads=h,
    )
    c.add(
        "mha_causal",
        "MultiHeadAttention",
        [("q", q), ("k", k[:, :s]), ("v", v[:, :s])],
        num_heads=h,
        unidirectional=1,
    )
    c.add(
        "mha_past",
        "MultiHeadAttention",
        [("q", q), ("k", k[:, :s]), ("v", v[:, :s]), ("bias", None), ("m", None)]
        + [("ab", None), ("pk", floats(b, h, 2, d)), ("pv", floats(b, h, 2, d))],
        3,
        num_heads=h,
    )
    c.add(
        "mha_cross",
        "MultiHeadAttention",
        [("q", q), ("k", floats(b, h, 5, d)), ("v", floats(b, h, 5, d))],
        num_heads=h,
    )


def add_group_queries(c):
    b, s, h, hk, d = 2, 3, 4, 2, 16
    q, k, v = floats(b, s, h * d), floats(b, s, hk * d), floats(b, s, hk * d)
    total = np.array(s, np.int32)
    last = np.full((b,), s - 1, np.int32)
    empty = np.zeros((b, hk, 0, d), np.float32)
    angles = np.outer(np.arange(16), 1 / 10 ** np.linspace(0, 1, d // 2))
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    heads = dict(num_heads=h, kv_num_heads=hk)
    outs = ["y", "pk1", "pv1"]

    def gqa(name, q, k, v, pk, pv, last, total, *more, **attrs):
        c.add(
            name,
            "GroupQueryAttention",
            [("q", q), ("k", k), ("v", v), ("pk", pk), ("pv", pv)]
            + [("last", last), ("total", total), *more],
            outs,
            weights=("total",),
            **heads,
            **attrs,
        )

    tables = [("cos", cos), ("sin", sin)]
    gqa("gqa_prompt", q, k, v, empty, empty, last, total)
    gqa("gqa_prompt_rotary", q, k, v, empty, empty, last, total, *tables, do_rotary=1)
    gqa(
        "gqa_prompt_interleaved",
        q, k, v, empty, empty, last, total, *tables,
        do_rotary=1,
        rotary_interleaved=1,
    )
    packed = np.concatenate([q, k, v], 2)
    gqa("gqa_packed", packed, None, None, empty, empty, last, total)
    gqa("gqa_softcap", q, k, v, empty, empty, last, total, softcap=2.0)
    gqa("gqa_window", q, k, v, empty, empty, last, total, local_window_size=2)
    gqa("gqa_smooth", q, k, v, empty, empty, last, total, smooth_softmax=1)
    gqa("gqa_scale", q, k, v, empty, empty, last, total, scale=0.2)
    past = floats(b, hk, 4, d), floats(b, hk, 4, d)
    one = q[:, :1], k[:, :1], v[:, :1]
    gqa(
        "gqa_token", *one, *past, np.full((b,), 4, np.int32), np.array(5, np.int32),
        *tables, do_rotary=1,
    )
    single = [t[:1] for t in one]
    gqa(
        "gqa_token_one_sample", *single, past[0][:1], past[1][:1],
        np.array([4], np.int32), np.array(5, np.int32), *tables, do_rotary=1,
    )

    x = floats(b, s, h * d)
    at = np.array([[3, 1, 2], [0, 5, 4]], np.int64)
    tables = [("cos", cos), ("sin", sin)]
    c.add("rotary_positions", "RotaryEmbedding", [("x", x), ("at", at)] + tables)
    c.add(
        "rotary_offset",
        "RotaryEmbedding",
        [("x", x), ("at", np.array([2], np.int64))] + tables,
        interleaved=1,
    )
    half = [("cos", cos[:, :2]), ("sin", sin[:, :2])]
    c.add(
        "rotary_part",
        "RotaryEmbedding",
        [("x", floats(b, h, s, d)), ("at", at)] + half,
        rotary_embedding_dim=4,
        num_heads=h,
    )


def add_block_weights(c):
    for bits, k, n, block, kind in (
        (4, 32, 5, 16, "none"),
        (4, 64, 4, 32, "u8"),
        (4, 40, 3, 16, "u8"),
        (4, 32, 4, 16, "f32"),
        (8, 32, 4, 16, "none"),
        (8, 64, 3, 32, "u8"),
    ):
        blocks = -(-k // block)
        weights = u8(n, blocks, block * bits // 8)
        if k % block and bits == 4:
            weights[:, -1, (k % block) // 2 :] = 0x88
        operands = [
            ("a", floats(2, 3, k)),
            ("b", weights),
            ("s", (rng.random((n * blocks)) * 0.1).astype(np.float32)),
        ]
        if kind == "u8":
            size = blocks if bits == 8 else (blocks + 1) // 2
            operands.append(("z", u8(n * size)))
        elif kind == "f32":
            operands.append(("z", (rng.random((n * blocks)) * 15).astype(np.float32)))
        c.add(
            f"matmul_nbits_{bits}_{kind}_{k}",
            "MatMulNBits",
            operands,
            weights=("b", "s", "z"),
            K=k,
            N=n,
            bits=bits,
            block_size=block,
        )
    c.add(
        "matmul_nbits_bias",
        "MatMulNBits",
        [
            ("a", floats(2, 32)),
            ("b", u8(5, 2, 8)),
            ("s", (rng.random((10)) * 0.1).astype(np.float32)),
            ("z", None),
            ("g", None),
            ("bias", floats(5)),
        ],
        weights=("b", "s", "bias"),
        K=32,
        N=5,
        bits=4,
        block_size=16,
    )


ZERO = np.array(120, np.uint8)


def add_products(c):
    a, b, zero = u8(2, 3, 8), u8(8, 5), ZERO
    c.add(
        "matmul_integer_to_float",
        "MatMulIntegerToFloat",
        [("a", a), ("b", b), ("as", f32(0.02)), ("bs", f32(0.03))]
        + [("az", zero), ("bz", np.array(130, np.uint8)), ("bias", floats(5))],
    )
    c.add(
        "matmul_integer_to_float_columns",
        "MatMulIntegerToFloat",
        [("a", a), ("b", s8(8, 5)), ("as", f32(0.02))]
        + [("bs", (rng.random(5) * 0.1).astype(np.float32)), ("az", zero)],
        weights=("b",),
    )
    x = floats(3, 8)
    c.add(
        "dynamic_quantize_matmul",
        "DynamicQuantizeMatMul",
        [("a", x), ("b", s8(8, 5)), ("bs", f32(0.03)), ("bz", np.array(3, np.int8))],
        weights=("b", "bs", "bz"),
    )
    c.add(
        "dynamic_quantize_matmul_bias",
        "DynamicQuantizeMatMul",
        [("a", x), ("b", u8(8, 5)), ("bs", f32([0.03])), ("bz", np.array([120], np.uint8))]
        + [("bias", floats(5))],
        weights=("b", "bs", "bz"),
    )
    gemm = [("a", u8(3, 8)), ("as", f32(0.02)), ("az", zero), ("b", u8(8, 5))]
    gemm += [("bs", f32(0.03)), ("bz", zero)]
    bias = rng.integers(-5000, 5000, (5,)).astype(np.int32)
    c.add(
        "qgemm",
        "QGemm",
        gemm + [("c", bias), ("ys", f32(0.5)), ("yz", np.array(128, np.uint8))],
        weights=("b", "c"),
    )
    c.add("qgemm_float", "QGemm", gemm + [("c", bias)], weights=("b", "c"))
    t = [("a", u8(3, 8)), ("as", f32(0.02)), ("az", zero), ("b", s8(5, 8))]
    c.add(
        "qgemm_transposed",
        "QGemm",
        t + [("bs", floats(5) ** 2 + 0.01), ("bz", np.zeros(5, np.int8)), ("c", bias)],
        weights=("b", "c"),
        transB=1,
    )


def add_elementwise(c):
    zero = ZERO
    one = [("xs", f32(0.0307)), ("xz", zero)]
    to = [("ys", f32(0.0513)), ("yz", np.array(110, np.uint8))]
    image = u8(1, 3, 4, 6)
    binary = [("a", u8(2, 8)), ("as", f32(0.03)), ("az", zero), ("b", u8(8))]
    binary += [("bs", f32(0.04)), ("bz", np.array(128, np.uint8))] + to
    c.add("qlinear_add", "QLinearAdd", binary)
    c.add("qlinear_mul", "QLinearMul", binary)
    signed = [("a", s8(2, 8)), ("as", f32(0.03)), ("az", np.array(5, np.int8))]
    signed += [("b", s8(8)), ("bs", f32(0.04)), ("bz", np.array(-3, np.int8))]
    signed += [("ys", f32(0.05)), ("yz", np.array(1, np.int8))]
    c.add("qlinear_add_signed", "QLinearAdd", signed)
    x = [("x", u8(2, 16))]
    fixed = ("xs", "xz", "ys", "yz")
    out = [("ys", f32(1 / 256)), ("yz", np.array(0, np.uint8))]
    c.add("qlinear_sigmoid", "QLinearSigmoid", x + one + out, weights=fixed)
    c.add("qlinear_leaky_relu", "QLinearLeakyRelu", x + one + to, weights=fixed, alpha=0.1)
    c.add("qlinear_softmax", "QLinearSoftmax", x + one + out, weights=fixed, opset=13)
    c.add(
        "qlinear_global_average_pool",
        "QLinearGlobalAveragePool",
        [("x", image)] + one + to,
    )
    c.add(
        "qlinear_global_average_pool_last",
        "QLinearGlobalAveragePool",
        [("x", image)] + one + to,
        channels_last=1,
    )
    c.add(
        "qlinear_average_pool",
        "QLinearAveragePool",
        [("x", image)] + one + to,
        kernel_shape=[2, 2],
        strides=[2, 2],
    )
    c.add(
        "qlinear_average_pool_last",
        "QLinearAveragePool",
        [("x", u8(1, 4, 6, 3))] + one + to,
        kernel_shape=[2, 3],
        channels_last=1,
    )
    c.add(
        "qlinear_concat",
        "QLinearConcat",
        to
        + [("a", u8(2, 3)), ("as", f32(0.03)), ("az", zero)]
        + [("b", u8(2, 4)), ("bs", f32(0.02)), ("bz", np.array(128, np.uint8))],
        axis=1,
    )
    c.add(
        "nhwc_max_pool",
        "NhwcMaxPool",
        [("x", u8(1, 6, 6, 3))],
        kernel_shape=[3, 3],
        strides=[2, 2],
        pads=[1, 1, 0, 0],
    )


def add_scales(c):
    scale, point = f32(0.1), np.array(3, np.int8)
    c.add("quantize", "QuantizeLinear", [("x", floats(2, 8)), ("s", scale), ("z", point)])
    c.add("dequantize", "DequantizeLinear", [("x", s8(2, 8)), ("s", scale), ("z", point)])
    codes = np.arange(-7, 8).reshape(3, 5).astype(ml_dtypes.int4)
    c.add("dequantize_int4", "DequantizeLinear", [("x", codes), ("s", scale)], weights="x")
    c.add(
        "dequantize_axis",
        "DequantizeLinear",
        [("x", u8(2, 8)), ("s", f32([0.1, 0.2])), ("z", np.array([3, 200], np.uint8))],
        axis=0,
    )


def add_recurrent(c):
    h, d, t = 4, 3, 5
    lstm = [
        ("x", floats(t, 2, d)),
        ("w", s8(1, d, 4 * h)),
        ("r", s8(1, h, 4 * h)),
        ("b", floats(1, 8 * h, scale=0.2)),
        ("l", None),
        ("h0", None),
        ("c0", None),
        ("p", None),
        ("ws", f32([0.01])),
        ("wz", np.array([0], np.int8)),
        ("rs", f32([0.01])),
        ("rz", np.array([0], np.int8)),
    ]
    c.add(
        "dynamic_quantize_lstm",
        "DynamicQuantizeLSTM",
        lstm,
        3,
        weights=("w", "r", "ws", "wz", "rs", "rz"),
        hidden_size=h,
    )


if __name__ == "__main__":
    write_all(
        Cases,
        __doc__,
        (
            add_fused,
            add_norms,
            add_attention,
            add_group_queries,
            add_block_weights,
            add_products,
            add_elementwise,
            add_scales,
            add_recurrent,
        ),
    )
