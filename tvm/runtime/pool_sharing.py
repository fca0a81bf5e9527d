"""One thread pool a process, however many libraries carry one.

A library has a table of three addresses under `TABLE`: a hook that its launches go through when it
is set, its own launch function, and its function that sets the number of threads. The first library
of a process lends its pool to all that come later. Libraries made of C have no pool, and a variable
`PARALLEL_POINTER` for the launch function of one.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import threading
from typing import Final

from tvm.ffi import library

from .threads import on_change

TABLE: Final = "__tvm_rt_pool"
PARALLEL_POINTER: Final = "__tvm_c_parallel_launch"
_POOL_HOME: Final = "tvm.backend.llvm.host"  # named, not imported: it makes this process's pool
_lock = threading.Lock()
_lender: int | None = None


class _Table(ctypes.Structure):
    _fields_ = (
        ("hook", ctypes.c_void_p),
        ("launch", ctypes.c_void_p),
        ("set_threads", ctypes.c_void_p),
    )


def join_pools(table_address: int) -> None:
    """Let the library with this table use the process's pool, or lend its own."""
    global _lender
    table = _Table.from_address(table_address)
    with _lock:
        if _lender is not None:
            table.hook = _lender if table.launch != _lender else None
            return
        _lender = table.launch
        # libraries that others load through tvm_ffi get the hook from its loader
        library().LIB.TVMFFIEnvModRegisterContextSymbol(
            TABLE.encode(), ctypes.c_void_p(table.launch)
        )
    on_change(ctypes.CFUNCTYPE(None, ctypes.c_int32)(table.set_threads))


def lend_pool(pointer_address: int) -> None:
    """Let the library with this variable use the process's pool; where none can be made, none."""
    if _lender is None:
        with contextlib.suppress(ImportError):
            importlib.import_module(_POOL_HOME).host_functions()
    ctypes.c_void_p.from_address(pointer_address).value = _lender
