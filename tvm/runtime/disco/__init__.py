"""One program on several workers: threads, processes, or processes of several machines."""

from __future__ import annotations

from tvm.support.lazy import lazy_dir, lazy_names

_HOMES = {
    name: f"tvm.runtime.disco.session:{name}"
    for name in (
        "DModule", "DPackedFunc", "DRef", "ProcessSession", "Session", "SocketSession",
        "ThreadedSession", "REDUCE_OPS",
    )
}  # fmt: skip
_CHILDREN = ("process_pool", "session")

__getattr__ = lazy_names(__name__, _HOMES)
__dir__ = lazy_dir(__name__, *_CHILDREN, *_HOMES)
