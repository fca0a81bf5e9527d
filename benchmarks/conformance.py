"""Operators x data types x {one element, vector of 16}: machine code beside numpy.

    python benchmarks/conformance.py            # prints the table
    python benchmarks/conformance.py --write    # also writes docs/conformance.md

Every row runs on the same kinds of numbers: zeros of both signs, denormals, the largest and the
smallest, infinities, NaN, and random ones of all magnitudes. The reference is computed in a wider
type and rounded once; a distance is counted in units of the last place of the row's type.
"""

from __future__ import annotations

import argparse
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import erf
from pathlib import Path

import ml_dtypes
import numpy as np

import tvm
from tvm import tir
from tvm.ir import Op, PrimExpr

PAGE = Path(__file__).resolve().parents[1] / "docs" / "conformance.md"
INTEGERS = tuple(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64))
FLOATS = ("float16", "bfloat16", "float32", "float64")
LANES = (1, 16)
COUNT = 1024                    # elements a row
HEADER = """# Conformance of operators

Written by `python benchmarks/conformance.py --write`. Each operator runs as machine code, element
by element and in vectors of 16, on zeros of both signs, denormals, extremes, infinities, NaN and
random numbers of all magnitudes. The figure is the largest distance from the reference in units of
the last place (`exact`: none); the reference is computed in a wider type and rounded once. Two
figures in one cell are those of single elements and of vectors, where they differ. NaN,
infinities and the signs of zeros have to agree, apart from the sign of a zero that `min` and `max`
choose among equals. Integers wrap; divisors are not zero, shifts lie below the width.

"""

Make = Callable[..., PrimExpr]


@dataclass(frozen=True)
class Row:
    """One operator: how to write it in TIR, and what numpy has for it."""

    name: str
    make: Make
    reference: Callable[..., np.ndarray]
    operands: int = 1
    result: str | None = None                       # the type, where it is not the operands'
    pick: Callable[..., np.ndarray] | None = None   # which inputs have a meaning
    loose_zero: bool = False                        # zeros of both signs are the same
    own: bool = False                               # the reference computes in the row's type


def _call(name: str, dtype: str | None = None) -> Make:
    op = Op.get("tir." + name)
    return lambda *args: tir.Call(dtype or args[0].dtype, op, list(args))


def _truth(name: str) -> Make:
    """A question about a number, answered in as many lanes as it has."""
    op = Op.get("tir." + name)
    return lambda x: tir.Call(tir.EQ(x, x).dtype, op, [x])


# --- what is asked of numbers with a point ---


def _each(function: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: np.array([function(float(v)) for v in x])


def _fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a * b + c rounded once: exact fractions where all are finite and the sum is no zero."""
    found = a * b + c
    for i, parts in enumerate(zip(a, b, c)):
        if all(np.isfinite(v) for v in parts):
            x, y, z = (Fraction(float(v)) for v in parts)
            if x * y + z != 0:
                found[i] = _nearest(x * y + z, found.dtype)
    return found


def _nearest(exact: Fraction, kind: np.dtype) -> np.generic:
    """The number of the type that is nearest, the even one of two."""
    try:
        guess = np.asarray(float(exact)).astype(kind)[()]
    except OverflowError:
        return kind.type(np.inf if exact > 0 else -np.inf)
    ends = [np.nextafter(guess, kind.type(side)) for side in (-np.inf, np.inf)]
    near = [v for v in (guess, *ends) if np.isfinite(v)]
    whole = f"int{kind.itemsize * 8}"
    best = min(near, key=lambda v: (abs(Fraction(float(v)) - exact), int(v.view(whole)) & 1))
    return best if np.isfinite(guess) else guess


def _sigmoid(x: np.ndarray) -> np.ndarray:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, small) / (1 + small)


def _float_rows(dtype: str) -> Iterable[Row]:
    for name in ("sin", "cos", "tan"):
        yield Row(name, _call(name), getattr(np, name))
    functions = {
        "exp": np.exp, "exp2": np.exp2, "exp10": lambda x: np.power(x.dtype.type(10), x),
        "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "tanh": np.tanh,
        "sigmoid": _sigmoid, "erf": _each(erf),
        "rsqrt": lambda x: 1 / np.sqrt(x), "asin": np.arcsin, "acos": np.arccos,
        "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh,
        "acosh": np.arccosh, "atanh": np.arctanh, "floor": np.floor, "ceil": np.ceil,
        "trunc": np.trunc, "round": np.rint, "nearbyint": np.rint, "fabs": np.abs,
    }  # fmt: skip
    for name, function in functions.items():
        yield Row(name, _call(name), function)
    for name, function in {
        "pow": np.power, "atan2": np.arctan2, "hypot": np.hypot, "copysign": np.copysign,
        "fmod": np.fmod,
    }.items():  # fmt: skip
        yield Row(name, _call(name), function, operands=2)
    yield Row("nextafter", _call("nextafter"), np.nextafter, operands=2, own=True)
    yield Row("fma", _call("fma"), _fma, operands=3, own=True)
    yield Row("sqrt", _call("sqrt"), np.sqrt, own=True)
    yield Row("ldexp", _ldexp, lambda x: np.ldexp(x, 3))
    yield Row("negate", lambda x: -x, np.negative)
    yield Row("add", tir.Add, operator.add, operands=2, own=True)
    yield Row("sub", tir.Sub, operator.sub, operands=2, own=True)
    yield Row("mul", tir.Mul, operator.mul, operands=2, own=True)
    yield Row("div", tir.Div, np.divide, operands=2, own=True)
    yield Row("min", tir.Min, np.minimum, operands=2, loose_zero=True)
    yield Row("max", tir.Max, np.maximum, operands=2, loose_zero=True)
    for name in ("isnan", "isinf", "isfinite"):
        yield Row(name, _truth(name), getattr(np, name), result="bool")


def _ldexp(x: PrimExpr) -> PrimExpr:
    three = tir.const(3, "int32")
    return tir.Call(x.dtype, Op.get("tir.ldexp"), [x, three])


# --- what is asked of whole numbers ---


def _integer_rows(dtype: str) -> Iterable[Row]:
    kind = np.dtype(dtype)
    lowest = np.iinfo(kind).min

    def divides(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return (b != 0) & ~((a == lowest) & (b == kind.type(-1 if lowest else 0)))

    def shifts(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return (b >= 0) & (b < kind.itemsize * 8)

    def quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        down = a // b
        return down + ((a % b != 0) & ((a < 0) != (b < 0))).astype(kind)

    def bits(a: np.ndarray) -> np.ndarray:
        return np.array([bin(int(v)).count("1") for v in a.view(f"uint{kind.itemsize * 8}")], kind)

    def zeros(a: np.ndarray) -> np.ndarray:
        width = kind.itemsize * 8
        return np.array([width - int(v).bit_length() for v in a.view(f"uint{width}")], kind)

    for name, make, function in (
        ("add", tir.Add, operator.add), ("sub", tir.Sub, operator.sub),
        ("mul", tir.Mul, operator.mul), ("min", tir.Min, np.minimum),
        ("max", tir.Max, np.maximum),
        ("bitwise_and", _call("bitwise_and"), operator.and_),
        ("bitwise_or", _call("bitwise_or"), operator.or_),
        ("bitwise_xor", _call("bitwise_xor"), operator.xor),
    ):  # fmt: skip
        yield Row(name, make, function, operands=2)
    for name, make, function in (
        ("div", tir.Div, quotient), ("mod", tir.Mod, np.fmod),
        ("floordiv", tir.FloorDiv, operator.floordiv), ("floormod", tir.FloorMod, operator.mod),
    ):  # fmt: skip
        yield Row(name, make, function, operands=2, pick=divides)
    yield Row("shift_left", _call("shift_left"), operator.lshift, 2, pick=shifts)
    yield Row("shift_right", _call("shift_right"), operator.rshift, 2, pick=shifts)
    yield Row("bitwise_not", _call("bitwise_not"), np.invert)
    yield Row("popcount", _call("popcount"), bits)
    yield Row("clz", _call("clz"), zeros)
    yield Row("abs", tir.abs, np.abs)


def _common_rows(dtype: str) -> Iterable[Row]:
    compare = {
        "eq": (tir.EQ, np.equal), "ne": (tir.NE, np.not_equal), "lt": (tir.LT, np.less),
        "le": (tir.LE, np.less_equal), "gt": (tir.GT, np.greater), "ge": (tir.GE, np.greater_equal),
    }  # fmt: skip
    for name, (make, function) in compare.items():
        yield Row(name, make, function, operands=2, result="bool")
    yield Row("select", lambda a, b: tir.Select(tir.LT(a, b), a, b),
              lambda a, b: np.where(a < b, a, b), operands=2)  # fmt: skip
    for target in ("float16", "bfloat16", "float32", "float64"):
        if target != dtype:
            yield Row(f"cast to {target}", lambda x, t=target: tir.Cast(_like(t, x), x),
                      lambda x: x, result=target)  # fmt: skip
    for target in ("int8", "uint8", "int32", "int64"):
        yield Row(f"cast to {target}", lambda x, t=target: tir.Cast(_like(t, x), x),
                  lambda x, t=target: x.astype(t), result=target,
                  pick=None if dtype in INTEGERS else _inside(target))  # fmt: skip


def _like(dtype: str, x: PrimExpr) -> str:
    return dtype if x.dtype.is_scalar else f"{dtype}x{x.dtype.lanes}"


def _inside(target: str) -> Callable[[np.ndarray], np.ndarray]:
    low, high = float(np.iinfo(target).min), float(np.iinfo(target).max)
    return lambda x: (np.trunc(x) >= low) & (np.trunc(x) <= high) & (np.abs(x) < 2.0**63)


def rows_of(dtype: str) -> list[Row]:
    """All operators that take this type."""
    own = _integer_rows(dtype) if dtype in INTEGERS else _float_rows(dtype)
    return [*own, *_common_rows(dtype)]


# --- numbers to try ---


def numpy_type(dtype: str) -> np.dtype:
    """The numpy type of that name."""
    return np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def numbers(dtype: str, seed: int) -> np.ndarray:
    """Special and random numbers of a type, in an order that differs between seeds."""
    source, kind = np.random.default_rng(seed), numpy_type(dtype)
    unsigned = f"uint{kind.itemsize * 8}"
    anything = source.integers(0, 1 << (kind.itemsize * 8), COUNT, unsigned, endpoint=False)
    if dtype in INTEGERS:
        limits = np.iinfo(kind)
        small = source.integers(max(limits.min, -9), 20, COUNT // 2).astype(kind)
        edge = np.array([0, 1, 2, 3, limits.min, limits.max, limits.max - 1], kind)
        return _mixed(source, kind, edge, [small, anything.view(kind)])
    limits = ml_dtypes.finfo(kind)
    edge = np.array([0.0, limits.smallest_subnormal, limits.tiny, float(limits.tiny) / 2, 0.5, 1.0,
                     1.5, 2.0, 2.5, 3.0, limits.max, np.inf, np.nan], kind)  # fmt: skip
    small = [source.uniform(-r, r, COUNT // 4).astype(kind) for r in (1, 10, 100)]
    return _mixed(source, kind, np.concatenate([edge, -edge]), [*small, anything.view(kind)])


def _mixed(
    source: np.random.Generator, kind: np.dtype, edge: np.ndarray, rest: Sequence[np.ndarray]
) -> np.ndarray:
    """The edges thrice, so that pairs of them meet, and others, shuffled."""
    every = np.concatenate([edge] * 3 + list(rest)).astype(kind)[:COUNT]
    every = every[source.permutation(COUNT)]
    return np.resize(every, COUNT)


# --- running and comparing ---


def _program(row: Row, dtype: str, lanes: int, name: str) -> tir.PrimFunc:
    """out[i] = row(a[i], ...) in a plain or a vectorized loop."""
    given = [tir.decl_buffer((COUNT,), dtype, "abc"[n]) for n in range(row.operands)]
    out = tir.decl_buffer((COUNT,), row.result or dtype, "out")
    i, j = tir.Var("i", "int32"), tir.Var("j", "int32")
    place = i * lanes + j if lanes > 1 else i
    body: tir.Stmt = tir.BufferStore(out, row.make(*[b[place] for b in given]), [place])
    if lanes > 1:
        body = tir.For(j, 0, lanes, tir.ForKind.VECTORIZED, body)
    body = tir.For(i, 0, COUNT // lanes, tir.ForKind.SERIAL, body)
    return tir.PrimFunc([*given, out], body, attrs={"global_symbol": name, "tir.noalias": True})


def _inputs(row: Row, dtype: str) -> list[np.ndarray]:
    """Numbers on which the row has a meaning; others are replaced by ones."""
    given = [numbers(dtype, seed) for seed in range(row.operands)]
    if "shift" in row.name:
        width = given[1].dtype.itemsize * 8
        given[1] = np.resize(np.arange(width), COUNT).astype(given[1].dtype)
    if row.pick is not None:
        wide = [_wider(x, dtype) for x in given]
        with np.errstate(all="ignore"):
            keep = row.pick(*wide)
        given = [np.where(keep, x, x.dtype.type(1)) for x in given]
    return given


def _wider(x: np.ndarray, dtype: str) -> np.ndarray:
    """In a type with digits to spare; whole numbers stay as they are."""
    if dtype in INTEGERS:
        return x
    with np.errstate(invalid="ignore"):                 # signalling NaN
        return x.astype(np.longdouble if dtype == "float64" else np.float64)


def distance(found: np.ndarray, wanted: np.ndarray, loose_zero: bool) -> float:
    """The largest distance in units of the last place; infinite where the kinds differ."""
    if wanted.dtype.kind in "iub":
        return 0 if np.array_equal(found, wanted) else np.inf
    nan, zero = np.isnan(wanted), wanted == 0
    with np.errstate(invalid="ignore"):                 # signalling NaN
        nan_found, zero_found = np.isnan(found), found == 0
    if not np.array_equal(nan, nan_found):
        return np.inf
    signs = np.signbit(found) == np.signbit(wanted)
    if not loose_zero and not np.all(signs[zero & zero_found]):
        return np.inf
    steps = _ordered(found) - _ordered(wanted)
    return float(np.max(np.abs(steps[~nan]), initial=0))


def _ordered(x: np.ndarray) -> np.ndarray:
    """Neighbours differ by one; zeros of both signs are the same."""
    raw = x.view(f"int{x.dtype.itemsize * 8}").astype(np.float64 if x.dtype.itemsize < 8 else
                                                      np.longdouble)  # fmt: skip
    lowest = -(2.0 ** (x.dtype.itemsize * 8 - 1))
    return np.where(raw < 0, lowest - raw, raw)


def measure(dtype: str, rows: Sequence[Row], lanes: int) -> dict[str, float]:
    """Distance by operator, all of them compiled as one module."""
    names = {row.name: f"row{n}" for n, row in enumerate(rows)}
    made = {names[row.name]: _program(row, dtype, lanes, names[row.name]) for row in rows}
    library = tvm.compile(tvm.IRModule(made), target="llvm")
    found = {}
    for row in rows:
        given = _inputs(row, dtype)
        kind = numpy_type(row.result or dtype)
        out = np.zeros(COUNT, kind)
        tensors = [tvm.runtime.tensor(x) for x in (*given, out)]
        library[names[row.name]](*tensors)
        with np.errstate(all="ignore"):
            wide = given if row.own else [_wider(x, dtype) for x in given]
            wanted = row.reference(*wide).astype(kind)
        found[row.name] = distance(tensors[-1].numpy(), wanted, row.loose_zero)
    return found


def table(dtypes: Sequence[str], only: Sequence[str] = ()) -> list[str]:
    """The lines of the table in Markdown."""
    figures: dict[str, dict[str, str]] = {}
    for dtype in dtypes:
        rows = [row for row in rows_of(dtype) if not only or row.name in only]
        sides = [measure(dtype, rows, lanes) for lanes in LANES]
        for row in rows:
            texts = [_text(side[row.name]) for side in sides]
            both = texts[0] if texts[0] == texts[1] else " / ".join(texts)
            figures.setdefault(row.name, {})[dtype] = both
    lines = ["| operator | " + " | ".join(dtypes) + " |", "|---" * (len(dtypes) + 1) + "|"]
    for name, cells in figures.items():
        lines.append(f"| {name} | " + " | ".join(cells.get(d, "") for d in dtypes) + " |")
    return lines


def _text(value: float) -> str:
    return "exact" if value == 0 else "wrong" if np.isinf(value) else f"{value:.0f}"


def page() -> str:
    """The whole document."""
    parts = [HEADER]
    for title, dtypes in (("Numbers with a point", FLOATS), ("Whole numbers", INTEGERS)):
        parts += [f"## {title}\n\n", "\n".join(table(dtypes)), "\n\n"]
    return "".join(parts).rstrip() + "\n"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="also write docs/conformance.md")
    options = parser.parse_args()
    text = page()
    print(text)
    if options.write:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
