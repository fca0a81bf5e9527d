from __future__ import annotations

import pytest

from tests.dlight.programs import HASWELL, NEON, SPR, scheduled
from tvm import te, tir
from tvm.dlight.cpu import Fallback
from tvm.target import Target


def permuted(shape: tuple[int, ...], axes: tuple[int, ...], dtype: str = "float32") -> tir.PrimFunc:
    a = te.placeholder(shape, dtype, name="A")
    out = [shape[axis] for axis in axes]

    def read(*places: tir.Var) -> tir.PrimExpr:
        return a[tuple(places[axes.index(axis)] for axis in range(len(shape)))]

    return te.create_prim_func([a, te.compute(out, read, name="B")])


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", [SPR, HASWELL, NEON], ids=str)
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((32, 16), (1, 0)),
        ((16, 272), (1, 0)),
        ((2, 32, 48), (0, 2, 1)),
        ((2, 16, 3, 32), (0, 2, 3, 1)),
        ((16, 2, 3, 16), (3, 1, 2, 0)),
    ],
)
def test_squares(shape: tuple[int, ...], axes: tuple[int, ...], target: Target) -> None:
    after = scheduled(Fallback(), permuted(shape, axes), target)
    assert "turned in registers" in str(after.attrs["schedule_reason"])
    assert "T.Shuffle" in after.script()


@pytest.mark.parametrize("dtype", ["int32", "float64", "int64", "int8", "float16"])
def test_types(dtype: str) -> None:
    """No more than 16 rows: short elements fill a part of a register."""
    after = scheduled(Fallback(), permuted((16, 32), (1, 0), dtype))
    size = 8 if "64" in dtype else 16
    assert f"squares of {size}" in str(after.attrs["schedule_reason"])


def test_squares_of_half_a_vector() -> None:
    """56 columns are no whole squares of 16."""
    after = scheduled(Fallback(), permuted((56, 64), (1, 0), "uint8"))
    assert "squares of 8" in str(after.attrs["schedule_reason"])


@pytest.mark.parametrize(
    ("shape", "axes", "dtype"),
    [((20, 32), (1, 0), "float32"), ((32, 36), (1, 0), "int8"), ((4, 32, 16), (1, 0, 2), "int32"),
     ((), (), "float32")],
)
def test_others_are_copied_as_they_stand(
    shape: tuple[int, ...], axes: tuple[int, ...], dtype: str
) -> None:
    after = scheduled(Fallback(), permuted(shape, axes, dtype))
    assert "turned" not in str(after.attrs["schedule_reason"])


def test_large_ones_use_threads() -> None:
    target = Target("llvm -mcpu=sapphirerapids -num-cores=4")
    sch = Fallback().apply(permuted((1024, 1024), (1, 0)), target, False)
    assert sch is not None
    assert "T.parallel" in sch.mod.script()
