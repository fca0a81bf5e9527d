"""Kernels with their hashes."""

from __future__ import annotations

import pytest

import tvm
from tvm import relay
from tvm.relay import transform

pytestmark = pytest.mark.pure


def test_equal_kernels_have_equal_hashes() -> None:
    x = relay.var("x", shape=(4,))
    body = relay.Tuple([relay.exp(x), relay.exp(x), relay.log(x)])
    mod = tvm.IRModule.from_expr(relay.Function([x], body))
    made = transform.LabelOps()(transform.FuseOps(0)(mod))
    a, b, c = (call.op.attrs["hash"] for call in made["main"].body.fields)
    assert a == b != c
    assert len(a) == 16
    assert int(a, 16) >= 0
    assert "hash" not in made["main"].attrs
    assert tvm.ir.structural_equal(transform.LabelOps()(made), made)
