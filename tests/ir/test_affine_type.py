"""Affine types are nodes that compare by what they hold."""

from __future__ import annotations

import pytest

from tvm import relay
from tvm.ir import TensorAffineType, TupleAffineType
from tvm.ir.structural import structural_equal

pytestmark = pytest.mark.pure


def test_equality_and_fields() -> None:
    a, b = (TensorAffineType(relay.const(2.0), relay.const(0), "int8") for _ in range(2))
    other = TensorAffineType(relay.const(3.0), relay.const(0), "int8")
    assert structural_equal(a, b)
    assert not structural_equal(a, other)
    assert a.axis == -1
    assert structural_equal(TupleAffineType([a]), TupleAffineType([b]))
    with pytest.raises(TypeError, match="types of a TupleAffineType is a int: 3; legal: Tensor"):
        TupleAffineType([3])
    with pytest.raises(TypeError, match="the types of a TupleAffineType are a NoneType"):
        TupleAffineType(None)
