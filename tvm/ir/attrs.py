"""Attributes: the named options of an operator call or of a function."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping
from typing import ClassVar

from tvm.support.frozen import FrozenMap

from .node import Field, Node, fields, register_nodes
from .node import make_node as make_node


class Attrs(Node):
    """A record of options; each operator's attributes are a subclass with fields."""

    __slots__ = ()
    TYPE_KEY = "ir.Attrs"

    def get_int_tuple(self, key: str) -> tuple[int, ...]:
        """The integers of a tuple attribute."""
        return tuple(int(x) for x in getattr(self, key))

    def get_int(self, key: str) -> int:
        """An integer attribute."""
        return int(getattr(self, key))

    def get_str(self, key: str) -> str:
        """A string attribute."""
        return str(getattr(self, key))

    def keys(self) -> list[str]:
        """The attribute names, in order."""
        return [field.name for field in self.FIELDS]

    def __getitem__(self, key: str) -> object:
        if key not in self.keys():
            raise KeyError(key)
        return getattr(self, key)


def _fixed(value: object) -> object:
    """A value with the dicts in it as maps that do not change, and numpy's scalars as numbers."""
    if isinstance(value, dict):
        if isinstance(value, FrozenMap):
            return value
        return FrozenMap({key: _fixed(item) for key, item in value.items()})
    if isinstance(value, list):
        return [_fixed(item) for item in value]
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return value.item()  # type: ignore[attr-defined]
    return value


class DictAttrs(Attrs):
    """Attributes by free names, as functions and modules have them."""

    __slots__ = ("_map",)
    TYPE_KEY = "ir.DictAttrs"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("__dict__")

    def __init__(self, values: Mapping[str, object] | None = None) -> None:
        if values and not hasattr(values, "items"):
            raise TypeError(f"DictAttrs: a dict of values by their names, found {values!r}")
        self._map: FrozenMap[str, object] = FrozenMap(
            {name: _fixed(value) for name, value in (values or {}).items()}
        )

    @property
    def __dict__(self) -> dict[str, object]:  # type: ignore[override]
        """All attributes, which is the one field of this node."""
        return self._map

    @classmethod
    def from_keywords(cls, values: dict[str, object]) -> DictAttrs:
        """Any name is a name of an attribute."""
        return cls(values)

    def __getattr__(self, name: str) -> object:
        if name.startswith("_") or name not in self._map:
            raise AttributeError(f"DictAttrs has no attribute {name!r}")
        return self._map[name]

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        """The attribute names."""
        return self._map.keys()

    def items(self) -> ItemsView[str, object]:
        """Names with values."""
        return self._map.items()

    def get(self, key: str, default: object = None) -> object:
        """The value of `key`, or `default`."""
        return self._map.get(key, default)

    def __getitem__(self, key: str) -> object:
        return self._map[key]

    def __contains__(self, key: object) -> bool:
        return key in self._map

    def __iter__(self) -> Iterator[str]:
        return iter(self._map)

    def __len__(self) -> int:
        return len(self._map)

register_nodes(DictAttrs)
