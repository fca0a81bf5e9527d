from __future__ import annotations

import pytest

from tests.dlight.gpu.lowered import (
    ADRENO,
    CUDA,
    KINDS,
    arguments,
    check,
    kernel,
    scheduled,
    target,
)
from tests.dlight.gpu.workloads import dequantized, elementwise, product
from tests.dlight.programs import conv, reduction
from tvm import te, tir, topi
from tvm.dlight.gpu import Matmul
from tvm.dlight.gpu.matmul import (
    IterKind,
    IterTrait,
    auto_inline_consumer_chain,
    check_sm_version,
    detect_iter_traits,
    get_block_info,
    get_in_out_dtypes,
    get_index_map,
    get_reduction_blocks,
    make_iter_fusion_index_map,
)
from tvm.target import Target
from tvm.tir.schedule import Schedule, ScheduleError


@pytest.mark.parametrize("kind", KINDS)
def test_products(kind: str) -> None:
    check(Matmul(), product(5, 6, 9, epilogue=True), target(kind))


@pytest.mark.parametrize("kind", ["cuda", "webgpu"])
def test_products_of_batches_and_columns(kind: str) -> None:
    check(Matmul(), product(5, 6, 9, batch=2, transposed=False), target(kind))


def test_convolutions_are_products_of_places_and_channels() -> None:
    check(Matmul(), conv(1, 3, 4, 6), target("vulkan"))


def test_borders_are_read_right_into_the_tile() -> None:
    data, weight = te.placeholder((1, 3, 6, 5), name="A"), te.placeholder((4, 3, 3, 3), name="W")
    out = topi.nn.conv2d(data, weight, strides=1, padding=1, dilation=1)
    text = str(check(Matmul(), te.create_prim_func([data, weight, out]), target("vulkan")))
    assert "pad_temp = " not in text
    assert "_reindex = " not in text


def test_symbolic_rows() -> None:
    func = product("n", 6, 8, epilogue=True)
    text = str(check(Matmul(), func, target("vulkan"), sizes={"n": 35}))
    assert 'T.thread_binding((n + 31) // 32, thread="blockIdx.x")' in text


def test_the_form_on_cuda() -> None:
    text = str(scheduled(Matmul(), product(64, 128, 64), CUDA))
    for part in (
        'T.thread_binding(16, thread="threadIdx.y")', 'thread="vthread.x"', "T.vectorized(2)",
        '"buffer_dim_align": [[0, 1, 8, 2]]', '"pragma_auto_unroll_max_step": 256',
        'C_reindex_local = T.alloc_buffer((1, 64, 128), scope="local")',
    ):  # fmt: skip
        assert part in text


def test_other_functions_are_left() -> None:
    assert Matmul().apply(elementwise(8, 8), CUDA, False) is None
    assert Matmul().apply(reduction((8, 8), (1,)), CUDA, False) is None


def test_traits_of_a_product() -> None:
    sch = Schedule(product(4, 5, 6, batch=2))
    (block,) = get_reduction_blocks(sch, [sch.get_block("C")]) or []
    traits = detect_iter_traits(sch.get(block))
    assert traits is not None
    s, i, j, k, _ = IterKind
    assert [t.kind for t in traits[3]] == [s, i, j, k]
    assert [t.kind for t in traits[0]] == [s, i, k]
    assert get_index_map(sch.get(block)) is not None
    assert get_block_info(sch, block).dom_kind() == "SSSR"
    assert get_in_out_dtypes(sch.get(block)) == ("float32", "float32")


def test_fusion_maps() -> None:
    s, i, j, k, t = IterKind
    four = tir.IntImm("int64", 4)
    traits = [IterTrait(i, four), IterTrait(t, four), IterTrait(i, four), IterTrait(k, four)]
    made = make_iter_fusion_index_map(traits, [s, i, k])
    found = [str(index) for index in made.final_indices]
    assert found == ["T.int64(0)", "i0 * T.int64(4) + i2", "i3"]
    with pytest.raises(ValueError, match="Unknown iter kind"):
        make_iter_fusion_index_map(traits, [s, j])


def test_sm_versions() -> None:
    assert [check_sm_version(a) for a in ("sm_86", "sm_90a", "unknown")] == [86, 90, -1]


def test_consumers_that_cannot_be_inlined() -> None:
    a = te.placeholder((8, 8), name="A")
    b = te.compute((8, 8), lambda i, j: a[i, j] + 1.0, name="B")
    k = te.reduce_axis((0, 8), name="k")
    c = te.compute((8,), lambda i: te.sum(b[i, k], axis=k), name="C")
    sch = Schedule(te.create_prim_func([a, c]))
    with pytest.raises(ScheduleError, match="behind 'B'"):
        auto_inline_consumer_chain(sch, sch.get_block("B"))


def test_weights_unpacked_on_phones() -> None:
    func = dequantized(64, 64, transposed=False, rows="n")
    text = str(check(Matmul(), func, ADRENO, sizes={"n": 3}))
    assert 'thread="threadIdx.x"' in text


def test_extents_below_a_tile_are_left_to_registers() -> None:
    on = Target("nvidia/nvidia-a100")
    text = str(scheduled(Matmul(), product(128, 128, 64, dtype="float16"), on))
    assert "wmma" not in text
    assert len(arguments(product(4, 4, 4))) == 3
    assert kernel(scheduled(Matmul(), product(128, 128, 64, dtype="float16"), on), on)


def test_a_batch_of_single_rows_is_a_product_of_them() -> None:
    a = te.placeholder((te.var("n"), 1, 128), "float16", "A")
    b = te.placeholder((128, 256), "float16", "B")
    r = te.reduce_axis((0, 128), name="k")
    c = te.compute((a.shape[0], 1, 256), lambda i, j, k: te.sum(a[i, j, r] * b[r, k], r), "C")
    text = str(scheduled(Matmul(), te.create_prim_func([a, b, c]), Target("nvidia/nvidia-a100")))
    assert "wmma.accumulator" in text
