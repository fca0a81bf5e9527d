"""The base of all IR nodes, and the field table that drives everything generic about them.

Equality, hashing, JSON, copying, printing of metadata and reflection read `FIELDS`; no node says
anything twice. A node is never changed after it was made, so subtrees are shared freely.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from typing_extensions import Self

from tvm.support.compiled import mypyc_attr
from tvm.support.frozen import FrozenArray
from tvm.support.registry import Registry

from .scriptable import Scriptable

if TYPE_CHECKING:
    pass

N = TypeVar("N", bound="Node")
T = TypeVar("T")
_JSON: Final = "tvm.ir.json"  # it knows all nodes, so it loads after them


class Field:
    """One field of a node: its name, whether it binds variables, whether equality ignores it."""

    __slots__ = ("binds", "ignored", "name")

    def __init__(self, name: str, binds: bool, ignored: bool) -> None:
        self.name: Final = name
        self.binds: Final = binds
        self.ignored: Final = ignored

    def __repr__(self) -> str:
        return self.name + "*" * self.binds + "~" * self.ignored


def fields(*specs: str) -> tuple[Field, ...]:
    """A field table; `name*` binds variables, `name~` is left out of structural equality."""
    return tuple(Field(spec.rstrip("*~"), "*" in spec, "~" in spec) for spec in specs)


def of_type(value: object, kind: type[T], what: str) -> T:
    """`value`, which has to be of a class; a TypeError that says `what` it is for anything else."""
    if isinstance(value, kind):
        return value
    raise TypeError(f"{what} is a {type(value).__name__}: {value!r}; legal: {kind.__name__}")


def listed(values: Any, what: str, of: str = "") -> Any:
    """`values`, which have to be several; a TypeError that says `what` is something else."""
    if isinstance(values, Iterable) and not isinstance(values, (str, bytes)):
        return values
    raise TypeError(f"{what} are a {type(values).__name__}; legal: a list{of}")


def number(kind: type[T], value: Any, what: str) -> T:
    """`value` as an int or a float; a TypeError that says `what` it is if it is none."""
    try:
        if kind is int and isinstance(value, float):
            raise TypeError
        return kind(value)  # type: ignore[call-arg]
    except (TypeError, ValueError):
        raise TypeError(
            f"{what} is a {type(value).__name__}: {value!r}; legal: {kind.__name__}"
        ) from None


def all_of_type(values: Iterable[object], kind: type[T], what: str) -> FrozenArray[T]:
    """Several values, all of a class."""
    values = listed(values, what, f" of {kind.__name__}")
    return FrozenArray([of_type(value, kind, f"one of {what}") for value in values])


@mypyc_attr(allow_interpreted_subclasses=True)
class Node(Scriptable):
    """An immutable piece of a program, compared by identity and carrying its source span.

    `FIELDS` lists the fields in the order in which equality visits them (definitions first).
    `CTOR` names the constructor's positional parameters by field, where that order differs.
    `EQUALITY` says how two nodes are compared: by their fields ("tree"), as variables that a
    definition ties together ("var"), or as one object ("unique"). Of a class with `SHARED`, a
    node with two users is one node on both sides: a value computed once is not one computed twice.
    Floats among a node's fields are equal if they differ by less than `FLOAT_SLACK`.
    """

    __slots__ = ()
    TYPE_KEY: ClassVar[str] = "ir.Node"
    FIELDS: ClassVar[tuple[Field, ...]] = ()
    CTOR: ClassVar[tuple[str, ...]] = ()
    EQUALITY: ClassVar[str] = "tree"
    SHARED: ClassVar[bool] = False
    FLOAT_SLACK: ClassVar[float] = 0.0

    def binds_first(self) -> bool:
        """True if other fields use what this node binds, as a function does that calls itself."""
        return False

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> Self:
        """A node of this class with the given field values; missing ones are defaults."""
        names = cls.CTOR or tuple(field.name for field in cls.FIELDS)
        first = next((at for at, name in enumerate(names) if name not in values), len(names))
        given = [values[name] for name in names[:first]]
        return cls(*given, **{name: values[name] for name in names[first:] if name in values})

    @classmethod
    def from_keywords(cls, values: dict[str, object]) -> Self:
        """As `from_fields`, for values that a user names; a TypeError for a name that is none."""
        known = [field.name for field in cls.FIELDS]
        unknown = [name for name in values if name not in known]
        if unknown:
            raise TypeError(
                f"{cls.TYPE_KEY} has no field {unknown[0]!r}; legal: {', '.join(known)}"
            )
        try:
            return cls.from_fields(values)
        except (KeyError, TypeError) as err:
            missing = [name for name in known if name not in values]
            unset = err.args[0] in missing if isinstance(err, KeyError) else "required" in str(err)
            if not unset:
                raise
            raise TypeError(
                f"{cls.TYPE_KEY}: a required field is not set\n"
                f"  found: {', '.join(values) or 'no field'}\n"
                f"  legal: values for those of {', '.join(missing)} that have no default"
            ) from err

    def field_values(self) -> dict[str, object]:
        """All fields with their values, in the order of `FIELDS`."""
        return {field.name: getattr(self, field.name) for field in self.FIELDS}

    def __getstate__(self) -> dict[str, str]:
        """The node as JSON, which copies and pickles are made from."""
        text: str = importlib.import_module(_JSON).save_json(self)
        return {"handle": text}

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        """Copies and pickles load that JSON: fields are set by constructors alone."""
        return importlib.import_module(_JSON).load_json, (self.__getstate__()["handle"],)

    def __str__(self) -> str:
        return self.script()

    def __repr__(self) -> str:
        return self.script()


def with_fields(node: N, **changes: object) -> N:
    """A copy of `node` with some fields changed; the same object when nothing differs."""
    if all(getattr(node, name) is value for name, value in changes.items()):
        return node
    return type(node).from_fields({**node.field_values(), **changes})


# Each module with nodes is the home of some, or loaded with a home.
NODE_TYPES: Final[Registry[type[Node]]] = Registry(
    "node type", "tvm.ir", "tvm.tir", "tvm.te", "tvm.target", "tvm.relax",
    "tvm.ir.memory_pools", "tvm.ir.type_relation", "tvm.tir.data_layout", "tvm.tir.index_map",
    "tvm.tir.intrin_registry",
    "tvm.arith.iter_map_nodes", "tvm.arith.interval_set", "tvm.arith.int_solver", "tvm.relax.dpl",
    "tvm.relay",
)  # fmt: skip


def register_nodes(*classes: type[Node]) -> None:
    """Make the classes known by their type key, for JSON and `make_node`."""
    for cls in classes:
        NODE_TYPES.register(cls.TYPE_KEY, cls, depth=2)


def make_node(type_key: str, **values: object) -> Node:
    """A node made by its type key from field values.

    Raises KeyError (with near names) for an unknown key and TypeError for an unknown field.
    A key without a prefix, as older versions wrote it (`DictAttrs`), is one of `ir`.
    """
    known = NODE_TYPES.find(f"ir.{type_key}") if "." not in type_key else None
    return (known or NODE_TYPES.get(type_key)).from_keywords(values)
