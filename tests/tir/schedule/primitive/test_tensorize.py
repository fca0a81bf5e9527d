from __future__ import annotations

import importlib
from collections.abc import Iterator

import pytest

from tests.tir.schedule.cases import (
    chain,
    check,
    elementwise,
    matmul,
    open_schedule,
    refuses,
)
from tvm import te, tir
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir import TensorIntrin
from tvm.tir.intrin_registry import INTRINSICS
from tvm.tir.schedule import Schedule


@T.prim_func
def desc(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (4, 4), "float32", offset_factor=1)
    B = T.match_buffer(b, (4, 4), "float32", offset_factor=1)
    C = T.match_buffer(c, (4, 4), "float32", offset_factor=1)
    with T.block("root"):
        T.reads(C[0:4, 0:4], A[0:4, 0:4], B[0:4, 0:4])
        T.writes(C[0:4, 0:4])
        for i, j, k in T.grid(4, 4, 4):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def impl(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (4, 4), "float32", offset_factor=1, strides=[T.int32(), T.int32()])
    B = T.match_buffer(b, (4, 4), "float32", offset_factor=1, strides=[T.int32(), T.int32()])
    C = T.match_buffer(c, (4, 4), "float32", offset_factor=1, strides=[T.int32(), T.int32()])
    with T.block("root"):
        T.reads(C[0:4, 0:4], A[0:4, 0:4], B[0:4, 0:4])
        T.writes(C[0:4, 0:4])
        for k, i, j in T.grid(4, 4, 4):
            C[i, j] += A[i, k] * B[k, j]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    TensorIntrin.register("test.mma4", desc, impl)
    yield
    INTRINSICS.remove("test.mma4")


def tiled(func: tir.PrimFunc, factor: int = 4) -> tuple[Schedule, list, list]:
    """Outer and inner loops of the last three dimensions of block C."""
    sch = open_schedule(func)
    pairs = [sch.split(loop, factors=[None, factor]) for loop in sch.get_loops("C")[-3:]]
    outer, inner = [p[0] for p in pairs], [p[1] for p in pairs]
    sch.reorder(*outer, *inner)
    return sch, outer, inner


def test_loop() -> None:
    func = matmul()
    sch, outer, inner = tiled(func)
    sch.decompose_reduction("C", outer[2])
    sch.tensorize(inner[0], "test.mma4")
    text = sch.mod.script()
    assert "T.match_buffer(C[v_i_o * 4:v_i_o * 4 + 4, v_j_o * 4:v_j_o * 4 + 4]" in text
    assert "for k, i, j in T.grid(4, 4, 4):" in text
    check(sch, func)


def test_block_keeps_its_init() -> None:
    func = matmul()
    sch, _, inner = tiled(func)
    block = sch.blockize(inner[0])
    sch.tensorize(block, "test.mma4")
    assert sch.get(block).init is not None
    assert 'sch.tensorize(block_or_loop=' in str(sch.trace)
    check(sch, func)


def test_leading_dimensions() -> None:
    a = te.placeholder((2, 8, 8), name="A")
    b = te.placeholder((2, 8, 8), name="B")
    r = te.reduce_axis((0, 8), name="k")
    c = te.compute(
        (2, 8, 8), lambda n, i, j: te.sum(a[n, i, r] * b[n, r, j], axis=r), name="C"
    )
    func = te.create_prim_func([a, b, c])
    sch, outer, inner = tiled(func)
    sch.decompose_reduction("C", outer[2])
    sch.tensorize(inner[0], "test.mma4")
    check(sch, func)


def test_other_extents() -> None:
    sch, outer, inner = tiled(matmul(), 2)
    sch.decompose_reduction("C", outer[2])
    message = refuses(
        sch, "block 'C_update_o' does not compute what the intrinsic does: loop 'i_1' runs 2 times "
        "(serial), loop 'i' of desc 4 times (serial)", "tensorize", inner[0], "test.mma4",
    )  # fmt: skip
    assert "a block whose loops, bindings and stores are those of the intrinsic's desc" in message


def test_other_value() -> None:
    a = te.placeholder((8, 8), name="A")
    b = te.placeholder((8, 8), name="B")
    r = te.reduce_axis((0, 8), name="k")
    c = te.compute((8, 8), lambda i, j: te.sum(a[i, r] + b[r, j], axis=r), name="C")
    sch, _, inner = tiled(te.create_prim_func([a, b, c]))
    refuses(sch, "is stored, by desc C[vi, vj] + A[vi, vk] * B[vk, vj]", "tensorize", inner[0],
            "test.mma4")  # fmt: skip


def test_transposed_access() -> None:
    a = te.placeholder((8, 8), name="A")
    b = te.placeholder((8, 8), name="B")
    r = te.reduce_axis((0, 8), name="k")
    c = te.compute((8, 8), lambda i, j: te.sum(a[i, r] * b[j, r], axis=r), name="C")
    sch, _, inner = tiled(te.create_prim_func([a, b, c]))
    refuses(sch, "by desc B[vk, vj]", "tensorize", inner[0], "test.mma4")


def test_unknown_intrinsic() -> None:
    sch = open_schedule(chain())
    loop = sch.get_loops("B")[0]
    refuses(sch, "'test.mma5' is not registered", "tensorize", loop, "test.mma5")
    with pytest.raises(ValueError, match="is not registered"):
        sch.tensorize(loop, "test.mma5")


@T.prim_func
def scalable_desc(a: T.handle, b: T.handle) -> None:
    A = T.match_buffer(a, (4 * T.vscale(),), "float32", offset_factor=1)
    B = T.match_buffer(b, (4 * T.vscale(),), "float32", offset_factor=1)
    with T.block("root"):
        T.reads(A[0 : 4 * T.vscale()])
        T.writes(B[0 : 4 * T.vscale()])
        for i in range(4 * T.vscale()):
            with T.block("b"):
                vi = T.axis.spatial(4 * T.vscale(), i)
                B[vi] = A[vi] + T.float32(1)


@T.prim_func
def scalable_impl(a: T.handle, b: T.handle) -> None:
    A = T.match_buffer(a, (4 * T.vscale(),), "float32", offset_factor=1)
    B = T.match_buffer(b, (4 * T.vscale(),), "float32", offset_factor=1)
    with T.block("root"):
        T.reads(A[0 : 4 * T.vscale()])
        T.writes(B[0 : 4 * T.vscale()])
        B[T.ramp(0, 1, 4 * T.vscale())] = A[T.ramp(0, 1, 4 * T.vscale())] + T.Broadcast(
            T.float32(1), 4 * T.vscale()
        )


def test_scalable_vectors() -> None:
    with Target("llvm -mtriple=aarch64-linux-gnu -mattr=+v8.2a,+sve"):
        TensorIntrin.register("test.scalable", scalable_desc, scalable_impl, override=True)
        sch = open_schedule(elementwise(128))
        (loop,) = sch.get_loops("B")
        _, inner = sch.split(loop, factors=[None, 4 * T.vscale()], disable_predication=True)
        sch.tensorize(inner, "test.scalable")
        text = sch.mod.script()
    INTRINSICS.remove("test.scalable")
    assert "T.match_buffer(A[v_i0_o * T.vscale() * 4:" in text
    assert "B_1[0:T.vscale() * 4] = A_1[0:T.vscale() * 4] + T.Broadcast" in text


def test_four_bytes_at_a_time() -> None:
    a = te.placeholder((16, 64), "int8", name="X")
    b = te.placeholder((16, 64), "int8", name="W")
    k = te.reduce_axis((0, 64), name="k")
    product = te.compute(
        (16, 16),
        lambda i, j: te.sum(a[i, k].astype("int32") * b[j, k].astype("int32"), axis=k),
        name="C",
    )
    importlib.import_module("tvm.tir.tensor_intrin.dot_product_common")  # makes them known
    sch = open_schedule(te.create_prim_func([a, b, product]))
    block = sch.get_block("C")
    outer, inner = sch.split(sch.get_loops(block)[2], factors=[None, 4])
    sch.cache_read(block, 0, "shared")
    sch.cache_read(block, 1, "shared")
    sch.cache_write(block, 0, "local")
    sch.decompose_reduction(block, outer)
    sch.tensorize(inner, "dp4a_s8s8s32")
    assert 'T.call_pure_extern("int32", "__dp4a", A[0:4], B[0:4], 0)' in sch.mod.script()


@T.prim_func
def bits_desc(a: T.handle, b: T.handle) -> None:
    A = T.match_buffer(a, (1,), "int8", offset_factor=1)
    B = T.match_buffer(b, (8,), "int8", offset_factor=1)
    with T.block("root"):
        T.reads(A[0:1])
        T.writes(B[0:8])
        for i in range(8):
            with T.block("bit"):
                vi = T.axis.remap("S", [i])
                B[vi] = T.bitwise_and(T.shift_right(A[vi // 8], T.Cast("int8", vi % 8)), T.int8(1))


@T.prim_func
def bits_impl(a: T.handle, b: T.handle) -> None:
    A = T.match_buffer(a, (1,), "int8", offset_factor=1)
    B = T.match_buffer(b, (8,), "int8", offset_factor=1)
    with T.block("root"):
        T.reads(A[0:1])
        T.writes(B[0:8])
        T.evaluate(T.call_extern("int32", "bits", A.data, B.data))


def test_numbers_made_of_indices_are_compared_by_what_they_are() -> None:
    """`vi % 8` of the description is the block's variable, whose range is no longer."""
    TensorIntrin.register("tests.bits", bits_desc, bits_impl)
    A = te.placeholder((4, 32), "int8", name="A")
    one = tir.const(1, "int8")
    B = te.compute(
        (4, 256), lambda i, j: (A[i, j // 8] >> (j % 8).astype("int8")) & one, name="B"
    )
    sch = open_schedule(te.create_prim_func([A, B]))
    _, lanes = sch.split(sch.get_loops(sch.get_block("B"))[1], [None, 8])
    try:
        sch.tensorize(lanes, "tests.bits")
    finally:
        INTRINSICS.remove("tests.bits")
    assert 'T.call_extern("int32", "bits"' in sch.mod.script()
