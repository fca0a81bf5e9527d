from __future__ import annotations

import pytest

from tests.dlight.programs import SPR, reduction, scheduled
from tvm import te
from tvm.dlight.cpu import Fallback
from tvm.dlight.cpu.reduction import lane_count


@pytest.mark.parametrize("combine", [te.sum, te.max, te.min])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((6, 128), (1,)),
        ((6, 50), (1,)),
        ((3, 4, 8, 8), (2, 3)),
        ((12, 40), (0,)),
        ((5, 7, 9), (0, 2)),
        ((200,), (0,)),
        ((4, 6), (1,)),
        ((3, 37), (1,)),
    ],
)
def test_shapes(shape: tuple[int, ...], axes: tuple[int, ...], combine: object) -> None:
    scheduled(Fallback(), reduction(shape, axes, combine))


def test_along_memory() -> None:
    text = scheduled(Fallback(), reduction((6, 128), (1,))).script()
    assert "T.vectorized(64)" in text
    assert text.count("alloc_buffer") == 3


def test_across_memory() -> None:
    after = scheduled(Fallback(), reduction((12, 64), (0,)))
    assert "vectors across the result" in str(after.attrs["schedule_reason"])
    assert 'scope="local"' in after.script()


def test_symbolic_length() -> None:
    n = te.size_var("n")
    a = te.placeholder((4, n), name="A")
    k = te.reduce_axis((0, n), name="k")
    func = te.create_prim_func([a, te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="B")])
    scheduled(Fallback(), func, SPR, sizes={"n": 19})


def test_lanes_divide_where_they_can() -> None:
    assert lane_count(1024, 16) == 64
    assert lane_count(64, 16) == 32
    assert lane_count(1000, 16) == 16
    assert lane_count(None, 16) == 16


@pytest.mark.parametrize("shape", [(64, 768), (6, 96), (3, 100), (2, 3, 64)])
def test_of_everything(shape: tuple[int, ...]) -> None:
    """Several summed variables become one, whether or not a row is whole vectors."""
    after = scheduled(Fallback(), reduction(shape, tuple(range(len(shape)))))
    assert "vectors along the reduction" in str(after.attrs["schedule_reason"])
