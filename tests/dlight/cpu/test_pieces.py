from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm
from tests.dlight.programs import NEON, SPR, scheduled
from tvm import relax, te, tir
from tvm.dlight.cpu import Fallback
from tvm.relax import op
from tvm.relax.frontend.onnx.moving import MODES, padded
from tvm.target import Target
from tvm.topi.nn import mirror_pad, pad

N, M = tir.SizeVar("n", "int64"), tir.SizeVar("m", "int64")
AVX2 = Target("llvm -mcpu=haswell -num-cores=2")


def reason(func: tir.PrimFunc, target: Target = SPR, **sizes: int) -> str:
    return str(scheduled(Fallback(), func, target, sizes).attrs["schedule_reason"])


@pytest.mark.covering(2)
@pytest.mark.parametrize("target", [SPR, AVX2, NEON])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "int64"])
@pytest.mark.parametrize(("n", "m"), [(2, 21), (3, 5), (1, 1), (2, 0), (0, 3)])
def test_pads(target: Target, dtype: str, n: int, m: int) -> None:
    a = te.placeholder((tir.const(3, "int64"), N, M), dtype, name="A")
    func = te.create_prim_func([a, pad(a, [0, 1, 2], [0, 0, 3], tir.const(7, dtype))])
    assert "rows in 4 pieces" in reason(func, target, n=n, m=m)


@pytest.mark.parametrize("m", [3, 7, 40])
def test_mirrors(m: int) -> None:
    a = te.placeholder((N, M), name="A")
    for mode in ("SYMMETRIC", "REFLECT"):
        func = te.create_prim_func([a, mirror_pad(a, [1, 2], [1, 2], mode)])
        assert "rows in 3 pieces" in reason(func, n=3, m=m)


def test_a_row_of_too_many_pieces_is_left() -> None:
    a = te.placeholder((N, M), name="A")

    def element(i: tir.Var, j: tir.Var) -> tir.PrimExpr:
        value: tir.PrimExpr = a[i, j]
        for step in range(14, 0, -1):
            value = tir.if_then_else(j < step * 3, a[i, j] * float(step), value)
        return value

    func = te.create_prim_func([a, te.compute((N, M), element, name="B")])
    assert "pieces" not in reason(func, n=2, m=50)


def test_choices_by_data_stay() -> None:
    a = te.placeholder((N, M), name="A")

    def element(i: tir.Var, j: tir.Var) -> tir.PrimExpr:
        return tir.if_then_else(a[i, j] > 0, a[i, j], tir.const(0.0))

    func = te.create_prim_func([a, te.compute((N, M), element, name="B")])
    assert "rows in" not in reason(func, n=3, m=37), "one run of whole vectors"


def module(build: Callable[..., Any], rank: int, dtype: str) -> tvm.IRModule:
    """An operator on a tensor of open extents, given these and some numbers of the call."""
    extents = [tir.Var(f"d{n}", "int64") for n in range(rank)]
    numbers = [tir.Var(f"p{n}", "int64") for n in range(4)]
    x = relax.Var("x", relax.TensorStructInfo(extents, dtype))
    p = relax.Var("p", relax.ShapeStructInfo(numbers))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, p]):
        with bb.dataflow():
            made = bb.emit_output(bb.emit(build(bb, x, extents, numbers)))
        bb.emit_func_output(made)
    return bb.get()


def compiled(build: Callable[..., Any], rank: int, dtype: str) -> Callable[..., Any]:
    made = tvm.compile(module(build, rank, dtype), "llvm")
    run = relax.VirtualMachine(made, tvm.cpu())["main"]
    return lambda x, *p: run(tvm.runtime.tensor(x), tvm.runtime.ShapeTuple(p)).numpy()


SHAPES = [(2, 3, 17, 33), (1, 2, 3, 1), (3, 1, 2, 16), (1, 1, 1, 5), (2, 2, 5, 64)]


@pytest.mark.covering(1)
@pytest.mark.cpu
@pytest.mark.parametrize("dtype", ["float32", "uint8", "float16", "int64"])
@pytest.mark.parametrize("mode", MODES)
def test_pads_that_running_tells(mode: str, dtype: str) -> None:
    def build(bb: Any, x: Any, _: Any, p: Any) -> Any:
        return padded(bb, x, [0, 0, p[0], p[1]], [0, 0, p[2], p[3]], mode, 3.0)

    run = compiled(build, 4, dtype)
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        x = rng.integers(0, 99, shape).astype(dtype)
        for p in ([0, 0, 0, 0], [1, 2, 0, 1], [0, 1, 2, 20], [-1 if shape[2] > 1 else 0, 0, 0, 0]):
            if mode == "reflect" and (max(p[0], p[2]) >= shape[2] or max(p[1], p[3]) >= shape[3]):
                continue
            found = run(x, *p)
            cut = x[:, :, max(-p[0], 0) :]
            sides = [(0, 0), (0, 0), (max(p[0], 0), p[2]), (p[1], p[3])]
            words = {"constant_values": 3} if mode == "constant" else {}
            np.testing.assert_array_equal(found, np.pad(cut, sides, mode, **words), f"{shape} {p}")


@pytest.mark.cpu
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_copies_side_by_side(dtype: str) -> None:
    cases: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
        (lambda bb, x, n, p: op.concat([x, x, x], 3), lambda x: np.concatenate([x] * 3, 3)),
        (lambda bb, x, n, p: op.concat([x, x], 2), lambda x: np.concatenate([x] * 2, 2)),
        (lambda bb, x, n, p: op.tile(x, [1, 1, 1, 3]), lambda x: np.tile(x, [1, 1, 1, 3])),
        (lambda bb, x, n, p: op.tile(x, [2, 1, 2, 1]), lambda x: np.tile(x, [2, 1, 2, 1])),
        (lambda bb, x, n, p: op.flip(x, 3), lambda x: x[..., ::-1]),
        (lambda bb, x, n, p: op.strided_slice(x, [3], [1], [1000]), lambda x: x[..., 1:]),
        (lambda bb, x, n, p: op.strided_slice(x, [2, 3], [1, 0], [1000, -1]),
         lambda x: x[:, :, 1:, :-1]),
        (lambda bb, x, n, p: op.strided_slice(x, [3], [0], [1000], [2]), lambda x: x[..., ::2]),
        (lambda bb, x, n, p: op.triu(x, 1), lambda x: np.triu(x, 1)),
    ]  # fmt: skip
    rng = np.random.default_rng(1)
    for build, wanted in cases:
        run = compiled(build, 4, dtype)
        for shape in SHAPES:
            x = rng.integers(-9, 9, shape).astype(dtype)
            np.testing.assert_array_equal(run(x, 0, 0, 0, 0), wanted(x))


@pytest.mark.parametrize("target", [SPR, AVX2])
@pytest.mark.parametrize(("n", "m"), [(2, 21), (3, 5), (2, 0)])
def test_what_is_the_same_along_a_row_is_read_ahead_of_choices(
    target: Target, n: int, m: int
) -> None:
    a, b = te.placeholder((N, M), name="A"), te.placeholder((N, 1), name="B")
    made = te.compute((N, M), lambda i, j: tir.Select(a[i, j] > 0.0, a[i, j], b[i, 0]), name="C")
    after = scheduled(Fallback(), te.create_prim_func([a, b, made]), target, {"n": n, "m": m})
    lines = after.script().splitlines()
    reads = [line for line in lines if "B[" in line and "T.reads" not in line]
    assert len(reads) == 1
    assert " = B[" in reads[0]
