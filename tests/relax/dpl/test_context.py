"""Contexts: nesting, and going on from one."""

from __future__ import annotations

import pytest

from tvm.error import TVMError
from tvm.relax.dpl import PatternContext, is_call_dps_packed, is_op, is_var, wildcard
from tvm.relax.expr import Var
from tvm.script import relax as R

pytestmark = pytest.mark.pure


@R.function
def chain(x: R.Tensor((32, 32), "float32")) -> R.Tensor:
    with R.dataflow():
        lv0 = R.call_dps_packed("relu", (x), R.Tensor((32, 32), dtype="float32"))
        lv1 = R.call_dps_packed("sigmoid", (lv0), R.Tensor((32, 32), dtype="float32"))
        lv2 = R.call_dps_packed("neg", (lv1), R.Tensor((32, 32), dtype="float32"))
        R.output(lv2)
    return lv2


BLOCK = chain.body.blocks[0]


def test_current() -> None:
    assert PatternContext.current() is None
    with PatternContext() as outer:
        assert PatternContext.current() is outer
        with PatternContext() as inner:
            assert PatternContext.current() is inner
        assert PatternContext.current() is outer
    assert PatternContext.current() is None


def test_nested_contexts_are_their_own() -> None:
    with PatternContext() as outer:
        is_call_dps_packed("relu") >> is_call_dps_packed("sigmoid")
        with PatternContext() as inner:
            is_call_dps_packed("relu") >> is_call_dps_packed("neg")
            assert not inner.match_dfb(BLOCK)
        assert outer.match_dfb(BLOCK)


def test_incremental() -> None:
    relu, sigmoid = is_call_dps_packed("relu"), is_call_dps_packed("sigmoid")
    neg = is_call_dps_packed("neg")
    with PatternContext() as outer:
        relu >> sigmoid
        with PatternContext(incremental=True) as inner:
            sigmoid >> neg
            found = inner.match_dfb(BLOCK)
            assert found is not None
            assert len({relu, sigmoid, neg} & set(found)) == 3
        assert len(outer.edges) == 1
    with PatternContext():
        is_call_dps_packed("exp") >> sigmoid
        with PatternContext(incremental=False) as inner:
            sigmoid >> neg
            assert inner.match_dfb(BLOCK)
        with PatternContext(incremental=True) as inner:
            sigmoid >> neg
            assert not inner.match_dfb(BLOCK)


def test_operators_tie_their_arguments() -> None:
    with PatternContext() as ctx:
        x = wildcard()
        call = is_op("relax.add")(x, wildcard())
        edge = ctx.edges[0]
        assert (edge.producer, edge.consumer, edge.operand_index) == (x, call, 0)
        is_op("relax.add")(x, x, add_constraint=False)
        assert len(ctx.edges) == 2


def test_rejects() -> None:
    with pytest.raises(TVMError, match="inside a existing context"):
        PatternContext(incremental=True)
    with PatternContext() as ctx, pytest.raises(TypeError, match="looks at a DataflowBlock"):
        ctx.match_dfb(chain)  # type: ignore[arg-type]


def test_operators_are_no_values() -> None:
    @R.function
    def one(x: R.Tensor((4,), "float32"), z: R.Tensor((4,), "float32")) -> R.Tensor:
        with R.dataflow():
            y = R.add(x, z)
            R.output(y)
        return y

    with PatternContext() as ctx:
        call = is_op("relax.add")(is_var("x"), is_var("z"))
        found = ctx.match_dfb(one.body.blocks[0])
    assert found is not None
    assert found[call].name_hint == "y"
    assert all(isinstance(value, Var) for value in found.values())
