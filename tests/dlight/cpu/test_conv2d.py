from __future__ import annotations

import pytest

from tests.dlight.programs import HASWELL, NEON, SPR, conv, matmul, scheduled
from tvm import te, topi
from tvm.dlight.cpu import Conv2D
from tvm.target import Target


@pytest.mark.parametrize(
    ("n", "ci", "co", "h", "kernel", "stride", "pad"),
    [
        (1, 4, 8, 8, 3, 1, 1),
        (2, 3, 5, 7, 3, 1, 0),
        (1, 2, 8, 9, 3, 2, 1),
        (1, 3, 6, 12, 5, 2, 2),
        (2, 4, 8, 6, 1, 2, 0),
        (1, 1, 4, 16, 3, 1, 1),
    ],
)
def test_shapes(n: int, ci: int, co: int, h: int, kernel: int, stride: int, pad: int) -> None:
    scheduled(Conv2D(), conv(n, ci, co, h, kernel, stride, pad))


@pytest.mark.parametrize("target", [SPR, HASWELL], ids=str)
def test_epilogue_is_part_of_the_store(target: object) -> None:
    text = scheduled(Conv2D(), conv(1, 4, 8, 8, epilogue=True), target).script()  # type: ignore[arg-type]
    assert "C = T.alloc_buffer" not in text
    assert text.count('scope="local"') == 1


def test_panel_is_gathered_in_runs() -> None:
    text = scheduled(Conv2D(), conv(1, 2, 8, 8)).script()
    assert "for ax1_1 in T.vectorized(8):" in text


def test_symbolic_batch() -> None:
    n = te.size_var("n")
    x = te.placeholder((n, 2, 6, 6), name="X")
    w = te.placeholder((4, 2, 3, 3), name="W")
    c, ry, rx = (te.reduce_axis((0, e), name=s) for e, s in ((2, "c"), (3, "ry"), (3, "rx")))
    y = te.compute(
        (n, 4, 4, 4),
        lambda b, f, i, j: te.sum(x[b, c, i + ry, j + rx] * w[f, c, ry, rx], axis=[c, ry, rx]),
        name="C",
    )
    after = scheduled(Conv2D(), te.create_prim_func([x, w, y]), sizes={"n": 3})
    assert 'T.parallel(n, annotations={"parallel_grain": ' in after.script()


def test_products_are_left_to_gemm() -> None:
    assert Conv2D().apply(matmul(8, 8, 8), SPR, False) is None


def test_transposed_weights() -> None:
    """As in a transposed convolution of stride one: the weights lie turned around."""
    x, w = te.placeholder((1, 3, 9, 9), name="X"), te.placeholder((3, 8, 3, 3), name="W")
    c, ry, rx = (te.reduce_axis((0, n), name=name) for n, name in ((3, "c"), (3, "ry"), (3, "rx")))
    turned = te.compute((8, 3, 3, 3), lambda f, c, i, j: w[c, f, 2 - i, 2 - j], name="T")
    y = te.compute(
        (1, 8, 7, 7),
        lambda b, f, i, j: te.sum(
            x[b, c, i + ry, j + rx] * turned[f, c, ry, rx], axis=[c, ry, rx]
        ),
        name="Y",
    )
    after = scheduled(Conv2D(), te.create_prim_func([x, w, y]))
    assert "tile" in str(after.attrs["schedule_reason"])


@pytest.mark.parametrize("height", [9, 33])
def test_images_of_one_column(height: int) -> None:
    """A convolution over a sequence, written with a second dimension of one."""
    x = te.placeholder((2, 5, height, 1), name="X")
    w = te.placeholder((16, 5, 3, 1), name="W")
    c, r = te.reduce_axis((0, 5), name="c"), te.reduce_axis((0, 3), name="r")
    s = te.reduce_axis((0, 1), name="s")
    y = te.compute(
        (2, 16, height - 2, 1),
        lambda b, f, i, j: te.sum(x[b, c, i + r, j + s] * w[f, c, r, s], axis=[c, r, s]),
        name="C",
    )
    after = scheduled(Conv2D(), te.create_prim_func([x, w, y]))
    assert "tile" in str(after.attrs["schedule_reason"])


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", [SPR, HASWELL, NEON])
@pytest.mark.parametrize(("filters", "groups", "stride"), [(6, 2, 1), (8, 4, 2), (4, 2, 1)])
def test_groups_of_any_size(filters: int, groups: int, stride: int, target: Target) -> None:
    """Each group is a convolution of its own over one copy of all planes."""
    n, h, w = (te.size_var(name) for name in "nhw")
    x = te.placeholder((n, 8, h, w), name="X")
    weight = te.placeholder((filters, 8 // groups, 3, 3), name="W")
    y = topi.nn.group_conv2d_nchw(x, weight, stride, 1, 1, groups)
    bias = te.placeholder((filters, 1, 1), name="bias")
    for func in (
        te.create_prim_func([x, weight, y]),
        te.create_prim_func([x, weight, bias, topi.nn.relu(topi.add(y, bias))]),
    ):
        after = scheduled(Conv2D(), func, target, {"n": 2, "h": 5, "w": 9})
        assert "planes of any size" in str(after.attrs["schedule_reason"])


def test_depthwise_is_left_to_windows() -> None:
    n, h, w = (te.size_var(name) for name in "nhw")
    x, weight = te.placeholder((n, 8, h, w), name="X"), te.placeholder((8, 1, 3, 3), name="W")
    y = topi.nn.depthwise_conv2d_nchw(x, weight, 1, 1, 1)
    assert Conv2D().apply(te.create_prim_func([x, weight, y]), SPR, False) is None
