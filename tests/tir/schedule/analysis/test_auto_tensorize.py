from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.tir.schedule.cases import matmul, row_sum
from tests.tir.schedule.primitive.test_tensorize import desc
from tvm import te, tir
from tvm.ir.structural import structural_equal
from tvm.tir import IndexMap
from tvm.tir.schedule import Schedule
from tvm.tir.schedule.analysis import get_auto_tensorize_mapping_info
from tvm.tir.tensor_intrin.cuda import MMA_f16f16f16_INTRIN
from tvm.tir.tensor_intrin.dot_product_common import DP4A_S8S8S32_INTRIN


def batched() -> tir.PrimFunc:
    a = te.placeholder((2, 8, 8), name="A")
    b = te.placeholder((2, 8, 8), name="B")
    r = te.reduce_axis((0, 8), name="k")
    c = te.compute((2, 8, 8), lambda n, i, j: te.sum(a[n, i, r] * b[n, r, j], axis=r), name="C")
    return te.create_prim_func([a, b, c])


def conv(batch: int) -> tir.PrimFunc:
    a = te.placeholder((batch, 10, 10, 4), name="A")
    b = te.placeholder((3, 3, 4, 4), name="B")
    rh, rw, rc = [te.reduce_axis((0, extent), name="r") for extent in (3, 3, 4)]
    c = te.compute(
        (batch, 8, 8, 4),
        lambda n, h, w, f: te.sum(a[n, h + rh, w + rw, rc] * b[rh, rw, rc, f], axis=[rh, rw, rc]),
        name="C",
    )
    return te.create_prim_func([a, b, c])


@pytest.mark.parametrize(
    ("func", "expected"),
    [
        (matmul(), lambda i, j, k: (i, j, k)),
        (batched(), lambda n, i, j, k: (n, i, j, k)),
        (conv(4), lambda n, h, w, f, rh, rw, rc: (
            n * 64 + h * 8 + w, f, rh * 12 + rw * 4 + rc
        )),
        # variables of one value too
        (conv(1), lambda n, h, w, f, rh, rw, rc: (
            n * 64 + h * 8 + w, f, rh * 12 + rw * 4 + rc
        )),
        (matmul(1), lambda i, j, k: (i, j, k)),
        (matmul(8, 1), lambda i, j, k: (i, j, k)),
        (matmul(8, 8, 1), lambda i, j, k: (i, j, k)),
    ],
)  # fmt: skip
def test_mappings(func: tir.PrimFunc, expected: Callable) -> None:
    sch = Schedule(func)
    info = get_auto_tensorize_mapping_info(sch, sch.get_block("C"), desc)
    (found,) = info.mappings
    assert structural_equal(found, IndexMap.from_func(expected, index_dtype="int32")), str(found)
    names = {ours.name: theirs.name for ours, theirs in info.lhs_buffer_map.items()}
    assert names == {"A": "A", "B": "B", "C": "C"}
    assert [iv.var.name for iv in info.rhs_iters] == ["vi", "vj", "vk"]
    assert len(info.lhs_iters) == len(found.initial_indices)
    assert {b.name: [str(i) for i in at] for b, at in info.rhs_indices.items()} == {
        "C": ["vi", "vj"], "A": ["vi", "vk"], "B": ["vk", "vj"],
    }  # fmt: skip


def test_another_computation() -> None:
    sch = Schedule(row_sum())
    assert get_auto_tensorize_mapping_info(sch, sch.get_block("B"), desc) is None


def test_axes_that_are_not_told_apart() -> None:
    a = te.placeholder((8, 8, 4), name="A")
    b = te.placeholder((3, 4), name="B")
    r = te.reduce_axis((0, 3), name="k")
    depthwise = te.compute((6, 8, 4), lambda i, w, c: te.sum(a[i + r, w, c] * b[r, c], r), name="C")
    sch = Schedule(te.create_prim_func([a, b, depthwise]))
    assert get_auto_tensorize_mapping_info(sch, sch.get_block("C"), desc) is None

    registers = tir.TensorIntrin.get(MMA_f16f16f16_INTRIN).desc
    x, y = te.placeholder((16, 16), "float16", "A"), te.placeholder((16, 16), "float16", "B")
    r = te.reduce_axis((0, 16), name="k")
    product = te.compute((16, 16), lambda i, j: te.sum(x[i, r] * y[r, j], r), name="C")
    sch = Schedule(te.create_prim_func([x, y, product]))
    assert get_auto_tensorize_mapping_info(sch, sch.get_block("C"), registers) is None


def test_rejects_a_description_at_literals() -> None:
    dot = tir.TensorIntrin.get(DP4A_S8S8S32_INTRIN).desc
    x, y = te.placeholder((16, 16), "int8", "A"), te.placeholder((16, 16), "int8", "B")
    r = te.reduce_axis((0, 16), name="k")
    product = te.compute(
        (16, 16),
        lambda i, j: te.sum(x[i, r].astype("int32") * y[j, r].astype("int32"), r),
        name="C",
    )
    sch = Schedule(te.create_prim_func([x, y, product]))
    with pytest.raises(ValueError, match="an index of the description is no variable"):
        get_auto_tensorize_mapping_info(sch, sch.get_block("C"), dot)
