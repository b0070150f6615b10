# SPDX-License-Identifier: Apache-2.0
"""The folder in which compiled code is kept for the next process."""
from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import stat

from tenon.library import check, lib
from tenon.torch.stats import log


def folder() -> pathlib.Path | None:
    """$TENON_CACHE_DIR, or a folder below the user's caches; None if the variable
    is empty."""
    given = os.environ.get("TENON_CACHE_DIR")
    if given is not None:
        return pathlib.Path(given) if given else None
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "tenon" / "code"


def limit() -> int:
    """How many bytes the folder may have: $TENON_CACHE_BYTES, or 4 GiB."""
    try:
        return int(os.environ.get("TENON_CACHE_BYTES", 4 << 30))
    except ValueError:
        log.warning("TENON_CACHE_BYTES is no number of bytes")
        return 4 << 30


def prune(path: pathlib.Path, most: int) -> None:
    """Deletes what was used the longest time ago, so that at most so many bytes
    are left. Other processes may do so at the same time."""
    found = []
    for entry in os.scandir(path):
        with contextlib.suppress(OSError):
            if entry.name.endswith(".tenon") and entry.is_file(
                    follow_symlinks=False):
                found.append((entry.stat().st_mtime, entry.stat().st_size,
                              entry.path))
    total = sum(size for _, size, _ in found)
    for _, size, name in sorted(found):
        if total <= most:
            break
        with contextlib.suppress(OSError):
            os.unlink(name)
        total -= size


@functools.cache
def enable() -> None:
    """Uses the folder from now on, unless others could write code into it."""
    try:
        path = folder()
        if path is None:
            return
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = path.stat()
        if about.st_uid != os.getuid() or \
                about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            log.warning("%s is not used: others may write to it", path)
            return
        prune(path, limit())
    except (OSError, RuntimeError) as e:  # no home, a full disk
        log.warning("compiled code is not kept: %s", e)
        return
    check(lib.tenon_set_compiled_cache_folder(os.fsencode(path)))
