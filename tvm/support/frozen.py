"""Maps and sequences that never change, as IR nodes hold them."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

T = TypeVar("T")
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


class FrozenArray(tuple[T, ...]):
    """A tuple that lists can be added to, as scripts do: `data.shape[:-1] + [n]`.

    For fields that scripts build on. Looking one value up takes longer than in a plain tuple, so
    fields that every pass reads all the time stay tuples.
    """

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return type(self)((*self, *other)) if _is_sequence(other) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        if type(other) is list:
            # Python asks this for `other += self` too, and what grew is to stay a list;
            # it is another one, so a list that has two names takes `extend`
            return [*other, *self]
        return type(self)((*other, *self)) if _is_sequence(other) else NotImplemented

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return type(self)(found) if type(index) is slice else found


def _is_sequence(value: object) -> bool:
    """A list or a tuple, or a container of the runtime's, which lists its values; no text."""
    return isinstance(value, (list, tuple)) or type(value).__name__ == "Array"
