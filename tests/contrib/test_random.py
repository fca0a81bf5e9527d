"""Random stages of tensor expressions."""

from __future__ import annotations

from typing import Any

import pytest

from tvm import runtime, te
from tvm.contrib import random
from tvm.driver import compile


def run(out: te.Tensor) -> Any:
    func = compile(te.create_prim_func([out]), target="llvm")["main"]
    result = runtime.empty([int(v) for v in out.shape], str(out.dtype))
    func(result)
    return result.numpy()


def test_each_kind() -> None:
    flat = run(random.uniform(0, 1, size=(64, 32)))
    assert 0 <= flat.min() <= flat.max() < 1
    assert abs(flat.mean() - 0.5) < 0.1
    bell = run(random.normal(3, 4, size=(64, 32)))
    assert abs(bell.mean() - 3) < 1
    assert abs(bell.std() - 4) < 1
    dice = run(random.randint(-2, 3, size=(64, 32)))
    assert dice.dtype == "int32"
    assert set(dice.ravel()) == {-2, -1, 0, 1, 2}


def test_integers_only() -> None:
    with pytest.raises(AssertionError, match="an integer dtype"):
        random.randint(0, 4, size=(2,), dtype="float32")
