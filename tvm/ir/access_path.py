"""The way from a root node to a part of it: `<root>.body.seq[0].value`."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final, NamedTuple, final

from tvm.ffi.object import Object


class AccessKind(IntEnum):
    """The kinds of steps, numbered as the runtime library numbers them."""

    ATTR = 0
    ARRAY_ITEM = 1
    MAP_ITEM = 2
    ATTR_MISSING = 3
    ARRAY_ITEM_MISSING = 4
    MAP_ITEM_MISSING = 5


class AccessStep(NamedTuple):
    """One step: its kind, and the field, index or key that it goes to."""

    kind: AccessKind
    key: Any


@final
class AccessPath(Object):
    """Steps into a node: fields, elements, values of maps; the last may be a missing one."""

    __slots__ = ("steps",)

    def __init__(self, steps: tuple[tuple[str, Any], ...] = ()) -> None:
        self.steps: Final = steps

    @staticmethod
    def root() -> AccessPath:
        """The empty path."""
        return AccessPath()

    @staticmethod
    def of(path: Any) -> AccessPath:
        """The path itself, or the same way as a path of the runtime library tells it."""
        if isinstance(path, AccessPath):
            return path
        if not hasattr(path, "to_steps"):
            raise TypeError(
                f"an AccessPath is wanted, such as AccessPath.root().attr('body'); "
                f"found {type(path).__name__}"
            )
        steps = [(AccessKind(int(step.kind)).name.lower(), step.key) for step in path.to_steps()]
        return AccessPath(tuple(steps))

    def _extend(self, kind: str, key: Any) -> AccessPath:
        return AccessPath((*self.steps, (kind, key)))

    def attr(self, attr_key: str) -> AccessPath:
        """Into a field."""
        return self._extend("attr", attr_key)

    def attr_missing(self, attr_key: str) -> AccessPath:
        """A field that the other side has."""
        return self._extend("attr_missing", attr_key)

    def array_item(self, index: int) -> AccessPath:
        """Into an element of a sequence."""
        return self._extend("array_item", index)

    def array_item_missing(self, index: int) -> AccessPath:
        """An element that the other side has."""
        return self._extend("array_item_missing", index)

    def map_item(self, key: Any) -> AccessPath:
        """Into a value of a map."""
        return self._extend("map_item", key)

    def map_item_missing(self, key: Any) -> AccessPath:
        """A key that the other side has."""
        return self._extend("map_item_missing", key)

    @property
    def parent(self) -> AccessPath | None:
        """The path without its last step; None for the root."""
        return AccessPath(self.steps[:-1]) if self.steps else None

    @property
    def step(self) -> AccessStep | None:
        """The last step; None for the root."""
        return self.to_steps()[-1] if self.steps else None

    @property
    def depth(self) -> int:
        """The number of steps."""
        return len(self.steps)

    def to_steps(self) -> list[AccessStep]:
        """The steps in order, from the root on."""
        return [AccessStep(AccessKind[kind.upper()], key) for kind, key in self.steps]

    def is_prefix_of(self, other: Any) -> bool:
        """True when the other path starts with this one."""
        return _same_steps(AccessPath.of(other).steps[: len(self.steps)], self.steps)

    def __eq__(self, other: object) -> bool:
        if not hasattr(other, "to_steps"):
            return False
        return _same_steps(self.steps, AccessPath.of(other).steps)

    def __hash__(self) -> int:
        return hash(tuple((kind, str(key)) for kind, key in self.steps))

    def __str__(self) -> str:
        text = "<root>"
        for kind, key in self.steps:
            shown = f'"{key}"' if isinstance(key, str) else repr(key)
            if kind == "attr":
                text += f".{key}"
            else:
                text += f"[<missing:{shown}>]" if kind.endswith("missing") else f"[{shown}]"
        return text

    def __repr__(self) -> str:
        return self.__str__()


def _same_steps(a: tuple[tuple[str, Any], ...], b: tuple[tuple[str, Any], ...]) -> bool:
    """Step by step; functions of a module are told by their names."""
    if len(a) != len(b):
        return False
    return all(
        kind == other_kind and (key is other or _named(key) == _named(other))
        for (kind, key), (other_kind, other) in zip(a, b)
    )


def _named(key: Any) -> Any:
    return getattr(key, "name_hint", key)
