from __future__ import annotations

import pytest

from tvm.exec.command import Mistake
from tvm.exec.shapes import parse_several, parse_shapes, show_shape

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("", {}),
        ("x:[1,1,8,8]", {"x": [1, 1, 8, 8]}),
        ("x: [1, 2] , y:[3]", {"x": [1, 2], "y": [3]}),
        ("x:[1] y:[2] z:[]", {"x": [1], "y": [2], "z": []}),
        ("scope/in:0:[4]", {"scope/in:0": [4]}),
        ("empty:[0,3]", {"empty": [0, 3]}),
    ],
)
def test_reads(text: str, shapes: dict[str, list[int]]) -> None:
    assert parse_shapes(text) == shapes
    shown = " ".join(f"{name}:{show_shape(shape)}" for name, shape in shapes.items())
    assert parse_shapes(shown) == shapes


@pytest.mark.parametrize(
    ("text", "found", "column"),
    [
        ("x", "'x' is not a name and a shape", 0),
        ("x:[1] y", "'y' is not a name and a shape", 6),
        ("x:[1", "'x:[1' is not a name and a shape", 0),
        ("x:[1, a]", "dimension 'a' of 'x'", 6),
        ("x:[-1]", "dimension '-1' of 'x'", 3),
        ("x:[1,]", "dimension '' of 'x'", 5),
        ("x:[1] x:[1]", "'x' is given twice", 6),
    ],
)
def test_refuses_and_points(text: str, found: str, column: int) -> None:
    with pytest.raises(Mistake) as caught:
        parse_shapes(text)
    lines = str(caught.value).splitlines()
    assert lines[0] == "--input-shapes cannot be read"
    assert found in lines[1]
    assert lines[2] == f"  where: {text}"
    assert lines[3].index("^") - len("  where: ") == column


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("", []),
        ("x:1,3,8,8", [{"x": [1, 3, 8, 8]}]),
        ("x:1,3;2,3", [{"x": [1, 3]}, {"x": [2, 3]}]),
        ("a/b:0:1;2 y:3,1;4,1", [{"a/b:0": [1], "y": [3, 1]}, {"a/b:0": [2], "y": [4, 1]}]),
        ("x:", [{"x": []}]),
    ],
)
def test_reads_several(text: str, shapes: list[dict[str, list[int]]]) -> None:
    assert parse_several(text) == shapes


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x", "'x' is not a name and its shapes"),
        ("x:1 x:2", "'x' is given twice"),
        ("x:1,a", "dimension 'a' of 'x'"),
        ("x:1,-2", "dimension '-2' of 'x'"),
        ("x:1;2 y:1", "2 for 'x', 1 for 'y'"),
    ],
)
def test_refuses_several(text: str, found: str) -> None:
    with pytest.raises(Mistake, match="--shapes cannot be read") as caught:
        parse_several(text)
    assert found in str(caught.value)
