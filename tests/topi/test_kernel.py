"""A kernel's parameters, and its rows on cores and on threads."""

from __future__ import annotations

import numpy as np
import pytest

from tvm import tir
from tvm.target import Target
from tvm.tir import interp
from tvm.topi.kernel import Kernel, number
from tvm.topi.loops import store

pytestmark = pytest.mark.pure


def gathered(target: Target | None) -> tir.PrimFunc:
    kernel = Kernel("gathered", target)
    n = kernel.size("n")
    x, y = (kernel.buffer(name, (n, 4), "float32") for name in "xy")
    places, shift = kernel.indices("places", n), kernel.scalar("shift", "int32")
    return kernel.func(kernel.rows(
        (n, 4), lambda i, j: store(y, x[number(places, i), j] + shift.astype("float32"), i, j)
    ))  # fmt: skip


@pytest.mark.parametrize(("target", "loop"), [("llvm", "T.parallel"), ("cuda", "blockIdx.x")])
def test_rows(target: str, loop: str) -> None:
    func = gathered(Target(target))
    assert loop in func.script()
    x, y = np.arange(12, dtype="float32").reshape(3, 4), np.zeros((3, 4), "float32")
    interp.run(func, x, y, np.int32([2, 0, 1]), 5)
    assert (y == x[[2, 0, 1]] + 5).all()


def test_the_current_target_counts_where_none_is_given() -> None:
    with Target("cuda"):
        assert "blockIdx.x" in gathered(None).script()
    assert gathered(None).attrs["global_symbol"] == "gathered"
