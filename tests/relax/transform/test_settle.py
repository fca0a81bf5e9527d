"""Struct info follows from values once a pass has replaced some of them."""

import pytest

import tvm
from tvm import relax
from tvm.relax.expr import Function, VarBinding
from tvm.relax.transform.rebuild import map_bindings, map_calls, replace_operands, with_value
from tvm.relax.transform.settle import settled, settled_module
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


@I.ir_module
class Mod:
    @R.function
    def main(x: R.Tensor((4, 8), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(ndim=2):
        y: R.Tensor(ndim=2, dtype="float32") = R.exp(x)
        loose: R.Tensor(ndim=2, dtype="float32") = R.abs(x)
        z: R.Tensor(ndim=2, dtype="float32") = R.add(y, y)
        t = (z, x)
        u = t[0]
        if c:
            v: R.Tensor(ndim=2, dtype="float32") = R.tanh(u)
        else:
            v: R.Tensor(ndim=2, dtype="float32") = R.sin(z)
        return v


def _with_x_for_y(func: Function) -> Function:
    y, x = func.body.blocks[0].bindings[0].var, func.params[0]

    def rule(binding):
        value = replace_operands(binding.value, lambda e: x if e is y else None)
        return [with_value(binding, value)]

    return map_bindings(func, rule)


def _infos(func: Function) -> dict[str, str]:
    bindings = relax.analysis.name_to_binding(func)
    return {name: str(found[0].var.struct_info) for name, found in bindings.items()}


def test_readers_of_what_changed_follow_and_the_result_too():
    func = Mod["main"]
    new = settled(func, _with_x_for_y(func))
    exact, loose = 'R.Tensor((4, 8), dtype="float32")', 'R.Tensor(dtype="float32", ndim=2)'
    infos = _infos(new)
    assert [infos[name] for name in "ztuv"] == [
        exact, f"R.Tuple({exact}, {exact})".replace(", R", ", R"), exact, exact,
    ]  # fmt: skip
    assert infos["y"] == infos["loose"] == loose  # nothing changed there
    assert str(new.ret_struct_info) == exact


def test_what_did_not_change_is_the_same_object():
    func = Mod["main"]
    assert settled(func, func) is func
    assert settled(func, map_calls(func, lambda call: call)) is func
    assert settled_module(Mod, Mod) is Mod


def test_a_result_of_another_kind_takes_the_place_of_the_declared_one():
    func = Mod["main"]
    x = func.params[0]
    bound = [VarBinding(func.body.blocks[0].bindings[0].var, relax.op.sum(x))]
    body = relax.SeqExpr([relax.BindingBlock(bound)], bound[0].var)
    new = settled(func, Function(func.params, body, func.ret_struct_info))
    assert str(new.ret_struct_info) == 'R.Tensor((), dtype="float32")'


def test_a_body_that_tells_less_keeps_what_was_declared():
    @R.function
    def f(x: R.Tensor((4, 8), "float32")) -> R.Tensor((4, 8), "float32"):
        y = R.exp(x)
        return y

    loose = relax.Var("x", relax.TensorStructInfo(dtype="float32", ndim=2))
    value = relax.op.exp(loose)
    var = relax.Var("y", relax.TensorStructInfo(dtype="float32", ndim=2))
    body = relax.SeqExpr([relax.BindingBlock([VarBinding(var, value)])], var)
    new = settled(f, Function([loose], body, f.ret_struct_info))
    assert str(new.ret_struct_info) == 'R.Tensor((4, 8), dtype="float32")'


def test_blocks_of_one_kind_that_came_to_be_neighbours_are_one():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")):
            a = R.sin(x)
            with R.dataflow():
                b = R.cos(x)
                R.output(b)
            d = R.exp(a)
            if c:
                e = R.sin(d)
                with R.dataflow():
                    f = R.cos(x)
                    R.output(f)
                r = R.exp(e)
            else:
                r = d
            return r

    after = relax.transform.DeadCodeElimination()(Mod)["main"]
    assert [len(block.bindings) for block in after.body.blocks] == [3]
    (choice,) = [b.value for b in after.body.blocks[0].bindings if isinstance(b.value, relax.If)]
    assert [len(block.bindings) for block in choice.true_branch.blocks] == [2]
    assert tvm.ir.structural_equal(tvm.script.from_source(after.script()), after)
