"""Operators on one operand or two, element by element."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import scipy.special

from tests.topi.sweep.case import Case, case, floats, ints, numbers
from tvm import topi

SHAPES = [((), ()), ((3,), (3,)), ((2, 1, 4), (3, 1)), ((4,), (2, 3, 4))]
ANY_TYPE = ["float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64"]
FLOATS = ["float32", "float64", "float16"]
WIDE = {"float32": 2e-5}


def make(shape: Any, dtype: str) -> Any:
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    return floats(*shape, low=0, high=4).astype(kind) if "float" in dtype else numbers(
        *shape, dtype=dtype
    )  # fmt: skip


def exact(function: Any) -> Any:
    """The function worked out in double precision, in the type of its operand."""
    return lambda x: function(x.astype("float64")).astype(x.dtype)


def of_two() -> list[Case]:
    cases = []
    for left, right in SHAPES:
        for name in ("add", "subtract", "multiply", "maximum", "minimum"):
            for dtype in ANY_TYPE if len(left) == 3 else ["float32"]:
                pair = [make(left, dtype), make(right, dtype)]
                cases.append(case(name, pair, getattr(np, name)))
        for name in ("greater", "less", "equal", "not_equal", "greater_equal", "less_equal"):
            for dtype in ("float32", "int32", "uint8"):
                cases.append(case(name, [make(left, dtype), make(right, dtype)], getattr(np, name)))
        for dtype in ("int32", "int64", "int8"):
            a = ints(*left, dtype=dtype, low=-100, high=100)
            b = (-ints(*right, low=1)).astype(dtype)
            cases += [
                case("divide", [a, b], lambda a, b: np.trunc(a / b).astype(a.dtype)),
                case("floor_divide", [a, b], np.floor_divide),
                case("floor_mod", [a, b], np.mod),
                case("mod", [a, b], np.fmod),
            ]
        for dtype in FLOATS:
            a, b = floats(*left, dtype=dtype, low=-9, high=9), floats(*right, dtype=dtype, low=1)
            cases += [
                case("divide", [a, b], np.divide),
                case("floor_divide", [a, b], lambda a, b: np.floor(a / b)),
                case("mod", [a, b], np.fmod),
                case("log_add_exp", [a, b], np.logaddexp),
                case("power", [np.abs(a) + a.dtype.type(0.1), b], np.power),
            ]
        a, b = floats(*left, low=-9, high=9), floats(*right, low=1)
        cases.append(case("floor_mod", [a, b], np.mod))
        cases.append(case("power", [ints(*left), ints(*right, low=0, high=4)], np.power))
        for dtype in ("int32", "uint8", "int64"):
            pair = [numbers(*left, dtype=dtype), numbers(*right, dtype=dtype)]
            for name in ("left_shift", "right_shift", "bitwise_and", "bitwise_or", "bitwise_xor"):
                cases.append(case(name, pair, getattr(np, name)))
        pair = [numbers(*left, dtype="bool"), numbers(*right, dtype="bool")]
        for name in ("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or"):
            cases.append(case(name, pair, getattr(np, name)))
        cases.append(case("logical_not", pair[:1], np.logical_not))
        for dtype in ("bool", "int32", "uint8"):
            cases.append(case("bitwise_not", [numbers(*left, dtype=dtype)], np.bitwise_not))
    return cases


def with_numbers() -> list[Case]:
    cases = []
    for name in ("add", "subtract", "multiply", "maximum", "minimum", "power", "greater"):
        function, rule = getattr(topi, name), getattr(np, name)
        for dtype in ("float32", "float16", "int32", "int64"):
            a = make((3, 2), dtype)
            cases += [
                case(name, [a], lambda a, r=rule: r(a, a.dtype.type(2)),
                     lambda x, f=function: f(x, 2)),
                case(name, [a], lambda a, r=rule: r(a.dtype.type(2), a),
                     lambda x, f=function: f(2, x)),
            ]  # fmt: skip
    for dtype in ("int32", "int64"):
        a = numbers(4, 3, dtype=dtype)
        cases += [
            case("left_shift", [a], lambda a: a << a.dtype.type(2),
                 lambda x: topi.left_shift(x, 2)),
            case("right_shift", [a], lambda a: a >> a.dtype.type(1),
                 lambda x: topi.right_shift(x, 1)),
            case("math.left_shift", [a], lambda a: a << a.dtype.type(2), n=2),
            case("math.right_shift", [a], lambda a: a >> a.dtype.type(1), n=1),
        ]  # fmt: skip
    return cases


EVERYWHERE = {
    "identity": lambda x: x, "negative": np.negative, "exp": np.exp, "erf": scipy.special.erf,
    "tanh": np.tanh, "tan": np.tan, "cos": np.cos, "cosh": np.cosh, "sin": np.sin,
    "sinh": np.sinh, "atan": np.arctan, "asinh": np.arcsinh, "floor": np.floor, "ceil": np.ceil,
    "trunc": np.trunc, "sign": np.sign, "abs": np.abs, "round": np.round,
    "sigmoid": scipy.special.expit,
}  # fmt: skip
WITHIN = {
    "acos": (np.arccos, -0.99, 0.99), "asin": (np.arcsin, -0.99, 0.99),
    "acosh": (np.arccosh, 1.1, 4), "atanh": (np.arctanh, -0.95, 0.95), "log": (np.log, 0.1, 9),
    "log2": (np.log2, 0.1, 9), "log10": (np.log10, 0.1, 9), "sqrt": (np.sqrt, 0, 9),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 0.1, 9),
}  # fmt: skip


def of_one() -> list[Case]:
    cases = []
    for name, function in EVERYWHERE.items():
        for dtype in FLOATS:
            x = floats(2, 20, dtype=dtype)
            cases.append(case(name, [x], exact(function), tolerance=WIDE.get(dtype)))
        cases.append(case(name, [floats(2, 20, dtype=ml_dtypes.bfloat16)], exact(function)))
        cases.append(case(name, [floats()], exact(function), tolerance=2e-5))
    for name, (function, low, high) in WITHIN.items():
        for dtype in FLOATS:
            x = floats(2, 20, dtype=dtype, low=low, high=high)
            cases.append(case(name, [x], exact(function), tolerance=WIDE.get(dtype)))
    for name in ("identity", "negative", "abs", "sign", "floor", "ceil", "trunc", "round"):
        for dtype in ("int32", "int8", "int64"):
            cases.append(case(name, [ints(2, 9, dtype=dtype)], exact(EVERYWHERE[name])))
    odd = np.array([1, np.nan, np.inf, -np.inf, 0, -0.0])
    for name in ("isnan", "isfinite", "isinf"):
        for dtype in FLOATS:
            cases.append(case(name, [odd.astype(dtype)], getattr(np, name)))
        cases.append(case(name, [ints(4)], getattr(np, name)))
    for name, function in (
        ("fast_exp", np.exp), ("fast_tanh", np.tanh), ("fast_erf", scipy.special.erf),
    ):  # fmt: skip
        for dtype in FLOATS:
            x = floats(99, dtype=dtype, low=-9, high=9)
            near = {"float32": 2e-5, "float64": 1e-9}.get(dtype)
            cases.append(case(name, [x], exact(function), tolerance=near))
    return cases


def typed() -> list[Case]:
    cases = []
    for dtype in (*FLOATS, "int32", "int8", "uint8", "int64"):
        x = make((3, 7), dtype)
        both = lambda x: np.clip(x, 1, 3).astype(x.dtype)
        upper = lambda x: np.minimum(x, 3).astype(x.dtype)
        cases.append(case("clip", [x], both, a_min=1, a_max=3))
        cases.append(case("clip", [x], upper, a_min=-100.0, a_max=3.0))
        for other in ("float32", "float16", "int32", "int8", "uint8", "bool", "int64"):
            cases.append(case("cast", [x], lambda x, d=other: x.astype(d), dtype=other))
        cases.append(case("full_like", [x], lambda x: np.full_like(x, 2), fill_value=2))
        cases.append(case("full", [], lambda d=dtype: np.full((3, 2), 2, d), symbolic=False,
                          shape=(3, 2), dtype=dtype, fill_value=2))  # fmt: skip
    cases += [
        case("cast", [numbers(4, dtype="bool")], lambda x: x.astype("int8"), dtype="int8"),
        case("reinterpret", [floats(3, 4)], lambda x: x.view("int32"), dtype="int32"),
        case("reinterpret", [ints(3, 4)], lambda x: x.view("float32"), dtype="float32"),
        case("reinterpret", [floats(4, dtype="float16")], lambda x: x.view("uint16"),
             dtype="uint16"),
        case("elemwise_sum", [floats(3, 4)] * 3, lambda *t: sum(t),
             lambda *t: topi.elemwise_sum(t)),
    ]  # fmt: skip
    for multiplier, shift in ((1073741824, 1), (1288490189, -2), (2147483647, 0), (1395864371, 3)):
        cases.append(
            case("fixed_point_multiply", [ints(20, low=-1000, high=1000)],
                 lambda x, m=multiplier, s=shift: scaled(x, m, s),
                 multiplier=multiplier, shift=shift)
        )  # fmt: skip
    return cases


def scaled(x: Any, multiplier: int, shift: int) -> Any:
    bits = 31 - shift
    return ((x.astype("int64") * multiplier + (1 << (bits - 1))) >> bits).astype("int32")


CASES = [*of_two(), *with_numbers(), *of_one(), *typed()]
