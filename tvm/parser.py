"""Reading Relay's text by older names; each call says what takes its place."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from tvm.relay import parser as _relay
from tvm.relay.parser import SpanCheck as SpanCheck

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _older(func: Callable[_P, _R]) -> Callable[_P, _R]:
    name = func.__name__

    @functools.wraps(func)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        text = f"tvm.parser.{name} is deprecated, use tvm.relay.{name} instead"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return func(*args, **kwargs)

    return call


parse = _older(_relay.parse)
parse_expr = _older(_relay.parse_expr)
fromtext = _older(_relay.fromtext)
