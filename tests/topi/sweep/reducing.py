"""Reductions, products summed over axes, and running sums."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tests.topi.sweep.case import Case, case, floats, numbers
from tvm import te, tir, topi

SHAPES = [(4,), (3, 4), (2, 3, 4)]
NEAR = 1e-4


def reductions() -> list[Case]:
    cases = []
    for shape in SHAPES:
        ndim = len(shape)
        axes: list[Any] = [None, *range(-ndim, ndim)]
        axes += [(0, ndim - 1), (-1, 0)] if ndim > 1 else []
        for name, axis, kept in product(("sum", "max", "min", "prod"), axes, (False, True)):
            types = ["float32", "int32", "float16", "int64", "uint8"] if axis == -1 else ["float32"]
            for dtype in types:
                cases.append(
                    case(name, [numbers(*shape, dtype=dtype)], reduced(name, axis, kept),
                         tolerance=NEAR if dtype == "float32" else None,
                         symbolic=axis in (None, -1), axis=axis, keepdims=kept)
                )  # fmt: skip
        for name, axis, kept in product(("all", "any"), axes, (False, True)):
            cases.append(
                case(name, [numbers(*shape, dtype="bool")], reduced(name, axis, kept),
                     symbolic=False, axis=axis, keepdims=kept)
            )  # fmt: skip
        for name, axis, kept in product(("argmax", "argmin"), axes[: ndim * 2 + 1], (False, True)):
            for dtype in ("float32", "int32", "uint8"):
                cases.append(
                    case(name, [numbers(*shape, dtype=dtype)], reduced(name, axis, kept, "int32"),
                         symbolic=False, axis=axis, keepdims=kept)
                )  # fmt: skip
    flags = numbers(3, 4, dtype="bool")
    ties = np.float32([[1, 3, 3, 0], [2, 2, 1, 2]])
    x = floats(2, 3, 4)
    cases += [
        case("sum", [flags], lambda a: a.any(1), axis=1),
        case("max", [flags], lambda a: a.any(1), axis=1),
        case("min", [flags], lambda a: a.all(1), axis=1),
        case("argmax", [x], lambda a: a.argmax(1), axis=1, call=with_wide_extents),
        case("argmax", [ties], lambda a: np.int32([2, 3]), symbolic=False, axis=1,
             select_last_index=True),
        case("argmin", [ties], lambda a: np.int32([3, 2]), symbolic=False, axis=1,
             select_last_index=True),
        case("collapse_sum", [x], lambda a: a.sum(0), target_shape=(3, 4), symbolic=False,
             tolerance=NEAR),
        case("collapse_sum", [x], lambda a: a.sum((0, 1), keepdims=True)[0], symbolic=False,
             target_shape=(1, 4), tolerance=NEAR),
        case("collapse_sum", [x], lambda a: a, target_shape=(2, 3, 4), symbolic=False),
    ]  # fmt: skip
    return cases


def reduced(name: str, axis: Any, kept: bool, dtype: Any = None) -> Any:
    wide = lambda a: a.astype("float64") if a.dtype.kind == "f" else a
    return lambda a: np.asarray(getattr(np, name)(wide(a), axis=axis, keepdims=kept)).astype(
        dtype or a.dtype
    )


def with_wide_extents(x: te.Tensor, axis: int) -> te.Tensor:
    """The index has the type of the extents."""
    wide = te.compute([n.astype("int64") for n in x.shape], lambda *i: x(*i))
    return topi.argmax(wide, axis)


def products() -> list[Case]:
    cases = []
    for first, second in product((False, True), repeat=2):
        a, b = floats(*((5, 3) if first else (3, 5))), floats(*((4, 5) if second else (5, 4)))
        cases.append(
            case("matmul", [a, b],
                 lambda a, b, f=first, s=second: (a.T if f else a) @ (b.T if s else b),
                 tolerance=NEAR, transp_a=first, transp_b=second)
        )  # fmt: skip
    for axes, right in (
        (1, (4, 2)), (2, (3, 4, 5)), (((1,), (0,)), (3, 2)), (((1, 2), (0, 1)), (3, 4, 5)),
        (([2, 1], [1, 0]), (3, 4, 5)),
    ):  # fmt: skip
        cases.append(
            case("tensordot", [floats(2, 3, 4), floats(*right)],
                 lambda a, b, x=axes: np.tensordot(a, b, x), tolerance=NEAR, axes=axes)
        )  # fmt: skip
    for subscripts, shapes in (
        ("ij,jk->ik", [(2, 3), (3, 4)]), ("ii->i", [(3, 3)]), ("ii", [(3, 3)]),
        ("ij->ji", [(2, 3)]), ("ij,j", [(2, 3), (3,)]), ("...j,jk->...k", [(2, 3, 4), (4, 5)]),
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]), ("ij->", [(2, 3)]), ("i,j->ij", [(2,), (3,)]),
        ("...ii->...i", [(2, 3, 3)]), ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
    ):  # fmt: skip
        for dtype in ("float32", "int32"):
            arrays = [numbers(*s, dtype=dtype) for s in shapes]
            cases.append(
                case("einsum", arrays, lambda *a, s=subscripts: np.einsum(s, *a),
                     lambda *t, s=subscripts: topi.einsum(s, *t),
                     tolerance=NEAR if dtype == "float32" else None)
            )  # fmt: skip
    return cases


def scans() -> list[Case]:
    cases = []
    types = [("float32", None), ("int32", "int64"), ("bool", "int32"), ("float32", "float64")]
    for name, axis, exclusive, (dtype, out) in product(
        ("cumsum", "cumprod"), (None, 0, -1), (None, True), types
    ):
        cases.append(
            case(name, [numbers(3, 4, dtype=dtype)], scanned(name, axis, exclusive, out),
                 tolerance=NEAR if dtype == "float32" else None, axis=axis, dtype=out,
                 exclusive=exclusive)
        )  # fmt: skip
    cases.append(
        case("scanop", [floats(3, 4)], lambda a: np.maximum.accumulate(a, 1), binop=te.max,
             identity_value=tir.const(-1e9, "float32"), op_name="running_max", axis=1)
    )  # fmt: skip
    return cases


def scanned(name: str, axis: int | None, exclusive: bool | None, out: str | None) -> Any:
    def wanted(a: Any) -> Any:
        dtype = out or a.dtype
        total = getattr(np, name)(a.astype(dtype), axis, dtype=dtype)
        if not exclusive:
            return total
        total = np.moveaxis(np.roll(total, 1, axis or 0), axis or 0, 0)
        total[0] = 0 if name == "cumsum" else 1
        return np.moveaxis(total, 0, axis or 0)

    return wanted


def transforms() -> list[Case]:
    cases = []
    for inverse, transform in ((0, np.fft.fft), (1, np.fft.ifft)):
        def wanted(re: Any, im: Any, f: Any = transform) -> Any:
            both = f(re + 1j * im)
            return [both.real.astype("float32"), both.imag.astype("float32")]

        cases.append(
            case("dft", [floats(4, 8), floats(4, 8) + 1], wanted, tolerance=NEAR, symbolic=False,
                 inverse=tir.IntImm("int32", inverse))
        )  # fmt: skip
    return cases


CASES = [*reductions(), *products(), *scans(), *transforms()]
