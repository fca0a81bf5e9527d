"""The root class of everything that the compiler hands to its users."""

from __future__ import annotations

from .library import library


class Object:
    """Compared and hashed by identity; `structural_equal` compares by content."""

    __slots__ = ()

    def same_as(self, other: object) -> bool:
        """True when both names stand for one object."""
        return self is other

    def __tvm_ffi_object__(self) -> object:
        """What packed functions are given: the object itself, though it may be callable."""
        return library().core._convert_to_opaque_object(self)
