from __future__ import annotations

import pytest

from tvm import tir
from tvm.tir import interp
from tvm.tir.data_layout import LayoutError, bijective_layout, layout, mapping_of

pytestmark = pytest.mark.pure


def test_axes() -> None:
    blocked = tir.layout("NCHW16c")
    assert len(blocked) == 5
    assert list(blocked) == ["N", "C", "H", "W", "c"]
    assert blocked[-1] == "c"
    assert (blocked.index_of("W"), blocked.index_of("D")) == (3, -1)
    assert (blocked.factor_of("C"), blocked.factor_of("c"), blocked.factor_of("H")) == (16, 16, -1)
    assert "c" in blocked
    assert "16c" in blocked
    assert "h" not in blocked
    assert tir.layout(blocked) is blocked
    assert len(layout("__undef__")) == 0
    with pytest.raises(IndexError):
        blocked[5]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("NCHWC", "axis C twice"),
        ("NCHW16", "'16' at index 4"),
        ("NCHW0c", "block c without a size"),
        ("NCHWc", "block c without a size"),
        ("NCH4W", "the number 4 before axis W"),
        ("NHW4c", "which is not among the axes"),
        ("N-C", "'-' at index 1"),
    ],
)
def test_texts_that_are_no_layout(text: str, found: str) -> None:
    with pytest.raises(LayoutError, match=rf"Invalid layout '{text}'\n.*{found}"):
        layout(text)


def values(exprs: tuple[tir.PrimExpr, ...]) -> list[int]:
    return [interp.evaluate(e) for e in exprs]


@pytest.mark.parametrize(
    ("source", "target", "index", "wanted"),
    [
        ("NCHW", "NHWC", (1, 2, 3, 4), [1, 3, 4, 2]),
        ("NCHW", "NCHW16c", (1, 35, 3, 4), [1, 2, 3, 4, 3]),
        ("NCHW16c", "NCHW4c", (1, 2, 3, 4, 7), [1, 9, 3, 4, 3]),
        ("OIHW", "OIHW2i8o4i", (9, 21, 1, 2), [1, 2, 1, 2, 1, 1, 1]),
    ],
)
def test_indices_there_and_back(
    source: str, target: str, index: tuple[int, ...], wanted: list[int]
) -> None:
    mapping = mapping_of(source, target)
    there = mapping.forward_index(index)
    assert values(there) == wanted
    assert values(mapping.backward_index(there)) == list(index)


def test_shapes() -> None:
    mapping = mapping_of("NCHW", "NCHW16c")
    assert values(mapping.forward_shape((1, 30, 7, 8))) == [1, 2, 7, 8, 16]
    assert values(mapping.backward_shape((1, 2, 7, 8, 16))) == [1, 32, 7, 8]
    n = tir.Var("n", "int64")
    wide = mapping.forward_shape((n, tir.IntImm("int64", 32), 7, 8))
    assert wide[0] is n
    with pytest.raises(LayoutError, match=r"extent 8 for block c\n.*extent 16"):
        mapping.backward_shape((1, 2, 7, 8, 8))


def test_refuses() -> None:
    with pytest.raises(LayoutError, match=r"axes C, H, N, W and C, D, N, W"):
        mapping_of("NCHW", "NCDW")
    with pytest.raises(LayoutError, match=r"has 4 axes, 2 values"):
        mapping_of("NCHW", "NHWC").forward_index((1, 2))


def test_layouts_of_other_axes_have_no_mapping() -> None:
    for source, target in (
        ("NCHW", "ABCD"), ("__undef__", "NCHW"), ("NCHW", "__undef__"), ("__undef__", "__undef__"),
        ("", "NCHW"), ("NCHW", ""), ("", ""),
    ):  # fmt: skip
        assert bijective_layout(source, target) is None
    assert bijective_layout("NCHW", "NCHW16c") is not None
    assert len(layout("")) == 0


def test_the_dtype_of_a_layout_is_that_of_its_axes() -> None:
    wide = layout("NCHW", dtype="int64")
    assert {a.var.dtype for a in wide.axes} == {"int64"}
    for dtype in ("float32", None):
        with pytest.raises(TypeError, match=r"should be integer type\n.*\n *legal: *int32, int64"):
            layout("NCHW", dtype=dtype)  # type: ignore[arg-type]
