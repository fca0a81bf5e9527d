"""Constants between the kernels of a graph as inputs: graph executors list them so.

    main(x) { kernel(x, [1, 2]) }      ->      main(x, p0) { kernel(x, p0) }, {p0: [1, 2]}
"""

from __future__ import annotations

from tvm.relay.expr import Constant, Var
from tvm.relay.function import Function
from tvm.relay.traverse import transform
from tvm.runtime import Tensor, tensor

from .graph_plan_memory import outside_kernels


def constants_apart(func: Function) -> tuple[Function, dict[str, Tensor]]:
    """The function with inputs `p0`, `p1`, ..., and their values; constants in kernels stay."""
    variables: dict[int, Var] = {}
    params: dict[str, Tensor] = {}
    for expr in outside_kernels(func):
        if isinstance(expr, Constant):
            name = f"p{len(params)}"
            variables[id(expr)] = Var(name, expr.checked_type)
            params[name] = tensor(expr.data.numpy())
    if not params:
        return func, params
    body = transform(func.body, lambda old, new: variables.get(id(old), new))
    inputs = [*func.params, *variables.values()]
    return Function(inputs, body, func.ret_type, attrs=func.attrs), params
