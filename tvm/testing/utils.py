"""The names of the helpers for tests, as one module."""

from __future__ import annotations

from tvm.support.lazy import lazy_dir, lazy_names

from .homes import HOMES

__getattr__ = lazy_names(__name__, HOMES)
__dir__ = lazy_dir(__name__, *HOMES)
__all__ = [*HOMES]
