"""Definitions, uses, and functions without what nobody uses."""

from __future__ import annotations

import pytest

from tvm import relax, tir
from tvm.relax import analysis, op
from tvm.relax.analysis.bindings import all_bindings, remove_all_unused
from tvm.script import relax as R

pytestmark = pytest.mark.pure

X = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))


def function() -> relax.Function:
    """Two of its steps lead to the result; one has an effect; the others are unused."""
    bb = relax.BlockBuilder()
    with bb.function("main", [X], pure=False):
        with bb.dataflow():
            a = bb.emit(op.exp(X), "a")
            unused = bb.emit(op.sin(a), "unused")
            bb.emit(op.cos(unused), "unused2")
            out = bb.emit_output(op.add(a, a), "out")
        bb.emit(op.print(X), "printed")
        bb.emit(op.tan(X), "unused3")
        bb.emit_func_output(out)
    return bb.get()["main"]


def test_values_by_variable_and_name() -> None:
    func = function()
    values = analysis.get_var2val(func)
    names = analysis.name_to_binding(func)
    assert len(values) == 6
    assert values[names["a"][0].var].op.name == "relax.exp"
    assert len(names["unused"]) == 1


def test_names_are_those_of_the_function_itself() -> None:
    @R.function
    def func(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        if c:
            y = R.exp(x)
            z = R.sin(y)
        else:
            z = R.cos(x)
        a = R.match_cast(z, R.Tensor((2,), "float32"))
        return a

    assert list(analysis.name_to_binding(func)) == ["z", "a"]
    values = analysis.get_var2val(func)
    assert "y" in [v.name_hint for v in values]
    assert "a" not in [v.name_hint for v in values]


def test_uses() -> None:
    chain = analysis.udchain(function().body.blocks[0])
    by_name = {var.name_hint: [u.name_hint for u in users] for var, users in chain.items()}
    assert by_name == {
        "x": ["a"], "a": ["unused", "out"], "unused": ["unused2"], "unused2": [], "out": [],
    }  # fmt: skip


def test_unused_bindings_go_and_effects_stay() -> None:
    func = function()
    new = analysis.remove_all_unused(func)
    kept = [b.var.name_hint for b in all_bindings(new)]
    assert kept == ["a", "out", "printed"]
    assert analysis.remove_all_unused(new) is new
    assert analysis.well_formed(new)


def test_unused_bindings_of_branches_go() -> None:
    cond = relax.Var("c", relax.TensorStructInfo((), "bool"))
    bb = relax.BlockBuilder()
    with bb.function("main", [X, cond]):
        bb.begin_binding_block()
        bb.emit(op.sin(X))
        kept = bb.emit(op.exp(X))
        branch = relax.SeqExpr([bb.end_block()], kept)
        bb.emit_func_output(bb.emit(relax.If(cond, branch, X)))
    new = analysis.remove_all_unused(bb.get()["main"])
    value = new.body.blocks[0].bindings[0].value
    assert len(value.true_branch.blocks[0].bindings) == 1


def test_casts_stay() -> None:
    m = tir.Var("m", "int64")
    x = relax.Var("x", relax.TensorStructInfo(None, "float32", ndim=1))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.match_cast(x, relax.TensorStructInfo((m,), "float32"))
        bb.emit_func_output(x)
    func = bb.get()["main"]
    assert analysis.remove_all_unused(func) is func


def test_sequences_and_blocks_without_what_is_unused() -> None:
    @R.function(pure=False)
    def func(x: R.Tensor((4,), "float32")):
        a = R.exp(x)
        _ = R.print(x, format="{}")
        with R.dataflow():
            c = R.sin(x)
            d = R.cos(x)
            R.output(d)
        return d

    seq = remove_all_unused(func.body)
    assert isinstance(seq, relax.SeqExpr)
    assert [len(block.bindings) for block in seq.blocks] == [1, 1]
    block = remove_all_unused(func.body.blocks[1])
    assert isinstance(block, relax.DataflowBlock)
    assert [binding.var.name_hint for binding in block.bindings] == ["d"]
    plain = remove_all_unused(func.body.blocks[0])
    assert len(plain.bindings) == 2  # others may use what it binds
