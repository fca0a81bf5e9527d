from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.tir.schedule.cases import chain, check, matmul, open_schedule, refuses
from tvm import te, tir
from tvm.script import tir as T
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
