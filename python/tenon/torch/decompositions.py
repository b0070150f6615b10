# SPDX-License-Identifier: Apache-2.0
"""What PyTorch takes apart before Tenon sees it."""
from __future__ import annotations

import functools
import math

import torch
from torch._decomp import core_aten_decompositions, decomposition_table
from torch._prims_common import suggest_memory_format

from tenon.torch import bags  # adds to REWRITES
from tenon.torch.rewrites import REWRITES, within

aten = torch.ops.aten

#: Operators that have operations of Tenon, or lowerings that keep them whole.
KEPT = (
    aten._scaled_dot_product_flash_attention_for_cpu,
    aten._safe_softmax, aten.native_layer_norm_backward,
    aten.native_batch_norm_backward, aten.gelu_backward, aten.silu,
    aten.silu_backward, aten._softmax_backward_data,
    aten._log_softmax_backward_data, aten.sigmoid_backward,
    aten.tanh_backward, aten.threshold_backward, aten.elu, aten.mish,
    aten.softplus, aten.hardswish, aten.hardswish_backward, aten.hardsigmoid,
    aten.hardtanh, aten.leaky_relu, aten.addcmul, aten.addcdiv, aten.lerp,
    aten.embedding_dense_backward, aten.upsample_nearest1d,
    aten.upsample_nearest2d, aten.upsample_nearest3d,
    aten._upsample_nearest_exact1d, aten._upsample_nearest_exact2d,
    aten._upsample_nearest_exact3d, aten.upsample_linear1d,
    aten.upsample_bilinear2d, aten.upsample_trilinear3d,
    aten.upsample_bicubic2d, aten._upsample_bilinear2d_aa,
    aten._upsample_bicubic2d_aa, aten.tril, aten.triu, aten.unbind, aten.split,
    aten.rsub, aten.t, aten.transpose, aten.square, aten.select_scatter,
)


#: Operators that core ATen has, and Tenon only in parts.
TAKEN_APART = (
    aten._batch_norm_no_update, aten._batch_norm_with_update_functional,
    aten.batch_norm_backward, aten.dist, aten.ldexp, aten.narrow_copy,
)


def unpooled(operator):
    """The decomposition of a max_unpool: with the memory format of its operand,
    as the kernels have it, and places within one image."""
    function = decomposition_table[operator]

    def decomposition(x, indices, output_size, *args):
        indices = within(indices, math.prod(output_size))
        return function(x, indices, output_size, *args).contiguous(
            memory_format=suggest_memory_format(x))

    return decomposition


@functools.cache
def decompositions():
    """The table for AOTAutograd: that of core ATen without what is kept."""
    table = dict(core_aten_decompositions())
    for packet in KEPT:
        for overload in packet.overloads():
            table.pop(getattr(packet, overload), None)
    for packet in TAKEN_APART:
        for overload in packet.overloads():
            operator = getattr(packet, overload)
            if operator in decomposition_table:
                table[operator] = decomposition_table[operator]
    for operator in (aten.max_unpool2d.default, aten.max_unpool3d.default):
        table[operator] = unpooled(operator)
    table.update(REWRITES)
    return table
