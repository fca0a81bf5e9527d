"""Python values as the runtime's own."""

from __future__ import annotations

from typing import Any

from tvm.ffi import library
from tvm.ffi.object import Object, as_object
from tvm.support.dtype import DataType
from tvm.support.frozen import FrozenMap

from ._device import Device

PackedFunc = library().Function
ShapeTuple = library().Shape
String = library().core.String


def convert(value: Any) -> Any:
    """A value as compiled functions take it: callables become functions, lists arrays.

    Nodes of the IR stay what they are, in tuples and maps that do not change; so do devices and
    data types.
    """
    value = as_object(value)
    if isinstance(value, (Object, Device, DataType)):
        return value
    if isinstance(value, (list, tuple)) and any(_holds_nodes(item) for item in value):
        return tuple([convert(item) for item in value])
    if isinstance(value, dict) and any(
        _holds_nodes(part) for item in value.items() for part in item
    ):
        return FrozenMap({convert(key): convert(item) for key, item in value.items()})
    return library().convert(value)


def _holds_nodes(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_holds_nodes(item) for item in value)
    if isinstance(value, dict):
        return any(_holds_nodes(part) for item in value.items() for part in item)
    return isinstance(value, Object)
