from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.tir.schedule.cases import chain, check, matmul, open_schedule, refuses
from tvm import tir
from tvm.script import tir as T
from tvm.tir.schedule import BlockRV


def test_parameter() -> None:
    func = matmul()
    sch = open_schedule(func)
    copy = sch.cache_read("C", 1, "local")
    assert isinstance(copy, BlockRV)
    text = sch.mod.script()
    assert 'B_local = T.alloc_buffer((16, 12), scope="local")' in text
    assert "A[v_i, v_k] * B_local[v_k, v_j]" in text
    check(sch, func)


def test_by_name_and_for_some_consumers() -> None:
    func = chain()
    sch = open_schedule(func)
    sch.cache_read("C", "B", "global", consumer_blocks=["C"])
    assert "C[v_i, v_j] = B_global[v_i, v_j] + T.float32(1.0)" in sch.mod.script()
    check(sch, func)


def test_result_of_another_block() -> None:
    func = chain()
    sch = open_schedule(func)
    sch.cache_read("D", 0, "shared")
    names = [sch.get(b).name_hint for b in sch.get_child_blocks(sch.get_block("root"))]
    assert names == ["B", "C", "C_shared", "D"]
    check(sch, func)


def test_refusals() -> None:
    sch = open_schedule(matmul())
    block = sch.get_block("C")
    refuses(sch, "there is no number 7", "cache_read", block, 7, "local")
    refuses(sch, "scope 'nowhere' is unknown", "cache_read", block, 0, "nowhere")


def test_unknown_buffer_name() -> None:
    sch = open_schedule(matmul())
    with pytest.raises(ValueError, match="does not read the buffer 'Z'"):
        sch.cache_read("C", "Z", "local")


@T.prim_func
def three_stages(
    P: T.Buffer((8,), "float32"), Q: T.Buffer((8,), "float32"), R: T.Buffer((8,), "float32")
):
    U = T.alloc_buffer((8,))
    V = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("u"):
            vi = T.axis.spatial(8, i)
            U[vi] = P[vi] + T.float32(1)
    for i in range(8):
        with T.block("w"):
            vi = T.axis.spatial(8, i)
            V[vi] = P[vi] * T.float32(2)
    for i in range(8):
        with T.block("r"):
            vi = T.axis.spatial(8, i)
            R[vi] = U[vi] + V[vi]
    for i in range(8):
        with T.block("q"):
            vi = T.axis.spatial(8, i)
            Q[vi] = U[vi] - V[vi]


def order(sch: tir.Schedule) -> list[str]:
    return [sch.get(b).name_hint for b in sch.get_child_blocks(sch.get_block("root"))]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (lambda s: s.cache_read("r", 0, "local"), ["u", "w", "U_local", "r", "q"]),
        (lambda s: s.cache_read("q", 0, "local", ["q"]), ["u", "w", "r", "U_local", "q"]),
        (lambda s: s.cache_read("w", 0, "local"), ["P_local", "u", "w", "r", "q"]),
        (lambda s: s.cache_write("u", 0, "local"), ["u", "w", "U_local", "r", "q"]),
        (lambda s: s.cache_write("u", 0, "local", ["r"]), ["u", "w", "r", "U_local", "q"]),
        (lambda s: s.cache_write("r", 0, "local"), ["u", "w", "r", "q", "R_local"]),
        (lambda s: s.reindex("w", ("read", 0)), ["u", "P_reindex_reindex", "w", "r", "q"]),
        (lambda s: s.reindex("u", ("write", 0)), ["u", "U_reindex", "w", "r", "q"]),
        (
            lambda s: s.reindex_cache_read("w", 0, "local", lambda i: (i,)),
            ["P_local", "u", "w", "r", "q"],
        ),
        (
            lambda s: s.reindex_cache_write("u", 0, "local", lambda i: (i,)),
            ["u", "w", "U_local", "r", "q"],
        ),
    ],
)
def test_where_copies_stand(step: Callable[[tir.Schedule], object], expected: list[str]) -> None:
    sch = open_schedule(three_stages)
    step(sch)
    assert order(sch) == expected
    check(sch, three_stages)


def test_a_parameter_that_is_overwritten_later() -> None:
    @T.prim_func
    def before(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("b"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * T.float32(3)
        for i in range(8):
            with T.block("a"):
                vi = T.axis.spatial(8, i)
                A[vi] = B[vi]

    sch = open_schedule(before)
    sch.cache_read("b", 0, "local")
    assert order(sch) == ["A_local", "b", "a"]
    check(sch, before)


def test_what_only_its_writer_reads_is_copied_last() -> None:
    @T.prim_func
    def before(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("a"):
                vi = T.axis.spatial(8, i)
                A[vi] = A[vi] * T.float32(3)
        for i in range(8):
            with T.block("b"):
                vi = T.axis.spatial(8, i)
                B[vi] = T.float32(1)

    sch = open_schedule(before)
    sch.cache_read("a", 0, "local")
    assert order(sch) == ["a", "b", "A_local"]
    check(sch, before)


def test_copies_stand_within_constants() -> None:
    @T.prim_func
    def before(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        with T.block("root"):
            data = T.allocate_const([1.0, 2.0, 3.0, 4.0], "float32", [4])
            K = T.decl_buffer((4,), data=data)
            for i in range(4):
                with T.block("b"):
                    vi = T.axis.spatial(4, i)
                    B[vi] = A[vi] + K[vi]

    sch = open_schedule(before)
    sch.cache_read("b", 0, "local")
    sch.cache_write("b", 0, "local")
    assert isinstance(sch.get(sch.get_block("root")).body, tir.AllocateConst)
    assert order(sch) == ["A_local", "b", "B_local"]
    check(sch, before)
