"""What each rule makes of a program; all sketches mean the same as the program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.meta_schedule.workloads import (
    AMPERE,
    LLVM,
    TURING,
    WORKLOADS,
    add_one,
    arguments,
    conv2d_transpose,
    interpreted,
    matmul,
    row_sum,
    softmax,
)
from tvm import meta_schedule as ms
from tvm import te
from tvm.error import TVMError
from tvm.ffi import register_global_func, remove_global_func
from tvm.meta_schedule import schedule_rule as R
from tvm.meta_schedule.space_generator import PostOrderApply
from tvm.meta_schedule.testing import te_workload
from tvm.meta_schedule.testing.space_generation import check_sketches, generate_design_space
from tvm.meta_schedule.tune_context import TuneContext
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.tensor_intrin.dot_product_common import DP4A_S8S8S32_INTRIN
from tvm.tir.tensor_intrin.rocm import AMDGPU_SDOT4_INTRIN

pytestmark = pytest.mark.pure


def space(func: PrimFunc, target: str, *rules: R.ScheduleRule) -> list[Schedule]:
    generator = PostOrderApply(sch_rules=list(rules), postprocs=[], mutator_probs={})
    ctx = TuneContext(func, target=Target(target), space_generator=generator, rand_state=3)
    return ctx.generate_design_space()


def kinds(sch: Schedule) -> list[str]:
    return [inst.kind.name for inst in sch.trace.insts]


def default(target: str, kind: Any) -> list[R.ScheduleRule]:
    return [r for r in R.ScheduleRule.create(target) if isinstance(r, kind)]


def annotation(sch: Schedule, block: str, key: str) -> Any:
    value = sch.get(sch.get_block(block)).annotations.get(key)
    return getattr(value, "value", value)


# --- AutoBind ---


@T.prim_func
def bound(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")) -> None:
    for i_j_fused_0 in T.thread_binding(4, thread="blockIdx.x"):
        for i_j_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("C"):
                vi = T.axis.spatial(8, (i_j_fused_0 * 32 + i_j_fused_1) // 16)
                vj = T.axis.spatial(16, (i_j_fused_0 * 32 + i_j_fused_1) % 16)
                B[vi, vj] = A[vi, vj] + T.float32(1)


@T.prim_func
def plain(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")) -> None:
    for i, j in T.grid(8, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)


def test_auto_bind() -> None:
    sketches = generate_design_space(
        "cuda", plain_module(), Target(TURING), R.AutoBind
    )
    check = [("SampleCategorical", 0)]
    (sch,) = sketches
    made = Schedule(plain_module())
    ms_trace = sch.trace.with_decision(sch.trace.insts[4], 0, remove_postproc=True)
    ms_trace.apply_to_schedule(made, remove_postproc=True)
    assert [loop.thread_binding.thread_tag for loop in map(made.get, loops(made, "C"))] == [
        "blockIdx.x", "threadIdx.x",
    ]  # fmt: skip
    assert [int(made.get(loop).extent) for loop in loops(made, "C")] == [4, 32]
    check_sketches(plain_module(), sketches, [made.mod], [check])
    args = [np.ones((8, 16), "float32"), np.zeros((8, 16), "float32")]
    assert (interpreted(made.mod, args) == interpreted(bound, args)).all()


def plain_module() -> Any:
    return Schedule(plain).mod


def loops(sch: Schedule, block: str) -> list[Any]:
    return sch.get_loops(sch.get_block(block))


def test_auto_bind_adds_a_loop_where_nothing_is_parallel() -> None:
    (sch,) = space(row_sum(1, 64), TURING, R.AutoBind())
    assert [int(sch.get(loop).extent) for loop in loops(sch, "X_red")][:2] == [1, 1]


def test_auto_bind_uses_all_of_few_blocks() -> None:
    (sch,) = space(matmul(64, 64, 4), TURING, R.AutoBind(max_threadblocks=1, thread_extents=[8]))
    extents = [int(sch.get(loop).extent) for loop in loops(sch, "C")]
    assert extents == [1, 1024, 4, 4]
    assert sch.get(loops(sch, "C")[0]).thread_binding.thread_tag == "blockIdx.x"


def test_auto_bind_needs_the_limits_of_a_gpu() -> None:
    with pytest.raises(ValueError, match="missing attribute `max_threads_per_block`"):
        space(plain, LLVM, R.AutoBind())


# --- inlining ---


def test_auto_inline_into_consumers() -> None:
    (sch,) = space(add_one(), LLVM, *default("llvm", R.AutoInline))
    assert len(sch.get_child_blocks(sch.get_block("root"))) == 1


def test_auto_inline_into_the_producer_only_where_asked() -> None:
    (cpu,) = space(softmax(), LLVM, *default("llvm", R.AutoInline))
    names = [b.name_hint for b in map(cpu.get, cpu.get_child_blocks(cpu.get_block("root")))]
    assert "T_softmax_exp" in names  # exp is not computed twice
    (gpu,) = space(softmax(), TURING, *default("cuda", R.AutoInline))
    names = [b.name_hint for b in map(gpu.get, gpu.get_child_blocks(gpu.get_block("root")))]
    assert names == ["T_softmax_maxelem", "T_softmax_expsum", "T_softmax_norm"]


def test_blocks_may_forbid_inlining() -> None:
    sch = Schedule(add_one())
    root = sch.get_block("root")
    first = sch.get_child_blocks(root)[0]
    sch.annotate(first, "meta_schedule.inline_rule", "disable")
    (made,) = space(sch.mod["main"], LLVM, *default("llvm", R.AutoInline))  # type: ignore[arg-type]
    assert len(made.get_child_blocks(made.get_block("root"))) == 2


@T.prim_func
def scaled(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")) -> None:
    c = T.alloc_buffer(())
    with T.block("literal"):
        c[()] = T.float32(3)
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * c[()]


def test_constant_scalars_are_inlined() -> None:
    (sch,) = space(scaled, LLVM, R.InlineConstantScalars())
    assert len(sch.get_child_blocks(sch.get_block("root"))) == 1


# --- tiling ---


def test_cpu_tiling_with_and_without_a_copy_of_the_result() -> None:
    made = space(matmul(), LLVM, *default("llvm", R.MultiLevelTiling))
    assert [kinds(s).count("ReverseComputeAt") for s in made] == [1, 1, 0]
    assert all(kinds(s).count("SamplePerfectTile") == 3 for s in made)
    assert all(annotation(s, "C", "meta_schedule.tiling_structure") == "SSRSRS" for s in made)
    assert len(loops(made[2], "C")) == 4 * 2 + 2


def test_gpu_tiling_binds_and_copies() -> None:
    (sch,) = space(matmul(), TURING, *default("cuda", R.MultiLevelTiling))
    tags = [getattr(sch.get(l).thread_binding, "thread_tag", None) for l in loops(sch, "C")]
    assert tags[:3] == ["blockIdx.x", "vthread.x", "threadIdx.x"]
    assert kinds(sch).count("CacheRead") == 2
    assert [inst.attrs for inst in sch.trace.insts if inst.kind.name == "CacheRead"] == [
        [0, "shared"], [1, "shared"],
    ]  # fmt: skip
    assert annotation(sch, "C", "meta_schedule.thread_extent_low_inclusive") == 32
    assert annotation(sch, "C", "meta_schedule.thread_extent_high_inclusive") == 1024


def test_asynchronous_copies_since_ampere() -> None:
    made = space(matmul(), AMPERE, *default("cuda", R.MultiLevelTiling))
    found = [
        list(inst.inputs[1])
        for s in made
        for inst in s.trace.insts
        if inst.kind.name == "Annotate" and inst.attrs[0] == "software_pipeline_stage"
    ]
    assert len(made) == 3
    assert found == [[0, 0, 3], [0, 0, 2]]


@pytest.mark.parametrize(
    ("dtype", "widths"),
    [("float32", [1, 2, 3, 4]), ("float16", [1, 2, 4, 8]), ("int8", [1, 2, 3, 4, 8, 16])],
)
def test_how_wide_copies_may_be(dtype: str, widths: list[int]) -> None:
    @T.prim_func
    def product(a: T.handle, b: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, (16, 16), dtype)
        B = T.match_buffer(b, (16, 16), dtype)
        C = T.match_buffer(c, (16, 16), dtype)
        for i, j, k in T.grid(16, 16, 16):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.cast(0, dtype)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    (sch,) = space(product, TURING, *default("cuda", R.MultiLevelTiling))
    found = [list(i.attrs[0]) for i in sch.trace.insts if i.kind.name == "SampleCategorical"]
    assert found == [widths, widths]


def test_a_filter_adds_blocks() -> None:
    rule = R.MultiLevelTiling("SS", filter_fn=lambda sch, b: sch.get(b).name_hint == "C")
    (sch,) = space(plain, LLVM, rule)
    assert len(loops(sch, "C")) == 4


def test_levels_may_be_annotated() -> None:
    sch = Schedule(matmul())
    sch.annotate(sch.get_block("C"), "meta_schedule.write_cache_level", [2])
    made = space(sch.mod["main"], LLVM, *default("llvm", R.MultiLevelTiling))  # type: ignore[arg-type]
    assert len(made) == 1
    assert kinds(made[0]).count("CacheWrite") == 1


def test_rejects_bad_options() -> None:
    with pytest.raises(ValueError, match="invalid tiling structure 'SXR'"):
        R.MultiLevelTiling("SXR")
    with pytest.raises(ValueError, match="legal: 'no', 'must'"):
        R.MultiLevelTiling("SR", reuse_read=R.ReuseType("may", [1], "shared"))
    with pytest.raises(ValueError, match="kind of schedule rules: metal"):
        R.ScheduleRule.create("metal")


def test_intrinsics_are_innermost() -> None:
    @T.prim_func
    def dense(
        a: T.Buffer((4, 64), "uint8"), b: T.Buffer((32, 64), "int8"), c: T.Buffer((4, 32), "int32")
    ) -> None:
        for i, j, k in T.grid(4, 32, 64):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    c[vi, vj] = 0
                c[vi, vj] += T.cast(a[vi, vk], "int32") * T.cast(b[vj, vk], "int32")

    rule = R.MultiLevelTilingWithIntrin("dot_16x4_vnni", "SSRSRS", max_innermost_factor=64)
    (sch,) = space(dense, "llvm -mcpu=cascadelake --num-cores=4", rule)
    assert annotation(sch, "C_o", "meta_schedule.auto_tensorize") == "dot_16x4_vnni"
    (same,) = space(matmul(), LLVM, rule)
    assert "Blockize" not in kinds(same)
    with pytest.raises(ValueError, match="dot_1x1"):
        R.MultiLevelTilingWithIntrin("dot_1x1", "SSRSRS")


def product_of_bytes() -> PrimFunc:
    a, b = te.placeholder((64, 128), "int8", "A"), te.placeholder((32, 128), "int8", "B")
    r = te.reduce_axis((0, 128), "k")
    c = te.compute(
        (64, 32), lambda i, j: te.sum(a[i, r].astype("int32") * b[j, r].astype("int32"), r), "C"
    )
    return te.create_prim_func([a, b, c])


@pytest.mark.parametrize("name", [DP4A_S8S8S32_INTRIN, AMDGPU_SDOT4_INTRIN])
def test_a_description_may_write_at_a_literal(name: str) -> None:
    rule = R.MultiLevelTilingWithIntrin(
        name, "SSSRRSRS", ["blockIdx.x", "vthread.x", "threadIdx.x"], 64, [4],
        R.ReuseType("must", [4], "shared"), R.ReuseType("must", [3], "local"),
    )  # fmt: skip
    sch = space(product_of_bytes(), TURING, rule)[0]
    assert annotation(sch, "C_o", "meta_schedule.auto_tensorize") == name
    assert kinds(sch)[:9] == [
        "GetBlock", "GetBlock", "Annotate", "GetLoops", "Split", "GetLoops", "Reorder", "Blockize",
        "Annotate",
    ]  # fmt: skip


RISCV = "llvm -mtriple=riscv64-linux-gnu -mcpu=generic-rv64 -mattr=+m,+v,+zvl256b -num-cores=4"


@T.prim_func
def rows_of_bytes(
    A: T.Buffer((8, 256), "int8"), B: T.Buffer((64, 256), "int8"), C: T.Buffer((8, 64), "int32")
) -> None:
    for i, j, k in T.grid(8, 64, 256):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vj, vk])


def test_risc_v_has_dot_products_as_long_as_its_registers() -> None:
    ctx = TuneContext(rows_of_bytes, target=Target(RISCV), space_generator="post-order-apply")
    traces = [str(sch.trace) for sch in ctx.generate_design_space()]
    assert any('ann_val="rvv_dot_128i8_32x128i8_32i32"' in trace for trace in traces)
    with Target(RISCV):
        rules = R.ScheduleRule.create("rvv")
    assert len([r for r in rules if isinstance(r, R.MultiLevelTilingWithIntrin)]) > 4
    with pytest.raises(TVMError, match="Target context required"):
        R.ScheduleRule.create("rvv")


def test_wide_vectors_along_the_last_dimension() -> None:
    rule = R.MultiLevelTilingWideVector("SRSRS", vector_length_in_bits=128)
    (sch,) = space(matmul(16, 16, 16), LLVM, rule)
    assert int(sch.get(loops(sch, "C")[-1]).extent) == 4
    (narrow,) = space(matmul(16, 2, 16), LLVM, rule)
    assert int(narrow.get(loops(narrow, "C")[-1]).extent) == 2


def test_levels_within_the_sum() -> None:
    """A copy of results may be made within the sum as well: the last one is of the whole."""
    reuse = R.ReuseType("may", [1, 2], "global")
    rule = R.MultiLevelTilingWideVector("SRSRS", 128, reuse_write=reuse)
    made = space(matmul(16, 16, 16), LLVM, rule)
    assert [kinds(s).count("ReverseComputeAt") for s in made] == [1, 1, 0]
    assert all("SamplePerfectTile" in kinds(s) for s in made)


# --- reductions ---


@pytest.mark.parametrize("size", [6, 9])
def test_threads_that_cannot_reduce_for_their_consumer(size: int) -> None:
    """Winograd's transforms are sums whose consumers copy tiles, or do not divide into them."""
    func = te.create_prim_func(list(te_workload.conv2d_winograd_nhwc(1, 14, 14, 32, 32, size)))
    rules = default("cuda", (R.MultiLevelTiling, R.AutoInline, R.CrossThreadReduction))
    made = space(func, TURING, *rules)
    assert any("Bind" in kinds(s) for s in made)


def test_rfactor_of_either_loop() -> None:
    made = space(row_sum(2, 512), LLVM, *default("llvm", R.AddRFactor))
    assert [kinds(s).count("RFactor") for s in made] == [0, 1, 1]
    factored = kinds(made[1])
    assert factored[factored.index("RFactor") + 1] == "GetLoops"  # as recorded traces have it
    short = space(row_sum(512, 2), LLVM, *default("llvm", R.AddRFactor))
    assert [kinds(s).count("RFactor") for s in short] == [0, 1, 1]
    assert space(matmul(64, 64, 8), LLVM, R.AddRFactor())[0].trace.insts[-1].kind.name == "GetBlock"


def test_threads_reduce_together() -> None:
    made = space(row_sum(2, 512), TURING, *default("cuda", R.CrossThreadReduction))
    assert [kinds(s).count("Bind") for s in made] == [0, 1]


def test_threads_reduce_within_the_consumer() -> None:
    inlined = space(softmax(), TURING, *default("cuda", (R.AutoInline, R.CrossThreadReduction)))
    assert len(inlined) == 4
    (both,) = [s for s in inlined if kinds(s).count("SetScope") == 2]
    assert len(both.get_child_blocks(both.get_block("root"))) == 3
    scopes = {b.name: b.scope() for b in both.get(both.get_block("root")).alloc_buffers}
    assert scopes == {"T_softmax_maxelem_shared": "shared", "T_softmax_expsum_shared": "shared"}


# --- where, and how much ---


def test_random_locations() -> None:
    made = space(softmax(), LLVM, R.RandomComputeLocation())
    assert kinds(made[0]).count("SampleComputeLocation") == 3  # all but the output


def test_marks_of_the_root() -> None:
    (cpu,) = space(matmul(), LLVM, *default("llvm", R.ParallelizeVectorizeUnroll))
    assert annotation(cpu, "root", "meta_schedule.parallel") == 64
    assert annotation(cpu, "root", "meta_schedule.vectorize") == 64
    assert annotation(cpu, "root", "meta_schedule.unroll_explicit") in (0, 16, 64, 512)
    (spatial,) = space(add_one(), LLVM, *default("llvm", R.ParallelizeVectorizeUnroll))
    assert annotation(spatial, "root", "meta_schedule.unroll_explicit") is None


# --- rules of users ---


@ms.derived_object
class Doubling(R.PyScheduleRule):
    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        pass

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        return [sch, sch.copy()] if sch.get(block).name_hint == "C" else [sch]

    def clone(self) -> R.ScheduleRule:
        return Doubling()


def test_rules_of_users() -> None:
    assert isinstance(Doubling(), R.ScheduleRule)
    assert len(space(plain, LLVM, Doubling(), Doubling())) == 4
    assert str(Doubling()).startswith("meta_schedule.Doubling(0x")


def test_a_block_names_its_rule() -> None:
    def custom(sch: Schedule, block: BlockRV) -> list[Schedule]:
        sch.unroll(sch.get_loops(block)[0])
        return [sch]

    sch = Schedule(plain)
    sch.annotate(sch.get_block("C"), "schedule_rule", "by_hand")
    func: Any = sch.mod["main"]
    tiled = R.MultiLevelTiling("SS", filter_fn=lambda s, b: s.get(b).name_hint == "C")
    register_global_func("meta_schedule.cpu.by_hand", custom)
    try:
        (made,) = space(func, LLVM, R.ApplyCustomRule(), tiled)
    finally:
        remove_global_func("meta_schedule.cpu.by_hand")
    assert kinds(made) == ["GetBlock", "GetBlock", "GetLoops", "Unroll"]
    (same,) = space(func, LLVM, R.ApplyCustomRule())
    assert kinds(same) == ["GetBlock", "GetBlock", "Unannotate"]  # nobody knows it: others may


def test_an_error_of_a_rule_comes_through() -> None:
    def failing(sch: Schedule, block: BlockRV) -> list[Schedule]:
        raise ValueError("Intended for a test")

    sch = Schedule(plain)
    sch.annotate(sch.get_block("C"), "schedule_rule", "failing")
    register_global_func("meta_schedule.cpu.failing", failing)
    try:
        with pytest.raises(ValueError, match="Intended for a test"):
            space(sch.mod["main"], LLVM, R.ApplyCustomRule())  # type: ignore[arg-type]
    finally:
        remove_global_func("meta_schedule.cpu.failing")


# --- all rules together ---


@pytest.mark.parametrize("target", [LLVM, "c", "llvm -mcpu=cascadelake --num-cores=2"])
@pytest.mark.parametrize("name", list(WORKLOADS))
def test_sketches_keep_the_meaning(name: str, target: str) -> None:
    func = WORKLOADS[name]
    ctx = TuneContext(func, target=Target(target), space_generator="post-order-apply", rand_state=9)
    args = arguments(func)
    expected = interpreted(func, args)
    for sch in ctx.generate_design_space():
        np.testing.assert_allclose(interpreted(sch.mod, args), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("target", [LLVM, "nvidia/nvidia-v100"])
def test_decisions_that_do_not_fit_are_drawn_again(target: str) -> None:
    func = conv2d_transpose()
    args = arguments(func)
    expected = interpreted(func, args)
    for seed in range(1, 9):
        parts: Any = {"space_generator": "post-order-apply", "rand_state": seed}
        sketches = TuneContext(func, target=Target(target), **parts).generate_design_space()
        assert len(sketches) == (3 if target == LLVM else 1)
        assert any(annotation(s, "Y", "meta_schedule.tiling_structure") for s in sketches)
    if target == LLVM:
        np.testing.assert_allclose(interpreted(sketches[0].mod, args), expected, rtol=1e-4)


def test_rule_that_is_no_rule() -> None:
    with pytest.raises(TVMError, match="ScheduleRule's Apply method not implemented"):
        R.ScheduleRule().apply(Schedule(plain), BlockRV())


