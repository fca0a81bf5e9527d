"""Random tensors by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm import runtime
from tvm.ffi import get_global_func

pytestmark = pytest.mark.pure


def filled(name: str, shape: tuple[int, ...], dtype: str, *numbers: Any) -> Any:
    out = runtime.empty(shape, dtype)
    get_global_func("tvm.contrib.random." + name)(*numbers, out)
    return out.numpy()


@pytest.fixture(autouse=True)
def seeded() -> None:
    get_global_func("tvm.contrib.random.seed")(7)


def test_moments() -> None:
    flat = filled("uniform", (100, 100), "float32", 2.0, 4.0)
    assert 2 <= flat.min() <= flat.max() < 4
    assert abs(flat.mean() - 3) < 0.02
    bell = filled("normal", (100, 100), "float64", 3.0, 4.0)
    assert abs(bell.mean() - 3) < 0.2
    assert abs(bell.std() - 4) < 0.1
    dice = filled("randint", (60, 100), "int32", -3, 3)
    assert sorted(set(dice.ravel().tolist())) == [-3, -2, -1, 0, 1, 2]


def test_a_seed_repeats() -> None:
    first = filled("uniform", (8,), "float32", 0.0, 1.0)
    get_global_func("tvm.contrib.random.seed")(7)
    np.testing.assert_array_equal(filled("uniform", (8,), "float32", 0.0, 1.0), first)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32"])
@pytest.mark.parametrize("name", ["random_fill", "random_fill_for_measure"])
def test_fill(dtype: str, name: str) -> None:
    values = filled(name, (50,), dtype)
    assert values.dtype == dtype
    assert np.isfinite(values.astype("float64")).all()
    assert len(set(values.tolist())) > 1


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match=r"low 1\.0, high 1\.0"):
        filled("uniform", (2,), "float32", 1.0, 1.0)
    with pytest.raises(ValueError, match="a standard deviation above 0"):
        filled("normal", (2,), "float32", 0.0, 0.0)
    with pytest.raises(ValueError, match="low 200, high 128 for int8"):
        filled("randint", (2,), "int8", 200, 300)
