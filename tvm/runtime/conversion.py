"""Python values as the runtime's own."""

from __future__ import annotations

from typing import Any

from tvm.ffi import library
from tvm.ffi.object import Object

PackedFunc = library().Function
ShapeTuple = library().Shape
String = library().core.String


def convert(value: Any) -> Any:
    """A value as compiled functions take it: callables become functions, lists arrays.

    Nodes of the IR stay what they are.
    """
    return value if isinstance(value, Object) else library().convert(value)
