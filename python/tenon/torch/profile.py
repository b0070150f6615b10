# SPDX-License-Identifier: Apache-2.0
"""Groups of Tenon in PyTorch's profiler, and so in Perfetto, by the names of the
modules that made them."""
from __future__ import annotations

import ctypes as c
import threading

import torch

from tenon import _abi
from tenon.library import lib
from tenon.model import Engine

_record = torch._C._profiler._RecordFunctionFast
_open = threading.local()


def _begin(_, name):
    _open.record = _record("tenon: " + name.decode(errors="replace"))
    _open.record.__enter__()


def _end(_):
    record, _open.record = getattr(_open, "record", None), None
    if record is not None:
        record.__exit__(None, None, None)


_callbacks = (c.CFUNCTYPE(None, c.c_void_p, c.c_char_p)(_begin),
              c.CFUNCTYPE(None, c.c_void_p)(_end))
_observer = _abi.tenon_observer(
    *[c.cast(f, c.c_void_p).value for f in _callbacks], None)
_watched: set[Engine] = set()


def follow(engine: Engine) -> None:
    """Has the profiler told of the engine's groups while it is on. Called before
    each execution: it costs little."""
    wanted = torch.autograd.profiler._is_profiler_enabled
    if wanted is not (engine in _watched):
        (_watched.add if wanted else _watched.discard)(engine)
        lib.tenon_exec_observe(
            lib.tenon_stream_get_exec(engine._stream),
            c.byref(_observer) if wanted else None)
