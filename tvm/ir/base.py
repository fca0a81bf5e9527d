"""Names of the IR's base that scripts import from here."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from tvm.ffi.object import Object

from .env_func import EnvFunc
from .json import load_json, save_json
from .node import Node
from .span import SequentialSpan, SourceMap, SourceName, Span
from .structural import (
    assert_structural_equal,
    get_first_structural_mismatch,
    structural_equal,
    structural_hash,
)

__all__ = [
    "EnvFunc", "Node", "Object", "SequentialSpan", "SourceMap", "SourceName", "Span",
    "assert_structural_equal", "deprecated", "get_first_structural_mismatch", "load_json",
    "save_json", "structural_equal", "structural_hash",
]  # fmt: skip


def deprecated(method_name: str, new_method_name: str) -> Callable[..., Any]:
    """Decorate a function so that its use warns and names the successor."""

    def wrap(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def warned(*args: Any, **kwargs: Any) -> Any:
            warnings.warn(
                f"{method_name} is deprecated, use {new_method_name} instead",
                category=DeprecationWarning,
                stacklevel=2,
            )
            return func(*args, **kwargs)

        return warned

    return wrap
