"""Integers and floats of a few bits: all ways to run a program give what ml_dtypes says."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tvm
from tvm import te, tir
from tvm.tir import interp

pytestmark = pytest.mark.cpu

SIZE = 64
TYPES = (
    "int1", "int2", "int4", "uint2", "uint4",
    "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn",
)  # fmt: skip


def program(dtype: str, *, vectors: bool) -> tir.PrimFunc:
    """The larger of two numbers, their sum as a float, and how many bits of an integer are set."""
    a, b = (te.placeholder((SIZE,), dtype, name) for name in "ab")
    large = te.compute((SIZE,), lambda i: te.max(a[i], b[i]), "large")
    total = te.compute(
        (SIZE,), lambda i: (a[i].astype("float32") + b[i].astype("float32")).astype(dtype), "total"
    )
    bits = te.compute(
        (SIZE,), lambda i: tir.popcount(a[i]) if "int" in dtype else a[i], "bits"
    )
    sch = tir.Schedule(te.create_prim_func([a, b, large, total, bits]))
    for name in ("large", "total", "bits") if vectors else ():
        _, lane = sch.split(sch.get_loops(name)[0], factors=[None, 8])
        sch.vectorize(lane)
    return sch.mod["main"]


def numbers(dtype: str, seed: int) -> np.ndarray:
    """Every number of the type."""
    kind, bits = np.dtype(getattr(ml_dtypes, dtype)), tvm.DataType(dtype).bits
    codes = np.random.default_rng(seed).permutation(SIZE) % (1 << bits)
    return codes.astype(kind) if "int" in dtype else codes.astype("uint8").view(kind)


def expected(a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
    x, y = a.astype("float32"), b.astype("float32")
    through = x + y if "float" in a.dtype.name else (x + y).astype("int32")
    total = through.astype(a.dtype).astype("float32")
    if "float" in a.dtype.name:
        return [np.maximum(x, y), total, x]
    mask = (1 << tvm.DataType(a.dtype.name).bits) - 1
    counts = [(int(value) & mask).bit_count() for value in a.astype("int64")]
    return [np.maximum(x, y), total, np.array(counts).astype(a.dtype).astype("float32")]


@pytest.mark.parametrize("vectors", [False, True])
@pytest.mark.parametrize("target", ["interpreter", "llvm", "llvm -opt-level=0", "c"])
@pytest.mark.parametrize("dtype", TYPES)
def test_all_ways_agree(dtype: str, target: str, vectors: bool) -> None:
    func = program(dtype, vectors=vectors)
    a, b = numbers(dtype, 0), numbers(dtype, 1)
    if target == "interpreter":
        found = [np.zeros(SIZE, a.dtype) for _ in range(3)]
        interp.run(func, a, b, *found)
    else:
        made = [tvm.runtime.empty((SIZE,), dtype) for _ in range(3)]
        tvm.compile(func, target=target)(tvm.runtime.tensor(a), tvm.runtime.tensor(b), *made)
        found = [one.numpy() for one in made]
    for one, want in zip(found, expected(a, b)):
        np.testing.assert_array_equal(one.astype("float32"), want)
