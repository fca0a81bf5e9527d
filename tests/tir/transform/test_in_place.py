"""Which statements may overwrite what they read; each is run both ways."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm.script import from_source
from tvm.tir.interp import run
from tvm.tir.transform import StorageRewrite

pytestmark = pytest.mark.pure

IN_PLACE = [
    "for i in range(16): C[i] = B[i] * T.float32(2)",
    "for i in range(16): C[15 - i] = B[15 - i] + A[i]",
    "for i in range(16): C[i] = B[i] * B[i]",
    "for k, i in T.grid(4, 4): C[k * 4 + i] = B[k * 4 + i] * T.float32(2)",
    "for k, i in T.grid(4, 4): C[i * 4 + k] = B[i * 4 + k] * T.float32(2)",
    "for k, i in T.grid(3, 3): C[k * 5 + i] = B[k * 5 + i] * T.float32(2)",
    "for i in T.parallel(16): C[i] = B[i] * T.float32(2)",
    "for i in range(4): C[i * 4:i * 4 + 4] = B[i * 4:i * 4 + 4] + A[i * 4:i * 4 + 4]",
    "C[0] = B[0]",
]
APART = [
    "for i in range(16): C[i] = B[15 - i]",
    "for i in range(16): C[i] = B[i] + B[0]",
    "for k, i in T.grid(3, 16): C[i] = B[i] * T.float32(2)",  # read again when k is 1
    "for k, i in T.grid(4, 4): C[k * 3 + i] = B[k * 3 + i] * T.float32(2)",
    "for i in range(4): C[i * 3:i * 3 + 4] = B[i * 3:i * 3 + 4] + A[i * 4:i * 4 + 4]",
    "for i in range(16): C[i] = C[i] + B[i]",
    "for i in range(16): C[i] = T.Cast('float32', T.Cast('int32', B[i])) + B[i // 2]",
    """for i in range(16):
        C[i] = B[i]
        C[i] = B[i] * T.float32(2)""",
    """for i in range(16):
        B[15 - i] = A[i]
        C[i] = B[i]""",
]


def _program(body: str) -> tvm.IRModule:
    return tvm.IRModule({"main": from_source(f"""
from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")):
    B = T.decl_buffer((16,), "float32")
    C = T.decl_buffer((16,), "float32")
    for i in range(16):
        B[i] = A[i]
    {body}
    for i in range(16):
        D[i] = C[i]
""")})  # fmt: skip


@pytest.mark.parametrize("body", [*IN_PLACE, *APART])
def test_the_same_memory_where_that_is_right(body: str) -> None:
    before = _program(body)
    after = StorageRewrite()(before)
    assert ("data=B.data" in after.script()) == (body in IN_PLACE)
    source = np.random.default_rng(0).random(16, "float32")
    results = []
    for mod in (before, after):
        out = np.zeros(16, "float32")
        run(mod["main"], source.copy(), out)
        results.append(out)
    stored = np.arange(16) < 1 if body == "C[0] = B[0]" else np.ones(16, bool)
    if "k * 5" in body:
        stored = np.isin(np.arange(16), [5 * k + i for k in range(3) for i in range(3)])
    if "k * 3" in body or "i * 3" in body:
        stored = np.arange(16) < 13
    np.testing.assert_array_equal(results[0][stored], results[1][stored])
