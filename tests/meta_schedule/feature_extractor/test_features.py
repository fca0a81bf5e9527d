"""Features of programs whose loops and buffers can be counted by hand."""

from __future__ import annotations

from math import log2
from typing import Any

import numpy as np
import pytest

from tests.meta_schedule.workloads import LLVM, TURING, WORKLOADS, matmul, samples
from tvm import meta_schedule as ms
from tvm.error import TVMError
from tvm.meta_schedule import feature_extractor as F
from tvm.meta_schedule.search_strategy import MeasureCandidate
from tvm.meta_schedule.tune_context import TuneContext
from tvm.runtime import Tensor, tensor
from tvm.script import tir as T
from tvm.tir.buffer import decl_buffer
from tvm.tir.expr import BufferLoad, Var
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import Schedule
from tvm.tir.stmt import Block, BlockRealize, BufferStore, For, ForKind, Stmt

pytestmark = pytest.mark.pure


def extract(sch: Schedule, target: str = LLVM, **options: Any) -> np.ndarray:
    ctx = TuneContext(sch.mod, target=target)
    (found,) = F.PerStoreFeature(**options).extract_from(ctx, [MeasureCandidate(sch, [])])
    return found.numpy()


def tiled() -> Schedule:
    """512 ** 3 iterations: 32 x 64 parallel ones, 512 unrolled, 8 lanes, 16 serial ones."""
    sch = Schedule(matmul(512, 512, 512))
    i, j, k = sch.get_loops("C")
    i_o, i_i = sch.split(i, factors=[None, 16])
    j_o, j_i = sch.split(j, factors=[None, 8])
    sch.reorder(i_o, j_o, k, j_i, i_i)
    sch.vectorize(j_i)
    sch.parallel(i_o)
    sch.parallel(j_o)
    sch.unroll(k)
    return sch


def logs(*numbers: float) -> list[float]:
    return [log2(x + 1) for x in numbers]


N = 2**27  # iterations


def test_matmul_on_a_cpu() -> None:
    (f,) = extract(tiled())
    assert f.shape == (164,)
    expected = logs(0, N, N, 0, 0, 0, 0, 0, 4 * N, 4 * N, 0, 0, 0, 0, 0, 0)
    np.testing.assert_allclose(f[:16], expected, rtol=1e-5)
    nowhere = [0.0] * 7
    np.testing.assert_allclose(f[16:27], [*logs(1, 8, 8), *nowhere, 1.0])
    np.testing.assert_allclose(f[27:38], [*logs(1, 512, 512), *nowhere, 1.0])
    np.testing.assert_allclose(f[38:49], [*logs(2, 2048, 64), *nowhere, 1.0])
    np.testing.assert_allclose(f[49:57], [0.0, *[1.0] * 7])
    np.testing.assert_allclose(f[157:], logs(2**20, 2**18, 1, N, N, 5, 0))


def buffer(kind: int, lines: float, reuse: list[float], stride: float) -> list[float]:
    sizes = [4 * N, 2**20, lines, 2**14]
    one_hot = [float(kind == k) for k in range(3)]
    divided = [size / reuse[2] for size in sizes]
    return [*one_hot, *logs(*sizes), 1.0, 0.0, 0.0, *logs(*reuse, *divided, stride)]


def test_how_buffers_are_gone_through() -> None:
    (f,) = extract(tiled())
    # A again in the loop of 8, C in that of 512, B in the innermost one
    np.testing.assert_allclose(f[57:75], buffer(0, N, [16, 132, 8], 512), rtol=1e-6)
    np.testing.assert_allclose(f[75:93], buffer(2, N, [128, 608, 512], 512), rtol=1e-6)
    np.testing.assert_allclose(f[93:111], buffer(0, N / 256, [1, 12, 16], 0), rtol=1e-6)
    assert not f[111:147].any()


def test_work_for_bytes() -> None:
    (f,) = extract(Schedule(matmul(128, 128, 128)))
    inner, whole = 2**15 / (4 * (128 + 128**2 + 128)), 2**22 / (12 * 128**2)
    step = (whole - inner) / (2**22 - 2**15)  # all samples lie within the outermost loop
    points = [2**22 * (i + 1) / 10 for i in range(10)]
    np.testing.assert_allclose(f[147:157], logs(*[inner + step * (p - 2**15) for p in points]))
    (f,) = extract(tiled())
    assert f[156] == pytest.approx(log2(2 * N / (3 * 2**20) + 1))
    assert (np.diff(f[147:157]) > 0).all()


@pytest.mark.parametrize(
    ("index", "extents", "unique", "stride"),
    [
        (lambda f, g: f // 4 * 32 + g, (64, 32), 512, 1),
        (lambda f, g: f % 4 * 32 + g, (4, 32), 128, 1),  # within one period
        (lambda f, g: f % 4 * 32 + g, (64, 32), 32, 1),
        (lambda f, g: f % 4 * 32 + g % 4, (4, 32), 97, 1),
        (lambda f, g: (f * 32 + g) % 64, (4, 32), 32, 1),
        (lambda f, g: (f + g) % 8, (8, 4), 1, 1),
        (lambda f, g: g % 4 * 8 + f, (4, 32), 4, 8),
        (lambda f, g: f + g * 3 // 4 * 8, (1, 64), 377, 8),
        (lambda f, g: g // 4 * 8 + g * 3 + f, (1, 64), 310, 3),
    ],
)
def test_indices_that_wrap(index: Any, extents: tuple[int, int], unique: int, stride: int) -> None:
    A, B = decl_buffer((4096,), name="A"), decl_buffer((1024, 1024), name="B")
    f, g = Var("f", "int32"), Var("g", "int32")
    body: Stmt = BufferStore(B, BufferLoad(A, [index(f, g)]) + 1.0, [f, 0])
    for var, extent in ((g, extents[1]), (f, extents[0])):
        body = For(var, 0, extent, ForKind.SERIAL, body)
    root = BlockRealize([], True, Block([], [], [], "root", body))
    handles = [Var("a", "handle"), Var("b", "handle")]
    func = PrimFunc(handles, root, buffer_map=dict(zip(handles, (A, B))))
    (row,) = extract(Schedule(func.with_attr("global_symbol", "main")))
    read = next(part for part in (row[57:75], row[75:93]) if part[0] == 1.0)
    np.testing.assert_allclose(read[[4, 17]], logs(4 * unique, stride))


def test_threads_of_a_gpu() -> None:
    sch = Schedule(matmul(64, 32, 16))
    i, j, k = sch.get_loops("C")
    j_o, j_i = sch.split(j, [4, 8])
    for loop, tag in ((i, "blockIdx.x"), (j_o, "vthread.x"), (j_i, "threadIdx.x")):
        sch.bind(loop, tag)
    sch.annotate(k, "pragma_auto_unroll_max_step", 64)
    (f,) = extract(sch, TURING)
    np.testing.assert_allclose(f[49:57], [1.0, *logs(64, 1, 1, 8, 1, 1, 4)])
    assert f[-1] == pytest.approx(log2(65))


def test_a_row_for_each_buffer() -> None:
    sch = Schedule(matmul(16, 16, 16, relu=True))
    rows = extract(sch)
    assert rows.shape == (2, 164)
    assert rows[0, 0] == 0.0  # no multiply-add of its own
    assert rows[1, 4] == pytest.approx(log2(257))  # the maximum with zero


def test_serial_reuse() -> None:
    @T.prim_func
    def two(
        A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")
    ) -> None:
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] + T.float32(1)
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                C[vi] = B[vi] * T.float32(2)

    rows = extract(Schedule(two))
    kinds = [list(rows[1, start + 7 : start + 10]) for start in (57, 75)]
    assert sorted(kinds) == [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]


def test_what_only_blurs_features_is_left_out() -> None:
    @T.prim_func
    def single(A: T.Buffer((1, 8), "float32"), B: T.Buffer((1, 8), "float32")) -> None:
        for i, j in T.grid(1, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = (
                    T.Select(vj < 4, A[vi, vj], T.float32(0))
                    * T.Select(vj < 2, T.float32(2), T.float32(3))
                )  # fmt: skip

    (f,) = extract(Schedule(single))
    assert f[-2] == pytest.approx(1.0)  # one loop
    assert f[15] == pytest.approx(log2(9))  # one choice, by a comparison that is no float
    assert f[4] == 0.0
    assert f[11] == pytest.approx(log2(9))


def test_loops_that_never_run_touch_nothing() -> None:
    @T.prim_func
    def never(A: T.Buffer((1,), "float32")) -> None:
        for j in range(0, -1):
            A[j] = A[j] + T.float32(1)

    (f,) = extract(Schedule(never))
    assert f[57 + 4] == 0.0  # bytes of different elements
    assert not f[147:157].any()


def test_a_store_outside_of_loops() -> None:
    @T.prim_func
    def one(A: T.Buffer((1,), "float32")) -> None:
        with T.block("A"):
            A[0] = A[0] + T.float32(1)

    (f,) = extract(Schedule(one))
    np.testing.assert_allclose(f[60:64], logs(4, 1, 1, 1))


def test_lengths() -> None:
    assert F.PerStoreFeature().feature_vector_length == 164
    assert F.PerStoreFeature(extract_workload=True).feature_vector_length == 172
    narrow = F.PerStoreFeature(buffers_per_store=1, arith_intensity_curve_num_samples=2)
    assert narrow.feature_vector_length == 57 + 18 + 2 + 7
    assert extract(tiled(), buffers_per_store=1, arith_intensity_curve_num_samples=2).shape == (
        1, 84,
    )  # fmt: skip
    assert extract(tiled(), extract_workload=True).shape == (1, 172)


@pytest.mark.parametrize("name", ["softmax", "row_sum", "add_one"])
@pytest.mark.parametrize("target", [LLVM, TURING])
def test_features_of_samples_are_numbers(name: str, target: str) -> None:
    func: PrimFunc = WORKLOADS[name]
    for sch in samples(func, target, 2):
        table = extract(sch, target)
        assert len(table) >= 1
        assert np.isfinite(table).all()
        assert table[:, 49].all() == (target == TURING)


def test_random_features() -> None:
    ctx = TuneContext(matmul())
    candidates = [MeasureCandidate(Schedule(matmul()), [])] * 3
    one = F.RandomFeatureExtractor(seed=3).extract_from(ctx, candidates)
    two = F.RandomFeatureExtractor(seed=3).extract_from(ctx, candidates)
    assert all(1 <= t.shape[0] <= 5 and t.shape[1] == 30 for t in one)
    assert all((a.numpy() == b.numpy()).all() for a, b in zip(one, two))
    state = F.RandomFeatureExtractor(seed=3).random_state
    assert state[0] == "MT19937"


@ms.derived_object
class Ones(F.PyFeatureExtractor):
    def extract_from(
        self, context: TuneContext, candidates: list[MeasureCandidate]
    ) -> list[Tensor]:
        return [tensor(np.ones((4, 5)))]


def test_extractors_of_users() -> None:
    (found,) = Ones().extract_from(TuneContext(), [])
    assert found.shape == (4, 5)
    assert isinstance(Ones(), F.FeatureExtractor)
    with pytest.raises(TVMError, match="PyFeatureExtractor's ExtractFrom method not implemented"):
        F.PyFeatureExtractor().extract_from(TuneContext(), [])


def test_create() -> None:
    assert isinstance(F.create("per-store-feature"), F.PerStoreFeature)
    with pytest.raises(ValueError, match="Unknown FeatureExtractor: none"):
        F.create("none")
