"""The functions of tir.float_math beside numpy in float64: within 4 ulp, and equal at the edges."""

import math

import numpy as np
import pytest

import tvm
from tvm import tir
from tvm.tir import BufferStore, For, ForKind, PrimFunc, Var, decl_buffer
from tvm.tir.float_math import EXPANSIONS

pytestmark = pytest.mark.cpu

COUNT = 1 << 15
EDGES = [
    0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 0.5, 2.0, 3.0, -3.0, 1e-45, -1e-45,
    1.1754944e-38, 1e-40, 3.4e38, -3.4e38, 88.72, 88.73, -87.3, -103.9, -104.1, 0.625, 38.5, -45.1,
    128.0, -149.0, -150.5, 9.1, 3.9, 1e-10, -1e-10,
]  # fmt: skip
REFERENCE = {
    "exp": np.exp,
    "exp2": np.exp2,
    "exp10": lambda x: np.power(10.0, x),
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "tanh": np.tanh,
    "sigmoid": lambda x: np.where(x < 0, np.exp(x) / (1 + np.exp(x)), 1 / (1 + np.exp(-x))),
    "erf": np.vectorize(math.erf, otypes=["float64"]),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "pow": np.power,
}


def kernel(name: str, lanes: int) -> PrimFunc:
    a, b, c = (decl_buffer((COUNT,), "float32", x) for x in "ABC")
    i, j = Var("i"), Var("j")
    place = i * lanes + j
    args = [a[place], b[place]] if name == "pow" else [a[place]]
    body = BufferStore(c, getattr(tir, name)(*args), [place])
    inner = For(j, 0, lanes, ForKind.VECTORIZED, body)
    outer = For(i, 0, COUNT // lanes, ForKind.SERIAL, inner)
    return PrimFunc([a, b, c], outer, attrs={"global_symbol": "main", "tir.noalias": True})


def inputs(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Random bits, moderate numbers, and all pairs of edges."""
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 2**32, COUNT // 2, dtype=np.uint64).astype(np.uint32).view(np.float32)
    middle = rng.uniform(-12, 12, COUNT // 2).astype(np.float32)
    x = np.concatenate([bits, middle])
    y = rng.permutation(x)
    if name == "pow":
        with np.errstate(invalid="ignore"):
            x[-4096:], y[-4096:] = np.abs(x[-4096:]), np.round(y[-4096:])
    edges = np.array(EDGES, np.float32)
    grid = np.array(np.meshgrid(edges, edges)).reshape(2, -1)
    x[: grid.shape[1]], y[: grid.shape[1]] = grid
    if name in ("sin", "cos", "tan"):
        x[np.abs(x) > 2.0**50] = np.inf  # beyond, the reduction is not exact
    return x, y


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize("name", sorted(REFERENCE))
def test_within_4_ulp(name, lanes):
    x, y = inputs(name)
    found = np.zeros_like(x)
    tvm.compile(kernel(name, lanes))["main"](x, y, found)
    with np.errstate(all="ignore"):
        args = [v.astype(np.float64) for v in ((x, y) if name == "pow" else (x,))]
        exact = REFERENCE[name](*args)
        wanted = exact.astype(np.float32)
        finite = np.isfinite(wanted)
        np.testing.assert_array_equal(found[~finite], wanted[~finite])
        gap = np.abs(found[finite] - exact[finite]) / np.spacing(np.abs(wanted[finite]))
    assert gap.max() <= 4
    signed = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found)[signed], np.signbit(wanted)[signed])


def test_every_function_is_compared():
    assert {key.removeprefix("tir.") for key in EXPANSIONS} == set(REFERENCE)
