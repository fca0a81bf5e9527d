"""Functions with values put in, and copies."""

from __future__ import annotations

import numpy as np
import pytest

from tvm import ir, relax, tir
from tvm.error import TVMError
from tvm.relax import interp, op
from tvm.relax.analysis import all_vars, well_formed
from tvm.relax.utils import copy_with_new_vars
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


def module() -> tuple[ir.IRModule, relax.Function]:
    n, m = tir.Var("n", "int64"), tir.Var("m", "int64")
    x = relax.Var("x", relax.TensorStructInfo((n, m), "float32"))
    w = relax.Var("w", relax.TensorStructInfo((m, 2), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, w]):
        with bb.dataflow():
            y = bb.emit(op.matmul(x, w))
            out = bb.emit_output(op.reshape(y, (n * 2,)))
        bb.emit_func_output(out)
    return bb.get(), bb.get()["main"]


def test_parameters_become_constants_and_tell_symbols() -> None:
    mod, func = module()
    w = np.ones((3, 2), "float32")
    bound = func.bind_params({"w": w})
    assert [p.name_hint for p in bound.params] == ["x"]
    assert bound.params[0].struct_info.values[1].value == 3
    x = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(interp.run(bound, x), interp.run(mod, x, w))
    assert well_formed(bound)


def test_parameters_by_variable_and_of_every_kind() -> None:
    x = relax.Var("x", relax.TensorStructInfo((), "float16"))
    k = relax.Var("k", relax.PrimStructInfo("int64"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, k]):
        bb.emit_func_output((x, k))
    func = bb.get()["main"].bind_params({x: 2, "k": 5})
    assert func.params == ()
    assert func.body.body.fields[0].data.dtype == "float16"
    assert func.body.body.fields[1].value.value == 5


def test_wrong_names_and_values_are_refused() -> None:
    func = module()[1]
    with pytest.raises(TVMError, match="no parameter named 'ww'; did you mean 'w'"):
        func.bind_params({"ww": np.ones((3, 2), "float32")})
    with pytest.raises(TVMError, match="does not fit parameter 'w'"):
        func.bind_params({"w": np.ones((3, 2), "int32")})
    with pytest.raises(TVMError, match="is no parameter"):
        func.bind_params({relax.Var("w", func.params[1].struct_info): np.ones((3, 2))})
    assert func.bind_params({}) is func


def test_symbols_get_values() -> None:
    func = module()[1].bind_symbolic_vars({"n": 4})
    assert func.ret_struct_info.values[0].value == 8
    assert func.params[0].struct_info.values[0].value == 4
    assert [v.name for v in relax.analysis.defined_symbolic_vars(func)] == ["m"]
    assert well_formed(func)


def test_wrong_symbols_are_refused() -> None:
    func = module()[1]
    with pytest.raises(TVMError, match="no symbol of the parameters is 'k'"):
        func.bind_symbolic_vars({"k": 4})
    with pytest.raises(TVMError, match="no symbol"):
        func.bind_symbolic_vars({tir.Var("n", "int64"): 4})
    n = relax.analysis.defined_symbolic_vars(func)[0]
    with pytest.raises(TVMError, match="bound twice"):
        func.bind_symbolic_vars({"n": 4, n: 5})


def test_copy_shares_no_variable() -> None:
    func = module()[1]
    copy = relax.utils.copy_with_new_vars(func)
    assert ir.structural_equal(copy, func)
    old, new = ({v.vid for v in all_vars(f)} for f in (func, copy))
    assert not old & new
    symbols = relax.analysis.defined_symbolic_vars
    assert not set(symbols(func)) & set(symbols(copy))


def test_inlining_puts_bodies_in_place_of_calls() -> None:
    n = tir.Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo((n,), "float32"))
    y = relax.Var("y", relax.TensorStructInfo((4,), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("twice", [x], private=True):
        bb.emit_func_output(bb.emit(op.add(x, x)))
    twice = bb.get().get_global_var("twice")
    with bb.function("main", [y]):
        with bb.dataflow():
            a = bb.emit(relax.Call(twice, [y]))
            out = bb.emit_output(relax.Call(twice, [a]))
        bb.emit_func_output(out)
    mod = bb.get()
    inlined = mod["main"].inline_functions({"twice": mod["twice"]})
    values = [b.value for block in inlined.body.blocks for b in block.bindings]
    assert not relax.analysis.all_global_vars(inlined)
    assert sum(isinstance(v, relax.Call) for v in values) == 2
    data = np.arange(4, dtype="float32")
    np.testing.assert_array_equal(interp.run(inlined, data), data * 4)


def test_recursive_function_cannot_be_inlined() -> None:
    x = relax.Var("x", relax.TensorStructInfo((2,), "float32"))
    own = relax.GlobalVar("f")
    own.struct_info_ = relax.FuncStructInfo([x.struct_info], x.struct_info)
    bb = relax.BlockBuilder()
    bb.begin_binding_block()
    call = bb.emit(relax.Call(own, [x]))
    func = relax.Function([x], relax.SeqExpr([bb.end_block()], call), x.struct_info)
    with pytest.raises(TVMError, match="'f' calls itself"):
        func.inline_functions({"f": func})


def test_only_functions_are_inlined() -> None:
    _, func = module()
    for wrong in ({"f": 3}, {3: func}, {relax.GlobalVar("f"): relax.const(1)}):
        with pytest.raises(TypeError, match="legal: functions of Relax by name"):
            func.inline_functions(wrong)  # type: ignore[arg-type]


def test_only_functions_are_copied() -> None:
    with pytest.raises(TypeError, match="legal: Function"):
        relax.utils.copy_with_new_vars(3)


def test_a_copy_of_a_local_function_calls_itself() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(n: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
            @R.function
            def loop(i: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
                stop = R.less_equal(i, R.const(0, "int32"))
                if stop:
                    r = i
                else:
                    j = R.subtract(i, R.const(1, "int32"))
                    r = loop(j)
                return r

            z = loop(n)
            return z

    copy = copy_with_new_vars(Mod["main"])
    ir.assert_structural_equal(copy, Mod["main"])
    mine = set(all_vars(copy))
    assert not mine & set(all_vars(Mod["main"]))
