"""New values put into blocks: order, sharing, names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import tvm
from tvm import relax as rx
from tvm.error import TVMError
from tvm.relax.dpl.apply import Applier, Rewrites
from tvm.script import relax as R

pytestmark = pytest.mark.pure


@R.function(private=True)
def main(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        a = R.exp(x)
        b = R.tanh(x)
        c = R.add(a, b)
        R.output(c)
    return c


A, B, C = (binding.var for binding in main.body.blocks[0].bindings)


def _apply(values: Mapping[rx.Var, Any]) -> rx.Function:
    rounds = iter([Rewrites({var.vid: value for var, value in values.items()})])
    new = Applier(lambda block: next(rounds, Rewrites())).visit_expr(main)
    assert isinstance(new, rx.Function)
    assert rx.analysis.well_formed(new)
    return new


def _text(func: rx.Function) -> list[str]:
    return [str(binding.value) for binding in func.body.blocks[0].bindings]


def test_what_is_used_comes_first() -> None:
    after = _apply({A: R.sin(B)})
    names = [binding.var.name_hint for binding in after.body.blocks[0].bindings]
    assert names == ["b", "a", "c"]


def test_shared_parts_are_bound_once() -> None:
    shared = R.cos(main.params[0])
    after = _apply({A: R.sin(shared), B: R.exp(shared)})
    assert sum("cos" in line for line in _text(after)) == 1
    assert len(_text(after)) == 4


def test_bound_values_are_not_computed_again() -> None:
    value = main.body.blocks[0].bindings[1].value
    after = _apply({A: R.sin(value)})
    assert sum("tanh" in line for line in _text(after)) == 1


def test_another_name_is_not_bound() -> None:
    after = _apply({A: main.params[0]})
    assert [b.var.name_hint for b in after.body.blocks[0].bindings] == ["b", "c"]
    kept = _apply({C: main.params[0]})  # an output is: others read it by its name
    assert kept.body.blocks[0].bindings[-1].value is main.params[0]


def test_sequences_bring_their_own_blocks() -> None:
    @R.function(private=True)
    def inner(x: R.Tensor((4,), "float32")):
        p = R.sin(x)
        q = R.match_cast(p, R.Tensor((4,), "float32"))
        r = R.cos(q)
        return r

    body = rx.bind.bind(inner.body, {inner.params[0]: main.params[0]})
    after = _apply({A: body})
    plain, rest = after.body.blocks
    kinds = [type(b).__name__ for b in plain.bindings]
    assert kinds == ["VarBinding", "MatchCast", "VarBinding"]
    assert not isinstance(plain, rx.DataflowBlock)
    assert isinstance(rest, rx.DataflowBlock)
    assert [b.var.name_hint for b in rest.bindings] == ["b", "c"]


def test_a_circle_is_refused() -> None:
    with pytest.raises(TVMError, match="uses what is computed from it"):
        _apply({A: R.sin(C)})


def test_spans_stay() -> None:
    after = _apply({A: R.sin(B)})
    assert after.span is main.span
    by_name = {b.var.name_hint: b for b in after.body.blocks[0].bindings}
    assert by_name["a"].span is main.body.blocks[0].bindings[0].span


def test_long_chains() -> None:
    value: rx.Expr = main.params[0]
    for _ in range(3000):
        value = R.exp(value)
    after = _apply({A: value})
    assert len(after.body.blocks[0].bindings) == 3002
    tvm.ir.assert_structural_equal(after.ret_struct_info, main.ret_struct_info)
