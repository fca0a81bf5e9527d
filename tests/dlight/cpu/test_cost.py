from __future__ import annotations

import pytest

from tests.dlight.programs import SPR, scheduled
from tvm import te, tir
from tvm.dlight.cpu import GEMM, Fallback
from tvm.dlight.cpu.cost import GRAIN, MIN_US, flops_us, threads_for
from tvm.target import Target
from tvm.tir.functor import walk

SPR2 = Target("llvm -mcpu=sapphirerapids -num-cores=2")


def test_small_work_is_serial() -> None:
    many = Target("llvm -mcpu=sapphirerapids -num-cores=8").cpu
    assert threads_for(many, MIN_US) == 1
    assert threads_for(many, MIN_US * 3) == 3
    assert threads_for(many, 1e6) == 8


def test_a_product_takes_about_as_long_as_measured() -> None:
    # 1024^3 at some 165 GFLOP/s takes 13,000 us
    assert 10_000 < flops_us(SPR.cpu, 2 * 1024**3) < 20_000


def test_sizes_that_are_not_known_decide_when_the_program_runs() -> None:
    n, m = tir.SizeVar("n", "int64"), tir.SizeVar("m", "int64")
    a = te.placeholder((n, m, 64), name="A")
    b = te.compute(a.shape, lambda *i: a[i] + 1.0, name="B")
    target = Target("llvm -mcpu=sapphirerapids -num-cores=4")
    after = scheduled(Fallback(), te.create_prim_func([a, b]), target, {"n": 3, "m": 5})
    loops = [node for node in walk(after.body) if isinstance(node, tir.For)]
    (grain,) = [int(loop.annotations[GRAIN]) for loop in loops if GRAIN in loop.annotations]
    assert 100 < grain < 10_000  # rows of 64 elements
    assert f"a thread for every {grain} rounds" in str(after.attrs["schedule_reason"])
    one = Target("llvm -mcpu=sapphirerapids -num-cores=1")
    alone = scheduled(Fallback(), te.create_prim_func([a, b]), one, {"n": 3, "m": 5})
    assert "T.parallel" not in alone.script()


B, N = tir.SizeVar("b", "int64"), tir.SizeVar("n", "int64")
ONE, TWO, THREE, TWENTY = (tir.IntImm("int64", value) for value in (1, 2, 3, 20))


@pytest.mark.parametrize(
    ("shape", "parallel"),
    [
        ((B, THREE, N, N), "T.max(T.int64(1), T.min(T.min(b * T.int64(3) * n"),  # shares of rows
        ((B, N, THREE, THREE), "b * n"),
        ((N, TWO, THREE), "n"),
    ],
)
def test_places_are_not_divided_by_symbols_for_each_element(
    shape: tuple[object, ...], parallel: str
) -> None:
    a = te.placeholder(shape, name="A")
    rows = te.placeholder((shape[0], *[ONE] * (len(shape) - 2), shape[-1]), name="R")
    out = te.compute(
        shape, lambda *i: a[i] + rows[(i[0], *[0] * (len(shape) - 2), i[-1])], name="out"
    )
    func = te.create_prim_func([a, rows, out])
    for b, n in ((1, 1), (2, 17), (1, 33), (0, 4)):
        text = scheduled(Fallback(), func, SPR2, {"b": b, "n": n}).script()
    assert f"T.parallel({parallel}" in text


@pytest.mark.parametrize("transposed", [False, True])
def test_products_of_symbolic_sizes_share_out_their_batch(transposed: bool) -> None:
    """One head is much work: heads are shared out, and panels of an unknown number are not."""
    a, b = (te.placeholder(shape, name=name) for shape, name in (
        ((B, THREE, N, 8), "A"), ((B, THREE, N, 8) if transposed else (B, THREE, 8, N), "B")
    ))  # fmt: skip
    k = te.reduce_axis((0, 8), name="k")

    def product(*i: tir.Var) -> tir.PrimExpr:
        right = b[i[0], i[1], i[3], k] if transposed else b[i[0], i[1], k, i[3]]
        return te.sum(a[i[0], i[1], i[2], k] * right, axis=k)

    func = te.create_prim_func([a, b, te.compute((B, THREE, N, N), product, name="C")])
    for batch, n in ((1, 1), (2, 7), (1, 65), (0, 3)):
        text = scheduled(GEMM(), func, SPR2, {"b": batch, "n": n}).script()
    assert "in T.parallel(b * T.int64(3)" in text


@pytest.mark.parametrize("n", [1, 2, 7, 64, 65])
def test_products_with_sums_of_symbolic_length(n: int) -> None:
    a, b = te.placeholder((B, TWO, N, N), name="A"), te.placeholder((B, TWO, N, TWENTY), name="B")
    k = te.reduce_axis((0, N), name="k")
    c = te.compute(
        (B, TWO, N, TWENTY),
        lambda i, h, r, c: te.sum(a[i, h, r, k] * b[i, h, k, c], axis=k),
        name="C",
    )
    text = scheduled(GEMM(), te.create_prim_func([a, b, c]), SPR2, {"b": 1, "n": n}).script()
    assert "in T.parallel(b * T.int64(2)" in text
