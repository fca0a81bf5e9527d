"""The root class of everything that the compiler hands to its users."""

from __future__ import annotations


class Object:
    """Compared and hashed by identity; `structural_equal` compares by content."""

    __slots__ = ()

    def same_as(self, other: object) -> bool:
        """True when both names stand for one object."""
        return self is other
