from __future__ import annotations

import pytest

from tests.dlight.programs import HASWELL, SPR, reduction, scheduled
from tvm import te, topi
from tvm.dlight.cpu import Fallback
from tvm.dlight.cpu.reduction import lane_count
from tvm.target import Target


@pytest.mark.covering(1)
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


def test_a_plane_of_one_element_is_no_row() -> None:
    """Weights of a convolution after a global mean lie along its sum."""
    x, w = te.placeholder((1, 48, 1, 1), name="X"), te.placeholder((12, 48, 1, 1), name="W")
    func = te.create_prim_func([x, w, topi.nn.conv2d_nchw(x, w, 1, 0, 1)])
    after = scheduled(Fallback(), func)
    assert "vectors along the reduction" in str(after.attrs["schedule_reason"])


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


@pytest.mark.covering(2)
@pytest.mark.parametrize("target", [SPR, HASWELL], ids=str)
@pytest.mark.parametrize(
    ("shape", "axis"), [((16, 256), 0), ((3, 20, 128), 1), ((2, 18, 192), 1), ((4, 24, 2048), 1)]
)
@pytest.mark.parametrize("combine", [te.sum, te.max])
def test_long_rows_are_added_some_at_a_time(
    shape: tuple[int, ...], axis: int, combine: object, target: Target
) -> None:
    """The sums of a whole strip are kept, so that memory is read from end to end."""
    text = scheduled(Fallback(), reduction(shape, (axis,), combine), target).script()
    assert 'scope="local"' not in text
    assert text.count("T.unroll") >= 1


def test_few_or_short_rows_keep_sums_in_registers() -> None:
    for shape in ((15, 256), (64, 64), (17, 512), (64, 1000)):
        text = scheduled(Fallback(), reduction(shape, (0,)), SPR).script()
        assert 'scope="local"' in text, shape
