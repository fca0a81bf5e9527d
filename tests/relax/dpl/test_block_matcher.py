"""Graphs of patterns in dataflow blocks."""

from __future__ import annotations

import pytest

from tvm import relax as rx
from tvm.relax.dpl import (
    PatternContext,
    TupleGetItemPattern,
    is_call_dps_packed,
    is_const,
    is_op,
    is_var,
    wildcard,
)
from tvm.script import relax as R

pytestmark = pytest.mark.pure
T32 = R.Tensor((32, 32), "float32")


def _block(func: rx.Function) -> rx.DataflowBlock:
    block = func.body.blocks[0]
    assert isinstance(block, rx.DataflowBlock)
    return block


@R.function
def two(x: R.Tensor((32, 32), "float32"), w: R.Tensor((32, 32), "float32")):
    with R.dataflow():
        lv0 = R.call_dps_packed("matmul", (x, w), R.Tensor((32, 32), "float32"))
        lv1 = R.call_dps_packed("relu", (lv0), R.Tensor((32, 32), "float32"))
        R.output(lv1)
    return lv1


@R.function
def diamond(x: R.Tensor((32, 32), "float32"), w: R.Tensor((32, 32), "float32")):
    with R.dataflow():
        lv0 = R.call_dps_packed("matmul", (x, w), R.Tensor((32, 32), "float32"))
        lv1 = R.call_dps_packed("relu", (lv0), R.Tensor((32, 32), "float32"))
        lv2 = R.call_dps_packed("sigmoid", (lv0), R.Tensor((32, 32), "float32"))
        lv3 = R.call_dps_packed("add", (lv1, lv2), R.Tensor((32, 32), "float32"))
        R.output(lv3)
    return lv3


@R.function
def small_diamond(x: R.Tensor((32, 32), "float32")):
    with R.dataflow():
        lv0 = R.call_dps_packed("relu", (x), R.Tensor((32, 32), "float32"))
        lv1 = R.call_dps_packed("add", (lv0, lv0), R.Tensor((32, 32), "float32"))
        R.output(lv1)
    return lv1


@R.function
def parallel(x: R.Tensor((32, 32), "float32")):
    with R.dataflow():
        lv0 = R.call_dps_packed("relu", (x), R.Tensor((32, 32), "float32"))
        lv1 = R.call_dps_packed("relu", (x), R.Tensor((32, 32), "float32"))
        lv2 = R.call_dps_packed("add", (lv0, lv1), R.Tensor((32, 32), "float32"))
        R.output(lv2)
    return lv2


@R.function
def two_branches(
    x: R.Tensor((32, 32), "float32"),
    w0: R.Tensor((1, 1), "float32"),
    b0: R.Tensor((32, 32), "float32"),
    w1: R.Tensor((1, 1), "float32"),
    b1: R.Tensor((32, 32), "float32"),
):
    with R.dataflow():
        lv0 = R.call_dps_packed("conv1x1", (x, w0), R.Tensor((32, 32), "float32"))
        lv1 = R.call_dps_packed("bias_add", (lv0, b0), R.Tensor((32, 32), "float32"))
        lv2 = R.call_dps_packed("relu", (lv1), R.Tensor((32, 32), "float32"))
        lv3 = R.call_dps_packed("conv1x1", (x, w1), R.Tensor((32, 32), "float32"))
        lv4 = R.call_dps_packed("bias_add", (lv3, b1), R.Tensor((32, 32), "float32"))
        lv5 = R.call_dps_packed("relu", (lv4), R.Tensor((32, 32), "float32"))
        lv6 = R.call_dps_packed("concat", (lv2, lv5), R.Tensor((32, 64), "float32"))
        R.output(lv6)
    return lv6


def test_used_by_with_a_parameter() -> None:
    with PatternContext() as ctx:
        x, user = is_var("x"), wildcard()
        x ^ user
        found = ctx.match_dfb(_block(two))
    assert found is not None
    assert found[x] is two.params[0]
    assert found[user] is _block(two).bindings[0].var


@pytest.mark.parametrize("only", [False, True])
def test_two_steps(only: bool) -> None:
    with PatternContext() as ctx:
        a, b = is_call_dps_packed("matmul"), is_call_dps_packed("relu")
        a.only_used_by(b) if only else a.used_by(b)
        found = ctx.match_dfb(_block(two))
    assert found is not None
    assert found[b] is _block(two).bindings[1].var
    with PatternContext() as ctx:
        is_call_dps_packed("matmul") ^ is_call_dps_packed("impossible")
        assert not ctx.match_dfb(_block(two))


def test_operand_index() -> None:
    with PatternContext() as ctx:
        is_var("x").used_by(is_call_dps_packed("matmul"), 0)
        assert ctx.match_dfb(_block(two))
    with PatternContext() as ctx:
        is_var("x").used_by(is_call_dps_packed("matmul"), 1)
        assert not ctx.match_dfb(_block(two))


def test_diamond() -> None:
    with PatternContext() as ctx:
        top, left = is_call_dps_packed("matmul"), is_call_dps_packed("relu")
        right, bottom = is_call_dps_packed("sigmoid"), is_call_dps_packed("add")
        top.fork_to(left, right)
        left >> bottom
        right >> bottom
        assert ctx.match_dfb(_block(diamond))
    with PatternContext() as ctx:
        top >> left
        top >> right
        left >> bottom
        right >> bottom
        assert not ctx.match_dfb(_block(diamond))


def test_diamond_is_not_parallel() -> None:
    with PatternContext() as ctx:
        fork, join = is_call_dps_packed("relu"), is_call_dps_packed("add")
        fork.only_used_by(join, index=0)
        fork.only_used_by(join, index=1)
        assert ctx.match_dfb(_block(small_diamond))
        assert not ctx.match_dfb(_block(parallel))
    with PatternContext() as ctx:
        join = is_call_dps_packed("add")
        is_call_dps_packed("relu") >> join
        is_call_dps_packed("relu") >> join
        assert ctx.match_dfb(_block(parallel))
        assert not ctx.match_dfb(_block(small_diamond))


def test_two_equal_branches() -> None:
    with PatternContext() as ctx:
        first = (
            is_call_dps_packed("conv1x1")
            >> is_call_dps_packed("bias_add")
            >> is_call_dps_packed("relu")
        )
        second = first.dup()
        is_var("x").fork_to(first, second)
        found = ctx.match_dfb(_block(two_branches))
        assert found is not None
        assert found[first.patterns[0]] is not found[second.patterns[0]]
    with PatternContext() as ctx:
        first = is_call_dps_packed("conv1x1") >> is_call_dps_packed("bias_add")
        is_var("b0").fork_to(first, first.dup())
        assert not ctx.match_dfb(_block(two_branches))


def test_items_of_a_tuple() -> None:
    @R.function
    def func(x: R.Tensor((32, 32), "float32")):
        with R.dataflow():
            lv = R.call_dps_packed(
                "split", (x), [R.Tensor((16, 32), "float32"), R.Tensor((16, 32), "float32")]
            )
            a = lv[0]
            b = lv[1]
            out = R.call_dps_packed("add", (a, b), R.Tensor((16, 32), "float32"))
            R.output(out)
        return out

    with PatternContext() as ctx:
        split, add = is_call_dps_packed("split"), is_call_dps_packed("add")
        a = TupleGetItemPattern(split, 0).has_shape([16, 32])
        b = TupleGetItemPattern(split, 1).has_shape([16, 32])
        split.fork_to(a, b)
        a >> add
        b >> add
        found = ctx.match_dfb(_block(func))
    assert found is not None
    assert found[b] is _block(func).bindings[2].var


@pytest.mark.parametrize("tied", [True, False])
def test_operands_that_are_no_variables_are_no_nodes(tied: bool) -> None:
    @R.function
    def func(x: R.Tensor((32, 32), "float32")):
        with R.dataflow():
            a = R.add(x, R.const(1.0, "float32"))
            b = R.reshape(a, R.shape([1024]))
            R.output(b)
        return b

    with PatternContext() as ctx:
        x = wildcard()
        others = {"varg_default_wildcard": True} if not tied else {}
        add = is_op("relax.add")(*([x, is_const()] if tied else [x]), **others)
        reshape = is_op("relax.reshape")(add, varg_default_wildcard=True)
        found = ctx.match_dfb(_block(func))
    if tied:
        assert found is None
    else:
        assert found is not None
        assert found[x] is func.params[0]
        assert found[reshape] is _block(func).bindings[1].var


def test_equal_shapes() -> None:
    @R.function
    def func(x: R.Tensor((4, 8), "float32"), y: R.Tensor((8,), "float32")):
        with R.dataflow():
            a = R.add(x, y)
            b = R.add(a, x)
            R.output(b)
        return b

    with PatternContext() as ctx:
        left, right = wildcard(), wildcard()
        add = is_op("relax.add")(left, right)
        left.same_shape_as(right)
        found = ctx.match_dfb(_block(func))
    assert found is not None
    assert found[add] is _block(func).bindings[1].var


def test_long_blocks() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", T32)
    with bb.function("main", [x]):
        with bb.dataflow():
            value: rx.Expr = x
            for _ in range(2000):
                value = bb.emit(rx.op.exp(value))
            value = bb.emit(rx.op.tanh(value))
            out = bb.emit_output(rx.op.exp(value))
        bb.emit_func_output(out)
    with PatternContext() as ctx:
        exp = is_op("relax.exp")(wildcard())
        tanh = is_op("relax.tanh")(exp)
        last = is_op("relax.exp")(tanh)
        found = ctx.match_dfb(_block(bb.get()["main"]))
    assert found is not None
    assert found[last] is out
    assert found[tanh] is value
