# SPDX-License-Identifier: Apache-2.0
"""What PyTorch takes apart before Tenon sees it."""
from __future__ import annotations

import functools

import torch
from torch._decomp import core_aten_decompositions

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
    aten.embedding_dense_backward, aten.upsample_nearest2d,
    aten.upsample_bilinear2d, aten.tril, aten.triu, aten.unbind, aten.split,
    aten.rsub, aten.t, aten.transpose, aten.square,
)


@functools.cache
def decompositions():
    """The table for AOTAutograd: that of core ATen without what is kept."""
    table = dict(core_aten_decompositions())
    for packet in KEPT:
        for overload in packet.overloads():
            table.pop(getattr(packet, overload), None)
    return table
