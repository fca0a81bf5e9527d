"""One thread pool a process, however many libraries carry one.

A library has a table of three addresses under `TABLE`: a hook that its launches go through when it
is set, its own launch function, and its function that sets the number of threads. The first library
of a process lends its pool to all that come later. Libraries made of C have no pool, and a variable
`PARALLEL_POINTER` for the launch function of one.

Whoever watches hooks the lender's launches, too, and hands them to the address under `OWN_LAUNCH`,
which goes past the hook.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import threading
from collections.abc import Callable, Iterator
from typing import Final

from tvm.error import TVMError, message
from tvm.ffi import library

from .threads import on_change

TABLE: Final = "__tvm_rt_pool"
OWN_LAUNCH: Final = "__tvm_rt_pool_launch"
PARALLEL_POINTER: Final = "__tvm_c_parallel_launch"
_POOL_HOME: Final = "tvm.backend.llvm.host"  # named, not imported: it makes this process's pool


class _Table(ctypes.Structure):
    _fields_ = (
        ("hook", ctypes.c_void_p),
        ("launch", ctypes.c_void_p),
        ("set_threads", ctypes.c_void_p),
    )


_lock = threading.Lock()
_watching = threading.Lock()
_lender: int | None = None
_hooked: tuple[_Table, int] | None = None  # the lender's table, and its launch past the hook


def join_pools(table_address: int, own_launch: int | None = None) -> None:
    """Let the library with this table use the process's pool, or lend its own.

    `own_launch` is the address of the variable `OWN_LAUNCH`.
    """
    global _lender, _hooked
    table = _Table.from_address(table_address)
    with _lock:
        if _lender is not None:
            table.hook = _lender if table.launch != _lender else None
            return
        _lender = table.launch
        if own_launch is not None:
            _hooked = table, ctypes.c_void_p.from_address(own_launch).value or 0
        # libraries that others load through tvm_ffi get the hook from its loader
        library().LIB.TVMFFIEnvModRegisterContextSymbol(
            TABLE.encode(), ctypes.c_void_p(table.launch)
        )
    on_change(ctypes.CFUNCTYPE(None, ctypes.c_int32)(table.set_threads))


@contextlib.contextmanager
def watched_launches(make_hook: Callable[[int], int]) -> Iterator[None]:
    """All launches of the process go through a function: `make_hook` gives its address.

    It gets the address of the launch that it shall hand them to. One at a time may watch.
    """
    if _lender is None:
        importlib.import_module(_POOL_HOME).host_functions()
    if _hooked is None:
        raise TVMError(
            message("watch parallel loops", found="the pool of an older library",
                    legal="libraries that were exported with this version")
        )  # fmt: skip
    table, launch = _hooked
    with _watching:
        table.hook = make_hook(launch)
        try:
            yield
        finally:
            table.hook = None


def lend_pool(pointer_address: int) -> None:
    """Let the library with this variable use the process's pool; where none can be made, none."""
    if _lender is None:
        with contextlib.suppress(ImportError):
            importlib.import_module(_POOL_HOME).host_functions()
    ctypes.c_void_p.from_address(pointer_address).value = _lender
