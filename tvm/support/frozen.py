"""A dict that never changes, for the maps held by IR nodes."""

from __future__ import annotations

from typing import NoReturn, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class FrozenMap(dict[K, V]):
    """An immutable dict; `FrozenMap({**old, key: value})` makes a changed copy."""

    __slots__ = ()

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        raise TypeError(
            "this map belongs to an IR node and cannot be changed; "
            "make a new node (for functions: with_attr, without_attr)"
        )

    __setitem__ = __delitem__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse
    __ior__ = _refuse

    def __reduce__(self) -> tuple[type, tuple[dict[K, V]]]:
        return (FrozenMap, (dict(self),))


EMPTY_MAP: FrozenMap[str, object] = FrozenMap()
