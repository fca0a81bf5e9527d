"""Tensor intrinsics: registration and what both functions must look like."""

from __future__ import annotations

import pytest

import tvm
from tvm import tir
from tvm.script import tir as T
from tvm.tir import TensorIntrin
from tvm.tir.intrin_registry import INTRINSICS, register_own

pytestmark = pytest.mark.pure


@T.prim_func
def desc(a: T.handle, b: T.handle) -> None:
    A = T.match_buffer(a, (4,), "float32")
    B = T.match_buffer(b, (4,), "float32")
    with T.block("root"):
        T.reads(A[0:4])
        T.writes(B[0:4])
        for i in range(4):
            with T.block("copy"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi]


@T.prim_func
def impl(a: T.handle, b: T.handle) -> None:
    A = T.match_buffer(a, (4,), "float32", offset_factor=1)
    B = T.match_buffer(b, (4,), "float32", offset_factor=1)
    with T.block("root"):
        T.reads(A[0:4])
        T.writes(B[0:4])
        B[T.Ramp(0, 1, 4)] = A[T.Ramp(0, 1, 4)]


@pytest.fixture
def registered():
    TensorIntrin.register("test.copy4", desc, impl)
    yield "test.copy4"
    INTRINSICS.remove("test.copy4")


def test_register_and_get(registered: str) -> None:
    found = TensorIntrin.get(registered)
    assert found.desc is desc
    assert found.impl is impl
    with pytest.raises(ValueError, match=r"'test\.copy4' has already been registered"):
        TensorIntrin.register(registered, desc, impl)
    TensorIntrin.register(registered, desc, impl, override=True)


def test_missing() -> None:
    assert TensorIntrin.get("test.none", allow_missing=True) is None
    with pytest.raises(ValueError, match=r"TensorIntrin 'test\.none' is not registered"):
        TensorIntrin.get("test.none")


def test_what_is_refused() -> None:
    scalar = tir.PrimFunc([tir.Var("n", "int32")], tir.Evaluate(0))
    with pytest.raises(tvm.TVMError, match="parameter 'n' of desc is no buffer"):
        TensorIntrin(scalar, impl)
    bare = desc.with_body(tir.Evaluate(0))
    with pytest.raises(tvm.TVMError, match="the body of impl is a Evaluate"):
        TensorIntrin(desc, bare)
    with pytest.raises(TypeError, match="desc is a int; legal: PrimFunc"):
        TensorIntrin(3, impl)
    one = tir.PrimFunc(desc.params[:1], desc.body, None,
                       {desc.params[0]: desc.buffer_map[desc.params[0]]})  # fmt: skip
    with pytest.raises(tvm.TVMError, match="desc and impl take different parameters"):
        TensorIntrin(desc, one)


def test_those_that_come_with_the_compiler_are_made_when_asked_for() -> None:
    """Once each, so that what two callers get is the same."""
    calls = []

    def make(dtype: str) -> tuple[tir.PrimFunc, tir.PrimFunc]:
        calls.append(dtype)
        return desc, impl

    register_own("test.own", make, "float32")
    try:
        assert "test.own" in INTRINSICS
        assert not calls
        found = TensorIntrin.get("test.own")
        assert found is TensorIntrin.get("test.own")
        assert (found.desc, found.impl, calls) == (desc, impl, ["float32"])
    finally:
        INTRINSICS.remove("test.own")
