# SPDX-License-Identifier: Apache-2.0
"""Graphs as pictures for notebooks, without other programs."""
from __future__ import annotations

import html
from typing import NamedTuple, Sequence


class Row(NamedTuple):
    """An operation. `inputs` and `outputs` are ids of tensors; operations with
    the same `group` are one piece of code."""

    kind: str
    name: str
    types: str
    inputs: Sequence[int]
    outputs: Sequence[int]
    group: int | None = None


#: More would be slow to show, and no one reads them.
MOST_ROWS = 400
_HEIGHT = 22
_COLORS = ("#dbe9f6", "#fbe3cf")


def draw(rows: Sequence[Row]) -> str:
    """SVG: a line for each operation in order, groups in colour, and an arc from
    each operation to those that read what it yields."""
    shown = rows[:MOST_ROWS]
    line_of = {number: line for line, row in enumerate(shown)
               for number in row.outputs}
    arcs, reach = [], 0
    for line, row in enumerate(shown):
        for source in sorted({line_of[i] for i in row.inputs if i in line_of}):
            arcs.append((source, line))
            reach = max(reach, line - source)
    left = 14 + 8 * min(reach, 12)
    parts = [_line(row, line, left, shown) for line, row in enumerate(shown)]
    parts += [_arc(*arc, left) for arc in arcs]
    if len(rows) > len(shown):
        parts.append(f'<text x="{left + 8}" y="{len(shown) * _HEIGHT + 15}">'
                     f'and {len(rows) - len(shown)} more</text>')
    width = left + 16 + 7.3 * max(
        (len(_text(row)) for row in shown), default=0)
    height = _HEIGHT * (len(shown) + (len(rows) > len(shown)))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" '
            f'height="{height}" font-family="monospace" font-size="12">'
            + "".join(parts) + "</svg>")


def _text(row):
    name = "" if row.name in ("", row.kind) else f" {row.name}"
    return f"{row.kind}{name}  {row.types}"


def _line(row, line, left, rows):
    groups = sorted({r.group for r in rows if r.group is not None})
    color = "none" if row.group is None else \
        _COLORS[groups.index(row.group) % len(_COLORS)]
    top = line * _HEIGHT
    return (f'<rect x="{left}" y="{top + 1}" width="100%" '
            f'height="{_HEIGHT - 2}" fill="{color}"/>'
            f'<text x="{left + 8}" y="{top + 15}">{html.escape(_text(row))}'
            '</text>')


def _arc(source, target, left):
    top, bottom = (source + 0.5) * _HEIGHT, (target + 0.5) * _HEIGHT
    bend = left - 8 * min(target - source + 1, 12)
    return (f'<path d="M{left} {top}C{bend} {top} {bend} {bottom} {left} '
            f'{bottom}" fill="none" stroke="#555"/>')
