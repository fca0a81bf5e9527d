"""What goes into and comes out of the functions of outside compilers, for given inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.relay.expr import Call, Tuple
from tvm.relay.function import Function
from tvm.relay.traverse import post_order, transform


def get_calibration_data(
    mod: IRModule, data: Mapping[str, Any]
) -> dict[GlobalVar, dict[str, list[Any]]]:
    """For each function that main calls for an outside compiler, its `inputs` and `outputs`."""
    from tvm.relay.build_module import create_executor
    from tvm.relay.transform import InferType, Inline

    typed = InferType()(mod)
    main = typed["main"]
    calls = [
        e for e in post_order(main)
        if isinstance(e, Call) and isinstance(e.op, GlobalVar)
        and "Compiler" in typed[e.op].attrs
    ]  # fmt: skip
    shown = [part for call in calls for part in (*call.args, call)]
    whole = Function(main.params, Tuple(shown))  # type: ignore[attr-defined]
    plain = {
        var: _without_compiler(func) if isinstance(func, Function) else func
        for var, func in typed.functions.items()
    }
    run = typed.with_functions(plain)
    run["main"] = whole
    run = Inline()(InferType()(run))
    values = list(create_executor("graph", run).evaluate()(**data))
    found: dict[GlobalVar, dict[str, list[Any]]] = {}
    for call in calls:
        given = [_flat(values.pop(0)) for _ in call.args]
        made = _flat(values.pop(0))
        assert isinstance(call.op, GlobalVar), "seen above"
        found[call.op] = {"inputs": [v for vs in given for v in vs], "outputs": made}
    return found


def _flat(value: Any) -> list[Any]:
    if hasattr(value, "numpy"):
        return [value]
    return [inner for field in value for inner in _flat(field)]


def _without_compiler(func: Function) -> Function:
    """The function as one of this compiler, inlined at its calls."""
    attrs = {k: v for k, v in func.attrs.items() if k not in ("Compiler", "Primitive")}
    if "Compiler" in func.attrs:
        attrs["Inline"] = 1

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if isinstance(new, Function) and "Composite" in new.attrs:
            return Function(new.params, new.body)
        return new

    body = transform(func.body, rule)
    return Function(func.params, body, func.ret_type, func.type_params, attrs)
