"""Edits of a dataflow block."""

from __future__ import annotations

import pytest

from tvm import ir, relax
from tvm.error import TVMError
from tvm.relax import DataflowBlockRewrite, op
from tvm.relax.analysis import well_formed
from tvm.script import relax as R

pytestmark = pytest.mark.pure


def module() -> tuple[ir.IRModule, relax.Function, list[relax.Var]]:
    x = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            a = bb.emit(op.exp(x))
            b = bb.emit(op.sin(x))
            c = bb.emit_output(op.add(a, b))
        bb.emit_func_output(c)
    return bb.get(), bb.get()["main"], [x, a, b, c]


def names(func: relax.Function) -> list[str]:
    return [b.value.op.name.removeprefix("relax.") for b in func.body.blocks[0].bindings]


def test_uses_are_replaced_and_what_is_left_over_removed() -> None:
    mod, func, (_, a, b, _c) = module()
    edit = DataflowBlockRewrite(func.body.blocks[0], func)
    edit.replace_all_uses(b, a)
    edit.remove_unused(b)
    new = edit.mutated_root_fn()
    assert names(new) == ["exp", "add"]
    assert new.body.blocks[0].bindings[1].value.args == (a, a)
    assert well_formed(new)
    changed = edit.mutate_irmodule(mod)
    assert changed["main"] is not func
    assert mod["main"] is func


def test_uses_outside_of_the_block_are_replaced() -> None:
    _, func, (x, _a, _b, c) = module()
    edit = DataflowBlockRewrite(func.body.blocks[0], func)
    edit.add(op.cos(x), "other")
    new_var = edit.mutated_dfb().bindings[1].var  # behind the first, for it uses none
    assert new_var.name_hint == "other"
    edit.add_binding(relax.VarBinding(relax.Var("last", c.struct_info), c))
    edit.replace_all_uses(c, new_var)
    new = edit.mutated_root_fn()
    assert new.body.body is new_var


def test_all_unused_bindings_go() -> None:
    _, func, (x, *_rest) = module()
    edit = DataflowBlockRewrite(func.body.blocks[0], func)
    edit.add(op.tan(x), is_dfvar=True)
    assert len(edit.mutated_dfb().bindings) == 4
    edit.remove_all_unused()
    assert names(edit.mutated_root_fn()) == ["exp", "sin", "add"]


def test_nothing_changed() -> None:
    _, func, _ = module()
    edit = DataflowBlockRewrite(func.body.blocks[0], func)
    assert edit.mutated_dfb() is func.body.blocks[0]
    assert edit.mutated_root_fn() is func


def test_refusals() -> None:
    _, func, (x, a, _b, c) = module()
    edit = DataflowBlockRewrite(func.body.blocks[0], func)
    with pytest.raises(TVMError, match="'lv' is used by 'gv'"):
        edit.remove_unused(a)
    with pytest.raises(TVMError, match="'gv' is used outside of the block"):
        edit.remove_unused(c)
    with pytest.raises(TVMError, match="'x' is not bound in the block"):
        edit.remove_unused(x)
    edit.remove_unused(x, allow_undef=True)
    with pytest.raises(TVMError, match="'lv' is bound in the block"):
        edit.add_binding(relax.VarBinding(a, x))
    with pytest.raises(TVMError, match="no block of the function"):
        DataflowBlockRewrite(relax.DataflowBlock([]), func)


def test_the_block_of_the_function_is_the_one_handed_out() -> None:
    _, func, (x, *_rest) = module()
    edit = DataflowBlockRewrite(func.body.blocks[0], func)
    edit.add(x, name="tmp", is_dfvar=True)
    assert edit.mutated_dfb() is edit.mutated_dfb()
    assert edit.mutated_root_fn().body.blocks[0] is edit.mutated_dfb()
    edit.remove_all_unused()
    assert len(edit.mutated_dfb().bindings) == 3


def test_add_takes_an_expression() -> None:
    @R.function
    def f(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            y = R.add(x, x)
            R.output(y)
        return y

    rewrite = relax.DataflowBlockRewrite(f.body.blocks[0], f)
    with pytest.raises(TypeError, match="add_binding takes a binding"):
        rewrite.add(f.body.blocks[0].bindings[0])


def test_bindings_stand_behind_what_they_use() -> None:
    _, func, (_x, a, b, c) = module()
    edit = DataflowBlockRewrite(func.body.blocks[0], func)
    edit.add(b)
    edit.add(a, is_dfvar=True)
    edit.add_binding(relax.VarBinding(relax.DataflowVar("last", c.struct_info), c))
    names = [binding.var.name_hint for binding in edit.mutated_dfb().bindings]
    assert names.index("tmp_1") == names.index(a.name_hint) + 1
    assert names.index("tmp") == names.index(b.name_hint) + 1
    assert names.index("last") == names.index(c.name_hint) + 1
