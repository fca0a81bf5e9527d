"""The language that backends take: one program for each rule, and pipelines keep to it."""

from __future__ import annotations

import pytest

import tvm
from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis.verify_lowered import verify_lowered
from tvm.tir.buffer import decl_buffer
from tvm.tir.build import split_host_device_mods
from tvm.tir.function import PrimFunc
from tvm.tir.pipeline import (
    default_tir_pipeline,
    finalize_device_passes,
    finalize_host_passes,
)
from tvm.tir.transform import BindTarget

pytestmark = pytest.mark.pure

A = decl_buffer((8,), "float32", "A")
I, EXTENT = e.Var("i", "int32"), e.Var("n", "int32")
NOTHING = s.Evaluate(e.IntImm("int32", 0))


def store(value: e.PrimExpr, *indices: int) -> s.BufferStore:
    flat = decl_buffer((8,) * max(len(indices), 1), str(value.dtype), "B", data=A.data)
    return s.BufferStore(flat, value, [e.IntImm("int32", i) for i in indices or (0,)])


def loop(kind: s.ForKind) -> s.For:
    return s.For(I, 0, 8, kind, s.BufferStore(A, e.FloatImm("float32", 0.0), [I]))


def constant() -> s.Stmt:
    data = e.Var("data", A.data.type_annotation)
    return s.AllocateConst(data, "float32", [8], 3, NOTHING)


FAULTS = {
    "a BlockRealize": s.BlockRealize([], True, s.Block([], [], [], "root", NOTHING)),
    "buffer B with 2 indices": store(e.FloatImm("float32", 1.0), 1, 2),
    "variable i, which is not defined": s.BufferStore(A, e.FloatImm("float32", 0.0), [I]),
    "loop i of kind thread_binding": loop(s.ForKind.THREAD_BINDING),
    "memory T of a size that is not constant": s.Allocate(
        decl_buffer((1,), "float32", "T").data, "float32", [2 * EXTENT], True, NOTHING
    ),
    "parallel loop i": loop(s.ForKind.PARALLEL),
    "a compute scope": s.AttrStmt(e.IntImm("int32", 0), "compute_scope", "main", NOTHING),
    "a value of bfloat16": store(e.FloatImm("bfloat16", 1.0)),
    "a value of int128": store(e.Cast("int128", e.IntImm("int32", 1))),
    "a call of tir.tvm_call_packed": s.Evaluate(
        e.Call("int32", "tir.tvm_call_packed", [e.StringImm("f"), e.IntImm("int32", 1)])
    ),
    "a call of tir.tvm_call_packed_lowered": s.Evaluate(
        e.Call("int32", "tir.tvm_call_packed_lowered", [e.StringImm("f"), e.IntImm("int32", 1)])
    ),
    "a call of other": s.Evaluate(e.Call("int32", tvm.ir.GlobalVar("other"), [])),
    "constant data without data": constant(),
}


def module(body: s.Stmt, target: str | None = "llvm") -> IRModule:
    attrs = {} if target is None else {"target": Target(target)}
    return IRModule({"main": PrimFunc([A.data, EXTENT], body, attrs=attrs)})


@pytest.mark.parametrize("found", FAULTS)
def test_what_is_found_is_named_with_the_pass_that_replaces_it(found: str) -> None:
    with pytest.raises(TVMError) as caught:
        verify_lowered(module(FAULTS[found]))
    text = str(caught.value)
    assert f"found: {found}\n" in text
    assert "where: function main" in text
    assert "legal: " in text


def test_threads_are_those_of_kernels() -> None:
    for kind in (s.ForKind.SERIAL, s.ForKind.UNROLLED):
        verify_lowered(module(loop(kind)))
    verify_lowered(module(loop(s.ForKind.PARALLEL), "cuda"))
    axis = e.IterVar((0, 8), I, e.IterVar.ThreadIndex, "threadIdx.x")
    threads = s.AttrStmt(axis, "thread_extent", 8, store(e.FloatImm("float32", 0.0)))
    verify_lowered(module(threads, "cuda"))
    with pytest.raises(TVMError, match="threads in a function for llvm"):
        verify_lowered(module(threads))


def test_functions_without_target_or_with_buffers() -> None:
    with pytest.raises(TVMError, match="no attribute `target`"):
        verify_lowered(module(NOTHING, None))

    @T.prim_func
    def main(X: T.Buffer((8,), "float32")) -> None:
        X[0] = T.float32(1)

    with pytest.raises(TVMError, match="parameters that are still buffers: X"):
        verify_lowered(BindTarget("llvm")(IRModule({"main": main})))


@T.prim_func
def scaled(a: T.handle, b: T.handle, factor: T.bfloat16) -> None:
    n = T.int64()
    X = T.match_buffer(a, (n, 64), "bfloat16")
    Y = T.match_buffer(b, (n, 64), "bfloat16")
    for i in T.thread_binding(n, "blockIdx.x"):
        for j in T.thread_binding(64, "threadIdx.x"):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.exp(X[vi, vj]) * factor


@pytest.mark.parametrize("kind", ["cuda", "rocm", "opencl", "metal", "vulkan"])
def test_kernels_and_those_who_launch_them_are_of_the_language(kind: str) -> None:
    mod = BindTarget(Target(kind, "llvm"))(IRModule({"main": scaled}))
    host, devices = split_host_device_mods(default_tir_pipeline()(mod))
    verify_lowered(finalize_host_passes()(host))
    (kernels,) = devices.values()
    verify_lowered(finalize_device_passes()(kernels))


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_host_functions_are_of_the_language(target: str) -> None:
    @T.prim_func
    def main(X: T.Buffer((8, 16), "float16"), Y: T.Buffer((8,), "float32")) -> None:
        for i in T.parallel(8):
            for k in range(16):
                with T.block("Y"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        Y[vi] = T.float32(0)
                    Y[vi] = Y[vi] + T.cast(X[vi, vk], "float32")

    mod = default_tir_pipeline()(BindTarget(target)(IRModule({"main": main})))
    verify_lowered(finalize_host_passes()(mod))
