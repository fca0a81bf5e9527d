"""Programs as short JSON for caches and pipes: a row of values for each node, no names of fields.

    {"kinds": [["ir.IntImm", ["dtype", "value", "span"]], ...],
     "rows": [[0, "int32", 1, null], ...], "root": [3]}

A row begins with the number of its kind; [n] among the values is the node of row n. Whoever reads
has the same version as who wrote. Half as long as what `save_json` writes, in half of the time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final

from tvm.ffi.object import as_object
from tvm.support.dtype import DataType

from .attrs import Attrs
from .expr import GlobalVar
from .json import Reader, Writer, nodes_in
from .node import NODE_TYPES, Node
from .op import Op

_PLAIN: Final = frozenset((str, int, bool, type(None)))
_LEAVES: Final = _PLAIN | {DataType}
Take = Callable[[Any], tuple[Any, ...]]


def save_apart(node: Any) -> tuple[str, list[Any]]:
    """`node` as text without the bytes of its tensors, and those tensors in their order."""
    tensors: list[Any] = []
    return _RowWriter(tensors).text(as_object(node)), tensors


def key_text(node: Any) -> tuple[str, list[Any]]:
    """As `save_apart`, for comparison only: equal before and after the module went through passes.

    Unlike for structural equality, names and spans count. A global variable is its name: what else
    it knows changes as passes run.
    """
    tensors: list[Any] = []
    return _RowWriter(tensors, names_only=True).text(as_object(node)), tensors


def load_apart(text: str, tensors: Sequence[Any]) -> Any:
    """What `save_apart` took apart; the bytes of its tensors in any form that is a buffer."""
    return _RowReader(tensors).read(json.loads(text))


class _RowWriter(Writer):
    def __init__(self, apart: list[Any], *, names_only: bool = False) -> None:
        super().__init__(apart)
        self._names_only = names_only
        self._kinds: list[tuple[str, list[str]]] = []
        self._rows: list[list[Any]] = []
        self._known: dict[type, tuple[int, Take]] = {}

    def text(self, root: Any) -> str:
        """The whole text."""
        index, known = self.index, self._known
        # a node is met twice: first to find its children, and again once these have their rows
        stack: list[tuple[Node, list[Any] | None, tuple[Any, ...]]] = [
            (node, None, ()) for node in nodes_in(root)
        ]
        while stack:
            node, row, values = stack.pop()
            if id(node) in index:
                continue
            if row is not None:
                self._add_row(node, row, values)
                continue
            number, take = known.get(node.__class__) or self._kind_of(node)
            values = take(node)
            stack.append((node, [number], values))
            for value in values:
                if value.__class__ in _LEAVES:
                    continue
                if isinstance(value, Node):
                    if id(value) not in index:
                        stack.append((value, None, ()))
                else:
                    stack += [(child, None, ()) for child in nodes_in(value)[::-1]]
        record = {"root": self.encode(root), "kinds": self._kinds, "rows": self._rows}
        return json.dumps(record, allow_nan=False, check_circular=False, separators=(",", ":"))

    def _add_row(self, node: Node, row: list[Any], values: tuple[Any, ...]) -> None:
        index = self.index
        for value in values:
            if value.__class__ in _PLAIN:
                row.append(value)
            elif isinstance(value, Node):
                row.append([index[id(value)]])
            elif isinstance(value, DataType) and isinstance(node, Attrs):
                # their constructors do not know which words are data types
                row.append({"$": "dtype", "name": str(value)})
            else:
                row.append(self.encode(value))
        index[id(node)] = len(self._rows)
        self.keep.append(node)
        self._rows.append(row)

    def reference(self, node: Node) -> Any:
        return [self.index[id(node)]]

    def _kind_of(self, node: Node) -> tuple[int, Take]:
        """The number of the node's kind, and how its values are taken."""
        cls = type(node)
        take: Take
        if isinstance(node, Op):
            names, take = ["name"], _one("name")
        elif self._names_only and isinstance(node, GlobalVar):
            names, take = ["name_hint"], _one("name_hint")
        elif cls.field_values is not Node.field_values:  # not every field is one that is saved
            # of this one alone: the next may have others
            return self._numbered(cls, list(node.field_values())), _by_fields
        else:
            names = [field.name for field in cls.FIELDS]
            take = attrgetter(*names) if len(names) > 1 else _one(*names)
        self._known[cls] = self._numbered(cls, names), take
        return self._known[cls]

    def _numbered(self, cls: type[Node], names: list[str]) -> int:
        kind = (cls.TYPE_KEY, names)
        if kind not in self._kinds:
            self._kinds.append(kind)
        return self._kinds.index(kind)


def _one(*names: str) -> Take:
    return lambda node: tuple([getattr(node, name) for name in names])


def _by_fields(node: Node) -> tuple[Any, ...]:
    return tuple(node.field_values().values())


class _RowReader(Reader):
    def read(self, record: dict[str, Any]) -> Any:
        """The program of a record."""
        makers = [_maker(key, names) for key, names in record["kinds"]]
        made, decode = self.made, self.decode
        for row in record["rows"]:
            values = [
                value if value.__class__ in _PLAIN
                else made[value[0]] if value.__class__ is list
                else decode(value)
                for value in row
            ]
            made.append(makers[values[0]](values))
        return decode(record["root"])

    def decode(self, value: Any) -> Any:
        return self.made[value[0]] if value.__class__ is list else super().decode(value)


def _maker(key: str, names: list[str]) -> Callable[[list[Any]], Node]:
    """How a node is made of its row."""
    cls = NODE_TYPES.get(key)
    order = cls.CTOR or tuple(field.name for field in cls.FIELDS)
    if cls.from_fields.__func__ is Node.from_fields.__func__ and set(order) <= set(names):  # type: ignore[attr-defined]
        places = [names.index(name) + 1 for name in order]
        return lambda row: cls(*[row[place] for place in places])
    return lambda row: cls.from_fields(dict(zip(names, row[1:])))
