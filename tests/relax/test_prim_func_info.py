"""The signature of a TIR function as Relax sees it."""

from __future__ import annotations

import pytest

from tvm import ir, relax, tir
from tvm.relax.prim_func_info import prim_func_struct_info

pytestmark = pytest.mark.pure


def test_buffers_numbers_and_handles() -> None:
    n = tir.Var("n", "int64")
    a, b = tir.Var("a", "handle"), tir.Var("b", "handle")
    k = tir.Var("k", "int32")
    buffer = tir.decl_buffer((n, 4), "float16", name="A")
    func = tir.PrimFunc([a, b, k], tir.Evaluate(0), buffer_map={a: buffer})
    info = prim_func_struct_info(func)
    expected = relax.FuncStructInfo(
        [relax.TensorStructInfo((n, 4), "float16"), relax.ObjectStructInfo(),
         relax.PrimStructInfo("int32")],
        relax.TupleStructInfo([]), purity=True,
    )  # fmt: skip
    ir.assert_structural_equal(info, expected)
    assert not prim_func_struct_info(func, is_declared=True).purity


def test_result_of_a_function_that_returns() -> None:
    func = tir.PrimFunc([], tir.Evaluate(0), ret_type=ir.PrimType("int32"))
    assert prim_func_struct_info(func).ret.dtype == "int32"


def test_what_a_body_changes_decides_purity() -> None:
    a, own = tir.Var("a", "handle"), tir.decl_buffer((4,), "float32", name="B")
    given = tir.decl_buffer((4,), "float32", name="A")

    def stores_to(buffer: tir.Buffer) -> tir.PrimFunc:
        store = tir.BufferStore(buffer, tir.const(1, "float32"), [0])
        block = tir.Block([], [], [], "root", store, alloc_buffers=[own])
        return tir.PrimFunc([a], tir.BlockRealize([], True, block), buffer_map={a: given})

    assert not stores_to(given).struct_info.purity
    assert stores_to(own).struct_info.purity
