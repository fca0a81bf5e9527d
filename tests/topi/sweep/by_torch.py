"""What torch makes of arrays; the tests that ask it are skipped where torch is not installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


class _Functions:
    """`torch.nn.functional`, imported by the first call of a function."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def function(*args: Any, **options: Any) -> Any:
            return getattr(_torch().nn.functional, name)(*args, **options)

        return function


F: Any = _Functions()


def by_torch(function: Any, dtype: str = "float32") -> Any:
    """What torch makes of the arrays in double precision."""

    def wanted(*arrays: Any) -> Any:
        torch = _torch()
        wide = [torch.from_numpy(a.astype("float64") if a.dtype.kind == "f" else a) for a in arrays]
        return function(*wide).numpy().astype(dtype)

    return wanted


def _torch() -> Any:
    return pytest.importorskip("torch")
