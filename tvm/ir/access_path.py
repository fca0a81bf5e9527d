"""The way from a root node to a part of it: `<root>.body.seq[0].value`."""

from __future__ import annotations

from typing import Any, Final, final

from tvm.ffi.object import Object


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

    def _extend(self, kind: str, key: Any) -> AccessPath:
        return AccessPath((*self.steps, (kind, key)))

    def attr(self, name: str) -> AccessPath:
        """Into a field."""
        return self._extend("attr", name)

    def attr_missing(self, name: str) -> AccessPath:
        """A field that the other side has."""
        return self._extend("attr_missing", name)

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

    def is_prefix_of(self, other: AccessPath) -> bool:
        """True when the other path starts with this one."""
        return other.steps[: len(self.steps)] == self.steps

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AccessPath) and self.steps == other.steps

    def __hash__(self) -> int:
        return hash(tuple((kind, str(key)) for kind, key in self.steps))

    def __str__(self) -> str:
        text = "<root>"
        for kind, key in self.steps:
            shown = getattr(key, "name_hint", key)
            if kind == "attr":
                text += f".{shown}"
            elif kind == "array_item":
                text += f"[{shown}]"
            elif kind == "map_item":
                text += f'["{shown}"]' if isinstance(shown, str) else f"[{shown}]"
            else:
                text += f".<missing {shown}>" if "attr" in kind else f"[<missing {shown}>]"
        return text

    __repr__ = __str__
