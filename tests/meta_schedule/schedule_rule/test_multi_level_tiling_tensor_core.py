"""Products on tensor cores: the sketch, its meaning with intrinsics in place, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.dlight.gpu.lowered import kernel
from tests.meta_schedule.schedule_rule.test_rules import kinds, space
from tests.tir.tensor_intrin.products import arrays, matmul
from tvm import te, topi
from tvm.meta_schedule import schedule_rule as R
from tvm.meta_schedule.postproc import Postproc
from tvm.meta_schedule.space_generator import PostOrderApply
from tvm.meta_schedule.tune_context import TuneContext
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir.function import PrimFunc
from tvm.tir.interp import run
from tvm.tir.schedule import Schedule
from tvm.tir.tensor_intrin.cuda import get_wmma_intrin_group

pytestmark = pytest.mark.pure
AMPERE = "nvidia/geforce-rtx-3090"
DYN = "shared.dyn"
MMA = {
    "init": "mma_init_m16n8k8_f32", "load_a": "mma_load_m16n8k8_f16_A_shared_dyn",
    "load_b": "mma_load_m16n8k8_f16_B_shared_dyn", "compute": "mma_sync_m16n8k8_f16f16f32",
    "store": "mma_store_m16n8k8_f32_global",
}  # fmt: skip


def rule(*groups: dict[str, str], write: str = DYN, pipeline: bool = False) -> R.ScheduleRule:
    return R.MultiLevelTilingTensorCore(
        list(groups), structure="SSSRRSRS",
        tile_binds=["blockIdx.y", "blockIdx.x", "threadIdx.y"], max_innermost_factor=4,
        vector_load_lens=[1, 2, 4, 8], reuse_read=R.ReuseType("must", [4], DYN),
        reuse_write=R.ReuseType("must" if write.startswith("shared") else "no", [2], write),
        use_software_pipeline=pipeline,
    )  # fmt: skip


def wmma(dtype: str = "float16", out: str = "float32", trans: bool = False,
         store: str = DYN) -> dict[str, str]:  # fmt: skip
    return get_wmma_intrin_group(DYN, store, dtype, out, trans)  # type: ignore[arg-type]


def finished(func: PrimFunc, one: R.ScheduleRule, seed: int = 3) -> Schedule:
    """A sketch after all postprocessors, which find nothing to refuse."""
    generator = PostOrderApply(
        sch_rules=[one], postprocs=Postproc.create("cuda-tensorcore"), mutator_probs={}
    )
    ctx = TuneContext(func, target=Target(AMPERE), space_generator=generator, rand_state=seed)
    (sch,) = ctx.generate_design_space()
    assert all(step.apply(sch) for step in generator.postprocs)
    assert "auto_tensorize" not in sch.mod["main"].script()
    return sch


def check(sch: Schedule, given: list[Any], expected: Any) -> None:
    func = sch.mod["main"]
    assert isinstance(func, PrimFunc)
    run(kernel(func, Target(AMPERE)), *given)
    np.testing.assert_array_equal(given[-1], expected)


@pytest.mark.parametrize(
    ("dtype", "out", "trans", "write"),
    [
        ("float16", "float32", False, DYN), ("float16", "float16", True, DYN),
        ("int8", "int32", False, DYN), ("float16", "float32", True, "global"),
    ],
)  # fmt: skip
def test_fragments(dtype: str, out: str, trans: bool, write: str) -> None:
    one = rule(wmma(dtype, out, trans, write), write=write)
    sch = finished(matmul(64, 64, 64, dtype, out, trans), one)
    text = sch.mod["main"].script()
    for call in ("tvm_load_matrix_sync", "tvm_mma_sync", "tvm_fill_fragment",
                 "tvm_store_matrix_sync"):  # fmt: skip
        assert call in text
    check(sch, *arrays(64, 64, 64, dtype, out, trans))


@pytest.mark.parametrize("pipeline", [False, True])
def test_mma(pipeline: bool) -> None:
    sch = finished(matmul(64, 64, 128, "float16", "float32", False),
                   rule(MMA, write="", pipeline=pipeline), 1)  # fmt: skip
    text = sch.mod["main"].script()
    assert ("software_pipeline_stage" in text) is pipeline
    assert "T.ptx_ldmatrix(" in text
    assert '"m16n8k8", "row", "col", "fp16", "fp16", "fp32"' in text
    check(sch, *arrays(64, 64, 128, "float16", "float32", False))


def test_the_sketch() -> None:
    (sch,) = space(matmul(64, 64, 64, "float16", "float32", False), AMPERE, rule(wmma()))
    assert [k for k in kinds(sch) if k != "GetBlock"][:3] == ["Annotate", "ReIndex", "ReIndex"]
    scopes = [i.attrs[1] for i in sch.trace.insts if i.kind.name == "CacheRead"]
    assert scopes == [DYN, DYN, "wmma.matrix_a", "wmma.matrix_b"]
    block = sch.get(sch.get_block("C_o"))
    marks = {key: getattr(value, "value", value) for key, value in block.annotations.items()}
    assert marks["meta_schedule.auto_tensorize"] == "wmma_sync_16x16x16_f16f16f32"
    assert marks["meta_schedule.auto_tensorize_init"] == "wmma_fill_16x16x16_f32"
    assert marks["warp_execution"] == 1
    text = sch.mod["main"].script()
    assert text.count('"buffer_dim_align": [[0, 0, 32, 8]]') == 2
    assert 'T.block("C_reindex_shared.dyn_wmma.accumulator_o")' in text


def test_a_sketch_for_each_group() -> None:
    """The last one first, as the generator takes them from a stack."""
    func = matmul(64, 64, 64, "float16", "float32", False)
    made = space(func, AMPERE, rule(wmma(), wmma(trans=True), wmma("int8", "int32")))
    assert len(made) == 2
    assert [("_trans_shared" in s.mod["main"].script()) for s in made] == [True, False]


def test_pipelines() -> None:
    sch = finished(matmul(64, 64, 128, "float16", "float32", False), rule(wmma(), pipeline=True), 5)
    text = sch.mod["main"].script()
    assert '"software_pipeline_stage": [0, 0, 0, 0, 0, 1, 1]' in text
    assert '"software_pipeline_order": [0, 1, 2]' in text
    assert text.count('"tir.manifest_shared_memory_local_stage": 1') == 2
    check(sch, *arrays(64, 64, 128, "float16", "float32", False))


def test_convolutions_are_products() -> None:
    """Height and width become rows, the window and channels what is summed over."""
    x = te.placeholder((1, 18, 18, 32), "float16", name="X")
    w = te.placeholder((3, 3, 32, 64), "float16", name="W")
    y = topi.nn.conv2d_nhwc(x, w, 1, 0, 1, out_dtype="float32")
    func = te.create_prim_func([x, w, y])
    one = R.MultiLevelTilingTensorCore(
        [wmma()], "SSSRRSRS", ["blockIdx.y", "blockIdx.x", "threadIdx.y"], 4, [1, 2],
        R.ReuseType("must", [4], DYN), R.ReuseType("must", [2], DYN),
    )  # fmt: skip
    sketches = space(func, AMPERE, R.AutoInline(True, True, True, False, False, False, []), one)
    assert any("wmma_sync_16x16x16_f16f16f32" in s.mod["main"].script() for s in sketches)


@T.prim_func
def add(A: T.Buffer((64, 64), "float16"), B: T.Buffer((64, 64), "float16")):
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float16(1)


def test_other_blocks_stay() -> None:
    (sch,) = space(add, AMPERE, rule(wmma()))
    assert "meta_schedule" not in sch.mod["main"].script()


@pytest.mark.parametrize("shape", [(127, 63, 65), (60, 64, 64)])
def test_products_of_any_size_are_padded(shape: tuple[int, int, int]) -> None:
    sch = finished(matmul(*shape, "float16", "float32", False), rule(wmma()))
    check(sch, *arrays(*shape, "float16", "float32", False))


def test_a_row_of_fragments_is_stored_at_a_time() -> None:
    """The layout follows the tiles, also those of another decision."""
    func = matmul(64, 128, 64, "float16", "float32", False)
    (sch,) = space(func, AMPERE, rule(wmma()))
    samples = [i for i in sch.trace.insts if i.kind.name == "SamplePerfectTile"]
    trace = sch.trace.with_decision(samples[0], [1, 1, 1, 2, 2], True)
    trace = trace.with_decision(samples[1], [1, 2, 2, 1, 2], True)
    made = Schedule(func)
    trace.apply_to_schedule(made, True)
    text = made.mod["main"].script()
    assert 'C_reindex_shared_dyn = T.alloc_buffer((1, 4, 4, 2, 16, 16), scope="shared.dyn")' in text
    assert "T.writes(C[v4 + v2 * 16, v5 + v3 * 16 + v1 * 32])" in text
    assert "for ax2 in range(4):" in text


def test_variables_of_one_value() -> None:
    """Of a window of 1x1 only weights have dimensions; a batch of one is part of the rows."""
    x = te.placeholder((1, 16, 16, 64), "float16", name="X")
    w = te.placeholder((1, 1, 64, 64), "float16", name="W")
    func = te.create_prim_func([x, w, topi.nn.conv2d_nhwc(x, w, 1, 0, 1, out_dtype="float32")])
    (sch,) = space(func, AMPERE, rule(wmma()))
    text = sch.mod["main"].script()
    assert "W_reindex_shared_dyn = T.alloc_buffer((1, 1, 64, 64)" in text
    assert "pad_temp[v0 // 256, v0 // 16, v0 % 16, v1]" in text


def test_default_rules_of_tensor_cores() -> None:
    made = [r for r in R.ScheduleRule.create("cuda-tensorcore")
            if isinstance(r, R.MultiLevelTilingTensorCore)]  # fmt: skip
    assert [len(r.intrin_groups) for r in made] == [6, 2]
    assert [r.use_software_pipeline for r in made] == [False, True]


def test_groups_are_checked() -> None:
    with pytest.raises(ValueError, match="a group without 'store'"):
        rule({k: v for k, v in wmma().items() if k != "store"})
    with pytest.raises(ValueError, match="wmma_sync_1x1x1"):
        rule({**wmma(), "compute": "wmma_sync_1x1x1"})
