"""What TIR and Relax functions have in common: attributes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import TypeVar

from typing_extensions import Self

from tvm.support.arguments import explained
from tvm.support.compiled import mypyc_attr

from .attrs import DictAttrs
from .expr import RelaxExpr
from .node import with_fields
from .scriptable import PRINTERS

F = TypeVar("F", bound="BaseFunc")


class CallingConv(IntEnum):
    """How a function is called (attribute `calling_conv`)."""

    DEFAULT = 0
    C_PACKED_FUNC = 1
    DEVICE_KERNEL_LAUNCH = 2


@mypyc_attr(allow_interpreted_subclasses=True)
class BaseFunc(RelaxExpr):
    """A function with attributes."""

    __slots__ = ("__name__", "attrs")
    __name__: str  # of the Python function that it was read from
    TYPE_KEY = "ir.BaseFunc"
    attrs: DictAttrs

    def _repr_html_(self) -> str:
        """What notebooks show: the function in colours."""
        return PRINTERS.get("html")(self, {})

    @explained
    def with_attr(
        self, attr_key_or_dict: str | Mapping[str, object], attr_value: object = None
    ) -> Self:
        """A copy with one attribute set, or several given as a dict."""
        if isinstance(attr_key_or_dict, str):
            return self.with_attrs({attr_key_or_dict: attr_value})
        return self.with_attrs(attr_key_or_dict)

    @explained
    def with_attrs(self, attr_map: Mapping[str, object] | DictAttrs) -> Self:
        """A copy with the given attributes set beside the present ones."""
        given = dict(attr_map.items())
        return with_fields(self, attrs=DictAttrs({**dict(self.attrs.items()), **given}))

    @explained
    def without_attr(self, attr_key: str) -> Self:
        """A copy without the attribute."""
        if attr_key not in self.attrs:
            return self
        return with_fields(
            self, attrs=DictAttrs({k: v for k, v in self.attrs.items() if k != attr_key})
        )


def as_attrs(attrs: DictAttrs | Mapping[str, object] | None) -> DictAttrs:
    """`attrs` as the node that functions hold."""
    return attrs if isinstance(attrs, DictAttrs) else DictAttrs(attrs)
