"""The spaces that the default rules make of the usual workloads: how many sketches, their tiles.

The texts are those of one seed; a rule or a primitive that changes any of them changes what is
tuned, and what records found before mean.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tvm import te
from tvm.meta_schedule.schedule_rule import AutoInline, MultiLevelTilingTensorCore, ScheduleRule
from tvm.meta_schedule.space_generator import PostOrderApply
from tvm.meta_schedule.testing import te_workload
from tvm.meta_schedule.testing.te_workload import create_te_workload
from tvm.meta_schedule.tune_context import TuneContext
from tvm.target import Target
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import Schedule
from tvm.tir.schedule.testing import verify_trace_roundtrip
from tvm.tir.tensor_intrin.cuda import get_wmma_intrin_group

pytestmark = pytest.mark.pure
TARGETS = {
    "llvm": "aws/cpu/c5.9xlarge",
    "cuda": "nvidia/geforce-rtx-2080",  # before asynchronous copies
    "ampere": "nvidia/geforce-rtx-3070",
}
CONVOLUTIONS = ("C1D", "C2D", "C3D", "CAP", "DEP", "DIL", "GRP", "T2D", "CBR")
COUNTS = {
    "llvm": {"GMM": 3, "TBG": 3, "NRM": 3, "SFM": 9, **dict.fromkeys(CONVOLUTIONS, 3)},
    "cuda": {"GMM": 1, "TBG": 1, "NRM": 2, "SFM": 4, **dict.fromkeys(CONVOLUTIONS, 1)},
    "ampere": {"GMM": 3, "TBG": 3, "NRM": 2, "SFM": 4, **dict.fromkeys(CONVOLUTIONS, 3)},
}
SHAPES = {
    # spatial and reducing loops of each workload, which are cut into (4, 2) or (5, 3) tiles
    "C1D": (3, 2), "C2D": (4, 3), "C3D": (5, 4), "CAP": (6, 4), "DEP": (4, 2), "DIL": (4, 3),
    "GMM": (3, 1), "GRP": (4, 3), "T2D": (4, 3), "CBR": (4, 3), "TBG": (4, 1),
}  # fmt: skip


def space(func: PrimFunc, target: str, rules: list[ScheduleRule]) -> list[Schedule]:
    """The sketches of one seed."""
    generator = PostOrderApply(sch_rules=rules, postprocs=[], mutator_probs={})
    ctx = TuneContext(func, target=Target(target), space_generator=generator, rand_state=7)
    return ctx.generate_design_space()


def of_workload(name: str, kind: str) -> list[Schedule]:
    rules = ScheduleRule.create("llvm" if kind == "llvm" else "cuda")
    return space(create_te_workload(name, 0), TARGETS[kind], rules)


def decided(sch: Schedule) -> list[tuple[str, int]]:
    """The samples of a sketch, and of tiles into how many."""
    made: list[tuple[str, int]] = []
    for inst in sch.trace.insts:
        decision = sch.trace.decisions.get(inst)
        if decision is not None:
            made.append((inst.kind.name, len(decision) if isinstance(decision, list) else 1))
    return made


def texts(sketches: list[Schedule]) -> str:
    return "\n\n".join([f"# sketch {n}\n{s.mod['main'].script()}" for n, s in enumerate(sketches)])


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("name", COUNTS["llvm"])
def test_sketches(name: str, kind: str) -> None:
    mod = create_te_workload(name, 0)
    sketches = of_workload(name, kind)
    assert len(sketches) == COUNTS[kind][name]
    for sch in sketches:
        verify_trace_roundtrip(sch, mod, text_format="json")
        if name not in SHAPES:
            continue
        spatial, reducing = SHAPES[name]
        levels = (4, 2) if kind == "llvm" else (5, 3)
        tiles = [*[levels[0]] * spatial, *[levels[1]] * reducing]
        assert [n for what, n in decided(sch) if what == "SamplePerfectTile"] == tiles


OTHER_KINDS = {
    # of a product, a convolution, a norm, and softmax
    "vnni": ("llvm -mcpu=cascadelake -num-cores=4", (3, 3, 3, 9)),
    "avx512": ("llvm -mcpu=skylake-avx512 -num-cores=4", (3, 3, 3, 9)),
    "asimd": ("llvm -mtriple=aarch64-linux-gnu -mattr=+neon -num-cores=4", (3, 3, 3, 9)),
    "dotprod": ("llvm -mtriple=aarch64-linux-gnu -mattr=+dotprod -num-cores=4", (3, 3, 3, 9)),
    "hexagon": ("hexagon -num-cores=4", (3, 3, 1, 1)),
    "c": ("c", (3, 3, 1, 1)),
    "cuda-tensorcore": ("nvidia/geforce-rtx-3070", (3, 3, 2, 4)),
}


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_sketches_of_other_kinds(kind: str) -> None:
    target, counts = OTHER_KINDS[kind]
    for name, count in zip(("GMM", "C2D", "NRM", "SFM"), counts):
        mod = create_te_workload(name, 0)
        sketches = space(mod, target, ScheduleRule.create(kind))
        assert len(sketches) == count, name
        for sch in sketches:
            verify_trace_roundtrip(sch, mod, text_format="json")


def test_products_of_eight_bits_on_cpus() -> None:
    """Weights packed by sixteen columns and four rows are what the intrinsic multiplies."""
    x, w = te.placeholder((32, 64), "uint8", "X"), te.placeholder((4, 16, 16, 4), "int8", "W")
    ko, ki = te.reduce_axis((0, 16), "ko"), te.reduce_axis((0, 4), "ki")
    y = te.compute(
        (32, 4, 16),
        lambda i, jo, ji: te.sum(
            x[i, ko * 4 + ki].astype("int32") * w[jo, ko, ji, ki].astype("int32"), axis=[ko, ki]
        ),
        name="Y",
    )
    func = te.create_prim_func([x, w, y])
    for kind in ("vnni", "avx512"):
        sketches = space(func, OTHER_KINDS[kind][0], ScheduleRule.create(kind))
        assert len(sketches) == 3
        for sch in sketches:
            text = str(sch.mod)
            assert f'{{"meta_schedule.auto_tensorize": "dot_16x4_{kind}"}}' in text
            text = text.replace("v_", "")
            assert "X[i_o, ko_o * 4:ko_o * 4 + 4], W[jo_o, ko_o, 0:16, 0:4]" in text


@pytest.mark.parametrize("name", ["C1D", "GRP", "T2D", "NRM", "SFM", "CBR"])
def test_texts_on_cpus(name: str, golden: Callable[[str], None]) -> None:
    golden(texts(of_workload(name, "llvm")))


@pytest.mark.parametrize("name", ["C1D", "T2D", "NRM", "SFM", "CBR", "TBG"])
def test_texts_on_gpus(name: str, golden: Callable[[str], None]) -> None:
    golden(texts(of_workload(name, "cuda")))


PRODUCTS = {
    "matmul": lambda: te_workload.matmul_relu(128, 128, 128, "float16", "float32"),
    "odd_matmul": lambda: te_workload.matmul_relu(127, 127, 127, "float16", "float32"),
    "conv2d": lambda: te_workload.conv2d_nhwc(
        1, 16, 16, 32, 32, 3, 1, 1, in_dtype="float16", out_dtype="float32"
    ),
    "conv2d_1x1": lambda: te_workload.conv2d_nhwc(
        1, 16, 16, 64, 64, 1, 1, 0, in_dtype="float16", out_dtype="float32"
    ),
    "odd_conv2d": lambda: te_workload.conv2d_nhwc(
        1, 224, 224, 3, 64, 7, 2, 3, in_dtype="float16", out_dtype="float32"
    ),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_texts_on_tensor_cores(name: str, golden: Callable[[str], None]) -> None:
    group = get_wmma_intrin_group("shared", "shared", "float16", "float32", False)
    rules: list[ScheduleRule] = [
        MultiLevelTilingTensorCore(
            [group], "SSSRRSRS", ["blockIdx.y", "blockIdx.x", "threadIdx.y"], 4,
            [1, 2, 3, 4, 8, 16], {"req": "must", "levels": [4], "scope": "shared"},
            {"req": "must", "levels": [2], "scope": "shared"}, use_software_pipeline=True,
        ),
        *[rule for rule in ScheduleRule.create("cuda") if isinstance(rule, AutoInline)],
    ]  # fmt: skip
    func = te.create_prim_func(PRODUCTS[name]())
    sketches = space(func, "nvidia/geforce-rtx-2080", rules)
    for sch in sketches:
        verify_trace_roundtrip(sch, func, text_format="json")
    golden(texts(sketches))
