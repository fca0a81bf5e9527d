"""Chains of an add, subtractions and a multiply are marked; the rest is not."""

from __future__ import annotations

import pytest

from tests.relay.transform.numbers import equal, module, same_numbers
from tvm import relay
from tvm.relay.op.annotation import compiler_begin, compiler_end
from tvm.relay.testing.byoc import CcompilerAnnotator

pytestmark = pytest.mark.pure
A, B, C, D = (relay.var(name, shape=(3,)) for name in "abcd")


def b(x: relay.Expr) -> relay.Expr:
    return compiler_begin(x, "ccompiler")


def test_a_chain() -> None:
    before = module((A + B - C) * D, A, B, C, D)
    after = module(CcompilerAnnotator().visit(before["main"]).body, A, B, C, D)
    chain = (b(A) + b(B) - b(C)) * b(D)
    equal(after, compiler_end(chain, "ccompiler"), A, B, C, D)
    same_numbers(before, after)


def test_two_chains_and_what_is_between() -> None:
    before = relay.concatenate([(A + B - C) * D, relay.exp(A + B)], 0)
    found = CcompilerAnnotator().visit(relay.Function([A, B, C, D], before))
    chain = compiler_end((b(A) + b(B) - b(C)) * b(D), "ccompiler")
    expected = relay.concatenate([chain, relay.exp(A + B)], 0)
    equal(module(found.body, A, B, C, D), expected, A, B, C, D)


def test_a_product_without_a_start_has_no_end() -> None:
    found = CcompilerAnnotator().visit(relay.Function([A, B], A * B))
    equal(module(found.body, A, B), b(A) * b(B), A, B)
