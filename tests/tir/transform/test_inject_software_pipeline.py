from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.function import PrimFunc
from tvm.tir.interp import run as interpret
from tvm.tir.transform import InjectSoftwarePipeline

pytestmark = pytest.mark.pure


class TestTwoStages(PassTest):
    run = InjectSoftwarePipeline()

    @T.prim_func
    def Before(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")) -> None:
        for tx in T.thread_binding(16, thread="threadIdx.x"):
            for i in T.serial(
                16, annotations={
                    "software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1],
                    "software_pipeline_async_stages": [0], "mine": 1,
                },
            ):  # fmt: skip
                with T.block():
                    T.reads(A[tx, i])
                    T.writes(C[tx, i])
                    B = T.alloc_buffer((16, 1), scope="shared")
                    with T.block():
                        T.reads(A[tx, i])
                        T.writes(B[tx, 0])
                        B[tx, 0] = A[tx, i] * T.float32(2)
                    with T.block():
                        T.reads(B[tx, 0])
                        T.writes(C[tx, i])
                        C[tx, i] = B[tx, 0] + T.float32(1)

    @T.prim_func
    def Expected(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")) -> None:
        for tx in T.thread_binding(16, thread="threadIdx.x"):
            with T.block():
                T.reads(A[tx, 0:16])
                T.writes(C[tx, 0:16])
                B = T.alloc_buffer((2, 16, 1), scope="shared")
                with T.block():
                    T.reads(A[tx, 0])
                    T.writes(B[T.FloorMod(0, 2), tx, 0])
                    with T.attr(0, "async_commit_queue_scope", 0):
                        with T.attr(0, "async_scope", 1):
                            B[T.FloorMod(0, 2), tx, 0] = A[tx, 0] * T.float32(2)
                with T.block():
                    T.reads(A[tx, 1:16], B[0:2, tx, 0])
                    T.writes(B[0:2, tx, 0], C[tx, 0:15])
                    for i in T.serial(15, annotations={"mine": 1}):
                        with T.block():
                            T.where(i + 1 < 16)
                            T.reads(A[tx, i + 1])
                            T.writes(B[(i + 1) % 2, tx, 0])
                            with T.attr(0, "async_commit_queue_scope", 0):
                                with T.attr(0, "async_scope", 1):
                                    B[(i + 1) % 2, tx, 0] = A[tx, i + 1] * T.float32(2)
                        with T.block():
                            T.where(i + 1 - 1 < 16)
                            T.reads(B[(i - 1 + 1) % 2, tx, 0])
                            T.writes(C[tx, i - 1 + 1])
                            with T.attr(0, "async_wait_queue_scope", 0):
                                with T.attr(0, "async_wait_inflight_count", 1):
                                    C[tx, i - 1 + 1] = B[(i - 1 + 1) % 2, tx, 0] + T.float32(1)
                with T.block():
                    T.reads(B[T.FloorMod(15, 2), tx, 0])
                    T.writes(C[tx, 15])
                    with T.attr(0, "async_wait_queue_scope", 0):
                        with T.attr(0, "async_wait_inflight_count", 0):
                            C[tx, 15] = B[T.FloorMod(15, 2), tx, 0] + T.float32(1)


class TestOneIteration(PassTest):
    run = InjectSoftwarePipeline()

    @T.prim_func
    def Before(A: T.Buffer((2, 1), "float32"), C: T.Buffer((2, 1), "float32")) -> None:
        for u in range(2):
            for i in T.serial(
                1,
                annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]},
            ):
                with T.block():
                    T.reads(A[u, i])
                    T.writes(C[u, i])
                    B = T.alloc_buffer((1,))
                    with T.block():
                        B[0] = A[u, i] * T.float32(2)
                    with T.block():
                        C[u, i] = B[0] + T.float32(1)

    @T.prim_func
    def Expected(A: T.Buffer((2, 1), "float32"), C: T.Buffer((2, 1), "float32")) -> None:
        for u in range(2):
            with T.block():
                T.reads(A[u, 0])
                T.writes(C[u, 0])
                B = T.alloc_buffer((2, 1))
                with T.block():
                    T.reads(A[u, 0])
                    T.writes(B[T.FloorMod(0, 2), 0])
                    B[T.FloorMod(0, 2), 0] = A[u, 0] * T.float32(2)
                with T.block():
                    T.reads()
                    T.writes()
                    T.evaluate(0)
                with T.block():
                    T.reads(B[T.FloorMod(0, 2), 0])
                    T.writes(C[u, 0])
                    C[u, 0] = B[T.FloorMod(0, 2), 0] + T.float32(1)


def pipelined(func: PrimFunc) -> PrimFunc:
    return InjectSoftwarePipeline()(IRModule({"main": func}))["main"]


def chain(
    stages: Sequence[int], orders: Sequence[int], behind: Sequence[int] = (), extent: int = 16
) -> PrimFunc:
    """D = (A * 2 + 3) * E, in three statements."""
    notes = {"software_pipeline_stage": list(stages), "software_pipeline_order": list(orders)}
    if behind:
        notes["software_pipeline_async_stages"] = list(behind)

    @T.prim_func
    def made(
        A: T.Buffer((extent,), "float32"), E: T.Buffer((extent,), "float32"),
        D: T.Buffer((extent,), "float32"),
    ) -> None:  # fmt: skip
        for i in T.serial(extent, annotations=notes):
            with T.block():
                B = T.alloc_buffer((1,))
                C = T.alloc_buffer((1,))
                with T.block():
                    B[0] = A[i] * T.float32(2)
                with T.block():
                    C[0] = B[0] + T.float32(3)
                with T.block():
                    D[i] = C[0] * E[i]

    return made


@pytest.mark.parametrize("extent", [16, 3, 2, 1])
@pytest.mark.parametrize(
    ("stages", "orders"),
    [
        ((0, 0, 0), (0, 1, 2)), ((0, 0, 1), (0, 1, 2)), ((0, 1, 2), (0, 1, 2)),
        ((0, 1, 2), (2, 1, 0)), ((0, 1, 1), (2, 0, 1)), ((0, 3, 4), (1, 2, 0)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("behind", [(), (0,)])
def test_meaning_is_kept(
    stages: tuple[int, ...], orders: tuple[int, ...], behind: tuple[int, ...], extent: int
) -> None:
    a, e = np.random.default_rng(0).standard_normal((2, extent)).astype("float32")
    d = np.zeros(extent, "float32")
    interpret(pipelined(chain(stages, orders, behind, extent)), a, e, d)
    np.testing.assert_allclose(d, (a * 2 + 3) * e, rtol=1e-6)


def test_versions() -> None:
    text = pipelined(chain((0, 1, 2), (0, 1, 2))).script()
    assert "B = T.alloc_buffer((2, 1))" in text
    # each reader runs before the writer of the next value
    text = pipelined(chain((0, 1, 2), (2, 1, 0))).script()
    assert "B = T.alloc_buffer((1,))" in text
    text = pipelined(chain((0, 3, 4), (1, 2, 0))).script()
    assert "B = T.alloc_buffer((4, 1))" in text
    # only two become one: longer pipelines keep all
    text = pipelined(chain((0, 3, 4), (2, 1, 0))).script()
    assert "B = T.alloc_buffer((4, 1))" in text
    assert "C = T.alloc_buffer((1,))" in text


def test_readers_wait_for_what_they_read() -> None:
    text = pipelined(chain((0, 3, 3), (0, 1, 2), (0,))).script()
    assert 'T.attr(0, "async_wait_inflight_count", 3)' in text
    assert 'T.attr(0, "async_wait_inflight_count", 2)' not in text


def test_symbolic_extent() -> None:
    notes = {"software_pipeline_stage": [0, 2], "software_pipeline_order": [0, 1]}

    @T.prim_func
    def any_size(a: T.handle, c: T.handle, n: T.int32) -> None:
        A = T.match_buffer(a, (n,))
        C = T.match_buffer(c, (n,))
        for i in T.serial(n, annotations=notes):
            with T.block():
                B = T.alloc_buffer((1,))
                with T.block():
                    B[0] = A[i] * T.float32(2)
                with T.block():
                    C[i] = B[0] + T.float32(1)

    for size in (1, 2, 3, 9):
        a, c = np.arange(size, dtype="float32"), np.zeros(size, "float32")
        interpret(pipelined(any_size), a, c, size)
        np.testing.assert_array_equal(c, a * 2 + 1)


def test_nested_pipelines() -> None:
    notes = {"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}
    # the three loops of the inner one count one by one
    outer = {"software_pipeline_stage": [0, 1, 1, 1], "software_pipeline_order": [0, 1, 2, 3]}

    @T.prim_func
    def nested(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")) -> None:
        for i in T.serial(8, annotations=outer):
            with T.block():
                S = T.alloc_buffer((8,), scope="shared")
                with T.block():
                    for j in range(8):
                        S[j] = A[i, j]
                for j in T.serial(8, annotations=notes):
                    with T.block():
                        L = T.alloc_buffer((1,), scope="local")
                        with T.block():
                            L[0] = S[j]
                        with T.block():
                            C[i, j] = L[0] + T.float32(1)

    a, c = np.random.default_rng(0).standard_normal((2, 8, 8)).astype("float32")
    made = pipelined(nested)
    interpret(made, a, c)
    np.testing.assert_array_equal(c, a + 1)
    assert "S = T.alloc_buffer((2, 8), scope=\"shared\")" in made.script()


def test_double_buffers() -> None:
    notes = {"software_pipeline_stage": [0, 0], "software_pipeline_order": [0, 1]}

    @T.prim_func
    def doubled(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")) -> None:
        for i in T.serial(8, annotations=notes):
            with T.block():
                B = T.alloc_buffer((1,))
                with T.block():
                    T.block_attr({"double_buffer_scope": 0})
                    B[0] = A[i]
                with T.block():
                    C[i] = B[0]

    text = pipelined(doubled).script()
    assert "B = T.alloc_buffer((2, 1))" in text
    assert 'T.block_attr({"double_buffer_scope": 0})' in text


@pytest.mark.parametrize(
    ("stages", "orders", "text"),
    [
        ((0, 1, 2), (0, 0, 1), "each statement in a position of its own"),
        ((0, 1), (0, 1), "for 3 statements"),
        ((1, 0, 0), (0, 1, 2), "stage 1 that one of stage 0 needs"),
        ((0, 0, 0), (1, 0, 2), "in the other order"),
    ],
)
def test_refusals(stages: tuple[int, ...], orders: tuple[int, ...], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        pipelined(chain(stages, orders))


def test_both_annotations_are_needed() -> None:
    @T.prim_func
    def half(A: T.Buffer((8,), "float32")) -> None:
        for i in T.serial(8, annotations={"software_pipeline_stage": [0, 1]}):
            with T.block():
                A[i] = T.float32(0)
                A[i] = T.float32(1)

    with pytest.raises(ValueError, match="no software_pipeline_order"):
        pipelined(half)
