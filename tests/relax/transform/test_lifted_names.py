"""What lifted functions are called."""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.relax.transform import LambdaLift
from tvm.script import relax as R


def _names(*local: str, taken: tuple[str, ...] = ()) -> set[str]:
    """What the functions of a module are called whose `main` calls local functions one by one."""
    info = R.Tensor((4,), "float32")

    def plain() -> relax.Function:
        x = relax.Var("x", info)
        return relax.Function([x], relax.SeqExpr([], x), info)

    x = value = relax.Var("x", info)
    bindings = []
    for name in local:
        func = relax.Var(name, relax.FuncStructInfo([info], info))
        result = relax.Var("y", info)
        bindings += [relax.VarBinding(func, plain())]
        bindings += [relax.VarBinding(result, relax.Call(func, [value]))]
        value = result
    body = relax.SeqExpr([relax.BindingBlock(bindings)], value)
    functions = {"main": relax.Function([x], body, info)} | {name: plain() for name in taken}
    functions = {name: f.with_attr("global_symbol", name) for name, f in functions.items()}
    mod = LambdaLift()(relax.transform.Normalize()(tvm.IRModule(functions)))
    return {var.name_hint for var in mod.get_global_vars()}


def test_functions_that_would_have_one_name_are_numbered() -> None:
    assert _names("f", "f", "g") == {"main", "main_f_0", "main_f_1", "main_g"}
    assert _names("f", taken=("main_f",)) == {"main", "main_f", "main_f_0"}
    assert _names("f", taken=("main_f", "main_f_0")) == {"main", "main_f", "main_f_0", "main_f_1"}
