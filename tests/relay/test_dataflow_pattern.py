"""Patterns: what they fit, what rewrites and partitions make of it."""

from __future__ import annotations

from typing import Any

import pytest

import tvm
from tvm import relay
from tvm.relay import dataflow_pattern as dfp
from tvm.relay.dataflow_pattern import (
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    wildcard,
)

pytestmark = pytest.mark.pure
X, Y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))


def test_leaves() -> None:
    assert is_var("x").match(X)
    assert not is_var("y").match(X)
    assert is_var().match(X)
    assert is_constant().match(relay.const(1))
    assert not is_constant().match(X)
    assert is_expr(X).match(X)
    assert not is_expr(X).match(Y)
    assert wildcard().match(X)


def test_calls() -> None:
    pattern = is_op("add")(wildcard(), is_constant())
    assert pattern.match(X + relay.const(1.0))
    assert pattern.match(relay.const(1.0) + X)
    assert not pattern.match(X + Y)
    assert not (is_op("subtract")(is_var("x"), is_var("y"))).match(Y - X)
    assert is_op("add")(is_var("x"), is_var("y")).match(Y + X)
    assert is_op("add")(None).match(X + Y)


def test_one_pattern_is_one_thing() -> None:
    p = wildcard()
    assert (p + p).match(X + X)
    assert not (p + p).match(X + Y)


def test_quotients_regroup() -> None:
    a, b, c = wildcard(), wildcard(), wildcard()
    z = relay.var("z", shape=(2, 3))
    assert (a * b / c).match(X * Y / z)
    assert (a * b / c).match((X / z) * Y)
    assert ((a / b) * c).match((X * Y) / z)


def test_other_forms() -> None:
    pair = relay.Tuple([X, Y])
    assert is_tuple([wildcard(), is_var("y")]).match(pair)
    assert not is_tuple([wildcard()]).match(pair)
    assert is_tuple(None).match(pair)
    item = relay.TupleGetItem(pair, 1)
    assert is_tuple_get_item(wildcard(), 1).match(item)
    assert not is_tuple_get_item(wildcard(), 0).match(item)
    assert is_tuple_get_item(wildcard()).match(item)
    choice = relay.If(relay.var("c", "bool"), X, Y)
    assert is_if(wildcard(), is_var("x"), is_var("y")).match(choice)
    v = relay.var("v")
    assert is_let(is_var("v"), wildcard(), is_var("v")).match(relay.Let(v, X + Y, v))
    func = relay.Function([X], X + X)
    p = wildcard()
    assert dfp.FunctionPattern([p], p + p).match(func)


def test_conditions_on_values() -> None:
    conv = relay.nn.conv2d(relay.var("d", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3)))
    pattern = is_op("nn.conv2d")(wildcard(), wildcard())
    assert pattern.has_attr({"data_layout": "NCHW", "strides": [1, 1]}).match(conv)
    assert not pattern.has_attr({"data_layout": "NHWC"}).match(conv)
    assert is_op("add").has_attr({"TOpPattern": 1}).match(relay.op.get("add"))
    assert pattern.has_dtype("float32").match(conv)
    assert not pattern.has_dtype("int8").match(conv)
    assert pattern.has_shape((1, 4, 6, 6)).match(conv)
    assert not pattern.has_shape((1, 4, 6, 7)).match(conv)
    assert dfp.has_type(relay.TensorType((2, 3))).match(X)
    func = relay.Function([X], X).with_attr("Composite", "a")
    assert dfp.has_attr({"Composite": "a"}).match(func)


def test_options_and_alternatives() -> None:
    pattern = is_op("nn.relu")(wildcard()).optional(lambda p: is_op("exp")(p))
    assert pattern.match(relay.nn.relu(X))
    assert pattern.match(relay.exp(relay.nn.relu(X)))
    assert (is_op("add") | is_op("subtract"))(wildcard(), wildcard()).match(X - Y)


def test_domination() -> None:
    conv, elementwise = is_op("nn.conv2d")(wildcard(), wildcard()), wildcard().has_attr({})
    d, w = relay.var("d", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    start = relay.nn.conv2d(d, w)
    left, right = relay.nn.relu(start), relay.tanh(start)
    path = is_op("nn.relu")(wildcard()) | is_op("tanh")(wildcard())
    pattern = is_op("add")(wildcard(), wildcard()).dominates(conv, path)
    assert pattern.match(left + right)
    assert not pattern.match(left + relay.nn.relu(relay.nn.conv2d(d, w)))
    assert elementwise is not None
    # what stands behind the parent among the operands of a path may be anything
    biased = relay.nn.relu(relay.nn.bias_add(start, relay.var("b")))
    through = is_op("nn.relu")(wildcard()).dominates(conv, is_op("nn.bias_add")(None))
    assert through.match(biased)
    assert not through.match(relay.nn.relu(relay.nn.bias_add(left, relay.var("b"))))


def test_dominated_parts_one_after_another() -> None:
    path = wildcard().has_attr({"TOpPattern": relay.op.OpPattern.ELEMWISE})(wildcard())
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    pattern = is_op("add")(wildcard(), wildcard()).dominates(conv, path)
    expr, w = relay.var("d"), relay.var("w")
    for _ in range(3):
        start = relay.nn.conv2d(expr, w)
        expr = relay.add(relay.tanh(relay.nn.relu(start)), relay.exp(start))
    cut = pattern.partition(expr)
    for _ in range(3):
        name = "nn.conv2d_nn.relu_tanh_exp_add_"
        assert cut.op.attrs["PartitionedFromPattern"] == name
        cut, _ = cut.args
    assert cut.name_hint == "d"


def test_constants_stay_where_a_pattern_asks_for_them() -> None:
    two = relay.const(2.0)
    expr = relay.nn.relu(X + two)
    asked, loose = is_constant(), wildcard()
    cases = [(loose, 2), (asked, 1), (dfp.is_expr(two), 1), (loose | asked, 2), (asked | loose, 1)]
    for inside, count in cases:
        found = is_op("nn.relu")(is_op("add")(wildcard(), inside)).partition(expr)
        assert len(found.args) == len(found.op.params) == count


def test_what_was_cut_out_is_left_alone() -> None:
    add = is_op("add")(wildcard(), wildcard())
    table = [("large", is_op("nn.relu")(add)), ("small", is_op("add")(wildcard(), wildcard()))]
    mod = tvm.IRModule.from_expr(relay.Function([X, Y], relay.nn.relu(X + Y) + Y))
    found = relay.transform.MergeComposite(table)(mod)["main"].body
    inner = found.args[0].op
    assert found.op.attrs["Composite"] == "small"
    assert inner.attrs["Composite"] == "large"
    assert relay.testing.count_ops(inner) == {"add": 1, "nn.relu": 1}


def test_numbers_that_were_constants() -> None:
    x, gamma, beta = relay.var("x"), relay.var("g"), relay.var("b")
    epsilon = relay.const(1e-5).data.numpy().item()
    assert epsilon != 1e-5
    norms = [relay.nn.layer_norm(x, gamma, beta, epsilon=e) for e in (1e-5, epsilon, 2e-5)]
    assert tvm.ir.structural_equal(norms[0], norms[1])
    assert not tvm.ir.structural_equal(norms[0], norms[2])


def test_patterns_of_users() -> None:
    @dfp.register_df_node("Mine")
    class Mine(dfp.WildcardPattern):
        __slots__ = ()

    assert tvm.ir.load_json(tvm.ir.save_json(Mine())).__class__ is Mine
    assert "Mine" in Mine().astext()


class AddToSub(dfp.DFPatternCallback):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = wildcard(), wildcard()
        self.pattern = self.a + self.b

    def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
        return node_map[self.a][0] - node_map[self.b][0]


def test_rewrites() -> None:
    found = dfp.rewrite(AddToSub(), relay.exp((X + Y) + Y))
    tvm.ir.assert_structural_equal(found, relay.exp((X - Y) - Y), map_free_vars=True)
    assert AddToSub().rewrite(X) is X
    with pytest.raises(NotImplementedError, match="define callback"):
        dfp.DFPatternCallback().callback(X, X, {})


def test_rewrites_with_types() -> None:
    class Flat(dfp.DFPatternCallback):
        def __init__(self) -> None:
            super().__init__(require_type=True)
            self.x = wildcard()
            self.pattern = is_op("nn.relu")(self.x)

        def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
            assert pre.checked_type == relay.TensorType((2, 3))
            return relay.maximum(node_map[self.x][0], relay.const(0.0))

    found = dfp.rewrite(Flat(), relay.nn.relu(X))
    assert relay.testing.count_ops(found) == {"maximum": 1}


def test_partitions() -> None:
    pattern = is_op("nn.relu")(is_op("add")(wildcard(), wildcard()))
    found = pattern.partition(relay.exp(relay.nn.relu(X + Y)), {"Composite": "a"})
    call = found.args[0]
    assert call.op.attrs["PartitionedFromPattern"] == "add_nn.relu_"
    first = is_tuple_get_item(is_op("split")(wildcard()), 1)
    field = first.partition(relay.split(X, 3, 1)[1])
    assert field.op.attrs["PartitionedFromPattern"] == "split_TupleGetItem1_"
    assert call.op.attrs["Composite"] == "a"
    a, b = call.op.params
    tvm.ir.assert_structural_equal(call.op.body, relay.nn.relu(a + b))
    assert list(call.args) == [X, Y]


def test_what_others_use_is_not_cut_out() -> None:
    pattern = is_op("nn.relu")(is_op("add")(wildcard(), wildcard()))
    both = X + Y
    expr = relay.nn.relu(both) * both
    assert pattern.partition(expr) is expr
    expr = relay.nn.relu(X + Y)
    assert pattern.partition(expr, check=lambda e: False) is expr


def test_a_star_import_brings_patterns_alone() -> None:
    found: dict[str, Any] = {}
    exec("from tvm.relay.dataflow_pattern import *", found)
    assert "wildcard" in found
    assert not {"transform", "Call", "Var", "Op", "IRModule", "Any"} & set(found)


def test_parameters_of_parts_state_no_type() -> None:
    x, y = (relay.var(name, shape=(2, 3)) for name in "xy")
    plain, free = relay.nn.relu(x + y), [relay.Var("a"), relay.Var("b")]
    pattern = is_op("nn.relu")(is_op("add")(wildcard(), wildcard()))
    made = pattern.partition(plain, {"Composite": "sum"})
    wanted = relay.Function(free, relay.nn.relu(free[0] + free[1]))
    wanted = wanted.with_attr({"PartitionedFromPattern": "add_nn.relu_", "Composite": "sum"})
    assert tvm.ir.structural_equal(made.op, wanted)
    typed = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x, y], made)))
    assert typed["main"].body.op.params[0].checked_type == relay.TensorType((2, 3))


def test_what_a_wildcard_matched_may_use_the_parts() -> None:
    x = relay.var("x", shape=(2, 4))
    shared = relay.exp(x)
    pattern = is_op("add")(is_op("exp")(wildcard()), wildcard())
    made = pattern.partition(relay.add(shared, relay.sqrt(shared)))
    assert made.op.attrs["PartitionedFromPattern"] == "exp_add_"
    assert made.args[1].op.name == "sqrt"
    kept = relay.Tuple([relay.add(shared, x), shared])
    tvm.ir.assert_structural_equal(pattern.partition(kept), kept, map_free_vars=True)


def test_parameters_are_numbered_by_the_match_from_the_end() -> None:
    a = relay.var("a", shape=(2,))
    expr = relay.add(relay.add(a, a), relay.add(a, relay.const(1.0)))
    pattern = is_op("add")(wildcard(), wildcard())
    text = relay.Function([a], pattern.partition(expr)).astext()
    assert [f"%FunctionVar_{at}_0" in text for at in range(4)] == [True, True, True, False]
    calls = iter([True, False, True])
    text = relay.Function([a], pattern.partition(expr, check=lambda e: next(calls))).astext()
    assert "%FunctionVar_2_0" in text
    assert "%FunctionVar_1_0" not in text


def test_rewrites_take_matches_from_the_end_on() -> None:
    """What a match has inside is no match's root in the same round."""
    x = relay.var("x", shape=(2,))
    inner = wildcard()

    class Once(dfp.DFPatternCallback):
        def __init__(self) -> None:
            super().__init__(rewrite_once=True)
            self.pattern = is_op("nn.relu")(is_op("nn.relu")(inner))

        def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
            return relay.tanh(node_map[inner][0])

    three = relay.nn.relu(relay.nn.relu(relay.nn.relu(x)))
    tvm.ir.assert_structural_equal(dfp.rewrite(Once(), three), relay.tanh(relay.nn.relu(x)), True)


def test_inner_parts_that_others_use_are_no_match() -> None:
    x = relay.var("x", shape=(2,))
    inner = wildcard()

    class Fuse(dfp.DFPatternCallback):
        def __init__(self) -> None:
            super().__init__()
            self.pattern = is_op("nn.relu")(is_op("exp")(inner))

        def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
            return relay.tanh(node_map[inner][0])

    shared = relay.exp(x)
    both = relay.nn.relu(shared) * shared
    assert dfp.rewrite(Fuse(), both).same_as(both)
    alone = relay.nn.relu(relay.exp(x))
    tvm.ir.assert_structural_equal(dfp.rewrite(Fuse(), alone), relay.tanh(x), True)
