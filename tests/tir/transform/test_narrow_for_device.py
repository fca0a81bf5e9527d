"""Devices without int64 get kernels whose sizes and places are int32."""

from __future__ import annotations

import pytest

import tvm
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir.functor import walk
from tvm.tir.transform import BindTarget, NarrowForDevice

pytestmark = pytest.mark.pure
WEBGPU = Target("webgpu", host="llvm")


@T.prim_func
def taken(a: T.handle, p: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (T.int64(100),), "float32")
    P = T.match_buffer(p, (n,), "int32")
    B = T.match_buffer(b, (n,), "float32")
    for i in T.thread_binding(n, thread="blockIdx.x"):
        B[i] = A[T.Cast("int64", P[i]) + T.int64(1)]


@T.prim_func
def wide_sum(p: T.handle, b: T.handle):
    n = T.int64()
    P = T.match_buffer(p, (n,), "int32")
    B = T.match_buffer(b, (n,), "float32")
    for i in T.thread_binding(n, thread="blockIdx.x"):
        B[i] = T.Cast("float32", T.Cast("int64", P[i]) * T.int64(1000000))


@T.prim_func
def wide_array(A: T.Buffer((T.int64(4),), "int64")):
    for i in T.thread_binding(T.int64(4), thread="blockIdx.x"):
        A[i] = A[i] + T.int64(1)


def narrowed(func: tvm.tir.PrimFunc, target: Target) -> tvm.tir.PrimFunc:
    mod = BindTarget(target)(tvm.IRModule({"main": func.with_attr("global_symbol", "main")}))
    return NarrowForDevice()(mod)["main"]


def types(func: tvm.tir.PrimFunc) -> set[str]:
    return {str(node.dtype) for node in walk(func.body) if hasattr(node, "dtype")}


def test_sizes_and_places() -> None:
    func = narrowed(taken, WEBGPU)
    assert types(func) == {"float32", "int32"}
    shapes = [extent for buffer in func.buffer_map.values() for extent in buffer.shape]
    assert {str(extent.dtype) for extent in shapes} == {"int32"}


def test_other_targets_keep_their_integers() -> None:
    assert "int64" in types(narrowed(taken, Target("cuda", host="llvm")))


@pytest.mark.parametrize("func", [wide_sum, wide_array])
def test_wide_data_stays_and_is_computed_in_pairs_of_words(func: tvm.tir.PrimFunc) -> None:
    assert "int64" in types(narrowed(func, WEBGPU))
    text = tvm.compile(func, WEBGPU).imports[0].inspect_source()
    assert "vec2<u32>" in text
    assert "i64" not in text


def test_programs_of_symbolic_sizes_are_built() -> None:
    text = tvm.compile(taken, WEBGPU).imports[0].inspect_source()
    assert "array<f32>" in text
    assert "i64" not in text
