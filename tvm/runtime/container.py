"""The FFI's shapes and texts, by the names that the runtime's users know."""

from .conversion import ShapeTuple, String

__all__ = ["ShapeTuple", "String"]
