from __future__ import annotations

from tests.dlight.programs import SPR
from tvm.dlight.cpu.cost import LEAST_US, flops_us, threads_for
from tvm.target import Target


def test_small_work_is_serial() -> None:
    many = Target("llvm -mcpu=sapphirerapids -num-cores=8").cpu
    assert threads_for(many, LEAST_US) == 1
    assert threads_for(many, LEAST_US * 3) == 3
    assert threads_for(many, 1e6) == 8


def test_a_product_takes_about_as_long_as_measured() -> None:
    # 1024^3 at some 165 GFLOP/s takes 13,000 us
    assert 10_000 < flops_us(SPR.cpu, 2 * 1024**3) < 20_000
