"""A global function as a node: it is stored by its name, and found again where it is loaded."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from tvm.error import TVMError, message
from tvm.ffi import get_global_func

from .node import Node, fields, register_nodes


class EnvFunc(Node):
    """The global function `name`; calling the node calls it."""

    __slots__ = ("name",)
    TYPE_KEY = "ir.EnvFunc"
    FIELDS: ClassVar = fields("name")

    def __init__(self, name: str) -> None:
        self.name: Final = name

    @property
    def func(self) -> Any:
        """The function."""
        return get_global_func(self.name)

    def __call__(self, *args: Any) -> Any:
        return self.func(*args)

    @staticmethod
    def get(name: str) -> EnvFunc:
        """The node of a registered function."""
        if get_global_func(name, allow_missing=True) is None:
            raise TVMError(
                message(
                    f"make a node of function {name!r}",
                    found="no global function of that name",
                    legal="the name of a function that was registered",
                )
            )
        return EnvFunc(name)


register_nodes(EnvFunc)
