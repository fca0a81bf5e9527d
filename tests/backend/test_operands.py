"""What no backend takes, and what all of them do alike."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import te
from tvm.error import DTypeError, TVMError

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("count", [tvm.tir.popcount, tvm.tir.clz])
def test_bits_of_floats_are_not_counted(target: str, count: object) -> None:
    a = te.placeholder((8,), "float32", "a")
    b = te.compute((8,), lambda i: count(a[i]), "b")  # type: ignore[operator]
    with pytest.raises(DTypeError, match="found: an operand of float32"):
        tvm.compile(te.create_prim_func([a, b]), target=target)


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_what_runs_once(target: str) -> None:
    """The function is called, but only its first call does what is in the scope."""
    buffer = tvm.tir.decl_buffer((te.size_var("n"),), "int64")
    i = tvm.tir.Var("i", "int32")

    def func(way: str) -> tvm.tir.PrimFunc:
        more = tvm.tir.BufferStore(buffer, tvm.tir.BufferLoad(buffer, [i]) + 1, [i])
        loop = tvm.tir.For(i, 0, buffer.shape[0], tvm.tir.ForKind.PARALLEL, more)
        unit = te.thread_axis((0, 1), "cop")
        scope = tvm.tir.AttrStmt(unit, "coproc_uop_scope", tvm.tir.StringImm(way), loop)
        return tvm.tir.PrimFunc([buffer], scope).with_attr("global_symbol", "main")

    module = tvm.compile(func("TVMBackendRunOnce"), target=target)
    values = tvm.runtime.tensor(np.zeros(10, "int64"))
    for _ in range(3):
        module["main"](values)
        np.testing.assert_array_equal(values.numpy(), np.ones(10))
    with pytest.raises(TVMError, match='legal: "TVMBackendRunOnce"'):
        tvm.compile(func("often"), target=target)
