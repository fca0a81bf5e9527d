from __future__ import annotations

import pytest

from tests.dlight.gpu.lowered import CUDA, KINDS, check, target
from tests.dlight.gpu.workloads import elementwise
from tests.dlight.programs import reduction
from tvm import te, tir
from tvm.dlight.gpu import AnyReduction, Reduction


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("shape", "axes"),
    [((7, 130), (1,)), ((130, 7), (0,)), ((40,), (0,)), ((3, 5, 20), (1, 2)), ((3, 20, 8), (1,))],
)
def test_sums(kind: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    check(Reduction(), reduction(shape, axes), target(kind))


def with_epilogue(broadcast: bool, along: bool) -> tir.PrimFunc:
    a = te.placeholder((6, 48) if along else (48, 6), name="A")
    k = te.reduce_axis((0, 48), name="k")
    s = te.compute((6,), lambda i: te.sum(a[i, k] if along else a[k, i], axis=k), name="S")
    if broadcast:
        return te.create_prim_func([a, te.compute((6, 9), lambda i, j: s[i] + j, name="B")])
    return te.create_prim_func([a, te.compute((6,), lambda i: s[i] + 1.0, name="B")])


@pytest.mark.parametrize("broadcast", [False, True])
@pytest.mark.parametrize("along", [False, True])
def test_epilogues(broadcast: bool, along: bool) -> None:
    text = str(check(Reduction(), with_epilogue(broadcast, along), target("vulkan")))
    assert ('scope="shared"' in text) is broadcast


@pytest.mark.parametrize("combine", [te.max, te.min])
@pytest.mark.parametrize(("shape", "axes"), [((7, 130), (1,)), ((130, 7), (0,))])
def test_extremes(combine: object, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    func = reduction(shape, axes, combine)
    check(AnyReduction(), func, CUDA)
    assert Reduction().apply(func, CUDA, False) is None


def test_other_functions_are_left() -> None:
    assert Reduction().apply(elementwise(8, 8), CUDA, False) is None


def test_the_form() -> None:
    text = str(check(Reduction(), reduction((7, 130), (1,)), CUDA))
    assert 'T.thread_binding(7, thread="blockIdx.x")' in text
    assert 'T.thread_binding(128, thread="threadIdx.x")' in text
    assert '"pragma_auto_unroll_max_step": 256' in text
    assert "B_rf_init" in text
