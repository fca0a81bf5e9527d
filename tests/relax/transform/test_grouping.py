"""Groups of bindings made functions: what may be joined, in which order things then stand."""

from __future__ import annotations

import pytest

from tvm import relax
from tvm.relax.transform.grouping import Group, GroupFunctions, Units, group_name, replace_groups
from tvm.script import relax as R

pytestmark = pytest.mark.pure


@R.function(private=True)
def main(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        a = R.exp(x)
        b = R.tanh(a)
        c = R.sigmoid(a)
        d = R.add(b, R.const(1.0, "float32"))
        e = R.add(c, d)
        R.output(e)
    return e


BLOCK = main.body.blocks[0]


def test_circles_are_seen() -> None:
    units = Units(BLOCK)
    assert units.can_join([0, 1])
    assert units.can_join([0, 2, 1])
    assert not units.can_join([0, 4])
    assert not units.can_join([1, 2, 4])
    units.join([1, 4, 3])
    assert not units.can_join([0, 1])
    assert units.can_join([0, 1, 2])


def test_two_units_may_not_need_each_other() -> None:
    @R.function(private=True)
    def crossed(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.tanh(x)
            c = R.sigmoid(a)
            d = R.cos(b)
            e = (c, d)
            R.output(e)
        return e

    units = Units(crossed.body.blocks[0])
    units.join([0, 3])  # exp with cos
    assert not units.can_join([1, 2])  # tanh with sigmoid


def test_order_after_joins() -> None:
    units = Units(BLOCK)
    units.join([0, 1, 3])
    assert units.order() == [[0, 1, 3], [2], [4]]


@pytest.mark.parametrize("keep", [True, False])
def test_a_group_becomes_a_call(keep: bool) -> None:
    made = GroupFunctions(["main"])
    new = replace_groups(BLOCK, [Group([0, 1, 3], {"Composite": "x"}, keep)], made)
    (var,) = made.functions
    assert var.name_hint == "fused_relax_exp_relax_tanh_relax_add"
    func = made.functions[var]
    assert func.attrs["Composite"] == "x"
    assert len(func.params) == (1 if keep else 2)
    kinds = [type(b.value).__name__ for b in new.bindings]
    assert kinds == ["Call", "TupleGetItem", "TupleGetItem", "Call", "Call"]
    assert new.bindings[-1].var is BLOCK.bindings[-1].var


def test_equal_groups_share_a_function() -> None:
    @R.function(private=True)
    def twice(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.exp(a)
            R.output(b)
        return b

    made = GroupFunctions([])
    replace_groups(twice.body.blocks[0], [Group([0]), Group([1])], made)
    assert len(made.functions) == 1


def test_names() -> None:
    assert group_name(BLOCK.bindings[:2]) == "fused_relax_exp_relax_tanh"
    call = relax.Call(relax.GlobalVar("fused_relax_exp"), [])
    assert group_name([relax.VarBinding(relax.Var("x"), call)]) == "fused_relax_exp"
    assert replace_groups(BLOCK, [], GroupFunctions([])) is BLOCK


def test_long_blocks() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4,), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            value: relax.Expr = x
            for _ in range(4000):
                value = bb.emit(relax.op.exp(value))
            out = bb.emit_output(value)
        bb.emit_func_output(out)
    block = bb.get()["main"].body.blocks[0]
    units = Units(block)
    for i in range(0, 4000, 2):
        assert units.can_join([i, i + 1])
        units.join([i, i + 1])
    assert len(units.order()) == 2001
