"""Frames of Python's calls in one piece of memory."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

_Params = ParamSpec("_Params")
_Result = TypeVar("_Result")

# Since 3.11 frames lie in pieces of 16 kB, which the system gives and takes back whenever the depth
# of calls crosses the end of one. A walk over a tree crosses it at every other node: a tenth of the
# time to compile went into that. A frame that asks for more gets a piece of twice its size, and
# those of all it calls, some 5,000 deep, lie in the other half. Memory that nobody touches is not
# taken.
_WORDS: Final = 1 << 17


def contiguous_frames(call: Callable[_Params, _Result]) -> Callable[_Params, _Result]:
    """The same function; its calls, and theirs, do without memory of the system for each frame."""

    @functools.wraps(call)
    def within(*args: _Params.args, **kwargs: _Params.kwargs) -> _Result:
        return call(*args, **kwargs)

    if sys.version_info >= (3, 11):
        made: Any = within
        made.__code__ = made.__code__.replace(co_stacksize=_WORDS)
    return within
