"""Types that name how others follow from them: the record of a type rule and of its use."""

from __future__ import annotations

from typing import ClassVar, Final, final

from .attrs import Attrs
from .env_func import EnvFunc
from .node import Field, fields, register_nodes
from .scriptable import PRINTERS
from .span import Span
from .type import Type


class TypeConstraint(Type):
    """The root of types that say something about other types."""

    __slots__ = ()
    TYPE_KEY = "ir.TypeConstraint"


@final
class TypeCall(Type):
    """The type that a type function gives for arguments."""

    __slots__ = ("args", "func")
    TYPE_KEY = "ir.TypeCall"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("func", "args", "span~")

    def __init__(
        self, func: Type, args: tuple[Type, ...] | list[Type], span: Span | None = None
    ) -> None:
        self.func: Final = func
        self.args: Final = tuple(args)
        self.span = span

    def __repr__(self) -> str:
        return PRINTERS.get("relay")(self, {"show_meta_data": False, "head": False})

    __str__ = __repr__


@final
class TypeRelation(TypeConstraint):
    """A rule, named by a registered function, that ties the first `num_inputs` types to the rest.

    Without `func` it ties nothing. Raises TypeError if `func` is neither that nor an EnvFunc.
    """

    __slots__ = ("args", "attrs", "func", "num_inputs")
    TYPE_KEY = "ir.TypeRelation"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("func", "args", "num_inputs", "attrs", "span~")

    def __init__(
        self,
        func: EnvFunc | None,
        args: tuple[Type, ...] | list[Type],
        num_inputs: int,
        attrs: Attrs | None,
        span: Span | None = None,
    ) -> None:
        if func is not None and not isinstance(func, EnvFunc):
            raise TypeError(
                f"TypeRelation: the rule is a {type(func).__name__}; legal: an EnvFunc, "
                "such as EnvFunc.get(name) of a registered function"
            )
        self.func: Final = func
        self.args: Final = tuple(args)
        self.num_inputs: Final = num_inputs
        self.attrs: Final = attrs
        self.span = span


register_nodes(TypeCall, TypeRelation)
