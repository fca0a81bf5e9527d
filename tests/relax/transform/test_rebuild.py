"""What passes share: rules over bindings keep what they do not change."""

import pytest

from tvm import relax
from tvm.relax.transform import rebuild
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


@I.ir_module
class Mod:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
        y = R.exp(x)
        if c:
            a = R.add(y, x)
            r = R.add(a, x)
        else:
            r = R.nn.relu(x)
        return r


MAIN = Mod["main"]


def test_all_bindings_go_into_branches():
    names = [b.var.name_hint for b in rebuild.all_bindings(MAIN)]
    assert names[0] == "y"
    assert "a" in names
    assert len(names) == 5


def test_a_rule_that_changes_nothing_gives_the_same_function():
    assert rebuild.map_calls(MAIN, lambda call: call) is MAIN
    assert rebuild.map_bindings(MAIN, lambda binding: (binding,)) is MAIN


def test_map_calls_in_a_branch_only():
    def rule(call):
        if call.op.name != "relax.nn.relu":
            return call
        new = relax.op.nn.silu(call.args[0])
        new.struct_info_ = call.struct_info_
        return new

    after = rebuild.map_calls(MAIN, rule)
    assert after is not MAIN
    values = [binding.value for binding in rebuild.all_bindings(after)]
    names = [value.op.name for value in values if isinstance(value, relax.Call)]
    assert names == ["relax.exp", "relax.add", "relax.add", "relax.nn.silu"]
    assert after.body.blocks[0].bindings[0] is MAIN.body.blocks[0].bindings[0]


def test_bindings_may_be_dropped_and_empty_blocks_go():
    def rule(binding):
        return () if binding.var.name_hint == "y" else (binding,)

    after = rebuild.map_bindings(MAIN, rule)
    assert [b.var.name_hint for b in after.body.blocks[0].bindings] == ["r"]


def test_vars_used_with_repeats():
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    y = relax.Var("y", relax.TensorStructInfo((4,), "float32"))
    assert list(rebuild.vars_used(relax.op.add(x, x))) == [x, x]
    nested = relax.Tuple([x, relax.Tuple([y])])
    assert list(rebuild.vars_used(nested)) == [x, y]


def test_replace_operands_looks_into_tuples_and_takes_items():
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    y = relax.Var("y", relax.TensorStructInfo((4,), "float32"))
    pair = relax.Var("pair", relax.TupleStructInfo([x.struct_info] * 2))
    item = relax.TupleGetItem(pair, 1)
    assert rebuild.replace_operands(item, {pair: relax.Tuple([x, y])}.get) is y
    call = relax.op.concat([x, y], 0)
    assert rebuild.replace_operands(call, {}.get) is call
    swapped = rebuild.replace_operands(call, {x: y, y: x}.get)
    assert list(swapped.args[0].fields) == [y, x]
