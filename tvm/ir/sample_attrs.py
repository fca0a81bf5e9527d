"""A record of options with a field of each kind, to try reflection and storage with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, final

from .attrs import Attrs
from .env_func import EnvFunc
from .node import Field, Node, fields, make_node, of_type, register_nodes


@final
class SampleAttrs(Attrs):
    """An integer, a text, expressions, a function; all but the text have defaults."""

    __slots__ = ("axis", "func", "name", "padding")
    TYPE_KEY = "attrs.TestAttrs"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("axis", "name", "padding", "func")
    CTOR: ClassVar[tuple[str, ...]] = ("name", "axis", "padding", "func")

    def __init__(
        self,
        name: str,
        axis: int = 10,
        padding: Sequence[int | Node] = (0, 0),
        func: EnvFunc | None = None,
    ) -> None:
        self.axis: Final = of_type(axis, int, "attrs.TestAttrs: axis")
        self.name: Final = of_type(name, str, "attrs.TestAttrs: name")
        self.padding: Final = tuple([_as_expr(n) for n in padding])
        self.func: Final = func


def _as_expr(value: int | Node) -> Node:
    """A number as an expression; their classes stand on a floor above, and are found by name."""
    return value if isinstance(value, Node) else make_node("ir.IntImm", dtype="int32", value=value)


register_nodes(SampleAttrs)
