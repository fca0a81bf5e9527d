"""Candidates that compute something else are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tvm.meta_schedule.runner.right_results import (
    WrongResultError,
    check_results,
    largest_difference,
)
from tvm.runtime import tensor

pytestmark = pytest.mark.cpu


class Compiled:
    """A module with one function: what it makes of x is written to y."""

    entry_name = "main"

    def __init__(self, computes: Callable[[Any], Any]) -> None:
        self.computes = computes

    def __getitem__(self, name: str) -> Callable[..., None]:
        return lambda x, y: y.copyfrom(self.computes(x.numpy()).astype("float32"))


def check(computes: Callable[[Any], Any]) -> None:
    args = [tensor(np.float32([1, 2, 3, 4])), tensor(np.zeros(4, "float32"))]
    check_results(Compiled(computes), Compiled(np.exp), args)  # type: ignore[arg-type]
    assert (args[1].numpy() == 0).all(), "what is measured later begins with the same arguments"


def test_right_ones_pass() -> None:
    check(lambda x: np.exp(x) * (1 + 1e-5))


@pytest.mark.parametrize("wrong", [lambda x: np.exp(x) + 0.5, lambda x: x * np.nan])
def test_wrong_ones_do_not(wrong: Callable[[Any], Any]) -> None:
    with pytest.raises(WrongResultError, match=r"wrong result\n.*argument 1 is off by"):
        check(wrong)


def test_differences() -> None:
    one = np.array([1.0, -4.0, np.inf, np.nan])
    assert largest_difference(one, one.copy()) == 0.0
    assert largest_difference(one, one + np.array([0.0, 1.0, 0.0, 0.0])) == 0.25
    assert largest_difference(one, np.array([1.0, -4.0, 0.0, np.nan])) == np.inf
    assert largest_difference(np.zeros(2), np.array([0.0, 1e-9])) == np.inf
