"""The root class of everything that the compiler hands to its users."""

from __future__ import annotations

from typing import Any

from typing_extensions import Self

from tvm.support.compiled import mypyc_attr

from .library import library


@mypyc_attr(allow_interpreted_subclasses=True)
class Object:
    """Compared and hashed by identity; `structural_equal` compares by content."""

    __slots__ = ()

    def __repr__(self) -> str:
        """As `tir.BlockRV(0x7f...)`: the floor and the class, and where the object lies."""
        floor = type(self).__module__.split(".")[1:2]
        return f"{'.'.join([*floor, type(self).__name__])}({id(self):#x})"

    def same_as(self, other: object) -> bool:
        """True when both names stand for one object."""
        return self is other

    def _move(self) -> Self:
        """This object, marked as one that is not used again; nodes never change all the same."""
        return self

    def __tvm_ffi_object__(self) -> object:
        """What packed functions are given: the object itself, though it may be callable."""
        return library().core._convert_to_opaque_object(self)


def as_object(value: Any) -> Any:
    """What a stand-in stands for (a deferred comparison, an element of a tensor); else `value`.

    Inside of lists, tuples and maps too. Every argument of the API that is to be a node passes
    through here, or through `tir.expr.as_expr`, which makes nodes of numbers as well.
    """
    if isinstance(value, Object):
        asked = getattr(value, "asobject", None)
        return value if asked is None else asked()
    if isinstance(value, (list, tuple)):
        made = [as_object(item) for item in value]
        same = all(new is old for new, old in zip(made, value))
        return value if same else tuple(made)
    if isinstance(value, dict):
        return {as_object(key): as_object(item) for key, item in value.items()}
    asked = getattr(value, "asobject", None)
    return value if asked is None else asked()
