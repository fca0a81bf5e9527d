"""Struct infos: what they hold and what they refuse."""

from __future__ import annotations

import pytest

from tvm import ir, relax, tir
from tvm.error import TVMError
from tvm.ir import assert_structural_equal, load_json, save_json
from tvm.relax.struct_info import const_int, const_number

pytestmark = pytest.mark.pure

N = tir.Var("n", "int64")


def test_tensor_of_known_shape() -> None:
    info = relax.TensorStructInfo((N, 4), "float16")
    assert info.ndim == 2
    assert info.values[0] is N
    assert isinstance(info.shape, relax.ShapeExpr)


def test_tensor_of_known_dimensions_only() -> None:
    info = relax.TensorStructInfo(dtype="float32", ndim=3)
    assert info.shape is None
    assert info.values is None
    assert not info.is_unknown_ndim()
    assert relax.TensorStructInfo(dtype=None).is_unknown_dtype()


def test_tensor_whose_shape_is_a_variable() -> None:
    shape = relax.Var("s", relax.ShapeStructInfo(ndim=2))
    assert relax.TensorStructInfo(shape, "float32").ndim == 2
    with pytest.raises(TVMError, match="a ShapeExpr or a variable"):
        relax.TensorStructInfo(relax.Var("t", relax.TensorStructInfo((2,))), "float32")


def test_shape_or_ndim_is_given() -> None:
    for ndim in (2, 3):
        with pytest.raises(ValueError, match=f"ndim={ndim}; legal: one of them"):
            relax.TensorStructInfo((1, 2), ndim=ndim)
    tensor = relax.TensorStructInfo((1, 2), "int8")
    assert_structural_equal(load_json(save_json(tensor)), tensor)
    with pytest.raises(ValueError, match="cannot both specify values"):
        relax.ShapeStructInfo([1, 2], ndim=2)
    shape = relax.ShapeStructInfo([1, 2])
    assert_structural_equal(load_json(save_json(shape)), shape)
    with pytest.raises(TVMError, match="ndim is -2"):
        relax.ShapeStructInfo(ndim=-2)


def test_prim_takes_dtype_or_value() -> None:
    assert relax.PrimStructInfo("int64").value is None
    assert relax.PrimStructInfo(value=N).dtype == "int64"
    assert relax.PrimStructInfo("float32", 2).value.value == 2.0
    assert relax.PrimStructInfo(value=3).dtype == "int64"
    assert relax.PrimStructInfo(value=3.0).dtype == "float32"
    with pytest.raises(AssertionError, match="the value n is int64"):
        relax.PrimStructInfo("int32", N)
    for wrong in (lambda: relax.PrimStructInfo(N), lambda: relax.PrimStructInfo(value="int64"),
                  relax.PrimStructInfo):  # fmt: skip
        with pytest.raises(TypeError, match="PrimStructInfo"):
            wrong()


def test_opaque_function() -> None:
    info = relax.FuncStructInfo.opaque_func(ret=relax.ObjectStructInfo())
    assert info.is_opaque()
    assert not info.purity
    kept = relax.extern("f").struct_info
    loaded = ir.load_json(ir.save_json(kept))
    assert isinstance(loaded.derive_func, ir.EnvFunc)
    assert ir.structural_equal(loaded, kept)
    other = relax.FuncStructInfo.opaque_func(derive_func="tvm.relax.struct_info.infer_view_sinfo")
    assert not ir.structural_equal(other, kept)


def test_function_binds_the_symbols_of_its_parameters() -> None:
    def make(name: str) -> relax.FuncStructInfo:
        n = tir.Var(name, "int64")
        return relax.FuncStructInfo(
            [relax.TensorStructInfo((n,), "float32")], relax.TensorStructInfo((n * 2,), "float32")
        )

    assert ir.structural_equal(make("n"), make("m"))


def test_numbers_of_literals() -> None:
    assert const_int(tir.const(3, "int64")) == 3
    assert const_int(N) is None
    assert const_number(tir.const(1.5, "float32")) == 1.5


def test_a_device_is_no_text() -> None:
    with pytest.raises(TypeError, match="vdevice is a str; legal: a VDevice"):
        relax.TensorStructInfo((1,), "int8", vdevice="llvm")  # type: ignore[arg-type]


def test_an_opaque_function_has_a_result_or_a_rule() -> None:
    with pytest.raises(ValueError, match="both ret and derive_func"):
        relax.FuncStructInfo.opaque_func(
            ret=relax.ObjectStructInfo(), derive_func="tvm.relax.struct_info.infer_by_sinfo_args"
        )
