"""Functions that an outside compiler makes the code of.

    @tvm.register_func("relay.ext.mine")
    def codegen(func):                  # a function with Compiler="mine"
        return module                   # a runtime.Module with a function called its global_symbol

The module's function takes the tensors of the parameters, then those of the result, which it
writes. Functions whose compiler is not registered are compiled as all others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import relax
from tvm.error import TVMError, message
from tvm.ffi import get_global_func
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.relax import op as R
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo

from .function import Function
from .to_relax_types import Symbols
from .traverse import post_order


def codegen_of(func: RelaxExpr) -> Callable[[Function], Any] | None:
    """The registered compiler of a function; None for one that is compiled here."""
    compiler = func.attrs.get("Compiler") if isinstance(func, Function) else None
    if compiler is None or str(compiler) == "default":
        return None
    found: Callable[[Function], Any] | None = get_global_func(
        f"relay.ext.{compiler}", allow_missing=True
    )
    return found


def outside_functions(mod: IRModule) -> dict[str, Function]:
    """The functions of a module that outside compilers take, by their names in the code."""
    found: dict[str, Function] = {}
    for var, func in mod.functions.items():
        if not isinstance(func, Function):
            continue
        for expr in (func, *post_order(func)):
            if codegen_of(expr) is not None:
                assert isinstance(expr, Function), "functions have compilers"
                found[symbol_of(expr, var.name_hint)] = expr
    return found


def symbol_of(func: Function, name: str = "") -> str:
    """The name of a function in the code."""
    found = func.attrs.get("global_symbol")
    if found is None and not name:
        raise TVMError(
            message(
                f"a function for the compiler {func.attrs.get('Compiler')}",
                found="no name", legal='the attribute "global_symbol"',
            )
        )
    return str(name if found is None else found)


class OutsideCode:
    """The libraries of a module's outside functions; each is made once."""

    def __init__(self, originals: dict[str, Function]) -> None:
        self.originals = originals  # as the program has them: no kernels of ours are seen in them
        self.libraries: dict[str, Any] = {}

    def call(self, func: Function, name: str, args: Sequence[Any]) -> RelaxExpr:
        """A call of an outside function on tensors, in Relax."""
        symbol = symbol_of(func, name)
        func = self.originals.get(symbol, func)
        if symbol not in self.libraries:
            codegen = codegen_of(func)
            assert codegen is not None, "it is asked before"
            self.libraries[symbol] = codegen(func)
        info = Symbols().info(_result(func))
        fields = info.fields if isinstance(info, TupleStructInfo) else [info]
        if not all(isinstance(field, TensorStructInfo) for field in fields):
            raise TVMError(
                message(f"{symbol}: tuples in its results", legal="tensors, or a tuple of them")
            )
        one = fields[0] if isinstance(info, TensorStructInfo) else list(fields)
        return R.call_dps_packed(symbol, _flat(args), one)

    def linked(self, mod: IRModule) -> IRModule:
        """The module with the libraries among those that it is linked with."""
        made = list(self.libraries.values())
        return mod.with_attr("external_mods", made) if made else mod


def _result(func: Function) -> Any:
    return func.ret_type if func.ret_type is not None else func.checked_type.ret_type  # type: ignore[attr-defined]


def _flat(values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if isinstance(value, (tuple, relax.Tuple)):
            found += _flat(value.fields if isinstance(value, relax.Tuple) else value)
        else:
            found.append(value)
    return found
