"""When two modules count as the same program to tune."""

from __future__ import annotations

import numpy as np
import pytest

from tvm import te
from tvm.ir.module import IRModule
from tvm.meta_schedule.module_equality import ModuleEquality
from tvm.runtime import tensor
from tvm.script import tir as T
from tvm.te import create_prim_func

pytestmark = pytest.mark.pure


def with_constant(value: float) -> IRModule:
    data = tensor(np.full(4, value, "float32"))

    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        C = T.allocate_const(data, "float32", [4])
        D = T.Buffer((4,), "float32", data=C)
        for i in range(4):
            B[i] = A[i] + D[i]

    return IRModule({"main": main})


def matmul(n: int, relu: bool) -> IRModule:
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n))
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    out = te.compute((n, n), lambda i, j: T.max(c[i, j], T.float32(0))) if relu else c
    return IRModule({"main": create_prim_func([a, b, out])})


@pytest.mark.parametrize(
    ("kind", "constants", "same_anchor"),
    [
        ("structural", False, False),
        ("ignore-tensor", True, False),
        ("ignore-ndarray", True, False),
        ("anchor-block", True, True),
    ],
)
def test_what_may_differ(kind: str, constants: bool, same_anchor: bool) -> None:
    equality = ModuleEquality.create(kind)
    for left, right, same in (
        (with_constant(1), with_constant(1), True),
        (with_constant(1), with_constant(2), constants),
        (matmul(16, False), matmul(16, False), True),
        (matmul(16, False), matmul(16, True), same_anchor),
        (matmul(16, False), matmul(32, False), False),
        (matmul(16, False), with_constant(1), False),
    ):
        assert equality.equal(left, right) is same
        assert (equality.hash(left) == equality.hash(right)) is same


def test_unknown_name() -> None:
    with pytest.raises(ValueError, match=r"Unknown module equality: loose"):
        ModuleEquality.create("loose")
