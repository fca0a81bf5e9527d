"""Integers of 64 bits in WGSL: the text is WGSL, and computes what numpy does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm
from tests.backend.webgpu.wgsl import Reader
from tests.runtime.device_api.devices import needs
from tvm import te, tir
from tvm.target import Target

pytestmark = pytest.mark.cpu
COUNT = 64
Expr = Any

OPERATIONS: dict[str, tuple[Callable[..., Expr], Callable[..., Any]]] = {
    "add": (lambda a, b: a + b, np.add),
    "sub": (lambda a, b: a - b, np.subtract),
    "mul": (lambda a, b: a * b, np.multiply),
    "floordiv": (tir.floordiv, np.floor_divide),
    "floormod": (tir.floormod, np.remainder),
    "min": (tir.min, np.minimum),
    "max": (tir.max, np.maximum),
    "less": (lambda a, b: a < b, np.less),
    "at least": (lambda a, b: a >= b, np.greater_equal),
    "equal": (lambda a, b: a.equal(b), np.equal),
    "and": (lambda a, b: a & b, np.bitwise_and),
    "not": (lambda a, b: ~a, lambda a, b: np.invert(a)),
    "left": (lambda a, b: a << (b & 63), lambda a, b: a << (b & 63)),
    "right": (lambda a, b: a >> (b & 63), lambda a, b: a >> (b & 63)),
    "select": (lambda a, b: tir.Select(a < b, a - b, b - a),
               lambda a, b: np.where(a < b, a - b, b - a)),
    "by seven": (lambda a, b: a // 7 + a % 7, lambda a, b: a // 7 + a % 7),
    "by eight": (lambda a, b: a // 8 + a % 8, lambda a, b: a // 8 + a % 8),
    "to int32": (lambda a, b: a.astype("int32"), lambda a, b: a.astype("int32")),
    "to bool": (lambda a, b: (a - b).astype("bool"), lambda a, b: (a - b).astype("bool")),
    "to float": (lambda a, b: a.astype("float32"), lambda a, b: a.astype("float32")),
    "from int32": (lambda a, b: a.astype("int32").astype(a.dtype),
                   lambda a, b: a.astype("int32").astype(a.dtype)),
    "from float": (lambda a, b: (b.astype("float32") * 3.0).astype(a.dtype),
                   lambda a, b: (b.astype("float32") * np.float32(3)).astype(a.dtype)),
}  # fmt: skip


def _values(dtype: str) -> tuple[Any, Any]:
    """Large and small numbers of both signs, and places where words carry into each other."""
    rng = np.random.default_rng(11)
    a = rng.integers(-(1 << 62), 1 << 62, COUNT)
    a[:8] = [0, 1, -1, (1 << 32) - 1, 1 << 32, -(1 << 32), (1 << 62) + 5, -(1 << 63)]
    b = rng.integers(-(1 << 20), 1 << 20, COUNT)
    b[:8] = [3, -1, 1, 1, -1, 1 << 20, 7, 5]
    b[b == 0] = 9
    if dtype == "uint64":
        return a.astype("uint64"), np.abs(b).astype("uint64")
    return a, b


def _kernel(name: str, dtype: str) -> tuple[Any, str]:
    """The compiled operation, and the type of its result."""
    a, b = (te.placeholder((COUNT,), dtype, name) for name in "ab")
    c = te.compute((COUNT,), lambda i: OPERATIONS[name][0](a[i], b[i]), name="c")
    sch = tir.Schedule(te.create_prim_func([a, b, c]))
    sch.bind(sch.get_loops(sch.get_block("c"))[0], "threadIdx.x")
    return tvm.compile(sch.mod, Target("webgpu", host="llvm")), str(c.dtype)


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_text(name: str, dtype: str) -> None:
    (device,) = _kernel(name, dtype)[0].mod.imports
    assert Reader(device.inspect_source()).module() == ["main_kernel"]


def test_powers_of_two_divide_by_shifts() -> None:
    """Division bit by bit is for other numbers."""
    texts = [_kernel(name, "int64")[0].mod.imports[0].inspect_source()
             for name in ("by eight", "by seven")]  # fmt: skip
    assert ["pair_divided" in text for text in texts] == [False, True]
    assert "pair_right_signed" in texts[0]


@pytest.mark.device
@needs("webgpu")
@pytest.mark.parametrize("dtype", ["int64", "uint64"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_results(name: str, dtype: str) -> None:
    library, kind = _kernel(name, dtype)
    dev = tvm.webgpu(0)
    arrays = _values(dtype)
    with np.errstate(over="ignore"):
        wanted = OPERATIONS[name][1](*arrays)
    result = tvm.runtime.empty((COUNT,), kind, dev)
    library(*(tvm.runtime.tensor(array, dev) for array in arrays), result)
    if kind == "float32":
        np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-6)
    else:
        np.testing.assert_array_equal(result.numpy(), wanted)
