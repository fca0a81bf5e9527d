"""What all frontends share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tvm.ir.module import IRModule
from tvm.relax.expr import Constant, Function

if TYPE_CHECKING:
    from tvm.runtime import Tensor


def detach_params(mod: IRModule) -> tuple[IRModule, dict[str, list[Tensor]]]:
    """The module without the weights that its functions carry, and the weights by function.

    The weights are in the attribute `params` of a function, in the order of its last parameters.
    """
    from tvm.runtime import tensor  # modules are made without the runtime; weights are run with it

    detached: dict[str, list[Tensor]] = {}
    functions = dict(mod.functions)
    for var, func in mod.functions.items():
        weights: Any = func.attrs.get("params") if isinstance(func, Function) else None
        if weights is None:
            continue
        arrays = [w.data.numpy() if isinstance(w, Constant) else w.numpy() for w in weights]
        detached[var.name_hint] = [tensor(array) for array in arrays]
        functions[var] = func.without_attr("params")
    return mod.with_functions(functions), detached
