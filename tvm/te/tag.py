"""Tags: one word that says what kind of computation a stage is (`elemwise`, `broadcast`, ...)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar, TypeVar

from typing_extensions import Self

R = TypeVar("R")


class TagScope:
    """Gives its tag to every stage that is computed within; also a decorator of functions."""

    _current: ClassVar[TagScope | None] = None

    @classmethod
    def get_current(cls) -> TagScope | None:
        """The scope that is open now, or None; asking counts as a use of it."""
        if cls._current is not None:
            cls._current.accessed = True
        return cls._current

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.accessed = False
        self._outer: TagScope | None = None

    def __enter__(self) -> Self:
        if TagScope._current is not None:
            raise ValueError("nested op_tag is not allowed for now")
        self._outer = TagScope._current
        TagScope._current = self
        self.accessed = False
        return self

    def __exit__(self, kind: object, value: object, trace: object) -> None:
        TagScope._current = self._outer
        if kind is None and not self.accessed:
            warnings.warn(f"Tag '{self.tag}' declared via TagScope was not used.", stacklevel=2)

    def __call__(self, fdecl: Callable[..., R]) -> Callable[..., R]:
        @wraps(fdecl)
        def tagged_fdecl(*args: Any, **kwargs: Any) -> R:
            with TagScope(self.tag):
                return fdecl(*args, **kwargs)

        return tagged_fdecl


def tag_scope(tag: str) -> TagScope:
    """A scope for `with`, or a decorator, that tags the stages computed within."""
    return TagScope(tag)
