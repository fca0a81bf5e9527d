"""Help for classes that users derive from ours."""

from __future__ import annotations

from typing import TypeVar

from tvm.support.derived import derived

C = TypeVar("C", bound=type)


def derived_object(cls: C) -> C:
    """Marks a class derived from one of ours; `_cls` of it is the class as written."""
    return derived(cls)
