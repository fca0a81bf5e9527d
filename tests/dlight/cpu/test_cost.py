from __future__ import annotations

from tests.dlight.programs import SPR, scheduled
from tvm import te, tir
from tvm.dlight.cpu import Fallback
from tvm.dlight.cpu.cost import GRAIN, LEAST_US, flops_us, threads_for
from tvm.target import Target
from tvm.tir.functor import walk


def test_small_work_is_serial() -> None:
    many = Target("llvm -mcpu=sapphirerapids -num-cores=8").cpu
    assert threads_for(many, LEAST_US) == 1
    assert threads_for(many, LEAST_US * 3) == 3
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
