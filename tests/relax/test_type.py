"""Static types."""

from __future__ import annotations

import pytest

from tvm import ir, relax

pytestmark = pytest.mark.pure


def test_types_compare_by_content() -> None:
    assert ir.structural_equal(relax.TensorType(2, "float16"), relax.TensorType(2, "float16"))
    assert not ir.structural_equal(relax.TensorType(2), relax.TensorType(3))
    assert not ir.structural_equal(relax.ShapeType(2), relax.ShapeType())
    assert ir.structural_equal(relax.ObjectType(), relax.ObjectType())


def test_types_come_back_from_json() -> None:
    kinds = ir.TupleType([relax.TensorType(2), relax.ShapeType(1), relax.PackedFuncType()])
    assert ir.structural_equal(ir.load_json(ir.save_json(kinds)), kinds)
