from __future__ import annotations

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
