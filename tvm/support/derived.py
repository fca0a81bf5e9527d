"""Classes of users that are derived from ours and marked so by a decorator.

    @visitor                          @visitor
    class Base(PyExprVisitor): ...    class Leaf(Base._cls): ...
"""

from __future__ import annotations

from typing import TypeVar

C = TypeVar("C", bound=type)
_MARK = "TVMDerivedObject"


def derived(cls: C) -> C:
    """The class with `_cls`, the class as it was written, from which others are derived.

    Scripts of TVM rely on both: that `_cls` is there, and that deriving from the decorated class
    and decorating again is refused. An instance is its own outer object: it stands for both the
    object that users wrote and the one that the compiler calls.
    """
    if getattr(cls, "_type", None) == _MARK:
        name = cls.__name__
        raise TypeError(
            f"Inheritance from a decorated object `{name}` is not allowed. "
            f"Please inherit from `{name}._cls`."
        )
    body = {"_cls": cls, "_type": _MARK, "__module__": cls.__module__, "__doc__": cls.__doc__,
            "__qualname__": cls.__qualname__, "_outer": _itself}  # fmt: skip
    return type(cls)(cls.__name__, (cls,), body)


def _itself(instance: object) -> object:
    return instance
