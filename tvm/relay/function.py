"""Functions of Relay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, cast, final

from tvm.error import TVMError
from tvm.ir.attrs import DictAttrs
from tvm.ir.expr import RelaxExpr
from tvm.ir.function import BaseFunc, as_attrs
from tvm.ir.node import Field, fields, register_nodes
from tvm.ir.span import Span
from tvm.ir.type import Type
from tvm.support.arguments import explained

from .expr import Call, RelayExpr, Var, _with, as_relay
from .ty import FuncType, IncompleteType, TypeVar


@final
class Function(BaseFunc, RelayExpr):
    """`fn (params) -> ret_type { body }`, for all choices of `type_params`."""

    __slots__ = ("body", "params", "ret_type", "type_params")
    DIALECT: ClassVar[str] = "relay"
    TYPE_KEY = "relay.Function"
    SHARED: ClassVar[bool] = True
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "type_params*", "params*", "body", "ret_type", "attrs", "checked_type_~", "span~"
    )
    CTOR: ClassVar[tuple[str, ...]] = (
        "params", "body", "ret_type", "type_params", "attrs", "span",
    )  # fmt: skip

    @explained
    def __init__(
        self,
        params: Sequence[Var],
        body: RelaxExpr,
        ret_type: Type | None = None,
        type_params: Sequence[TypeVar] | None = None,
        attrs: DictAttrs | Mapping[str, object] | None = None,
        span: Span | None = None,
    ) -> None:
        body = as_relay(body)
        if not isinstance(body, RelaxExpr):
            raise TypeError(
                f"Function: the body is a {type(body).__name__}; legal: a Relay expression"
            )
        for param in params:
            if not isinstance(param, Var):
                raise TVMError(
                    f"Function: a parameter is a {type(param).__name__}; legal: relay.var(...)"
                )
        self._begin(span)
        self.params: Final = tuple(params)
        self.body: Final = body
        self.ret_type: Final = ret_type
        self.type_params: Final = tuple(type_params or ())
        self.attrs = as_attrs(attrs)

    def __call__(self, *args: RelaxExpr) -> Call:
        """This function applied to arguments."""
        return Call(self, args)

    @property
    def func_type_annotation(self) -> FuncType:
        """The signature as far as it was written down."""
        annotations = [param.type_annotation or IncompleteType() for param in self.params]
        return FuncType(annotations, self.ret_type or IncompleteType(), self.type_params)


@explained
def FunctionWithFields(
    function: Function,
    params: Sequence[Var] | None = None,
    body: RelaxExpr | None = None,
    ret_type: Type | None = None,
    ty_params: Sequence[TypeVar] | None = None,
    attrs: DictAttrs | Mapping[str, object] | None = None,
    virtual_device: Any = None,
    span: Span | None = None,
) -> Function:
    """A copy of a function with some fields changed."""
    made = _with(
        function, virtual_device, params=params, body=body, ret_type=ret_type,
        type_params=ty_params, attrs=attrs, span=span,
    )  # fmt: skip
    return cast("Function", made)


register_nodes(Function)
