"""`tvm.contrib.random.*`: tensors filled with random numbers, by name.

One generator (PCG64) serves a process; `tvm.contrib.random.seed` starts it anew.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from tvm.error import message
from tvm.ffi import register_global_func

from ._tensor import Tensor, host_view

_lock = threading.Lock()  # a numpy generator serves one thread at a time
_generator = np.random.default_rng()


@register_global_func("tvm.contrib.random.seed", override=True)
def seed(value: int) -> None:
    """Start the generator anew; a negative seed takes one from the system."""
    global _generator
    with _lock:
        _generator = np.random.default_rng(None if int(value) < 0 else int(value))


def _legal(what: str, found: str, legal: str, holds: bool) -> None:
    if not holds:
        raise ValueError(message(f"tvm.contrib.random.{what}", found=found, legal=legal))


@register_global_func("tvm.contrib.random.uniform", override=True)
def uniform(low: float, high: float, out: Tensor) -> None:
    """Numbers of [low, high), into `out`."""
    _legal("uniform", f"low {low}, high {high}", "low < high", low < high)
    view = host_view(out)
    with _lock:
        view[...] = _generator.uniform(low, high, view.shape)
    # rounding to fewer bits gives the upper end
    top, bottom = view.dtype.type(high), view.dtype.type(low)
    if bottom < top:
        np.minimum(view, np.nextafter(top, bottom), out=view)


@register_global_func("tvm.contrib.random.normal", override=True)
def normal(loc: float, scale: float, out: Tensor) -> None:
    """Normally distributed numbers with mean `loc` and standard deviation `scale`, into `out`."""
    _legal("normal", f"scale {scale}", "a standard deviation above 0", scale > 0)
    view = host_view(out)
    with _lock:
        view[...] = _generator.normal(loc, scale, view.shape)


@register_global_func("tvm.contrib.random.randint", override=True)
def randint(low: int, high: int, out: Tensor) -> None:
    """Integers of [low, high), into `out`; the range is cut to that of its dtype."""
    view = host_view(out)
    if view.dtype.kind in "iu":
        limits = np.iinfo(view.dtype)
        low, high = max(int(low), int(limits.min)), min(int(high), int(limits.max) + 1)
    _legal("randint", f"low {low}, high {high} for {view.dtype}", "low < high", low < high)
    with _lock:
        view[...] = _generator.integers(low, high, view.shape)


@register_global_func("tvm.contrib.random.random_fill", override=True)
def random_fill(out: Tensor) -> None:
    """Numbers that keep a kernel busy: floats of [1, 10), small integers, any bool."""
    view = host_view(out)
    with _lock:
        view[...] = _some(view)


def _some(view: Any) -> Any:
    if view.dtype == np.bool_:
        return _generator.integers(0, 2, view.shape).astype(np.bool_)
    if view.dtype.kind in "iu":
        top = min(int(np.iinfo(view.dtype).max), 127)
        return _generator.integers(0, top + 1, view.shape)
    return _generator.uniform(1.0, 10.0, view.shape).astype(view.dtype)


# What measures kernels asks by this name.
random_fill_for_measure = register_global_func(
    "tvm.contrib.random.random_fill_for_measure", random_fill, override=True
)
