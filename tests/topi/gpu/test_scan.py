"""Scans on threads of a GPU, run by the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import te, tir, topi

pytestmark = pytest.mark.pure


@pytest.mark.covering(1)
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("symbolic", [False, True])
def test_scans_along_an_axis(axis: int, symbolic: bool) -> None:
    x = floats(3, 4, 5)
    before = np.cumsum(x, axis) - x
    close(evaluate(lambda a: topi.gpu.exclusive_scan(a, axis), x, symbolic=symbolic), before,
          atol=1e-5)  # fmt: skip
    close(evaluate(lambda a: topi.gpu.inclusive_scan(a, axis), x, symbolic=symbolic),
          np.cumsum(x, axis), atol=1e-5)  # fmt: skip


def test_totals_beside_the_scan() -> None:
    x = floats(3, 4)
    scan, total = evaluate(lambda a: topi.gpu.exclusive_scan(a, return_reduction=True), x)
    close(scan, np.cumsum(x, 1) - x, atol=1e-5)
    close(total, x.sum(1), atol=1e-5)
    scan, total = evaluate(
        lambda a: topi.gpu.exclusive_scan(a, 0, True, binop=tir.generic.multiply,
                                          identity_value=1), x
    )  # fmt: skip
    close(total, x.prod(0), atol=1e-5)


def test_the_statement_fills_scan_and_total() -> None:
    x = np.arange(6, dtype="int32").reshape(2, 3)
    data, out, total = (
        tir.decl_buffer(shape, "int32", name)
        for shape, name in (((2, 3), "data"), ((2, 3), "out"), ((2,), "total"))
    )
    stmt = topi.gpu.scan.exclusive_scan_ir(data, out, total)
    func = tir.PrimFunc([data.data, out.data, total.data], stmt, None, {
        data.data: data, out.data: out, total.data: total})  # fmt: skip
    results = np.zeros((2, 3), "int32"), np.zeros(2, "int32")
    tir.interp.run(func.with_attr("global_symbol", "main"), x, *results)
    np.testing.assert_array_equal(results[0], np.cumsum(x, 1) - x)
    np.testing.assert_array_equal(results[1], x.sum(1))


def test_reduction_from_a_scan() -> None:
    x = floats(3, 4)
    total = evaluate(topi.gpu.scan.get_reduction_from_exclusive_scan, x,
                     (np.cumsum(x, 1) - x).astype("float32"))  # fmt: skip
    close(total, x.sum(1), atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"axis": 1, "exclusive": True}])
def test_sums_and_products(options: dict[str, Any]) -> None:
    x = floats(3, 4)
    for ours, numpy, first in ((topi.gpu.cumsum, np.cumsum, 0), (topi.gpu.cumprod, np.cumprod, 1)):
        wanted = numpy(x, options.get("axis"))
        if options.get("exclusive"):
            wanted = np.roll(wanted, 1, 1)
            wanted[:, 0] = first
        close(evaluate(lambda a, f=ours: f(a, **options), x), wanted, atol=1e-5)


def test_other_operations_and_types() -> None:
    x = np.array([[3, 1, 4, 1, 5]], "int8")
    largest = evaluate(lambda a: topi.gpu.scanop(a, te.max, -128, axis=1, dtype="int32"), x)
    np.testing.assert_array_equal(largest, np.maximum.accumulate(x.astype("int32"), 1))


def test_thrust_is_called_by_name() -> None:
    x = te.placeholder((2, 3), "float32", "x")
    scan, total = topi.gpu.scan.scan_thrust(x, "float32", return_reduction=True)
    text = te.create_prim_func([x, scan, total]).script()
    assert "tvm.contrib.thrust.sum_scan" in text
    with pytest.raises(ValueError, match="legal operations"):
        topi.gpu.scan.scan_thrust(x, "float32", binop=te.max_value)
