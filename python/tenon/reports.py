# SPDX-License-Identifier: Apache-2.0
"""What became of a graph, and how long it takes."""
from __future__ import annotations

import ctypes as c
import json
import statistics
import time
from typing import TYPE_CHECKING, Any, Sequence

from tenon import _abi
from tenon.drawing import Row, draw
from tenon.errors import error
from tenon.library import check, lib

if TYPE_CHECKING:
    from tenon.model import Code, Model

_KINDS = {name.removeprefix("TENON_REPORT_").lower(): getattr(_abi, name)
          for name in _abi.ENUMERATIONS["tenon_report"]}


def report(code: "Code", kind: str) -> str:
    """Errors: BadOption, those of compiling."""
    if kind not in _KINDS:
        raise error("BadOption", f"there is no report {kind!r}",
                    "one of " + ", ".join(_KINDS))
    text, length = c.c_char_p(), c.c_size_t()
    with code.lock:  # the text is the library's until it is asked again
        check(lib.tenon_compiled_partition_get_report(
            code.compiled, code.engine._handle, _KINDS[kind], c.byref(text),
            c.byref(length)))
        return text.value.decode(errors="replace")


class Explanation:
    """Where each operation of a compiled graph went, and what became of each
    tensor. Printed, it is what `tenon explain` prints; a notebook draws it.

    groups: of each group of operations that is one piece of code: "label",
        "kind", "operations" by name, "types", and where sizes are known "flops"
        and bytes of "memory" and "reused".
    operations, edges: answers, each with a "verdict" and a "text".
    """

    def __init__(self, code: "Code"):
        self.text = report(code, "explanation")
        found = json.loads(report(code, "explanation_json"))
        self.groups: list[dict[str, Any]] = found["groups"]
        self.operations: list[dict[str, Any]] = found["operations"]
        self.edges: list[dict[str, Any]] = found["edges"]
        self._graph = json.loads(report(code, "graph"))

    @property
    def flops(self) -> float:
        """Floating-point operations of an execution; those of groups whose
        sizes are not known are left out."""
        return sum(group.get("flops", 0.0) for group in self.groups)

    def __str__(self):
        return self.text

    def __repr__(self):
        return (f"Explanation of {len(self.operations)} operations in "
                f"{len(self.groups)} groups")

    def _repr_html_(self) -> str:
        rows = []
        for op, answer in zip(self._graph["graph"], self.operations):
            types = ["x".join(str(d) for d in [*t.get("shape", []), t["dtype"]])
                     for t in op["outputs"]]
            group = answer["groups"][0] if answer["groups"] else None
            rows.append(Row(op["kind"], op["name"], ", ".join(types),
                            [t["id"] for t in op["inputs"]],
                            [t["id"] for t in op["outputs"]], group))
        return draw(rows)


class Benchmark:
    """Times of executions, in seconds.

    times: of each; median, fastest: of them.
    flops: of one execution, 0 where sizes are not known.
    groups: seconds in each group of an execution, by name, the longest first.
    """

    def __init__(self, times: Sequence[float], flops: float,
                 groups: dict[str, float]):
        self.times = list(times)
        self.flops = flops
        self.groups = groups

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def fastest(self) -> float:
        return min(self.times)

    def __repr__(self):
        rate = f", {self.flops / self.median / 1e9:.4g} GFLOP/s" \
            if self.flops else ""
        return (f"{self.median * 1e3:.4g} ms (median of {len(self.times)}, "
                f"fastest {self.fastest * 1e3:.4g} ms{rate})")

    def __str__(self):
        return "\n".join([repr(self), *(
            f"{seconds * 1e3:10.4g} ms  {name}"
            for name, seconds in self.groups.items())])


def bench(model: "Model", args: Sequence[Any], out: Sequence[Any] | None,
          seconds: float) -> Benchmark:
    """Executes for so long, and a tenth of it more with times of groups."""
    run = model.prepare(*args, out=out)
    run()  # packs constants
    times, end = [], time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    groups = _times_of_groups(model, run, max(1, len(times) // 10))
    flops = model.explain().flops if model.code.static else 0.0
    return Benchmark(times, flops, groups)


def _times_of_groups(model, run, count):
    executor = lib.tenon_stream_get_exec(model.code.engine._stream)
    lib.tenon_exec_profile_reset(executor)
    lib.tenon_exec_profile_enable(executor, 1)
    try:
        for _ in range(count):
            run()
    finally:
        lib.tenon_exec_profile_enable(executor, 0)
    number = lib.tenon_exec_profile_read(executor, None, 0)
    entries = (_abi.tenon_profile_entry * number)()
    lib.tenon_exec_profile_read(executor, entries, number)
    found = {e.name.decode(errors="replace"): e.total_ns * 1e-9 / count
             for e in entries}
    lib.tenon_exec_profile_reset(executor)
    return found
