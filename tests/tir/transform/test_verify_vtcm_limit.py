from __future__ import annotations

import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir.transform import VerifyVTCMLimit

pytestmark = pytest.mark.pure


@T.prim_func
def func(A: T.Buffer((64,), "int8")):
    V = T.allocate([1024], "int8", "global.vtcm")
    v = T.Buffer((1024,), "int8", data=V, scope="global.vtcm")
    v[0] = A[0]
    A[1] = v[0]


MOD = IRModule.from_expr(func)


@pytest.mark.parametrize("limit", [None, 0, 1024, Target("hexagon"), Target("llvm")])
def test_keeps_what_fits(limit: object) -> None:
    assert VerifyVTCMLimit(limit)(MOD) is MOD


def test_rejects_more_than_the_limit() -> None:
    with pytest.raises(RuntimeError, match=r"exceeded \(allocated: 1024, limit: 1000\)"):
        VerifyVTCMLimit(1000)(MOD)


def test_the_limit_of_the_target() -> None:
    small = Target({"kind": "hexagon", "vtcm-capacity": 512})
    mod = IRModule.from_expr(func.with_attr("target", small))
    with pytest.raises(RuntimeError, match="limit: 512"):
        VerifyVTCMLimit()(mod)
