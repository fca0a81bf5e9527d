"""Composite functions whose kernels a user writes as tensor expressions.

    @lower_composite("mine.add_relu")
    def add_relu(call, args):               # the composite's body, tensors of its parameters
        return topi.nn.relu(args[0] + args[1])

    tvm.register_global_func("relay.ext.mine", relay_to_runtime(tvm.target.Target("llvm")))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tvm import te
from tvm.error import TVMError, message
from tvm.relay.expr import Call, Var
from tvm.relay.function import Function
from tvm.relay.traverse import post_order
from tvm.relay.ty import TensorType
from tvm.target import Target
from tvm.tir.build import build

Lower = Callable[[Any, list[te.Tensor]], te.Tensor]
_LOWERED: Final[dict[str, Lower]] = {}


def lower_composite(comp_name: str) -> Callable[[Lower], Lower]:
    """Decorate the function that gives the tensor of a composite function of this name."""

    def register(func: Lower) -> Lower:
        _LOWERED[comp_name] = func
        return func

    return register


def relay_to_runtime(target: Target) -> Callable[[Function], Any]:
    """A compiler for `relay.ext.<name>`: of functions made of calls of composite functions."""

    def compiler(partition: Function) -> Any:
        name = str(partition.attrs["global_symbol"])
        tensors: dict[Any, te.Tensor] = {p: _placeholder(p) for p in partition.params}
        for expr in post_order(partition.body):
            if isinstance(expr, Call) and isinstance(expr.op, Function):
                composite = str(expr.op.attrs.get("Composite"))
                if composite not in _LOWERED:
                    raise _refused(composite, name)
                args = [_tensor(arg, tensors, name) for arg in expr.args]
                tensors[expr] = _LOWERED[composite](expr.op.body, args)
        result = _tensor(partition.body, tensors, name)
        inputs = [tensors[p] for p in partition.params]
        func = te.create_prim_func([*inputs, result]).with_attr("global_symbol", name)
        return build(func, target=target)

    return compiler


def _placeholder(param: Var) -> te.Tensor:
    found = param.checked_type
    assert isinstance(found, TensorType), "parts of a program have types"
    made: te.Tensor = te.placeholder(found.shape, str(found.dtype), param.name_hint)
    return made


def _tensor(expr: Any, tensors: dict[Any, te.Tensor], name: str) -> te.Tensor:
    if expr not in tensors:
        raise _refused(f"{expr}"[:200], name)
    return tensors[expr]


def _refused(found: str, name: str) -> TVMError:
    return TVMError(
        message(
            f"relay_to_runtime: {name} is to be compiled", found=found,
            legal="parameters, and calls of the composite functions that lower_composite was told: "
            f"{', '.join(_LOWERED) or 'none yet'}",
        )
    )
