"""Sorts and scans of more than a tile, by kernels that run as C++."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm
from tests.backend.device import harness
from tvm import te, topi

pytestmark = [pytest.mark.cpu, pytest.mark.slow]


def on_the_shim(
    make: Callable[[te.Tensor], te.Tensor], x: np.ndarray[Any, Any], kind: str, symbolic: bool
) -> np.ndarray[Any, Any]:
    """What the kernels of an operator give; the last extent may be a symbol."""
    shape = [*x.shape[:-1], te.var("n", "int64") if symbolic else x.shape[-1]]
    a = te.placeholder(shape, str(x.dtype), "a")
    out = make(a)
    func = te.create_prim_func([a, out])
    target = harness.target_of(kind)
    with target:
        rules = tvm.dlight.ApplyDefaultSchedule(*tvm.dlight.gpu.default_rules())
        mod = rules(tvm.IRModule({"main": func}))
    found = np.zeros(x.shape, str(out.dtype))
    harness.run(harness.built(mod, kind), kind, "main", x, found)
    return found


@pytest.mark.parametrize("kind", ["cuda", "opencl"])
def test_places_of_equal_elements_in_runs_and_across_them(kind: str) -> None:
    x = np.random.default_rng(4).integers(0, 40, (2, 1700)).astype("float32")
    found = on_the_shim(lambda a: topi.gpu.argsort(a, 1, True, "int32"), x, kind, True)
    np.testing.assert_array_equal(found, np.argsort(x, 1, kind="stable"))


def test_what_is_no_number_goes_last() -> None:
    x = np.random.default_rng(4).random((1, 1100), "float32")
    x[0, ::3] = np.nan
    found = on_the_shim(lambda a: topi.gpu.sort(a, 1), x, "cuda", False)
    np.testing.assert_array_equal(found, np.sort(x, 1))


@pytest.mark.parametrize("exclusive", [False, True])
def test_running_products_carry_from_tile_to_tile(exclusive: bool) -> None:
    x = np.where(np.random.default_rng(6).random((3, 700)) < 0.5, -1, 1).astype("int32")
    wanted = np.cumprod(x, 1, "int32")
    if exclusive:
        wanted = np.concatenate([np.ones((3, 1), "int32"), wanted[:, :-1]], 1)
    found = on_the_shim(lambda a: topi.gpu.cumprod(a, 1, exclusive=exclusive), x, "metal", True)
    np.testing.assert_array_equal(found, wanted)


def test_running_maxima() -> None:
    x = np.random.default_rng(7).integers(-100, 100, (2, 300)).astype("int32")
    found = on_the_shim(lambda a: topi.gpu.scanop(a, te.max, -128, axis=1), x, "cuda", False)
    np.testing.assert_array_equal(found, np.maximum.accumulate(x, 1))
