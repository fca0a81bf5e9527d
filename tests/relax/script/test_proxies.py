"""Struct infos as they are written."""

from __future__ import annotations

import pytest

from tvm import relax, tir
from tvm.error import ScriptError
from tvm.ir import assert_structural_equal
from tvm.relax import ObjectStructInfo, TensorStructInfo, TupleStructInfo
from tvm.relax.script import proxies
from tvm.script import relax as R

pytestmark = pytest.mark.pure
n = tir.Var("n", "int64")


def test_strings_wait_for_their_names() -> None:
    proxy = R.Tensor(("n", "n * 2", 4), "float32")
    assert proxy.get_symbolic_vars() == {"n"}
    info = proxy.as_struct_info({"n": n})
    assert_structural_equal(info, TensorStructInfo((n, n * 2, 4), "float32"), map_free_vars=False)
    with pytest.raises(ScriptError, match="legal only in the parameters"):
        proxy.asobject()
    with pytest.raises(ScriptError, match="symbolic variable 'n' is not defined"):
        proxy.as_struct_info({})


def test_symbols_of_nested_infos() -> None:
    inner = R.Tuple(R.Shape(["a", "b"]), R.Prim(value="c"), R.Object)
    function = R.Callable((inner, R.Tensor(("d",))), R.Tensor(("e",)))
    assert inner.get_symbolic_vars() == {"a", "b", "c"}
    assert function.get_symbolic_vars() == {"a", "b", "c", "d"}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (R.Tensor, "R.Tensor"),
        (R.Tensor("int8", ndim=2), 'R.Tensor(dtype="int8", ndim=2)'),
        (R.Tensor([]), "R.Tensor(())"),
        (R.Tensor(relax.ShapeExpr([2, 3]), "int8"), 'R.Tensor((2, 3), dtype="int8")'),
        (R.Shape(ndim=2), "R.Shape(ndim=2)"),
        (R.Prim("int8"), 'R.Prim("int8")'),
        (R.Prim(value=3), "R.Prim(value=3)"),
        (R.Tuple([R.Object, R.Object]), "R.Tuple(R.Object, R.Object)"),
        (R.Callable(R.Object, R.Object), "R.Callable((R.Object,), R.Object, True)"),
        (R.Callable(ret=R.Object), "R.Callable"),
        (R.Callable(derive_func="f"), 'R.Callable(derive_func="f")'),
        (None, "R.Tuple"),
        (ObjectStructInfo(), "R.Object"),
    ],
)
def test_forms(given: object, text: str) -> None:
    assert str(proxies.as_struct_info(given)) == text


def test_what_is_no_struct_info() -> None:
    with pytest.raises(TypeError, match="Expected StructInfo but got int"):
        proxies.as_struct_info(3)
    with pytest.raises(ValueError, match="shape must be a list or tuple or an Expr"):
        R.Tensor(3)
    with pytest.raises(TypeError, match="either the dtype or the value"):
        R.Prim()
    assert isinstance(proxies.as_struct_info(proxies.TupleProxy()), TupleStructInfo)


def test_without_strings_it_is_a_struct_info_at_once() -> None:
    x = relax.Var("x", R.Tensor([n, 4], "float32"))
    assert_structural_equal(x.struct_info, TensorStructInfo((n, 4), "float32"))
    known = [R.Object(), R.Shape([n]), R.Tuple(R.Tensor, R.Prim("int8")), R.Callable((), R.Object)]
    for made in known:
        assert isinstance(made, relax.StructInfo)
    for waiting in (R.Tuple(R.Tensor(["n"])), R.Shape(["n"]), R.Tensor([2], vdevice="llvm")):
        assert isinstance(waiting, proxies.StructInfoProxy)
