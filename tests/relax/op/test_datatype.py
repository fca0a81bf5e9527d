"""Odd cases of casts."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import info, var
from tvm import relax
from tvm.relax import op

pytestmark = pytest.mark.pure


def test_shape_stays() -> None:
    found = info(op.astype(var(ndim=2), "float16"))
    assert (found.ndim, found.dtype) == (2, "float16")


def test_constant_is_cast_at_once() -> None:
    call = op.astype(relax.const([1.7, -1.7]), "int32")
    found = call.op.get_attr("FLegalize")(relax.BlockBuilder(), call)
    assert isinstance(found, relax.Constant)
    assert list(found.data.numpy()) == [1, -1]
