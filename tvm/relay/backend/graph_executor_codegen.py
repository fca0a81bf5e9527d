"""A function of kernels as a graph and modules of TensorIR, before they are compiled.

    graph, lowered, params = GraphExecutorCodegen(None, target).codegen(mod, mod["main"])
"""

from __future__ import annotations

from typing import Any

from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relay.expr import Call
from tvm.relay.function import Function
from tvm.relay.traverse import post_order
from tvm.runtime import Tensor
from tvm.target.compilation_config import make_compilation_config
from tvm.target.target import Target
from tvm.tir.function import PrimFunc

from .constants_apart import constants_apart
from .graph_plan_memory import outside_kernels
from .graph_runtime import graph_json
from .lower_te import LowerTE
from .utils import mangle_module_name


class GraphExecutorCodegen:
    """Lowers functions for one target, or for those of a mapping."""

    def __init__(self, mod: Any, target: Any) -> None:
        self._targets = Target.canon_multi_target_and_host(target)

    def codegen(
        self, ir_module: IRModule, func: Function
    ) -> tuple[str, dict[Target, IRModule], dict[str, Tensor]]:
        """The graph as JSON, the kernels by target, and the constants by the names of their nodes.

        Operators that are in no kernel yet are fused as the `PassContext` says.
        """
        from tvm.relay.transform import FuseOps, InferType  # it stands on backends

        mod = InferType()(ir_module.with_functions({**ir_module.functions, _main(ir_module): func}))
        if any(isinstance(e, Call) and isinstance(e.op, Op) for e in outside_kernels(_entry(mod))):
            mod = InferType()(FuseOps()(mod))
        main, params = constants_apart(_entry(mod))
        mod = InferType()(mod.with_functions({**mod.functions, _main(mod): main}))
        main = _entry(mod)
        config = make_compilation_config(PassContext.current(), self._targets)
        lowered = LowerTE(mangle_module_name("default"), config)(mod)
        calls = [e for e in outside_kernels(main, params) if isinstance(e, Call)]
        names = [name for e in post_order(_entry(lowered)) if (name := _kernel_of(e)) is not None]
        kernels = {id(call): name for call, name in zip(calls, names, strict=True)}
        return graph_json(main, "default", kernels, params), _by_target(lowered, config), params


def _main(mod: IRModule) -> Any:
    return mod.get_global_var("main")


def _entry(mod: IRModule) -> Function:
    found = mod["main"]
    assert isinstance(found, Function), "main is a function of Relay"
    return found


def _kernel_of(expr: RelaxExpr) -> str | None:
    """The name of the kernel that is called."""
    if isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name == "call_lowered":
        callee = expr.args[0]
        assert isinstance(callee, GlobalVar), "a kernel has a name"
        return callee.name_hint
    return None


def _by_target(mod: IRModule, config: Any) -> dict[Target, IRModule]:
    """The kernels, each with those of its target."""
    found: dict[Target, dict[Any, PrimFunc]] = {}
    for var, func in mod.functions.items():
        if isinstance(func, PrimFunc):
            target: Any = func.attrs["target"]
            found.setdefault(target, {})[var] = func
    return {target: IRModule(functions) for target, functions in found.items()}
