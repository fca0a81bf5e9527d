from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tvm.exec.command import Mistake
from tvm.exec.signature import in_order, random_arrays, record, show

pytestmark = pytest.mark.pure


class Value(NamedTuple):
    name: str
    shape: tuple[int | str, ...]
    dtype: str


X = Value("x", (1, 8), "float32")
IDS = Value("ids", (3,), "int64")
OPEN = Value("x", ("n", 8), "float32")


def test_shows() -> None:
    assert show(OPEN) == "x: float32 [n, 8]"
    assert record([OPEN]) == [{"name": "x", "shape": ["n", 8], "dtype": "float32"}]


def test_arrays_by_name_in_the_order_of_parameters() -> None:
    a, b = np.zeros(1), np.ones(1)
    assert in_order([X, IDS], {"ids": b, "x": a}, "in.npz") == [a, b]


@pytest.mark.parametrize(
    ("arrays", "text"),
    [
        ({"x": 0}, "1 of 2 inputs; missing: ids"),
        ({"x": 0, "id": 0}, "an array 'id', which is no input; did you mean 'ids'?"),
        ({"x": 0, "ids": 0, "other": 0}, "an array 'other', which is no input"),
    ],
)
def test_wrong_names(arrays: dict[str, int], text: str) -> None:
    with pytest.raises(Mistake) as caught:
        in_order([X, IDS], {k: np.asarray(v) for k, v in arrays.items()}, "'in.npz'")
    assert text in str(caught.value)
    assert "legal: x: float32 [1, 8], ids: int64 [3]" in str(caught.value)


@pytest.mark.parametrize("array", [
    np.zeros(1, "complex64"), np.array(["a"]), np.zeros(1, "M8[s]"), np.zeros(1, "V2"),
    np.zeros(1, [("a", "i2"), ("b", "i2")]),
])  # fmt: skip
def test_types_that_no_input_has(array: np.ndarray) -> None:
    with pytest.raises(Mistake, match=r"'x' of a type that no input has") as caught:
        in_order([OPEN], {"x": array}, "in.npz")
    assert str(array.dtype) in str(caught.value)


def test_files_of_numpy_keep_the_size_of_a_narrow_float(tmp_path: Path) -> None:
    import ml_dtypes

    given = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    np.save(tmp_path / "x.npy", given)
    (found,) = in_order([Value("x", (2,), "bfloat16")], {"x": np.load(tmp_path / "x.npy")}, "in")
    assert found.dtype == given.dtype
    assert found.tolist() == [1.5, -2.0]


def test_random_arrays_fit_and_repeat() -> None:
    narrow = Value("w", (4,), "bfloat16")
    first, second = random_arrays([X, IDS, narrow]), random_arrays([X, IDS, narrow])
    assert [(a.shape, str(a.dtype)) for a in first.values()] == [
        ((1, 8), "float32"),
        ((3,), "int64"),
        ((4,), "bfloat16"),
    ]
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])


def test_open_shapes_have_no_random_arrays() -> None:
    with pytest.raises(Mistake, match=r"found: x: float32 \[n, 8\] leaves dimensions open"):
        random_arrays([OPEN])
