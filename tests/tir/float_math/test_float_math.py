"""tir.float_math beside numpy in a wider type: within 4 ulp, and equal at the edges."""

import math

import numpy as np
import pytest

import tvm
from tvm import tir
from tvm.tir import BufferStore, For, ForKind, PrimFunc, Var, decl_buffer
from tvm.tir.float_math import EXPANSIONS

pytestmark = pytest.mark.cpu

COUNT = 1 << 15
EDGES = {
    "float32": [
        0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -3.0, 1e-45,
        -1e-45, 1.1754944e-38, 1e-40, 3.4e38, -3.4e38, 88.72, 88.73, 89.4, 89.5, -87.3, -103.9,
        -104.1, 0.625, 38.5, -45.1, 128.0, -149.0, -150.5, 9.1, 3.9, 1e-10, -1e-10, 0.99999994,
        1.0000001,
    ],
    "float64": [
        0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -3.0, 5e-324,
        -5e-324, 2.2250738585072014e-308, 1e-310, 1.7e308, -1.7e308, 709.78, 709.79, 710.4,
        710.5, -708.4, -745.1, -745.2, 0.625, 308.2, -323.3, 1024.0, -1074.0, -1075.5, 19.1,
        5.9, 1e-20, -1e-20, 0.9999999999999999, 1.0000000000000002,
    ],
}  # fmt: skip
REFERENCE = {
    "exp": np.exp,
    "exp2": np.exp2,
    "exp10": lambda x: np.power(x.dtype.type(10), x),
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
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "hypot": np.hypot,
}
TWO_OPERANDS = ("pow", "atan2", "hypot", "nextafter")


def kernel(name: str, dtype: str, lanes: int) -> PrimFunc:
    a, b, c = (decl_buffer((COUNT,), dtype, x) for x in "ABC")
    i, j = Var("i"), Var("j")
    place = i * lanes + j
    args = [a[place], b[place]] if name in TWO_OPERANDS else [a[place]]
    body = BufferStore(c, getattr(tir, name)(*args), [place])
    inner = For(j, 0, lanes, ForKind.VECTORIZED, body)
    outer = For(i, 0, COUNT // lanes, ForKind.SERIAL, inner)
    return PrimFunc([a, b, c], outer, attrs={"global_symbol": "main", "tir.noalias": True})


def inputs(name: str, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Random bits, moderate numbers, and all pairs of edges."""
    rng = np.random.default_rng(7)
    width = np.dtype(dtype).itemsize * 8
    bits = rng.integers(0, 2**width, COUNT // 2, dtype=np.uint64).astype(f"uint{width}")
    middle = rng.uniform(-12, 12, COUNT // 4).astype(dtype)
    unit = rng.uniform(-1.5, 1.5, COUNT // 4).astype(dtype)
    x = np.concatenate([bits.view(dtype), middle, unit])
    y = rng.permutation(x)
    if name == "pow":
        with np.errstate(invalid="ignore"):
            x[-4096:], y[-4096:] = np.abs(x[-4096:]), np.round(y[-4096:] * 8)
        x[-8192:-4096] = np.exp2(rng.uniform(-1, 1, 4096))
        y[-8192:-4096] = rng.uniform(-1000, 1000, 4096)
    edges = np.array(EDGES[dtype], dtype)
    grid = np.array(np.meshgrid(edges, edges)).reshape(2, -1)
    x[: grid.shape[1]], y[: grid.shape[1]] = grid
    return x, y


def exact_values(name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    wide = np.float64 if x.dtype == np.float32 else np.longdouble
    args = [v.astype(wide) for v in ((x, y) if name in TWO_OPERANDS else (x,))]
    return REFERENCE[name](*args)


def run(name: str, dtype: str, lanes: int, target: str) -> tuple[np.ndarray, ...]:
    x, y = inputs(name, dtype)
    found = np.zeros_like(x)
    tvm.compile(kernel(name, dtype, lanes), target=target)["main"](x, y, found)
    return x, y, found


@pytest.mark.covering(2)
@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", sorted(REFERENCE))
def test_within_4_ulp(name, dtype, lanes):
    compare(name, *run(name, dtype, lanes, "llvm"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["exp", "exp2", "exp10", "sinh", "sigmoid", "pow"])
def test_without_the_instruction_that_scales(name, dtype):
    """CPUs before AVX-512 have none."""
    compare(name, *run(name, dtype, 8, "llvm -mattr=-avx512f"))


def compare(name: str, x: np.ndarray, y: np.ndarray, found: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        exact = exact_values(name, x, y)
        wanted = exact.astype(x.dtype)
        finite = np.isfinite(wanted)
        wrong = (found != wanted) & ~(np.isnan(found) & np.isnan(wanted)) & ~finite
        assert not wrong.any(), (x[wrong][:5], y[wrong][:5], found[wrong][:5], wanted[wrong][:5])
        gap = np.abs(found[finite] - exact[finite]) / np.spacing(np.abs(wanted[finite]))
    worst = int(np.argmax(np.where(np.isnan(gap), np.inf, gap)))
    assert gap[worst] <= 4, (x[finite][worst], y[finite][worst], found[finite][worst], gap[worst])
    signed = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found)[signed], np.signbit(wanted)[signed])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_neighbours(dtype):
    x, y, found = run("nextafter", dtype, 8, "llvm")
    wanted = np.nextafter(x, y)
    np.testing.assert_array_equal(found, wanted)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(wanted)[numbers])


def test_every_function_is_compared():
    assert {key.removeprefix("tir.") for key in EXPANSIONS} == {*REFERENCE, "nextafter"}


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_sines_of_huge_numbers_near_whole_turns(name):
    """Where the reduction loses most: float32 numbers close to multiples of pi / 2."""
    rng = np.random.default_rng(3)
    turns = np.floor(np.exp2(rng.uniform(40, 52, 400_000)))
    near = (turns * (np.pi / 2)).astype("float32")
    size = np.abs(np.sin(near.astype("float64")))
    worst = near[np.argsort(np.minimum(size, np.abs(np.cos(near.astype("float64")))))][:COUNT]
    found = np.zeros_like(worst)
    tvm.compile(kernel(name, "float32", 16))["main"](worst, worst, found)
    compare(name, worst, worst, found)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("exponent", [1.0, 2.0, -1.0, 0.5, 3.0])
def test_powers_of_few_steps(exponent: float, dtype: str) -> None:
    """Literal exponents: results of float32 are rounded once."""
    a, c = decl_buffer((COUNT,), dtype, "A"), decl_buffer((COUNT,), dtype, "C")
    i, j = Var("i"), Var("j")
    place = i * 8 + j
    store = BufferStore(c, tir.pow(a[place], tir.const(exponent, dtype)), [place])
    inner = For(j, 0, 8, ForKind.VECTORIZED, store)
    outer = For(i, 0, COUNT // 8, ForKind.SERIAL, inner)
    func = PrimFunc([a, c], outer, attrs={"global_symbol": "main", "tir.noalias": True})
    x, _ = inputs("sqrt", dtype)
    found = np.zeros_like(x)
    tvm.compile(func, target="llvm")["main"](x, found)
    compare("pow", x, np.full_like(x, exponent), found)
    if dtype == "float32":
        with np.errstate(all="ignore"):
            # an array: of one number numpy takes the root, whose signs differ
            wanted = np.power(x.astype("float64"), np.full(x.shape, exponent)).astype(dtype)
        np.testing.assert_array_equal(found, wanted)
