"""Operands that no backend takes."""

from __future__ import annotations

import pytest

import tvm
from tvm import te
from tvm.error import DTypeError

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("count", [tvm.tir.popcount, tvm.tir.clz])
def test_bits_of_floats_are_not_counted(target: str, count: object) -> None:
    a = te.placeholder((8,), "float32", "a")
    b = te.compute((8,), lambda i: count(a[i]), "b")  # type: ignore[operator]
    with pytest.raises(DTypeError, match="found: an operand of float32"):
        tvm.compile(te.create_prim_func([a, b]), target=target)
