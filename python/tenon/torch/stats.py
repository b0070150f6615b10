# SPDX-License-Identifier: Apache-2.0
"""What the backend did since the process began, and what it tells once."""
from __future__ import annotations

import collections
import logging
import threading
from typing import Any

log = logging.getLogger("tenon")

_lock = threading.Lock()
_counts: collections.Counter = collections.Counter()
_leftovers: dict[tuple[str, str], int] = {}


def count(name: str, number: int = 1) -> None:
    with _lock:
        _counts[name] += number


def leftover(operator: str, reason: str) -> None:
    """Counts a node that stays in PyTorch; the first of its kind is a
    warning."""
    with _lock:
        seen = _leftovers.get((operator, reason), 0)
        _leftovers[operator, reason] = seen + 1
    if not seen:
        log.warning("%s stays in PyTorch: %s", operator, reason)


def stats() -> dict[str, Any]:
    """Numbers since the process began or reset_stats: "graphs" and "regions"
    that were compiled, "nodes" that Tenon took, "leftovers" by operator and
    reason, "versions" compiled for single shapes, "repacked" constants that had
    changed, "copies" of inputs whose strides could not be used, "fallbacks" of
    regions to PyTorch where there was no code for the sizes of a call."""
    with _lock:
        found: dict[str, Any] = {name: _counts[name] for name in (
            "graphs", "regions", "nodes", "versions", "repacked", "copies",
            "fallbacks")}
        found["leftovers"] = dict(_leftovers)
    return found


def reset_stats() -> None:
    with _lock:
        _counts.clear()
        _leftovers.clear()
