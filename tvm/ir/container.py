"""The classes of sequences and maps that nodes and compiled functions hand out.

Nodes hold tuples and maps that do not change, the runtime's functions return containers of the
FFI. Both are instances of these classes, so a program need not know who made what it was given.
"""

from __future__ import annotations

from typing import TypeVar

from tvm.ffi.library import is_loaded, library
from tvm.support.frozen import FrozenArray, FrozenMap

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class _ArrayClass(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, tuple) or _is_ffi("Array", instance)


class _MapClass(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, FrozenMap) or _is_ffi("Map", instance)


def _is_ffi(kind: str, instance: object) -> bool:
    return is_loaded() and isinstance(instance, getattr(library(), kind))


class Array(FrozenArray[T], metaclass=_ArrayClass):
    """A sequence that does not change; every tuple is one."""

    __slots__ = ()


class Map(FrozenMap[K, V], metaclass=_MapClass):
    """A map that does not change."""

    __slots__ = ()


__all__ = ["Array", "Map"]
