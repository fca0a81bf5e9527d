"""What each postprocessor changes or refuses."""

from __future__ import annotations

import numpy as np
import pytest

from tests.meta_schedule.workloads import LLVM, TURING, context, interpreted, matmul, row_sum
from tvm import meta_schedule as ms
from tvm import te
from tvm.error import TVMError
from tvm.meta_schedule import postproc as P
from tvm.meta_schedule.tune_context import TuneContext
from tvm.script import tir as T
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import Schedule
from tvm.tir.stmt import ForKind

pytestmark = pytest.mark.pure


def apply(postproc: P.Postproc, sch: Schedule, target: str) -> bool:
    ctx = context(matmul(), target, sch_rules=[], postprocs=[postproc], mutator_probs={})
    assert ctx.space_generator is not None
    (only,) = ctx.space_generator.postprocs or ()
    return only.apply(sch)


def tags(sch: Schedule, block: str) -> list[str]:
    loops = [sch.get(loop) for loop in sch.get_loops(sch.get_block(block))]
    return [
        loop.kind.name if loop.thread_binding is None else loop.thread_binding.thread_tag
        for loop in loops
    ]


def symbolic() -> PrimFunc:
    n = te.var("n")
    a = te.placeholder((n,), "float32", "A")
    return te.create_prim_func([a, te.compute((n,), lambda i: a[i] + 1.0, "B")])


def test_dynamic_loops_are_refused() -> None:
    assert apply(P.DisallowDynamicLoop(), Schedule(matmul()), LLVM)
    assert not apply(P.DisallowDynamicLoop(), Schedule(symbolic()), LLVM)


def test_what_is_unbound_is_bound() -> None:
    sch = Schedule(row_sum(4, 8))
    assert apply(P.RewriteUnboundBlock(), sch, TURING)
    assert tags(sch, "X_red") == ["blockIdx.x", "threadIdx.x", "SERIAL"]
    before = str(sch.mod)
    assert apply(P.RewriteUnboundBlock(), sch, TURING)
    assert str(sch.mod) == before


def test_threads_share_a_copy() -> None:
    sch = Schedule(matmul())
    block = sch.get_block("C")
    copy = sch.cache_read(block, 0, "shared")
    i, j, _ = sch.get_loops(block)
    sch.bind(i, "threadIdx.y")
    sch.bind(j, "threadIdx.x")
    sch.annotate(sch.fuse(*sch.get_loops(copy)) and copy, "meta_schedule.cooperative_fetch", 2)
    assert apply(P.RewriteCooperativeFetch(), sch, TURING)
    assert tags(sch, "A_shared") == ["SERIAL", "threadIdx.y", "threadIdx.x", "VECTORIZED"]
    assert [int(sch.get(loop).extent) for loop in sch.get_loops(copy)] == [1, 16, 16, 2]


def test_lanes_that_do_not_divide_are_left_out() -> None:
    sch = Schedule(matmul())
    block = sch.get_block("C")
    copy = sch.cache_read(block, 0, "shared")
    sch.bind(sch.get_loops(block)[1], "threadIdx.x")
    sch.fuse(*sch.get_loops(copy))
    sch.annotate(copy, "meta_schedule.cooperative_fetch", 3)
    assert apply(P.RewriteCooperativeFetch(), sch, TURING)
    assert tags(sch, "A_shared") == ["SERIAL", "threadIdx.x"]


def marked(func: PrimFunc, **values: int) -> Schedule:
    sch = Schedule(func)
    for key, value in values.items():
        sch.annotate(sch.get_block("root"), f"meta_schedule.{key}", value)
    return sch


def test_parallel_vector_unroll() -> None:
    sch = marked(matmul(16, 16, 16), parallel=15, vectorize=8, unroll_explicit=4)
    i, j, k = sch.get_loops(sch.get_block("C"))
    j0, j1 = sch.split(j, [None, 4])
    sch.reorder(i, j0, k, j1)
    assert apply(P.RewriteParallelVectorizeUnroll(), sch, LLVM)
    assert tags(sch, "C") == ["PARALLEL", "SERIAL", "SERIAL", "VECTORIZED"]
    first = sch.get(sch.get_loops(sch.get_block("C"))[0])
    assert int(first.extent) == 16
    assert int(first.annotations["pragma_auto_unroll_max_step"]) == 4
    assert int(first.annotations["pragma_unroll_explicit"]) == 1
    assert not sch.get(sch.get_block("root")).annotations


@pytest.mark.parametrize(("jobs", "extent"), [(15, 16), (16, 256), (255, 256), (256, 256)])
def test_loops_are_fused_until_there_are_more_iterations_than_jobs(jobs: int, extent: int) -> None:
    sch = marked(matmul(16, 16, 16), parallel=jobs)
    assert apply(P.RewriteParallelVectorizeUnroll(), sch, LLVM)
    assert int(sch.get(sch.get_loops(sch.get_block("C"))[0]).extent) == extent


def test_blocks_without_a_reduction_are_not_unrolled() -> None:
    a = te.placeholder((4, 8), "float32", "A")
    k = te.reduce_axis((0, 8), "k")
    b = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), "B")
    func = te.create_prim_func([a, te.compute((4,), lambda i: te.exp(b[i]), "C")])
    for steps in (0, 16):
        sch = marked(func, unroll_explicit=steps)
        assert apply(P.RewriteParallelVectorizeUnroll(), sch, LLVM)
        found = [sch.get(sch.get_loops(sch.get_block(name))[0]).annotations for name in "BC"]
        assert [int(one.get("pragma_auto_unroll_max_step", 0)) for one in found] == [steps, 0]


def test_loops_of_one_iteration_are_left_alone() -> None:
    a = te.placeholder((1,), "float32", "A")
    func = te.create_prim_func([a, te.compute((1,), lambda i: te.exp(a[i]), "B")])
    sch = marked(func, parallel=16, vectorize=64)
    assert apply(P.RewriteParallelVectorizeUnroll(), sch, LLVM)
    assert tags(sch, "B") == ["SERIAL"]


def test_what_is_contiguous_is_one_parallel_and_one_vector_loop() -> None:
    a = te.placeholder((32, 24), "float32", "A")
    func = te.create_prim_func([a, te.compute((32, 24), lambda i, j: a[i, j] + 1.0, "B")])
    sch = marked(func, parallel=16, vectorize=8)
    assert apply(P.RewriteParallelVectorizeUnroll(), sch, LLVM)
    assert tags(sch, "B") == ["PARALLEL", "VECTORIZED"]
    assert [int(sch.get(loop).extent) for loop in sch.get_loops(sch.get_block("B"))] == [96, 8]


@pytest.mark.parametrize("kind", ["parallel", "vectorize", "unroll"])
def test_loops_of_a_kind_are_fused_again(kind: str) -> None:
    a = te.placeholder((32, 24), "float32", "A")
    func = te.create_prim_func([a, te.compute((32, 24), lambda i, j: a[i, j] + 1.0, "B")])
    sch = marked(func, parallel=16, vectorize=8)
    getattr(sch, kind)(sch.get_loops(sch.get_block("B"))[0])
    assert apply(P.RewriteParallelVectorizeUnroll(), sch, LLVM)
    assert tags(sch, "B") == ["PARALLEL", "VECTORIZED"]


def test_bound_and_annotated_loops_are_left_alone() -> None:
    for change in (lambda s, i: s.bind(i, "threadIdx.x"), lambda s, i: s.annotate(i, "x", 1)):
        sch = marked(matmul(16, 16, 16), parallel=16)
        change(sch, sch.get_loops(sch.get_block("C"))[0])
        before = tags(sch, "C")
        assert apply(P.RewriteParallelVectorizeUnroll(), sch, LLVM)
        assert tags(sch, "C") == before


def test_a_loop_of_two_blocks_is_made_parallel_for_each() -> None:
    @T.prim_func
    def main(A: T.Buffer((8, 16)), B: T.Buffer((8, 16)), C: T.Buffer((8, 16))) -> None:
        for i in range(8):
            for j in range(16):
                with T.block("B"):
                    x, y = T.axis.remap("SS", [i, j])
                    B[x, y] = A[x, y] + 1.0
            for j in range(16):
                with T.block("C"):
                    x, y = T.axis.remap("SS", [i, j])
                    C[x, y] = B[x, y] + 1.0

    sch = marked(main, parallel=16)
    assert apply(P.RewriteParallelVectorizeUnroll(), sch, LLVM)
    assert str(sch.trace).count("sch.parallel(") == 2
    assert "for i_fused_fused in T.parallel(8)" in str(sch.mod)


def test_one_way_of_unrolling() -> None:
    sch = marked(matmul(16, 16, 16), unroll_explicit=4, unroll_implicit=4)
    with pytest.raises(TVMError, match=r"unroll_explicit.*unroll_implicit"):
        apply(P.RewriteParallelVectorizeUnroll(), sch, LLVM)
    sch = marked(matmul(16, 16, 16), unroll_explicit=4, unroll_implicit=-1)
    assert apply(P.RewriteParallelVectorizeUnroll(), sch, LLVM)


def test_strides_are_no_vectors() -> None:
    a = te.placeholder((32, 32), "float32", "A")
    func = te.create_prim_func([a, te.compute((32, 32), lambda i, j: a[j, i], "B")])
    sch = marked(func, parallel=16, vectorize=64)
    assert apply(P.RewriteParallelVectorizeUnroll(), sch, LLVM)
    assert tags(sch, "B") == ["PARALLEL", "VECTORIZED"]  # the one loop in which B is contiguous


def test_init_apart_from_the_sum() -> None:
    sch = Schedule(matmul())
    assert apply(P.RewriteReductionBlock(), sch, LLVM)
    names = [sch.get(b).name_hint for b in sch.get_child_blocks(sch.get_block("root"))]
    assert names == ["C_init", "C_update"]


def test_sums_across_threads_keep_their_init() -> None:
    sch = Schedule(row_sum())
    sch.bind(sch.get_loops(sch.get_block("X_red"))[1], "threadIdx.x")
    before = str(sch.mod)
    assert apply(P.RewriteReductionBlock(), sch, TURING)
    assert str(sch.mod) == before


def threads(count: int) -> Schedule:
    sch = Schedule(matmul(64, 64, 4))
    block = sch.get_block("C")
    outer, inner = sch.split(sch.fuse(*sch.get_loops(block)[:2]), [None, count])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    return sch


def test_too_many_threads_are_refused() -> None:
    assert apply(P.VerifyGPUCode(), threads(1024), TURING)
    assert not apply(P.VerifyGPUCode(), threads(2048), TURING)


def test_a_block_asks_for_threads() -> None:
    sch = threads(32)
    block = sch.get_block("C")
    sch.annotate(block, "meta_schedule.thread_extent_low_inclusive", 64)
    sch.annotate(block, "meta_schedule.thread_extent_high_inclusive", 1024)
    assert not apply(P.VerifyGPUCode(), sch, TURING)


@pytest.mark.parametrize(("size", "legal"), [(64, True), (256, False)])
def test_too_much_shared_memory_is_refused(size: int, legal: bool) -> None:
    assert apply(P.VerifyGPUCode(), Schedule(_one_kernel(size)), TURING) is legal


def _one_kernel(size: int) -> PrimFunc:
    @T.prim_func
    def kernel(a: T.handle, b: T.handle) -> None:
        A = T.match_buffer(a, (size, size), "float32")
        B = T.match_buffer(b, (size, size), "float32")
        S = T.alloc_buffer((size, size), scope="shared")
        for _ in T.thread_binding(1, thread="blockIdx.x"):
            for t in T.thread_binding(size, thread="threadIdx.x"):
                for i in range(size):
                    with T.block("copy"):
                        vi, vj = T.axis.remap("SS", [i, t])
                        S[vi, vj] = A[vi, vj]
                for j in range(size):
                    with T.block("use"):
                        vi, vj = T.axis.remap("SS", [t, j])
                        B[vi, vj] = S[vj, vi]

    return kernel


@T.prim_func
def free_weight(
    A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"),
    C: T.Buffer((16, 16), "float32"),
) -> None:  # fmt: skip
    T.func_attr({"layout_free_buffers": [1]})
    for i0, j, k0, i1, k1 in T.grid(4, 16, 4, 4, 4):
        with T.block("matmul"):
            vi = T.axis.S(16, i0 * 4 + i1)
            vj = T.axis.S(16, j)
            vk = T.axis.R(16, k0 * 4 + k1)
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def test_free_weights_lie_as_they_are_read() -> None:
    sch = Schedule(free_weight)
    assert apply(P.RewriteLayout(), sch, LLVM)
    copy = sch.get(sch.get_block("B_global"))
    assert copy.annotations["meta_schedule.layout_rewrite_preproc"]
    assert [int(d) for d in copy.writes[0].buffer.shape] == [16, 4, 4]
    numbers = np.random.default_rng(0)
    args = [numbers.standard_normal((16, 16)).astype("float32") for _ in range(3)]
    expected = interpreted(free_weight, args)
    np.testing.assert_allclose(interpreted(sch.mod, args), expected, rtol=1e-5)


def test_layouts_of_large_loops_are_of_their_type() -> None:
    @T.prim_func
    def free(
        A: T.Buffer((T.int64(16), T.int64(16)), "float32"),
        B: T.Buffer((T.int64(16), T.int64(16)), "float32"),
        C: T.Buffer((T.int64(16), T.int64(16)), "float32"),
    ):
        T.func_attr({"layout_free_buffers": [1]})
        for j0, i, k, j1 in T.grid(T.int64(4), T.int64(16), T.int64(16), T.int64(4)):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                vj = T.axis.spatial(T.int64(16), j0 * T.int64(4) + j1)
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    sch = Schedule(free)
    assert apply(P.RewriteLayout(), sch, LLVM)
    copy = sch.get(sch.get_block("B_global"))
    assert [int(d) for d in copy.writes[0].buffer.shape] == [4, 16, 4]
    assert {str(rng.min.dtype) for rng in copy.writes[0].region} == {"int64"}


def test_free_buffers_are_read_in_blocks() -> None:
    @T.prim_func
    def bare(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        T.func_attr({"layout_free_buffers": [0]})
        with T.block("root"):
            for i in range(16):
                B[i] = A[i]

    with pytest.raises(TVMError, match=r"A\[i\] outside of any block"):
        apply(P.RewriteLayout(), Schedule(bare), LLVM)


def test_other_weights_stay() -> None:
    sch = Schedule(matmul())
    assert apply(P.RewriteLayout(), sch, LLVM)
    assert not sch.trace.insts


def test_marked_blocks_are_tensorized() -> None:
    @T.prim_func
    def dot(
        a: T.Buffer((8,), "uint8"), b: T.Buffer((16, 8), "int8"), c: T.Buffer((16,), "int32")
    ) -> None:
        for i, k in T.grid(16, 8):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    c[vi] = 0
                c[vi] += T.cast(a[vk], "int32") * T.cast(b[vi, vk], "int32")

    sch = Schedule(dot)
    i, k = sch.get_loops(sch.get_block("C"))
    k0, k1 = sch.split(k, [None, 4])
    sch.reorder(k0, i, k1)
    outer = sch.blockize(i)
    sch.annotate(outer, "meta_schedule.auto_tensorize", "dot_16x4_vnni")
    assert apply(P.RewriteReductionBlock(), sch, LLVM)
    assert apply(P.RewriteTensorize(vectorize_init_loop=True), sch, LLVM)
    text = str(sch.mod)
    assert "auto_tensorize" not in text
    assert "vpdpbusd" in text
    kinds = [sch.get(loop).kind for loop in sch.get_loops(sch.get_block("C_init"))]
    assert ForKind.VECTORIZED in kinds


def pipelined(stride: int) -> Schedule:
    a = te.placeholder((8, 64), "float32", "A")
    s = te.compute((8, 16), lambda i, j: a[i, j * stride], "S")
    sch = Schedule(te.create_prim_func([a, te.compute((8, 16), lambda i, j: s[i, j] + 1.0, "B")]))
    loop = sch.get_loops(sch.get_block("B"))[0]
    sch.compute_at(sch.get_block("S"), loop)
    sch.annotate(loop, "software_pipeline_stage", [0, 1])
    sch.annotate(loop, "software_pipeline_order", [0, 1])
    sch.annotate(loop, "software_pipeline_async_stages", [0])
    return sch


def test_background_copies_are_of_one_piece() -> None:
    assert apply(P.DisallowAsyncStridedMemCopy(), pipelined(1), LLVM)
    assert not apply(P.DisallowAsyncStridedMemCopy(), pipelined(4), LLVM)


def test_vtcm_limit() -> None:
    @T.prim_func
    def func(A: T.Buffer((64,), "int8"), B: T.Buffer((64,), "int8")) -> None:
        S = T.alloc_buffer((64,), "int8", scope="global.vtcm")
        for i in range(64):
            with T.block("in"):
                vi = T.axis.spatial(64, i)
                S[vi] = A[vi]
        for i in range(64):
            with T.block("out"):
                vi = T.axis.spatial(64, i)
                B[vi] = S[vi]

    for capacity, legal in ((64, True), (32, False), (0, True)):
        target = f"hexagon -vtcm-capacity={capacity} -num-cores=1"
        assert apply(P.VerifyVTCMLimit(), Schedule(func), target) is legal


@ms.derived_object
class Refusing(P.PyPostproc):
    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        pass

    def apply(self, sch: Schedule) -> bool:
        return False

    def clone(self) -> P.Postproc:
        return Refusing()


def test_postprocessors_of_users() -> None:
    assert apply(Refusing(), Schedule(matmul()), LLVM) is False
    assert str(Refusing()).startswith("meta_schedule.Refusing(0x")
    assert isinstance(Refusing().clone(), P.Postproc)


def test_defaults() -> None:
    names = [type(p).__name__ for p in P.Postproc.create("cuda")]
    assert names == [
        "DisallowDynamicLoop", "RewriteCooperativeFetch", "RewriteUnboundBlock",
        "RewriteParallelVectorizeUnroll", "RewriteReductionBlock", "VerifyGPUCode",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="kind of postprocessors: metal"):
        P.Postproc.create("metal")
    with pytest.raises(TVMError, match="Postproc's Apply method not implemented"):
        P.Postproc().apply(Schedule(matmul()))
