"""Each rule's schedule means what the kernel means without one, at random shapes and on any CPU."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.dlight.programs import conv, matmul, reduction, results, softmax
from tvm import tir
from tvm.dlight import ScheduleRule
from tvm.dlight.cpu import default_rules
from tvm.target import Target
from tvm.tir.analysis import verify_well_formed

pytestmark = pytest.mark.pure  # the interpreter runs them

CPUS = ("x86-64-v2", "haswell", "znver3", "skylake-avx512", "znver4")
RULES: dict[str, ScheduleRule] = {type(rule).__name__: rule for rule in default_rules()}
Random = np.random.Generator


def _extent(random: Random, most: int = 40) -> int:
    """One, a small prime, beside a power of two, or any."""
    beside = int(random.choice([8, 16, 32])) + int(random.integers(-1, 2))
    return min(most, int(random.choice([1, 2, 3, 7, beside, int(random.integers(1, most))])))


def _product(random: Random) -> tir.PrimFunc:
    m, n, k = (_extent(random) for _ in range(3))
    batch = (int(random.integers(1, 3)),) if random.random() < 0.3 else ()
    transposed, epilogue = (bool(random.integers(2)) for _ in range(2))
    return matmul(m, n, k, transposed=transposed, batch=batch, epilogue=epilogue and not batch)


def _vector(random: Random) -> tir.PrimFunc:
    return matmul(1, _extent(random), _extent(random), transposed=bool(random.integers(2)))


def _convolution(random: Random) -> tir.PrimFunc:
    kernel = int(random.choice([1, 3, 5]))
    return conv(
        1, int(random.integers(1, 5)), int(random.integers(1, 10)), _extent(random, 9) + kernel,
        kernel, int(random.integers(1, 3)), kernel // 2, epilogue=bool(random.integers(2)),
    )  # fmt: skip


def _sum(random: Random) -> tir.PrimFunc:
    shape = tuple(_extent(random, 20) for _ in range(int(random.integers(1, 4))))
    count = int(random.integers(1, len(shape) + 1))
    return reduction(shape, tuple(int(d) for d in random.permutation(len(shape))[:count]))


def _rows(random: Random) -> tir.PrimFunc:
    return softmax(_extent(random, 9), _extent(random))


KERNELS: dict[str, Callable[[Random], tir.PrimFunc]] = {
    "products": _product, "vectors": _vector, "convolutions": _convolution, "sums": _sum,
    "rows": _rows,
}  # fmt: skip


def check(kind: str, cpu: str, seed: int) -> set[str]:
    """The rules that take a random kernel of the kind, each compared."""
    func = KERNELS[kind](np.random.default_rng([seed, len(kind)]))
    target, took = Target(f"llvm -mcpu={cpu}"), set()
    wanted = results(func, func)
    for name, rule in RULES.items():
        made = rule.apply(func, target, False)
        if made is None:
            continue
        took.add(name)
        for sch in made if isinstance(made, list) else [made]:
            (after,) = sch.mod.functions.values()
            verify_well_formed(after)
            note = f"{name}, {kind} {seed}, {cpu}\n{func}"
            np.testing.assert_allclose(
                results(func, after), wanted, rtol=1e-4, atol=1e-3, err_msg=note
            )
    assert took, f"no rule takes {kind} {seed}"
    return took


@pytest.mark.covering(1)
@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("kind", KERNELS)
def test_some(kind: str, cpu: str) -> None:
    check(kind, cpu, CPUS.index(cpu))


def test_every_rule_for_them_is_tried() -> None:
    took = {name for kind in KERNELS for name in check(kind, "haswell", 11)}
    assert took >= {"GEMM", "MatrixVector", "Conv2D", "Fallback"}


@pytest.mark.long
@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("kind", KERNELS)
def test_many(kind: str, cpu: str) -> None:
    for seed in range(100, 140):
        check(kind, cpu, seed)
