"""Operators as C text, and those that C lacks; results are in test_programs.py."""

from __future__ import annotations

import pytest

from tests.backend.c.test_expr import A, X, stored
from tests.backend.llvm.kernel import i32
from tvm.backend.c.intrinsics import INTRINSICS
from tvm.error import TVMError
from tvm.ir.op import Op
from tvm.tir import expr as e
from tvm.tir.op import builtin

pytestmark = pytest.mark.pure

# What only LLVM can say: its own intrinsics, and vectors whose length the machine decides.
OF_LLVM = {"tir.call_llvm_intrin", "tir.call_llvm_pure_intrin", "tir.vscale"}


def test_every_operator_that_llvm_takes_has_a_rule() -> None:
    from tvm.backend.llvm.intrinsics import INTRINSICS as LLVM

    assert set(LLVM) - set(INTRINSICS) == OF_LLVM


def test_math_is_called_from_the_c_library() -> None:
    f = e.Cast("float32", X)
    assert "expf((float)A[1])" in stored(e.Call("float32", Op.get("tir.exp"), [f]), "float32")
    wide = e.Cast("float64", X)
    assert "pow((double)A[1], (double)A[1])" in stored(
        e.Call("float64", Op.get("tir.pow"), [wide, wide]), "float64"
    )


def test_all_lanes_in_one() -> None:
    text = stored(builtin.vectoror("int32", e.BufferLoad(A, [e.Ramp(i32(0), i32(1), 4)])))
    assert "int32_t any = 0;" in text
    assert "any |= A[lane];" in text


def test_structures_are_named() -> None:
    assert "((DLTensor*)A)->ndim" in stored(builtin.tvm_struct_get(A.data, 0, 4, "int32"))
    assert "((TVMFFIAny*)A)[2].type_index" in stored(builtin.tvm_struct_get(A.data, 2, 13, "int32"))
    with pytest.raises(TVMError, match="access of struct field 99"):
        stored(builtin.tvm_struct_get(A.data, 0, 99, "int32"))
    with pytest.raises(TVMError, match="tvm_stack_alloca of 'cake'"):
        stored(e.Cast("int32", builtin.isnullptr(builtin.tvm_stack_alloca("cake", i32(1)))))
