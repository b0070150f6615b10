# SPDX-License-Identifier: Apache-2.0
"""What is computed from constants, such as packed weights: graphs, and versions of
one graph, share it where its content is the same."""
from __future__ import annotations

from tenon.library import check, lib


def enable() -> None:
    """From now on, unless a capacity was set."""
    if lib.tenon_get_constant_cache_capacity() == 0:
        check(lib.tenon_set_constant_cache_capacity(-1))


def trim() -> None:
    """Frees what no compiled graph refers to any more. What other threads compute
    meanwhile may not be shared."""
    if lib.tenon_get_constant_cache_capacity() < 0:
        used = lib.tenon_get_constant_cache_stats().bytes_in_use
        # A capacity evicts; one of 0 would end the sharing.
        check(lib.tenon_set_constant_cache_capacity(max(used, 1)))
        check(lib.tenon_set_constant_cache_capacity(-1))
