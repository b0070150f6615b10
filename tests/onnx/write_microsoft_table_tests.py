# SPDX-License-Identifier: Apache-2.0
"""Writes more cases of the operators of com.microsoft: of tables whose rows are
read, of products with the batch behind the rows, and of norms in f16.

    python3 tests/onnx/write_microsoft_table_tests.py tests/onnx/microsoft

As write_microsoft_tests.py, but what ONNX Runtime has no kernel for on CPUs is
judged by numpy.
"""

import ml_dtypes
import numpy as np
from onnx import helper

from case_files import write_all, write_case
from microsoft_cases import DOMAIN, Cases, f32, floats, rng, s8, u8


def add_expected(c, name, op, inputs, result, weights=(), **attrs):
    """A case with the output `result`."""
    model = helper.make_model(
        helper.make_graph(
            [helper.make_node(op, [n for n, _ in inputs], ["y"], domain=DOMAIN, **attrs)],
            name,
            [
                helper.make_tensor_value_info(
                    n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape
                )
                for n, v in inputs
                if n not in weights
            ],
            [
                helper.make_tensor_value_info(
                    "y", helper.np_dtype_to_tensor_dtype(result.dtype), result.shape
                )
            ],
            [
                helper.make_tensor(
                    n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape, v.flatten()
                )
                for n, v in inputs
                if n in weights
            ],
        ),
        ir_version=8,
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)],
    )
    given = [v for n, v in inputs if n not in weights]
    write_case(c.folder / name, model, given, [result])


def add_products(c):
    # Rows, batch, columns; rows and columns differ, so that a wrong order shows.
    a, b = floats(4, 2, 3, 5), floats(2, 3, 5, 6)
    c.add("fused_matmul_batch_a", "FusedMatMul", [("a", a), ("b", b)], transBatchA=1)
    a, b = floats(2, 5, 4), floats(5, 2, 6)
    c.add(
        "fused_matmul_batch_b",
        "FusedMatMul",
        [("a", a), ("b", b)],
        transA=1,
        transBatchB=1,
        alpha=0.25,
    )
    a, b = floats(5, 2, 4), floats(6, 2, 5)
    c.add(
        "fused_matmul_batch_both",
        "FusedMatMul",
        [("a", a), ("b", b)],
        transA=1,
        transBatchA=1,
        transB=1,
        transBatchB=1,
    )
    a, b = floats(2, 4, 5), floats(2, 6, 5)
    c.add("transpose_matmul", "TransposeMatMul", [("a", a), ("b", b)], transB=1)
    product = 0.5 * (a @ np.swapaxes(b, 1, 2))
    add_expected(
        c,
        "fused_matmul_activation",
        "FusedMatMulActivation",
        [("a", a), ("b", b)],
        np.where(product < 0, np.float32(0.2) * product, product),
        transB=1,
        alpha=0.5,
        activation="LeakyRelu",
        activation_alpha=0.2,
    )


def add_block_tables(c):
    at = np.array([[3, 0, 5], [-1, 2, 2]], np.int64)

    def add(name, codes, scales, zeros=None, at=at, **attrs):
        c.add(
            "gather_block_quantized" + name,
            "GatherBlockQuantized",
            [("t", codes), ("at", at), ("s", scales), ("z", zeros)],
            weights=("t", "s") if zeros is None else ("t", "s", "z"),
            **attrs,
        )

    def scales(*shape):
        return np.abs(floats(*shape, scale=0.1)) + np.float32(0.01)

    nibbles = ml_dtypes.uint4, ml_dtypes.int4
    codes, signed = u8(6, 32, high=16), s8(6, 32, low=-8, high=8)
    add("_u4", codes.astype(nibbles[0]), scales(6, 2), block_size=16)
    add(
        "_s4_zeros",
        signed.astype(nibbles[1]),
        scales(6, 2),
        s8(6, 2, low=-8, high=8).astype(nibbles[1]),
        block_size=16,
    )
    add("_u8_packed", u8(6, 16), scales(6, 2), block_size=16, quantize_axis=1)
    # An odd number of blocks, the last of which is smaller.
    add("_u8_packed_zeros", u8(6, 20), scales(6, 3), u8(6, 2), block_size=16)
    add("_u8", u8(6, 32), scales(6, 2), block_size=16, bits=8)
    add("_u8_zeros", u8(6, 32), scales(6, 2), u8(6, 2), block_size=16, bits=8)
    add(
        "_axes",
        u8(32, 6, high=16).astype(nibbles[0]),
        scales(2, 6),
        gather_axis=1,
        quantize_axis=0,
        block_size=16,
    )
    add(
        "_same_axis",
        u8(32, 6, high=16).astype(nibbles[0]),
        scales(2, 6),
        at=np.array([17, 3, 31], np.int64),
        gather_axis=0,
        quantize_axis=0,
        block_size=16,
    )


def add_embeddings(c):
    ids = rng.integers(0, 10, (2, 4)).astype(np.int32)
    segments = rng.integers(0, 2, (2, 4)).astype(np.int32)
    mask = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
    tables = [("words", u8(10, 8)), ("places", u8(6, 8)), ("seg", u8(2, 8))]
    numbers = [("gamma", u8(8)), ("beta", u8(8))]
    names = [name for name, _ in tables + numbers]
    c.add(
        "q_embed_layer_norm",
        "QEmbedLayerNormalization",
        [("ids", ids), ("segments", segments)]
        + tables
        + numbers
        + [("mask", mask)]
        + [(name + "_s", f32(0.01 * (i + 1))) for i, name in enumerate(names)]
        + [(name + "_z", np.array(100 + 7 * i, np.uint8)) for i, name in enumerate(names)],
        ["y", "m"],
        weights=names,
    )


def add_relative_positions(c):
    # T5's own formula, with buckets // 2 of them for each distance of its own.
    def buckets_of(queries, keys, buckets, most, both):
        relative = np.arange(keys)[None, :] - np.arange(queries)[:, None]
        result = np.zeros_like(relative)
        if both:
            buckets //= 2
            result += (relative > 0) * buckets
            relative = np.abs(relative)
        else:
            relative = -np.minimum(relative, 0)
        exact = buckets // 2
        far = exact + (
            np.log(np.maximum(relative, 1).astype(np.float32) / np.float32(exact))
            / np.float32(np.log(most / exact))
            * np.float32(buckets - exact)
        ).astype(np.int64)
        far = np.minimum(far, buckets - 1)
        return result + np.where(relative < exact, relative, far)

    for name, queries, keys, both in (
        ("relative_position_bias", 40, 40, 1),
        ("relative_position_bias_causal", 21, 33, 0),
    ):
        # The elements are those of heads, buckets.
        table = floats(4, 32)
        at = buckets_of(queries, keys, 32, 24, both)
        add_expected(
            c,
            name,
            "RelativePositionBias",
            [
                ("t", table.reshape(32, 4)),
                ("q", np.array([queries], np.int64)),
                ("k", np.array([keys], np.int64)),
            ],
            table[:, at][None],
            weights=("q", "k"),
            max_distance=24,
            is_bidirectional=both,
        )


def add_others(c):
    condition = np.array([[True, False, True, False]])
    c.add(
        "qlinear_where",
        "QLinearWhere",
        [("c", condition), ("x", u8(3, 4)), ("xs", f32(0.02)), ("xz", np.array(5, np.uint8))]
        + [("y", u8(3, 1)), ("ys", f32(0.05)), ("yz", np.array(90, np.uint8))]
        + [("zs", f32(0.07)), ("zz", np.array(80, np.uint8))],
        weights=("xs", "xz", "ys", "yz", "zs", "zz"),
    )
    x, skip = floats(2, 3, 8).astype(np.float16), floats(2, 3, 8).astype(np.float16)
    gamma, beta = floats(8).astype(np.float16), floats(8).astype(np.float16)
    affine = [("g", gamma), ("b", beta)]
    c.add("layer_norm_f16", "LayerNormalization", [("x", x)] + affine, domain="")
    c.add("layer_norm_f16_no_bias", "LayerNormalization", [("x", x), ("g", gamma)], domain="")
    c.add(
        "skip_layer_norm_f16",
        "SkipLayerNormalization",
        [("x", x), ("skip", skip)] + affine,
        ["y", "", "", "sum"],
    )


if __name__ == "__main__":
    write_all(
        Cases,
        __doc__,
        (
            add_products,
            add_block_tables,
            add_embeddings,
            add_relative_positions,
            add_others,
        ),
    )
