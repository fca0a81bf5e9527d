from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import te, tir, topi
from tvm.script import tir as T
from tvm.support.dtype import DataType
from tvm.te.index_dtype import with_index_dtype
from tvm.tir import interp
from tvm.tir.analysis import undefined_vars

pytestmark = pytest.mark.pure


def test_indices_become_int64() -> None:
    @T.prim_func
    def main(
        A: T.Buffer((T.int64(2), T.int64(4)), "float32"),
        T_reshape: T.Buffer((T.int64(4), T.int64(2)), "float32"),
    ):
        T.func_attr({"tir.noalias": True})
        for i0, i1 in T.grid(T.int64(4), T.int64(2)):
            with T.block("T_reshape"):
                ax0, ax1 = T.axis.remap("SS", [i0, i1])
                T.reads(
                    A[
                        (ax0 * T.int64(2) + ax1) % T.int64(8) // T.int64(4),
                        (ax0 * T.int64(2) + ax1) % T.int64(4),
                    ]
                )
                T.writes(T_reshape[ax0, ax1])
                T_reshape[ax0, ax1] = A[
                    (ax0 * T.int64(2) + ax1) % T.int64(8) // T.int64(4),
                    (ax0 * T.int64(2) + ax1) % T.int64(4),
                ]

    a = te.placeholder((2, 4), name="A")
    func = te.create_prim_func([a, topi.reshape(a, (4, 2))], index_dtype_override="int64")
    tvm.ir.assert_structural_equal(func, main)


def test_values_keep_their_type() -> None:
    i = te.compute((5,), lambda x: x * 2 + 1, name="i")
    func = te.create_prim_func([i], "int64")
    out = np.empty(5, "int32")
    interp.run(func, out)
    np.testing.assert_array_equal(out, [1, 3, 5, 7, 9])


def test_conditions_and_symbolic_extents() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="a")
    b = te.compute((n,), lambda i: tir.if_then_else(i < n - 1, a[i + 1], 0.0), name="b")
    func = te.create_prim_func([n, a, b], "int64")
    assert func.params[0].dtype == "int64"
    kinds = {v.dtype for v in tir.functor.walk(func.body) if isinstance(v, tir.Var)}
    assert kinds == {"int64"}
    x, out = np.arange(4, dtype="float32"), np.empty(4, "float32")
    interp.run(func, 4, x, out)
    np.testing.assert_array_equal(out, [1, 2, 3, 0])


def test_what_a_let_binds_keeps_its_type() -> None:
    @T.prim_func
    def before(a: T.Buffer((8,), "int32"), b: T.Buffer((8,), "int32")):
        for i in range(8):
            at: T.int32 = a[i]
            b[at] = b[at] + at

    after = with_index_dtype(before, DataType("int64"))
    assert "at" not in [var.name for var in undefined_vars(after.body)]
    let = after.body.body
    assert str(let.var.dtype) == "int32"
    assert str(let.body.indices[0].dtype) == "int64"
