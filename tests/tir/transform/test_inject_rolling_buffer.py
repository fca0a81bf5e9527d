from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import tir
from tvm.script import tir as T
from tvm.tir.interp import run
from tvm.tir.transform import InjectRollingBuffer

pytestmark = pytest.mark.pure


@T.prim_func
def windows(A: T.Buffer((10,), "float32"), C: T.Buffer((8,), "float32")) -> None:
    B = T.Buffer((10,), "float32")
    for i in range(2):
        with T.realize(B[i * 4 : i * 4 + 6], ""):
            T.attr(B, "rolling_buffer_scope", True)
            for j in range(6):
                B[i * 4 + j] = A[i * 4 + j] * T.float32(2)
            for k in range(4):
                C[i * 4 + k] = B[i * 4 + k] + B[i * 4 + k + 1] + B[i * 4 + k + 2]


@T.prim_func
def rolled(A: T.Buffer((10,), "float32"), C: T.Buffer((8,), "float32")) -> None:
    B = T.Buffer((10,), "float32")
    with T.realize(B[0:6], ""):
        for i in range(2):
            for j in range(6):
                if T.likely(i < 1 or j >= 2):
                    B[(i * 4 + j) % 6] = A[i * 4 + j] * T.float32(2)
            for k in range(4):
                C[i * 4 + k] = (
                    B[(i * 4 + k) % 6] + B[(i * 4 + k + 1) % 6] + B[(i * 4 + k + 2) % 6]
                )


def injected(func: tir.PrimFunc) -> tir.PrimFunc:
    return InjectRollingBuffer()(tvm.IRModule({"main": func}))["main"]


def test_one_window_is_kept() -> None:
    found = injected(windows)
    tvm.ir.assert_structural_equal(found.without_attr("global_symbol"),
                                   rolled.without_attr("global_symbol"))  # fmt: skip
    data = np.random.default_rng(0).standard_normal(10).astype("float32")
    outs = [np.zeros(8, "float32") for _ in range(2)]
    for func, out in zip((windows, found), outs):
        run(func, data, out)
    np.testing.assert_array_equal(*outs)
    assert outs[0].any()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("i * 4:i * 4 + 6", "i * 4 + 1:i * 4 + 7"),  # does not begin at a multiple
        ("range(2)", "T.parallel(2)"),
    ],
)
def test_other_windows_stay(old: str, new: str) -> None:
    text = windows.script()
    assert old in text
    func = tvm.script.from_source(text.replace(old, new), check_well_formed=False)
    found = injected(func).script()
    assert "rolling_buffer_scope" not in found
    assert "%" not in found
