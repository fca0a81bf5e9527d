"""Operators: a name, and the rules that hang on it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any, ClassVar, Final, NamedTuple, final

from tvm.error import TVMError
from tvm.support.registry import Registry

from .expr import OPERATORS, RelaxExpr
from .node import Field, fields, register_nodes
from .scriptable import PRINTERS

# One registry for the operators of all dialects; the home of each is loaded on first need.
OPS: Final[Registry[Op]] = Registry(
    "operator", "tvm.tir.op", "tvm.relax.op", "tvm.relay.op", "tvm.relay.qnn", "tvm.relay.quantize"
)


class ArgumentInfo(NamedTuple):
    """What is known of one argument of an operator."""

    name: str
    type_info: str
    description: str


@final
class Op(RelaxExpr):
    """A primitive operator of TIR (`tir.exp`) or Relax (`relax.add`).

    Attributes (`get_attr`) hold its rules: effect kind, inference, legalisation, gradient.
    """

    __slots__ = ("_attrs", "arguments", "attrs_type_key", "description", "name", "num_inputs",
                 "op_type", "support_level")  # fmt: skip
    TYPE_KEY = "ir.Op"
    EQUALITY = "unique"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "name", "op_type~", "description~", "arguments~", "attrs_type_key~", "num_inputs~",
        "support_level~",
    )  # fmt: skip

    def __init__(self, name: str, description: str = "", num_inputs: int = -1) -> None:
        self.name: Final = name
        self.op_type = None
        self.description = description
        self.arguments: list[ArgumentInfo] = []
        self.attrs_type_key = ""
        self.num_inputs = num_inputs
        self.support_level = 10
        self.struct_info_ = None
        self.span = None
        self._attrs: dict[str, Any] = {}

    def astext(self, show_meta_data: bool = True, annotate: object = None) -> str:
        """The name in Relay's text format, with the format's version."""
        return PRINTERS.get("relay")(self, {"show_meta_data": show_meta_data, "annotate": annotate})

    @staticmethod
    def get(op_name: str) -> Op:
        """The operator called `op_name`; a TVMError (an AttributeError too) with near names.

        Raises TypeError for what is no name.
        """
        if not isinstance(op_name, str):
            raise TypeError(f"Op.get: the name of an operator, found {op_name!r}")
        try:
            return OPS.get(op_name)
        except KeyError as err:
            raise UnknownOpError(f"Operator {op_name} is not registered: {err.args[0]}") from None

    @staticmethod
    def list_op_names() -> list[str]:
        """All operator names, sorted."""
        return OPS.names()

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> Op:
        """An operator is one object a name."""
        return Op.get(str(values["name"]))

    def get_attr(self, attr_name: str) -> Any:
        """The value of an attribute, or what its dialect knows of the operator, or None."""
        found = self._attrs.get(attr_name)
        if found is None and attr_name in DERIVED:
            return DERIVED[attr_name](self)
        return found

    def own_attr(self, attr_name: str) -> Any:
        """The value that was set, or None."""
        return self._attrs.get(attr_name)

    def has_attr(self, attr_name: str) -> bool:
        """True when the attribute has a value."""
        return attr_name in self._attrs or self.get_attr(attr_name) is not None

    def set_attr(self, attr_name: str, value: object, plevel: int = 10) -> None:
        """Set an attribute; a higher `plevel` wins over a lower one, an equal one is refused."""
        level = self._attrs.get(_LEVEL + attr_name)
        if level is not None and level > plevel:
            return
        if level == plevel:
            raise TVMError(
                f"attribute {attr_name!r} of {self.name} is already set at level {plevel}; "
                "reset it or use a higher level"
            )
        self._note_change(attr_name, value)
        self._attrs[attr_name] = value
        self._attrs[_LEVEL + attr_name] = plevel

    def reset_attr(self, attr_name: str) -> None:
        """Forget an attribute."""
        self._note_change(attr_name, None)
        self._attrs.pop(attr_name, None)
        self._attrs.pop(_LEVEL + attr_name, None)

    def attr_state(self, attr_name: str) -> tuple[Any, Any, Any]:
        """All about an attribute, for `restore_attr`."""
        level = self._attrs.get(_LEVEL + attr_name)
        return self._attrs.get(attr_name), level, _displaced.get((self.name, attr_name))

    def restore_attr(self, attr_name: str, state: tuple[Any, Any, Any]) -> None:
        """Bring back what `attr_state` told; the changes in between never were."""
        value, level, displaced = state
        self.reset_attr(attr_name)
        if level is not None:
            self._attrs.update({attr_name: value, _LEVEL + attr_name: level})
        _displaced.pop((self.name, attr_name), None)
        if displaced is not None:
            _displaced[self.name, attr_name] = displaced

    def _note_change(self, attr_name: str, after: object) -> None:
        """Remember an attribute while it is foreign, or lacks what the compiler's files gave."""
        key = (self.name, attr_name)
        _, ours = _displaced.get(key, (self, self._attrs.get(attr_name)))
        if after is not ours and (after is None or _is_foreign(after)):
            _displaced[key] = (self, ours)
        else:
            _displaced.pop(key, None)

    def add_argument(self, name: str, type: str, description: str) -> None:
        """Document one argument."""
        self.arguments.append(ArgumentInfo(name, type, description))

    def set_support_level(self, level: int) -> None:
        """Set how widely the operator is supported (1 is best)."""
        self.support_level = level

    def set_num_inputs(self, n: int) -> None:
        """Set the number of inputs; -1 means any."""
        self.num_inputs = n

    def set_attrs_type_key(self, key: str) -> None:
        """Name the attributes' node type."""
        self.attrs_type_key = key

    def add_type_rel(
        self, rel_name: str, type_rel_func: Callable[..., Any] | None = None
    ) -> None:
        """Set how Relay finds the type of a call: a known relation by name, or a function.

        The function `f(arg_types, attrs)` gives the type of the result, or None for "not yet".
        """
        import_module("tvm.relay.op")  # the relations stand there
        OPERATORS["relay"]["add_type_rel"](self, rel_name, type_rel_func)

    def __repr__(self) -> str:
        return f"Op({self.name})"

    __str__ = __repr__


# attribute -> what the compiler does with an operator for which nothing was set
DERIVED: Final[dict[str, Callable[[Op], Any]]] = {}


def operator_of_tir(name: str) -> Op:
    """The operator of a call that is given by name, which loop programs take from their own."""
    if not name.startswith("tir."):
        raise ValueError(
            f"Cannot handle str op argument {name}: it is not of the tir namespace; "
            "legal: tir.NAME, or Op.get(NAME)"
        )
    return Op.get(name)


class UnknownOpError(TVMError, AttributeError, KeyError):
    """An operator name that nobody declared."""

    __str__ = TVMError.__str__


_LEVEL: Final = "\0level "
# (operator, attribute) -> the operator, and what the compiler's files set where others changed it
_displaced: Final[dict[tuple[str, str], tuple[Op, object]]] = {}


def _is_foreign(rule: object) -> bool:
    """Whether a rule is a function from outside of this package."""
    while isinstance(rule, functools.partial):
        rule = rule.func
    home = getattr(rule, "__module__", None)
    return callable(rule) and (not isinstance(home, str) or home.partition(".")[0] != "tvm")


def customised() -> bool:
    """Whether an operator has other rules than the compiler's files give it."""
    return any(OPS.seen(op.name) is op for op, _ in _displaced.values())


def declare(name: str, description: str = "", num_inputs: int = -1, **attrs: object) -> Op:
    """Declare a new operator with its first attributes."""
    op = Op(name, description, num_inputs)
    for key, value in attrs.items():
        op.set_attr(key, value)
    return OPS.register(name, op, depth=2)


def register_op_attr(
    op_name: str, attr_key: str, value: object = None, level: int = 10
) -> Any:
    """Set an attribute of an operator (made if it is new); a decorator when `value` is None."""

    def _register(v: object) -> object:
        op = OPS.find(op_name) or OPS.register(op_name, Op(op_name), depth=2)
        op.set_attr(attr_key, v, level)
        return v

    return _register(value) if value is not None else _register


def register_intrin_lowering(
    op_name: str, target: str, *, f: object = None, level: int = 10
) -> Any:
    """Set the rule that lowers intrinsic `op_name` for a target kind."""
    return register_op_attr(op_name, f"{target}.FLowerIntrinsic", f, level)


register_nodes(Op)
