"""Random sums of products mean as machine code what the interpreter says of the plain kernel."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

import tvm
from tests.covering import few
from tests.dlight.programs import SPR, results
from tests.dlight.random_contractions import ContractionMaker, empty_sum, is_impossible
from tests.end_to_end.cpus import CPUS
from tvm import te, tir
from tvm.dlight.base.transform import first_schedule
from tvm.dlight.cpu import GEMM, Conv2D, DotProducts, default_rules
from tvm.runtime import threads
from tvm.target import Target
from tvm.tir import interp

pytestmark = pytest.mark.cpu


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    yield
    threads.config_threads(0)


def check(seed: int) -> str:
    """One kernel by one rule, for some CPU, level and number of threads; gives the rule's name."""
    maker, pick = ContractionMaker(seed), random.Random(seed)
    func = maker.program()
    if is_impossible(func, maker.sizes) or empty_sum(func, maker.sizes):
        return "nothing"
    wanted = maker.arguments(func)
    interp.run(func, *wanted)
    cpu, level, cores = pick.choice(CPUS), pick.choice([0, 1, 2, 2, 2, 3]), pick.choice([1, 2, 4])
    target = Target(f"llvm -mcpu={cpu} -opt-level={level} -num-cores={cores}")
    first, *rules = default_rules()  # functions of nothing are only for the first
    if pick.random() < 0.3:
        pick.shuffle(rules)
    name, made = next(
        (type(rule).__name__, made) for rule in [first, *rules]
        if (made := first_schedule(func, target, [rule])) is not None
    )  # fmt: skip
    threads.config_threads(pick.choice([1, 2, 3, 4]))
    held = [tvm.runtime.tensor(array) for array in maker.arguments(func)]
    tvm.compile(tvm.IRModule({"main": made}), target)["main"](*held)
    note = f"seed {seed}, {name}, {target}\n{func}"
    maker.assert_same(held[-1].numpy(), wanted[-1], note)
    return name


@pytest.mark.slow
@pytest.mark.parametrize("first", few(range(0, 30, 10), 1))
def test_some(first: int) -> None:
    for seed in range(first, first + 10):
        check(seed)


@pytest.mark.long
@pytest.mark.parametrize("first", range(50_000, 54_000, 100))
def test_many(first: int) -> None:
    took = {check(seed) for seed in range(first, first + 100)}
    assert took >= {"Fallback", "GEMM", "Conv2D"}


# --- what they found ---


def test_indices_of_two_types() -> None:
    """A symbol of int64 beside extents of int32: a rule sees variables, not casts of them."""
    n = te.size_var("n", "int64")
    x, w = te.placeholder((n, 2, 11, 9), name="x"), te.placeholder((8, 2, 3, 3), name="w")
    c, i, j = (te.reduce_axis((0, e), name) for e, name in ((2, "c"), (3, "i"), (3, "j")))
    out = te.compute(
        (n, 8, 9, 7),
        lambda b, f, h, v: te.sum(x[b, c, h + i, v + j] * w[f, c, i, j], axis=[c, i, j]),
    )
    func = te.create_prim_func([x, w, out])
    made = first_schedule(func, SPR, [Conv2D()])
    assert made is not None
    np.testing.assert_allclose(
        results(func, made, {"n": 3}), results(func, func, {"n": 3}), rtol=1e-4, atol=1e-3
    )


def test_one_tensor_is_both_factors() -> None:
    x, k = te.placeholder((17, 33), name="x"), te.reduce_axis((0, 33), "k")
    gram = te.compute((17, 17), lambda i, j: te.sum(x[i, k] * x[j, k], axis=k))
    func = te.create_prim_func([x, gram])
    assert first_schedule(func, SPR, [GEMM()]) is None
    made = first_schedule(func, SPR, default_rules())
    np.testing.assert_allclose(results(func, made), results(func, func), rtol=1e-4, atol=1e-3)


def test_a_place_that_never_moves() -> None:
    """j // 2 for two columns names them, and is always 0."""
    a, b = te.placeholder((16, 12), "int8", "a"), te.placeholder((12, 1), "uint8", "b")
    k = te.reduce_axis((0, 12), "k")

    def product(i: tir.Var, j: tir.Var) -> tir.PrimExpr:
        return te.sum(
            a[i, k].astype("int32") * b[k, tir.floordiv(j, 2)].astype("int32"), axis=k
        )

    func = te.create_prim_func([a, b, te.compute((16, 2), product)])
    target = Target("llvm -mcpu=haswell")
    for rule in (DotProducts(), GEMM(), Conv2D()):
        made = first_schedule(func, target, [rule])
        if made is not None:
            np.testing.assert_array_equal(results(func, made), results(func, func))
    made = first_schedule(func, target, default_rules())
    np.testing.assert_array_equal(results(func, made), results(func, func))


def test_a_factor_without_a_place_for_the_sum_makes_no_groups() -> None:
    a, b = te.placeholder((7,), "int8", "a"), te.placeholder((12, 65), "uint8", "b")
    k = te.reduce_axis((0, 12), "k")
    out = te.compute(
        (7, 65), lambda i, j: te.sum(a[i].astype("int32") * b[k, j].astype("int32"), axis=k)
    )
    func = te.create_prim_func([a, b, out])
    assert first_schedule(func, SPR, [DotProducts()]) is None
    made = first_schedule(func, SPR, default_rules())
    np.testing.assert_array_equal(results(func, made), results(func, func))
