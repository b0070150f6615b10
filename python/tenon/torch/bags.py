# SPDX-License-Identifier: Apache-2.0
"""nn.EmbeddingBag in terms of other operators of ATen."""
from __future__ import annotations

import torch

from tenon.torch.rewrites import aten, known, rewrites, wide

SUM, MEAN, MAX = range(3)


@rewrites(aten._embedding_bag_forward_only.default)
def embedding_bag(table, indices, offsets, scale_grad_by_freq=False, mode=SUM,
                  sparse=False, weights=None, include_last_offset=False,
                  padding_idx=-1):
    """The bags, the bag of each index, how many each bag has, and the rows of
    the maxima."""
    count, bags = indices.shape[0], offsets.shape[0] - include_last_offset
    if not known(count, bags, *table.shape):
        return NotImplemented
    # Each row belongs to the last bag that begins at it or before.
    begins = offsets.new_zeros(count + 1, dtype=torch.int64).index_add(
        0, offsets[:bags], offsets.new_ones(bags, dtype=torch.int64))
    bag = begins[:count].cumsum(0) - 1
    kept = indices != padding_idx
    rows = wide(table.index_select(0, indices))
    sizes = torch.zeros(bags, dtype=torch.int64).index_add(0, bag, kept.long())
    if mode == MAX:
        y, maxima = largest(rows, indices, bag, kept, bags)
    else:
        rows = torch.where(kept[:, None], rows, 0)
        if weights is not None:
            rows = rows * weights[:, None]
        y = rows.new_zeros(bags, table.shape[1]).index_add(0, bag, rows)
        if mode == MEAN:
            y = y / sizes[:, None].clamp(min=1)
        maxima = sizes
    return (y.to(table.dtype), *(t.to(indices.dtype)
                                 for t in (bag, sizes, maxima)))


@rewrites(aten._embedding_bag.default)
def embedding_bag_with_gradient(table, indices, offsets,
                                scale_grad_by_freq=False, *args, **kwargs):
    if scale_grad_by_freq:  # by what PyTorch takes for the frequency
        return NotImplemented
    return embedding_bag(table, indices, offsets, False, *args, **kwargs)


def largest(rows, indices, bag, kept, bags):
    """Of each bag, and the table's row it is from: the first of equal ones."""
    count, width = rows.shape
    if not count:
        return rows.new_zeros(bags, width), bag.new_full((bags, width), -1)
    place = bag[:, None].expand(count, width)
    lowest = torch.where(kept[:, None], rows, -torch.inf)
    best = rows.new_full((bags, width), -torch.inf).scatter_reduce(
        0, place, lowest, "amax")
    isbest = kept[:, None] & (lowest == best.gather(0, place))
    step = torch.where(isbest, torch.arange(count)[:, None], count)
    step = bag.new_full((bags, width), count).scatter_reduce(
        0, place, step, "amin")
    found = step < count
    maxima = indices.long()[step.clamp(max=count - 1)]
    return torch.where(found, best, 0), torch.where(found, maxima, -1)


@rewrites(aten._embedding_bag_backward.default)
def embedding_bag_backward(grad, indices, offsets, bag, sizes, maxima, count,
                           scale_grad_by_freq, mode, sparse, weights,
                           padding_idx=-1):
    """To the table."""
    if sparse or scale_grad_by_freq or \
            not known(*indices.shape, *grad.shape):
        return NotImplemented
    width = grad.shape[1]
    given = wide(grad)
    y = given.new_zeros(count, width)
    if mode == MAX:
        found = maxima >= 0
        y = y.scatter_add(0, maxima.clamp(min=0).long(),
                          torch.where(found, given, 0))
        return y.to(grad.dtype)
    if mode == MEAN:
        given = given / sizes[:, None].clamp(min=1)
    rows = given.index_select(0, bag)
    if weights is not None:
        rows = rows * weights[:, None]
    rows = torch.where((indices != padding_idx)[:, None], rows, 0)
    return y.index_add(0, indices, rows).to(grad.dtype)


@rewrites(aten._embedding_bag_per_sample_weights_backward.default)
def embedding_bag_weights_backward(grad, table, indices, offsets, bag, mode,
                                   padding_idx=-1):
    if not known(*indices.shape, *grad.shape):
        return NotImplemented
    found = (wide(grad).index_select(0, bag)
             * wide(table).index_select(0, indices)).sum(1)
    return torch.where(indices != padding_idx, found, 0).to(table.dtype)
