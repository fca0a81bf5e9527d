"""Replacements stand in blocks of the kind that they were written in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tvm import relax
from tvm.ir import assert_structural_equal
from tvm.relax.dpl.regroup import regrouped
from tvm.script import relax as R

X = R.Tensor((16,), "float32")


@R.rewriter
class ToDataflow:
    @R.function
    def pattern(x: X, y: X):
        return R.nn.relu(R.add(x, y))

    @R.function
    def replacement(x: X, y: X):
        with R.dataflow():
            a = R.exp(x)
            b = R.maximum(a, y)
            R.output(b)
        return b


@R.rewriter
class ToPlain:
    @R.function
    def pattern(x: X, y: X):
        return R.nn.relu(R.add(x, y))

    @R.function
    def replacement(x: X, y: X):
        a = R.exp(x)
        b = R.maximum(a, y)
        return b


@R.function(private=True)
def plain(x: X, y: X):
    c = R.multiply(x, y)
    r = R.nn.relu(R.add(x, c))
    d = R.multiply(r, c)
    return d


@R.function(private=True)
def flow(x: X, y: X):
    with R.dataflow():
        c = R.multiply(x, y)
        s = R.add(x, c)
        r = R.nn.relu(s)
        d = R.multiply(r, c)
        R.output(d)
    return d


@R.function(private=True)
def plain_around_flow(x: X, y: X):
    c = R.multiply(x, y)
    with R.dataflow():
        a = R.exp(x)
        b = R.maximum(a, c)
        R.output(b)
    d = R.multiply(b, c)
    return d


@R.function(private=True)
def flow_around_plain(x: X, y: X):
    with R.dataflow():
        c = R.multiply(x, y)
        R.output(c)
    a = R.exp(x)
    b = R.maximum(a, c)
    with R.dataflow():
        d = R.multiply(b, c)
        R.output(d)
    return d


@R.function(private=True)
def one_flow(x: X, y: X):
    with R.dataflow():
        c = R.multiply(x, y)
        a = R.exp(x)
        b = R.maximum(a, c)
        d = R.multiply(b, c)
        R.output(d)
    return d


@pytest.mark.parametrize(
    ("rewriter", "before", "expected"),
    [
        (ToDataflow, plain, plain_around_flow),
        (ToDataflow, flow, one_flow),
        (ToPlain, flow, flow_around_plain),
    ],
)
def test_blocks(rewriter: Callable[[Any], Any], before: Any, expected: Any) -> None:
    after = rewriter(before)
    assert_structural_equal(after, expected)
    assert relax.analysis.well_formed(after)


def test_a_sequence_of_the_right_kinds_is_left_alone() -> None:
    kinds = {b.var.vid: True for b in flow.body.blocks[0].bindings}
    assert regrouped(flow.body, kinds) is flow.body
    assert regrouped(plain.body, {}) is plain.body
